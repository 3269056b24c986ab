"""Bounds, verdicts and releases of gates, against a literal computation and by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

import oracle
from bbedge import Scores
from bbedge.errors import CopiedReplicateError, DataError, DesignError, DomainError
from bbedge.gate import Claim, Gate, Policy, gate

ITEMS = 24
TOPICS = ("code",) * 8 + ("math",) * 16


def panels(*chances, runs=4, items=ITEMS, seed=1):
    rng = np.random.default_rng(seed)
    return (rng.random((runs, len(chances), items)) < np.array(chances)[:, None]).astype(float)


def table(values, models=("new", "old"), *, blocks="item", score_range=(0.0, 1.0), **columns):
    values = np.asarray(values, dtype=float)
    made = Scores.of(values, models=models, items=[f"q{i}" for i in range(values.shape[2])], blocks=blocks)
    gaps = "worst-case" if np.isnan(values).any() else "refuse"
    return replace(made, columns=columns, score_range=score_range, gaps=gaps)


def claims(*given):
    made = []
    for each in given:
        kind, amount, *rest = each
        made.append(Claim(kind=kind, amount=amount, **(rest[0] if rest else {})))
    return tuple(made)


def policy(*given, candidates=("new",), baseline="old", **options):
    return Policy(candidates=candidates, baseline=baseline, claims=claims(*given), **options)


def literal_setting(values, *, tau, family, alpha, blocks=None):
    numbers = tuple(range(values.shape[2])) if blocks is None else blocks
    sizes = [numbers.count(m) for m in range(max(numbers) + 1)]
    stakes = oracle.design_grid(sizes, alpha=alpha, tau=tau, directions=family)
    return oracle.Setting(
        blocks=numbers,
        tau=tau,
        kind="betting",
        prediction="running-mean",
        stakes=tuple(stakes),
        weights=(1 / 12,) * 12,
    )


def rows_of(values):
    return [[list(row) for row in panel] for panel in values.tolist()]


def literal_interval(values, *, family, blocks=None, alpha=0.01):
    """Bounds of first less second row, for a family of so many directions at 0.2 alpha, by the definitions alone."""
    setting = literal_setting(values, tau=0.0, family=family, alpha=alpha, blocks=blocks)
    rows = rows_of(values)
    lower = oracle.lower_bound(setting, rows, 0, 1, directions=family, alpha=alpha)
    upper = -oracle.lower_bound(setting, rows, 1, 0, directions=family, alpha=alpha)
    return lower, upper


def literal_evidence(values, bar, *, family, blocks=None, alpha=0.04):
    """Evidence for first less second row above the bar, and against it, of so many claims at 0.8 alpha."""
    rows = rows_of(values)
    ahead = literal_setting(values, tau=bar, family=family, alpha=alpha, blocks=blocks)
    back = literal_setting(values, tau=-bar, family=family, alpha=alpha, blocks=blocks)
    return oracle.log_evidence(ahead, rows, 0, 1), oracle.log_evidence(back, rows, 1, 0)


def literal_thresholds(evidence, alpha=0.04):
    """What each claim must reach: t, and the deficits of the others."""
    t = 1 / alpha
    deficits = [max(0.0, t - math.exp(min(both))) for both in evidence]
    return [math.log(t + sum(deficits[:c] + deficits[c + 1 :])) for c in range(len(evidence))]


def close(found, expected):
    assert found == pytest.approx(expected, abs=1e-7)


# Bounds ----------------------------------------------------------------------------------------------------------


def test_one_claim_needs_no_more_than_one_direction_does():
    """Its two directions are not both true nulls: each needs 1 / (0.8 alpha); the interval has the other fifth."""
    values = panels(0.7, 0.4)
    report = gate(policy(("not_worse_by", 0.02)), table(values))
    (result,) = report.results
    assert result.log_threshold == pytest.approx(math.log(1 / 0.04))
    close((result.log_e, result.log_e_against), literal_evidence(values, -0.02, family=1))
    for look in result.looks:
        close((look.lower, look.upper), literal_interval(values[: look.replicate], family=2))
        close(look.difference, float((values[look.replicate - 1, 0] - values[look.replicate - 1, 1]).mean()))
    close(result.difference, float(values[:, 0].mean() - values[:, 1].mean()))


def test_blocks_are_those_of_the_scores():
    values = panels(0.7, 0.4)
    numbers = tuple(i // 3 for i in range(ITEMS))
    report = gate(policy(("better_by", 0.0)), table(values, blocks=[f"b{k}" for k in numbers]))
    look = report.results[0].looks[-1]
    close((look.lower, look.upper), literal_interval(values, family=2, blocks=numbers))


def test_every_claim_has_an_equal_part_of_alpha():
    """Two candidates, three claims: six claims are decided; four means are compared, in eight directions."""
    values = panels(0.7, 0.5, 0.4)
    given = policy(("not_worse_by", 0.02), ("better_by", 0.0), ("at_least", 0.3), candidates=("a", "b"), baseline="old")
    report = gate(given, table(values, ("a", "b", "old")))
    assert [each.candidate for each in report.results] == ["a"] * 3 + ["b"] * 3
    floor = np.full((4, 1, ITEMS), 0.3)
    for place, candidate in enumerate(("a", "b")):
        own = [each for each in report.results if each.candidate == candidate]
        with_old = np.stack([values[:, place], values[:, 2]], axis=1)
        expected = literal_interval(with_old, family=8)
        close((own[0].looks[-1].lower, own[0].looks[-1].upper), expected)
        close((own[1].looks[-1].lower, own[1].looks[-1].upper), expected)  # one comparison, not two
        with_floor = np.concatenate([values[:, [place]], floor], axis=1)
        close((own[2].looks[-1].lower, own[2].looks[-1].upper), literal_interval(with_floor, family=8))
        found = [(each.log_e, each.log_e_against) for each in own]
        close(found[0], literal_evidence(with_old, -0.02, family=6))
        close(found[1], literal_evidence(with_old, 0.0, family=6))
        close(found[2], literal_evidence(with_floor, 0.0, family=6))
    evidence = [(each.log_e, each.log_e_against) for each in report.results]
    assert [each.log_threshold for each in report.results] == pytest.approx(literal_thresholds(evidence))


def test_cheaper_by_compares_costs():
    """Scores are 1 - cost / 10: a tenth cheaper means that 0.9 of the baseline's cost exceeds the candidate's."""
    rng = np.random.default_rng(3)
    costs = np.stack([rng.uniform(2, 4, (4, ITEMS)), rng.uniform(5, 9, (4, ITEMS))], axis=1)
    values = 1.0 - costs / 10.0
    report = gate(policy(("cheaper_by", 0.1)), table(values))
    (result,) = report.results
    moved = np.stack([values[:, 0], 1.0 - 0.9 * costs[:, 1] / 10.0], axis=1)
    close((result.looks[-1].lower, result.looks[-1].upper), literal_interval(moved, family=2))
    close(result.difference, (0.9 * costs[:, 1].mean() - costs[:, 0].mean()) / 10.0)
    assert result.verdict == "PASS"
    dear = gate(policy(("cheaper_by", 0.9)), table(values)).results[0]
    assert dear.verdict == "FAIL"  # the candidate's cost is near half of the baseline's, not a tenth


def test_views_and_the_headline_are_means_of_their_own():
    values = panels(0.8, 0.3)
    given = policy(("not_worse_by", 0.02), ("not_worse_by", 0.0, {"view": "*"}), views="topic")
    report = gate(given, table(values, topic=TOPICS))
    assert [each.claim.view for each in report.results] == ["headline", "code", "math"]
    for result, some in zip(report.results, (slice(0, 24), slice(0, 8), slice(8, 24)), strict=True):
        close((result.looks[-1].lower, result.looks[-1].upper), literal_interval(values[:, :, some], family=6))
        close(result.difference, float((values[:, 0, some] - values[:, 1, some]).mean()))
    named = gate(policy(("not_worse_by", 0.0, {"view": "math"}), views="topic"), table(values, topic=TOPICS))
    assert [each.claim.view for each in named.results] == ["math"]
    look = named.results[0].looks[-1]
    close((look.lower, look.upper), literal_interval(values[:, :, 8:], family=2))  # the headline is not tested


def test_macro_and_weights():
    values = panels(0.8, 0.3)
    weights = tuple(str(w) for w in np.arange(ITEMS) % 3 + 1)
    scores = table(values, topic=TOPICS, points=weights)
    difference = values[:, 0].mean(axis=0) - values[:, 1].mean(axis=0)
    macro = gate(policy(("better_by", 0.0), macro="topic"), scores).results[0]
    close(macro.difference, (difference[:8].mean() + difference[8:].mean()) / 2)
    points = np.arange(ITEMS) % 3 + 1
    weighted = gate(policy(("better_by", 0.0), weights="points"), scores).results[0]
    close(weighted.difference, float(points @ difference / points.sum()))
    assert macro.looks[-1].lower < macro.difference < macro.looks[-1].upper


def test_missing_scores_count_against_the_claim_and_against_its_opposite():
    values = panels(0.6, 0.5, runs=6)
    whole = gate(policy(("not_worse_by", 0.02)), table(values)).results[0]
    holes = values.copy()
    holes[:, 0, :4] = np.nan
    found = gate(policy(("not_worse_by", 0.02)), table(holes)).results[0]
    low, high = np.nan_to_num(holes, nan=0.0), np.nan_to_num(holes, nan=1.0)
    lower = literal_interval(low, family=2)[0]
    upper = literal_interval(high, family=2)[1]
    close((found.looks[-1].lower, found.looks[-1].upper), (lower, upper))
    assert found.lower < whole.lower < whole.upper < found.upper


def test_a_mean_over_some_items_is_noted():
    holes = panels(0.6, 0.5, 0.4, runs=2)
    holes[:, 0, :4] = np.nan
    holes[0, 1, :4] = np.nan  # which the second run has
    holes[:, 2, :4] = np.nan  # of a model that the policy does not name
    report = gate(policy(("not_worse_by", 0.02)), table(holes, ("new", "old", "other")))
    (note,) = report.notes
    assert note.startswith(f"The mean of 'new' is over {ITEMS - 4} of {ITEMS} items: ")
    assert gate(policy(("not_worse_by", 0.02)), table(panels(0.6, 0.5))).notes == ()


def test_a_floor_with_missing_scores():
    holes = panels(0.6, 0.5, runs=6)
    holes[:, 0, :4] = np.nan
    found = gate(policy(("at_least", 0.4), baseline=None), table(holes)).results[0]
    low = np.nan_to_num(holes, nan=0.0)
    low[:, 1] = 0.4
    close(found.looks[-1].lower, literal_interval(low, family=2)[0])


def test_a_candidate_without_any_score_is_open_and_says_so():
    holes = panels(0.6, 0.5)
    holes[:, 0] = np.nan
    report = gate(policy(("not_worse_by", 0.02)), table(holes))
    (result,) = report.results
    assert result.difference is None
    assert result.verdict == "OPEN"
    assert report.to_values()["claims"][0]["difference"] is None
    assert result.outlook.more_runs is None


def test_score_units():
    """Scores from 0 to 10: bounds, margins and floors are ten times those of [0, 1]."""
    values = panels(0.7, 0.4)
    small = gate(policy(("not_worse_by", 0.02), ("at_least", 0.3)), table(values))
    large = gate(policy(("not_worse_by", 0.2), ("at_least", 3.0)), table(values, score_range=(0.0, 10.0)))
    shifted = gate(policy(("not_worse_by", 0.2), ("at_least", -2.0)), table(values, score_range=(-5.0, 5.0)))
    for other in (large, shifted):
        for one, two in zip(small.results, other.results, strict=True):
            assert one.verdict == two.verdict
            close((10 * one.lower, 10 * one.upper, 10 * one.bar), (two.lower, two.upper, two.bar))
            close((10 * one.difference, one.log_e), (two.difference, two.log_e))


def test_a_planned_number_of_runs_is_part_of_the_design():
    values = panels(0.7, 0.4)
    plain, planned = (gate(policy(("better_by", 0.0), budget=b), table(values)).results[0] for b in (None, 4))
    assert plain.lower != planned.lower


# Evidence and verdicts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("amount", [0.0, 0.02, 0.1, 0.4])
def test_verdicts_are_those_of_the_literal_rule_at_every_look(seed, amount):
    """e-Holm over the claims at each look, with memory, and with what it implies for the same comparison."""
    values = panels(0.75, 0.4, runs=4, seed=seed)
    report = gate(policy(("not_worse_by", amount), ("better_by", amount), ("at_least", 0.1 + amount)), table(values))
    floor = np.stack([values[:, 0], np.full((4, ITEMS), 0.1 + amount)], axis=1)
    # Not worse at all and better at all are one claim in other words.
    compared = ([(values, -amount)] if amount else []) + [(values, amount), (floor, 0.0)]
    place_of = [0, len(compared) - 2, len(compared) - 1]
    decided = [set() for _ in compared]
    for run in range(4):
        evidence = [literal_evidence(rows[: run + 1], bar, family=len(compared)) for rows, bar in compared]
        found = [
            {word for word, log_e in zip(("PASS", "FAIL"), both, strict=True) if log_e >= needed}
            for both, needed in zip(evidence, literal_thresholds(evidence), strict=True)
        ]
        if amount:  # what is better by more than it is not worse by more, and what is worse by more is not better
            found[0] |= found[1] & {"PASS"}
            found[1] |= found[0] & {"FAIL"}
        decided = [stands | words for stands, words in zip(decided, found, strict=True)]
        for each, place in zip(report.results, place_of, strict=True):
            assert each.looks[run].verdict == ("".join(found[place]) or "OPEN")
    assert [each.verdict for each in report.results] == ["".join(decided[place]) or "OPEN" for place in place_of]


def test_what_stands_is_the_first_verdict_and_the_best_bounds():
    """Good runs first, then a bad one: the bounds of the last look are worse than those of an earlier one."""
    values = np.concatenate([panels(1.0, 0.0, runs=2), panels(0.3, 0.7, runs=1, seed=2)])
    result = gate(policy(("not_worse_by", 0.02), copies="allow"), table(values)).results[0]
    assert (result.verdict, result.since) == ("PASS", 1)
    assert result.lower == max(look.lower for look in result.looks) > result.looks[-1].lower
    assert result.upper == min(look.upper for look in result.looks)


def test_a_verdict_stays_when_later_evidence_falls_below_the_threshold():
    values = np.concatenate([panels(1.0, 0.0, runs=2, items=8), panels(0.2, 0.8, runs=3, seed=5, items=8)])
    result = gate(policy(("better_by", 0.1), copies="allow"), table(values)).results[0]
    assert [look.verdict for look in result.looks][-1] == "OPEN"
    assert (result.verdict, result.log_e < result.log_threshold) == ("PASS", True)


def test_the_interval_of_a_decided_claim_does_not_cross_its_bar():
    """A verdict needs less evidence than an interval, which then ends at the bar."""
    crossed = 0
    for seed in range(30):
        report = gate(policy(("not_worse_by", 0.1), ("at_least", 0.3)), table(panels(0.6, 0.5, runs=6, seed=seed)))
        for result in report.results:
            if result.verdict == "PASS":
                assert result.bar <= result.lower <= result.upper
            elif result.verdict == "FAIL":
                assert result.lower <= result.upper <= result.bar
            crossed += result.verdict != "OPEN" and result.bar in (result.lower, result.upper)
    assert crossed, "no interval ends at its bar, so that nothing is tested"


# Contradictions --------------------------------------------------------------------------------------------------


def changed_places(first=0.8, second=0.4, *, items=400, runs=6, seed=1):
    """Two systems whose labels are swapped half-way."""
    values = panels(first, second, runs=runs, items=items, seed=seed)
    values[runs // 2 :] = values[runs // 2 :, ::-1]
    return values


@pytest.mark.parametrize("kind", ["not_worse_by", "better_by"])
@pytest.mark.parametrize(("first", "second"), [(0.8, 0.4), (0.4, 0.8), (0.7, 0.3)])
def test_two_systems_that_change_places_are_a_contradiction_and_no_verdict(kind, first, second):
    report = gate(policy((kind, 0.02)), table(changed_places(first, second)))
    (result,) = report.results
    assert (result.verdict, report.release, report.exit_code) == ("CONTRADICTION", "contradiction", 5)
    assert result.since > 3
    assert result.outlook is None
    assert result.lower > result.upper or {look.verdict for look in result.looks} >= {"PASS", "FAIL"}
    assert report.contradictions == (result,)
    values = report.to_values()
    assert (values["release"], values["claims"][0]["contradicted"]) == ("contradiction", True)


def test_an_empty_interval_at_any_look_is_a_contradiction_though_one_direction_alone_is_certified():
    """The bounds of all looks together: no later look has an interval that is empty by itself."""
    values = changed_places(0.62, 0.5, runs=30)
    report = gate(policy(("not_worse_by", 0.3)), table(values))
    (result,) = report.results
    assert {look.verdict for look in result.looks} <= {"OPEN", "PASS"}
    assert all(look.lower <= look.upper for look in result.looks)
    assert result.lower > result.upper
    assert (result.verdict, report.release) == ("CONTRADICTION", "contradiction")


def test_a_contradiction_is_reported_from_the_look_at_which_it_appears_and_stays():
    values = changed_places()
    whole = gate(policy(("not_worse_by", 0.02)), table(values)).results[0]
    before = gate(policy(("not_worse_by", 0.02)), table(values[: whole.since - 1])).results[0]
    assert before.verdict == "PASS"
    again = np.concatenate([values, panels(0.8, 0.4, runs=4, items=400, seed=9)])
    later = gate(policy(("not_worse_by", 0.02)), table(again)).results[0]
    assert (later.verdict, later.since) == ("CONTRADICTION", whole.since)


def test_a_contradiction_in_any_view_or_tier_leaves_no_release():
    """The second half of the items changes places; the first half is as it was."""
    values = panels(0.9, 0.2, runs=6, items=200)
    values[3:, :, 100:] = values[3:, ::-1, 100:]
    topics = ("same",) * 100 + ("swapped",) * 100
    claim = {"view": "*", "tier": "info"}
    given = policy(("at_least", 0.05), ("not_worse_by", 0.02, claim), views="topic", when_open="pass")
    report = gate(given, table(values, topic=topics))
    assert {each.claim.view: each.verdict for each in report.results} == {
        "headline": "PASS",
        "same": "PASS",
        "swapped": "CONTRADICTION",
    }
    assert (report.release, report.exit_code) == ("contradiction", 5)
    assert report.to_values()["candidates"] == {"new": "contradiction"}


def test_a_contradiction_outweighs_a_failure_of_another_candidate():
    values = panels(0.9, 0.1, 0.5, runs=6, items=400)
    values[3:, 0] = panels(0.1, runs=3, items=400, seed=3)[:, 0]
    report = gate(policy(("not_worse_by", 0.02), candidates=("new", "bad")), table(values, ("new", "bad", "old")))
    assert (report.release_of("new"), report.release_of("bad")) == ("contradiction", "stop")
    assert report.release == "contradiction"


def test_claims_that_imply_each_other_are_contradicted_together():
    """PASS of the harder claim early, FAIL of the easier one late: neither has both directions by itself."""
    report = gate(policy(("not_worse_by", 0.02), ("better_by", 0.1)), table(changed_places(0.9, 0.3)))
    assert [each.verdict for each in report.results] == ["CONTRADICTION", "CONTRADICTION"]


def test_steady_systems_are_no_contradiction():
    report = gate(policy(("not_worse_by", 0.02)), table(panels(0.9, 0.1)))
    assert report.contradictions == ()
    assert report.to_values()["claims"][0]["contradicted"] is False


def test_all_kinds_pass_and_fail():
    good = table(panels(0.95, 0.05, runs=6))
    bad = table(panels(0.05, 0.95, runs=6))
    given = policy(("not_worse_by", 0.02), ("better_by", 0.1), ("at_least", 0.5), ("cheaper_by", 0.2))
    assert [each.verdict for each in gate(given, good).results] == ["PASS"] * 4
    assert [each.verdict for each in gate(given, bad).results] == ["FAIL"] * 4


# Releases --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when_open", "release", "code"), [("pass", "ship", 0), ("fail", "stop", 1), ("error", "undecided", 3)]
)
def test_what_an_open_claim_means(when_open, release, code):
    report = gate(policy(("not_worse_by", 0.0), when_open=when_open), table(panels(0.5, 0.5)))
    assert [each.verdict for each in report.results] == ["OPEN"]
    assert (report.release, report.exit_code) == (release, code)
    assert report.to_values()["open"] == when_open
    assert len(report.open_blocks) == 1
    assert report.results[0].outlook is not None


@pytest.mark.parametrize("when_open", ["pass", "fail", "error"])
def test_failed_claims_stop_only_if_they_block(when_open):
    bad = table(panels(0.05, 0.95, runs=6))
    for tier, release in (("block", "stop"), ("warn", "ship"), ("info", "ship")):
        given = policy(("not_worse_by", 0.02, {"tier": tier}), when_open=when_open)
        report = gate(given, bad)
        assert report.results[0].verdict == "FAIL"
        assert report.release == release
        open_one = gate(policy(("not_worse_by", 0.0, {"tier": tier}), when_open=when_open), table(panels(0.5, 0.5)))
        assert (open_one.release == "ship") == (tier != "block" or when_open == "pass")


def test_a_failure_outweighs_an_open_claim():
    values = panels(0.05, 0.5, 0.55, runs=6)
    given = policy(("not_worse_by", 0.02), candidates=("*",), when_open="error")
    report = gate(given, table(values, ("bad", "like", "old")))
    assert report.candidates == ("bad", "like")
    assert (report.release_of("bad"), report.release_of("like")) == ("stop", "undecided")
    assert (report.release, report.exit_code) == ("stop", 1)
    assert report.to_values()["candidates"] == {"bad": "stop", "like": "undecided"}


def test_every_model_but_the_baseline():
    values = panels(0.6, 0.5, 0.4)
    star = gate(policy(("not_worse_by", 0.02), candidates=("*",)), table(values, ("a", "old", "b")))
    named = gate(policy(("not_worse_by", 0.02), candidates=("a", "b")), table(values, ("a", "old", "b")))
    assert star.to_values()["claims"] == named.to_values()["claims"]
    floor = gate(policy(("at_least", 0.2), candidates=("*",), baseline=None), table(values, ("a", "old", "b")))
    assert floor.candidates == ("a", "old", "b")


def test_the_keys_of_the_json():
    values = gate(policy(("not_worse_by", 0.0)), table(panels(0.5, 0.5))).to_values()
    assert set(values) == {
        "release", "alpha", "replicates", "items", "baseline", "candidates", "open", "spending", "claims", "notes",
    }  # fmt: skip
    (claim,) = values["claims"]
    assert set(claim) == {
        "candidate", "claim", "kind", "amount", "view", "tier", "verdict", "since", "contradicted", "difference",
        "bounds", "bar", "log_e", "log_e_against", "log_threshold", "more_runs", "needed_items", "needed_amount",
        "looks",
    }  # fmt: skip
    assert set(claim["looks"][0]) == {"replicate", "verdict", "bounds", "difference"}
    assert (values["replicates"], values["items"], len(claim["looks"])) == (4, ITEMS, 4)
    assert claim["since"] is None
    assert claim["more_runs"] >= 1
    assert claim["needed_items"] > ITEMS


def test_the_forecast_of_an_open_claim_is_that_of_its_design():
    """Twice the distance from the bar needs fewer runs, and a claim that is far away needs few."""
    values = panels(0.55, 0.5, runs=2, items=200)
    near, far = (gate(policy(("not_worse_by", amount)), table(values)).results[0] for amount in (0.0, 0.03))
    assert near.verdict == far.verdict == "OPEN"
    assert near.outlook.more_runs > far.outlook.more_runs >= 1
    assert near.outlook.items > far.outlook.items > 200


# Bad input -------------------------------------------------------------------------------------------------------


def refused(given, scores, kind, *words):
    given.__dict__["source"] = "policy.toml"
    with pytest.raises(kind) as caught:
        gate(given, scores)
    for each in words:
        assert each in str(caught.value)


def test_unknown_models_and_views():
    scores = table(panels(0.5, 0.5), topic=TOPICS)
    refused(policy(("better_by", 0.0), candidates=("nwe",)), scores, DesignError, "policy.toml: 'nwe'", "mean 'new'?")
    refused(policy(("better_by", 0.0), baseline="odl"), scores, DesignError, "policy.toml: 'odl'", "mean 'old'?")
    refused(policy(("better_by", 0.0), baseline="zzzz"), scores, DesignError, "there are 'new', 'old'")
    views = policy(("better_by", 0.0), ("at_least", 0.5, {"view": "maths"}), views="topic")
    refused(views, scores, DesignError, "policy.toml, claim 2: 'maths' is not a view", "did you mean 'math'?")
    refused(policy(("better_by", 0.0), views="topics"), scores, DesignError, "no column 'topics'", "'topic'")
    refused(policy(("better_by", 0.0), metric="acc"), scores, DesignError, "no column 'metric'")


@pytest.mark.parametrize(
    ("kind", "amount", "score_range"),
    [
        ("not_worse_by", 1.0, (0.0, 1.0)),
        ("not_worse_by", 2.0, (0.0, 1.0)),
        ("better_by", 1.0, (0.0, 1.0)),
        ("not_worse_by", 10.0, (-5.0, 5.0)),
        ("at_least", 1.0, (0.0, 1.0)),
        ("at_least", 0.0, (0.0, 1.0)),
        ("at_least", 0.5, (1.0, 10.0)),
        ("at_least", 90.0, (0.0, 1.0)),
    ],
)
def test_a_margin_outside_the_score_range_means_nothing(kind, amount, score_range):
    scores = table(panels(0.5, 0.5), score_range=score_range)
    low, high = score_range
    refused(policy((kind, amount)), scores, DomainError, f"policy.toml: {kind} = {amount:g}", f"{low:g} to {high:g}")


def test_margins_just_inside_the_range_are_allowed():
    scores = table(panels(0.5, 0.5), score_range=(0.0, 10.0))
    assert gate(policy(("not_worse_by", 9.9), ("at_least", 9.9)), scores).results[0].verdict == "PASS"


def test_scores_that_a_gate_does_not_take():
    one = table(panels(0.5), ("old",))
    refused(policy(("better_by", 0.0), candidates=("*",)), one, DesignError, "policy.toml", "no model but the baseline")
    stopped = replace(table(panels(0.5, 0.5)), stops=(4, 2))
    refused(policy(("better_by", 0.0)), stopped, DataError, "stopped early")
    values = panels(0.5, 0.5)
    values[0, 0, 0] = np.nan
    refused(policy(("better_by", 0.0)), replace(table(values), gaps="refuse"), DataError, "missing")
    with pytest.raises(DataError, match="no runs yet"):
        Gate(policy(("better_by", 0.0)), table(panels(0.5, 0.5))).report()


def test_copied_runs_are_no_evidence():
    """A run that was copied is not a second run: refused, unless the policy says that repeated scores count."""
    values = np.repeat(panels(0.6, 0.5, runs=1), 3, axis=0)
    with pytest.raises(CopiedReplicateError, match="same score"):
        gate(policy(("better_by", 0.0)), table(values))
    report = gate(policy(("better_by", 0.0), copies="allow"), table(values))
    assert any("were counted" in note for note in report.notes)
