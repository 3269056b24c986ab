"""What happened to every row, and the feed of what was certified: both follow from the events of a board."""

import csv
import io
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.certificate.numbers import Units
from bbedge.core.scores import Scores
from bbedge.records.events import ModelAdded, ReplicateAdded
from bbedge.records.values import grouped
from bbedge.site import feed as feed_module
from bbedge.site.feed import atom_feed
from bbedge.site.publish import Site, file_name
from bbedge.site.rows import HEADS, row_changes, rows_csv
from unit.board import boards
from unit.board.forging import after_a_pilot, in_parts_with_attempts, whole_life, with_views_and_gaps

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture(params=[whole_life, after_a_pilot, with_views_and_gaps, in_parts_with_attempts])
def board(request, tmp_path):
    return request.param(tmp_path)


def table(board):
    text = rows_csv(row_changes(board), Units.of(1.0))
    assert text.isascii()
    return list(csv.DictReader(io.StringIO(text)))


def test_every_event_that_changes_a_row_has_a_line(board):
    rows = table(board)
    events = {event.seq: event for event in board.events}
    shown = {model for epoch in board.state.epochs for model in epoch.models}
    assert {row["model"] for row in rows} == shown
    for row in rows:
        event = events[int(row["event"])]
        assert (row["hash"], row["time"]) == (event.hash, event.at.replace("+00:00", "Z"))
    for event in board.events:
        content = event.content
        if isinstance(content, ReplicateAdded):
            found = {row["model"]: row["scores"] for row in rows if row["event"] == str(event.seq)}
            assert found == content.vectors
        elif isinstance(content, ModelAdded):
            (row,) = (row for row in rows if row["event"] == str(event.seq))
            assert (row["model"], row["what"]) == (content.model, "added")
            assert row["scores"].split() == list(content.vectors)
    retired = {row["model"] for row in rows if row["what"] == "retired"}
    assert retired == set(board.state.retired)
    for changes in grouped((each.model, each) for each in row_changes(board)).values():
        after = [each.what for each in changes if not each.what.startswith("announce")]
        assert after.count("added") == 1
        assert after[0] == "added"
        assert [each.event for each in changes] == sorted(each.event for each in changes)


def test_lines_say_what_happened_and_why(tmp_path):
    rows = table(whole_life(tmp_path))
    assert tuple(rows[0]) == HEADS
    of_b = [(row["what"], row["event"], row["epoch"], row["why"]) for row in rows if row["model"] == "b"]
    runs = [("re-scored", str(1 + run), "1", f"run {run}") for run in range(1, 6)]
    gone = [("retired", "9", "1", "it is run no more"), ("withdrawn", "10", "1", "its authors asked for it")]
    assert of_b == [("added", "1", "1", "the board began"), *runs, *gone]
    of_d = [(row["what"], row["why"]) for row in rows if row["model"] == "d"]
    assert of_d[0] == ("added", "added with 5 runs")
    assert of_d[1] == ("trust stated", "re-run by the maintainers, by the maintainers")
    assert of_d[3] == ("re-scored", "epoch 2 began with 2 new items: evidence starts again")


def test_announcements_withheld_runs_and_trust_are_in_it(tmp_path):
    board = boards.make(tmp_path, alpha=0.5, incomplete="worst-case")
    rng = np.random.default_rng(1)
    board.add(boards.runs(rng, "abc", 6))
    for model in "def":
        board.announce(model, 6)
    board.add_model("d", boards.runs(rng, "d", 6))
    board.close_announcement("e")
    board.add_model("e", boards.runs(rng, "e", 5))
    board.close_announcement("f")
    board.add_submission(boards.runs(rng, "g", 6), by="Team\u202e G", sha256="5" * 64, trust="logs-kept")
    found = {model: [] for model in "defg"}
    for row in table(board):
        if row["model"] in found:
            found[row["model"]].append((row["what"], row["why"]))
    announced = ("announced", "6 runs announced before they are made")
    closed = ("announcement closed", "what is not delivered with the model counts as missing")
    assert found == {
        "d": [announced, ("added", "added with 6 of 6 announced runs")],
        "e": [announced, closed, ("added", "added with 5 of 6 announced runs; 1 was not delivered")],
        "f": [announced, closed],
        "g": [
            ("added", "added with 6 runs"),
            ("trust stated", f"logs kept, by Team\\u202e G, submission {'5' * 64}"),
        ],
    }
    whole = next(row for row in table(board) if row["model"] == "e" and row["what"] == "added")
    assert whole["missing"] == str(len(board.state.epoch.items))
    names = dict(Site(board=board, title="Board").files(lambda text: None))
    assert [name for name in names if name.startswith(f"models/{file_name('f')}")] == []
    words = names[f"models/{file_name('e')}.html"]
    assert all(text in words for text in ("announcement closed", "added with 5 of 6 announced runs; 1 was not"))


def test_means_are_those_of_the_runs_in_score_units(tmp_path):
    values = np.array([[[0.0, 10.0, 5.0], [np.nan, np.nan, np.nan]], [[10.0, 10.0, np.nan], [0.0, 0.0, 3.0]]]) / 10
    design = BoardDesign(incomplete="worst-case", score_range=(0.0, 10.0))
    board = Board.create(tmp_path / "b.db", design, models="ab", items="xyz")
    whole = Scores(
        models=("a", "b"),
        items=tuple("xyz"),
        blocks=tuple("xyz"),
        replicates=("1", "2"),
        values=values,
        score_range=(0.0, 10.0),
        gaps="worst-case",
    )
    board.add(whole, incomplete="worst-case")
    rows = [row for row in table(board) if row["what"] == "re-scored"]
    assert [(row["model"], row["why"], row["mean"], row["missing"]) for row in rows] == [
        ("a", "run 1", "5.0000", ""),
        ("b", "run 1", "-", "3"),
        ("a", "run 2", "10.0000", "1"),
        ("b", "run 2", "1.0000", ""),
    ]


def test_names_are_no_formulas_and_no_markup(tmp_path):
    names = ["=1+1", "<b>&amp;\u202e", "plain"]
    board = Board.create(tmp_path / "b.db", BoardDesign(), models=names, items="xyz")
    for run in range(1, 13):
        values = [[[0.0] * 3, [1.0] * 3, [0.5 * (run % 3)] * 3]]
        board.add(boards.scores(values, names, "xyz", start=run), copies="allow")
    assert {row["model"] for row in table(board)} == {"'=1+1", "<b>&amp;\\u202e", "plain"}
    feed = atom_feed(board, title="<title>\x01", address=None)
    assert "\u202e" not in feed
    root = ElementTree.fromstring(feed)
    assert root.findtext(f"{ATOM}title") == "<title>\\x01"
    inside = [ElementTree.fromstring(f"<div>{content.text}</div>") for content in root.iter(f"{ATOM}content")]
    assert "<b>&amp;\\u202e beats =1+1" in [line.text for each in inside for line in each.iter("li")]


def test_the_feed_is_atom(board):
    """As RFC 4287 asks: ids that are absolute and unique, a title, a time and an author; content or a link."""
    root = ElementTree.fromstring(atom_feed(board, title="Board", address="https://example.org/x"))
    assert root.tag == f"{ATOM}feed"
    entries = root.findall(f"{ATOM}entry")
    certified = [
        event
        for event in board.events
        if isinstance(event.content, ReplicateAdded | ModelAdded)
        and event.content.outcome
        and any(seen.certified for seen in (event.content.outcome, *event.content.outcome.views.values()))
    ]
    assert len(entries) == len(certified) > 0
    ids = [each.findtext(f"{ATOM}id") for each in (root, *entries)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", each) for each in ids)
    times = [each.findtext(f"{ATOM}updated") for each in (root, *entries)]
    assert times[1:] == [event.at.replace("+00:00", "Z") for event in certified[::-1]]
    assert times[0] == max(times)
    for each in (root, *entries):
        assert each.findtext(f"{ATOM}title")
    assert root.findtext(f"{ATOM}author/{ATOM}name") == "Board"
    links = {each.get("rel"): each.get("href") for each in root.findall(f"{ATOM}link")}
    assert links == {"alternate": "https://example.org/x/index.html", "self": "https://example.org/x/feed.xml"}
    for each, event in zip(entries, certified[::-1], strict=True):
        content = each.find(f"{ATOM}content")
        assert content.get("type") == "html"
        assert event.hash in content.text


def test_entries_stay_what_they_are_while_the_board_grows(tmp_path):
    board = whole_life(tmp_path)
    heads = [event.hash for event in board.events]
    feeds = [atom_feed(board.as_of(head), title="Board", address=None) for head in heads]
    entries = [re.findall(r"<entry>.*?</entry>", feed, re.DOTALL) for feed in feeds]
    for earlier, later in pairwise(entries):
        assert later[len(later) - len(earlier) :] == earlier


def test_a_long_feed_has_the_latest_entries(tmp_path, monkeypatch):
    board = whole_life(tmp_path)
    whole = re.findall(r"<id>(.*?)</id>", atom_feed(board, title="Board", address=None))
    monkeypatch.setattr(feed_module, "MOST_ENTRIES", 1)
    monkeypatch.setattr(feed_module, "MOST_NAMED", 1)
    short = atom_feed(board, title="Board", address=None)
    assert re.findall(r"<id>(.*?)</id>", short) == whole[:2]
    assert short.count("&lt;li&gt;") <= 2
