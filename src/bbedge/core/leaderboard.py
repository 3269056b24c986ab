"""The certifier, which takes in panels, and the leaderboard that is read off it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbedge.core.arrays import Array, to_numpy
from bbedge.core.closure import closure
from bbedge.core.design import Design
from bbedge.core.eholm import e_holm, log_threshold
from bbedge.core.evidence import DAMAGED, Evidence, load_arrays, write_archive
from bbedge.core.graph import Graph
from bbedge.core.scores import Scores
from bbedge.errors import DataError, DesignError, DomainError
from bbedge.text import quoted

Matrix = NDArray[np.float64]


class Look:
    """What one look at the evidence showed."""

    def __init__(self, *, replicate: int, log_e: Array, edges: Array) -> None:
        self.replicate = replicate
        """The replicate after which the look was taken."""
        self._log_e = log_e
        self._edges = edges

    @cached_property
    def log_e(self) -> Matrix:
        """Evidence of every tested direction, row against column; NaN elsewhere."""
        return to_numpy(self._log_e)

    @cached_property
    def edges(self) -> NDArray[np.bool_]:
        """The directions certified at this look."""
        return to_numpy(self._edges)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookCount:
    """One line of the history of looks."""

    replicate: int
    """The replicate after which the look was taken."""
    edges: int
    """Edges certified at this look."""
    resolved_pairs: int
    """Pairs decided by this look's edges and the paths they form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """All that may be concluded after some replicates.

    **Guarantee:** with probability at least ``1 - alpha`` every edge of ``standing`` is true, and with it every
    path, rank interval, tier and Top-k set of ``current`` and ``standing``, at this and all other looks. The
    lower bounds hold together with probability at least ``1 - alpha``, likewise.
    """

    design: Design
    """The frozen design."""
    replicates: int
    """Number of replicates in the evidence."""
    means: Matrix
    """Mean score of each model on the [0, 1] scale; NaN before the first replicate."""
    log_e: Matrix
    """Evidence of every tested direction, row against column; NaN elsewhere."""
    log_thresholds: Matrix
    """What ``log_e`` had to reach at the last look, per direction; NaN where not tested."""
    lower_bounds: Matrix
    """Simultaneous lower bounds of the differences, row minus column, on the [0, 1] scale; NaN where not tested."""
    current: Graph
    """The graph certified at the last look."""
    standing: Graph
    """Everything certified at any look so far. A certificate, once issued, stands."""
    first_certified: NDArray[np.int64]
    """The replicate at which each direction was first certified; 0 if it never was."""
    looks: tuple[LookCount, ...]
    """The history of looks."""

    @property
    def contradictions(self) -> tuple[tuple[str, ...], ...]:
        """Groups of models certified above each other. Any such group means a false edge or a broken assumption."""
        return tuple(tuple(self.design.models[i] for i in group) for group in self.standing.cycles)

    def order(self) -> tuple[int, ...]:
        """Models as a reader expects them: by tier of what stands, then by mean, then by name."""
        means = np.nan_to_num(self.means, nan=-1.0)
        # A certified cut of the last look stands, so that its tiers add nothing, unless what stands contradicts itself.
        standing, current = (
            {model: t for t, members in enumerate(graph.tiers) for model in members}
            for graph in (self.standing, self.current)
        )
        return tuple(
            sorted(
                range(len(means)),
                key=lambda i: (standing[i], current[i], -float(means[i]), self.design.models[i]),
            )
        )

    def is_certified(self, better: str, worse: str) -> bool:
        """Whether an edge or a path of the standing graph puts one model above the other."""
        places = {name: i for i, name in enumerate(self.design.models)}
        for name in (better, worse):
            if name not in places:
                raise DesignError(f"{quoted(name)} is not a model of this leaderboard")
        return bool(self.standing.above[places[better], places[worse]])

    def _repr_html_(self) -> str:
        """What a notebook shows; ``bbedge certify --html`` makes the whole page."""
        # By name: the core knows nothing of displays, and works without them.
        return cast("str", import_module("bbedge.display.notebook").leaderboard_html(self))


class Certifier:
    """Takes in panels one by one, looks after each, and remembers what was certified.

    **Needs:** what :class:`bbedge.core.evidence.Evidence` needs.

    >>> certifier = Certifier(Design.make(["a", "b"], ["q1", "q2", "q3", "q4"], method="bb-edge-x"))
    >>> for _ in range(4):
    ...     look = certifier.update([[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    >>> certifier.leaderboard().current.rank_intervals
    ((1, 1), (2, 2))
    """

    def __init__(self, design: Design, *, device: str | None = None) -> None:
        n_models = len(design.models)
        self._design = design
        self._evidence = Evidence(design, device=device)
        self._first_certified: Array = np.zeros((n_models, n_models), dtype=np.int64)
        self._looks: list[LookCount] = []
        nothing = np.zeros((n_models, n_models), dtype=np.bool_)
        self._current: tuple[Array, Array] = nothing, nothing  # edges and their closure

    @property
    def evidence(self) -> Evidence:
        """The evidence so far."""
        return self._evidence

    def update(self, panel: object) -> Look:
        """Take in the next replicate and look."""
        self._evidence.update(panel)
        log_e = self._evidence.log_e()
        edges = e_holm(log_e, alpha=self._design.alpha)
        replicate, xp = self._evidence.replicates, self._evidence.space.xp
        first = xp.asarray(self._first_certified, device=self._evidence.space.device)
        self._first_certified = xp.where(edges & (first == 0), replicate, first)
        reach = closure(edges)
        self._current = edges, reach
        self._looks.append(
            LookCount(
                replicate=replicate,
                edges=int(xp.count_nonzero(edges)),
                resolved_pairs=int(xp.count_nonzero(reach & ~xp.matrix_transpose(reach))),
            )
        )
        return Look(replicate=replicate, log_e=log_e, edges=edges)

    @property
    def current(self) -> Graph:
        """The graph of the last look."""
        edges, reach = self._current
        return Graph(to_numpy(edges), reach=to_numpy(reach))

    def standing_edges(self) -> NDArray[np.bool_]:
        """Everything certified at any look so far."""
        return to_numpy(self._first_certified > 0)

    def stop(self, models: Sequence[str]) -> None:
        """Freeze these models: see :meth:`Evidence.stop`."""
        self._evidence.stop(models)

    def to_bytes(self) -> bytes:
        """The whole state, to be resumed by :meth:`from_bytes` with the same design."""
        buffer = io.BytesIO()
        looks = [(look.replicate, look.edges, look.resolved_pairs) for look in self._looks]
        arrays = {
            "evidence": np.frombuffer(self._evidence.to_bytes(), dtype=np.uint8),
            "first_certified": to_numpy(self._first_certified),
            "current": to_numpy(self._current[0]),
            "looks": np.array(looks).reshape(-1, 3),
        }
        write_archive(buffer, arrays.items())
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, design: Design, state: bytes) -> Certifier:
        """Resume from a saved state. A state of another design, or a damaged one, is refused."""
        arrays = load_arrays(state)
        certifier = cls(design)
        try:
            certifier._evidence = Evidence.from_bytes(design, arrays["evidence"].tobytes())
            certifier._first_certified = arrays["first_certified"]
            certifier._current = arrays["current"], closure(arrays["current"])
            certifier._looks = [
                LookCount(replicate=int(r), edges=int(n), resolved_pairs=int(p)) for r, n, p in arrays["looks"]
            ]
        except KeyError as error:
            raise DataError(DAMAGED) from error
        return certifier

    def leaderboard(self) -> Leaderboard:
        """Everything that may be concluded now."""
        log_e = to_numpy(self._evidence.log_e())
        return Leaderboard(
            design=self._design,
            replicates=self._evidence.replicates,
            means=self._evidence.means,
            log_e=log_e,
            log_thresholds=np.where(np.isnan(log_e), np.nan, log_threshold(log_e, self._design.alpha)),
            lower_bounds=to_numpy(self._evidence.lower_bounds()),
            current=self.current,
            standing=Graph(self.standing_edges()),
            first_certified=to_numpy(self._first_certified).copy(),
            looks=tuple(self._looks),
        )


def run(design: Design, panels: Iterable[ArrayLike], *, device: str | None = None) -> Leaderboard:
    """Feed panels to a fresh certifier and read the leaderboard."""
    certifier = Certifier(design, device=device)
    for panel in panels:
        certifier.update(panel)
        del panel  # before the next is made: panels may be large
    return certifier.leaderboard()


def certify(
    scores: Scores,
    *,
    device: str | None = None,
    **options: Any,  # noqa: ANN401 - Design.make is typed
) -> Leaderboard:
    """Certify scores in one go; options as in :meth:`bbedge.Design.make`, device as in :class:`Evidence`.

    Replicates that repeat each other score by score are refused, unless ``copies="allow"`` says that they count.

    **Needs:** options chosen before the scores were seen, and the independence of ``docs/guarantees.md``.

    >>> scores = Scores.of(np.eye(2)[None], models=["a", "b"], items=["q1", "q2"])
    >>> certify(scores, tau=0.01).current.n_edges
    0
    """
    design = scores.design(**options)
    scores.check_copies(design.copies)
    return run(design, scores.panels(), device=device)


def certify_pilot_top_k(scores: Scores, *, k: int, pilot: int, **options: Any) -> Leaderboard:  # noqa: ANN401
    """Pilot-targeted Top-k: the first ``pilot`` replicates pick the candidate, the others test it.

    Only the ``k (L - k)`` directions from the candidate to the other models are tested, which certifies sooner than
    the full graph. The pilot's panels choose the candidate and never enter the evidence. Equal pilot means go to
    the model that comes first.

    **Guarantee:** whatever the pilot picked, the probability of any false edge at any look is at most ``alpha``.

    **Needs:** ``k`` and ``pilot`` fixed beforehand, besides what :func:`certify` needs.
    """
    design = pilot_design(scores, k=k, pilot=pilot, **options)
    scores.check_copies(design.copies)
    return run(design, scores.values[pilot:])


def pilot_design(scores: Scores, *, k: int, pilot: int, **options: Any) -> Design:  # noqa: ANN401
    """The design that tests the ``k`` models with the highest means over the first ``pilot`` replicates."""
    n_models, n_replicates = len(scores.models), len(scores.replicates)
    if not 1 <= k < n_models:
        raise DomainError(f"k = {k} is not allowed; with {n_models} models choose 1 <= k <= {n_models - 1}")
    if not 1 <= pilot < n_replicates:
        raise DesignError(
            f"a pilot of {pilot} replicates is not possible with {n_replicates} in all; "
            "at least one replicate is needed for the pilot and one for the evidence"
        )
    means = scores.values[:pilot].mean(axis=(0, 2))
    candidate = [scores.models[i] for i in np.argsort(-means, kind="stable")[:k]]
    return scores.design(candidate=candidate, **options)
