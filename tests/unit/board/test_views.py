"""Boards that compare several views: every one is stored, saved, exported and verified as the headline is."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from bbedge import certify
from bbedge.board import Board, BoardDesign
from bbedge.board.change import load, replay
from bbedge.core.scores import Scores
from bbedge.core.views import HEADLINE, category_weights, macro_weights
from bbedge.errors import BbedgeError, BoardError, DesignError
from bbedge.ledger.archive import export_lines, import_file, import_lines
from bbedge.records.design import Headline, Views
from bbedge.records.values import changed
from bbedge.verify.ledger import verify_session
from unit.board.boards import MEANS
from unit.board.forging import parsed

ITEMS = tuple(f"q{i}" for i in range(12))
CATEGORY = ("math",) * 3 + ("code",) * 9
MORE, MORE_CATEGORY = ("r0", "r1", "r2", "r3"), ("law",) * 4
DESIGN = BoardDesign(
    alpha=0.3, headline=Headline(macro="category"), views=Views(column="category", shares={"math": 0.2})
)
NUMBERS = ("log_e", "log_thresholds", "lower_bounds", "means", "first_certified", "log_w")


def panel(rng, models, items, n=1):
    """Binary scores; in math the order of the models is the other way round."""
    means = np.array([MEANS.get(model, 0.4) for model in models])
    of_items = np.where([item in ITEMS[:3] for item in items], 0.8 - 0.6 * means[:, None], means[:, None])
    return (rng.random((n, len(models), len(items))) < of_items).astype(float)


def runs(rng, models, items=ITEMS, n=1, start=1):
    made = Scores.of(panel(rng, models, items, n), models=models, items=items)
    return replace(made, numbered=True, replicates=tuple(str(start + r) for r in range(n)))


def make(folder, design=DESIGN, models=("a", "b", "c")):
    return Board.create(folder / "board.db", design, models=models, items=ITEMS, columns={"category": CATEGORY})


def whole_life(folder, n=12):
    rng = np.random.default_rng(3)
    board = make(folder)
    board.add(runs(rng, "abc", n=n))
    board.add_model("d", runs(rng, "d", n=n))
    board.retire("b")
    board.add(runs(rng, "acd", start=n + 1))
    board.add_items(MORE, columns={"category": MORE_CATEGORY})
    board.add(runs(rng, "acd", ITEMS + MORE, n=n))
    return board


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    return whole_life(tmp_path_factory.mktemp("lived"))


def assert_same(one, other):
    assert [view.name for view in one.views] == [view.name for view in other.views]
    for mine, theirs in ((one, other), *zip(one.views, other.views, strict=True)):
        assert mine.design.hash == theirs.design.hash
        np.testing.assert_array_equal(mine.edges, theirs.edges)
        np.testing.assert_array_equal(mine.current_edges, theirs.current_edges)
        assert mine.looks == theirs.looks
        for name in NUMBERS:
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


@pytest.mark.parametrize("method", ["bb-edge", "bb-edge-x"])
def test_a_board_concludes_what_certify_does(tmp_path, method):
    design = changed(DESIGN, method=method, margin_share=None, spending="equal", shares=1)
    board, scores = make(tmp_path, design), runs(np.random.default_rng(1), "abc", n=30)
    board.add(scores)
    expected = certify(
        scores,
        method=method,
        alpha=design.level(0),
        weights=macro_weights(CATEGORY),
        views=category_weights(CATEGORY),
        shares={"math": 0.2},
    )
    found = board.leaderboard()
    assert found.design.views == expected.design.views
    for mine, theirs in ((found, expected), *zip(found.views, expected.views, strict=True)):
        assert (mine.name, mine.replicates, mine.looks) == (theirs.name, theirs.replicates, theirs.looks)
        assert mine.design.share == theirs.design.share
        np.testing.assert_array_equal(mine.edges, theirs.edges)
        for name in NUMBERS:
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))
    assert found.view("code").certified("a", "c")
    assert found.view("math").certified("c", "a")


def test_every_view_is_in_the_ledger(tmp_path):
    board = make(tmp_path)
    added = board.add(runs(np.random.default_rng(1), "abc", n=30))
    events = [event.content for event in board.events[1:]]
    assert all(event.outcome.views.keys() == {"code", "math"} for event in events)
    assert added.edges
    assert added.views.keys() == {"code", "math"}
    leaderboard = board.leaderboard()
    for name, edges in {HEADLINE: added.edges, **added.views}.items():
        view = leaderboard if name == HEADLINE else leaderboard.view(name)
        assert {(edge.winner, edge.loser) for edge in edges} == {
            ("abc"[a], "abc"[b]) for a, b in np.argwhere(view.edges).tolist()
        }
        recorded = [
            edge
            for event in events
            for edge in (event.outcome if name == HEADLINE else event.outcome.views[name]).certified
        ]
        assert tuple(recorded) == edges
    created = board.events[0].content
    assert dict(created.columns) == {"category": CATEGORY}


def test_a_new_category_is_a_new_view(lived):
    first, second = lived.leaderboard(1), lived.leaderboard()
    assert [view.name for view in first.views] == ["code", "math"]
    assert [view.name for view in second.views] == ["code", "law", "math"]
    assert [view.design.share for view in first.views] == pytest.approx([0.4, 0.2])
    assert [view.design.share for view in second.views] == pytest.approx([0.2, 0.2, 0.2])
    assert first.design.share == second.design.share == pytest.approx(0.4)
    assert second.design.weights == macro_weights(CATEGORY + MORE_CATEGORY)
    assert second.view("law").graph.n_edges


def test_the_certificate_of_a_view_is_that_of_the_board(lived):
    view = lived.leaderboard().view("law")
    certificate = view.certificate()
    assert (certificate.name, certificate.content.view) == ("law", "law")
    assert certificate.content.board.head == lived.head
    assert view.to_json() == lived.certificate().to_json()
    first = lived.certificate(1)
    assert [each.name for each in first.views] == ["code", "math"]
    assert first.content.board.design.views.column == "category"


def test_views_have_the_evidence_of_every_look(tmp_path):
    board = make(tmp_path)
    board.add(runs(np.random.default_rng(1), "abc", n=4))
    content = board.certificate().content
    for part in (content, *content.views):
        assert list(part.history.replicates) == [1, 2, 3, 4]
    assert not np.array_equal(content.views[0].history.log_w, content.history.log_w, equal_nan=True)


def test_an_added_model_is_tested_in_every_view(lived):
    first = lived.leaderboard(1)
    place = first.design.models.index("d")
    for view in first.views:
        tested = np.isfinite(view.log_e)
        assert tested[place].sum() == tested[:, place].sum() == 3
    assert [stage.design.n_directions for stage in lived.state.epochs[0].stages] == [6, 6]


def test_saved_evidence_and_stored_scores_give_the_same_board(lived):
    with lived.store.read() as session:
        events, resumed = load(session)
        again = replay(session, events)
    for number in (0, 1):
        assert_same(resumed.leaderboard(resumed.epochs[number]), again.leaderboard(again.epochs[number]))


def test_a_board_that_is_opened_before_every_step_is_the_same(lived, tmp_path):
    rng, n = np.random.default_rng(3), 12
    make(tmp_path).close()
    steps = [
        lambda board: board.add(runs(rng, "abc", n=n)),
        lambda board: board.add_model("d", runs(rng, "d", n=n)),
        lambda board: board.retire("b"),
        lambda board: board.add(runs(rng, "acd", start=n + 1)),
        lambda board: board.add_items(MORE, columns={"category": MORE_CATEGORY}),
        lambda board: board.add(runs(rng, "acd", ITEMS + MORE, n=n)),
    ]
    for step in steps:
        with Board.open(tmp_path / "board.db") as board:
            step(board)
    with Board.open(tmp_path / "board.db") as board:
        assert [event.payload for event in board.events] == [event.payload for event in lived.events]


def test_export_import_and_verify(lived, tmp_path):
    done = lived.verify(lived.head)
    assert done.certificates == sum(
        int(stage.edges(view).sum())
        for epoch in lived.state.epochs
        for stage in epoch.stages
        for view in epoch.looks_at
    )
    lived.export(tmp_path / "all.jsonl")
    assert import_file(tmp_path / "all.jsonl", tmp_path / "copy.db", verify=verify_session) == done
    with Board.open(tmp_path / "copy.db") as board:
        assert board.head == lived.head
        assert_same(board.leaderboard(), lived.leaderboard())
        assert list(export_lines(board.store)) == list(export_lines(lived.store))


def test_the_registration_covers_the_columns(tmp_path):
    registered = {
        DESIGN.registration("ab", "qr", "qr", {"category": labels}) for labels in (("x", "y"), ("y", "x"), ("x", "x"))
    }
    assert len(registered) == 3
    board = make(tmp_path)
    assert board.registration == DESIGN.registration("abc", ITEMS, ITEMS, {"category": CATEGORY})
    make(tmp_path)  # the same again changes nothing
    with pytest.raises(BoardError, match="a board with another design"):
        Board.create(tmp_path / "board.db", DESIGN, models="abc", items=ITEMS, columns={"category": CATEGORY[::-1]})


def test_weights_are_the_same_however_they_are_written(tmp_path):
    design = BoardDesign(headline=Headline(weights="w"))
    for texts in (["2", "0.50"], ["2.0", ".5"], [" 2", "5e-1"]):
        board = Board.create(tmp_path / "w.db", design, models="ab", items="qr", columns={"w": texts})
        assert board.state.epoch.columns == {"w": ("2.0", "0.5")}
        assert board.leaderboard().design.weights == (2.0, 0.5)


def test_only_the_columns_that_the_design_uses_are_kept(tmp_path):
    columns = {"category": CATEGORY, "author": ("x",) * len(ITEMS)}
    board = Board.create(tmp_path / "a.db", DESIGN, models="ab", items=ITEMS, columns=columns)
    assert board.state.epoch.columns.keys() == {"category"}
    plain = Board.create(tmp_path / "b.db", BoardDesign(), models="ab", items=ITEMS, columns=columns)
    assert plain.events[0].content.columns == {}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (None, "the items have no column 'category', which the design uses"),
        ({"category": CATEGORY[:3]}, "the column 'category' has 3 entries for 12 items"),
        ({"category": (*CATEGORY[:11], "")}, "item 'q11' has nothing in the column 'category'"),
        ({"category": ("headline",) * 12}, "a view cannot be called headline"),
    ],
)
def test_columns_that_are_refused(tmp_path, columns, message):
    with pytest.raises(BbedgeError, match=message):
        Board.create(tmp_path / "board.db", DESIGN, models="abc", items=ITEMS, columns=columns)
    assert not (tmp_path / "board.db").exists()


def test_new_items_need_their_columns(tmp_path):
    board = make(tmp_path)
    head = board.head
    with pytest.raises(BoardError, match="the items have no column 'category'"):
        board.add_items(MORE)
    assert board.head == head


def test_a_category_that_the_design_leaves_nothing_for(tmp_path):
    design = BoardDesign(
        headline=Headline(share=0.5), views=Views(column="category", shares={"math": 0.25, "code": 0.25})
    )
    board = make(tmp_path, design)
    with pytest.raises(DesignError, match="nothing of alpha is left for the view 'law'"):
        board.add_items(MORE, columns={"category": MORE_CATEGORY})
    board.add_items(MORE, columns={"category": ("math",) * 4})


def _columns(forged):
    forged.rows[0]["content"]["columns"]["category"][0] = "code"


def _new_columns(forged):
    row = next(row for row in forged.rows if row["kind"] == "add-items")
    row["content"]["columns"]["category"] = ["math"] * 4


def _columns_gone(forged):
    forged.rows[0]["content"]["columns"] = {}


def _columns_left_out(forged):
    del forged.rows[0]["content"]["columns"]


def _another_column(forged):
    forged.rows[0]["content"]["columns"]["author"] = ["x"] * 12


def _last_replicate(forged):
    return next(row for row in reversed(forged.rows) if row["kind"] == "replicate")["content"]


def _edges(forged):
    seen = _last_replicate(forged)["views"]
    seen["law"]["current"] = seen["code"]["current"]
    seen["math"]["current"] = dict.fromkeys(seen["math"]["current"], "AAA=")


def _tally(forged):
    _last_replicate(forged)["views"]["law"]["look"]["edges"] += 1


def _view_gone(forged):
    del _last_replicate(forged)["views"]["law"]


def _view_more(forged):
    _last_replicate(forged)["views"]["art"] = _last_replicate(forged)["views"]["law"]


def _certified(forged):
    for row in forged.rows:
        for seen in row["content"].get("views", {}).values():
            if seen["certified"]:
                seen["certified"].pop()
                return


def _log_e(forged):
    for row in forged.rows:
        for seen in row["content"].get("views", {}).values():
            if seen["certified"]:
                seen["certified"][0]["log_e"] += 0.01
                return


def _shares(forged):
    design = forged.rows[0]["content"]["design"]
    design["headline"]["share"], design["views"]["others"] = 0.6, 0.2


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (_columns, "init.: its registration is"),
        (_new_columns, "add-items.: its stages.0.design_hash is"),
        (_columns_gone, "cannot have happened: the items have no column"),
        (_columns_left_out, "not in the form that bbedge writes"),
        (_another_column, "a column 'author', which the design does not use"),
        (_edges, "replicate.: its views.law.current.2 is"),
        (_tally, "its views.law.look.edges is 3; .* give 2"),
        (_view_gone, "its views.law is not there"),
        (_view_more, "its views.art is .* give nothing"),
        (_certified, "its views.code.certified is"),
        (_log_e, "its views.code.certified.0.log_e is"),
        (_shares, "init.: its registration is"),
    ],
)
def test_what_is_forged_is_found(lived, tmp_path, forge, message):
    forged = parsed(lived)
    before = copy.deepcopy(forged.rows)
    forge(forged)
    assert forged.rows != before
    with pytest.raises(BbedgeError, match=message):
        import_lines(forged.lines(), tmp_path / "forged.db", source="forged", verify=verify_session)
    assert not (tmp_path / "forged.db").exists()


@pytest.mark.parametrize(
    ("place", "edit", "message"),
    [
        (0, {"columns": {"category": CATEGORY}}, "a column 'category', which the design does not use"),
        (0, {"order_seed": 7}, "has no checkpoints, and has no order of its blocks"),
        (1, {"gaps": {"a": 1}}, "its gaps.a is 1; .* give nothing"),
        (1, {"views": {"code": {"look": {"edges": 0, "resolved_pairs": 0}, "current": {}, "certified": []}}}, "views"),
    ],
)
def test_what_the_design_of_a_board_does_not_have_is_no_part_of_its_events(tmp_path, place, edit, message):
    board = Board.create(tmp_path / "plain.db", BoardDesign(), models="abc", items=ITEMS)
    board.add(runs(np.random.default_rng(1), "abc"))
    forged = parsed(board)
    forged.rows[place]["content"] |= edit
    with pytest.raises(BbedgeError, match=message):
        import_lines(forged.lines(), tmp_path / "forged.db", source="forged", verify=verify_session)


def test_a_pilot_chooses_by_the_headline(tmp_path):
    """In math the order is the other way round, and here nothing else has any weight."""
    design = structs.replace(DESIGN, family="pilot-top-k", k=1, pilot=2, headline=Headline(weights="w"))
    columns = {"category": CATEGORY, "w": ("1",) * 3 + ("0",) * 9}
    board = Board.create(tmp_path / "p.db", design, models="abc", items=ITEMS, columns=columns)
    added = board.add(runs(np.random.default_rng(5), "abc", n=8))
    assert added.candidate == ("c",)
    assert board.leaderboard().views == ()  # math is the headline
    board.verify()
