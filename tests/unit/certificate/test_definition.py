"""Writer, reader, schema and displays follow from one definition."""

from __future__ import annotations

import copy
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import certificate, to_json
from bbedge.certificate.of_board import board_document
from bbedge.core.leaderboard import certify_pilot_top_k
from bbedge.display.ranking import difference_interval
from bbedge.display.reports import show_looks
from bbedge.display.terminal import show_leaderboard
from bbedge.errors import FormatError
from bbedge.records.certificate import Document
from bbedge.records.schema import schema_text
from unit.certificate.documents import certified, checked, circular, document, drawn, many, parted, schema
from unit.verify.test_consistency import life

PUBLISHED = Path(__file__).parents[3] / "docs" / "certificate.schema.json"
DOCUMENT = document([0.9, 0.7, 0.5, 0.48, 0.1], tau=0.01)


def test_the_published_schema_is_that_of_the_definition():
    # If this fails: make docs-outputs
    assert PUBLISHED.read_text(encoding="ascii") == schema_text(Document, "bbedge certificate")
    jsonschema.Draft202012Validator.check_schema(schema())


def test_every_key_is_described():
    records = schema()["$defs"]
    assert {"Document", "BoardRecord", "StageRecord", "Edge"} <= set(records)
    for name, record in records.items():
        for key, value in record["properties"].items():
            assert value.get("description"), (name, key)


@pytest.mark.parametrize("seed", [0, 2, 4, 8])
def test_what_is_written_of_a_board_is_read_as_it_was_and_follows_the_schema(tmp_path, seed):
    board = life(tmp_path / "b.bbedge", seed)
    for epoch in range(1, len(board.state.epochs) + 1):
        text = to_json(board_document(board, board.leaderboard(epoch), epoch))
        assert to_json(checked(json.loads(text)).content) == text
        jsonschema.validate(json.loads(text), schema())
    board.close()


def test_keys_of_later_versions_are_ignored():
    content = DOCUMENT | {"later": {"x": 1}}
    assert checked(content).document == DOCUMENT


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("models", 1, "mean"), "high", "'mean' = 'high' is not a number in 'models[1]'"),
        (("models", 1, "tier"), 0, "'tier' = 0 is not a whole number of at least 1 in 'models[1]'"),
        (("models", 1), None, "'models' = None is not a record"),
        (
            ("design", "evidence"),
            "vibes",
            "'evidence' = 'vibes' is not one of bernstein, betting, hoeffding, sharp in 'design'",
        ),
        (("design", "alpha"), 1, "'alpha' = 1 is not a number above 0 and below 1 in 'design'"),
        (("design", "blocks"), [], "'blocks' is not a record in 'design'"),
        (("design", "hash"), "\x1b[31m", r"'hash' = '\x1b[31m' is not a text of the form ^[0-9a-f]{64}$ in 'design'"),
        (
            ("design", "score_range"),
            [1, 0],
            "score_range=(1.0, 0.0) is not allowed; give two finite numbers, lower first",
        ),
        (("history", "log_e", 0, 1), "x", "'log_e' is not a matrix of numbers in 'history'"),
        (("first_pass",), {"complete": 1}, "'complete' = 1 is not true or false in 'first_pass'"),
        (("edges", 0), {}, "'winner' is missing in 'edges[0]'"),
        (("top_k", "1"), [3], "'top_k' is not a text"),
        (("notes",), {}, "'notes' is not a list of records"),
    ],
)
def test_a_message_names_the_file_the_place_and_what_belongs_there(path, value, what):
    content = copy.deepcopy(DOCUMENT)
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    with pytest.raises(FormatError, match=re.escape(f"x.json: not a certificate: {what}; expected")):
        checked(content, source="x.json")


@pytest.mark.parametrize("change", [{"\ud800": 1}, {"design": DOCUMENT["design"] | {"method": "\ud800"}}])
def test_unpaired_surrogates_are_refused(change):
    with pytest.raises(FormatError, match=r"x\.json: not a certificate: .* unpaired surrogate"):
        checked(DOCUMENT | change, source="x.json")


def printed(shown: Certificate, **options) -> str:
    console = Console(file=io.StringIO(), width=120, no_color=True)
    show_leaderboard(console, shown, **options)
    show_looks(console, shown)
    return console.file.getvalue()


LEADERBOARDS = {
    "parted": certified(parted(), tau=0.01),
    "circular": circular(),
    "many": many(45),
    "pilot": certify_pilot_top_k(drawn([0.9, 0.5, 0.2]), k=1, pilot=1, method="bb-edge-x"),
    "none": certified(drawn([0.5, 0.6], replicates=0)),
}


@pytest.mark.parametrize("graph", ["current", "all"])
@pytest.mark.parametrize("name", LEADERBOARDS)
def test_a_terminal_shows_of_the_file_what_it_shows_of_the_leaderboard(name, graph):
    made = Certificate.made(LEADERBOARDS[name], shown=graph)
    read = checked(json.loads(made.to_json()), shown=graph)
    for options in ({}, {"verbose": True}, {"top_k": 1}):
        assert printed(read, **options) == printed(made, **options)


@pytest.mark.parametrize("seed", range(12))
def test_a_terminal_shows_of_the_file_what_it_shows_of_the_board(tmp_path, seed):
    board = life(tmp_path / "b.bbedge", seed)
    for epoch in range(1, len(board.state.epochs) + 1):
        made = board.certificate(epoch)
        assert printed(checked(made.document)) == printed(made)
    board.close()


def test_a_terminal_prints_the_bounds_of_the_certificate():
    shown = Certificate.made(LEADERBOARDS["parted"])
    table = printed(shown).split("pairs certified")[0]
    intervals = [difference_interval(shown, i, 0) for i in range(1, 5)]
    assert len(set(intervals)) > 1
    assert re.findall(r"\S+ to \S+(?= +\d+ +\d+ *$)", table, re.MULTILINE) == intervals


def test_counts_alone_can_be_printed():
    leaderboard = many(60)
    brief = checked(json.loads(to_json(certificate(leaderboard, most_models=2))))
    text, whole = printed(brief), printed(Certificate.made(leaderboard))
    assert "open pairs" not in text
    assert text.splitlines()[1] == whole.splitlines()[1]
    # Where a leaderboard is at hand, its pairs are printed even if the document leaves them out.
    made = Certificate.made(leaderboard, certificate(leaderboard, most_models=2))
    assert printed(made) == whole
