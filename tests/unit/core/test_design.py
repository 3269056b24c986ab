import numpy as np
import pytest

from bbedge.core import design as module
from bbedge.core.design import Design, Family
from bbedge.core.stakes import given_stakes
from bbedge.errors import BbedgeError, DesignError, DomainError
from bbedge.records.values import changed

MODELS = ["a", "b", "c"]
ITEMS = ["q1", "q2", "q3", "q4"]


def make(**options):
    return Design.make(options.pop("models", MODELS), options.pop("items", ITEMS), **({"method": "bb-edge"} | options))


# What is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 1.5, float("nan"), float("inf")])
def test_alpha_outside_the_open_unit_interval(alpha):
    with pytest.raises(DomainError, match=r"alpha=.* is not allowed; choose a number above 0 and below 1"):
        make(alpha=alpha)


@pytest.mark.parametrize("tau", [-0.01, 1.0, 2.0, float("nan")])
def test_tau_outside_its_range(tau):
    with pytest.raises(DomainError, match=r"tau=.* is not allowed; choose "):
        make(tau=tau)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"models": ["a", "b", "a"]}, DesignError, "model 'a' is named twice"),
        ({"items": ["q", "r", "q"]}, DesignError, "item 'q' is named twice"),
        ({"models": ["a"]}, DesignError, "1 models given; at least 2 needed"),
        ({"models": []}, DesignError, "0 models given"),
        ({"items": []}, DesignError, "0 items given; at least 1 needed"),
        ({"models": ["a", ""]}, DesignError, "every model needs a name"),
        ({"items": ["q", 3]}, DesignError, "every item needs a name"),
        ({"blocks": ["x", "y"]}, DesignError, "4 items but 2 block labels"),
        ({"blocks": "dialogue"}, DomainError, "unknown block rule 'dialogue'; choose one of item, one"),
        ({"method": "bb-edge-y"}, DomainError, "method='bb-edge-y' is not allowed; choose one of bb-edge, bb-edge-x"),
        ({"evidence": "bayes"}, DomainError, "evidence='bayes' is not allowed"),
        ({"prediction": "oracle"}, DomainError, "prediction='oracle' is not allowed"),
        ({"stakes": "guess"}, DomainError, "stakes='guess' is not allowed"),
        ({"grid": []}, DomainError, "stake grid is empty"),
        ({"grid": [0.5, -0.5]}, DomainError, r"stake -0\.5 is not allowed"),
        ({"candidate": ["z"]}, DesignError, "candidate names 'z', which is not a model"),
        ({"candidate": []}, DesignError, "candidate of 0 of 3 models"),
        ({"candidate": ["a", "b", "c"]}, DesignError, "candidate of 3 of 3 models"),
        ({"score_range": (1.0, 0.0)}, DomainError, r"score_range=\(1\.0, 0\.0\) is not allowed"),
        ({"score_range": (0.0, float("inf"))}, DomainError, "score_range="),
    ],
)
def test_designs_that_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        make(**options)


@pytest.mark.parametrize("evidence", ["bernstein", "hoeffding"])
def test_wide_stakes_need_sharp_or_betting_evidence(evidence):
    with pytest.raises(DesignError, match=f"too wide for {evidence} evidence"):
        make(evidence=evidence, stakes="design")
    with pytest.raises(DesignError, match=f"too wide for {evidence} evidence"):
        make(evidence=evidence, grid=[0.5, 0.9500001])
    assert make(evidence=evidence, grid=[0.5, 0.95]).grid.values == (0.5, 0.95)


@pytest.mark.parametrize("evidence", ["sharp", "betting"])
def test_stakes_are_bounded_by_what_keeps_factors_positive(evidence):
    assert make(evidence=evidence, grid=[1.9]).grid.is_wide
    with pytest.raises(DesignError, match=r"stake 1\.91 is too wide; at tau = 0\.0 at most 1\.9"):
        make(evidence=evidence, grid=[1.91])
    with pytest.raises(DesignError, match=r"stake 1\.9 is too wide; at tau = 0\.3"):
        make(evidence=evidence, grid=[1.9], tau=0.3)


def test_every_refusal_is_a_bbedge_error_and_a_value_error():
    for error in (DomainError, DesignError):
        assert issubclass(error, BbedgeError)
        assert issubclass(error, ValueError)


# What a method prescribes ----------------------------------------------------------------------------------------


def test_bb_edge():
    design = make()
    assert (design.method, design.evidence, design.prediction) == ("bb-edge", "bernstein", "running-mean")
    assert design.stakes == "paper"
    assert len(design.grid.values) == 41
    assert (design.alpha, design.tau, design.family.kind) == (0.05, 0.0, "all")


def test_bb_edge_x():
    design = make(method="bb-edge-x")
    assert (design.evidence, design.prediction, design.stakes) == ("betting", "running-mean", "fitted")
    assert (len(design.grid.values), len(design.grid.horizons), len(design.grid.weights)) == (5, 7, 12)


def test_bb_edge_x_falls_back_to_sharp_exactly_beyond_the_limit(monkeypatch):
    triples = 6 * 4 * 12
    monkeypatch.setattr(module, "BETTING_LIMIT", triples)
    assert make(method="bb-edge-x").evidence == "betting"
    monkeypatch.setattr(module, "BETTING_LIMIT", triples - 1)
    assert make(method="bb-edge-x").evidence == "sharp"
    assert make(method="bb-edge-x", blocks="one").evidence == "betting"
    assert make(method="bb-edge-x", candidate=["a"]).evidence == "betting"
    assert make(method="bb-edge-x", evidence="betting").evidence == "betting"


def test_a_method_may_be_overridden_in_parts():
    design = make(method="bb-edge-x", evidence="sharp", prediction="two-way", stakes="paper")
    assert (design.evidence, design.prediction, design.stakes) == ("sharp", "two-way", "paper")


def test_blocks():
    assert make().layout.count == 4
    assert make(blocks="one").layout.count == 1
    assert make(blocks=["x", "y", "x", "y"]).layout.sizes.tolist() == [2, 2]


def test_design_stakes_see_the_blocks_the_level_and_the_family():
    values = [
        make(method="bb-edge-x", stakes="design", **options).grid.values[-1]
        for options in ({}, {"blocks": "one"}, {"alpha": 0.01}, {"candidate": ["a"]})
    ]
    assert len(set(values)) == 4
    # Last stake: sqrt(2 log(H / alpha) / (25 M)), with six directions and four blocks, at the certificates' level.
    assert values[0] == pytest.approx((2 * np.log(6 / 0.04) / (25 * 4)) ** 0.5, rel=1e-12)
    assert values[3] == pytest.approx((2 * np.log(2 / 0.04) / (25 * 4)) ** 0.5, rel=1e-12)
    # With four replicates planned, kappa ends at 1; with two thousand, at 125.
    for planned, most in ((4, 1.0), (100, 25.0), (400, 25.0), (2000, 125.0)):
        last = make(method="bb-edge-x", stakes="design", planned=planned).grid.values[-1]
        assert last == pytest.approx(min(1.9, (2 * np.log(6 / 0.04) / (most * 4)) ** 0.5), rel=1e-12)


# Methods ---------------------------------------------------------------------------------------------------------


def test_the_default_is_bb_edge_x():
    design = Design.make(MODELS, ITEMS)
    assert (design.method, design.margin_share, design.holm) == ("bb-edge-x", 0.2, "staggered")
    assert design.certificate_alpha == pytest.approx(0.04)
    assert design.margin_alpha == pytest.approx(0.01)
    assert design.certificate_alpha + design.margin_alpha <= design.alpha
    assert design.is_joint
    assert design.has_memory


def test_bb_edge_stays_as_published():
    design = make()
    assert (design.margin_share, design.holm, design.planned) == (0.0, "direct", None)
    assert (design.certificate_alpha, design.margin_alpha) == (0.05, 0.05)
    assert not design.is_joint
    assert not design.has_memory


@pytest.mark.parametrize(
    "options",
    [
        {"method": "bb-edge-x", "holm": "direct", "margin_share": 0.0},
        {"method": "bb-edge", "evidence": "betting", "stakes": "design"},
    ],
)
def test_direct_e_holm_with_the_stakes_of_bb_edge_x_is_said_by_options(options):
    design = Design.make(["a", "b", "c"], ["q1", "q2", "q3"], **options)
    assert design.grid.values[-1] == pytest.approx(0.3573044170930271, rel=1e-15)
    assert (design.holm, design.margin_share, design.certificate_alpha) == ("direct", 0.0, 0.05)
    assert design.has_memory == (design.method == "bb-edge-x")


def test_without_a_share_margins_have_alpha_for_themselves():
    design = make(method="bb-edge-x", margin_share=0)
    assert (design.certificate_alpha, design.margin_alpha, design.is_joint) == (0.05, 0.05, False)


def test_staggered_e_holm_is_for_designs_up_to_a_size(monkeypatch):
    monkeypatch.setattr(module, "STAGGERED_LIMIT", 6)
    assert make(method="bb-edge-x").holm == "staggered"
    monkeypatch.setattr(module, "STAGGERED_LIMIT", 5)
    assert make(method="bb-edge-x").holm == "direct"
    assert make(method="bb-edge-x", holm="staggered").holm == "staggered"
    assert make(method="bb-edge-x", stakes="paper").holm == "direct"


def test_what_bb_edge_x_has_of_its_own_is_in_the_hash():
    made = [
        {},
        {"margin_share": 0.0},
        {"margin_share": 0.3},
        {"holm": "direct"},
        {"planned": 3},
        {"planned": 4},
        {"holm": "direct", "margin_share": 0.0},
    ]
    published = make(method="bb-edge", evidence="betting", stakes="design")  # shows the last look, not what stands
    hashes = {make(method="bb-edge-x", **options).hash for options in made} | {published.hash}
    assert len(hashes) == len(made) + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "bb-edge", "margin_share": 0.2}, "margin_share=0.2 is not part of bb-edge; leave"),
        ({"method": "bb-edge", "planned": 3}, "planned=3 is not part of bb-edge; leave"),
        ({"method": "bb-edge", "holm": "staggered"}, "holm='staggered' is not part of bb-edge; leave"),
        ({"margin_share": 1.0}, "margin_share=.* choose a number of at least 0 and below 1"),
        ({"margin_share": float("nan")}, "margin_share=.* choose a number of at least 0 and below 1"),
        ({"planned": 0}, "a whole number of at least 1"),
        ({"planned": 2.5}, "a whole number of at least 1"),
        ({"planned": 3, "stakes": "paper"}, "has no meaning with paper stakes"),
        ({"holm": "staggered", "stakes": "paper"}, "needs fitted or design stakes"),
    ],
)
def test_what_a_method_does_not_have_is_refused(options, message):
    with pytest.raises(BbedgeError, match=message):
        make(**({"method": "bb-edge-x"} | options))


# Families --------------------------------------------------------------------------------------------------------


def test_all_directions():
    assert make().tested.tolist() == (~np.eye(3, dtype=bool)).tolist()
    assert make().n_directions == 6


def test_a_cross_set_family_tests_only_from_the_candidate_outwards():
    design = make(models=["a", "b", "c", "d"], candidate=["d", "b"])
    tested = {(design.models[i], design.models[j]) for i, j in np.argwhere(design.tested)}
    assert tested == {("b", "a"), ("b", "c"), ("d", "a"), ("d", "c")}
    assert design.n_directions == 4
    assert design.family == Family(kind="cross-set", candidate=("b", "d"))


# The hash --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("candidate", [None, ["a"], ["d", "b", "b"]])
@pytest.mark.parametrize("newcomer", [None, "c"])
def test_directions_are_counted_as_the_mask_has_them_and_the_mask_can_be_had_in_parts(candidate, newcomer):
    design = Design.make("abcde", ["q"], candidate=candidate, newcomer=newcomer, method="bb-edge")
    assert design.n_directions == np.count_nonzero(design.tested)
    part = design.family.mask(design.models, slice(1, 4), slice(2, 5))
    np.testing.assert_array_equal(part, design.tested[1:4, 2:5])


def test_the_hash_of_one_design_is_pinned():
    # Written down once: another platform, Python or release that gives another value breaks every saved design.
    plain = Design.make(["a", "b"], ["q1", "q2", "q3"], blocks=["d1", "d1", "d2"], method="bb-edge")
    assert plain.hash == "b0d91a38a4129c4c3fe7327f5aeb4a29bd7fd796f67191a58e7215f187b88b9a"
    rich = Design.make(
        ["é", "b", 'c"\n'],
        ["q1", "q2"],
        alpha=0.1,
        tau=0.03,
        evidence="sharp",
        prediction="two-way",
        grid=[0.1, 1.2],
        candidate=["b"],
        score_range=(0, 10),
        method="bb-edge",
    )
    assert rich.hash == "9fa231b5b4f0e5728530e4c070b4e95cecab35e5f8ae1db9e52143393240b654"


def test_the_hash_does_not_see_order_or_block_labels():
    one = make(blocks=["x", "x", "y", "z"], candidate=["a", "b"])
    two = make(models=["c", "a", "b"], items=["q4", "q2", "q1", "q3"], blocks=[7, 1, 1, 2], candidate=["b", "a"])
    assert one.hash == two.hash
    assert make(blocks="one").hash == make(blocks=["k"] * 4).hash
    assert make(blocks="item").hash == make(blocks=["1", "2", "3", "4"]).hash


def test_the_hash_changes_with_every_field():
    base = make(evidence="sharp")
    others = [
        make(evidence="sharp", models=["a", "b", "d"]),
        make(evidence="sharp", items=["q1", "q2", "q3", "q5"]),
        make(evidence="sharp", items=ITEMS[:3]),
        make(evidence="sharp", blocks=["x", "x", "y", "z"]),
        make(evidence="sharp", blocks=["x", "y", "y", "z"]),
        make(evidence="sharp", alpha=0.04),
        make(evidence="sharp", tau=0.001),
        make(evidence="betting"),
        make(evidence="sharp", prediction="two-way"),
        make(evidence="sharp", stakes="design"),
        make(evidence="sharp", grid=[0.5]),
        make(evidence="sharp", grid=[0.5, 0.6]),
        make(evidence="sharp", grid=given_stakes((0.5, 0.6), (0.25, 0.75))),
        make(evidence="sharp", candidate=["a"]),
        make(evidence="sharp", candidate=["b"]),
        make(evidence="sharp", score_range=(0.0, 10.0)),
    ]
    hashes = [design.hash for design in (base, *others)]
    assert len(set(hashes)) == len(hashes)


def test_names_cannot_be_rearranged_into_the_same_hash():
    assert make(items=["q1", "q2"], blocks=["x", "x"]).hash != make(items=["q1", "q2"], blocks=["x", "y"]).hash
    assert make(models=["a", "b,c"]).hash != make(models=["a,b", "c"]).hash


def test_a_stake_grid_that_only_claims_a_rule_does_not_share_its_hash():
    # The hash writes a named rule instead of its values, so the values must be those of the rule.
    for rule in ("paper", "design"):
        real = make(evidence="betting", stakes=rule)
        with pytest.raises(DesignError, match=f"these are not the {rule} stakes"):
            changed(real, grid=given_stakes((0.5,)))
        assert make(evidence="betting", grid=(0.5,)).hash != real.hash


def test_naming_a_candidate_twice_is_naming_it_once():
    assert make(candidate=["a", "a"]).hash == make(candidate=["a"]).hash


# Frozen ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", Design.__struct_fields__)
def test_a_design_cannot_be_changed(field):
    design = make()
    with pytest.raises(AttributeError):
        setattr(design, field, getattr(design, field))


def test_a_design_is_validated_however_it_is_made():
    with pytest.raises(DomainError, match="alpha"):
        changed(make(), alpha=2.0)
    with pytest.raises(DesignError, match="too wide"):
        changed(make(), stakes="given", grid=given_stakes((1.5,)))


def test_designs_compare_by_content():
    assert make() == make()
    assert make() != make(alpha=0.1)
    assert make(tau=0.04).mu0 == 0.52


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "2 items but 1 weights"),
        ([1.0, -1.0], "weight -1.0 of item"),
        ([1.0, float("nan")], "weight nan of item"),
        ([float("inf"), 1.0], "weight inf of item"),
        ([0.0, 0.0], "every item has weight 0"),
    ],
)
def test_weights_are_checked(weights, message):
    with pytest.raises(ValueError, match=message):
        Design.make(["a", "b"], ["q1", "q2"], weights=weights)


def test_weights_are_part_of_the_content_by_item():
    assert Design.make(["a", "b"], ["q1", "q2"]).content["weights"] is None
    assert Design.make(["a", "b"], ["q2", "q1"], weights=[1, 2]).content["weights"] == {"q1": 2.0, "q2": 1.0}
