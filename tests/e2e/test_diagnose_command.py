"""``bbedge diagnose`` as a user meets it."""

from __future__ import annotations

import csv
import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from bbedge.study.synthetic import SyntheticBenchmark

DEMO = Path(__file__).parents[2] / "demo" / "scores.csv"


def verdicts(path: Path) -> dict[str, str]:
    findings = json.loads(path.read_text())["findings"]
    return {finding["question"]: finding["verdict"] for finding in findings}


def write(path: Path, values: np.ndarray, models: list[str], block: int) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "item", "block", "replicate", "score"])
        for r, m, i in product(*map(range, values.shape)):
            writer.writerow([models[m], f"q{i}", f"b{i // block}", r + 1, values[r, m, i]])
    return path


def test_sound_runs_raise_no_alarm(bbedge, tmp_path):
    outcome = bbedge("diagnose", DEMO, "--json", tmp_path / "d.json", "--permutations", 99)
    assert outcome.code == 0, outcome.err
    assert "alarm" not in set(verdicts(tmp_path / "d.json").values())
    for words in ("does not show", "to do", "independent blocks"):
        assert words in outcome.out


def test_dependence_that_the_blocks_do_not_cover_is_an_alarm(bbedge, tmp_path):
    benchmark = SyntheticBenchmark(block_sizes=20)
    values = np.stack(list(benchmark.panels(np.random.default_rng(1), 15)))
    table = write(tmp_path / "t.csv", values, list(benchmark.models), 20)
    bbedge("diagnose", table, "--json", tmp_path / "right.json", "--permutations", 199)
    bbedge("diagnose", table, "--blocks", "item", "--json", tmp_path / "wrong.json", "--permutations", 199)
    question = "Do replicate means vary as independent blocks imply?"
    assert verdicts(tmp_path / "right.json")[question] == "no alarm"
    assert verdicts(tmp_path / "wrong.json")[question] == "alarm"


def test_copies_are_an_alarm_and_one_model_is_enough(bbedge, tmp_path):
    panel = (np.random.default_rng(0).random((1, 1, 40)) < 0.5).astype(float)
    table = write(tmp_path / "t.csv", np.repeat(panel, 4, axis=0), ["only"], 1)
    outcome = bbedge("diagnose", table, "--json", tmp_path / "d.json")
    assert outcome.code == 0, outcome.err
    assert verdicts(tmp_path / "d.json")["Do replicates repeat each other exactly?"] == "alarm"


def test_one_replicate_says_what_is_not_possible(bbedge, tmp_path):
    values = (np.random.default_rng(0).random((1, 3, 20)) < 0.5).astype(float)
    outcome = bbedge("diagnose", write(tmp_path / "t.csv", values, ["a", "b", "c"], 1))
    assert outcome.code == 0
    assert outcome.out.count("not possible") == 3


@pytest.mark.parametrize("options", [["--permutations", "1"], ["--blocks", "nothing"]])
def test_bad_options(bbedge, options):
    outcome = bbedge("diagnose", DEMO, *options)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
