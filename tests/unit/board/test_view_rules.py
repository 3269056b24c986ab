"""The rules by which a board has weights, views and shares: what a file may say, and what they give for some items."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbedge.board import BoardDesign
from bbedge.board.design import views_of_items, with_all_shares
from bbedge.core.views import HEADLINE, allot_shares, macro_weights
from bbedge.errors import BbedgeError, DesignError, DomainError, FormatError
from bbedge.records.design import Headline, Views

EVERY_KEY = """
incomplete = "worst-case"

[headline]
macro = "category"
share = 0.4

[views]
column = "category"
others = 0.3

[views.weights]
hard = "difficulty"

[views.shares]
math = 0.2
hard = 0.1
"""

FULL = BoardDesign(
    incomplete="worst-case",
    headline=Headline(macro="category", share=0.4),
    views=Views(column="category", weights={"hard": "difficulty"}, shares={"math": 0.2, "hard": 0.1}, others=0.3),
)


def shares_of(design, labels):
    items = [f"q{i}" for i in range(len(labels))]
    found = views_of_items(
        design.headline, design.views, items, {"category": labels, "difficulty": [str(i) for i in range(len(labels))]}
    )
    return found["shares"]


def test_a_file_can_set_every_key():
    read = BoardDesign.from_toml(EVERY_KEY)
    assert read == FULL
    assert read.columns == ("category", "difficulty")
    assert read.content["headline"] == {"macro": "category", "share": 0.4}
    assert read.content["views"] == {
        "column": "category",
        "weights": {"hard": "difficulty"},
        "shares": {"math": 0.2, "hard": 0.1},
        "others": 0.3,
    }
    assert BoardDesign.from_values(read.content) == read


def test_a_design_without_them_does_not_state_them():
    plain = BoardDesign()
    assert not {"headline", "views"} & plain.content.keys()
    assert plain.columns == ()
    assert BoardDesign(incomplete="refuse", headline=Headline()) == plain


def test_the_hash_sees_every_key():
    changes = [
        ('macro = "category"', 'macro = "subject"'),
        ('macro = "category"', 'weights = "category"'),
        ('column = "category"', 'column = "subject"'),
        ('hard = "difficulty"', 'hard = "weight"'),
        ('hard = "difficulty"', 'hard = "difficulty"\neasy = "ease"'),
        ("share = 0.4\n", "share = 0.3\n"),
        ("math = 0.2", "code = 0.2"),
        ('"worst-case"', '"zero"'),
        ('"worst-case"', '"refuse"'),
    ]
    texts = [EVERY_KEY.replace(old, new) for old, new in changes]
    texts[5] = texts[5].replace("others = 0.3", "others = 0.4")
    assert all(text != EVERY_KEY for text in texts)
    assert len({BoardDesign.from_toml(text).hash for text in (EVERY_KEY, *texts)}) == 1 + len(texts)


@pytest.mark.parametrize(
    ("text", "share", "others"),
    [
        ('[views]\ncolumn = "c"', 0.5, 0.5),
        ('[views]\ncolumn = "c"\nothers = 0.2', 0.8, 0.2),
        ('[headline]\nshare = 0.7\n[views]\ncolumn = "c"', 0.7, 0.3),
        ('[views]\ncolumn = "c"\n[views.shares]\nmath = 0.4', 0.3, 0.3),
        ('[views]\ncolumn = "c"\nothers = 0.1\n[views.shares]\nmath = 0.4', 0.5, 0.1),
        ('[headline]\nshare = 0.6\n[views]\ncolumn = "c"\n[views.shares]\nmath = 0.4', 0.6, 0.0),
    ],
)
def test_shares_that_are_not_stated(text, share, others):
    """They are frozen as numbers, so that a later version of bbedge cannot fill them in differently."""
    design = BoardDesign.from_toml(text)
    assert design.headline.share == pytest.approx(share, abs=1e-15)
    assert design.views.others == pytest.approx(others, abs=1e-15)
    assert BoardDesign.from_values(design.content) == design


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("[headline]\nshare = 0.5", DesignError, "has no meaning without views"),
        ("[headline]\nmacro = 3", FormatError, "'macro' = 3 is not a text"),
        ('[headline]\nmacro = ""', FormatError, "'macro' = '' is not a text"),
        ('[headline]\nmarco = "c"', FormatError, r"unknown key 'marco' in 'headline'; did you mean 'macro'\?"),
        ('headline = "c"', FormatError, "'headline' = 'c' is not a record"),
        ('[headline]\nmacro = "c"\nshare = "half"', FormatError, "'share' = 'half' is not a number"),
        ("[views]", DesignError, "views need a column, whose values they are, or weights"),
        ('views = ["c"]', FormatError, r"'views' is not a record"),
        ('[views]\ncolumn = "c"\nshares = 3', FormatError, "'shares' = 3 is not a record"),
        ('[views]\ncolumn = "c"\n[views.shares]\nmath = "x"', FormatError, "'shares' is not a number above 0"),
        ('[views]\ncolumn = "c"\n[views.shares]\nmath = 0', FormatError, "'shares' is not a number above 0"),
        ('[views]\ncolumn = "c"\n[views.shares]\nheadline = 0.5', DesignError, "state its share with the headline"),
        ('[views.weights]\nhard = "d"\n[views.shares]\nmath = 0.5', DesignError, "there is no view 'math'"),
        ('[views]\ncolumn = "c"\n[views.shares]\na = 0.5\nb = 0.5', DomainError, "leave 0 for the headline"),
        ('[headline]\nshare = 0.5\n[views]\ncolumn = "c"\nothers = 0.4', DomainError, "add up to 0.9; they must"),
        ('[headline]\nshare = 0.5\n[views]\ncolumn = "c"\nothers = 0.6', DomainError, "add up to 1.1; they must"),
        ('[headline]\nshare = 1.0\n[views]\ncolumn = "c"', DomainError, "leave 1 for the headline and 0 for the other"),
        ('incomplete = "stopped"', FormatError, "'incomplete' = 'stopped' is not one of refuse"),
    ],
)  # fmt: skip
def test_files_that_are_refused(text, error, message):
    with pytest.raises(BbedgeError, match=message) as caught:
        BoardDesign.from_toml(text, source="my.toml")
    assert str(caught.value).startswith("my.toml: ")
    assert isinstance(caught.value, FormatError if error is FormatError else DesignError)


def test_one_view_for_every_category():
    design = BoardDesign(views=Views(column="category"))
    found = views_of_items(design.headline, design.views, ["a", "b", "c"], {"category": ["math", "code", "math"]})
    assert "weights" not in found
    assert found["views"] == {"code": (0.0, 1.0, 0.0), "math": (1.0, 0.0, 1.0)}
    assert found["shares"] == {HEADLINE: 0.5, "code": 0.25, "math": 0.25} == allot_shares(["code", "math"])


def test_the_weights_of_the_headline_count_inside_its_categories():
    design = BoardDesign(headline=Headline(weights="w"), views=Views(column="category"))
    columns = {"category": ["math", "code", "math"], "w": ["2", "1", "0.5"]}
    found = views_of_items(design.headline, design.views, ["a", "b", "c"], columns)
    assert found["weights"] == (2.0, 1.0, 0.5)
    assert found["views"] == {"code": (0.0, 1.0, 0.0), "math": (2.0, 0.0, 0.5)}


def test_a_macro_average():
    design, labels = BoardDesign(headline=Headline(macro="category")), ["math", "math", "code"]
    found = views_of_items(design.headline, design.views, ["a", "b", "c"], {"category": labels})
    assert found["weights"] == macro_weights(labels)
    assert found.keys() == {"weights"}


def test_a_macro_average_of_weighted_means():
    design = BoardDesign(headline=Headline(macro="category", weights="w"))
    columns = {"category": ["math", "math", "code", "law"], "w": ["1", "3", "2", "0"]}
    found = views_of_items(design.headline, design.views, "abcd", columns)
    assert found["weights"] == (0.125, 0.375, 0.5, 0.0)


def test_weights_that_are_all_the_same_are_none():
    """So that the design, and its hash, is the one without them."""
    design = BoardDesign(headline=Headline(macro="category"))
    assert views_of_items(design.headline, None, "abcd", {"category": ["x", "y", "y", "x"]}) == {}


def test_the_headline_is_no_other_view():
    design = BoardDesign(views=Views(column="category"))
    assert shares_of(design, ["math"]) == {HEADLINE: 1.0}
    weighted = BoardDesign(headline=Headline(weights="w"), views=Views(column="category"))
    columns = {"category": ["math", "code"], "w": ["1", "0"]}
    assert views_of_items(weighted.headline, weighted.views, "ab", columns)["views"] == {}


def test_a_column_of_too_many_categories():
    design, labels = BoardDesign(views=Views(column="category")), [f"c{i}" for i in range(1001)]
    with pytest.raises(DesignError, match="has 1,001 values, and each would be a view; at most 1,000 are allowed"):
        views_of_items(design.headline, design.views, labels, {"category": labels})


def test_what_is_meant_for_views_that_do_not_exist_goes_to_the_headline():
    """Shares of views that are there are as stated, in every version of the benchmark."""
    assert shares_of(FULL, ["math", "code", "law", "law"]) == pytest.approx(
        {HEADLINE: 0.4, "math": 0.2, "hard": 0.1, "code": 0.15, "law": 0.15}
    )
    assert shares_of(FULL, ["code", "law", "law"]) == pytest.approx(
        {HEADLINE: 0.6, "hard": 0.1, "code": 0.15, "law": 0.15}
    )
    assert shares_of(FULL, ["math", "math"]) == pytest.approx({HEADLINE: 0.9, "hard": 0.1})


def test_a_view_that_nothing_is_left_for():
    shares = {"math": 0.1, "code": 0.3}
    design = BoardDesign(headline=Headline(share=0.6), views=Views(column="category", shares=shares))
    assert shares_of(design, ["math", "code"]) == pytest.approx({HEADLINE: 0.6, **shares})
    with pytest.raises(DesignError, match="nothing of alpha is left for the view 'law'; give it a share of its own"):
        shares_of(design, ["math", "code", "law"])


def test_two_views_of_one_name():
    design = BoardDesign(views=Views(column="category", weights={"math": "difficulty"}))
    with pytest.raises(DesignError, match="'math' is a view by its weights and a value of the column 'category'"):
        shares_of(design, ["math"])


@pytest.mark.parametrize("text", ["", "much", "-1", "nan", "inf"])
def test_texts_that_are_no_weights(text):
    design = BoardDesign(headline=Headline(weights="w"))
    with pytest.raises(DesignError, match="in the column 'w' is not a weight of item 'b'; give a number"):
        views_of_items(design.headline, design.views, ["a", "b"], {"w": ["1", text]})


PARTS = st.dictionaries(st.sampled_from(["math", "code", "law", "art"]), st.floats(0.01, 0.2), max_size=3)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    named=PARTS,
    share=st.none() | st.floats(0.01, 0.3),
    labels=st.lists(st.sampled_from(["math", "code", "law", "art", "bio"]), min_size=2, max_size=8).filter(
        lambda labels: len(set(labels)) > 1
    ),
)
def test_shares_always_add_up_to_one(named, share, labels):
    headline, views = with_all_shares(Headline(share=share), Views(column="category", shares=named))
    found = views_of_items(headline, views, labels, {"category": labels})["shares"]
    assert math.fsum(found.values()) == pytest.approx(1.0, abs=1e-12)
    assert all(value > 0.0 for value in found.values())
    assert found[HEADLINE] >= headline.share
    assert {name: found[name] for name in named if name in labels} == {n: s for n, s in named.items() if n in labels}
    if share is None and set(named) <= set(labels):
        assert found == pytest.approx(allot_shares(sorted(set(labels)), named), abs=1e-12)
