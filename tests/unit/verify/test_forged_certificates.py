"""Whatever is forged in a certificate, it is not verified by scores that do not yield what it states."""

from __future__ import annotations

import copy
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bbedge
from bbedge import verify_certificate
from bbedge.errors import BbedgeError
from bbedge.records.reading import ReadingRecord
from bbedge.verify.differences import DifferenceList
from forged_certificates import FORGERIES, Case, facts, forged, same, sealed
from unit.certificate.documents import drawn, parted_as_published
from unit.verify.test_recompute_board import stopped_inside, table

FULL = 2500
"""Forgeries in all, every night."""


READ = (("provenance", "reading"),)
"""Scores that Python code made do not say how they were read; verification says that this was not checked."""


def written(leaderboard) -> dict:
    return json.loads(leaderboard.to_json())


def folder(place: Path) -> Case:
    """Scores in files, a run of which is a copy, with a file beside them that was not read."""
    values = (np.random.default_rng(1).random((3, 4, 40)) < np.array([0.9, 0.55, 0.5, 0.2])[:, None]).astype(float)
    values[2] = values[1]
    rows = [
        {"model": "abcd"[m], "item": f"q{i}", "replicate": r + 1, "score": values[r, m, i]}
        for r, m, i in np.ndindex(values.shape)
    ]
    pl.DataFrame(rows).write_csv(place / "scores.csv")
    (place / "readme.txt").write_text("Our runs.")
    scores = replace(bbedge.read_scores(place, provenance=True), reading=ReadingRecord())
    return Case(content=written(bbedge.certify(scores, copies="allow", mean_share=0.1)), given=scores)


def published(place: Path) -> Case:
    scores = parted_as_published()
    return Case(content=written(bbedge.certify(scores, method="bb-edge", tau=0.01)), given=scores, unknowable=READ)


def suite(place: Path) -> Case:
    labels = tuple("math" if i % 3 else "code" for i in range(80))
    scores = replace(drawn([0.9, 0.6, 0.55, 0.2]), columns={"topic": labels})
    options = bbedge.suite_options(scores, macro="topic", views="topic")
    return Case(content=written(bbedge.certify(scores, **options)), given=scores, suite=options, unknowable=READ)


def gaps(place: Path) -> Case:
    whole = drawn([0.9, 0.6, 0.55, 0.2])
    values = np.array(whole.values)
    values[0, 1, :5] = np.nan
    scores = replace(whole, values=values, gaps="worst-case", seen=None)
    return Case(content=written(bbedge.certify(scores)), given=scores, unknowable=READ)


def pilot(place: Path) -> Case:
    scores = drawn([0.9, 0.5, 0.45, 0.2], replicates=4)
    return Case(content=written(bbedge.certify_pilot_top_k(scores, k=1, pilot=1)), given=scores, unknowable=READ)


def new_items(place: Path) -> Case:
    """Scores of two runs each, looked at twice, where one model stopped between the looks."""
    whole = drawn([0.95, 0.7, 0.6, 0.1], replicates=4)
    values = np.array(whole.values)
    values[2:, 1] = np.nan
    scores = replace(whole, values=values, stops=(4, 2, 4, 4), gaps="worst-case", seen=None)
    options = {"looks": [2, 4], "look_weights": [0.3, 0.7], "of_runs": "any:2", "equal_within": 0.05}
    return Case(content=written(bbedge.certify(scores, target="new-items", **options)), given=scores, unknowable=READ)


def both_targets(place: Path) -> Case:
    labels = tuple("math" if i % 3 else "code" for i in range(80))
    scores = replace(drawn([0.9, 0.6, 0.55, 0.2]), columns={"topic": labels})
    options = bbedge.suite_options(scores, macro="topic", views="topic", shares={"code": 0.1})
    content = written(bbedge.certify(scores, target="both", planned=3, mean_share=0.1, **options))
    return Case(content=content, given=scores, suite=options, unknowable=READ)


def of_board(place: Path) -> Case:
    scores = drawn([0.9, 0.6, 0.55, 0.2])
    design = bbedge.BoardDesign(method="bb-edge-x", mean_share=0.1)
    board = bbedge.Board.create(place / "b.bbedge", design, models=scores.models, items=scores.items)
    board.add(scores)
    board.note("protocol", "temperature 0.7")
    board.retire("m03")
    return Case(content=written(board.certificate()), given=board, noted=())


def of_board_by_a_table(place: Path) -> Case:
    board, panel = stopped_inside(place / "c.bbedge")
    unknowable = [
        ("board", "design_hash"), ("board", "head"), ("board", "events"), ("design", "hash"),
        ("provenance", "design"), ("provenance", "head"),
    ]  # fmt: skip
    content = written(board.certificate())
    unknowable += [
        ("board", "timeline", place, key)
        for place in range(len(content["board"]["timeline"]))
        for key in ("event", "time")
    ]
    kinds = {"beside", "copies", "repeats", "seed", "cache", "protocol", "order", "content", "gaps", "names", "files"}
    return Case(
        content=content,
        given=table(board, panel, stopped={"a": 2, "b": 2, "c": 2, "d": 1}),
        unknowable=tuple(unknowable),
        noted=(*kinds, "log", "remark"),
    )


_MADE = (folder, published, suite, gaps, pilot, new_items, both_targets, of_board, of_board_by_a_table)
CASES = {made.__name__: made for made in _MADE}


@pytest.fixture(scope="module")
def case_of(tmp_path_factory):
    """Every case, made once."""
    known: dict[str, Case] = {}

    def made(name: str) -> Case:
        if name not in known:
            known[name] = CASES[name](tmp_path_factory.mktemp(name))
        return known[name]

    return made


def outcome(case: Case, content: dict, *, alone: bool = False) -> str:
    """What verification says; ``refused`` if it cannot be verified at all. Anything but a message is a bug."""
    try:
        if alone:
            return verify_certificate(content).outcome
        return verify_certificate(content, case.given, suite=case.suite).outcome
    except BbedgeError:
        return "refused"


def check(case: Case, seeds: range) -> Counter[str]:
    """Forge once per seed; nothing may be verified that states other facts, and nothing without scores."""
    found: Counter[str] = Counter()
    expected = facts(case, case.content)
    for seed in seeds:
        how, content = forged(case, np.random.default_rng(seed))
        given = copy.deepcopy(content)
        said = outcome(case, content)
        assert content == given, "verification changed what it was given"
        assert outcome(case, content, alone=True) != "verified", (seed, how)
        if said == "verified":
            stated = facts(case, content)
            if "provenance" not in content:  # it claims no origin, and so none that is false
                stated["provenance"] = expected["provenance"]
            assert same(stated, expected), (seed, how)
        found[said] += 1
    return found


@pytest.mark.parametrize("name", CASES)
def test_honest_certificates_are_verified(case_of, name):
    case = case_of(name)
    assert outcome(case, sealed(copy.deepcopy(case.content))) == "verified"
    assert outcome(case, case.content, alone=True) == "consistent"


@pytest.mark.parametrize("name", CASES)
def test_some_forgeries(case_of, name):
    found = check(case_of(name), range(10))
    assert found["differs"] + found["refused"] + found["other-version"] >= 5


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_many_forgeries(case_of, name):
    count = -(-FULL // len(CASES))
    found = check(case_of(name), range(1000, 1000 + count))
    # The forgeries are worth their time: most change a fact, and many agree with themselves.
    assert found["differs"] > count // 3
    assert found["verified"] < count // 4


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.__name__)
def test_every_forgery_changes_something(case_of, forgery):
    case = case_of({"earlier": "published", "target": "both_targets"}.get(forgery.__name__, "of_board"))
    changed = 0
    for seed in range(6):
        content = copy.deepcopy(case.content)
        forgery(np.random.default_rng(seed), content)
        changed += content != case.content
    assert changed >= 2


PLANTED = {
    "notes are not compared": ("compare_notes", lambda *_: ((), ())),
    "results are not compared": ("compare", lambda *_, **__: DifferenceList()),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_forgeries_find_a_check_that_is_missing(case_of, monkeypatch, planted):
    name, without = PLANTED[planted]
    monkeypatch.setattr(f"bbedge.verify.verify.{name}", without)
    with pytest.raises(AssertionError):
        check(case_of("folder"), range(60))
