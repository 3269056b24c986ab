"""Judgements of an Inspect task: their seeds, and that a judgement in the journal is not asked for again."""

import gc
import json
import warnings

import pytest

pytest.importorskip("inspect_ai")

import fake_judge
from bbedge.board import Board
from bbedge.errors import EvaluationError
from bbedge.evaluate.engines.inspect import InspectEngine
from bbedge.evaluate.runner import evaluate
from fake_judge import Script, judged_study

pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Inspect leaves connections to the garbage collector
]


@pytest.fixture(scope="module", autouse=True)
def _left_open():
    """Collect what evaluations leave open before a test of another module is blamed for it."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def script(monkeypatch):
    monkeypatch.setattr(fake_judge, "script", Script())
    return fake_judge.script


def run(study):
    return evaluate(study, InspectEngine(study))


def lines_of(study, replicate=1):
    text = (study.folder / f"replicate-{replicate:05d}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def recorded(study):
    return [line for line in lines_of(study) if "judgement" in line]


def board_of(study):
    """What the board says, without times and hashes."""
    with Board.open(study.board) as board:
        events = [(event.kind, json.loads(event.payload)) for event in board.events]
    return [(kind, {key: value for key, value in payload.items() if key != "cache"}) for kind, payload in events]


def test_seeds_of_a_judge_do_not_depend_on_how_many_requests_the_answer_took(tmp_path, script):
    seeds = []
    for turns in (1, 3):
        script.asked.clear()
        run(judged_study(tmp_path / str(turns), benchmark={"args": {"turns": turns}}))
        assert len(script.of("a")) == 2 * turns
        seeds.append({request.seed for request in script.judge})
    assert len(seeds[0]) == 4
    assert seeds[0] == seeds[1]


def test_judgements_of_an_answer_differ_in_the_seed_alone(tmp_path, script):
    run(judged_study(tmp_path, benchmark={"judge_repeats": 3}))
    assert len({request.seed for request in script.asked}) == len(script.asked) == 4 + 3 * 4
    prompts = [request.prompt for request in script.judge]
    assert sorted(prompts.count(prompt) for prompt in set(prompts)) == [3] * 4


def test_no_two_scorers_share_a_seed(tmp_path, script):
    run(judged_study(tmp_path, task="twice", benchmark={"judge_repeats": 2, "scorer": "judge"}))
    assert len({request.seed for request in script.judge}) == len(script.judge) == 2 * 2 * 4


def test_an_answer_that_is_judged_before_it_is_finished_has_other_seeds_then(tmp_path, script):
    run(judged_study(tmp_path, task="between", benchmark={"judge_repeats": 2}))
    assert len({request.seed for request in script.judge}) == len(script.judge) == 2 * 4


def fail_second_judgement(script):
    """Fail the judge in the second judgement of the answer that it is asked about first."""

    def fails(request):
        first = script.judge[0].prompt if script.judge else None
        return request.prompt == first and sum(each.prompt == first for each in script.judge) == 2

    script.fails = fails


def recover(script):
    script.asked.clear()
    script.fails = lambda request: False


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A study that was never disturbed, how it ended, and what it asked."""
    study = judged_study(tmp_path_factory.mktemp("whole"), benchmark={"judge_repeats": 2})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fake_judge, "script", Script())
        ended = run(study)
        return study, ended, list(fake_judge.script.asked)


def failed_study(tmp_path, script):
    """A study whose judge has failed in the second judgement of an answer, and the key of the sample."""
    study = judged_study(tmp_path / "failed", benchmark={"judge_repeats": 2}, run={"retries": 0})
    fail_second_judgement(script)
    with pytest.raises(EvaluationError, match="1 samples failed"):
        run(study)
    (failed,) = [line for line in lines_of(study) if "error" in line]
    return study, failed


def test_a_judge_that_fails_in_the_second_judgement_is_not_asked_for_the_first_again(whole, tmp_path, script):
    other, undisturbed, asked = whole
    study, failed = failed_study(tmp_path, script)
    model, sample = failed["model"], failed["sample"]
    (kept,) = [line for line in recorded(study) if (line["model"], line["sample"]) == (model, sample)]
    assert (kept["judgement"], kept["scorer"], kept["usage"]["calls"]) == (1, "judge", 1)
    assert kept["usage"]["tokens"] == {"fake/judge": [10, 2]}
    assert kept["replies"] == [kept["score"]["explanation"]]
    assert failed["usage"]["calls"] == 1  # the answer; the first judgement has its own
    assert failed["usage"]["tokens"] == {f"fake/{model}": [10, 2]}

    before = list(script.asked)
    recover(script)
    ended = run(study)
    assert [request.model for request in script.asked] == [model, "judge"]
    assert {*before, *script.asked} == set(asked)
    assert board_of(study) == board_of(other)

    # Every request that was answered is counted once; the answer of the attempt that failed was in vain.
    spent, answered = ended.spent, len(before) - 1 + len(script.asked)
    assert (spent.used.calls, spent.used.total_tokens) == (answered, 12 * answered)
    assert (spent.useful, spent.failed, spent.lost) == (len(asked), 1, 0)
    assert (spent.full.calls, spent.full.tokens) == (undisturbed.spent.full.calls, undisturbed.spent.full.tokens)
    for name in ("judgements/replicate-00001.csv", "usage.jsonl"):
        texts = [(each.folder / name).read_text() for each in (study, other)]
        if name == "usage.jsonl":
            texts = [json.loads(text)["traces"] for text in texts]
        assert texts[0] == texts[1]


def test_a_retry_in_the_same_command_takes_the_judgement_as_well(whole, tmp_path, script):
    study = judged_study(tmp_path / "retried", benchmark={"judge_repeats": 2})
    fail_second_judgement(script)
    run(study)
    _, _, asked = whole
    assert len(script.judge) == sum(request.model == "judge" for request in asked) + 1
    assert board_of(study) == board_of(whole[0])


def test_another_answer_is_judged_anew_and_its_first_judgement_was_in_vain(tmp_path, script):
    study, failed = failed_study(tmp_path, script)
    answered = len(script.asked) - 1
    recover(script)
    script.salt = "another answer"
    spent = run(study).spent
    assert [request.model for request in script.asked] == [failed["model"], "judge", "judge"]
    assert spent.used.calls == answered + 3
    assert spent.used.total_tokens == 12 * (answered + 3)
    assert (spent.useful, spent.failed, spent.lost) == (answered + 3 - 2, 2, 0)


def test_a_judgement_that_is_no_score_is_not_recorded(tmp_path, script):
    study = judged_study(tmp_path, run={"retries": 0})
    script.grade = lambda draw: "7"
    with pytest.raises(EvaluationError, match="4 samples failed"):
        run(study)
    assert recorded(study) == []
    recover(script)
    script.grade = lambda draw: "0.7"
    run(study)
    assert len(script.judge) == 4


def test_a_scorer_that_asks_nothing_leaves_no_line(tmp_path, script):
    study = judged_study(tmp_path, task="twice", benchmark={"scorer": "plain"}, run={"retries": 0})
    script.fails = lambda request: request.model == "b"
    with pytest.raises(EvaluationError, match="2 samples failed"):
        run(study)
    found = {(line["sample"], line["scorer"], line["judgement"]) for line in recorded(study)}
    assert found == {(sample, scorer, 1) for sample in ("q0", "q1") for scorer in ("judge", "judge1")}


def test_with_on_error_zero_the_judgements_of_a_failed_sample_were_in_vain(tmp_path, script):
    study = judged_study(tmp_path, benchmark={"judge_repeats": 2}, run={"retries": 0}, on_error="zero")
    fail_second_judgement(script)
    spent = run(study).spent
    assert (spent.useful, spent.failed) == (3 * 3, 2)
