"""Runs study.toml on a real model, served here and without a network, and opens the report. ``make demo-llm``.

.venv/bin/python demo/llm/run.py SERVER_PYTHON

``SERVER_PYTHON`` is an interpreter with the packages of requirements.txt. Everything that is made lands in
``demo/llm/run``: the board, the journal, the scores as a table, the page. After Ctrl-C the same command goes on; delete
the folder to begin anew.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bbedge.board import Board
from bbedge.board.stored_scores import StoredScores

HERE = Path(__file__).parent
RUN = HERE / "run"
BOARD, SCORES, PAGE = RUN / "study.bbedge", RUN / "scores.csv", RUN / "page.html"
FINISHED = (0, 3)  # answered, or the budget spent: both have a report


@contextmanager
def serving(python: str) -> Iterator[str]:
    """The address of a server that lives as long as this context."""
    # In a session of its own, so that Ctrl-C stops the study first; the server ends when its standard input does.
    process = subprocess.Popen(
        [python, HERE / "serve.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        address = process.stdout.readline().strip() if process.stdout else ""
        if not address:
            raise SystemExit("the model server did not start; what it says stands above")
        yield address
    finally:
        if process.stdin:
            process.stdin.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def write_scores(board_file: Path, out: Path) -> None:
    """The complete panels of a board as a table of scores."""
    board = Board.open(board_file)
    epoch = board.state.epoch
    with board.store.read() as session, out.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["model", "item", "block", "replicate", "score"])
        for replicate in range(1, epoch.replicates + 1):
            panel = StoredScores(session).panel(epoch, replicate)
            for model in epoch.models:
                for item, block, score in zip(epoch.items, epoch.blocks, panel[model], strict=True):
                    rows.writerow([model, item, block, replicate, f"{score:g}"])
    board.close()


def main(python: str) -> int:
    """Serve, evaluate, report."""
    RUN.mkdir(exist_ok=True)
    bbedge = [sys.executable, "-m", "bbedge"]
    with serving(python) as address:
        where = {"SMOLLM_BASE_URL": f"{address}/v1", "SMOLLM_API_KEY": "none"}
        study = subprocess.Popen([*bbedge, "evaluate", HERE / "study.toml", *sys.argv[2:]], env=os.environ | where)
        while True:
            try:
                code = study.wait()
                break
            except KeyboardInterrupt:
                continue  # the study has heard it too; it tells how to go on
    if code not in FINISHED:
        print("make demo-llm goes on from here")
        return code
    write_scores(BOARD, SCORES)
    subprocess.run([*bbedge, "report", BOARD, "--html", PAGE], check=True, stdout=subprocess.DEVNULL)
    print(f"\nscores  {SCORES}\nreport  {PAGE}")
    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(PAGE.resolve().as_uri())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
