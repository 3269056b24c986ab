"""Families of an added model in the core design: which directions, and what the hash sees."""

import numpy as np
import pytest

from bbedge.core.design import Design, Family
from bbedge.core.leaderboard import Certifier
from bbedge.errors import DesignError

MODELS = ("a", "b", "new", "c")
ITEMS = ("q1", "q2", "q3")


def directions(design):
    return {(design.models[a], design.models[b]) for a, b in np.argwhere(design.tested).tolist()}


def test_only_directions_that_touch_the_newcomer_are_tested():
    design = Design.make(MODELS, ITEMS, newcomer="new")
    others = ("a", "b", "c")
    assert directions(design) == {("new", m) for m in others} | {(m, "new") for m in others}
    assert design.n_directions == 6


def test_with_a_candidate_the_newcomer_is_only_compared_with_it():
    design = Design.make(MODELS, ITEMS, candidate=["a", "c"], newcomer="new")
    assert directions(design) == {("a", "new"), ("c", "new")}
    assert Family(kind="cross-set", candidate=("a", "c"), newcomer="new").mask(MODELS).sum() == 2


def test_names_are_compared_as_they_are():
    names = ("a", "new ", "new", "New")
    mask = Family(newcomer="new").mask(names)
    assert mask[2].tolist() == [True, True, False, True]
    assert mask[:, 2].tolist() == [True, True, False, True]
    assert mask.sum() == 6


def test_the_hash_changes_with_the_newcomer_and_only_then():
    plain = Design.make(MODELS, ITEMS)
    hashes = {plain.hash, *(Design.make(MODELS, ITEMS, newcomer=name).hash for name in MODELS)}
    assert len(hashes) == 1 + len(MODELS)
    assert Design.make(MODELS, ITEMS, newcomer=None).hash == plain.hash


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"newcomer": "zz"}, "the newcomer 'zz' is not a model of the design"),
        ({"newcomer": "a", "candidate": ["a", "b"]}, "'a' cannot be in a candidate chosen before it came"),
    ],
)
def test_newcomers_that_cannot_be(options, message):
    with pytest.raises(DesignError, match=message):
        Design.make(MODELS, ITEMS, **options)


def test_stakes_follow_the_smaller_family():
    every, new = (
        Design.make(MODELS, ITEMS, stakes="design"),
        Design.make(MODELS, ITEMS, stakes="design", newcomer="new"),
    )
    assert new.grid.values != every.grid.values
    assert max(new.grid.values) <= max(every.grid.values)


def test_untested_directions_have_no_evidence_and_no_edges():
    certifier = Certifier(Design.make(MODELS, ITEMS, newcomer="new", method="bb-edge-x"))
    panel = np.repeat([[1.0], [0.9], [0.5], [0.0]], 3, axis=1)
    for _ in range(30):
        look = certifier.update(panel)
    assert np.array_equal(np.isnan(look.log_e), ~certifier.evidence.design.tested)
    assert {tuple(edge) for edge in np.argwhere(look.edges).tolist()} == {(0, 2), (1, 2), (2, 3)}
