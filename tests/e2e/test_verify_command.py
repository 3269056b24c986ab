"""``bbedge verify``: the answer first, exit codes for programs, and every change found."""

from __future__ import annotations

import html
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from bbedge.certificate.derive import provenance
from bbedge.certificate.provenance import digest, verify_command
from bbedge.core.checkpoints import Checkpoints
from bbedge.core.design import Design
from bbedge.core.leaderboard import Certifier
from bbedge.verify import read_certificate
from log_makers import LOGS

ROOT = Path(__file__).parents[2]
TIME = "2026-01-31T12:00:00Z"


@pytest.fixture
def place(bbedge, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_bytes((ROOT / "demo" / "scores.csv").read_bytes())
    assert bbedge("certify", "scores.csv", "--json", "c.json").code == 0
    return tmp_path


def rewritten(path: str, change, *, seal: bool = False) -> None:
    content = json.loads(Path(path).read_text())
    change(content)
    if seal:
        content["provenance"]["digest"] = digest(content)
    Path(path).write_text(json.dumps(content))


def test_verified_is_code_0_and_the_first_line(bbedge, place):
    done = bbedge("verify", "c.json", "scores.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("verified: the certificate matches its digest, and everything")
    assert re.findall(r"^(\w+) +ok", done.out, re.MULTILINE) == [
        "schema", "digest", "version", "consistency", "files", "scores", "design", "results", "notes",
    ]  # fmt: skip
    alone = bbedge("verify", "c.json")
    assert alone.code == 0
    assert "nothing was computed again" in alone.out.splitlines()[0]


def test_the_certificate_states_what_it_was_made_from(place):
    read = read_certificate(Path("c.json")).content
    facts = provenance(read)
    assert facts.time == TIME
    assert [source.name for source in facts.sources] == ["scores.csv"]
    assert verify_command(read) == "bbedge verify certificate.json scores.csv"
    assert len({facts.design, facts.scores, facts.digest}) == 3


def test_the_time_is_the_present_one_unless_it_is_fixed(bbedge, place, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert bbedge("certify", "scores.csv", "--json", "now.json").code == 0
    now, fixed = (json.loads(Path(name).read_text()) for name in ("now.json", "c.json"))
    assert now["provenance"].pop("time") > "2026-02"
    assert fixed["provenance"].pop("time") == TIME
    assert now == fixed
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    done = bbedge("certify", "scores.csv", "--json", "x.json")
    assert (done.code, Path("x.json").exists()) == (2, False)
    assert "SOURCE_DATE_EPOCH='soon' is not a number of seconds" in done.err


def test_what_differs_is_code_3_in_words_and_in_json(bbedge, place):
    rewritten("c.json", lambda content: content["models"][1].update(mean=0.9), seal=True)
    done = bbedge("verify", "c.json", "scores.csv", "--json", "v.json")
    assert done.code == 3
    assert done.out.startswith("does not match: ")
    assert "models['five-shot'].mean" in done.out
    result = json.loads(Path("v.json").read_text())
    assert (result["verified"], result["outcome"]) == (False, "differs")
    results = next(check for check in result["checks"] if check["kind"] == "results")
    (difference,) = [each for each in results["differences"] if each["place"] == "models['five-shot'].mean"]
    assert (difference["kind"], difference["stated"]) == ("changed", 0.9)
    piped = bbedge("verify", "c.json", "scores.csv", "--json", "-")
    assert json.loads(piped.out) == result
    assert piped.err.startswith("does not match: ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content["edges"].pop(), "digest"),
        (lambda content: content["notes"].append({"kind": "remark", "text": "Trust me."}), "digest"),
        (lambda content: content["models"][0].update(name="x"), "contradicts itself|not a certificate"),
    ],
)
def test_an_edited_certificate_is_found_without_scores(bbedge, place, change, said):
    rewritten("c.json", change)
    done = bbedge("verify", "c.json")
    assert done.code == 3
    assert re.search(said, done.out.splitlines()[0])


def test_a_truncated_certificate_is_bad_input(bbedge, place):
    text = Path("c.json").read_text()
    Path("c.json").write_text(text[: len(text) // 2])
    done = bbedge("verify", "c.json", "scores.csv")
    assert (done.code, done.out) == (2, "")
    assert "c.json: not a certificate: no JSON" in done.err
    assert bbedge("verify", "none.json").code == 2
    assert bbedge("verify", "scores.csv").code == 2


def test_files_that_no_longer_make_scores_are_named_first(bbedge, place):
    frame = pl.read_csv("scores.csv")
    Path("runs").mkdir()
    for model, rows in frame.partition_by("model", as_dict=True).items():
        rows.write_csv(f"runs/{model[0]}.csv")
    assert bbedge("certify", "runs", "--json", "runs.json").code == 0
    assert bbedge("verify", "runs.json", "runs").code == 0
    one = bbedge("verify", "runs.json", "runs/plain.csv")
    assert one.code == 3
    assert "5 files missing: 'runs/five-shot.csv'" in one.out
    assert "the scores cannot be read" in one.out
    Path("runs/plain.csv").write_text("\n".join(Path("runs/plain.csv").read_text().splitlines()[:-1]) + "\n")
    cut = bbedge("verify", "runs.json", "runs")
    assert cut.code == 3
    assert "1 file changed: 'runs/plain.csv'" in cut.out
    assert bbedge("verify", "runs.json", "elsewhere").code == 2


def test_options_for_reading_come_from_the_certificate_or_the_command(bbedge, place):
    frame = pl.read_csv("scores.csv")
    frame.with_columns(score=pl.col("score") * 10, item=pl.lit("i") + pl.col("item")).write_csv("ten.csv")
    for options in (
        ["--score-range", "0", "10", "--blocks", "one"],
        ["--score-range", "0", "10", "--method", "bb-edge", "--tau", "0.01", "--top-k", "2", "--pilot", "1"],
    ):
        assert bbedge("certify", "ten.csv", *options, "--json", "ten.json").code == 0
        assert bbedge("verify", "ten.json", "ten.csv").code == 0
    frame.slice(0, len(frame) - 3).write_csv("gaps.csv")
    assert bbedge("certify", "gaps.csv", "--incomplete", "worst-case", "--json", "gaps.json").code == 0
    assert bbedge("verify", "gaps.json", "gaps.csv").code == 0
    assert bbedge("certify", "gaps.csv", "--incomplete", "zero", "--json", "zero.json").code == 0
    done = bbedge("verify", "zero.json", "gaps.csv")
    assert done.code == 0
    assert re.search(r"^reading +ok +as the certificate states: --incomplete zero *$", done.out, re.MULTILINE)
    assert bbedge("verify", "zero.json", "gaps.csv", "--incomplete", "worst-case").code == 3


def printed_command(page: str) -> list[str]:
    """The command that a page prints, as a shell takes it apart."""
    (found,) = re.findall(r'<code class="command">(bbedge verify .*?)</code>', Path(page).read_text())
    return shlex.split(html.unescape(found))[1:]


def test_the_command_that_a_page_prints_works(bbedge, place):
    frame = pl.read_csv("scores.csv").with_columns(topic=pl.col("item").hash(7) % 3, points=pl.col("score"))
    frame.drop("score").write_csv("suite.csv")
    frame.select("item").unique(maintain_order=True).with_columns(kind=pl.lit("q")).write_csv("items.csv")
    options = ["--macro", "topic", "--views", "topic", "--column", "score=points", "--items", "items.csv"]
    written = ["--json", "certificate.json", "--html", "page.html"]
    assert bbedge("certify", "suite.csv", *options, "--share", "headline=0.7", *written).code == 0
    command = printed_command("page.html")
    assert command[:3] == ["verify", "certificate.json", "suite.csv"]
    assert command[3:] == ["--column", "score=points", "--items", "items.csv"]
    done = bbedge(*command)
    assert done.code == 0, done.out
    assert "as the certificate states: --macro topic --views topic --column score=points" in done.out.replace("\n", " ")
    inside = bbedge("verify", "page.html", *command[2:])
    assert inside.code == 0, inside.out
    assert inside.out.splitlines()[0].endswith("Not checked: page.")


def test_names_of_models_are_not_taken_from_a_certificate(bbedge, place):
    """A certificate must not decide which model is which: the scores of one would be shown as those of another."""
    shutil.copytree(LOGS / "openai_evals", place / "logs")
    assert bbedge("certify", "logs", "--json", "logs.json").code == 0
    names = [model["name"] for model in json.loads(Path("logs.json").read_text())["models"]]
    swap = ["--model-name", f"{names[0]}={names[1]}", "--model-name", f"{names[1]}={names[0]}"]
    assert bbedge("certify", "logs", *swap, "--json", "swapped.json").code == 0
    assert bbedge("verify", "swapped.json", "logs").code == 3
    assert bbedge("verify", "swapped.json", "logs", *swap).code == 0


def test_a_forged_page_is_checked_as_any_file(bbedge, place):
    assert bbedge("certify", "scores.csv", "--html", "page.html").code == 0
    text = Path("page.html").read_text()
    done = bbedge("verify", "page.html")
    assert (done.code, done.out.split(":")[0]) == (0, "consistent")
    for forged, code in (
        (text.replace('"mean":', '"mean": 1', 1), 3),
        (text.replace('id="data"', 'id="other"'), 2),
        (text.replace('{"shown"', '{"packed":"!","shown"', 1), 2),
        (text.replace('"document":', '"document":[],"x":', 1), 2),
        (text[: text.index("</script>")], 2),
        ("<html></html>", 2),
    ):
        assert forged != text
        Path("forged.html").write_text(forged)
        done = bbedge("verify", "forged.html", "scores.csv")
        assert done.code == code, (forged[:80], done.out, done.err)


def test_views_are_verified_with_the_options_of_certify(bbedge, place):
    frame = pl.read_csv("scores.csv").with_columns(topic=pl.col("item").hash(7) % 3)
    frame.write_csv("suite.csv")
    options = ["--macro", "topic", "--views", "topic"]
    assert bbedge("certify", "suite.csv", *options, "--share", "headline=0.7", "--json", "suite.json").code == 0
    assert bbedge("verify", "suite.json", "suite.csv").code == 0
    assert bbedge("verify", "suite.json", "suite.csv", *options).code == 0
    assert bbedge("verify", "suite.json", "suite.csv", "--macro", "replicate").code == 2
    rewritten("suite.json", lambda content: content["provenance"].pop("reading"), seal=True)
    done = bbedge("verify", "suite.json", "suite.csv")
    assert done.code == 2
    assert "pass --macro COLUMN, --weights COLUMN or --views COLUMN" in done.err
    assert bbedge("verify", "suite.json", "suite.csv", *options).code == 0
    assert bbedge("verify", "suite.json", "suite.csv", "--macro", "topic").code == 3


def test_a_board_verifies_its_certificate(bbedge, place):
    subprocess.run([sys.executable, ROOT / "demo" / "make_board.py", place], check=True, capture_output=True)
    for line in (
        "board init b.bbedge --design design.toml --items items.csv --models alder,birch,cedar",
        "board add b.bbedge run1.csv run2.csv",
        "board show b.bbedge --json b.json",
        "board export b.bbedge e.json",
        "board add b.bbedge run3.csv",
    ):
        assert bbedge(*shlex.split(line)).code == 0
    assert Path("b.json").read_bytes() == Path("e.json").read_bytes()
    done = bbedge("verify", "b.json", "b.bbedge")
    assert done.code == 0, done.out
    assert "follows from the board" in done.out
    assert "1 event came after the certificate" in done.out
    assert bbedge("board", "export", "b.bbedge", "board.jsonl").code == 0
    assert bbedge("report", "b.json", "--html", "page.html").code == 0
    shutil.copy("b.json", "certificate.json")
    command = printed_command("page.html")
    assert command == ["verify", "certificate.json", "board.jsonl"]
    for arguments in (command, ["verify", "page.html", "board.jsonl"], ["verify", "page.html", "b.bbedge"]):
        assert bbedge(*arguments).code == 0
    for alone in ("board.jsonl", "b.bbedge"):
        done = bbedge("verify", alone)
        assert (done.code, done.out.split(":")[0]) == (0, "verified")
        assert bbedge("verify", alone, "scores.csv").code == 2
    cut = Path("board.jsonl").read_text().splitlines(keepends=True)[:-2]
    Path("cut.jsonl").write_text("".join(cut))
    assert bbedge("verify", "cut.jsonl").code == 2
    assert bbedge("verify", "b.json", "cut.jsonl").code == 2
    rewritten("b.json", lambda content: content["models"][0].update(mean=0.123), seal=True)
    assert bbedge("verify", "b.json", "b.bbedge").code == 3
    for command in (("verify", "b.json", "scores.csv"), ("verify", "c.json", "b.bbedge")):
        assert bbedge(*command).code == 2
    assert bbedge("verify", "e.json", "b.bbedge", "b.bbedge").code == 2


def test_a_certificate_without_provenance_carries_no_digest(bbedge, place):
    rewritten("c.json", lambda content: content.pop("provenance"))
    done = bbedge("verify", "c.json")
    assert done.code == 0
    assert "carries no digest" in done.out.splitlines()[0]
    assert re.search(r"^digest +not checked +it carries no digest", done.out, re.MULTILINE)


def test_what_another_version_wrote_has_an_exit_code_of_its_own(bbedge, place):
    def relabel(content):
        content["bbedge"] = content["provenance"]["version"] = "0.0.9"

    rewritten("c.json", relabel, seal=True)
    for given in ([], ["scores.csv"]):
        done = bbedge("verify", "c.json", *given)
        assert (done.code, done.out.split(":")[0]) == (6, "not verified")


def test_names_cannot_disturb_the_terminal(bbedge, place):
    rewritten("c.json", lambda content: content["provenance"]["sources"][0].update(name="\x1b[2Jx"), seal=True)
    Path("scores.csv").write_text(Path("scores.csv").read_text() + "\n")
    done = bbedge("verify", "c.json", "scores.csv")
    assert done.code == 3
    assert "\x1b[2J" not in done.out
    assert "\\x1b[2Jx" in done.out


def test_what_lies_beside_the_scores_is_no_difference(bbedge, place):
    Path("runs").mkdir()
    Path("scores.csv").rename("runs/scores.csv")
    Path("runs/readme.txt").write_text("Our runs.")
    assert bbedge("certify", "runs", "--json", "runs/certificate.json", "--html", "runs/page.html").code == 0
    content = json.loads(Path("runs/certificate.json").read_text())
    assert (content["notes"][0]["kind"], content["notes"][0]["subject"]) == ("beside", ["readme.txt"])
    for given in (place / "runs", "runs/scores.csv"):
        done = bbedge("verify", "runs/certificate.json", given)
        assert done.code == 0, done.out
        assert done.out.splitlines()[0].endswith("Not checked: notes.")
        assert "stated, not checked: 1 note of kind beside: '1 files of the folders" in done.out
    Path("runs/more.csv").write_text("model,item,replicate,score\nnew,q1,1,1\n")
    assert bbedge("verify", "runs/certificate.json", "runs").code == 3


LOG_OPTIONS = {
    "inspect/epochs": ["--blocks", "metadata.dialogue_id"],
    "openai_evals": [],
    "lm_eval": [
        *("--metric", "acc", "--metric", "exact_match", "--filter", "none", "--filter", "lenient"),
        *("--replicate-from", r"path:run(\d)", "--skip", "fewshot"),
    ],
}


@pytest.mark.parametrize("folder", LOG_OPTIONS)
def test_logs_are_verified_from_another_folder(bbedge, place, folder):
    shutil.copytree(LOGS / folder, place / "some" / "logs")
    options = LOG_OPTIONS[folder]
    certified = bbedge("certify", "some/logs", *options, "--json", "logs.json")
    assert certified.code == 0, certified.err
    content = json.loads(Path("logs.json").read_text())
    assert len(content["provenance"]["sources"]) > 1
    done = bbedge("verify", "logs.json", LOGS / folder, *options)
    assert done.code == 0, done.out
    name = content["provenance"]["sources"][0]["name"]
    Path(name).write_bytes(Path(name).read_bytes() + b"\n")
    changed = bbedge("verify", "logs.json", "some/logs", *options)
    assert changed.code == 3
    assert f"1 file changed: '{name}'" in changed.out.replace("\n", "")


def test_looks_inside_the_first_run_are_verified_from_a_table(bbedge, place):
    """A certifier in Python: two looks, a model that was stopped after the first, and a run that is not complete."""
    models, items = ("high", "low", "mid"), tuple(f"q{i}" for i in range(40))
    points = {"high": 1.0, "mid": 0.5, "low": 0.0}
    design = Design.make(models, items, checkpoints=Checkpoints(order_seed=3, fractions=(0.2, 0.5)))
    certifier, rows = Certifier(design), ["model,item,score"]
    for stopped in ([], ["low"]):
        certifier.stop(stopped)
        running, part = certifier.evidence.active, certifier.next_items
        certifier.update([[points[model]] * len(part) for model in running], certifier.next_checkpoint.blocks)
        rows += [f"{model},{item},{points[model]}" for model in running for item in part]
    Path("parts.json").write_text(certifier.leaderboard().to_json())
    Path("parts.csv").write_text("\n".join(rows))
    Path("items.csv").write_text("item\n" + "\n".join(items))
    assert bbedge("verify", "parts.json", "parts.csv").code == 2  # whose order needs all items
    done = bbedge("verify", "parts.json", "parts.csv", "--items", "items.csv")
    assert done.code == 0, done.out
    assert "follows from the scores" in done.out
    empty = [f"high,{item}," for item in items if f"high,{item},1.0" not in rows]
    Path("all.csv").write_text("\n".join([*rows, *empty]))
    assert bbedge("verify", "parts.json", "all.csv").code == 0
    Path("changed.csv").write_text("\n".join(rows).replace(f"mid,{part[0]},0.5", f"mid,{part[0]},0.6"))
    assert bbedge("verify", "parts.json", "changed.csv", "--items", "items.csv").code == 3
    Path("cut.csv").write_text("\n".join(row for row in rows if not row.startswith(f"mid,{part[0]},")))
    assert bbedge("verify", "parts.json", "cut.csv", "--items", "items.csv").code == 3
