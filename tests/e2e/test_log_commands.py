"""Logs through every command that takes scores."""

import json
import shlex
import subprocess
import sys

import polars as pl
import pytest

from bbedge.readers import read_scores
from log_makers import LOGS, inspect_log, inspect_sample

EPOCHS = LOGS / "inspect" / "epochs"
LM_EVAL = LOGS / "lm_eval"


def test_certify_reads_a_folder_of_logs(bbedge):
    outcome = bbedge("certify", EPOCHS, "--blocks", "metadata.dialogue_id", "--method", "bb-edge-x")
    assert outcome.code == 0, outcome.err
    assert "2 models · 8 items in 4 blocks · 3 runs" in outcome.out
    assert "share a seed" in outcome.out.replace("\n", " ")


def test_certify_takes_what_a_log_cannot_say(bbedge, tmp_path):
    out = tmp_path / "certificate.json"
    options = ["--metric", "acc", "--metric", "exact_match", "--filter", "none", "--filter", "lenient"]
    names = ["--model-name", "*/aster/*=A", "--model-name", "birch=B", "--replicate-from", r"path:run(\d)"]
    outcome = bbedge("certify", LM_EVAL / "run1", LM_EVAL / "run2", *options, *names, "--json", out)
    assert outcome.code == 0, outcome.err
    certificate = json.loads(out.read_text())
    assert {model["name"] for model in certificate["models"]} == {"A", "B"}
    assert (certificate["items"], certificate["replicates"]) == (16, 2)


def test_a_choice_that_is_missing_is_bad_input(bbedge):
    outcome = bbedge("certify", LM_EVAL / "run1")
    assert outcome.code == 2
    assert "choose one with --filter strict" in outcome.err
    assert "Traceback" not in outcome.err


def test_compare_and_diagnose_read_logs(bbedge):
    outcome = bbedge("compare", LOGS / "openai_evals", "--methods", "bb-edge,t-holm")
    assert outcome.code == 0, outcome.err
    outcome = bbedge("diagnose", EPOCHS, "--permutations", 19, "--splits", 1)
    assert outcome.code == 0, outcome.err
    assert "Do runs or items share a seed?" in outcome.out
    outcome = bbedge("diagnose", LOGS / "openai_evals", "--permutations", 19, "--splits", 1)
    assert "Do runs or items share a seed?" not in outcome.out


def test_a_board_takes_logs_run_by_run(bbedge, tmp_path):
    items = read_scores(LOGS / "openai_evals").items
    (tmp_path / "items.csv").write_text("item\n" + "\n".join(items) + "\n")
    (tmp_path / "design.toml").write_text('alpha = 0.05\nmethod = "bb-edge-x"\nspending = "equal"\nshares = 2\n')
    board = tmp_path / "board.bbedge"
    made = bbedge(
        *("board", "init", board, "--design", tmp_path / "design.toml"),
        *("--items", tmp_path / "items.csv", "--models", "aster,birch"),
    )
    assert made.code == 0, made.err
    for run in (1, 2):
        outcome = bbedge("board", "add", board, LOGS / "openai_evals" / f"*_{run}.jsonl")
        assert outcome.code == 0, outcome.err
        assert f"Added replicate {run}." in outcome.out
    again = bbedge("board", "add", board, LOGS / "openai_evals" / "*_2.jsonl")
    assert "Already on the board" in again.out
    files = [inspect_log(tmp_path / f"{n}.eval", samples=[]) for n in (1,)]
    assert bbedge("board", "add", board, *files).code == 2


def test_inspect_scores_ends_with_the_command_to_go_on_with(bbedge):
    outcome = bbedge("inspect-scores", LM_EVAL / "run1", LM_EVAL / "run2")
    assert outcome.code == 3
    for part in ("8 files: 8 lm-evaluation-harness", "acc_norm", "lenient", "doc.group", "Not readable yet"):
        assert part in outcome.out
    assert "No problems found" not in outcome.out
    command = shlex.split(outcome.out.strip().splitlines()[-1])
    assert command[:2] == ["bbedge", "inspect-scores"]
    outcome = bbedge(*command[1:])
    assert outcome.code == 0, outcome.out
    assert "Complete" in outcome.out
    assert "2 models x 16 items in 16 blocks x 2 replicates" in outcome.out
    command = shlex.split(outcome.out.strip().splitlines()[-1])
    assert command[:2] == ["bbedge", "certify"]
    assert bbedge(*command[1:]).code == 0


@pytest.mark.parametrize(
    "name", ["inspect/epochs", "inspect/failed", "helm", "lighteval", "promptfoo/json", "openai_evals"]
)
def test_inspect_scores_shows_no_score(bbedge, name):
    outcome = bbedge("inspect-scores", LOGS / name)
    assert outcome.code in (0, 3)
    assert "mean" not in outcome.out


def test_inspect_scores_of_failed_samples(bbedge):
    outcome = bbedge("inspect-scores", LOGS / "inspect" / "failed")
    assert outcome.code == 3
    assert "1 of 16 cells" in outcome.out
    assert "1 sample ended with an error and has no score" in outcome.out
    assert "Missing scores by kind of error: --incomplete" in outcome.out
    (row,) = (line.split() for line in outcome.out.splitlines() if line.startswith("mockllm/aster  "))
    assert row == ["mockllm/aster", "1"]
    assert outcome.out.strip().endswith("--incomplete worst-case")
    found = json.loads(bbedge("inspect-scores", LOGS / "inspect" / "failed", "--json", "-").out)
    assert found["missing"] == [{"model": "mockllm/aster", "unknown": 0, "refusal": 0, "infrastructure": 1, "judge": 0}]


def test_inspect_scores_of_a_table(bbedge, tmp_path):
    (tmp_path / "a.csv").write_text("model,item,score\na,q1,1\nb,q1,0\n")
    outcome = bbedge("inspect-scores", tmp_path / "a.csv")
    assert outcome.code == 0
    assert "1 table" in outcome.out
    assert outcome.out.strip().endswith(f"bbedge certify {tmp_path / 'a.csv'}")


def test_inspect_scores_for_programs(bbedge):
    outcome = bbedge("inspect-scores", LOGS / "promptfoo" / "troubled", "--json", "-")
    assert outcome.code == 3
    found = json.loads(outcome.out)
    assert (found["errors"], found["cached"], found["complete"]) == (2, 4, False)
    assert "came from a cache" in found["refused"]
    assert [metric["name"] for metric in found["metrics"]] == ["score", "success"]
    assert "Possible problems" in outcome.err


def test_hostile_names_are_harmless_on_a_terminal(bbedge, tmp_path):
    evil = "[red]\x1b[31mevil\u202e"
    path = inspect_log(tmp_path / "a.eval", model=evil, task=evil, samples=[inspect_sample(evil, metadata={evil: 1})])
    outcome = bbedge("inspect-scores", path)
    assert outcome.code == 0, outcome.err
    assert "\x1b" not in outcome.out
    assert "\u202e" not in outcome.out
    assert "[red]" in outcome.out


def test_convert_writes_a_table_that_certifies_the_same(bbedge, tmp_path):
    out = tmp_path / "scores.parquet"
    outcome = bbedge("convert", LOGS / "lighteval", "--blocks", "doc.specific.group", "--to", out)
    assert outcome.code == 0, outcome.err
    assert "32 scores of 2 models on 8 items in 2 replicates." in outcome.out
    assert pl.read_parquet(out).height == 32
    direct = bbedge("certify", LOGS / "lighteval", "--blocks", "doc.specific.group").out
    through = bbedge("certify", out).out
    hashes = [text.partition("hash ")[2][:16] for text in (direct, through)]
    assert hashes[0] == hashes[1] != ""


def test_convert_writes_tables_only(bbedge, tmp_path):
    outcome = bbedge("convert", EPOCHS, "--to", tmp_path / "scores.xlsx")
    assert outcome.code == 2
    assert "ends with .parquet" in outcome.err


TABLE = "model,item,score\n" + "".join(f"{m},q{i},{int(m == 'a')}\n" for m in "ab" for i in range(40))


@pytest.mark.parametrize("command", [["certify", "-"], ["inspect-scores", "/dev/stdin"], ["compare", "-"]])
def test_a_table_is_piped_into_a_command(command):
    done = subprocess.run(
        [sys.executable, "-m", "bbedge", *command], input=TABLE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "2 models" in done.stdout


def test_a_table_is_redirected_into_a_command(tmp_path):
    (tmp_path / "scores.csv").write_text(TABLE.replace("a,q3,1", "a,q3,x"))
    with (tmp_path / "scores.csv").open() as file:
        command = [sys.executable, "-m", "bbedge", "certify", "-"]
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("bbedge: standard input:5: score 'x' is text")


@pytest.mark.parametrize("command", ["certify", "compare"])
def test_pairs_that_no_memory_holds_are_refused_before_they_are_made(bbedge, tmp_path, monkeypatch, command):
    scores = tmp_path / "scores.csv"
    scores.write_text("model,item,score\n" + "".join(f"m{number},q,1\n" for number in range(20_300)))
    monkeypatch.setattr("bbedge.core.scores.Scores.design", lambda *_, **__: pytest.fail("it went on"))
    outcome = bbedge(command, scores)
    assert outcome.code == 2
    assert "20,300 models: arrays with a number for every pair would take up to 64.48 GiB" in outcome.err
    assert "bbedge.scale" in outcome.err
    assert "docs/scale.md" in outcome.err


def test_every_command_that_reads_scores_raises_the_limits(bbedge, tmp_path):
    scores = tmp_path / "scores.jsonl"
    name = "m" * (3 << 19)
    rows = ({"model": model, "item": f"q{item}", "score": 1} for model in (name, "b") for item in range(2))
    scores.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for command in (
        ["certify", scores],
        ["inspect-scores", scores],
        ["compare", scores, "--methods", "bb-edge"],
        ["convert", scores, "--to", tmp_path / "out.parquet"],
        ["diagnose", scores, "--permutations", 19, "--splits", 1],
    ):
        outcome = bbedge(*command)
        assert outcome.code == 2, outcome.out
        assert "the name of the model is longer than 1 MiB" in outcome.err
        assert "--max-size" in outcome.err
    outcome = bbedge("convert", scores, "--to", tmp_path / "out.parquet", "--max-size", "2M")
    assert outcome.code == 0, outcome.err
    outcome = bbedge("inspect-scores", scores, "--max-size", "2M")
    assert outcome.code == 0, outcome.err
    assert "--max-size 2M" in outcome.out.replace("\n", " ")


@pytest.mark.parametrize("size", ["", "8X", "-1", "G", "1e3", "0"])
def test_a_size_that_is_none_is_refused(bbedge, tmp_path, size):
    (tmp_path / "scores.csv").write_text(TABLE)
    outcome = bbedge("certify", tmp_path / "scores.csv", f"--max-size={size}")
    assert outcome.code == 2
    assert "size" in outcome.err
    assert "Traceback" not in outcome.err
