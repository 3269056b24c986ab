"""Replicates with one model each: refused whatever the policy for missing scores, with what the paths show."""

import json

import polars as pl
import pytest

from bbedge.core.leaderboard import certify
from bbedge.errors import Argument, DataError
from bbedge.readers import read_scores
from bbedge.readers.assemble.duplicates import RepeatedScoreError
from bbedge.readers.assemble.pairing import UnpairedRunsError
from bbedge.readers.survey import survey
from bbedge.readers.tables.roles import ColumnError
from bbedge.records.reading import Reading
from log_makers import inspect_log

POLICIES = ("refuse", "zero", "worst-case", "stopped", "stopped,worst-case", "drop-models", "drop-replicates")
RUNS = Argument("replicate_from", r"path:run(\d+)")
MODELS = Argument("model_from", "path:(new|old)_run")


def files(folder, shape="{m}_run{r}.jsonl", *, column=True, runs=(1, 2, 3), models=("new", "old")):
    made = []
    for model in models:
        for run in runs:
            path = folder / shape.format(m=model, r=run)
            path.parent.mkdir(parents=True, exist_ok=True)
            rows = [{"item": f"q{i}", "score": (i + run) % 2} for i in range(4)]
            path.write_text("".join(json.dumps({"model": model, **row} if column else row) + "\n" for row in rows))
            made.append(path)
    return made


def assert_paired(scores, *, models=("new", "old"), replicates=("1", "2", "3")):
    assert (scores.models, scores.replicates) == (models, replicates)


def as_choices(proposal):
    return dict(**{each.name: each.value for each in proposal})


@pytest.mark.parametrize("policy", POLICIES)
def test_replicates_of_one_model_are_refused_before_any_policy(tmp_path, policy):
    paths = files(tmp_path)
    with pytest.raises(UnpairedRunsError) as caught:
        read_scores(*paths, replicate_from="file", incomplete=policy)
    message = str(caught.value)
    assert "no replicate has runs of two models" in message
    assert "incomplete" not in message
    assert r"replicate_from='path:run(\\d+)'" in message
    assert caught.value.proposal == (RUNS,)
    assert_paired(read_scores(*paths, **as_choices(caught.value.proposal)))


def test_files_without_a_model_are_proposed_with_both_parts_of_their_names(tmp_path):
    paths = files(tmp_path, column=False)
    for sources in (paths, [tmp_path]):
        with pytest.raises(DataError) as caught:
            read_scores(*sources)
        assert caught.value.proposal == (MODELS, RUNS)
        assert "if every file is one run of one model" in str(caught.value)
        assert "model_from='file'" not in str(caught.value)
        assert_paired(read_scores(*sources, **as_choices(caught.value.proposal)))


@pytest.mark.parametrize("model_from", ["file", "path:(.*)"])
def test_names_of_files_that_are_no_models_are_replaced(tmp_path, model_from):
    paths = files(tmp_path, column=False)
    with pytest.raises(UnpairedRunsError) as caught:
        read_scores(*paths, model_from=model_from, replicate_from="file", incomplete="zero")
    assert caught.value.proposal == (MODELS, RUNS)


def test_files_that_are_read_as_models_of_their_own_are_noted(tmp_path):
    paths = files(tmp_path, column=False)
    (note,) = read_scores(*paths, model_from="file").notes[:1]
    assert note.kind == "files"
    assert r"--model-from 'path:(new|old)_run' --replicate-from 'path:run(\d+)'" in note.text
    few = files(tmp_path / "few", "{m}.jsonl", column=False, runs=(1,))
    assert read_scores(*few, model_from="file").notes == ()


def test_a_model_chosen_by_the_user_is_kept(tmp_path):
    paths = files(tmp_path, column=False)
    with pytest.raises(UnpairedRunsError) as caught:
        read_scores(*paths, model_from="path:(new|old)", replicate_from="file")
    assert caught.value.proposal == (RUNS,)


def test_repeated_scores_of_files_of_one_model_propose_the_run_that_pairs_them(tmp_path):
    paths = files(tmp_path)
    with pytest.raises(RepeatedScoreError) as caught:
        read_scores(*paths)
    assert caught.value.proposal == (RUNS,)
    assert "replicate_from='file'" not in str(caught.value)
    paths = files(tmp_path / "b", "{m}_a{r}b.jsonl", runs=(5, 7))
    with pytest.raises(RepeatedScoreError) as caught:
        read_scores(*paths)
    assert_paired(read_scores(*paths, **as_choices(caught.value.proposal)), replicates=("a5b", "a7b"))


def test_without_a_pattern_the_message_says_what_to_do(tmp_path):
    made = [tmp_path / name for name in ("w.csv", "x.csv", "y.csv", "z.csv")]
    for path, model in zip(made, ("new", "new", "old", "old"), strict=True):
        path.write_text(f"model,item,score\n{model},q1,1\n{model},q2,0\n")
    with pytest.raises(RepeatedScoreError) as caught:
        read_scores(*made)
    assert not caught.value.proposal
    assert "numbers in a column named replicate, the same for every model" in str(caught.value)
    with pytest.raises(UnpairedRunsError) as caught:
        read_scores(*made, replicate_from="file", incomplete="zero")
    assert not caught.value.proposal
    assert "in a column named replicate" in str(caught.value)
    assert "replicate_from=path:REGEX" in str(caught.value)


def test_frames_and_logs_are_refused_too(tmp_path):
    rows = [{"model": m, "item": "q", "seed": s, "score": 1} for m, s in (("a", 1), ("a", 2), ("b", 3), ("b", 4))]
    with pytest.raises(UnpairedRunsError, match="in a column named replicate"):
        read_scores(pl.DataFrame(rows), incomplete="zero")
    for model in ("a", "b"):
        for run in (1, 2):
            inspect_log(tmp_path / f"{model}_run{run}.eval", model=model, created=f"2026-01-0{run}T00:00:00")
    assert_paired(read_scores(tmp_path), models=("a", "b"), replicates=("1", "2"))
    with pytest.raises(UnpairedRunsError) as caught:
        read_scores(tmp_path, replicate_from="file", incomplete="worst-case")
    assert caught.value.proposal == (RUNS,)
    assert_paired(read_scores(tmp_path, **as_choices(caught.value.proposal)), models=("a", "b"), replicates=("1", "2"))


def test_one_replicate_with_two_models_is_enough_for_a_policy():
    rows = [{"model": m, "item": "q", "replicate": r, "score": 1} for m, r in (("a", 1), ("a", 2), ("b", 2), ("b", 3))]
    assert read_scores(pl.DataFrame(rows), incomplete="worst-case").values.shape == (3, 2, 1)


def test_failed_samples_are_runs():
    rows = [
        {"model": m, "item": "q", "replicate": r, "score": s}
        for m, r, s in (("a", 1, 1.0), ("a", 2, None), ("b", 1, None), ("b", 2, 1.0))
    ]
    assert read_scores(pl.DataFrame(rows), incomplete="zero").values.sum() == 2


def test_seeds_in_paths_need_no_order(tmp_path):
    paths = files(tmp_path, "{m}_seed{r}.jsonl", column=False, runs=(3, 17, 42))
    with pytest.raises(ColumnError) as caught:
        read_scores(*paths)
    assert_paired(read_scores(*paths, **as_choices(caught.value.proposal)), replicates=("3", "17", "42"))


@pytest.mark.parametrize(("column", "notes"), [("seed", 1), ("torch_seed", 1), ("run", 0)])
def test_tables_whose_runs_are_seeds_say_that_all_items_share_them(column, notes):
    rows = [{"model": m, "item": q, column: s, "score": 1.0} for m in "ab" for q in "xy" for s in (41, 42)]
    made = certify(read_scores(pl.DataFrame(rows), column={"replicate": column}), target="new-items", copies="allow")
    found = [note.text for note in made.certificate().content.notes if note.kind == "seed"]
    assert len(found) == notes
    assert all("All items of a run share one seed ('41', '42')" in text for text in found)


def test_proposals_replace_a_choice_that_pairs_nothing(tmp_path):
    paths = [str(path) for path in files(tmp_path)]
    found = survey(paths, Reading.of({"replicate_from": "file"}))
    assert (found.remedy, found.missing) == (None, {})
    assert found.proposal == (RUNS,)


def test_a_repeated_score_behind_a_piece_of_blank_lines_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("model,item,score,turn\n" + "\n" * 50 + "a,q1,1,1\na,q1,1,2\nb,q1,0,1\n")
    monkeypatch.setattr("bbedge.readers.opening.PIECE", 20)
    with pytest.raises(RepeatedScoreError, match=r"a\.csv:53: a second score"):
        read_scores(path)
