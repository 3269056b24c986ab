"""What is kept of the looks is bounded, and the guess about open pairs is only ever a guess."""

from __future__ import annotations

import numpy as np
import pytest

from bbedge.certificate import numbers as module
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.derive import PairTable
from bbedge.certificate.document import history_record
from bbedge.certificate.numbers import MOST_PAIRS
from bbedge.certificate.numbers import outlook as outlook_of_pairs
from bbedge.core.eholm import log_threshold
from bbedge.core.leaderboard import run
from bbedge.core.looks import MOST_LOOKS, MOST_MODELS, Look, Recorder
from unit.certificate.documents import certified, checked, drawn, many


def outlook(leaderboard, stopped=(), **options):
    table = PairTable.from_leaderboard(leaderboard)
    return outlook_of_pairs(table, replicates=leaderboard.replicates, stopped=stopped, **options)


def look(replicate: int, size: int = 2) -> Look:
    log_e = np.full((size, size), float(replicate))
    np.fill_diagonal(log_e, np.nan)
    edges = np.zeros((size, size), dtype=bool)
    return Look(replicate=replicate, log_e=lambda: log_e, edges=edges, log_threshold=lambda: log_threshold(log_e, 0.05))


@pytest.mark.parametrize("looks", [1, 2, MOST_LOOKS, MOST_LOOKS + 1, 1000])
def test_the_history_is_bounded_and_has_its_ends(looks):
    recorder = Recorder()
    for replicate in range(1, looks + 1):
        recorder.record(look(replicate))
    history = history_record(recorder.history(), [1, 0])
    assert len(history.replicates) <= MOST_LOOKS + 2
    assert history.replicates[0] == 1
    assert history.replicates[-1] == looks
    assert list(history.replicates) == sorted(set(history.replicates))
    assert [matrix[0][1] for matrix in history.log_e] == list(history.replicates)
    assert np.isnan(history.log_e[0][0][0])


def test_many_models_leave_no_history():
    recorder = Recorder()
    recorder.record(look(1, MOST_MODELS + 1))
    assert recorder.history() is None
    assert Recorder().history() is None


def test_the_history_is_that_of_the_looks():
    leaderboard = certified(drawn([0.8, 0.6, 0.4]))
    order = leaderboard.order()
    history = history_record(leaderboard.history, order)
    last = leaderboard.log_e[np.ix_(order, order)]
    assert np.allclose(np.array(history.log_e[-1], dtype=float), last, atol=1e-4, equal_nan=True)
    assert history.log_thresholds[-1] == pytest.approx(np.nanmax(leaderboard.log_thresholds), abs=1e-4)


def test_open_pairs_are_guessed_at_and_decided_ones_are_not():
    leaderboard = certified(drawn([0.9, 0.55, 0.5, 0.1]))
    listed = outlook(leaderboard)
    names = leaderboard.design.models
    open_pairs = {frozenset((names[a], names[b])) for a, b in leaderboard.graph.unresolved}
    assert {frozenset((each.ahead, each.behind)) for each in listed} == open_pairs
    for each in listed:
        a, b = names.index(each.ahead), names.index(each.behind)
        assert each.log_e == leaderboard.log_e[a, b] >= leaderboard.log_e[b, a]
        assert each.log_e < each.log_threshold
        if each.more_replicates is not None:
            needed = leaderboard.replicates * (each.log_threshold - each.log_e) / each.log_e
            low, high = each.more_replicates
            assert max(1, needed / 2) >= low >= 1
            assert high >= 2 * needed * (1 - 1e-12)


def test_no_growth_no_guess():
    # The same scores in every replicate: nothing points to a difference.
    leaderboard = certified(drawn([0.5, 0.5, 0.5], replicates=1))
    assert outlook(leaderboard, stopped=leaderboard.design.models)[0].more_replicates is None
    tied = drawn([0.5, 0.5])
    tied.values[:, 1] = tied.values[:, 0]
    assert outlook(certified(tied))[0].more_replicates is None


def test_before_the_first_replicate_there_is_nothing_to_guess_from():
    assert outlook(certified(drawn([0.5, 0.6], replicates=0))) == ()


def test_the_outlook_is_bounded_and_the_soonest_comes_first():
    listed = outlook(certified(drawn([0.5] * 30, replicates=1)))
    assert len(listed) == MOST_PAIRS
    needs = [each.more_replicates[0] for each in listed if each.more_replicates]
    assert needs == sorted(needs)


def test_pairs_that_a_design_does_not_test_are_left_out():
    leaderboard = certified(drawn([0.6, 0.58, 0.5, 0.5]), candidate=["m00", "m01"])
    for each in outlook(leaderboard):
        assert each.ahead in ("m00", "m01")
        assert each.behind in ("m02", "m03")


def soonest(leaderboard, stopped, most):
    """All open pairs at once, sorted as a whole."""
    names, found = leaderboard.design.models, []
    for a, b in leaderboard.graph.unresolved:
        if leaderboard.log_e[b, a] > leaderboard.log_e[a, b]:
            a, b = b, a
        best, limit = float(leaderboard.log_e[a, b]), float(leaderboard.log_thresholds[a, b])
        hopeless = best <= 0.0 or names[a] in stopped or names[b] in stopped
        found.append(
            (np.inf if hopeless else leaderboard.replicates * (limit - best) / best, -best, names[a], names[b])
        )
    return [(ahead, behind) for *_, ahead, behind in sorted(found, key=lambda each: each[:2])[:most]]


@pytest.mark.parametrize("strip", [7, 1 << 20])
@pytest.mark.parametrize(("most", "share_stopped"), [(1, 0.0), (40, 0.0), (40, 0.9), (40, 1.0), (100_000, 0.5)])
def test_the_soonest_of_many_are_found_without_sorting_all(monkeypatch, strip, most, share_stopped):
    monkeypatch.setattr(module, "_STRIP", strip)
    leaderboard = many(60, certified=0.6)
    stopped = set(leaderboard.design.models[: round(60 * share_stopped)])
    found = [(each.ahead, each.behind) for each in outlook(leaderboard, stopped=stopped, most=most)]
    assert found == soonest(leaderboard, stopped, most)


def test_an_open_pair_tells_where_its_difference_lies():
    leaderboard = certified(drawn([0.6, 0.58, 0.5, 0.5]))
    names = leaderboard.design.models
    for each in outlook(leaderboard):
        a, b = names.index(each.ahead), names.index(each.behind)
        assert each.within == (leaderboard.lower_bounds[a, b], -leaderboard.lower_bounds[b, a])
    half = certified(drawn([0.6, 0.58, 0.5, 0.5]), candidate=["m00", "m01"])
    assert all(each.within[0] is not None and each.within[1] is None for each in outlook(half))


def test_a_pilot_that_chose_the_wrong_models_has_an_outlook():
    # Wealth may be more than evidence, so that a hopeless direction would need less evidence than one.
    scores = drawn([0.85, 0.7, 0.55, 0.4, 0.25], replicates=4)
    leaderboard = run(scores.design(candidate=["m00", "m03"], stakes="design"), scores.panels())
    assert np.nanmin(leaderboard.log_thresholds) < 0.0
    made = Certificate.made(leaderboard)
    assert min(each.log_threshold for each in made.content.outlook) < 0.0
    assert checked(made.document).document == made.document
    assert ' aria-hidden="true"><rect class="rail" width="56"' in made.to_html()
