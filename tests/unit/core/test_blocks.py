import numpy as np
import pytest

from bbedge.core.panels import BlockLayout


def test_blocks_are_numbered_as_they_first_appear():
    layout = BlockLayout.of(["x", "y", "x", "z", "y", "x"])
    assert layout.sizes.tolist() == [3, 2, 1]
    assert layout.order.tolist() == [0, 2, 5, 1, 4, 3]
    assert layout.starts.tolist() == [0, 3, 5]
    assert (layout.count, layout.largest) == (3, 3)
    assert layout.relative_weights.tolist() == [1.0, 2 / 3, 1 / 3]
    assert layout.effective_count == pytest.approx(1 + 4 / 9 + 1 / 9, rel=1e-15)


def test_means_of_scattered_blocks():
    layout = BlockLayout.of(["x", "y", "x", "z", "y", "x"])
    panel = np.array([[0.0, 0.25, 0.5, 1.0, 0.75, 1.0], [1.0, 1.0, 1.0, 0.0, 0.0, 1.0]])
    assert layout.means(panel).tolist() == [[0.5, 0.5, 1.0], [1.0, 0.5, 0.0]]


def test_means_of_singletons_are_the_scores():
    layout = BlockLayout.of(["c", "a", "b"])
    panel = np.array([[0.1, 0.2, 0.3]])
    means = layout.means(panel)
    assert means.tolist() == panel.tolist()


def test_one_block():
    layout = BlockLayout.of(["all"] * 4)
    assert layout.means(np.array([[0.0, 0.0, 1.0, 1.0]])).tolist() == [[0.5]]
    assert (layout.count, layout.effective_count) == (1, 1.0)


def test_equal_blocks_are_each_worth_one():
    assert BlockLayout.of([1, 1, 2, 2, 3, 3]).effective_count == 3.0


def test_weights_make_blocks_and_means():
    layout = BlockLayout.of(["x", "y", "x", "z", "y"], [0.1, 0.0, 0.2, 0.6, 0.0])
    assert layout.order.tolist() == [0, 2, 3]
    assert layout.sizes.tolist() == [2, 1]
    assert layout.relative_weights.tolist() == pytest.approx([0.5, 1.0])
    assert layout.weights.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert layout.overall.tolist() == pytest.approx([1 / 9, 0.0, 2 / 9, 2 / 3, 0.0])
    assert layout.weight_ratio == pytest.approx(1.5)
    assert layout.effective_count == pytest.approx(1.25)
    panel = np.array([[0.3, 0.9, 0.6, 0.25, 0.8]])
    np.testing.assert_allclose(layout.means(panel), [[0.5, 0.25]], rtol=1e-15)


def test_weighted_singletons_are_the_scores_that_weigh_something():
    layout = BlockLayout.of(["c", "a", "b"], [1.0, 0.0, 7.0])
    assert layout.means(np.array([[0.1, 0.2, 0.3]])).tolist() == [[0.1, 0.3]]


def test_weights_of_any_magnitude():
    layout = BlockLayout.of(["a", "a", "b"], [1e300, 1e-300, 1e300])
    assert layout.relative_weights.tolist() == [1.0, 1.0]
