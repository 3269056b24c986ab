"""Attacks on a board by someone who can change the program and compute hashes: verify and import refuse them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.core.leaderboard import Certifier
from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError
from bbedge.ledger.archive import export_lines, import_lines
from bbedge.verify.ledger import verify_session
from unit.board import forging
from unit.board.boards import make, runs

MODELS, ITEMS = ("a", "b", "c", "d"), tuple(f"q{i}" for i in range(40))
MEANS = np.array([0.95, 0.7, 0.4, 0.1])


def one_run(seed):
    values = np.random.default_rng(seed).random((4, 40)) < MEANS[:, None]
    return Scores.of(values.astype(float), models=MODELS, items=ITEMS)


def board_at(folder, **options):
    return Board.create(folder / "board.db", BoardDesign(**options), models=MODELS, items=ITEMS)


def refused(forged, folder):
    with pytest.raises(BbedgeError) as error:
        import_lines(forged.lines(), folder / "copy.db", source="archive", verify=verify_session)
    return str(error.value)


def test_one_run_stored_six_times_by_a_patched_client(tmp_path, monkeypatch):
    board, honest = board_at(tmp_path), one_run(1)
    with monkeypatch.context() as patched:
        patched.setattr("bbedge.board.admit._copies_of_replicate", lambda *_: ())
        for _ in range(6):
            board.add(honest)
    assert board.leaderboard().graph.n_resolved >= 5
    with pytest.raises(BbedgeError, match=r"event 3 .* cannot have happened: Replicates '1', '2' have the same"):
        board.verify()
    assert "Replicates '1', '2' have the same score" in refused(forging.parsed(board), tmp_path)


def test_a_patched_client_cannot_declare_less_than_there_is(tmp_path, monkeypatch):
    """The rule that it states is to count copies, and it states none."""
    board = board_at(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("bbedge.board.admit._copies_of_replicate", lambda *_: ())
        for _ in range(3):
            board.add(one_run(1), copies="allow")
    with pytest.raises(BbedgeError, match=r"event 3 \(replicate\): its copies is \[\]; .* give \[{.*\"of\":1"):
        board.verify()


@pytest.fixture
def repeated(tmp_path):
    """A board that counts copies: a whole one, one of a single model, one with another gap, and one of a new model."""
    board = board_at(tmp_path, copies="allow", incomplete="worst-case")
    first, second = one_run(1), one_run(2)
    board.add(first)
    board.add(second)
    board.add(first)
    mixed, gapped = one_run(3).values.copy(), second.values.copy()
    mixed[0, 1], gapped[0, :, 5] = first.values[0, 1], np.nan
    for values in (mixed, gapped):
        board.add(Scores.of(values, models=MODELS, items=ITEMS))
    newcomer = [one_run(seed).values[0, 2:3] for seed in (7, 8, 7, 9, 10)]
    board.add_model("e", Scores.of(newcomer, models=("e",), items=ITEMS))
    return board


def test_copies_are_found_again(repeated):
    stated = [event.content.copies for event in repeated.events[1:]]
    assert [[(copy.of, copy.whole) for copy in copies] for copies in stated] == [
        [],
        [],
        [(1, True)],
        [(1, False)],
        [(2, True)],
        [(1, True)],
    ]
    assert repeated.verify().events == 7


@pytest.mark.parametrize("place", [3, 4, 5, 6])
@pytest.mark.parametrize("rule", ["allow", "refuse"])
def test_emptied_copies(repeated, tmp_path, place, rule):
    forged = forging.parsed(repeated)
    assert forged.rows[place]["content"]["copies"]
    forged.rows[place]["content"].update(copies=[], copy_rule=rule)
    message = refused(forged, tmp_path)
    assert f"event {place + 1}" in message
    assert ("its copies is []" if rule == "allow" else "the same score") in message


@pytest.mark.parametrize("change", ["more", "less"])
def test_another_number_of_checksums(tmp_path, change):
    """One more once led to a board that no run could be added to."""
    board = make(tmp_path, alpha=0.3)
    rng = np.random.default_rng(1)
    board.add(runs(rng, "abc", 3))
    board.add_model("d", runs(rng, "d", 3))
    forged = forging.parsed(board)
    row = forged.rows[-1]
    if change == "more":
        row["vectors"].append([1, 4, "d", row["vectors"][-1][3]])
        for key in ("vectors", "gaps"):
            row["content"][key].append(row["content"][key][-1])
    else:
        for entries in (row["vectors"], row["content"]["vectors"], row["content"]["gaps"]):
            del entries[-1]
    assert "runs of 'd' given; the pairing rule of the design joins exactly 3" in refused(forged, tmp_path)


def test_the_same_run_counts_once(tmp_path):
    board = board_at(tmp_path)
    for seed in (1, 2):
        board.add(one_run(seed))
    forged = forging.parsed(board)
    for row in forged.rows[1:]:
        row["content"]["runs"] = ["run 1"]
    assert "replicate 2 has the run 'run 1', which is part of replicate 1 on the board" in refused(forged, tmp_path)


def test_a_run_of_an_earlier_version_does_not_count_again(tmp_path):
    board = board_at(tmp_path)
    board.add(one_run(1))
    board.add_items(["more"])
    again = one_run(2)
    values = np.concatenate([again.values, again.values[:, :, :1]], axis=2)
    board.add(Scores.of(values, models=MODELS, items=(*ITEMS, "more")))
    forged = forging.parsed(board)
    for place in (1, 3):
        forged.rows[place]["content"]["runs"] = ["run 1"]
    assert "the run 'run 1' was counted in epoch 1" in refused(forged, tmp_path)


@pytest.mark.parametrize("what", ["score", "pilot"])
def test_replaced_scores_with_their_checksums(tmp_path, what):
    """The look, or the candidate, is not the one that they give."""
    options = {"family": "pilot-top-k", "k": 1, "pilot": 1} if what == "pilot" else {}
    board = board_at(tmp_path, **options)
    for seed in range(4):
        board.add(one_run(seed))
    forged = forging.parsed(board)
    row = forged.rows[1]
    best, worst = (next(each for each in row["vectors"] if each[2] == model) for model in "ad")
    best[3], worst[3] = worst[3], best[3]
    vectors = row["content"]["vectors"]
    vectors["a"], vectors["d"] = vectors["d"], vectors["a"]
    refusal = refused(forged, tmp_path)
    assert "the events before it and the stored scores give" in refusal or "saved evidence" in refusal


def test_an_untouched_archive_is_the_same_again(repeated, tmp_path):
    import_lines(forging.parsed(repeated).lines(), tmp_path / "copy.db", source="archive", verify=verify_session)
    copied = Board.open(tmp_path / "copy.db")
    assert copied.head == repeated.head
    assert list(export_lines(copied.store)) == list(export_lines(repeated.store))


@pytest.mark.parametrize(("change", "is_accepted"), [(1e-12, True), (-1e-12, True), (1e-7, False)])
def test_evidence_may_differ_by_rounding_between_machines(tmp_path, change, is_accepted):
    board = board_at(tmp_path)
    for seed in range(4):
        board.add(one_run(seed))
    forged = forging.parsed(board)
    edges = [edge for row in forged.rows[1:] for edge in row["content"]["certified"]]
    assert edges
    for edge in edges:
        edge["log_e"] *= 1.0 + change
    if is_accepted:
        import_lines(forged.lines(), tmp_path / "copy.db", source="archive", verify=verify_session)
    else:
        assert ".log_e is" in refused(forged, tmp_path)


def test_an_edge_at_its_threshold_may_differ_by_rounding(tmp_path, monkeypatch):
    """Other current edges are accepted where evidence and threshold are the same number but for rounding."""
    board = board_at(tmp_path, method="bb-edge")
    board.add(one_run(1))
    forged = forging.parsed(board)
    current = forged.rows[1]["content"]["current"]
    current["0"] = "QAA=" if current["0"] != "QAA=" else "IAA="
    assert "its current.0 is" in refused(forged, tmp_path)
    honest = Certifier.leaderboard
    monkeypatch.setattr(
        Certifier, "leaderboard", lambda self: replace(honest(self), log_thresholds=honest(self).log_e * (1 + 1e-12))
    )
    import_lines(forged.lines(), tmp_path / "copy.db", source="archive", verify=verify_session)
