"""Evidence inside the first run against the literal construction, and what a certifier makes of it."""

import io
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from bbedge.core import bounds
from bbedge.core.arrays import load_arrays, write_archive
from bbedge.core.certifier import Certifier
from bbedge.core.checkpoint_evidence import CheckpointBets, checkpoint_kind, plan_of
from bbedge.core.checkpoints import Checkpoints, first_run_plan
from bbedge.core.design import Design
from bbedge.errors import DataError, DesignError
from early_oracle import Setting, e_holm, with_memory

MODELS = ("a", "b", "c")
N = 24
ITEMS = tuple(f"q{i}" for i in range(N))
BLOCKS = tuple(f"d{i // 2 if i < 12 else i}" for i in range(N))  # six pairs, twelve single items
EARLY = Checkpoints(order_seed=11, fractions=(0.05, 0.1, 0.3, 0.6))
RNG = np.random.default_rng(5)
WEIGHTS = tuple(RNG.choice([0.0, 0.5, 1.0, 3.0], N).tolist())
FIRST = tuple(1.0 if i < 9 else 0.0 for i in range(N))


def panels(count=3, *, strength=0.5, holes=0.0, seed=0):
    rng = np.random.default_rng(seed)
    chances = np.clip(0.5 + strength * np.array([1.0, 0.0, -1.0]), 0.02, 0.98)
    found = (rng.random((count, 3, N)) < chances[:, None]).astype(float)
    return np.where(rng.random(found.shape) < holes, np.nan, found)


def make(**options):
    return Design.make(MODELS, ITEMS, **({"blocks": BLOCKS, "checkpoints": EARLY} | options))


def setting_of(design):
    given = design.checkpoints
    return Setting(
        items=design.items,
        blocks=design.blocks,
        seed=given.order_seed,
        fractions=given.fractions,
        shares=given.weights,
        complete=given.complete,
        alpha=design.certificate_alpha,
        directions=design.n_directions / design.share,
        tau=design.tau,
        weights=design.weights,
        kind=checkpoint_kind(design),
    )


def parts_of(certifier, panel):
    """Feed a run checkpoint by checkpoint; the looks inside it."""
    place = {item: i for i, item in enumerate(certifier.evidence.design.items)}
    rows = [MODELS.index(model) for model in certifier.evidence.active]
    looks = []
    while (upcoming := certifier.next_checkpoint) is not None:
        certifier.update(panel[np.ix_(rows, [place[item] for item in certifier.next_items])], upcoming.blocks)
        looks.append(certifier.last_looks)
    return looks


def off_diagonal(matrix):
    return [(a, b, matrix[a, b]) for a, b in itertools.permutations(range(len(matrix)), 2)]


DESIGNS = {
    "plain": {},
    "items": {"blocks": "item"},
    "tau": {"tau": 0.03},
    "sharp": {"evidence": "sharp"},
    "sharp tau": {"evidence": "sharp", "tau": 0.05},
    "bernstein": {"evidence": "bernstein", "stakes": "paper"},
    "hoeffding": {"evidence": "hoeffding", "stakes": "paper"},
    "two-way": {"prediction": "two-way"},
    "weights": {"weights": WEIGHTS},
    "weights sharp": {"weights": WEIGHTS, "evidence": "sharp"},
    "views": {"views": {"first": FIRST, "heavy": WEIGHTS}},
    "views sharp": {"views": {"first": FIRST, "heavy": WEIGHTS}, "evidence": "sharp", "tau": 0.02},
    "direct": {"holm": "direct"},
    "planned": {"planned": 1},
    "gaps": {"gaps": "worst-case"},
    "gaps sharp": {"gaps": "worst-case", "evidence": "sharp", "weights": WEIGHTS},
    "own weights": {"checkpoints": structs.replace(EARLY, weights=(0.1, 0.1, 0.2, 0.3), complete=0.3)},
    "candidate": {"candidate": ["a"]},
}


@pytest.mark.parametrize("name", DESIGNS)
def test_evidence_is_that_of_the_definition(name):
    design = make(**DESIGNS[name])
    data = panels(holes=0.1 if "gaps" in name else 0.0)
    certifier, plain = Certifier(design), Certifier(structs.replace(design, checkpoints=None))
    looks = parts_of(certifier, data[0])
    assert len(looks) == 4
    for panel in data:
        certifier.update(panel)
        plain.update(panel)
        looks.append(certifier.last_looks)
    for place, part in enumerate(design.parts):
        setting = setting_of(part)
        for a, b in itertools.permutations(range(3), 2):
            if not part.tested[a, b]:
                assert np.isnan(looks[0][place].log_e[a, b])
                continue
            sums = setting.sums(data[0][a], data[0][b])
            for look, expected in zip(looks, sums, strict=False):
                assert math.isclose(look[place].log_e[a, b], math.log(expected), abs_tol=1e-8)
                assert look[place].log_e[a, b] <= math.log(expected) + 1e-13
            full = math.exp(plain.views[place].log_e()[a, b])
            last = math.log(sums[-1] + setting.complete * full)
            assert math.isclose(looks[-1][place].log_e[a, b], last, abs_tol=1e-8)


@pytest.mark.parametrize("views", [None, {"first": FIRST}])
def test_direct_e_holm_inside_the_run_is_that_of_the_definition(views):
    design = make(holm="direct", views=views, alpha=0.6)
    data, certifier = panels(1, strength=0.6), Certifier(design)
    looks = parts_of(certifier, data[0])
    shares = {
        (v, a, b): share
        for v, share in enumerate(tuple(part.share for part in design.parts))
        for a, b in itertools.permutations(range(3), 2)
    }
    standing, found = set(), []
    for number, look in enumerate(looks):
        evidence = {
            (v, a, b): setting_of(part).sums(data[0][a], data[0][b])[number]
            for v, part in enumerate(design.parts)
            for a, b in itertools.permutations(range(3), 2)
        }
        standing |= e_holm(evidence, design.certificate_alpha, shares)
        seen = {(v, a, b) for v, each in enumerate(look) for a, b in np.argwhere(each.edges).tolist()}
        assert seen == standing
        found.append(len(standing))
    assert found[-1] > 0


@pytest.mark.parametrize("planned", [None, 1])
def test_e_holm_with_memory_inside_the_run_is_that_of_the_definition(planned):
    design = make(planned=planned, alpha=0.6)
    data, certifier = panels(1, strength=0.6), Certifier(design)
    setting, standing = setting_of(design), set()
    late = math.fsum(group.weight for group in design.entry_groups if group.after)
    assert (late > 0) == (planned is None)
    for number, look in enumerate(parts_of(certifier, data[0])):
        evidence = {
            (a, b): setting.sums(data[0][a], data[0][b])[number] for a, b in itertools.permutations(range(3), 2)
        }
        cash = setting.complete * late
        standing = with_memory(evidence, standing, design.certificate_alpha, 1 - cash, cash)
        assert set(map(tuple, np.argwhere(look[0].edges).tolist())) == standing
    assert standing


def test_a_view_without_weight_in_a_part_has_the_evidence_of_nothing():
    order = first_run_plan(make()).order
    weights = np.zeros(N)
    weights[order[-1]] = 1.0
    design = make(weights=weights.tolist())
    looks = parts_of(Certifier(design), panels()[0])
    for look, total in zip(looks, itertools.accumulate(EARLY.weights), strict=True):
        for _, _, value in off_diagonal(look[0].log_e):
            assert math.isclose(value, math.log(total), abs_tol=1e-12)


def test_stakes_do_not_depend_on_which_blocks_were_drawn():
    """A stake made for the blocks that came first would know how heavy they are."""
    weights = tuple(float(10 ** (i % 3)) for i in range(N))
    grids = set()
    for seed in range(5):
        design = make(weights=weights, checkpoints=structs.replace(EARLY, order_seed=seed))
        grids.add(CheckpointBets.of(design, design.layout, plan_of(design), 2).bets.stakes.values)
    assert len(grids) == 1


# The certifier ---------------------------------------------------------------------------------------------------


def test_it_remembers_at_which_part_each_comparison_was_certified():
    design = make(blocks="item", alpha=0.3)
    certifier, panel = Certifier(design), panels(1, strength=0.6)[0]
    parts_of(certifier, panel)
    inside = certifier.leaderboard()
    assert inside.replicates == 0
    assert inside.early.progress == inside.early.reached_checkpoint.fraction == 15 / 24
    assert not inside.early.is_complete
    assert inside.graph.n_edges == inside.early.looks[-1].edges > 0
    first = inside.early.first_certified
    assert ((first > 0) == inside.edges).all()
    assert (inside.first_certified == (first > 0)).all()
    a, b = np.argwhere(first > 0)[0]
    assert inside.early.checkpoint_of(a, b).number == first[a, b]
    certifier.update(panel)
    after = certifier.leaderboard()
    assert after.early.is_complete
    assert after.early.progress == 1.0
    assert after.early.reached_checkpoint is None
    assert (after.early.first_certified == first).all()
    assert [look.replicate for look in after.looks] == [1]
    assert (after.first_certified[first > 0] == 1).all()


def test_what_was_certified_inside_the_run_stands():
    """A lead that the rest of the run takes back."""
    design = make(blocks="item", alpha=0.3)
    order = first_run_plan(design).order
    panel = np.zeros((3, N))
    panel[0, order[:15]], panel[1, order[15:]] = 1.0, 1.0
    certifier = Certifier(design)
    parts_of(certifier, panel)
    assert certifier.edges()[0, 1]
    certifier.update(panel)
    certifier.update(np.ones((3, N)))
    assert certifier.edges()[0, 1]


def test_means_inside_the_run_are_those_of_what_is_complete():
    design = make(views={"first": FIRST})
    panel, certifier = panels(1)[0], Certifier(design)
    assert np.isnan(certifier.leaderboard().means).all()
    parts_of(certifier, panel)
    places = first_run_plan(design).places(4)
    assert np.allclose(certifier.leaderboard().means, panel[:, places].mean(axis=1))
    chosen = [i for i in places if FIRST[i]]
    assert np.allclose(certifier.leaderboard().view("first").means, panel[:, chosen].mean(axis=1))
    certifier.update(panel)
    assert np.allclose(certifier.leaderboard().means, panel.mean(axis=1))


def test_a_complete_run_that_differs_from_what_was_seen_is_refused():
    certifier, panel = Certifier(make(gaps="worst-case")), panels(1, holes=0.1)[0]
    parts_of(certifier, panel)
    before = certifier.to_bytes()
    place = int(first_run_plan(make()).order[3])
    for other in (1.0 - np.nan_to_num(panel[1, place], nan=1.0), 0.25):
        changed = panel.copy()
        changed[1, place] = other
        with pytest.raises(DataError, match=rf"model 'b' on item 'q{place}' differs from what was seen"):
            certifier.update(changed)
    assert certifier.to_bytes() == before
    later = panel.copy()
    later[:, first_run_plan(make()).order[-1]] = 0.5  # not seen yet
    certifier.update(later)


def test_parts_in_the_wrong_place_are_refused():
    certifier, panel = Certifier(make()), panels(1)[0]
    with pytest.raises(DataError, match="expected 3 models x"):
        certifier.update(panel, certifier.next_checkpoint.blocks)
    with pytest.raises(DataError, match=r"score nan of model 'a' on item"):
        certifier.update(np.full((3, len(certifier.next_items)), np.nan), certifier.next_checkpoint.blocks)
    for upto in (certifier.next_checkpoint.blocks - 1, first_run_plan(make()).checkpoints[1].blocks, 0, len(ITEMS)):
        with pytest.raises(DataError, match=rf"a look after {upto} blocks? is not planned here; the next"):
            certifier.update(panel[:, [ITEMS.index(item) for item in certifier.next_items]], upto)
    parts_of(certifier, panel)
    with pytest.raises(DataError, match="every checkpoint of the first run has passed; add the complete run"):
        certifier.update(panel, 1)
    assert len(certifier.next_items) == len(ITEMS) - first_run_plan(make()).checkpoints[-1].items
    certifier.update(panel)
    assert certifier.next_items == ()
    with pytest.raises(DataError, match="the first run is complete"):
        certifier.update(panel, 1)
    with pytest.raises(DesignError, match="this design has no checkpoints"):
        Certifier(make(checkpoints=None)).update(panel, 1)


# State -----------------------------------------------------------------------------------------------------------


def test_a_state_without_checkpoints_knows_nothing_of_them():
    certifier = Certifier(make(checkpoints=None))
    certifier.update(panels(1)[0])
    arrays = load_arrays(certifier.to_bytes())
    assert set(arrays) == {"evidence", "first_certified", "current", "looks", "best_bounds"}
    assert not any(name.startswith("early") for name in load_arrays(arrays["evidence"].tobytes()))
    assert certifier.leaderboard().early is None
    assert certifier.next_checkpoint is None
    assert certifier.next_items == ()


def test_damaged_states_inside_the_run_are_refused():
    certifier, panel = Certifier(make()), panels(1)[0]
    place = {item: i for i, item in enumerate(ITEMS)}
    certifier.update(panel[:, [place[item] for item in certifier.next_items]], certifier.next_checkpoint.blocks)
    arrays = load_arrays(certifier.to_bytes())
    inner = load_arrays(arrays["evidence"].tobytes())
    whole = archive(arrays)
    assert Certifier.from_bytes(make(), whole).to_bytes() == whole
    broken = [
        {name: array for name, array in arrays.items() if name != "seen"},
        {name: array for name, array in arrays.items() if name != "looks"},
        arrays | {"seen": arrays["seen"][:2]},
        arrays | {"seen": arrays["seen"][:, :0]},
        arrays | {"evidence": as_bytes(inner | {"early.passed": np.array([9])})},
        arrays | {"evidence": as_bytes({name: a for name, a in inner.items() if name != "early.log_s"})},
    ]
    for state in broken:
        with pytest.raises(DataError, match="damaged"):
            Certifier.from_bytes(make(), archive(state))
    with pytest.raises(DesignError, match="another design"):
        Certifier.from_bytes(make(checkpoints=structs.replace(EARLY, order_seed=12)), whole)


def archive(arrays):
    buffer = io.BytesIO()
    write_archive(buffer, arrays.items())
    return buffer.getvalue()


def as_bytes(arrays):
    return np.frombuffer(archive(arrays), dtype=np.uint8)


# Stopping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"stakes": "design"}, {"holm": "direct"}, {"views": {"first": FIRST}}, {"gaps": "worst-case"}]
)
def test_a_model_that_stops_inside_the_run_keeps_what_it_had(options):
    certifier, data = Certifier(make(**options)), panels(3, holes=0.05 if "gaps" in options else 0.0)
    place = {item: i for i, item in enumerate(ITEMS)}
    for _ in range(2):
        certifier.update(data[0][:, [place[item] for item in certifier.next_items]], certifier.next_checkpoint.blocks)
    then = certifier.leaderboard()
    certifier.stop(["b"])
    parts_of(certifier, data[0])
    for panel in data:
        certifier.update(panel[[0, 2]])
    now, whole = certifier.leaderboard(), Certifier(make(**options))
    for panel in data:
        whole.update(panel)
    complete = whole.leaderboard()
    for before, after, never in zip((then, *then.views), (now, *now.views), (complete, *complete.views), strict=True):
        assert np.allclose(after.log_e[:, 1], before.log_e[:, 1], equal_nan=True, atol=1e-12)
        assert np.allclose(after.log_e[1], before.log_e[1], equal_nan=True, atol=1e-12)
        assert np.isfinite(after.log_e[0, 1])
        if after.design.stakes != "fitted":  # to the noise of the models that are active
            assert after.log_e[0, 2] == pytest.approx(never.log_e[0, 2], abs=1e-9)
        assert np.array_equal(after.means[1], before.means[1], equal_nan=True)
        assert after.lower_bounds[0, 1] == max(before.lower_bounds[0, 1], 0.0 if after.edges[0, 1] else -1.0)
        assert not after.edges[:, 1][~before.edges[:, 1]].any() or after.edges[:, 1].any()


def test_stopping_before_the_first_part_keeps_evidence_one():
    certifier = Certifier(make())
    certifier.stop(["c"])
    assert parts_of(certifier, panels()[0])[-1][0].log_e[0, 2] <= 0.0  # what has not entered is no evidence yet
    certifier.update(panels()[0][:2])
    assert certifier.last_look.log_e[0, 2] == pytest.approx(0.0, abs=1e-12)


# Margins ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "items", "tau", "weights", "views", "gaps", "bernstein"])
def test_margins_inside_the_run_are_valid_and_close_to_the_definition(name):
    design = make(alpha=0.95, margin_share=0.95, **DESIGNS[name])
    panel, certifier = panels(1, strength=0.6, holes=0.03 if name == "gaps" else 0.0)[0], Certifier(design)
    parts_of(certifier, panel)
    found = 0
    for view, part in zip(certifier.views, design.parts, strict=True):
        setting = replace(setting_of(part), kind="betting")
        bounds, threshold = view.lower_bounds(), part.n_directions / (part.share * part.margin_alpha)
        for a, b, bound in off_diagonal(bounds):
            if bound > -1.0:  # there, the literal evidence of some checkpoint reaches the threshold
                assert setting.sums(panel[a], panel[b], bound)[-1] >= threshold
            looser = min(1.0, bound + 1e-5)
            best = max(
                share * setting.evidence(panel[a], panel[b], n, share, looser) for n, share in setting.checkpoints
            )
            assert looser == 1.0 or best < threshold
        found += sum(bound > -1.0 for *_, bound in off_diagonal(bounds))
        # Above another difference: a lower bound of the literal sum, and near it.
        for t in (-0.3, 0.0, 0.1):
            for a, b, value in off_diagonal(view.log_e_above(t)):
                literal = math.log(setting.sums(panel[a], panel[b], t)[-1])
                assert literal - 1e-8 <= value <= literal + 1e-13
    assert found


def test_margins_of_many_blocks_are_read_off_a_lower_bound(monkeypatch):
    design = make(weights=tuple(w or 1.0 for w in WEIGHTS), tau=0.02, alpha=0.6, margin_share=0.8)
    panel = panels(1, strength=0.6)[0]
    found = []
    for limit in (bounds.EXACT_LIMIT, 0):
        monkeypatch.setattr(bounds, "EXACT_LIMIT", limit)
        certifier = Certifier(design)
        parts_of(certifier, panel)
        found.append((certifier.evidence.lower_bounds(), certifier.evidence.log_e_above(0.1)))
    for exact, sharp in zip(*found, strict=True):
        off = ~np.eye(3, dtype=bool)
        assert (sharp[off] <= exact[off]).all()
    assert np.nanmin(found[0][1] - found[1][1]) < 0.2  # and it is of some use


def test_margins_after_the_run_are_the_better_of_both():
    design = make(blocks="item", alpha=0.3)
    panel, certifier = panels(1, strength=0.4)[0], Certifier(design)
    parts_of(certifier, panel)
    inside = certifier.evidence.lower_bounds()
    certifier.update(panel)
    after = certifier.evidence.lower_bounds()
    plain = Certifier(structs.replace(design, checkpoints=None))
    plain.update(panel)
    upper = plain.evidence.lower_bounds()
    off = ~np.eye(3, dtype=bool)
    assert (after[off] >= inside[off]).all()
    assert (after[off] <= np.maximum(upper, inside)[off] + 1e-12).all()
    assert (after[off] > inside[off]).any()
