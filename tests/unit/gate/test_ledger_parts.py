"""The ledger of a gate whose studies are looked at inside their first run."""

import io
import json
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from bbedge.core.checkpoints import Checkpoints, planned_first_run
from bbedge.core.scores import Scores
from bbedge.display.gate import advice, render_history
from bbedge.errors import BbedgeError, BoardError, DataError, DesignError
from bbedge.gate import Claim, Policy, gate, read_ledger, record
from bbedge.gate.admit import verify_session
from bbedge.gate.gate import FirstRun
from bbedge.gate.ledger import record_look, reserve
from bbedge.gate.uses import level_of
from bbedge.ledger.heads import heads_beside
from bbedge.ledger.store import Store
from bbedge.records.codec import to_json
from bbedge.records.events import checkpoint_place
from gate_ledgers import Taken

ITEMS = tuple(f"q{i}" for i in range(240))
CLAIMS = (Claim(kind="better_by", amount=0.05), Claim(kind="at_least", amount=0.99, tier="info"))
SHARED = Policy(candidates=("new",), baseline="old", claims=CLAIMS, spending="ledger")
CHECKPOINTS = Checkpoints(order_seed=5, fractions=(0.05, 0.2, 0.5))
BLOCKS = (12, 48, 120)
STUDY = "b" * 64


def runs(*chances, count=2, seed=1):
    rng = np.random.default_rng(seed)
    values = (rng.random((count, 2, 240)) < np.array(chances)[:, None]).astype(float)
    return Scores.of(values, models=("new", "old"), items=ITEMS)


APART, EQUAL = runs(0.97, 0.2), runs(0.6, 0.6)


def first(scores, passed):
    whole = FirstRun.of_complete(CHECKPOINTS, scores)
    return replace(whole, panels=dict(islice(whole.panels.items(), passed)))


def some(scores, count):
    return replace(scores, values=scores.values[:count], replicates=scores.replicates[:count])


def begin(path, *, policy=SHARED, label="one", study=STUDY, checkpoints=CHECKPOINTS):
    return reserve(path, policy, some(EQUAL, 0), label=label, study=study, checkpoints=checkpoints)


def look(path, scores, passed, *, policy=SHARED, label="one"):
    return record_look(path, policy, some(scores, 0), first(scores, passed), label=label, study=STUDY)


def end(path, scores, passed=3, *, count=0, policy=SHARED, label="one"):
    return record(path, policy, some(scores, count), label=label, study=STUDY, first_run=first(scores, passed))


def contents(path):
    return Taken.apart(path).events


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gate.bbedge"


@pytest.fixture
def begun(path):
    begin(path)
    return path


@pytest.mark.parametrize("policy", [SHARED, SHARED.changed(spending="each-run"), SHARED.changed(shares=4)])
def test_looks_inside_the_first_run_have_the_level_of_the_use(path, policy):
    record(path, policy, runs(0.9, 0.1, count=1), label="files")
    use = begin(path, policy=policy)
    assert (use.number, use.level, use.checkpoints["order_seed"]) == (2, level_of(policy, 2), 5)
    alone = policy.at_level(use.level)
    for passed in (1, 3):
        found = look(path, EQUAL, passed, policy=policy)
        assert found.results == gate(alone, some(EQUAL, 0), first_run=first(EQUAL, passed)).results
    for count in (0, 2):
        done = end(path, EQUAL, count=count, policy=policy)
        assert done.report.results == gate(alone, some(EQUAL, count), first_run=first(EQUAL, 3)).results
        assert (done.use.number, done.use.level, done.is_known) == (2, use.level, False)
        assert read_ledger(path).uses[1].report == done.report
    assert read_ledger(path).spent == pytest.approx(level_of(policy, 1) + level_of(policy, 2))
    with Store(path, what="ledger").read() as session:
        assert verify_session(session).uses == 2


def test_a_record_says_which_part_it_is_of(begun):
    look(begun, APART, 1)
    look(begun, APART, 2)
    end(begun, APART, 2)
    (_, _, _), (_, _, line), *looked, (kind, _, decided) = contents(begun)
    assert line["checkpoints"] == json.loads(to_json(CHECKPOINTS))
    assert [(each, list(content["parts"]), content["runs"]) for each, _, content in looked] == [
        ("looked", ["12"], {}),
        ("looked", ["48"], {}),
    ]
    assert (kind, decided["runs"], decided["parts"]) == ("decided", 0, 2)
    assert decided["results"][0]["since_part"] == 0.2
    assert {place for _, place, *_ in Taken.apart(begun).vectors} == {checkpoint_place(12), checkpoint_place(48)}


def test_a_study_that_continues_finds_its_use_and_spends_nothing_twice(begun):
    for passed in (1, 2, 3):
        look(begun, EQUAL, passed)
        before = contents(begun)
        assert begin(begun).number == 1
        for again in range(1, passed + 1):  # a board that was restored from a copy looks again, at what it has
            found = look(begun, EQUAL, again)
            assert (found.fraction, len(found.results[0].looks)) == (BLOCKS[again - 1] / 240, again)
        assert contents(begun) == before
    assert end(begun, EQUAL, count=2).use.label == "one"
    before = contents(begun)
    assert end(begun, EQUAL, count=2).is_known
    for count in (0, 1):
        with pytest.raises(DataError, match="has 2 runs recorded"):
            end(begun, EQUAL, count=count)
    assert contents(begun) == before
    assert read_ledger(begun).spent == level_of(SHARED, 1)


def test_a_study_that_ends_with_fewer_looks_than_recorded_is_refused(begun):
    look(begun, EQUAL, 3)
    with pytest.raises(DataError, match="has 3 checkpoints recorded, and these are 2 of them"):
        end(begun, EQUAL, 2)


def test_a_verdict_that_was_given_inside_the_run_stays(begun):
    found = look(begun, APART, 2)
    decided = (found.results[0].verdict, found.results[0].since, found.results[0].since_fraction)
    assert decided == ("PASS", 1, 0.2)
    done = end(begun, APART, 2, count=2).report.results[0]
    assert (done.verdict, done.since, done.since_fraction) == decided
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
    assert ledger.to_values()["uses"][0]["checkpoints"]["order_seed"] == 5
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
    order = planned_first_run(EQUAL.items, EQUAL.blocks, CHECKPOINTS).order
    look(begun, EQUAL, 2)
    before = contents(begun)
    for place in (order[0], order[47]):
        other = changed(EQUAL, place)
        for call in (lambda other=other: look(begun, other, 2), lambda other=other: look(begun, other, 3)):
            with pytest.raises(DataError, match=r"use 1 \('one'\) has seen other scores"):
                call()
        with pytest.raises(BoardError, match="differs from the parts of it that were seen"):
            end(begun, other, 3, count=1)
    with pytest.raises(DataError, match="differs from the parts of it that were seen"):
        record(begun, SHARED, changed(EQUAL, order[0]), label="one", study=STUDY, first_run=first(EQUAL, 3))
    assert contents(begun) == before
    assert not end(begun, changed(EQUAL, order[48]), 2, count=1).is_known, "what was not seen yet is free"


def test_only_planned_looks_are_taken(begun):
    begin(begun, label="whole", checkpoints=None)
    for label, given in (("one", structs.replace(CHECKPOINTS, order_seed=6)), ("whole", CHECKPOINTS)):
        other = FirstRun.of_complete(given, EQUAL)
        with pytest.raises(DesignError, match="the checkpoints or the order of blocks differ"):
            record_look(begun, SHARED, some(EQUAL, 0), other, label=label, study=STUDY)
        with pytest.raises(DesignError, match="the checkpoints or the order of blocks differ"):
            record(begun, SHARED, EQUAL, label=label, study=STUDY, first_run=other)
        with pytest.raises(DesignError, match="the checkpoints or the order of blocks differ"):
            begin(begun, label=label, checkpoints=given)
    with pytest.raises(DesignError, match="the checkpoints or the order of blocks differ"):
        begin(begun, checkpoints=None)
    with pytest.raises(DataError, match="no runs yet"):
        end(begun, EQUAL, 0)
    for scores, passed in ((EQUAL, 3), (some(EQUAL, 0), 0)):
        with pytest.raises(DataError, match="not a look inside the first run"):
            record_look(begun, SHARED, scores, first(EQUAL, passed), label="one", study=STUDY)
    panel = first(EQUAL, 1).panels[12]
    for panels in ({12: panel[:, :-1]}, {13: panel}):
        cut = replace(first(EQUAL, 1), panels=panels)
        with pytest.raises(DataError, match="do not fit"):
            record_look(begun, SHARED, some(EQUAL, 0), cut, label="one", study=STUDY)
    assert len(contents(begun)) == 3


def test_a_use_without_looks_inside_the_run_has_complete_runs_only(path):
    begin(path, checkpoints=None)
    done = record(path, SHARED, EQUAL, label="one", study=STUDY)
    assert done.report.results == gate(SHARED.at_level(level_of(SHARED, 1)), EQUAL).results
    assert [kind for kind, *_ in contents(path)] == ["policy", "begun", "looked", "decided"]
    assert contents(path)[1][2]["checkpoints"] is None


def test_systems_in_another_order_are_the_same(begun):
    """Scores name their rows; parts have the same rows."""
    look(begun, EQUAL, 1)
    back = replace(some(EQUAL, 0), models=("old", "new"))
    turned = replace(first(EQUAL, 2), panels={upto: panel[::-1] for upto, panel in first(EQUAL, 2).panels.items()})
    assert record_look(begun, SHARED, back, turned, label="one", study=STUDY).results == look(begun, EQUAL, 2).results


def forge(path, change):
    taken = Taken.apart(path)
    change(taken)
    path.unlink()
    heads_beside(path).unlink()
    taken.write(path)


def last(taken, kind):
    return list(taken.of(kind))[-1][1]


FORGERIES = {
    "a seed that is none": lambda taken: last(taken, "begun")["checkpoints"].update(order_seed=-1),
    "weights": lambda taken: last(taken, "begun")["checkpoints"].update(weights=[0.2, 0.2, 0.2]),
    "another order": lambda taken: last(taken, "begun")["checkpoints"].update(order="file"),
    "no study": lambda taken: last(taken, "begun").update(study=None),
    "no plan": lambda taken: last(taken, "begun").update(checkpoints=None),
    "a look that is not planned": lambda taken: last(taken, "looked").update(
        parts={"49": last(taken, "looked")["parts"]["48"]}
    ),
    "a look left out": lambda taken: taken.events.pop(2),
    "other scores": lambda taken: last(taken, "looked")["parts"]["48"].update(new="0" * 64),
    "fewer parts": lambda taken: last(taken, "decided").update(parts=1),
    "a run": lambda taken: last(taken, "decided").update(runs=1),
    "a look less": lambda taken: last(taken, "decided")["results"][0]["looks"].pop(),
    "another look": lambda taken: last(taken, "decided")["results"][0]["looks"].reverse(),
    "verdict": lambda taken: last(taken, "decided")["results"][0].update(verdict="FAIL"),
    "earlier": lambda taken: last(taken, "decided")["results"][0].update(since_part=0.05),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_record_that_contradicts_its_use_is_refused_although_its_hashes_fit(begun, name):
    look(begun, APART, 1)
    look(begun, APART, 2)
    end(begun, APART, 2)
    forge(begun, lambda taken: None)
    assert len(read_ledger(begun).uses) == 1, "the same content is accepted"
    forge(begun, FORGERIES[name])
    with pytest.raises(BbedgeError), Store(begun, what="ledger").read() as session:
        verify_session(session)


def test_a_complete_run_shows_that_its_order_was_another(begun):
    look(begun, APART, 2)
    end(begun, APART, 2, count=1)
    forge(begun, lambda taken: last(taken, "begun")["checkpoints"].update(order_seed=6))
    with (
        pytest.raises(BoardError, match="differs from the parts of it that were seen"),
        Store(begun, what="ledger").read() as session,
    ):
        verify_session(session)
