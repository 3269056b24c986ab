"""What a store of boards promises, whatever database is behind it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from urllib.parse import quote

import pytest

from bbedge.errors import BoardError
from bbedge.ledger.chain import LedgerEvent
from bbedge.ledger.heads import LedgerHead, read_heads
from bbedge.ledger.store import Store, Vector
from unit.board.forging import event_after


def chain(count: int) -> list[LedgerEvent]:
    """That many events, each after the one before."""
    events: list[LedgerEvent] = []
    for number in range(count):
        content = {"number": number, "text": "ü \x00 \ud800 '\"", "big": 0.1 + number}
        events.append(
            event_after(events[-1] if events else None, "init" if not number else "retire", f"t{number}", content)
        )
    return events


def vector(replicate: int = 1, model: str = "a", data: bytes = b"B\xff", epoch: int = 1) -> Vector:
    return Vector(epoch=epoch, replicate=replicate, model=model, data=data)


def made(place: str) -> Store:
    """A store that has begun to exist: its first transaction is kept."""
    store = Store(place, create=True)
    with store.write():
        pass
    return store


@pytest.fixture
def store(place):
    return made(place)


def everything(store: Store) -> tuple[object, ...]:
    with store.read() as session:
        places = session.vector_places()
        data = {(epoch, r): session.vectors(epoch, r) for epoch, r, _, _ in places}
        return session.events(), session.head(), places, data, session.cache()


def with_heads(place: str) -> set[str]:
    """What may be in the folder of a board: its file, and that of its heads."""
    name = place.rpartition("/")[2]
    return {name, f"{name}.heads.jsonl"}


def test_a_new_store_is_empty_and_can_be_opened_again(place):
    made(place).close()
    again = Store(place)
    assert everything(again) == ([], None, [], {}, {})
    assert again.problems() == []
    assert again.is_sqlite == ("://" not in place)
    assert everything(Store(place, create=True)) == ([], None, [], {}, {})


def test_where_nothing_was_made_nothing_is_opened(place):
    with pytest.raises(BoardError, match="bbedge board init"):
        Store(place)


def test_before_the_first_transaction_is_kept_there_is_nothing(place, tmp_path, sql):
    """Neither a file nor a table, whether nothing was written, an error came, or the process was killed."""
    store = Store(place, create=True)
    for _ in range(2):
        with pytest.raises(BoardError, match="there is no"), store.read():
            pass
        with pytest.raises(BoardError, match="there is no"):
            Store(place)
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(RuntimeError), store.write() as session:  # noqa: PT012 - the transaction is what is tested
            session.append(chain(1)[0])
            raise RuntimeError
    with store.write() as session:
        session.append(chain(1)[0])
    assert everything(store) == everything(Store(place))
    assert len(everything(store)[0]) == 1
    assert {file.name for file in tmp_path.iterdir()} <= with_heads(place)


def test_two_stores_that_are_about_to_make_the_board_make_one(place):
    first, second = Store(place, create=True), Store(place, create=True)
    with first.write() as session:
        session.append(chain(1)[0])
    with second.write() as session:
        assert len(session.events()) == 1
        session.append(chain(2)[1])
    assert len(everything(first)[0]) == 2


def test_a_board_that_must_be_new_gives_way_to_one_that_came_meanwhile(place, tmp_path, kind):
    new, quick = Store(place, create=True), Store(place, create=True)
    if kind == "sqlite":
        with pytest.raises(BoardError, match="a board is here already"), new.write_first() as session:  # noqa: PT012
            session.append(chain(1)[0])
            with quick.write() as other:
                other.append(chain(1)[0])
                other.put_cache({0: b"quick"})
    else:  # there, the one who came first keeps the other waiting
        with quick.write() as other:
            other.append(chain(1)[0])
            other.put_cache({0: b"quick"})
        with pytest.raises(BoardError, match="a board is here already"), new.write_first():
            pass
    assert everything(Store(place))[4] == {0: b"quick"}
    assert {file.name for file in tmp_path.iterdir()} <= with_heads(place)


def test_opening_leaves_no_trace_where_there_is_no_board(place, tmp_path):
    for _ in range(2):
        with pytest.raises(BoardError, match="there is no"):
            Store(place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["0", "2", "x", "", "-1"])
def test_another_version_is_refused_by_name(store, place, sql, value):
    sql(place, f"UPDATE bbedge_meta SET value = '{value}' WHERE key = 'version'")
    for create in (False, True):
        with pytest.raises(BoardError, match=f"the board is of version {value}, and this bbedge reads version 1; use"):
            Store(place, create=create)


def test_a_board_without_a_version_is_refused(store, place, sql):
    sql(place, "DELETE FROM bbedge_meta WHERE key = 'version'")
    for create in (False, True):
        with pytest.raises(BoardError, match="the board states no version"):
            Store(place, create=create)


def test_making_the_tables_again_keeps_what_is_there(store, place):
    (event,) = chain(1)
    with store.write() as session:
        session.append(event)
    assert everything(Store(place, create=True)) == everything(store)


def test_events_come_back_in_order_and_unchanged(store):
    events = chain(12)
    with store.write() as session:
        # Written out of order: the ledger is ordered by its numbers, not by how the rows lie.
        for event in [*events[6:], *events[:6]]:
            session.append(event)
    with store.read() as session:
        assert session.events() == events


def test_the_head_is_that_of_the_last_event_appended(store):
    for event in chain(3):
        with store.write() as session:
            session.append(event)
            assert session.head() == event.hash
        with store.read() as session:
            assert session.head() == event.hash


def test_an_event_number_is_given_once(store):
    first, second = chain(2)
    with store.write() as session:
        session.append(first)
    before = everything(store)
    with pytest.raises(BoardError, match="the database answered"), store.write() as session:  # noqa: PT012
        session.append(second)
        session.append(first)
    assert everything(store) == before


def test_vectors_come_back_byte_for_byte(store):
    (event,) = chain(1)
    every_byte = bytes(range(256))
    vectors = [
        vector(model="a", data=every_byte),
        vector(model="ü 模型 '\";--", data=b"\x00"),
        vector(model="A", data=b""),
        vector(model="b" * 5000, data=b"\x00\xff" * 20_000),
        vector(replicate=-1, model="a", data=b"pilot"),
        vector(epoch=2, model="a", data=b"later"),
    ]
    with store.write() as session:
        session.append(event)
        session.put_vectors(event.seq, vectors)
        session.put_vectors(event.seq, [])
    with store.read() as session:
        assert session.vectors(1, 1) == {v.model: v.data for v in vectors[:4]}
        assert all(type(data) is bytes for data in session.vectors(1, 1).values())
        assert session.vectors(1, -1) == {"a": b"pilot"}
        assert session.vectors(2, 1) == {"a": b"later"}
        assert session.vectors(3, 1) == {}
        assert {place[:3] for place in session.vector_places()} == {(v.epoch, v.replicate, v.model) for v in vectors}
        assert {place[3] for place in session.vector_places()} == {event.seq}
        assert session.bad_checksum() is None


def test_a_vector_is_stored_once(store):
    (event,) = chain(1)
    with store.write() as session:
        session.append(event)
        session.put_vectors(1, [vector(data=b"first")])
    with pytest.raises(BoardError), store.write() as session:
        session.put_vectors(1, [vector(data=b"second")])
    with store.read() as session:
        assert session.vectors(1, 1) == {"a": b"first"}


def test_a_vector_belongs_to_an_event(store):
    with pytest.raises(BoardError), store.write() as session:
        session.put_vectors(7, [vector()])
    assert everything(store) == ([], None, [], {}, {})


@pytest.mark.parametrize("name", ["a\x00b", "a\ud800b"])
def test_a_name_that_the_database_cannot_hold_is_refused_not_mangled(store, name):
    (event,) = chain(1)
    try:
        with store.write() as session:
            session.append(event)
            session.put_vectors(1, [vector(model=name)])
    except BoardError:
        assert everything(store) == ([], None, [], {}, {})
    else:
        with store.read() as session:
            assert session.vectors(1, 1) == {name: b"B\xff"}


def test_a_vector_that_was_changed_is_found(store, place, sql):
    (event,) = chain(1)
    with store.write() as session:
        session.append(event)
        session.put_vectors(1, [vector(model="a"), vector(model="b", data=b"B\x0f")])
    sql(place, "UPDATE bbedge_vectors SET checksum = 'none' WHERE model = 'b'")
    with store.read() as session:
        assert session.bad_checksum() == (1, 1, "b")


def test_the_cache_keeps_the_last_state_of_each_claim(store):
    for states in ({0: b"old", 1: b"one"}, {0: b"new\x00"}, {}, {2: b""}):
        with store.write() as session:
            session.put_cache(states)
    with store.read() as session:
        assert session.cache() == {0: b"new\x00", 1: b"one", 2: b""}


class Interruption(BaseException):
    """Not an Exception, as KeyboardInterrupt is not."""


@pytest.mark.parametrize("error", [BoardError, RuntimeError, KeyboardInterrupt, Interruption])
def test_an_error_inside_a_transaction_leaves_nothing(store, error):
    first, second = chain(2)
    with store.write() as session:
        session.append(first)
        session.put_vectors(1, [vector()])
        session.put_cache({0: b"kept"})
    before = everything(store)
    with pytest.raises(error), store.write() as session:  # noqa: PT012 - the transaction is what is tested
        session.append(second)
        session.put_vectors(2, [vector(replicate=2)])
        session.put_cache({0: b"lost", 1: b"lost"})
        raise error
    assert everything(store) == before
    with store.write() as session:  # the lock went with the transaction
        session.append(second)
    assert len(everything(store)[0]) == 2


def test_a_process_that_dies_inside_a_transaction_leaves_nothing_and_no_lock(store, place):
    script = (
        "import os, signal, sys\n"
        "from bbedge.ledger.chain import LedgerEvent\n"
        "from bbedge.ledger.store import Store, Vector\n"
        "with Store(sys.argv[1]).write() as session:\n"
        "    session.append(LedgerEvent.after(None, 'init', 'now', '{}'))\n"
        "    session.put_vectors(1, [Vector(epoch=1, replicate=1, model='a', data=b'x' * 100_000)])\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, place], env=os.environ, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert everything(store) == ([], None, [], {}, {})
    with store.write() as session:
        session.append(chain(1)[0])
    assert len(everything(store)[0]) == 1
    assert store.problems() == []


def test_what_is_being_written_is_seen_by_nobody_else(store, place):
    first, second = chain(2)
    with store.write() as session:
        session.append(first)
    before = everything(store)
    with store.write() as session:
        session.append(second)
        session.put_vectors(2, [vector()])
        assert everything(Store(place)) == before
    assert len(everything(Store(place))[0]) == 2


def test_a_reader_keeps_its_view_while_others_write(store, place):
    first, second = chain(2)
    with store.write() as session:
        session.append(first)
    with store.read() as reader:
        assert reader.events() == [first]
        with Store(place).write() as session:
            session.append(second)
            session.put_vectors(2, [vector()])
        assert reader.events() == [first]
        assert reader.head() == first.hash
        assert reader.vector_places() == []
    with store.read() as reader:
        assert reader.events() == [first, second]


def test_a_writer_that_waits_too_long_is_told(place, monkeypatch):
    monkeypatch.setattr("bbedge.ledger.location.BUSY_SECONDS", 0.5)
    store = made(place)
    other = Store(place)
    with store.write() as session:
        session.append(chain(1)[0])
        with pytest.raises(BoardError, match="another program kept writing"), other.write():
            pass
    with other.write() as session:
        assert len(session.events()) == 1


def test_when_the_server_drops_the_connection_nothing_is_kept(new_place, sql):
    place = new_place("postgresql")
    store = made(place)
    with pytest.raises(BoardError, match="the database answered"), store.write() as session:  # noqa: PT012
        session.append(chain(1)[0])
        sql(
            place,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        session.put_vectors(1, [vector()])
    assert everything(store) == ([], None, [], {}, {})


def test_the_heads_of_a_database_are_in_the_file_that_its_url_names(new_place, tmp_path):
    place, file = new_place("postgresql"), tmp_path / "of a database.jsonl"
    named = f"{place}?heads={quote(str(file))}"
    with Store(named, create=True).write() as session:
        for event in chain(2):
            session.append(event)
    heads = [LedgerHead.from_event(event) for event in chain(2)]
    assert read_heads(file) == heads
    with Store(place).write() as session:  # without the parameter there is no file to append to
        session.append(chain(3)[-1])
    assert read_heads(file) == heads
    Store(named)
    assert [head.number for head in read_heads(file)] == [1, 2, 3]


def test_two_boards_in_two_places_do_not_meet(new_place, kind):
    one, other = (made(new_place(kind)) for _ in range(2))
    with one.write() as session:
        session.append(chain(1)[0])
        with other.write() as second:  # not kept waiting either
            second.put_cache({0: b"x"})
    assert len(everything(one)[0]) == 1
    assert everything(other)[0] == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://someone:secret@127.0.0.1:1/board", "127.0.0.1:1"),
        ("postgresql://someone:secret@127.0.0.1:port/board", "not a database|URL"),
        ("mysql://someone:secret@localhost/board", "PostgreSQL, not in mysql"),
        ("sqlite:///board.db", "PostgreSQL, not in sqlite"),
        ("nothing://someone:secret@localhost/board", "PostgreSQL, not in nothing"),
    ],
)
def test_a_place_that_cannot_be_reached_is_refused_without_telling_the_password(url, words):
    for create in (False, True):
        with pytest.raises(BoardError, match=words) as refusal:
            Store(url, create=create)
        assert "secret" not in str(refusal.value)
