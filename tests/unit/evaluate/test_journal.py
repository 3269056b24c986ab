from contextlib import closing

import pytest
from msgspec.structs import replace

from bbedge.errors import EvaluationError
from bbedge.evaluate.journal import Journal
from bbedge.evaluate.journal_file import append, read_chain
from bbedge.records.journal import Done, Failed, Judged, Sent, Usage


def done(model="a", sample="s1", **usage):
    return Done(model=model, sample=sample, scores={sample: 0.25}, usage=Usage(**usage), trace="t", unseeded=("m",))


def test_what_was_added_is_there_again(tmp_path):
    with Journal(tmp_path / "run", root="r") as journal:
        page = journal.page(3)
        page.add(done(calls=2, tokens={"m": (10, 5)}))
        page.add(Failed(model="a", sample="s2", error="no", usage=Usage(calls=1)))
        page.close()
    with Journal(tmp_path / "run", root="r") as journal:
        page = journal.page(3)
        assert page.done == {("a", "s1"): done(calls=2, tokens={"m": (10, 5)})}
        assert page.record(1).usage == {"a": Usage(calls=3, tokens={"m": (10, 5)})}
        assert journal.pages() == (3,)
        journal.finish(page, traces={"a": "x"})
        assert journal.pages() == ()
        assert journal.finished()[0].usage["a"].calls == 3
    with Journal(tmp_path / "run", root="r") as journal:
        assert [each.replicate for each in journal.finished()] == [3]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_was_cut_short_is_forgotten_and_overwritten(tmp_path, cut):
    with Journal(tmp_path, root="r") as journal:
        page = journal.page(1)
        page.add(done(sample="s1"))
        page.add(done(sample="s2"))
        page.close()
        (file,) = tmp_path.glob("replicate-*.jsonl")
        file.write_bytes(file.read_bytes()[:-cut])
        page = journal.page(1)
        assert set(page.done) == {("a", "s1")}
        page.add(done(sample="s3"))
        page.close()
        page = journal.page(1)
        assert set(page.done) == {("a", "s1"), ("a", "s3")}
        page.close()


def test_other_damage_is_named_with_its_line(tmp_path):
    with Journal(tmp_path, root="r") as journal:
        page = journal.page(1)
        page.add(done())
        page.close()
        (file,) = tmp_path.glob("replicate-*.jsonl")
        for bad in (b"garbage\n", b'{"model":"a"}\n', b"[]\n"):
            file.write_bytes(file.read_bytes().splitlines(keepends=True)[0] + bad)
            with pytest.raises(
                EvaluationError, match=r"replicate-00001\.jsonl:2: the line (is damaged|has no checksum)"
            ):
                journal.page(1)


def test_a_page_of_another_study_is_refused(tmp_path):
    with Journal(tmp_path, root="r") as journal, closing(journal.page(1)) as page:
        page.begin(1)
    with Journal(tmp_path, root="other") as journal, pytest.raises(EvaluationError, match="belongs to another study"):
        journal.page(1)


def test_a_folder_has_one_user(tmp_path):
    with Journal(tmp_path, root="r"), pytest.raises(EvaluationError, match="in use"), Journal(tmp_path, root="r"):
        pass


def test_finishing_twice_counts_once(tmp_path):
    with Journal(tmp_path, root="r") as journal:
        page = journal.page(1)
        page.add(done(calls=1))
        journal.finish(page, traces={})
        again = journal.page(1)
        again.add(done(calls=1))
        journal.finish(again, traces={})
        assert [each.usage["a"].calls for each in journal.finished()] == [1]


def judged(number=1, answer="x", **usage):
    return Judged(
        model="a",
        sample="s1",
        judgement=number,
        scorer="judge",
        answer=answer,
        score={"value": {"s1": 0.1 + 0.2}, "answer": None, "metadata": {"deep": [1, True, None]}},
        replies=("because",),
        usage=Usage(**usage),
        unseeded=("m",),
    )


def opened_twice(folder):
    """The page as it is, and as it is read again after a crash."""
    with Journal(folder, root="r") as journal:
        for _ in range(2):
            page = journal.page(1)
            try:
                yield page
            finally:
                page.close()


def test_a_judgement_is_there_again_although_its_sample_failed(tmp_path):
    for place, page in enumerate(opened_twice(tmp_path)):
        if place == 0:
            page.add(judged(1, calls=2, tokens={"j": (7, 3)}))
            page.add(Failed(model="a", sample="s1", error="no", usage=Usage(calls=1, tokens={"m": (10, 5)})))
            page.add(judged(2, calls=1, tokens={"j": (4, 1)}))
        first, second = judged(1, calls=2, tokens={"j": (7, 3)}), judged(2, calls=1, tokens={"j": (4, 1)})
        assert page.judged == {("a", "s1"): (first, second)}
        assert page.record(1).usage == page.wasted == {"a": Usage(calls=4, tokens={"m": (10, 5), "j": (11, 4)})}


def test_judgements_of_the_answer_that_is_scored_are_part_of_its_usage_and_others_are_wasted(tmp_path):
    for place, page in enumerate(opened_twice(tmp_path)):
        if place == 0:
            page.add(judged(1, "old", calls=5))
            page.add(judged(1, "new", calls=2, tokens={"j": (7, 3)}))
            page.add(replace(done(calls=1, tokens={"m": (10, 5)}), judged=("new",)))
        assert page.done["a", "s1"].usage == Usage(calls=3, tokens={"m": (10, 5), "j": (7, 3)})
        assert (page.wasted, page.judged) == ({"a": Usage(calls=5)}, {})
        assert page.record(1).usage["a"].calls == 8


def test_requests_of_a_finished_judgement_are_not_lost(tmp_path):
    pages = opened_twice(tmp_path)
    page = next(pages)
    page.add(Sent(model="a", sample="s1", calls=3))
    page.add(judged(1, calls=2))
    page = next(pages)
    assert page.settle() == 1
    assert (page.lost, page.record(1).usage) == ({"a": 1}, {"a": Usage(calls=3)})
    page.add(Sent(model="a", sample="s1"))
    page.add(judged(2, calls=1))
    assert page.settle() == 0
    page.add(replace(done(calls=1), judged=("x",)))
    assert (page.wasted, page.record(1).usage) == ({"a": Usage(calls=1)}, {"a": Usage(calls=5)})
    pages.close()


@pytest.mark.parametrize(
    "change",
    [{"answer": 3}, {"score": 0.5}, {"judgement": "1"}, {"replies": [1]}, {"usage": {"calls": None}}, {"scorer": None}],
)
def test_a_judgement_of_another_shape_is_damage(tmp_path, change):
    with Journal(tmp_path, root="r") as journal:
        page = journal.page(1)
        page.add(judged())
        page.close()
        chain = read_chain(page.path, remedy="")
        with page.path.open("wb") as file:
            head = append(file, read_chain(tmp_path / "none", remedy="").head, chain.lines[0], durable=False)
            append(file, head, chain.lines[1] | change, durable=False)
        with pytest.raises(EvaluationError, match=r"replicate-00001\.jsonl:2: the line is damaged"):
            journal.page(1)
