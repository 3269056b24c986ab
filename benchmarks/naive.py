"""Against arrays over direction, block and stake, straight from the formulas; and the same for single directions.

Shares nothing with the package but the design, which says what the stakes are. Running-mean predictions only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.records.values import EvidenceKind
from benchmarks.panels import Panel, design, panels
from benchmarks.rows import Row
from benchmarks.timing import interleaved, ratio, told

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

MEMORY = 4e9
"""Bytes that the naive arrays may take."""
ARRAYS = 5
"""Arrays over direction, block and stake that exist at once in the longest of the formulas."""
TOLERANCE = 1e-8
REPLICATES = 2
CENTRED = 0.95  # stakes above it predict the null value


class Naive:
    """The e-processes of some directions, one number per direction, block and stake at a time."""

    def __init__(self, design: Design, first: Places, second: Places) -> None:
        labels, self._block = np.unique(np.array(design.blocks), return_inverse=True)
        sizes = np.bincount(self._block).astype(np.float64)
        self._sizes, self._relative = sizes, sizes / sizes.max()
        self._kind, self._mu0 = design.evidence, (1.0 + design.tau) / 2.0
        self._stakes, self._weights = np.array(design.grid.values), np.array(design.grid.weights)
        self._first, self._second = first, second
        self._logs = np.zeros((len(first), len(self._stakes)))
        self._sums = np.zeros((len(first), len(labels)))
        self._count = 0

    def update(self, panel: Panel) -> None:
        """Take in a replicate."""
        self._count += 1
        means = np.stack([np.bincount(self._block, weights=row) for row in panel]) / self._sizes
        y = (means[self._first] - means[self._second] + 1.0) / 2.0
        predicted = (self._mu0 + self._sums) / self._count
        wide = self._stakes > CENTRED
        for chosen, p, reach in ((~wide, predicted, 1.0), (wide, np.full_like(y, self._mu0), self._mu0)):
            if chosen.any():
                u = self._relative[:, None] * self._stakes[chosen]
                self._logs[:, chosen] += _log_factors(self._kind, u, y[..., None], p[..., None], self._mu0, reach)
        self._sums += y

    def log_e(self) -> Floats:
        """Log evidence of every direction: the mixture over stakes."""
        mixed: Floats = logsumexp(self._logs, axis=1, b=self._weights)
        return mixed


def _log_factors(kind: EvidenceKind, u: Floats, y: Floats, p: Floats, mu0: float, reach: float) -> Floats:
    """What a replicate adds to the log evidence, directions x stakes; ``reach`` is the largest ``p - y``."""
    x = y - p
    if kind == "bernstein":
        psi = -np.log1p(-u) - u
        terms = u * (y - mu0) - psi * (x * x)
    elif kind == "betting":
        terms = u * (p - mu0) + np.log1p(u * x)
    elif kind == "sharp":
        b = u * reach
        with np.errstate(invalid="ignore"):
            tail = np.where(b > 0.0, (-np.log1p(-b) - b - b**2 / 2 - b**3 / 3) / b**4, 0.25)
        z = u * x
        squares = z * z
        terms = u * (p - mu0) + z - squares / 2 + squares * z / 3 - tail * squares * squares
    else:
        raise ValueError(kind)
    total: Floats = terms.sum(axis=1)
    return total


def all_directions(n_models: int) -> tuple[Places, Places]:
    """Every ordered pair of models."""
    first, second = np.nonzero(~np.eye(n_models, dtype=bool))
    return first, second


def largest(n_items: int, n_stakes: int, memory: float = MEMORY) -> int:
    """The most models whose naive arrays fit.

    >>> largest(1000, 41) * (largest(1000, 41) - 1) * 1000 * 41 * 8 * ARRAYS <= MEMORY
    True
    """
    directions = memory / (8 * ARRAYS * n_items * n_stakes)
    return max(2, int((1 + np.sqrt(1 + 4 * directions)) / 2))


def rows(*, quick: bool = False) -> list[Row]:
    """A row for each kind of evidence."""
    n_items, memory, times = (100, 1e7, 2) if quick else (1000, MEMORY, 3)
    return [_row(kind, n_items, memory, times) for kind in ("bernstein", "sharp", "betting")]


def _row(kind: EvidenceKind, n_items: int, memory: float, times: int) -> Row:
    n_models = largest(n_items, 41 if kind == "bernstein" else 12, memory)
    made = design(n_models, n_items, kind)
    given = list(panels(n_models, n_items, REPLICATES, seed=2))
    first, second = all_directions(n_models)

    def ours() -> Floats:
        evidence = Evidence(made)
        for panel in given:
            evidence.update(panel)
        log_e: Floats = evidence.log_e()[first, second]
        return log_e

    def theirs() -> Floats:
        naive = Naive(made, first, second)
        for panel in given:
            naive.update(panel)
        return naive.log_e()

    want = theirs()
    apart = float(np.max(np.abs(ours() - want) / np.maximum(1.0, np.abs(want))))
    if not apart <= TOLERANCE:
        raise RuntimeError(f"{kind}: log evidence is {apart:.1e} from the naive one; {TOLERANCE} is allowed")
    took = interleaved({"ours": ours, "theirs": theirs}, times, warm_up=False)  # the check was one
    return Row(
        target=f"faster than naive arrays, {kind}, {n_models} models x {n_items:,} items x {REPLICATES} replicates",
        measured=ratio(took["theirs"], took["ours"]),
        limit=None if kind == "betting" else 100.0,
        sense="at least",
        sides=told(took["theirs"], took["ours"], ("naive", "bbedge")),
        note=f"same numbers: {apart:.0e} apart; the naive arrays may take {memory / 1e9:.3g} GB",
    )
