"""Scripts whose outputs are frozen: tables and logs of scores, and the commands around them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import bbedge
from bbedge.core.certifier import Certifier
from bbedge.core.checkpoints import Checkpoints
from golden.freezing import Bench, frozen
from golden.frozen_makers import ALL_FORMS, GOLDEN, ROOT, case, rows, take


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
                certifier.update(
                    panel[:, [scores.items.index(item) for item in certifier.next_items]],
                    certifier.next_checkpoint.blocks,
                )
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
    bench("plan scores.csv --json plan.json --replicates 1,4 --difference 0.1 --target both")
    bench.write("policy.toml", 'candidate = "three-shot"\nbaseline = "plain"\n[[claims]]\nnot_worse_by = 0.05\n')
    bench("plan --policy policy.toml --items 300 --json gate.json")
    bench("plan scores.csv --policy policy.toml")


@case
def odds(bench: Bench) -> None:
    """Commands without scores."""
    bench("--version")
    bench("cite")
    bench("cite --bibtex")
    bench("study list")
