"""What a log cannot say: metric, filter, blocks, model names, replicates. Nothing of it is guessed."""

import json

import pytest

from bbedge.errors import DataError, DomainError, FormatError
from bbedge.readers import read_scores
from bbedge.readers.choices import NameSource, model_of_log, name_origin
from bbedge.readers.tools import readers
from bbedge.records.reading import Reading
from log_makers import inspect_log, inspect_sample, lm_eval_row, lm_eval_run


def read(*sources, blocks=None, score_range=(0.0, 1.0), least_models=1, column=(), incomplete="refuse", **choices):
    return read_scores(
        *sources,
        blocks=blocks,
        score_range=score_range,
        least_models=least_models,
        column=column,
        incomplete=incomplete,
        **choices,
    )


def refusal(*sources, error=(DataError, DomainError), **options):
    with pytest.raises(error) as caught:
        read(*sources, **options)
    return str(caught.value)


def test_a_metric_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    path = lm_eval_run(tmp_path)
    message = refusal(path, metric=("f1",))
    assert f"{path}:1: metric=('f1',): no such metric in it; it has 'acc': name exactly one" in message


def test_two_metrics_of_one_file_are_refused(tmp_path):
    rows = [lm_eval_row(n, f1=0.5) | {"metrics": ["acc", "f1"]} for n in (0, 1)]
    path = lm_eval_run(tmp_path, rows=rows)
    assert "metrics 'acc', 'f1' are both in it" in refusal(path, metric=("acc", "f1"))
    assert read(path, metric=("f1",)).values.mean() == 0.5


def test_a_sample_without_the_metric_is_refused(tmp_path):
    path = lm_eval_run(tmp_path, rows=[lm_eval_row(0), lm_eval_row(1, metric="f1")])
    assert f"{path}:2: no metric 'acc' in this sample, which has 'f1'" in refusal(path)


def test_a_metric_of_which_less_is_better_is_refused(tmp_path):
    path = lm_eval_run(tmp_path, higher_is_better={"t": {"acc": False}})
    assert "less is better for the metric 'acc'" in refusal(path)


def test_right_and_wrong_have_no_place_on_another_scale(tmp_path):
    path = inspect_log(tmp_path / "a.eval")
    assert "'match' is right or wrong, which fits no other" in refusal(path, score_range=(0, 10))


def test_numbers_are_mapped_from_their_scale(tmp_path):
    path = inspect_log(tmp_path / "a.eval", samples=[inspect_sample("q1", value=5), inspect_sample("q2", value="10")])
    assert read(path, score_range=(0, 10)).values.tolist() == [[[0.5, 1.0]]]
    assert "a.eval: sample 1: score 5.0 is outside [0, 1]; pass score_range=(0, 10)" in refusal(path)


def test_inspect_letters_are_what_inspect_counts_them_as(tmp_path):
    samples = [inspect_sample(f"q{n}", value=letter) for n, letter in enumerate("CIPN")]
    assert read(inspect_log(tmp_path / "a.eval", samples=samples)).values.tolist() == [[[1.0, 0.0, 0.5, 0.0]]]
    path = inspect_log(tmp_path / "b.eval", samples=[inspect_sample("q1", value="B")])
    assert "sample 1: score 'B' is neither a number nor one of Inspect's letters" in refusal(path)


def test_a_score_that_is_not_there_is_missing_and_not_zero(tmp_path):
    samples = [inspect_sample("q1"), inspect_sample("q2", value=float("nan")), inspect_sample("q3", scores={})]
    other = inspect_log(tmp_path / "b.eval", model="b", samples=[inspect_sample(f"q{n}") for n in (1, 2, 3)])
    message = refusal(inspect_log(tmp_path / "a.eval", samples=samples), other)
    assert "2 of 6 cells" in message
    assert "2 samples without an error, and without a score" in message


def test_blocks_come_from_fields_of_any_depth(tmp_path):
    rows = [lm_eval_row(n, doc={"q": n, "meta": {"a.b": n // 2}}) for n in range(4)]
    scores = read(lm_eval_run(tmp_path, rows=rows), blocks="doc.meta.a.b")
    assert sorted(scores.blocks) == ["t/0", "t/0", "t/1", "t/1"]


def test_a_field_that_is_not_there_is_refused_with_those_that_are(tmp_path):
    path = lm_eval_run(tmp_path)
    message = refusal(path, blocks="doc.dialogue")
    assert f"{path}:1: no field 'doc.dialogue' to take the block from" in message
    assert "'doc.question', 'doc.group'" in message


def test_an_item_in_two_blocks_is_refused(tmp_path):
    samples = [inspect_sample("q1", epoch=n, metadata={"d": n}) for n in (1, 2)]
    path = inspect_log(tmp_path / "a.eval", samples=samples)
    assert "a.eval: sample 2: item 't/q1' is in block 't/2' here and in block 't/1' before" in refusal(
        path, blocks="metadata.d"
    )


def test_a_log_that_names_no_model_needs_one(tmp_path):
    path = lm_eval_run(tmp_path)
    next(tmp_path.glob("results_*")).unlink()
    assert f"{path}: the log does not name its model; say it with model_name=(NAME,), or" in refusal(path)
    scores = read(path, model_name=("mine",))
    assert scores.models == ("mine",)
    assert any("has no results_<time>.json" in note.text for note in scores.notes)


def test_models_are_named_by_patterns_of_paths_and_of_names(tmp_path):
    files = [
        inspect_log(tmp_path / place / "a.eval", model=model)
        for place, model in (("x", "gpt"), ("y", "gpt"), ("z", "b"))
    ]
    scores = read(*files, model_name=("x/*=first", "*/y/*=second", "b=third"))
    assert scores.models == ("first", "second", "third")
    message = refusal(*files, model_name=("w/*=first",))
    assert "model_name 'w/*=first': no file and no model fits 'w/*'; the logs name 'gpt', 'b'" in message
    assert "gives no name" in refusal(*files, model_name=("x/*=",))


@pytest.mark.parametrize(
    ("source", "labels"),
    [
        (None, ("1", "2")),
        ("folder", ("day1", "day2")),
        ("file", ("a.eval", "b.eval")),
        ("path:day(\\d)/", ("1", "2")),
        ("seed", ("7", "9")),
        ("metadata.run", ("r1", "r2")),
    ],
)
def test_replicates_are_named_from_where_the_user_says(tmp_path, source, labels):
    files = [
        inspect_log(
            tmp_path / f"day{n}" / f"{name}.eval",
            samples=[inspect_sample("q1", metadata={"run": f"r{n}"})],
            model_generate_config={"seed": seed},
            created=f"2026-01-0{n}",
        )
        for n, name, seed in ((2, "b", 9), (1, "a", 7))
    ]
    scores = read(*files, replicate_from=source)
    assert scores.replicates == labels
    # A board takes numbers that someone gave for what they are, and counts on where nobody did.
    assert scores.numbered == (source not in (None, "seed"))


def test_the_current_folder_names_the_replicate_of_a_log_in_it(tmp_path, monkeypatch):
    inspect_log(tmp_path / "day1" / "a.eval")
    monkeypatch.chdir(tmp_path / "day1")
    assert read("a.eval", replicate_from="folder").replicates == ("day1",)


def test_epochs_within_named_runs_are_kept_apart(tmp_path):
    files = [
        inspect_log(tmp_path / f"run{n}" / "a.eval", samples=[inspect_sample("q", epoch=e) for e in (1, 2)])
        for n in (1, 2)
    ]
    assert read(*files, replicate_from="folder").replicates == ("run1/1", "run1/2", "run2/1", "run2/2")
    assert read(*files).replicates == ("1", "2", "3", "4")


def test_two_runs_with_one_label_are_a_duplicate(tmp_path):
    files = [inspect_log(tmp_path / "day" / f"{name}.eval", created=name) for name in "ab"]
    assert "a second score for model 'm', item 't/q1', replicate 'day'" in refusal(*files, replicate_from="folder")


@pytest.mark.parametrize(
    ("source", "problem"),
    [("time", "is not known; choose folder"), ("path:(", "not a regular expression"), ("path:a", "0 groups")],
)
def test_a_source_of_replicates_that_means_nothing_is_refused(tmp_path, source, problem):
    with pytest.raises(DomainError, match=problem):
        read(inspect_log(tmp_path / "a.eval"), replicate_from=source)


def test_a_source_of_replicates_that_is_not_there_is_refused(tmp_path):
    path = inspect_log(tmp_path / "a.eval")
    assert "a.eval: sample 1: nothing there for replicate_from='seed';" in refusal(path, replicate_from="seed")


def test_one_run_counts_once(tmp_path):
    first = inspect_log(tmp_path / "a.eval", eval_id="x")
    again = inspect_log(
        tmp_path / "b.eval", eval_id="x", samples=[inspect_sample("q1"), inspect_sample("q2", value="I")]
    )
    assert "b.eval: the same run of 'm' as in" in refusal(first, again)


def test_files_that_are_the_same_are_noticed_where_runs_have_no_name(tmp_path):
    rows = [{"instance_id": "id1", "train_trial_index": 0, "stats": [{"name": {"name": "em"}, "count": 1, "mean": 1}]}]
    for run in ("run1", "run2"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "per_instance_stats.json").write_text(json.dumps(rows))
        (tmp_path / run / "run_spec.json").write_text(json.dumps({"adapter_spec": {"model": "m"}}))
    scores = read(tmp_path)
    assert scores.replicates == ("1", "2")
    assert any("are the same byte for byte" in note.text for note in scores.notes)


def test_greedy_runs_repeat_themselves_and_are_noticed(tmp_path):
    rows = [lm_eval_row(n, score=float(n % 2)) for n in range(8)]
    files = [lm_eval_run(tmp_path / run, rows=rows, time=f"2026-01-0{run}T00-00-00.000001") for run in "12"]
    notes = read(*files).notes
    assert any(note.kind == "copies" for note in notes)


def test_the_same_file_named_twice_is_read_once(tmp_path):
    path = inspect_log(tmp_path / "a.eval")
    assert read(path, path, tmp_path).values.shape == (1, 1, 2)


def test_documents_with_the_same_text_are_two_items(tmp_path):
    rows = [lm_eval_row(n, doc={"q": "same"}) for n in (0, 1)]
    assert [item[-2:] == "#2" for item in read(lm_eval_run(tmp_path, rows=rows)).items] == [False, True]


def test_a_text_that_changed_between_runs_is_noticed(tmp_path):
    files = [
        inspect_log(tmp_path / f"{n}.eval", samples=[inspect_sample("q1"), inspect_sample("q2", input=f"version {n}")])
        for n in (1, 2)
    ]
    (note,) = (note for note in read(*files).notes if note.kind == "content")
    assert "1 item with another text in some runs than in others: 't/q2'" in note.text
    assert "2.eval: sample 2" in note.text


def test_a_document_that_changed_between_runs_of_one_model_is_named_where_cells_are_missing(tmp_path):
    one = lm_eval_run(tmp_path / "1", rows=[lm_eval_row(0), lm_eval_row(1)])
    two = lm_eval_run(
        tmp_path / "2",
        rows=[lm_eval_row(0), lm_eval_row(1, doc={"question": "new"})],
        time="2026-01-02T00-00-00.000001",
    )
    message = refusal(one, two)
    assert "2 of 6 cells" in message
    assert "1 item with another text in some runs than in others: 't/1'" in message


def test_settings_that_differ_are_noticed(tmp_path):
    files = [
        inspect_log(tmp_path / f"{n}.eval", model_generate_config={"temperature": n}, packages={"inspect_ai": f"0.{n}"})
        for n in (0, 1)
    ]
    notes = read(*files).notes
    assert any("Runs of 'm' on 't' differ in temperature: '0', '1'" in note.text for note in notes)
    assert any("Runs on 't' differ in Inspect version: '0.0', '0.1'" in note.text for note in notes)


def test_a_run_that_did_not_end_well_is_noticed(tmp_path):
    notes = read(inspect_log(tmp_path / "a.eval", status="error")).notes
    assert any("the run ended with 'error'" in note.text for note in notes)


def test_options_of_logs_are_refused_for_tables_and_the_other_way_round(tmp_path):
    (tmp_path / "a.csv").write_text("model,item,score\na,q,1\nb,q,0\n")
    assert "metric is for logs, and" in refusal(tmp_path / "a.csv", metric=("acc",))
    path = inspect_log(tmp_path / "a.eval")
    message = refusal(path, column={"score": "acc"})
    assert "a log of Inspect AI, which is read without column={'score': 'acc'}: leave it out" in message


def test_perturbed_rows_of_helm_are_left_out_and_counted(tmp_path):
    stats = [{"name": {"name": "em"}, "count": 1, "mean": 1.0}]
    rows = [{"instance_id": f"id{n}", "train_trial_index": 0, "stats": stats} for n in (1, 2)]
    rows.append({"instance_id": "id1", "train_trial_index": 0, "stats": stats, "perturbation": {"name": "typos"}})
    (tmp_path / "per_instance_stats.json").write_text(json.dumps(rows))
    (tmp_path / "run_spec.json").write_text(json.dumps({"name": "s:model=m", "adapter_spec": {"model": "m"}}))
    scores = read(tmp_path)
    assert scores.items == ("s/id1", "s/id2")
    assert "Left out: 1 row scored as 'perturbed by typos'." in [note.text for note in scores.notes]
    assert read(tmp_path, filter=("perturbed by typos",)).items == ("s/id1",)
    assert "no sample was scored under the filter 'nothing'" in refusal(tmp_path, filter=("nothing",))


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path):
    message = refusal(inspect_log(tmp_path / "a.eval"), format="unheard-of")
    assert "choose lm-eval, inspect, helm, lighteval, promptfoo, openai-evals, " in message
    assert all(f"{name}, " in message for name in readers())
    assert message.endswith("table, wide")


def test_a_format_overrides_what_is_recognised(tmp_path):
    path = inspect_log(tmp_path / "a.eval")
    with pytest.raises(FormatError):
        read(path, format="lm-eval")
    other = tmp_path / "b.zip"
    other.write_bytes(path.read_bytes())
    assert read(other, format="inspect").models == ("m",)


@pytest.mark.parametrize(
    ("source", "name"),
    [("file", "gpt-4.1"), ("folder", "small"), (r"path:runs/(\w+)/", "small"), (r"path:gpt-([\d.]+)\.jsonl", "4.1")],
)
def test_the_path_of_a_file_can_name_its_model(source, name):
    path = "runs/small/gpt-4.1.jsonl.gz"
    assert model_of_log(Reading(model_from=source), path, "what the log says") == name
    assert model_of_log(Reading(model_from=source, model_name=("*/small/*=s",)), path, None) == "s"


def test_a_model_from_a_field_is_not_looked_for_in_the_path():
    reading = Reading(model_from="task_args.prompt")
    assert name_origin(reading, "model") == NameSource(kind="field", text="task_args.prompt")
    assert model_of_log(reading, "runs/small/a.eval", "old") == "old"


@pytest.mark.parametrize("source", ["", "path:(", "path:runs", "path:(a)(b)"])
def test_an_unknown_origin_of_the_model_is_refused(tmp_path, source):
    with pytest.raises(DomainError, match="model_from"):
        read(inspect_log(tmp_path / "a.eval"), model_from=source)


def test_a_path_without_the_name_of_its_model_is_refused():
    with pytest.raises(FormatError, match=r"a\.jsonl: nothing there for model_from='path:"):
        model_of_log(Reading(model_from="path:runs/(x+)"), "runs/a.jsonl", "m")
