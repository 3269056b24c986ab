"""The certifier, which takes in panels, and the ways from scores to a leaderboard."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bbedge.core.archive import DAMAGED, load_arrays, write_archive
from bbedge.core.arrays import Array, to_numpy
from bbedge.core.checks import check_weights
from bbedge.core.closure import closure
from bbedge.core.conclusions import Leaderboard, check_k
from bbedge.core.design import Design
from bbedge.core.eholm import log_threshold
from bbedge.core.evidence import Evidence
from bbedge.core.graph import Graph
from bbedge.core.history import Look, LookCount, Recorder
from bbedge.core.kinds import Copies, EvidenceKind, Method, PredictionRule, StakeRule
from bbedge.core.notes import Note
from bbedge.core.procedure import Procedure
from bbedge.core.scores import DesignOptions, Scores
from bbedge.core.staggered import Wealth
from bbedge.core.stakes import Stakes
from bbedge.errors import DataError, DesignError

__all__ = [
    "Certifier",
    "Leaderboard",
    "Look",
    "LookCount",
    "certify",
    "certify_design",
    "certify_pilot_top_k",
    "pilot_design",
    "run",
]

Matrix = NDArray[np.float64]


COUNTED = Note(kind="copies", text="Replicates with the same scores as others were counted, as the design allows.")
"""What a leaderboard says where copies were found and the design counts them."""


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
        self._procedure = Procedure(design)
        self._looks: list[LookCount] = []
        self._recorder: Recorder | None = Recorder()
        nothing = np.zeros((n_models, n_models), dtype=np.bool_)
        self._current: tuple[Array, Array] = nothing, nothing  # edges and their closure
        self._last: Look | None = None

    @property
    def evidence(self) -> Evidence:
        """The evidence so far."""
        return self._evidence

    @property
    def last_look(self) -> Look | None:
        """The last look that this certifier took; ``None`` before the first, also after it was resumed."""
        return self._last

    def update(self, panel: object) -> Look:
        """Take in the next replicate and look."""
        self._evidence.update(panel)
        self._last = look = self._procedure.look(self._evidence)
        edges, xp = look.edges_there, self._evidence.space.xp
        reach = closure(edges)
        self._current = edges, reach
        self._looks.append(
            LookCount(
                replicate=look.replicate,
                edges=int(xp.count_nonzero(edges)),
                resolved_pairs=int(xp.count_nonzero(reach & ~xp.matrix_transpose(reach))),
            )
        )
        if self._recorder is not None:
            self._recorder.record(look)
        return look

    @property
    def current(self) -> Graph:
        """The graph of the last look."""
        edges, reach = self._current
        return Graph(to_numpy(edges), reach=to_numpy(reach))

    def standing_edges(self) -> NDArray[np.bool_]:
        """Everything certified at any look so far."""
        return to_numpy(self._procedure.first > 0)

    def stop(self, models: Sequence[str]) -> None:
        """Freeze these models: see :meth:`Evidence.stop`."""
        self._evidence.stop(models)

    def to_bytes(self) -> bytes:
        """The whole state, to be resumed by :meth:`from_bytes` with the same design."""
        buffer = io.BytesIO()
        looks = [(look.replicate, look.edges, look.resolved_pairs) for look in self._looks]
        arrays = {
            "evidence": np.frombuffer(self._evidence.to_bytes(), dtype=np.uint8),
            "first_certified": to_numpy(self._procedure.first),
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
            certifier._procedure.first = arrays["first_certified"]
            certifier._current = arrays["current"], closure(arrays["current"])
            certifier._looks = [
                LookCount(replicate=int(r), edges=int(n), resolved_pairs=int(p)) for r, n, p in arrays["looks"]
            ]
        except KeyError as error:
            raise DataError(DAMAGED) from error
        if certifier._looks:
            certifier._recorder = None  # the state has no evidence of earlier looks, and half a history misleads
        return certifier

    def leaderboard(self) -> Leaderboard:
        """Everything that may be concluded now."""
        design, evidence, standing = self._design, self._evidence, self.standing_edges()
        log_e, log_w = to_numpy(evidence.log_e()), None
        if design.holm == "staggered":
            log_w = to_numpy(Wealth(evidence, evidence.log_groups()).log(evidence.space.bools(standing)))
            thresholds = log_e - (log_w + math.log(design.certificate_alpha))
        else:
            thresholds = np.where(np.isnan(log_e), np.nan, log_threshold(log_e, design.certificate_alpha))
        bounds = to_numpy(evidence.lower_bounds())
        if design.is_joint:  # where both hold, a certified direction exceeds tau
            bounds = np.where(standing, np.maximum(bounds, design.tau), bounds)
        return Leaderboard(
            design=design,
            replicates=evidence.replicates,
            means=evidence.means,
            log_e=log_e,
            log_w=log_w,
            log_thresholds=thresholds,
            lower_bounds=bounds,
            current=self.current,
            standing=Graph(standing),
            first_certified=to_numpy(self._procedure.first).copy(),
            looks=tuple(self._looks),
            history=None if self._recorder is None else self._recorder.history(),
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
    alpha: float = 0.05,
    tau: float = 0.0,
    method: Method = "bb-edge-x",
    evidence: EvidenceKind | None = None,
    prediction: PredictionRule | None = None,
    stakes: StakeRule | Stakes | Sequence[float] | None = None,
    blocks: Sequence[str] | Literal["item", "one"] | None = None,
    candidate: Sequence[str] | None = None,
    copies: Copies = "refuse",
    margin_share: float | None = None,
    planned: int | None = None,
    weights: Sequence[float] | None = None,
    device: str | None = None,
) -> Leaderboard:
    """Certify scores in one go, as ``bbedge certify`` does.

    ``alpha`` is the largest probability of any false certificate, ``tau`` the margin that an advantage must exceed, as
    a fraction of the score range. ``evidence``, ``prediction`` and ``stakes`` override parts of the ``method``,
    ``blocks`` the blocks of the scores. ``candidate`` restricts the tests to directions from these models to all
    others. Replicates that repeat each other score by score are refused, unless ``copies="allow"`` says that they
    count. ``margin_share`` is the part of ``alpha`` that margins spend, ``planned`` the number of replicates that were
    planned before any was seen (never the number there are). ``weights`` holds a weight for each item, at least 0 and
    on any scale: the means that are compared are weighted. ``device`` is where to compute, for instance ``"cuda"``;
    ``None`` is NumPy.

    **Needs:** options chosen before the scores were seen, and the independence of ``docs/guarantees.md``.

    >>> scores = Scores.of(np.eye(2)[None], models=["a", "b"], items=["q1", "q2"])
    >>> certify(scores, tau=0.01).current.n_edges
    0
    """
    design = scores.design(
        alpha=alpha,
        tau=tau,
        method=method,
        evidence=evidence,
        prediction=prediction,
        stakes=stakes,
        blocks=scores.blocks if blocks is None else blocks,
        candidate=candidate,
        copies=copies,
        margin_share=margin_share,
        planned=planned,
        weights=weights,
    )
    return certify_design(scores, design, device=device)


def certify_pilot_top_k(
    scores: Scores,
    *,
    k: int,
    pilot: int,
    alpha: float = 0.05,
    tau: float = 0.0,
    method: Method = "bb-edge-x",
    evidence: EvidenceKind | None = None,
    prediction: PredictionRule | None = None,
    stakes: StakeRule | Stakes | Sequence[float] | None = None,
    blocks: Sequence[str] | Literal["item", "one"] | None = None,
    copies: Copies = "refuse",
    margin_share: float | None = None,
    planned: int | None = None,
    weights: Sequence[float] | None = None,
    device: str | None = None,
) -> Leaderboard:
    """Pilot-targeted Top-k: the first ``pilot`` replicates pick the candidate, the others test it.

    Only the ``k (L - k)`` directions from the candidate to the other models are tested, which certifies sooner than
    the full graph. The pilot's panels choose the candidate and never enter the evidence. Equal pilot means go to
    the model that comes first. The other options are those of :func:`certify`.

    **Guarantee:** whatever the pilot picked, the probability of any false edge at any look is at most ``alpha``.

    **Needs:** ``k`` and ``pilot`` fixed beforehand, besides what :func:`certify` needs.
    """
    design = pilot_design(
        scores,
        k=k,
        pilot=pilot,
        alpha=alpha,
        tau=tau,
        method=method,
        evidence=evidence,
        prediction=prediction,
        stakes=stakes,
        blocks=scores.blocks if blocks is None else blocks,
        copies=copies,
        margin_share=margin_share,
        planned=planned,
        weights=weights,
    )
    return certify_design(scores, design, pilot=pilot, device=device)


def certify_design(
    scores: Scores,
    design: Design,
    *,
    pilot: int | None = None,
    device: str | None = None,
    watch: Callable[[Matrix], Iterable[Matrix]] = iter,
) -> Leaderboard:
    """Look after each replicate, leaving out those of the pilot: what the functions above and the command line do.

    ``watch`` gets the panels and hands them on one by one, for those who show progress.
    """
    scores.check_copies(design.copies)
    notes = (*scores.notes, COUNTED) if design.copies == "allow" and scores.copies else scores.notes
    leaderboard = run(design, watch(scores.values[pilot or 0 :]), device=device)
    return replace(leaderboard, notes=notes, pilot=pilot)


def pilot_design(scores: Scores, *, k: int, pilot: int, **options: Unpack[DesignOptions]) -> Design:
    """The design that tests the ``k`` models with the highest means over the first ``pilot`` replicates."""
    n_replicates = len(scores.replicates)
    check_k(k, len(scores.models))
    if not 1 <= pilot < n_replicates:
        raise DesignError(
            f"a pilot of {pilot} replicates is not possible with {n_replicates} in all; "
            "at least one replicate is needed for the pilot and one for the evidence"
        )
    weights = options.get("weights")
    means = scores.values[:pilot].mean(axis=(0, 2))
    if weights is not None:
        check_weights(weights, scores.items)
        means = np.average(scores.values[:pilot].mean(axis=0), axis=1, weights=weights)
    options["candidate"] = [scores.models[i] for i in np.argsort(-means, kind="stable")[:k]]
    return scores.design(**options)
