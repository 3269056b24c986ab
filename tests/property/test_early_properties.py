"""What must hold of looks inside the first run, whatever the scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from bbedge.core.certifier import Certifier
from bbedge.core.checkpoints import Checkpoints, first_run_plan
from bbedge.core.design import Design

MODELS = ("a", "b", "c")
examples = settings(max_examples=25, derandomize=True, deadline=None)


@st.composite
def cases(draw):
    """Items, panels and the options of a design with checkpoints."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_items = draw(st.integers(6, 20))
    panels = rng.random((draw(st.integers(1, 3)), 3, n_items)) ** np.array([[0.3], [1.0], [3.0]])
    if draw(st.booleans()):
        panels = np.round(panels)
    options = {
        "checkpoints": Checkpoints(order_seed=draw(st.integers(0, 2**63 - 1)), fractions=(0.1, 0.3, 0.6)),
        "blocks": [f"b{max(0, i - draw(st.integers(0, 1)))}" for i in range(n_items)],
        "tau": draw(st.sampled_from([0.0, 0.03])),
        "evidence": draw(st.sampled_from(["sharp", "betting"])),
        "holm": draw(st.sampled_from(["direct", "staggered"])),
        "weights": draw(st.sampled_from([None, rng.choice([0.0, 0.5, 1.0, 3.0], n_items).tolist()])),
        "views": draw(st.sampled_from([None, {"some": rng.choice([0.0, 1.0, 2.0], n_items).tolist()}])),
        "alpha": 0.4,
    }
    if options["weights"] is not None and not any(options["weights"]):
        options["weights"] = None
    if draw(st.booleans()):
        options["gaps"] = "worst-case"
        panels = np.where(rng.random(panels.shape) < 0.1, np.nan, panels)
    return tuple(f"q{i}" for i in range(n_items)), panels, options


def new_scores(certifier, panel):
    """The scores up to the next checkpoint of the models that are running."""
    design = certifier.evidence.design
    rows = [design.models.index(model) for model in certifier.evidence.active]
    return panel[np.ix_(rows, [design.items.index(item) for item in certifier.next_items])]


def run(certifier, panels):
    while certifier.next_checkpoint is not None:
        certifier.update(new_scores(certifier, panels[0]), certifier.next_checkpoint.blocks)
    for panel in panels:
        certifier.update(panel)
    return certifier


def same(one, other, *, tolerance=0.0):
    for first, second in zip((one, *one.views), (other, *other.views), strict=True):
        for name in ("log_e", "lower_bounds", "means", "log_w"):
            found, expected = getattr(first, name), getattr(second, name)
            if found is not None:
                np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance, equal_nan=True)
        assert (first.edges == second.edges).all()
        assert (first.first_certified == second.first_certified).all()
        if first.early is not None:
            assert first.early.looks == second.early.looks
            assert (first.early.first_certified == second.early.first_certified).all()


@pytest.mark.nightly
@given(cases(), st.integers(0, 3))
@examples
def test_a_restored_certifier_goes_on_as_the_one_that_was_saved(case, moment):
    items, panels, options = case
    design = Design.make(MODELS, items, **options)
    certifier = Certifier(design)
    for _ in range(moment):
        certifier.update(new_scores(certifier, panels[0]), certifier.next_checkpoint.blocks)
    if moment == 2:
        certifier.stop(["b"])
        panels = panels[:, [0, 2]]
        panels = np.insert(panels, 1, 0.0, axis=1)  # never read
    state = certifier.to_bytes()
    restored = Certifier.from_bytes(design, state)
    assert restored.to_bytes() == state
    for each in (certifier, restored):
        while each.next_checkpoint is not None:
            each.update(new_scores(each, panels[0]), each.next_checkpoint.blocks)
        for panel in panels:
            each.update(panel[[MODELS.index(model) for model in each.evidence.active]])
    assert restored.to_bytes() == certifier.to_bytes()
    same(certifier.leaderboard(), restored.leaderboard())


@pytest.mark.nightly
@given(cases(), st.permutations(range(3)), st.randoms(use_true_random=False))
@examples
def test_relabelling_and_reordering_change_nothing(case, order, random):
    """Other names of models in another order, items in another order: the same looks."""
    items, panels, options = case
    columns = list(range(len(items)))
    random.shuffle(columns)
    options = options | {"holm": "direct"}  # sums in another order may round a tie of staggered e-Holm differently
    moved = options | {"blocks": [f"{options['blocks'][i]}!" for i in columns]}
    if options["weights"] is not None:
        moved["weights"] = [options["weights"][i] for i in columns]
    if options["views"] is not None:
        moved["views"] = {name: [given[i] for i in columns] for name, given in options["views"].items()}
    one = run(Certifier(Design.make(MODELS, items, **options)), panels)
    other = run(
        Certifier(Design.make([MODELS[i] for i in order], [items[i] for i in columns], **moved)),
        panels[:, order][:, :, columns],
    )
    assert one.evidence.design.hash == other.evidence.design.hash
    for place in range(len(one.views)):
        found, expected = other.views[place].log_e(), one.views[place].log_e()[np.ix_(order, order)]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9, equal_nan=True)


@given(cases())
@examples
def test_evidence_only_grows_inside_the_run_and_its_looks_do_not_change_its_end(case):
    items, panels, options = case
    design = Design.make(MODELS, items, **options)
    certifier, at_once = Certifier(design), Certifier(design)
    before = [np.full((3, 3), -np.inf) for _ in design.parts]
    while certifier.next_checkpoint is not None:
        certifier.update(new_scores(certifier, panels[0]), certifier.next_checkpoint.blocks)
        for place, view in enumerate(certifier.views):
            assert not (view.log_e() < before[place] - 1e-12).any()
            before[place] = view.log_e()
    for panel in panels:
        certifier.update(panel)
        at_once.update(panel)
    for one, other, least in zip(certifier.views, at_once.views, before, strict=True):
        np.testing.assert_allclose(one.log_e(), other.log_e(), rtol=0, atol=1e-9, equal_nan=True)
        assert not (one.log_e() < least - 1e-12).any()


@given(cases())
@examples
def test_complete_runs_pay_the_weight_of_the_checkpoints_at_most(case):
    items, panels, options = case
    design = Design.make(MODELS, items, **options)
    plain = structs.replace(design, checkpoints=None)
    one, other = Certifier(design), Certifier(plain)
    for panel in panels:
        one.update(panel)
        other.update(panel)
    for first, second in zip(one.views, other.views, strict=True):
        price = np.log(first_run_plan(design).complete)
        assert not (first.log_e() < second.log_e() + price - 1e-9).any()
        assert not (first.lower_bounds() > 1.0).any()
