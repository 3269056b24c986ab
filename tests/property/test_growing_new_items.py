"""Claims about new items on benchmarks that grow, against a literal implementation, at every look of many histories."""

from decimal import Context, localcontext

import numpy as np
import pytest

import new_items_oracle as literal
import oracle
from bbedge.core.certifier import Certifier
from bbedge.core.design import Design
from bbedge.core.views import category_weights, macro_weights
from bbedge.errors import DataError

MODELS = ("a", "b", "c", "d")
ALPHA = 0.8  # so that few items certify something
HISTORIES = 24


class History:
    """A benchmark that grows once or twice, its runs, and who stops before which of them; drawn from a seed."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        one_of = lambda *these: these[rng.integers(len(these))]  # noqa: E731
        self.models = MODELS[: rng.integers(2, 5)]
        self.sizes = [int(size) for size in rng.integers(8, 40, rng.integers(2, 4))]
        self.runs = [int(n) for n in rng.integers(1, 4, len(self.sizes))]  # in each version
        self.runs[0] = int(rng.integers(0, 4))  # maybe none before it grows
        self.what, self.k = one_of(("all", 1), ("all", 1), ("any", 2), ("all", 2))
        looks = one_of(None, (1, 3), (2, 4))
        self.planned = one_of(None, 2) if looks is None else None
        if looks is None:
            self.schedule = literal.schedule_of(self.planned, self.k)
        else:
            self.schedule = {r: v for r, v in zip(looks, (0.4, 0.6), strict=True) if r >= self.k}
        self.tau, self.kind = one_of(0.0, 0.0, 0.04), one_of("betting", "sharp")
        self.has_views, self.has_gaps = bool(rng.random() < 0.5), bool(rng.random() < 0.4)
        self.newcomer = one_of(None, None, 1)
        self.options = {
            "alpha": ALPHA,
            "tau": self.tau,
            "planned": self.planned,
            "of_runs": f"{self.what}:{self.k}",
            "evidence": self.kind,
            "gaps": "worst-case" if self.has_gaps else "refuse",
            "newcomer": None if self.newcomer is None else self.models[self.newcomer],
        }
        if looks is not None:
            self.options |= {"looks": looks, "look_weights": (0.4, 0.6)}
        # Who is stopped before a run of a version; a model that is retired takes no part in later versions.
        self.stops = {}
        for version, runs in enumerate(self.runs):
            for run in range(runs):
                if len(self.models) - len(self.stops) > 2 and rng.random() < 0.2 and (version or run):
                    self.stops[self.models[-1 - len(self.stops)]] = (version, run)
        levels = 0.5 + one_of(0.3, 0.9) * np.linspace(0.45, -0.45, len(self.models))
        graded, shape = rng.random() < 0.5, (sum(self.runs), len(self.models), sum(self.sizes))
        values = np.clip(levels[:, None] + rng.normal(size=shape) * 0.1, 0.0, 1.0)
        self.values = values if graded else (rng.random(shape) < values).astype(float)
        if self.has_gaps:
            late = max(0, len(values) - 3)
            holes = rng.random(self.values[late:].shape) < 0.1
            self.values[late:] = np.where(holes, np.nan, self.values[late:])

    def items(self, batch: int) -> slice:
        """The places of the items of a batch."""
        return slice(sum(self.sizes[:batch]), sum(self.sizes[: batch + 1]))

    def topics(self, places: slice) -> list[str]:
        return ["xxy"[i % 3] for i in range(*places.indices(sum(self.sizes)))]

    def blocks(self, places: slice) -> list[str]:
        return [f"b{i // 2}" if i % 4 < 2 else f"i{i}" for i in range(*places.indices(sum(self.sizes)))]

    def design(self, places: slice, *, target: str = "new-items") -> Design:
        items, topics = [f"q{i}" for i in range(*places.indices(sum(self.sizes)))], self.topics(places)
        own = {"weights": macro_weights(topics), "views": category_weights(topics)} if self.has_views else {}
        alpha = {"alpha": ALPHA if target == "new-items" else 2 * ALPHA}
        blocks = self.blocks(places)
        return Design.make(self.models, items, blocks=blocks, target=target, **{**self.options, **alpha, **own})

    def claims(self, batch: int) -> literal.Claims:
        places = self.items(batch)
        topics, views = self.topics(places), [((1.0,) * self.sizes[batch], 1.0)]
        if self.has_views:
            of_topics = [(weights, 0.25) for weights in category_weights(topics).values()]
            views = [(macro_weights(topics), 0.5), *of_topics]
        return literal.Claims(
            n_models=len(self.models),
            blocks=tuple(self.blocks(places)),
            views=tuple(views),
            schedule=self.schedule,
            alpha_certificates=ALPHA * 0.8,
            alpha_margins=ALPHA * 0.2,
            tau=self.tau,
            of_runs=(self.what, self.k),
            kind=self.kind,
            newcomer=self.newcomer,
        )

    def stopped(self, version: int, run: int) -> list[str]:
        """Who takes no part in a run."""
        return [model for model, since in self.stops.items() if since <= (version, run)]

    def rows(self, number: int, version: int, run: int, places: slice) -> list[list[float | None] | None]:
        gone = self.stopped(version, run)
        return [
            None if model in gone else [None if np.isnan(x) else float(x) for x in row[places]]
            for model, row in zip(self.models, self.values[number], strict=True)
        ]

    def play(self):
        """After each run the certifier, and the batches with their runs so far."""
        certifier, number = Certifier(self.design(self.items(0))), 0
        batches = [(self.claims(0), [])]
        for version, runs in enumerate(self.runs):
            if version:
                designs = [self.design(self.items(batch)) for batch in range(version + 1)]
                whole = self.design(slice(0, self.items(version).stop))
                before = certifier.to_bytes()
                certifier, former = certifier.grown(whole, designs), certifier
                assert former.to_bytes() == before  # which stays as it was
                batches.append((self.claims(version), []))
            for run in range(runs):
                gone = self.stopped(version, run)
                if new := [model for model in gone if model in certifier.evidence.active]:
                    certifier.stop(new)
                if version:
                    certifier = Certifier.from_bytes(whole, certifier.to_bytes(), batches=designs)
                there = [place for place, model in enumerate(self.models) if model not in gone]
                certifier.update(self.values[number][there][:, : self.items(version).stop])
                for batch, (_, its) in enumerate(batches):
                    its.append(self.rows(number, version, run, self.items(batch)))
                number += 1
                yield certifier, [(claims, list(its)) for claims, its in batches]


def agrees(seed: int) -> set[str]:
    """Compare everything after every run; says what the history had."""
    history, moments, best, found = History(seed), [], {}, set()
    for certifier, batches in history.play():
        moments.append(batches)
        stands = literal.standing_in(moments)[-1]
        for view, evidence in enumerate(certifier.views):
            log_e, bounds, edges = evidence.log_e(), evidence.lower_bounds(), certifier.edges(view)
            for a, b in np.argwhere(~np.isnan(log_e)).tolist():
                e = (view, a, b)
                want = literal.log_product(batches, e)
                assert log_e[a, b] == pytest.approx(max(want, -1e300), rel=1e-9, abs=1e-9)
                best[e] = max(best.get(e, -1.0), literal.product_margin(batches, e))
                assert bounds[a, b] == pytest.approx(best[e], abs=1e-9)
                assert bounds[a, b] <= best[e] + 1e-11
                assert edges[a, b] == (e in stands)
                found |= {"edge"} if e in stands else set()
        found |= {"look"} if all(certifier._evidence.is_look) else {"no look"}
    return found | ({"stops"} if history.stops else set()) | {f"{len(history.sizes)} batches"}


@pytest.mark.parametrize("seed", range(4))
def test_evidence_edges_and_margins_are_those_of_a_literal_implementation(seed):
    agrees(seed)


@pytest.mark.nightly
def test_evidence_edges_and_margins_are_those_of_a_literal_implementation_in_many_histories():
    found = set().union(*(agrees(seed) for seed in range(4, 4 + HISTORIES)))
    assert found == {"edge", "look", "no look", "stops", "2 batches", "3 batches"}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(12))
def test_rounding_never_raises_evidence(seed):
    """Against exact arithmetic, with the stakes that the program uses."""
    history = History(seed)
    *_, (certifier, batches) = history.play()
    for view, evidence in enumerate(certifier.views):
        for batch, (claims, _) in zip(evidence.batches, batches, strict=True):
            for run, weight in batch.design.schedule.items():
                claims.schedule[run] = weight
                claims.stakes[view, run] = batch.design.rule_stakes(replicates=1, level=weight).values
        log_e = evidence.log_e()
        for a, b in np.argwhere(log_e > -1e299).tolist()[:2]:
            with localcontext(Context(prec=oracle.DIGITS)):
                exact = float(literal.log_product(batches, (view, a, b), arithmetic=oracle.EXACT))
            assert exact - 1e-9 * (1 + abs(exact)) <= log_e[a, b] <= exact


def test_of_both_targets_the_evidence_about_new_items_goes_on():
    """As on a benchmark about new items alone at half of the level."""
    items = [f"q{i}" for i in range(40)]
    make = lambda target, alpha, some: Design.make("abc", some, target=target, alpha=alpha, looks=(1, 2))  # noqa: E731
    both, alone = Certifier(make("both", 0.4, items[:25])), Certifier(make("new-items", 0.2, items[:25]))
    panels = (np.random.default_rng(1).random((3, 3, 40)) < [[0.9], [0.5], [0.1]]).astype(float)
    for certifier in (both, alone):
        certifier.update(panels[0][:, :25])
    batches = [make("new-items", 0.2, items[:25]), make("new-items", 0.2, items[25:])]
    whole = make("both", 0.4, items).of_target("new-items")
    assert whole == make("new-items", 0.2, items)
    both, alone = (certifier.grown(whole, batches) for certifier in (both, alone))
    for panel in panels[1:]:
        for certifier in (both, alone):
            certifier.update(panel)
        np.testing.assert_array_equal(both.evidence.log_e(), alone.evidence.log_e())
        np.testing.assert_array_equal(both.edges(), alone.edges())
        np.testing.assert_array_equal(both.evidence.lower_bounds(), alone.evidence.lower_bounds())


def test_items_that_were_not_run_count_one():
    items = [f"q{i}" for i in range(30)]
    make = lambda some: Design.make("ab", some, target="new-items", looks=(2, 3))  # noqa: E731
    certifier = Certifier(make(items[:20]))
    panel = np.repeat([[1.0], [0.0]], 30, axis=1)
    for _ in range(2):
        certifier.update(panel[:, :20])
    before, margins = certifier.evidence.log_e(), certifier.evidence.lower_bounds()
    certifier = certifier.grown(make(items), [make(items[:20]), make(items[20:])])
    np.testing.assert_array_equal(certifier.evidence.log_e(), before)
    certifier.update(panel)  # the first of two runs to the first look at the new ones: nothing, for now
    assert certifier.evidence.log_e()[0, 1] < -1e299
    np.testing.assert_array_equal(certifier.evidence.lower_bounds(), margins)
    assert certifier.edges()[0, 1]
    assert [look.replicate for look in certifier.leaderboard().looks] == [2]
    certifier.update(panel)
    assert certifier.evidence.log_e()[0, 1] > before[0, 1]
    assert certifier.evidence.lower_bounds()[0, 1] > margins[0, 1]
    assert [look.replicate for look in certifier.leaderboard().looks] == [2, 4]


def test_a_state_that_has_forgotten_a_look_at_added_items_is_refused():
    history = History(2)
    *_, (certifier, _) = history.play()
    looks = [each.looks for each in certifier.views[0].batches]
    assert all(looks)
    designs = [history.design(history.items(batch)) for batch in range(len(looks))]
    whole = history.design(slice(0, sum(history.sizes)))
    assert Certifier.from_bytes(whole, certifier.to_bytes(), batches=designs).evidence.active
    looks[-1].pop()
    with pytest.raises(DataError, match="damaged"):
        Certifier.from_bytes(whole, certifier.to_bytes(), batches=designs)
