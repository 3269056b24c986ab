"""The design of a board: what a file may say, and a hash that sees all of it."""

import json

import pytest
from msgspec import UNSET

from bbedge.board import BoardDesign
from bbedge.errors import BbedgeError, DesignError, FormatError

EVERY_KEY = """
alpha = 0.1
tau = 0.02
method = "bb-edge-x"
evidence = "sharp"
prediction = "two-way"
stakes = "paper"
score_range = [1, 10]
family = "pilot-top-k"
k = 2
pilot = 3
spending = "equal"
shares = 5
pairing = "first"
first = 4
margin_share = 0.1
"""

FULL = BoardDesign(
    alpha=0.1,
    tau=0.02,
    method="bb-edge-x",
    evidence="sharp",
    prediction="two-way",
    stakes="paper",
    score_range=(1.0, 10.0),
    family="pilot-top-k",
    k=2,
    pilot=3,
    spending="equal",
    shares=5,
    pairing="first",
    first=4,
    margin_share=0.1,
)


def test_a_file_can_set_every_key():
    assert BoardDesign.from_toml(EVERY_KEY) == FULL
    assert BoardDesign.from_toml("mean_share = 0.1").mean_share == 0.1
    about = BoardDesign.from_toml('target = "both"\nlooks = [2, 4]\nlook_weights = [0.3, 0.7]\nof_runs = "any:2"')
    assert (about.schedule, about.runs_of_score) == ({2: 0.3, 4: 0.7}, 2)
    others = {"copies", "mean_share", "holm", "planned", "headline", "views", "incomplete", "checkpoints"}
    others |= {"target", "looks", "look_weights", "of_runs", "equal_within"}
    assert others | FULL.content.keys() == set(BoardDesign.__struct_fields__)


def test_copies_count_if_the_design_says_so_and_its_hash_shows_it():
    allowing = BoardDesign.from_toml('copies = "allow"')
    assert allowing.copies == "allow" == allowing.content["copies"]
    assert allowing.hash != BoardDesign().hash
    assert BoardDesign.from_toml('copies = "refuse"').hash == BoardDesign().hash
    assert allowing.core_design(["a", "b"], ["q"], ["q"], level=0.05).copies == "allow"


def test_the_registration_covers_everything_that_is_frozen():
    """Boards of other models, items or blocks have other registrations, though their designs are the same."""
    registered = {
        BoardDesign(alpha=alpha).registration(models, items, blocks)
        for alpha, models, items, blocks in (
            (0.05, "ab", "qr", "qr"),
            (0.1, "ab", "qr", "qr"),
            (0.05, "abc", "qr", "qr"),
            (0.05, "ab", "qrs", "qrs"),
            (0.05, "ab", "qr", "xx"),
        )
    }
    assert len(registered) == 5


def test_an_empty_file_is_the_default_design():
    assert BoardDesign.from_toml("") == BoardDesign()
    assert BoardDesign().content == {
        "alpha": 0.05,
        "tau": 0.0,
        "method": "bb-edge-x",
        "score_range": [0.0, 1.0],
        "family": "all",
        "spending": "open-ended",
        "pairing": "all",
        "copies": "refuse",
        "margin_share": 0.2,
        "incomplete": "refuse",
    }


@pytest.mark.parametrize(
    "design",
    [BoardDesign(), BoardDesign(planned=8), BoardDesign(method="bb-edge"), FULL],
    ids=["default", "planned", "bb-edge", "full"],
)
def test_the_content_is_the_design(design):
    through_json = json.loads(json.dumps(design.content))
    assert BoardDesign.from_values(through_json) == design
    assert BoardDesign.from_values(through_json).hash == design.hash


def test_the_margins_of_bb_edge_x_have_a_share_and_those_of_bb_edge_none():
    assert BoardDesign(method="bb-edge-x").margin_share == 0.2
    assert BoardDesign(method="bb-edge").margin_share is UNSET


def test_the_hashes_are_pinned():
    """Teams publish them."""
    assert BoardDesign().hash == "e96a0ab9b46996260fe8ba031bce6b57e39f554af9aa1a531249b13d4f7d9e62"
    assert FULL.hash == "3c8cbae910b6db2d4a649a09bd38fb54a2e55efff5bf0ba4d9f4e4b78d8f7ecb"
    assert BoardDesign(planned=8).hash == "724076c451539eedff749872f861fd121c9e440caf5f958dd3d6d235ebefedb9"
    assert BoardDesign(method="bb-edge").hash == "5077adc7149a4756a74e19f1f653b3f8f8afb9fe8827a3eaac9ae6004424fe0d"


def test_whole_numbers_and_spelling_make_no_difference():
    one = BoardDesign.from_toml("tau = 0\nscore_range = [0, 1]\n# a remark\nalpha=0.05")
    other = BoardDesign.from_toml("alpha = 5e-2\n\ntau = 0.0\nscore_range = [0.0, 1.0]")
    assert one.hash == other.hash == BoardDesign().hash


CHANGES = {
    "alpha": "0.11",
    "tau": "0.03",
    "method": '"bb-edge"',
    "evidence": '"betting"',
    "prediction": '"running-mean"',
    "stakes": '"design"',
    "score_range": "[1, 11]",
    "k": "3",
    "pilot": "4",
    "shares": "6",
    "first": "5",
    "margin_share": "0.2",
}
WITHOUT = {"method": ("margin_share",)}
"""What the changed value has no place for."""


def test_the_hash_sees_every_key():
    lines = dict(line.split(" = ", 1) for line in EVERY_KEY.strip().splitlines())
    hashes = {FULL.hash}
    for key, value in CHANGES.items():
        kept = {name: old for name, old in lines.items() if name not in WITHOUT.get(key, ())}
        text = "\n".join(f"{name} = {old}" for name, old in (kept | {key: value}).items())
        hashes.add(BoardDesign.from_toml(text).hash)
    for key, companions in {"family": ("k", "pilot"), "spending": ("shares",), "pairing": ("first",)}.items():
        text = "\n".join(f"{name} = {old}" for name, old in lines.items() if name not in (key, *companions))
        hashes.add(BoardDesign.from_toml(text).hash)
    hashes |= {BoardDesign(planned=planned).hash for planned in (UNSET, 8, 9)}
    hashes |= {BoardDesign(mean_share=share).hash for share in (UNSET, 0.0, 0.1, 0.2)}  # of which two are the same
    hashes |= {BoardDesign(holm=holm).hash for holm in ("direct", "staggered")}
    of_targets = (
        {"target": "benchmark"},  # the default
        {"target": "new-items"},
        {"target": "both"},
        {"target": "both", "looks": (2, 4)},
        {"target": "both", "looks": (2, 4), "look_weights": (0.3, 0.7)},
        {"of_runs": "all:2"},
        {"of_runs": "any:2"},
        {"equal_within": 0.02},
    )
    hashes |= {BoardDesign(**options).hash for options in of_targets}
    assert len(hashes) == 1 + len(CHANGES) + 3 + 3 + 2 + 2 + len(of_targets) - 1
    others = {
        "mean_share",
        "holm",
        "family",
        "spending",
        "pairing",
        "copies",
        "planned",
        "headline",
        "views",
        "incomplete",
    }
    others |= {"checkpoints"}.union(*of_targets)
    assert set(CHANGES) | others == set(BoardDesign.__struct_fields__)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("colour = 1", FormatError, "my.toml: unknown key 'colour'; known are alpha, evidence, "),
        ("alpa = 0.1", FormatError, r"my.toml: unknown key 'alpa'; did you mean 'alpha'\?"),
        ("[alpha]\nvalue = 1", FormatError, "my.toml: .*is not a number"),
        ("alpha = ", FormatError, "my.toml: not a TOML file"),
        ("alpha = 0.1\nalpha = 0.2", FormatError, "my.toml: not a TOML file"),
        ('alpha = "0.05"', FormatError, "'alpha' = '0.05' is not a number"),
        ("alpha = true", FormatError, "True is not a number"),
        ("tau = [0.1]", FormatError, "is not a number"),
        ("score_range = 5", FormatError, "my.toml: 'score_range' = 5 is not a pair"),
        ("score_range = [0, 1, 2]", FormatError, "'score_range' is not a pair"),
        ('score_range = ["a", "b"]', FormatError, "'a' is not a number"),
        ('family = "pilot-top-k"\nk = 2.0\npilot = 1', FormatError, "'k' = 2.0 is not a whole number"),
        ('family = "pilot-top-k"\nk = 1\npilot = true', FormatError, "'pilot' = True is not a whole number"),
        ('spending = "equal"\nshares = "3"', FormatError, "'shares' = '3' is not a whole number"),
        ('pairing = "first"\nfirst = 1.5', FormatError, "'first' = 1.5 is not a whole number"),
        ("alpha = 1.5", FormatError, "my.toml: 'alpha' = 1.5 is not a number above 0 and below 1"),
        ("alpha = 0", FormatError, "my.toml: 'alpha' = 0 is not a number above 0"),
        ("alpha = nan", FormatError, "my.toml: 'alpha' = nan is not a finite number"),
        ("tau = -0.1", DesignError, "my.toml: tau=-0.1 is not allowed"),
        ("tau = 1", FormatError, "'tau' = 1 is not a number above -1 and below 1"),
        ("score_range = [1, 0]", DesignError, r"score_range=\(1.0, 0.0\) is not allowed"),
        ("score_range = [0, inf]", DesignError, r"score_range=\(0.0, inf\) is not allowed; give two finite numbers"),
        ('method = "bb-edge-y"', FormatError, "is not one of bb-edge, bb-edge-x"),
        ("method = 3", FormatError, "'method' = 3 is not one of"),
        ("evidence = []", FormatError, "'evidence' is not one of"),
        ('evidence = "bayes"', FormatError, "is not one of bernstein, betting"),
        ('prediction = "oracle"', FormatError, "is not one of running-mean, two-way"),
        ('stakes = "all"', FormatError, "is not one of design, fitted, paper"),
        ("stakes = [0.5]", FormatError, "'stakes' is not one of"),
        ('family = "some"', FormatError, "is not one of all, pilot-top-k"),
        ('spending = "greedy"', FormatError, "is not one of equal, open-ended"),
        ('pairing = "last"', FormatError, "is not one of all, first"),
        (
            'family = "pilot-top-k"\npilot = 2',
            DesignError,
            "family = 'pilot-top-k' needs k: a whole number of at least",
        ),
        ('family = "pilot-top-k"\nk = 2', DesignError, "family = 'pilot-top-k' needs pilot"),
        ('family = "pilot-top-k"\nk = 0\npilot = 2', FormatError, "'k' = 0 is not a whole number of at least 1"),
        ('family = "pilot-top-k"\nk = 1\npilot = 0', FormatError, "'pilot' = 0 is not"),
        ("k = 2", DesignError, "k = 2 has no meaning with family = 'all'; leave it out"),
        ("pilot = 2", DesignError, "pilot = 2 has no meaning"),
        ('pairing = "first"', DesignError, "pairing = 'first' needs first"),
        ('pairing = "first"\nfirst = 0', FormatError, "'first' = 0 is not"),
        ("first = 3", DesignError, "first = 3 has no meaning with pairing = 'all'"),
        ('spending = "equal"', DesignError, "equal spending needs the number of shares"),
        ('spending = "equal"\nshares = 0', FormatError, "at least 1"),
        ("shares = 3", DesignError, "open-ended spending takes no number of shares"),
        ('method = "bb-edge"\nstakes = "design"', DesignError, "too wide for bernstein evidence"),
        ("edition = 2", FormatError, "my.toml: unknown key 'edition'"),
        ("margin_share = 1", FormatError, "'margin_share' = 1 is not a number of at least 0 and below 1"),
        ("mean_share = 0.9", DesignError, "leave nothing for certificates"),
        ("mean_share = true", FormatError, "True is not a number"),
        ("mean_share = 0.1\nmargin_share = 0", DesignError, "mean_share=0.1 needs a share for margins"),
        ('margin_share = "0.1"', FormatError, "'0.1' is not a number"),
        ('method = "bb-edge"\nmargin_share = 0.1', DesignError, "margin_share=0.1 is not part of bb-edge; leave"),
        ("planned = 0", FormatError, "'planned' = 0 is not a whole number of at least 1"),
        ("planned = true", FormatError, "'planned' = .* is not a whole number"),
        ("planned = 8.0", FormatError, "'planned' = .* is not a whole number"),
        ('method = "bb-edge"\nplanned = 8', DesignError, "planned=8 is not part of bb-edge; leave"),
        ('stakes = "paper"\nplanned = 8', DesignError, "planned=8 has no meaning with paper stakes"),
        ('method = "bb-edge-x"\nevidence = "hoeffding"', DesignError, "too wide for hoeffding evidence"),
    ],
)
def test_files_that_are_refused(text, error, message):
    with pytest.raises(error, match=message):
        BoardDesign.from_toml(text, source="my.toml")


@pytest.mark.parametrize(
    "text",
    [
        "alpha = 1" + "0" * 400,
        "score_range = [0, 1" + "0" * 400 + "]",
    ],
    ids=["alpha", "score_range"],
)
def test_numbers_too_large_for_a_float_are_refused(text):
    with pytest.raises(BbedgeError, match=r"my\.toml"):
        BoardDesign.from_toml(text, source="my.toml")


@pytest.mark.parametrize("value", [2.5, "2"])
@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("k", {"family": "pilot-top-k", "pilot": 2}),
        ("pilot", {"family": "pilot-top-k", "k": 2}),
        ("shares", {"spending": "equal"}),
        ("first", {"pairing": "first"}),
    ],
)
def test_from_python_counts_are_whole_numbers_too(name, others, value):
    with pytest.raises((BbedgeError, TypeError)):
        BoardDesign(**others, **{name: value})


def test_levels_follow_the_spending_rule():
    equal = BoardDesign(spending="equal", shares=2, alpha=0.1)
    assert [equal.level(claim) for claim in range(4)] == [equal.level(0), equal.level(0), 0.0, 0.0]
    assert equal.level(0) == pytest.approx(0.05)
    assert BoardDesign(alpha=0.1).level(1) == pytest.approx(BoardDesign(alpha=0.1).level(0) / 4)


def test_the_statistical_design_of_a_stage():
    stage = FULL.core_design(
        ["a", "b", "c", "d"], ["q1", "q2"], ["x", "x"], level=0.02, candidate=["b", "a"], newcomer="d"
    )
    assert (stage.alpha, stage.tau, stage.evidence, stage.prediction) == (0.02, 0.02, "sharp", "two-way")
    assert (stage.stakes, stage.score_range, stage.blocks) == ("paper", (1.0, 10.0), ("x", "x"))
    assert (stage.family.candidate, stage.family.newcomer, stage.n_directions) == (("a", "b"), "d", 2)
