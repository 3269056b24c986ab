"""What can go wrong around a board: killed processes, full and read-only disks, damaged and edited files.

Promised is that nothing is lost or changed silently: the board is as before, or a message names what is wrong.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError, BoardError
from bbedge.ledger.archive import export_lines
from bbedge.ledger.chain import LedgerEvent, checksum, pack_scores, unpack_scores
from bbedge.ledger.store import Store
from bbedge.readers import read_scores
from bbedge.records.codec import canonical
from bbedge.verify.ledger import verify

KILLS = Path(__file__).with_name("board_kills.py")
MODELS = ("weak", "middle", "strong")
ITEMS = tuple(f"q{i}" for i in range(16))


def scores(number: int, models=MODELS, items=ITEMS) -> Scores:
    """A replicate with that number; the same number has the same scores."""
    chances = np.linspace(0.05, 0.95, len(models))[:, None]
    values = np.random.default_rng(number).random((1, len(models), len(items))) < chances
    return Scores(
        models=tuple(models),
        items=tuple(items),
        blocks=tuple(items),
        replicates=(str(number),),
        values=values.astype(float),
    )


def table(path: Path, number: int, models=MODELS, items=ITEMS) -> Path:
    """The same replicate as a file."""
    values = scores(number, models, items).values[0]
    rows = [f"{m},{i},{number},{int(values[a, b])}" for a, m in enumerate(models) for b, i in enumerate(items)]
    path.write_text("\n".join(["model,item,replicate,score", *rows]) + "\n", encoding="utf-8")
    return path


def make(path: Path, replicates: int = 5) -> Board:
    """A board that has certified something by its last replicate."""
    board = Board.create(path, BoardDesign(), models=MODELS, items=ITEMS)
    for number in range(1, replicates + 1):
        board.add(scores(number))
    return board


def contents(path: Path) -> list[str]:
    return list(export_lines(Store(path)))


def command(*args: object, **options: object) -> subprocess.CompletedProcess[str]:
    """``bbedge board`` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "bbedge", "board", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


# Killed processes


def run_kills(*args: object) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, str(KILLS), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("seed", "kills"),
    [
        pytest.param(1, 30, marks=pytest.mark.every_push("kill -9")),
        *(pytest.param(seed, 125, marks=pytest.mark.nightly) for seed in (1, 2)),
    ],
)
def test_killed_at_any_moment_the_board_holds_whole_replicates(tmp_path, seed, kills, record_property):
    counts = run_kills("moments", tmp_path, seed, kills, 60)
    record_property("kills", counts)
    assert counts["kills"] >= kills // 2  # all where the machine is not too busy
    assert counts["replicates"] > 0
    assert counts["journals"] > 0, "no kill ever came while the board was open"


@pytest.mark.nightly
def test_killed_before_any_statement_a_change_is_whole_or_not_there(tmp_path, record_property):
    counts = run_kills("statements", tmp_path)
    record_property("kills", counts)
    assert counts["kills"] >= 60
    assert counts["nothing"] > 0


@pytest.mark.nightly
def test_the_command_killed_at_any_moment(tmp_path):
    path = tmp_path / "board.db"
    make(path, 1)
    began = time.monotonic()
    assert command("add", path, table(tmp_path / "2.csv", 2)).returncode == 0
    usual = time.monotonic() - began
    rng = np.random.default_rng(3)
    held = 2
    for _ in range(8):
        file = table(tmp_path / "next.csv", held + 1)
        process = subprocess.Popen(
            [sys.executable, "-m", "bbedge", "board", "add", str(path), str(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        time.sleep(usual * rng.uniform(0.4, 1.1))
        process.kill()
        out, err = process.communicate()
        assert err == b""
        after = Board.open(path).state.epoch.replicates
        assert after in (held, held + 1)
        if b"Added replicate" in out:
            assert after == held + 1
        held = after
        verify(Store(path))
    last = command("add", path, table(tmp_path / "last.csv", held))
    assert last.returncode == 0
    assert f"Already on the board with the same scores: replicate {held}." in last.stdout
    assert "Nothing was added." in last.stdout


# Full and read-only disks


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of half a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, leave: int) -> Path:
    filler = folder / "filler"
    free = os.statvfs(folder)
    filler.write_bytes(b"x" * max(free.f_bavail * free.f_frsize - leave, 0))
    return filler


@pytest.mark.nightly
def test_on_a_full_disk_nothing_changes_and_later_all_goes_on(small_disk, tmp_path):
    path = small_disk / "board.db"
    make(path)
    before = contents(path)
    filler = fill(small_disk, 0)
    refused = command("add", path, table(tmp_path / "6.csv", 6))
    assert refused.returncode == 2
    assert "the disk is full" in refused.stderr
    assert "Traceback" not in refused.stderr
    filler.unlink()
    assert contents(path) == before
    assert command("verify", path).returncode == 0
    assert command("add", path, tmp_path / "6.csv").returncode == 0
    assert verify(Store(path)).events == 7


def test_the_disk_may_become_full_at_any_byte(small_disk):
    path = small_disk / "board.db"
    make(path)
    before, outcomes = contents(path), []
    for leave in range(0, 200_000, 4096):
        filler = fill(small_disk, leave)
        try:
            Board.open(path).add(scores(6))
        except BoardError as error:
            outcomes.append("the disk is full" in str(error))
        else:
            break
        finally:
            filler.unlink()
        assert contents(path) == before
        verify(Store(path))
    else:
        pytest.fail("the replicate never went in")
    assert outcomes
    assert all(outcomes)
    assert verify(Store(path)).events == 7


def test_a_board_cannot_be_made_on_a_full_disk_but_afterwards(small_disk):
    path = small_disk / "board.db"
    for leave in range(0, 400_000, 16_384):
        filler = fill(small_disk, leave)
        try:
            make(path, 0)
        except BoardError as error:
            assert "disk is full" in str(error)  # noqa: PT017 - it depends on the space whether it is raised
        else:
            break
        finally:
            filler.unlink()
    make(path, 1)
    assert verify(Store(path)).events == 2


def test_a_file_that_may_not_grow_is_like_a_full_disk(tmp_path):
    path = tmp_path / "board.db"
    make(path)
    before = contents(path)
    limit = path.stat().st_size

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit // 2, limit // 2))

    refused = command("add", path, table(tmp_path / "6.csv", 6), preexec_fn=limited)
    assert refused.returncode == 2
    assert "the disk is full or failing" in refused.stderr
    assert contents(path) == before
    verify(Store(path))
    assert Board.open(path).add(scores(6)).replicates == (6,)


@pytest.fixture
def read_only(small_disk: Path) -> Callable[[bool], None]:
    def remount(on: bool) -> None:
        done = subprocess.run(
            ["mount", "-o", f"remount,{'ro' if on else 'rw'}", str(small_disk)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"a disk cannot be made read-only here: {done.stderr.strip()}")

    return remount


@pytest.mark.nightly
def test_a_read_only_disk_can_be_read_and_is_not_written(small_disk, read_only, tmp_path):
    path = small_disk / "board.db"
    make(path)
    before = contents(path)
    read_only(True)
    refused = command("add", path, table(tmp_path / "6.csv", 6))
    assert refused.returncode == 2
    assert "the board cannot be written" in refused.stderr
    assert "Nothing was changed" in refused.stderr
    assert "Traceback" not in refused.stderr
    shown = command("show", path)
    assert shown.returncode == 0, shown.stderr
    assert "strong" in shown.stdout
    assert contents(path) == before
    assert verify(Store(path)).events == 6
    with pytest.raises(BoardError, match="cannot be"):
        make(small_disk / "other.db")
    read_only(False)
    assert Board.open(path).add(scores(6)).replicates == (6,)


def test_a_read_only_disk_shows_what_a_killed_writer_had_saved(small_disk, read_only):
    path = small_disk / "board.db"
    make(path)
    script = (
        "import os, signal, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from board_kills import Board, scores\n"
        "path = sys.argv[2]\n"
        "held = Board.open(path)\n"
        "reader = held.store.read()\n"  # keeps the journal from being folded into the file
        "session = reader.__enter__()\n"
        "session.events()\n"
        "Board.open(path).retire('weak')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(KILLS.parent), str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert Path(f"{path}-wal").stat().st_size > 0
    read_only(True)
    assert Board.open(path).state.retired == ["weak"]
    assert verify(Store(path)).events == 7
    read_only(False)
    # Without its index the journal cannot be read there; then the board says so, and does not show an old state.
    Path(f"{path}-shm").unlink()
    read_only(True)
    with pytest.raises(BoardError, match="cannot be opened"):
        Board.open(path)
    read_only(False)
    assert Board.open(path).state.retired == ["weak"]


def test_someone_who_may_only_read_can_read_and_not_write():
    """The board of somebody else, in a folder of somebody else: at rest, and while its owner writes."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    script = (
        "import os, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from board_kills import Board, BoardError, scores\n"
        "path = sys.argv[2]\n"
        "Board.open(path).add(scores(6))\n"  # all that is imported late is now there
        "os.setgroups([])\n"
        "os.setgid(65534)\n"
        "os.setuid(65534)\n"
        "print(Board.open(path).leaderboard().replicates)\n"
        "try:\n"
        "    Board.open(path).add(scores(7))\n"
        "except BoardError as error:\n"
        "    print(error)\n"
        "sys.stdout.flush()\n"
        "sys.stdin.readline()\n"
        "print(Board.open(path).leaderboard().replicates)\n"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        path = folder / "board.db"
        owner = make(path)
        with subprocess.Popen(
            [sys.executable, "-c", script, str(KILLS.parent), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as reader:
            assert reader.stdout is not None
            assert reader.stdin is not None
            assert reader.stdout.readline() == "6\n"
            assert "the board cannot be written" in reader.stdout.readline()
            with owner.store.read() as session:
                session.events()  # keeps the journal from being folded into the file
                owner.add(scores(7))
                reader.stdin.write("\n")
                reader.stdin.flush()
                assert reader.stdout.readline() == "7\n"
        assert reader.returncode == 0
        assert verify(Store(path)).events == 8


# Damaged files


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board of several events; the tests work on copies."""
    path = tmp_path_factory.mktemp("sound") / "board.db"
    board = make(path)
    runs = [scores(50 + r, ["new"]) for r in range(5)]
    board.add_model(
        "new",
        Scores(
            models=("new",),
            items=ITEMS,
            blocks=ITEMS,
            replicates=tuple("12345"),
            values=np.concatenate([run.values for run in runs]),
        ),
    )
    board.retire("middle")
    return path


@pytest.fixture
def board_file(sound: Path, tmp_path: Path) -> Path:
    path = tmp_path / "board.db"
    path.write_bytes(sound.read_bytes())
    return path


def put(path: Path, data: bytes) -> None:
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    path.write_bytes(data)


def judge(path: Path, before: list[str]) -> str:
    """Use a damaged board in every way: each works or is refused; what verify accepts is what it was."""
    accepted, exported = True, None
    try:
        verify(Store(path))
    except BbedgeError:
        accepted = False
    try:
        exported = contents(path)
        board = Board.open(path)
        board.leaderboard()
    except BbedgeError:
        assert not accepted, "verify accepts a board that cannot be used"
    else:
        with pytest.raises(BbedgeError):  # far out of order
            board.add(scores(99))
    if accepted:
        assert exported == before, "verify accepts a board that was changed"
    return "accepted" if accepted else "named"


def test_a_file_cut_short_anywhere_is_refused(sound, board_file):
    whole = sound.read_bytes()
    page = int.from_bytes(whole[16:18], "big")
    rng = np.random.default_rng(5)
    lengths = {0, 1, 15, 16, 17, 99, 100, 101, 512, len(whole) - 1}
    lengths |= {n * page + extra for n in range(1, len(whole) // page) for extra in (-1, 0, 1)}
    lengths |= set(rng.integers(0, len(whole), 80).tolist())
    before = contents(sound)
    for length in sorted(lengths):
        put(board_file, whole[:length])
        assert judge(board_file, before) == "named", f"cut to {length} of {len(whole)} bytes"


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_a_flipped_byte_is_named_or_changes_nothing(sound, board_file, seed):
    whole = sound.read_bytes()
    before = contents(sound)
    rng = np.random.default_rng(seed)
    used = np.flatnonzero(np.frombuffer(whole, dtype=np.uint8))  # the rest is mostly free space
    outcomes = []
    for place in rng.choice(used, 90).tolist() + rng.integers(0, len(whole), 10).tolist():
        damaged = bytearray(whole)
        damaged[place] ^= int(rng.integers(1, 256))
        put(board_file, bytes(damaged))
        try:
            outcomes.append(judge(board_file, before))
        except Exception as error:
            raise AssertionError(f"byte {place}: {whole[place]} became {damaged[place]}") from error
    assert outcomes.count("named") > 20


def test_a_damaged_index_is_named(sound, board_file):
    """A vector that is listed but not found through the index of its table."""
    whole = sound.read_bytes()
    before = contents(sound)
    with closing(sqlite3.connect(sound)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name LIKE '%autoindex_bbedge_vectors%'"
        ).fetchone()
    page = int.from_bytes(whole[16:18], "big")
    start = (root - 1) * page
    entry = whole.index(b"strong", start, start + page)  # the name of a model in one entry of the index
    for place in range(entry - 6, entry + 8):
        put(board_file, whole[:place] + bytes([whole[place] ^ 0x03]) + whole[place + 1 :])
        judge(board_file, before)


def test_a_damaged_page_is_named_or_changes_nothing(sound, board_file):
    whole = sound.read_bytes()
    before = contents(sound)
    page = int.from_bytes(whole[16:18], "big")
    rng = np.random.default_rng(7)
    for start in range(0, len(whole), page):
        for filling in (bytes(page), rng.bytes(page), whole[:page]):
            put(board_file, whole[:start] + filling + whole[start + page :])
            judge(board_file, before)


@pytest.mark.nightly
def test_the_commands_meet_damage_without_a_traceback(sound, board_file, bbedge, tmp_path):
    whole = sound.read_bytes()
    rng = np.random.default_rng(11)
    used = np.flatnonzero(np.frombuffer(whole, dtype=np.uint8))
    file = table(tmp_path / "1.csv", 1)
    damages = [whole[:length] for length in (0, 10, 100, 5000, len(whole) - 4096)]
    damages += [b"not a database at all" * 1000, whole[:16] + rng.bytes(len(whole) - 16)]
    for place in rng.choice(used, 12).tolist():
        damages.append(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
    for damaged in damages:
        put(board_file, damaged)
        for args in (
            ("verify", board_file),
            ("show", board_file),
            ("log", board_file),
            ("export", board_file, tmp_path / "out.jsonl"),
            ("add", board_file, file),
        ):
            outcome = bbedge("board", *args)
            assert outcome.code in (0, 2)
            assert outcome.code == 0 or outcome.err.startswith("bbedge: "), outcome.err


# Edited files


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def refusal(path: Path, **options: str) -> str:
    with pytest.raises(BoardError) as refused:
        verify(Store(path), **options)
    return str(refused.value)


def change_score(path: Path, model: str = "strong", replicate: int = 2) -> bytes:
    """Turn one stored score around; with the checksum beside it, as an editor who knows the layout would."""
    where = f"epoch = 1 AND replicate = {replicate} AND model = '{model}'"
    with closing(sqlite3.connect(path)) as connection, connection:
        (data,) = connection.execute(f"SELECT data FROM bbedge_vectors WHERE {where}").fetchone()
        values = unpack_scores(data, len(ITEMS))
        values[3] = 1.0 - values[3]
        changed = pack_scores(values)
        connection.execute(
            f"UPDATE bbedge_vectors SET data = ?, checksum = ? WHERE {where}", (changed, checksum(changed))
        )
    return changed


def test_an_edited_score_is_named(board_file):
    change_score(board_file)
    assert (
        "event 3 (replicate) cannot have happened: the scores of model 'strong' in replicate 2 of epoch 1 were changed"
        in refusal(board_file)
    )


SWAP = (
    "CREATE TEMP TABLE t AS SELECT rowid AS r, data, checksum FROM bbedge_vectors WHERE {one} OR {other}",
    "UPDATE bbedge_vectors SET (data, checksum) = (SELECT data, checksum FROM t WHERE t.r <> bbedge_vectors.rowid) "
    "WHERE {one} OR {other}",
)
EDITS = {
    "a design": (
        ["UPDATE bbedge_events SET payload = replace(payload, '\"alpha\":0.05', '\"alpha\":0.5') WHERE seq = 1"],
        "event 1 (init) does not match its hash",
    ),
    "a certificate": (
        ["UPDATE bbedge_events SET payload = replace(payload, '\"log_e\":', '\"log_e\":1')"],
        "(replicate) does not match its hash",
    ),
    "a level": (
        ["UPDATE bbedge_events SET payload = replace(payload, '\"level\":0.0', '\"level\":0.01') WHERE seq = 7"],
        "event 7 (add-model) does not match its hash",
    ),
    "a time": (
        ["UPDATE bbedge_events SET at = '2999-01-01T00:00:00+00:00' WHERE seq = 2"],
        "event 2 (replicate) does not match",
    ),
    "a kind": (["UPDATE bbedge_events SET kind = 'pilot' WHERE seq = 2"], "event 2 (pilot) does not match its hash"),
    "a hash": (["UPDATE bbedge_events SET hash = upper(hash) WHERE seq = 2"], "event 2 (replicate) does not match"),
    "a removed event": (["DELETE FROM bbedge_events WHERE seq = 4"], "event 4 is missing from the ledger"),
    "a removed first event": (["DELETE FROM bbedge_events WHERE seq = 1"], "event 1 is missing from the ledger"),
    "a removed last event": (["DELETE FROM bbedge_events WHERE seq = 8"], "the end of the ledger is missing"),
    "a removed ledger": (["DELETE FROM bbedge_events"], "the board is empty"),
    "a removed head": (["DELETE FROM bbedge_meta WHERE key = 'head'"], "the end of the ledger is missing"),
    "two events exchanged": (
        [
            "UPDATE bbedge_events SET seq = 100 WHERE seq = 3",
            "UPDATE bbedge_events SET seq = 3 WHERE seq = 4",
            "UPDATE bbedge_events SET seq = 4 WHERE seq = 100",
        ],
        "event 3 does not follow event 2",
    ),
    "two models exchanged": (
        [
            each.format(one="(replicate = 3 AND model = 'weak')", other="(replicate = 3 AND model = 'strong')")
            for each in SWAP
        ],
        "in replicate 3 of epoch 1 were changed",
    ),
    "two replicates exchanged": (
        [
            each.format(one="(replicate = 3 AND model = 'new')", other="(replicate = 4 AND model = 'new')")
            for each in SWAP
        ],
        "event 7 (add-model) cannot have happened: the scores of model 'new' in replicate 3 of epoch 1 were changed",
    ),
    "a removed vector": (
        ["DELETE FROM bbedge_vectors WHERE replicate = 2 AND model = 'weak'"],
        "event 3 (replicate) cannot have happened: the scores of model 'weak' in replicate 2 of epoch 1 are missing",
    ),
    "a vector slipped in": (
        [
            "INSERT INTO bbedge_vectors SELECT epoch, 6, model, event, data, checksum FROM bbedge_vectors "
            "WHERE replicate = 5"
        ],
        "in replicate 6 of epoch 1 belong to no event",
    ),
    "a vector given to another event": (
        ["UPDATE bbedge_vectors SET event = 2 WHERE replicate = 5 AND model = 'weak'"],
        "model 'weak' in replicate 5 of epoch 1",
    ),
    "a checksum": (
        ["UPDATE bbedge_vectors SET checksum = 'none' WHERE replicate = 5 AND model = 'weak'"],
        "model 'weak' in replicate 5 of epoch 1",
    ),
    "saved evidence": (
        ["UPDATE bbedge_cache SET state = (SELECT state FROM bbedge_cache WHERE claim = 1) WHERE claim = 0"],
        "the saved evidence of claim 0 was changed",
    ),
    "text as a blob": (["UPDATE bbedge_events SET payload = CAST(payload AS BLOB) WHERE seq = 2"], "damaged"),
    "a blob as text": (["UPDATE bbedge_vectors SET data = 'text' WHERE replicate = 1"], "damaged"),
    "saved evidence as text": (["UPDATE bbedge_cache SET state = 'text'"], "damaged"),
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_named(board_file, what):
    statements, words = EDITS[what]
    before = board_file.read_bytes()
    sql(board_file, *statements)
    assert board_file.read_bytes() != before
    assert words in refusal(board_file)


def rewrite(path: Path, seq: int, edit: Callable[[dict], None]) -> None:
    """Edit an event and make all hashes right again, as a forger would."""
    with closing(sqlite3.connect(path)) as connection, connection:
        rows = connection.execute("SELECT kind, at, payload FROM bbedge_events ORDER BY seq").fetchall()
        last = None
        for number, (kind, at, payload) in enumerate(rows, start=1):
            content = json.loads(payload)
            if number == seq:
                edit(content)
            last = LedgerEvent.after(last, kind, at, canonical(content))
            connection.execute(
                "UPDATE bbedge_events SET payload = ?, previous = ?, hash = ? WHERE seq = ?",
                (last.payload, last.previous, last.hash, number),
            )
        assert last is not None
        connection.execute("UPDATE bbedge_meta SET value = ? WHERE key = 'head'", (last.hash,))


def certified_at(path: Path) -> int:
    """An event that certified something."""
    return next(event.seq for event in Board.open(path).events if json.loads(event.payload).get("certified"))


FORGERIES = {
    "alpha": (1, lambda c: c["design"].update(alpha=0.5), "event 1 (init): its registration is"),
    "alpha with its hash": (
        1,
        lambda c: c.update(
            design={**c["design"], "alpha": 0.5},
            registration=BoardDesign.from_values({**c["design"], "alpha": 0.5}).registration(
                c["models"], c["items"], c["blocks"]
            ),
        ),
        "event 1 (init): its stages.0.design_hash is",
    ),
    "a level": (
        1,
        lambda c: c["stages"][0].update(level=0.05),
        "event 1 (init): its stages.0.level is 0.05",
    ),
    "a level of a new model": (
        7,
        lambda c: c["stages"][0].update(level=0.04),
        "event 7 (add-model): its stages.0.level is 0.04",
    ),
    "an item": (1, lambda c: c["items"].__setitem__(0, "other"), "event 1 (init): its registration is"),
    "a block": (1, lambda c: c["blocks"].__setitem__(0, "other"), "event 1 (init): its registration is"),
    "evidence of a certificate": (
        None,
        lambda c: c["certified"][0].update(log_e=99.0),
        "its certified.0.log_e is 99.0",
    ),
    "a certificate's date": (
        None,
        lambda c: c["certified"][0].update(replicate=9),
        "its certified.0.replicate is 9",
    ),
    "a certificate left out": (None, lambda c: c["certified"].pop(), "its certified is ["),
    "a certificate made up": (
        2,
        lambda c: c["certified"].append(
            {"winner": "weak", "loser": "strong", "log_e": 9.0, "claim": 0, "replicate": 1}
        ),
        "its certified is [",
    ),
    "edges of a look": (2, lambda c: c["current"].update({"0": "//8="}), 'its current.0 is "//8="'),
    "counts of a look": (2, lambda c: c["look"].update(edges=6), "its look.edges is 6"),
    "another model retired": (8, lambda c: c.update(model="nobody"), "event 8 (retire) cannot have happened"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_an_edit_with_all_hashes_made_right_is_named(board_file, what):
    seq, edit, words = FORGERIES[what]
    published = Board.open(board_file).head
    rewrite(board_file, seq or certified_at(board_file), edit)
    assert words in refusal(board_file)
    assert "no event has the published hash" in refusal(board_file, head=published)


def test_a_score_edited_in_the_ledger_too_disagrees_with_the_evidence(board_file):
    changed = change_score(board_file)
    rewrite(board_file, 3, lambda content: content["vectors"].update(strong=checksum(changed)))
    assert "saved evidence" in refusal(board_file) or "the stored scores give" in refusal(board_file)


def test_an_end_cut_off_with_care_is_found_by_the_published_head(board_file):
    """Without a hash from outside, a board that forgot its end cannot be told from one that never had it."""
    board = Board.open(board_file)
    published, shorter = board.head, board.events[5].hash
    sql(
        board_file,
        "DELETE FROM bbedge_events WHERE seq > 6",
        f"UPDATE bbedge_meta SET value = '{shorter}' WHERE key = 'head'",
    )
    assert "belong to no event: an event was removed" in refusal(board_file)
    sql(board_file, "DELETE FROM bbedge_vectors WHERE event > 6")
    assert "saved evidence of claim 0 was changed" in refusal(board_file)
    sql(board_file, "DELETE FROM bbedge_cache")
    assert verify(Store(board_file)).events == 6
    assert "the history was rewritten" in refusal(board_file, head=published)
    assert verify(Store(board_file), head=shorter).head == shorter


def test_saved_evidence_that_was_changed_is_not_used(sound, board_file):
    sql(board_file, "UPDATE bbedge_cache SET state = zeroblob(100)")
    np.testing.assert_array_equal(Board.open(board_file).leaderboard().log_e, Board.open(sound).leaderboard().log_e)


# Size


@pytest.mark.nightly
def test_a_large_board_stays_small(tmp_path, record_property):
    """10 models, 12,032 items, 20 replicates: under 10 MB; and what it costs, for the record."""
    models, items = [f"model{i}" for i in range(10)], [f"item{i:05}" for i in range(12_032)]
    path = tmp_path / "large.db"
    board = Board.create(path, BoardDesign(), models=models, items=items)
    adding = []
    for number in range(1, 21):
        replicate = scores(number, models, items)
        began = time.perf_counter()
        board.add(replicate)
        adding.append(time.perf_counter() - began)
    size = sum(each.stat().st_size for each in tmp_path.iterdir())
    assert size < 10_000_000
    file = table(tmp_path / "one.csv", 21, models, items)
    began = time.perf_counter()
    read = read_scores(file)
    reading = time.perf_counter() - began
    assert board.add(read).replicates == (21,)
    measured = {"bytes": size, "add_s": float(np.median(adding)), "last_add_s": adding[-1], "read_csv_s": reading}
    record_property("large board", measured)
    sys.stdout.write(f"large board: {measured}\n")
