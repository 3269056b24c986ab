"""Scripts whose outputs are frozen: gates, their ledgers, and a study with a program of its own."""

from __future__ import annotations

from pathlib import Path

from golden.freezing import Bench
from golden.frozen_makers import case, gate_rows, items_table, take

CLAIM = "[[claims]]\nnot_worse_by = 0.1\n"


@case
def gates(bench: Bench) -> None:
    """Golden panels and small policies, in every form."""
    forms = "--json g.json --html g.html --markdown g.md --junit g.xml"
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
        "new": head
        + 'target = "new-items"\nbudget = 7\n'
        + CLAIM
        + "[[claims]]\nequal_within = 0.9\n[[claims]]\nat_least = 0.8\n",
        "joined": head + 'of_runs = "all:2"\n[[claims]]\nequal_within = 0.1\n',
    }.items():
        bench.write(f"{name}.toml", text)
        bench(f"gate {name}.toml scores.csv {forms}")
    bench("gate views.toml scores.csv --json -")
    bench("gate open.toml scores.csv --score-range 0 2 --blocks topic")


@case
def gate_ledger(bench: Bench) -> None:
    """Uses over months: a label again, with more or fewer runs, undecided and contradicted ones, all shares spent."""
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
    bench(f"gate policy.toml bad.csv {ledger} --label second --markdown g.md --html g.html")
    bench(f"gate policy.toml bad.csv {ledger} --label second --json g.json")
    bench(f"gate policy.toml bad.csv {ledger} --label first")
    bench(f"gate policy.toml bad.csv {ledger}")
    bench(f"gate policy.toml same.csv {ledger} --label third")
    bench(f"gate policy.toml swapped.csv {ledger} --label fourth --json g.json")
    bench(f"gate {ledger} --html g.html")
    bench(f"gate policy.toml more.csv {ledger} --label first")
    bench(f"gate policy.toml good.csv {ledger} --label first")
    bench.write("fifth.csv", gate_rows(0.8, 0.8, seed=6))
    bench.write("sixth.csv", gate_rows(0.8, 0.8, seed=7))
    bench(f"gate policy.toml fifth.csv {ledger} --label fifth")
    bench(f"gate policy.toml sixth.csv {ledger} --label sixth")
    bench.write("other.toml", head + "[[claims]]\nnot_worse_by = 0.2\n")
    bench(f"gate other.toml good.csv {ledger} --label first")
    bench(f"gate policy.toml {ledger} --json g.json")
    bench.write("each.toml", 'candidate = "new"\nbaseline = "old"\n' + CLAIM)
    bench("gate each.toml good.csv --ledger each.bbedge --label one")
    bench("gate each.toml good.csv --ledger each.bbedge --label two")
    bench("gate --ledger each.bbedge --json g.json")
    bench("board log gate.bbedge")
    bench("board verify gate.bbedge")
    bench("board export gate.bbedge gate.jsonl")
    bench("board import gate.jsonl again.bbedge")
    bench("board show gate.bbedge")


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
    bench.write("items.csv", items_table([f"q{i}" for i in range(12)], block=lambda i: f"b{i // 2}"))
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
