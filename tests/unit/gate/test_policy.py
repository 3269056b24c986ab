"""Policy files: every key, and what is refused with which words."""

import pytest

from bbedge.errors import BbedgeError, DesignError, DomainError, FormatError
from bbedge.gate import Claim, Policy

PLAIN = 'candidate = "new"\nbaseline = "old"\n'
CLAIM = "[[claims]]\nnot_worse_by = 0.02\n"


def policy(text):
    return Policy.from_toml(text, source="policy.toml")


def test_every_key():
    made = policy(
        'candidates = ["a", "b"]\nbaseline = "old"\nalpha = 0.1\nopen = "error"\nbudget = 8\nspending = "ledger"\n'
        'evidence = "sharp"\nmacro = "task"\nweights = "points"\nviews = "topic"\nmetric = "acc"\ncopies = "allow"\n'
        '[[claims]]\nnot_worse_by = 0.02\ntier = "warn"\n[[claims]]\nbetter_by = 0\nview = "safety"\n'
        '[[claims]]\nat_least = 0.9\ntier = "info"\n[[claims]]\ncheaper_by = 0.1\nview = "*"\n'
    )
    assert made == Policy(
        candidates=("a", "b"),
        baseline="old",
        alpha=0.1,
        when_open="error",
        budget=8,
        spending="ledger",
        evidence="sharp",
        macro="task",
        weights="points",
        views="topic",
        metric=("acc",),
        copies="allow",
        claims=(
            Claim(kind="not_worse_by", amount=0.02, tier="warn"),
            Claim(kind="better_by", amount=0.0, view="safety"),
            Claim(kind="at_least", amount=0.9, tier="info"),
            Claim(kind="cheaper_by", amount=0.1, view="*"),
        ),
    )
    assert made.columns == ("task", "points", "topic")


def test_what_is_left_out():
    made = policy(PLAIN + CLAIM)
    assert (made.candidates, made.baseline, made.alpha, made.when_open) == (("new",), "old", 0.05, "error")
    assert (made.budget, made.spending, made.copies, made.columns) == (None, "each-run", "refuse", ())
    assert made.claims == (Claim(kind="not_worse_by", amount=0.02, view="headline", tier="block"),)


def test_a_floor_needs_no_baseline():
    assert policy('candidate = "new"\n[[claims]]\nat_least = 0.5\n').baseline is None


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (Claim(kind="not_worse_by", amount=0.02), "not worse by more than 0.02"),
        (Claim(kind="not_worse_by", amount=0.0), "not worse"),
        (Claim(kind="better_by", amount=0.0), "better"),
        (Claim(kind="better_by", amount=0.01, view="math"), "better by more than 0.01 in math"),
        (Claim(kind="at_least", amount=0.9, view="*"), "at least 0.9 in every view"),
        (Claim(kind="cheaper_by", amount=0.1), "cheaper by at least 10 %"),
        (Claim(kind="cheaper_by", amount=0.0), "not more expensive"),
    ],
)
def test_claims_in_words(claim, words):
    assert str(claim) == words


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("candidate = x\n", FormatError, ("policy.toml: not a TOML file", "line 1")),
        (PLAIN + "aplha = 0.1\n" + CLAIM, FormatError, ("policy.toml: unknown key 'aplha'", "did you mean 'alpha'?")),
        (
            PLAIN + "[[claims]]\nnot_worse = 0.1\n",
            FormatError,
            ("policy.toml, claim 1: unknown key 'not_worse'", "did you mean 'not_worse_by'?"),
        ),
        (
            PLAIN + CLAIM + "[[claims]]\nat_leat = 1\n",
            FormatError,
            ("policy.toml, claim 2:", "did you mean 'at_least'?"),
        ),
        (PLAIN + CLAIM + 'teir = "warn"\n', FormatError, ("policy.toml, claim 1:", "did you mean 'tier'?")),
        (
            PLAIN + "zzz = 1\n" + CLAIM,
            FormatError,
            ("unknown key 'zzz'", "known are alpha, evidence, target, looks, look_weights, of_runs, copies"),
        ),
        (PLAIN, DesignError, ("policy.toml: no claims", "not_worse_by = 0.02")),
        (PLAIN + "claims = []\n", DesignError, ("no claims",)),
        (PLAIN + "claims = 3\n", FormatError, ("'claims' = 3 is not a list of records",)),
        (PLAIN + "claims = [1]\n", FormatError, ("claim 1: 'the whole' = 1 is not a record",)),
        (PLAIN + '[[claims]]\ntier = "block"\n', FormatError, ("claim 1: give exactly one of not_worse_by",)),
        (PLAIN + "[[claims]]\nnot_worse_by = 0.1\nbetter_by = 0.1\n", FormatError, ("give exactly one of",)),
        (PLAIN + '[[claims]]\nnot_worse_by = "0.1"\n', FormatError, ("'not_worse_by' = '0.1' is not a number",)),
        (PLAIN + "[[claims]]\nnot_worse_by = true\n", FormatError, ("'not_worse_by' = True is not a number",)),
        (PLAIN + "[[claims]]\nnot_worse_by = nan\n", DomainError, ("claim 1: not_worse_by = nan is not a number",)),
        (PLAIN + "[[claims]]\nbetter_by = inf\n", DomainError, ("better_by = inf is not a number",)),
        (PLAIN + "[[claims]]\nnot_worse_by = -0.1\n", DomainError, ("claim 1:", "below 0", "write better_by = 0.1")),
        (PLAIN + "[[claims]]\nbetter_by = -0.1\n", DomainError, ("write not_worse_by = 0.1",)),
        (PLAIN + "[[claims]]\ncheaper_by = 1.0\n", DomainError, ("cheaper_by = 1", "0 to below 1")),
        (PLAIN + "[[claims]]\ncheaper_by = 10\n", DomainError, ("cheaper_by = 10", "0 to below 1")),
        (
            PLAIN + '[[claims]]\nbetter_by = 0\ntier = "blok"\n',
            FormatError,
            ("claim 1: 'tier' = 'blok' is not one of block, info, warn",),
        ),
        (PLAIN + "[[claims]]\nbetter_by = 0\nview = 3\n", FormatError, ("claim 1: 'view' = 3 is not a text",)),
        (
            PLAIN + '[[claims]]\nbetter_by = 0\nview = ""\n',
            FormatError,
            ("'view' = '' is not a text with a character",),
        ),
        (PLAIN + '[[claims]]\nbetter_by = 0\nview = "safety"\n', DesignError, ("names a view", "views = 'category'")),
        (PLAIN + "alpha = 0\n" + CLAIM, FormatError, ("policy.toml: 'alpha' = 0", "above 0 and below 1")),
        (PLAIN + "alpha = 1.0\n" + CLAIM, FormatError, ("above 0 and below 1",)),
        (PLAIN + "alpha = nan\n" + CLAIM, FormatError, ("'alpha' = nan",)),
        (PLAIN + 'alpha = "x"\n' + CLAIM, FormatError, ("'alpha' = 'x' is not a number",)),
        (PLAIN + "alpha = true\n" + CLAIM, FormatError, ("'alpha' = True is not a number",)),
        (PLAIN + 'open = "maybe"\n' + CLAIM, FormatError, ("'open' = 'maybe' is not one of error, fail, pass",)),
        (PLAIN + 'spending = "all"\n' + CLAIM, FormatError, ("'spending' = 'all' is not one of each-run, ledger",)),
        (PLAIN + 'evidence = "x"\n' + CLAIM, FormatError, ("'evidence' = 'x' is not one of", "betting")),
        (PLAIN + 'copies = "x"\n' + CLAIM, FormatError, ("'copies' = 'x' is not one of", "allow")),
        (PLAIN + "budget = 2.5\n" + CLAIM, FormatError, ("'budget' = 2.5 is not a whole number",)),
        (PLAIN + "budget = true\n" + CLAIM, FormatError, ("'budget' = True is not a whole number",)),
        (PLAIN + "budget = 0\n" + CLAIM, DomainError, ("budget of 0 runs",)),
        (PLAIN + "views = 3\n" + CLAIM, FormatError, ("'views' = 3 is not a text",)),
        ('candidate = "old"\nbaseline = "old"\n' + CLAIM, DesignError, ("'old' is candidate and baseline", "name two")),
        ('candidates = ["a", "old"]\nbaseline = "old"\n' + CLAIM, DesignError, ("'old' is candidate and baseline",)),
        ('baseline = "old"\n' + CLAIM, DesignError, ("policy.toml: no candidate",)),
        ('candidates = []\nbaseline = "old"\n' + CLAIM, DesignError, ("no candidate",)),
        (
            'candidate = ""\nbaseline = "old"\n' + CLAIM,
            FormatError,
            ("'candidates' = '' is not a text with a character",),
        ),
        ('candidate = 3\nbaseline = "old"\n' + CLAIM, FormatError, ("'candidates' = 3 is not a list of texts",)),
        ('candidates = ["a", "a"]\nbaseline = "old"\n' + CLAIM, FormatError, ("a name is twice in candidates",)),
        ('candidate = "a"\ncandidates = ["b"]\nbaseline = "old"\n' + CLAIM, FormatError, ("keep one of them",)),
        ('candidate = "a"\nbaseline = ["old"]\n' + CLAIM, FormatError, ("'baseline' is not a text",)),
        ('candidate = "a"\n' + CLAIM, DesignError, ("no baseline, but a claim compares with one",)),
        (
            PLAIN + CLAIM + "[[claims]]\nnot_worse_by = 0.01\n",
            DesignError,
            ("two block claims not_worse_by", "0.02 and 0.01", "keep one"),
        ),
        (PLAIN + CLAIM + CLAIM, DesignError, ("two block claims not_worse_by",)),
    ],
)
def test_what_is_refused(text, kind, words):
    with pytest.raises(BbedgeError) as caught:
        policy(text)
    assert type(caught.value) is kind
    for each in ("policy.toml", *words):
        assert each in str(caught.value)


@pytest.mark.parametrize(
    ("general", "special", "refused"),
    [
        ("not_worse_by = 0.0", "not_worse_by = 0.02", True),
        ("not_worse_by = 0.02", "not_worse_by = 0.02", True),
        ("not_worse_by = 0.02", "not_worse_by = 0.0", False),
        ("better_by = 0.02", "better_by = 0.01", True),
        ("better_by = 0.01", "better_by = 0.02", False),
        ("at_least = 0.9", "at_least = 0.8", True),
        ("not_worse_by = 0.0", "better_by = 0.0", False),
    ],
)
def test_an_exception_that_has_no_effect_is_refused(general, special, refused):
    """A weaker claim about one view beside one about every view: what the author wanted is not what would happen."""
    text = PLAIN + f'views = "topic"\n[[claims]]\n{general}\nview = "*"\n[[claims]]\n{special}\nview = "safety"\n'
    if not refused:
        assert len(policy(text).claims) == 2
        return
    with pytest.raises(DesignError, match=r"'safety' has no effect, because .* in every view"):
        policy(text)


def test_tiers_may_ask_for_different_things_of_one_mean():
    text = PLAIN + CLAIM + '[[claims]]\nnot_worse_by = 0.0\ntier = "warn"\n[[claims]]\nbetter_by = 0.0\n'
    assert [claim.tier for claim in policy(text).claims] == ["block", "warn", "block"]


@pytest.mark.parametrize(
    "options", [{"kind": "worse_by"}, {"tier": "blok"}, {"amount": True}, {"amount": float("nan")}, {"amount": "1"}]
)
def test_claims_made_in_python_are_checked_too(options):
    with pytest.raises(DomainError):
        Claim(**({"kind": "better_by", "amount": 0.0} | options))


def test_whole_numbers_are_numbers():
    assert Claim(kind="better_by", amount=0).amount == 0
