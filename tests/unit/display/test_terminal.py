"""The table in terminals of several widths."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import bbedge
from bbedge.certificate.certificate import Certificate
from bbedge.display.terminal import _bar, show_leaderboard


def drawn(models: int) -> Certificate:
    rng = np.random.default_rng(1)
    means = np.linspace(0.9, 0.2, models)
    values = (rng.random((3, models, 40)) < means[None, :, None]).astype(float)
    names = [f"provider/model-{i}" for i in range(models)]
    scores = bbedge.Scores.of(values, models=names, items=[f"q{i}" for i in range(40)])
    return Certificate.made(bbedge.certify(scores, mean_share=0.1))


def table(certificate: Certificate, width: int) -> str:
    """The head and the first row."""
    out = StringIO()
    show_leaderboard(Console(file=out, width=width), certificate)
    assert max(map(len, out.getvalue().splitlines())) <= width
    lines = out.getvalue().splitlines()
    start = next(i for i, line in enumerate(lines) if "rank " in line and "mean" in line)
    return "\n".join(lines[start : start + 3])


@pytest.mark.parametrize("models", [6, 20])
def test_counts_give_way_before_bars_and_intervals(models):
    order = ("loses to", "beats", "to leader ", "could be", "mean interval", "█", "to leader, interval")
    certificate = drawn(models)
    there = {width: [head in table(certificate, width) for head in order] for width in (180, *range(128, 56, -8))}
    assert all(there[180])
    assert all(row == sorted(row) for row in there.values())  # what is left out comes before what is shown
    assert there[80] == [False, False, False, False, False, True, True]


def test_a_bar_fills_every_letter_that_stands_for_a_possible_rank():
    for size in range(2, 31):
        for letters in range(2, size + 1):
            shares = [range(i * size, (i + 1) * size) for i in range(letters)]  # in parts of a rank
            for best in range(1, size + 1):
                for worst in range(best, size + 1):
                    possible = range((best - 1) * letters, worst * letters)
                    filled = (max(a.start, possible.start) < min(a.stop, possible.stop) for a in shares)
                    assert _bar((best, worst), size, letters) == "".join("█" if each else "·" for each in filled)


def test_of_few_models_every_rank_has_a_letter():
    assert _bar((2, 4), 6, 6) == "·███··"
