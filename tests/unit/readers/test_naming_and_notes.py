"""Names in messages, and what a reader tells besides the scores."""

import unicodedata

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbedge.errors import DataError
from bbedge.readers import read_scores
from bbedge.readers.assemble.grid import natural_key, whole_number
from bbedge.text import folded, listed, shown, shown_path
from log_makers import inspect_log


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt-4", "gpt-4"),
        ("日本 é", "日本 é"),
        ("a\nb\tc", r"a\x0ab\x09c"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b", r"\x9b"),
        ("\u202eabc\u200f", r"\u202eabc\u200f"),
        ("a\u2028b\u2029", r"a\u2028b\u2029"),
        ("\ud800", r"\ud800"),
        ("\ue000", r"\ue000"),
        ("\U000e0041", r"\U000e0041"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
    ],
)
def test_shown_escapes_what_cannot_be_seen(name, expected):
    assert shown(name) == expected


@given(st.text(), st.integers(3, 80))
def test_shown_is_short_and_safe(name, width):
    text = shown(name, width)
    assert len(text) <= width
    assert all(unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for c in text)


def test_shown_keeps_both_ends():
    assert shown("start" + "x" * 1000 + "end", 20) == "startxxxxx…xxxxxxend"
    assert shown("x" * 60) == "x" * 60
    assert len(shown_path("/" + "x" * 500)) == 501


def test_listed():
    assert listed(["a"]) == "'a'"
    assert listed(["a", "b", "c"], limit=2) == "'a', 'b' and 1 more"


def test_natural_order_has_no_limit_on_digits():
    long = "q" + "9" * 5000
    assert sorted([long, "q10", "q9", "q", "Q1", "q09"], key=natural_key) == ["Q1", "q", "q09", "q9", "q10", long]


@pytest.mark.parametrize(
    ("label", "number"), [("1", 1), ("-3", -3), ("+4", 4), ("2.0", 2), ("2.5", None), ("x1", None), ("²", None)]
)
def test_whole_number(label, number):
    assert whole_number(label) == number


def test_folded():
    assert folded("GPT\u00a0 4") == folded("gpt 4") == folded("\u3000\uff27\uff30\uff34 4")
    assert folded("Straße") == folded("STRASSE")


SPELLINGS = ("GPT-4", "gpt-4 ", "GPT\u20114", "\u00a0gpt\u22124", "G\u0420T-4", "GPT\u200b-4", "gpt\uff0d4")


def test_spellings_that_look_alike_are_folded_to_one():
    assert {folded(name) for name in SPELLINGS} == {"gpt-4"}
    apart = ("GPT-4", "GPT-4o", "GPT4", "GPT 4", "GPT_4", "GPT-4.1", "GPT.4")
    assert len({folded(name) for name in apart}) == len(apart)


def run_of(name, replicate, scores=(1.0, 0.0)):
    return [
        {"model": model, "item": f"q{i}", "replicate": replicate, "score": score}
        for model in (name, "other")
        for i, score in enumerate(scores)
    ]


@pytest.mark.parametrize("other", SPELLINGS[1:])
def test_models_that_look_alike_are_noted_with_the_option_that_merges_them(other):
    scores = np.random.default_rng(0).random((1, 2, 5))
    named = [note for note in notes(scores, models=["GPT-4", other]) if "are kept as different models" in note.text]
    (note,) = named
    assert (note.kind, set(note.subject)) == ("names", {"GPT-4", other})
    assert ascii(other) in note.text
    assert "--merge-names" in note.text
    assert "merge_names=True" in note.text


@pytest.mark.parametrize("order", [1, -1])
def test_spellings_are_merged_on_request(order):
    rows = [row for number, name in enumerate(SPELLINGS, start=1) for row in run_of(name, number)][::order]
    with pytest.raises(DataError, match=r"'GPT-4' and .* differ only by .*merge_names=True.* if they are one"):
        read_scores(pl.DataFrame(rows))
    scores = read_scores(pl.DataFrame(rows), merge_names=True)
    assert scores.models == ("GPT-4", "other")
    assert scores.values.shape == (len(SPELLINGS), 2, 2)
    (note,) = [note for note in scores.notes if note.kind == "names"]
    assert note.subject == ("GPT-4", *sorted(SPELLINGS[1:]))
    assert note.text.startswith("Read as the model 'GPT-4' on purpose: ")


def test_merged_names_take_the_preferred_spelling():
    frame = pl.DataFrame(run_of("gpt-4", 1))
    merged = read_scores(frame, merge_names=True, preferred_names=("b", "GPT-4"))
    assert merged.models == ("GPT-4", "other")
    assert read_scores(frame, preferred_names=("GPT-4",)).models == ("gpt-4", "other")
    assert read_scores(pl.DataFrame(run_of(" x ", 1)), merge_names=True).models == ("other", "x")


def test_two_scores_of_merged_models_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    pl.DataFrame([*run_of("GPT-4", 1), *run_of("gpt-4", 1)[:2]]).write_csv(path)
    with pytest.raises(DataError, match=r"a\.csv:6: a second score for model 'GPT-4'.*; remove one") as caught:
        read_scores(path, merge_names=True)
    assert "columns=" not in str(caught.value)


def test_runs_of_merged_models_are_counted_as_runs_of_one(tmp_path):
    for name, model, day in (("a", "GPT-4", 1), ("b", "gpt-4", 2), ("c", "x", 1), ("d", "x", 2)):
        inspect_log(tmp_path / f"{name}.eval", model=model, created=f"2026-01-0{day}T00:00:00+00:00")
    scores = read_scores(tmp_path, merge_names=True)
    assert (scores.models, scores.replicates) == (("GPT-4", "x"), ("1", "2"))


def notes(values, models=None, replicate="replicate"):
    values = np.asarray(values, dtype=float)
    models = models or [f"m{m}" for m in range(values.shape[1])]
    cells = [
        {"model": models[m], "item": f"q{i}", replicate: r + 1, "score": float(values[r, m, i])}
        for r, m, i in np.ndindex(*values.shape)
    ]
    return read_scores(pl.DataFrame(cells)).notes


def test_ordinary_scores_have_no_notes():
    assert notes(np.random.default_rng(0).random((3, 3, 40))) == ()


def test_models_that_differ_only_in_form():
    values = np.random.default_rng(0).random((1, 4, 5))
    (note,) = notes(values, models=["GPT 4", "gpt\u00a04", "other", "é"])
    assert (note.kind, note.subject) == ("names", ("GPT 4", "gpt\u00a04"))
    assert r"'GPT 4' and 'gpt\xa04'" in note.text
    assert "give them one name" in note.text


def test_white_space_at_an_end_is_kept_and_noted():
    (note,) = notes(np.random.default_rng(0).random((1, 2, 5)), models=["a ", "b"])
    assert note.text == "1 of 2 models have white space at an end of the name: 'a '."


def test_identical_panels():
    values = np.random.default_rng(0).random((3, 2, 40))
    values[2] = values[0]
    (note,) = notes(values)
    assert (note.kind, note.subject) == ("copies", ("m0", "m1"))
    assert note.text.startswith("Replicates '1', '3' have the same score for every model on every item.")
    assert "breaks the independence" in note.text


def test_identical_runs_of_one_model():
    values = np.random.default_rng(0).random((4, 3, 40))
    values[3, 1] = values[2, 1] = values[0, 1]
    (note,) = notes(values)
    assert (note.kind, note.subject) == ("copies", ("m1",))
    assert note.text.startswith("'m1' has the same score on every item in replicates '1', '3', '4'")
    assert "chance" not in note.text
    assert "With only 10 items this can be chance." in notes(values[:, :, :10])[0].text
    assert notes(values[:, :, :6]) == ()


def test_a_model_that_always_repeats_itself_is_noted_and_is_no_copy():
    values = np.random.default_rng(0).random((3, 2, 40))
    values[1:, 0] = values[0, 0]
    (note,) = notes(values)
    assert (note.kind, note.subject) == ("repeats", ("m0",))


def test_constant_runs_are_no_copies():
    values = np.random.default_rng(0).random((3, 2, 40))
    values[:, 0] = 1.0
    values[2, 0, 5] = 0.0
    assert notes(values) == ()
    assert notes(np.ones((2, 2, 9))) == ()
    assert notes(np.stack([np.eye(2, 9)] * 2))[0].kind == "copies"
