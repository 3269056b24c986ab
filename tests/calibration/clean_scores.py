"""Random tables of sound runs: independent replicates, independent blocks, and every other difficulty."""

import numpy as np
from scipy.special import ndtr, ndtri

from bbedge.core.scores import Scores

SHAPES = ("item", "five", "uneven", "one")


def clean_scores(rng: np.random.Generator, *, models: int, items: int, replicates: int) -> Scores:
    """A table with at most so many models, items and replicates, and at least 2, 10 and 3.

    Answers of a model depend inside a block, answers of all models to a block depend on each other, items differ in
    difficulty, and many of them are nearly always or never solved.
    """
    n_models = int(rng.integers(2, models + 1))
    n_items = int(rng.integers(10, items + 1))
    n_replicates = int(rng.integers(3, replicates + 1))
    block = block_numbers(rng, n_items, str(rng.choice(SHAPES)))
    n_blocks = int(block.max()) + 1
    own, common = rng.choice([0.0, 0.3, 0.8]), rng.choice([0.0, 0.15])
    latent = (
        np.sqrt(own) * rng.standard_normal((n_replicates, n_models, n_blocks))[:, :, block]
        + np.sqrt(common) * rng.standard_normal((n_replicates, 1, n_blocks))[:, :, block]
        + np.sqrt(1.0 - own - common) * rng.standard_normal((n_replicates, n_models, n_items))
    )
    sharpness = rng.choice([0.02, 1.0, 5.0, 50.0])  # small: items that are nearly always or never solved
    mean = rng.choice([0.02, 0.3, 0.5, 0.6, 0.9, 0.99])
    p = rng.beta(sharpness * mean, sharpness * (1.0 - mean), size=(n_models, n_items)).clip(1e-4, 1.0 - 1e-4)
    if rng.random() < 0.6:
        values = (latent < ndtri(p)).astype(float)
    else:
        values = ndtr(latent) ** ((1.0 - p) / p)
        if rng.random() < 0.5:
            values = np.round(values * 10.0) / 10.0
    return Scores.of(
        values,
        models=[f"model-{i}" for i in range(n_models)],
        items=[f"item-{i}" for i in range(n_items)],
        blocks=[str(each) for each in block],
    )


def block_numbers(rng: np.random.Generator, n_items: int, shape: str) -> np.ndarray:
    """The block of every item."""
    if shape == "item":
        return np.arange(n_items)
    if shape == "five":
        return np.arange(n_items) // 5
    if shape == "uneven":
        return np.cumsum(rng.random(n_items) < rng.choice([0.05, 0.3, 0.8]))
    return np.zeros(n_items, dtype=int)
