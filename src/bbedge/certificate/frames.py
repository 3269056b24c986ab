"""A certificate as polars frames: a row per model, or a row per tested direction."""

from __future__ import annotations

import numpy as np
import polars as pl

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.means import has_partial, mean_items, n_items


def model_frame(certificate: Certificate) -> pl.DataFrame:
    """What is certified of each model, in the order shown; means in score units.

    Where scores are missing, ``mean_items`` is the number of items that each mean is over.
    """
    best, worst = np.array(certificate.ranks.rank_intervals).T
    intervals = np.array(certificate.mean_intervals or ()).reshape(-1, 2).T
    bounds = dict(zip(("mean_low", "mean_high"), intervals, strict=True)) if certificate.mean_intervals else {}
    return pl.DataFrame(
        {
            "model": certificate.names,
            "mean": pl.Series(certificate.means, dtype=pl.Float64),
            **({"mean_items": mean_items(certificate)} if has_partial(certificate) else {}),
            **bounds,
            "rank_best": best,
            "rank_worst": worst,
            "wins": certificate.ranks.n_worse,
            "losses": certificate.ranks.n_better,
        }
    )


def pairs_frame(certificate: Certificate) -> pl.DataFrame:
    """What is known of each tested direction, in the order shown; differences, model minus other, in score units.

    The ``difference`` of means that are not both over all items is null.
    """
    pairs = certificate.by_pair(known=True)
    a, b = np.nonzero(~np.isnan(pairs.margins))
    names = pl.Series(certificate.names, dtype=pl.String)
    means = np.array(certificate.means, dtype=np.float64)
    means[np.array(mean_items(certificate)) < n_items(certificate)] = np.nan
    return pl.DataFrame(
        {
            "model": names.gather(a),
            "other": names.gather(b),
            "difference": _known(means[a] - means[b]),
            "lower": _known(pairs.margins[a, b]),
            "upper": _known(-pairs.margins[b, a]),
            "log_e": _known(pairs.log_e[a, b]),
            "certified": pairs.graph.above[a, b],
            "since": pl.Series(pairs.first_certified[a, b]).replace(0, None),
        }
    )


def _known(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> pl.Series:
    return pl.Series(values, dtype=pl.Float64).fill_nan(None)
