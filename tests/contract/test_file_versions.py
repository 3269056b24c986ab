"""Every kind of file states its version, and a file of another version is refused by a message that names both."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import bbedge
from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError
from bbedge.evaluate.journal import Journal
from bbedge.evaluate.journal_file import add_extra, extra_usage
from bbedge.gate import Claim, Policy
from bbedge.gate.admit import verify_session as verify_gate
from bbedge.gate.ledger import record
from bbedge.ledger.archive import export_lines, import_file
from bbedge.ledger.store import Store
from bbedge.records.journal import Done, Usage
from bbedge.scale import TiledLeaderboard
from bbedge.verify import read_certificate
from bbedge.verify.ledger import verify_session
from unit.board.forging import parsed

MODELS, ITEMS = ("a", "b"), ("q1", "q2", "q3")
SCORES = Scores.of(np.random.default_rng(1).random((2, 2, 3)), models=MODELS, items=ITEMS)
POLICY = Policy(candidates=("a",), baseline="b", claims=(Claim(kind="not_worse_by", amount=0.5),), spending="ledger")


def certificate(folder: Path) -> Path:
    (folder / "c.json").write_text(bbedge.certify(SCORES).to_json())
    return folder / "c.json"


def board(folder: Path) -> Path:
    with bbedge.Board.create(folder / "b.bbedge", bbedge.BoardDesign(), models=MODELS, items=ITEMS) as made:
        made.add(SCORES)
    return folder / "b.bbedge"


def archive(folder: Path) -> Path:
    with bbedge.Board.open(board(folder)) as made:
        (folder / "b.jsonl").write_text("".join(export_lines(made.store)))
    return folder / "b.jsonl"


def ledger(folder: Path) -> Path:
    record(folder / "gate.bbedge", POLICY, SCORES, label="one")
    (folder / "gate.jsonl").write_text("".join(export_lines(Store(folder / "gate.bbedge", what="ledger"))))
    return folder / "gate.jsonl"


def page(folder: Path) -> Path:
    with Journal(folder, root="r") as journal, closing(journal.page(1)) as begun:
        begun.begin(1)
    return folder / "replicate-00001.jsonl"


def usage(folder: Path) -> Path:
    with Journal(folder, root="r") as journal:
        done = journal.page(1)
        done.add(Done(model="a", sample="s", scores={"s": 1.0}, usage=Usage(calls=1), trace="t"))
        journal.finish(done, traces={})
    return folder / "usage.jsonl"


def extras(folder: Path) -> Path:
    add_extra(folder, "check", Usage(calls=1))
    return folder / "extras.jsonl"


def tiled(folder: Path) -> Path:
    TiledLeaderboard.create(folder / "run", SCORES.design(holm="direct"))
    return folder / "run" / "design.json"


KINDS = {
    "certificate": (certificate, read_certificate),
    "archive": (archive, lambda path: import_file(path, path.with_name("again.bbedge"), verify=verify_session)),
    "ledger of a gate": (ledger, lambda path: import_file(path, path.with_name("again.bbedge"), verify=verify_gate)),
    "page of a journal": (page, lambda path: Journal(path.parent, root="r").page(1).close()),
    "usage of a journal": (usage, lambda path: Journal(path.parent, root="r").finished()),
    "extras of a journal": (extras, lambda path: extra_usage(path.parent, "check")),
    "tiled run": (tiled, lambda path: TiledLeaderboard.open(path.parent)),
}


def restated(text: str, version: int | None) -> str:
    """A file whose first line says something else of its version."""
    first, *rest = text.splitlines()
    content = json.loads(first)
    assert content["version"] == 1
    return "\n".join([json.dumps(content | {"version": version}, separators=(",", ":")), *rest, ""])


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_another_version_are_refused(tmp_path, kind):
    make, read = KINDS[kind]
    path = make(tmp_path)
    whole = path.read_text()
    for version in (2, 0, None):
        path.write_text(restated(whole, version))
        stated = "states no version" if version is None else f"is of version {version}, and this bbedge reads version 1"
        with pytest.raises(BbedgeError, match=f"{path.name}.*{stated}"):
            read(path)
    path.write_text(whole)
    read(path)


def test_boards_of_another_version_are_refused(tmp_path):
    path = board(tmp_path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE bbedge_meta SET value = '2' WHERE key = 'version'")
    with pytest.raises(BbedgeError, match=r"b\.bbedge: the board is of version 2, and this bbedge reads version 1"):
        bbedge.Board.open(path)


def test_events_of_another_version_are_refused(tmp_path):
    with bbedge.Board.open(board(tmp_path)) as made:
        forged = parsed(made)
    forged.rows[-1]["content"]["version"] = 2
    (tmp_path / "forged.jsonl").write_text("".join(forged.lines()))
    with pytest.raises(BbedgeError, match="event 3: its content is of version 2, and this bbedge reads version 1"):
        import_file(tmp_path / "forged.jsonl", tmp_path / "forged.bbedge", verify=verify_session)
