"""Tables as people have them through the commands: what inspect-scores proposes works as it is printed."""

import json
import os
import shlex
from pathlib import Path

import pytest

MODELS, ITEMS = ("gpt-4.1", "llama"), [f"q {n}" for n in range(6)]


def proposed(bbedge, *arguments):
    """The commands that inspect-scores proposes, one after the other, until the scores can be read."""
    commands = []
    for _ in range(4):
        outcome = bbedge(*arguments)
        assert outcome.code in (0, 3), outcome.err
        lines = outcome.out.rstrip().splitlines()
        command = shlex.split(lines[-1])
        assert command[0] == "bbedge"
        commands.append(command[1:])
        if outcome.code == 0:
            break
        arguments = command[1:]
    return outcome, commands


def one_file_per_model(folder):
    for number, model in enumerate(MODELS):
        rows = [{"question_id": item, "evaluation": {"strict": (n + number) % 2}} for n, item in enumerate(ITEMS)]
        (folder / f"{model}.json").write_text(json.dumps({"results": rows, "evaluation": 0.5}))


def one_folder_per_model(folder):
    for number, model in enumerate(MODELS):
        (folder / model).mkdir()
        rows = "".join(f"{item};{(n + number) % 2 / 2:g}\n".replace(".", ",") for n, item in enumerate(ITEMS))
        (folder / model / "results.csv").write_text("task_id;reward\n" + rows)


def several_metrics(folder):
    rows = "".join(f"{m},{q},{metric},1\n" for m in MODELS for q in ITEMS for metric in ("acc", "f 1"))
    (folder / "a.csv").write_text("model,item,metric,score\n" + rows)


def repeated_runs(folder):
    rows = "".join(f"{m},{q},{k},1\n" for m in MODELS for q in ITEMS for k in (1, 2))
    (folder / "a.csv").write_text("model,item,attempt,score\n" + rows)


def one_file_per_run(folder):
    for run in (1, 2):
        rows = "".join(f"{m},{q},{(n + run) % 2}\n" for m in MODELS for n, q in enumerate(ITEMS))
        (folder / f"run {run}.csv").write_text("model,item,score\n" + rows)


def a_wide_table_with_a_mean(folder):
    rows = "".join(f"{m},{','.join('1' for _ in range(9))},1\n" for m in MODELS)
    (folder / "a.csv").write_text("model," + ",".join(f"q{n}" for n in range(9)) + ",Overall\n" + rows)


def two_scores(folder):
    rows = "".join(f"{m},{q},1,0\n" for m in MODELS for q in ITEMS)
    (folder / "a.csv").write_text("model,item,passed,reward\n" + rows)


@pytest.mark.parametrize(
    "make",
    [
        one_file_per_model,
        one_folder_per_model,
        several_metrics,
        repeated_runs,
        one_file_per_run,
        a_wide_table_with_a_mean,
        two_scores,
    ],
)
def test_what_is_proposed_works_as_printed(bbedge, tmp_path, make):
    folder = tmp_path / "some scores"
    folder.mkdir()
    make(folder)
    assert bbedge("certify", folder).code == 2
    outcome, commands = proposed(bbedge, "inspect-scores", str(folder))
    assert outcome.code == 0, outcome.out
    assert "2 models x" in outcome.out
    # One proposal is enough, however many choices are missing.
    assert len(commands) == 2
    certified = bbedge(*commands[-1])
    assert certified.code in (0, 1, 2), certified.err
    assert "--copies allow" in certified.err or certified.code == 0


def test_the_certificate_states_what_was_left_out(bbedge, tmp_path):
    one_file_per_run(tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "run 3.csv").write_text("model,item\n")
    out = tmp_path.parent / "certificate.json"
    outcome = bbedge("certify", tmp_path, "--replicate-from", "file", "--skip", "old", "--json", out)
    assert outcome.code == 0, outcome.err
    (note,) = (note for note in json.loads(out.read_text())["notes"] if "Left out" in note)
    assert note.startswith("Left out on purpose, by the pattern 'old': 1 file,")


def test_a_refused_table_is_named_with_options(bbedge, tmp_path):
    one_file_per_run(tmp_path)
    (tmp_path / "c.csv").write_text("model,item,strict\nc,q1,1\n")
    outcome = bbedge("certify", tmp_path, "--replicate-from", "file")
    assert outcome.code == 2
    assert "c.csv: no column for the score" in outcome.err
    assert f"--skip {tmp_path}/c.csv" in outcome.err.replace("\n", "")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_convert_writes_by_the_ending(bbedge, tmp_path, kind):
    one_file_per_run(tmp_path)
    out = tmp_path.parent / f"scores.{kind}"
    outcome = bbedge("convert", tmp_path, "--replicate-from", "file", "--to", out)
    assert outcome.code == 0, outcome.err
    assert bbedge("inspect-scores", out).code == 0


EXAMPLES = {
    "tab-humaneval-glob": ("3 models x 164 items", ()),
    "tab-tau": ("1 model x 50 items in 50 blocks x 4 replicates", ()),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_public_examples(bbedge, name):
    if "BBEDGE_LOGS" not in os.environ:
        pytest.skip("set BBEDGE_LOGS to the folder of public example logs to try them")
    said, options = EXAMPLES[name]
    outcome, commands = proposed(bbedge, "inspect-scores", str(Path(os.environ["BBEDGE_LOGS"]) / name), *options)
    assert said in outcome.out
    assert commands[-1][0] in ("certify", "diagnose")
