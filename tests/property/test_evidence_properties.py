"""What must hold of the evidence for every design and every data set."""

import math
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, event, example, given, settings
from hypothesis import strategies as st
from msgspec import structs

import oracle
from bbedge.core.design import Design
from bbedge.core.eholm import e_holm
from bbedge.core.evidence import Evidence
from bbedge.core.gram import PenaltyByStake
from bbedge.core.graph import Graph
from bbedge.core.stakes import given_stakes

KINDS = ["bernstein", "hoeffding", "sharp", "betting"]
RULES = ["running-mean", "two-way"]


def examples(count):
    return settings(max_examples=count, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@dataclass(frozen=True)
class Case:
    """A design and the panels for it, in the form that both implementations take."""

    design: Design
    blocks: tuple[int, ...]
    panels: tuple[np.ndarray, ...]

    @property
    def setting(self) -> oracle.Setting:
        return oracle.Setting(
            blocks=self.blocks,
            tau=self.design.tau,
            kind=self.design.evidence,
            prediction=self.design.prediction,
            stakes=self.design.grid.values,
            weights=self.design.grid.weights,
        )

    def evidence(self) -> Evidence:
        evidence = Evidence(self.design)
        for panel in self.panels:
            evidence.update(panel)
        return evidence

    def directions(self) -> list[tuple[int, int]]:
        return [(a, b) for a, b in np.argwhere(self.design.tested).tolist()]


def names(letter, count):
    return [f"{letter}{i}" for i in range(count)]


@st.composite
def partitions(draw, n_items):
    """Block numbers of the items, numbered as they first appear: from singletons to one block."""
    shape = draw(st.sampled_from(["any", "any", "item", "one"]))
    if shape == "item":
        return tuple(range(n_items))
    if shape == "one":
        return (0,) * n_items
    labels = draw(st.lists(st.integers(0, 5), min_size=n_items, max_size=n_items))
    number = {}
    return tuple(number.setdefault(label, len(number)) for label in labels)


@st.composite
def panel_lists(draw, n_models, n_items, max_replicates, min_replicates=1):
    """Panels of 0/1 or graded scores, some of them repeating themselves, some with models far apart."""
    count = draw(st.integers(min_replicates, max_replicates))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    style = draw(st.sampled_from(["binary", "graded", "quiet", "far apart", "extreme"]))
    base = rng.random((n_models, n_items))
    if style == "far apart":
        base = np.clip(base * 0.3 + 0.7 * np.linspace(1, 0, n_models)[:, None], 0, 1)
    panels = []
    for _ in range(count):
        if style == "quiet":
            panel = np.clip(base + 1e-3 * rng.standard_normal(base.shape), 0, 1)
        elif style == "graded":
            panel = rng.random(base.shape)
        elif style == "extreme":
            panel = rng.choice([0.0, 1.0, 0.5, 1e-300, 1 - 2**-53], base.shape)
        else:
            panel = (rng.random(base.shape) < base).astype(float)
        panels.append(panel)
    return tuple(panels)


@st.composite
def cases(
    draw,
    kinds=KINDS,
    rules=RULES,
    stake_rules=("paper", "design", "given", "few"),
    families=("all", "all", "cross-set"),
    min_models=2,
    max_models=5,
    max_items=14,
    min_replicates=1,
    max_replicates=5,
):
    n_models = draw(st.integers(min_models, max_models))
    n_items = draw(st.integers(1, max_items))
    models, items = names("m", n_models), names("i", n_items)
    blocks = draw(partitions(n_items))
    tau = draw(st.sampled_from([0.0, 0.03, 0.3]))
    kind = draw(st.sampled_from(kinds))
    wide = kind in ("sharp", "betting")
    widest = 0.95 / ((1 + tau) / 2) if wide else 0.95
    stake_rule = draw(st.sampled_from([rule for rule in stake_rules if wide or rule != "design"]))
    stakes = {"stakes": stake_rule}
    if stake_rule in ("given", "few"):
        size = 2 if stake_rule == "few" else draw(st.integers(1, 6))
        values = draw(st.lists(st.floats(0.0, widest), min_size=size, max_size=size))
        parts = draw(st.lists(st.integers(1, 9), min_size=size, max_size=size))
        stakes = {"grid": given_stakes(tuple(values), tuple(part / sum(parts) for part in parts))}
    candidate = None
    if draw(st.sampled_from(families)) == "cross-set":
        candidate = draw(st.permutations(models))[: draw(st.integers(1, n_models - 1))]
    design = Design.make(
        models,
        items,
        blocks=[f"b{m}" for m in blocks],
        alpha=draw(st.sampled_from([0.05, 0.2, 0.01])),
        tau=tau,
        evidence=kind,
        prediction=draw(st.sampled_from(rules)),
        **stakes,
        candidate=candidate,
        method="bb-edge",
    )
    panels = draw(panel_lists(n_models, n_items, max_replicates, min_replicates))
    return Case(design=design, blocks=blocks, panels=panels)


def by_stake(evidence: Evidence) -> bool:
    return any(isinstance(each, PenaltyByStake) for each in evidence.penalties.values())


# Against the oracle ----------------------------------------------------------------------------------------------


@examples(250)
@given(cases())
def test_log_e_is_that_of_the_oracle_and_never_above_it(case):
    log_e = case.evidence().log_e()
    assert np.array_equal(np.isnan(log_e), ~case.design.tested)
    panels = [panel.tolist() for panel in case.panels]
    for a, b in case.directions():
        want = oracle.log_evidence(case.setting, panels, a, b)
        assert log_e[a, b] == pytest.approx(want, abs=1e-8)
        assert log_e[a, b] <= want + 1e-12


@examples(60)
@given(cases(max_models=3, max_items=8, max_replicates=3))
def test_log_e_is_never_above_the_exact_value(case):
    # 60 digits, so no allowance at all: whatever float64 lost, it lost on the safe side.
    log_e = case.evidence().log_e()
    panels = [panel.tolist() for panel in case.panels]
    for a, b in case.directions():
        assert Decimal(log_e[a, b]) <= oracle.exact_log_evidence(case.setting, panels, a, b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_blocks", [1, 7, 300])
def test_log_e_is_never_above_the_exact_value_with_many_items(kind, n_blocks):
    # 300 items whose scores have no short binary form, and models that differ in the last digits only.
    rng = np.random.default_rng(5)
    base = rng.random(300)
    panels = [np.clip(np.stack([base, base + 1e-9 * rng.random(300), base - 0.2]), 0, 1) for _ in range(2)]
    blocks = np.sort(np.arange(300) % n_blocks)
    stakes = [0.3, 0.95, 1.9] if kind in ("sharp", "betting") else [0.3, 0.95]
    design = Design.make(
        ["a", "b", "c"],
        names("i", 300),
        blocks=[str(m) for m in blocks],
        evidence=kind,
        grid=stakes,
        method="bb-edge",
    )
    case = Case(design=design, blocks=tuple(blocks.tolist()), panels=tuple(panels))
    log_e = case.evidence().log_e()
    for a, b in case.directions():
        exact = oracle.exact_log_evidence(case.setting, [panel.tolist() for panel in panels], a, b)
        assert Decimal(log_e[a, b]) <= exact
        assert log_e[a, b] == pytest.approx(float(exact), abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_log_e_is_never_above_the_exact_value_for_any_single_stake(kind):
    # One block and one stake leave the least room for one rounding to hide another.
    for stake in np.linspace(1e-4, 1.9 if kind in ("sharp", "betting") else 0.95, 40):
        design = Design.make(["a", "b"], ["q"], evidence=kind, grid=[stake], method="bb-edge")
        panels = (np.array([[1.0], [0.0]]), np.array([[0.2], [0.9]]), np.array([[0.7], [0.1]]))
        case = Case(design=design, blocks=(0,), panels=panels)
        evidence = Evidence(design)
        for r, panel in enumerate(panels, start=1):
            evidence.update(panel)
            for a, b in case.directions():
                exact = oracle.exact_log_evidence(case.setting, [p.tolist() for p in panels[:r]], a, b)
                assert Decimal(evidence.log_e()[a, b]) <= exact


@pytest.mark.parametrize("kind", ["bernstein", "sharp"])
@pytest.mark.parametrize("tau", [0.0, 0.03, 0.3])
@pytest.mark.parametrize("rule", RULES)
def test_more_block_sizes_than_stakes_take_the_form_per_stake(kind, tau, rule):
    blocks = tuple(m for m, size in enumerate([1, 2, 3, 4, 2]) for _ in range(size))
    stakes = [0.4, 0.95] if kind == "bernstein" else [0.4, 0.95, 1.2, 1.4]
    design = Design.make(
        names("m", 4),
        names("i", len(blocks)),
        blocks=[str(m) for m in blocks],
        tau=tau,
        evidence=kind,
        prediction=rule,
        grid=stakes,
        method="bb-edge",
    )
    rng = np.random.default_rng(8)
    case = Case(design=design, blocks=blocks, panels=tuple(rng.random((4, 4, len(blocks)))))
    evidence = case.evidence()
    assert all(isinstance(each, PenaltyByStake) for each in evidence.penalties.values())
    want = oracle.log_evidence_matrix(case.setting, [panel.tolist() for panel in case.panels])
    np.testing.assert_allclose(evidence.log_e(), want, rtol=0, atol=1e-8)


@pytest.mark.nightly
def test_the_random_designs_reach_every_branch():
    # The comparison above proves little if the strategy never draws the hard cases.
    seen = set()

    @settings(max_examples=600, derandomize=True, deadline=None, database=None)
    @given(cases())
    def collect(case):
        evidence = Evidence(case.design)
        seen.add((case.design.evidence, case.design.prediction))
        seen.add((case.design.evidence, case.design.stakes))
        seen.add("by stake" if by_stake(evidence) else "by size")
        seen.update(evidence.penalties)
        seen.add((case.design.family.kind, case.design.tau))
        seen.add(("models", len(case.design.models)))
        sizes = case.setting.sizes
        seen.add("one block" if len(sizes) == 1 else "singletons" if max(sizes) == 1 else "uneven blocks")

    collect()
    assert {(kind, rule) for kind in KINDS for rule in RULES} <= seen
    assert {(kind, rule) for kind in ("sharp", "betting") for rule in ("paper", "design", "given")} <= seen
    assert {"by stake", "by size", "prediction", "null", "one block", "singletons", "uneven blocks"} <= seen
    assert {(kind, tau) for kind in ("all", "cross-set") for tau in (0.0, 0.03, 0.3)} <= seen
    assert {("models", count) for count in (2, 3, 4, 5)} <= seen


# Nested evidence -------------------------------------------------------------------------------------------------


@examples(60)
@given(cases(kinds=["bernstein"], stake_rules=("paper", "given"), max_replicates=6))
def test_bernstein_is_below_sharp_is_below_betting_at_every_look(case):
    chain = [Evidence(structs.replace(case.design, evidence=kind)) for kind in ("bernstein", "sharp", "betting")]
    for panel in case.panels:
        for evidence in chain:
            evidence.update(panel)
        values = [evidence.log_e() for evidence in chain]
        edges = [e_holm(value, alpha=case.design.alpha) for value in values]
        bounds = [evidence.lower_bounds() for evidence in chain]
        tested = case.design.tested
        for less, more in ((0, 1), (1, 2)):
            assert np.all(values[less][tested] <= values[more][tested] + 1e-9)
            assert not np.any(edges[less] & ~edges[more])
            assert np.all(bounds[less][tested] <= bounds[more][tested] + 1e-9)


def test_the_three_kinds_do_certify_and_do_differ():
    # Nesting is empty if nothing is ever certified.
    rng = np.random.default_rng(3)
    panels = [np.stack([rng.random(40) < p for p in (0.9, 0.5, 0.2)]).astype(float) for _ in range(4)]
    counts = []
    for kind in ("bernstein", "sharp", "betting"):
        evidence = Evidence(Design.make(names("m", 3), names("i", 40), evidence=kind, method="bb-edge"))
        counts.append(0)
        for panel in panels:
            evidence.update(panel)
            counts[-1] += int(e_holm(evidence.log_e(), alpha=0.05).sum())
    assert 0 < counts[0] <= counts[1] <= counts[2]
    assert counts[0] < counts[2]


# Symmetry --------------------------------------------------------------------------------------------------------


@examples(60)
@given(cases(), st.data())
def test_relabelling_permutes_the_results_and_keeps_the_hash(case, data):
    design = case.design
    rows = data.draw(st.permutations(range(len(design.models))))
    columns = data.draw(st.permutations(range(len(design.items))))
    new_labels = data.draw(st.permutations(range(max(case.blocks) + 1)))
    other = Design.make(
        [design.models[i] for i in rows],
        [design.items[j] for j in columns],
        blocks=[f"renamed {new_labels[case.blocks[j]]}" for j in columns],
        alpha=design.alpha,
        tau=design.tau,
        evidence=design.evidence,
        prediction=design.prediction,
        **({"grid": design.grid} if design.stakes == "given" else {"stakes": design.stakes}),
        candidate=None if design.family.kind == "all" else list(reversed(design.family.candidate)),
        method="bb-edge",
    )
    assert other.hash == design.hash
    straight, permuted = case.evidence(), Evidence(other)
    for panel in case.panels:
        permuted.update(panel[np.ix_(rows, columns)])
    where = np.ix_(rows, rows)
    np.testing.assert_allclose(permuted.log_e(), straight.log_e()[where], rtol=0, atol=1e-9)
    np.testing.assert_allclose(permuted.lower_bounds(), straight.lower_bounds()[where], rtol=0, atol=1e-8)
    np.testing.assert_allclose(permuted.means, straight.means[list(rows)], rtol=0, atol=1e-12)


# Saving and resuming ---------------------------------------------------------------------------------------------


@examples(80)
@given(cases(min_models=3, min_replicates=2), st.data())
def test_resuming_from_saved_evidence_is_bit_for_bit_the_straight_run(case, data):
    pause = data.draw(st.integers(0, len(case.panels)))
    stop_at = data.draw(st.none() | st.integers(0, pause))
    stopped = data.draw(st.sampled_from(case.design.models))
    keep = np.array([name != stopped for name in case.design.models])

    def feed(evidence, start, end):
        for r in range(start, end):
            if r == stop_at:
                evidence.stop([stopped])
            running = stop_at is not None and r >= stop_at
            evidence.update(case.panels[r][keep] if running else case.panels[r])
        return evidence

    straight = feed(Evidence(case.design), 0, len(case.panels))
    saved = feed(Evidence(case.design), 0, pause).to_bytes()
    resumed = Evidence.from_bytes(case.design, saved)
    assert resumed.replicates == pause
    assert resumed.to_bytes() == saved
    feed(resumed, pause, len(case.panels))
    assert resumed.active == straight.active
    assert resumed.log_e().tobytes() == straight.log_e().tobytes()
    assert resumed.lower_bounds().tobytes() == straight.lower_bounds().tobytes()
    assert resumed.means.tobytes() == straight.means.tobytes()
    assert resumed.to_bytes() == straight.to_bytes()


@examples(25)
@given(cases())
def test_the_same_panels_give_the_same_bytes_and_looking_changes_nothing(case):
    once, watched = case.evidence(), Evidence(case.design)
    for panel in case.panels:
        watched.log_e(), watched.lower_bounds(), watched.to_bytes(), watched.means
        watched.update(panel.copy())
    assert once.to_bytes() == watched.to_bytes()


# No data, no difference ------------------------------------------------------------------------------------------


@examples(40)
@given(cases())
def test_no_data_concludes_nothing(case):
    evidence = Evidence(case.design)
    tested = case.design.tested
    log_e, bounds = evidence.log_e(), evidence.lower_bounds()
    assert np.all(log_e[tested] == 0.0)
    assert np.isnan(log_e[~tested]).all()
    assert np.all(bounds[tested] == -1.0)
    assert np.isnan(bounds[~tested]).all()
    edges = e_holm(log_e, alpha=case.design.alpha)
    assert not edges.any()
    count = len(case.design.models)
    assert Graph(edges).rank_intervals == ((1, count),) * count
    assert np.isnan(evidence.means).all()


@examples(60)
@given(cases(max_replicates=5), st.data())
def test_identical_models_never_earn_evidence(case, data):
    # Two rows that agree score by score: not even rounding may lift the evidence above one, in either direction.
    twin_of, twin = data.draw(st.permutations(range(len(case.design.models))))[:2]
    evidence = Evidence(case.design)
    for panel in case.panels:
        panel = panel.copy()
        panel[twin] = panel[twin_of]
        evidence.update(panel)
        log_e = evidence.log_e()
        for a, b in ((twin, twin_of), (twin_of, twin)):
            assert not log_e[a, b] > 0.0
            assert not evidence.lower_bounds()[a, b] > 0.0


@examples(60)
@given(cases(kinds=["sharp", "betting", "bernstein"], stake_rules=("given",)))
def test_both_directions_of_a_pair_never_earn_evidence_together(case):
    # For one stake and one set of predictions the two linear terms cancel (tau = 0) or sum below zero.
    log_e = Evidence(case.design.with_grid(given_stakes(case.design.grid.values[:1], (1.0,))))
    for panel in case.panels:
        log_e.update(panel)
    total = log_e.log_e() + log_e.log_e().T
    assert not np.any(total > 0.0)


# Stopping --------------------------------------------------------------------------------------------------------


@examples(60)
@given(cases(min_models=3, min_replicates=2), st.data())
def test_stopping_freezes_exactly_the_touched_directions(case, data):
    models = case.design.models
    when = data.draw(st.integers(0, len(case.panels) - 1))
    stopped = data.draw(st.lists(st.sampled_from(models), unique=True, min_size=1, max_size=len(models) - 2))
    gone = np.array([name in stopped for name in models])
    touched = gone[:, None] | gone
    straight, evidence = Evidence(case.design), Evidence(case.design)
    for panel in case.panels[:when]:
        straight.update(panel)
        evidence.update(panel)
    frozen_log_e, frozen_bounds = evidence.log_e(), evidence.lower_bounds()
    evidence.stop(stopped)
    assert evidence.active == tuple(name for name in models if name not in stopped)
    np.testing.assert_array_equal(evidence.log_e()[touched], frozen_log_e[touched])
    for panel in case.panels[when:]:
        straight.update(panel)
        evidence.update(panel[~gone])
    np.testing.assert_array_equal(evidence.log_e()[touched], frozen_log_e[touched])
    np.testing.assert_array_equal(evidence.lower_bounds()[touched], frozen_bounds[touched])
    if case.design.prediction == "running-mean":
        np.testing.assert_allclose(evidence.log_e()[~touched], straight.log_e()[~touched], rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            evidence.lower_bounds()[~touched], straight.lower_bounds()[~touched], rtol=0, atol=1e-8
        )
    # With two-way predictions the remaining models predict each other; the oracle says what that gives.
    panels = [panel.tolist() for panel in case.panels[:when]]
    panels += [[None if gone[i] else row for i, row in enumerate(panel.tolist())] for panel in case.panels[when:]]
    for a, b in case.directions():
        want = oracle.log_evidence(case.setting, panels, a, b) if panels[0][a] and panels[0][b] else 0.0
        assert evidence.log_e()[a, b] == pytest.approx(want, abs=1e-8)


# Margins ---------------------------------------------------------------------------------------------------------


@examples(120)
@given(cases(max_models=3, max_replicates=5))
@example(
    # One model wins everything: bounds well above zero, so that the comparison is not only of -1 with -1.
    Case(
        design=Design.make(
            ["m0", "m1"], names("i", 12), tau=0.03, evidence="betting", stakes="design", method="bb-edge"
        ),
        blocks=tuple(range(12)),
        panels=(np.array([[0.9] * 12, [0.1] * 12]),) * 5,
    )
)
def test_lower_bounds_stay_just_below_the_root(case):
    bounds = case.evidence().lower_bounds()
    panels = [panel.tolist() for panel in case.panels]
    for a, b in case.directions():
        root = oracle.lower_bound(
            case.setting, panels, a, b, directions=case.design.n_directions, alpha=case.design.alpha
        )
        event(f"root {'at -1' if root == -1 else 'above 0' if root > 0 else 'between'}")
        assert bounds[a, b] <= root + 1e-9
        assert bounds[a, b] >= root - 1e-6


@examples(80)
@given(cases(max_replicates=8))
def test_lower_bounds_never_exceed_the_observed_difference(case):
    evidence = case.evidence()
    observed = evidence.means[:, None] - evidence.means
    tested = case.design.tested
    bounds = evidence.lower_bounds()
    assert np.all(bounds[tested] <= np.maximum(observed[tested], -1.0) + 1e-12)
    assert np.all(bounds[tested] >= -1.0)


@examples(40)
@given(cases(stake_rules=("paper", "given"), max_replicates=6))
def test_lower_bounds_rise_with_alpha(case):
    tested = case.design.tested
    previous = np.full(tested.shape, -np.inf)
    for alpha in (1e-6, 0.01, 0.05, 0.2, 0.9):
        bounds = replace(case, design=structs.replace(case.design, alpha=alpha)).evidence().lower_bounds()
        assert np.all(bounds[tested] >= previous[tested] - 1e-12)
        previous = bounds


@examples(100)
@given(cases(max_replicates=8))
def test_the_bound_passes_tau_exactly_when_the_evidence_passes_bonferroni(case):
    evidence = case.evidence()
    log_e, bounds = evidence.log_e(), evidence.lower_bounds()
    goal = math.log(case.design.n_directions / case.design.alpha)
    for a, b in case.directions():
        if log_e[a, b] >= goal + 1e-6:
            event("passes")
            assert bounds[a, b] >= case.design.tau
        elif log_e[a, b] < goal:
            assert bounds[a, b] <= case.design.tau


@examples(60)
@given(cases(max_replicates=8))
def test_a_bound_above_tau_is_an_edge(case):
    # Direct e-Holm asks for no more than Bonferroni, so whatever Bonferroni certifies is an edge.
    evidence = case.evidence()
    edges = e_holm(evidence.log_e(), alpha=case.design.alpha)
    for a, b in case.directions():
        if evidence.lower_bounds()[a, b] > case.design.tau + 1e-9:
            assert edges[a, b]


# More evidence, more stakes --------------------------------------------------------------------------------------


@examples(40)
@given(cases(max_replicates=4), st.integers(1, 3))
def test_a_stake_of_weight_zero_changes_nothing(case, extra):
    stakes = case.design.grid
    padded = given_stakes(
        stakes.values + (0.5,) * extra,
        stakes.weights + (0.0,) * extra,
    )
    assume(math.fsum(padded.weights) == pytest.approx(1.0, abs=1e-12))
    other = replace(case, design=case.design.with_grid(padded))
    np.testing.assert_array_equal(other.evidence().log_e(), case.evidence().log_e())
