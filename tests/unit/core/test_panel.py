from dataclasses import replace

import numpy as np
import pytest

from bbedge.core.arrays import numpy_space
from bbedge.core.panels import check_panel
from bbedge.errors import BbedgeError, DataError

NAMES = {"space": numpy_space(), "models": ["a", "b"], "items": ["q1", "q2", "q3"]}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-9, 1.0000001, 3.0])
def test_a_score_outside_the_unit_interval_is_named(bad):
    panel = np.full((2, 3), 0.5)
    panel[1, 2] = bad
    with pytest.raises(DataError, match=rf"score {bad}.* of model 'b' on item 'q3' is not in \[0, 1\]"):
        check_panel(panel, **NAMES)


def test_a_bad_score_is_found_wherever_it_is_read():
    # Rows are read some at a time; every one is checked, and the first bad cell of all is named.
    names = {"space": replace(numpy_space(), tile=6), "models": list("abcdefg"), "items": ["q1", "q2", "q3"]}
    for row in range(7):
        panel = np.full((7, 3), 0.5)
        panel[row, 1] = np.nan
        panel[6, 2] = 2.0
        with pytest.raises(DataError, match=f"of model '{'abcdefg'[row]}' on item 'q2'"):
            check_panel(panel, **names)
    scores, means = check_panel(np.arange(21).reshape(7, 3) / 20, **names)
    np.testing.assert_allclose(means, scores.mean(axis=1), rtol=1e-15)


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
    panel, means = check_panel(given, **NAMES)
    assert panel.dtype == np.float64
    assert panel.flags.c_contiguous
    assert panel.tolist() == given.tolist()
    assert means.tolist() == [2 / 3, 1 / 3]
    assert check_panel([[0, 1, 0.5], [1, 1, 1]], **NAMES)[0].tolist() == [[0, 1, 0.5], [1, 1, 1]]
    assert check_panel(np.array([[True, False, True]] * 2), **NAMES)[0].tolist() == [[1, 0, 1]] * 2
