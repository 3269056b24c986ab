"""What a board must show, computed from a plain record of what happened, with the statistical core alone.

Nothing here comes from the board package: panels are kept as they were given and every number is computed anew from
the first replicate on.
"""

from dataclasses import dataclass, field

import numpy as np

from bbedge.core.design import Design
from bbedge.core.family import Spending
from bbedge.core.leaderboard import Certifier


@dataclass
class Version:
    """A benchmark version and everything that was run on it."""

    items: tuple
    blocks: tuple
    models: tuple
    """Those that opened it."""
    panels: list = field(default_factory=list)
    """Replicate by replicate, model -> scores; runs that were joined later are put into their replicate."""
    joined: list = field(default_factory=list)
    """(model, runs joined, replicates there were) of every added model."""
    retired: set = field(default_factory=set)


@dataclass
class Claim:
    """A family tested at one level, and its evidence."""

    level: float
    newcomer: str | None
    certifier: Certifier
    look_of: dict
    """Replicate of the claim -> replicate of the version."""


class Record:
    """What happened, in order."""

    def __init__(
        self, models, items, blocks=None, *, alpha=0.05, spending=None, first=None, k=None, pilot=0, **options
    ):
        self.alpha, self.spending, self.first, self.k, self.pilot = alpha, spending or Spending(), first, k, pilot
        self.options = options
        self.pilots = []
        self.versions = [Version(tuple(items), tuple(blocks or items), tuple(models))]

    @property
    def version(self):
        return self.versions[-1]

    @property
    def everybody(self):
        return [*self.version.models, *(name for name, _, _ in self.version.joined)]

    @property
    def active(self):
        return [model for model in self.everybody if model not in self.version.retired]

    @property
    def candidate(self):
        if self.k is None or len(self.pilots) < self.pilot:
            return None
        mean = {m: np.mean([panel[m].mean() for panel in self.pilots]) for m in self.versions[0].models}
        return sorted(mean, key=lambda m: (-mean[m], self.versions[0].models.index(m)))[: self.k]

    def replicate(self, panel):
        if len(self.pilots) < self.pilot:
            self.pilots.append(dict(panel))
        else:
            self.version.panels.append(dict(panel))

    def runs_needed(self):
        stored = len(self.version.panels)
        return stored if self.first is None else min(stored, self.first)

    def add_model(self, name, runs):
        self.version.joined.append((name, len(runs), len(self.version.panels)))
        for panel, run in zip(self.version.panels, runs, strict=False):
            panel[name] = run

    def add_items(self, items, blocks=None):
        old = self.version
        labels = tuple(items if blocks is None else blocks)
        self.versions.append(Version(old.items + tuple(items), old.blocks + labels, tuple(self.active)))

    def retire(self, model):
        self.version.retired.add(model)

    def claims(self):
        """The claims of every version."""
        every, count = [], 0
        for version in self.versions:
            mine = []
            if self.k is None or self.candidate is not None:
                stages = [(None, version.models, 0, 0)]
                for i, (name, joined, stored) in enumerate(version.joined):
                    before = (*version.models, *(earlier for earlier, _, _ in version.joined[:i]))
                    stages.append((name, (*before, name), joined, stored))
                for newcomer, models, joined, stored in stages:
                    level = self.spending.level(count, alpha=self.alpha)
                    mine.append(self._claim(version, newcomer, models, joined, stored, level))
                    count += 1
            every.append(mine)
        return every

    def _claim(self, version, newcomer, models, joined, stored, level):
        candidate = None
        if self.candidate is not None:
            candidate = [model for model in self.candidate if model in models]
        design = Design.make(
            models,
            version.items,
            blocks=version.blocks,
            alpha=level,
            candidate=candidate,
            newcomer=newcomer,
            **self.options,
        )
        certifier = Certifier(design)
        numbers = [*range(joined), *range(stored, len(version.panels))]
        look_of = {}
        for number in numbers:
            panel = version.panels[number]
            gone = [model for model in certifier.evidence.active if model not in panel]
            certifier.stop(gone)
            if certifier.evidence.active:
                certifier.update([panel[model] for model in certifier.evidence.active])
                look_of[certifier.evidence.replicates] = number + 1
        certifier.stop([model for model in certifier.evidence.active if model in version.retired])
        return Claim(level, newcomer, certifier, look_of)


def names_of(matrix, models):
    """A matrix as a mapping from (row name, column name)."""
    return {(models[a], models[b]): matrix[a, b] for a in range(len(models)) for b in range(len(models)) if a != b}


def wealth_of(leaderboard):
    """What staggered e-Holm compares with its level; of direct e-Holm, the evidence."""
    return leaderboard.log_e if leaderboard.log_w is None else leaderboard.log_w


def assert_same(board, record, *, numbers=True):
    """The board shows exactly what follows from the record. ``numbers``: also when each edge was first certified."""
    claims = record.claims()
    state = board.state
    assert len(state.epochs) == len(record.versions)
    assert [stage.level for stage in state.stages] == [claim.level for mine in claims for claim in mine]
    assert [stage.newcomer for stage in state.stages] == [claim.newcomer for mine in claims for claim in mine]
    assert state.spent <= record.alpha
    assert state.active == record.active
    assert state.candidate == (None if record.candidate is None else tuple(sorted(record.candidate)))
    for number, (version, mine) in enumerate(zip(record.versions, claims, strict=True), start=1):
        shown = board.leaderboard(number)
        models = shown.design.models
        assert models == (*version.models, *(name for name, _, _ in version.joined))
        assert shown.design.items == version.items
        assert shown.replicates == len(version.panels)
        assert (shown.log_w is None) == all(claim.certifier.evidence.design.holm == "direct" for claim in mine)
        expected = dict.fromkeys(names_of(shown.log_e, models))
        for claim in mine:
            theirs = claim.certifier.leaderboard()
            tested = names_of(theirs.design.tested, theirs.design.models)
            parts = [
                names_of(matrix, theirs.design.models)
                for matrix in (
                    theirs.log_e,
                    wealth_of(theirs),
                    theirs.log_thresholds,
                    theirs.lower_bounds,
                    theirs.current_edges,
                    theirs.first_certified,
                )
            ]
            for pair, is_tested in tested.items():
                if is_tested:
                    assert expected[pair] is None, "a direction belongs to one claim"
                    row = [float(part[pair]) for part in parts]
                    row[-1] = claim.look_of.get(row[-1], 0)
                    expected[pair] = row
        found = [
            names_of(matrix, models)
            for matrix in (
                shown.log_e,
                wealth_of(shown),
                shown.log_thresholds,
                shown.lower_bounds,
                shown.current_edges,
                shown.first_certified,
            )
        ]
        for pair, row in expected.items():
            here = [float(part[pair]) for part in found]
            if row is None:
                np.testing.assert_array_equal(here, [np.nan, np.nan, np.nan, np.nan, 0.0, 0.0], err_msg=str(pair))
                continue
            np.testing.assert_allclose(here[:4], row[:4], rtol=1e-12, atol=1e-12, err_msg=str(pair))
            assert here[4] == row[4], pair
            assert (here[5] > 0) == (row[5] > 0) == bool(shown.edges[models.index(pair[0]), models.index(pair[1])])
            if numbers:
                assert here[5] == row[5], pair
        for i, model in enumerate(models):
            ran = [panel[model].mean() for panel in version.panels if model in panel]
            if ran:
                assert shown.means[i] == np.float64(np.mean(ran)) or abs(shown.means[i] - np.mean(ran)) < 1e-12
            else:
                assert np.isnan(shown.means[i])
        if shown.looks:
            last = shown.looks[-1]
            assert (last.replicate, last.edges) == (len(version.panels), shown.edges.sum())
            assert last.resolved_pairs == shown.graph.n_resolved
        else:
            assert not version.panels
