"""Tables in which models change their names half-way: every contradiction is reported, and no leader named beside one.

What counts as a contradiction is computed here literally: look by look, over all views, from edges and bounds.
"""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from bbedge import Certificate, Leaderboard, Scores, certify
from bbedge.core.certifier import Certifier
from bbedge.display.page import render_page

CASES = 100
OPTIONS = ({}, {"method": "bb-edge"}, {"mean_share": 0.1}, {"tau": 0.05}, {"evidence": "sharp"})


def swapped(seed: int, *, views: bool = False) -> tuple[Scores, dict]:
    """Scores of right-or-wrong items whose models change places after some run, and options of a design."""
    rng = np.random.default_rng(seed)
    n_models, n_items = int(rng.integers(2, 5)), int(rng.choice([40, 120, 250]))
    n_runs = int(rng.integers(3, 8))
    means, turn = rng.uniform(0.05, 0.95, n_models), int(rng.integers(1, n_runs))
    order = rng.permutation(n_models)
    now = [means if run < turn else means[order] for run in range(n_runs)]
    values = (rng.random((n_runs, n_models, n_items)) < np.array(now)[:, :, None]).astype(float)
    models, items = [f"m{i}" for i in range(n_models)], [f"q{i}" for i in range(n_items)]
    options = {"copies": "allow"} | OPTIONS[seed % len(OPTIONS)]
    if views:
        options |= {"views": {"first": [1.0] * 20 + [0.0] * (n_items - 20)}}
    return Scores.of(values, models=models, items=items), options


def literal(scores: Scores, options: dict) -> bool:
    """Whether what any look shows, in any view, excludes what the same or another look shows."""
    certifier, seen = Certifier(scores.design(**options)), []
    for panel in scores.values:
        certifier.update(panel)
        board = certifier.leaderboard()
        seen.append((board, *board.views))
    return any(_contradicts(looks) for looks in zip(*seen, strict=True))


def _contradicts(looks: tuple[Leaderboard, ...]) -> bool:
    size, tau = len(looks[0].design.models), looks[0].design.tau
    edges = {(a, b) for look in looks for a, b in np.argwhere(look.current_edges).tolist()}
    steps = dict.fromkeys(edges, 1)  # the longest path of edges, by Floyd and Warshall
    for via, a, b in itertools.product(range(size), repeat=3):
        if (a, via) in steps and (via, b) in steps:
            steps[a, b] = max(steps.get((a, b), 0), steps[a, via] + steps[via, b])
    if any(a == b for a, b in steps):
        return True
    lower = {pair: count * tau for pair, count in steps.items()}
    for look in looks:
        for a, b in itertools.permutations(range(size), 2):
            lower[a, b] = max(lower.get((a, b), -1.0), float(look.lower_bounds[a, b]))
    if any(lower[a, b] > -lower[b, a] for a, b in itertools.combinations(range(size), 2)):
        return True
    bounds = [look.mean_bounds for look in looks if look.mean_bounds is not None]
    return bool(bounds) and bool((np.max(bounds, axis=0)[:, 0] > np.min(bounds, axis=0)[:, 1]).any())


@pytest.mark.nightly
@pytest.mark.parametrize("views", [False, True], ids=["headline", "views"])
def test_swapped_labels_are_never_a_result(views):
    contradicted = 0
    for seed in range(CASES):
        scores, options = swapped(seed, views=views)
        board = certify(scores, **options)
        assert board.is_contradicted == literal(scores, options), seed
        made = board.certificate()
        document = json.loads(made.to_json())
        assert document.get("contradicted", False) == board.is_contradicted
        assert Certificate.of(document).answer == made.answer  # and it agrees with itself
        says = [made.answer, made.to_markdown(), made._repr_html_()]
        assert all(("CONTRADICTION" in text) == board.is_contradicted for text in says), seed
        if not board.is_contradicted:
            continue
        contradicted += 1
        assert made.answer.startswith("CONTRADICTION: ")
        assert made.to_markdown().startswith("**CONTRADICTION: ")
        assert not any(word in made.answer for word in ("highest mean", "is best", "beats", "could be best")), seed
        assert {board.top_k(k) for k in range(1, len(scores.models))} == {None}
        if seed < 10:
            page = render_page(made)
            assert page.index("<strong>CONTRADICTION</strong>") < page.index("<header>")
            assert "Top-1" not in page
    assert contradicted >= CASES // 4


@pytest.mark.nightly
def test_sound_tables_are_not_contradicted():
    rng = np.random.default_rng(7)
    for _ in range(CASES):
        means = rng.choice([0.3, 0.5, 0.52, 0.9], 3)
        values = (rng.random((5, 3, 60)) < means[None, :, None]).astype(float)
        scores = Scores.of(values, models=["a", "b", "c"], items=[f"q{i}" for i in range(60)])
        board = certify(scores, mean_share=0.1)
        assert not board.is_contradicted
        assert board.crossed == ()
