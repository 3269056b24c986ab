"""The real boards of the gallery: certificates follow from tables, means are those that were published."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from gallery import boards  # noqa: E402 - it is beside the package, not in it

BOARDS = {board.name: board for board in boards.every_board()}
SOURCES = "BBEDGE_GALLERY_SOURCES"
"""The environment variable that names a folder with a clone of each repository, called as the board."""


@pytest.fixture(params=BOARDS)
def board(request):
    return BOARDS[request.param]


def quick_and_nightly():
    return [pytest.param(name, marks=[] if name == "tau2_airline" else pytest.mark.nightly) for name in BOARDS]


def table_of(board):
    if board.table is None:
        pytest.skip(f"the table of {board.name} is not kept; name its folder in {boards.TABLES}")
    return board.table


@pytest.mark.parametrize("name", quick_and_nightly())
def test_the_certificate_follows_from_the_table(name, bbedge):
    board = BOARDS[name]
    verified = bbedge("verify", board.folder / "certificate.json", table_of(board))
    assert verified.code == 0, f"run `make gallery`\n{verified.out}{verified.err}"
    assert "everything that it concludes follows from the scores" in verified.out


def means(board, part):
    certificate = board.certificate.view(part) if part else board.certificate
    return dict(zip(certificate.names, certificate.means, strict=True))


def test_every_mean_is_the_published_score_or_says_why_not(board):
    for row in board.published:
        where, found = (board.name, row.model, row.view), means(board, row.view)
        assert (row.model in found) == (row.status != "absent"), where
        assert (row.published is None) == (row.status == "none"), where
        if row.status == "same":
            assert abs(found[row.model] * board.times - row.published) <= board.within + 1e-9, where
        else:
            assert row.note, where
        if row.status in ("rule", "other"):
            assert abs(found[row.model] * board.times - row.published) > board.within, where


def test_every_model_of_a_board_is_in_its_list_of_published_scores(board):
    for part in board.parts or ("",):
        listed = [row.model for row in board.published if row.view == part]
        assert sorted(listed) == sorted(set(listed))
        assert set(board.certificate.names) <= set(listed)


def test_tables_are_kept_only_where_a_licence_allows_it_and_are_small(board):
    kept = board.folder / "table.parquet"
    assert kept.exists() == board.keeps_table
    assert board.licence or not board.keeps_table
    assert not kept.exists() or kept.stat().st_size < 300_000
    if not board.licence:
        assert lists_by_item(board.certificate.document, board.certificate.content.items) <= {"sizes"}


def lists_by_item(value, items, key=""):
    """Names of what a certificate lists item by item: scores of items would be such a list."""
    if isinstance(value, dict):
        return set().union(*(lists_by_item(each, items, name) for name, each in value.items()))
    if isinstance(value, list):
        inside = set().union(*(lists_by_item(each, items, key) for each in value))
        return inside | {key} if len(value) == items else inside
    return set()


def test_the_readme_says_what_the_certificate_says(board):
    assert board.readme() == (board.folder / "README.md").read_text(encoding="utf-8"), "run `make docs-outputs`"


def test_the_story_has_the_numbers_of_the_certificates(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "generate"))
    page = import_module("gallery_tables").page()
    assert page == (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8"), "run `make docs-outputs`"
    assert page.count("../gallery/") == len(BOARDS) + 1


def test_the_front_pages_say_what_the_certificate_of_their_picture_says():
    certificate = BOARDS["gsm8k"].certificate
    first, models = could_be_first(certificate), len(certificate.names)
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    index = " ".join((ROOT / "docs" / "index.md").read_text(encoding="utf-8").split())
    assert f"these runs rule out only {models - first} of the {models}" in readme, "run `make gallery`, then read these"
    assert f"The means name one winner; {first} models could be it" in index
    for page in (readme, index):
        assert f"the data say {first}: which ranks are possible for each of {models} models on GSM8K" in page


def share_certified(certificate):
    return certificate.ranks.n_resolved / certificate.n_pairs


def could_be_first(certificate):
    return int((certificate.ranks.n_better == 0).sum())


def largest_open_difference(certificate):
    means = dict(zip(certificate.names, certificate.means, strict=True))
    return max(abs(means[first] - means[second]) for first, second in certificate.document["unresolved"])


def test_what_the_readmes_say_in_words_still_holds():
    of = {name: board.certificate for name, board in BOARDS.items()}
    assert could_be_first(of["gsm8k"]) > 3
    assert of["gsm8k"].names[0] == "claude-3-5-sonnet-20241022"
    assert could_be_first(of["eq_bench"]) > 3
    assert share_certified(of["eq_bench"]) < 0.5
    assert largest_open_difference(of["tau2_airline"]) >= 0.3
    assert of["mmlu_subjects"].ranks.n_resolved == 0
    assert could_be_first(of["livecodebench_execution"]) > 3
    assert share_certified(of["livecodebench_execution"]) < 0.5
    whole, *categories = (of["mmlu_pro"], *(v for v in of["mmlu_pro"].views if not v.is_about_new_items and v.name))
    assert could_be_first(whole) == 1
    assert share_certified(whole) > 0.8
    assert largest_open_difference(whole) < 0.03
    assert all(share_certified(each) < share_certified(whole) for each in categories)
    parts = {part: of["openhands"].view(part) for part in ("swe-bench", "gaia", "commit0")}
    assert could_be_first(of["openhands"]) > 3
    assert could_be_first(parts["swe-bench"]) == 1
    assert share_certified(parts["swe-bench"]) < 0.5
    assert share_certified(parts["commit0"]) < 0.05


@pytest.mark.nightly
def test_a_certificate_that_says_nothing_new_keeps_its_time(monkeypatch, tmp_path):
    board = boards.Board.read("tau2_airline")
    (tmp_path / board.name).mkdir()
    for path in board.folder.iterdir():
        if path.is_file():
            (tmp_path / board.name / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(boards, "GALLERY", tmp_path)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    kept = tmp_path / board.name / "certificate.json"
    old = kept.read_bytes()
    assert not board.certify()
    assert kept.read_bytes() == old
    kept.write_bytes(old.replace(b'"alpha": 0.05', b'"alpha": 0.06'))
    assert board.certify()
    assert json.loads(kept.read_bytes())["design"]["alpha"] == 0.05


def test_a_page_is_made_from_the_certificate_alone(tmp_path):
    board = boards.Board.read("tau2_airline")
    page = board.write_page(tmp_path).read_text(encoding="utf-8")
    assert board.title in page
    assert "ironshell_gpt-5.4" in page


# ---- The scripts that make the tables.


@pytest.mark.nightly
def test_the_table_is_what_its_script_makes_of_the_published_files(board, tmp_path):
    source = Path(os.environ.get(SOURCES, "")) / board.name
    if SOURCES not in os.environ or not source.is_dir():
        pytest.skip(f"set {SOURCES} to a folder with a clone of {board.repository} named {board.name}")
    made = tmp_path / "table.parquet"
    subprocess.run(
        [sys.executable, "-m", f"gallery.{board.name}.table", source, made], cwd=ROOT, check=True, capture_output=True
    )
    assert pl.read_parquet(made).equals(pl.read_parquet(table_of(board)))


GSM8K = import_module("gallery.gsm8k.table")


@pytest.mark.parametrize(
    ("output", "right"),
    [
        ('{"reasoning": "4 { of 9 }", "answer": "18"}', 18),
        ('Sure:\n{"reasoning": "a\nb",\n "answer": "$1,200.50 per week"} {"answer": 3}', 1200.5),
        ('{"answer": 7}', 7),
        ('{"answer": "118/4"}', 29.5),
        ('{"answer": "2 * (1/2) + 4"}', 5),
        ('{"answer": "72 Mb/h"}', 72),
        ('{"answer": "1/0 or 4"}', 1),
        ('{"reasoning": "no end", "answer": "12 apples', 12),
        ("answer: -5, or so", -5),
        ('{"answer": ""}', None),
        ("I do not know.", None),
    ],
)
def test_answers_to_gsm8k_are_read_as_the_board_reads_them(output, right):
    given = GSM8K._given("some-model", output)
    assert (None if given is None else GSM8K._number(given)) == right


def test_boxed_answers_count_at_the_end_of_llama_s_outputs_alone():
    output = "The result is \\boxed{36}."
    assert GSM8K._given("Meta-Llama-3.1-8B-Instruct", output) == "36"
    assert GSM8K._given("Meta-Llama-3-8B-Instruct", output) is None
    assert GSM8K._given("Meta-Llama-3.1-8B-Instruct", output + " " * 40) is None


def test_a_score_of_eq_bench_is_ten_for_the_reference_and_lowest_for_its_opposite():
    score = import_module("gallery.eq_bench.table")._score
    reference = {f"emotion{i}": name for i, name in enumerate("abcd", 1)} | {
        f"emotion{i}_score": 0 for i in range(1, 5)
    }
    assert score(reference, dict.fromkeys("abcd", "0")) == 10
    assert score(reference, dict.fromkeys("abcd", 10)) == pytest.approx(-19.908)
    # A difference of 4 costs half of 6.5, by the curve that the board uses up to 5.
    assert score(reference, {"a": 4, "b": 0, "c": 0, "d": 0}) == pytest.approx(10 - 0.7477 * 3.25)
    for wrong in ({"a": 1}, dict.fromkeys("abce", 1), dict.fromkeys("abcd", 11)):
        with pytest.raises(ValueError, match="does not rate"):
            score(reference, wrong)


def test_a_task_without_a_result_is_a_failure_on_openhands(tmp_path):
    table = import_module("gallery.openhands.table")
    models = boards.models_of("openhands")
    for number, model in enumerate(models):
        folder = tmp_path / "results" / model / "instance_results"
        folder.mkdir(parents=True)
        for part in BOARDS["openhands"].parts:
            found = {"a": {"resolved": True}, "b": {"resolved": None}} if number else {"c": {"resolved": False}}
            (folder / f"{part}.json").write_text(json.dumps(found))
    rows = table.rows(tmp_path)
    assert len(rows) == 9 * len(models)
    sums = dict(rows.group_by("model").agg(pl.col("score").sum()).iter_rows())
    assert sums == {model: 3.0 if number else 0.0 for number, model in enumerate(models)}


def test_tables_come_back_as_they_were_written(tmp_path):
    rows = boards.table_of([("b", "q2", 1.0, "x"), ("a", "q1", 0.0, "y"), ("b", "q1", 1.0, "y")], "block")
    boards.write_table(rows, tmp_path / "table.parquet")
    found = pl.read_parquet(tmp_path / "table.parquet")
    assert found["score"].dtype == pl.Int8
    texts = found.with_columns(pl.col("model", "item", "block").cast(pl.String))
    assert texts.rows() == [("a", "q1", 0, "y"), ("b", "q1", 1, "y"), ("b", "q2", 1, "x")]


def test_an_unknown_status_is_refused(monkeypatch, tmp_path):
    board = boards.Board.read("tau2_airline")
    monkeypatch.setattr(boards, "GALLERY", tmp_path)
    (tmp_path / board.name).mkdir()
    (tmp_path / board.name / "published.csv").write_text("model,view,published,status,note\nm,,1,nearly,\n")
    with pytest.raises(ValueError, match="'nearly' is none of same, rule"):
        _ = board.published
