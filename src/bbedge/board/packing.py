"""Score vectors as few bytes: one bit per score if they are 0 and 1, one byte if there are few levels, else float64.

Packing is lossless and canonical: the same scores give the same bytes, so that a checksum of the bytes is a checksum of
the scores.
"""

from __future__ import annotations

import hashlib
import zlib

import numpy as np
from numpy.typing import NDArray

from bbedge.errors import BoardError

_BITS, _LEVELS, _FLOATS = b"B", b"L", b"F"


def pack(scores: NDArray[np.float64]) -> bytes:
    """The scores as bytes.

    >>> len(pack(np.array([0.0, 1.0] * 800)))
    201
    """
    content = _content(scores)
    return content if content[:1] == _BITS else content[:1] + zlib.compress(content[1:], 6)


def _content(scores: NDArray[np.float64]) -> bytes:
    """What is packed, before compression: the same for the same scores whatever the compressor."""
    scores = np.ascontiguousarray(scores, dtype="<f8") + 0.0  # no negative zero
    if np.all((scores == 0.0) | (scores == 1.0)):
        return _BITS + np.packbits(scores == 1.0).tobytes()
    levels, codes = np.unique(scores, return_inverse=True)
    if len(levels) <= 256:
        head = bytes([len(levels) - 1]) + levels.astype("<f8").tobytes()
        return _LEVELS + head + codes.astype(np.uint8).tobytes()
    return _FLOATS + scores.tobytes()


def _unpacked(data: bytes) -> bytes:
    if data[:1] == _BITS:
        return data
    stream = zlib.decompressobj()
    content = data[:1] + stream.decompress(data[1:])
    if not stream.eof or stream.unused_data:
        raise ValueError("cut short or followed by something else")
    return content


def unpack(data: bytes, count: int) -> NDArray[np.float64]:
    """The scores again; anything but what :func:`pack` wrote for ``count`` scores is refused."""
    try:
        content = _unpacked(data)
        kind, body = content[:1], content[1:]
        if kind == _BITS:
            scores = np.unpackbits(np.frombuffer(body, dtype=np.uint8), count=count).astype(np.float64)
        elif kind == _LEVELS:
            n_levels = body[0] + 1
            levels = np.frombuffer(body[1 : 1 + 8 * n_levels], dtype="<f8")
            scores = levels[np.frombuffer(body[1 + 8 * n_levels :], dtype=np.uint8)].astype(np.float64)
        elif kind == _FLOATS:
            scores = np.frombuffer(body, dtype="<f8").astype(np.float64)
        else:
            raise ValueError("unknown packing")
        if len(scores) != count or _content(scores) != content:
            raise ValueError("not what these scores pack to")
    except (ValueError, IndexError, zlib.error) as error:
        raise BoardError("a stored score vector is damaged") from error
    return scores


def checksum(data: bytes) -> str:
    """SHA-256 of what is packed, in hexadecimal: of the scores, not of how they were compressed."""
    try:
        return hashlib.sha256(_unpacked(data)).hexdigest()
    except (ValueError, zlib.error) as error:
        raise BoardError("a stored score vector is damaged") from error


def digest(data: bytes) -> str:
    """SHA-256 of the bytes themselves, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
