from dataclasses import replace

import numpy as np
import pytest

from bbedge.baselines.e_values import edges_at_looks
from bbedge.core.checkpoints import Checkpoints, first_run_plan
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.forecast import Forecast, PairAssumptions, bet_penalty, penalty, pilot_assumptions, typical_assumptions
from bbedge.core.leaderboard import Certifier
from bbedge.errors import DomainError
from bbedge.study.contenders import difference_variances
from bbedge.study.synthetic import SyntheticBenchmark


def assumptions_of(benchmark: SyntheticBenchmark, design: Design, a: int, b: int) -> PairAssumptions:
    """The truth about a pair, from the benchmark's own probabilities."""
    blocks = design.layout.means(benchmark.probabilities)
    y = (blocks[a] - blocks[b] + 1.0) / 2.0
    noise = difference_variances(benchmark)[a, b] / 4.0 * design.layout.count
    return PairAssumptions(noise=float(noise), unevenness=float(y.var()))


# Cautious by construction: other pairs that are certified lower the threshold, and the forecast leaves it. With
# bb-edge-x more is left: directions that cannot win lower it too, and edges of earlier looks stand.
@pytest.mark.parametrize(("method", "most"), [("bb-edge", 0.06), ("bb-edge-x", 0.09)])
@pytest.mark.parametrize(("size", "effect"), [(1, 0.2), (5, 0.0)])
@pytest.mark.nightly
def test_the_forecast_is_what_simulation_shows(method, most, size, effect):
    benchmark = SyntheticBenchmark(block_sizes=size, heterogeneity=effect)
    design = benchmark.design(method=method)
    panels = np.stack([benchmark.panels(rng, 60) for rng in np.random.default_rng(1).spawn(16)], axis=1)
    true = np.argwhere(benchmark.differences > 1e-9)
    for replicates in (10, 20, 40, 60):
        forecasts = [Forecast(design=design, assumed=assumptions_of(benchmark, design, a, b)) for a, b in true]
        planned = np.mean(
            [
                forecast.power(float(benchmark.differences[a, b]), replicates)
                for forecast, (a, b) in zip(forecasts, true, strict=True)
            ]
        )
        stated = forecasts[0].planned(replicates).design
        shown = edges_at_looks(stated, panels[:replicates])[-1].mean(axis=0)
        seen = np.mean([shown[a, b] for a, b in true])
        assert -0.03 < seen - planned < most, (replicates, planned, seen)


@pytest.mark.nightly
@pytest.mark.parametrize("uneven", [0.0, 0.08])
def test_the_forecast_of_a_part_is_what_simulation_shows(uneven):
    items, repetitions = 600, 120
    checkpoints = Checkpoints(order_seed=3, fractions=(0.05, 0.2, 0.5))
    design = Design.make(["a", "b"], [f"q{i}" for i in range(items)], checkpoints=checkpoints, planned=1)
    rng = np.random.default_rng(4)
    for gap, number in ((0.55, 1), (0.3, 2), (0.2, 3)):
        shift = np.where(np.arange(items) % 2 == 0, 1.0, -1.0) * uneven  # half of the items favour each model
        better, worse = 0.5 + gap / 2 + shift, 0.5 - gap / 2 - shift
        noise = float(np.mean(better * (1 - better) + worse * (1 - worse))) / 4.0
        forecast = Forecast(design=design, assumed=PairAssumptions(noise=noise, unevenness=uneven**2))
        checkpoint = first_run_plan(design).checkpoints[number - 1]
        planned = forecast.part_power(gap, checkpoint)
        places = first_run_plan(design).order[: checkpoint.items]
        seen = 0
        for _ in range(repetitions):
            drawn = rng.permutation(items)  # a random order is the same as random items in a fixed one
            scores = np.stack([rng.random(items) < better[drawn], rng.random(items) < worse[drawn]]).astype(float)
            certifier, done = Certifier(design), 0
            for _ in range(number):
                upcoming = certifier.next_checkpoint.items
                look = certifier.update(scores[:, places[done:upcoming]], certifier.next_checkpoint.blocks)
                done = upcoming
            seen += bool(look.edges[0, 1])
        # Three standard errors. Earlier checkpoints, which the forecast leaves out, add little evidence.
        assert 0.2 < planned < 0.99, (gap, planned)
        assert abs(seen / repetitions - planned) < 0.12, (gap, planned, seen / repetitions)


def test_a_smaller_difference_needs_a_larger_part_or_the_whole_run():
    checkpoints = Checkpoints(order_seed=3)
    design = Design.make(["a", "b"], [f"q{i}" for i in range(1300)], checkpoints=checkpoints)
    forecast = Forecast(design=design, assumed=PairAssumptions.of_scores(mean=0.5))
    found = [forecast.checkpoint_for(gap) for gap in (0.6, 0.3, 0.15, 0.02)]
    assert found[-1] is None
    fractions = [each.fraction for each in found[:-1]]
    assert fractions == sorted(fractions)
    assert len(set(fractions)) == 3
    assert forecast.checkpoint_for(0.0) is None
    without = Forecast(design=Design.make(["a", "b"], ["q1", "q2"]), assumed=PairAssumptions.of_scores(mean=0.5))
    assert without.checkpoint_for(0.9) is None


@pytest.mark.parametrize("n_models", [2, 10, 50])
@pytest.mark.parametrize("n_items", [100, 1000])
@pytest.mark.parametrize("noise", [0.02, 0.125])
def test_bb_edge_x_never_needs_more_replicates_than_bb_edge(n_models, n_items, noise):
    assumed = PairAssumptions(noise=noise, unevenness=0.0)
    models, items = [f"m{i}" for i in range(n_models)], [f"q{i}" for i in range(n_items)]
    published, extended = (
        Forecast(design=Design.make(models, items, method=method), assumed=assumed)
        for method in ("bb-edge", "bb-edge-x")
    )
    for gap in (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002):
        needed, sooner = published.replicates_for(gap), extended.replicates_for(gap)
        assert sooner is not None
        assert needed is None or sooner <= needed, (gap, needed, sooner)


def test_a_forecast_states_the_number_of_replicates_only_where_the_design_can():
    names, items = ["a", "b"], ["q1", "q2"]
    assumed = PairAssumptions.of_scores(mean=0.5)
    made = {method: Design.make(names, items, method=method) for method in ("bb-edge", "bb-edge-x")}
    assert Forecast(design=made["bb-edge"], assumed=assumed).planned(7).design is made["bb-edge"]
    assert Forecast(design=made["bb-edge-x"], assumed=assumed).planned(7).design.planned == 7
    stated = Design.make(names, items, method="bb-edge-x", planned=3)
    assert Forecast(design=stated, assumed=assumed).planned(7).design is stated


@pytest.mark.parametrize("kind", ["hoeffding", "bernstein", "sharp", "betting"])
def test_the_evidence_of_a_typical_path_is_the_forecast_s(kind):
    """Two models whose differences are +-s alternately: the penalty is then nearly what is expected of it."""
    design = Design.make(["a", "b"], [f"q{i}" for i in range(400)], evidence=kind, method="bb-edge")
    forecast = Forecast(design=design, assumed=PairAssumptions(noise=0.04, unevenness=0.0))
    rng = np.random.default_rng(2)
    evidence = Evidence(design)
    for _ in range(6):
        side = rng.permutation(np.repeat([0.4, -0.4], 200)) + 0.08
        evidence.update(np.stack([0.5 + side / 2, 0.5 - side / 2]))
    total = 6 * 0.04
    constants = np.log(design.grid.weights) - forecast._penalties(design.grid.values, 0.08, 6)
    rates = np.array(design.grid.values) * 400
    expected = np.logaddexp.reduce(constants + rates * total)
    assert evidence.log_e()[0, 1] == pytest.approx(expected, rel=0.05)


def test_more_replicates_resolve_less_and_smaller_gaps_need_more():
    design = Design.make([f"m{i}" for i in range(10)], [f"q{i}" for i in range(200)], method="bb-edge")
    forecast = Forecast(design=design, assumed=PairAssumptions.of_scores(mean=0.5))
    gaps = [forecast.smallest_gap(r) for r in (1, 2, 5, 10, 20)]
    assert gaps == sorted(gaps, reverse=True)
    needed = [forecast.replicates_for(gap) for gap in (0.2, 0.1, 0.05, 0.02)]
    assert needed == sorted(needed)
    for r, gap in zip((1, 5, 20), (gaps[0], gaps[2], gaps[4]), strict=True):
        assert forecast.replicates_for(gap) == r
        assert forecast.power(gap, r) == pytest.approx(0.8, abs=0.001)


@pytest.mark.parametrize("times", [2, 5])
@pytest.mark.parametrize("size", [1, 4])
def test_so_many_times_as_many_items_are_a_design_with_so_many(times, size):
    def design(items):
        names = [f"q{i}" for i in range(items)]
        return Design.make(["a", "b"], names, blocks=[f"b{i // size}" for i in range(items)], evidence="betting")

    assumed = PairAssumptions(noise=0.1, unevenness=0.01)
    few, many = (Forecast(design=design(items), assumed=assumed) for items in (80, 80 * times))
    for gap, replicates in ((0.02, 30), (0.05, 8), (0.2, 1)):
        assert replace(few, times=float(times)).power(gap, replicates) == pytest.approx(many.power(gap, replicates))
    assert replace(few, times=float(times)).smallest_gap(5) == pytest.approx(many.smallest_gap(5), abs=2e-5)


def test_the_items_that_are_needed_are_just_enough():
    design = Design.make(["a", "b"], [f"q{i}" for i in range(200)])
    forecast = Forecast(design=design, assumed=PairAssumptions(noise=0.125, unevenness=0.0))
    for gap, replicates in ((0.05, 3), (0.02, 10)):
        times = forecast.times_for(gap, replicates)
        assert times > 1.0
        assert replace(forecast, times=times).power(gap, replicates) >= 0.8
        assert replace(forecast, times=times / 1.02).power(gap, replicates) < 0.8
        assert forecast.times_for(gap, replicates, power=0.9) > times > forecast.times_for(gap, replicates + 1)
    assert forecast.times_for(0.5, 20) <= 1.0
    assert forecast.times_for(0.0, 3) is None
    assert forecast.times_for(-0.1, 3) is None
    assert forecast.times_for(1e-7, 1) is None, "more items than there can be"


def test_what_cannot_be_resolved_is_said():
    design = Design.make([f"m{i}" for i in range(10)], ["q1", "q2"], tau=0.02, method="bb-edge")
    forecast = Forecast(design=design, assumed=PairAssumptions.of_scores(mean=0.5))
    assert forecast.smallest_gap(1) is None
    assert forecast.replicates_for(0.02) is None
    assert forecast.replicates_for(0.0201) is None


def test_one_block_needs_more_and_keeps_the_variance_of_the_run():
    design = Design.make([f"m{i}" for i in range(10)], [f"q{i}" for i in range(200)], method="bb-edge-x")
    forecast = Forecast(design=design, assumed=PairAssumptions.of_scores(mean=0.5))
    whole = forecast.as_one_block()
    assert whole.assumed.noise == pytest.approx(0.125 / 200)
    assert whole.replicates_for(0.1) > forecast.replicates_for(0.1)


def test_a_pilot_shows_noise_and_unevenness_apart():
    benchmark = SyntheticBenchmark(means=(0.5, 0.6), heterogeneity=0.3, offset=0.0)
    design = benchmark.design(method="bb-edge")
    (found,) = pilot_assumptions(benchmark.panels(np.random.default_rng(1), 400), design)
    truth = assumptions_of(benchmark, design, 0, 1)
    assert found.noise == pytest.approx(truth.noise, rel=0.03)
    assert found.unevenness == pytest.approx(truth.unevenness, rel=0.05)
    (once,) = pilot_assumptions(benchmark.panels(np.random.default_rng(1), 1), design)
    assert once.unevenness == 0.0
    assert once.noise > found.noise
    assert typical_assumptions([found, once, found]) == found


def test_correlation_inside_blocks_keeps_their_noise():
    assert PairAssumptions.of_scores(mean=0.5, block_size=4, correlation=1.0).noise == 0.125
    assert PairAssumptions.of_scores(mean=0.5, block_size=4).noise == pytest.approx(0.125 / 4)


@pytest.mark.parametrize(
    "options", [{"mean": 1.0}, {"mean": 0.5, "block_size": 0.5}, {"mean": 0.5, "correlation": -0.1}]
)
def test_impossible_assumptions_are_refused(options):
    with pytest.raises(DomainError, match="not possible"):
        PairAssumptions.of_scores(**options)
    with pytest.raises(DomainError, match="not possible"):
        PairAssumptions(noise=0.3, unevenness=0.0)


def test_penalties_are_ordered_as_the_kinds_are():
    squares = np.array([0.01, 0.05, 0.125])
    for u in (0.1, 0.5, 0.9):
        betting, sharp, bernstein = (penalty(kind, u, squares) for kind in ("betting", "sharp", "bernstein"))
        assert (betting <= sharp).all()
        assert (sharp <= bernstein).all()


def test_bets_without_a_mean_pay_what_betting_pays():
    u = np.array([0.1, 0.5, 0.9])
    assert np.allclose(bet_penalty(u, 0.0, 0.1), [float(penalty("betting", each, np.array([0.1]))[0]) for each in u])
    # With a mean, more of the square is the mean itself, which is no noise.
    assert (bet_penalty(u, 0.2, 0.1) < bet_penalty(u, 0.0, 0.1)).all()
