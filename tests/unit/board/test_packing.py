"""Score vectors in few bytes, the same bytes for the same scores, and nothing else accepted."""

import hashlib
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bbedge.errors import BoardError
from bbedge.ledger import chain as packing
from bbedge.ledger.chain import checksum, digest, missing_checksum, pack_scores, unpack_scores

KINDS = {
    "binary": st.sampled_from([0.0, 1.0]),
    "levels": st.integers(0, 20).map(lambda n: n / 20),
    "floats": st.floats(0.0, 1.0),
    "gaps": st.sampled_from([0.0, 1.0, 0.5, np.nan]),
}


CHECKSUMS = ["fd61de5c9daec8a4", "324663531dc836a0", "79102052b959ff5c"]


def examples(count):
    return settings(max_examples=count, deadline=None, derandomize=True)


def many_floats(n=5000):
    return np.random.default_rng(1).random(n)


SAMPLES = {
    "empty": np.zeros(0),
    "one": np.ones(1),
    "binary": np.tile([0.0, 1.0, 1.0], 37),
    "half": np.full(9, 0.5),
    "levels": np.arange(500) % 11 / 10,
    "256 levels": np.arange(512) % 256 / 255,
    "257 levels": np.arange(514) % 257 / 256,
    "floats": many_floats(300),
    "one gap": np.where(np.arange(37) == 5, np.nan, np.tile([0.0, 1.0], 19)[:37]),
    "gaps among levels": np.where(np.arange(500) % 7 == 0, np.nan, np.arange(500) % 11 / 10),
    "gaps among floats": np.where(np.arange(900) % 3 == 0, np.nan, many_floats(900)),
    "all missing": np.full(11, np.nan),
    "tiny": np.array([5e-324, 0.0, 1.0, np.nextafter(1.0, 0.0)]),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_what_was_packed_comes_back(name):
    scores = SAMPLES[name]
    data = pack_scores(scores)
    back = unpack_scores(data, len(scores))
    assert back.dtype == np.float64
    np.testing.assert_array_equal(back, scores)
    assert pack_scores(back) == data
    back[:] = 0.0  # our own copy, not a view of the bytes


@examples(150)
@given(
    st.sampled_from(sorted(KINDS)).flatmap(lambda kind: arrays(np.float64, st.integers(0, 300), elements=KINDS[kind]))
)
def test_packing_loses_nothing_and_is_canonical(scores):
    data = pack_scores(scores)
    back = unpack_scores(data, len(scores))
    np.testing.assert_array_equal(back, scores)
    assert pack_scores(back) == data == pack_scores(scores[::-1][::-1]) == pack_scores(scores.astype(">f8"))


def test_a_negative_zero_is_a_zero():
    assert pack_scores(np.array([-0.0, 1.0])) == pack_scores(np.array([0.0, 1.0]))
    assert pack_scores(np.array([-0.0, 0.5])) == pack_scores(np.array([0.0, 0.5]))


def test_a_missing_score_is_packed_the_same_whatever_the_bits_of_its_nan():
    plain, other = np.array([0.0, np.nan, 0.5]), np.array([0.0, np.nan, 0.5])
    other.view(np.uint64)[1] = 0xFFF8_0000_DEAD_BEEF
    assert np.isnan(other[1])
    assert pack_scores(other) == pack_scores(plain)
    back = unpack_scores(pack_scores(other), 3)
    np.testing.assert_array_equal(back.view(np.uint64), plain.view(np.uint64))


def test_complete_scores_are_packed_as_by_earlier_versions():
    """Heads that were published cover these bytes."""
    assert [checksum(pack_scores(SAMPLES[name]))[:16] for name in ("binary", "levels", "floats")] == CHECKSUMS


@pytest.mark.parametrize("count", [1, 8, 9, 300])
def test_the_checksum_of_scores_that_are_all_missing(count):
    assert missing_checksum(count) == checksum(pack_scores(np.full(count, np.nan)), count)
    assert missing_checksum(count) != missing_checksum(count + 1)


def test_different_scores_have_different_checksums():
    base = many_floats(50)
    other = base.copy()
    other[17] = np.nextafter(other[17], 1.0)
    assert checksum(pack_scores(base)) != checksum(pack_scores(other))
    assert checksum(pack_scores(np.zeros(8))) != checksum(pack_scores(np.zeros(9)))
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_sizes():
    n = 12_032
    rng = np.random.default_rng(2)
    assert len(pack_scores((rng.random(n) < 0.5).astype(float))) == 1 + n // 8
    assert len(pack_scores(rng.integers(0, 11, n) / 10)) < n + 200
    assert len(pack_scores(rng.random(n))) < 8.1 * n
    # Ten models, twenty replicates: well under 10 MB, with room for the ledger and the saved evidence.
    assert 10 * 20 * (1 + n // 8) < 0.4e6


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 0),
        (b"X", 0),
        (b"Babc", 8),  # too many bytes
        (b"Ba", 16),  # too few
        (b"B\x01", 3),  # a bit set behind the last score
        (b"Lnot zlib", 4),
        (b"L" + zlib.compress(b"", 6), 4),
        (b"L" + zlib.compress(b"\x01" + b"\0" * 5, 6), 1),  # the levels are cut
        (b"L" + zlib.compress(b"\x00" + np.float64(0.5).tobytes() + b"\x07", 6), 1),  # a level that is not there
        (b"L" + zlib.compress(b"\x01" + np.array([0.5, 0.25]).tobytes() + b"\0\x01", 6), 2),  # levels out of order
        (b"L" + zlib.compress(b"\x01" + np.array([0.0, 1.0]).tobytes() + b"\0\x01", 6), 2),  # should be bits
        (b"F" + zlib.compress(b"\0" * 12, 6), 1),
        (b"G" + zlib.compress(b"\x80" + b"B\x20", 6), 3),  # a bit too many behind the gap
        (b"G" + zlib.compress(b"\0" + b"B\x80", 6), 3),  # nothing is missing
        (b"G" + zlib.compress(b"\x81" + b"B\0", 6), 3),  # a gap behind the last score
        (b"G" + zlib.compress(b"\x80" + b"G\x80B\0", 6), 3),  # gaps inside gaps
        (b"G" + zlib.compress(b"\0G" * 900, 6), 8),
        (b"G" + zlib.compress(b"", 6), 3),
        (b"F" + zlib.compress(np.array([0.5, np.nan, *many_floats(300)]).tobytes(), 6), 302),  # a gap as a number
        (b"L" + zlib.compress(b"\x01" + np.array([0.5, np.nan]).tobytes() + b"\0\x01", 6), 2),
        (b"F" + zlib.compress(np.array([0.5, 0.5]).tobytes(), 6), 2),  # should be levels
        (pack_scores(np.full(5, 0.5)), 6),
        (pack_scores(many_floats(300)), 299),
        (pack_scores(many_floats(300))[:-1], 300),
        (pack_scores(many_floats(300)) + b"\0", 300),
    ],
)
def test_damaged_bytes_are_refused(data, count):
    with pytest.raises(BoardError, match="a stored score vector is damaged"):
        unpack_scores(data, count)


@examples(200)
@given(data=st.data())
def test_any_flipped_byte_gives_other_scores_or_a_refusal(data):
    """Or the same scores, compressed in another way: the checksum is that of the scores, and says which it is."""
    scores = data.draw(st.sampled_from([SAMPLES[name] for name in SAMPLES if name != "empty"]))
    packed = bytearray(pack_scores(scores))
    place = data.draw(st.integers(0, len(packed) - 1))
    packed[place] ^= data.draw(st.integers(1, 255))
    try:
        back = unpack_scores(bytes(packed), len(scores))
    except BoardError:
        return
    is_same = checksum(bytes(packed), len(scores)) == checksum(pack_scores(scores), len(scores))
    assert np.array_equal(back, scores, equal_nan=True) is is_same


@pytest.mark.parametrize("name", ["levels", "floats"])
def test_a_board_can_be_read_where_zlib_compresses_otherwise(monkeypatch, name):
    """Builds of Python come with different zlibs, which write different bytes for the same content."""
    scores = SAMPLES[name]
    data = pack_scores(scores)

    class OtherZlib:
        error = zlib.error
        decompressobj = staticmethod(zlib.decompressobj)

        @staticmethod
        def compress(body, _level=6):
            return zlib.compress(body, 1)

    monkeypatch.setattr(packing, "zlib", OtherZlib)
    assert pack_scores(scores) != data
    np.testing.assert_array_equal(unpack_scores(data, len(scores)), scores)


@pytest.mark.parametrize("kind", [b"F", b"L"])
def test_no_more_is_unpacked_than_the_scores_can_need(kind):
    """Megabytes behind a few bytes: the checksum holds a piece at a time, and with a count it stops early."""
    content = kind + bytes(64 << 20)
    data = kind + zlib.compress(content[1:], 9)
    tracemalloc.start()
    try:
        assert checksum(data) == hashlib.sha256(content).hexdigest()
        for refused in (lambda: unpack_scores(data, 100), lambda: checksum(data, 100)):
            with pytest.raises(BoardError, match="damaged"):
                refused()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 16 << 20


@pytest.mark.parametrize("count", [1, 7, 300, 5000])
def test_everything_that_is_packed_is_within_the_bound(count):
    rng = np.random.default_rng(count)
    for scores in (
        rng.random(count),
        rng.integers(0, 256, count) / 256,
        np.zeros(count),
        np.full(count, 0.5),
        np.full(count, np.nan),
    ):
        data = pack_scores(scores)
        assert checksum(data, count) == checksum(data)
        np.testing.assert_array_equal(unpack_scores(data, count), scores)
