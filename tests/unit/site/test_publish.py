"""What a published board says: pages of models agree with the certificate, whatever the board has been through."""

import json
import re
from html import unescape

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.certificate.certificate import Certificate
from bbedge.display.compact import badge, board_badge
from bbedge.display.page.model import ModelPages
from bbedge.display.ranking import difference_interval, model_rows
from bbedge.errors import BoardError, RewrittenError, RolledBackError
from bbedge.records.codec import parse_json
from bbedge.site.publish import Site, file_name
from unit.board import boards
from unit.board.forging import after_a_pilot, in_parts_with_attempts, whole_life, with_views_and_gaps


def text_of(page):
    """What a reader sees, word by word."""
    body = page[page.index("<body") :]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


@pytest.fixture(params=[whole_life, after_a_pilot, with_views_and_gaps, in_parts_with_attempts])
def board(request, tmp_path):
    return request.param(tmp_path)


def test_every_model_that_was_ever_there_has_a_page_with_its_comparisons(board, tmp_path):
    Site(board=board, title="Board").publish(tmp_path / "site")
    whole = board.certificate()
    every = {model for epoch in board.state.epochs for model in epoch.models}
    for model in every:
        page = (tmp_path / "site" / "models" / f"{file_name(model)}.html").read_text()
        words = text_of(page)
        assert f"Board {model}" in words
        assert ("retired" in words) == (model in board.state.retired)
        if model not in whole.names:
            continue
        row = model_rows(whole)[whole.names.index(model)]
        assert f"Mean {row.mean}" in words
        assert f"Possible ranks {row.rank} of {len(whole.names)}" in page
        for other in whole.names:
            if other != model:
                places = whole.names.index(model), whole.names.index(other)
                assert difference_interval(whole, *places) in words
                assert f'href="{file_name(other)}.html"' in page
        assert badge(whole, model) == (tmp_path / "site" / "models" / f"{file_name(model)}.svg").read_text()


def test_the_certificate_of_the_folder_is_that_of_the_board_at_its_last_event(board, tmp_path):
    Site(board=board, title="Board").publish(tmp_path / "site")
    document = json.loads((tmp_path / "site" / "certificate.json").read_text())
    assert document == json.loads(board.certificate().to_json(time=board.events[-1].at.replace("+00:00", "Z")))


def test_a_model_of_an_earlier_version_alone_is_shown_as_it_was_then(tmp_path):
    board = whole_life(tmp_path)  # b was retired before the second epoch
    Site(board=board, title="Board").publish(tmp_path / "site")
    words = text_of((tmp_path / "site" / "models" / f"{file_name('b')}.html").read_text())
    before = board.certificate(1)
    assert f"Mean {model_rows(before, withdrawn=True)[before.names.index('b')].mean}" in words
    assert "6 items · 6 runs" in words


@pytest.mark.parametrize("runs", [0, 1])
def test_a_board_without_evidence_says_that_nothing_is_certified(tmp_path, runs):
    board = boards.make(tmp_path)
    if runs:
        board.add(boards.runs(np.random.default_rng(1), "abc"))
    Site(board=board, title="Board").publish(tmp_path / "site")
    words = text_of((tmp_path / "site" / "models" / f"{file_name('a')}.html").read_text())
    assert ("Nothing is certified yet: there is no complete run." in words) == (runs == 0)
    assert ("Any rank of 3 is possible" in words) == (runs == 1)
    assert "nothing certified yet" in (tmp_path / "site" / "badge.svg").read_text()
    assert (tmp_path / "site" / "feed.xml").read_text().count("<entry>") == 0


def test_two_models_have_one_comparison_each(tmp_path):
    board = boards.make(tmp_path, models=("a", "c"))
    board.add(boards.runs(np.random.default_rng(1), "ac", 12))
    Site(board=board, title="Board").publish(tmp_path / "site")
    for model, words in (
        ("a", "1st of 2, certified. Beats 1 model, loses to 0; none is open."),
        ("c", "2nd of 2, certified."),
    ):
        page = (tmp_path / "site" / "models" / f"{file_name(model)}.html").read_text()
        assert words in re.sub(r" 1 2 ", " ", text_of(page))
    assert "a is best of 2" in (tmp_path / "site" / "badge.svg").read_text()


def test_pages_and_badges_of_a_contradiction_begin_with_the_alarm(tmp_path):
    board = boards.make(tmp_path)
    board.add(boards.runs(np.random.default_rng(1), "abc", 9))
    content = json.loads(board.certificate().to_json())
    content["contradicted"] = True
    content["contradictions"] = [["a", "c"]]
    certificate = Certificate.of(content)
    pages = ModelPages(certificate=certificate, title="Board", links={m: f"{m}.html" for m in "abc"}, home="x.html")
    words = text_of(pages.page("a", ()))
    assert words.startswith("Board CONTRADICTION a and c are each certified better than the other.")
    assert "At best" not in words
    assert "contradiction" in board_badge(certificate, label="Board")
    assert "best" not in board_badge(certificate, label="Board").split("<title>")[0]


def test_the_manifest_lists_every_file_with_its_hash(tmp_path):
    import hashlib

    Site(board=boards.make(tmp_path), title="Board").publish(tmp_path / "site")
    listed = parse_json((tmp_path / "site" / "manifest.json").read_text(), source="manifest")["files"]
    there = {
        str(path.relative_to(tmp_path / "site")): path for path in (tmp_path / "site").rglob("*") if path.is_file()
    }
    assert listed == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in there.items() if name != "manifest.json"
    }


def test_a_board_that_changed_meanwhile_is_not_published_by_halves(tmp_path):
    board = boards.make(tmp_path)
    board.add(boards.runs(np.random.default_rng(1), "abc"))
    site = Site(board=board, title="Board")
    site.publish(tmp_path / "site")
    before = {path: path.read_bytes() for path in (tmp_path / "site").rglob("*") if path.is_file()}
    Board.open(tmp_path / "board.db").note("late", "text")
    with pytest.raises(BoardError, match="has changed since it was opened; run the command again"):
        site.publish(tmp_path / "site")
    assert {path: path.read_bytes() for path in (tmp_path / "site").rglob("*") if path.is_file()} == before


def test_progress_is_shown_page_by_page(tmp_path):
    said = []
    Site(board=boards.make(tmp_path), title="Board").publish(tmp_path / "site", progress=said.append)
    assert [text for text in said if text.startswith("page")] == ["page 1 of 3", "page 2 of 3", "page 3 of 3"]


def test_names_of_files_distinguish_names_that_look_alike():
    names = [
        "gpt-4",
        "GPT-4",
        "gpt 4",
        "gpt/4",
        "gpt\u20114",
        "con",
        "CON",
        "",
        "\U0001f916",
        "x" * 500,
        "x" * 501,
        "..",
    ]
    found = [file_name(name) for name in names]
    assert len(set(found)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9-]{16,65}", name) for name in found)


def test_many_views_and_models_are_listed_near_by(tmp_path, monkeypatch):
    from bbedge.display.page import model as module

    names = [f"m{i:02}" for i in range(30)]
    board = boards.make(tmp_path, models=names)
    rng = np.random.default_rng(3)
    for run in range(1, 4):
        board.add(boards.scores(rng.random((1, 30, 6)), names, start=run))
    monkeypatch.setattr(module, "MOST_DRAWN", 5)
    Site(board=board, title="Board").publish(tmp_path / "site")
    page = (tmp_path / "site" / "models" / f"{file_name('m07')}.html").read_text()
    assert page.count('<td class="plot"') == 1 + 5
    assert "All 29 comparisons" in page


def test_a_withdrawn_row_keeps_its_page_its_history_and_its_reason(tmp_path):
    board = boards.make(tmp_path)
    board.add(boards.runs(np.random.default_rng(1), "abc", 9))
    board.withdraw("b", "trained <on> the items")
    Site(board=board, title="Board").publish(tmp_path / "site")
    words = text_of((tmp_path / "site" / "models" / f"{file_name('b')}.html").read_text())
    assert "Withdrawn: trained <on> the items The table does not show this model." in words
    assert "withdrawn trained <on> the items" in words
    assert "Withdrawn:" not in text_of((tmp_path / "site" / "models" / f"{file_name('a')}.html").read_text())
    row = model_rows(board.certificate(), withdrawn=True)[board.certificate().names.index("b")]
    assert f"Mean {row.mean}" in words
    last = (tmp_path / "site" / "rows.csv").read_text().splitlines()[-1]
    assert last.startswith(f"b,withdrawn,{board.events[-1].at[:19]}Z,11,{board.head},1,trained <on> the items")
    page = (tmp_path / "site" / "index.html").read_text()
    assert f'<td><a href="models/{file_name("b")}.html"><bdi>b</bdi></a></td>' in page
    badge_text = (tmp_path / "site" / "models" / f"{file_name('b')}.svg").read_text()
    assert f"withdrawn · event 11, {board.head[:8]}" in unescape(badge_text)


def test_another_history_is_not_published_over_the_first(tmp_path):
    board = boards.make(tmp_path)
    board.add(boards.runs(np.random.default_rng(1), "abc", 2))
    Site(board=board, title="Board").publish(tmp_path / "site")
    before = (tmp_path / "site" / "index.html").read_bytes()
    with pytest.raises(RolledBackError, match="ahead of the ledger"):
        Site(board=board.as_of(board.events[1].hash), title="Board").publish(tmp_path / "site")
    (tmp_path / "other").mkdir()
    other = boards.make(tmp_path / "other")
    other.add(boards.runs(np.random.default_rng(2), "abc", 3))
    with pytest.raises(RewrittenError, match="the history was rewritten"):
        Site(board=other, title="Board").publish(tmp_path / "site")
    assert (tmp_path / "site" / "index.html").read_bytes() == before
