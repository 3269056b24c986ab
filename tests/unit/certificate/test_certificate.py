"""A certificate read back says what was written, and a damaged one is refused with a reason."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from bbedge.certificate.document import certificate, to_json
from bbedge.core.graph import Graph
from bbedge.errors import FormatError
from bbedge.verify import read_certificate
from unit.certificate.documents import certified, checked, document, parted

DOCUMENT = document([0.9, 0.7, 0.5, 0.48, 0.1], tau=0.01)


def test_what_is_derived_again_is_what_the_json_says():
    certificate = checked(DOCUMENT)
    models = DOCUMENT["models"]
    assert certificate.names == tuple(model["name"] for model in models)
    assert [list(ends) for ends in certificate.graph.rank_intervals] == [model["rank_interval"] for model in models]
    assert certificate.graph.above.sum(axis=1).tolist() == [model["certified_above"] for model in models]
    tiers = [t for t, members in enumerate(certificate.graph.tiers, start=1) for _ in members]
    assert tiers == [model["tier"] for model in models]
    for k, names in DOCUMENT["top_k"].items():
        members = certificate.graph.top_k(int(k))
        assert (members and {certificate.names[i] for i in members}) == (names and set(names))
    assert np.array_equal(certificate.log_e, np.array(DOCUMENT["log_e"], dtype=float), equal_nan=True)


def test_either_graph_can_be_shown_in_the_order_of_its_tiers():
    leaderboard = certified(parted(), tau=0.01)
    content = json.loads(to_json(certificate(leaderboard)))
    everything, current = checked(content), checked(content, shown="current")
    assert (everything.shown, everything.graph.n_edges) == ("all", len(content["edges"]))
    assert (current.shown, current.graph.n_edges) == ("current", len(content["current_edges"]))
    assert everything.graph.n_edges > current.graph.n_edges
    assert (everything.n_earlier, current.n_edges) == (everything.n_edges - current.n_edges, current.graph.n_edges)
    for shown, graph in ((everything, leaderboard.graph), (current, Graph(leaderboard.current_edges))):
        places = [leaderboard.design.models.index(name) for name in shown.names]
        tiers = [next(t for t, members in enumerate(graph.tiers) if place in members) for place in places]
        assert tiers == sorted(tiers)
        window = np.ix_(places, places)
        assert np.array_equal(shown.log_e, leaderboard.log_e[window], equal_nan=True)
        assert np.array_equal(shown.graph.above, graph.above[window])


def test_a_lead_is_the_margin_or_what_the_edges_prove():
    shown = checked(DOCUMENT)
    margin = DOCUMENT["margins"][0][4]
    assert shown.lead(0, 4) == f"≥ {np.floor(margin * 1e4) / 1e4:.4f}"
    content = copy.deepcopy(DOCUMENT)
    content["margins"][0][4] = -0.2
    for edge in content["edges"]:
        if (edge["winner"], edge["loser"]) == (content["models"][0]["name"], content["models"][4]["name"]):
            edge["margin"] = -0.2
    known = shown.graph.path_lengths[0, 4] * 0.01
    assert checked(content).lead(0, 4) == f"> {np.floor(known * 1e4) / 1e4:.4f}"


def changed(*path, to):
    content = copy.deepcopy(DOCUMENT)
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    if to is KeyError:
        del holder[path[-1]]
    else:
        holder[path[-1]] = to
    return content


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (changed("models", to=KeyError), "'models' is missing"),
        (changed("models", to=[]), "two models"),
        (changed("models", 0, to="m"), "'models' = 'm' is not"),
        (changed("models", 1, "name", to="m00"), "each named once"),
        (changed("models", 1, "mean", to="high"), "'mean' = 'high' is not a number"),
        (changed("models", 1, "mean", to=float("inf")), "'mean' = inf is not a finite number"),
        (changed("log_e", to=[[1.0]]), "5 x 5"),
        (changed("log_e", 0, 1, to="x"), "'log_e' is not a matrix"),
        (changed("log_e", 0, 1, to=float("inf")), "not finite"),
        (changed("log_e", 0, to={}), "'log_e' is not a matrix"),
        (changed("margins", to={}), "'margins' is not a list"),
        (changed("edges", 0, "winner", to="nobody"), "not there"),
        (changed("edges", 0, "first_certified", to=-1), "not a whole number"),
        (changed("edges", 0, to=3), "'edges'"),
        (changed("design", to=None), "'design'"),
        (changed("design", "alpha", to="0.05"), "'alpha'"),
        (changed("design", "score_range", to=[1, 0]), "score_range="),
        (changed("design", "score_range", to=["a", "b"]), "'score_range'"),
        (changed("design", "blocks", "sizes", to=["1"]), "'sizes'"),
        (changed("looks", 0, to={}), "'replicate' is missing"),
        (changed("replicates", to=True), "'replicates' = True is not a whole number"),
        (changed("notes", to=[1]), "'notes'"),
        (changed("top_k", to={"x": None}), "'top_k'"),
        (changed("contradictions", to=[["nobody"]]), "'contradictions'"),
        (changed("outlook", 0, "ahead", to="nobody"), "'outlook'"),
        (changed("outlook", 0, "log_threshold", to=0), "above zero"),
        (changed("outlook", 0, "more_replicates", to=[1]), "'more_replicates'"),
        (changed("history", "log_thresholds", to=[]), "different lengths"),
        (changed("history", "log_e", 0, to=[]), "'log_e'"),
        (changed("pilot", to={"replicates": 1, "candidate": ["x"]}), "'pilot'"),
        (changed("board", to={}), "'design' is missing"),
    ],
)
def test_a_damaged_certificate_is_refused_with_a_reason(content, reason):
    with pytest.raises(FormatError, match=reason):
        checked(content, source="x.json")


@pytest.mark.parametrize("text", ["", "[]", "3", "{", "\x00", "[" * 100_000])
def test_what_is_not_a_certificate_is_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"x\.json: .*certificate"):
        read_certificate(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FormatError, match="cannot be read"):
        read_certificate(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (2, "c.json: the certificate is of version 2, and this bbedge reads version 1; use the version of bbedge that"),
        (0, "c.json: the certificate is of version 0"),
        (True, "c.json: the certificate is of version True"),
        ("1", "c.json: the certificate is of version 1, and this bbedge reads version 1"),
        (None, "c.json: the certificate states no version"),
    ],
)
def test_certificates_of_other_versions_are_refused(tmp_path, version, message):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(DOCUMENT | {"version": version}))
    with pytest.raises(FormatError, match=message):
        read_certificate(path)


def test_what_is_no_certificate_is_not_called_one_of_another_version(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"version": 2, "status": "success"}))
    with pytest.raises(FormatError, match="not a certificate: 'bbedge' is missing"):
        read_certificate(path)
