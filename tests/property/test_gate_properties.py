"""What must hold of every gate: the order of things does not matter, and weaker claims pass more easily."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from bbedge.core.scores import Scores
from bbedge.gate import Claim, Policy, gate

examples = settings(max_examples=12, derandomize=True, deadline=None)
VERDICTS = ("PASS", "FAIL")
KINDS = ("not_worse_by", "better_by", "at_least", "cheaper_by")
MODELS = ("new", "other", "old")


@st.composite
def tables(draw):
    """Scores of three models, some with blocks, graded, or with holes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    items, runs = draw(st.integers(2, 12)), draw(st.integers(1, 5))
    chances = rng.uniform(0.05, 0.95, (3, 1))
    values = (rng.random((runs, 3, items)) < chances).astype(float)
    if draw(st.booleans()):
        values = np.round(np.clip(values * 0.8 + rng.random(values.shape) * 0.2, 0.0, 1.0), 3)
    if draw(st.booleans()):
        values = np.where(rng.random(values.shape) < 0.05, np.nan, values)
    labels = [f"b{k}" for k in rng.integers(0, draw(st.integers(1, items)), items)]
    made = Scores.of(values, models=MODELS, items=[f"q{i}" for i in range(items)], blocks=labels)
    topics = tuple("xy"[k] for k in np.append([0, 1], rng.integers(0, 2, items - 2)))
    return replace(made, columns={"topic": topics}, gaps="worst-case")


@st.composite
def claim_lists(draw):
    """Claims that a policy takes together."""
    keys = draw(
        st.lists(
            st.tuples(
                st.sampled_from(KINDS), st.sampled_from(["headline", "x", "y"]), st.sampled_from(["block", "warn"])
            ),
            min_size=1,
            max_size=5,
            unique=True,
        )
    )
    amounts = st.sampled_from([0.01, 0.05, 0.3])
    return tuple(Claim(kind=kind, amount=draw(amounts), view=view, tier=tier) for kind, view, tier in keys)


def decided(claims, scores, candidates=("new", "other")):
    policy = Policy(candidates=candidates, baseline="old", claims=claims, views="topic", copies="allow")
    return gate(policy, scores)


def by_claim(report):
    """What was found, by what was asked."""
    return {
        (each.candidate, each.claim): (
            each.verdict,
            each.since,
            each.lower,
            each.upper,
            [look.verdict for look in each.looks],
        )
        for each in report.results
    }


def same(one, two):
    assert one.keys() == two.keys()
    for key, (verdict, since, lower, upper, looks) in one.items():
        assert (verdict, since, looks) == (two[key][0], two[key][1], two[key][4])
        assert (lower, upper) == pytest.approx(two[key][2:4], abs=1e-9)


@pytest.mark.nightly
@given(tables(), claim_lists(), st.randoms(use_true_random=False))
@examples
def test_the_order_of_claims_candidates_models_and_items_does_not_matter(scores, claims, random):
    first = decided(claims, scores)
    shuffled = list(claims)
    random.shuffle(shuffled)
    models, items = list(range(3)), list(range(len(scores.items)))
    random.shuffle(models)
    random.shuffle(items)
    turned = replace(
        scores,
        models=tuple(scores.models[i] for i in models),
        items=tuple(scores.items[i] for i in items),
        blocks=tuple(scores.blocks[i] for i in items),
        values=scores.values[:, models][:, :, items],
        columns={"topic": tuple(scores.columns["topic"][i] for i in items)},
    )
    second = decided(tuple(shuffled), turned, candidates=("other", "new"))
    same(by_claim(first), by_claim(second))
    assert first.release == second.release


@given(tables(), st.sampled_from(KINDS), st.floats(0.0, 0.9), st.floats(0.0, 0.9))
@examples
def test_a_weaker_claim_passes_where_a_stronger_one_does(scores, kind, one, two):
    """In one policy a verdict stands for what it implies, at every look."""
    small, large = sorted((max(one, 0.001), max(two, 0.001)))
    weak, strong = (large, small) if kind == "not_worse_by" else (small, large)
    claims = (Claim(kind=kind, amount=weak), Claim(kind=kind, amount=strong, tier="warn"))
    of_weak, of_strong = decided(claims, scores, candidates=("new",)).results
    for look_weak, look_strong in zip(of_weak.looks, of_strong.looks, strict=True):
        assert look_weak.verdict == "PASS" or look_strong.verdict != "PASS"
        assert look_strong.verdict == "FAIL" or look_weak.verdict != "FAIL"
    assert of_weak.verdict in ("PASS", "CONTRADICTION") or of_strong.verdict != "PASS"


def means_of(result):
    """What the interval of a result is about."""
    constant = result.claim.amount if result.claim.kind in ("at_least", "cheaper_by") else None
    return result.candidate, result.claim.view, constant, result.claim.kind == "at_least"


@pytest.mark.nightly
@given(tables(), claim_lists())
@examples
def test_bounds_and_verdicts_fit_each_other(scores, claims):
    report = decided(claims, scores)
    for each in report.results:
        same = [other for other in report.results if means_of(other) == means_of(each)]
        seen = {word: [o.bar for o in same if any(look.verdict == word for look in o.looks)] for word in VERDICTS}
        assert each.lower == max([look.lower for look in each.looks] + seen["PASS"])
        assert each.upper == min([look.upper for look in each.looks] + seen["FAIL"])
        for look in each.looks:
            assert -1.0 <= look.lower <= look.upper <= 1.0
        words = {look.verdict for look in each.looks} - {"OPEN"}
        first = next((look for look in each.looks if look.verdict != "OPEN"), None)
        stands = ("OPEN", None) if first is None else (first.verdict, first.replicate)
        if each.lower > each.upper or words == {"PASS", "FAIL"}:
            assert each.verdict == "CONTRADICTION"
        else:
            assert (each.verdict, each.since) == stands
        assert (each.outlook is None) == (each.verdict != "OPEN")
        # Evidence of the last look, which can only be lowered by rounding; a verdict may also be implied by another.
        last = each.looks[-1]
        reached = [other.log_e >= other.log_threshold - 1e-6 for other in report.results]
        if not any(reached):
            assert last.verdict != "PASS"
        if each.log_e > each.log_threshold + 1e-6:
            assert last.verdict == "PASS"
        if each.log_e_against > each.log_threshold + 1e-6:
            assert last.verdict == "FAIL"


@st.composite
def swapped_tables(draw):
    """Systems far apart, of which candidate and baseline change places after some runs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    items, runs = draw(st.integers(30, 80)), draw(st.integers(4, 8))
    values = (rng.random((runs, 3, items)) < np.array([[0.85], [0.5], [0.15]])).astype(float)
    after = draw(st.integers(1, runs - 1))
    values[after:] = values[after:, ::-1]
    made = Scores.of(values, models=MODELS, items=[f"q{i}" for i in range(items)])
    return replace(made, columns={"topic": tuple("xy"[i % 2] for i in range(items))})


@pytest.mark.nightly
@given(swapped_tables(), claim_lists())
@examples
def test_tables_whose_labels_change_places_have_no_release_where_runs_contradict_each_other(scores, claims):
    report = decided(claims, scores)
    for each in report.results:
        words = {look.verdict for look in each.looks} - {"OPEN"}
        assert (each.verdict == "CONTRADICTION") == (each.lower > each.upper or len(words) == 2)
    assert (report.release == "contradiction") == bool(report.contradictions)
    event(report.release)


@pytest.mark.nightly
@given(tables(), claim_lists())
@examples
def test_a_claim_more_never_helps_another(scores, claims):
    """The parts of alpha shrink: what the smaller policy leaves open stays open."""
    extra = Claim(kind="at_least", amount=0.123, tier="info")
    fewer, more = by_claim(decided(claims, scores)), by_claim(decided((*claims, extra), scores))
    for key, (_, _, lower, upper, _) in fewer.items():
        # Stakes follow the size of the family, which can move a bound by a little in either direction.
        assert more[key][2] <= lower + 0.02
        assert more[key][3] >= upper - 0.02
