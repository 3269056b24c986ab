"""Where the samples of logs are."""

from __future__ import annotations

from pathlib import Path

from bbedge.readers import read_scores
from bbedge.readers.convert import sample_addresses

LOGS = Path(__file__).parents[2] / "logs"


def test_a_sample_of_a_log_has_a_file_and_a_place(tmp_path):
    logs = LOGS / "inspect" / "runs"
    scores = read_scores(logs)
    found = sample_addresses([logs], items=scores.items, models=scores.models)
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
    some = sample_addresses([logs], items=scores.items[:2], models=scores.models[:1])
    assert set(some) == {(scores.models[0], item) for item in scores.items[:2]}
    table = tmp_path / "scores.csv"
    table.write_text("model,item,score\na,x,1\nb,x,0\n")
    assert sample_addresses([table, "-"], items=["x"], models=["a", "b"]) == {}
