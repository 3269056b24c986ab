"""Tiles together certify what the whole matrix does."""

import tracemalloc

import numpy as np
import pytest

from bbedge.core.leaderboard import Certifier
from bbedge.scale import TiledLeaderboard
from bbedge.scale.folder import TiledRun
from unit.scale.runs import a_design, assembled, contents, panels, uneven

KINDS = ("bernstein", "hoeffding", "sharp", "betting")
SETTINGS = {
    "plain": {},
    "tau": {"tau": 0.05},
    "uneven": {"blocks": uneven(40)},
    "uneven, tau": {"blocks": uneven(40), "tau": 0.02},
    "one block": {"blocks": "one"},
    "few stakes": {"blocks": uneven(40), "tau": 0.02, "grid": [0.1, 0.4]},
    "wide": {"method": "bb-edge-x", "holm": "direct"},
    "wide, uneven, tau": {"method": "bb-edge-x", "holm": "direct", "blocks": uneven(40), "tau": 0.05},
    "candidate": {"candidate": ["m1", "m8", "m12"], "tau": 0.01},
    "newcomer": {"newcomer": "m9"},
    "candidate, newcomer": {"newcomer": "m9", "candidate": ["m1", "m8", "m12"]},
}


def both(folder, design, tile, count, **options):
    """The whole matrix and its tiles after the same panels; every look is compared on the way."""
    whole, tiled = Certifier(design), TiledLeaderboard.create(folder, design, tile=tile)
    for panel in panels(design, count, **options):
        look = whole.update(panel)
        found = tiled.update(panel)
        assert found.current_edges == np.count_nonzero(look.edges)
        assert found.edges == np.count_nonzero(whole.edges())
    return whole.leaderboard(), tiled


def kinds_and_settings():
    """Every setting with every kind of evidence; on every push betting alone, which certifies most."""
    for name in SETTINGS:
        for kind in KINDS[2 if "wide" in name else 0 :]:  # Bernstein and Hoeffding evidence allow no wide stakes
            yield pytest.param(kind, name, marks=() if kind == "betting" else pytest.mark.nightly)


@pytest.mark.parametrize(("kind", "setting"), list(kinds_and_settings()))
def test_tiles_equal_the_whole(tmp_path, kind, setting):
    options = SETTINGS[setting]
    design = a_design(evidence=kind, **options)
    board, tiled = both(tmp_path / "run", design, 5, 6, graded="block" in setting)
    np.testing.assert_allclose(assembled(tiled, "log_e"), board.log_e, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(assembled(tiled, "first_certified"), board.first_certified)
    np.testing.assert_array_equal(tiled.graph().unpacked_edges(), board.edges)
    np.testing.assert_array_equal(tiled.current_graph().unpacked_edges(), board.current_edges)
    assert tiled.looks[-1].log_threshold == pytest.approx(np.nanmax(board.log_thresholds), abs=1e-9)
    assert tiled.rank_intervals() == board.graph.rank_intervals
    np.testing.assert_array_equal(tiled.means(), board.means)
    for row in range(tiled.shape[0]):
        for col in range(tiled.shape[1]):
            tile = tiled.tile(row, col)
            expected = board.lower_bounds[tile.rows, tile.cols]
            np.testing.assert_allclose(tiled.lower_bounds(row, col), expected, atol=1e-9)


def test_the_settings_certify_something_and_not_everything(tmp_path):
    """Without this the comparison above could be one of empty graphs."""
    _, tiled = both(tmp_path / "run", a_design(), 5, 6)
    assert 20 < tiled.looks[-1].edges < 78
    assert len(set(assembled(tiled, "first_certified").ravel().tolist())) > 2


@pytest.mark.parametrize("tile", [1, 2, 3, 4, 7, 100])
def test_any_size_of_tile_gives_the_same(tmp_path, tile):
    board, tiled = both(tmp_path / "run", a_design(7, evidence="sharp", tau=0.02), tile, 2)
    np.testing.assert_allclose(assembled(tiled, "log_e"), board.log_e, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(assembled(tiled, "first_certified"), board.first_certified)
    assert tiled.shape == (-(-7 // tile),) * 2


def test_a_panel_may_be_a_file_that_is_mapped_and_of_any_number_type(tmp_path):
    design = a_design()
    given = list(panels(design, 2))
    np.save(tmp_path / "first.npy", given[0])
    np.save(tmp_path / "second.npy", np.asfortranarray(given[1] == 1.0))
    by_file = TiledLeaderboard.create(tmp_path / "file", design, tile=5)
    by_file.update(tmp_path / "first.npy")
    by_file.update(str(tmp_path / "second.npy"))
    by_array = TiledLeaderboard.create(tmp_path / "array", design, tile=5)
    for panel in given:
        by_array.update(panel.tolist())
    assert contents(tmp_path / "file") == contents(tmp_path / "array")


def test_cores_give_the_bytes_that_one_gives(tmp_path):
    design = a_design(method="bb-edge-x", holm="direct", tau=0.01)
    for name, options in (("one", {}), ("two", {"backend": "joblib", "workers": 2})):
        board = TiledLeaderboard.create(tmp_path / name, design, tile=5)
        for panel in panels(design, 2):
            board.update(panel, **options)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_run_goes_on_after_it_was_opened_again(tmp_path):
    design = a_design(evidence="betting", score_range=(0.0, 10.0), grid=[0.1, 0.3])
    given = list(panels(design, 3))
    once = TiledLeaderboard.create(tmp_path / "once", design, tile=4)
    TiledLeaderboard.create(tmp_path / "often", design, tile=4)
    for panel in given:
        once.update(panel)
        TiledLeaderboard.open(tmp_path / "often", design).update(panel)
    again = TiledLeaderboard.open(tmp_path / "often")
    assert again.design == design
    assert again.looks == once.looks
    assert contents(tmp_path / "once") == contents(tmp_path / "often")


def test_no_data_concludes_nothing(tmp_path):
    board = TiledLeaderboard.create(tmp_path / "run", a_design(3), tile=2)
    assert board.replicates == 0
    assert board.rank_intervals() == ((1, 3),) * 3
    assert board.current_graph().n_edges == 0
    assert np.isnan(board.means()).all()
    np.testing.assert_array_equal(np.isnan(board.tile(0, 0).log_e), np.eye(2, dtype=bool))
    assert (board.lower_bounds(0, 1) == -1.0).all()


def test_tiles_in_which_nothing_is_tested_are_not_kept(tmp_path):
    board = TiledLeaderboard.create(tmp_path / "run", a_design(12, candidate=["m0", "m1"]), tile=3)
    board.update(next(panels(board.design, 1)))
    kept = {file.name.partition(".")[0] for file in (tmp_path / "run" / "tiles").iterdir()}
    assert kept == {f"0000-{col:04d}" for col in range(4)}
    assert np.isnan(board.tile(2, 1).log_e).all()
    assert np.isnan(board.lower_bounds(2, 1)).all()


def test_progress_is_told_tile_by_tile(tmp_path):
    told = []
    board = TiledLeaderboard.create(tmp_path / "run", a_design(4), tile=2)
    board.update(next(panels(board.design, 1)), progress=lambda done, total: told.append((done, total)))
    assert told == [(step, 8) for step in range(1, 9)]


def test_a_task_holds_a_tile_and_never_the_matrix(tmp_path, monkeypatch):
    """Nothing of the size of the pair matrix is made on the way of a panel."""
    n_models = 4000
    board = TiledLeaderboard.create(tmp_path / "run", a_design(n_models, 20, evidence="bernstein"), tile=100)
    monkeypatch.setattr(TiledRun, "tiles", lambda self: [(0, 0), (0, 1), (39, 3)])
    first, second = panels(board.design, 2)
    board.update(first)
    tracemalloc.start()
    board.update(second)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_models**2  # in bytes: an eighth of the evidence of all pairs
