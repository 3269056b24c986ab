"""Gates about new items, and about scores that k runs make: against a literal computation, and look by look."""

import math
from itertools import combinations

import numpy as np
import pytest

from bbedge.core.leaderboard import REPEATED
from bbedge.errors import CopiedReplicateError, DesignError, DomainError, FormatError
from bbedge.gate import Gate, Policy, gate
from unit.gate.test_gate import ITEMS, literal_evidence, panels, policy, table

NEW = {"target": "new-items"}
UNPLANNED = dict.fromkeys((1, 2, 4, 8, 16, 32), 1 / 6)
FIVE_PLANNED = {1: 0.2 / 3, 2: 0.2 / 3, 4: 0.2 / 3, 5: 0.8}


def outcomes(runs, of_runs=None):
    """What the runs so far say of each row and item: the mean score, or that over all choices of k runs."""
    if of_runs is None:
        return runs.mean(axis=0)
    rule, k = of_runs.split(":")
    best = np.min if rule == "all" else np.max
    return np.mean([best(runs[list(chosen)], axis=0) for chosen in combinations(range(len(runs)), int(k))], axis=0)


def stakes(sizes, *, bar, level, family):
    mu0, worth = (1 + bar) / 2, sum((size / max(sizes)) ** 2 for size in sizes)
    kappas = [1 / 80 * 20 ** (g / 11) for g in range(12)]
    return [min(0.95 / mu0, math.sqrt(2 * math.log(family / level) / (worth * kappa))) for kappa in kappas]


def literal_s(runs, bar, schedule, *, family, alpha=0.04, blocks=None, of_runs=None, moved=None):
    """``log S`` that the first row exceeds the second by more than the bar, after all of these runs.

    ``moved`` is another bar, for which the linear term alone changes.
    """
    blocks = list(range(runs.shape[2])) if blocks is None else list(blocks)
    sizes = [blocks.count(m) for m in range(max(blocks) + 1)]
    mu0, total = (1 + bar) / 2, 0.0
    moved = bar if moved is None else moved
    for look, weight in schedule.items():
        if look > len(runs) or (of_runs is not None and look < int(of_runs.split(":")[1])):
            continue
        means = outcomes(runs[:look], of_runs)
        difference = (means[0] - means[1] + 1) / 2
        y = np.array([np.mean(difference[np.array(blocks) == m]) for m in range(len(sizes))])
        found = []
        for stake in stakes(sizes, bar=bar, level=alpha * weight, family=family):
            u = stake * np.array(sizes) / max(sizes)
            found.append(np.prod((1 + u * (y - mu0)) * np.exp(u * (mu0 - (1 + moved) / 2))))
        total += weight * sum(found) / 12
    return math.log(total) if total else -1e300


def literal_bound(runs, schedule, *, family, alpha=0.01, blocks=None):
    """The largest difference that the evidence of all looks together exceeds."""
    low, high = -1.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        found = literal_s(runs, 0.0, schedule, family=family, alpha=alpha, blocks=blocks, moved=middle)
        low, high = (middle, high) if found >= math.log(family / alpha) else (low, middle)
    return low


def close(found, expected):
    assert found == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    ("options", "schedule"),
    [
        ({}, UNPLANNED),
        ({"budget": 5}, FIVE_PLANNED),
        ({"budget": 1}, {1: 1.0}),
        ({"looks": (2, 3), "look_weights": (0.25, 0.75)}, {2: 0.25, 3: 0.75}),
        ({"looks": (3, 7)}, {3: 0.5, 7: 0.5}),
    ],
)
@pytest.mark.parametrize("width", [1, 3])
def test_evidence_and_intervals_follow_the_definition(options, schedule, width):
    """One claim has H = 1 at 0.8 alpha, its interval H = 2 at 0.2 alpha; a look has its part of either."""
    values, numbers = panels(0.7, 0.45, runs=6), [i // width for i in range(ITEMS)]
    scores = table(values, blocks=[f"b{k}" for k in numbers])
    made = Gate(policy(("not_worse_by", 0.02), **NEW, **options), scores)
    for run, panel in enumerate(values, start=1):
        made.update(panel)
        (result,) = made.results()
        seen = values[:run]
        close(result.log_e, literal_s(seen, -0.02, schedule, family=1, blocks=numbers))
        close(result.log_e_against, literal_s(seen[:, ::-1], 0.02, schedule, family=1, blocks=numbers))
        assert [look.replicate for look in result.looks] == [look for look in schedule if look <= run]
        if result.looks:
            look = result.looks[-1]
            close(look.lower, literal_bound(seen, schedule, family=2, blocks=numbers))
            close(look.upper, -literal_bound(seen[:, ::-1], schedule, family=2, blocks=numbers))
        close(result.difference, float((seen[:, 0] - seen[:, 1]).mean()))


def test_every_claim_has_its_part_and_thresholds_are_those_of_claims():
    values = panels(0.8, 0.5, runs=4)
    given = (("not_worse_by", 0.02), ("better_by", 0.05), ("at_least", 0.3))
    found = gate(policy(*given, **NEW, budget=4), table(values)).results
    schedule, floor = {1: 0.1, 2: 0.1, 4: 0.8}, np.full((4, 1, ITEMS), 0.3)
    with_floor = np.concatenate([values[:, [0]], floor], axis=1)
    evidence = []
    for result, rows, bar in zip(found, (values, values, with_floor), (-0.02, 0.05, 0.0), strict=True):
        ahead = literal_s(rows, bar, schedule, family=3)
        back = literal_s(rows[:, ::-1], -bar, schedule, family=3)
        close((result.log_e, result.log_e_against), (ahead, back))
        evidence.append((ahead, back))
    close(found[0].looks[-1].lower, literal_bound(values, schedule, family=4))
    short = [max(0.0, 25 - math.exp(min(both))) for both in evidence]
    needed = [math.log(25 + sum(short) - own) for own in short]
    assert [each.log_threshold for each in found] == pytest.approx(needed)


def test_verdicts_change_only_at_looks_and_evidence_only_grows():
    values, seen = panels(0.95, 0.2, runs=9, items=60), []
    made = Gate(policy(("not_worse_by", 0.02), **NEW, looks=(3, 6)), table(values))
    for run, panel in enumerate(values, start=1):
        made.update(panel)
        (result,) = made.results()
        seen.append((result.verdict, result.log_e, result.lower, result.upper))
        assert made.report().next_look == (3 if run < 3 else 6 if run < 6 else None)
    assert seen[0][0] == seen[1][0] == "OPEN"
    assert seen[2][0] == "PASS"
    assert seen[0] == seen[1] != seen[2] == seen[3] == seen[4] != seen[5] == seen[6] == seen[8]
    assert seen[2][1] < seen[5][1]
    assert result.since == 3


def test_no_number_of_runs_decides_what_the_items_leave_open():
    """Item effects that are as large as the difference: these items are settled, new ones are not."""
    chances = np.where(np.arange(40) % 2 == 0, [[0.9], [0.1]], [[0.1], [0.9]])
    chances[0, :6] = 1.0  # these items favour the new system
    values = (np.random.default_rng(4).random((32, 2, 40)) < chances).astype(float)
    here, new = (gate(policy(("better_by", 0.0), **options), table(values)).results[0] for options in ({}, NEW))
    assert (here.verdict, new.verdict) == ("PASS", "OPEN")
    assert new.upper - new.lower > 2 * (here.upper - here.lower)


def test_missing_scores_count_against_the_claim_and_against_its_opposite():
    values = panels(0.7, 0.5, runs=2)
    holes = values.copy()
    holes[1, 0, :4] = holes[0, 1, 5:8] = np.nan
    (found,) = gate(policy(("not_worse_by", 0.02), **NEW, budget=2), table(holes)).results
    low, high = (np.nan_to_num(holes, nan=number) for number in (0.0, 1.0))
    ahead = np.stack([low[:, 0], high[:, 1]], axis=1)
    back = np.stack([low[:, 1], high[:, 0]], axis=1)
    schedule = {1: 0.2, 2: 0.8}
    close(found.log_e, literal_s(ahead, -0.02, schedule, family=1))
    close(found.log_e_against, literal_s(back, 0.02, schedule, family=1))


def test_views_are_means_of_their_own():
    topic = ("code",) * 8 + ("math",) * 16
    values = panels(0.8, 0.3, runs=2)
    found = gate(policy(("better_by", 0.1, {"view": "*"}), views="topic", **NEW), table(values, topic=topic)).results
    for result, some in zip(found, (slice(0, 8), slice(8, 24)), strict=True):
        close(result.log_e, literal_s(values[:, :, some], 0.1, UNPLANNED, family=2))


# Scores that k runs make -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_runs", ["all:2", "any:3"])
def test_new_items_count_every_choice_of_k_runs(of_runs):
    values = panels(0.8, 0.6, runs=5)
    made = Gate(policy(("not_worse_by", 0.02), **NEW, of_runs=of_runs, budget=5), table(values))
    for run, panel in enumerate(values, start=1):
        made.update(panel)
        (result,) = made.results()
        close(result.log_e, literal_s(values[:run], -0.02, FIVE_PLANNED, family=1, of_runs=of_runs))
    means = outcomes(values, of_runs).mean(axis=1)
    close(result.difference, float(means[0] - means[1]))


@pytest.mark.parametrize("rule", ["all", "any"])
def test_these_items_have_a_score_for_every_k_runs(rule):
    values = panels(0.8, 0.6, runs=7)
    best = np.min if rule == "all" else np.max
    joined = np.stack([best(values[start : start + 2], axis=0) for start in (0, 2, 4)])
    made = Gate(policy(("not_worse_by", 0.02), of_runs=f"{rule}:2"), table(values))
    for panel in values:
        made.update(panel)
    (result,) = made.results()
    close((result.log_e, result.log_e_against), literal_evidence(joined, -0.02, family=1))
    assert [look.replicate for look in result.looks] == [2, 4, 6]
    assert [look.difference for look in result.looks] == pytest.approx((joined[:, 0] - joined[:, 1]).mean(axis=1))
    assert made.report().next_look == 8
    close(result.difference, float((joined[:, 0] - joined[:, 1]).mean()))


def test_before_the_first_score_there_is_nothing_to_see():
    report = gate(policy(("not_worse_by", 0.02), of_runs="all:3"), table(panels(0.9, 0.1, runs=2)))
    (result,) = report.results
    assert (result.verdict, result.looks, result.difference) == ("OPEN", (), None)
    assert report.next_look == 3


# Copies ------------------------------------------------------------------------------------------------------------


def test_runs_that_repeat_each_other_are_harmless_unless_several_make_a_score():
    one = panels(0.9, 0.4, runs=1, items=60)
    copies = table(np.concatenate([one, one, one]))
    report = gate(policy(("not_worse_by", 0.02), **NEW, budget=3), copies)
    assert REPEATED.text in report.notes
    (alone,) = gate(policy(("not_worse_by", 0.02), **NEW, budget=1), table(one)).results
    assert report.results[0].log_e == pytest.approx(alone.log_e, abs=0.1), "the same scores again add nothing"
    for options in ({}, {**NEW, "of_runs": "all:2"}):
        with pytest.raises(CopiedReplicateError):
            gate(policy(("not_worse_by", 0.02), **options), copies)


# Forecasts ---------------------------------------------------------------------------------------------------------


def drawn(seed, *, runs, items=200):
    """Two systems that are equal over a population of items on which each has its own strengths."""
    rng = np.random.default_rng(seed)
    chances = np.clip(0.5 + 0.25 * rng.standard_normal((2, items)), 0.0, 1.0)
    return (rng.random((runs, 2, items)) < chances).astype(float)


def test_a_gate_passes_about_when_the_forecast_says():
    rules = policy(("not_worse_by", 0.12), **NEW, budget=8)
    pilot, passed = Gate(rules, table(drawn(99, runs=6))), 0
    for panel in drawn(99, runs=6):
        pilot.update(panel)
    (forecast,) = pilot.forecasts()
    runs = forecast.runs_for(0.0)
    assert runs in (4, 8), "a look"
    for seed in range(40):
        result = gate(rules, table(drawn(seed, runs=runs))).results[0]
        assert result.verdict != "FAIL"
        passed += result.verdict == "PASS"
    assert 0.65 < passed / 40 <= 1.0


def test_what_would_decide_a_claim_is_a_look_or_more_items():
    def outlook(runs, amount=0.12, **options):
        scores = table(drawn(1, runs=runs, items=100))
        return gate(policy(("not_worse_by", amount), **NEW, **options), scores).results[0].outlook

    assert outlook(3, amount=0.17, looks=(9, 20)).more_runs == 9 - 3
    assert outlook(3, budget=4, amount=0.02).more_runs is None, "the items differ too much for any number of runs"
    assert outlook(3, budget=4, amount=0.02).items > 1000
    assert outlook(4, amount=0.03, looks=(2, 4)).more_runs is None, "no look is left"
    with pytest.raises(DesignError, match="no forecasts about scores that several runs make"):
        Gate(policy(("better_by", 0.1), of_runs="all:2"), table(panels(0.5, 0.5))).forecasts()


def test_one_run_cannot_tell_how_items_vary():
    made = Gate(policy(("not_worse_by", 0.02), **NEW), table(panels(0.5, 0.5)))
    made.update(panels(0.5, 0.5)[0])
    assumed = made.forecasts()[0].ahead.assumed
    assert assumed.noise == pytest.approx(assumed.unevenness), "half of the variance is between items"


# Policies ----------------------------------------------------------------------------------------------------------

TEXT = 'candidate = "new"\nbaseline = "old"\n{}\n[[claims]]\nnot_worse_by = 0.02\n'


def test_the_keys_are_those_of_other_designs():
    made = Policy.from_toml(TEXT.format('target = "new-items"\nlooks = [5, 10]\nlook_weights = [0.3, 0.7]\n'))
    assert made.options.schedule == {5: 0.3, 10: 0.7}
    assert (made.content["target"], made.content["looks"]) == ("new-items", (5, 10))
    plain = Policy.from_toml(TEXT.format(""))
    for same in ('target = "benchmark"', 'of_runs = "all:1"'):
        assert Policy.from_toml(TEXT.format(same)).hash == plain.hash
    assert made.hash != Policy.from_toml(TEXT.format('target = "new-items"')).hash != plain.hash
    assert not plain.content.keys() & {"target", "looks", "look_weights", "of_runs"}


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ('target = "both"', DesignError, ("'both' asks two questions", "choose 'benchmark' or 'new-items'")),
        ('target = "items"', FormatError, ("'target' = 'items' is not one of benchmark, both, new-items",)),
        ("looks = [5]", DesignError, ("looks", "is about new items")),
        ('target = "new-items"\nlooks = [5, 2]', DomainError, ("looks", "rising order")),
        ('target = "new-items"\nbudget = 3\nlooks = [2, 5]', DesignError, ("go on after the 3 planned runs",)),
        ('target = "new-items"\nlooks = [2]\nlook_weights = [0.5, 0.5]', DesignError, ("one weight for each",)),
        ('of_runs = "all:3"\nbudget = 2', DesignError, ("a budget of 2 runs makes no score of 3 runs",)),
        ('of_runs = "all:0"', FormatError, ("'of_runs' = 'all:0'",)),
        ('target = "new-items"\nof_runs = "any:9"\nlooks = [2]', DesignError, ("leave no look at a score of 9 runs",)),
        ('target = "new-items"\nevidence = "bernstein"', DesignError, ("'bernstein' is about these items alone",)),
    ],
)
def test_what_is_refused(given, kind, words):
    with pytest.raises(kind) as caught:
        Policy.from_toml(TEXT.format(given), source="policy.toml")
    for each in ("policy.toml", *words):
        assert each in str(caught.value)


def test_there_are_no_looks_inside_a_run():
    assert policy(("better_by", 0.0)).looks_after_every_run
    for options in (NEW, {"of_runs": "all:2"}):
        assert not policy(("better_by", 0.0), **options).looks_after_every_run
