"""A board in words: the files it begins with, the text to publish, its events, and what a change brought."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from bbedge.board.design import BoardDesign
from bbedge.errors import DataError, DesignError
from bbedge.files import csv_text, read_text, write_whole
from bbedge.records.design import BoardOptions, Headline
from bbedge.records.options import ABOUT_TARGET
from bbedge.records.reading import Reading
from bbedge.records.values import HEADLINE
from bbedge.text import counted, display_names, listed, quoted, shown, shown_path

if TYPE_CHECKING:
    from bbedge.board import Added, Board
    from bbedge.board.stage import Stage
    from bbedge.core.leaderboard import Leaderboard
    from bbedge.core.scores import Scores
    from bbedge.ledger.chain import LedgerEvent
    from bbedge.records.events import Outcome
    from bbedge.records.gate import UseDecided


_MOST_EDGES, _MOST_SETS, _MOST_VIEWS = 5, 3, 3  # lines that are printed after a change; board show has the rest


def particulars(event: LedgerEvent) -> str:
    """An event in a line."""
    from bbedge.records import events, gate

    match event.fact:
        case gate.PolicyFrozen(policy=policy):
            return f"policy {policy.hash[:16]}: {counted(len(policy.claims), 'claim')}, alpha {policy.alpha:g}"
        case gate.UseBegun() as use:
            return f"use {use.use} ({shown(use.label)}) at level {use.level:.4g}"
        case gate.UseLooked() as looked:
            came = counted(len(looked.runs), "run") if looked.runs else counted(len(looked.inside), "checkpoint")
            return f"use {looked.use}: {came} came"
        case gate.UseDecided() as decided:
            return f"use {decided.use}, after {counted(decided.runs, 'run')}: {_verdicts(decided)}"
        case events.Created() as made:
            registration = made.registration[:16]
            return f"{len(made.models)} models, {len(made.items)} items, registration {registration}"
        case events.PilotAdded() as added:
            chosen = f", chose {', '.join(added.candidate)}" if added.candidate else ""
            return f"epoch {added.epoch}, pilot replicate {added.pilot}{chosen}"
        case events.ReplicateAdded() as added:
            edges = f"{added.outcome.look.edges} certificates, {len(added.outcome.certified)} new"
            gaps = f", {sum(added.gaps.values())} missing" if added.gaps else ""
            run = f"replicate {added.replicate}"
            if added.upto:
                run += f" up to {counted(added.upto, 'block')}, {counted(len(added.vectors), 'model')}"
            return f"epoch {added.epoch}, {run}: {edges}{_new_in_views(added.outcome)}{gaps}"
        case events.ModelAdded() as added:
            new = 0 if added.outcome is None else len(added.outcome.certified)
            gaps = f", {sum(added.gaps)} missing" if sum(added.gaps) else ""
            views = "" if added.outcome is None else _new_in_views(added.outcome)
            return f"{added.model}: {len(added.vectors)} runs, {new} new certificates{views}{gaps}"
        case events.ItemsAdded() as added:
            goes_on = any(stage.continues is not UNSET for stage in added.stages)
            on_new = ", evidence about new items goes on" if goes_on else ""
            return f"epoch {added.epoch}: {len(added.items)} new items{on_new}"
        case events.NoteAdded() as note:
            return f"{note.about}: {note.text}"
        case events.ModelRetired() as retired:
            return retired.model
        case events.ModelWithdrawn() as withdrawn:
            return f"{withdrawn.model}: {withdrawn.reason}"
        case events.ModelAnnounced() as announced:
            return f"{announced.model}: {counted(announced.runs, 'run')}, level {announced.level:.3g}"
        case events.AnnouncementClosed() as closed:
            return closed.model
        case events.TrustStated() as stated:
            came = f", submission {stated.submission[:16]}" if stated.submission else ""
            return f"{stated.model}: {stated.trust}, by {stated.by}{came}"
        case events.AttemptBegun() as begun:
            return f"epoch {begun.epoch}, run {begun.replicate}: attempt {begun.attempt} began"
        case events.AttemptEnded() as ended:
            why = f" ({ended.reason})" if ended.reason else ""
            return f"epoch {ended.epoch}, run {ended.replicate}: attempt {ended.attempt} was {ended.outcome}{why}"


def _verdicts(decided: UseDecided) -> str:
    found = [result.verdict for result in decided.results]
    return ", ".join(f"{found.count(word)} {word}" for word in dict.fromkeys(found))


def _new_in_views(outcome: Outcome) -> str:
    new = {view: len(seen.certified) for view, seen in outcome.views.items() if seen.certified}
    return "".join(f", {count} new in {view}" for view, count in new.items())


def announcement(board: Board) -> str:
    """The text to publish before the first run."""
    design, epoch = board.design, board.state.epoch
    family = "all ordered pairs of models"
    if design.family == "pilot-top-k":
        family = f"the {design.k} models that {design.pilot} pilot replicates will choose, against all others"
    spending = (
        f"equal shares for {design.shares} claims" if design.spending == "equal" else "6/(pi^2 (v+1)^2) for claim v"
    )
    pairing = "every stored replicate" if design.pairing == "all" else f"the first {design.first} stored replicates"
    planned = f"{design.planned} planned replicates, " if design.planned else ""
    what = "certificate or margin" if design.margin_share else "certificate"
    if design.mean_share:
        what = "certificate, margin or interval of a mean"
    parts = [
        f"We will compare {len(epoch.models)} models ({listed(epoch.models, limit=10)}) on {len(epoch.items):,} items "
        f"in {len(set(epoch.blocks)):,} blocks{', with complete replicates' if design.incomplete == 'refuse' else ''}.",
        *_announced_target(board),
        *_announced_views(board),
        *_announced_gaps(board),
        *_announced_checkpoints(board),
        f"Method {design.method} (bbedge), {planned}tau {design.tau:g}, scores from {design.score_range[0]:g} to "
        f"{design.score_range[1]:g}; tested: {family}.",
        f"The probability that any {what} of this board is ever false, over all looks, is at most "
        f"{design.alpha:g}; error spending: {spending}; a new model's runs are paired with {pairing}, in order.",
        f"Registration {board.registration} (design, models, items{', columns' if design.columns else ''} and blocks"
        f"{', and the seed of their order' if design.checkpoints else ''})",
        f"Ledger {board.head}",
    ]
    return "\n".join(parts)


def _announced_target(board: Board) -> Iterator[str]:
    """What counts as a score, and what is claimed of new items, where anything is."""
    design = board.design
    if design.of_runs:
        succeed = "all of them succeed" if design.of_runs.startswith("all") else "one of them succeeds"
        yield f"{design.runs_of_score} runs make one score: whether {succeed}."
    if design.target:
        looks = ", ".join(f"{run} ({weight:.3g})" for run, weight in design.schedule.items())
        beside = ", beside these items and with half of alpha each" if design.target == "both" else ""
        yield (
            f"Claimed is what holds of new items of the same kind{beside}: blocks of items are independent draws, "
            "nothing passes between them, and no model was chosen or tuned on these items. New items are looked at "
            f"after so many runs, with weights: {looks}."
        )


def _announced_views(board: Board) -> Iterator[str]:
    """What is compared, where that is not simply the mean over all items."""
    design, leaderboard = board.design, board.leaderboard()
    headline, views = design.headline or Headline(), design.views
    if headline.macro is not None:
        inside = f", items weighed by {shown(headline.weights)}" if headline.weights is not None else ""
        yield f"Compared is the mean of the means by {shown(headline.macro)}{inside}."
    elif headline.weights is not None:
        yield f"Compared is the mean over all items, weighed by {shown(headline.weights)}."
    if not views:
        return
    names = [str(view.name) for view in leaderboard.views]
    single = "".join(f", {shown(name)} {share:g}" for name, share in views.shares.items())
    yield (
        f"Under the same error budget also: {listed(names, limit=20) or 'no other view yet'}. Shares: headline "
        f"{headline.share:g}{single}, all other views together {views.others:g}; views of later versions likewise."
    )


def _announced_gaps(board: Board) -> Iterator[str]:
    if board.design.incomplete == "worst-case":
        yield "A missing score counts against whichever model it could help, and is final once recorded."
    elif board.design.incomplete == "zero":
        yield "A missing score is a failure: it counts as the lowest score."


def _announced_checkpoints(board: Board) -> Iterator[str]:
    rule = board.design.checkpoints
    if rule:
        at = ", ".join(f"{100 * fraction:.3g}" for fraction in rule.fractions)
        yield (
            f"Also looked at: the first run at {at} % of its blocks, which are run in a random order (seed "
            f"{board.state.epoch.order_seed})."
        )


def news(added: Added, before: Leaderboard, now: Leaderboard) -> Iterator[str]:
    """The effect of a change, line by line: new certificates, ranks, Top-k sets, and open pairs."""
    names = display_names(now.design.models)
    for edge in added.edges[:_MOST_EDGES]:
        winner, loser = display_names([edge.winner, edge.loser])
        where = f"replicate {edge.replicate}" if added.checkpoint is None else f"checkpoint {added.checkpoint.number}"
        yield f"  new  {winner} > {loser}   (log e {edge.log_e:.2f}, {where})"
    if len(added.edges) > _MOST_EDGES:
        yield f"  and {len(added.edges) - _MOST_EDGES:,} more new certificates; bbedge board export lists all"
    graph = now.graph
    gained = graph.n_resolved - before.graph.n_resolved
    yield f"{graph.n_resolved:,} of {graph.n_pairs:,} pairs certified ({gained:+,})."
    if not now.is_contradicted:
        yield from _news_of_ranks(now, before, names)
    yield from _news_of_views(added, now, before)
    if now.gaps is not None:
        yield f"Missing so far: {counted(now.gaps.cells, 'score')}."
    if graph.n_unresolved and not now.is_contradicted:
        pairs = [f"{names[a]} ? {names[b]}" for a, b in graph.unresolved_pairs[:5].tolist()]
        yield f"Open: {_first(pairs, 5, of=graph.n_unresolved)}"


def _news_of_ranks(now: Leaderboard, before: Leaderboard, names: Sequence[str]) -> Iterator[str]:
    """The ranks and the Top-k sets that changed."""
    graph = now.graph
    ranks_before = dict(zip(before.design.models, before.graph.rank_intervals, strict=True))
    changed = [
        f"{name} {_rank(rank)} (was {_rank(ranks_before[model])})" if model in ranks_before else f"{name} {_rank(rank)}"
        for name, model, rank in zip(names, now.design.models, graph.rank_intervals, strict=True)
        if ranks_before.get(model) != rank
    ]
    if changed:
        yield f"Ranks: {_first(changed, 8)}"
    sets = [(k, members) for k in graph.cuts if (members := graph.top_k(k)) != before.graph.top_k(k) and members]
    for k, members in sets[:_MOST_SETS]:
        yield f"Top-{k}: {_first([names[i] for i in members], 8)}"
    if len(sets) > _MOST_SETS:
        yield f"and {len(sets) - _MOST_SETS:,} larger Top-k sets"


def _news_of_views(added: Added, now: Leaderboard, before: Leaderboard) -> Iterator[str]:
    """A line for each of the first views in which something is new."""
    lines = list(_lines_of_views(added, now, before))
    yield from lines[:_MOST_VIEWS]
    if len(lines) > _MOST_VIEWS:
        yield f"and news in {counted(len(lines) - _MOST_VIEWS, 'more view')}"


def _lines_of_views(added: Added, now: Leaderboard, before: Leaderboard) -> Iterator[str]:
    earlier = {view.name: view.graph.n_resolved for view in before.views}
    for view in now.views:
        graph, name = view.graph, str(view.name)
        edges = [" > ".join(display_names([edge.winner, edge.loser])) for edge in added.views.get(name, ())]
        gained = graph.n_resolved - earlier.get(name, 0)
        if edges or gained:
            yield (
                f"{shown(name)}: {graph.n_resolved:,} of {graph.n_pairs:,} pairs certified ({gained:+,})"
                + (f"; new: {_first(edges, 8)}" if edges else "")
            )


def _rank(interval: tuple[int, int]) -> str:
    best, worst = interval
    return str(best) if best == worst else f"{best}-{worst}"


def _first(texts: Sequence[str], most: int, *, of: int | None = None) -> str:
    total = len(texts) if of is None else of
    more = f" and {total - most:,} more" if total > most else ""
    return ", ".join(texts[:most]) + more


def claim_rows(board: Board) -> list[tuple[int, str, float, int, int]]:
    """Every claim on the error budget: number, what it is about, its level, directions tested, directions certified."""

    def about(stage: Stage) -> str:
        pairs = "candidate set against the others" if stage.design.family.candidate else "all pairs"
        whose = f"model {stage.newcomer}" if stage.newcomer else pairs
        target = {None: "", "benchmark": ", these items", "new-items": ", new items"}[stage.target]
        goes_on = "" if stage.continues is None else f", continues claim {stage.continues}"
        return f"{whose}{target}{goes_on}"

    reserved = [
        (each.claim, f"epoch {each.epoch}: announced model {model}", each.level, 0, 0)
        for model, each in board.state.announced.items()
        if each.delivered is None
    ]
    made = [
        (
            stage.claim,
            f"epoch {epoch.number}: {about(stage)}",
            stage.level,
            stage.design.n_directions * len(stage.views),
            sum(int(stage.edges(view).sum()) for view in stage.views),
        )
        for epoch in board.state.epochs
        for stage in epoch.stages
    ]
    return sorted([*made, *reserved])


_DESIGN = """\
# The design of a board. Edit it, then create the board. It cannot change afterwards.
# docs/board.md describes every key. Choose the values without looking at the scores.

alpha = 0.05                 # largest probability that anything shown is ever wrong, as long as the board exists
tau = 0.0                    # certify only differences above this margin, a fraction of the score range
method = "bb-edge-x"         # or "bb-edge", the published method, without the next two keys
margin_share = 0.2           # the part of alpha that margins spend; 0 for certificates and margins apart
{planned:<28} # replicates that you plan for this version of the benchmark; never the number that you have
# mean_share = 0.1           # the part of alpha for intervals of the models' own means; without it there are none
score_range = [{low!r}, {high!r}]
spending = "open-ended"      # how alpha is divided among new models and new items
copies = "refuse"            # or "allow": count replicates with the same scores as earlier ones
"""


def design_values(suite: Reading, options: BoardOptions) -> dict[str, Any]:
    """What options say of a design, as its file would."""
    shares = suite.shares
    headline = {"macro": suite.macro, "weights": suite.weights, "share": shares.get(HEADLINE)}
    views = {"column": suite.views, "shares": {name: share for name, share in shares.items() if name != HEADLINE}}
    about = {name: getattr(options, name) or None for name in ABOUT_TARGET}
    given: dict[str, Any] = {
        "planned": options.planned or None,
        **{name: list(value) if isinstance(value, tuple) else value for name, value in about.items()},
        "incomplete": None if options.incomplete == "refuse" else options.incomplete,
        "headline": {key: value for key, value in headline.items() if value is not None},
        "views": {key: value for key, value in views.items() if value} if suite.views is not None else None,
    }
    return {key: value for key, value in given.items() if value not in (None, {})}


def read_design(path: Path, otherwise: Mapping[str, object]) -> BoardDesign:
    """The design in a file; ``otherwise`` has values for what it leaves out."""
    return BoardDesign.from_toml(read_text(path), source=shown_path(path), otherwise=otherwise)


def frozen_design(path: Path, options: Mapping[str, Any]) -> BoardDesign:
    """The design in a file together with that of the options; what both say must be the same."""
    design = read_design(path, options)
    stated = tomllib.loads(read_text(path))
    for key, value in options.items():
        if key in ("headline", "views") and key in stated:
            raise DesignError(
                f"{shown_path(path)}: [{key}] is in the file, and options say something of it too; keep one of them"
            )
        if key in stated and stated[key] != value:
            raise DesignError(
                f"{shown_path(path)}: {key} = {stated[key]}, but --{key.replace('_', '-')} is {value}; leave out the "
                "option, or change the file"
            )
    return design


def start_files(place: str, scores: Scores, options: Mapping[str, Any]) -> tuple[Path, Path, Path]:
    """Write the design, the items and the models beside the board's place; existing files are never replaced."""
    home = Path("board") if "://" in place else Path(place)
    design, items, models = (
        home.with_name(f"{home.stem}{ending}") for ending in ("-design.toml", "-items.csv", "-models.txt")
    )
    for path in (design, items, models):
        if path.exists():
            raise DataError(f"{shown_path(path)}: the file exists already; move it, or use it as it is")
    for model in scores.models:
        if model != model.strip() or len(model.splitlines()) != 1:
            raise DataError(
                f"model {quoted(model)} has a line break or leading or trailing white space, so a file with one name "
                "per line cannot hold it; change the name"
            )
    write_whole(items, items_table(scores.items, scores.blocks, scores.columns))
    write_whole(models, "".join(f"{model}\n" for model in scores.models))
    write_whole(design, _design_text(scores, options))
    return design, items, models


def items_table(items: Sequence[str], blocks: Sequence[str], columns: Mapping[str, Sequence[str]]) -> str:
    """A list of items as CSV, in the form that ``init`` and ``add-items`` read; names are as they are in the data."""
    others = {name: texts for name, texts in columns.items() if name not in ("item", "block")}
    return csv_text(["item", "block", *others], zip(items, blocks, *others.values(), strict=True))


def _design_text(scores: Scores, options: Mapping[str, Any]) -> str:
    low, high = scores.score_range
    planned = options.get("planned")
    number = "# planned = 20" if planned is None else f"planned = {planned}"
    text = _DESIGN.format(low=low, high=high, planned=number)
    text += "".join(f"{_value(name, options[name])}\n" for name in ABOUT_TARGET if name in options)
    if "incomplete" in options:
        text += f"{_value('incomplete', options['incomplete']):<28} # what a missing score does\n"
    for name in ("headline", "views"):
        if name in options:
            plain = {key: value for key, value in options[name].items() if not isinstance(value, Mapping)}
            inner = {key: value for key, value in options[name].items() if isinstance(value, Mapping)}
            text += _table(name, plain) + "".join(_table(f"{name}.{key}", value) for key, value in inner.items())
    return text


def _table(name: str, values: Mapping[str, Any]) -> str:
    lines: Sequence[str] = [_value(key, value) for key, value in values.items()]
    return "\n".join(["", f"[{name}]", *lines, ""])


def _value(key: str, value: str | float | list[float]) -> str:
    """A line of TOML. A quoted JSON text is a TOML text, too."""
    name = key if key.isidentifier() and key.isascii() else json.dumps(key, ensure_ascii=False)
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"
