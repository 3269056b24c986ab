"""Test runs, tables and judgments that are broken, cut off or hostile: refused with the file and the place."""

import pytest

from bbedge.errors import DataError
from bbedge.readers import read_scores
from shape_makers import (
    MODELS,
    alpaca_eval_row,
    arena_hard_row,
    deepeval_case,
    deepeval_run,
    exported_item,
    livebench_row,
    mlflow_row,
    mlflow_table,
    mt_bench_row,
    write_document,
    write_lines,
)

EVIL = "<script>alert(1)</script>\x1b[31m[bold]\u202e=cmd()"


@pytest.mark.parametrize(
    ("rows", "reading"),
    [
        ([exported_item(1, model=EVIL)], {}),
        ([livebench_row(1, model=EVIL)], {}),
        ([arena_hard_row(1, model=EVIL)], {}),
        ([mt_bench_row(1, 1, model=EVIL)], {"score_range": (1, 10)}),
        ([alpaca_eval_row(1, model=EVIL)], {}),
    ],
    ids=["openai-api", "livebench", "arena-hard", "mt-bench", "alpaca-eval"],
)
def test_names_stay_text(rows, reading, tmp_path):
    path = write_lines(tmp_path / "a.jsonl", rows)
    assert read_scores(path, least_models=1, **reading).models == (EVIL,)
    with pytest.raises(DataError) as caught:
        read_scores(write_lines(tmp_path / "b.jsonl", rows * 2), least_models=1, **reading)
    assert "\x1b" not in str(caught.value)
    assert "b.jsonl:2: a second score for model" in str(caught.value)


def test_names_of_documents_stay_text(tmp_path):
    path = write_document(tmp_path / "a.json", deepeval_run([deepeval_case(1)], model=EVIL))
    assert read_scores(path, least_models=1).models == (EVIL,)
    path = write_document(tmp_path / "b.json", deepeval_run([deepeval_case(1, name=EVIL), deepeval_case(1, name=EVIL)]))
    with pytest.raises(DataError) as caught:
        read_scores(path, least_models=1, model_name=("m",))
    assert "b.json: sample 2: a second score for model 'm'" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"testRunData": {"testCases": [], "metricsData": []}}, "a.json: no test cases in the file"),
        (
            {"testRunData": {"testCases": [7], "metricsData": []}},
            "a.json: sample 1: '7' is no object",
        ),
        (deepeval_run([deepeval_case(1, input=None)]), "a.json: sample 1: neither an input nor a scenario"),
        (deepeval_run([deepeval_case(1, metricsData=[{"score": 1}])]), "a.json: sample 1: a metric without a name"),
        (
            deepeval_run([deepeval_case(1, metricsData=[{"name": "A", "score": 1}] * 2)]),
            "a.json: sample 1: two metrics are named 'A'",
        ),
        (mlflow_table([["short"]]), "a.json: sample 1: not a row of 7 values"),
        (mlflow_table([7]), "a.json: sample 1: not a row of 7 values"),
        (mlflow_table([mlflow_row(1, "good")]), "a.json: sample 1: 'answer_correctness/v1/score' is 'good'"),
        ({"columns": ["a", "a", "x/score"], "data": []}, "a.json: column 'a' appears more than once"),
        ({"columns": ["a", "x/score"], "data": []}, "a.json: no column that holds the question"),
        (mlflow_table([]), "a.json: the log has no samples"),
        ({"object": "list", "data": [7], "x": "eval.run.output_item"}, "a.json: sample 1: '7' is no object"),
        ([{**alpaca_eval_row(1), "instruction": " "}], "a.json: sample 1: no instruction in this record"),
        ([alpaca_eval_row(1, preference=3)], "a.json: sample 1: preference '3'; expected a number from 1 to 2"),
        ([alpaca_eval_row(1, preference="2")], "a.json: sample 1: preference '2'; expected a number from 1 to 2"),
        ([alpaca_eval_row(1, preference=True)], "a.json: sample 1: preference 'True'"),
    ],
)
def test_parts_that_are_wrong_are_named(content, said, tmp_path):
    with pytest.raises(DataError) as caught:
        read_scores(write_document(tmp_path / "a.json", content), least_models=1, model_name=(MODELS[0],))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({**exported_item(1), "item": {}}, "a.jsonl:2: no item"),
        ({**exported_item(1), "run_id": None}, "a.jsonl:2: no run_id in this record"),
        ({**livebench_row(1), "model": ["m"]}, "a.jsonl:2: no model in this record"),
        ({**mt_bench_row(1, 1), "turn": None}, "a.jsonl:2: no turn in this record"),
        (arena_hard_row(1, verdicts=("A>>>B", "A>B")), "a.jsonl:2: game 1: the verdict is 'A>>>B'; expected one of"),
        (arena_hard_row(1, verdicts=(8, 7)), "a.jsonl:2: game 1: the verdict is '8'"),
        (arena_hard_row(1, verdicts=("A>B",)), "a.jsonl:2: expected two games with swapped positions"),
        ({**arena_hard_row(1), "games": ["A>B", "A>B"]}, "a.jsonl:2: game 1: 'A>B' is no game"),
    ],
)
def test_a_record_that_is_wrong_is_named(row, said, tmp_path):
    good = {"run_id": exported_item, "task": livebench_row, "games": arena_hard_row}
    make = next((each for key, each in good.items() if key in row), None)
    first = mt_bench_row(2, 1) if make is None else make(2)
    with pytest.raises(DataError) as caught:
        read_scores(write_lines(tmp_path / "a.jsonl", [first, row]), least_models=1, score_range=(0, 10))
    assert said in str(caught.value)
