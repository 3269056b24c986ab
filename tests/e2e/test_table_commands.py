"""Tables as people have them through the commands: what inspect-scores proposes works as it is printed."""

import json
import os
import re
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
    rows = "".join(
        f"{m},{q},{(n + k) % 2},{(n + k) % 3 / 2}\n" for k, m in enumerate(MODELS) for n, q in enumerate(ITEMS)
    )
    (folder / "a.csv").write_text("model,item,passed,reward\n" + rows)


def one_file_per_model_and_run(shape, *, column=False):
    """Files of one model and one run each, without or with a column for the model."""

    def make(folder):
        for number, model in enumerate(MODELS):
            for run in (1, 2):
                path = folder / shape.format(m=model, r=run)
                path.parent.mkdir(parents=True, exist_ok=True)
                own = f"{model}," if column else ""
                rows = "".join(f"{own}{q},{n * (number + 2 * run) % 3 % 2}\n" for n, q in enumerate(ITEMS))
                path.write_text(("model," if column else "") + "item,score\n" + rows)

    return make


RUN_SHAPES = ["{m}_run{r}.csv", "run{r}/{m}.csv", "{m}/seed {r}.csv", "{m}-{r}.csv", "run {r} {m}/scores.csv"]


@pytest.mark.parametrize(
    "make",
    [
        *map(one_file_per_model_and_run, RUN_SHAPES),
        one_file_per_model_and_run(RUN_SHAPES[0], column=True),
        one_file_per_model,
        one_folder_per_model,
        repeated_runs,
        one_file_per_run,
        a_wide_table_with_a_mean,
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


@pytest.mark.parametrize(
    ("make", "option"), [(several_metrics, "--metric 'f 1'"), (two_scores, "--column score=reward")]
)
def test_what_has_to_be_decided_is_asked_and_each_answer_works(bbedge, tmp_path, make, option):
    make(tmp_path)
    outcome = bbedge("inspect-scores", tmp_path)
    assert outcome.code == 3
    assert "for example" not in outcome.out
    assert f"\n{option} " in outcome.out
    command = shlex.split(outcome.out.rstrip().splitlines()[-1])
    assert command == ["bbedge", "inspect-scores", str(tmp_path)]
    assert bbedge(*command[1:], *shlex.split(option)).code == 0
    document = json.loads(bbedge("inspect-scores", tmp_path, "--json", "-").out)
    assert document["command"] is None
    assert option in [each["argument"] for each in document["decisions"][0]["candidates"]]


def printed(message):
    """The options that a message says to pass, as a shell reads them."""
    return shlex.split(re.search(r"pass (--(?:replicate|model)-from .*)$", message.strip().splitlines()[-1])[1])


@pytest.mark.parametrize("policy", ["refuse", "zero", "worst-case"])
@pytest.mark.parametrize("shape", RUN_SHAPES)
def test_files_as_replicates_of_one_model_each_are_never_compared(bbedge, tmp_path, shape, policy):
    one_file_per_model_and_run(shape, column=True)(tmp_path)
    (tmp_path / "policy.toml").write_text(
        f'candidate = "{MODELS[0]}"\nbaseline = "{MODELS[1]}"\n[[claims]]\nnot_worse_by = 0.2\n'
    )
    tables = sorted(str(path) for path in tmp_path.rglob("*.csv"))
    by_path = [*tables, "--replicate-from", r"path:(.*)\.csv", "--incomplete", policy]
    for command in (["certify"], ["gate", str(tmp_path / "policy.toml")]):
        refused = bbedge(*command, *by_path)
        assert refused.code == 2
        assert "no replicate has runs of two models" in refused.err
        assert "--incomplete" not in refused.err
        outcome = bbedge(*command, *tables, *printed(refused.err), "--copies", "allow")
        assert "Traceback" not in outcome.err
        assert "2 runs" in outcome.out, outcome.err
    looked = bbedge("inspect-scores", *by_path[:-2])
    assert looked.code == 3
    assert "--incomplete" not in looked.out
    proposal = shlex.split(looked.out.rstrip().splitlines()[-1])
    assert proposal.count("--replicate-from") == 1
    assert bbedge(*proposal[1:]).code == 0


def test_a_board_refuses_replicates_of_one_model_each(bbedge, tmp_path):
    one_file_per_model_and_run("{m}_run{r}.csv", column=True)(tmp_path)
    tables = sorted(str(path) for path in tmp_path.glob("*.csv"))
    board = str(tmp_path / "board.db")
    (tmp_path / "design.toml").write_text('incomplete = "worst-case"\n')
    (tmp_path / "items.txt").write_text("item\n" + "\n".join(ITEMS) + "\n")
    made = ("--design", tmp_path / "design.toml", "--items", tmp_path / "items.txt", "--models", ",".join(MODELS))
    assert bbedge("board", "init", board, *made).code == 0
    refused = bbedge("board", "add", board, *tables, "--replicate-from", "file", "--incomplete", "worst-case")
    assert refused.code == 2
    assert "no replicate has runs of two models" in refused.err
    added = bbedge("board", "add", board, *tables, *printed(refused.err), "--copies", "allow")
    assert "Added replicates 1, 2." in added.out, added.err


def test_the_certificate_states_what_was_left_out(bbedge, tmp_path):
    one_file_per_run(tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "run 3.csv").write_text("model,item\n")
    out = tmp_path.parent / "certificate.json"
    outcome = bbedge("certify", tmp_path, "--replicate-from", "file", "--skip", "old", "--json", out)
    assert outcome.code == 0, outcome.err
    (note,) = (note for note in json.loads(out.read_text())["notes"] if note["kind"] == "files")
    assert note["text"].startswith("Left out on purpose, by the pattern 'old': 1 file,")


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
