"""What methods need, and where they come from."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bbedge.baselines import METHODS, NotApplicable
from bbedge.core.design import Design


def apply(name: str, *, runs: int, blocks: list[str]) -> np.ndarray | NotApplicable:
    d = Design.make(["a", "b"], [f"q{i}" for i in range(len(blocks))], blocks=blocks)
    x = np.random.default_rng(1).random((runs, 2, len(blocks)))
    return METHODS[name].apply(d, x, np.random.default_rng(1))


@pytest.mark.parametrize("name", METHODS)
def test_one_run_is_enough_or_the_method_says_so(name):
    answer = apply(name, runs=1, blocks=["p", "p", "q", "q"])
    if name in ("t-Holm", "AsympCS-Bonf", "CBTL", "TLRCI", "MB-Rank"):
        assert answer == NotApplicable(need="2 runs")
        assert answer.reason == "needs at least 2 runs"
    else:
        assert not isinstance(answer, NotApplicable)
    assert not isinstance(apply(name, runs=2, blocks=["p", "p", "q", "q"]), NotApplicable)


def test_other_needs():
    assert apply("Item-t-Holm", runs=5, blocks=["p"] * 4).reason == "needs at least 2 blocks"
    assert apply("BEB-Holm", runs=5, blocks=["p", "q", "q"]).reason == "needs blocks of one size"
    assert apply("BEB-Holm", runs=1, blocks=["p"] * 4).reason == "needs at least 2 runs or 2 blocks"
    assert not isinstance(apply("BEB-Holm", runs=2, blocks=["p"] * 4), NotApplicable)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_reference_with_authors_and_title(name):
    references = METHODS[name].references
    assert references
    assert len(set(references)) == len(references)
    for each in references:
        assert each.authors
        assert each.title
        assert each.year is not None
        assert (each.venue is None) == (each.key == "bb-edge")


def test_keys_of_references_are_unique():
    every = {each for method in METHODS.values() for each in method.references}
    assert len({each.key for each in every}) == len(every) > 10


def test_the_documentation_lists_every_reference():
    page = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
    section = page.split("### Sources of the methods\n")[1].split("\n## ")[0]
    numbered = dict(re.findall(r"^(\d+)\. (.*)$", section, re.MULTILINE))
    every: dict[str, None] = {}
    for each in METHODS.values():
        every.update(dict.fromkeys(reference.text for reference in each.references))
    assert list(numbered.values()) == list(every)
