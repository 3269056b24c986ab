"""No text comes onto a verified certificate that the scores do not yield."""

from __future__ import annotations

import copy
import json
import time

import numpy as np
import polars as pl
import pytest

import bbedge
from bbedge import verify_certificate
from bbedge.certificate.provenance import digest
from bbedge.errors import FormatError
from bbedge.verify import read_certificate

AUDITED = "Audited by the Institute."


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """Scores in a folder, of which a run is a copy of another, and a file lies beside them."""
    folder = tmp_path_factory.mktemp("runs")
    values = (np.random.default_rng(1).random((3, 3, 40)) < np.array([0.9, 0.5, 0.2])[None, :, None]).astype(float)
    values[2] = values[1]
    rows = [
        {"model": "abc"[m], "item": f"q{i}", "replicate": r + 1, "score": values[r, m, i]}
        for r in range(3)
        for m in range(3)
        for i in range(40)
    ]
    pl.DataFrame(rows).write_csv(folder / "scores.csv")
    (folder / "readme.txt").write_text("Our runs.")
    return bbedge.read_scores(folder, provenance=True)


@pytest.fixture
def content(scores):
    found = json.loads(bbedge.certify(scores, copies="allow").to_json())
    assert [note["kind"] for note in found["notes"]] == ["beside", "copies", "copies"]
    assert verify_certificate(found, scores).verified
    return found


def resealed(content: dict) -> dict:
    content["provenance"]["digest"] = digest(content)
    return content


def relabelled(content: dict) -> None:
    content["bbedge"] = content["provenance"]["version"] = "0.0.9"


def test_another_version_excuses_nothing(scores, content):
    relabelled(content)
    assert verify_certificate(resealed(content), scores).outcome == "other-version"
    content["notes"] = []
    assert verify_certificate(resealed(content), scores).outcome == "other-version"


def test_no_list_of_notes_is_left_out_of_the_comparison(scores, content):
    content["notes"].insert(0, {"kind": "remark", "subject": [], "text": AUDITED})
    content["provenance"]["unverified_notes"] = [0]
    found = verify_certificate(resealed(content), scores)
    assert found.outcome == "differs"
    assert {check.kind for check in found.checks if check.status == "differs"} == {"schema", "notes"}


@pytest.mark.parametrize("kind", ["beside", "files", "log", "remark", "copies", "retired"])
def test_a_note_of_any_kind_is_found(scores, content, kind):
    content["notes"].append({"kind": kind, "subject": ["a"], "text": AUDITED})
    assert verify_certificate(resealed(content), scores).outcome == "differs"


def test_a_note_about_files_beside_the_scores_has_nothing_but_their_names(tmp_path, scores, content):
    content["notes"][0]["text"] = AUDITED
    (tmp_path / "c.json").write_text(json.dumps(resealed(content)))
    with pytest.raises(FormatError, match="says more than their names"):
        read_certificate(tmp_path / "c.json")
    names = [AUDITED]
    text = f"1 files of the folders were not read, because they hold no known scores: '{AUDITED}'."
    content["notes"][0] = {"kind": "beside", "subject": names, "text": text}
    found = verify_certificate(resealed(content), scores)
    assert [check.status for check in found.checks if check.kind == "notes"] == ["unknown"]
    assert found.summary.endswith("Not checked: notes.")


def test_text_before_a_slash_is_part_of_a_note(scores, content):
    for change in (lambda text: "Audited_by_the_Institute./" + text, lambda text: text + " /"):
        changed = copy.deepcopy(content)
        changed["notes"][1]["text"] = change(changed["notes"][1]["text"])
        assert verify_certificate(resealed(changed), scores).outcome == "differs"


def test_the_subject_of_a_note_is_compared(scores, content):
    content["notes"][1]["subject"] = ["a"]
    assert verify_certificate(resealed(content), scores).outcome == "differs"


@pytest.mark.parametrize("at", [1, 2])
def test_a_warning_that_was_removed_is_found(scores, content, at):
    del content["notes"][at]
    assert verify_certificate(resealed(content), scores).outcome == "differs"


def test_a_long_note_takes_no_longer_than_it_is_long(scores, content):
    content["notes"] = [{"kind": "log", "subject": [], "text": "x" * 40_000}]
    started = time.perf_counter()
    assert verify_certificate(resealed(content), scores).outcome == "differs"
    assert time.perf_counter() - started < 5.0


def test_notes_are_the_same_wherever_the_files_lie(tmp_path):
    rows = {"item": ["q1", "q2", "q3"], "a": [1, 1, 0], "b": [0, 0, 0]}
    choices = {"format": "wide", "drop_column": ("b",)}
    pl.DataFrame(rows | {"c": [0, 1, 0]}).write_csv(tmp_path / "wide.csv")
    scores = bbedge.read_scores(tmp_path / "wide.csv", **choices, provenance=True)
    here = json.loads(bbedge.certify(scores).to_json())
    (note,) = here["notes"]
    assert (note["subject"], note["text"]) == (["wide.csv"], "Dropped from wide.csv on purpose: column 'b'.")
    (tmp_path / "some").mkdir()
    there = (tmp_path / "wide.csv").rename(tmp_path / "some" / "wide.csv")
    assert verify_certificate(here, bbedge.read_scores(there, **choices, provenance=True)).verified
