"""The hash of scores: the same for the same scores in any form, another one for any change."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace

import numpy as np
import pytest

from bbedge.core.scores import Scores, scores_hash

VALUES = np.random.default_rng(4).integers(0, 3, (3, 4, 6)) / 2.0
MODELS, ITEMS = ("a", "b", "c", "d"), tuple(f"q{i}" for i in range(6))
BLOCKS = ("x", "x", "y", "y", "z", "z")
SCORES = Scores.of(VALUES, models=MODELS, items=ITEMS, blocks=BLOCKS)


def test_the_hash_is_of_a_documented_form():
    # Certificates state it: it must never change for the same scores.
    plain = Scores.of([[[0.5, 0.25], [1.0, 0.0]]], models=["b", "a"], items=["q1", "q2"])
    about = (
        b'{"blocks":[["q1"],["q2"]],"items":["q1","q2"],"models":["a","b"],"replicates":["1"],'
        b'"score_range":[0.0,1.0],"version":1}'
    )
    assert scores_hash(plain) == hashlib.sha256(about + struct.pack("<4d", 1.0, 0.0, 0.5, 0.25)).hexdigest()


def test_neither_order_nor_block_labels_matter():
    rows, columns = [2, 0, 3, 1], [5, 0, 3, 2, 1, 4]
    other = Scores.of(
        VALUES[:, rows][:, :, columns],
        models=[MODELS[i] for i in rows],
        items=[ITEMS[i] for i in columns],
        blocks=[f"block {BLOCKS[i]}" for i in columns],
    )
    assert scores_hash(other) == scores_hash(SCORES)
    assert scores_hash(replace(SCORES, values=np.where(VALUES == 0.0, -0.0, VALUES))) == scores_hash(SCORES)


def changed(place: tuple[int, int, int], to: float) -> np.ndarray:
    values = VALUES.copy()
    values[place] = to
    return values


@pytest.mark.parametrize(
    "change",
    [
        {"values": changed((1, 2, 3), 0.75)},
        {"values": changed((1, 2, 3), np.nan)},
        {"values": changed((2, 3, 5), np.nextafter(VALUES[2, 3, 5], 2.0))},
        {"values": VALUES[::-1]},
        {"models": ("a", "b", "c", "e")},
        {"items": (*ITEMS[:5], "q9")},
        {"blocks": ("x", "x", "y", "y", "z", "w")},
        {"replicates": ("1", "2", "4")},
        {"score_range": (0.0, 10.0)},
        {"gaps": "worst-case"},
        {"stops": (3, 3, 2, 3)},
        {"columns": {"topic": ("m", "m", "m", "c", "c", "c")}},
    ],
    ids=str,
)
def test_everything_that_matters_matters(change):
    assert scores_hash(replace(SCORES, **change)) != scores_hash(SCORES)


def test_a_missing_score_has_one_form():
    odd = np.array([0x7FF8000000000123], dtype=np.uint64).view(np.float64)[0]
    one, two = (replace(SCORES, values=changed((0, 0, 0), value)) for value in (np.nan, odd))
    assert np.isnan(odd)
    assert scores_hash(one) == scores_hash(two)


def test_weights_are_numbers_in_any_spelling():
    one = replace(SCORES, columns={"w": ("1", "2", "3", "1e1", "5", "x")})
    two = replace(SCORES, columns={"w": ("1.0", "2.00", "3", "10", "5.0", "x")})
    assert scores_hash(one) == scores_hash(two)
    assert scores_hash(one) != scores_hash(replace(SCORES, columns={"w": ("1", "2", "3", "10", "6", "x")}))
    assert scores_hash(one) != scores_hash(replace(SCORES, columns={"v": one.columns["w"]}))
