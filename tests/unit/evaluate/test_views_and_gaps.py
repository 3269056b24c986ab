"""Studies with views, and samples that fail for good and count as missing."""

import json
import math
from contextlib import closing

import numpy as np
import pytest

from bbedge.board import Board
from bbedge.cli.evaluate_screen import line
from bbedge.errors import BbedgeError, BoardError, DesignError, EvaluationError, FormatError
from bbedge.evaluate.events import Looked, SampleMissing, plain
from bbedge.evaluate.journal import Journal
from bbedge.evaluate.question import parse_question
from bbedge.evaluate.runner import evaluate
from bbedge.records.journal import Done
from bbedge.study.synthetic import SyntheticBenchmark
from bbedge.verify.ledger import verify
from fake_engine import FakeEngine, fake_study

OPPOSED = SyntheticBenchmark(means=(0.5, 0.5), n_items=24, offset=0.0, heterogeneity=0.35)
"""Two models that are equal on average: the first is better in the first half, the other in the second."""
FAR = SyntheticBenchmark(means=(0.85, 0.35, 0.12), n_items=24, offset=0.0)
VIEWS = {"column": "half"}


def half(item):
    return "first" if item in OPPOSED.items[:12] else "second"


def run(study, engine, **options):
    seen = []
    ended = evaluate(study, engine, watch=seen.append, sleep=lambda _: None, **options)
    return ended, seen


def opposed(folder, **values):
    return fake_study(folder, OPPOSED, **values), FakeEngine(OPPOSED, columns={"half": half})


def stored(study, replicate):
    with closing(Board.open(study.board)) as board, board.store.read() as session:
        from bbedge.board.stored_scores import StoredScores

        return StoredScores(session).panel(board.state.epoch, replicate)


def test_a_question_about_a_view(tmp_path):
    study, engine = opposed(tmp_path, question="best", view="second", views=VIEWS, drop="unneeded")
    ended, seen = run(study, engine)
    assert (ended.reason, ended.answer.text) == ("answered", "the best is model-2")
    assert study.question.text == "best, view second"
    assert ended.leaderboard.view("second").certified("model-2", "model-1")
    assert not ended.leaderboard.graph.n_edges
    looked = [event for event in seen if isinstance(event, Looked)]
    assert ("model-2", "model-1") in looked[-1].new_view_edges["second"]
    assert "model-2 > model-1 (second)" in line(looked[-1])
    content = json.loads(json.dumps(plain(looked[-1]), allow_nan=False))
    assert content["views"]["second"] == {
        "ranks": {"model-1": [2, 2], "model-2": [1, 1]},
        "new_edges": [["model-2", "model-1"]],
    }
    with closing(Board.open(study.board)) as board:
        verify(board.store)


def test_the_other_view_has_the_other_answer(tmp_path):
    study, engine = opposed(tmp_path, question="model-2 > model-1", view="first", views=VIEWS)
    ended, _ = run(study, engine)
    assert ended.answer.text == "no: model-1 > model-2"


def test_without_views_events_are_as_before(tmp_path):
    ended, seen = run(fake_study(tmp_path, FAR), FakeEngine(FAR))
    assert all("views" not in plain(event) for event in seen)
    assert ended.reason == "answered"


def test_models_run_until_every_view_is_settled(tmp_path):
    """What stops, stops in all views, so that drop = settled asks all of them."""
    study, _ = opposed(tmp_path, question="best", views=VIEWS)
    ended, _ = run(study, FakeEngine(OPPOSED, columns={"half": half}), at_most=6)
    assert ended.leaderboard.view("second").certified("model-2", "model-1")
    assert ended.retired == ()
    asked = parse_question("best", ["model-1", "model-2"], view="second")
    assert asked.needed(ended.leaderboard, drop="settled") == {"model-1", "model-2"}


@pytest.mark.parametrize("view", ["third", "headline"])
def test_a_view_that_there_is_not(tmp_path, view):
    study, engine = opposed(tmp_path, question="best", view=view, views=VIEWS)
    with pytest.raises(DesignError, match=f"view: there is no view '{view}'; the views are 'first', 'second'"):
        run(study, engine)
    plain_study = fake_study(tmp_path / "plain", FAR, view="first")
    with pytest.raises(DesignError, match="there are no views besides the headline"):
        run(plain_study, FakeEngine(FAR))


def test_columns_that_changed_after_the_study_had_begun(tmp_path):
    study, engine = opposed(tmp_path, views=VIEWS)
    run(study, engine, at_most=1)
    other = FakeEngine(OPPOSED, columns={"half": lambda item: "second" if half(item) == "first" else "first"})
    with pytest.raises(BoardError, match="the categories or weights of its items are not those of the benchmark"):
        run(study, other, at_most=1)
    with pytest.raises(BoardError, match="'views' differ; make a new board"):
        run(opposed(tmp_path, views=VIEWS | {"others": 0.3})[0], engine, at_most=1)
    run(study, engine, at_most=1)


def test_a_benchmark_without_the_column(tmp_path):
    with pytest.raises(BbedgeError, match="no column 'half', which the design uses"):
        run(fake_study(tmp_path, OPPOSED, views=VIEWS), FakeEngine(OPPOSED))


@pytest.mark.parametrize("where", ["beside", "inside"])
def test_the_tables_stand_beside_the_design_or_in_it(tmp_path, where):
    tables = {"headline": {"macro": "half"}, "views": VIEWS | {"shares": {"first": 0.2}}}
    study = fake_study(tmp_path, OPPOSED, **(tables if where == "beside" else {"design": tables}))
    assert study.design.headline.macro == "half"
    assert study.design.views.shares == {"first": 0.2}
    both = tables | {"design": {"views": VIEWS}}
    with pytest.raises(FormatError, match=r"\[views\]: it is also under \[design\]"):
        fake_study(tmp_path, OPPOSED, **both)


def test_a_sample_that_fails_for_good_is_missing(tmp_path):
    study = fake_study(tmp_path, FAR, on_error="worst-case")
    assert study.design.incomplete == "worst-case"
    lost = FAR.blocks[3]
    engine = FakeEngine(FAR, fails=lambda replicate, model, sample, _: model == "model-1" and sample == lost)
    ended, seen = run(study, engine)
    assert ended.reason == "answered"
    missing = [event for event in seen if isinstance(event, SampleMissing)]
    assert [(event.replicate, event.model, event.sample) for event in missing] == [
        (replicate, "model-1", lost) for replicate in range(1, 1 + len(missing))
    ]
    assert ended.leaderboard.gaps.of_models == (len(missing), 0, 0)
    panel = stored(study, 1)
    assert np.flatnonzero(np.isnan(panel["model-1"])).tolist() == [3]
    assert not np.isnan(panel["model-2"]).any()
    assert engine.tries[1, "model-1", lost] == 1 + study.file.run.retries
    for event in seen:
        json.dumps(plain(event), allow_nan=False)
    with closing(Board.open(study.board)) as board:
        verify(board.store)
        assert "are missing and count against whichever model they could help" in board.noted[0].text


def test_a_model_that_fails_altogether_stops_the_study(tmp_path):
    """Its run is missing then, and not some of its scores; nothing is recorded that a later call could not run."""
    study = fake_study(tmp_path, FAR, on_error="worst-case")
    down = FakeEngine(FAR, fails=lambda _, model, __, ___: model == "model-3")
    with pytest.raises(EvaluationError, match="replicate 1 is not complete: 24 samples failed 4 times"):
        run(study, down)
    ended, _ = run(study, FakeEngine(FAR))
    assert ended.reason == "answered"
    assert ended.leaderboard.gaps is None


def test_a_gap_is_final_after_an_interruption(tmp_path):
    """A sample that was given up is not run again, although it would succeed now."""
    study = fake_study(tmp_path, FAR, on_error="worst-case")
    lost = FAR.blocks[3]

    class KilledError(Exception):
        pass

    def kill(event):
        if isinstance(event, SampleMissing):
            raise KilledError

    engine = FakeEngine(FAR, fails=lambda _, model, sample, __: model == "model-1" and sample == lost)
    with pytest.raises(KilledError):
        evaluate(study, engine, watch=kill, sleep=lambda _: None)
    again = FakeEngine(FAR)
    run(study, again, at_most=1)
    assert (1, "model-1", lost) not in again.ran
    assert math.isnan(stored(study, 1)["model-1"][3])


def test_the_journal_keeps_a_missing_score_as_null(tmp_path):
    with Journal(tmp_path, root="r") as journal:
        page = journal.page(1)
        page.add(Done(model="a", sample="s", scores={"q": None, "r": 0.5}))
        page.close()
        assert '"scores":{"q":null,"r":0.5}' in page.path.read_text().replace(" ", "")
        again = journal.page(1)
        assert again.done["a", "s"].scores == {"q": None, "r": 0.5}
        assert again.done["a", "s"].scores["r"] == 0.5
        again.close()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"on_error": "worst-case", "design": {"incomplete": "zero"}}, "on_error: worst-case, but incomplete = 'zero'"),
        ({"design": {"incomplete": "worst-case"}}, "incomplete = 'worst-case' has no meaning with on_error = 'wait'"),
        ({"on_error": "zero", "design": {"incomplete": "zero"}}, "has no meaning with on_error = 'zero'"),
        ({"on_error": "skip"}, "'on_error' = 'skip' is not one of wait, worst-case, zero"),
        ({"views": {"colum": "x"}}, "unknown key 'colum' in 'views'"),
        ({"views": "x"}, "'views' = 'x' is not a record"),
        (
            {"question": "best", "view": "first", "design": {"family": "pilot-top-k", "k": 1, "pilot": 1}},
            "view: a pilot chooses by the headline",
        ),
    ],
)
def test_studies_that_are_refused(tmp_path, values, message):
    with pytest.raises(BbedgeError, match=message):
        fake_study(tmp_path, FAR, **values)
