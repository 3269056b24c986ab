"""A model that honestly repeats itself: no replicate is skipped, refused or replaced because of its scores.

The null: ``b`` always answers the same and has mean 1/2; ``a`` scores 0 everywhere with probability 1/3, and is right
on a random 9 of 12 items otherwise, which is 1/2 on average. One block. A board that drops what it has seen before
keeps fewer of the zero replicates and certifies ``a`` above ``b``.
"""

import sys

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.cli import main
from bbedge.records.events import CountedCopy
from calibration.binomial_rule import breaks

ITEMS = [f"q{i}" for i in range(12)]
ALPHA = 0.05


def panel(rng):
    values = np.zeros((2, 12))
    values[1, :6] = 1.0
    if rng.random() < 2 / 3:
        values[0, rng.permutation(12)[:9]] = 1.0
    return values


def dropping_repeats(panels):
    """The planted fault: scores that were seen before are not added."""
    return list({each.tobytes(): each for each in reversed(panels)}.values())[::-1]


def table(path, panels, *, numbered):
    lines = ["model,item,score" + ",replicate" * numbered]
    for r, values in enumerate(panels, start=1):
        for m, i in np.ndindex(2, 12):
            lines.append(f"{'ab'[m]},{ITEMS[i]},{values[m, i]:g}" + f",{r}" * numbered)
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return path


class Commands:
    """One board, used through the command line alone."""

    def __init__(self, folder, monkeypatch, capsys, *, copies):
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys
        folder.mkdir(exist_ok=True)
        self.place = folder / "board.bbedge"
        (folder / "items.csv").write_text("item,block\n" + "".join(f"{item},one\n" for item in ITEMS), encoding="ascii")
        (folder / "design.toml").write_text(
            f'method = "bb-edge-x"\nalpha = {ALPHA}\ncopies = "{copies}"\n', encoding="ascii"
        )
        made = self("init", "--design", folder / "design.toml", "--items", folder / "items.csv", "--models", "a,b")
        assert made == (0, "")

    def __call__(self, command, *words):
        """The exit code, and what stands on standard error."""
        argv = ["bbedge", "board", command, self.place, *words]
        self.monkeypatch.setattr(sys, "argv", [str(word) for word in argv])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), self.capsys.readouterr().err

    def edges(self, replicates):
        board = Board.open(self.place)
        try:
            assert board.leaderboard().replicates == replicates
            return board.leaderboard().graph.n_edges
        finally:
            board.close()


def false_boards(tmp_path, monkeypatch, capsys, *, boards, choose, seed):
    rng = np.random.default_rng(seed)
    false = 0
    for number in range(boards):
        panels = choose([panel(rng) for _ in range(40)])
        commands = Commands(tmp_path / str(number), monkeypatch, capsys, copies="allow")
        file = table(commands.folder / "runs.csv", panels, numbered=True)
        assert commands("add", file) == (0, "")
        false += bool(commands.edges(len(panels)))
    return false


@pytest.mark.nightly
def test_boards_that_drop_repeated_scores_do_not(tmp_path, monkeypatch, capsys):
    """The null shows the fault that it was made for."""
    false = false_boards(tmp_path, monkeypatch, capsys, boards=10, choose=dropping_repeats, seed=13)
    assert breaks(false, 10, alpha=ALPHA)


@pytest.mark.nightly
def test_boards_that_count_every_replicate_keep_their_level(tmp_path, monkeypatch, capsys):
    false = false_boards(tmp_path, monkeypatch, capsys, boards=400, choose=list, seed=14)
    assert not breaks(false, 400, alpha=ALPHA)


@pytest.mark.nightly
def test_files_without_numbers_count_again_if_the_design_says_so(tmp_path, monkeypatch, capsys):
    commands = Commands(tmp_path, monkeypatch, capsys, copies="allow")
    rng = np.random.default_rng(5)
    panels = [panel(rng) for _ in range(10)]
    assert sum(not values[0].any() for values in panels) > 2  # byte for byte the same file
    for number, values in enumerate(panels):
        assert commands("add", table(tmp_path / f"run{number}.csv", [values], numbered=False)) == (0, "")
    commands.edges(10)


def test_a_file_without_a_number_that_repeats_stored_scores_is_a_question(tmp_path, monkeypatch, capsys):
    commands = Commands(tmp_path, monkeypatch, capsys, copies="refuse")
    file = table(tmp_path / "run.csv", [panel(np.random.default_rng(5))], numbered=False)
    assert commands("add", file) == (0, "")
    code, said = commands("add", file)
    assert code == 2
    assert "if these are the same runs again, there is nothing to add" in said
    assert "--copies allow" in said
    commands.edges(1)
    assert commands("add", file, "--copies", "allow") == (0, "")
    commands.edges(2)
    board = Board.open(commands.place)
    assert board.events[-1].content.copies == (CountedCopy(of=1, models=("a", "b"), whole=True),)
    board.close()
    assert commands("verify") == (0, "")


def test_the_same_numbered_file_again_changes_nothing(tmp_path, monkeypatch, capsys):
    commands = Commands(tmp_path, monkeypatch, capsys, copies="refuse")
    file = table(tmp_path / "run.csv", [panel(np.random.default_rng(5))], numbered=True)
    assert commands("add", file) == commands("add", file) == (0, "")
    commands.edges(1)
