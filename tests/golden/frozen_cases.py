"""The scripts whose outputs are frozen: tables, boards, gates, a study and the commands around them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

import bbedge
from bbedge.board import Board
from bbedge.core.certifier import Certifier
from bbedge.core.checkpoints import Checkpoints
from golden.freezing import Bench, frozen

GOLDEN = Path(__file__).parent
ROOT = GOLDEN.parents[1]
ALL_FORMS = "--json c.json --html c.html --markdown c.md"
CASES: dict[str, Callable[[Bench], None]] = {}


def case(script: Callable[[Bench], None]) -> Callable[[Bench], None]:
    """Register a script under its name."""
    CASES[script.__name__] = script
    return script


def take(*files: str) -> None:
    """Copy files of the repository into the folder of the case."""
    for file in files:
        shutil.copy(ROOT / file, Path(file).name)


def rows(
    skills: dict[str, float],
    items: Sequence[str],
    replicates: Iterable[int],
    *,
    seed: int,
    columns: dict[str, dict[str, str]] | None = None,
    without: Callable[[str, str, int], bool] = lambda model, item, replicate: False,
    numbered: bool = True,
) -> str:
    """A long table of scores in tenths; ``columns`` have a value for each item."""
    rng, columns = np.random.default_rng(seed), columns or {}
    lines = [",".join(["model", "item", *(["replicate"] if numbered else []), *columns, "score"])]
    for replicate in replicates:
        for model, skill in skills.items():
            for item in items:
                score = round(0.8 * (rng.random() < skill) + 0.2 * rng.random(), 1)
                if not without(model, item, replicate):
                    place = [model, item, *([str(replicate)] if numbered else [])]
                    lines.append(",".join([*place, *(values[item] for values in columns.values()), str(score)]))
    return "\n".join(lines) + "\n"


def items_table(items: Sequence[str], **columns: Callable[[int], str]) -> str:
    """A list of items with columns."""
    lines = [",".join(["item", *columns])]
    lines += [",".join([item, *(value(i) for value in columns.values())]) for i, item in enumerate(items)]
    return "\n".join(lines) + "\n"


# Tables.


@case
def panels(bench: Bench) -> None:
    """Every golden panel by both methods, in all forms."""
    for path in sorted(GOLDEN.glob("*.parquet")) + sorted(GOLDEN.glob("entry/*.parquet")):
        shutil.copy(path, path.name)
        bench(f"certify {path.name} {ALL_FORMS}")
        bench(f"certify {path.name} --method bb-edge --current --json c.json")


@case
def panel_options(bench: Bench) -> None:
    """Options of a design, each with an effect."""
    take(*(f"tests/golden/{name}.parquet" for name in ("singletons_binary", "uneven_blocks_graded_tau")))
    for options in (
        "--tau 0.05 -v",
        "--alpha 0.2 --current",
        "--margin-share 0",
        "--margin-share 0.4 --mean-share 0.1",
        "--mean-share 0.2 --planned 6",
        "--planned 20",
        "--evidence sharp",
        "--evidence bernstein --stakes paper",
        "--evidence hoeffding --method bb-edge",
        "--evidence betting --stakes design --method bb-edge",
        "--prediction two-way",
        "--blocks item",
        "--blocks one",
        "--top-k 2",
        "--top-k 2 --pilot 2",
        "--score-range -1 3 --tau 0.01",
        "--title 'A title' --all",
    ):
        bench(f"certify uneven_blocks_graded_tau.parquet {options} --json c.json")
    bench("certify uneven_blocks_graded_tau.parquet --mean-share 0.1 --top-k 1 --html c.html --arrays c.npz")
    bench("certify singletons_binary.parquet --expect 'm0 > m1' --forbid 'm1 > m0' --expect 'm0 > m3 - 0.02'")
    bench("certify singletons_binary.parquet --json - --method bb-edge")


@case
def panel_views(bench: Bench) -> None:
    """Categories, weights and shares, and a page that opens with a view."""
    take(*(f"tests/golden/views/{name}.parquet" for name in ("suite_macro", "weights_crossing_blocks")))
    bench(f"certify suite_macro.parquet --macro category --views category {ALL_FORMS}")
    bench("certify suite_macro.parquet --views category --share headline=0.4 --mean-share 0.1 --json c.json")
    bench("certify suite_macro.parquet --views category --view math --html c.html --method bb-edge --current")
    bench(f"certify weights_crossing_blocks.parquet --weights weight --views category {ALL_FORMS}")
    bench("verify c.json weights_crossing_blocks.parquet --weights weight --views category --json -")
    bench("figure graph c.json c.dot c.csv")


@case
def panel_gaps(bench: Bench) -> None:
    """Every policy for missing scores."""
    take("tests/golden/views/gaps.parquet")
    for policy in ("worst-case", "zero", "stopped,worst-case", "drop-models", "drop-items", "drop-replicates"):
        bench(f"certify gaps.parquet --incomplete {policy} --json c.json --html c.html")
    items = [f"q{i}" for i in range(12)]
    table = rows(
        {"a": 0.9, "b": 0.5, "c": 0.1}, items, range(1, 6), seed=4, without=lambda *cell: cell == ("c", "q3", 2)
    )
    bench.write("one.csv", table)
    for policy in ("drop-models", "drop-items", "drop-replicates"):
        bench(f"certify one.csv --incomplete {policy} --json c.json")
    bench("certify gaps.parquet --incomplete worst-case --weights weight --json c.json")
    bench("verify c.json gaps.parquet --incomplete worst-case --weights weight")
    stopped = rows(
        {"a": 0.9, "b": 0.5, "c": 0.1},
        items,
        range(1, 7),
        seed=5,
        without=lambda model, item, run: model == "c" and run > 3,
    )
    bench.write("stopped.csv", stopped)
    bench(f"certify stopped.csv --incomplete stopped {ALL_FORMS}")
    bench("verify c.json stopped.csv --json -")


@case
def demo(bench: Bench) -> None:
    """The demo, and every display and export of its certificate."""
    take("demo/scores.csv")
    bench("certify scores.csv --json c.json --html c.html --markdown -")
    bench("certify scores.csv --method bb-edge -v --current")
    bench("certify scores.csv --html items.html --with-items --title Demo --model-info info.csv")
    bench.write("info.csv", "model,organisation,price\nplain,Ours,1.5\nthree-shot,Theirs,2\n")
    bench("certify scores.csv --html items.html --with-items --title Demo --model-info info.csv --mean-share 0.1")
    bench("report c.json --html report.html --markdown report.md --title Report")
    bench("verify c.json")
    bench("verify c.json scores.csv --json verify.json")
    bench("figure graph c.json g.dot g.graphml g.mmd g.csv")
    bench("figure table c.json t.tex")
    model = json.loads(Path("c.json").read_text(encoding="utf-8"))["models"][0]["name"]
    bench(f"figure badge c.json b.svg --model {model}")
    bench(f"figure badge c.json b.svg --model {model} --label best --current")
    bench("convert scores.csv --to all.parquet")
    bench("convert scores.csv --to all.jsonl")
    bench("compare scores.csv --json compare.json --methods bb-edge,bb-edge-x,t-holm,emr,item-t-holm")
    bench("diagnose scores.csv --permutations 99 --splits 2 --json diagnose.json")
    bench("inspect-scores scores.csv --json inspect.json")


@case
def python_designs(bench: Bench) -> None:
    """What Python can ask for and the command line cannot: direct e-Holm, and looks inside the first run."""
    take("tests/golden/uneven_blocks_graded_tau.parquet")
    scores = bbedge.read_scores("uneven_blocks_graded_tau.parquet")
    fractions = Checkpoints(order_seed=5, fractions=(0.2, 0.5))
    designs = {
        "direct": scores.design(holm="direct"),
        "candidate": scores.design(candidate=scores.models[:2]),
        "checkpoints": scores.design(checkpoints=fractions),
        "checkpoints with means": scores.design(checkpoints=fractions, mean_share=0.1, tau=0.02),
        "checkpoints by sharp evidence": scores.design(checkpoints=fractions, evidence="sharp", margin_share=0.0),
    }
    for name, design in designs.items():
        certifier = Certifier(design)
        for number, panel in enumerate(scores.panels()):
            while not number and certifier.next_checkpoint is not None:
                certifier.update_part(panel[:, [scores.items.index(item) for item in certifier.next_items]])
            certifier.update(panel)
        leaderboard = certifier.leaderboard()
        bench.keep(name, {"design": design.hash, "certificate": frozen("c.json", leaderboard.to_json().encode())})


@case
def contradiction(bench: Bench) -> None:
    """Labels that change places half-way."""
    items = [f"q{i}" for i in range(60)]
    one = rows({"a": 0.9, "b": 0.2}, items, range(1, 5), seed=1)
    two = rows({"b": 0.9, "a": 0.2}, items, range(5, 12), seed=2)
    bench.write("swapped.csv", one + two.partition("\n")[2])
    bench(f"certify swapped.csv {ALL_FORMS}")
    bench("report c.json --html report.html")
    bench("verify c.json swapped.csv")


@case
def reading(bench: Bench) -> None:
    """What is in tables and logs."""
    models, items = {"a": 0.9, "b": 0.5}, [f"q{i}" for i in range(6)]
    table = rows(models, items, (1, 2), seed=3, columns={"topic": {item: f"t{int(item[1:]) % 2}" for item in items}})
    bench.write("long.csv", table)
    bench.write("wide.csv", "item,a,b,c\n" + "".join(f"{item},1,0,0.5\n" for item in items))
    bench.write(
        "rows.jsonl", "".join(f'{{"model": "{m}", "item": "{i}", "score": 1}}\n' for m in models for i in items)
    )
    bench.write(
        "two.csv", table.replace("score", "accuracy").replace("topic", "f1", 1).replace("t0", "1").replace("t1", "0")
    )
    bench.write("gaps.csv", "\n".join(table.splitlines()[:-3]) + "\n")
    for name in ("long.csv", "wide.csv", "rows.jsonl", "two.csv", "gaps.csv"):
        bench(f"inspect-scores {name} --json {name}.json")
    shutil.copytree(ROOT / "tests" / "logs", "logs", ignore=shutil.ignore_patterns("making", "*.md", "*.sh"))
    for tool in (
        "lm_eval",
        "inspect/runs",
        "inspect/two_scorers",
        "helm",
        "lighteval",
        "promptfoo",
        "evalplus",
        "harbor",
        "tau_bench",
    ):
        bench(f"inspect-scores logs/{tool} --json {tool.replace('/', '_')}.json")
    bench("certify logs/lm_eval/run1 logs/lm_eval/run2 --filter strict --json c.json --copies allow")
    bench("certify logs/inspect/runs --json c.json --copies allow")
    bench("convert logs/inspect/runs --to inspect.csv")


@case
def plans(bench: Bench) -> None:
    """Forecasts, from assumptions and from a pilot."""
    take("demo/scores.csv")
    bench("plan --models 4 --items 500 --json plan.json")
    bench("plan --models 3 --items 200 --block-size 4 --correlation 0.3 --mean 0.8 --tokens 500 --price 2")
    bench("plan scores.csv --json plan.json --replicates 1,4 --difference 0.1")
    bench.write("policy.toml", 'candidate = "three-shot"\nbaseline = "plain"\n[[claims]]\nnot_worse_by = 0.05\n')
    bench("plan --policy policy.toml --items 300 --json gate.json")
    bench("plan scores.csv --policy policy.toml")


# Boards.

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


# Gates.

CLAIM = "[[claims]]\nnot_worse_by = 0.1\n"


def gate_rows(new: float, old: float, *, seed: int, runs: int = 3, items: int = 60) -> str:
    """Right and wrong answers of two systems."""
    rng = np.random.default_rng(seed)
    lines = ["model,item,replicate,topic,score"]
    for run in range(1, runs + 1):
        for model, chance in (("new", new), ("old", old)):
            for i in range(items):
                right = int(rng.random() < (chance if i % 4 else 0.5))
                lines.append(f"{model},q{i},{run},{'safety' if i % 3 else 'math'},{right}")
    return "\n".join(lines) + "\n"


@case
def gates(bench: Bench) -> None:
    """Golden panels and small policies, in every form."""
    forms = "--json g.json --markdown g.md --junit g.xml"
    for name, candidates in (("equal", '["m1"]'), ("three", '"*"'), ("worse", '["m1"]')):
        take(f"tests/golden/gate/gate_{name}.parquet")
        bench.write("policy.toml", f'candidates = {candidates}\nbaseline = "m0"\n' + CLAIM)
        bench(f"gate policy.toml gate_{name}.parquet {forms}")
    bench.write("scores.csv", gate_rows(0.95, 0.3, seed=80, runs=5))
    head = 'candidate = "new"\nbaseline = "old"\n'
    for name, text in {
        "views": head
        + 'views = "topic"\nbudget = 5\n'
        + CLAIM
        + 'view = "*"\n[[claims]]\nat_least = 0.99\ntier = "warn"\n',
        "macro": head + 'macro = "topic"\nalpha = 0.2\nevidence = "sharp"\n[[claims]]\nbetter_by = 0.05\n',
        "open": head + 'open = "pass"\n[[claims]]\nbetter_by = 0.7\n[[claims]]\nnot_worse_by = 0.3\ntier = "info"\n',
        "fail": head + 'open = "fail"\n[[claims]]\nat_least = 0.8\n',
    }.items():
        bench.write(f"{name}.toml", text)
        bench(f"gate {name}.toml scores.csv {forms}")
    bench("gate views.toml scores.csv --json -")
    bench("gate open.toml scores.csv --score-range 0 2 --blocks topic")


@case
def gate_ledger(bench: Bench) -> None:
    """Uses over months: the same scores again, more runs, undecided and contradicted ones, and all shares spent."""
    head = 'candidate = "new"\nbaseline = "old"\nspending = "ledger"\nshares = 5\n'
    bench.write("policy.toml", head + CLAIM)
    bench.write("good.csv", gate_rows(0.97, 0.3, seed=1))
    bench.write("more.csv", gate_rows(0.97, 0.3, seed=1, runs=4))
    bench.write("bad.csv", gate_rows(0.05, 0.9, seed=2))
    bench.write("same.csv", gate_rows(0.5, 0.5, seed=3, runs=2))
    swapped = gate_rows(0.95, 0.1, seed=4, runs=6)
    for line in gate_rows(0.1, 0.95, seed=5, runs=12).splitlines()[1:]:
        model, item, run, *others = line.split(",")
        swapped += ",".join([model, item, str(int(run) + 6), *others]) + "\n"
    bench.write("swapped.csv", swapped)
    ledger = "--ledger gate.bbedge"
    bench(f"gate policy.toml good.csv {ledger} --label first --json g.json --markdown g.md --junit g.xml")
    bench(f"gate policy.toml bad.csv {ledger} --label second --markdown g.md")
    bench(f"gate policy.toml bad.csv {ledger} --json g.json")
    bench(f"gate policy.toml same.csv {ledger} --label third")
    bench(f"gate policy.toml swapped.csv {ledger} --label fourth --json g.json")
    bench(f"gate {ledger}")
    bench(f"gate policy.toml more.csv {ledger}")
    bench.write("fifth.csv", gate_rows(0.8, 0.8, seed=6))
    bench.write("sixth.csv", gate_rows(0.8, 0.8, seed=7))
    bench(f"gate policy.toml fifth.csv {ledger} --label fifth")
    bench(f"gate policy.toml sixth.csv {ledger} --label sixth")
    bench.write("other.toml", head + "[[claims]]\nnot_worse_by = 0.2\n")
    bench(f"gate other.toml good.csv {ledger}")
    bench(f"gate policy.toml {ledger} --json g.json")
    bench.write("each.toml", 'candidate = "new"\nbaseline = "old"\n' + CLAIM)
    bench("gate each.toml good.csv --ledger each.bbedge --label one")
    bench("gate each.toml same.csv --ledger each.bbedge")
    bench("gate --ledger each.bbedge --json g.json")


# A study.

HARNESS = """\
# harness.sh MODEL SEED ITEMS OUT: the name of a model ends with its chance in tenths
if [ -e broken ] && [ "$1" = m1 ]; then echo "no answer" >&2; exit 7; fi
echo "model,item,score" > "$4"
while read -r item; do
  draw=$(( ($(printf '%s' "$1|$2|$item" | cksum | cut -d' ' -f1) / 7) % 10 ))
  if [ "$draw" -lt "${1#m}" ]; then score=1; else score=0; fi
  echo "$1,$item,$score" >> "$4"
done < "$3"
"""
STUDY = """\
engine = "command"
budget = {budget}
models = ["m9", "m5", "m1"]
command = ["/bin/sh", "harness.sh", "{{model}}", "{{seed}}", "{{items}}", "{{out}}"]
{more}
[benchmark]
items = "items.csv"
[run]
pause = 0.01
retries = 0
copies = "allow"
[design]
alpha = 0.2
"""


@case
def study(bench: Bench) -> None:
    """A study with a program of its own: its journal, its board, a gate over it, and looks inside its first run."""
    bench.write("harness.sh", HARNESS)
    bench.write("items.csv", items_table(ITEMS[:12], block=lambda i: f"b{i // 2}"))
    bench.write("study.toml", STUDY.format(budget=12, more=""))
    bench("evaluate study.toml --dry-run --pilot 2")
    bench("evaluate study.toml --replicates 1 --json")
    bench.write("broken", "")
    bench("evaluate study.toml")
    Path("broken").unlink()
    bench("evaluate study.toml")
    bench("evaluate study.toml --quiet")
    bench("board log study.bbedge")
    bench("board export study.bbedge study.jsonl")
    bench("board show study.bbedge --json show.json")
    bench.write("parts.toml", STUDY.format(budget=3, more="checkpoints = [0.25, 0.5]\nquestion = 'm9 > m1'"))
    bench("evaluate parts.toml")
    bench("board log parts.bbedge")
    bench.write("gated.toml", STUDY.format(budget=6, more="checkpoints = [0.5]"))
    bench.write(
        "policy.toml", 'candidate = "m9"\nbaseline = "m5"\nspending = "ledger"\n[[claims]]\nnot_worse_by = 0.1\n'
    )
    bench("gate policy.toml --until-decided gated.toml --ledger gate.bbedge --label study --json g.json")
    bench("gate --ledger gate.bbedge")


@case
def odds(bench: Bench) -> None:
    """Commands without scores."""
    bench("--version")
    bench("cite")
    bench("cite --bibtex")
    bench("study list")
