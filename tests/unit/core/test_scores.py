import numpy as np
import pytest

from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError, DataError, DesignError

NAMES = {"models": ["a", "b"], "items": ["q1", "q2", "q3"]}


def test_scores_of_one_or_more_panels():
    one = Scores.of(np.zeros((2, 3)), **NAMES)
    assert one.replicates == ("1",)
    assert one.blocks == ("q1", "q2", "q3")
    more = Scores.of(np.arange(12).reshape(2, 2, 3) / 11, **NAMES, blocks=["x", "x", "y"])
    assert more.replicates == ("1", "2")
    assert [panel.tolist() for panel in more.panels()] == more.values.tolist()
    assert more.design().layout.count == 2
    assert Scores.of(np.zeros((2, 3)), **NAMES, blocks="one").design().layout.count == 1


def test_scores_keep_a_copy():
    values = np.zeros((1, 2, 3))
    scores = Scores.of(values, **NAMES)
    values[:] = 1.0
    assert not scores.values.any()


@pytest.mark.parametrize("shape", [(3, 2), (1, 3, 2), (1, 1, 2, 3), (6,)])
def test_scores_of_another_shape_are_refused(shape):
    with pytest.raises(DataError, match="do not fit 2 models and 3 items"):
        Scores.of(np.zeros(shape), **NAMES)


def test_a_wrong_number_of_blocks_is_refused():
    with pytest.raises((DataError, DesignError), match="block"):
        Scores.of(np.zeros((2, 3)), **NAMES, blocks=["x"]).design()


def test_an_unknown_block_rule_is_refused():
    # A misspelt rule must not silently mean something else.
    with pytest.raises(BbedgeError, match="itme"):
        Scores.of(np.zeros((2, 3)), **NAMES, blocks="itme")


def test_design_options_are_handed_on():
    scores = Scores.of(np.zeros((2, 3)), **NAMES, blocks=["x", "x", "y"])
    design = scores.design(alpha=0.1, tau=0.02, blocks="item", evidence="sharp")
    assert (design.alpha, design.tau, design.evidence, design.layout.count) == (0.1, 0.02, "sharp", 3)
