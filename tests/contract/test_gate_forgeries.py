"""Forged ledgers of gates whose hashes fit: none is accepted that states what its stored scores do not yield."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bbedge.errors import BbedgeError
from bbedge.gate.admit import verify_session
from bbedge.gate.ledger import read_ledger
from gate_ledgers import BASES, SHARED, Taken, forged, lies


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    found = {}
    for name, make in BASES.items():
        path = tmp_path_factory.mktemp("bases") / name
        make(path)
        found[name] = Taken.apart(path)
    return found


@pytest.mark.parametrize("name", BASES)
def test_what_was_recorded_is_in_order(bases, name, tmp_path):
    base = bases[name]
    assert lies(base) == []
    assert verify_session(base.session()).uses == len(list(base.of("begun")))
    base.write(tmp_path / "same")
    assert len(read_ledger(tmp_path / "same").uses) == len(list(base.of("begun")))


def judged(base: Taken, seed: int) -> str:
    words, taken = forged(base, np.random.default_rng(seed))
    try:
        session = taken.session()
    except ValueError:  # no JSON at all
        return "not JSON"
    try:
        verify_session(session)
    except BbedgeError:
        return "refused"
    assert lies(taken) == [], words
    return "accepted"


@pytest.mark.parametrize("count", [60, pytest.param(1500, marks=pytest.mark.nightly)])
def test_no_forged_ledger_is_accepted_that_says_something_else(bases, count):
    names = list(bases)
    found = Counter(judged(bases[names[seed % len(names)]], [count, seed]) for seed in range(count))
    assert found["refused"] > 0.8 * count


def test_the_judge_finds_a_lie(bases):
    for change in (
        lambda report: report["results"][0].update(verdict="PASS", since=1),
        lambda report: report["results"][0].update(upper=-0.15),
        lambda report: report["results"][0]["looks"][0].update(lower=0.5),
    ):
        taken = bases["files"].copy()
        change(next(taken.of("decided"))[1])
        assert lies(taken) == ["the report of use 1"]
    taken = bases["files"].copy()
    next(taken.of("begun"))[1]["level"] = SHARED.alpha
    assert lies(taken)[0] == "the level of use 1"
