"""The leaderboard row by row, as text: the terminal, the page, Markdown and notebooks show these same rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import difference, has_partial, over, rank, runs_of_means
from bbedge.records.values import Trust

MEAN_INTERVAL = "mean interval"
"""The head of the column of intervals of means."""
RANK_ON_NEW_ITEMS = "new items"
"""The head of the column of ranks on new items, beside those on these items."""
TRUST_WORDS: Mapping[Trust, str] = {
    "self-reported": "self-reported",
    "logs-kept": "logs kept",
    "re-run": "re-run by the maintainers",
}
"""How far scores can be trusted, for people."""
CONTRADICTION = "contradiction"
"""Instead of an interval whose lower end is above its upper end: each of two models is certified better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """A model on the leaderboard, with numbers as they are printed."""

    index: int
    """Its place in the order shown, from 0."""
    label: str
    """Its name, harmless and short."""
    ranks: tuple[int, int]
    """Its best and its worst possible rank. The best is its group: no model of a group is certified above another."""
    mean_rank: int | None
    """The rank that the means alone would give it; ``None`` where they cannot be compared."""
    rank_on_new_items: str
    """Its rank interval on new items of the same kind; empty if the design is not about both, a dash before a look."""
    mean: str
    """Its mean score."""
    mean_over: str
    """What the mean is over, if not all items: such a mean is not comparable with others."""
    mean_runs: str
    """How many runs the mean is over, if not all of the board."""
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
    is_retired: bool
    """Whether the board runs it no more."""
    trust: str
    """How far its scores can be trusted, where the board states it."""
    is_withdrawn: bool
    """Whether tables do not show the row."""

    @property
    def rank(self) -> str:
        """Its rank interval, short."""
        return rank(self.ranks)

    @property
    def mean_of(self) -> str:
        """What the mean is over, if not all items and all runs."""
        return ", ".join(filter(None, (self.mean_over, self.mean_runs)))

    @property
    def could_be(self) -> str:
        """Its best possible rank in words: 1st, 2nd and so on."""
        return ordinal(self.ranks[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of the table of models."""

    head: str
    """What it is called."""
    cells: Sequence[str]
    """Its text in every row."""
    is_text: bool = False
    """Whether it holds words, which are aligned to the left."""
    spare: int = 0
    """The column with the largest number is left out first where there is no room; 0 is always shown."""


def model_rows(certificate: Certificate, most: int | None = None, *, withdrawn: bool = False) -> tuple[ModelRow, ...]:
    """The rows in the order shown, or the first ``most`` of them; with those of withdrawn models only if asked for.

    Groups and cuts are those of the rows that tables show.
    """
    ranks, units, intervals = certificate.ranks, certificate.units, certificate.mean_intervals
    found, cuts = ranks.rank_intervals, set(ranks.cuts)
    on_new_items, by_mean = _ranks_on_new_items(certificate), ranks_of_means(certificate)
    board = (certificate.headline or certificate).content.board
    retired = board.retired if board else ()
    hidden, trust = {each.model for each in certificate.withdrawn}, certificate.trust
    of_runs = runs_of_means(certificate)
    places = [i for i, name in enumerate(certificate.names) if name not in hidden]
    before: dict[int, int | None] = dict(zip(places, [None, *places], strict=False))  # the row above, in a table
    return tuple(
        ModelRow(
            index=i,
            label=certificate.labels[i],
            ranks=ends,
            mean_rank=by_mean[i] if by_mean else None,
            rank_on_new_items=on_new_items.get(certificate.names[i], ""),
            mean=units.score(certificate.means[i]),
            mean_over=over(certificate, i),
            mean_runs=of_runs.get(certificate.names[i], ""),
            mean_interval=f"{units.at_least(intervals[i][0])} to {units.at_most(intervals[i][1])}" if intervals else "",
            behind=observed_difference(certificate, i, 0) if i else "",
            behind_interval=difference_interval(certificate, i, 0) if i else "",
            beats=int(ranks.n_worse[i]),
            loses_to=int(ranks.n_better[i]),
            opens_group=(above := before.get(i)) is None or ends[0] != found[above][0],
            cut_above=above is not None and any(k in cuts for k in range(above + 1, i + 1)),
            is_retired=certificate.names[i] in retired,
            trust=TRUST_WORDS[trust[name].trust] if (name := certificate.names[i]) in trust else "",
            is_withdrawn=i not in before,
        )
        for i, ends in ((i, found[i]) for i in (range(len(found)) if withdrawn else places)[:most])
    )


def ranks_of_means(certificate: Certificate) -> tuple[int, ...] | None:
    """The rank that its mean alone would give each model, the better one of equal means; ``None`` if none compare."""
    if not certificate.replicates or has_partial(certificate):
        return None
    means = np.round(np.array(certificate.means, dtype=np.float64), 12)
    return tuple((1 + len(means) - np.searchsorted(np.sort(means), means, side="right")).tolist())


def _ranks_on_new_items(certificate: Certificate) -> dict[str, str]:
    """The rank interval of each model in the same view of new items, if there is one."""
    other = certificate.on_new_items
    if other is None:
        return {}
    known = map(rank, other.ranks.rank_intervals) if other.content.looks else ("-" for _ in other.names)
    return dict(zip(other.names, known, strict=True))


def table_columns(made: Sequence[ModelRow]) -> list[TableColumn]:
    """The table of these rows, column by column, without those that have nothing to say."""
    groups = [row.could_be if row.opens_group else "" for row in made]
    every = (
        TableColumn(head="could be", cells=groups, is_text=True, spare=4),
        TableColumn(head="rank", cells=[row.rank for row in made]),
        TableColumn(head=RANK_ON_NEW_ITEMS, cells=[row.rank_on_new_items for row in made]),
        TableColumn(head="model", cells=[row.label for row in made], is_text=True),
        TableColumn(head="mean", cells=[row.mean for row in made]),
        TableColumn(head="mean over", cells=[row.mean_of for row in made], is_text=True),
        TableColumn(head=MEAN_INTERVAL, cells=[row.mean_interval for row in made], spare=3),
        TableColumn(head="to leader", cells=[row.behind for row in made], spare=5),
        TableColumn(head="to leader, interval", cells=[row.behind_interval for row in made], spare=1),
        TableColumn(head="beats", cells=[f"{row.beats:,}" for row in made], spare=6),
        TableColumn(head="loses to", cells=[f"{row.loses_to:,}" for row in made], spare=7),
        TableColumn(head="trust", cells=[row.trust for row in made], is_text=True, spare=2),
    )
    return [column for column in every if any(column.cells)]


def observed_difference(certificate: Certificate, a: int, b: int) -> str:
    """The difference of two means; a dash where one is not known, or they are not over the same items."""
    seen = difference(certificate, a, b)
    return "-" if seen is None else certificate.units.difference(seen)


def difference_interval(certificate: Certificate, a: int, b: int) -> str:
    """Where the true mean of ``a`` minus that of ``b`` lies, rounded outward; empty where pairs are not known."""
    ends = difference_bounds(certificate, a, b)
    if ends is None:
        return ""
    return CONTRADICTION if _is_contradicted(certificate, a, b) else interval_words(certificate, *ends)


def interval_words(certificate: Certificate, *ends: float | None) -> str:
    """Both bounds of a difference, rounded outward; NaN or ``None`` where there is no bound."""
    units, (low, high) = certificate.units, (math.nan if end is None else end for end in ends)
    if low > high:
        return CONTRADICTION
    if math.isnan(low) and math.isnan(high):
        return "not tested"
    # Neither +0.0000 nor -0.0000.
    least, greatest = (
        text if text == "-" or float(text) else "0" for text in (units.at_least(low, "+"), units.at_most(high, "+"))
    )
    if math.isnan(high):
        return f"at least {least}"
    return f"at most {greatest}" if math.isnan(low) else f"{least} to {greatest}"


def difference_bounds(certificate: Certificate, a: int, b: int) -> tuple[float, float] | None:
    """The ends of :func:`difference_interval`, NaN where they are not tested; ``None`` where pairs are not known.

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
        low = _larger(low, certificate.proved(a, b))
    if known.graph.above[b, a]:
        high = -_larger(-high, certificate.proved(b, a))
    return low, high


def evidence_share(missing: float) -> tuple[str, float]:
    """The evidence of an open pair as a share of what it must reach: in words, and as the length of its bar.

    ``missing`` is ``log_e`` minus its threshold. Of staggered e-Holm, the share is that of the wealth.
    """
    share = min(0.99, math.exp(min(0.0, missing)))
    words = f"{math.floor(100 * share)} %" if share >= 0.01 else f"{100 * share:.1g} %" if share >= 1e-4 else "< 0.01 %"
    return words, share


def _is_contradicted(certificate: Certificate, a: int, b: int) -> bool:
    """Whether two models are each certified better than the other, or bounds of their difference exclude each other."""
    pair = {certificate.names[a], certificate.names[b]}
    reach = certificate.by_pair(known=True).graph.reach
    crossed = certificate.content.crossed_intervals or ()
    return bool(reach[a, b] and reach[b, a]) or any(set(each.names) == pair for each in crossed)


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
