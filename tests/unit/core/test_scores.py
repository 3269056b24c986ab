import numpy as np
import pytest

from bbedge.core.scores import Scores, check_panel
from bbedge.errors import BbedgeError, DataError, DesignError

NAMES = {"models": ["a", "b"], "items": ["q1", "q2", "q3"]}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-9, 1.0000001, 3.0])
def test_a_score_outside_the_unit_interval_is_named(bad):
    panel = np.full((2, 3), 0.5)
    panel[1, 2] = bad
    with pytest.raises(DataError, match=rf"score {bad}.* of model 'b' on item 'q3' is not in \[0, 1\]"):
        check_panel(panel, **NAMES)


@pytest.mark.parametrize("shape", [(3, 2), (2, 2), (1, 3), (2, 3, 1), (6,), ()])
def test_a_panel_of_another_shape_is_refused(shape):
    with pytest.raises(DataError, match="expected 2 models x 3 items"):
        check_panel(np.zeros(shape), **NAMES)


@pytest.mark.parametrize("panel", [[[0.0, 1.0], [0.5]], [["good", "bad", "bad"]] * 2], ids=["ragged", "text"])
def test_a_panel_that_is_no_table_of_numbers_is_refused(panel):
    with pytest.raises(BbedgeError):
        check_panel(panel, **NAMES)


def test_a_good_panel_comes_back_as_contiguous_float64():
    given = np.array([[0, 1, 1], [1, 0, 0]], dtype=np.int8).T.copy().T
    panel = check_panel(given, **NAMES)
    assert panel.dtype == np.float64
    assert panel.flags.c_contiguous
    assert panel.tolist() == given.tolist()
    assert check_panel([[0, 1, 0.5], [1, 1, 1]], **NAMES).tolist() == [[0, 1, 0.5], [1, 1, 1]]
    assert check_panel(np.array([[True, False, True]] * 2), **NAMES).tolist() == [[1, 0, 1]] * 2


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
