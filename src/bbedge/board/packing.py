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
    scores = np.ascontiguousarray(scores, dtype="<f8") + 0.0  # no negative zero
    if np.all((scores == 0.0) | (scores == 1.0)):
        return _BITS + np.packbits(scores == 1.0).tobytes()
    levels, codes = np.unique(scores, return_inverse=True)
    if len(levels) <= 256:
        body = bytes([len(levels) - 1]) + levels.astype("<f8").tobytes() + codes.astype(np.uint8).tobytes()
        return _LEVELS + zlib.compress(body, 6)
    return _FLOATS + zlib.compress(scores.tobytes(), 6)


def unpack(data: bytes, count: int) -> NDArray[np.float64]:
    """The scores again; anything but what :func:`pack` wrote for ``count`` scores is refused."""
    try:
        kind, body = data[:1], data[1:]
        if kind == _BITS:
            scores = np.unpackbits(np.frombuffer(body, dtype=np.uint8), count=count).astype(np.float64)
        else:
            body = zlib.decompress(body)
            if kind == _LEVELS:
                n_levels = body[0] + 1
                levels = np.frombuffer(body[1 : 1 + 8 * n_levels], dtype="<f8")
                scores = levels[np.frombuffer(body[1 + 8 * n_levels :], dtype=np.uint8)].astype(np.float64)
            elif kind == _FLOATS:
                scores = np.frombuffer(body, dtype="<f8").astype(np.float64)
            else:
                raise ValueError("unknown packing")
        if len(scores) != count or pack(scores) != data:
            raise ValueError("not canonical")
    except (ValueError, IndexError, zlib.error) as error:
        raise BoardError("a stored score vector is damaged") from error
    return scores


def checksum(data: bytes) -> str:
    """SHA-256 of packed scores, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
