"""Claims about new items against a literal implementation, and what must hold of them for every design."""

from decimal import Context, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import new_items_oracle as literal
import oracle
from bbedge.core.certifier import Certifier
from bbedge.core.design import Design
from bbedge.core.eholm import Procedure
from bbedge.core.evidence_set import EvidenceSet
from bbedge.errors import DataError

few = settings(max_examples=20, derandomize=True, deadline=None)
many = settings(max_examples=400, derandomize=True, deadline=None)
MODELS = ["a", "b", "c", "d"]
ALPHA = 0.8  # so that few items certify something


@st.composite
def cases(draw):
    """A design, its runs with what was stopped before each, and the same for the literal implementation."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_models, n_items = draw(st.integers(2, 4)), draw(st.sampled_from([3, 20, 40, 60]))
    blocks = [f"b{k}" for k in rng.integers(0, draw(st.sampled_from([2, 5 * n_items, 10 * n_items])), n_items)]
    what, k = draw(st.sampled_from([("all", 1), ("all", 2), ("any", 2), ("all", 3)]))
    looks = draw(st.sampled_from([None, (1, 3), (2, 4, 5)]))
    planned = draw(st.sampled_from([None, 3, 5])) if looks is None else None
    if looks is None:
        schedule = literal.schedule_of(planned, k)
    else:
        weights = [0.2, 0.7] if len(looks) == 2 else [0.15, 0.25, 0.5]
        schedule = {r: v for r, v in zip(looks, weights, strict=True) if r >= k}
    tau = draw(st.sampled_from([0.0, 0.04]))
    own = draw(st.sampled_from([None, rng.choice([0.0, 0.5, 1.0, 3.0], n_items).tolist()]))
    own = own if own is None or any(own) else None
    part = [float(i < (n_items + 1) // 2) for i in range(n_items)]
    views = {"part": part, "rest": [1.0 - each for each in part]} if draw(st.booleans()) else {}
    newcomer = draw(st.sampled_from([None, None, 1]))
    kind = draw(st.sampled_from(["betting", "sharp"]))
    gaps = draw(st.booleans())
    both = draw(st.booleans())
    options = {
        "blocks": blocks,
        "tau": tau,
        "alpha": ALPHA,
        "planned": planned,
        "of_runs": f"{what}:{k}",
        "weights": own,
        "views": views,
        "newcomer": None if newcomer is None else MODELS[newcomer],
        "evidence": kind,
        "gaps": "worst-case" if gaps else "refuse",
    }
    if looks is not None:
        options |= {"looks": looks, "look_weights": weights}
    # Graded or right and wrong, each model ahead of the next.
    n_runs, apart = draw(st.integers(1, 5)), draw(st.sampled_from([0.1, 0.9, 1.0]))
    levels = 0.5 + apart * np.linspace(0.45, -0.45, n_models)
    runs = np.clip(levels[:, None] + rng.normal(size=(n_runs, n_models, n_items)) * 0.1, 0.0, 1.0)
    if draw(st.booleans()):
        runs = (rng.random(runs.shape) < runs).astype(float)
    if gaps:
        runs[max(0, n_runs - 2) :] = np.where(rng.random(runs[-2:].shape) < 0.15, np.nan, runs[-2:])
    # About these items, models stop between scores only.
    stopped_after = draw(st.sampled_from([None, k, 2 * k])) if n_models > 2 else None
    claims = literal.Claims(
        n_models=n_models,
        blocks=tuple(blocks),
        views=(
            (tuple(own or [1.0] * n_items), 0.5 if views else 1.0),
            *((tuple(each), 0.25) for each in views.values() if any(each)),
        ),
        schedule=schedule,
        alpha_certificates=ALPHA * (0.5 if both else 1.0) * 0.8,
        alpha_margins=ALPHA * (0.5 if both else 1.0) * 0.2,
        tau=tau,
        of_runs=(what, k),
        kind=kind,
        newcomer=newcomer,
    )
    return {"options": options, "both": both, "runs": runs, "stopped_after": stopped_after, "claims": claims}


def design_of(case, target):
    n_models, n_items = case["runs"].shape[1:]
    return Design.make(MODELS[:n_models], [f"q{i}" for i in range(n_items)], target=target, **case["options"])


def fed(case, target):
    """The certifier after each run, with the last model stopped where the case says so; and the runs as lists."""
    design = design_of(case, target)
    certifier, known = Certifier(design), []
    for number, run in enumerate(case["runs"], start=1):
        stopped = case["stopped_after"] is not None and number > case["stopped_after"]
        if stopped and number == case["stopped_after"] + 1:
            certifier.stop([design.models[-1]])
            certifier = Certifier.from_bytes(design, certifier.to_bytes())
        certifier.update(run[:-1] if stopped else run)
        rows = [[None if np.isnan(x) else float(x) for x in row] for row in run]
        known.append([*rows[:-1], None] if stopped else rows)
        yield certifier, known


def of_new_items(certifier, case):
    views = certifier.views
    return range(len(views) // 2, len(views)) if case["both"] else range(len(views))


@given(cases())
@few
def test_evidence_edges_and_margins_are_those_of_a_literal_implementation(case):
    agrees_with_the_literal_implementation(case)


@pytest.mark.nightly
@given(cases())
@many
def test_evidence_edges_and_margins_are_those_of_a_literal_implementation_in_many_cases(case):
    agrees_with_the_literal_implementation(case)


def agrees_with_the_literal_implementation(case):
    claims = case["claims"]
    for certifier, runs in fed(case, "both" if case["both"] else "new-items"):
        places = of_new_items(certifier, case)
        stands = literal.standing(claims, runs)[-1]
        for view, place in enumerate(places):
            log_e, bounds = certifier.views[place].log_e(), certifier.views[place].lower_bounds()
            edges = certifier.edges(place)
            for a, b in np.argwhere(~np.isnan(log_e)).tolist():
                e = (view, a, b)
                want = literal.log_s(claims, runs, e)
                assert log_e[a, b] == pytest.approx(max(want, -1e300), rel=1e-9, abs=1e-9)
                assert bounds[a, b] == pytest.approx(literal.margin(claims, runs, e), abs=1e-9)
                assert edges[a, b] == (e in stands)
            assert int((~np.isnan(log_e)).sum()) == claims.per_view
    assert len(claims.views) == len(places)


@pytest.mark.nightly
@given(cases())
@many
def test_rounding_never_raises_evidence(case):
    """Against exact arithmetic, with the stakes that the program uses."""
    target = "both" if case["both"] else "new-items"
    *_, (certifier, runs) = fed(case, target)
    for view, place in enumerate(of_new_items(certifier, case)):
        design, claims = certifier.views[place].design, case["claims"]
        for r, weight in design.schedule.items():
            claims.schedule[r] = weight  # lowered by a unit, maybe, so that the sum is at most one
            claims.stakes[view, r] = design.rule_stakes(replicates=1, level=weight).values
        log_e = certifier.views[place].log_e()
        a, b = next(iter(np.argwhere(~np.isnan(log_e)).tolist()))
        if not literal.looks_of(claims, runs, (view, a, b)):
            continue
        with localcontext(Context(prec=oracle.DIGITS)):
            exact = float(literal.log_s(claims, runs, (view, a, b), arithmetic=oracle.EXACT))
        assert exact - 1e-9 * (1 + abs(exact)) <= log_e[a, b] <= exact


@given(cases())
@few
def test_each_of_both_targets_is_that_target_alone_at_half_of_alpha(case):
    """Also where several runs make one score: on these items, that is a design of the joined runs."""
    case["both"] = True
    *_, (certifier, _) = fed(case, "both")
    alone = {**case, "options": {**case["options"], "alpha": ALPHA / 2}}
    *_, (new, _) = fed(alone, "new-items")
    of_benchmark = {name: each for name, each in alone["options"].items() if name not in ("looks", "look_weights")}
    *_, (here, _) = fed({**case, "options": of_benchmark}, "benchmark")
    board = certifier.leaderboard()
    found = [board, *board.views]
    expected = [here.leaderboard(), *here.leaderboard().views, new.leaderboard(), *new.leaderboard().views]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.log_e, other.log_e)
        np.testing.assert_array_equal(one.lower_bounds, other.lower_bounds)
        np.testing.assert_array_equal(one.edges, other.edges)
        np.testing.assert_array_equal(one.means, other.means)


@given(cases())
@few
def test_runs_in_a_batch_are_as_runs_one_by_one(case):
    case["stopped_after"] = None
    runs = case["runs"]
    for target in ("new-items", "both"):
        design = design_of(case, target)
        evidence, procedure = EvidenceSet(design, batch=(2,)), Procedure(design, batch=(2,))
        alone = [Certifier(design), Certifier(design)]
        for number, run in enumerate(runs, start=1):
            both = [run, run[:, ::-1]]
            evidence.update(np.stack(both))
            looks = procedure.looks(evidence.views, run=number)
            for row, certifier in enumerate(alone):
                certifier.update(both[row])
                for place, look in enumerate(looks):
                    np.testing.assert_array_equal(look.edges[row], certifier.edges(place))
                    np.testing.assert_allclose(
                        evidence.views[place].lower_bounds()[row],
                        certifier.views[place].lower_bounds(),
                        rtol=0,
                        atol=1e-12,
                    )


@given(cases())
@few
def test_a_state_that_has_forgotten_a_look_is_refused(case):
    *_, (certifier, _) = fed(case, "new-items")
    looks = certifier.views[0].batches[0].looks
    if looks:
        looks.pop()
        with pytest.raises(DataError, match="damaged"):
            Certifier.from_bytes(certifier.views[0].design, certifier.to_bytes())
