"""Logs through every command that takes scores."""

import json
import shlex

import polars as pl
import pytest

from bbedge.formats import read_scores
from log_makers import LOGS, inspect_log, inspect_sample

EPOCHS = LOGS / "inspect" / "epochs"
LM_EVAL = LOGS / "lm_eval"


def test_certify_reads_a_folder_of_logs(bbedge):
    outcome = bbedge("certify", EPOCHS, "--blocks", "metadata.dialogue_id", "--method", "bb-edge-x")
    assert outcome.code == 0, outcome.err
    assert "2 models · 8 items in 4 blocks · 3 replicates" in outcome.out
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
    assert "On the board already" in again.out
    files = [inspect_log(tmp_path / f"{n}.eval", samples=[]) for n in (1,)]
    assert bbedge("board", "add", board, *files).code == 2


def test_inspect_scores_ends_with_the_command_to_go_on_with(bbedge):
    outcome = bbedge("inspect-scores", LM_EVAL / "run1", LM_EVAL / "run2")
    assert outcome.code == 3
    for part in ("8 files: 8 lm-evaluation-harness", "acc_norm", "lenient", "doc.group", "Not readable yet"):
        assert part in outcome.out
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
    assert "1 sample ended with an error" in outcome.out
    assert outcome.out.strip().endswith("--incomplete drop-items")


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
    assert "Suspicious" in outcome.err


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


def test_convert_writes_parquet_only(bbedge, tmp_path):
    outcome = bbedge("convert", EPOCHS, "--to", tmp_path / "scores.csv")
    assert outcome.code == 2
    assert "end its name with .parquet" in outcome.err
