import numpy as np
import pytest

from bbedge.core.design import Design
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Leaderboard
from bbedge.errors import FormatError
from bbedge.evaluate.question import parse_question

MODELS = ("a", "b", "c", "d")


def leaderboard(*edges, tau=0.0, bounds=None, replicates=3):
    """Certified edges as texts like "ab"."""
    design = Design.make(MODELS, ["q1", "q2"], tau=tau)
    matrix = np.zeros((4, 4), dtype=bool)
    for winner, loser in edges:
        matrix[MODELS.index(winner), MODELS.index(loser)] = True
    lower = np.full((4, 4), -1.0)
    for (winner, loser), value in (bounds or {}).items():
        lower[MODELS.index(winner), MODELS.index(loser)] = value
    graph = Graph(matrix)
    return Leaderboard(
        design=design,
        replicates=replicates,
        means=np.array([0.8, 0.6, 0.4, 0.2]),
        log_e=np.zeros((4, 4)),
        log_thresholds=np.full((4, 4), 5.0),
        lower_bounds=lower,
        graph=graph,
        current_edges=np.zeros((4, 4), dtype=bool),
        first_certified=matrix.astype(np.int64),
        looks=(),
    )


def asked(text, board):
    return parse_question(text, MODELS).answer(board)


def test_all_pairs_needs_every_pair_and_takes_paths():
    chain = leaderboard("ab", "bc", "cd")
    assert asked("all-pairs", chain).answered
    part = asked("all-pairs", leaderboard("ab", "bc"))
    assert not part.answered
    assert part.text == "3 of 6 pairs certified"
    assert {frozenset(pair) for pair in part.open_pairs} == {frozenset(p) for p in ("ad", "bd", "cd")}


def test_what_stands_counts_not_what_the_last_look_shows():
    board = leaderboard("ab", "bc", "cd")
    assert board.current_edges.sum() == 0
    assert asked("best", board).answered


def test_top_k_and_best():
    board = leaderboard("ac", "ad", "bc", "bd")
    answer = asked("top-2", board)
    assert answer.answered
    assert answer.text == "the Top-2 are a, b"
    best = asked("best", board)
    assert not best.answered
    assert best.open_pairs == (("a", "b"),)
    assert "0 models are certainly in the Top-1, 2 certainly not" in best.text


def test_ranks_within_a_width():
    board = leaderboard("ac", "ad", "bc", "bd")
    assert asked("ranks within 1", board).answered
    exact = asked("ranks within 0", board)
    assert not exact.answered
    assert exact.open_pairs == (("a", "b"), ("c", "d"))


def test_a_pair_is_answered_yes_no_and_by_its_margin():
    assert asked("a > b", leaderboard("ab")).text == "yes: a > b"
    assert asked("a > b", leaderboard("ba")).text == "no: b > a"
    assert asked("a > c", leaderboard("ab", "bc")).answered
    open_ = asked("a > b", leaderboard())
    assert not open_.answered
    assert open_.open_pairs == (("a", "b"),)
    small = leaderboard(tau=0.1, bounds={"ba": -0.08})
    assert asked("a > b by 0.1", small).text == "no: by its margin, a is ahead of b by at most 0.08"
    assert not asked("a > b by 0.1", leaderboard(tau=0.1, bounds={"ba": -0.12})).answered
    assert not asked("a > b", leaderboard(bounds={"ba": -0.0})).answered  # a margin of 0 is not "b is better"


def test_models_with_no_open_pair_are_settled():
    board = leaderboard("ab", "bc", "bd")
    question = parse_question("all-pairs", MODELS)
    assert question.needed(board, drop="settled") == {"c", "d"}
    assert question.needed(board, drop="unneeded") == {"c", "d"}
    assert question.needed(board, drop="never") == set(MODELS)
    assert question.needed(leaderboard(), drop="settled") == set(MODELS)


def test_the_question_needs_fewer_models_than_are_open():
    board = leaderboard("bc", "bd")  # a ? everybody, c ? d
    best = parse_question("best", MODELS)
    assert best.needed(board, drop="settled") == set(MODELS)
    assert best.needed(board, drop="unneeded") == {"a", "b"}
    pair = parse_question("c > d", MODELS)
    assert pair.needed(board, drop="unneeded") == {"c", "d"}
    ranks = parse_question("ranks within 0", MODELS)
    assert ranks.needed(leaderboard("ab", "ac", "ad"), drop="unneeded") == {"b", "c", "d"}


@pytest.mark.parametrize("k", [1, 2, 3])
def test_dropping_what_top_k_does_not_need_never_hides_the_answer(k):
    """Random certified graphs of a true order, models dropped greedily: the rest always gets there."""
    rng = np.random.default_rng(k)
    question = parse_question(f"top-{k}", MODELS)
    for _ in range(200):
        edges = {a + b for i, a in enumerate(MODELS) for b in MODELS[i + 1 :] if rng.random() < 0.4}
        active = set(MODELS)
        while not (answer := question.answer(leaderboard(*edges))).answered:
            active &= question.needed(leaderboard(*edges), drop="unneeded")
            assert len(active) >= 2, (edges, answer)
            missing = [
                a + b for i, a in enumerate(MODELS) for b in MODELS[i + 1 :] if {a, b} <= active and a + b not in edges
            ]
            assert missing, (edges, active)
            edges.add(missing[int(rng.integers(len(missing)))])


def test_models_that_contradict_each_other_are_open():
    assert not asked("all-pairs", leaderboard("ab", "ba", "ac", "ad", "bc", "bd", "cd")).answered


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("top-4", "choose K from 1 to 3"),
        ("top-0", "is not a question"),
        ("best of all", "is not a question"),
        ("a > e", "names a model that is not in the study"),
        ("a > a", "names a model"),
        ("a > b by 1.5", "give a number from 0 up to 1"),
        ("ranks within two", "is not a question"),
        ("", "is not a question"),
    ],
)
def test_questions_that_cannot_be_asked(text, message):
    with pytest.raises(FormatError, match=message):
        parse_question(text, MODELS, source="study.toml: question")


def test_names_may_contain_the_words_of_a_question():
    models = ("x > y", "y", "x", "y by 0.5")
    question = parse_question("x > y > y by 0.5", models)
    assert (question.better, question.worse, question.by) in {("x > y", "y by 0.5", None), ("x > y", "y", 0.5)}
    assert parse_question("x > y by 0.25", models).by == 0.25


def test_of_millions_of_open_pairs_only_the_nearest_are_named(monkeypatch):
    monkeypatch.setattr("bbedge.evaluate.question.MOST_PAIRS", 2)
    board = leaderboard("ab")
    board.log_e[3, 0], board.log_e[2, 1], board.log_e[0, 2] = 3.0, 4.0, np.nan
    answer = asked("all-pairs", board)
    assert answer.open_pairs == (("b", "c"), ("a", "d"))
    assert answer.n_open == 5
    assert parse_question("ranks within 2", MODELS).needed(board, drop="unneeded") == set(MODELS)
