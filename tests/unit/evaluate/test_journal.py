import pytest

from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Done, Failed
from bbedge.evaluate.journal import Journal
from bbedge.evaluate.usage import Usage


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
        assert page.usage() == {"a": Usage(calls=3, tokens={"m": (10, 5)})}
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
    with Journal(tmp_path, root="r") as journal:
        journal.page(1).close()
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
