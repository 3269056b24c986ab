"""The canonical table, and what a survey tells without claiming anything."""

import hashlib
import itertools
import json
import random

import numpy as np
import polars as pl
import pytest

from bbedge.errors import DataError
from bbedge.readers import read_scores
from bbedge.readers.convert import METADATA_KEY, convert
from bbedge.readers.survey import survey
from bbedge.records.reading import Reading
from log_makers import LOGS, inspect_log, inspect_sample, lm_eval_run


def test_the_canonical_table_reads_as_the_log_does(tmp_path):
    folder, out = LOGS / "inspect" / "epochs", tmp_path / "scores.parquet"
    done = convert([str(folder)], out, Reading.of({"blocks": "metadata.dialogue_id"}))
    assert (done.rows, done.missing, done.models, done.items, done.replicates) == (48, 0, 2, 8, 3)
    table = pl.read_parquet(out)
    assert table.columns == ["model", "item", "block", "replicate", "score"]
    assert table["replicate"].is_sorted()
    log, back = read_scores(folder, blocks="metadata.dialogue_id"), read_scores(out)
    assert np.array_equal(log.values, back.values)
    assert (log.models, log.items, log.blocks, log.replicates) == (
        back.models,
        back.items,
        back.blocks,
        back.replicates,
    )


def test_the_metadata_says_where_it_came_from(tmp_path):
    folder, out = LOGS / "lm_eval" / "run1" / "aster", tmp_path / "scores.parquet"
    choices = {"metric": ("acc", "exact_match"), "filter": ("none", "strict")}
    convert([str(folder)], out, Reading.of(choices))
    origin = json.loads(pl.read_parquet_metadata(out)[METADATA_KEY])
    assert {source["kind"] for source in origin["sources"]} == {"lm-evaluation-harness"}
    for source in origin["sources"]:
        with open(source["path"], "rb") as file:  # noqa: PTH123
            assert source["sha256"] == hashlib.sha256(file.read()).hexdigest()
    assert origin["choices"] == {"metric": ["acc", "exact_match"], "filter": ["none", "strict"]}


def test_scores_are_written_as_they_are_and_gaps_stay_gaps(tmp_path):
    samples = [inspect_sample("q1", value=7.5), inspect_sample("q2", value=3, error={"message": "broke"})]
    done = convert([str(inspect_log(tmp_path / "a.eval", samples=samples))], tmp_path / "out.parquet")
    assert done.missing == 1
    assert pl.read_parquet(tmp_path / "out.parquet")["score"].to_list() == [7.5, None]


def test_a_table_without_replicates_gets_one(tmp_path):
    (tmp_path / "a.csv").write_text("model,item,score\nb,q10,1\nb,q2,0.5\n")
    convert([str(tmp_path / "a.csv")], tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").rows() == [("b", "q2", "1", 0.5), ("b", "q10", "1", 1.0)]


def test_duplicates_are_refused_and_nothing_is_written(tmp_path):
    path = inspect_log(tmp_path / "a.eval", samples=[inspect_sample("q1"), inspect_sample("q1")])
    with pytest.raises(DataError, match="a second score"):
        convert([str(path)], tmp_path / "out.parquet")
    with pytest.raises(DataError, match="cannot be written"):
        convert([str(inspect_log(tmp_path / "b.eval"))], tmp_path / "nowhere" / "out.parquet")
    assert not list(tmp_path.glob("*.parquet*"))


def test_a_survey_tells_what_to_choose_from():
    found = survey([str(LOGS / "lm_eval" / "run1")])
    assert [file.samples for file in found.files] == [16, 8, 16, 8]
    assert {metric.name: (metric.tasks, metric.samples) for metric in found.metrics} == {
        "exact_match": (("capitals",), 32),
        "acc": (("choice",), 16),
        "acc_norm": (("choice",), 16),
    }
    assert found.samples.filters == {"capitals": {"strict": 16, "lenient": 16}, "choice": {"none": 16}}
    assert found.fields["doc.group"] == 4
    assert found.scores is None
    assert "several filters" in found.refused


def test_a_survey_reads_the_scores_when_all_is_chosen():
    choices = {"metric": ("acc", "exact_match"), "filter": ("none", "strict")}
    found = survey([str(LOGS / "lm_eval" / "run1")], Reading.of(choices))
    assert found.scores is not None
    assert found.scores.values.shape == (1, 2, 16)
    assert found.refused == ""


def test_a_survey_counts_errors_and_caches():
    found = survey([str(LOGS / "promptfoo" / "troubled")])
    assert (found.samples.errors, found.samples.cached) == (2, 4)
    assert "the service was away" in found.samples.first_error
    assert found.files[0].repeats == 2
    failed = survey([str(LOGS / "inspect" / "failed")])
    assert sum(file.errors for file in failed.files) == failed.samples.errors == 1


def test_a_survey_says_which_metrics_are_on_which_scale(tmp_path):
    found = survey([str(LOGS / "helm")])
    scales = {metric.name: metric.on_unit_scale for metric in found.metrics}
    assert scales["exact_match"]
    assert not scales["num_prompt_tokens"]
    lower = survey([str(lm_eval_run(tmp_path, higher_is_better={"t": {"acc": False}}))])
    assert lower.metrics[0].lower_is_better


@pytest.mark.parametrize("layout", ["dense", "in groups", "sparse"])
@pytest.mark.parametrize("blocked", [True, False])
def test_a_table_is_written_in_parts_and_never_held_as_text(tmp_path, monkeypatch, layout, blocked):
    """The same rows in order, whatever their order was, with no more than a part of them as text at a time."""
    if layout == "in groups":
        monkeypatch.setattr("bbedge.readers.assemble.grid.PANELS_IN_MEMORY", 13 * 4 * 60)
    if layout == "sparse":
        monkeypatch.setattr("bbedge.readers.assemble.grid.Grid.is_dense", lambda *_: False)
    monkeypatch.setattr("bbedge.readers.convert._ROWS", 50)
    made = []
    gather = pl.Series.gather

    def watched(series, places):
        made.append(len(places))
        return gather(series, places)

    monkeypatch.setattr(pl.Series, "gather", watched)
    rng = random.Random(1)
    rows = [
        {"model": f"m{model}", "item": f"q{item}", "block": f"b{item // 3}", "replicate": str(replicate)}
        for replicate in (1, 2, 3)
        for model in (1, 2, 9, 10)
        for item in range(60)
        if rng.random() < 0.9
    ]
    for row in rows:
        row["score"] = rng.choice([0.0, 1.0, 0.1, -0.0, 17.5, None])
    expected = pl.DataFrame(rows, schema_overrides={"score": pl.Float64})
    if not blocked:
        expected = expected.drop("block")
    expected.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "a.csv")
    done = convert([str(tmp_path / "a.csv")], tmp_path / "out.parquet")
    table = pl.read_parquet(tmp_path / "out.parquet")
    assert table.equals(expected)
    assert str(table["score"].to_list()) == str(expected["score"].to_list())
    assert (done.rows, done.missing) == (len(rows), expected["score"].null_count())
    assert (done.models, done.items, done.replicates) == (4, 60, 3)
    assert max(made) <= 50


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("model,item,score\na,q,1\n")
    with pytest.raises(DataError, match=r"no/out\.parquet: cannot be written"):
        convert([str(tmp_path / "a.csv")], tmp_path / "no" / "out.parquet")


@pytest.mark.parametrize("policy", ["worst-case", "stopped,worst-case", "zero", "stopped,zero"])
def test_a_converted_table_has_the_same_gaps(tmp_path, policy):
    lines = ["model,item,replicate,score"]
    for model, item, run in itertools.product("abc", range(4), (1, 2, 3)):
        if (model, run) == ("b", 3) or (model, item, run) == ("c", 2, 1):
            continue
        lines.append(f"{model},q{item},{run},{'' if (model, item) == ('a', 1) else (item + run) % 2}")
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert convert([str(tmp_path / "a.csv")], tmp_path / "a.parquet").missing == 3
    direct, again = (read_scores(tmp_path / name, incomplete=policy) for name in ("a.csv", "a.parquet"))
    assert again.values.tobytes() == direct.values.tobytes()
    assert (again.gaps, again.stops) == (direct.gaps, direct.stops)
    assert direct.stops == ((3, 2, 3) if "stopped" in policy else None)


def test_converted_logs_have_the_same_gaps(tmp_path):
    folder = LOGS / "inspect" / "failed"
    convert([str(folder)], tmp_path / "a.parquet")
    direct, again = (read_scores(source, incomplete="worst-case") for source in (folder, tmp_path / "a.parquet"))
    assert np.array_equal(again.values, direct.values, equal_nan=True)
    assert np.isnan(again.values).sum() == 1
