"""What must hold of missing scores that count against whichever model they could help."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from bbedge import Design, Scores, certify
from bbedge.core.certifier import Certifier
from bbedge.core.evidence import Evidence
from bbedge.errors import DataError

KINDS = ["bernstein", "hoeffding", "sharp", "betting"]
MODELS = ["a", "b", "c"]
examples = settings(max_examples=25, derandomize=True, deadline=None)


@st.composite
def cases(draw):
    """Complete panels, the same with holes, and options of a design."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_items = draw(st.integers(1, 7))
    whole = rng.random((draw(st.integers(1, 4)), 3, n_items))
    if draw(st.booleans()):
        whole = np.round(whole)
    holes = np.where(rng.random(whole.shape) < draw(st.sampled_from([0.05, 0.3, 1.0])), np.nan, whole)
    options = {
        "blocks": [f"b{k}" for k in rng.integers(0, draw(st.integers(1, n_items)), n_items)],
        "tau": draw(st.sampled_from([0.0, 0.03])),
        "evidence": draw(st.sampled_from(KINDS)),
        "stakes": draw(st.sampled_from(["paper", "design"])) if draw(st.booleans()) else "given",
        "method": "bb-edge",
        "weights": draw(st.sampled_from([None, rng.choice([0.5, 1.0, 3.0], n_items).tolist()])),
    }
    if options["stakes"] == "design" and options["evidence"] in ("bernstein", "hoeffding"):
        options["evidence"] = "sharp"
    return [f"q{i}" for i in range(n_items)], whole, holes, options


def make(items, gaps="worst-case", **options):
    stakes = {"stakes": None, "grid": [0.0, 0.4, 0.9]} if options.get("stakes") == "given" else {}
    return Design.make(MODELS, items, gaps=gaps, **(options | stakes))


def evidence_of(design, panels):
    evidence = Evidence(design)
    for panel in panels:
        evidence.update(panel)
    return evidence


@given(cases())
@examples
def test_evidence_and_margins_are_never_above_those_of_the_complete_panel(case):
    """Whatever the missing scores were. With Hoeffding's and exact bets at the null; others pay less for less noise."""
    items, whole, holes, options = case
    options |= {"evidence": "hoeffding", "stakes": "paper"}
    complete, missing = evidence_of(make(items, **options), whole), evidence_of(make(items, **options), holes)
    tested = make(items, **options).tested
    assert (missing.log_e()[tested] <= complete.log_e()[tested] + 1e-12).all()
    assert (missing.lower_bounds()[tested] <= complete.lower_bounds()[tested] + 1e-12).all()


@given(cases())
@examples
def test_every_direction_reads_its_own_worst_case(case):
    """One direction at a time: its better model's missing scores as 0, its worse model's as 1, and nothing else."""
    items, _, holes, options = case
    design = make(items, **options)
    found = evidence_of(design, holes)
    for a, b in ((0, 1), (1, 0), (2, 0)):
        filled = holes.copy()
        filled[:, a] = np.nan_to_num(holes[:, a], nan=0.0)
        filled[:, b] = np.nan_to_num(holes[:, b], nan=1.0)
        alone = evidence_of(make(items, gaps="refuse", **options), np.nan_to_num(filled, nan=0.5))
        np.testing.assert_allclose(found.log_e()[a, b], alone.log_e()[a, b], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found.lower_bounds()[a, b], alone.lower_bounds()[a, b], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@given(case=cases())
@settings(max_examples=6, derandomize=True, deadline=None)
def test_evidence_never_exceeds_exact_arithmetic(kind, case):
    items, _, holes, options = case
    options |= {"evidence": kind, "stakes": None, "grid": [0.0, 0.3, 0.9], "weights": None}
    design = make(items, **options)
    found = evidence_of(design, holes).log_e()
    labels = {}
    setting = oracle.Setting(
        blocks=tuple(labels.setdefault(block, len(labels)) for block in design.blocks),
        tau=design.tau,
        kind=kind,
        prediction=design.prediction,
        stakes=design.grid.values,
        weights=design.grid.weights,
    )
    for a, b in ((0, 1), (2, 0)):
        filled = holes.copy()
        filled[:, a] = np.nan_to_num(holes[:, a], nan=0.0)
        filled[:, b] = np.nan_to_num(holes[:, b], nan=1.0)
        exact = oracle.exact_log_evidence(setting, np.nan_to_num(filled, nan=0.5).tolist(), a, b)
        assert found[a, b] <= exact
        assert found[a, b] == pytest.approx(float(exact), rel=1e-9, abs=1e-9)


@given(cases())
@examples
def test_without_gaps_nothing_changes(case):
    items, whole, _, options = case
    allowed, plain = evidence_of(make(items, **options), whole), evidence_of(make(items, "refuse", **options), whole)
    np.testing.assert_array_equal(allowed.log_e(), plain.log_e())
    np.testing.assert_array_equal(allowed.lower_bounds(), plain.lower_bounds())
    np.testing.assert_array_equal(allowed.means, plain.means)


@given(cases(), st.integers(0, 3))
@examples
def test_a_saved_state_goes_on_with_gaps(case, pause):
    items, _, holes, options = case
    design = make(items, **(options | {"method": "bb-edge-x", "evidence": "betting", "stakes": None}))
    straight, paused = Certifier(design), Certifier(design)
    for number, panel in enumerate(holes):
        if number == pause:
            paused = Certifier.from_bytes(design, paused.to_bytes())
        straight.update(panel)
        paused.update(panel)
    assert straight.to_bytes() == paused.to_bytes()


@given(cases())
@examples
def test_a_model_may_be_stopped_before_and_after_gaps(case):
    items, _, holes, options = case
    design = make(items, **options)
    together, apart = evidence_of(design, holes[:1]), evidence_of(design, holes[:1])
    together.stop(["b"])
    for panel in holes[1:]:
        together.update(panel[[0, 2]])
        apart.update(panel)
    for a, b in ((0, 2), (2, 0)):
        np.testing.assert_allclose(together.log_e()[a, b], apart.log_e()[a, b], rtol=1e-9, atol=1e-10)
    first = evidence_of(design, holes[:1]).log_e()
    np.testing.assert_allclose(together.log_e()[[0, 1, 1, 2], [1, 0, 2, 1]], first[[0, 1, 1, 2], [1, 0, 2, 1]])


def test_a_gap_is_refused_unless_the_design_allows_it():
    panel = [[1.0, np.nan], [0.0, 0.5]]
    with pytest.raises(DataError, match="score nan of model 'a' on item 'q2'"):
        Evidence(Design.make(["a", "b"], ["q1", "q2"])).update(panel)
    allowed = Evidence(Design.make(["a", "b"], ["q1", "q2"], gaps="worst-case"))
    for bad in (np.inf, 1.5, -0.1):
        with pytest.raises(DataError, match="not in"):
            allowed.update([[1.0, np.nan], [0.0, bad]])
    allowed.update(panel)
    np.testing.assert_allclose(allowed.means, [1.0, 0.25])


def test_the_leaderboard_counts_gaps_and_says_what_they_may_cost():
    rng = np.random.default_rng(3)
    values = (rng.random((3, 2, 60)) < np.array([[0.9], [0.3]])).astype(float)
    complete = certify(Scores.of(values, models=["a", "b"], items=[f"q{i}" for i in range(60)]))
    assert complete.gaps is None
    values[:, 0, :45] = np.nan
    scores = replace(Scores.of(values, models=["a", "b"], items=[f"q{i}" for i in range(60)]), gaps="worst-case")
    found = certify(scores)
    assert found.gaps.of_models == (135, 0)
    assert found.gaps.cells == 135
    assert (found.graph.n_resolved, found.gaps.resolved_if_means) == (0, 1)


def test_a_stopped_model_needs_no_later_scores():
    rng = np.random.default_rng(4)
    values = (rng.random((5, 3, 40)) < np.array([[0.9], [0.5], [0.2]])).astype(float)
    items = [f"q{i}" for i in range(40)]
    by_hand = Certifier(Design.make(MODELS, items))
    for number, panel in enumerate(values):
        if number == 2:
            by_hand.stop(["b"])
        by_hand.update(panel if number < 2 else panel[[0, 2]])
    values[2:, 1] = np.nan
    scores = replace(Scores.of(values, models=MODELS, items=items), stops=(5, 2, 5))
    found = certify(scores)
    np.testing.assert_array_equal(found.log_e, by_hand.leaderboard().log_e)
    assert found.replicates == 5
    assert found.gaps is None
