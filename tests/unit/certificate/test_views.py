"""The views of a certificate: written, read and checked as the headline is, and shown by every display."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import certificate, to_json
from bbedge.certificate.exports import model_frame, pairs_frame
from bbedge.core.conclusions import GapCount
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import certify, run
from bbedge.core.views import category_weights
from bbedge.errors import DesignError, FormatError
from bbedge.records.certificate import Conclusions
from unit.certificate.documents import certified, checked, drawn, schema, suite

SUITE = suite()
DOCUMENT = json.loads(to_json(certificate(SUITE)))


def changed(*path, to):
    content = copy.deepcopy(DOCUMENT)
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = to
    return content


def test_a_view_has_the_keys_of_the_headline():
    assert [view["name"] for view in DOCUMENT["views"]] == ["code", "math"]
    assert [view["share"] for view in DOCUMENT["views"]] == [0.25, 0.25]
    assert DOCUMENT["design"]["share"] == 0.5
    there = [key for key in Conclusions.__struct_fields__ if key in DOCUMENT]
    for view in DOCUMENT["views"]:
        assert [key for key in view if key in Conclusions.__struct_fields__] == there
        assert view["weights"] == {"items": 40, "largest": 1 / 40}
        assert view["blocks"] == {"count": 40, "sizes": [1] * 40}


def test_a_view_says_what_its_leaderboard_says():
    for view in SUITE.views:
        alone = json.loads(to_json(certificate(view)))
        written = next(each for each in DOCUMENT["views"] if each["name"] == view.name)
        assert (alone["view"], alone["design"]["share"]) == (view.name, 0.25)
        for key in Conclusions.__struct_fields__:
            # The open pairs of all views together are as many as the headline lists.
            assert written.get(key) == alone.get(key) or key == "outlook", key
        assert written["stake_values"] == alone["design"]["stake_values"]


def test_what_is_written_follows_the_schema_and_is_read_as_it_was():
    jsonschema.validate(DOCUMENT, schema())
    assert to_json(checked(DOCUMENT).content) == to_json(certificate(SUITE))


@pytest.mark.parametrize("shown", ["current", "all"])
def test_a_view_is_a_certificate_of_its_own(shown):
    made = Certificate.made(SUITE, shown=shown)
    read = checked(DOCUMENT, shown=shown)
    for whole in (made, read):
        assert whole.name is None
        assert [view.name for view in whole.views] == ["code", "math"]
        view = whole.view("math")
        assert view.headline is whole
        assert view.views == ()
        math = SUITE.view("math")
        graph = math.graph if shown == "all" else Graph(math.current_edges)
        places = [SUITE.design.models.index(name) for name in view.names]
        assert view.ranks.rank_intervals == tuple(graph.rank_intervals[i] for i in places)
        assert np.array_equal(view.graph.above, graph.above[np.ix_(places, places)])
        assert view.content.design.share == 0.25
        assert view.to_json() == whole.to_json()
    for ours, theirs in zip(made.views, read.views, strict=True):
        assert model_frame(ours).equals(model_frame(theirs))
        assert pairs_frame(ours).equals(pairs_frame(theirs))
        assert np.allclose(ours.pairs.log_thresholds, theirs.pairs.log_thresholds, equal_nan=True)
        assert str(ours.name) in repr(ours)


METHODS = {
    "published": {"method": "bb-edge"},
    "look by look": {"method": "bb-edge", "evidence": "betting", "stakes": "design"},
    "direct": {"method": "bb-edge-x", "holm": "direct"},
    "staggered": {"method": "bb-edge-x"},
    "of sets": {"method": "bb-edge-x", "candidate": ["m00", "m02"]},
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", METHODS)
def test_every_method_agrees_with_itself_in_every_view(method, seed):
    leaderboard = suite(("a", "b", "c"), items=60, seed=seed, shares={"a": 0.1, "b": 0.3}, tau=0.01, **METHODS[method])
    made = Certificate.made(leaderboard)
    read = checked(json.loads(made.to_json()))
    for ours, theirs in zip((made, *made.views), (read, *read.views), strict=True):
        assert np.allclose(ours.pairs.log_thresholds, theirs.pairs.log_thresholds, equal_nan=True, rtol=1e-9)
        assert np.array_equal(ours.graph.edges, theirs.graph.edges)
    assert len({tuple(view.names) for view in made.views}) > 1


@pytest.mark.parametrize("method", ["published", "look by look", "direct"])
def test_the_evidence_of_one_view_moves_the_threshold_of_the_others(method):
    content = json.loads(to_json(certificate(suite(items=60, **METHODS[method]))))
    log_e = content["views"][0]["log_e"]
    _, a, b = min((value, i, j) for i, row in enumerate(log_e) for j, value in enumerate(row) if value is not None)
    log_e[a][b] = 2.9
    # The headline is checked first: no number of its own has changed.
    with pytest.raises(FormatError, match=r"^certificate: the certificate contradicts itself: log_threshold is"):
        checked(content)


@pytest.mark.parametrize("method", ["published", "direct"])
def test_edges_are_checked_as_far_as_possible_where_a_view_lists_no_pairs(method):
    leaderboard = suite(items=60, **METHODS[method])
    content = json.loads(to_json(certificate(leaderboard, most_cells=0)))
    read = checked(content)
    assert np.nanmax(read.pairs.log_thresholds) == content["log_threshold"]
    for worse in ({"log_threshold": 1.0}, {"log_threshold": None}):
        with pytest.raises(FormatError, match="'log_threshold' is below what follows"):
            checked(content | worse)
    alone = json.loads(to_json(certificate(leaderboard.view("math"))))
    assert checked(alone).name == "math"


def test_missing_scores_of_a_real_run_agree_with_the_evidence():
    rng = np.random.default_rng(4)
    values = (rng.random((4, 4, 80)) < np.array([0.9, 0.7, 0.5, 0.2])[None, :, None]).astype(float)
    values[rng.random(values.shape) < 0.05] = np.nan
    values[2:, 3] = np.nan
    labels = ["a"] * 50 + ["b"] * 30
    scores = replace(drawn([0.5] * 4, replicates=4), values=values, gaps="worst-case")
    made = certify(scores, views=category_weights(labels)).certificate()
    assert made.content.design.gaps == "worst-case"
    assert made.content.gaps.cells == int(np.isnan(values).sum())
    assert checked(made.document).document == made.document


def test_a_model_is_called_the_same_in_all_views():
    names = ["m" * 60 + str(i) for i in range(5)]
    text = to_json(certificate(SUITE))
    for i, name in enumerate(names):
        text = text.replace(f'"m{i:02}"', f'"{name}"')
    whole = checked(json.loads(text))
    assert len({view.names for view in (whole, *whole.views)}) > 1
    assert len({tuple(sorted(zip(view.names, view.labels, strict=True))) for view in (whole, *whole.views)}) == 1


def test_an_unknown_view_is_refused_with_the_names_of_those_that_exist():
    with pytest.raises(DesignError, match="'maths' is not a view of this certificate; its views are 'code', 'math'"):
        checked(DOCUMENT).view("maths")
    with pytest.raises(DesignError, match="it has no views besides the headline"):
        Certificate.made(certified(drawn([0.9, 0.5]))).view("math")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (changed("views", 1, "name", to="code"), "a name that is not theirs alone"),
        (changed("views", 1, "name", to="headline"), "a name that is not theirs alone"),
        (changed("views", 1, "share", to=0.5), "more than all of alpha"),
        (changed("views", to=DOCUMENT["views"][:1]), "a view is missing"),
        ({key: value for key, value in DOCUMENT.items() if key != "views"}, "a view is missing"),
        (changed("views", 0, "blocks", "sizes", 0, to=2), "view 'code': .* 'fitted_stakes'"),
        (changed("views", 0, "weights", "largest", to=0.01), "view 'code': .* 'weights' and 'items' do not agree"),
        (changed("views", 0, "stake_weights", to=[1.0]), "view 'code': .* not of one length"),
        (
            changed("views", 1, "models", 0, "tier", to=2),
            "view 'math': .* 'models' are not in the order of their tiers",
        ),
        (changed("views", 1, "log_w", 4, 0, to=9.0), "view 'math': .* no edge, and its evidence reaches"),
        (changed("views", 1, "counts", "edges", to=1), "view 'math': .* the last look certifies more than stands"),
    ],
)
def test_a_view_that_contradicts_itself_or_the_headline_is_refused(content, what):
    with pytest.raises(FormatError, match=f"x.json.*{what}"):
        checked(content, source="x.json")


def test_a_view_of_other_models_is_refused():
    text = json.dumps(DOCUMENT["views"][1]).replace('"m00"', '"other"')
    with pytest.raises(FormatError, match="the models of view 'math' are not those of the headline"):
        checked(changed("views", 1, to=json.loads(text)))


def test_many_views_of_many_models_list_no_pairs():
    history = json.loads(to_json(certificate(SUITE, most_cells=100)))
    assert [view["history"] for view in history["views"]] == [None, None]
    assert all(view["log_e"] for view in history["views"])
    counts = json.loads(to_json(certificate(SUITE, most_cells=49)))
    assert counts["log_e"] == DOCUMENT["log_e"]
    for view, whole in zip(counts["views"], DOCUMENT["views"], strict=True):
        assert view["log_e"] is view["edges"] is view["top_k"] is None
        assert view["models"] == whole["models"]
    read = checked(counts)
    assert read.view("math").pairs is None
    assert read.view("math").ranks.rank_intervals == checked(DOCUMENT).view("math").ranks.rank_intervals


def test_weights_of_the_headline_are_summed_up():
    scores = drawn([0.9, 0.5, 0.2])
    weights = [3.0] + [1.0] * 59 + [0.0] * 20
    content = json.loads(to_json(certificate(certified(scores, weights=weights))))
    assert content["design"]["weights"] == {"items": 60, "largest": 3 / 62}
    assert content["items"] == 80
    assert sum(content["design"]["blocks"]["sizes"]) == 60
    jsonschema.validate(content, schema())
    mean = float(np.average(scores.values.mean(axis=0)[0], weights=weights))
    assert checked(content).means[0] == pytest.approx(mean, abs=1e-12)


def test_missing_scores_are_counted():
    gaps = GapCount(of_models=(0, 3, 0, 1, 0), resolved_if_means=8)
    content = json.loads(to_json(certificate(replace(SUITE, gaps=gaps))))
    assert content["gaps"] == {"cells": 4, "models": {"m01": 3, "m03": 1}, "resolved_if_means": 8}
    jsonschema.validate(content, schema())
    assert checked(content).document == content
    for change, what in (
        ({"cells": 5}, "gaps.cells is 5, and 4 follows"),
        ({"resolved_if_means": 11}, "more than there are pairs"),
        ({"models": {"m01": 3, "m09": 1}}, "'gaps' names a model that is not there"),
    ):
        with pytest.raises(FormatError, match=what):
            checked(content | {"gaps": content["gaps"] | change})


def test_a_stopped_model_has_other_replicates_than_the_others():
    # The first model is perfect until the second is stopped, and never right after that.
    values = np.concatenate([np.tile([[1.0], [0.0], [0.0]], (2, 1, 40)), np.zeros((2, 3, 40))])
    scores = drawn([0.5] * 3, items=40)
    found = run(scores.design(stakes="design"), values, stops=(4, 2, 4))
    stopped = replace(found, stops=(4, 2, 4))
    content = json.loads(to_json(certificate(stopped)))
    assert content["stopped"] == {"m01": 2}
    jsonschema.validate(content, schema())
    assert checked(content).document == content
    assert all(
        each["more_replicates"] is None for each in content["outlook"] if "m01" in (each["ahead"], each["behind"])
    )
    for change, what in (
        ({"stopped": {"m09": 2}}, "'stopped' names a model that is not there"),
        ({"stopped": {"m01": 4}}, "has all replicates"),
    ):
        with pytest.raises(FormatError, match=what):
            checked(content | change)
    del content["stopped"]
    with pytest.raises(FormatError, match="is above the difference of their means"):
        checked(content)


def test_what_is_not_used_is_not_written():
    content = json.loads(to_json(certificate(certified(drawn([0.9, 0.5]), method="bb-edge-x"))))
    assert not {"views", "view", "gaps"} & set(content)
    assert not {"share", "weights", "gaps"} & set(content["design"])
