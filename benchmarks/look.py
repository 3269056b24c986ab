"""One replicate taken in and one whole look, against the matrix products that the evidence cannot do without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle

from bbedge.core.eholm import e_holm
from bbedge.core.evidence import Evidence
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Certifier
from bbedge.records.values import EvidenceKind
from benchmarks.panels import Panel, design, panels
from benchmarks.rows import Row
from benchmarks.timing import interleaved, ratio, seconds_text, told

KINDS: tuple[EvidenceKind, ...] = ("bernstein", "sharp")
LIMIT = 3.0


def whole_look(certifier: Certifier, panel: Panel) -> object:
    """Update, evidence, e-Holm and closure (all in the update), rank intervals and margins."""
    certifier.update(panel)
    return certifier.graph().rank_intervals, certifier.evidence.lower_bounds()


def _next_look(certifier: Certifier, given: Iterator[Panel]) -> object:
    return whole_look(certifier, next(given))


def products(kind: EvidenceKind, panel: Panel, *, wide: bool = False) -> Callable[[], object]:
    """The products of the evidence kind: one, or four of elementwise powers; wide stakes take them twice.

    NumPy sees that ``a @ a.T`` is symmetric and computes half of it.
    """
    v = panel - 0.5
    if kind == "bernstein":
        return lambda: v @ v.T
    v2, v3 = v * v, v * v * v

    def four() -> object:
        for _ in range(2 if wide else 1):
            results = (v @ v.T, v2 @ v.T, v3 @ v.T, v2 @ v2.T)
        return results

    return four


def rows(*, quick: bool = False) -> list[Row]:
    """A row for each kind of evidence, then what the parts of a look take."""
    n_models, n_items, times = (60, 500, 3) if quick else (1000, 12_032, 5)
    given = list(panels(n_models, n_items, 2))
    v, other = given[0] - 0.5, given[1] - 0.5
    found = []
    for kind in KINDS:
        made = design(n_models, n_items, kind)
        certifier = Certifier(made)
        certifier.update(given[0])  # the first replicate is not what others cost
        took = interleaved(
            {
                "look": partial(_next_look, certifier, cycle(given)),
                "products": products(kind, given[0], wide=made.grid.is_wide),
                "plain": lambda: v @ other.T,
            },
            times,
        )
        count = 1 if kind == "bernstein" else 8 if made.grid.is_wide else 4
        which = "the product A @ A.T" if count == 1 else f"the {count} products of powers"
        found.append(
            Row(
                target=f"update and whole look, {kind}, {n_models:,} models x {n_items:,} items, against {which}",
                measured=ratio(took["look"], took["products"]),
                limit=LIMIT,
                sides=told(took["look"], took["products"], ("look", "products")),
                note=f"a plain product A @ B.T takes {seconds_text(took['plain'].median)}, "
                f"the look {ratio(took['look'], took['plain']):.3g} of these",
            )
        )
    return found + [_parts(kind, n_models, n_items, given, times) for kind in KINDS]


def _parts(kind: EvidenceKind, n_models: int, n_items: int, given: list[Panel], times: int) -> Row:
    """What each part of a look takes."""
    made = design(n_models, n_items, kind)
    evidence = Evidence(made)
    evidence.update(given[0])
    log_e = evidence.log_e()
    edges = e_holm(log_e, alpha=made.alpha)
    fed: Iterator[Panel] = cycle(given)
    took = interleaved(
        {
            "update": lambda: evidence.update(next(fed)),
            "log_e": evidence.log_e,
            "e-Holm": lambda: e_holm(log_e, alpha=made.alpha),
            "closure and ranks": lambda: Graph(edges).rank_intervals,
            "margins": evidence.lower_bounds,
        },
        times,
    )
    return Row(
        target=f"parts of a look, {kind}: update as a share of the whole",
        measured=took["update"].median / sum(part.median for part in took.values()),
        unit="",
        sides=", ".join(f"{name} {seconds_text(part.median)}" for name, part in took.items()),
    )
