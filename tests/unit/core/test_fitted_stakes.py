"""Stakes that are fitted to the noise when they enter, against a second and literal way of finding them."""

import itertools
import math
from dataclasses import replace

import array_api_strict
import numpy as np
import pytest

import oracle
from bbedge.core.arrays import to_numpy
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure
from bbedge.core.evidence import Evidence
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.leaderboard import Certifier
from bbedge.core.stakes import fitted_entries
from bbedge.errors import DataError, DesignError


def design(n_models=3, n_items=6, **options):
    models, items = [f"m{i}" for i in range(n_models)], [f"q{i}" for i in range(n_items)]
    return Design.make(models, items, **options)


def steady_panels(rng, looks, means, n_items=6, noise=0.1):
    """Items that differ, and scores that hardly do from run to run."""
    levels = np.array(means)[:, None] + rng.uniform(-0.2, 0.2, n_items)
    return np.round(np.clip(levels + rng.normal(0.0, noise, (looks, len(means), n_items)), 0.0, 1.0), 3)


class Literal:
    """One design and its panels, looked at with plain loops. A panel may leave models out: ``None``."""

    def __init__(self, made, panels):
        self.made, self.panels = made, panels
        labels = list(dict.fromkeys(made.blocks))
        self.setting = oracle.Setting(
            blocks=tuple(labels.index(block) for block in made.blocks),
            tau=made.tau,
            kind=made.evidence,
            prediction=made.prediction,
            stakes=(),
            weights=tuple(oracle.fitted_weights()),
        )
        self.directions = [(int(a), int(b)) for a, b in np.argwhere(made.tested)]
        sizes = self.setting.sizes
        self.size = {
            "alpha": made.certificate_alpha,
            "tau": made.tau,
            "directions": len(self.directions),
            "worth": sum((size / max(sizes)) ** 2 for size in sizes),
        }
        self.means = [
            [None if row is None else oracle.block_means(row, self.setting.blocks) for row in panel] for panel in panels
        ]

    def noise(self, after):
        return oracle.block_noise(self.means[:after], self.setting.sizes, self.directions)

    def stakes(self, runs):
        return oracle.fitted_grid(self.noise, runs, planned=self.made.planned, **self.size)

    def logs(self, runs, a, b, *, upto=None, t=None):
        setting = replace(self.setting, stakes=tuple(self.stakes(upto or runs)))
        return oracle.stake_logs(setting, self.panels[:runs], a, b, t)

    def standing(self):
        looks = [{(a, b): self.logs(r, a, b) for a, b in self.directions} for r in range(1, len(self.panels) + 1)]
        entries = oracle.fitted_entry_times(self.made.planned)
        return oracle.staggered(looks, entries, oracle.fitted_weights(), self.made.certificate_alpha)

    def own(self, runs, a, b, t=None):
        at = self.logs(runs, a, b, t=t)
        by_look = [self.logs(r, a, b) for r in range(1, runs + 1)]
        return oracle.own_evidence(by_look, at, lambda g, k: self.logs(k, a, b, upto=runs, t=t)[g], self.made.planned)


def found(look):
    return {(int(a), int(b)) for a, b in np.argwhere(look.edges)}


# The rule --------------------------------------------------------------------------------------------------------


CASES = [
    (1, (0.7, 0.4), {}),
    (2, (0.8, 0.6, 0.3), {}),
    (3, (0.8, 0.6, 0.3), {"evidence": "sharp", "tau": 0.05}),
    (4, (0.9, 0.5, 0.2), {"planned": 12}),
    (5, (0.9, 0.5, 0.2), {"planned": 4, "evidence": "sharp"}),
    (6, (0.8, 0.5, 0.3), {"margin_share": 0.0, "blocks": ["a", "a", "a", "b", "c", "c"]}),
    (7, (0.8, 0.5, 0.3), {"evidence": "sharp", "blocks": ["a", "a", "a", "b", "c", "c"]}),
    (8, (0.8, 0.5, 0.3), {"prediction": "two-way"}),
    (9, (0.9, 0.6, 0.5), {"candidate": ["m0"]}),
    (10, (0.9, 0.6, 0.5), {"newcomer": "m2", "tau": 0.02}),
]


@pytest.mark.parametrize(("seed", "means", "options"), CASES)
@pytest.mark.parametrize("noise", [0.02, 0.4])
def test_every_look_certifies_what_trying_every_set_does(seed, means, options, noise):
    made = design(len(means), **options)
    assert (made.stakes, made.holm) == ("fitted", "staggered")
    panels = steady_panels(np.random.default_rng(seed), 16, means, noise=noise)
    certifier, literal = Certifier(made), Literal(made, panels.tolist())
    assert [found(certifier.update(panel)) for panel in panels] == literal.standing()
    chosen = certifier.evidence.fitted_stakes
    wanted = oracle.fitted_grid(literal.noise, 16, planned=made.planned, **literal.size)[5:]
    assert [each.stake for each in chosen] == pytest.approx(wanted, rel=1e-12)
    assert [each.noise for each in chosen] == pytest.approx([literal.noise(each.after) for each in chosen], rel=1e-9)
    assert [each.after for each in chosen] == oracle.fitted_entry_times(made.planned)[5:]


@pytest.mark.parametrize(("seed", "means", "options"), CASES)
@pytest.mark.parametrize("runs", [1, 2, 3, 8, 14])
def test_what_a_direction_has_by_itself_and_its_margin_follow_the_definitions(seed, means, options, runs):
    made = design(len(means), **({"margin_share": 0.2} | options))
    panels = steady_panels(np.random.default_rng(seed), runs, means, noise=0.15)
    certifier, literal = Certifier(made), Literal(made, panels.tolist())
    for panel in panels:
        look = certifier.update(panel)
    bounds = certifier.leaderboard().lower_bounds
    above = to_numpy(certifier.evidence.log_e_above(0.1))
    needed = math.log(len(literal.directions) / made.margin_alpha)
    for a, b in literal.directions:
        assert look.log_e[a, b] == pytest.approx(literal.own(runs, a, b), abs=1e-9)
        assert look.log_e[a, b] <= literal.own(runs, a, b)
        assert above[a, b] == pytest.approx(literal.own(runs, a, b, t=0.1), abs=1e-9)
        low = to_numpy(certifier.evidence.lower_bounds())[a, b]
        assert low <= bounds[a, b] or made.is_joint
        if low > -1.0:  # where it is, the evidence has just reached the threshold
            assert literal.own(runs, a, b, t=low) == pytest.approx(needed, abs=1e-6)
        else:
            assert literal.own(runs, a, b, t=-1.0) <= needed + 1e-9


def test_the_golden_cases_have_stakes_from_both_centres():
    quiet, wild = (steady_panels(np.random.default_rng(1), 14, (0.6, 0.4), noise=noise) for noise in (0.0, 0.5))
    for panels, is_wide in ((quiet, True), (wild, False)):
        certifier = Certifier(design(2, n_items=30))
        for panel in np.repeat(panels, 5, axis=2):
            certifier.update(panel)
        assert (certifier.evidence.fitted_stakes[-1].stake > 0.95) == is_wide


# Sums ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", ["item", ["a", "a", "a", "b", "c", "c"], list("aaabbc") * 4 + list("defghijklmnop")])
@pytest.mark.parametrize("evidence", ["sharp", "betting"])
def test_the_exact_evidence_lies_between_the_bounds(evidence, blocks):
    n_items = 6 if len(blocks) < 7 else len(blocks)
    made = design(3, n_items, evidence=evidence, blocks=blocks, tau=0.01)
    panels = steady_panels(np.random.default_rng(5), 5, (0.7, 0.5, 0.4), n_items)
    current, literal = Evidence(made), Literal(made, panels.tolist())
    for panel in panels:
        current.update(panel)
    setting = replace(literal.setting, stakes=(*made.grid.values, *(each.stake for each in current.fitted_stakes)))
    lower, upper = current.log_groups(), current.log_groups("upper")
    for a, b in itertools.permutations(range(3), 2):
        exact = oracle.exact_stake_logs(setting, panels.tolist(), a, b)
        for place, group in enumerate(group for group in current.groups if group.after <= 5):
            value = oracle.exact_mixture([exact[g] for g in group.stakes], [setting.weights[g] for g in group.stakes])
            assert lower[place, a, b] <= value <= upper[place, a, b]
            assert upper[place, a, b] - lower[place, a, b] < 1e-10


def test_no_panels_are_kept_where_the_sums_are_common_to_all_stakes():
    panels = steady_panels(np.random.default_rng(2), 15, (0.7, 0.5))
    for evidence, kept in (("sharp", 0), ("betting", 12)):
        current, most = Evidence(design(2, evidence=evidence)), 0
        for panel in panels:
            current.update(panel)
            most = max(most, len(current._fitting.panels))
        assert most == kept
        assert not current._fitting.panels


# Views, weights, missing scores, models that stop or come ---------------------------------------------------------


FIRST, HEAVY = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0], [1.0, 2.0, 1.0, 3.0, 1.0, 2.0]


@pytest.mark.parametrize("evidence", ["sharp", "betting"])
def test_a_view_has_the_stakes_of_its_own_noise(evidence):
    made = design(3, evidence=evidence, views={"first": FIRST, "heavy": HEAVY})
    panels = steady_panels(np.random.default_rng(3), 14, (0.7, 0.5, 0.4))
    panels[:, :, :3] = np.round(panels[:, :, :3] * 0.2 + 0.5, 3)  # much quieter
    certifier = Certifier(made)
    for panel in panels:
        certifier.update(panel)
    for part, view in zip(made.parts, certifier.views, strict=True):
        weights = part.weights or (1.0,) * 6
        alone = [[[row[i] for i in range(6) if weights[i]] for row in panel] for panel in panels.tolist()]
        kept = [weight for weight in weights if weight]
        for each in view.fitted_stakes:
            noise = oracle.block_noise(alone[: each.after], kept, list(itertools.permutations(range(3), 2)))
            assert each.noise == pytest.approx(noise, rel=1e-9)
            stake = oracle.stake_for(
                noise * each.horizon,
                alpha=made.certificate_alpha,
                tau=0.0,
                directions=6 / part.share,
                worth=sum((weight / max(kept)) ** 2 for weight in kept),
            )
            assert each.stake == pytest.approx(stake, rel=1e-9)
    quiet, all_ = certifier.views[1].fitted_stakes[0], certifier.views[0].fitted_stakes[0]
    assert quiet.noise < all_.noise / 2


def test_staggered_e_holm_over_views_is_that_of_every_set():
    made = design(2, views={"first": FIRST}, margin_share=0.0)
    panels = steady_panels(np.random.default_rng(8), 15, (0.65, 0.45), noise=0.3)
    certifier, found_there = Certifier(made), []
    for panel in panels:
        certifier.update(panel)
        looks = enumerate(certifier.last_looks)
        found_there.append({(v, int(a), int(b)) for v, look in looks for a, b in np.argwhere(look.edges)})
    by_look = [{} for _ in panels]
    for v, (part, view) in enumerate(zip(made.parts, certifier.views, strict=True)):
        inside = [i for i in range(6) if not part.weights or part.weights[i]]
        alone = panels[:, :, inside].tolist()
        late = dict(enumerate(view.fitted_stakes, start=5))
        for r in range(1, len(panels) + 1):
            stakes = [*part.grid.values, *(e.stake if e.after <= r else 0.0 for e in late.values())]
            setting = oracle.Setting(
                blocks=tuple(range(len(inside))),
                tau=0.0,
                kind="betting",
                prediction="running-mean",
                stakes=tuple(stakes),
                weights=made.grid.weights,
            )
            for a, b in ((0, 1), (1, 0)):
                by_look[r - 1][v, a, b] = oracle.stake_logs(setting, alone[:r], a, b)
    shares = tuple(part.share for part in made.parts)
    entries = fitted_entries(made.grid)
    assert found_there == oracle.staggered(by_look, entries, made.grid.weights, made.certificate_alpha, shares)
    assert found_there[-1]


@pytest.mark.parametrize("evidence", ["sharp", "betting"])
def test_missing_scores_count_for_noise_as_they_do_for_evidence(evidence):
    """A direction sees its better model without them at 0 and the other one at 1."""
    made = design(2, gaps="worst-case", evidence=evidence)
    panels = steady_panels(np.random.default_rng(4), 9, (0.8, 0.4))
    panels[1, 0, 2] = panels[4, 1, 3] = np.nan
    certifier = Certifier(made)
    for panel in panels:
        certifier.update(panel)
    low, high = np.nan_to_num(panels, nan=0.0), np.nan_to_num(panels, nan=1.0)
    of_directions = [np.stack([low[:, 0], high[:, 1]], axis=1), np.stack([low[:, 1], high[:, 0]], axis=1)]
    for each in certifier.evidence.fitted_stakes:
        noises = [oracle.block_noise(one[: each.after].tolist(), [1.0] * 6, [(0, 1)]) for one in of_directions]
        assert each.noise == pytest.approx(sum(noises) / 2, rel=1e-9)
    setting = replace(
        Literal(made, panels.tolist()).setting,
        stakes=(*made.grid.values, *(each.stake for each in certifier.evidence.fitted_stakes)),
    )
    lower, upper = certifier.evidence.log_groups(), certifier.evidence.log_groups("upper")
    for (a, b), one in zip(((0, 1), (1, 0)), of_directions, strict=True):
        exact = oracle.exact_stake_logs(setting, one.tolist(), 0, 1)
        for place, group in enumerate(group for group in certifier.evidence.groups if group.after <= 9):
            value = oracle.exact_mixture([exact[g] for g in group.stakes], [setting.weights[g] for g in group.stakes])
            assert lower[place, a, b] <= value <= upper[place, a, b]
            assert upper[place, a, b] - lower[place, a, b] < 1e-9


@pytest.mark.parametrize("evidence", ["sharp", "betting"])
@pytest.mark.parametrize("after", [0, 1, 2, 3, 5])
def test_a_model_that_stops_keeps_what_it_had_and_its_cash(after, evidence):
    made = design(3, evidence=evidence, margin_share=0.2)
    panels = steady_panels(np.random.default_rng(11), 14, (0.8, 0.55, 0.3), noise=0.3)
    certifier = Certifier(made)
    for r, panel in enumerate(panels):
        if r == after:
            had = certifier.leaderboard().log_e
            certifier.stop(["m1"])
        certifier.update(panel if r < after else panel[[0, 2]])
    now = certifier.leaderboard().log_e
    np.testing.assert_allclose(now[1, [0, 2]], had[1, [0, 2]], atol=1e-12)
    np.testing.assert_allclose(now[[0, 2], 1], had[[0, 2], 1], atol=1e-12)
    shown = [p.tolist() if r < after else [p[0].tolist(), None, p[2].tolist()] for r, p in enumerate(panels)]
    literal = Literal(made, shown)
    for each in certifier.evidence.fitted_stakes:
        assert each.noise == pytest.approx(literal.noise(each.after), rel=1e-9)
    assert now[0, 2] == pytest.approx(literal.own(14, 0, 2), abs=1e-9)


# State, batches, libraries ---------------------------------------------------------------------------------------


OPTIONS = [
    {},
    {"evidence": "sharp"},
    {"evidence": "sharp", "blocks": list("aaabcc")},
    {"blocks": list("aaabcc"), "prediction": "two-way", "planned": 20},
    {"gaps": "worst-case", "margin_share": 0.2, "evidence": "sharp"},
    {"gaps": "worst-case", "margin_share": 0.2},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_resumed_certifier_goes_on_bit_by_bit(options):
    # Views that share sums know of each other only once a panel has come, which moves the account of rounding.
    views = {} if "evidence" in options else {"views": {"first": FIRST}}
    made = design(3, **({"margin_share": 0.2} | views | options))
    panels = steady_panels(np.random.default_rng(3), 16, (0.7, 0.6, 0.4))
    if "gaps" in options:
        panels[5, 1, 2] = np.nan
    straight, resumed = Certifier(made), Certifier(made)
    for r, panel in enumerate(panels):
        if r == 6:
            straight.stop(["m2"])
            resumed.stop(["m2"])
        shown = panel if r < 6 else panel[:2]
        one, other = straight.update(shown), resumed.update(shown)
        np.testing.assert_array_equal(one.edges, other.edges)
        np.testing.assert_array_equal(one.log_e, other.log_e)
        np.testing.assert_array_equal(one.log_w, other.log_w)
        assert straight.to_bytes() == resumed.to_bytes()
        resumed = Certifier.from_bytes(made, resumed.to_bytes())
        a, b = straight.leaderboard(), resumed.leaderboard()
        np.testing.assert_array_equal(a.lower_bounds, b.lower_bounds)
        assert repr(a.fitted_stakes) == repr(b.fitted_stakes)


def test_a_state_without_a_stake_that_has_entered_is_refused():
    made = design(2)
    current = Evidence(made)
    for panel in steady_panels(np.random.default_rng(1), 3, (0.6, 0.5)):
        current.update(panel)
    current._fitting.chosen.pop()
    with pytest.raises(DataError, match="damaged"):
        Evidence.from_bytes(made, current.to_bytes())


@pytest.mark.parametrize("library", [np, array_api_strict])
@pytest.mark.parametrize("options", OPTIONS)
def test_a_batch_is_its_members(library, options):
    """Repetitions with stakes on both sides of what a prediction allows."""
    blocks = [f"{block}{part}" for part in range(10) for block in options.get("blocks", "abcdef")]
    options = options | {"views": {"first": FIRST * 10}, "blocks": blocks}
    made = design(3, 60, **({"margin_share": 0.2} | options))
    rng = np.random.default_rng(8)
    noises = (0.0, 0.05, 0.2, 0.6)
    runs = np.stack([steady_panels(rng, 15, (0.8, 0.6, 0.3), 60, noise=noise) for noise in noises], axis=1)
    if "gaps" in options:
        runs[5, 2, 1, 2] = np.nan
    together, procedure = EvidenceSet(made, batch=(4,)), Procedure(made, batch=(4,))
    alone = [Certifier(made) for _ in noises]
    for panels in runs:
        together.update(library.asarray(panels))
        looks = procedure.looks(together.views, run=together.run)
        bounds = to_numpy(together.headline.lower_bounds())
        for each, certifier in enumerate(alone):
            certifier.update(panels[each])
            for look, one in zip(looks, certifier.last_looks, strict=True):
                np.testing.assert_array_equal(look.edges[each], one.edges)
                np.testing.assert_allclose(look.log_w[each], one.log_w, atol=1e-9)
                np.testing.assert_allclose(look.log_e[each], one.log_e, atol=1e-9)
            np.testing.assert_allclose(bounds[each], to_numpy(certifier.evidence.lower_bounds()), atol=1e-9)
    stakes = [certifier.evidence.fitted_stakes[-1].stake for certifier in alone]
    assert len(set(stakes)) > 2
    assert min(stakes) < 0.95 < max(stakes)
    assert to_numpy(procedure.first[0]).any()


def test_another_library_gives_the_same():
    made = design(4)
    ours, theirs = Certifier(made), Certifier(made)
    for panel in steady_panels(np.random.default_rng(2), 15, (0.9, 0.7, 0.4, 0.2)):
        one, other = ours.update(panel), theirs.update(array_api_strict.asarray(panel))
        np.testing.assert_array_equal(one.edges, other.edges)
    assert one.edges.any()


# Designs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "stakes", "holm"),
    [
        ({}, "fitted", "staggered"),
        ({"planned": 4}, "fitted", "staggered"),
        ({"planned": 3}, "design", "staggered"),
        ({"planned": 6, "of_runs": "any:2"}, "design", "staggered"),
        ({"planned": 8, "of_runs": "any:2"}, "fitted", "staggered"),
        ({"holm": "direct"}, "design", "direct"),
        ({"evidence": "bernstein", "stakes": "paper"}, "paper", "direct"),
        ({"target": "both", "planned": 5}, "fitted", "staggered"),
        ({"target": "new-items", "planned": 5}, "design", "direct"),
        ({"method": "bb-edge"}, "paper", "direct"),
    ],
)
def test_which_designs_fit_their_stakes(options, stakes, holm):
    made = design(2, **options)
    assert (made.stakes, made.holm) == (stakes, holm)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stakes": "fitted", "holm": "direct"}, "enter staggered e-Holm"),
        ({"stakes": "fitted", "evidence": "bernstein"}, "may be wide"),
        ({"stakes": "fitted", "planned": 3}, "leaves no time to fit stakes"),
        ({"stakes": "fitted", "target": "new-items"}, "has stakes of its own"),
    ],
)
def test_fitted_stakes_that_cannot_be(options, message):
    with pytest.raises(DesignError, match=message):
        design(2, **options)
