"""The leaderboard in a terminal: a table, open pairs, Top-k sets, and what the certificate means."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import numpy as np
from rich.box import Box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import difference
from bbedge.display.answer import alarm, answer
from bbedge.display.ranking import (
    CONTRADICTION,
    MEAN_INTERVAL,
    RANK_ON_NEW_ITEMS,
    TableColumn,
    difference_interval,
    evidence_share,
    model_rows,
    observed_difference,
    table_columns,
)
from bbedge.display.scope import (
    VIEW_HEADS,
    alpha_shares,
    announced_runs,
    block_noun,
    certified_pairs,
    equal_within,
    error_level,
    has_evidence,
    item_count,
    looks_at_new_items,
    missing_scores,
    needs_of_new_items,
    not_claimed,
    promise,
    run_count,
    score_of_runs,
    states_target,
    view_rows,
    withdrawn_models,
)
from bbedge.display.tables import numbers, print_table, text_table, topics, words
from bbedge.text import counted, listed, shown

MOST_ROWS = 60
"""The number of models that are printed by default."""

_WITH_CUTS = Box("    \n    \n ── \n    \n ╌╌ \n    \n    \n    \n")  # as SIMPLE_HEAD, and a line between sections
_STYLES = {"could be": "bold", "rank": "bold", RANK_ON_NEW_ITEMS: "bold"}
_MOST_OPEN = 10
_PER_BAR = 7  # a terminal is at least so many times as wide as a bar


def show_leaderboard(
    console: Console,
    certificate: Certificate,
    *,
    notes: Sequence[str] | None = None,
    top_k: int | None = None,
    title: str | None = None,
    identity: str | None = None,
    looks_apart: bool = True,
    most_rows: int | None = MOST_ROWS,
    verbose: bool = False,
) -> None:
    """Print a certificate for a person. Names may contain anything: they are escaped, shortened and never markup.

    ``notes`` replaces the notes of the certificate, ``title`` the method in the heading, ``identity`` the hash of the
    design in the statement at the end. ``looks_apart`` says how much earlier looks certified that the last one does
    not. Only the first ``most_rows`` models are printed; ``None`` prints all. ``verbose`` prints the full statement of
    the guarantee.
    """
    heading, said = Text(f"\n{_heading(certificate, title)}", "bold"), _answer(certificate)
    for text in (heading, said) if alarm(certificate) is None else (said, heading):  # nothing comes before an alarm
        _print(console, text)
    if not has_evidence(certificate):
        _print(console, Text(f"Models: {listed(certificate.names, limit=20)}."))
    else:
        print_table(console, _ranking(certificate, most_rows, console.width))
    if has_evidence(certificate) and certificate.pilot_replicates is None:
        _print(console, Text(_certified_line(certificate, looks_apart)))
        _print(console, Text(looks_at_new_items(certificate.on_new_items or certificate)))
        _show_open(console, certificate, top_k)
        _print(console, _top_k_line(certificate, top_k))
    if certificate.views:
        print_table(console, _views(certificate, most_rows))
    _print(console, Text(score_of_runs(certificate)))
    _print(console, Text(missing_scores(certificate)))
    _print(console, Text(withdrawn_models(certificate)))
    if certificate.content.board and certificate.content.board.announcements:
        _print(console, Text(f"Announced runs: {announced_runs(certificate)}"))
    for note in [each.text for each in certificate.content.notes] if notes is None else notes:
        _print(console, Text.assemble(("Note  ", "bold yellow"), note))
    console.print(_full_statement(certificate) if verbose else _short_statement(certificate, identity))


def show_expectations(
    console: Console, expected: Sequence[tuple[str, str]], forbidden: Sequence[tuple[str, str]] = ()
) -> None:
    """Print what is certified of what was expected and of what is forbidden: statements, each with a finding."""
    findings = [(text, found, found == "certified") for text, found in expected]
    findings += [
        (f"{text} (forbidden)", found, found not in ("certified", "contradicted")) for text, found in forbidden
    ]
    for text, found, is_good in findings:
        width = 20 if found == "opposite certified" else 15
        console.print(Text.assemble((found.ljust(width), "bold green" if is_good else "bold red"), text))


def _print(console: Console, text: Text) -> None:
    if text.plain.strip():
        console.print(text, highlight=False)
        console.print()


def _heading(certificate: Certificate, title: str | None) -> str:
    about = [f"view {shown(certificate.name)}"] if certificate.name else []
    about += ["on new items"] if certificate.is_about_new_items and not certificate.headline else []
    parts = [counted(len(certificate.names), "model"), item_count(certificate), run_count(certificate)]
    return " · ".join([shown(title, 120) if title else certificate.content.design.method, *about, *parts])


def _answer(certificate: Certificate) -> Text:
    """The first sentences, the answer itself in bold."""
    said, wrong = answer(certificate), alarm(certificate)
    if wrong is not None:
        return Text.assemble((wrong.word, "bold white on red"), (f": {wrong.what}", "bold"), f" {wrong.meaning}")
    return Text.assemble((said.first, "bold"), f" {said.rest}" if said.rest else "")


def _views(certificate: Certificate, most_rows: int | None) -> Table:
    """The other views, a line each; a leader that is certified as the best is green."""
    lines: list[tuple[str | Text, ...]] = [
        (Text(name, style="bold"), *cells, Text(leader, style="green" if _is_best(view) else ""))
        for view, (name, *cells, leader) in zip(certificate.views, view_rows(certificate), strict=True)
    ]
    left_out = len(lines) - len(lines[:most_rows])
    more = f"{counted(left_out, 'more view')}; " if left_out else ""
    name, *numeric, leader = VIEW_HEADS
    return text_table(
        [*words(name), *numbers(*numeric), *words(leader)],
        lines[:most_rows],
        caption=f"{more}add --view NAME to show a view in full",
    )


def _is_best(certificate: Certificate) -> bool:
    return 1 in certificate.ranks.cuts and not certificate.is_contradicted


def _ranking(certificate: Certificate, most_rows: int | None, width: int) -> Table:
    """The rows, grouped by best possible rank; a line is a certified cut."""
    n_models, made = len(certificate.names), model_rows(certificate, most_rows)
    known = table_columns(made)
    letters = min(n_models, width // _PER_BAR)
    bars = TableColumn(
        head="1" + str(n_models).rjust(letters - 1),
        cells=[_bar(row.ranks, n_models, letters) for row in made],
        is_text=True,
        spare=2,
    )
    place = [column.head for column in known].index("model")
    fitting = _fitting([*known[:place], bars, *known[place:]], width)
    captions = []
    left_out = n_models - len(certificate.withdrawn) - len(made)
    if left_out:
        captions.append(f"{counted(left_out, 'more model')}; add --all to certify or board show to print all")
    # Other columns can be worked out from the rest or the JSON; these were asked for, and a part of alpha was paid.
    if MEAN_INTERVAL in {column.head for column in known} - {column.head for column in fitting}:
        captions.append("no room for the intervals of the means; widen the terminal, or add --html or --markdown")
    table = text_table(map(_column, fitting), box=_WITH_CUTS, caption="\n".join(captions) or None)
    for row, cells in zip(made, zip(*(column.cells for column in fitting), strict=True), strict=True):
        if row.cut_above:
            table.add_section()
        table.add_row(*map(Text, cells))
    return table


def _column(column: TableColumn) -> Column:
    wraps = column.head == "model"
    return Column(
        column.head,
        justify="left" if column.is_text else "right",
        no_wrap=not wraps,
        overflow="fold" if wraps else "ellipsis",
        style=_STYLES.get(column.head, "cyan" if column.head.startswith("1") else ""),
    )


def _bar(ranks: tuple[int, int], size: int, letters: int) -> str:
    """A rank interval drawn in letters, each for as many ranks: those that stand for a possible rank are filled."""
    before, last = (ranks[0] - 1) * letters // size, (ranks[1] * letters - 1) // size
    return "·" * before + "█" * (last + 1 - before) + "·" * (letters - 1 - last)


def _fitting(drawn: list[TableColumn], width: int) -> list[TableColumn]:
    """The columns without those that a narrow terminal has no room for."""
    while True:
        needed = 3 * (len(drawn) - 1)
        for column in drawn:
            own = max(map(len, (column.head, *column.cells)))
            # A model's name may be folded, but not below a third of the screen.
            needed += min(own, width // 3) if column.head == "model" else own
        spare = max(drawn, key=lambda column: column.spare)
        if needed <= width or not spare.spare:
            return drawn
        drawn = [column for column in drawn if column is not spare]


def _certified_line(certificate: Certificate, looks_apart: bool) -> str:
    line = f"{certified_pairs(certificate)} certified"
    earlier = certificate.n_earlier if looks_apart else 0
    if certificate.shown == "current":
        line += " at the last look"
        if earlier:
            line += f"; earlier looks certified {counted(earlier, 'more comparison')}, still valid"
    elif earlier:
        line += f", including {counted(earlier, 'comparison')} from earlier looks only (--current shows the last look)"
    return line + "."


def _show_open(console: Console, certificate: Certificate, top_k: int | None) -> None:
    """The open pairs of neighbouring models, or those across the Top-k cut."""
    if certificate.all_pairs is None:
        return
    above = certificate.all_pairs.graph.above
    if top_k is None:
        ends = np.flatnonzero(~(np.diagonal(above, 1) | np.diagonal(above, -1)))
        open_pairs = np.stack([ends, ends + 1], axis=1)
    else:
        open_pairs = np.argwhere(~(above[:top_k, top_k:] | above[top_k:, :top_k].T)) + np.array([0, top_k])
    if not len(open_pairs):
        return
    head, kind = "open pairs", "neighbouring models"
    if top_k is not None:
        head, kind = f"open pairs across the Top-{top_k} cut", "models across the cut"
    listed_pairs = [_open_pair(certificate, a, b) for a, b in open_pairs[:_MOST_OPEN].tolist()]
    heads = [*words(head, "and"), *numbers("difference", "interval", "evidence")]
    print_table(console, text_table(heads, listed_pairs))
    n_open = certificate.ranks.n_unresolved
    if n_open > len(listed_pairs):
        said = f"{n_open:,} pairs are open. The table lists {len(listed_pairs):,} of them: {kind}."
        _print(console, Text(said, style="dim"))


def _open_pair(certificate: Certificate, a: int, b: int) -> tuple[str, ...]:
    pairs = certificate.by_pair(known=True)
    if (difference(certificate, a, b) or 0.0) < 0.0:
        a, b = b, a
    within, missing = difference_interval(certificate, a, b), pairs.log_e - pairs.log_thresholds
    leading = np.fmax(missing[a, b], missing[b, a])
    evidence = "not tested" if np.isnan(leading) else f"{evidence_share(float(leading))[0]} of threshold"
    if certificate.equal is not None and certificate.equal[a, b]:
        evidence = equal_within(certificate, points=False)
    if within == CONTRADICTION:
        evidence = "-"
    return certificate.labels[a], certificate.labels[b], observed_difference(certificate, a, b), within, evidence


def _top_k_line(certificate: Certificate, top_k: int | None) -> Text:
    line = Text()
    if alarm(certificate) is not None:
        return line
    cuts = certificate.ranks.cuts
    if top_k is not None and top_k not in cuts:
        return line.append(f"Top-{top_k}  ", style="bold").append("not certified yet")
    for k in cuts if top_k is None else (top_k,):
        named = certificate.labels[:k]
        if top_k is None and k > 5:
            named = (*named[:5], f"… {k - 5} more")
        if line:
            line.append("\n")
        line.append(f"Top-{k}  ", style="bold green").append(", ".join(named))
        if top_k is None and k >= 10:
            line.append("\n… the JSON lists larger certified sets", style="dim")
            break
    return line


def _identity(certificate: Certificate) -> str:
    """The hash of the frozen design: of a board, its registration."""
    board = certificate.content.board
    return f"registration {board.design_hash[:16]}" if board else f"hash {certificate.content.design.hash[:16]}"


def _short_statement(certificate: Certificate, identity: str | None) -> Text:
    """The guarantee and its assumptions, a line each."""
    blocks = certificate.content.design.blocks
    units = "" if blocks.count == 1 else " and items" if blocks.sizes[0] == 1 else " and blocks"
    design = f"a design fixed beforehand ({identity or _identity(certificate)})"
    runs = "" if certificate.is_about_new_items else f"independent runs{units}, which scores cannot show, and "
    assumed = f"Assumes {runs}{design}."
    if states_target(certificate):
        alone = "runs are independent given the item, " if certificate.content.design.of_runs else ""
        assumed += (
            f"\nFor new items: {block_noun(certificate)} are independent draws of their kind, nothing passes between "
            f"them in a run or across runs, {alone}and no model or prompt was chosen or tuned on them; scores cannot "
            "show this."
        )
    return Text(
        f"{promise(certificate)}\n{assumed}\n"
        "Full statement: add -v to certify or board show, or read docs/guarantees.md",
        style="dim",
    )


def _full_statement(certificate: Certificate) -> Table:
    design, board = certificate.content.design, certificate.content.board
    smallest, largest = design.blocks.sizes[-1], design.blocks.sizes[0]
    if design.blocks.count == 1:
        blocks = "Items may depend on each other in any way (one block)"
    elif largest == 1:
        blocks = "Items are independent of each other within a run"
    else:
        span = f"{smallest}" if smallest == largest else f"{smallest} to {largest}"
        blocks = f"Blocks of {span} items are independent; items of one block may depend on each other"
    settings = (
        f"{design.evidence} evidence, {design.prediction} prediction, {design.stakes} stakes, "
        f"alpha {error_level(certificate):g}, tau {design.tau:g}"
    )
    if board:
        settings = f"{board.design.method}, tau {board.design.tau:g}, alpha {board.design.alpha:g} for the whole board"
    runs, design_first = "", "The design was chosen before the scores were seen."
    if not certificate.is_about_new_items:
        runs = f"{blocks}; runs are independent (no shared cache, seed or judge state); "
        design_first = design_first[0].lower() + design_first[1:]
    statement = {
        "guarantee": f"{promise(certificate)} This covers all pairs and all looks together. "
        f"{alpha_shares(certificate)} You may stop at any time. Rank 2-4 means: at best second, at worst fourth.",
        "assumptions": f"{runs}{design_first} The scores alone cannot show that these hold.",
        "for new items": " ".join(needs_of_new_items(certificate)),
        "not claimed": f"That models of an open pair are equal; anything about {not_claimed(certificate)}.",
        "design": f"{settings}, {_identity(certificate)}",
        "more": "docs/guarantees.md",
    }
    return topics(filter(itemgetter(1), statement.items()), topic="bold dim", text="dim")
