"""Missing scores on a board: stored as missing, final, and counted as the design says."""

import base64
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from bbedge.board import Board, BoardDesign
from bbedge.board.change import load, replay
from bbedge.board.design import Views
from bbedge.certificate.document import plain
from bbedge.core.leaderboard import certify_design
from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError, BoardError, CopiedReplicateError
from bbedge.ledger.archive import import_file, import_lines
from bbedge.ledger.chain import checksum, pack_scores
from bbedge.verify.ledger import verify_session
from unit.board.forging import parsed

ITEMS = tuple(f"q{i}" for i in range(20))
ABC = ("a", "b", "c")
MEANS = {"a": 0.95, "b": 0.5, "c": 0.05}
WORST = BoardDesign(alpha=0.3, incomplete="worst-case")
ZERO = BoardDesign(alpha=0.3, incomplete="zero")


def full(rng, models=ABC, n=1):
    means = np.array([MEANS.get(model, 0.4) for model in models])
    return np.round(0.8 * (rng.random((n, len(models), len(ITEMS))) < means[:, None]) + 0.2 * rng.random(len(ITEMS)), 2)


def holed(rng, array, share=0.05):
    array = array.copy()
    array[rng.random(array.shape) < share] = np.nan
    return array


def scores(array, models=ABC, start=1, items=ITEMS):
    made = Scores.of(np.nan_to_num(array, nan=0.5), models=models, items=items)
    labels = tuple(str(start + r) for r in range(len(array)))
    return replace(made, values=array, numbered=start is not None, replicates=labels, gaps="worst-case")


def unnumbered(array, models=ABC):
    return replace(scores(array, models), numbered=False)


def make(folder, design=WORST, **options):
    return Board.create(folder / "board.db", design, models=ABC, items=ITEMS, **options)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_a_board_concludes_what_certify_does(tmp_path, rng):
    board, given = make(tmp_path), scores(holed(rng, full(rng, n=12)))
    board.add(given)
    expected = certify_design(given, WORST.core_design(ABC, ITEMS, ITEMS, level=WORST.level(0)))
    found = board.leaderboard()
    assert found.design.gaps == "worst-case"
    assert found.graph.n_edges
    np.testing.assert_array_equal(found.edges, expected.edges)
    for name in ("log_e", "means", "lower_bounds", "log_w", "first_certified"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.gaps.of_models == expected.gaps.of_models
    assert found.gaps.cells == int(np.isnan(given.values).sum()) > 0
    assert board.resolved_if_means() == expected.gaps.resolved_if_means
    assert plain(board.certificate().content)["gaps"]["resolved_if_means"] == expected.gaps.resolved_if_means


def test_gaps_are_stored_as_gaps(tmp_path, rng):
    board, array = make(tmp_path), holed(rng, full(rng, n=3))
    odd = array.copy()
    odd.view(np.uint64)[np.isnan(odd)] = 0xFFF8_0000_0000_0001
    board.add(scores(odd))
    with board.store.read() as session:
        events, resumed = load(session)
        again = replay(session, events)
    for state in (resumed, again):
        np.testing.assert_array_equal(state.leaderboard().log_e, board.leaderboard().log_e)
        assert state.epoch.missing == again.epoch.missing
    for place, event in enumerate(board.events[1:]):
        counts = {model: int(np.isnan(array[place, row]).sum()) for row, model in enumerate(ABC)}
        assert event.content.gaps == {model: count for model, count in counts.items() if count}
        assert event.content.vectors == {
            model: checksum(pack_scores(array[place, row])) for row, model in enumerate(ABC)
        }
    done = board.verify()
    board.export(tmp_path / "all.jsonl")
    assert import_file(tmp_path / "all.jsonl", tmp_path / "copy.db", verify=verify_session) == done


def test_a_complete_replicate_is_the_same_evidence_with_and_without_the_rule(tmp_path, rng):
    array = full(rng, n=5)
    (tmp_path / "plain").mkdir()
    board, plain = make(tmp_path), make(tmp_path / "plain", BoardDesign(alpha=0.3))
    board.add(scores(array))
    plain.add(replace(scores(array), gaps="refuse"))
    np.testing.assert_array_equal(board.leaderboard().log_e, plain.leaderboard().log_e)
    assert board.leaderboard().gaps is None
    assert [dict(e.content.vectors) for e in board.events[1:]] == [dict(e.content.vectors) for e in plain.events[1:]]


def test_a_board_without_the_rule_refuses_gaps(tmp_path, rng):
    board = make(tmp_path, BoardDesign())
    with pytest.raises(BoardError, match=r"has no score on item .*counts no missing scores"):
        board.add(scores(holed(rng, full(rng), 0.5)))
    with pytest.raises(BoardError, match=r"incomplete='worst-case' is not the rule of this board's design"):
        board.add(scores(full(rng)), incomplete="worst-case")


def test_a_gap_is_final(tmp_path, rng):
    board, array = make(tmp_path), full(rng, n=2)
    gapped = array.copy()
    gapped[0, 1, 4] = np.nan
    board.add(scores(gapped))
    head = board.head
    assert board.add(scores(gapped)).already == (1, 2)
    with pytest.raises(
        BoardError, match=r"replicate 1 is on the board already, where 'b' has no score on 'q4'\. A missing score"
    ):
        board.add(scores(array))
    other = gapped.copy()
    other[0, 0, 0] = 1.0 - other[0, 0, 0]
    with pytest.raises(BoardError, match="replicate 1 is on the board already, with other scores"):
        board.add(scores(other))
    more = gapped.copy()
    more[0, 2, 2] = np.nan
    with pytest.raises(BoardError, match="replicate 1 is on the board already, with other scores"):
        board.add(scores(more))
    assert board.head == head


def test_a_gap_of_a_run_with_an_identity_is_final(tmp_path, rng):
    board, array = make(tmp_path), full(rng)
    gapped = array.copy()
    gapped[0, 1, 4] = np.nan
    board.add(replace(unnumbered(gapped), runs=(("run-1", "run-2"),)))
    with pytest.raises(BoardError, match="A missing score that is recorded is final"):
        board.add(replace(unnumbered(array), runs=(("run-1", "run-2"),)))


def test_the_same_runs_with_the_gap_filled_are_a_question(tmp_path, rng):
    """Nothing but the scores distinguishes these from new runs, so that the board asks."""
    board, array = make(tmp_path), full(rng, n=2)
    gapped = array[:1].copy()
    gapped[0, 1, 4] = np.nan
    board.add(unnumbered(gapped))
    with pytest.raises(CopiedReplicateError, match="Replicate 1 is on the board"):
        board.add(unnumbered(array[:1]))
    assert board.add(unnumbered(array[1:])).replicates == (2,)


def test_the_same_runs_under_another_number_are_a_question(tmp_path, rng):
    board, array = make(tmp_path), full(rng)
    gapped = array.copy()
    gapped[0, 1, 4] = np.nan
    board.add(scores(gapped))
    with pytest.raises(CopiedReplicateError, match="Replicate 1 is on the board"):
        board.add(scores(array, start=2))
    added = board.add(scores(array, start=2), copies="allow")
    assert added.replicates == (2,)
    assert [copy.of for copy in board.events[-1].content.copies] == [1]


def test_few_scores_in_common_are_no_sign_of_a_copy(tmp_path, rng):
    board = make(tmp_path)
    array = np.full((2, 3, 20), np.nan)
    array[0, :, :12], array[1, :, 11:] = 0.5, 0.5
    array[0, :, 0], array[1, :, 19] = 0.0, 1.0
    assert board.add(scores(array)).replicates == (1, 2)


def test_whole_runs_stay_out_until_they_come(tmp_path, rng):
    board, array = make(tmp_path), full(rng, n=2)
    gone = array.copy()
    gone[1, 2] = np.nan
    with pytest.raises(BoardError, match=r"model 'c' has no score at all in this replicate.*incomplete='worst-case'"):
        board.add(scores(gone))
    board.add(scores(gone[:1]))
    with pytest.raises(BoardError, match="model 'c' has no score at all in this replicate"):
        board.add(scores(array[1:, :2], "ab", start=2))
    assert board.add(scores(gone[1:], start=2), incomplete="worst-case").replicates == (2,)
    assert board.add(scores(full(rng)[:, :2], "ab", start=3), incomplete="worst-case").replicates == (3,)
    assert board.leaderboard().gaps.of_models == (0, 0, 40)
    board.verify()
    assert board.add(scores(gone[1:], start=2)).already == (2,)
    with pytest.raises(BoardError, match="replicate 2 is on the board already, where 'c' has no score on 'q0'"):
        board.add(scores(array[1:], start=2))


def test_a_replicate_without_any_score(tmp_path):
    board = make(tmp_path)
    with pytest.raises(BoardError, match="model 'a' has no score at all in this replicate"):
        board.add(scores(np.full((1, 3, 20), np.nan)), incomplete="worst-case")


def test_retired_models_may_be_there_without_scores(tmp_path, rng):
    """As where earlier replicates, which have them, are in the same files."""
    board, array = make(tmp_path), full(rng, n=2)
    board.add(scores(array[:1]))
    board.retire("b")
    array[1, 1] = np.nan
    added = board.add(scores(array))
    assert (added.already, added.replicates) == ((1,), (2,))
    assert board.leaderboard().gaps is None


def test_models_without_any_score_are_no_copies(tmp_path, rng):
    board, array = make(tmp_path), full(rng, n=4)
    array[:, 2] = np.nan
    assert board.add(scores(array), incomplete="worst-case").replicates == (1, 2, 3, 4)
    again = full(rng)
    again[0, :2] = array[0, :2]
    again[0, 2] = np.nan
    with pytest.raises(CopiedReplicateError):
        board.add(scores(again, start=5), incomplete="worst-case")


def test_items_that_are_missing_altogether(tmp_path, rng):
    board, array = make(tmp_path), full(rng)
    board.add(scores(array[:, :, 1:], items=ITEMS[1:]))
    assert board.leaderboard().gaps.of_models == (1, 1, 1)
    (tmp_path / "plain").mkdir()
    with pytest.raises(BoardError, match="items of the benchmark are not in the files"):
        make(tmp_path / "plain", BoardDesign()).add(scores(array[:, :, 1:], items=ITEMS[1:]))


def test_zero_is_a_definition_of_the_score(tmp_path, rng):
    board, array = make(tmp_path, ZERO), holed(rng, full(rng, n=3), 0.2)
    board.add(scores(array))
    (tmp_path / "plain").mkdir()
    plain = make(tmp_path / "plain", BoardDesign(alpha=0.3))
    plain.add(replace(scores(np.nan_to_num(array, nan=0.0)), gaps="refuse"))
    np.testing.assert_array_equal(board.leaderboard().log_e, plain.leaderboard().log_e)
    assert board.design.hash != plain.design.hash
    assert board.events[1].content.gaps == {}
    gone = full(rng)
    gone[0, 1] = np.nan
    with pytest.raises(BoardError, match=r"model 'b' has no score at all.*incomplete='zero'"):
        board.add(scores(gone, start=4))
    assert board.add(scores(gone, start=4), incomplete="zero").replicates == (4,)
    board.verify()


def test_a_new_model_with_gaps(tmp_path, rng):
    board = make(tmp_path)
    board.add(scores(full(rng, n=3)))
    array = holed(rng, full(rng, "d", n=3), 0.2)
    board.add_model("d", scores(array, "d"))
    assert board.events[-1].content.gaps == tuple(np.isnan(array[:, 0]).sum(axis=1).tolist())
    assert board.leaderboard().gaps.of_models == (0, 0, 0, int(np.isnan(array).sum()))
    gone = full(rng, "e", n=3)
    gone[1] = np.nan
    with pytest.raises(BoardError, match="model 'e' has no score at all"):
        board.add_model("e", scores(gone, "e"))
    board.add_model("e", scores(gone, "e"), incomplete="worst-case")
    board.add(scores(holed(rng, full(rng, "abcde")), "abcde", start=4))
    board.retire("c")
    board.add(scores(holed(rng, full(rng, "abde")), "abde", start=5))
    board.verify()


def test_gaps_in_views(tmp_path, rng):
    design = structs.replace(WORST, views=Views(column="half"))
    board = make(tmp_path, design, columns={"half": ["x"] * 10 + ["y"] * 10})
    array = full(rng, n=8)
    array[:, 0, :10] = np.nan  # everything that the best model could show in x
    board.add(scores(array))
    assert board.leaderboard().view("y").certified("a", "c")
    assert not board.leaderboard().view("x").edges[0].any()
    board.verify()


def test_a_pilot_with_gaps(tmp_path, rng):
    board = make(tmp_path, structs.replace(WORST, family="pilot-top-k", k=1, pilot=2))
    array = full(rng, n=4)
    array[0, 0, :3] = np.nan
    assert board.add(scores(array)).candidate == ("a",)
    assert board.leaderboard().gaps is None  # the pilot is not evidence
    board.verify()


def _favourable(forged):
    """A gap as a score that helps, with all checksums made right."""
    array = ARRAY[1, 0].copy()
    array[np.isnan(array)] = 1.0
    _replace(forged, 2, "a", array)


def _replace(forged, place, model, array):
    row = forged.rows[place]
    for vector in row["vectors"]:
        if vector[2] == model:
            vector[3] = base64.b64encode(pack_scores(array)).decode()
    row["content"]["vectors"][model] = checksum(pack_scores(array))
    missing = int(np.isnan(array).sum())
    row["content"]["gaps"] = {
        name: count for name, count in (row["content"]["gaps"] | {model: missing}).items() if count
    }


def _more_gaps(forged):
    array = ARRAY[1, 1].copy()
    array[0] = np.nan
    _replace(forged, 2, "b", array)


def _counts(forged):
    forged.rows[2]["content"]["gaps"] = {"a": 1}


def _counts_of_nothing(forged):
    forged.rows[2]["content"]["gaps"]["z"] = 1


def _no_counts(forged):
    del forged.rows[2]["content"]["gaps"]


ARRAY = holed(np.random.default_rng(1), full(np.random.default_rng(2), n=3), 0.2)


@pytest.mark.parametrize(
    ("forge", "message"),
    [
        (_favourable, "event 3 .*certif|evidence .* is not that of the stored scores"),
        (_more_gaps, "event 3 .*certif|evidence .* is not that of the stored scores"),
        (_counts, "event 3 .replicate.: its gaps.a is 1; .* give 3"),
        (_counts_of_nothing, "its gaps.z is 1; .* give nothing"),
        (_no_counts, "not in the form that bbedge writes"),
    ],
)
def test_what_is_forged_is_found(tmp_path, forge, message):
    board = make(tmp_path)
    board.add(scores(ARRAY))
    forged = parsed(board)
    forge(forged)
    with pytest.raises(BbedgeError, match=message):
        import_lines(forged.lines(), tmp_path / "forged.db", source="forged", verify=verify_session)


@pytest.mark.parametrize(
    ("is_stated", "message"),
    [(True, "cannot have happened: .*missing"), (False, "cannot have happened: model 'a' has no score on item 'q3'")],
)
def test_a_gap_smuggled_onto_a_board_without_the_rule(tmp_path, rng, is_stated, message):
    board = make(tmp_path, BoardDesign(alpha=0.3))
    board.add(replace(scores(full(rng, n=3)), gaps="refuse"))
    forged = parsed(board)
    array = full(rng)[0, 0].copy()
    array[3] = np.nan
    _replace(forged, 2, "a", array)
    if not is_stated:
        forged.rows[2]["content"]["gaps"] = {}
    with pytest.raises(BbedgeError, match=message):
        import_lines(forged.lines(), tmp_path / "forged.db", source="forged", verify=verify_session)


def test_replicates_that_agree_by_chance_wherever_both_have_scores_count(tmp_path):
    """Nearly always right on eight items: another gap does not make a coincidence a copy."""
    models, items = ("a", "b"), tuple(f"q{i}" for i in range(8))
    panels = (np.random.default_rng(3).random((10, 2, 8)) < 0.9).astype(float)
    panels[9] = panels[4] = np.where(np.arange(8) == 2, 0.0, 1.0)
    panels[9, 0, 7] = np.nan
    board = Board.create(tmp_path / "b.db", BoardDesign(incomplete="worst-case"), models=models, items=items)
    given = replace(Scores.of(panels, models=models, items=items), numbered=True, gaps="worst-case")
    assert board.add(given).replicates == tuple(range(1, 11))
    # Runs that differ much are another matter.
    panels = np.random.default_rng(3).random((10, 2, 8)).round(1)
    panels[9] = panels[4]
    panels[9, 0, 7] = np.nan
    other = Board.create(tmp_path / "c.db", BoardDesign(incomplete="worst-case"), models=models, items=items)
    with pytest.raises(CopiedReplicateError):
        other.add(replace(given, values=panels, seen=None))
