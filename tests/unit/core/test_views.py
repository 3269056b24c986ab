"""Several views under one alpha: their shares, their evidence, and what is certified of them together."""

import itertools
import math

import numpy as np
import pytest

import oracle
from bbedge import Design, Scores, certify
from bbedge.core.certifier import Certifier
from bbedge.core.evidence import Evidence
from bbedge.core.evidence_set import EvidenceSet
from bbedge.core.stakes import StakeSize, design_entries, fitted_stakes, wide_max
from bbedge.core.views import allot_shares, category_weights, macro_weights
from bbedge.errors import DataError, DesignError, DomainError

LABELS = ["code"] * 3 + ["math"] * 5
ITEMS = [f"q{i}" for i in range(len(LABELS))]
MODELS = ["m0", "m1", "m2"]
VIEWS = category_weights(LABELS)


def design(n_models=3, **options):
    return Design.make(MODELS[:n_models], ITEMS, **({"views": VIEWS} | options))


def panels_of(seed, looks, means):
    rng = np.random.default_rng(seed)
    return (rng.random((looks, len(means), len(ITEMS))) < np.array(means)[:, None]).astype(float)


# Shares ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "given", "expected"),
    [
        ([], None, [1.0]),
        (["a"], None, [0.5, 0.5]),
        (["a", "b", "c", "d"], None, [0.5, 0.125, 0.125, 0.125, 0.125]),
        (["a", "b", "c"], {"a": 0.3}, [0.35, 0.3, 0.175, 0.175]),
        (["a", "b"], {"headline": 0.8}, [0.8, 0.1, 0.1]),
        (["a", "b"], {"a": 0.3, "b": 0.2}, [0.5, 0.3, 0.2]),
        (["a"], {"headline": 0.9, "a": 0.1}, [0.9, 0.1]),
    ],
)
def test_shares(names, given, expected):
    assert list(allot_shares(names, given).values()) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"c": 0.1}, "no view 'c'"),
        ({"a": 0.0}, "share of 0.0"),
        ({"a": math.nan}, "share of nan"),
        ({"a": 0.7, "b": 0.5}, "leaves nothing"),
        ({"a": 0.5, "b": 0.5}, "leaves nothing"),
        ({"headline": 0.2, "a": 0.2, "b": 0.2}, "add up to 0.6"),
    ],
)
def test_impossible_shares(given, message):
    with pytest.raises((DesignError, DomainError), match=message):
        allot_shares(["a", "b"], given)


def test_macro_weights_are_those_of_the_mean_of_category_means():
    values = np.random.default_rng(0).random(len(LABELS))
    means = [values[[label == name for label in LABELS]].mean() for name in ("code", "math")]
    assert np.average(values, weights=macro_weights(LABELS)) == pytest.approx(np.mean(means))


# The design ------------------------------------------------------------------------------------------------------


def test_an_empty_view_changes_nothing():
    empty = design(views=VIEWS | {"empty": [0.0] * len(ITEMS)}, shares={"empty": 0.3})
    assert empty == design()
    assert empty.hash == design().hash


def test_every_view_has_the_stakes_of_its_size_and_share():
    made = design(shares={"math": 0.3})
    assert tuple(part.share for part in made.parts) == pytest.approx((0.35, 0.35, 0.3))
    for part, share, items in zip(made.parts, (0.35, 0.35, 0.3), (8, 3, 5), strict=True):
        size = StakeSize(
            alpha=made.certificate_alpha, cap=wide_max(0.5), n_directions=6 / share, effective_blocks=items
        )
        grid = fitted_stakes(size)
        np.testing.assert_allclose(part.grid.values, grid.values)
        assert part.holm == "staggered"
        assert not part.views


def test_the_hash_sees_views_shares_weights_and_the_rule_for_missing_scores():
    hashes = {
        Design.make(MODELS, ITEMS).hash,
        design().hash,
        design(shares={"math": 0.3}).hash,
        design(gaps="worst-case").hash,
        Design.make(MODELS, ITEMS, gaps="worst-case").hash,
        design(weights=macro_weights(LABELS)).hash,
    }
    assert len(hashes) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"views": {"headline": [1.0] * 8}}, "cannot be called headline"),
        ({"views": {"short": [1.0]}}, "view 'short': 8 items but 1 weights"),
        ({"views": {"below": [-1.0] * 8}}, "view 'below': weight -1.0"),
        ({"views": {"": [1.0] * 8}}, "every view needs a name"),
        ({"gaps": "mean"}, "unknown rule for missing scores 'mean'"),
    ],
)
def test_impossible_views(options, message):
    with pytest.raises((DesignError, DomainError), match=message):
        Design.make(MODELS, ITEMS, **options)


def test_evidence_of_one_view_refuses_a_design_with_several():
    with pytest.raises(DesignError, match="several views"):
        Evidence(design())


# What is certified -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "n_models", "means", "options"),
    [
        (1, 2, (0.8, 0.3), {}),
        (2, 2, (0.8, 0.3), {"shares": {"math": 0.9}, "planned": 8}),
        (3, 2, (0.9, 0.2), {"weights": macro_weights(LABELS), "margin_share": 0.2, "tau": 0.05}),
        (4, 3, (0.95, 0.5, 0.1), {"views": {"math": VIEWS["math"]}, "evidence": "sharp"}),
    ],
)
def test_staggered_e_holm_over_views_is_that_of_every_set(seed, n_models, means, options):
    made = design(n_models, **({"margin_share": 0.0, "stakes": "design"} | options))
    looks = 7 if n_models == 3 else 16
    panels = panels_of(seed, looks, means)
    certifier, found = Certifier(made), []
    for panel in panels:
        certifier.update(panel)
        found.append(
            {
                (view, int(a), int(b))
                for view, look in enumerate(certifier.last_looks)
                for a, b in np.argwhere(look.edges)
            }
        )
    by_look = [
        {
            (view, a, b): stake_logs(part, panels[:r], a, b)
            for view, part in enumerate(made.parts)
            for a, b in itertools.permutations(range(n_models), 2)
        }
        for r in range(1, looks + 1)
    ]
    wanted = oracle.staggered(
        by_look,
        design_entries(made.planned),
        made.grid.weights,
        made.certificate_alpha,
        tuple(part.share for part in made.parts),
    )
    assert found == wanted
    assert {edge[0] for edge in wanted[-1]} >= {0, 1}


def stake_logs(part, panels, a, b):
    """The oracle knows no weights: copies of items inside their block are the same, with whole numbers."""
    weights = [1.0] * len(part.items) if part.weights is None else part.weights
    times = np.rint(np.array(weights) * 30 / max(weights)).astype(int)
    if len(set(times)) == 2 and 0 in times:
        times = (times > 0).astype(int)
    if len(set(times)) == 1:
        times = np.ones_like(times)
    spread = np.repeat(np.arange(len(part.items)), times)
    setting = oracle.Setting(
        blocks=tuple(np.unique(spread, return_inverse=True)[1].tolist()),
        tau=part.tau,
        kind=part.evidence,
        prediction=part.prediction,
        stakes=part.grid.values,
        weights=part.grid.weights,
    )
    return oracle.stake_logs(setting, [panel[:, spread].tolist() for panel in panels], a, b)


@pytest.mark.parametrize("method", ["bb-edge", "bb-edge-x"])
@pytest.mark.parametrize("looks", [1, 5])
def test_a_view_is_its_category_alone_at_its_share(method, looks):
    """The same evidence and margins; and e-Holm over all views finds what each finds alone, or more."""
    made = design(method=method, shares={"math": 0.2})
    panels = panels_of(5, looks, (0.95, 0.5, 0.1))
    certifier = Certifier(made)
    for panel in panels:
        certifier.update(panel)
    kept = [place for place, label in enumerate(LABELS) if label == "math"]
    alone = certify(
        Scores.of(panels[:, :, kept], models=MODELS, items=[ITEMS[i] for i in kept]),
        alpha=0.05 * 0.2,
        method=method,
    )
    view = certifier.leaderboard().view("math")
    np.testing.assert_allclose(view.log_e, alone.log_e, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(view.lower_bounds, alone.lower_bounds, rtol=0, atol=1e-9)
    np.testing.assert_allclose(view.means, alone.means)
    assert (view.edges | ~alone.edges).all()


def test_names_and_order_of_views_do_not_matter():
    panels = panels_of(6, 6, (0.9, 0.5, 0.2))
    renamed = {"x": VIEWS["math"], "y": VIEWS["code"]}
    first, second = (certify_panels(design(views=views), panels) for views in (VIEWS, renamed))
    for one, other in ((first, second), (first.view("math"), second.view("x")), (first.view("code"), second.view("y"))):
        np.testing.assert_allclose(one.log_e, other.log_e, rtol=1e-12)
        np.testing.assert_allclose(one.log_w, other.log_w, rtol=1e-9)
        np.testing.assert_array_equal(one.edges, other.edges)


def certify_panels(made, panels):
    certifier = Certifier(made)
    for panel in panels:
        certifier.update(panel)
    return certifier.leaderboard()


def test_a_view_costs_the_headline_evidence_and_never_more():
    panels = panels_of(7, 4, (0.9, 0.5, 0.2))
    with_views = certify_panels(design(method="bb-edge"), panels)
    plain = certify_panels(Design.make(MODELS, ITEMS, method="bb-edge"), panels)
    np.testing.assert_allclose(with_views.log_e, plain.log_e, rtol=1e-12)
    tested = plain.design.tested
    assert (with_views.log_thresholds[tested] > plain.log_thresholds[tested]).all()
    assert (with_views.log_thresholds[tested] < plain.log_thresholds[tested] + math.log(2.0) + 1e-9).all()


def test_unknown_views_are_named():
    leaderboard = certify_panels(design(), panels_of(8, 1, (0.9, 0.5, 0.2)))
    with pytest.raises(DesignError, match="'art' is not a view of this leaderboard; its views: 'code', 'math'"):
        leaderboard.view("art")
    with pytest.raises(DesignError, match="none besides the headline"):
        leaderboard.view("math").view("code")


@pytest.mark.parametrize("kind", ["bernstein", "sharp"])
@pytest.mark.parametrize("binary", [True, False])
def test_sums_that_views_hand_on_are_those_that_the_headline_computes(kind, binary):
    """Views that share whole blocks with the headline, some of them with each other, and one that cuts a block."""
    rng = np.random.default_rng(9)
    blocks = ["a", "a", "b", "c", "c", "d", "e", "f"]
    views = {
        "left": [1, 1, 1, 0, 0, 0, 0, 0],
        "right": [0, 0, 0, 1, 1, 1, 1, 1],
        "again": [0, 0, 0, 0, 0, 1, 1, 0],
        "cut": [1, 0, 0, 0, 0, 0, 0, 0],
    }
    stakes = "design" if kind == "sharp" else "paper"
    made = Design.make(MODELS, ITEMS, blocks=blocks, views=views, evidence=kind, tau=0.02, stakes=stakes)
    together, apart = EvidenceSet(made), [Evidence(part) for part in made.parts]
    for _ in range(4):
        panel = rng.random((3, 8))
        panel = np.round(panel) if binary else panel
        together.update(panel)
        for evidence in apart:
            evidence.update(panel)
    for one, other in zip(together.views, apart, strict=True):
        np.testing.assert_allclose(one.log_e(), other.log_e(), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(one.lower_bounds(), other.lower_bounds(), rtol=1e-11, atol=1e-11)


def test_saved_states_of_other_views_are_refused():
    panels = panels_of(10, 2, (0.9, 0.5, 0.2))
    certifier = Certifier(design())
    for panel in panels:
        certifier.update(panel)
    state = certifier.to_bytes()
    assert (
        Certifier.from_bytes(design(), state).leaderboard().view("math").looks
        == certifier.leaderboard().view("math").looks
    )
    for other in (design(shares={"math": 0.3}), design(views={"math": VIEWS["math"]}), Design.make(MODELS, ITEMS)):
        with pytest.raises(DesignError, match="another design"):
            Certifier.from_bytes(other, state)
    only_headline = Certifier(Design.make(MODELS, ITEMS)).to_bytes()
    with pytest.raises((DesignError, DataError)):
        Certifier.from_bytes(design(), only_headline)
