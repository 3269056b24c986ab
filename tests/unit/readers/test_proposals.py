"""A proposal is right or absent, never wrong: tables of :mod:`proposal_tables`, read as they say to be read."""

import shlex

import numpy as np
import pytest

from bbedge.errors import Argument, FormatError
from bbedge.readers import read_scores
from bbedge.readers.candidates import next_command
from bbedge.readers.survey import survey
from bbedge.records.reading import Reading
from proposal_tables import MODELS, RIGHT, TRAPS, as_csv, as_json


def surveyed(folder, case):
    folder.mkdir(parents=True, exist_ok=True)
    case.make(folder)
    return survey([str(folder / case.name) if case.name else str(folder)])


def content(source, reading):
    """The scores of every model, whatever its items and replicates are called, and how many blocks there are."""
    scores = read_scores(source, least_models=1, **reading)
    order = np.lexsort(scores.values.reshape(-1, len(scores.items)))
    return scores.models, scores.values[:, :, order].tolist(), len(set(scores.blocks))


def is_read_by(source, arguments, reading):
    """Whether arguments give the same scores as a reading that is known to be right."""
    given = Reading()
    for argument in arguments:
        given = given.with_argument(argument)
    options = given.changed()
    if "score_range" in reading:
        options["score_range"] = reading["score_range"]
    return content(source, options) == content(source, reading)


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_proposed_is_right(name, tmp_path):
    found = surveyed(tmp_path / "x", RIGHT[name])
    assert found.scores is not None or found.proposal, found.refused
    assert not found.decisions
    assert is_read_by(tmp_path / "x", found.proposal, RIGHT[name].reading)


@pytest.mark.parametrize("name", TRAPS)
def test_nothing_is_proposed_of_a_trap(name, tmp_path):
    try:
        found = surveyed(tmp_path / "x", TRAPS[name])
    except FormatError as refused:
        assert "pairwise judgements" in str(refused)  # noqa: PT017 - other traps are looked at, and raise nothing
        return
    assert found.scores is None
    # What is certain may be in the command that asks for the rest.
    assert found.decisions or not found.proposal
    assert found.remedy is None


def candidates(folder, name):
    return [[each.argument.words[-1] for each in of.candidates] for of in surveyed(folder, TRAPS[name]).decisions]


def test_what_may_be_meant_is_listed_and_not_proposed(tmp_path):
    assert candidates(tmp_path / "a", "an index of questions") == [["item=problem_idx"]]
    assert candidates(tmp_path / "b", "means of datasets") == [["item=dataset"]]
    assert candidates(tmp_path / "c", "a summary of each model by key") == [["model=key", "item=key"]]
    together = [f"{each}strategy" for each in ("replicate=", "item=task_id+", "model=model+")]
    assert candidates(tmp_path / "d", "conditions and samples together") == [
        together + [each.replace("strategy", "sample") for each in together]
    ]


def test_reasons_against_a_candidate_are_said(tmp_path):
    (decision,) = surveyed(tmp_path, TRAPS["an index of questions"]).decisions
    assert decision.candidates[0].reasons[0] == "an index, which may count rows"


def test_a_later_column_of_a_role_replaces_the_first(tmp_path):
    found = surveyed(tmp_path, RIGHT["turns of a dialogue"])
    words = shlex.split(next_command(found, [str(tmp_path)], Reading(column=("item=question_id",))))
    assert words[3:] == ["--column", "item=question_id+turn", "--blocks", "question_id"]


def test_what_is_left_is_said_beside_a_proposal(tmp_path):
    lists = {"math": [{"id": 1, "score": 1}, {"id": 2, "score": 0}], "law": [{"id": 3, "score": 1}]}
    for model in ("gpt", "llama"):
        as_json(tmp_path / f"{model}.json", lists)
    found = survey([str(tmp_path)])
    assert found.proposal == (Argument("model_from", "file"),)
    assert "column={'item': 'key+id'} if they are groups of items" in str(found.left)
    read = read_scores(tmp_path, model_from="file", column={"item": "key+id"})
    assert read.items == ("law+3", "math+1", "math+2")


def test_a_number_of_two_questions_is_no_item(tmp_path):
    of = [{"model": m, "index": n, "problem": f"{n + k} legs?", "score": 1} for k, m in enumerate("ab") for n in (1, 2)]
    as_csv(tmp_path / "a.csv", of)
    with pytest.raises(FormatError, match=r"item '1' is a number of more than one question, '1 legs\?' and '2 legs\?'"):
        read_scores(tmp_path / "a.csv")


def test_names_that_may_mean_something_else_are_noted(tmp_path):
    means = [{"model": m, "task": t, "accuracy": 0.5} for m in MODELS for t in ("gsm8k", "arc", "mmlu")]
    as_csv(tmp_path / "means.csv", means)
    (note,) = (each for each in read_scores(tmp_path / "means.csv").notes if each.kind == "names")
    assert "called as benchmarks are: 'arc', 'gsm8k', 'mmlu'" in note.text
    runs = [
        {"model": m, "item": n, "run": r, "score": n % 2} for m in MODELS for n in range(3) for r in ("first", "last")
    ]
    as_csv(tmp_path / "runs.csv", runs)
    (note,) = (each for each in read_scores(tmp_path / "runs.csv").notes if each.kind == "names")
    assert note.subject == ("first", "last")
