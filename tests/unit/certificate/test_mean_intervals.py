"""Intervals of means in the certificate: in score units, absent where not asked for, and refused where impossible."""

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from bbedge.core.leaderboard import certify, certify_design
from bbedge.errors import FormatError
from unit.certificate.documents import checked, parted, schema

ENDS = (-5.0, 15.0)


@pytest.fixture(scope="module")
def leaderboard():
    scores = replace(parted(), score_range=ENDS)
    views = {"half": [1.0, 0.0] * (len(scores.items) // 2) + [1.0] * (len(scores.items) % 2)}
    return certify_design(scores, scores.design(mean_share=0.1, views=views))


def test_intervals_are_in_score_units_and_in_the_order_shown(leaderboard):
    certificate = leaderboard.certificate()
    for each, its in ((leaderboard, certificate), (leaderboard.view("half"), certificate.view("half"))):
        assert len(its.mean_intervals) == len(its.names)
        for name, interval in zip(its.names, its.mean_intervals, strict=True):
            low, high = each.mean_bounds[each.design.models.index(name)]
            assert interval == pytest.approx((-5.0 + 20.0 * low, -5.0 + 20.0 * high), abs=1e-12)
            assert ENDS[0] <= interval[0] <= -5.0 + 20.0 * low
            assert -5.0 + 20.0 * high <= interval[1] <= ENDS[1]
    widths = np.diff(certificate.mean_intervals).ravel()
    assert np.all(widths > 0.0)
    assert widths.min() < 20.0


def test_what_is_written_is_read_as_it_was(leaderboard):
    certificate = leaderboard.certificate()
    document = json.loads(certificate.to_json())
    jsonschema.validate(document, schema())
    assert document["design"]["mean_share"] == 0.1
    read = checked(document)
    assert read.mean_intervals == certificate.mean_intervals
    assert read.view("half").mean_intervals == certificate.view("half").mean_intervals
    assert read.to_json() == certificate.to_json()


def test_without_a_mean_share_there_is_no_word_of_it():
    board = certify(parted())
    assert board.certificate().mean_intervals is None
    assert "mean_share" not in board.to_json()
    assert "mean_interval" not in board.to_json()
    assert "mean_low" not in board.to_frame().columns


def test_the_frame_has_both_ends(leaderboard):
    frame, certificate = leaderboard.to_frame(), leaderboard.certificate()
    assert frame.columns[:4] == ["model", "mean", "mean_low", "mean_high"]
    assert list(zip(frame["mean_low"], frame["mean_high"], strict=True)) == list(certificate.mean_intervals)


def changed(leaderboard, change):
    document = json.loads(leaderboard.to_json())
    change(document)
    return document


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["models"][1].pop("mean_interval"), "'mean_share' of the design do not agree"),
        (lambda d: d["design"].pop("mean_share"), "'mean_share' of the design do not agree|'fitted_stakes'"),
        (lambda d: d["models"][0]["mean_interval"].reverse(), "is not a part of the score range"),
        (lambda d: d["models"][0].update(mean_interval=[-5.1, 15.0]), "is not a part of the score range"),
        (lambda d: d["models"][0].update(mean_interval=[-5.0, d["models"][0]["mean"] - 1.0]), "does not contain"),
        (lambda d: d["views"][0]["models"][2].pop("mean_interval"), "'mean_share' of the design do not agree"),
    ],
)
def test_an_interval_that_cannot_be_is_refused(leaderboard, change, words):
    with pytest.raises(FormatError, match=words):
        checked(changed(leaderboard, change))
