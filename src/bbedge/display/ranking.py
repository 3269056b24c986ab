"""The leaderboard row by row, as text: the terminal, the page, Markdown and notebooks show these same rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import difference, over, rank
from bbedge.text import shown

MEAN_INTERVAL = "mean interval"
"""The head of the column of intervals of means."""
CONTRADICTION = "contradiction"
"""Instead of an interval whose lower end is above its upper end: each of two models is certified better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """A model on the leaderboard, with numbers as they are printed."""

    index: int
    """Its place in the order shown, from 0."""
    label: str
    """Its name, harmless and short."""
    full: str
    """Its name, harmless and whole."""
    best: int
    """Its best possible rank, which is its group: models of one group are not certified better than each other."""
    worst: int
    """Its worst possible rank."""
    mean: str
    """Its mean score."""
    mean_over: str
    """What the mean is over, if not all items: such a mean is not comparable with others."""
    mean_interval: str
    """Where its true mean lies; empty if the design does not pay for such intervals."""
    behind: str
    """Its mean minus the leader's; empty for the leader."""
    behind_interval: str
    """Where the true difference to the leader lies; empty for the leader and where pairs are not known."""
    beats: int
    """Number of models that it is certified better than."""
    loses_to: int
    """Number of models that are certified better than it."""
    opens_group: bool
    """Whether it is the first row with its best possible rank."""
    cut_above: bool
    """Whether every model above this row is certified better than it and all below: the line of a Top-k set."""

    @property
    def rank(self) -> str:
        """Its rank interval, short."""
        return rank((self.best, self.worst))

    @property
    def could_be(self) -> str:
        """Its best possible rank in words: 1st, 2nd and so on."""
        return ordinal(self.best)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of the table of models."""

    head: str
    """What it is called."""
    cells: tuple[str, ...]
    """Its text in every row."""
    is_text: bool = False
    """Whether it holds words, which are aligned to the left."""
    spare: int = 0
    """The column with the largest number is left out first where there is no room; 0 is always shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The models that share a best possible rank."""

    best: int
    """That rank."""
    rows: tuple[ModelRow, ...]
    """Its models, in the order shown."""

    @property
    def title(self) -> str:
        """What the group is called."""
        return f"could be {ordinal(self.best)}"


def rows(certificate: Certificate, most: int | None = None) -> tuple[ModelRow, ...]:
    """The rows in the order shown, or the first ``most`` of them."""
    ranks = certificate.ranks
    cuts, beats, loses_to = set(ranks.cuts), ranks.n_worse.tolist(), ranks.n_better.tolist()
    intervals = certificate.mean_intervals
    made: list[ModelRow] = []
    for i, (best, worst) in enumerate(ranks.rank_intervals[:most]):
        behind, interval = to_leader(certificate, i) if i else ("", "")
        made.append(
            ModelRow(
                index=i,
                label=certificate.labels[i],
                full=shown(certificate.names[i], None),
                best=best,
                worst=worst,
                mean=certificate.units.score(certificate.means[i]),
                mean_over=over(certificate, i),
                mean_interval=_interval(certificate, intervals[i]) if intervals else "",
                behind=behind,
                behind_interval=interval,
                beats=beats[i],
                loses_to=loses_to[i],
                opens_group=i == 0 or best != made[-1].best,
                cut_above=i in cuts,
            )
        )
    return tuple(made)


def columns(made: Sequence[ModelRow]) -> tuple[TableColumn, ...]:
    """The table of these rows, column by column, without those that have nothing to say."""
    every = (
        TableColumn(head="could be", cells=tuple(_once(made)), is_text=True, spare=2),
        TableColumn(head="rank", cells=tuple(row.rank for row in made)),
        TableColumn(head="model", cells=tuple(row.label for row in made), is_text=True),
        TableColumn(head="mean", cells=tuple(row.mean for row in made)),
        TableColumn(head="mean over", cells=tuple(row.mean_over for row in made), is_text=True),
        TableColumn(head=MEAN_INTERVAL, cells=tuple(row.mean_interval for row in made), spare=3),
        TableColumn(head="to leader", cells=tuple(row.behind for row in made), spare=4),
        TableColumn(head="to leader, interval", cells=tuple(row.behind_interval for row in made), spare=1),
        TableColumn(head="beats", cells=tuple(f"{row.beats:,}" for row in made)),
        TableColumn(head="loses to", cells=tuple(f"{row.loses_to:,}" for row in made)),
    )
    return tuple(column for column in every if any(column.cells))


def _once(made: Sequence[ModelRow]) -> Iterator[str]:
    """The best possible rank of each group, in its first row."""
    for row in made:
        yield row.could_be if row.opens_group else ""


def groups(certificate: Certificate, most: int | None = None) -> tuple[Group, ...]:
    """The rows, put together by their best possible rank; the order shown has the models of a group side by side."""
    found: dict[int, list[ModelRow]] = {}
    for row in rows(certificate, most):
        found.setdefault(row.best, []).append(row)
    return tuple(Group(best=best, rows=tuple(members)) for best, members in found.items())


def _interval(certificate: Certificate, ends: tuple[float, float]) -> str:
    return f"{certificate.units.at_least(ends[0])} to {certificate.units.at_most(ends[1])}"


def to_leader(certificate: Certificate, model: int) -> tuple[str, str]:
    """The difference of a model's mean to the leader's, and where the true difference lies; empty if not known."""
    return observed(certificate, model, 0), between(certificate, model, 0)


def observed(certificate: Certificate, a: int, b: int) -> str:
    """The difference of two means; a dash where one is not known, or they are not over the same items."""
    seen = difference(certificate, a, b)
    return "-" if seen is None else certificate.units.difference(seen)


def between(certificate: Certificate, a: int, b: int) -> str:
    """Where the true mean of ``a`` minus that of ``b`` lies, rounded outward; empty where pairs are not known."""
    units, ends = certificate.units, bounds(certificate, a, b)
    if ends is None:
        return ""
    low, high = ends
    if low > high or _is_contradicted(certificate, a, b):
        return CONTRADICTION
    if math.isnan(low) and math.isnan(high):
        return "not tested"
    if math.isnan(high):
        return f"at least {_end(units.at_least(low, '+'))}"
    if math.isnan(low):
        return f"at most {_end(units.at_most(high, '+'))}"
    return f"{_end(units.at_least(low, '+'))} to {_end(units.at_most(high, '+'))}"


def bounds(certificate: Certificate, a: int, b: int) -> tuple[float, float] | None:
    """The ends of :func:`between`, NaN where they are not tested; ``None`` where pairs are not known.

    Margins give both ends. A certified comparison adds that the difference is above zero, or above tau for every edge
    of its path, where that says more than its margin.
    """
    known = certificate.all_pairs
    if known is None:
        return None
    low, high = float(known.margins[a, b]), -float(known.margins[b, a])
    if math.isnan(low) and math.isnan(high):
        return low, high
    if known.graph.above[a, b]:
        low = _larger(low, _proved(certificate, a, b))
    if known.graph.above[b, a]:
        high = -_larger(-high, _proved(certificate, b, a))
    return low, high


def _is_contradicted(certificate: Certificate, a: int, b: int) -> bool:
    """Whether two models are each certified better than the other, or bounds of their difference exclude each other."""
    pair = {certificate.names[a], certificate.names[b]}
    reach = certificate.by_pair(known=True).graph.reach
    crossed = certificate.content.crossed_intervals or ()
    return bool(reach[a, b] and reach[b, a]) or any(set(each.names) == pair for each in crossed)


def _end(text: str) -> str:
    return "0" if float(text) == 0.0 else text  # neither +0.0000 nor -0.0000


def _proved(certificate: Certificate, better: int, worse: int) -> float:
    """What the certified edges alone prove of a difference, in score units."""
    known = certificate.by_pair(known=True)
    # Longest paths among thousands of models are slow to find; that a path has one edge is certain.
    edges = int(known.graph.path_lengths[better, worse]) if certificate.step and certificate.pairs else 1
    return edges * certificate.step


def _larger(bound: float, proved: float) -> float:
    return proved if math.isnan(bound) else max(bound, proved)


@cache
def ordinal(number: int) -> str:
    """A rank in words.

    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 21, 102, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '21st', '102nd', '113th']
    """
    teens = number % 100 in (11, 12, 13)
    return f"{number:,}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
