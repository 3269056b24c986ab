"""Scripts whose outputs are frozen: lives of boards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bbedge.board import Board
from golden.freezing import Bench
from golden.frozen_makers import ALL_FORMS, case, items_table, rows

SKILL = {"strong": 0.95, "middle": 0.5, "weak": 0.05, "late": 0.8}
ITEMS = [f"q{i}" for i in range(24)]
MORE = [f"n{i}" for i in range(6)]


def of(*models: str) -> dict[str, float]:
    """Models with their skills."""
    return {model: SKILL[model] for model in models}


def start(bench: Bench, design: str, *, models: str = "strong,middle,weak", options: str = "") -> None:
    """Make a board."""
    bench.write("design.toml", design)
    topic = lambda i: "code" if i < 18 else "math"  # noqa: E731
    weight = lambda i: str(1 + i % 3)  # noqa: E731
    bench.write("items.csv", items_table(ITEMS, block=lambda i: f"b{i // 2}", topic=topic, weight=weight))
    bench.write("more.csv", items_table(MORE, block=lambda i: f"c{i // 2}", topic=lambda i: "law", weight=weight))
    bench(f"board init b.db --design design.toml --items items.csv --models {models} {options}".strip())


def finish(bench: Bench, *, epochs: int = 1, views: Sequence[str] = ()) -> None:
    """Everything that a board can be asked in the end."""
    bench("board next b.db --json next.json --items next.csv")
    bench("board log b.db")
    bench("board verify b.db")
    bench("board export b.db all.jsonl")
    bench("board export b.db graph.csv")
    bench("board export b.db graph.json")
    bench("board show b.db -v --json show.json --html show.html --markdown show.md")
    bench("board show b.db --current --all")
    for epoch in range(1, epochs):
        bench(f"board show b.db --epoch {epoch} --json epoch.json")
    for view in views:
        bench(f"board show b.db --view {view}")
    bench("verify show.json b.db --json verify.json")
    bench("report b.db --html report.html")
    bench("figure table b.db t.tex")
    bench("board import all.jsonl copy.db")
    bench("board export copy.db again.jsonl")
    board = Board.open("b.db")
    bench.keep("hashes of the events", [f"{event.seq} {event.kind} {event.hash}" for event in board.events])
    board.close()


@case
def board_life(bench: Bench) -> None:
    """Models added and retired, three versions of the benchmark, notes, and a budget that ends."""
    start(bench, 'alpha = 0.1\nspending = "equal"\nshares = 4\n')
    bench("board show b.db")
    bench("board next b.db")
    bench.write("r.csv", rows(of("strong", "middle", "weak"), ITEMS, (1, 2, 3), seed=1))
    bench("board add b.db r.csv --design design.toml")
    bench("board add b.db r.csv")
    bench.write("late.csv", rows(of("late"), ITEMS, (1, 2, 3), seed=2))
    bench("board add-model b.db late late.csv")
    bench("board retire b.db weak")
    bench.write("r4.csv", rows(of("strong", "middle", "late"), ITEMS, (4,), seed=3))
    bench("board add b.db r4.csv")
    board = Board.open("b.db")
    board.note("protocol", "The temperature was 0.7.", temperature=0.7)
    board.close()
    bench("board add-items b.db more.csv")
    bench.write("f.csv", rows(of("strong", "middle", "late"), ITEMS + MORE, (1, 2), seed=4))
    bench("board add b.db f.csv")
    bench.write(
        "most.csv",
        items_table([f"m{i}" for i in range(4)], block=lambda i: "d", topic=lambda i: "art", weight=lambda i: "1"),
    )
    bench("board add-items b.db most.csv")
    bench("board add-model b.db fifth")
    finish(bench, epochs=3)


@case
def board_pilot(bench: Bench) -> None:
    """A pilot that chooses the candidate, and a model that joins the first runs."""
    start(bench, 'alpha = 0.3\nfamily = "pilot-top-k"\nk = 1\npilot = 2\npairing = "first"\nfirst = 2\n')
    for run in (1, 2, 3):
        bench.write("r.csv", rows(of("strong", "middle", "weak"), ITEMS, (run,), seed=10 + run))
        bench("board add b.db r.csv")
    bench.write("r.csv", rows(of("strong", "middle", "weak"), ITEMS, (4, 5), seed=20))
    bench("board add b.db r.csv")
    bench.write("late.csv", rows(of("late"), ITEMS, (1, 2), seed=21))
    bench("board add-model b.db late late.csv")
    finish(bench)


@case
def board_views(bench: Bench) -> None:
    """Categories and weights, one category new in the second version, and missing scores."""
    design = 'alpha = 0.3\nincomplete = "worst-case"\n[headline]\nmacro = "topic"\n[views]\ncolumn = "topic"\n'
    start(bench, design + '[views.shares]\nmath = 0.2\n[views.weights]\nhard = "weight"\n')
    lost = lambda model, item, run: model == "weak" and item in ("q1", "q20") and run == 2  # noqa: E731
    bench.write("r.csv", rows(of("strong", "middle", "weak"), ITEMS, (1, 2, 3), seed=30, without=lost))
    bench("board add b.db r.csv")
    bench.write("r4.csv", rows(of("strong", "middle"), ITEMS, (4,), seed=31))
    bench("board add b.db r4.csv")
    bench("board add b.db r4.csv --incomplete worst-case")
    bench("board add-items b.db more.csv")
    bench.write("f.csv", rows(of("strong", "middle", "weak"), ITEMS + MORE, (1, 2), seed=32))
    bench("board add b.db f.csv")
    finish(bench, epochs=2, views=("law", "hard"))


@case
def board_zero(bench: Bench) -> None:
    """Missing scores that are failures, options in place of tables, and the published method."""
    start(bench, 'method = "bb-edge"\nalpha = 0.2\n', options="--incomplete zero --views topic --share headline=0.7")
    lost = lambda model, item, run: model == "strong" and item == "q3"  # noqa: E731
    bench.write("r.csv", rows(of("strong", "middle", "weak"), ITEMS, (1, 2), seed=40, without=lost))
    bench("board add b.db r.csv")
    finish(bench, views=("math",))


@case
def board_checkpoints(bench: Bench) -> None:
    """Looks inside the first run, a model that is stopped there, and intervals of means."""
    start(bench, "alpha = 0.3\nmean_share = 0.1\nplanned = 3\n[checkpoints]\nfractions = [0.25, 0.5]\n")
    table = rows(of("strong", "middle", "weak"), ITEMS, (1,), seed=50).splitlines()
    for number in (1, 2):
        bench("board next b.db --items next.csv --json next.json")
        items = [line.split(",")[0] for line in Path("next.csv").read_text(encoding="utf-8").splitlines()[1:]]
        models = ("strong", "middle", "weak") if number == 1 else ("strong", "middle")
        part = [line for line in table if line.split(",")[1] in items and line.split(",")[0] in models]
        bench.write(f"part{number}.csv", "\n".join([table[0], *part]) + "\n")
        bench(f"board add b.db part{number}.csv --part")
        bench(f"board show b.db --json part{number}.json")
        if number == 1:
            bench("verify part1.json part1.csv --items items.csv")
            bench("board retire b.db weak")
    rest = [line for line in table if not line.startswith("weak")]
    bench.write("rest.csv", "\n".join(rest) + "\n")
    bench("board add b.db rest.csv")
    bench.write("r2.csv", rows(of("strong", "middle"), ITEMS, (2,), seed=51))
    bench("board add b.db r2.csv")
    bench("board add-items b.db more.csv")
    bench("board next b.db")
    finish(bench, epochs=2)


@case
def board_copies(bench: Bench) -> None:
    """Runs that repeat each other: asked about, then counted."""
    start(bench, "alpha = 0.2\nmargin_share = 0.0\n")
    table = rows(of("strong", "middle", "weak"), ITEMS, (1,), seed=60)
    bench.write("r1.csv", table)
    bench("board add b.db r1.csv")
    bench.write("r2.csv", table.replace(",1,", ",2,"))
    bench("board add b.db r2.csv")
    bench("board add b.db r2.csv --copies allow")
    bench("certify r1.csv r2.csv")
    bench(f"certify r1.csv r2.csv --copies allow {ALL_FORMS}")
    bench.write("plain.csv", rows(of("strong", "middle", "weak"), ITEMS, (0,), seed=61, numbered=False))
    bench("board add b.db plain.csv")
    bench("board add b.db plain.csv")
    finish(bench)


@case
def board_from_scores(bench: Bench) -> None:
    """Files to begin with, a score range, and runs that contradict each other."""
    bench.write("old.csv", rows(of("strong", "weak"), ITEMS, (1,), seed=70))
    bench("board init b.db --from old.csv --planned 4 --views topic --incomplete worst-case")
    bench("board init b.db --from old.csv --score-range 0 2 --planned 4")
    bench("board init b.db --design b-design.toml --items b-items.csv --models @b-models.txt")
    bench.write("r.csv", rows(of("strong", "weak"), ITEMS, range(1, 7), seed=71))
    bench("board add b.db r.csv")
    swapped = rows({"weak": 0.99, "strong": 0.01}, ITEMS, range(7, 20), seed=72)
    bench.write("s.csv", swapped)
    bench("board add b.db s.csv")
    finish(bench)
