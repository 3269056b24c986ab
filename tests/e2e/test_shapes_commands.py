"""What people have on disk, through the commands: from a file of any shape to a certificate that verifies."""

import json
import shlex
import shutil

import pytest

from log_makers import lm_eval_row, lm_eval_run
from shape_makers import MODELS, QUESTIONS, SHAPES, right

RIGHT = {model: [int(right(model, number)) for number in QUESTIONS] for model in MODELS}


def means(bbedge, folder, *args):
    """The means in a certificate of some files, which must verify."""
    outcome = bbedge("certify", *args, "--json", folder / "c.json")
    assert outcome.code == 0, outcome.err
    content = json.loads((folder / "c.json").read_text())
    checked = bbedge("verify", folder / "c.json", *args)
    assert checked.code == 0, checked.err + checked.out
    return {model["name"]: model["mean"] for model in content["models"]}, content


def by_item(folder):
    for model in MODELS:
        of_model = {f"q{number}": "pass" if right(model, number) else "fail" for number in QUESTIONS}
        (folder / f"{model}.json").write_text(json.dumps(of_model, indent=1))


def zipped(folder):
    SHAPES["livecodebench"].files(folder / "runs")
    shutil.make_archive(str(folder / "runs"), "zip", folder / "runs")
    shutil.rmtree(folder / "runs")


@pytest.mark.parametrize(
    ("make", "name", "choices"),
    [
        (by_item, "", ["--model-from", "file", "--column", "item=key"]),
        (SHAPES["swe-bench reports"].files, "", []),
        (SHAPES["bfcl"].files, "", []),
        (SHAPES["mmlu-pro"].files, "", []),
        (zipped, "runs.zip", ["--column", "item=x"]),
    ],
    ids=["keys", "swe-bench", "bfcl", "mmlu-pro", "zip"],
)
def test_a_certificate_of_a_shape_has_its_means_and_verifies(make, name, choices, bbedge, tmp_path):
    folder = tmp_path / "scores"
    folder.mkdir()
    make(folder)
    if name:
        outcome = bbedge("certify", folder / name, *choices)
        assert outcome.code == 2
        assert "a log of LiveCodeBench, which is read without --column item=x: leave it out" in outcome.err
        choices = []
    found, _ = means(bbedge, tmp_path, folder / name if name else folder, *choices)
    expected = {model: sum(values) / 8 for model, values in RIGHT.items()}
    assert found == expected if not name else {model: (mean + 1) / 2 for model, mean in expected.items()}


def test_a_subset_is_declared_on_the_command_line_and_stated_by_the_certificate(bbedge, tmp_path):
    logs = tmp_path / "logs"
    for model in MODELS:
        rows = [lm_eval_row(number, score=float(right(model, number))) for number in QUESTIONS]
        lm_eval_run(logs / model, model=model, rows=rows, **{"n-samples": {"t": {"original": 1319, "effective": 1319}}})
    outcome = bbedge("certify", logs)
    assert outcome.code == 2
    assert "or, if the publisher kept only these, declare it with --subset" in outcome.err
    found, content = means(bbedge, tmp_path, logs, "--subset")
    assert found == {model: sum(values) / 8 for model, values in RIGHT.items()}
    notes = [note["text"].partition(": ")[2] for note in content["notes"] if note["kind"] == "subset"]
    assert notes == ["8 of 1,319 documents were kept by the publisher."] * 2
    # Verification takes the declaration from the certificate.
    assert bbedge("verify", tmp_path / "c.json", logs).code == 0


def test_a_list_of_all_instances_completes_lists_of_those_that_were_resolved(bbedge, tmp_path):
    lists = tmp_path / "lists"
    lists.mkdir()
    names = [f"django__django-{number}" for number in QUESTIONS]
    for model in MODELS:
        resolved = [name for name, value in zip(names, RIGHT[model], strict=True) if value]
        (lists / f"{model}.json").write_text(json.dumps({"resolved": resolved}))
    outcome = bbedge("certify", lists, "--model-from", "file")
    assert outcome.code == 2
    assert "--items FILE" in outcome.err
    (tmp_path / "items.csv").write_text("\n".join(["item", *names]))
    found, _ = means(bbedge, tmp_path, lists, *shlex.split(f"--model-from file --items {tmp_path}/items.csv"))
    assert found == {model: sum(values) / 8 for model, values in RIGHT.items()}
