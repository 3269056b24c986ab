"""All targets, each in a process of its own; prints the table and keeps it in README.md and results.json."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.rows import Row, markdown, plain, shortfalls
from benchmarks.timing import ROOT

TARGETS = {
    "look": "A replicate and its look, against the products that they need",
    "views": "Views and missing scores",
    "targets": "Both targets",
    "naive": "Against a straightforward implementation",
    "rivals": "Against what people use, from the command line",
    "memory": "Memory",
    "growth": "Growth",
    "tables": "Reading",
    "graphs": "Graph",
    "betting": "Exact logarithms",
    "boards": "Boards",
    "start": "Start",
    "scale": "Right at scale",
    "baselines": "Methods of the studies",
}
"""The modules with the targets, and what their part of the table is called."""

FOLDER = Path(__file__).resolve().parent
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def main() -> int:
    """Run what was asked for; 1 if a part could not run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=TARGETS, metavar="NAME", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes: whether it runs, not how fast")
    parser.add_argument("--again", action="store_true", help="put the parts of --only into the figures that there are")
    parser.add_argument("--json", type=Path, help="write the rows of this run here")
    parser.add_argument("--in-process", action="store_true", help="no process of its own for each part")
    chosen = parser.parse_args()
    machine, start = describe(), time.perf_counter()
    print("\n".join(f"{name:12} {text}" for name, text in machine.items()), flush=True)
    parts: dict[str, list[Row]] = {}
    failed = []
    for name in chosen.only or TARGETS:
        print(f"\n{TARGETS[name]}", flush=True)
        found = _here(name, quick=chosen.quick) if chosen.in_process else _apart(name, quick=chosen.quick)
        if found is None:
            failed.append(name)
            found = [Row(target=TARGETS[name], measured=None, note="it failed; the error is in the output of the run")]
        parts[name] = found
        print(plain(found), flush=True)
    took = time.perf_counter() - start
    print(f"\n{_summary(parts)}; {took / 60:.1f} minutes")
    if chosen.json:
        _write_json(chosen.json, machine, parts)
    if chosen.again and chosen.only and not chosen.quick:
        machine, parts = _with_earlier(FOLDER / "results.json", machine, parts)
    elif chosen.only or chosen.quick:
        return 1 if failed else 0
    _write_json(FOLDER / "results.json", machine, parts)
    _write_readme(FOLDER / "README.md", machine, parts)
    return 1 if failed else 0


def _here(name: str, *, quick: bool) -> list[Row]:
    found: list[Row] = import_module(f"benchmarks.{name}").rows(quick=quick)
    # Limits are meant for large sizes; at small ones nothing is judged.
    return [replace(row, limit=None) for row in found] if quick else found


def _apart(name: str, *, quick: bool) -> list[Row] | None:
    """The rows of a part that runs in a fresh process, so that parts share no memory and no failure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        command = [sys.executable, "-m", "benchmarks", "--only", name, "--in-process", "--json", str(path)]
        done = subprocess.run(
            [*command, *(["--quick"] if quick else [])], cwd=ROOT, stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            return None
        return _rows(json.loads(path.read_text(encoding="utf-8"))["parts"][name])


def _rows(plain_rows: list[dict[str, Any]]) -> list[Row]:
    return [Row(**{field: row[field] for field in Row.__dataclass_fields__}) for row in plain_rows]


def _with_earlier(
    path: Path, machine: dict[str, str], parts: dict[str, list[Row]]
) -> tuple[dict[str, str], dict[str, list[Row]]]:
    """The figures of an earlier run with these parts in place of its own, and a note of when they were run."""
    earlier = json.loads(path.read_text(encoding="utf-8"))
    found = {name: _rows(rows) for name, rows in earlier["parts"].items()} | parts
    told = f"{machine['date']}, load before {machine['load before']}"
    return earlier["machine"] | {f"run again ({', '.join(parts)})": told}, found


def _summary(parts: dict[str, list[Row]]) -> str:
    rows = [row for part in parts.values() for row in part]
    judged = [row for row in rows if row.measured is not None and row.limit is not None]
    short = sum(row.is_short for row in judged)
    missing = sum(row.measured is None for row in rows)
    return f"{len(judged) - short} targets met, {short} short, {missing} not measured"


def _write_json(path: Path, machine: dict[str, str], parts: dict[str, list[Row]]) -> None:
    rows = {name: [{**asdict(row), "verdict": row.verdict} for row in part] for name, part in parts.items()}
    path.write_text(json.dumps({"machine": machine, "parts": rows}, indent=1) + "\n", encoding="utf-8")


def _write_readme(path: Path, machine: dict[str, str], parts: dict[str, list[Row]]) -> None:
    """Put the figures between the markers."""
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{path} has no markers {BEGIN} and {END}; the figures are in results.json alone")
    text = [f"{_summary(parts)}.", "### Machine"]
    text.append("\n".join(f"* {name}: {what}" for name, what in machine.items()))
    text += ["### Short of its target", shortfalls([row for part in parts.values() for row in part])]
    for name, part in parts.items():
        text += [f"### {TARGETS[name]}", markdown(part)]
    path.write_text(before + BEGIN + "\n\n" + "\n\n".join(text) + "\n\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
