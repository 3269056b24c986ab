"""The command as a user meets it: files in, table and JSON out, exit codes."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from bbedge.certificate.document import MOST_MODELS

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "certificate.schema.json").read_text(encoding="utf-8"))
DEMO = ROOT / "demo" / "scores.csv"


def write_table(path: Path, scores: np.ndarray, models: list[str], blocks: int = 1) -> Path:
    """Write replicates x models x items scores as a long table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "item", "block", "replicate", "score"])
        for r, m, i in product(*map(range, scores.shape)):
            writer.writerow([models[m], f"q{i}", f"b{i // blocks}", r + 1, scores[r, m, i]])
    return path


@pytest.fixture
def clear(tmp_path: Path) -> Path:
    """Three models, 60 items, two replicates, far apart: strong > middle > weak."""
    rng = np.random.default_rng(5)
    scores = (rng.random((2, 3, 60)) < np.array([0.95, 0.5, 0.05])[None, :, None]).astype(float)
    return write_table(tmp_path / "clear.csv", scores, ["strong", "middle", "weak"])


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--method", "bb-edge"],
        ["--method", "bb-edge", "--evidence", "hoeffding", "--tau", "0.03"],
        ["--evidence", "sharp", "--prediction", "two-way", "--blocks", "one"],
        ["--evidence", "betting", "--stakes", "design"],
        ["--top-k", "3", "--pilot", "2"],
        ["--margin-share", "0", "--planned", "3"],
        ["--mean-share", "0.1", "--score-range", "0", "10"],
        ["--score-range", "-1", "2"],
    ],
)
def test_json_follows_its_schema(bbedge, tmp_path, options):
    out = tmp_path / "certificate.json"
    outcome = bbedge("certify", DEMO, "--json", out, *options)
    assert outcome.code == 0, outcome.err
    document = json.loads(out.read_text(encoding="ascii"))
    jsonschema.validate(document, SCHEMA)
    names = [model["name"] for model in document["models"]]
    assert list(document["top_k"]) == [str(k) for k in range(1, len(names))]
    assert sum(document["design"]["blocks"]["sizes"]) == document["items"]
    for edge in document["edges"]:
        row, column = names.index(edge["winner"]), names.index(edge["loser"])
        assert edge["log_e"] == document["log_e"][row][column]
        assert "log_w" in document or edge["log_e"] >= document["log_threshold"]
        assert edge["margin"] == document["margins"][row][column]
    assert document["looks"][-1]["edges"] == len(document["edges"])
    assert len(document["looks"]) == document["replicates"]
    assert {(e["winner"], e["loser"]) for e in document["edges"]} <= {
        (e["winner"], e["loser"]) for e in document["edges"]
    }


def test_a_mean_share_gives_every_model_an_interval(bbedge, clear, tmp_path):
    plain, asked = tmp_path / "plain.json", tmp_path / "asked.json"
    assert bbedge("certify", clear, "--json", plain).code == 0
    outcome = bbedge("certify", clear, "--mean-share", "0.1", "--json", asked)
    assert outcome.code == 0, outcome.err
    assert "mean_" not in plain.read_text(encoding="ascii")
    document = json.loads(asked.read_text(encoding="ascii"))
    assert document["design"]["mean_share"] == 0.1
    for model, truth in zip(document["models"], (0.95, 0.5, 0.05), strict=True):
        low, high = model["mean_interval"]
        assert low <= min(truth, model["mean"]) <= max(truth, model["mean"]) <= high
        assert high - low < 0.8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--mean-share", "1.5"], "--mean-share 1.5"),
        (["--mean-share", "0.1", "--margin-share", "0"], "--mean-share 0.1 needs a share for margins"),
        (["--mean-share", "0.1", "--method", "bb-edge"], "--mean-share 0.1 is not part of bb-edge"),
    ],
)
def test_a_mean_share_that_keeps_no_promise_is_refused(bbedge, clear, options, words):
    outcome = bbedge("certify", clear, *options)
    assert outcome.code == 2
    assert words in " ".join(outcome.err.split())


def test_the_schema_can_fail(bbedge, tmp_path):
    out = tmp_path / "certificate.json"
    bbedge("certify", DEMO, "--json", out)
    document = json.loads(out.read_text(encoding="ascii"))
    document["edges"][0].pop("margin")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def test_table_and_document_agree(bbedge, clear, tmp_path):
    out = tmp_path / "c.json"
    outcome = bbedge("certify", clear, "--json", out)
    document = json.loads(out.read_text(encoding="ascii"))
    assert [model["name"] for model in document["models"]] == ["strong", "middle", "weak"]
    assert [model["rank_interval"] for model in document["models"]] == [[1, 1], [2, 2], [3, 3]]
    assert document["top_k"] == {"1": ["strong"], "2": ["middle", "strong"]}
    assert document["unresolved"] == [] == document["contradictions"]
    assert "3 of 3 pairs certified" in outcome.out
    for words in ("strong", "Top-1", "At most 5 % risk", "beats", "loses to", document["design"]["hash"][:16]):
        assert words in outcome.out


def test_two_lines_state_the_guarantee_and_verbose_prints_all_of_it(bbedge, clear, tmp_path):
    out = tmp_path / "c.json"
    brief = bbedge("certify", clear, "--json", out, "--tau", "0.02").out
    digits = json.loads(out.read_text(encoding="ascii"))["design"]["hash"][:16]
    *guarantee, assumptions, pointer = brief.split("Top-2")[1].splitlines()[2:6]
    assert " ".join(map(str.strip, guarantee)) == (
        "For these 60 items, the probability that anything shown is ever wrong (certified: above 0.02) is at most 5 %, "
        "however often you look."
    )
    assert assumptions == (
        f"Assumes independent runs and items, which scores cannot show, and a design fixed beforehand (hash {digits})."
    )
    assert "-v" in pointer
    assert "docs/guarantees.md" in pointer
    assert "not claimed" not in brief
    for option in ("-v", "--verbose"):
        full = " ".join(bbedge("certify", clear, "--tau", "0.02", option).out.split())
        for words in ("guarantee", "assumptions", "cache", "not claimed", "equal", "design", digits, "above 0.02"):
            assert words in full.split("Top-2")[1]


def test_one_block_does_not_assume_independent_items(bbedge, clear):
    said = bbedge("certify", clear, "--blocks", "one").out
    assert "Assumes independent runs, which scores cannot show" in said


@pytest.fixture(scope="module")
def crowd(tmp_path_factory) -> Path:
    """More models than a document lists pairs of: half of them nearly always right, half nearly always wrong."""
    rng = np.random.default_rng(9)
    size = MOST_MODELS + 6
    means = np.where(np.arange(size) % 2, 0.02, 0.98)
    scores = (rng.random((3, size, 40)) < means[None, :, None]).astype(float)
    path = tmp_path_factory.mktemp("crowd") / "crowd.csv"
    return write_table(path, scores, [f"m{i:03}" for i in range(size)])


@pytest.mark.nightly
def test_more_models_than_a_document_lists_pairs_of(bbedge, crowd, tmp_path):
    outs = {ending: tmp_path / f"c.{ending}" for ending in ("json", "html", "npz")}
    outcome = bbedge("certify", crowd, "--json", outs["json"], "--html", outs["html"], "--arrays", outs["npz"])
    assert outcome.code == 0, outcome.err
    document = json.loads(outs["json"].read_text(encoding="ascii"))
    jsonschema.validate(document, SCHEMA)
    assert [document[key] for key in ("log_e", "margins", "edges", "edges", "unresolved", "top_k")] == [None] * 6
    half = len(document["models"]) // 2
    assert document["certified_k"] == [half]
    assert document["counts"]["edges"] == half * half
    assert "446 more models; add --all to certify or board show to print all" in " ".join(outcome.out.split())
    assert "m504" not in outcome.out.split("open pairs")[0]
    with np.load(outs["npz"]) as arrays:
        assert arrays["models"].tolist() == [model["name"] for model in document["models"]]
        assert arrays["edges"].sum() == half * half
        assert np.nanmin(arrays["log_e"][:half, half:]) >= document["log_threshold"]
    assert outs["html"].stat().st_size < 1_000_000

    again = tmp_path / "again.html"
    assert bbedge("report", outs["json"], "--html", again).code == 0
    assert again.read_bytes() == outs["html"].read_bytes()
    assert bbedge("figure", "ranks", outs["json"], tmp_path / "r.png").code == 0
    assert bbedge("figure", "badge", outs["json"], tmp_path / "b.svg", "--model", "m000").code == 0
    assert f"certified #1-{half} of {2 * half}" in (tmp_path / "b.svg").read_text(encoding="ascii")
    for out in ("g.csv", "g.png"):
        refused = bbedge("figure", "graph", outs["json"], tmp_path / out)
        assert refused.code == 2
        assert "lists no pairs" in refused.err
        assert not (tmp_path / out).exists()


@pytest.mark.nightly
def test_every_model_is_printed_when_asked(bbedge, crowd):
    said = bbedge("certify", crowd, "--all").out
    assert all(f"m{i:03}" in said for i in range(MOST_MODELS + 6))


def test_arrays_need_their_ending_and_a_place(bbedge, clear, tmp_path):
    outcome = bbedge("certify", clear, "--arrays", tmp_path / "a.csv")
    assert outcome.code == 2
    assert "ends with .npz" in outcome.err
    outcome = bbedge("certify", clear, "--arrays", tmp_path / "no" / "a.npz")
    assert outcome.code == 2
    assert "cannot be written" in outcome.err


def test_json_on_standard_output_stays_alone(bbedge, clear):
    outcome = bbedge("certify", clear, "--json", "-")
    assert json.loads(outcome.out)["replicates"] == 2
    assert "pairs certified" in outcome.err


def test_score_range_scales_means_and_margins_but_not_evidence(bbedge, clear, tmp_path):
    rows = list(csv.DictReader(clear.read_text(encoding="utf-8").splitlines()))
    scaled = tmp_path / "scaled.csv"
    with scaled.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"score": 1 + 9 * float(row["score"])} for row in rows)
    bbedge("certify", clear, "--json", tmp_path / "a.json")
    bbedge("certify", scaled, "--score-range", 1, 10, "--json", tmp_path / "b.json")
    unit, nine = (json.loads((tmp_path / f"{x}.json").read_text()) for x in "ab")
    assert nine["log_e"] == unit["log_e"]
    for a, b in zip(unit["models"], nine["models"], strict=True):
        assert b["mean"] == pytest.approx(1 + 9 * a["mean"])
    for a, b in zip(unit["edges"], nine["edges"], strict=True):
        assert b["margin"] == pytest.approx(9 * a["margin"])


def test_expectations_set_the_exit_code(bbedge, clear):
    assert bbedge("certify", clear, "--expect", "strong > weak", "--expect", "middle>weak").code == 0
    outcome = bbedge("certify", clear, "--expect", "strong > weak", "--expect", "strong > middle", "--tau", "0.8")
    assert outcome.code == 3
    assert "not certified" in outcome.out
    outcome = bbedge("certify", clear, "--expect", "strong > weak", "--expect", "weak > strong")
    assert outcome.code == 4
    assert "opposite certified" in outcome.out


def test_expectations_know_names_with_the_sign_in_them(bbedge, tmp_path):
    scores = np.repeat(np.array([[1.0], [0.0]])[None], 60, axis=2)
    table = write_table(tmp_path / "t.csv", scores, ["a > b", "c>"])
    assert bbedge("certify", table, "--expect", "a > b > c>").code == 0


def test_pilot_names_its_procedure_and_spends_its_replicates(bbedge, tmp_path):
    rng = np.random.default_rng(1)
    scores = (rng.random((5, 4, 80)) < np.array([0.9, 0.85, 0.2, 0.1])[None, :, None]).astype(float)
    table = write_table(tmp_path / "t.csv", scores, ["a", "b", "c", "d"])
    outcome = bbedge("certify", table, "--top-k", 2, "--pilot", 2, "--json", tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    assert document["pilot"] == {"k": 2, "replicates": 2, "candidate": ["a", "b"]}
    assert document["replicates"] == 3
    assert document["design"]["family"] == "cross-set"
    assert document["design"]["directions"] == 4
    assert document["top_k"]["2"] == ["a", "b"]
    assert sum(cell is not None for row in document["log_e"] for cell in row) == 4
    assert "a, b: certified as the Top-2 set. A pilot of 2 runs, not part of the evidence, chose them." in outcome.out


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "line\nbreak",
    "right\u202eto left",
    "[bold]markup[/bold]",
    "x" * 10_000,
    "x" * 10_001,
    '<script>alert("hi")</script>',
    "日本語モデル",
]


def test_hostile_names_stay_text(bbedge, tmp_path):
    rng = np.random.default_rng(0)
    scores = (rng.random((1, len(HOSTILE), 40)) < np.linspace(0.02, 0.98, len(HOSTILE))[None, :, None]).astype(float)
    table = write_table(tmp_path / "hostile.csv", scores, HOSTILE)
    outcome = bbedge("certify", table, "--json", tmp_path / "c.json", "--method", "bb-edge-x")
    assert outcome.code == 0
    assert "\x1b" not in outcome.out
    assert "\u202e" not in outcome.out
    assert "[bold]markup[/bold]" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 120
    text = (tmp_path / "c.json").read_text(encoding="ascii")
    assert {model["name"] for model in json.loads(text)["models"]} == set(HOSTILE)


ROW = "model,item,replicate,score\n"


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (ROW + "a,q,1,3\nb,q,1,0\n", [], [":2:", "3", "[0, 1]", "--score-range"]),
        (ROW + "a,q,1,nan\nb,q,1,0\n", [], [":2:"]),
        (ROW + "a,q,1,inf\nb,q,1,0\n", [], [":2:"]),
        (ROW + "a,q,1,yes\nb,q,1,0\n", [], [":3:", "yes"]),
        (ROW + "a,q,1,1\na,q,1,0\nb,q,1,1\n", [], [":3"]),
        (ROW + "a,q,1,1\na,p,1,0\nb,q,1,1\n", [], ["1 of 4", "'b'", "'p'", "--incomplete"]),
        (ROW + "a,q,1,1\nb,q,1,0\na,q,3,1\nb,q,3,0\n", [], ["2"]),
        (ROW + "a,q,1,1\n", [], ["one model"]),
        (ROW, [], ["no rows"]),
        ("", [], ["empty"]),
        ("model,item,points\na,q,1\n", [], ["score", "points"]),
        (ROW + "a,q,1,1\nb,q,1,0\n", ["--blocks", "chapter"], ["chapter"]),
        (ROW + "a,q,1,1\nb,q,1,0\n", ["--alpha", "1.5"], ["--alpha 1.5 is not allowed", "above 0 and below 1"]),
        (ROW + "a,q,1,1\nb,q,1,0\n", ["--tau", "-0.1"], ["--tau -0.1 is not allowed", "0 <= tau < 1"]),
        (ROW + "a,q,1,1\nb,q,1,0\n", ["--stakes", "design", "--method", "bb-edge"], ["too wide", "bernstein"]),
        (ROW + "a,q,1,1\nb,q,1,0\n", ["--stakes", "design", "--evidence", "hoeffding"], ["too wide", "hoeffding"]),
        (ROW + "a,q,1,1\nb,q,1,0\n", ["--top-k", "2"], ["--top-k 2"]),
        (ROW + "a,q,1,1\nb,q,1,0\n", ["--pilot", "1"], ["--top-k"]),
        (ROW + "a,q,1,1\nb,q,1,0\n", ["--top-k", "1", "--pilot", "1"], ["pilot of 1"]),
        (ROW + "a,q,1,1\nb,q,1,0\n", ["--expect", "a > c"], ["a > c", "'a', 'b'"]),
        (ROW + "a,q,1,1\nb,q,1,0\n", ["--column", "thing=x"], ["ROLE=NAME"]),
        (ROW + "a,q,1,1\nb,q,1,0\n", ["--method", "magic"], ["magic"]),
        (ROW + "a,q,1,1\nb,q,1,0\n", ["--json", "/nowhere/c.json"], ["/nowhere/c.json", "cannot be written"]),
    ],
)
def test_bad_input_gets_a_message_and_exit_code_2(bbedge, tmp_path, content, options, said):
    table = tmp_path / "scores.csv"
    table.write_text(content, encoding="utf-8")
    outcome = bbedge("certify", table, *options)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
    for words in said:
        assert words in outcome.err


def test_missing_file_is_named(bbedge, tmp_path):
    outcome = bbedge("certify", tmp_path / "absent.csv")
    assert outcome.code == 2
    assert "absent.csv" in outcome.err


def test_a_crash_while_writing_keeps_the_old_certificate(bbedge, clear, tmp_path, monkeypatch):
    out = tmp_path / "c.json"
    out.write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    outcome = bbedge("certify", clear, "--json", out)
    assert outcome.code == 2
    assert "No space left" in outcome.err
    assert out.read_text() == "old"


def test_warnings_are_shown_and_recorded(bbedge, tmp_path):
    rng = np.random.default_rng(2)
    panel = (rng.random((1, 2, 40)) < 0.5).astype(float)
    table = write_table(tmp_path / "t.csv", np.repeat(panel, 2, axis=0), ["Model A", "model  a"])
    outcome = bbedge("certify", table, "--copies", "allow", "--json", tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text())
    assert document["design"]["copies"] == "allow"
    assert len(document["notes"]) == 3
    assert outcome.out.count("Note") == 3
    assert any("Replicates '1', '2' have the same score" in note["text"] for note in document["notes"])
    assert any("were counted" in note["text"] for note in document["notes"])


def test_copies_of_one_run_stop_certify_and_compare(bbedge, tmp_path):
    panel = (np.random.default_rng(2).random((1, 3, 40)) < 0.5).astype(float)
    table = write_table(tmp_path / "t.csv", np.repeat(panel, 20, axis=0), ["a", "b", "c"])
    for command in ("certify", "compare"):
        outcome = bbedge(command, table, "--json", tmp_path / "c.json")
        assert (outcome.code, outcome.out) == (2, "")
        assert "have the same score for every model on every item" in outcome.err
        assert "greedy decoding" in outcome.err
        assert "--copies allow" in outcome.err
        assert not (tmp_path / "c.json").exists()
        assert bbedge(command, table, "--copies", "allow").code == 0


def test_python_minus_m_and_version():
    done = subprocess.run([sys.executable, "-m", "bbedge", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("bbedge ")


def test_help_teaches(bbedge):
    outcome = bbedge("certify", "--help")
    assert outcome.code == 0
    for words in ("--expect", "Exit codes", "bb-edge-x", "0.05"):
        assert words in outcome.out


def test_real_panels_certify_as_published(bbedge, tmp_path):
    if "BBEDGE_PANELS" not in os.environ:
        pytest.skip("set BBEDGE_PANELS to the folder of public result panels to try them")
    panels = Path(os.environ["BBEDGE_PANELS"])
    for name, options, edges in [
        ("zeroeval_gsm_complete", ["--method", "bb-edge"], 516),
        ("zeroeval_gsm_complete", ["--method", "bb-edge", "--evidence", "sharp"], 571),
        ("zeroeval_gsm_complete", ["--method", "bb-edge", "--evidence", "betting"], 590),
        ("zeroeval_gsm_complete", ["--method", "bb-edge", "--evidence", "hoeffding"], 253),
        ("zeroeval_gsm_complete", ["--planned", "1"], 589),
        ("zeroeval_gsm_complete", ["--planned", "1", "--margin-share", "0"], 590),
        ("zeroeval_gsm_complete", ["--margin-share", "0"], 582),
        ("eqbench_v2_complete", ["--method", "bb-edge"], 178),
        ("eqbench_v2_complete", ["--planned", "1"], 575),
        ("eqbench_v2_complete", ["--planned", "1", "--margin-share", "0"], 585),
        ("eqbench_v2_complete", ["--margin-share", "0"], 548),
        ("tau2_airline_complete", ["--planned", "1"], 6),
        ("tau2_airline_complete", ["--planned", "1", "--margin-share", "0"], 7),
    ]:
        outcome = bbedge("certify", panels / f"{name}.parquet", "--json", tmp_path / "c.json", *options)
        assert outcome.code == 0
        assert len(json.loads((tmp_path / "c.json").read_text())["edges"]) == edges, (name, options)
    for name in ("zeroeval_gsm_ragged", "lineage_bench_ragged", "llmstability_grice_ragged"):
        outcome = bbedge("certify", panels / f"{name}.parquet")
        assert outcome.code == 2
        assert "have no score" in outcome.err


def test_a_narrow_terminal_says_that_intervals_of_means_are_left_out(bbedge, monkeypatch):
    words = "no room for the intervals of the means"
    monkeypatch.setenv("COLUMNS", "80")
    narrow = bbedge("certify", ROOT / "demo" / "scores.csv", "--mean-share", "0.1")
    assert words in " ".join(narrow.out.split())
    assert words not in bbedge("certify", ROOT / "demo" / "scores.csv").out
    monkeypatch.setenv("COLUMNS", "160")
    wide = bbedge("certify", ROOT / "demo" / "scores.csv", "--mean-share", "0.1")
    assert "mean interval" in wide.out
    assert words not in wide.out


def test_a_pilot_has_the_table_of_models(bbedge):
    done = bbedge("certify", ROOT / "demo" / "scores.csv", "--top-k", "2", "--pilot", "1")
    assert done.code == 0
    assert re.search(r"1st +1-2 .*three-shot +0\.6944 +4 +0", done.out)
    assert "pairs certified" not in done.out
