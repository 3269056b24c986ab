"""A certificate with looks inside the first run follows from a table of its scores, or something differs."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

from bbedge.certificate.provenance import digest
from bbedge.core.checkpoints import Checkpoints
from bbedge.core.conclusions import GapCount
from bbedge.core.leaderboard import Certifier
from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError, DesignError
from bbedge.verify.verify import verify_certificate
from unit.board.first_runs import ITEMS, MODELS, drawn

PANELS = [np.stack(list(drawn(seed).values())) for seed in (1, 2)]
FRACTIONS = (0.1, 0.3, 0.6)
D = MODELS.index("d")


def table(panels, **options) -> Scores:
    return replace(Scores.of(panels, models=MODELS, items=ITEMS), **options)


def design_of(**options):
    return Scores.of(PANELS[:1], models=MODELS, items=ITEMS).design(
        checkpoints=Checkpoints(order_seed=5, fractions=FRACTIONS), **options
    )


class Run:
    """A certifier that is fed step by step, and the table that a harness has by then."""

    def __init__(self, panels=PANELS, **options):
        self.design = design_of(**options)
        self.certifier = Certifier(self.design)
        self.panels = [panel.copy() for panel in panels]
        self.values = np.full((1, len(MODELS), len(ITEMS)), np.nan)

    @property
    def rows(self):
        return [MODELS.index(model) for model in self.certifier.evidence.active]

    def part(self):
        columns = [ITEMS.index(item) for item in self.certifier.next_items]
        self.certifier.update(self.panels[0][np.ix_(self.rows, columns)], self.certifier.next_checkpoint.blocks)
        self.values[0][np.ix_(self.rows, columns)] = self.panels[0][np.ix_(self.rows, columns)]
        return self

    def stop(self, *models):
        self.certifier.stop(models)
        return self

    def complete(self):
        number = self.certifier.evidence.replicates
        self.certifier.update(self.panels[number][self.rows])
        if number:
            self.values = np.concatenate([self.values, np.full((1, len(MODELS), len(ITEMS)), np.nan)])
        self.values[number, self.rows] = self.panels[number][self.rows]
        return self

    @property
    def scores(self):
        return table(self.values, gaps="worst-case" if np.isnan(self.values).any() else "refuse")

    @property
    def content(self):
        leaderboard = self.certifier.leaderboard()
        gaps = self.design.gaps
        return json.loads(replace(leaderboard, origin=replace(self.scores, gaps=gaps).origin).to_json())


RUNS = {
    "at the first checkpoint": lambda: Run().part(),
    "at the last checkpoint": lambda: Run().part().part().part(),
    "complete": lambda: Run().part().part().complete(),
    "a model was stopped": lambda: Run().part().part().stop("d").part(),
    "a model was stopped, complete": lambda: Run().part().stop("d").part().part().complete(),
    "stopped at the last checkpoint": lambda: Run().part().part().part().stop("c", "d").complete(),
    "two runs": lambda: Run().part().stop("d").complete().stop("c").complete(),
    "nothing was run": Run,
    "stopped, with tau and blocks": lambda: Run(tau=0.02, method="bb-edge-x", mean_share=0.1).part().stop("d").part(),
}


@pytest.mark.parametrize("name", RUNS)
def test_everything_follows_from_the_table(name):
    run = RUNS[name]()
    found = verify_certificate(run.content, run.scores)
    assert found.verified, [each for check in found.checks for each in check.differences]
    assert found.verified
    assert {check.kind: check.status for check in found.checks}["scores"] == "ok"


def test_a_longer_table_shows_what_an_earlier_certificate_says():
    run = Run().part().stop("d").part()
    content = run.content
    del content["provenance"]
    later = run.part().complete()
    assert verify_certificate(content, later.scores).verified


def test_a_changed_score_is_found():
    run = RUNS["a model was stopped, complete"]()
    content, values = run.content, run.values.copy()
    values[0, 0, 0] = 1.0 - values[0, 0, 0]
    found = verify_certificate(content, table(values, gaps="worst-case"))
    assert {check.kind for check in found.checks if check.status == "differs"} >= {"scores", "results"}


def test_a_model_that_ran_on_is_found():
    content = RUNS["a model was stopped, complete"]().content
    found = verify_certificate(content, RUNS["complete"]().scores)
    places = [each.place for check in found.checks for each in check.differences]
    assert "parts[1].models" in places


def test_a_score_that_is_missing_is_no_stopped_model():
    run = RUNS["complete"]()
    values = run.values.copy()
    values[0, 0, 0] = np.nan
    found = verify_certificate(run.content, table(values, gaps="worst-case"))
    assert not found.verified
    assert "does not fit these scores" in found.summary


def test_missing_scores_are_counted_as_the_design_says():
    panel = PANELS[0].copy()
    panel[1, :5] = np.nan
    run = Run([panel], gaps="worst-case").part().stop("d").part().complete()
    content = json.loads(
        replace(
            run.certifier.leaderboard(),
            gaps=GapCount(of_models=(0, 5, 0, 0)),
            origin=run.scores.origin,
        ).to_json()
    )
    assert verify_certificate(content, run.scores).verified
    content["gaps"]["models"]["b"] = content["gaps"]["cells"] = 4
    assert not verify_certificate(content, run.scores).verified


def test_the_order_needs_all_items():
    run = RUNS["at the first checkpoint"]()
    there = ~np.isnan(run.values[0]).all(axis=0)
    short = replace(
        run.scores,
        items=tuple(item for item, has in zip(ITEMS, there, strict=True) if has),
        blocks=tuple(item for item, has in zip(ITEMS, there, strict=True) if has),
        values=run.values[:, :, there],
    )
    with pytest.raises(DesignError, match="follows from all 60 items, and the scores have 6"):
        verify_certificate(run.content, short)


def resealed(content):
    content["provenance"]["digest"] = digest(content)
    return content


def leaves(value, path=()):
    """Every number, text and truth value of a document, by where it is."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, (*path, place))
    else:
        yield path, value


def other(value):
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value + 0.001
    if isinstance(value, str):
        return ("0" if value[0] != "0" else "1") + value[1:] if value else "x"
    return 1


# The version and the digest are checked elsewhere; the time is in no hash.
APART = {("bbedge",), ("provenance", "version"), ("provenance", "digest")}


def check_found(content, scores, chosen):
    """Change these values, one at a time: each is found."""
    for path, value in chosen:
        forged = copy.deepcopy(content)
        holder = forged
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = 10 * other(value) if "more_replicates" in path else other(value)  # a forecast, to a digit
        try:
            found = verify_certificate(resealed(forged), scores)
        except BbedgeError:  # no longer a certificate, or one that cannot be computed again
            continue
        assert not found.verified, path


def values_of(name):
    run = RUNS[name]()
    every = [(path, value) for path, value in leaves(run.content) if path not in APART]
    assert len(every) > 200
    return run.content, run.scores, every


@pytest.mark.parametrize("name", ["at the last checkpoint", "a model was stopped, complete"])
@pytest.mark.nightly
def test_a_changed_value_is_found(name):
    content, scores, every = values_of(name)
    rng = np.random.default_rng(1)
    # All of what is about the first run, and some of everything else.
    chosen = [each for each in every if each[0][0] in ("first_pass", "parts") or "checkpoints" in each[0]]
    check_found(content, scores, chosen + [every[i] for i in rng.choice(len(every), 15, replace=False)])


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["a model was stopped", "a model was stopped, complete"])
def test_every_changed_value_is_found(name):
    check_found(*values_of(name))
