"""Designs and panels that the tests of tiled runs share."""

import numpy as np

from bbedge.core.design import Design


def uneven(n_items):
    """Block labels: five sizes of blocks, and their items not side by side."""
    return [f"b{(i * i) % 7}" for i in range(n_items)]


def a_design(n_models=13, n_items=40, **options):
    names, items = [f"m{i}" for i in range(n_models)], [f"q{i}" for i in range(n_items)]
    return Design.make(names, items, **({"method": "bb-edge"} | options))


def panels(design, count, *, seed=1, graded=False):
    rng = np.random.default_rng(seed)
    chances = np.linspace(0.05, 0.95, len(design.models))[rng.permutation(len(design.models)), None]
    shape = (len(design.models), len(design.items))
    for _ in range(count):
        if graded:
            yield np.clip(chances + rng.normal(0.0, 0.1, shape), 0.0, 1.0)
        else:
            yield (rng.random(shape) < chances).astype(float)


def assembled(board, field):
    """A field of all tiles as one matrix."""
    n = len(board.design.models)
    whole = np.zeros((n, n))
    for tile in board.tiles():
        whole[tile.rows, tile.cols] = getattr(tile, field)
    return whole


def contents(folder):
    """Every file of a run that is not a lock."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "lock"
    }
