"""Tables with a row for every judgement."""

import numpy as np
import polars as pl
import pytest

from bbedge.errors import BbedgeError
from bbedge.readers import read_judgements, read_scores


def rows(*, replicates=(1, 2, 10), judgements=(1, 2), models=("a", "b"), items=("x", "y"), seed=1):
    rng = np.random.default_rng(seed)
    return [
        {"model": model, "item": item, "replicate": replicate, "judgement": judgement, "score": rng.integers(1, 11)}
        for replicate in replicates
        for judgement in judgements
        for model in models
        for item in items
    ]


def frame(table):
    return pl.DataFrame(table, strict=False)


def test_the_mean_of_the_judgements_is_the_score():
    table = rows(replicates=(1, 2, 3))
    read = read_judgements(frame(table), judgement="judgement", score_range=(0, 10))
    assert read.judgements.shape == (3, 2, 2, 2)
    assert read.scores.replicates == ("1", "2", "3")
    for row in table:
        place = (row["replicate"] - 1, row["judgement"] - 1, "ab".index(row["model"]), "xy".index(row["item"]))
        assert read.judgements[place] == pytest.approx(row["score"] / 10)
    assert np.array_equal(read.scores.values, read.judgements.mean(axis=1))


def test_replicates_are_in_their_order_whatever_that_of_the_rows():
    table = rows(replicates=tuple(range(1, 12)))
    forward = read_judgements(frame(table), judgement="judgement", score_range=(0, 10))
    backward = read_judgements(frame(table[::-1]), judgement="judgement", score_range=(0, 10))
    assert forward.scores.replicates == backward.scores.replicates == tuple(map(str, range(1, 12)))
    np.testing.assert_array_equal(forward.judgements, backward.judgements)


def test_without_the_option_several_scores_are_refused():
    with pytest.raises(BbedgeError, match="a second score for model"):
        read_scores(frame(rows(replicates=(1, 2))), score_range=(0, 10))


def test_a_run_that_was_left_out_is_noticed():
    with pytest.raises(BbedgeError, match="the replicates run from 1 to 10 but"):
        read_judgements(frame(rows()), judgement="judgement", score_range=(0, 10))


def test_every_answer_is_judged_equally_often():
    table = [row for row in rows(replicates=(1, 2)) if row["replicate"] == 1 or row["judgement"] == 1]
    with pytest.raises(BbedgeError, match="replicate '2' has 1 judgement of each answer, and another one has 2"):
        read_judgements(frame(table), judgement="judgement", score_range=(0, 10))
    with pytest.raises(BbedgeError, match="no score"):
        read_judgements(frame(rows(replicates=(1, 2))[:-1]), judgement="judgement", score_range=(0, 10))


def test_a_judgement_that_comes_twice_is_refused():
    table = rows(replicates=(1, 2))
    with pytest.raises(BbedgeError, match="a second score for model"):
        read_judgements(frame([*table, table[0]]), judgement="judgement", score_range=(0, 10))


def test_names_may_contain_what_joins_them():
    table = [{**row, "replicate": f"r+{row['replicate']}\\"} for row in rows(replicates=(1, 2))]
    read = read_judgements(frame(table), judgement="judgement", score_range=(0, 10))
    assert read.scores.replicates == ("r+1\\", "r+2\\")


def test_the_replicate_column_may_have_another_name():
    table = frame(rows(replicates=(1, 2))).rename({"replicate": "pass"})
    read = read_judgements(table, judgement="judgement", column={"replicate": "pass"}, score_range=(0, 10))
    assert read.scores.replicates == ("1", "2")
    with pytest.raises(BbedgeError, match=r"no columns 'replicate' and 'judgement'.*column=\{'replicate': NAME\}"):
        read_judgements(table, judgement="judgement", score_range=(0, 10))


def test_equal_judgements_are_no_copies_of_runs():
    table = [{**row, "score": 3 + row["replicate"]} for row in rows(replicates=(1, 2))]
    read = read_judgements(frame(table), judgement="judgement", score_range=(0, 10))
    assert read.scores.notes == ()
    assert read.scores.copies == ()


def test_runs_from_paths_are_refused():
    with pytest.raises(BbedgeError, match="needs a replicate column"):
        read_judgements(frame(rows()), judgement="judgement", replicate_from="file")
