"""Claims about new items: what designs refuse, how levels are shared, and how runs become scores."""

import math
from itertools import combinations

import numpy as np
import pytest

import bbedge
from bbedge import Design
from bbedge.core.certifier import Certifier
from bbedge.core.checkpoints import Checkpoints
from bbedge.core.evidence import Evidence
from bbedge.core.evidence_set import EvidenceSet
from bbedge.errors import DataError, DesignError

ITEMS = [f"q{i}" for i in range(40)]


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def runs(rng, count, *, gap=0.2, models=3):
    chances = 0.4 + gap * np.arange(models)[:, None] / models + rng.normal(0, 0.1, (models, len(ITEMS)))
    return (rng.random((count, models, len(ITEMS))) < np.clip(chances, 0, 1)).astype(float)


@pytest.mark.parametrize(
    "given",
    [
        {"prediction": "two-way"},
        {"mean_share": 0.1},
        {"evidence": "bernstein"},
        {"evidence": "hoeffding"},
        {"holm": "staggered"},
        {"stakes": "paper"},
        {"grid": [0.1, 0.5]},
        {"checkpoints": Checkpoints(order_seed=1, fractions=(0.5,))},
    ],
)
def test_what_is_about_these_items_alone_is_refused(given):
    with pytest.raises(DesignError):
        Design.make(["a", "b"], ITEMS, target="new-items", **given)


def test_runs_that_make_one_score_have_no_looks_inside_the_first():
    with pytest.raises(DesignError, match="of_runs"):
        Design.make(["a", "b"], ITEMS, of_runs="all:2", checkpoints=Checkpoints(order_seed=1, fractions=(0.5,)))


def test_evidence_of_these_items_alone_is_not_made_for_a_design_about_others():
    with pytest.raises(DesignError, match="new items"):
        Evidence(Design.make(["a", "b"], ITEMS, target="new-items"))
    with pytest.raises(DesignError, match="several runs"):
        Evidence(Design.make(["a", "b"], ITEMS, of_runs="all:2")).update(np.zeros((2, len(ITEMS))))


def test_both_targets_are_what_each_is_at_half_of_alpha(rng):
    panels = runs(rng, 5)
    weights = {"front": [1.0] * 20 + [0.0] * 20}
    options = {"views": weights, "equal_within": 0.02, "tau": 0.01}
    both = Certifier(Design.make(["a", "b", "c"], ITEMS, target="both", alpha=0.1, **options))
    apart = [
        Certifier(Design.make(["a", "b", "c"], ITEMS, target=target, alpha=0.05, **options))
        for target in ("benchmark", "new-items")
    ]
    for panel in panels:
        for each in (both, *apart):
            each.update(panel)
    whole = both.leaderboard()
    found = [whole, *whole.views]
    alone = [view for each in apart for view in (each.leaderboard(), *each.leaderboard().views)]
    assert [view.name for view in found] == [None, "front", "new items", "front (new items)"]
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_array_equal(one.log_e, other.log_e)
        np.testing.assert_array_equal(one.lower_bounds, other.lower_bounds)
        np.testing.assert_array_equal(one.first_certified, other.first_certified)
        np.testing.assert_array_equal(one.log_thresholds, other.log_thresholds)
        assert one.looks == other.looks


def test_a_design_that_plans_one_run_has_the_evidence_of_the_benchmark(rng):
    (panel,) = runs(rng, 1)
    certified = [
        bbedge.certify(bbedge.Scores.of(panel, models=["a", "b", "c"], items=ITEMS), planned=1, target=target)
        for target in ("benchmark", "new-items")
    ]
    np.testing.assert_allclose(certified[0].log_e, certified[1].log_e, rtol=1e-12, atol=1e-10)


def test_nothing_is_certified_between_looks(rng):
    certifier = Certifier(Design.make(["a", "b", "c"], ITEMS, target="new-items", looks=(2, 4)))
    counts, values = [], []
    for panel in runs(rng, 5, gap=1.0):
        look = certifier.update(panel)
        counts.append(int(look.edges.sum()))
        values.append(look.log_e[2, 0])
    assert counts[0] == 0
    assert values[0] < -1e299
    assert (counts[1], values[1]) == (counts[2], values[2])
    assert (counts[3], values[3]) == (counts[4], values[4])
    assert values[1] < values[3]  # the evidence only grows
    assert [look.replicate for look in certifier.leaderboard().looks] == [2, 4]


def test_k_runs_are_one_replicate_of_these_items(rng):
    panels = runs(rng, 7)
    grouped = Certifier(Design.make(["a", "b", "c"], ITEMS, of_runs="all:3"))
    single = Certifier(Design.make(["a", "b", "c"], ITEMS))
    for panel in panels:
        grouped.update(panel)
    for start in (0, 3):
        single.update(panels[start : start + 3].min(axis=0))
    found, expected = grouped.leaderboard(), single.leaderboard()
    np.testing.assert_array_equal(found.log_e, expected.log_e)
    assert found.replicates == 7  # the last one waits for two more
    assert [look.replicate for look in found.looks] == [3, 6]
    resumed = Certifier.from_bytes(grouped.evidence.design, grouped.to_bytes())
    for panel in panels[:2]:
        grouped.update(panel)
        resumed.update(panel)
    np.testing.assert_array_equal(resumed.leaderboard().log_e, grouped.leaderboard().log_e)
    assert [look.replicate for look in resumed.leaderboard().looks] == [3, 6, 9]


def test_k_of_r_runs_are_the_mean_over_all_choices(rng):
    values = rng.random((6, 2, len(ITEMS)))
    for kind, best in (("all", min), ("any", max)):
        evidence = EvidenceSet(Design.make(["a", "b"], ITEMS, target="new-items", of_runs=f"{kind}:3"))
        for panel in values:
            evidence.update(panel)
        choices = list(combinations(range(6), 3))
        expected = [
            np.mean([[best(values[list(choice), m, i]) for i in range(len(ITEMS))] for choice in choices])
            for m in range(2)
        ]
        np.testing.assert_allclose(evidence.headline.means, expected, rtol=1e-12)


def test_missing_scores_count_against_whoever_they_could_help_before_runs_are_joined(rng):
    values = rng.random((4, 2, len(ITEMS)))
    values[1, 0, :7] = np.nan
    values[2, 1, 3:9] = np.nan
    design = Design.make(["a", "b"], ITEMS, target="both", gaps="worst-case", of_runs="all:2", looks=(4,))
    certifier = Certifier(design)
    for panel in values:
        certifier.update(panel)
    low, high = np.nan_to_num(values, nan=0.0), np.nan_to_num(values, nan=1.0)
    hard = [np.stack([low[:, 0], high[:, 1]], axis=1), np.stack([high[:, 0], low[:, 1]], axis=1)]
    for (a, b), filled in zip(((0, 1), (1, 0)), hard, strict=True):
        whole = Certifier(Design.make(["a", "b"], ITEMS, target="both", of_runs="all:2", looks=(4,)))
        for panel in filled:
            whole.update(panel)
        for found, expected in zip(certifier.views, whole.views, strict=True):
            assert float(found.log_e()[a, b]) == pytest.approx(float(expected.log_e()[a, b]), abs=1e-9)
            assert float(found.lower_bounds()[a, b]) == pytest.approx(float(expected.lower_bounds()[a, b]), abs=1e-9)


def test_a_stopped_model_keeps_what_it_had(rng):
    panels = runs(rng, 4, gap=1.0)
    certifier = Certifier(Design.make(["a", "b", "c"], ITEMS, target="both"))
    for panel in panels[:2]:
        certifier.update(panel)
    before = certifier.leaderboard()
    certifier.stop(["a"])
    for panel in panels[2:]:
        certifier.update(panel[1:])
    after = certifier.leaderboard()
    for one, other in zip((before, *before.views), (after, *after.views), strict=True):
        np.testing.assert_array_equal(one.log_e[0], other.log_e[0])
        np.testing.assert_array_equal(one.lower_bounds[:, 0], other.lower_bounds[:, 0])
        assert one.means[0] == other.means[0]
    assert after.views[0].log_e[2, 1] != before.views[0].log_e[2, 1]
    resumed = Certifier.from_bytes(after.design, certifier.to_bytes())
    np.testing.assert_array_equal(resumed.leaderboard().views[0].lower_bounds, after.views[0].lower_bounds)


def test_equal_runs_are_a_note_where_they_can_do_no_harm(rng):
    (panel,) = runs(rng, 1)
    scores = bbedge.Scores.of(np.stack([panel] * 3), models=["a", "b", "c"], items=ITEMS)
    with pytest.raises(DataError):
        bbedge.certify(scores)
    with pytest.raises(DataError):
        bbedge.certify(scores, target="both")
    with pytest.raises(DataError):
        bbedge.certify(scores, target="new-items", of_runs="all:3")
    once = bbedge.certify(bbedge.Scores.of(panel, models=["a", "b", "c"], items=ITEMS), target="new-items", looks=(1,))
    often = bbedge.certify(scores, target="new-items", looks=(3,))
    np.testing.assert_allclose(often.log_e, once.log_e, rtol=1e-12, atol=1e-9)
    assert [note.kind for note in often.notes] == ["copies"]
    assert not math.isnan(often.log_e[0, 1])
