"""Policies for missing scores that keep everything: worst case, stopped, zero, and by kind of error."""

import itertools
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbedge.errors import DataError, DomainError
from bbedge.readers import IncompletePolicy, read_scores
from bbedge.readers.assemble.missing_refusal import MissingCellsError
from bbedge.readers.survey import survey


def table(models=3, items=5, replicates=2, without=(), blank=()):
    """A table less the (model, item, replicate) in ``without``; those in ``blank`` have a row and no score."""
    rows = [
        {
            "model": f"m{m}",
            "item": f"q{i}",
            "replicate": r,
            "score": None if (m, i, r) in blank else ((m + 2 * i + 3 * r) % 7) / 8,
        }
        for m, i, r in itertools.product(range(models), range(items), range(1, replicates + 1))
        if (m, i, r) not in without
    ]
    return pl.DataFrame(rows, schema_overrides={"score": pl.Float64})


def cells(models, items, replicates):
    return set(itertools.product(models, items, replicates))


def refusal(frame, **options):
    with pytest.raises(MissingCellsError) as caught:
        read_scores(frame, **options)
    return caught.value


def gap_notes(scores):
    return [note for note in scores.notes if note.kind == "gaps"]


# --- the policy itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("refuse", "refuse"),
        ("worst-case", "worst-case"),
        ("stopped", "stopped"),
        ("zero", "zero"),
        ("drop-items", "drop-items"),
        (" stopped , worst-case", "stopped,worst-case"),
        ("zero,stopped", "stopped,zero"),
        ("infrastructure=worst-case,refusal=zero", "refusal=zero,infrastructure=worst-case"),
        ("judge = worst-case,stopped,zero", "stopped,zero,judge=worst-case"),
        ("stopped,refuse", "stopped"),
    ],
)
def test_a_policy_is_read_from_its_text(text, canonical):
    policy = IncompletePolicy.of(text)
    assert str(policy) == canonical
    assert IncompletePolicy.of(canonical) == policy
    assert IncompletePolicy.of(policy) is policy


def test_a_plain_policy_is_for_the_kinds_that_are_not_named():
    policy = IncompletePolicy.of("zero,infrastructure=worst-case,judge=refuse")
    assert [policy.treatment(kind) for kind in ("unknown", "refusal", "infrastructure", "judge")] == [
        "zero",
        "zero",
        "worst-case",
        "refuse",
    ]
    assert IncompletePolicy.of("refusal=zero").treatment("unknown") == "refuse"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("mean", "'mean' is not a policy"),
        ("", "'' is not a policy"),
        ("zero,", "'' is not a policy"),
        ("zero,worst-case", "zero and worst-case contradict each other"),
        ("zero,zero", "zero comes twice"),
        ("stopped,stopped", "stopped comes twice"),
        ("drop-items,zero", "drop-items cannot be combined"),
        ("judge=drop-items", "'drop-items' is not a policy for judge; choose refuse, worst-case or zero"),
        ("timeout=zero", "no kind of error is named 'timeout'; name unknown, refusal, infrastructure or judge"),
        ("judge=zero,judge=zero", "judge comes twice"),
        ("judge=stopped", "'stopped' is not a policy for judge"),
    ],
)
def test_what_is_no_policy(text, part):
    with pytest.raises(DomainError) as caught:
        read_scores(table(), incomplete=text)
    assert str(caught.value).startswith(f"incomplete={text!r}: ")
    assert part in str(caught.value)
    assert "worst-case, stopped, zero, drop-models" in str(caught.value)


# --- worst case ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["without", "blank"])
def test_worst_case_keeps_every_cell_and_leaves_the_missing_ones_open(how):
    missing = {(1, 2, 1), (1, 3, 1), (0, 4, 2)}
    scores = read_scores(table(**{how: missing}), incomplete="worst-case")
    whole = read_scores(table())
    assert (scores.gaps, scores.stops) == ("worst-case", None)
    assert scores.design().gaps == "worst-case"
    assert {(int(m), int(i), int(r) + 1) for r, m, i in np.argwhere(np.isnan(scores.values))} == missing
    assert np.array_equal(scores.values[~np.isnan(scores.values)], whole.values[~np.isnan(scores.values)])
    assert not gap_notes(scores)  # the leaderboard counts what is missing


@pytest.mark.parametrize("policy", ["worst-case", "stopped", "zero", "stopped,worst-case", "judge=zero"])
def test_complete_scores_are_what_they_were(policy):
    scores, plain = read_scores(table(), incomplete=policy), read_scores(table())
    assert (scores.gaps, scores.stops, scores.notes) == ("refuse", None, plain.notes)
    assert scores.values.tobytes() == plain.values.tobytes()
    assert scores.design().hash == plain.design().hash


def test_the_models_of_a_note_are_few():
    scores = read_scores(table(9, 3, 1, {(m, 0, 1) for m in range(8)}), incomplete="zero")
    assert gap_notes(scores)[0].text.endswith("'m4' (1) and 3 more models.")


# --- stopped ---------------------------------------------------------------------------------------------------------


def test_a_model_that_lacks_all_later_replicates_is_stopped():
    scores = read_scores(table(3, 5, 4, cells([1], range(5), [3, 4])), incomplete="stopped")
    assert (scores.gaps, scores.stops) == ("refuse", (4, 2, 4))
    assert np.array_equal(np.isnan(scores.values).all(axis=2).T, [[False] * 4, [False, False, True, True], [False] * 4])
    assert np.isnan(scores.values).sum() == 10
    (note,) = gap_notes(scores)
    assert "1 model stopped early: 'm1' after replicate '2'." in note.text
    assert "every run that was made is in the files" in note.text
    assert note.subject == ("m1",)


def test_other_gaps_are_refused_with_the_policy_that_covers_them():
    frame = table(3, 5, 4, cells([1], range(5), [3, 4]) | {(1, 0, 1), (2, 3, 4)})
    error = refusal(frame, incomplete="stopped")
    assert (
        "incomplete='stopped' stops 'm1' after replicate '2', but does not cover 2 missing scores. "
        "incomplete='stopped,worst-case' would count each of them" in str(error)
    )
    scores = read_scores(frame, incomplete="stopped,worst-case")
    assert (scores.gaps, scores.stops) == ("worst-case", (4, 2, 4))
    assert np.isnan(scores.values).sum() == 12
    assert ["stopped early" in note.text for note in gap_notes(scores)] == [True]


def test_a_replicate_that_was_begun_is_not_left_out():
    # The run ended in the middle of replicate 3: leaving out what it scored would choose runs by what they showed.
    frame = table(2, 5, 4, cells([1], range(5), [4]) | cells([1], range(2, 5), [3]))
    assert "does not cover 3 missing scores" in str(refusal(frame, incomplete="stopped"))
    scores = read_scores(frame, incomplete="stopped,worst-case")
    assert scores.stops == (4, 3)
    assert not np.isnan(scores.values[2, 1, :2]).any()
    assert np.isnan(scores.values[2, 1, 2:]).all()


def test_a_replicate_whose_samples_all_failed_was_run():
    frame = table(2, 5, 3, blank=cells([1], range(5), [3]))
    assert "does not cover 5 missing scores" in str(refusal(frame, incomplete="stopped"))
    scores = read_scores(frame, incomplete="stopped,worst-case")
    assert (scores.gaps, scores.stops) == ("worst-case", None)


def test_a_gap_in_the_middle_is_not_a_stop():
    frame = table(2, 5, 3, cells([1], range(5), [2]))
    assert "does not cover 5 missing scores" in str(refusal(frame, incomplete="stopped"))
    scores = read_scores(frame, incomplete="stopped,worst-case")
    assert (scores.gaps, scores.stops) == ("worst-case", None)


def test_seeds_have_no_order_in_which_a_model_could_have_been_stopped():
    frame = table(2, 5, 3, cells([1], range(5), [3])).rename({"replicate": "seed"})
    error = str(refusal(frame, incomplete="stopped"))
    assert "the replicates are named by seeds, which have no order" in error
    assert "stops 'm1'" not in error
    assert read_scores(frame, incomplete="worst-case").gaps == "worst-case"
    # Without a model to stop there is nothing to refuse.
    assert read_scores(table(2, 5, 3).rename({"replicate": "seed"}), incomplete="stopped").stops is None


def test_an_empty_column_of_a_wide_table_is_a_run_that_was_not_made(tmp_path):
    lines = ["item,replicate,a,b"]
    lines += [f"q{i},{r},1,{'' if r == 2 else 0}" for r in (1, 2) for i in range(3)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    scores = read_scores(tmp_path / "a.csv", incomplete="stopped", format="wide")
    assert scores.stops == (2, 1)


# --- zero ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["without", "blank"])
def test_zero_is_the_worst_score_of_the_range(how):
    missing = {(1, 2, 1), (0, 4, 2)}
    frame = table(**{how: missing}).with_columns(pl.col("score") * 4 + 1)
    scores = read_scores(frame, incomplete="zero", score_range=(1, 5))
    assert (scores.gaps, scores.stops) == ("refuse", None)
    expected = read_scores(table()).values.copy()
    for m, i, r in missing:
        expected[r - 1, m, i] = 0.0
    assert np.allclose(scores.values, expected)
    (note,) = gap_notes(scores)
    assert note.text == (
        "2 missing scores declared to be failures and counted with the worst score of the range: 'm0' (1), 'm1' (1)."
    )


def test_stopped_models_do_not_fail_what_they_were_not_asked():
    frame = table(2, 5, 3, cells([1], range(5), [3]) | {(1, 0, 1)})
    scores = read_scores(frame, incomplete="stopped,zero")
    assert (scores.gaps, scores.stops) == ("refuse", (3, 2))
    assert scores.values[0, 1, 0] == 0.0
    assert np.isnan(scores.values[2, 1]).all()
    assert np.isnan(scores.values).sum() == 5


# --- what does not exist ---------------------------------------------------------------------------------------------


def test_a_replicate_without_any_score_does_not_exist():
    frame = table(2, 3, 3, blank=cells(range(2), range(3), [2]))
    for policy in ("worst-case", "stopped", "stopped,zero,unknown=worst-case"):
        scores = read_scores(frame, incomplete=policy)
        assert (scores.replicates, scores.gaps, scores.stops) == (("1", "3"), "refuse", None)
        assert "1 replicate in which no model has a score left out, first '2'" in gap_notes(scores)[0].text
    assert "incomplete='worst-case' keeps everything but 1 replicate without any score; " in str(refusal(frame))
    # Declared failures are scores.
    assert read_scores(frame, incomplete="zero").values[1].tolist() == [[0.0] * 3] * 2


def test_a_model_without_any_score_is_refused():
    frame = table(3, 2, 2, blank=cells([1], range(2), [1, 2]))
    for policy in ("worst-case", "stopped", "zero", "stopped,worst-case"):
        error = refusal(frame, incomplete=policy)
        assert "1 model without any score, first 'm1'" in str(error)
        assert error.remedy == "drop-models"
    assert "incomplete='worst-case'" not in str(refusal(frame))


# --- the refusal -----------------------------------------------------------------------------------------------------


def test_the_refusal_proposes_every_policy_with_its_outcome():
    error = refusal(table(3, 5, 3, cells([1], range(5), [2, 3]) | {(2, 0, 1)}))
    message = str(error)
    for part in (
        "incomplete='worst-case' keeps everything: 11 missing scores of 2 models count against whichever model they "
        "could help",
        "incomplete='stopped,worst-case' stops 'm1' after replicate '1', and 1 missing score of 1 model counts against "
        "whichever model it could help",
        "incomplete='zero' keeps everything: a missing score is a failure",
        "Or drop, which changes what is measured: incomplete='drop-models'",
    ):
        assert part in message, message
    assert error.remedy == "stopped,worst-case"
    assert [(model, kinds["unknown"]) for model, kinds in error.missing.items()] == [("m1", 10), ("m2", 1)]


@pytest.mark.parametrize(
    ("without", "remedy"),
    [
        ({(1, 0, 1)}, "worst-case"),
        (cells([1], range(5), [2]), "stopped"),
        (cells([1], range(5), [2]) | {(0, 0, 1)}, "stopped,worst-case"),
        (cells([1], range(5), [1]), "worst-case"),
    ],
)
def test_the_remedy_is_a_policy_that_works(without, remedy):
    frame = table(without=without)
    assert refusal(frame).remedy == remedy
    assert read_scores(frame, incomplete=remedy).values.shape == (2, 3, 5)


def test_very_large_and_mostly_missing_scores_are_not_laid_out():
    rows = 200_000
    frame = pl.DataFrame({"model": [f"m{k % 1000}" for k in range(rows)], "item": np.arange(rows), "score": 1})
    error = refusal(frame, incomplete="worst-case")
    assert "incomplete='worst-case' would lay out all 200,000,000 cells" in str(error)
    assert "keeps everything" not in str(error)
    assert error.remedy is None


def test_mostly_missing_scores_of_a_moderate_size_are_kept():
    # Too sparse to be laid out for a refusal.
    rows = 8000
    frame = pl.DataFrame({"model": [f"m{k % 200}" for k in range(rows)], "item": np.arange(rows), "score": 1})
    scores = read_scores(frame, incomplete="worst-case")
    assert scores.values.shape == (1, 200, rows)
    assert np.isnan(scores.values).sum() == 199 * rows


@pytest.mark.parametrize("policy", ["worst-case", "stopped,worst-case", "zero", "stopped,zero"])
def test_panels_on_disk_are_the_same_as_in_memory(monkeypatch, policy):
    missing = cells([1], range(6), [3, 4]) | {(0, 2, 1), (2, 5, 4)}
    frame = table(3, 6, 4, without=missing - {(0, 2, 1)}, blank={(0, 2, 1)})
    whole = read_scores(frame, incomplete=policy)
    monkeypatch.setattr("bbedge.readers.assemble.grid.ROWS_IN_MEMORY", 100)
    monkeypatch.setattr("bbedge.readers.assemble.grid.PANELS_IN_MEMORY", 1)
    monkeypatch.setattr("bbedge.readers.tables.frames._ROWS", 17)
    spooled = read_scores(frame, incomplete=policy)
    assert not spooled.values.flags.writeable
    assert spooled.values.tobytes() == whole.values.tobytes()
    assert (spooled.gaps, spooled.stops, spooled.notes) == (whole.gaps, whole.stops, whole.notes)


# --- what must always hold -------------------------------------------------------------------------------------------

HOLES = st.sets(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(1, 3)), max_size=20)


def is_full(frame):
    """Whether every model has a score somewhere, and every item and replicate."""
    scored = frame.filter(pl.col("score").is_not_null())
    return (scored["model"].n_unique(), scored["item"].n_unique(), scored["replicate"].n_unique()) == (3, 4, 3)


@given(without=HOLES, blank=HOLES, seed=st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_the_cells_that_stay_do_not_depend_on_the_order_of_rows(without, blank, seed):
    frame = table(3, 4, 3, without, blank - without)
    if not is_full(frame):
        return
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=seed)
    for policy in ("worst-case", "stopped,worst-case", "stopped,zero"):
        one, other = (read_scores(each, incomplete=policy) for each in (frame, shuffled))
        assert one.values.tobytes() == other.values.tobytes()
        assert (one.gaps, one.stops, one.notes) == (other.gaps, other.stops, other.notes)


@given(without=HOLES, blank=HOLES)
@settings(max_examples=60, deadline=None)
def test_zero_equals_a_file_filled_with_zeros(without, blank):
    frame = table(3, 4, 3, without, blank - without)
    if not is_full(frame):
        return
    grid = table(3, 4, 3).drop("score")
    filled = grid.join(frame, on=grid.columns, how="left").with_columns(pl.col("score").fill_null(0.0))
    zero, expected = read_scores(frame, incomplete="zero"), read_scores(filled)
    assert zero.values.tobytes() == expected.values.tobytes()
    assert zero.design().hash == expected.design().hash


@given(without=HOLES, blank=HOLES)
@settings(max_examples=60, deadline=None)
def test_stopped_says_nothing_of_panels_whose_models_end_together(without, blank):
    without = {(m, i, r) for m, i, r in without if r < 3}
    frame = table(3, 4, 3, without, blank - without)
    if not is_full(frame):
        return
    stopped, plain = (read_scores(frame, incomplete=policy) for policy in ("stopped,worst-case", "worst-case"))
    assert stopped.values.tobytes() == plain.values.tobytes()
    assert (stopped.stops, stopped.gaps) == (None, plain.gaps)


@given(without=HOLES, blank=HOLES, seed=st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_stopped_depends_on_which_cells_there_are_and_not_on_scores(without, blank, seed):
    frame = table(3, 4, 3, without, blank - without)
    if not is_full(frame):
        return
    rng = np.random.default_rng(seed)
    other = frame.with_columns(score=pl.when(pl.col("score").is_not_null()).then(pl.Series(rng.random(frame.height))))
    one, two = (read_scores(each, incomplete="stopped,worst-case") for each in (frame, other))
    assert (one.stops, one.gaps, gap_notes(one)) == (two.stops, two.gaps, gap_notes(two))
    assert np.array_equal(np.isnan(one.values), np.isnan(two.values))
    # By definition: the last replicate in which the model has a row.
    last = tuple(frame.group_by("model").agg(pl.col("replicate").max()).sort("model")["replicate"])
    assert (one.stops or (3, 3, 3)) == last


def test_real_ragged_panels_are_read():
    if "BBEDGE_PANELS" not in os.environ:
        pytest.skip("set BBEDGE_PANELS to the folder of public result panels to try them")
    folder = Path(os.environ["BBEDGE_PANELS"])
    for name in ("zeroeval_gsm_ragged", "lineage_bench_ragged", "llmstability_grice_ragged"):
        path = folder / f"{name}.parquet"
        rows = pl.read_parquet(path).height
        worst = read_scores(path, incomplete="worst-case")
        assert worst.gaps == "worst-case"
        assert np.count_nonzero(~np.isnan(worst.values)) == rows
        both = read_scores(path, incomplete="stopped,worst-case")
        assert np.array_equal(both.values, worst.values, equal_nan=True)
        assert (both.stops is None) == (len(both.replicates) == 1)
        with pytest.raises(DataError):
            read_scores(path, incomplete="stopped")


def test_failed_samples_are_no_sign_of_other_items(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"{model},q{n},{'' if n > 1 else 1}\n" for model in "ab" for n in range(5)]
    path.write_text("model,item,score\n" + "".join(rows))
    found = survey([str(path)])
    assert "identifier of its own" not in found.refused
    assert found.remedy == "worst-case"
    path.write_text("model,item,score\n" + "".join(f"{model},{model}{n},1\n" for model in "ab" for n in range(5)))
    found = survey([str(path)])
    assert "identifier of its own" in found.refused
    assert found.remedy is None
