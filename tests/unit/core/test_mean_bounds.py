"""Intervals of means, against a literal implementation: one model, side, stake, block and replicate at a time."""

import math
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest

import oracle
from bbedge.core.certifier import Certifier
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.core.family import Levels
from bbedge.core.leaderboard import certify, certify_pilot_top_k
from bbedge.core.scores import Scores
from bbedge.errors import DesignError, DomainError
from bbedge.records.options import Options

MODELS = ["a", "b", "c"]


def design_of(n_items: int, **options) -> Design:
    return Design.make(MODELS, [f"q{i}" for i in range(n_items)], **{"mean_share": 0.1, **options})


def drawn(seed: int, n_items: int, replicates: int, *, graded: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    chances = np.clip(rng.random((3, n_items)) + np.array([[0.2], [0.0], [-0.2]]), 0.02, 0.98)
    if graded:
        return rng.beta(8 * chances, 8 * (1 - chances), (replicates, 3, n_items))
    return (rng.random((replicates, 3, n_items)) < chances).astype(float)


# The literal implementation ----------------------------------------------------------------------------------------


def block_table(design: Design) -> tuple[list[list[int]], list[float]]:
    """The items of every block that weighs anything, and what each block weighs next to the heaviest."""
    weights = design.weights or (1.0,) * len(design.items)
    labels = list(dict.fromkeys(b for b, w in zip(design.blocks, weights, strict=True) if w > 0))
    members = [[i for i, b in enumerate(design.blocks) if b == label and weights[i] > 0] for label in labels]
    heavy = [math.fsum(weights[i] for i in block) for block in members]
    return members, [weight / max(heavy) for weight in heavy]


def block_scores(design: Design, row: np.ndarray) -> list[float]:
    weights = design.weights or (1.0,) * len(design.items)
    return [
        math.fsum(weights[i] * row[i] for i in block) / math.fsum(weights[i] for i in block)
        for block in block_table(design)[0]
    ]


def grid(design: Design) -> list[float]:
    worth = math.fsum(share**2 for share in block_table(design)[1])
    most = 25 if design.planned is None else min(25, design.planned / 4)
    budget = 2 * math.log(claims(design) / literal_level(design))
    kappas = [math.exp(math.log(1 / 80) + g / 11 * (math.log(most) - math.log(1 / 80))) for g in range(12)]
    return [min(1.9, math.sqrt(budget / (worth * kappa))) for kappa in kappas]


def claims(design: Design) -> float:
    return 2 * (len(design.models) if design.family.newcomer is None else 1) / design.share


def literal_level(design: Design) -> float:
    return design.alpha * design.mean_share


def stake_terms(design: Design, panels: np.ndarray, model: int, side: int) -> list[list[tuple[float, float, float]]]:
    """For every stake the bet ``u``, the value and its prediction, of every block and replicate.

    ``side`` is 1 for the lower bound and -1 for the upper one, which bets on one minus the score.
    """
    filled = np.where(np.isnan(panels), 0.0 if side == 1 else 1.0, panels)
    history = [[block_scores(design, row) for row in panel] for panel in filled]
    shares = block_table(design)[1]
    of_stakes = []
    for stake in grid(design):
        terms = []
        for r, means in enumerate(history):
            for m, share in enumerate(shares):
                if stake > 0.95 or r == 0:
                    predicted = 0.5
                elif design.prediction == "running-mean":
                    predicted = math.fsum([0.5, *(history[s][model][m] for s in range(r))]) / (r + 1)
                else:
                    predicted = oracle.two_way_predictions(history[:r], oracle.FLOAT)[model][m]
                score = means[model][m]
                of_side = (score, predicted) if side == 1 else (1 - score, 1 - predicted)
                terms.append((stake * share, *of_side))
        of_stakes.append(terms)
    return of_stakes


def literal_bound(design: Design, panels: np.ndarray, model: int, side: int) -> float:
    """The bound by bisection: the largest ``t`` whose evidence is at least the threshold."""
    goal = math.log(claims(design) / literal_level(design))
    terms = stake_terms(design, panels, model, side)

    def enough(t: float) -> bool:
        logs = [math.fsum(u * (p - t) + math.log1p(u * (y - p)) for u, y, p in stake) for stake in terms]
        return oracle.mixture(logs, [1 / 12] * 12) >= goal

    low, high = 0.0, 1.0
    if not enough(low):
        high = low
    while high - low > 1e-13:
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low if side == 1 else 1.0 - low


def literal(design: Design, panels: np.ndarray) -> np.ndarray:
    return np.array([[literal_bound(design, panels, a, side) for side in (1, -1)] for a in range(len(design.models))])


CASES = {
    "items": ({}, False),
    "uneven blocks": ({"blocks": ["x"] * 5 + ["y"] * 2 + list("pqrstuvwxyz")[:9]}, False),
    "one block": ({"blocks": "one"}, True),
    "graded, two-way": ({"prediction": "two-way"}, True),
    "weights": ({"weights": [0.0, 7.0] + [1.0, 0.3] * 7}, True),
    "published evidence": ({"evidence": "bernstein", "stakes": "paper", "tau": 0.03}, False),
    "sharp, a margin": ({"evidence": "sharp", "tau": 0.1, "planned": 4}, False),
    "a candidate": ({"candidate": ["a"]}, False),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("replicates", [1, 2, 9])
def test_bounds_are_those_of_the_definition(case, replicates):
    options, graded = CASES[case]
    design, panels = design_of(16, **options), drawn(3, 16, replicates, graded=graded)
    evidence = Evidence(design)
    for panel in panels:
        evidence.update(panel)
    assert evidence.mean_bounds() == pytest.approx(literal(design, panels), abs=1e-8)


def test_some_of_these_bounds_say_something():
    evidence = Evidence(design_of(400))
    for panel in drawn(4, 400, 6):
        evidence.update(panel)
    widths = np.diff(evidence.mean_bounds()).ravel()
    assert np.all(widths < 0.2)


def test_every_view_has_bounds_of_its_own_at_its_share():
    views = {"first": [1.0] * 6 + [0.0] * 10, "last": [0.0] * 6 + [1.0, 2.0] * 5}
    design, panels = design_of(16, views=views, shares={"first": 0.2}), drawn(5, 16, 8)
    certifier = Certifier(design)
    for panel in panels:
        certifier.update(panel)
    for part, view in zip(design.parts, certifier.views, strict=True):
        assert part.share < 1.0
        assert view.mean_bounds() == pytest.approx(literal(part, panels), abs=1e-8)
    board = certifier.leaderboard()
    assert np.array_equal(board.view("last").mean_bounds, certifier.views[2].mean_bounds())


def test_missing_scores_lower_one_bound_and_raise_the_other():
    design, panels = design_of(16, gaps="worst-case"), drawn(6, 16, 8)
    panels[3:, 1, :4] = np.nan
    panels[5, 2, 9] = np.nan
    evidence = Evidence(design)
    for panel in panels:
        evidence.update(panel)
    bounds = evidence.mean_bounds()
    assert bounds == pytest.approx(literal(design, panels), abs=1e-8)
    assert np.all((bounds[:, 0] <= evidence.means) & (evidence.means <= bounds[:, 1]))


def test_a_stopped_model_keeps_its_bounds_and_the_others_go_on():
    design, panels = design_of(16), drawn(7, 16, 9)
    evidence = Evidence(design)
    for panel in panels[:4]:
        evidence.update(panel)
    evidence.stop(["b"])
    for panel in panels[4:]:
        evidence.update(panel[[0, 2]])
    expected = literal(design, panels)
    expected[1] = literal(design, panels[:4])[1]
    assert evidence.mean_bounds() == pytest.approx(expected, abs=1e-8)
    evidence.stop(["a", "c"])
    assert evidence.mean_bounds() == pytest.approx(expected, abs=1e-8)


def test_only_the_mean_of_a_newcomer_is_bounded_and_no_level_goes_to_the_others():
    design, panels = design_of(16, newcomer="b"), drawn(7, 16, 9)
    evidence = Evidence(design)
    for panel in panels:
        evidence.update(panel)
    bounds = evidence.mean_bounds()
    assert bounds[1] == pytest.approx(literal(design, panels)[1], abs=1e-8)
    assert bounds[[0, 2]].tolist() == [[0.0, 1.0]] * 2
    all_of_them = Evidence(design_of(16))
    for panel in panels:
        all_of_them.update(panel)
    assert np.diff(bounds[1]) < np.diff(all_of_them.mean_bounds()[1])


def test_nothing_is_known_before_the_first_replicate():
    assert Evidence(design_of(4)).mean_bounds().tolist() == [[0.0, 1.0]] * 3
    board = Certifier(design_of(4)).leaderboard()
    assert board.mean_bounds.tolist() == [[0.0, 1.0]] * 3


def test_repetitions_that_run_together_have_the_bounds_of_each():
    design = design_of(16)
    runs = np.stack([drawn(seed, 16, 5) for seed in (1, 2)])
    together = Evidence(design, batch=(2,))
    for panel in runs.swapaxes(0, 1):
        together.update(panel)
    for bounds, panels in zip(together.mean_bounds(), runs, strict=True):
        alone = Evidence(design)
        for panel in panels:
            alone.update(panel)
        assert bounds == pytest.approx(alone.mean_bounds(), abs=1e-12)


@pytest.mark.parametrize("with_gaps", [False, True])
def test_a_saved_state_goes_on_as_if_nothing_had_happened(with_gaps):
    design, panels = design_of(16, gaps="worst-case"), drawn(8, 16, 9)
    if with_gaps:
        panels[1, 0, :3] = np.nan
    whole, certifier = Certifier(design), Certifier(design)
    for each in (whole, certifier):
        for panel in panels[:3]:
            each.update(panel)
        each.stop(["c"])
        each.update(panels[3, :2])
    certifier = Certifier.from_bytes(design, certifier.to_bytes())
    assert np.array_equal(certifier.evidence.mean_bounds(), whole.evidence.mean_bounds())
    for panel in panels[4:]:
        whole.update(panel[:2])
        certifier.update(panel[:2])
    assert np.array_equal(certifier.leaderboard().mean_bounds, whole.leaderboard().mean_bounds)


@pytest.mark.parametrize("seed", range(3))
def test_rounding_never_narrows_an_interval(seed):
    """At the reported bound the exact evidence is still at least the threshold: the root lies further inside."""
    design, panels = design_of(40, prediction="running-mean"), drawn(seed, 40, 5, graded=True)
    evidence = Evidence(design)
    for panel in panels:
        evidence.update(panel)
    inner = evidence._own._design
    with localcontext(Context(prec=50)):
        goal = (6 / Decimal(design.levels.means)).ln()
        for model in range(3):
            for side, reported in zip((1, -1), evidence.mean_bounds()[model], strict=True):
                t = Decimal(float(reported)) if side == 1 else 1 - Decimal(float(reported))
                assert exact_log_evidence(inner, panels, model, side, t) >= goal


def exact_log_evidence(inner: Design, panels: np.ndarray, model: int, side: int, t: Decimal) -> Decimal:
    """With the stakes of the program, every item a block, and predictions that are running means."""
    scores = [[Decimal(x) if side == 1 else 1 - Decimal(x) for x in panel[model].tolist()] for panel in panels]
    total = Decimal(0)
    for stake, weight in zip(inner.grid.values, inner.grid.weights, strict=True):
        log, u = Decimal(0), Decimal(stake)
        for r, row in enumerate(scores):
            for m, y in enumerate(row):
                seen = sum((scores[s][m] for s in range(r)), Decimal("0.5"))
                p = Decimal("0.5") if stake > 0.95 else seen / (r + 1)
                log += u * (p - t) + (1 + u * (y - p)).ln()
        total += Decimal(weight) * log.exp()
    return total.ln()


@pytest.mark.parametrize("seed", range(12))
def test_intervals_of_means_never_contradict_margins_or_the_means_seen(seed):
    rng = np.random.default_rng(seed)
    panels = drawn(seed, 30, 12, graded=bool(seed % 2))
    panels[6:, :, : rng.integers(30)] = 1.0 - panels[6:, :, : rng.integers(1, 30)][..., :1]  # the models change
    certifier = Certifier(design_of(30, weights=rng.random(30).tolist()))
    for panel in panels:
        certifier.update(panel)
        board = certifier.leaderboard()
        low, high = board.mean_bounds.T
        assert np.all((low >= 0.0) & (low <= board.means) & (board.means <= high) & (high <= 1.0))
        bounds = certifier.evidence.lower_bounds()
        off = ~np.eye(3, dtype=bool)
        assert np.all((high[:, None] - low >= bounds)[off])


# The design --------------------------------------------------------------------------------------------------------


def test_levels_never_add_up_to_more_than_alpha():
    rng = np.random.default_rng(0)
    for alpha, first, second in rng.random((2000, 3)):
        margin, mean = 0.999 * first, (1.0 - first) * second * 0.999
        levels = Levels.of(Options(alpha=alpha, margin_share=margin, mean_share=mean))
        parts = [levels.certificates, levels.margins, levels.means]
        assert sum(map(Decimal, parts)) <= Decimal(alpha)
        assert parts == pytest.approx([alpha * (1 - margin - mean), alpha * margin, alpha * mean], rel=1e-9, abs=1e-15)


def test_a_design_without_a_mean_share_leaves_all_to_certificates_and_margins():
    plain, asked = design_of(4, mean_share=0.0), design_of(4)
    assert plain.content["mean_share"] == 0.0
    assert plain.certificate_alpha == 0.05 * (1.0 - 0.2)
    assert plain.margin_alpha == math.nextafter(0.05 - plain.certificate_alpha, 0.0)
    assert asked.content == {**plain.content, "mean_share": 0.1}
    assert asked.hash != plain.hash
    assert asked.certificate_alpha == pytest.approx(0.035)
    assert Evidence(plain).mean_bounds() is None
    assert Certifier(plain).leaderboard().mean_bounds is None
    assert b"own." not in Evidence(plain).to_bytes()
    assert b"own.last" in Evidence(asked).to_bytes()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"mean_share": -0.1}, DomainError, "mean_share=-0.1"),
        ({"mean_share": 1.0}, DomainError, "mean_share=1.0"),
        ({"mean_share": math.nan}, DomainError, "mean_share=nan"),
        ({"mean_share": 0.5, "margin_share": 0.5}, DomainError, "leave nothing"),
        ({"mean_share": 0.1, "margin_share": 0.0}, DesignError, "mean_share=0.1 needs a share for margins"),
        ({"mean_share": 0.1, "method": "bb-edge"}, DesignError, "mean_share=0.1 is not part of bb-edge"),
    ],
)
def test_a_share_that_keeps_no_promise_is_refused(options, error, words):
    with pytest.raises(error) as refused:
        design_of(4, **options)
    assert words in str(refused.value)


def test_a_pilot_is_not_evidence_for_means_either():
    values = drawn(9, 16, 8)
    scores = Scores.of(values, models=MODELS, items=[f"q{i}" for i in range(16)])
    board = certify_pilot_top_k(scores, k=1, pilot=3, mean_share=0.1)
    assert board.mean_bounds == pytest.approx(literal(board.design, values[3:]), abs=1e-8)
    later = Scores.of(values[3:], models=MODELS, items=scores.items)
    assert np.array_equal(board.mean_bounds, certify(later, mean_share=0.1).mean_bounds)
