"""The quiz behind the demo data, without the model: its items, its blocks, its scoring, and the table they gave."""

import re
import runpy
from collections import Counter
from pathlib import Path

import pytest

import bbedge
from bbedge.evaluate.specification import EvaluationSpec

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

DEMO = Path(__file__).parents[3] / "demo"
LLM = DEMO / "llm"
QUIZ = runpy.run_path(str(LLM / "quiz.py"))


def key(question: str) -> str:
    """The right answer to a question of the quiz."""
    for form, answers in QUIZ["FAMILIES"].values():
        for what, target in answers.items():
            if form.format(what) == question:
                return target
    raise LookupError(question)


def test_a_model_that_knows_all_scores_one_on_items_in_families(run):
    result = run(f"{LLM / 'quiz.py'}@quiz", lambda messages: f"It is {key(messages[-1].text)}.")
    assert len(result.items) >= 60
    assert set(result.items.values()) == {1.0}
    blocks = Counter(sample.metadata["block"] for sample in result.log.samples)
    assert len(blocks) >= 20
    assert min(blocks.values()) >= 2
    questions = [sample.input for sample in result.log.samples]
    assert len(set(questions)) == len(questions)


def test_only_right_answers_score(run):
    result = run(f"{LLM / 'quiz.py'}@quiz", lambda messages: "Paris" if "capital" in messages[-1].text else "")
    assert {item for item, score in result.items.items() if score} == {"capitals-europe-1"}
    assert result.reported == pytest.approx(1 / len(result.items))


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        ("Paris", "Paris"),
        ("paris.", "Paris"),
        ("\n The capital of France is Paris. It is the", "Paris"),
        ("Paris is the capital of France", "Paris"),
        ('The first letter of the word dog is "D".', "d"),
        ("4 + 4 = 8", "8"),
        ("**8**", "8"),
    ],
)
def test_right_answers(answer, target):
    assert QUIZ["right"](answer, target)


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        ("", "Paris"),
        ("...\n", "Paris"),
        ("Lyon", "Paris"),
        ("Parisian", "Paris"),
        ("Lyon. Paris", "Paris"),
        ("Lyon\nParis", "Paris"),
        ("It is Paris or Lyon", "Paris"),
        ("18", "8"),
        ("It is 8.5", "8"),
        ("apple", "apples"),
    ],
)
def test_wrong_and_nearly_right_answers(answer, target):
    assert not QUIZ["right"](answer, target)


def test_no_instruction_gives_an_answer_of_the_quiz_away():
    questions = {form.format(what) for form, answers in QUIZ["FAMILIES"].values() for what in answers}
    for model in EvaluationSpec.read(LLM / "study.toml").models:
        told = model.config.get("system_message", "")
        assert not [question for question in questions if question in told]


def test_the_demo_data_are_this_study_s():
    study = EvaluationSpec.read(LLM / "study.toml")
    assert (study.question.text, study.file.budget, study.file.drop) == ("top-2", 10, "never")
    assert len({str(model.config) for model in study.models}) == len(study.models) >= 5
    scores = bbedge.read_scores(DEMO / "scores.csv")
    assert set(scores.models) == set(study.names)
    families = {
        f"{family}-{place}": family
        for family, (_, answers) in QUIZ["FAMILIES"].items()
        for place in range(1, len(answers) + 1)
    }
    assert dict(zip(scores.items, scores.blocks, strict=True)) == families
    assert 1 <= len(scores.replicates) <= study.file.budget


def test_packages_of_the_demo_are_pinned():
    lines = (LLM / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", pin) for pin in pins)
