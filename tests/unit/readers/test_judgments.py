"""Judgments of LiveBench, Arena-Hard, MT-Bench and AlpacaEval, in logs that are written by hand in their shape."""

import numpy as np
import pytest

from bbedge.errors import DataError, FormatError
from bbedge.readers import read_scores
from bbedge.readers.tools import recognised
from shape_makers import (
    MODELS,
    QUESTIONS,
    SHAPES,
    alpaca_eval_row,
    arena_hard_row,
    livebench_row,
    mt_bench_row,
    right,
    write_document,
    write_lines,
)


def read(*sources, **options):
    return read_scores(*sources, least_models=1, **options)


def without_judge(*sources, **options):
    """The scores, where those that the judge left out count as zero: no other kind is missing."""
    with pytest.raises(DataError, match="have no score"):
        read(*sources, **options)
    return read(*sources, incomplete="judge=zero", **options)


def test_mt_bench_a_turn_is_an_item_and_a_question_a_block(tmp_path):
    SHAPES["mt-bench"].files(tmp_path)
    scores = read(tmp_path, score_range=(1, 10))
    assert scores.models == MODELS
    assert scores.items == tuple(f"{80 + number}/{turn}" for number in QUESTIONS for turn in (1, 2))
    assert scores.blocks == tuple(str(80 + number) for number in QUESTIONS for _ in (1, 2))
    assert scores.replicates == ("1",)
    expected = [[((9 if right(m, n) else 4) - t - 1) / 9 for n in QUESTIONS for t in (1, 2)] for m in MODELS]
    np.testing.assert_allclose(scores.values[0], expected)


def test_mt_bench_the_usual_blocks_give_way_to_a_choice(tmp_path):
    SHAPES["mt-bench"].files(tmp_path)
    assert len(set(read(tmp_path, score_range=(1, 10), blocks="item").blocks)) == 16
    assert len(set(read(tmp_path, score_range=(1, 10), blocks="one").blocks)) == 1
    assert set(read(tmp_path, score_range=(1, 10), blocks="question.turn").blocks) == {"1", "2"}


def test_mt_bench_the_scale_is_declared_and_not_guessed(tmp_path):
    SHAPES["mt-bench"].files(tmp_path)
    with pytest.raises(DataError, match=r"gpt-4_single\.jsonl:1: score 8\.0 is outside \[0, 1\]"):
        read(tmp_path)


def test_mt_bench_a_judge_that_gave_no_rating_is_a_missing_score(tmp_path):
    rows = [mt_bench_row(1, 1), mt_bench_row(1, 2, score=-1), mt_bench_row(2, 1), mt_bench_row(2, 2)]
    scores = without_judge(write_lines(tmp_path / "gpt-4_single.jsonl", rows), score_range=(1, 10))
    assert scores.values[0, 0].tolist() == pytest.approx([6 / 9, 0.0, 6 / 9, 6 / 9])


def test_mt_bench_two_judges_are_no_replicates(tmp_path):
    rows = [mt_bench_row(number, 1, judge=judge) for judge in ("gpt-4", "claude") for number in QUESTIONS]
    path = write_lines(tmp_path / "both_single.jsonl", rows)
    with pytest.raises(FormatError, match="several filters, 'gpt-4', 'claude'"):
        read(path, score_range=(1, 10))
    chosen = {"filter": ("claude",)}
    assert read(path, score_range=(1, 10), **chosen).replicates == ("1",)
    write_lines(tmp_path / "split" / "gpt-4_single.jsonl", rows[:8])
    write_lines(tmp_path / "split" / "claude_single.jsonl", rows[8:])
    with pytest.raises(DataError, match="the same run of 'aster'"):
        read(tmp_path / "split", score_range=(1, 10))


def test_mt_bench_a_second_run_has_other_answers(tmp_path):
    for run in (1, 2):
        rows = [mt_bench_row(n, 1, user_prompt=f"answer {run} {n}", tstamp=1e9 - run) for n in QUESTIONS]
        write_lines(tmp_path / f"{run}_single.jsonl", [row | {"score": run} for row in rows])
    scores = read(tmp_path, score_range=(1, 10))
    assert scores.replicates == ("1", "2")
    # By the time of the judgments, not by the name of the file.
    assert scores.values[:, 0, 0].tolist() == pytest.approx([1 / 9, 0.0])


def test_mt_bench_models_of_different_judges_are_noted(tmp_path):
    write_lines(tmp_path / "a.jsonl", [mt_bench_row(n, 1) for n in QUESTIONS])
    write_lines(tmp_path / "b.jsonl", [mt_bench_row(n, 1, model="birch", judge="birch") for n in QUESTIONS])
    notes = [note.text for note in read(tmp_path, score_range=(1, 10)).notes]
    assert any("differ in judge: 'birch', 'gpt-4'" in note for note in notes)
    assert any("b.jsonl: the judge of 'birch' is the model itself" in note for note in notes)


def test_mt_bench_comparisons_of_two_models_are_refused(tmp_path):
    row = {"question_id": 81, "model_1": "a", "model_2": "b", "g1_winner": "model_1", "g2_winner": "tie", "turn": 1}
    with pytest.raises(FormatError, match=r"gpt-4_pair\.jsonl:1: a comparison of two models.*mode single"):
        read(write_lines(tmp_path / "gpt-4_pair.jsonl", [row]))


def test_livebench_tasks_and_categories(tmp_path):
    path = SHAPES["livebench"].files(tmp_path)[0]
    scores = read(tmp_path, item_column=["task", "category"])
    assert scores.models == MODELS
    assert [item.split("/")[0] for item in scores.items] == ["spatial"] * 4 + ["typos"] * 4
    assert scores.columns["task"] == ("spatial",) * 4 + ("typos",) * 4
    assert set(scores.columns["category"]) == {"language"}
    assert scores.values[0].mean(axis=1).tolist() == [0.75, 0.5]
    assert len(set(scores.blocks)) == 8
    plain = [{key: row[key] for key in ("question_id", "task", "model", "score")} for row in (livebench_row(1),)]
    assert recognised(str(write_lines(tmp_path / "b" / path.name, plain)))[0].name == "livebench"


def test_livebench_a_question_that_was_judged_twice_is_refused(tmp_path):
    rows = [livebench_row(1), livebench_row(1, score=0.0, tstamp=1_730_000_000.0)]
    with pytest.raises(DataError, match=r"ground_truth_judgment\.jsonl:2: a second score for model 'aster'"):
        read(write_lines(tmp_path / "ground_truth_judgment.jsonl", rows))


def test_livebench_two_files_are_two_replicates_by_time(tmp_path):
    for run, name in ((1, "b"), (2, "a")):
        rows = [livebench_row(n, score=run / 2, tstamp=1e9 * run + n) for n in QUESTIONS]
        write_lines(tmp_path / name / "ground_truth_judgment.jsonl", rows)
    assert read(tmp_path).values[:, 0, 0].tolist() == [0.5, 1.0]


def test_livebench_a_score_that_is_missing_is_the_judges(tmp_path):
    path = write_lines(tmp_path / "ground_truth_judgment.jsonl", [livebench_row(1), livebench_row(2, score=None)])
    assert without_judge(path).values[0, 0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("verdicts", "wins", "degrees"),
    [
        # The baseline is A in the first game, the model in the second.
        (("A>>B", "A>>B"), [0.0, 1.0], [0.0, 1.0]),
        (("A>B", "A>B"), [0.0, 1.0], [0.25, 0.75]),
        (("A=B", "B=A"), [0.5, 0.5], [0.5, 0.5]),
        (("B>A", "B>A"), [1.0, 0.0], [0.75, 0.25]),
        (("A<B", "A<B"), [1.0, 0.0], [0.75, 0.25]),
        (("B>>A", "A<<B"), [1.0, 0.0], [1.0, 0.0]),
        (("B<<A", "B<A"), [0.0, 1.0], [0.0, 0.75]),
    ],
)
def test_arena_hard_verdicts(verdicts, wins, degrees, tmp_path):
    path = write_lines(tmp_path / "aster.jsonl", [arena_hard_row(1, verdicts=verdicts)])
    assert read(path).values[0, 0].tolist() == wins
    assert read(path, metric=("degree",)).values[0, 0].tolist() == degrees


def test_arena_hard_two_games_are_one_block(tmp_path):
    SHAPES["arena-hard"].files(tmp_path)
    scores = read(tmp_path)
    assert scores.items[:2] == (f"{1:032x}/1", f"{1:032x}/2")
    assert scores.blocks[:2] == (f"{1:032x}",) * 2
    assert len(set(scores.blocks)) == 8
    assert scores.values[0].mean(axis=1).tolist() == [0.8125, 0.625]


def test_arena_hard_a_judge_that_gave_no_verdict_is_a_missing_score(tmp_path):
    rows = [arena_hard_row(1), arena_hard_row(2, verdicts=(None, "A>B")), {**arena_hard_row(3), "games": [None, None]}]
    scores = without_judge(write_lines(tmp_path / "aster.jsonl", rows))
    assert scores.values[0, 0].tolist() == [1.0, 1.0, 0.0, 1.0, 0.0, 0.0]


def test_arena_hard_wins_against_different_baselines_are_not_compared(tmp_path):
    """The second version names the baseline, which depends on the category."""
    new = {"uid": "u1", "category": "hard_prompt"}
    for model, baseline in (("aster", "o3"), ("birch", "o3"), ("cedar", "gpt")):
        row = {**arena_hard_row(1, model=model), **new, "baseline": baseline}
        write_lines(tmp_path / f"{model}.jsonl", [row])
    with pytest.raises(DataError, match="6 of 12 cells"):
        read(tmp_path)
    scores = read(tmp_path / "aster.jsonl", tmp_path / "birch.jsonl", item_column=["category"])
    assert scores.items == ("u1 vs o3/1", "u1 vs o3/2")
    assert scores.columns["category"] == ("hard_prompt", "hard_prompt")


def test_arena_hard_the_same_answers_before_two_judges_are_one_run(tmp_path):
    for judge in ("judge-1", "judge-2"):
        write_lines(tmp_path / judge / "aster.jsonl", [arena_hard_row(1, judge=judge)])
    with pytest.raises(DataError, match="the same run of 'aster'"):
        read(tmp_path)


def test_alpaca_eval_preferences_are_wins_over_the_reference(tmp_path):
    SHAPES["alpaca-eval"].files(tmp_path)
    scores = read(tmp_path, item_column=["dataset"])
    assert scores.models == MODELS
    assert scores.values[0].mean(axis=1).tolist() == [0.75, 0.5]
    assert sorted(scores.columns["dataset"]) == ["helpful_base"] * 4 + ["koala"] * 4
    rows = [alpaca_eval_row(n, preference=p) for n, p in enumerate((1.0, 1.25, 1.5, 2, 0))]
    found = read(write_document(tmp_path / "b" / "annotations.json", rows))
    # A draw is 0 in annotations of the first version.
    assert sorted(found.values[0, 0].tolist()) == [0.0, 0.25, 0.5, 0.5, 1.0]


@pytest.mark.parametrize("preference", [None, float("nan")])
def test_alpaca_eval_a_judge_that_failed_is_a_missing_score(preference, tmp_path):
    rows = [alpaca_eval_row(1), alpaca_eval_row(2, preference=preference)]
    scores = without_judge(write_document(tmp_path / "annotations.json", rows))
    assert sorted(scores.values[0, 0].tolist()) == [0.0, 1.0]


def test_alpaca_eval_an_instruction_that_comes_twice_is_two_items_of_one_block(tmp_path):
    rows = [alpaca_eval_row(1, preference=p, output_2=f"answer {p}") for p in (1.0, 2.0)]
    scores = read(write_document(tmp_path / "annotations.json", [*rows, alpaca_eval_row(2)]))
    assert len(scores.items) == 3
    assert len(set(scores.blocks)) == 2
    again = read(write_document(tmp_path / "annotations.json", [alpaca_eval_row(2), *rows[::-1]]))
    assert (again.items, again.values.tolist()) == (scores.items, scores.values.tolist())
    with pytest.raises(DataError, match=r"annotations\.json: sample 2: a second score for model 'aster'"):
        read(write_document(tmp_path / "annotations.json", [rows[0], rows[0]]))


def test_alpaca_eval_another_reference_is_another_item(tmp_path):
    write_document(tmp_path / "a.json", [alpaca_eval_row(1)])
    write_document(tmp_path / "b.json", [alpaca_eval_row(1, model="birch", generator_1="gpt4")])
    with pytest.raises(DataError, match="2 of 4 cells"):
        read(tmp_path)


def test_alpaca_eval_annotators_are_chosen_from(tmp_path):
    rows = [alpaca_eval_row(1, annotator=name) for name in ("one", "two")]
    path = write_document(tmp_path / "annotations.json", rows)
    with pytest.raises(FormatError, match="several filters, 'one', 'two'"):
        read(path)
    assert read(path, filter=("two",)).items == read(path, filter=("one",)).items


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"question_id": 81, "category": "writing", "turns": ["a", "b"]}, "beside"),
        ({"question_id": 81, "answer_id": "x", "model_id": "m", "choices": []}, "beside"),
        ({"uid": "u", "category": "hard", "prompt": "p"}, "beside"),
        ({"uid": "u", "ans_id": "x", "model": "m", "messages": []}, "beside"),
        ({"instruction": "i", "output": "o", "generator": "m"}, "beside"),
        ({"question_id": 1, "model": "m", "score": 1}, "no"),
        ({"question_id": 1, "model": "m", "score": 1, "turn": 1}, "no"),
        ({"question_id": 1, "model": "m", "score": 1, "task": "t", "category": "c"}, "no"),
        ({"question_id": 1, "model": "m", "score": 1, "judge": "j"}, "no"),
        ({"model": "m", "games": [], "score": 1}, "no"),
        ({"instruction": "i", "model": "m", "preference": 1}, "no"),
        ({"uid": "u", "category": "c", "prompt": "p", "model": "m", "score": 1}, "no"),
        # Tables of scores with the keys of questions and answers are not passed over.
        ({"question_id": 1, "model_id": "m", "choices": [], "passed": True}, "no"),
        ({"question_id": 1, "category": "c", "turns": [], "evaluation": {"score": 1}}, "no"),
        ({"uid": "u", "category": "c", "prompt": "p", "acc": 0.5}, "no"),
        ({"instruction": "i", "output": "o", "generator": "m", "correct": 1}, "no"),
        ({"instance_id": "i", "model_patch": "p", "model": "m", "resolved": True}, "no"),
        ({"instance_id": "i", "model_patch": "p", "model_name_or_path": "m"}, "beside"),
    ],
)
def test_other_files_are_left_alone(row, what, tmp_path):
    assert recognised(str(write_lines(tmp_path / "a.jsonl", [row])))[1] == what
