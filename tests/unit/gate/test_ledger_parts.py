"""The ledger of a gate whose studies are looked at inside their first run."""

import io
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from bbedge.chain import append
from bbedge.core.checkpoints import Checkpoints, planned_pass
from bbedge.core.scores import Scores
from bbedge.display.gate import advice, render_history
from bbedge.errors import BbedgeError, DataError, DesignError, FormatError
from bbedge.gate import Claim, Policy, gate
from bbedge.gate import ledger as ledgers
from bbedge.gate.first_run import FirstRun
from bbedge.gate.ledger import read_ledger, record, record_look, reserve

ITEMS = tuple(f"q{i}" for i in range(240))
CLAIMS = (Claim(kind="better_by", amount=0.05), Claim(kind="at_least", amount=0.99, tier="info"))
SHARED = Policy(candidates=("new",), baseline="old", claims=CLAIMS, spending="ledger")
CHECKPOINTS = Checkpoints(order_seed=5, fractions=(0.05, 0.2, 0.5))
BLOCKS = (12, 48, 120)


def runs(*chances, count=2, seed=1):
    rng = np.random.default_rng(seed)
    values = (rng.random((count, 2, 240)) < np.array(chances)[:, None]).astype(float)
    return Scores.of(values, models=("new", "old"), items=ITEMS)


APART, EQUAL = runs(0.97, 0.2), runs(0.6, 0.6)


def first(scores, passed):
    whole = FirstRun.of_complete(CHECKPOINTS, scores)
    return replace(whole, parts=whole.parts[:passed])


def some(scores, count):
    return replace(scores, values=scores.values[:count], replicates=scores.replicates[:count])


def look(path, scores, passed, *, policy=SHARED, use=1):
    return record_look(path, policy, some(scores, 0), first(scores, passed), use=use)


def end(path, scores, passed=3, *, count=0, policy=SHARED, use=1):
    return record(path, policy, some(scores, count), use=use, first_run=first(scores, passed))


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gate.bbedge"


@pytest.fixture
def begun(path):
    reserve(path, SHARED, "board", label="one", checkpoints=CHECKPOINTS)
    return path


@pytest.mark.parametrize("policy", [SHARED, replace(SHARED, spending="each-run"), replace(SHARED, shares=4)])
def test_looks_inside_the_first_run_have_the_level_of_the_use(path, policy):
    record(path, policy, runs(0.9, 0.1, count=1))
    use = reserve(path, policy, "board", checkpoints=CHECKPOINTS)
    assert (use.number, use.level, use.checkpoints) == (2, policy.level(1), CHECKPOINTS)
    alone = replace(policy, alpha=use.level, spending="each-run", shares=None)
    for passed in (1, 3):
        found = look(path, EQUAL, passed, policy=policy, use=2)
        assert found.results == gate(alone, some(EQUAL, 0), first_run=first(EQUAL, passed)).results
    for count in (0, 2):
        done = end(path, EQUAL, count=count, policy=policy, use=2)
        assert done.report.results == gate(alone, some(EQUAL, count), first_run=first(EQUAL, 3)).results
        assert (done.use.number, done.use.level, done.is_known) == (2, use.level, False)
        assert read_ledger(path).uses[1].report == done.report
    assert read_ledger(path).spent == pytest.approx(policy.level(0) + policy.level(1))


def test_a_record_says_which_part_it_is_of(begun):
    look(begun, APART, 1)
    look(begun, APART, 2)
    end(begun, APART, 2)
    _, first_line, *looked, gated = lines(begun)
    assert (first_line["kind"], first_line["checkpoints"]) == ("begun", CHECKPOINTS.content)
    assert [line["kind"] for line in (*looked, gated)] == ["looked", "looked", "gated"]
    parts = gated["scores"]["parts"]
    assert (parts["order_seed"], parts["of_blocks"], parts["blocks"]) == (5, 240, [12, 48])
    assert (gated["scores"]["runs"], gated["report"]["part"]) == ([], 0.2)
    assert gated["report"]["claims"][0]["since_part"] == 0.2
    assert looked[0]["scores"]["parts"]["hashes"] == parts["hashes"][:1]


def test_a_study_that_continues_finds_its_use_and_spends_nothing_twice(begun):
    for passed in (1, 2, 3):
        look(begun, EQUAL, passed)
        before = begun.read_bytes()
        assert reserve(begun, SHARED, "board", checkpoints=CHECKPOINTS).number == 1
        for again in range(1, passed + 1):  # what a board that was restored from a copy has is known as well
            assert look(begun, EQUAL, again).part == BLOCKS[passed - 1] / 240
        assert begun.read_bytes() == before
    assert end(begun, EQUAL, count=2).use.label == "one"
    before = begun.read_bytes()
    for count in (0, 1, 2):
        assert end(begun, EQUAL, count=count).is_known
    assert begun.read_bytes() == before
    assert read_ledger(begun).spent == SHARED.level(0)


def test_a_verdict_that_was_given_inside_the_run_stays(begun):
    found = look(begun, APART, 2)
    decided = (found.results[0].verdict, found.results[0].since, found.results[0].since_part)
    assert decided == ("PASS", 1, 0.2)
    done = end(begun, APART, 2, count=2).report.results[0]
    assert (done.verdict, done.since, done.since_part) == decided
    assert len(done.looks) == 3 + 2, "the complete run has passed every checkpoint"


def test_runs_that_contradict_what_was_decided_inside_the_first_one_are_recorded_as_a_contradiction(begun):
    assert look(begun, APART, 2).results[0].verdict == "PASS"
    worse = replace(APART, values=np.concatenate([APART.values[:1], 1.0 - APART.values[1:].repeat(9, axis=0)]))
    longer = replace(worse, replicates=tuple(map(str, range(10))))
    done = end(begun, longer, 2, count=10)
    found = done.report.results[0]
    assert (found.verdict, done.report.release, done.report.exit_code) == ("CONTRADICTION", "contradiction", 5)
    assert found.since > 1
    assert len(found.looks) == 3 + 10
    (use,) = read_ledger(begun).uses
    assert use.report == done.report
    assert "contradiction" in shown(read_ledger(begun))
    again = end(begun, longer, 2, count=10)
    assert (again.is_known, again.report.release) == (True, "contradiction")


def test_a_study_that_is_running_has_no_verdict_to_show(begun):
    look(begun, EQUAL, 2)
    ledger = read_ledger(begun)
    assert ledger.uses[0].report is None
    assert ledger.to_values()["uses"][0]["report"] is None
    assert ledger.to_values()["uses"][0]["checkpoints"] == CHECKPOINTS.content
    assert "running" in shown(ledger)
    done = end(begun, EQUAL, 2)
    assert not done.is_known, "the look was recorded, the verdict was not"
    assert "20 %" in shown(read_ledger(begun))
    report = read_ledger(begun).uses[0].report
    assert [advice(report, each) for each in report.results] == ["", ""]


def shown(ledger):
    console = Console(width=140, file=io.StringIO())
    console.print(render_history(ledger))
    return console.file.getvalue()


def changed(scores, place, run=0):
    values = scores.values.copy()
    values[run, 0, place] = 1.0 - values[run, 0, place]
    return replace(scores, values=values)


def test_a_use_goes_on_with_the_scores_that_it_began_with(begun):
    order = planned_pass(EQUAL.items, EQUAL.blocks, CHECKPOINTS).order
    look(begun, EQUAL, 2)
    before = begun.read_bytes()
    for place in (order[0], order[47]):
        other = changed(EQUAL, place)
        for call in (
            lambda other=other: look(begun, other, 2),
            lambda other=other: look(begun, other, 3),
            lambda other=other: end(begun, other, 3, count=1),
            lambda other=other: end(begun, EQUAL, 3, count=0) and end(begun, other, 0, count=2),
        ):
            with pytest.raises(DataError, match="use 1 has seen other scores"):
                call()
            begun.write_bytes(before)
    with pytest.raises(DataError, match="differs from the parts of it that were seen"):
        record(begun, SHARED, changed(EQUAL, order[0]), use=1, first_run=first(EQUAL, 3))
    assert begun.read_bytes() == before
    assert not end(begun, changed(EQUAL, order[48]), 2, count=1).is_known, "what was not seen yet is free"


def test_files_of_the_run_that_was_looked_at_are_the_same_use(begun):
    look(begun, APART, 2)
    found = record(begun, SHARED, some(APART, 1))
    assert (found.use.number, found.report.results[0].since_part) == (1, 0.2)
    assert record(begun, SHARED, some(APART, 1)).is_known
    longer = record(begun, SHARED, APART)
    assert (longer.use.number, longer.report.replicates, len(longer.report.results[0].looks)) == (1, 2, 5)
    order = planned_pass(APART.items, APART.blocks, CHECKPOINTS).order
    assert record(begun, SHARED, changed(APART, order[0])).use.number == 2
    assert record(begun, SHARED, runs(0.6, 0.6, seed=8)).use.number == 3
    assert [use.level for use in read_ledger(begun).uses] == [SHARED.level(use) for use in range(3)]


def test_only_planned_looks_are_taken(begun):
    reserve(begun, SHARED, "whole")
    for use, given in ((1, replace(CHECKPOINTS, order_seed=6)), (2, CHECKPOINTS)):
        other = FirstRun.of_complete(given, EQUAL)
        with pytest.raises(DesignError, match=f"use {use} has not reserved its level for these looks"):
            record_look(begun, SHARED, some(EQUAL, 0), other, use=use)
        with pytest.raises(DesignError, match="has not reserved"):
            record(begun, SHARED, EQUAL, use=use, first_run=other)
    with pytest.raises(DesignError, match="began with other checkpoints"):
        reserve(begun, SHARED, "board", checkpoints=replace(CHECKPOINTS, order_seed=6))
    with pytest.raises(DesignError, match="began with other checkpoints"):
        reserve(begun, SHARED, "board")
    with pytest.raises(DataError, match="no runs yet"):
        end(begun, EQUAL, 0)
    for scores, passed in ((EQUAL, 3), (some(EQUAL, 0), 0)):
        with pytest.raises(DataError, match="not a look inside the first run"):
            record_look(begun, SHARED, scores, first(EQUAL, passed), use=1)
    cut = replace(first(EQUAL, 1), parts=(first(EQUAL, 1).parts[0][:, :-1],))
    with pytest.raises(DataError, match="do not fit"):
        record_look(begun, SHARED, some(EQUAL, 0), cut, use=1)
    assert len(lines(begun)) == 3


def test_a_use_without_looks_inside_the_run_has_complete_runs_only(path):
    reserve(path, SHARED, "board")
    with pytest.raises(DesignError, match="began with other checkpoints"):
        reserve(path, SHARED, "board", checkpoints=CHECKPOINTS)
    done = record(path, SHARED, EQUAL, use=1)
    assert done.report.results == gate(SHARED.at_level(SHARED.level(0)), EQUAL).results
    assert [line["kind"] for line in lines(path)] == ["opened", "begun", "gated"]
    assert lines(path)[1]["checkpoints"] is None


def forged(path, line, **changes):
    """A ledger whose last line is another one, with checksums that fit."""
    kept = path.read_bytes().splitlines(keepends=True)[:-1]
    path.write_bytes(b"".join(kept))
    content = {key: value for key, value in line.items() if key != "sum"} | changes
    head = read_ledger(path).head
    with path.open("ab") as file:
        append(file, head, content, durable=False)


def report(line, **changes):
    return {"report": line["report"] | changes}


def claims(line, **changes):
    first_claim, *others = line["report"]["claims"]
    return report(line, claims=[first_claim | changes, *others])


def parts(line, **changes):
    return {"scores": line["scores"] | {"parts": line["scores"]["parts"] | changes}}


FORGERIES = {
    "order": lambda line: parts(line, order_seed=6),
    "blocks": lambda line: parts(line, blocks=[12, 47]),
    "a block that is a fraction": lambda line: parts(line, blocks=[12.0, 48.0]),
    "all blocks": lambda line: parts(line, of_blocks=241),
    "no part": lambda line: parts(line, blocks=[], hashes=[]),
    "a part without scores": lambda line: parts(line, hashes=line["scores"]["parts"]["hashes"][:1]),
    "other scores": lambda line: parts(line, hashes=["0" * 64, line["scores"]["parts"]["hashes"][1]]),
    "no hash": lambda line: parts(line, hashes=["x", line["scores"]["parts"]["hashes"][1]]),
    "fewer parts": lambda line: parts(line, blocks=[12], hashes=line["scores"]["parts"]["hashes"][:1]),
    "a run without its parts": lambda line: {"scores": line["scores"] | {"runs": ["0" * 64]}},
    "no parts": lambda line: {"scores": {"about": line["scores"]["about"], "runs": []}},
    "other items": lambda line: {"scores": line["scores"] | {"about": "0" * 64}},
    "begun again": lambda _: {"kind": "begun", "study": "board", "checkpoints": CHECKPOINTS.content},
    "unknown": lambda _: {"kind": "seen"},
    "level": lambda _: {"level": 0.05},
    "another level": lambda line: report(line, alpha=0.05),
    "another part": lambda line: report(line, part=0.5),
    "more runs": lambda line: report(line, replicates=1),
    "a look less": lambda line: claims(line, looks=line["report"]["claims"][0]["looks"][:1]),
    "another look": lambda line: claims(line, looks=line["report"]["claims"][0]["looks"][::-1]),
    "verdict": lambda line: claims(line, verdict="FAIL"),
    "earlier": lambda line: claims(line, since_part=0.05),
    "later verdict": lambda line: claims(
        line,
        verdict="OPEN",
        since=None,
        since_part=None,
        looks=[each | {"verdict": "OPEN"} for each in line["report"]["claims"][0]["looks"]],
    ),
    "no claims": lambda line: report(line, claims=[]),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_record_that_contradicts_its_use_is_refused_even_with_a_fitting_checksum(begun, name):
    look(begun, APART, 2)
    end(begun, APART, 2)
    line = lines(begun)[-1]
    forged(begun, line)
    assert len(read_ledger(begun).uses) == 1, "the same line is accepted"
    forged(begun, line, **FORGERIES[name](line))
    with pytest.raises(FormatError, match=":4: the line is damaged"):
        read_ledger(begun)


@pytest.mark.parametrize(
    "changes",
    [
        {"checkpoints": CHECKPOINTS.content | {"order_seed": -1}},
        {"checkpoints": CHECKPOINTS.content | {"weights": [0.2, 0.2, 0.2]}},
        {"checkpoints": CHECKPOINTS.content | {"order": "file"}},
        {"checkpoints": CHECKPOINTS.content | {"more": 1}},
        {"checkpoints": {}},
        {"kind": "looked"},
    ],
)
def test_a_damaged_plan_is_refused(begun, changes):
    forged(begun, lines(begun)[-1], **changes)
    with pytest.raises(FormatError, match=":2: the line is damaged"):
        read_ledger(begun)


def test_parts_in_a_record_of_complete_runs_are_refused(begun):
    look(begun, EQUAL, 1)
    seen = lines(begun)[-1]["scores"]["parts"]
    record(begun, SHARED, runs(0.5, 0.5, seed=9))
    line = lines(begun)[-1]
    for changes in (
        {"scores": line["scores"] | {"parts": seen}},
        {"kind": "looked"},
    ):
        forged(begun, line, **changes)
        with pytest.raises(FormatError, match=":4: the line is damaged"):
            read_ledger(begun)


@pytest.mark.parametrize(
    ("of_blocks", "blocks"), [(0, [0]), (10**400, [12]), (-240, [-12])], ids=["none", "huge", "below"]
)
def test_impossible_numbers_of_blocks_are_refused(begun, of_blocks, blocks):
    look(begun, EQUAL, 1)
    line = lines(begun)[-1]
    forged(begun, line, **parts(line, of_blocks=of_blocks, blocks=blocks))
    with pytest.raises(FormatError, match=":3: the line is damaged"):
        read_ledger(begun)


def test_a_look_at_complete_runs_is_refused(begun):
    end(begun, EQUAL, count=1)
    forged(begun, lines(begun)[-1], kind="looked")
    with pytest.raises(FormatError, match=":3: the line is damaged"):
        read_ledger(begun)


def test_lines_that_were_changed_or_removed_are_noticed(begun):
    for passed in (1, 2, 3):
        look(begun, EQUAL, passed)
    end(begun, EQUAL, count=1)
    whole = begun.read_bytes().splitlines(keepends=True)
    for place in range(1, len(whole) - 1):
        for others in (
            whole[:place] + whole[place + 1 :],
            [*whole[:place], whole[place].replace(b'"use":1', b'"use":2'), *whole[place + 1 :]],
        ):
            begun.write_bytes(b"".join(others))
            with pytest.raises(FormatError, match=f"{begun.name}:{place + 1}:"):
                read_ledger(begun)


def test_a_file_that_ends_anywhere_goes_on_to_the_same_end(begun, monkeypatch):
    monkeypatch.setattr(ledgers, "_now", lambda: "2026-01-02T03:04:05+00:00")
    opened = begun.read_bytes()

    def study():
        reserve(begun, SHARED, "board", label="one", checkpoints=CHECKPOINTS)
        for passed in (1, 2, 3):
            look(begun, EQUAL, passed)
        end(begun, EQUAL, count=1)

    study()
    data = begun.read_bytes()
    ends = [place + 1 for place, byte in enumerate(data) if byte == ord("\n")]
    for cut in (len(opened), ends[2], ends[2] + 7, ends[3] - 1, ends[-2] + 100):
        begun.write_bytes(data[:cut])
        study()
        assert begun.read_bytes() == data


def test_a_verdict_that_cannot_be_repeated_is_not_replaced(begun, monkeypatch):
    look(begun, APART, 2)
    before = begun.read_bytes()
    monkeypatch.setattr(
        sys.modules["bbedge.gate.gate"], "certified", lambda log_e, _: np.zeros(log_e.shape, dtype=bool)
    )
    with pytest.raises(BbedgeError, match="does not repeat; the recorded one stands"):
        end(begun, APART, 3, count=1)
    assert begun.read_bytes() == before
    assert look(begun, APART, 2).results[0].verdict == "PASS"
