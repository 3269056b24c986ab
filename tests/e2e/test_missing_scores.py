"""Missing scores on the command line: refused, or counted as declared."""

import json
import shlex
from itertools import product

import numpy as np
import pytest


@pytest.fixture
def ragged(tmp_path):
    """Three models, of which one has two of four replicates and one lacks a score."""
    rng = np.random.default_rng(5)
    lines = ["model,item,replicate,score"]
    shares = {"a": 0.95, "b": 0.5, "c": 0.05}
    for model, item, run in product(shares, range(40), (1, 2, 3, 4)):
        if not (model == "b" and run > 2) and (model, item, run) != ("a", 7, 1):
            lines.append(f"{model},q{item},{run},{int(rng.random() < shares[model])}")
    path = tmp_path / "ragged.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_missing_scores_are_counted_as_declared(bbedge, ragged, tmp_path):
    refused = bbedge("certify", ragged)
    assert refused.code == 2
    assert (
        "--incomplete stopped,worst-case stops 'b' after replicate '2', and 1 missing score of 1 model" in refused.err
    )
    for policy, said in (
        ("worst-case", ["81 scores are missing"]),
        ("stopped,worst-case", ["1 model stopped early: 'b' after replicate '2'", "1 score is missing"]),
        ("zero", ["81 missing scores declared to be failures"]),
    ):
        outcome = bbedge("certify", ragged, "--incomplete", policy, "--json", tmp_path / "c.json")
        assert outcome.code == 0, outcome.err
        certificate = json.loads((tmp_path / "c.json").read_text())
        assert all(words in " ".join(outcome.out.split()) for words in said), outcome.out
        assert ("a", "c") in {(edge["winner"], edge["loser"]) for edge in certificate["edges"]}


@pytest.mark.parametrize("command", ["compare", "diagnose", "plan"])
def test_commands_that_need_every_score_say_so(bbedge, ragged, command):
    outcome = bbedge(command, ragged, "--incomplete", "stopped,worst-case")
    assert outcome.code == 2
    assert "--incomplete stopped,worst-case leaves scores missing, and this command needs all of them" in outcome.err
    assert bbedge(command, ragged, "--incomplete", "zero").code == 0


def test_a_policy_that_does_not_exist_is_refused_with_the_option(bbedge, ragged):
    outcome = bbedge("certify", ragged, "--incomplete", "mean")
    assert outcome.code == 2
    assert "--incomplete mean: 'mean' is not a policy. Choose one of refuse, worst-case" in outcome.err


def test_inspect_scores_proposes_a_policy_that_works(bbedge, ragged):
    outcome = bbedge("inspect-scores", ragged)
    assert outcome.code == 3
    command = shlex.split(outcome.out.strip().splitlines()[-1])
    assert command[-2:] == ["--incomplete", "stopped,worst-case"]
    assert bbedge(*command[1:]).code == 0
