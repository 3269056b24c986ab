"""What a board concludes in its views is what certify concludes from the same scores and columns."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from bbedge.board import Board, BoardDesign, Headline, Views
from bbedge.core.leaderboard import certify_design
from bbedge.core.scores import Scores
from bbedge.core.views import suite_options
from bbedge.errors import BbedgeError

MODELS = ("a", "b", "c")
MEANS = np.array([0.9, 0.5, 0.1])


@st.composite
def suites(draw):
    """Items with a category and a weight each, scores with gaps, and what a design says of them."""
    count = draw(st.integers(2, 14))
    labels = tuple(draw(st.sampled_from(["math", "code", "law"])) for _ in range(count))
    weights = tuple(draw(st.sampled_from(["0", "1", "2", "0.5"])) for _ in range(count))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = (rng.random((draw(st.integers(1, 6)), 3, count)) < MEANS[:, None]).astype(float)
    values[rng.random(values.shape) < draw(st.sampled_from([0.0, 0.1]))] = np.nan
    named = {name: draw(st.sampled_from([0.1, 0.2])) for name in sorted(set(labels)) if draw(st.booleans())}
    headline = Headline(macro=draw(st.sampled_from([None, "label"])), weights=draw(st.sampled_from([None, "weight"])))
    return labels, weights, values, named, headline


def check(suite):
    labels, weights, values, named, headline = suite
    items = tuple(f"q{i}" for i in range(len(labels)))
    made = Scores.of(np.nan_to_num(values), models=MODELS, items=items)
    scores = replace(
        made,
        values=values,
        numbered=True,
        gaps="worst-case",
        columns={"label": labels, "weight": weights},
    )
    design = BoardDesign(
        alpha=0.2,
        spending="equal",
        shares=1,
        copies="allow",
        incomplete="worst-case",
        headline=headline,
        views=Views(column="label", shares=named),
    )
    try:
        options = suite_options(scores, macro=headline.macro, weights=headline.weights, views="label", shares=named)
        expected = certify_design(scores, scores.design(alpha=design.level(0), copies="allow", **options))
    except BbedgeError:
        reject()  # all weights are 0, or a share is for a view that is the headline itself
    with tempfile.TemporaryDirectory() as folder:
        board = Board.create(Path(folder) / "b.db", design, models=MODELS, items=items, columns=dict(scores.columns))
        board.add(scores, incomplete="worst-case")
        found = board.leaderboard()
        board.verify()
        board.close()
    assert found.design.weights == expected.design.weights
    assert [view.name for view in found.views] == [view.name for view in expected.views]
    assert tuple(part.share for part in found.design.parts) == pytest.approx(
        tuple(part.share for part in expected.design.parts), rel=1e-12
    )
    for mine, theirs in ((found, expected), *zip(found.views, expected.views, strict=True)):
        assert mine.design.weights == theirs.design.weights
        np.testing.assert_allclose(mine.log_e, theirs.log_e, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(mine.lower_bounds, theirs.lower_bounds, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(mine.edges, theirs.edges)
        assert mine.looks == theirs.looks
    assert (found.gaps and found.gaps.of_models) == (expected.gaps and expected.gaps.of_models)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(suites())
@pytest.mark.nightly
def test_a_board_is_what_certify_makes_of_the_same_scores(suite):
    check(suite)


@pytest.mark.nightly
@settings(max_examples=60, deadline=None, derandomize=True)
@given(suites())
def test_a_board_is_what_certify_makes_of_the_same_scores_in_many_suites(suite):
    check(suite)
