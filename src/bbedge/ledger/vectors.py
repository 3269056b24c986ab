"""Score vectors as few bytes: one bit per score if they are 0 and 1, one byte if there are few levels, else float64.

Where scores are missing, a bit per item says which, and the others follow in one of these forms. Packing is lossless
and canonical: the same scores give the same bytes, so that a checksum of the bytes is a checksum of the scores.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import BoardError

_BITS, _LEVELS, _FLOATS, _GAPS = b"B", b"L", b"F", b"G"
_MOST_LEVELS = 256
_PIECE = 1 << 20  # bytes that are unpacked at a time


def pack(scores: NDArray[np.float64]) -> bytes:
    """The scores as bytes; NaN, of whatever bits, is a missing score.

    >>> len(pack(np.array([0.0, 1.0] * 800)))
    201
    """
    content = _content(scores)
    return content if content[:1] == _BITS else content[:1] + zlib.compress(content[1:], 6)


def _content(scores: NDArray[np.float64]) -> bytes:
    """What is packed, before compression: the same for the same scores whatever the compressor."""
    scores = np.ascontiguousarray(scores, dtype="<f8") + 0.0  # no negative zero
    missing = np.isnan(scores)
    if missing.any():
        return _GAPS + np.packbits(missing).tobytes() + _content(scores[~missing])
    if np.all((scores == 0.0) | (scores == 1.0)):
        return _BITS + np.packbits(scores == 1.0).tobytes()
    levels, codes = np.unique(scores, return_inverse=True)
    if len(levels) <= _MOST_LEVELS:
        head = bytes([len(levels) - 1]) + levels.astype("<f8").tobytes()
        return _LEVELS + head + codes.astype(np.uint8).tobytes()
    return _FLOATS + scores.tobytes()


def _most(count: int) -> int:
    """The most bytes that so many scores are before compression."""
    gaps = 1 + (count + 7) // 8
    return gaps + max(2 + 8 * _MOST_LEVELS + count, 1 + 8 * count)


def _pieces(data: bytes, most: int | None) -> Iterator[bytes]:
    """What was packed, a piece at a time; a few bytes can stand for gigabytes, so no more than ``most`` in all."""
    if data[:1] == _BITS:
        if most is not None and len(data) > most:
            raise ValueError("too long")
        yield data
        return
    yield data[:1]
    stream, total, rest = zlib.decompressobj(), 1, data[1:]
    while True:
        piece = stream.decompress(rest, _PIECE)
        total, rest = total + len(piece), stream.unconsumed_tail
        if most is not None and total > most:
            raise ValueError("too long")
        yield piece
        if stream.eof or not (piece or rest):
            break
    if not stream.eof or stream.unused_data:
        raise ValueError("cut short or followed by something else")


def unpack(data: bytes, count: int) -> NDArray[np.float64]:
    """The scores again; anything but what :func:`pack` wrote for ``count`` scores is refused."""
    try:
        content = b"".join(_pieces(data, _most(count)))
        scores = _scores(content, count)
        if len(scores) != count or _content(scores) != content:
            raise ValueError("not what these scores pack to")
    except (ValueError, IndexError, zlib.error) as error:
        raise BoardError("a stored score vector is damaged") from error
    return scores


def _scores(content: bytes, count: int) -> NDArray[np.float64]:
    """What some content stands for, if it stands for ``count`` scores."""
    kind, body = content[:1], content[1:]
    if kind == _GAPS:
        ends = (count + 7) // 8
        if body[ends : ends + 1] == _GAPS:  # or a few bytes could nest thousands deep
            raise ValueError("missing scores are listed twice")
        missing = np.unpackbits(np.frombuffer(body[:ends], dtype=np.uint8), count=count).astype(np.bool_)
        scores = np.full(count, np.nan)
        scores[~missing] = _scores(body[ends:], int((~missing).sum()))
        return scores
    if kind == _BITS:
        return np.unpackbits(np.frombuffer(body, dtype=np.uint8), count=count).astype(np.float64)
    if kind == _LEVELS:
        n_levels = body[0] + 1
        levels = np.frombuffer(body[1 : 1 + 8 * n_levels], dtype="<f8")
        return levels[np.frombuffer(body[1 + 8 * n_levels :], dtype=np.uint8)].astype(np.float64)
    if kind == _FLOATS:
        return np.frombuffer(body, dtype="<f8").astype(np.float64)
    raise ValueError("unknown packing")


def missing_checksum(count: int) -> str:
    """The checksum of ``count`` scores that are all missing."""
    return checksum(pack(np.full(count, np.nan)))


def checksum(data: bytes, count: int | None = None) -> str:
    """SHA-256 of what is packed, in hexadecimal: of the scores, not of how they were compressed.

    With ``count``, data that stand for more than so many scores are refused before they are unpacked.
    """
    total = hashlib.sha256()
    try:
        for piece in _pieces(data, None if count is None else _most(count)):
            total.update(piece)
    except (ValueError, zlib.error) as error:
        raise BoardError("a stored score vector is damaged") from error
    return total.hexdigest()


def digest(data: bytes) -> str:
    """SHA-256 of the bytes themselves, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
