"""Several judgements of one answer: their mean, what is kept of each, and what is refused."""

import asyncio
import csv
import json
from types import SimpleNamespace

import pytest
from inspect_ai.model import ChatMessageAssistant
from inspect_ai.scorer import Score, mean, scorer

from bbedge.errors import DataError, FormatError
from bbedge.evaluate.engine import Sample
from bbedge.evaluate.engines.inspect_hook import item_scores, judgements
from bbedge.evaluate.engines.inspect_judging import _recordable, judging_scorers, mean_score
from bbedge.evaluate.journal import Journal
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.records.journal import Done


def scores_of(*values):
    return [Score(value=value, explanation=f"because {value}") for value in values]


def test_the_mean_is_the_score_and_every_judgement_is_kept():
    score = mean_score("s", scores_of({"one": 0.2, "two": 1.0}, {"one": 0.4, "two": 0.0}))
    named = {"judge": score}
    assert item_scores("s", ("s/one", "s/two"), named, scorer=None) == {"s/one": pytest.approx(0.3), "s/two": 0.5}
    assert judgements("s", ("s/one", "s/two"), named, scorer=None) == {"s/one": (0.2, 0.4), "s/two": (1.0, 0.0)}
    assert score.explanation.count("because") == 2


def test_grades_are_numbers_before_they_are_averaged():
    score = mean_score("s", scores_of("C", "I", "P"))
    assert score.value == 0.5
    assert judgements("s", ("s",), {"judge": score}, scorer="judge") == {"s": (1.0, 0.0, 0.5)}


def test_one_judgement_leaves_no_trace():
    assert judgements("s", ("s",), {"judge": Score(value=1.0, metadata={"judgements": 3})}, scorer=None) == {}


def test_judgements_of_different_parts_are_refused():
    with pytest.raises(DataError, match="score different parts"):
        mean_score("s", scores_of({"one": 0.2}, {"two": 0.4}))
    with pytest.raises(DataError, match="score different parts"):
        mean_score("s", scores_of({"one": 0.2}, 0.4))
    with pytest.raises(DataError, match="expected a number"):
        mean_score("s", scores_of(0.2, "good"))


@pytest.mark.parametrize("value", [0.1 + 0.2, "P", True, {"one": 0.7, "two": "C"}])
def test_a_recorded_score_is_the_same_again(value):
    items = ("s/one", "s/two") if isinstance(value, dict) else ("s",)
    message = ChatMessageAssistant(content="a \ud800 grade")
    metadata = {"grading": [message], "pair": (1, 2), "other": object}
    score = Score(value=value, answer="x", explanation="y", reason="z", metadata=metadata)
    line = json.loads(json.dumps(_recordable(score, Sample(name="s", items=items, blocks=items))))
    again = Score.model_validate(line)
    assert (again.value, type(again.value)) == (value, type(value))
    assert again.model_dump(mode="json") == score.model_dump(mode="json", fallback=repr)


@pytest.mark.parametrize(
    "score",
    [
        Score.unscored(reason="grader_failed"),
        Score(value=7.0),
        Score(value={"one": 0.5}),
        Score(value=0.5, metadata={"margin": float("nan")}),
    ],
)
def test_a_score_that_fails_its_sample_or_cannot_be_written_is_not_recorded(score):
    assert _recordable(score, Sample(name="s", items=("s",), blocks=("s",))) is None


@scorer(metrics=[mean()])
def scripted(given):
    left = list(given)

    async def score(state, target):
        return left.pop(0)

    return score


def judge(*given):
    (repeated,) = judging_scorers([scripted(list(given))], len(given))
    return repeated, asyncio.run(repeated(SimpleNamespace(sample_id="s"), None))


def test_the_scorer_keeps_its_name_and_metrics():
    repeated, score = judge(Score(value=0.2), Score(value=0.4))
    assert score.value == pytest.approx(0.3)
    assert repeated.__registry_info__.name == scripted([]).__registry_info__.name


def test_a_judgement_without_a_score_is_an_error_unless_none_has_one():
    assert judge(None, None)[1] is None
    with pytest.raises(DataError, match="1 of 2 judgements gave no score"):
        judge(Score(value=0.2), None)


def test_judgements_survive_a_crash_and_end_as_a_table(tmp_path):
    done = Done(model="a", sample="s", scores={"s": 0.3}, judgements={"s": (0.2, 0.4)})
    for attempt in range(2):  # the second time from the file, as after a crash
        with Journal(tmp_path, root="r", blocks={"s": "b"}) as journal:
            page = journal.page(1)
            if attempt == 0:
                page.add(done)
                page.close()
                continue
            assert page.done["a", "s"] == done
            journal.finish(page, traces={})
    with (tmp_path / "judgements" / "replicate-00001.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["model", "item", "block", "replicate", "judgement", "score"],
        ["a", "s", "b", "1", "1", "0.2"],
        ["a", "s", "b", "1", "2", "0.4"],
    ]


def study(tmp_path, **benchmark):
    values = {"budget": 1, "models": ["a", "b"], "benchmark": {"task": "t.py@t", **benchmark}}
    return EvaluationSpec.from_values(values, path=tmp_path / "study.toml")


def test_the_number_of_judgements_is_frozen_where_it_is_not_one(tmp_path):
    assert study(tmp_path, judge_repeats=1).protocol == study(tmp_path).protocol
    assert study(tmp_path, judge_repeats=2).protocol["judge_repeats"] == 2
    with pytest.raises(FormatError, match="at least 1"):
        study(tmp_path, judge_repeats=0)
