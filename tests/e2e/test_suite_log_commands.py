"""Logs of agent benchmarks and suites through the commands, and public examples where they are there."""

import os
import shlex
from pathlib import Path

import pytest

from bbedge.readers import read_scores
from bbedge.readers.logs.contract import open_log
from bbedge.readers.tools import recognised
from suite_makers import MAKERS, MODELS, terminal_run, terminal_trial

EXAMPLES = Path(os.environ.get("BBEDGE_LOGS", ""))
with_examples = pytest.mark.skipif(
    "BBEDGE_LOGS" not in os.environ, reason="BBEDGE_LOGS does not name a folder with public examples of logs"
)


def follow(bbedge, *args):
    """Run inspect-scores and the commands that it ends with, as printed, until one reads the scores."""
    outcome = bbedge("inspect-scores", *args)
    for _ in range(4):
        command = shlex.split(outcome.out.strip().splitlines()[-1])
        assert command[0] == "bbedge"
        outcome = bbedge(*command[1:])
        if command[1] != "inspect-scores":
            return command, outcome
    raise AssertionError(f"no end: {outcome.out}")


@pytest.mark.parametrize("name", MAKERS)
def test_inspect_scores_ends_with_a_command_that_works(name, bbedge, tmp_path):
    MAKERS[name](tmp_path)
    command, outcome = follow(bbedge, tmp_path)
    assert command[1] == "certify"
    assert outcome.code == 0, outcome.err


def test_one_model_with_a_missing_score_is_proposed_to_be_diagnosed(bbedge, tmp_path):
    trials = [terminal_trial("a", trial, trial == 0, of=2) for trial in range(2)]
    trials += [terminal_trial("b", 0, None, "parse_error", of=2), terminal_trial("b", 1, of=2)]
    command, outcome = follow(bbedge, terminal_run(tmp_path, "m", trials))
    assert command[1] == "diagnose"
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize(
    ("names", "place"),
    [
        (("gpt-4o.json", "llama-3-8b.json"), "file"),
        (("gpt-4o/results.json", "llama-3-8b/results.json"), "folder"),
    ],
)
def test_models_that_logs_do_not_name_are_proposed_from_the_paths(names, place, bbedge, tmp_path):
    """Paths that are called as models are; of others it asks."""
    for model, name in zip(MODELS, names, strict=True):
        terminal_run(tmp_path / model, model)
        (tmp_path / model / "run_metadata.json").unlink()
        path = tmp_path / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / model / "results.json").rename(path)
    command, outcome = follow(bbedge, tmp_path / "logs")
    assert command[-2:] == ["--model-from", place]
    assert outcome.code == 0, outcome.err
    assert all(model in outcome.out for model in ("gpt-4o", "llama-3-8b"))


@with_examples
def test_example_of_tau_bench(bbedge):
    folder = EXAMPLES / "tab-tau"
    scores = read_scores(folder, least_models=1, model_name=("gpt-4o",))
    assert scores.values.shape == (4, 1, 50)
    assert scores.values.mean() == pytest.approx(0.42)
    _, outcome = follow(bbedge, folder)
    assert outcome.code == 0, outcome.err


@with_examples
def test_example_of_terminal_bench(bbedge):
    folder = EXAMPLES / "tab-tbench"
    (path,) = folder.rglob("results.json")
    reader, _ = recognised(str(path))
    samples = list(open_log(reader, str(path)).samples())
    assert (reader.name, len(samples), len({each.item for each in samples})) == ("terminal-bench", 400, 80)
    assert sum(each.scores["is_resolved"] is True for each in samples if each.error is None) == 144
    kinds = [each.failure for each in samples if each.error is not None]
    assert (kinds.count("judge"), kinds.count("infrastructure"), len(kinds)) == (19, 10, 29)
    _, outcome = follow(bbedge, folder)
    assert outcome.code == 0, outcome.err


@with_examples
def test_example_of_evalplus(bbedge):
    folder = EXAMPLES / "tab-evalplus"
    choices = {"model_from": "folder", "metric": ("plus",)}
    scores = read_scores(folder, **choices)
    assert scores.models == ("70B-instruct-base", "8b-instruct-base", "8b-instruct-repeatlots")
    assert (scores.values.mean(axis=(0, 2)) * 164).round().tolist() == [116, 90, 62]
    _, outcome = follow(bbedge, folder)
    assert outcome.code == 0, outcome.err
