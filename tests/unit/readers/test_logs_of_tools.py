"""The logs that the real tools wrote, read as scores. How they were made: tests/logs/README.md."""

import json
import shutil

import numpy as np
import pytest

from bbedge.errors import DataError, FormatError
from bbedge.readers import read_scores
from log_makers import LOGS


def test_inspect_epochs_are_replicates_and_metadata_names_blocks():
    scores = read_scores(LOGS / "inspect" / "epochs", blocks="metadata.dialogue_id")
    assert scores.models == ("mockllm/aster", "mockllm/birch")
    assert scores.items == tuple(f"capitals/q{n}" for n in range(1, 9))
    assert scores.replicates == ("1", "2", "3")
    assert scores.blocks[0] == scores.blocks[2] == "capitals/europe"
    assert len(set(scores.blocks)) == 4
    assert not scores.numbered
    assert set(np.unique(scores.values)) == {0.0, 1.0}
    assert scores.values[:, 0].mean() > scores.values[:, 1].mean()


def test_inspect_json_says_the_same_as_the_tool_itself():
    folder = LOGS / "inspect" / "json"
    scores = read_scores(folder)
    for path in folder.glob("*.json"):
        log = json.loads(path.read_text())
        accuracy = log["results"]["scores"][0]["metrics"]["accuracy"]["value"]
        model = scores.models.index(log["eval"]["model"])
        assert scores.values[:, model].mean() == pytest.approx(accuracy)


def test_inspect_runs_are_numbered_in_the_order_of_their_times():
    scores = read_scores(LOGS / "inspect" / "runs")
    assert scores.replicates == ("1", "2")
    assert any("in the order of the times in the logs" in note.text for note in scores.notes)
    assert any("share one seed ('11', '12', '21', '22')" in note.text for note in scores.notes)


def test_inspect_epochs_of_one_run_share_its_seed():
    notes = read_scores(LOGS / "inspect" / "epochs").notes
    assert any("Replicates of 'mockllm/aster' and of 1 more model share a seed ('1')" in note.text for note in notes)
    assert any("All items of a run share one seed ('1', '2')" in note.text for note in notes)


def test_inspect_several_scorers_must_be_chosen_from():
    folder = LOGS / "inspect" / "two_scorers"
    with pytest.raises(FormatError, match=r"\.eval: sample 1: 3 metrics, 'includes', 'graded.right', 'graded.short'"):
        read_scores(folder)
    for metric in ("includes", "graded.right", "graded.short"):
        assert read_scores(folder, metric=(metric,)).values.shape == (1, 2, 8)


def test_inspect_an_error_is_not_a_zero_although_the_log_says_success():
    folder = LOGS / "inspect" / "failed"
    with pytest.raises(DataError, match=r"1 of 16 cells .*\n(.*\n)*.*1 sample ended with an error.*the tool broke"):
        read_scores(folder)
    kept = read_scores(folder, incomplete="drop-items")
    assert "capitals/q7" not in kept.items
    assert any("differ in solvers" in note.text for note in kept.notes)


def test_lm_eval_items_are_documents_under_one_filter():
    files = sorted((LOGS / "lm_eval").glob("run*/*/samples_capitals_*"))
    assert len(files) == 4
    with pytest.raises(
        FormatError, match=r"jsonl:9: every answer was scored under several filters, 'strict', 'lenient'"
    ):
        read_scores(*files)
    scores = read_scores(*files, filter=("strict",), blocks="doc.group")
    assert scores.models == ("aster", "birch")
    assert len(scores.items) == 8
    assert all(item.startswith("capitals/") for item in scores.items)
    assert scores.replicates == ("1", "2")
    assert len(set(scores.blocks)) == 4
    for path in files:
        results = json.loads(next(path.parent.glob("results_*")).read_text())
        model, run = scores.models.index(results["model_name"]), int(path.parent.parent.name[-1]) - 1
        assert scores.values[run, model].mean() == pytest.approx(results["results"]["capitals"]["exact_match,strict"])


def test_lm_eval_tasks_with_different_metrics_are_joined_when_each_is_named():
    folders = [LOGS / "lm_eval" / "run1", LOGS / "lm_eval" / "run2"]
    choices = {"metric": ("exact_match", "acc"), "filter": ("strict", "none")}
    scores = read_scores(*folders, **choices)
    assert len(scores.items) == 16
    assert any("share a seed ('0/1234/1234')" in note.text for note in scores.notes)
    assert any("differ in model arguments" in note.text for note in scores.notes)


def test_lm_eval_examples_that_are_drawn_anew_are_noticed():
    scores = read_scores(LOGS / "lm_eval" / "fewshot", metric=("acc",), least_models=1)
    assert any("differ in few-shot seed: '1', '2'" in note.text for note in scores.notes)
    assert any("items vary between runs of 'aster', as they do when few-shot" in note.text for note in scores.notes)


def test_helm_a_stat_is_chosen_and_items_are_instances():
    folder = LOGS / "helm"
    with pytest.raises(FormatError, match="27 metrics"):
        read_scores(folder)
    scores = read_scores(folder, metric=("exact_match",))
    assert scores.models == ("mock/aster", "mock/birch")
    assert scores.values.shape == (2, 2, 6)
    assert all(item.startswith("simple_mcqa/id") for item in scores.items)
    with pytest.raises(DataError, match=r"sample 1: score 385\.0 is outside \[0, 1\]"):
        read_scores(folder, metric=("num_prompt_tokens",))


def test_lighteval_a_run_is_a_replicate():
    scores = read_scores(LOGS / "lighteval", blocks="doc.specific.group")
    assert scores.models == ("aster", "birch")
    assert scores.values.shape == (2, 2, 8)
    assert scores.items[0] == "capitals|0/0"
    assert len(set(scores.blocks)) == 4
    results = {path: json.loads(path.read_text()) for path in sorted((LOGS / "lighteval").rglob("results_*.json"))}
    for model in scores.models:
        means = [said["results"]["all"]["em"] for path, said in results.items() if path.parent.name == model]
        assert list(scores.values[:, scores.models.index(model)].mean(axis=1)) == pytest.approx(means)


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_promptfoo_repetitions_are_replicates(form):
    scores = read_scores(LOGS / "promptfoo" / form, blocks="vars.part")
    assert scores.models == ("aster", "birch")
    assert scores.values.shape == (3, 2, 6)
    assert set(scores.blocks) == {"europe", "asia", "africa", "america"}


def test_promptfoo_both_forms_of_one_output_are_one_run():
    with pytest.raises(DataError, match=r"out\.jsonl: the same run of 'aster' as in .*out\.json"):
        read_scores(LOGS / "promptfoo" / "json", LOGS / "promptfoo" / "jsonl")


def test_promptfoo_prompts_are_contestants():
    scores = read_scores(LOGS / "promptfoo" / "prompts")
    assert scores.models == ("aster | careful", "aster | plain")
    assert scores.values.shape == (1, 2, 3)


def test_promptfoo_cached_answers_are_no_replicates():
    with pytest.raises(
        DataError, match=r"4 answers came from a cache, the first at .*sample 1; an answer that is repeated"
    ):
        read_scores(LOGS / "promptfoo" / "troubled")


def test_promptfoo_an_error_on_the_way_is_no_score(tmp_path):
    document = json.loads((LOGS / "promptfoo" / "troubled" / "out.json").read_text())
    for row in document["results"]["results"]:
        row["response"].pop("cached", None) if isinstance(row.get("response"), dict) else None
    (tmp_path / "out.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match=r"2 samples ended with an error.*the service was away"):
        read_scores(tmp_path / "out.json")


def test_openai_evals_a_log_is_a_replicate():
    scores = read_scores(LOGS / "openai_evals")
    assert scores.models == ("aster", "birch")
    assert scores.values.shape == (2, 2, 8)
    for path in (LOGS / "openai_evals").glob("*.jsonl"):
        spec, report = (json.loads(line) for line in path.read_text().splitlines()[:2])
        model, run = scores.models.index(spec["spec"]["completion_fns"][0]), int(path.stem[-1]) - 1
        assert scores.values[run, model].mean() == pytest.approx(report["final_report"]["accuracy"])


def test_files_of_several_kinds_are_joined_where_the_items_agree(tmp_path):
    table = read_scores(LOGS / "inspect" / "epochs")
    lines = ["model,item,replicate,score"]
    lines += [f"cedar,{item},{run},0.5" for item in table.items for run in (1, 2, 3)]
    (tmp_path / "cedar.csv").write_text("\n".join(lines) + "\n")
    for path in (LOGS / "inspect" / "epochs").iterdir():
        shutil.copy(path, tmp_path)
    scores = read_scores(tmp_path)
    assert scores.models == ("cedar", "mockllm/aster", "mockllm/birch")
    assert np.array_equal(scores.values[:, 1:], table.values)
