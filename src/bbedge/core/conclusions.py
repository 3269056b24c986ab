"""What may be concluded after some replicates, and whether it certifies what people expect of two models."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal, cast

import numpy as np

from bbedge.core.arrays import Floats, Ints, Mask
from bbedge.core.design import Design
from bbedge.core.graph import Crossed, Graph, crossed_intervals
from bbedge.core.looks import EarlyRecord, History, LookCount
from bbedge.core.scores import Origin, Scores
from bbedge.errors import Argument, DesignError, DomainError
from bbedge.records.design import FittedStake
from bbedge.records.notes import Note
from bbedge.text import counted, display_names, listed, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class GapCount:
    """How many scores are missing, and what that costs."""

    of_models: tuple[int, ...]
    """Missing scores of every model, over all replicates."""
    resolved_if_means: int | None = None
    """Pairs that would be certified if the missing scores had been their models' means: a hint, never a claim."""

    @property
    def cells(self) -> int:
        """Missing scores in all."""
        return sum(self.of_models)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Leaderboard:
    """All that may be concluded after some replicates.

    **Guarantee:** with probability at least ``1 - alpha`` every edge of ``graph`` is true, and with it every path,
    rank interval, tier and Top-k set that follows, at this and all other looks. The lower bounds hold together with
    probability at least ``1 - alpha``, likewise.

    Two leaderboards are equal only if they are the same object. The methods with names (:meth:`top_k`,
    :meth:`rank_interval`, :meth:`certified`, :meth:`to_frame`, ...) speak of everything that stands.

    >>> from bbedge import Scores, certify
    >>> steps = np.repeat([[1.0], [0.5], [0.0]], 40, axis=1)
    >>> scores = Scores.of(steps, models=["high", "mid", "low"], items=[f"q{i}" for i in range(40)])
    >>> certify(scores, method="bb-edge-x")
    Leaderboard(3 models, 40 items, 1 replicate: 3 of 3 pairs certified)
    >>> certify(scores, method="bb-edge-x").top_k(2)
    ('high', 'mid')
    """

    design: Design
    """The frozen design."""
    replicates: int
    """Number of replicates in the evidence."""
    means: Floats
    """Mean score of each model on the [0, 1] scale, inside the first run of what is complete; NaN before any."""
    log_e: Floats
    """Evidence of every tested direction, row against column; NaN elsewhere."""
    log_thresholds: Floats
    """What ``log_e`` had to reach at the last look, per direction; NaN where not tested."""
    lower_bounds: Floats
    """Simultaneous lower bounds of the differences, row minus column, on the [0, 1] scale; NaN where not tested."""
    graph: Graph
    """Everything certified at any look so far. A certificate, once issued, stands."""
    current_edges: Mask
    """The directions that the last look alone certifies, row over column: all of ``edges`` for a method with memory."""
    first_certified: Ints
    """The replicate at which each direction was first certified; 0 if it never was. See also ``early``."""
    looks: tuple[LookCount, ...]
    """The history of looks."""
    mean_bounds: Floats | None = None
    """Lower and upper bound of each model's true mean, simultaneous, on the [0, 1] scale; ``None`` if not asked for."""
    best_bounds: Floats | None = None
    """The largest of ``lower_bounds`` at any look; all of them hold together. ``None`` before the first look."""
    best_mean_bounds: Floats | None = None
    """The tightest of ``mean_bounds`` at any look; ``None`` before the first look, or if not asked for."""
    log_w: Floats | None = None
    """The wealth that staggered e-Holm compares with ``1 / alpha``, as a logarithm; ``None`` for direct e-Holm."""
    history: History | None = None
    """The evidence of the looks, a bounded number of them; ``None`` with many models, or if not all looks were seen."""
    notes: tuple[Note, ...] = ()
    """What a reader of the leaderboard should know besides its numbers."""
    pilot: int | None = None
    """Replicates that chose the candidate and are no evidence; ``None`` if there was no pilot."""
    name: str | None = None
    """The name of the view that this is the leaderboard of; ``None`` for the headline."""
    views: tuple[Leaderboard, ...] = ()
    """The leaderboards of the other views of the design, in its order; see :meth:`view`."""
    mean_items: tuple[int, ...] | None = None
    """For every model the number of items that its mean is over, of those that weigh anything, where scores are
    missing; ``None`` if every mean is over all of them. Means over different items are not comparable."""
    gaps: GapCount | None = None
    """What is missing, where a design counts missing scores; ``None`` if nothing is."""
    stops: tuple[int, ...] | None = None
    """For every model the number of replicates after which it was stopped, if scores were read so; ``None`` if not."""
    origin: Origin | None = None
    """What identifies the scores that were certified; ``None`` if only panels were given."""
    early: EarlyRecord | None = None
    """What happened inside the first run; ``None`` if the design has no checkpoints."""
    fitted_stakes: tuple[FittedStake, ...] = ()
    """The stakes that were fitted to the noise when they entered; empty before any, or if the rule fits none."""
    of_board: Callable[[], Any] | None = None
    """Makes the certificate of a board's leaderboard, to which the ledger adds; ``None`` if it is not of a board."""

    def __repr__(self) -> str:
        design, graph = self.design, self.graph
        n_items = len(design.layout.order)  # those that weigh anything
        name = "" if self.name is None else f"{quoted(self.name)}, "
        return (
            f"Leaderboard({name}{counted(len(design.models), 'model')}, "
            f"{counted(n_items, 'item')}, {counted(self.replicates, 'replicate')}: {graph.n_resolved:,} of "
            f"{graph.n_pairs:,} pairs certified{', CONTRADICTION' if self.is_contradicted else ''})"
        )

    @property
    def edges(self) -> Mask:
        """The certified directions, row over column, without what follows from them: see ``graph``."""
        return self.graph.edges

    @property
    def contradictions(self) -> tuple[tuple[str, ...], ...]:
        """Groups of models certified above each other. Any such group means a false edge or a broken assumption."""
        return tuple(tuple(self.design.models[i] for i in group) for group in self.graph.cycles)

    @property
    def crossed(self) -> tuple[Crossed, ...]:
        """Intervals whose lower end lies above their upper end, which is a contradiction, too; at most 200 of a kind.

        The ends are the tightest of any look, and a certified comparison counts as an end.
        """
        bounds = self.lower_bounds if self.best_bounds is None else self.best_bounds
        means = self.mean_bounds if self.best_mean_bounds is None else self.best_mean_bounds
        return crossed_intervals(self.design, self.graph, bounds, means)

    @property
    def is_contradicted(self) -> bool:
        """Whether anything in this view or one of its :attr:`views` is a contradiction: then nothing is reliable.

        Either one of the errors that ``alpha`` allows has happened, or an assumption does not hold, or models or items
        changed their names between replicates.
        """
        return any(each.contradictions or each.crossed for each in (self, *self.views))

    def order(self) -> tuple[int, ...]:
        """Models as a reader expects them: by tier, then by mean, then by name.

        Means over some of the items come after those over all of them, which they cannot be compared with.
        """
        means = np.nan_to_num(self.means, nan=-1.0)
        all_items = len(self.design.layout.order)
        partial = [count < all_items for count in self.mean_items or (all_items,) * len(means)]
        tier = {model: t for t, members in enumerate(self.graph.tiers) for model in members}
        return tuple(
            sorted(
                range(len(means)),
                key=lambda i: (tier[i], partial[i], -float(means[i]), self.design.models[i]),
            )
        )

    def of_scores(self, scores: Scores) -> Leaderboard:
        """The same with what is known of the scores that were certified: their notes, and what identifies them."""
        # With the blocks of the design, which the caller may have chosen instead of those of the scores.
        return replace(self, notes=scores.notes, origin=replace(scores, blocks=self.design.blocks).origin)

    def with_mean_items(self, scored: Mask) -> Leaderboard:
        """The same with what the means are over, here and in the views: which items each model has any score on."""
        places = self.design.layout.order
        counts = scored[:, places].sum(axis=1)
        views = tuple(view.with_mean_items(scored) for view in self.views)
        return replace(self, mean_items=tuple(counts.tolist()) if (counts < len(places)).any() else None, views=views)

    def view(self, name: str) -> Leaderboard:
        """The leaderboard of another view of the design, for instance of a category."""
        if found := [leaderboard for leaderboard in self.views if leaderboard.name == name]:
            return found[0]
        names = listed([str(each.name) for each in self.views]) if self.views else "there are none besides the headline"
        raise DesignError(f"{quoted(name)} is not a view of this leaderboard; its views: {names}")

    def certified(self, better: str, worse: str) -> bool:
        """Whether an edge or a path puts one model above the other."""
        return bool(self.graph.above[self._place(better), self._place(worse)])

    def is_certified(self, better: str, worse: str) -> bool:
        """The same as :meth:`certified`."""
        return self.certified(better, worse)

    def rank_interval(self, model: str) -> tuple[int, int]:
        """The best and the worst rank that a model can have, given everything that stands."""
        return self.graph.rank_intervals[self._place(model)]

    def top_k(self, k: int) -> tuple[str, ...] | None:
        """The ``k`` models that are certified above all others, in the order shown; ``None`` if there is no such set.

        Their order among each other is not certified. There is no such set where :attr:`is_contradicted`.
        """
        check_k(k, len(self.design.models))
        members = None if self.is_contradicted else self.graph.top_k(k)
        return None if members is None else tuple(self.design.models[i] for i in self.order() if i in members)

    # By name from here on: the core knows nothing of documents, frames and displays, and works without them.

    def certificate(self) -> Any:  # noqa: ANN401 - bbedge.Certificate
        """The :class:`bbedge.Certificate`: the document that every display is made from."""
        return self._made() if self.of_board is None else self.of_board()

    def to_frame(self) -> Any:  # noqa: ANN401 - polars.DataFrame
        """A polars frame with a row per model, in the order shown.

        Its columns are ``model``, ``mean`` in score units (null before the first replicate), ``rank_best`` and
        ``rank_worst``, and ``wins`` and ``losses``: how many models are certified below and above it. Where the design
        has a ``mean_share``, ``mean_low`` and ``mean_high`` bound the true mean.
        With ``target="both"`` columns that end with ``_new`` are about new items: ``rank_best_new`` and so on.
        """
        return import_module("bbedge.certificate.exports").model_frame(self._made())

    def pairs_frame(self) -> Any:  # noqa: ANN401 - polars.DataFrame
        """A polars frame with a row per tested direction, in the order shown.

        Its columns are ``model`` and ``other``; ``difference``, the mean of the model minus that of the other, and
        ``lower`` and ``upper``, its simultaneous bounds, all in score units (``upper`` is null where the reverse
        direction is not tested); ``log_e``; ``certified``, whether the model is certified better than the other; and
        ``since``, the replicate at which the direction itself was first certified (null if it never was: then a path of
        other directions may still certify the pair).
        Where the design states ``equal_within``, ``equal`` says whether both bounds lie within it. With
        ``target="both"`` columns that end with ``_new`` are about new items, null before the first look at these.
        """
        return import_module("bbedge.certificate.exports").pairs_frame(self._made())

    def to_json(self, *, time: str | None = None) -> str:
        """The certificate as text, exactly as ``bbedge certify --json`` or ``bbedge board show --json`` writes it.

        ``time`` is when it is written, in UTC, for instance ``"2026-01-31T12:00:00Z"``; the commands state it.
        """
        return cast("str", self.certificate().to_json(time=time))

    def to_html(self, title: str | None = None, *, time: str | None = None) -> str:
        """The whole page as ``bbedge certify --html`` writes it: one text that needs no network."""
        return cast("str", self.certificate().to_html(title, time=time))

    @property
    def answer(self) -> str:
        """The answer in a few sentences: who is best, or how many could be, and the risk that this is wrong."""
        return str(self.certificate().answer)

    def to_markdown(self, title: str | None = None) -> str:
        """The answer and the table of models, for a pull request or a job summary."""
        return cast("str", self.certificate().to_markdown(title))

    def to_latex(self) -> str:
        """A table for a paper; it needs the LaTeX package booktabs."""
        return cast("str", self.certificate().to_latex())

    def _repr_html_(self) -> str:
        """What a notebook shows; :meth:`to_html` makes the whole page."""
        return cast("str", self._made()._repr_html_())

    def _made(self) -> Any:  # noqa: ANN401 - bbedge.Certificate
        """The certificate without what a board adds, which may have changed since."""
        return import_module("bbedge.certificate.certificate").Certificate.made(self)

    def _place(self, model: str) -> int:
        try:
            return self.design.models.index(model)
        except ValueError:
            names = listed(self.design.models)
            raise DesignError(f"{quoted(model)} is not a model of this leaderboard; its models are {names}") from None


def check_k(k: int, n_models: int) -> None:
    """Refuse a Top-k that leaves no model, or none outside it."""
    if not 1 <= k < n_models:
        raise DomainError(f"k = {k} is not allowed; with {n_models} models choose 1 <= k <= {n_models - 1}")


_SIGN = re.compile(r"[+-]")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

Finding = Literal["certified", "opposite certified", "not certified", "contradicted"]
"""What a leaderboard says of a statement; where anything is contradicted, it says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One model's mean exceeds another's, or the other's plus or minus something.

    >>> str(Statement(better="new", worse="old", shift=-0.02))
    'new > old - 0.02'
    """

    better: str
    """The model whose mean is the larger one."""
    worse: str
    """The model that it is compared with."""
    shift: float = 0.0
    """What is added to the other's mean, in score units."""

    def __str__(self) -> str:
        """The statement as the command line writes it."""
        first, second = display_names([self.better, self.worse])
        shift = f" {'-' if self.shift < 0.0 else '+'} {abs(self.shift):g}" if self.shift else ""
        return f"{first} > {second}{shift}"

    def found(self, leaderboard: Leaderboard) -> Finding:
        """Whether it is certified, or its opposite is.

        Without a shift, what stands over all looks decides; with one, the margins of the last look.

        **Guarantee:** that of the leaderboard's comparisons and margins. The opposite of ``A > B`` is ``B > A``; that
        of ``A > B + c`` is that the difference is below ``c``.
        """
        above, below = (
            leaderboard.is_certified(self.better, self.worse),
            leaderboard.is_certified(self.worse, self.better),
        )
        if self.shift:
            design, bounds = leaderboard.design, leaderboard.lower_bounds
            a, b = design.models.index(self.better), design.models.index(self.worse)
            bar = self.shift / design.score_width
            # A bound is NaN, which exceeds nothing, where a direction is not tested.
            above, below = bool(bounds[a, b] > bar), bool(bounds[b, a] > -bar)
        return "opposite certified" if below else "certified" if above else "not certified"


def parse(text: str, models: Sequence[str], width: float, *, argument: str) -> Statement:
    """Read ``A > B``, ``A > B + 0.01`` or ``A > B - 0.02``, on a score range of this width.

    Names may contain the signs themselves, so that every way to split the text is tried against the known models, and
    a text that can be read in two ways is refused.

    >>> parse("a-1 > b - 0.5", ["a-1", "b"], 1.0, argument="expect")
    Statement(better='a-1', worse='b', shift=-0.5)
    """
    known = set(models)
    ways = list(dict.fromkeys(way for way in _ways(text) if {way.better, way.worse} <= known))
    ways = [way for way in ways if way.better != way.worse]
    if len(ways) > 1:
        # Readings of one text look alike in the usual form, so that each is spelled out.
        first, second = (f"{quoted(way.better)} above {quoted(way.worse)} {way.shift:+g}" for way in ways[:2])
        raise DomainError(
            Argument(argument),
            f" {quoted(text)} has two readings, {first} and {second}; rename a model with --model-name, or in the file",
        )
    if not ways:
        raise DomainError(
            Argument(argument),
            f' {quoted(text)} does not name two models as "A > B", "A > B - 0.02" or "A > B + 0.01"; the '
            f"models are {listed(models)}",
        )
    if abs(ways[0].shift) >= width:
        raise DomainError(
            Argument(argument),
            f" {quoted(text)}: a margin of {abs(ways[0].shift):g} is not below the width of the score range, "
            f"{width:g}; margins are in score units",
        )
    return ways[0]


def _ways(text: str) -> Iterator[Statement]:
    """Every way to read the text, whatever the models are."""
    parts = text.split(">")
    for i in range(1, len(parts)):
        better, worse = ">".join(parts[:i]).strip(), ">".join(parts[i:]).strip()
        yield Statement(better=better, worse=worse)
        for sign in _SIGN.finditer(worse):
            number = worse[sign.end() :].strip()
            if _NUMBER.fullmatch(number):
                # Adding zero turns -0.0 into 0.0: the statement without a shift.
                shift = float(sign[0] + number) + 0.0
                yield Statement(better=better, worse=worse[: sign.start()].strip(), shift=shift)
