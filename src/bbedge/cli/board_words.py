"""A board in words and plain values: for the terminal, for CSV, for publishing, and files to begin one with."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bbedge.errors import DataError
from bbedge.files import write_whole
from bbedge.text import display_names, listed, quoted, shown_path

if TYPE_CHECKING:
    from bbedge.board import Added, Board
    from bbedge.board.ledger import Event
    from bbedge.core.leaderboard import Leaderboard
    from bbedge.core.scores import Scores
    from bbedge.display.ledger import ClaimRow

_MOST_EDGES, _MOST_SETS = 200, 30  # printed after a change; board show prints the rest
_DESIGN = """\
# The design of a board. Edit it, then create the board. It cannot change afterwards.
# docs/board.md describes every key. Choose the values without looking at the scores.

alpha = 0.05                 # largest probability of any false certificate, as long as the board exists
tau = 0.0                    # certify only differences above this margin, a fraction of the score range
method = "bb-edge-x"         # or "bb-edge", the published method, without the next two keys
margin_share = 0.2           # the part of alpha that margins spend; 0 for certificates and margins apart
{planned:<28} # replicates that you plan for this version of the benchmark; never the number that you have
score_range = [{low!r}, {high!r}]
spending = "open-ended"      # how alpha is divided among new models and new items
copies = "refuse"            # or "allow": count replicates with the same scores as earlier ones
"""


def claims(board: Board) -> list[ClaimRow]:
    """The level and the certificates of each claim."""
    from bbedge.display.ledger import ClaimRow

    return [
        ClaimRow(
            claim=stage.claim,
            what=f"epoch {epoch.number}: "
            + (
                f"model {stage.newcomer}"
                if stage.newcomer
                else "all pairs"
                if not stage.design.family.candidate
                else "candidate set against the others"
            ),
            level=stage.level,
            directions=stage.design.n_directions,
            standing=int(stage.certifier.standing_edges().sum()),
        )
        for epoch in board.state.epochs
        for stage in epoch.stages
    ]


def particulars(event: Event) -> str:
    """An event in a line."""
    from bbedge.board import events

    match event.content:
        case events.Created() as made:
            registration = made.computed_registration[:16]
            return f"{len(made.models)} models, {len(made.items)} items, registration {registration}"
        case events.PilotAdded() as added:
            chosen = f", chose {', '.join(added.candidate)}" if added.candidate else ""
            return f"epoch {added.epoch}, pilot replicate {added.pilot}{chosen}"
        case events.ReplicateAdded() as added:
            edges = f"{added.outcome.look.edges} certificates, {len(added.outcome.certified)} new"
            return f"epoch {added.epoch}, replicate {added.replicate}: {edges}"
        case events.ModelAdded() as added:
            new = 0 if added.outcome is None else len(added.outcome.certified)
            return f"{added.model}: {len(added.vectors)} runs, {new} new certificates"
        case events.ItemsAdded() as added:
            return f"epoch {added.epoch}: {len(added.items)} new items"
        case events.NoteAdded() as note:
            return f"{note.about}: {note.text}"
        case events.ModelRetired() as retired:
            return retired.model


def graph_csv(board: Board) -> str:
    """Everything that stands, as a table of edges. Names are plain ASCII, and no spreadsheet runs them as formulas."""
    from bbedge.display.exports import cell

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["epoch", "winner", "loser", "log_e", "margin", "first_certified", "current"])
    low, high = board.design.score_range
    for epoch in board.state.epochs:
        leaderboard = board.leaderboard(epoch.number)
        names = [cell(name) for name in leaderboard.design.models]
        for a, b in zip(*(ends.tolist() for ends in leaderboard.standing.edges.nonzero()), strict=True):
            writer.writerow(
                [
                    epoch.number,
                    names[a],
                    names[b],
                    repr(float(leaderboard.log_e[a, b])),
                    repr(float(leaderboard.lower_bounds[a, b]) * (high - low)),
                    int(leaderboard.first_certified[a, b]),
                    int(leaderboard.current.edges[a, b]),
                ]
            )
    return text.getvalue()


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
    edition = f"edition {design.edition}, " if design.edition != 1 else ""
    if design.planned is not None:
        edition += f"{design.planned} planned replicates, "
    what = "certificate or margin" if design.margin_share else "certificate"
    parts = [
        f"We will compare {len(epoch.models)} models ({listed(epoch.models, limit=10)}) on {len(epoch.items):,} items "
        f"in {len(set(epoch.blocks)):,} blocks, with complete replicates.",
        f"Method {design.method} (bbedge), {edition}tau {design.tau:g}, scores from {design.score_range[0]:g} to "
        f"{design.score_range[1]:g}; tested: {family}.",
        f"The probability that any {what} of this board is ever false, over all looks, is at most "
        f"{design.alpha:g}; error spending: {spending}; a new model's runs are paired with {pairing}, in order.",
        f"Registration {board.registration} (design, models, items and blocks)",
        f"Ledger {board.head}",
    ]
    return "\n".join(parts)


def news(board: Board, added: Added, before: Leaderboard) -> Iterator[str]:
    """The effect of a change, line by line: new certificates, ranks, Top-k sets, and open pairs."""
    now = board.leaderboard()
    names = display_names(now.design.models)
    for edge in added.edges[:_MOST_EDGES]:
        winner, loser = display_names([edge.winner, edge.loser])
        yield f"  new  {winner} > {loser}   (log e {edge.log_e:.2f}, replicate {edge.replicate})"
    if len(added.edges) > _MOST_EDGES:
        yield f"  and {len(added.edges) - _MOST_EDGES:,} more new certificates"
    graph = now.standing
    gained = graph.n_resolved - before.standing.n_resolved
    yield f"{graph.n_resolved:,} of {graph.ranks.n_pairs:,} pairs certified ({gained:+,})."
    ranks_before = dict(zip(before.design.models, before.standing.rank_intervals, strict=True))
    changed = [
        f"{name} {_rank(rank)} (was {_rank(ranks_before[model])})" if model in ranks_before else f"{name} {_rank(rank)}"
        for name, model, rank in zip(names, now.design.models, graph.rank_intervals, strict=True)
        if ranks_before.get(model) != rank
    ]
    if changed:
        yield f"Ranks: {_first(changed, 8)}"
    sets = [(k, members) for k in graph.cuts if (members := graph.top_k(k)) != before.standing.top_k(k) and members]
    for k, members in sets[:_MOST_SETS]:
        yield f"Top-{k}: {_first([names[i] for i in members], 8)}"
    if len(sets) > _MOST_SETS:
        yield f"and {len(sets) - _MOST_SETS:,} larger Top-k sets"
    if graph.n_unresolved:
        pairs = [f"{names[a]} ? {names[b]}" for a, b in graph.unresolved_pairs[:5].tolist()]
        yield f"Open: {_first(pairs, 5, of=graph.n_unresolved)}"
    if now.contradictions:
        groups = "; ".join(listed(group) for group in now.contradictions)
        yield f"CONTRADICTION: each certified better than the others: {groups}. Run bbedge board show."


def _rank(interval: tuple[int, int]) -> str:
    best, worst = interval
    return str(best) if best == worst else f"{best}-{worst}"


def _first(texts: Sequence[str], most: int, *, of: int | None = None) -> str:
    total = len(texts) if of is None else of
    more = f" and {total - most:,} more" if total > most else ""
    return ", ".join(texts[:most]) + more


def start_files(place: str, scores: Scores, planned: int | None) -> tuple[Path, Path, Path]:
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
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["item", "block"])
    writer.writerows(zip(scores.items, scores.blocks, strict=True))
    low, high = scores.score_range
    write_whole(items, text.getvalue())
    write_whole(models, "".join(f"{model}\n" for model in scores.models))
    number = "# planned = 20" if planned is None else f"planned = {planned}"
    write_whole(design, _DESIGN.format(low=low, high=high, planned=number))
    return design, items, models
