"""The item column ``metric``: each metric of an item is an item, in the block of that item and on its own range."""

import json

import numpy as np
import polars as pl
import pytest

from bbedge.errors import Argument, BbedgeError, DataError, DomainError, FormatError
from bbedge.readers import read_scores
from bbedge.readers.choices import ChoiceNeededError
from log_makers import LOGS, inspect_log, inspect_sample, lm_eval_row, lm_eval_run


def row(number, **metrics):
    first, *_ = metrics
    return lm_eval_row(number, metric=first) | {"metrics": list(metrics)} | metrics


def logs(folder, **said):
    """Two models, two items, an accuracy and a word error rate."""
    for model, better in (("a", 1.0), ("b", 0.0)):
        rows = [row(0, acc=better, wer=1.0 - better), row(1, acc=0.5, wer=0.25)]
        lm_eval_run(folder / model, model=model, rows=rows, **said)
    return folder


def read(*sources, **ranges):
    return read_scores(*sources, item_column=["metric"], metric_range=ranges)


def refusal(*sources, error=BbedgeError, column=("metric",), **choices):
    with pytest.raises(error) as caught:
        read_scores(*sources, item_column=column, **choices)
    return str(caught.value)


def test_each_metric_is_an_item_in_the_block_of_its_item(tmp_path):
    scores = read(logs(tmp_path), wer=(1.0, 0.0))
    assert len(scores.items) == len(set(scores.items)) == 4
    assert scores.columns["metric"] == ("acc", "wer", "acc", "wer")
    assert scores.blocks[0] == scores.blocks[1] != scores.blocks[2] == scores.blocks[3]
    assert scores.items == tuple(map("{} [{}]".format, scores.blocks, scores.columns["metric"]))


def test_a_range_whose_best_end_is_the_lower_one_is_mirrored(tmp_path):
    scores = read(logs(tmp_path), wer=(2.0, 0.0))
    by_item = dict(zip(scores.items, scores.values[0, 0], strict=True))
    assert sorted(value for item, value in by_item.items() if item.endswith("[wer]")) == [0.875, 1.0]
    assert sorted(value for item, value in by_item.items() if item.endswith("[acc]")) == [0.5, 1.0]
    assert scores.score_range == (0.0, 1.0)
    assert any(note.subject == ("wer",) and "Less is better" in note.text for note in scores.notes)


def test_the_scale_is_kept_where_all_metrics_share_it(tmp_path):
    for model in "ab":
        lm_eval_run(tmp_path / model, model=model, rows=[row(0, clear=7.0, right=10.0)])
    scores = read(tmp_path, clear=(0.0, 10.0), right=(0.0, 10.0))
    assert scores.score_range == (0.0, 10.0)
    assert scores.values[0, 0].tolist() == [0.7, 1.0]
    assert read_scores(tmp_path, item_column=["metric"], score_range=(0, 10)).score_range == (0.0, 10.0)
    alone = {"metric": ("clear",), "metric_range": {"clear": (0, 10)}}
    assert read_scores(tmp_path, **alone).score_range == (0, 10)


def test_a_log_that_says_that_less_is_better_needs_the_range(tmp_path):
    said = {"higher_is_better": {"t": {"acc": True, "wer": False}}}
    folder = logs(tmp_path, **said)
    message = refusal(folder, error=FormatError)
    assert "less is better for the metric 'wer'" in message
    assert "metric_range={'wer': (WORST, BEST)}" in message
    wrong = {"metric_range": {"wer": (0.0, 1.0)}}
    assert "metric_range={'wer': (1.0, 0.0)}" in refusal(folder, **wrong, error=FormatError)
    assert read(folder, wer=(1.0, 0.0)).columns["metric"] == ("acc", "wer", "acc", "wer")
    alone = read_scores(folder, metric=("wer",), metric_range={"wer": (1.0, 0.0)})
    assert sorted(alone.values[0, 0]) == [0.75, 1.0]
    assert alone.score_range == (0.0, 1.0)
    with pytest.raises(FormatError, match="less is better"):
        read_scores(folder, metric=("wer",))


def test_a_score_outside_its_range_is_refused(tmp_path):
    message = refusal(logs(tmp_path), metric_range={"wer": (0.5, 0.0)}, error=DataError)
    assert "metric 'wer' is 1.0, outside the range 0.5 to 0" in message
    assert ".jsonl:1" in message


def test_truth_values_fit_only_the_scale_from_0_to_1(tmp_path):
    for model in "ab":
        inspect_log(tmp_path / f"{model}.eval", model=model)
    assert read(tmp_path, match=(1.0, 0.0)).values.max() == 0.0
    assert "right or wrong" in refusal(tmp_path, metric_range={"match": (0.0, 10.0)})


def test_a_range_for_no_metric_is_refused(tmp_path):
    message = refusal(logs(tmp_path), metric_range={"wer": (1.0, 0.0), "were": (1.0, 0.0)}, error=DomainError)
    assert "'acc', 'wer'" in message
    for bad in ((1.0, 1.0), (0.0, float("inf")), (float("nan"), 1.0)):
        with pytest.raises(DomainError, match="two different finite numbers"):
            read(tmp_path, acc=bad)


def test_metrics_can_be_left_out(tmp_path):
    choices = {"without_metric": ("w*",)}
    scores = read_scores(logs(tmp_path), item_column=["metric"], **choices)
    assert scores.columns["metric"] == ("acc", "acc")
    assert "besides '*'" in refusal(tmp_path, without_metric=("*",))


def test_the_headline_needs_one_metric_of_every_task(tmp_path):
    choices = {"metric": ("accuracy",), "without_metric": ("wer",)}
    assert "no such metric" in refusal(logs(tmp_path), **choices)
    assert "are both in it" in refusal(tmp_path, metric=("acc", "wer"), metric_range={"wer": (1, 0)})


def test_every_item_needs_exactly_one_metric_of_the_headline(tmp_path):
    """An item without it would not be part of the headline, and none may leave it unnoticed."""
    for model in "ab":
        samples = [inspect_sample("q1", scores={"x": {"value": 1}}), inspect_sample("q2", scores={"y": {"value": 1}})]
        inspect_log(tmp_path / f"{model}.eval", model=model, samples=samples)
    assert read(tmp_path).columns["metric"] == ("x", "y")
    assert "none of the chosen metrics is on item 't/q2'" in refusal(tmp_path, metric=("x",))
    assert read_scores(tmp_path, item_column=["metric"], metric=("x", "y")).columns
    table = pl.DataFrame(LONG).filter(pl.col("metric") == "acc")
    both = pl.concat([table, table.with_columns(metric=pl.lit("f1"))])
    assert "metrics 'acc', 'f1' are both chosen for" in refusal(both, metric=("acc", "f1"))
    assert len(read_scores(both, item_column=["metric"], metric=("acc",)).items) == 4


def test_blocks_of_a_field_hold_all_metrics(tmp_path):
    scores = read_scores(logs(tmp_path), item_column=["metric"], blocks="doc.group", metric_range={"wer": (1, 0)})
    assert len(set(scores.blocks)) == 1
    assert scores.blocked


def test_other_columns_and_the_list_go_by_the_original_item(tmp_path):
    for model in "ab":
        inspect_log(tmp_path / "logs" / f"{model}.eval", model=model)
    (tmp_path / "items.csv").write_text("item,topic,block\nt/q1,math,x\nt/q2,code,x\n")
    scores = read_scores(tmp_path / "logs", items=tmp_path / "items.csv", item_column=["topic", "metric", "task"])
    assert scores.items == ("t/q1 [match]", "t/q2 [match]")
    assert scores.columns == {"topic": ("math", "code"), "metric": ("match", "match"), "task": ("t", "t")}
    assert scores.blocks == ("x", "x")


def failed(name):
    return inspect_sample(name, scores={}, error={"message": "broke"})


def test_a_failed_sample_lacks_all_metrics(tmp_path):
    """An item on which every model failed stays an item, whose scores are missing."""
    both = {"one": {"value": 1}, "two": {"value": 0.5}}
    for model in "ab":
        inspect_log(tmp_path / f"{model}.eval", model=model, samples=[inspect_sample("q1", scores=both), failed("q2")])
    message = refusal(tmp_path, error=DataError)
    assert "4 of 8 cells" in message
    assert "q2 [one]" in message
    kept = read_scores(tmp_path, item_column=["metric"], incomplete="drop-items")
    assert kept.items == ("t/q1 [one]", "t/q1 [two]")
    inspect_log(tmp_path / "a.eval", model="a", samples=[failed("q1"), failed("q2")])
    assert "no sample of this log has a metric" in refusal(tmp_path, error=FormatError)


def test_a_policy_for_missing_scores_covers_all_metrics_of_a_failed_sample(tmp_path):
    both = {"one": {"value": 1}, "two": {"value": 0.5}}
    for model in "ab":
        samples = [inspect_sample("q1", scores=both), inspect_sample("q2", scores=both)]
        if model == "b":
            samples[1] = inspect_sample("q2", scores={}, error={"message": "Connection error: timed out"})
        inspect_log(tmp_path / f"{model}.eval", model=model, samples=samples)
    for policy in ("worst-case", "infrastructure=worst-case"):
        scores = read_scores(tmp_path, item_column=["metric"], incomplete=policy)
        assert np.isnan(scores.values[0]).tolist() == [[False] * 4, [False, False, True, True]]
    zero = read_scores(tmp_path, item_column=["metric"], incomplete="zero", metric_range={"two": (1, 0)})
    assert zero.values[0, 1].tolist() == [1.0, 0.5, 0.0, 0.0]


def test_a_metric_that_some_models_lack_is_a_missing_score(tmp_path):
    lm_eval_run(tmp_path / "a", model="a", rows=[row(0, acc=1.0, f1=1.0)])
    lm_eval_run(tmp_path / "b", model="b", rows=[row(0, acc=1.0)])
    assert "1 of 4 cells" in refusal(tmp_path, error=DataError)


LONG = [
    {"model": model, "item": item, "metric": metric, "score": score}
    for model, right in (("a", 1.0), ("b", 0.0))
    for item in ("q1", "q2")
    for metric, score in (("acc", right), ("seconds", 20.0 - 5 * right))
]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "frame"])
def test_tables_with_a_metric_column(tmp_path, kind):
    source = tmp_path / f"scores.{kind}"
    if kind == "jsonl":
        source.write_text("".join(json.dumps(each) + "\n" for each in LONG))
    elif kind == "csv":
        pl.DataFrame(LONG).write_csv(source)
    elif kind == "parquet":
        pl.DataFrame(LONG).write_parquet(source)
    else:
        source = pl.DataFrame(LONG)
    scores = read(source, seconds=(20.0, 0.0))
    assert scores.items == ("q1 [acc]", "q1 [seconds]", "q2 [acc]", "q2 [seconds]")
    assert scores.blocks == ("q1", "q1", "q2", "q2")
    assert scores.columns["metric"] == ("acc", "seconds", "acc", "seconds")
    assert scores.values[0].tolist() == [[1.0, 0.25, 1.0, 0.25], [0.0, 0.0, 0.0, 0.0]]
    message = refusal(source, error=DataError)
    assert "metric 'seconds' is 15.0, outside the range 0 to 1" in message
    for score_range in ((0, 1), (0, 100)):
        with pytest.raises(
            ChoiceNeededError, match="items have scores of 2 metrics, 'acc', 'seconds'; choose one"
        ) as it:
            read_scores(source, score_range=score_range)
        assert not it.value.proposal
        answers = [candidate.argument for candidate in it.value.decision.candidates]
        assert answers == [Argument("metric", ("acc",)), Argument("metric", ("seconds",))]
    chosen = read_scores(source, metric=("acc",))
    assert (chosen.items, chosen.values[0].tolist()) == (("q1", "q2"), [[1.0, 1.0], [0.0, 0.0]])
    with pytest.raises(FormatError, match="no row of the metric 'f1'; the table has 'acc', 'seconds'"):
        read_scores(source, metric=("f1",))


def test_each_metric_of_a_text_table_has_its_own_kind_of_value(tmp_path):
    rows = "".join(f"{model},q,acc,{right}\n{model},q,f1,0.5\n" for model, right in (("a", "true"), ("b", "false")))
    (tmp_path / "a.csv").write_text("model,item,metric,score\n" + rows)
    assert read(tmp_path / "a.csv").values[0].tolist() == [[1.0, 0.5], [0.0, 0.5]]
    (tmp_path / "a.csv").write_text("model,item,metric,score\na,q,acc,1\nb,q,,1\n")
    assert "a.csv:3: no value for 'metric'" in refusal(tmp_path / "a.csv", error=DataError)


def test_a_gap_in_a_table_stays_a_gap(tmp_path):
    (tmp_path / "a.csv").write_text("model,item,metric,score\na,q,acc,1\na,q,f1,\nb,q,acc,1\nb,q,f1,1\n")
    assert "1 of 4 cells" in refusal(tmp_path / "a.csv", error=DataError)


def test_wide_tables_may_name_metrics(tmp_path):
    models = [f"m{i}" for i in range(8)]
    lines = [",".join(["item", "metric", *models])]
    lines += [",".join([item, metric, *"01010101"]) for item in ("q1", "q2") for metric in ("acc", "f1")]
    (tmp_path / "w.csv").write_text("\n".join(lines) + "\n")
    scores = read(tmp_path / "w.csv")
    assert (scores.blocks, len(scores.models)) == (("q1", "q1", "q2", "q2"), 8)


def test_an_empty_cell_of_a_wide_table_is_no_row_also_with_metrics(tmp_path):
    """So that a model whose later replicates are empty was stopped, as in a table without metrics."""
    models = [f"m{i}" for i in range(8)]
    lines = [",".join(["item", "metric", "replicate", *models])]
    for replicate in ("1", "2"):
        cells = [*"0101010", "" if replicate == "2" else "1"]
        lines += [",".join(["q1", metric, replicate, *cells]) for metric in ("acc", "f1")]
    (tmp_path / "w.csv").write_text("\n".join(lines) + "\n")
    scores = read_scores(tmp_path / "w.csv", item_column=["metric"], incomplete="stopped")
    assert scores.stops == (2,) * 7 + (1,)


def test_ranges_for_plain_tables_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("model,item,replicate,score\na,q,1,1\nb,q,1,1\n")
    choices = {"metric_range": {"acc": (0.0, 10.0)}}
    assert "is for logs" in refusal(tmp_path / "a.csv", **choices, column=(), error=DomainError)
    inspect_log(tmp_path / "a.eval", model="a")
    both = (tmp_path / "a.csv", tmp_path / "a.eval")
    assert "names none" in refusal(*both, metric_range={"match": (0, 1)}, column=())
    assert "no column metric" in refusal(*both, error=FormatError)


def test_a_list_may_have_a_column_of_that_name(tmp_path):
    (tmp_path / "a.csv").write_text("model,item,score\na,q,7\nb,q,8\n")
    (tmp_path / "items.csv").write_text("item,metric\nq,acc\n")
    scores = read_scores(
        tmp_path / "a.csv", items=tmp_path / "items.csv", item_column=["metric"], score_range=(0.0, 10.0)
    )
    assert (scores.items, scores.columns, scores.score_range) == (("q",), {"metric": ("acc",)}, (0.0, 10.0))
    assert scores.values.ravel().tolist() == [0.7, 0.8]


@pytest.mark.parametrize(
    ("folder", "choices"),
    [
        ("inspect/two_scorers", {}),
        ("lm_eval/run1", {"filter": ("none", "strict")}),
        ("helm", {"without_metric": ("num_*", "*tokens*", "*cost*", "*time*", "*request*", "logprob*")}),
        ("lighteval", {}),
        ("promptfoo/json", {}),
        ("openai_evals", {}),
    ],
)
def test_logs_of_every_tool(folder, choices):
    scores = read_scores(LOGS / folder, item_column=["metric"], **choices)
    blocks = {}
    for item, block in zip(scores.items, scores.blocks, strict=True):
        blocks.setdefault(block, []).append(item)
    assert all(item.startswith(f"{block} [") for block, items in blocks.items() for item in items)


def test_the_metrics_of_a_table_are_named_in_their_order(tmp_path):
    path, metrics = tmp_path / "a.csv", [f"metric{number}" for number in range(20)]
    rows = [f"{model},q1,{metric},1" for model in "ab" for metric in metrics]
    path.write_text("\n".join(["model,item,metric,score", *rows]) + "\n")
    message = refusal(path, metric_range={"other": (0, 1)}, error=DomainError)
    assert "the metrics are 'metric0', 'metric1', 'metric2'" in message


@pytest.mark.parametrize("name", ["metric", "metric_name", "Metric_Name", "metric_id"])
def test_rows_of_several_metrics_are_metrics_and_not_items(tmp_path, name):
    path = tmp_path / "a.csv"
    rows = [f"{m},{i},{k},{v}" for m in "ab" for i in ("q1", "q2") for k, v in (("acc", int(m == "a")), ("f1", 0.5))]
    path.write_text("\n".join([f"model,question_id,{name},value", *rows]))
    message = refusal(path, error=ChoiceNeededError, column=())
    assert "items have scores of 2 metrics, 'acc', 'f1'; choose one with metric=('acc',)" in message
    assert read_scores(path, metric="acc").values.tolist() == [[[1.0, 1.0], [0.0, 0.0]]]
    assert read_scores(path, views="metric", metric="acc").items == ("q1 [acc]", "q1 [f1]", "q2 [acc]", "q2 [f1]")


def test_metrics_of_models_without_items_are_refused_with_the_reason(tmp_path):
    (tmp_path / "a.csv").write_text("model,metric,value\na,acc,0.5\na,f1,0.25\nb,acc,0.5\nb,f1,0.75\n")
    message = refusal(tmp_path / "a.csv", column=())
    assert "no column for the item" in message
    assert "its rows are metrics, which are no items: read the scores of each item that they are made of" in message
