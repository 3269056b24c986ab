"""Saved states are archives of plain arrays, the same bytes with every version of NumPy."""

import io

import numpy as np
import pytest

from bbedge.core.arrays import load_arrays, write_archive
from bbedge.core.design import Design
from bbedge.core.leaderboard import Certifier

ARRAYS = {
    "count": np.array([3]),
    "totals": np.linspace(0, 1, 7).reshape(1, 7),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "edges": np.array([[True, False], [False, True]]),
    "names": np.array(["a", "bé"]),
    "none": np.zeros((0, 3)),
    "prediction.mean": np.float32(0.5) * np.ones(2, dtype=np.float32),
}


def archive_of(arrays):
    stream = io.BytesIO()
    write_archive(stream, arrays.items())
    return stream.getvalue()


def test_the_bytes_are_those_of_numpy():
    stream = io.BytesIO()
    np.savez(stream, **ARRAYS)
    assert archive_of(ARRAYS) == stream.getvalue()


def test_what_is_written_is_read_back():
    loaded = load_arrays(archive_of(ARRAYS))
    assert list(loaded) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert loaded[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded[name], array)


def test_python_objects_are_refused():
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        archive_of({"a": np.array([{}], dtype=object)})


def test_a_state_holds_its_arrays_and_nothing_else():
    # NumPy before 2.2 takes savez(allow_pickle=False) for one more array.
    certifier = Certifier(Design.make(["a", "b"], ["q1", "q2"]))
    certifier.update([[1.0, 1.0], [0.0, 0.0]])
    state = load_arrays(certifier.to_bytes())
    assert set(state) == {"evidence", "first_certified", "current", "looks", "best_bounds"}
    assert "allow_pickle" not in load_arrays(state["evidence"].tobytes())
