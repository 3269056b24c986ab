"""What must hold of item weights for every design and every data set."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence

KINDS = ["bernstein", "hoeffding", "sharp", "betting"]
examples = settings(max_examples=25, derandomize=True, deadline=None)


def make(items, blocks, weights, **options):
    return Design.make(["a", "b", "c"], items, blocks=blocks, weights=weights, **options)


def numbers(design, panels):
    evidence = Evidence(design)
    for panel in panels:
        evidence.update(panel)
    return np.stack([evidence.log_e(), evidence.lower_bounds()])


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_items = draw(st.integers(1, 9))
    weights = draw(
        st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0, 1 / 3]), min_size=n_items, max_size=n_items).filter(any)
    )
    blocks = [f"b{k}" for k in rng.integers(0, draw(st.integers(1, n_items)), n_items)]
    panels = rng.random((draw(st.integers(1, 4)), 3, n_items))
    if draw(st.booleans()):
        panels = np.round(panels)
    options = {
        "tau": draw(st.sampled_from([0.0, 0.03])),
        "evidence": draw(st.sampled_from(KINDS)),
        "stakes": "paper",
        "method": draw(st.sampled_from(["bb-edge", "bb-edge-x"])),
        "prediction": draw(st.sampled_from(["running-mean", "two-way"])),
    }
    return [f"q{i}" for i in range(n_items)], blocks, weights, panels, options


@given(cases(), st.randoms(use_true_random=False))
@examples
def test_the_order_of_items_does_not_matter(case, random):
    items, blocks, weights, panels, options = case
    order = list(range(len(items)))
    random.shuffle(order)
    moved = make([items[i] for i in order], [blocks[i] for i in order], [weights[i] for i in order], **options)
    plain = make(items, blocks, weights, **options)
    assert moved.hash == plain.hash
    np.testing.assert_allclose(numbers(moved, panels[:, :, order]), numbers(plain, panels), rtol=1e-9, atol=1e-10)


@given(cases(), st.data())
@examples
def test_an_item_may_be_split_into_copies_inside_its_block(case, data):
    items, blocks, weights, panels, options = case
    place = data.draw(st.integers(0, len(items) - 1))
    first = weights[place] / 4
    split = make(
        [*items, "copy"],
        [*blocks, blocks[place]],
        [*weights[:place], first, *weights[place + 1 :], weights[place] - first],
        **options,
    )
    copied = np.concatenate([panels, panels[:, :, [place]]], axis=2)
    plain = numbers(make(items, blocks, weights, **options), panels)
    np.testing.assert_allclose(numbers(split, copied), plain, rtol=1e-9, atol=1e-10)


@given(cases())
@examples
def test_items_of_weight_zero_do_not_matter(case):
    items, blocks, weights, panels, options = case
    kept = [i for i, weight in enumerate(weights) if weight > 0]
    without = make([items[i] for i in kept], [blocks[i] for i in kept], [weights[i] for i in kept], **options)
    whole = numbers(make(items, blocks, weights, **options), panels)
    np.testing.assert_allclose(numbers(without, panels[:, :, kept]), whole, rtol=1e-9, atol=1e-10)


@given(cases(), st.sampled_from([0.1, 1.0, 7.0, 1e-200]))
@examples
def test_equal_weights_change_nothing(case, weight):
    items, blocks, _, panels, options = case
    plain, weighted = make(items, blocks, None, **options), make(items, blocks, [weight] * len(items), **options)
    assert plain == weighted
    assert plain.hash == weighted.hash
    np.testing.assert_array_equal(numbers(weighted, panels), numbers(plain, panels))


@given(cases())
@examples
def test_a_view_of_one_category_is_that_category_alone(case):
    items, blocks, weights, panels, options = case
    kept = [i for i, weight in enumerate(weights) if weight > 0]
    category = make(items, blocks, [float(weight > 0) for weight in weights], **options)
    alone = make([items[i] for i in kept], [blocks[i] for i in kept], None, **options)
    found = numbers(category, panels)
    np.testing.assert_allclose(found, numbers(alone, panels[:, :, kept]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(case=cases())
@settings(max_examples=6, derandomize=True, deadline=None)
def test_weighted_evidence_never_exceeds_exact_arithmetic(kind, case):
    # Whole weights are copies of an item inside its block, which the oracle knows without weights.
    items, blocks, weights, panels, options = case
    times = [round(4 * weight) for weight in weights]
    if not any(times):
        times = [1] * len(items)
    design = make(
        items,
        blocks,
        [float(n) for n in times],
        **(options | {"evidence": kind, "stakes": None, "grid": [0.0, 0.3, 0.9]}),
    )
    spread = np.repeat(np.arange(len(items)), times)
    labels = {}
    setting = oracle.Setting(
        blocks=tuple(labels.setdefault(blocks[i], len(labels)) for i in spread),
        tau=design.tau,
        kind=kind,
        prediction=design.prediction,
        stakes=design.grid.values,
        weights=design.grid.weights,
    )
    log_e = numbers(design, panels)[0]
    for a, b in [(0, 1), (2, 0)]:
        exact = oracle.exact_log_evidence(setting, [panel[:, spread].tolist() for panel in panels], a, b)
        assert Fraction(float(log_e[a, b])) <= Fraction(exact)
        assert log_e[a, b] == pytest.approx(float(exact), rel=1e-9, abs=1e-9)
