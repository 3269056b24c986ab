"""Where the samples of logs are, and what was asked and answered."""

from __future__ import annotations

import json
from pathlib import Path

from bbedge.readers import read_scores
from bbedge.readers.convert import LONGEST_ANSWER, FirstSamples, first_samples

LOGS = Path(__file__).parents[2] / "logs"


def test_a_sample_of_a_log_has_a_file_and_a_place(tmp_path):
    logs = LOGS / "inspect" / "runs"
    scores = read_scores(logs)
    found = first_samples([logs], items=scores.items, models=scores.models).addresses
    assert set(found) == {(model, item) for model in scores.models for item in scores.items}
    assert len(set(found.values())) == len(found)
    for text in found.values():
        name, place = text.split(", sample ")
        assert (logs / name).is_file()
        assert 1 <= int(place) <= len(scores.items)
        assert str(tmp_path.anchor + "work") not in text


def test_only_what_is_asked_for_and_nothing_of_tables(tmp_path):
    logs = LOGS / "inspect" / "runs"
    scores = read_scores(logs)
    some = first_samples([logs], items=scores.items[:2], models=scores.models[:1]).addresses
    assert set(some) == {(scores.models[0], item) for item in scores.items[:2]}
    table = tmp_path / "scores.csv"
    table.write_text("model,item,score\na,x,1\nb,x,0\n")
    assert first_samples([table, "-"], items=["x"], models=["a", "b"]) == FirstSamples()


def test_texts_are_those_of_the_first_samples(tmp_path):
    docs = [{"question": "Why?\n<b>"}, {"query": "Which?"}, {"choices": ["a", "b"]}]
    answers = [[["an answer"]], [["y" * 5000]], [[-1.5, False]]]
    for model, score in (("aster", 1.0), ("birch", 0.0)):
        folder, time = tmp_path / model, "2026-01-01T00-00-00.000000"
        folder.mkdir()
        rows = [
            {"doc_id": i, "doc": doc, "target": "x", "resps": resps, "metrics": ["acc"], "acc": score}
            for i, (doc, resps) in enumerate(zip(docs, answers, strict=True))
        ]
        (folder / f"samples_quiz_{time}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        (folder / f"results_{time}.json").write_text(
            json.dumps(
                {"model_name": model, "results": {"quiz": {"acc,none": score}}, "configs": {"quiz": {}}, "config": {}}
            )
        )
    scores = read_scores(tmp_path)
    found = first_samples([tmp_path], items=scores.items, models=scores.models)
    assert sorted(found.questions.values()) == ["Which?", "Why?\n<b>"]
    said = [text for (model, _), text in found.answers.items() if model == "birch"]
    assert sorted(said, key=len) == ["an answer", "y" * (LONGEST_ANSWER - 1) + "…"]


def test_inspect_has_the_question_and_the_answer():
    logs = LOGS / "inspect" / "runs"
    scores = read_scores(logs)
    found = first_samples([logs], items=scores.items, models=scores.models)
    assert set(found.questions) == set(scores.items)
    assert set(found.answers) == set(found.addresses)
    assert all(found.questions.values())
