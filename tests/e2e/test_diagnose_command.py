"""``bbedge diagnose`` as a user meets it."""

from __future__ import annotations

import csv
import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from bbedge.core.checkpoints import run_order
from bbedge.study.synthetic import SyntheticBenchmark

DEMO = Path(__file__).parents[2] / "demo" / "scores.csv"


def findings(path: Path) -> dict[str, dict[str, str]]:
    return {finding["kind"]: finding for finding in json.loads(path.read_text())["findings"]}


def verdicts(path: Path) -> dict[str, str]:
    return {kind: finding["verdict"] for kind, finding in findings(path).items()}


def noise(seed: int, *shape: int) -> np.ndarray:
    return (np.random.default_rng(seed).random(shape) < 0.5).astype(float)


def write(path: Path, values: np.ndarray, models: list[str], block: int) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "item", "block", "replicate", "score"])
        for r, m, i in product(*map(range, values.shape)):
            writer.writerow([models[m], f"q{i}", f"b{i // block}", r + 1, values[r, m, i]])
    return path


def test_sound_runs_raise_no_alarm(bbedge, tmp_path):
    outcome = bbedge("diagnose", DEMO, "--json", tmp_path / "d.json")
    assert outcome.code == 0, outcome.err
    assert verdicts(tmp_path / "d.json") == {
        "block-dependence": "no alarm",
        "copies": "no alarm",
        "near-copies": "no alarm",
        "same-model": "not possible",
        "rank-stability": "look",
        "item-heterogeneity": "look",
        "item-variance": "no alarm",
        "constant-items": "no alarm",
    }
    for words in ("does not show", "to do", "independent blocks"):
        assert words in outcome.out


def test_the_document_has_what_the_findings_rest_on(bbedge, tmp_path):
    table = write(tmp_path / "t.csv", noise(1, 4, 2, 30), ["a", "b"], 1)
    assert bbedge("diagnose", table, "--json", tmp_path / "d.json").code == 0
    content = json.loads((tmp_path / "d.json").read_text())
    assert (content["seed"], content["permutations"], content["alarm_level"]) == (1, 1999, 0.01)
    assert [each["model"] for each in content["block_dependence"]] == ["a", "b"]
    assert content["block_dependence_together"]["model"] is None
    assert [each["model"] for each in content["close_replicates"]] == ["a", "b", None]
    assert set(content["close_replicates"][0]["replicates"]) <= {"1", "2", "3", "4"}
    assert set(content["split_null"][0]) == {"model", "splits", "certified", "log_e"}
    assert set(content["findings"][0]) == {"kind", "question", "verdict", "found", "not_shown", "to_do"}


def test_with_new_items_as_target_repeats_are_harmless_and_blocks_are_not(bbedge, tmp_path):
    rng = np.random.default_rng(7)
    hard = rng.random((2, 120)) < 0.5  # the items decide most of each score
    values = np.where(rng.random((6, 2, 120)) < 0.9, hard, ~hard).astype(float)
    values[3] = values[0]
    table = write(tmp_path / "t.csv", values, ["a", "b"], 1)
    bbedge("diagnose", table, "--json", tmp_path / "these.json")
    bbedge("diagnose", table, "--target", "new-items", "--json", tmp_path / "new.json")
    bbedge("diagnose", table, "--target", "both", "--of-runs", "all:2", "--json", tmp_path / "of_runs.json")
    these, new, of_runs = (findings(tmp_path / f"{name}.json") for name in ("these", "new", "of_runs"))
    assert (these["copies"]["verdict"], new["copies"]["verdict"]) == ("alarm", "no alarm")
    assert of_runs["copies"]["verdict"] == "alarm", "a copy is no second chance of a score of two runs"
    assert "Claims about new items stay valid" in new["copies"]["found"]
    assert new["copies"]["to_do"] == ""
    assert (these["item-variance"]["verdict"], new["item-variance"]["verdict"]) == ("no alarm", "look")
    share = json.loads((tmp_path / "new.json").read_text())["item_variance"]["between_share"]
    assert share > 0.5
    assert f"Between items lies {share:.0%} of the variance" in new["item-variance"]["found"]
    assert "More items would help most" in new["item-variance"]["found"]


def test_dependence_that_the_blocks_do_not_cover_is_an_alarm(bbedge, tmp_path):
    benchmark = SyntheticBenchmark(block_sizes=20)
    values = np.stack(list(benchmark.panels(np.random.default_rng(1), 15)))
    table = write(tmp_path / "t.csv", values, list(benchmark.models), 20)
    bbedge("diagnose", table, "--json", tmp_path / "right.json")
    bbedge("diagnose", table, "--blocks", "item", "--json", tmp_path / "wrong.json")
    assert verdicts(tmp_path / "right.json")["block-dependence"] == "no alarm"
    assert findings(tmp_path / "right.json")["block-dependence"]["to_do"] == ""
    assert verdicts(tmp_path / "wrong.json")["block-dependence"] == "alarm"
    assert "--blocks one" in findings(tmp_path / "wrong.json")["block-dependence"]["to_do"]
    bbedge("diagnose", table, "--blocks", "item", "--target", "new-items", "--json", tmp_path / "new.json")
    new = findings(tmp_path / "new.json")["block-dependence"]
    assert new["verdict"] == "alarm", "what passes between blocks breaks claims about new items too"
    assert "--blocks one" not in new["to_do"]
    assert "claim nothing about new items" in new["to_do"]


def test_too_few_permutations_for_an_alarm_say_so(bbedge, tmp_path):
    table = write(tmp_path / "t.csv", noise(1, 4, 2, 30), ["a", "b"], 1)
    few = bbedge("diagnose", table, "--permutations", 199)
    assert "An alarm takes at least 249 permutations." in " ".join(few.out.split())
    enough = bbedge("diagnose", table, "--permutations", 249)
    assert "An alarm takes" not in enough.out


def test_a_copied_run_is_an_alarm_that_names_it_and_leaves_nothing_out(bbedge, tmp_path):
    values = noise(0, 5, 3, 40)
    values[3, 1] = values[0, 1]
    table = write(tmp_path / "t.csv", values, ["a", "b", "c"], 1)
    outcome = bbedge("diagnose", table, "--json", tmp_path / "d.json")
    assert outcome.code == 0, outcome.err
    copies = findings(tmp_path / "d.json")["copies"]
    assert copies["verdict"] == "alarm"
    assert "Replicates '1', '4' have the same scores for 'b'." in copies["found"]
    assert "No model" not in copies["found"]
    assert "--copies allow" in copies["to_do"]
    assert "leave" not in copies["to_do"]
    assert verdicts(tmp_path / "d.json")["near-copies"] == "no alarm"


def test_a_copied_replicate_is_an_alarm(bbedge, tmp_path):
    values = noise(0, 5, 2, 40)
    values[4] = values[1]
    bbedge("diagnose", write(tmp_path / "t.csv", values, ["a", "b"], 1), "--json", tmp_path / "d.json")
    copies = findings(tmp_path / "d.json")["copies"]
    assert copies["verdict"] == "alarm"
    assert "Replicates '2', '5' have the same scores for every model ('a', 'b')." in copies["found"]


def test_a_copied_run_with_a_changed_score_is_an_alarm(bbedge, tmp_path):
    values = noise(0, 5, 3, 40)
    values[3, 1] = values[0, 1]
    values[3, 1, 8] = 1.0 - values[3, 1, 8]
    bbedge("diagnose", write(tmp_path / "t.csv", values, ["a", "b", "c"], 1), "--json", tmp_path / "d.json")
    found = findings(tmp_path / "d.json")
    assert found["copies"]["verdict"] == "no alarm"
    assert found["copies"]["found"] == "No model has the same scores in two replicates."
    assert found["near-copies"]["verdict"] == "alarm"
    assert "Replicates '1', '4' differ in 1 score of 'b'" in found["near-copies"]["found"]


def test_a_name_is_no_finding(bbedge, tmp_path):
    # The notes about this table speak of white space, and of a model that is called "identical ".
    table = write(tmp_path / "t.csv", noise(3, 5, 2, 40), ["identical ", "seed copies "], 1)
    outcome = bbedge("diagnose", table, "--json", tmp_path / "d.json")
    assert outcome.code == 0, outcome.err
    found = findings(tmp_path / "d.json")
    assert "alarm" not in {each["verdict"] for each in found.values()}
    assert found["copies"]["found"] == "No model has the same scores in two replicates."
    assert "seeds" not in found


def test_one_model_that_always_repeats_itself_is_worth_a_look(bbedge, tmp_path):
    values = noise(4, 4, 3, 40)
    values[:, 2] = values[0, 2]
    bbedge("diagnose", write(tmp_path / "t.csv", values, ["a", "b", "greedy"], 1), "--json", tmp_path / "d.json")
    copies = findings(tmp_path / "d.json")["copies"]
    assert copies["verdict"] == "look"
    assert "1 of 3 models have the same scores in all 4 replicates: 'greedy'." in copies["found"]
    assert "deterministic" in copies["to_do"]


def test_a_table_of_one_run_is_worth_a_look(bbedge, tmp_path):
    # Deterministic systems look like this, and so do copies: certify stops, but sound runs can be like that.
    table = write(tmp_path / "t.csv", np.repeat(noise(0, 1, 1, 40), 4, axis=0), ["only"], 1)
    outcome = bbedge("diagnose", table, "--json", tmp_path / "d.json")
    assert outcome.code == 0, outcome.err
    copies = findings(tmp_path / "d.json")["copies"]
    assert copies["verdict"] == "look"
    assert "Replicates '1', '2', '3', '4' have the same scores for every model ('only')." in copies["found"]
    assert "A file that was copied: remove the copy." in copies["to_do"]


@pytest.mark.parametrize("kind", ["hardly-changes", "solves-all", "few-items"])
def test_runs_that_are_equal_by_plausible_chance_are_stated_and_no_alarm(bbedge, tmp_path, kind):
    values = noise(5, 4, 2, 40)
    if kind == "hardly-changes":
        values[:, 1] = values[0, 1]
        values[0, 1, 0] = 1.0 - values[0, 1, 0]  # the other three runs are equal
    elif kind == "solves-all":
        values[:, 1] = 1.0
    else:
        values = values[:, :, :5]
        values[2, 1] = values[1, 1] = [0, 1, 1, 0, 1]
    bbedge("diagnose", write(tmp_path / "t.csv", values, ["a", "b"], 1), "--json", tmp_path / "d.json")
    found = findings(tmp_path / "d.json")
    assert "alarm" not in {each["verdict"] for each in found.values()}
    copies = found["copies"]["found"]
    assert "No model" not in copies
    assert "'b'" in copies
    assert ("'2', '3'" in copies) == (kind != "solves-all")


def test_scores_that_depend_on_the_place_in_the_first_run_are_an_alarm(bbedge, tmp_path):
    values = (np.random.default_rng(1).random((2, 2, 60)) < 0.8).astype(float)
    labels = [f"q{i}" for i in range(60)]
    values[0, 0, [place for block in run_order(labels, labels, seed=7)[36:] for place in block]] = 0.0
    table = write(tmp_path / "t.csv", values, ["a", "b"], 1)
    outcome = bbedge("diagnose", table, "--order-seed", 7, "--json", tmp_path / "d.json")
    assert outcome.code == 0, outcome.err
    assert verdicts(tmp_path / "d.json")["position"] == "alarm"
    assert [each["model"] for each in json.loads((tmp_path / "d.json").read_text())["positions"]] == ["a", "b", None]
    bbedge("diagnose", table, "--json", tmp_path / "d.json")
    assert "position" not in verdicts(tmp_path / "d.json")


def test_a_model_that_changed_between_its_runs_is_an_alarm(bbedge, tmp_path):
    values = noise(6, 8, 2, 60)
    values[4:, 0, :35] = 1.0
    bbedge("diagnose", write(tmp_path / "t.csv", values, ["changed", "same"], 1), "--json", tmp_path / "d.json")
    same = findings(tmp_path / "d.json")["same-model"]
    assert same["verdict"] == "alarm"
    assert "'changed'" in same["found"]
    assert "changed version, prompt or judge" in same["to_do"]


def test_one_replicate_says_what_is_not_possible(bbedge, tmp_path):
    table = write(tmp_path / "t.csv", noise(0, 1, 3, 20), ["a", "b", "c"], 1)
    outcome = bbedge("diagnose", table, "--json", tmp_path / "d.json")
    assert outcome.code == 0
    assert {kind for kind, verdict in verdicts(tmp_path / "d.json").items() if verdict == "not possible"} == {
        "block-dependence",
        "copies",
        "near-copies",
        "same-model",
        "rank-stability",
        "item-variance",
    }
    assert {each["to_do"] for each in findings(tmp_path / "d.json").values() if each["verdict"] == "not possible"} == {
        ""
    }


@pytest.mark.parametrize("options", [["--permutations", "1"], ["--blocks", "nothing"]])
def test_bad_options(bbedge, options):
    outcome = bbedge("diagnose", DEMO, *options)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err


def judged_table(path: Path, *, judge: float) -> Path:
    rng = np.random.default_rng(5)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "item", "replicate", "judgement", "score"])
        for model, item, replicate in product("ab", range(40), range(1, 9)):
            answer = 0.5 + rng.uniform(-0.05, 0.05)
            for judgement in (1, 2):
                writer.writerow([model, f"q{item}", replicate, judgement, answer + rng.uniform(-judge, judge)])
    return path


def test_the_noise_of_a_judge_is_separated_where_answers_were_judged_twice(bbedge, tmp_path):
    table = judged_table(tmp_path / "t.csv", judge=0.4)
    outcome = bbedge("diagnose", table, "--judgement", "judgement", "--json", tmp_path / "d.json")
    assert outcome.code == 0, outcome.err
    noise = json.loads((tmp_path / "d.json").read_text())["judge_noise"]
    assert noise["together"]["judge_share"] == pytest.approx(64 / 65, abs=0.05)
    assert (noise["judgements"], noise["worth"]) == (2, "judgements")
    assert verdicts(tmp_path / "d.json")["judge-noise"] == "look"
    assert "Pay for more judgements of each answer" in " ".join(outcome.out.split())
    dear = bbedge("diagnose", table, "--judgement", "judgement", "--judge-cost", "100", "--json", tmp_path / "d.json")
    assert dear.code == 0
    assert json.loads((tmp_path / "d.json").read_text())["judge_noise"]["worth"] == "runs"


def test_judgements_are_an_explicit_choice(bbedge, tmp_path):
    table = judged_table(tmp_path / "t.csv", judge=0.1)
    assert "a second score for model" in bbedge("diagnose", table).err
    assert (
        "correct --judgement rating, or name the replicate column"
        in bbedge("diagnose", table, "--judgement", "rating").err
    )
    assert "needs --judgement" in bbedge("diagnose", DEMO, "--judge-cost", "2").err
    assert bbedge("diagnose", DEMO, "--json", tmp_path / "d.json").code == 0
    assert "judge_noise" not in json.loads((tmp_path / "d.json").read_text())
