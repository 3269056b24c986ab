"""Which design a saved state of evidence belongs to."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from bbedge.core.arrays import DAMAGE, DAMAGED, State
from bbedge.core.design import Design
from bbedge.errors import DataError, DesignError

_STATE_VERSION = 1


def identity(design: Design) -> State:
    """The arrays that name the design in a state."""
    return {
        "version": np.array([_STATE_VERSION]),
        "design": np.frombuffer(bytes.fromhex(design.hash), dtype=np.uint8),
        "order": np.frombuffer(_order_digest(design), dtype=np.uint8),
    }


def check_identity(design: Design, arrays: State) -> None:
    """Refuse a state of another version or design."""
    try:
        version, saved_hash = int(arrays["version"][0]), arrays["design"].tobytes().hex()
        saved_order = arrays["order"].tobytes()
    except DAMAGE as error:
        raise DataError(DAMAGED) from error
    if version != _STATE_VERSION:
        raise DataError(f"the saved evidence has version {version}; this bbedge reads version {_STATE_VERSION}")
    if saved_hash != design.hash or saved_order != _order_digest(design):
        raise DesignError("the saved evidence belongs to another design; rebuild it from the panels")


def _order_digest(design: Design) -> bytes:
    # The design's hash does not see the order of models and items; the arrays of a state do.
    return hashlib.sha256(json.dumps([design.models, design.items]).encode("ascii")).digest()
