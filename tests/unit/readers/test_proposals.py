"""A proposal is right or absent, never wrong: tables of :mod:`proposal_tables`, read as they say to be read."""

import numpy as np
import pytest

from bbedge.errors import FormatError
from bbedge.readers import read_scores
from bbedge.readers.survey import survey
from bbedge.records.reading import Reading
from proposal_tables import RIGHT, TRAPS


def surveyed(folder, case):
    folder.mkdir(parents=True, exist_ok=True)
    case.make(folder)
    return survey([str(folder / case.name) if case.name else str(folder)])


def content(source, reading):
    """The scores of every model, whatever its items and replicates are called."""
    scores = read_scores(source, least_models=1, **reading)
    order = np.lexsort(scores.values.reshape(-1, len(scores.items)))
    return scores.models, scores.values[:, :, order].tolist()


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
