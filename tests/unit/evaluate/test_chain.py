"""Journals that another program has changed, or that a disk has damaged."""

import json
import random

import pytest

from bbedge.errors import EvaluationError
from bbedge.evaluate.events import Looked, SampleDone
from bbedge.evaluate.journal import Journal
from bbedge.evaluate.journal_file import append, read_chain
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.study_board import journal_of, open_board
from bbedge.records.journal import Done, Failed, Sent, Usage
from bbedge.study.synthetic import SyntheticBenchmark
from fake_engine import FakeEngine, fake_study

FINISHED = {"root": "r", "replicate": 1, "usage": {}, "wasted": {}, "samples": 1, "lost": 0, "traces": {}}
TIED = SyntheticBenchmark(means=(0.5, 0.5, 0.5), n_items=12, offset=0.0)


def done(sample, score=0.25):
    return Done(model="a", sample=sample, scores={sample: score}, usage=Usage(calls=1), trace="t")


def filled(folder):
    """A folder with two finished replicates and a page in progress."""
    with Journal(folder, root="r", protocol="p") as journal:
        for replicate in (1, 2):
            page = journal.page(replicate)
            page.add(done("s1"))
            journal.finish(page, traces={"a": "x"})
        page = journal.page(3)
        page.add(Sent(model="a", sample="s1"))
        page.add(done("s1"))
        page.add(Failed(model="a", sample="s2", error="no", usage=Usage(calls=2, tokens={"m": (3, 4)})))
        page.add(done("s3"))
        page.close()
    return {"replicate-00003.jsonl", "usage.jsonl"}


def read(folder):
    with Journal(folder, root="r", protocol="p") as journal:
        finished = journal.finished()
        page = journal.page(3)
        page.close()
        return finished, page.done


def edited(lines):
    return [lines[0], lines[1].replace(b'"calls":1', b'"calls":0').replace(b'"sent":1', b'"sent":2'), *lines[2:]]


def rescored(lines):
    return [line.replace(b"0.25", b"1.0").replace(b'"x"', b'"y"') for line in lines]


def inserted(lines):
    return [lines[0], lines[0], *lines[1:]]


def removed(lines):
    return lines[1:]


def moved(lines):
    return [lines[1], lines[0], *lines[2:]]


def stripped(lines):
    return [json.dumps({k: v for k, v in json.loads(line).items() if k != "sum"}).encode() + b"\n" for line in lines]


def padded(lines):
    return [lines[0].replace(b'{"', b'{ "'), *lines[1:]]


@pytest.mark.parametrize("change", [edited, rescored, inserted, removed, moved, stripped, padded])
@pytest.mark.parametrize("name", ["replicate-00003.jsonl", "usage.jsonl"])
def test_lines_that_another_program_changed_are_refused(tmp_path, name, change):
    assert name in filled(tmp_path)
    read(tmp_path)
    lines = (tmp_path / name).read_bytes().splitlines(keepends=True)
    (tmp_path / name).write_bytes(b"".join(change(lines)))
    with pytest.raises(EvaluationError, match=rf"{name}:\d: .*(checksum|damaged|version)"):
        read(tmp_path)


def test_a_page_of_another_protocol_is_refused(tmp_path):
    """A new board with another temperature in the old folder: its design and seeds are the same."""
    filled(tmp_path)
    with Journal(tmp_path, root="r", protocol="other") as journal:
        assert journal.finished() == []
        with pytest.raises(EvaluationError, match="belongs to another study"):
            journal.page(3)


@pytest.mark.parametrize("name", ["replicate-00003.jsonl", "usage.jsonl"])
def test_random_damage_is_an_error_or_a_torn_end(tmp_path, name):
    """Whatever bytes a file holds: never another exception, and never a line that was not written."""
    filled(tmp_path)
    path = tmp_path / name
    whole, rng = path.read_bytes(), random.Random(name)
    finished, samples = read(tmp_path)
    pieces = [
        b"\0", b"\xff\xfe", b"\n", b"\r\n", b"{}\n", b"[]\n", b"null\n", b"3\n", b'"text"\n', b'{"sum":[]}\n', b"NaN",
        b"1e999", b"9" * 5000, b"[" * 100_000 + b"\n", b'{"a":' * 50_000 + b"\n", b'\\ud800', b"\xe2\x80\xa8",
        b'{"model":1,"sample":[],"error":{}}\n', b'{"root":"r","usage":[],"replicate":"x"}\n',
    ]  # fmt: skip
    messages = set()
    for _ in range(300):
        place, kind = rng.randrange(len(whole)), rng.randrange(4)
        cut = place + rng.choice((1, 2, 20, 200))
        data = {
            0: whole[:place] + bytes([rng.randrange(256)]) + whole[place + 1 :],
            1: whole[:place] + rng.choice(pieces) + whole[place:],
            2: whole[:place] + whole[cut:],
            3: rng.choice(pieces) * rng.randrange(1, 3) + whole[rng.choice((0, place)) :],
        }[kind]
        path.write_bytes(data)
        try:
            now, done_ = read(tmp_path)
        except EvaluationError as error:
            messages.add(str(error))
        else:
            assert now == finished[: len(now)]
            assert done_.items() <= samples.items()
    assert messages
    assert all(name in message for message in messages)


@pytest.mark.parametrize(
    "line",
    [
        {"model": 3, "sample": "s", "error": "x", "usage": {"calls": 1, "tokens": {}, "seconds": 0}},
        {"model": "a", "sample": ["s"], "sent": 1},
        {"model": "a", "sample": "s", "sent": True},
        {"model": "a", "sample": "s", "error": "x"},
        {"model": "a", "sample": "s", "error": "x", "usage": [1]},
        {"model": "a", "sample": "s", "error": "x", "usage": {"calls": "x", "tokens": 3, "seconds": 0}},
        {"model": "a", "sample": "s", "error": "x", "usage": {"calls": 1, "tokens": {"m": [1]}, "seconds": 0}},
        {"lost": [1]},
        {"lost": {"a": "b"}},
        {},
        {"model": "a", "sample": "s", "scores": {"s": "1"}, "trace": None, "length": 0, "unseeded": [],
         "usage": {"calls": 1, "tokens": {}, "seconds": 0}},
        {"model": "a", "sample": "s", "scores": [], "trace": None, "length": 0, "unseeded": [],
         "usage": {"calls": 1, "tokens": {}, "seconds": 0}},
        FINISHED | {"replicate": True},
        FINISHED | {"usage": {"a": None}},
        FINISHED | {"traces": []},
        FINISHED | {"wasted": 1},
        FINISHED | {"samples": None},
        {key: value for key, value in FINISHED.items() if key != "lost"},
    ],
)  # fmt: skip
def test_values_of_the_wrong_type_are_an_error(tmp_path, line):
    name = "usage.jsonl" if "root" in line else "replicate-00003.jsonl"
    study = {"root": "r", "protocol": ""}
    contents = [study | line] if "root" in line else [study | {"replicate": 3}, line]
    head = read_chain(tmp_path / name, remedy="").head
    with (tmp_path / name).open("ab") as file:
        for content in contents:
            head = append(file, head, content, durable=False)
    with Journal(tmp_path, root="r") as journal:
        attempt = journal.finished if "root" in line else lambda: journal.page(3)
        with pytest.raises(EvaluationError, match=rf"{name}:[12]: the line is damaged"):
            attempt()


def test_a_file_with_another_name_is_not_passed_over(tmp_path):
    (tmp_path / "replicate-copy.jsonl").touch()
    with Journal(tmp_path, root="r") as journal, pytest.raises(EvaluationError, match="not a file of the journal"):
        journal.pages()


def interrupted(study, *, replicates):
    """Run some replicates and a part of the next one."""

    class Crash(BaseException):
        pass

    seen = []

    def watch(event):
        seen.append(event)
        if sum(isinstance(each, Looked) for each in seen) == replicates and isinstance(event, SampleDone):
            raise Crash

    with pytest.raises(Crash):
        evaluate(study, FakeEngine(TIED, announces=True), watch=watch, sleep=lambda _: None)


def test_checksums_cannot_be_stripped_from_a_study_that_was_begun_with_them(tmp_path):
    study = fake_study(tmp_path, TIED, budget=4)
    interrupted(study, replicates=2)
    for path in study.folder.glob("*.jsonl"):
        path.write_bytes(b"".join(stripped(path.read_bytes().splitlines())))
    with pytest.raises(EvaluationError, match="the line has no checksum"):
        evaluate(study, FakeEngine(TIED), sleep=lambda _: None)


def test_a_replicate_of_the_board_that_the_journal_lacks_is_named(tmp_path):
    study = fake_study(tmp_path, TIED, budget=3)
    evaluate(study, FakeEngine(TIED), sleep=lambda _: None)
    path = study.folder / "usage.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    with pytest.raises(EvaluationError, match=r"replicate 3 is on the board, but not in this file"):
        evaluate(study, FakeEngine(TIED), sleep=lambda _: None)
    path.unlink()
    ended = evaluate(study, FakeEngine(TIED), sleep=lambda _: None)
    assert (ended.spent.replicates, ended.spent.unknown, ended.spent.used) == (3, 3, Usage())


def test_a_sample_with_other_items_is_refused(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1)
    engine = FakeEngine(TIED)
    board = open_board(study, engine.benchmark())
    with journal_of(study, engine.benchmark(), board) as journal:
        page = journal.page(1)
        page.begin(1)
        page.add(Done(model=TIED.models[0], sample=TIED.blocks[0], scores={"other": 1.0}))
        page.close()
    board.close()
    with pytest.raises(EvaluationError, match="has other items than the benchmark"):
        evaluate(study, engine, sleep=lambda _: None)
