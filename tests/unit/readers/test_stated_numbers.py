"""Samples against what their log states: counts that differ are refused, means that differ are noted."""

import json

import pytest

from bbedge.errors import DataError, DomainError
from bbedge.readers import read_scores
from bbedge.readers.logs.stated import tolerance
from log_makers import LOGS, inspect_log, inspect_sample, lm_eval_row, lm_eval_run
from older_logs import first_lm_eval, first_openai_evals, first_promptfoo, helm_run, old_lighteval


def read(*sources, incomplete="refuse", **choices):
    return read_scores(*sources, least_models=1, **choices, incomplete=incomplete)


def refusal(*sources, **choices):
    with pytest.raises(DataError) as caught:
        read(*sources, **choices)
    return str(caught.value)


def stated(scores):
    return [note for note in scores.notes if "states" in note.text]


def lm_eval_stating(folder, *, mean=0.5, count=4, aggregation="mean", rows=None):
    config = {"metric_list": [{"metric": "acc", "aggregation": aggregation}]}
    return lm_eval_run(
        folder,
        rows=[lm_eval_row(n, score=float(n % 2)) for n in range(4)] if rows is None else rows,
        results={"t": {"acc,none": mean, "acc_stderr,none": 0.9, "alias": "t"}},
        configs={"t": config},
        **({} if count is None else {"n-samples": {"t": {"original": 100, "effective": count}}}),
    )


def test_lm_eval_a_file_of_samples_that_was_cut_is_refused(tmp_path):
    path = lm_eval_stating(tmp_path, count=100)
    results = next(tmp_path.glob("results_*"))
    message = refusal(tmp_path)
    assert f"{path}: 4 samples under the filter 'none', but {results} states 100" in message
    for policy in ("zero", "worst-case", "drop-items"):
        assert "states 100" in refusal(tmp_path, incomplete=policy)
    lm_eval_stating(tmp_path)
    assert stated(read(tmp_path)) == []


def test_lm_eval_a_subset_is_read_where_the_user_declares_it(tmp_path):
    path = lm_eval_stating(tmp_path, mean=0.75, count=1319)
    assert "or, if the publisher kept only these, declare it with subset=True" in refusal(tmp_path)
    scores = read(tmp_path, subset=True)
    assert (scores.values.shape, scores.values.mean()) == ((1, 1, 4), 0.5)
    (note,) = [note for note in scores.notes if note.kind == "subset"]
    assert note.text == f"{path.name}: 4 of 1,319 documents were kept by the publisher."
    assert note.subject == (path.name,)
    # The stated mean is that of other documents.
    assert stated(scores) == []


def test_lm_eval_declaring_a_subset_allows_nothing_else(tmp_path):
    lm_eval_stating(tmp_path, count=3)
    message = refusal(tmp_path, subset=True)
    assert "states 3" in message
    assert "the publisher kept" not in message
    lm_eval_stating(tmp_path, mean=0.75)
    (note,) = stated(read(tmp_path, subset=True))
    assert note.kind == "log"


def test_a_subset_of_other_logs_stays_refused(tmp_path):
    (tmp_path / "a.csv").write_text("model,item,score\na,q,1\nb,q,0\n")
    with pytest.raises(DomainError, match="subset is for logs"):
        read(tmp_path / "a.csv", subset=True)


def test_lm_eval_the_count_holds_for_every_filter(tmp_path):
    rows = [lm_eval_row(n, filter=chosen) for chosen in ("strict", "loose") for n in range(4)]
    lm_eval_stating(tmp_path, rows=rows)
    assert read(tmp_path, filter=("strict",)).values.shape == (1, 1, 4)
    lm_eval_stating(tmp_path, rows=rows[:-1])
    assert "3 samples under the filter 'loose', but" in refusal(tmp_path, filter=("strict",))


def test_lm_eval_a_mean_that_differs_is_noted_with_both_numbers(tmp_path):
    path = lm_eval_stating(tmp_path, mean=0.75)
    (note,) = stated(read(tmp_path))
    assert (note.kind, note.subject) == ("log", (path.name,))
    assert "the mean of 'acc' under 'none' over its 4 scores is 0.5, but" in note.text
    assert "states 0.75" in note.text


def test_lm_eval_other_aggregations_than_the_mean_are_not_compared(tmp_path):
    lm_eval_stating(tmp_path, mean=0.75, aggregation="f1")
    assert stated(read(tmp_path)) == []


def test_lm_eval_of_the_first_versions(tmp_path):
    first_lm_eval(tmp_path, stated=0.9)
    (note,) = stated(read(tmp_path))
    assert "is 0.666667, but" in note.text


def inspect_stating(path, *, mean=0.5, total=2, completed=2, samples=None, metric="accuracy", **score):
    scores = [{"name": "match", "scorer": "match", "metrics": {metric: {"name": metric, "value": mean}}, **score}]
    inspect_log(path, samples=[inspect_sample("q1"), inspect_sample("q2", value="I")] if samples is None else samples)
    import zipfile

    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
    header = json.loads(members["header.json"])
    header["results"] = {"total_samples": total, "completed_samples": completed, "scores": scores}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("summaries.json", members["summaries.json"])
    return path


def test_inspect(tmp_path):
    path = tmp_path / "a.eval"
    assert stated(read(inspect_stating(path))) == []
    (note,) = stated(read(inspect_stating(path, mean=0.25)))
    assert "the mean of 'match' over its 2 scores is 0.5, but it states 0.25" in note.text
    assert stated(read(inspect_stating(path, mean=0.25, metric="stderr"))) == []
    assert stated(read(inspect_stating(path, mean=0.25, reducer="mode"))) == []
    assert f"{path}: 2 samples, but itself states 3" in refusal(inspect_stating(path, total=3, completed=3))
    # Of five, three ended without an error; the others may be there or not.
    assert "2 samples, but itself states 3" in refusal(inspect_stating(path, total=5, completed=3))
    assert read(inspect_stating(path, total=5, completed=1)).values.shape == (1, 1, 2)


def test_helm(tmp_path):
    rows = [("id1", "test", 1.0), ("id2", "test", 0.0), ("id3", "valid", 1.0)]
    good = [("exact_match", "test", 0.5), ("exact_match", "valid", 1.0), ("num_instances", "test", 2.0)]
    helm_run(tmp_path, rows, stats=good)
    assert stated(read(tmp_path)) == []
    helm_run(tmp_path, rows, stats=[("exact_match", "test", 0.6), ("exact_match", "valid", 0.1)])
    (note,) = stated(read(tmp_path))
    assert "the mean of 'exact_match' under 'test' over its 2 scores is 0.5, but" in note.text
    helm_run(tmp_path, rows, stats=[("num_instances", "test", 9.0)])
    assert "2 samples under the filter 'test', but" in refusal(tmp_path)


def test_lighteval(tmp_path):
    path = old_lighteval(tmp_path)
    assert stated(read(tmp_path, metric=("extractive_match",))) == []
    results = next(tmp_path.rglob("results_*.json"))
    document = json.loads(results.read_text())
    document["results"]["lighteval|quiz|0"]["extractive_match"] = 0.9
    results.write_text(json.dumps(document))
    (note,) = stated(read(tmp_path, metric=("extractive_match",)))
    assert (
        f"{path.name}: the mean of 'extractive_match' over its 2 scores is 0.5, but {results.name} states 0.9"
        in note.text
    )
    assert stated(read(tmp_path, metric=("pass@1:4_samples",))) == []
    document["config_tasks"]["lighteval|quiz"]["effective_num_docs"] = 30
    results.write_text(json.dumps(document))
    assert f"{path}: 2 samples, but {results} states 30" in refusal(tmp_path, metric=("extractive_match",))


def test_promptfoo(tmp_path):
    rows = [("a", "x", {"v": n}, n) for n in (0, 1)]
    path = tmp_path / "out.json"
    assert stated(read(first_promptfoo(path, rows=rows), metric=("success",))) == []
    first_promptfoo(path, rows=rows, stats={"successes": 2, "failures": 0})
    (note,) = stated(read(path, metric=("success",)))
    assert "the mean of 'success' over its 2 scores is 0.5, but it states 1" in note.text
    first_promptfoo(path, rows=rows, stats={"successes": 2, "failures": 3, "errors": 1})
    assert "out.json: 2 samples, but itself states 6" in refusal(path)


def test_openai_evals(tmp_path):
    path = first_openai_evals(tmp_path / "a.jsonl", report={"accuracy": 0.5})
    assert stated(read(path)) == []
    first_openai_evals(path, report={"accuracy": 0.75, "boostrap_std": 0.1})
    (note,) = stated(read(path))
    assert "the mean of 'match' over its 2 scores is 0.5, but it states 0.75" in note.text


@pytest.mark.parametrize(
    ("folder", "choices"),
    [
        ("inspect/epochs", {}),
        ("inspect/json", {}),
        ("inspect/two_scorers", {"metric": ("graded.short",)}),
        ("lm_eval/run1", {"metric": ("exact_match", "acc"), "filter": ("strict", "none")}),
        ("helm", {"metric": ("exact_match",)}),
        ("lighteval", {}),
        ("promptfoo/json", {}),
        ("promptfoo/json", {"metric": ("success",)}),
        ("openai_evals", {}),
    ],
)
def test_logs_of_the_real_tools_state_what_is_read_from_them(folder, choices):
    assert stated(read(LOGS / folder, **choices)) == []


@pytest.mark.parametrize(
    ("mean", "far", "near"), [(0.5, 0.501, 0.5 + 1e-9), (0.7303, 0.7305, 0.73026), (1 / 3, 0.3334, 1 / 3 + 1e-9)]
)
def test_a_mean_that_looks_rounded_may_be(mean, far, near):
    assert abs(mean - near) <= tolerance(mean) < abs(mean - far)
