"""Heads that were published: what ``board verify --heads`` finds, and signatures by what people have."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.gate.ledger import record
from gate_ledgers import SHARED, made
from unit.board.boards import make, runs

KEYGEN = shutil.which("ssh-keygen")


@pytest.fixture
def board(tmp_path, monkeypatch):
    """A board in the working folder, and what was published of it: a folder with its heads."""
    monkeypatch.chdir(tmp_path)
    board = make(tmp_path, alpha=0.3)
    board.add(runs(np.random.default_rng(1), "abc", 2))
    (tmp_path / "site").mkdir()
    shutil.copy("board.db.heads.jsonl", "site/heads.jsonl")
    return board


def replaced(source, target):
    """Another history in the place of a board: an older copy of it, which then went on."""
    shutil.copy(source, target)
    shutil.move("board.db.heads.jsonl", "kept.jsonl")


def test_rollback_rewriting_and_two_histories_have_a_message_and_a_code_each(board, bbedge):
    shutil.copy("board.db", "old.db")
    board.note("about", "published")
    board.close()
    shutil.copy("board.db.heads.jsonl", "site/heads.jsonl")
    for given in ("site", "site/heads.jsonl", "board.db.heads.jsonl"):
        fine = bbedge("board", "verify", "board.db", "--heads", given)
        assert (fine.code, fine.err) == (0, "")
        assert "4 published heads found in it." in fine.out
    replaced("old.db", "board.db")
    back = bbedge("board", "verify", "board.db", "--heads", "site")
    assert back.code == 7
    assert "the published head of number 4" in back.err
    assert "is ahead of the ledger, which ends with event 3: it was rolled back" in back.err
    Board.open("board.db").note("about", "another history")
    other = bbedge("board", "verify", "board.db", "--heads", "site")
    assert other.code == 8
    assert "event 4 has the hash" in other.err
    assert "the history was rewritten there or before" in other.err
    both = bbedge("board", "verify", "board.db", "--heads", "site", "--heads", "board.db.heads.jsonl")
    assert both.code == 9
    assert "two heads of number 4 were published" in both.err
    assert "different readers were shown different histories" in both.err
    missing = bbedge("board", "verify", "board.db", "--heads", "nowhere.jsonl")
    assert missing.code == 2
    assert "nowhere.jsonl: cannot be read" in missing.err


def test_a_withdrawal_from_the_command_line(board, bbedge):
    done = bbedge("board", "withdraw", "board.db", "c", "--reason", "asked for by its authors")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "Withdrawn c, event 4. Tables hide its row and state the reason; it still counts in every rank and comparison. "
        "It is still run; to stop it: bbedge board retire board.db c\n"
    )
    shown = bbedge("board", "show", "board.db", "--html", "page.html", "--json", "c.json")
    assert "1 withdrawn model is not in the table, and still counts in every rank and comparison." in shown.out
    assert "c, event 4: asked for by its authors" in " ".join(shown.out.split())
    assert "c: asked for by its authors" in bbedge("board", "log", "board.db").out
    assert bbedge("verify", "c.json", "board.db").code == 0
    again = bbedge("board", "withdraw", "board.db", "c", "--reason", "again")
    assert (again.code, again.err) == (2, "bbedge: model 'c' is withdrawn already\n")


def test_the_ledger_of_a_gate_has_heads_too(tmp_path, bbedge, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, label in ((1, "one"), (2, "two")):
        record("gate.db", SHARED, made(seed), label=label)
    fine = bbedge("board", "verify", "gate.db", "--heads", "gate.db.heads.jsonl")
    assert fine.code == 0
    assert "7 published heads found in it." in fine.out
    lines = (tmp_path / "gate.db.heads.jsonl").read_text().splitlines()
    forged = [*lines[:-1], re.sub('"hash":"...', '"hash":"000', lines[-1])]
    (tmp_path / "heads.jsonl").write_text("\n".join(forged) + "\n")
    assert bbedge("board", "verify", "gate.db", "--heads", "heads.jsonl").code == 8


@pytest.mark.skipif(KEYGEN is None, reason="ssh-keygen is not installed: apt-get install openssh-client")
def test_the_heads_are_signed_and_checked_with_ssh_keygen(board, tmp_path, bbedge):
    """As docs/board.md says, with a key that is made here."""

    def keygen(*words, stdin=None):
        assert KEYGEN is not None
        done = subprocess.run(
            [KEYGEN, "-Y", *words] if words[0] != "-t" else [KEYGEN, *words],
            input=None if stdin is None else stdin.read_bytes(),
            capture_output=True,
            check=False,
        )
        return done.returncode, (done.stdout + done.stderr).decode()

    key, heads, signature = tmp_path / "key", tmp_path / "site" / "heads.jsonl", tmp_path / "site" / "heads.jsonl.sig"
    assert keygen("-t", "ed25519", "-N", "", "-q", "-C", "board@example.org", "-f", str(key))[0] == 0
    public = key.with_suffix(".pub").read_text().split()
    signers = tmp_path / "allowed_signers"
    signers.write_text(f"board@example.org {public[0]} {public[1]}\n")
    assert keygen("sign", "-f", str(key), "-n", "bbedge-heads", str(heads))[0] == 0

    def check():
        return keygen(
            "verify", "-f", str(signers), "-I", "board@example.org", "-n", "bbedge-heads", "-s", str(signature),
            stdin=heads,
        )  # fmt: skip

    code, said = check()
    assert code == 0, said
    assert 'Good "bbedge-heads" signature for board@example.org' in said
    assert bbedge("board", "verify", "board.db", "--heads", "site").code == 0
    heads.write_text(heads.read_text().replace('"number":3', '"number":4'))
    code, said = check()
    assert code != 0
    assert "Signature verification failed" in said or "incorrect signature" in said
