"""A study that is run until a gate is decided, with an engine in this process."""

import json
from contextlib import closing

import numpy as np
import pytest
from msgspec import structs

from bbedge.board import Board
from bbedge.board.stored_scores import stored_scores
from bbedge.errors import BbedgeError, BoardError, DesignError
from bbedge.evaluate.events import Dropped, Looked, plain
from bbedge.evaluate.runner import evaluate
from bbedge.gate import Claim, Policy, gate
from bbedge.study.synthetic import SyntheticBenchmark
from bbedge.verify.ledger import verify
from fake_engine import FakeEngine, fake_study

APART = SyntheticBenchmark(means=(0.8, 0.45, 0.8), n_items=40, block_sizes=2, offset=0.0)
NEW, OLD, OTHER = APART.models
BLOCKING = Claim(kind="better_by", amount=0.2)


def policy(*claims: Claim, candidate: str = NEW, baseline: str | None = OLD, **values) -> Policy:
    return Policy(candidates=(candidate,), baseline=baseline, claims=claims or (BLOCKING,), **values)


def run(study, engine, **options):
    seen = []
    ended = evaluate(study, engine, watch=seen.append, sleep=lambda _: None, **options)
    for event in seen:
        json.dumps(plain(event), allow_nan=False)
    return ended, seen


def report(study, rules):
    with closing(Board.open(study.board)) as board:
        verify(board.store)
        return gate(rules, stored_scores(board, study.question.systems))


def test_it_runs_until_every_blocking_claim_is_decided_and_no_longer(tmp_path):
    rules = policy(BLOCKING, Claim(kind="better_by", amount=0.349, tier="info"))
    study = fake_study(tmp_path, APART, question="best").gated(rules)
    ended, seen = run(study, FakeEngine(APART))
    assert ended.reason == "answered"
    assert ended.answer.text == "1 blocking claim: 1 PASS"
    found = report(study, rules)
    block, info = found.results
    assert (found.release, block.verdict, block.since) == ("ship", "PASS", found.replicates)
    assert info.verdict == "OPEN", "what is only shown does not keep the study running"
    assert found.replicates == ended.spent.replicates > 1
    looks = [event.answer for event in seen if isinstance(event, Looked)]
    assert [each.answered for each in looks] == [False] * (len(looks) - 1) + [True]
    assert looks[0].open_pairs == ((NEW, "better by more than 0.2"),)


def test_about_new_items_it_ends_at_a_look(tmp_path):
    rules = policy(Claim(kind="not_worse_by", amount=0.001), baseline=OTHER, target="new-items")
    ended, seen = run(fake_study(tmp_path / "open", APART, budget=7).gated(rules), FakeEngine(APART))
    assert (ended.reason, ended.spent.replicates) == ("budget", 4), "runs 5 to 7 would have decided nothing"
    texts = [event.answer.text for event in seen if isinstance(event, Looked)]
    assert "the next look is after 4 runs" in texts[2]
    rules = policy(Claim(kind="better_by", amount=0.0), target="new-items", looks=(3, 5))
    decided = fake_study(tmp_path / "decided", APART).gated(rules)
    ended, _ = run(decided, FakeEngine(APART))
    assert ended.reason == "answered"
    assert ended.spent.replicates in (3, 5)
    (result,) = report(decided, decided.question.policy).results
    assert (result.verdict, result.since) == ("PASS", ended.spent.replicates)


def test_scores_of_several_runs_end_at_a_score(tmp_path):
    rules = policy(Claim(kind="not_worse_by", amount=0.001), baseline=OTHER, of_runs="all:3")
    ended, _ = run(fake_study(tmp_path, APART, budget=5).gated(rules), FakeEngine(APART))
    assert (ended.reason, ended.spent.replicates) == ("budget", 3)


def test_a_budget_before_the_first_look_is_refused(tmp_path):
    study = fake_study(tmp_path, APART, budget=4)
    for options in ({"target": "new-items", "looks": (5,)}, {"of_runs": "any:5"}):
        with pytest.raises(DesignError, match="budget = 4 ends before the first look of the policy, after 5 runs"):
            study.gated(policy(**options))


def test_a_certified_failure_decides_too(tmp_path):
    rules = policy(candidate=OLD, baseline=NEW)
    study = fake_study(tmp_path, APART).gated(rules)
    ended, _ = run(study, FakeEngine(APART))
    assert (ended.reason, ended.answer.text) == ("answered", "1 blocking claim: 1 FAIL")
    assert report(study, rules).release == "stop"


@pytest.mark.parametrize(("budget", "expected"), [(None, 4), (3, 3)])
def test_the_budget_of_the_policy_comes_before_that_of_the_study(tmp_path, budget, expected):
    rules = policy(Claim(kind="not_worse_by", amount=0.001), baseline=OTHER, budget=budget)
    ended, _ = run(fake_study(tmp_path, APART, budget=4).gated(rules), FakeEngine(APART))
    assert (ended.reason, ended.spent.replicates) == ("budget", expected)
    assert ended.answer.n_open == 1


def test_models_of_the_gate_are_never_dropped_and_others_only_if_that_is_asked_for(tmp_path):
    for drop, gone in (("settled", ()), ("unneeded", (OTHER,))):
        study = fake_study(tmp_path / drop, APART, drop=drop).gated(policy())
        ended, seen = run(study, FakeEngine(APART))
        assert ended.retired == gone
        assert [event.models for event in seen if isinstance(event, Dropped)] == [gone] * bool(gone)


def test_a_crash_loses_nothing_and_the_next_call_continues(tmp_path):
    rules = policy()
    whole = fake_study(tmp_path / "whole", APART).gated(rules)
    run(whole, FakeEngine(APART))

    class CrashError(Exception):
        pass

    calls = 0

    def crash(*_):
        nonlocal calls
        calls += 1
        if calls % 70 == 0:
            raise CrashError
        return False

    broken = fake_study(tmp_path / "broken", APART).gated(rules)
    for _ in range(200):
        try:
            run(broken, FakeEngine(APART, fails=crash))
            break
        except CrashError:
            continue
    else:
        pytest.fail("it never ended")
    assert calls > 70
    assert report(broken, rules) == report(whole, rules)
    again, _ = run(broken, FakeEngine(APART, fails=lambda *_: pytest.fail("nothing is run again")))
    assert again.reason == "answered"


class SwappingEngine(FakeEngine):
    """Gives the answers of one model under the name of another after three replicates."""

    def run(self, replicate, jobs, seeds, report) -> None:
        def swapped(what):
            other = {NEW: OLD, OLD: NEW}.get(what.model, what.model) if replicate > 3 else what.model
            return report(structs.replace(what, model=other))

        super().run(replicate, jobs, seeds, swapped)


def test_a_study_whose_runs_contradict_each_other_stops_without_an_answer(tmp_path):
    """One candidate passes before the labels change places, another one is still open: no further run helps."""
    benchmark = SyntheticBenchmark(means=(0.8, 0.3, 0.6), n_items=60, block_sizes=2, offset=0.0)
    rules = Policy(candidates=(NEW, OTHER), baseline=None, claims=(Claim(kind="at_least", amount=0.6),))
    study = fake_study(tmp_path, benchmark, budget=40).gated(rules)
    ended, seen = run(study, SwappingEngine(benchmark))
    looks = [event.answer for event in seen if isinstance(event, Looked)]
    assert [each.contradicted for each in looks] == [False] * (len(looks) - 1) + [True]
    assert not any(each.answered for each in looks)
    assert looks[2].open_pairs == ((OTHER, "at least 0.6"),), "what the study still runs for"
    assert (ended.reason, ended.answer.open_pairs) == ("contradiction", ())
    assert ended.answer.text == (
        "CONTRADICTION: the runs contradict each other; 2 blocking claims: 1 OPEN, 1 CONTRADICTION"
    )
    assert 3 < ended.spent.replicates < 40
    assert report(study, rules).release == "contradiction"
    again, _ = run(study, SwappingEngine(benchmark, fails=lambda *_: pytest.fail("nothing is run any more")))
    assert again.reason == "contradiction"


def test_views_and_floors_are_decided_from_the_columns_of_the_study(tmp_path):
    columns = {"topic": lambda item: "even" if int("".join(c for c in item if c.isdigit())) % 2 == 0 else "odd"}
    claims = (Claim(kind="at_least", amount=0.5), Claim(kind="not_worse_by", amount=0.2, view="odd"))
    rules = policy(*claims, views="topic")
    study = fake_study(tmp_path, APART, budget=40, views={"column": "topic"}).gated(rules)
    ended, _ = run(study, FakeEngine(APART, columns=columns))
    assert ended.answer.text == "2 blocking claims: 2 PASS"
    assert [each.claim.view for each in report(study, rules).results] == ["headline", "odd"]


def test_the_board_records_the_policy_once_and_whether_scores_had_been_seen(tmp_path):
    plain_study = fake_study(tmp_path, APART)
    run(plain_study.gated(policy()), FakeEngine(APART), at_most=1)
    run(plain_study.gated(policy()), FakeEngine(APART), at_most=1)
    run(plain_study.gated(policy(alpha=0.1)), FakeEngine(APART), at_most=0)
    with closing(Board.open(plain_study.board)) as board:
        first, second = (note for note in board.noted if note.about == "gate")
    assert first.text.endswith("stated before the first replicate.")
    assert second.text.endswith("stated when 2 replicates had been seen.")
    assert second.particulars["content"]["alpha"] == 0.1


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (policy(candidate="nobody"), "'nobody' is not a model"),
        (policy(Claim(kind="not_worse_by", amount=0.1, tier="warn")), "no claim has the tier block"),
    ],
)
def test_policies_that_nothing_can_decide_are_refused_before_the_board_is_made(tmp_path, rules, words):
    with pytest.raises(DesignError, match=words):
        fake_study(tmp_path, APART).gated(rules)
    assert not list(tmp_path.iterdir())


def test_a_view_that_the_study_does_not_have_is_refused_before_the_first_request(tmp_path):
    engine = FakeEngine(APART)
    study = fake_study(tmp_path, APART).gated(policy(Claim(kind="not_worse_by", amount=0.1, view="x"), views="topic"))
    with pytest.raises(BbedgeError, match="topic"):
        run(study, engine)
    assert not engine.ran


def test_a_model_that_is_no_longer_run_cannot_be_gated(tmp_path):
    study = fake_study(tmp_path, APART)
    run(study, FakeEngine(APART), at_most=1)
    with closing(Board.open(study.board)) as board:
        board.retire(OLD)
    with pytest.raises(BoardError, match="no longer run"):
        run(study.gated(policy()), FakeEngine(APART))


def test_stored_scores_are_what_was_added(tmp_path):
    study = fake_study(tmp_path, APART)
    run(study, FakeEngine(APART, seed=3), at_most=2)
    with closing(Board.open(study.board)) as board:
        scores = stored_scores(board, [OTHER, NEW])
    assert scores.models == (OTHER, NEW)
    for replicate, panel in enumerate(scores.values, start=1):
        drawn = APART.panel(np.random.default_rng([3, replicate]))
        order = [APART.items.index(item) for item in scores.items]
        np.testing.assert_array_equal(panel, drawn[[2, 0]][:, order])
