"""Faults of stakes that are fitted to the noise, planted into the evidence of a batch of repetitions.

Most need twins: the same evidence with stakes that are made for other horizons, fed the same panels or one panel more.
"""

from collections.abc import Callable, Sequence

import numpy as np

from bbedge.core.arrays import to_numpy
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.fitting import StakeFitting

Step = Callable[[int, np.ndarray], None]
"""Feeds the evidence the panel of a look."""

Plant = Callable[[EvidenceSet, Design, Sequence[np.ndarray]], Step]
"""Plants a fault into evidence, given its design and all panels that are to come."""

TIMES = tuple(4.0**power for power in (-2, -1, 0, 1, 2, 3, 4))
SMALL, WIDE = 1e9, 1e-9
"""How many times as long as its own the horizon must be that makes a stake as good as nothing, or as wide as can be."""


def of(evidence: EvidenceSet) -> Evidence:
    headline = evidence.headline
    assert isinstance(headline, Evidence)
    return headline


class Endless(StakeFitting):
    """Learns the noise also after the last stakes have entered."""

    _is_done = False


def twin(design: Design, panels: Sequence[np.ndarray], times: float = 1.0) -> EvidenceSet:
    """The same evidence, with horizons that are so many times as long."""
    made = EvidenceSet(design, batch=(len(panels[0]),))
    fitting = of(made)._fitting
    fitting.__class__ = Endless
    fitting._horizons = lambda group: [times * each for each in StakeFitting._horizons(fitting, group)]
    return made


def fit_to_the_noise_of(evidence: EvidenceSet, other: EvidenceSet) -> None:
    """Stakes are fitted to the noise that other evidence has seen when they enter."""
    fitting, source = of(evidence)._fitting, of(other)._fitting

    def choose(group):
        fitting._sum, fitting._directions = source._sum, source._directions
        return StakeFitting.choose(fitting, group)

    fitting.choose = choose


def won(each: Evidence, place: int) -> np.ndarray:
    """What a group has over what it had when it entered, as a logarithm."""
    return to_numpy(each.log_groups())[place] - to_numpy(each._entries[place])


# Noise of the replicate that is judged ---------------------------------------------------------------------------


def noise_of_the_next_replicate(evidence: EvidenceSet, design: Design, panels: Sequence[np.ndarray]) -> Step:
    """Stakes are fitted to noise that includes the first replicate after they enter."""
    ahead = twin(design, panels)
    fit_to_the_noise_of(evidence, ahead)
    return one_ahead(evidence, [ahead], panels)


def stakes_that_win_the_next_replicate(evidence: EvidenceSet, design: Design, panels: Sequence[np.ndarray]) -> Step:
    """Of several horizons, those with which the group wins most in the first replicate after it enters."""
    twins, fitting = [twin(design, panels, each) for each in TIMES], of(evidence)._fitting

    def choose(group):
        place = 1 + len(fitting.chosen)
        now = [np.exp(to_numpy(of(each).log_groups())[place][:, design.tested]).sum(axis=1) for each in twins]
        then = [np.exp(to_numpy(of(each)._entries[place])[:, design.tested]).sum(axis=1) for each in twins]
        own, best = fitting._sum, np.argmax(np.array(now) / np.array(then), axis=0)
        fitting._sum = own * np.array(TIMES)[best]
        chosen = StakeFitting.choose(fitting, group)
        fitting._sum = own
        return chosen

    fitting.choose = choose
    return one_ahead(evidence, twins, panels)


def one_ahead(evidence: EvidenceSet, twins: Sequence[EvidenceSet], panels: Sequence[np.ndarray]) -> Step:
    """Feeds the evidence, and its twins one panel more."""

    def step(look, panel):
        for each in twins:
            for upcoming in panels[each.runs : look + 1]:
                each.update(upcoming)
        evidence.update(panel)

    return step


# Stakes that change after they entered ---------------------------------------------------------------------------


def stakes_chosen_at_every_replicate(evidence: EvidenceSet, design: Design, panels: Sequence[np.ndarray]) -> Step:
    """At every look the past is judged again, with stakes for the noise that has been seen by now."""
    now = twin(design, panels)

    def step(look, panel):
        now.update(panel)
        again = EvidenceSet(design, batch=(len(panel),))
        fit_to_the_noise_of(again, now)
        for each in panels[:look]:
            again.update(each)
        evidence.__dict__.update(again.__dict__)

    return step


def best_stakes_so_far(evidence: EvidenceSet, design: Design, panels: Sequence[np.ndarray]) -> Step:
    """At every look each group has the stakes that have won most by now, for each direction."""
    twins, headline = [twin(design, panels, each) for each in TIMES], of(evidence)
    exact = headline.log_groups

    def log_groups(bound="lower"):
        groups = exact(bound)
        if bound == "lower":
            for place, then in headline._entries.items():
                groups[place] = then + np.max([won(of(each), place) for each in twins], axis=0)
        return groups

    headline.log_groups = log_groups

    def step(look, panel):
        for each in (*twins, evidence):
            each.update(panel)

    return step


# Entries of something else ---------------------------------------------------------------------------------------


def entries_of_other_stakes(times: float) -> Plant:
    """What a group had at its entry is that of other stakes than those with which it goes on."""

    def plant(evidence, design, panels):
        other = twin(design, panels, times)

        def step(look, panel):
            other.update(panel)
            evidence.update(panel)
            of(evidence)._entries.update(of(other)._entries)
            of(evidence)._entered = None

        return step

    return plant


def entries_of_the_reversed_direction(evidence: EvidenceSet, design: Design, panels: Sequence[np.ndarray]) -> Step:
    known = set()

    def step(look, panel):
        evidence.update(panel)
        headline = of(evidence)
        for place in headline._entries.keys() - known:
            known.add(place)
            headline._entries[place] = np.swapaxes(headline._entries[place], -1, -2)
            headline._entered = None

    return step
