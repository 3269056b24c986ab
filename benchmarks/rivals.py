"""Against what people use: evalstats and evalci on the same scores, from the command to the end of its output.

They answer another question (intervals and tests at one look, not certificates that hold at all looks), so this says
what an answer costs, not which answer is better. They live in an environment of their own, in build/rivals, with the
versions of requirements.txt.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.panels import panels
from benchmarks.rows import Row
from benchmarks.timing import ROOT, Process, run_process, seconds_text

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
ENVIRONMENT = ROOT / "build" / "rivals"
INSTALL_LIMIT = 300.0
LIMIT = 100.0
RUN_LIMIT = 240.0
"""Seconds after which a rival is stopped; sooner, once it has taken well above what the target asks for."""
TINY = (2, 20, 2)

_EVALCI = """
import sys
import evalci, pandas
print(evalci.report(evalci.multi_compare(pandas.read_csv(sys.argv[1]), correction="holm"), format="markdown"))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A way to compare all models of a file."""

    name: str
    columns: tuple[str, str, str, str]
    """What it calls model, item, replicate and score."""
    command: Callable[[Path], list[str]]
    note: str = ""


BBEDGE = Contender(
    name="bbedge",
    columns=("model", "item", "replicate", "score"),
    command=lambda path: [sys.executable, "-m", "bbedge", "certify", str(path)],
)
RIVALS = (
    Contender(
        name="evalstats",
        columns=("model", "item", "run", "score"),
        command=lambda path: [str(ENVIRONMENT / "bin" / "evalstats"), "analyze", str(path)],
        note="evalstats analyze with its defaults: confidence intervals and all pairs at one look",
    ),
    Contender(
        name="evalci",
        columns=("model", "item_id", "sample_idx", "score"),
        command=lambda path: [str(ENVIRONMENT / "bin" / "python"), "-c", _EVALCI, str(path)],
        note="multi_compare with its defaults: a permutation test of every pair with Holm's correction, at one look; "
        "its command line compares two models only, so a script of three lines calls it",
    ),
)


def rows(*, quick: bool = False) -> list[Row]:
    """Rows for each rival and number of models: from start to end, and without the start of the processes."""
    sizes = ((4, 50, 2),) if quick else ((10, 1000, 5), (50, 1000, 5))
    trouble = _install()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for rival in RIVALS:
            title = f"faster than {rival.name} {_version(rival.name)}"
            if trouble is not None:
                found.append(
                    Row(target=title, measured=None, note=f"{rival.name} could not be installed here: {trouble}")
                )
                continue
            our_start, their_start = _in_turn(rival, Path(folder), TINY, 1 if quick else 3)
            numpy_alone = run_process([sys.executable, "-c", "import numpy"]).wall
            for size in sizes:
                # The larger one takes minutes; it is run once, between two runs of ours.
                ours, theirs = _in_turn(rival, Path(folder), size, 1 if quick or size[0] > 10 else 2)
                found += _compared(title, rival, size, ours, theirs, our_start, their_start, numpy_alone)
    return found


def _in_turn(rival: Contender, folder: Path, size: tuple[int, int, int], times: int) -> tuple[Process, Process]:
    """Ours and theirs by turns, ours once more at the end; of each the run of median length."""
    ours, theirs = [_run(BBEDGE, folder, size)], []
    for _ in range(times):
        theirs.append(_run(rival, folder, size, min(RUN_LIMIT, max(60.0, 1.3 * LIMIT * ours[0].wall))))
        ours.append(_run(BBEDGE, folder, size))
    return _middle(ours), _middle(theirs)


def _run(contender: Contender, folder: Path, size: tuple[int, int, int], limit: float = RUN_LIMIT) -> Process:
    path = folder / f"{contender.name}-{size[0]}.csv"
    if not path.exists():
        write_table(path, contender.columns, size)
    return run_process(contender.command(path), limit=limit)


def _middle(runs: list[Process]) -> Process:
    """The run of median length, or one that did not end well."""
    bad = [run for run in runs if run.status != 0]
    return bad[0] if bad else sorted(runs, key=lambda run: run.wall)[(len(runs) - 1) // 2]


def _compared(
    title: str,
    rival: Contender,
    size: tuple[int, int, int],
    ours: Process,
    theirs: Process,
    our_start: Process,
    their_start: Process,
    numpy_alone: float,
) -> list[Row]:
    """From start to end, and less what a file with almost nothing in it takes."""
    shape = "{} models x {:,} items x {} replicates".format(*size)
    failed = [f"{name}: {each.error}" for name, each in ((rival.name, theirs), ("bbedge", ours)) if each.status]
    if failed:
        return [Row(target=f"{title}, {shape}", measured=None, note="; ".join(failed))]
    stopped = "" if theirs.status is not None else f"; {rival.name} was stopped, the ratio is higher"
    measured = theirs.wall / ours.wall
    our_work, their_work = ours.wall - our_start.wall, theirs.wall - their_start.wall
    return [
        Row(
            target=f"{title}, {shape}, from the command to its end",
            measured=measured,
            # Of a run that was stopped the ratio is a lower bound: below the limit it decides nothing.
            limit=None if stopped and measured < LIMIT else LIMIT,
            sense="at least",
            sides=f"{rival.name} {seconds_text(theirs.wall)}, bbedge certify {seconds_text(ours.wall)}",
            note=f"{rival.note}{stopped}; {seconds_text(our_start.wall)} of bbedge's time is the start of the process; "
            f"in CPU time {theirs.cpu / ours.cpu:.3g}; a process that only imports NumPy takes "
            f"{seconds_text(numpy_alone)} and would have {theirs.wall / numpy_alone:.3g}",
        ),
        Row(
            target=f"{title}, {shape}, without the start of both processes",
            measured=their_work / our_work if min(our_work, their_work) > 0 else None,
            sides=f"{rival.name} {seconds_text(their_work)}, bbedge certify {seconds_text(our_work)}",
            note="less a file of {} models x {} items x {} replicates{}".format(*TINY, stopped)
            + ("" if min(our_work, their_work) > 0 else "; the difference is lost in the noise of this run"),
        ),
    ]


def write_table(path: Path, columns: tuple[str, str, str, str], size: tuple[int, int, int]) -> None:
    """The same scores for everyone, a row for each, under the names that the reader expects."""
    n_models, n_items, replicates = size
    with path.open("w", encoding="utf-8") as out:
        out.write(",".join(columns) + "\n")
        for replicate, panel in enumerate(panels(n_models, n_items, replicates, seed=3), start=1):
            for model, row in enumerate(panel.astype(np.int64).tolist()):
                out.writelines(f"m{model},q{item},{replicate},{score}\n" for item, score in enumerate(row))


def _version(name: str) -> str:
    pins = dict(line.split("==") for line in REQUIREMENTS.read_text().splitlines() if "==" in line)
    return pins[name].strip()


def _install() -> str | None:
    """Make the rivals' environment unless it is there; what went wrong, if something did."""
    ready = ENVIRONMENT / "ready"
    wanted = REQUIREMENTS.read_text()
    if ready.exists() and ready.read_text() == wanted:
        return None
    pip = [str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)],
        [*pip, "-r", str(REQUIREMENTS)],
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return f"pip took more than {INSTALL_LIMIT:.0f} s"
        if done.returncode:
            return (done.stderr.strip().rpartition("\n")[2] or f"exit status {done.returncode}")[:300]
    ready.write_text(wanted)
    return None
