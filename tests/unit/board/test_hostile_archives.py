"""Archives that are not what export writes: named by line, refused, and nothing is left behind."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbedge.errors import BbedgeError, FormatError
from bbedge.ledger import archive as archives
from bbedge.ledger.archive import export_lines, import_file, import_lines
from bbedge.ledger.chain import digest
from bbedge.ledger.store import Store
from bbedge.verify.ledger import verify_session
from unit.board import forging
from unit.board.boards import make, runs


@pytest.fixture(scope="module")
def lines(tmp_path_factory) -> list[str]:
    """The archive of a board with two replicates: head, init, replicate, replicate, cache."""
    board = make(tmp_path_factory.mktemp("honest"))
    board.add(runs(np.random.default_rng(1), "abc", 2))
    return list(export_lines(board.store))


@pytest.fixture
def archive(lines, tmp_path_factory) -> forging.Forged:
    board = make(tmp_path_factory.mktemp("forged"))
    board.add(runs(np.random.default_rng(1), "abc", 2))
    return forging.parsed(board)


def refusal(lines: list[str], folder: Path, words: str) -> str:
    """What an import says, by file as by lines; it must leave nothing behind."""
    folder.mkdir(exist_ok=True)
    place = folder / "copy.db"
    file = folder.parent / "hostile.jsonl"
    file.write_text("".join(lines), encoding="utf-8", errors="surrogatepass")
    said = []
    for attempt in (
        lambda: import_lines(lines, place, source=str(file), verify=verify_session),
        lambda: import_file(file, place, verify=verify_session),
    ):
        with pytest.raises(BbedgeError, match=words) as caught:
            attempt()
        assert list(folder.iterdir()) == []
        said.append(str(caught.value))
    assert str(file) in said[1]
    return said[1]


def edited(lines: list[str], number: int, **changes: Any) -> list[str]:
    row = json.loads(lines[number]) | changes
    row = {key: value for key, value in row.items() if value is not ...}
    return [*lines[:number], json.dumps(row, separators=(",", ":")) + "\n", *lines[number + 1 :]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seq": "1"}, "'seq' = .* is not a whole number"),
        ({"seq": True}, "'seq' = .* is not a whole number"),
        ({"seq": 1.0}, "'seq' = .* is not a whole number"),
        ({"seq": 2**63}, "'seq' = .* is not a whole number"),
        ({"seq": 2}, "event 2 in the place of event 1"),
        ({"kind": None}, "'kind' = None is not a text"),
        ({"kind": "coronation"}, "'coronation' is not a kind of event"),
        ({"at": 7}, "'at' = .* is not a text"),
        ({"at": "\0"}, "'at' = .* is not a text"),
        ({"at": "\ud800"}, "'at' = .* is not a text"),
        ({"at": "x" * 100_000}, "'at' = .* is not a text"),
        ({"payload": {}}, "'payload' is not a text"),
        ({"payload": "[]"}, "'the whole' is not a record"),
        ({"payload": "ü"}, "'payload' = 'ü' is not a text of the form"),
        ({"payload": '{"a":1,"a":1}'}, "appears more than once"),
        ({"payload": '{"version": 1}'}, "'items' is missing"),
        ({"payload": '{"a":NaN}'}, "NaN is not a number"),
        ({"payload": '{"a":1e999}'}, "1e999 is too large"),
        ({"payload": '{"a":' + "9" * 5000 + "}"}, "4300"),
        ({"payload": '{"a":' * 100_000}, "nested too deeply"),
        ({"payload": "{}"}, "event 1: its content states no version"),
        ({"payload": '{"version":1}'}, "event 1: its content: 'items' is missing"),
        ({"previous": "0"}, "'previous' = .* is not a text of the form"),
        ({"previous": None}, "'previous' = .* is not a text of the form"),
        ({"hash": "A" * 64}, "'hash' = .* is not a text of the form"),
        ({"hash": ...}, "'hash' is missing"),
        ({"more": 1}, "unknown key 'more'"),
        ({"vectors": None}, "'vectors' = None is not a list of records"),
        ({"vectors": [1]}, "'vectors'.* is not"),
        ({"vectors": [[1, 1, "a"]]}, "'vectors'.* is not"),
        ({"vectors": [["1", 1, "a", ""]]}, "'vectors'.* is not|'epoch'"),
        ({"vectors": [[2**63, 1, "a", ""]]}, "'vectors'.* is not|'epoch'"),
        ({"vectors": [[1, 0, "a", ""]]}, "'vectors'.* is not|scores of replicate 0"),
        ({"vectors": [[1, -(2**40), "a", ""]]}, "'vectors'.* is not|scores of replicate 0"),
        ({"vectors": [[1, 1, 7, ""]]}, "'vectors'.* is not"),
        ({"vectors": [[1, 1, "a", 7]]}, "'vectors'.* is not"),
        ({"vectors": [[1, 1, "a", "ü"]]}, "'vectors'.* is not"),
        ({"vectors": [[1, 1, "a", "QP=="], [1, 1, "a", "QP=="]]}, "come twice"),
        ({"vectors": [[2, 1, "a", "QP8="]]}, "epoch 2, which no event has opened"),
    ],
)
def test_a_field_of_an_event_that_is_not_what_it_should_be(lines, tmp_path, changes, words):
    assert "hostile.jsonl:2: " in refusal(edited(lines, 1, **changes), tmp_path / "x", words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "board"}, "not a board archive; make one with bbedge board export"),
        ({"version": 2}, "the archive is of version 2, and this bbedge reads version 1; use the version of bbedge"),
        ({"version": True}, "the archive is of version True, and this bbedge reads version 1"),
        ({"version": None}, "the archive states no version"),
        ({"more": 1}, "unknown key 'more'"),
        ({"events": "3"}, "'events' = .* is not a whole number"),
        ({"events": 2**70}, "'events' = .* is not a whole number"),
        ({"head": None}, "'head' = None is not a text"),
        ({"events": 2}, "unknown key 'seq'|'cache' is missing"),
        ({"events": 4}, "unknown key 'cache'|'at' is missing"),
        ({"head": "0" * 64}, "cut short or edited"),
    ],
)
def test_a_first_line_that_is_not_what_it_should_be(lines, tmp_path, changes, words):
    refusal(edited(lines, 0, **changes), tmp_path / "x", words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"cache":[]}\n', "'cache' is not a record"),
        ('{"cache":{"x":""}}\n', "'cache' is not"),
        ('{"cache":{"-1":""}}\n', "'cache' is not"),
        ('{"cache":{"1_0":""}}\n', "'cache' is not"),
        ('{"cache":{"99999999999":""}}\n', "'cache' is not"),
        ('{"cache":{"0":"","0":""}}\n', "appears more than once"),
        ('{"cache":{"0":7}}\n', "'cache' is not bytes"),
        ('{"cache":{},"more":1}\n', "unknown key 'more'"),
        ("\n", "no JSON"),
    ],
)
def test_a_last_line_that_is_not_what_it_should_be(lines, tmp_path, line, words):
    assert "hostile.jsonl:5: " in refusal([*lines[:-1], line], tmp_path / "x", words)


@pytest.mark.parametrize("tail", ["\n", "{}\n", "x", '{"cache":{}}\n'])
def test_an_archive_that_goes_on_after_its_end(lines, tmp_path, tail):
    refusal([*lines, tail], tmp_path / "x", "6: the archive goes on after its end")
    refusal([*lines, lines[-1]], tmp_path / "x", "6: the archive goes on after its end")


@pytest.mark.parametrize("kept", range(5))
def test_an_archive_that_ends_too_early(lines, tmp_path, kept):
    refusal(lines[:kept], tmp_path / "x", "not a board archive" if kept == 0 else "cut short")
    refusal([*lines[:kept], lines[kept][: len(lines[kept]) // 2]], tmp_path / "x", "no JSON")


@pytest.mark.parametrize("line", ["[" * 100_000, "7", '"text"', "{" + '"a":1,' * 2 + '"b":1}', '{"a":1e999999}', "nul"])
def test_lines_that_are_no_objects(lines, tmp_path, line):
    for number in range(len(lines)):
        refusal([*lines[:number], line + "\n", *lines[number + 1 :]], tmp_path / "x", "hostile.jsonl")


def test_a_name_with_an_unpaired_surrogate(archive, tmp_path):
    row = archive.rows[1]
    row["vectors"][0][2] = "\ud800"
    row["content"]["vectors"]["\ud800"] = row["content"]["vectors"].pop("a")
    refusal(archive.lines(), tmp_path / "x", "surrogate|not Unicode")


def test_a_line_without_end_is_not_read_whole(lines, tmp_path, monkeypatch):
    monkeypatch.setattr("bbedge.ledger.archive.LONGEST_LINE", 10_000)
    file, asked = tmp_path / "long.jsonl", []
    file.write_text("".join(lines[:2]) + "x" * 1_000_000)

    class Watched:
        def __init__(self, file: Any) -> None:
            self.file = file

        def readline(self, size: int) -> bytes:
            asked.append(size)
            return self.file.readline(size)

    from bbedge.ledger import archive

    with file.open("rb") as opened, pytest.raises(FormatError, match=r"name:3: the line has more than 10,000 bytes"):
        for _ in archive._lines_of(Watched(opened), "name"):
            pass
    assert asked == [10_001] * 3


def test_what_is_exported_can_be_imported_however_large_the_saved_evidence(tmp_path, monkeypatch):
    board = make(tmp_path)
    board.add(runs(np.random.default_rng(1), "abc", 2))
    assert archives.LONGEST_LINE > 1_000_000
    monkeypatch.setattr("bbedge.ledger.archive.LONGEST_LINE", 1000)
    lines = list(export_lines(board.store))
    assert json.loads(lines[-1]) == {"cache": {}}
    assert import_lines(lines, tmp_path / "copy.db", source="archive", verify=verify_session).head == board.head


BOMB = """
import resource, sys
from bbedge.verify.ledger import verify_session
from bbedge.ledger.archive import import_lines
from bbedge.errors import BbedgeError
lines = open(sys.argv[1]).readlines()
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]), int(sys.argv[3])))
try:
    import_lines(lines, sys.argv[2], source="bomb", verify=verify_session)
except BbedgeError as error:
    print(error)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [b"F", b"L"])
def test_a_few_bytes_that_stand_for_gigabytes_are_not_unpacked(archive, tmp_path, kind):
    """A gigabyte of zeros in a megabyte, with the right checksum, in a process that may not have a gigabyte."""
    compressor = zlib.compressobj(9)
    pieces = [compressor.compress(bytes(1 << 20)) for _ in range(1 << 10)]
    data = kind + b"".join(pieces) + compressor.flush()
    assert len(data) < 1 << 21
    archive.rows[1]["vectors"][0][3] = base64.b64encode(data).decode("ascii")
    file = tmp_path / "bomb.jsonl"
    file.write_text("".join(archive.lines()))
    done = subprocess.run(
        [sys.executable, "-c", BOMB, str(file), str(tmp_path / "copy.db"), str(1 << 30)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.stderr == ""
    assert done.stdout == "bomb:3: a stored score vector is damaged\n"
    assert not (tmp_path / "copy.db").exists()


def test_a_place_that_has_a_board_keeps_it(lines, tmp_path):
    board = make(tmp_path)
    before = list(export_lines(board.store))
    for archive in (lines, lines[:-1]):
        with pytest.raises(BbedgeError, match="a board is here already; import into a new place"):
            import_lines(archive, tmp_path / "board.db", source="archive", verify=verify_session)
    assert list(export_lines(Store(tmp_path / "board.db"))) == before


def compressed(count: int) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, evidence=np.zeros(count, dtype=np.uint8))
    return buffer.getvalue()


def boastful(count: int) -> bytes:
    """A few bytes whose header says that there are many."""
    entry, buffer = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(entry, {"descr": "|u1", "fortran_order": False, "shape": (count,)})
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("evidence.npy", entry.getvalue())
    return buffer.getvalue()


def single(_: int) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


@pytest.mark.parametrize("make_state", [compressed, boastful, single])
def test_saved_evidence_is_not_unpacked_beyond_its_size(archive, tmp_path, make_state):
    state = make_state(1 << 28)
    assert len(state) < 1 << 20
    archive.cache["0"] = base64.b64encode(state).decode("ascii")
    archive.rows[-1]["content"]["cache"]["0"] = digest(state)
    tracemalloc.start()
    try:
        refusal(archive.lines(), tmp_path / "x", "claim 0|saved evidence")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1 << 26
