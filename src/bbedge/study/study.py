"""A study: what one repetition of a setting draws, runs and measures, and what is shown and was published of it."""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bbedge.baselines import NotApplicable
from bbedge.baselines.e_values import edges_at_looks
from bbedge.core.arrays import Floats, Mask, space_on
from bbedge.core.design import Design
from bbedge.records.values import changed
from bbedge.study.contenders import (
    LIMIT,
    PILOT,
    claims,
    edge_measures,
    gives_ranks,
    pilot_edges,
    rank_intervals,
    rank_measures,
    resolved_measures,
    standing,
    top_k_alone,
    top_k_measures,
    variant_design,
)
from bbedge.study.synthetic import SyntheticBenchmark

Record = Mapping[tuple[str, str], Floats]
"""One repetition: (contender, metric) to a value at every look, or a single value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionSeeds:
    """Random numbers of one repetition: each purpose has its own stream, whatever else is drawn."""

    seed: int
    """Seed of the study."""
    place: str
    """Name of the study and the setting."""
    repetition: int
    """Number of the repetition."""

    def rng(self, purpose: str) -> np.random.Generator:
        """The stream of one purpose."""
        place, word = zlib.crc32(self.place.encode()), zlib.crc32(purpose.encode())
        return np.random.default_rng([self.seed, place, self.repetition, word])


class Setting(Protocol):
    """What a study repeats."""

    @property
    def name(self) -> str:
        """What the setting is called, in tables and above panels."""

    @property
    def looks(self) -> int:
        """Replicates in one repetition."""

    def repeat(self, seeds: RepetitionSeeds) -> Record:
        """Draw, run and measure once."""


@dataclass(frozen=True, kw_only=True)
class Contest:
    """Contenders on the same panels of a synthetic benchmark."""

    name: str
    """What the setting is called."""
    benchmark: SyntheticBenchmark
    """Where panels come from."""
    contenders: tuple[str, ...]
    """Who takes part."""
    looks: int = 100
    """Replicates in one repetition."""
    blocks: int | None = None
    """Items per block in the analysis, where that differs from the data's own blocks."""
    margin: float = 0.0
    """What an advantage must exceed."""
    k: int | None = None
    """Size of the Top-k set to certify, if any."""
    pilot: int = 5
    """Replicates that choose the candidate of the pilot procedure, on top of ``looks``."""
    measured: tuple[str, ...] = ("fwer", "power", "standing power")
    """Which metrics are kept."""

    @cached_property
    def design(self) -> Design:
        """The design that contenders start from."""
        design = self.benchmark.design(tau=self.margin, method="bb-edge")
        if self.blocks is None:
            return design
        return changed(design, blocks=tuple(f"block-{item // self.blocks}" for item in range(self.benchmark.n_items)))

    def repeat(self, seeds: RepetitionSeeds) -> Record:
        """Run every contender on one set of panels."""
        return self.record(self.panels(seeds), seeds, {})

    def panels(self, seeds: RepetitionSeeds) -> Floats:
        """The panels of a repetition."""
        return self.benchmark.panels(seeds.rng("panels"), self.drawn_shape[0])

    @property
    def drawn_shape(self) -> tuple[int, int, int]:
        """Replicates that a repetition draws, models, items."""
        replicates = self.looks + (self.pilot if PILOT in self.contenders else 0)
        return replicates, len(self.benchmark.means), self.benchmark.n_items

    @property
    def alike(self) -> Hashable:
        """Equal for settings whose repetitions have the same evidence to compute, and so may run side by side."""
        return self.design.hash, self.contenders, self.looks

    def edges_together(self, panels: Floats, device: str) -> dict[str, Mask]:
        """What those contenders certify that are evidence and nothing else: looks x repetitions x models x models.

        ``panels`` are replicates x repetitions x models x items.
        """
        placed = space_on(device).asarray(panels[: self.looks])
        designs = {name: variant_design(name, self.design, runs=self.looks) for name in self.contenders}
        return {name: edges_at_looks(own, placed, device=device) for name, own in designs.items() if own is not None}

    def record(self, panels: Floats, seeds: RepetitionSeeds, known: Mapping[str, Mask]) -> Record:
        """What every contender claims on these panels, measured; edges may be known already.

        A contender that is not applicable has no measures: a power of 0 would be a finding.
        """
        record: dict[tuple[str, str], Floats] = {}
        for name in self.contenders:
            found: NDArray[np.generic] | NotApplicable
            if name in known:
                found = known[name]
            elif name == PILOT:
                found = pilot_edges(self.design, panels, pilot=self.pilot, k=self.k or 1)
            else:
                found = claims(name, self.benchmark, self.design, panels[: self.looks], seeds.rng(name))
            if not isinstance(found, NotApplicable):
                measures = self._measures(name, found)
                record.update({(name, metric): measures[metric] for metric in self.measured if metric in measures})
        return record

    def _measures(self, name: str, found: NDArray[np.generic]) -> dict[str, Floats]:
        differences = self.benchmark.differences
        if gives_ranks(name):
            return rank_measures(found.astype(np.int64), differences)
        edges, null = found.astype(np.bool_), self.benchmark.null(self.margin)
        measures = edge_measures(edges, null)
        if self.k is not None:
            measures |= (top_k_alone if name == LIMIT else top_k_measures)(edges, null, self.k)
        if "coverage" in self.measured:
            measures |= rank_measures(rank_intervals(edges), differences)
            measures["standing width"] = rank_measures(rank_intervals(standing(edges)), differences)["width"]
        if "resolved" in self.measured:
            measures |= resolved_measures(edges)
        if name == LIMIT:  # valid for one look: what several looks find together is no claim of it
            return {metric: values for metric, values in measures.items() if not metric.startswith("standing")}
        return measures


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyColumn:
    """One column of a study's table."""

    metric: str
    """Name of the metric."""
    at: int | None = None
    """The look it is read at; the last one if not given."""
    reaches: float | None = None
    """If given, the column is the first look at which the metric's mean reaches this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A number of the paper."""

    setting: str
    """Setting that it belongs to."""
    method: str
    """Whose number it is."""
    column: StudyColumn
    """What it is a value of."""
    value: float
    """The printed value."""
    deviation: float | None = None
    """The printed standard deviation over its 500 repetitions, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """An experiment."""

    name: str
    """What it is called on the command line."""
    title: str
    """What it is about."""
    question: str
    """What it asks, in a sentence or two."""
    source: str
    """The table or figure of the paper that it repeats, or that it is ours."""
    setup: str
    """How data are made and what is run, for a reader who wants to judge it."""
    settings: tuple[Setting, ...]
    """What is repeated."""
    figure: tuple[str, ...] = ("fwer", "power")
    """Metrics drawn over looks, one column of panels each."""
    table: tuple[StudyColumn, ...]
    """Columns of the table."""
    published: tuple[Published, ...] = ()
    """What the paper printed."""
    notes: tuple[str, ...] = ()
    """What a reader should know: where ours differs and why, what is not claimed."""
    needs_data: str | None = None
    """What files ``--data`` may add to it; nothing if it takes none."""
