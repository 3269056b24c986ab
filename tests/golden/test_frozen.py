"""Outputs of every command against those that are kept in ``frozen/``; ``make goldens`` writes them again."""

from __future__ import annotations

import json

import pytest

from golden.freezing import arithmetic, differences, digest, frozen_path, run_case
from golden.frozen_cases import CASES
from golden.refusals import REFUSALS, prepare, refused

MOST = 40
"""Differences of a case that are told."""


@pytest.fixture(scope="module")
def exact() -> bool:
    """Whether every last digit must be the same."""
    return json.loads(frozen_path("arithmetic").read_text(encoding="utf-8")) == arithmetic()


@pytest.mark.every_push("the outputs that every change is checked against")
@pytest.mark.parametrize("case", CASES)
def test_outputs_are_the_same(case, exact, tmp_path):
    old = json.loads(frozen_path(case).read_text(encoding="utf-8"))
    new = json.loads(json.dumps(run_case(CASES[case], tmp_path)))
    found = list(differences(old, new, case, exact=exact))
    told = "\n".join(found[:MOST] + [f"... and {len(found) - MOST} more"] * (len(found) > MOST))
    assert not found, f"{told}\nIf this is intended, run make goldens and review git diff tests/golden/frozen"


def test_every_kept_output_has_its_case():
    kept = {path.stem for path in frozen_path("").parent.glob("*.json")}
    assert kept == {*CASES, "arithmetic"}


def test_only_the_last_digits_and_hashes_may_differ_elsewhere():
    old = {
        "sha256": "a",
        "out": ["log e 1.2345678901234", "head 0123456789abcdef"],
        "n": 3,
        "d": digest("1.23456789012"),
    }
    new = {
        "sha256": "b",
        "out": ["log e 1.2345678901299", "head fedcba9876543210"],
        "n": 3,
        "d": digest("1.23456789013"),
    }
    assert len(list(differences(old, new))) == 4
    assert not list(differences(old, new, exact=False))
    assert list(differences(old, new | {"n": 4}, "case", exact=False)) == ["case / n: was 3, is 4"]
    assert len(list(differences(old, {**new, "out": ["log e 1.2346678901234", "head x"]}, exact=False))) == 2


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A folder with everything that refused calls need."""
    folder = tmp_path_factory.mktemp("refusals")
    prepare(folder)
    return folder


@pytest.mark.parametrize("line", REFUSALS, ids=[line["call"][:60] for line in REFUSALS])
def test_refusals_are_the_same(line, broken):
    found = list(differences(line, refused(line, broken), f"bbedge {line['call']}"))
    assert not found, "\n".join(found)
