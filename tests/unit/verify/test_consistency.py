"""A certificate that contradicts itself is refused, whatever was changed in it; an honest one never is."""

from __future__ import annotations

import copy
import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import certificate, to_json
from bbedge.certificate.exports import EXPORTS
from bbedge.certificate.of_board import board_document
from bbedge.core.graph import Graph
from bbedge.core.scores import Scores
from bbedge.display.page import render_page
from bbedge.errors import FormatError
from bbedge.verify import read_certificate
from unit.certificate.documents import certified, checked, circular, document, many, parted


def written(scores: Scores, **options: object) -> dict:
    return json.loads(to_json(certificate(certified(scores, **options))))


PARTED = written(parted(), tau=0.01)
OPEN = document([0.52, 0.5, 0.48, 0.47], replicates=1)
FEW = document([0.9, 0.7, 0.5, 0.48, 0.1])


@pytest.mark.parametrize("seed", range(6))
def test_honest_certificates_are_never_refused(seed):
    rng = np.random.default_rng(seed)
    for method in ("bb-edge", "bb-edge-x"):
        size, items, replicates = int(rng.integers(2, 8)), int(rng.integers(1, 40)), int(rng.integers(0, 8))
        values = rng.random((replicates, size, items)) ** rng.choice([0.3, 1.0, 3.0], size)[None, :, None]
        if rng.random() < 0.7:
            values = np.round(values)
        scores = Scores.of(values, models=[f"m{i}" for i in range(size)], items=[f"q{i}" for i in range(items)])
        options: dict = {
            "method": method,
            "tau": float(rng.choice([0.0, 0.05])),
            "alpha": float(rng.choice([0.05, 0.3])),
        }
        if size > 2 and replicates and rng.random() < 0.3:
            options["candidate"] = ["m0", "m1"]
        content = written(scores, **options)
        for shown in ("all", "current"):
            assert checked(content, shown=shown).document == content


def life(place: Path, seed: int) -> Board:
    """A board to which things happen in any order."""
    rng = np.random.default_rng(seed)
    options: dict = {"method": "bb-edge-x", "alpha": 0.3, "tau": float(rng.choice([0.0, 0.02]))}
    if rng.random() < 0.3:
        options |= {"pairing": "first", "first": 2}
    if rng.random() < 0.25:
        options |= {"family": "pilot-top-k", "k": 1, "pilot": 1}
    skills = {"a": 0.9, "b": 0.7, "c": 0.4, "d": 0.1, "e": 0.95, "f": 0.5}
    items = [f"q{i}" for i in range(25)]
    board = Board.create(place, BoardDesign(**options), models=["a", "b", "c", "d"], items=items)

    def runs(models: list[str], count: int) -> Scores:
        chances = np.array([skills[model] for model in models])[None, :, None]
        return Scores.of(
            (rng.random((count, len(models), len(board.state.epoch.items))) < chances).astype(float),
            models=models,
            items=list(board.state.epoch.items),
        )

    for _ in range(int(rng.integers(1, 12))):
        act = rng.choice(["add", "add", "add", "add-model", "retire", "add-items"])
        new = [model for model in "ef" if all(model not in epoch.models for epoch in board.state.epochs)]
        if act == "add" or board.state.in_pilot:
            board.add(runs(board.state.active, 1), copies="allow")
        elif act == "add-model" and new:
            needed = board.state.runs_needed()
            board.add_model(new[0], runs(new[:1], needed) if needed else None)
        elif act == "retire" and len(board.state.active) > 3 and board.design.family == "all":
            board.retire(str(rng.choice(board.state.active)))
        elif act == "add-items":
            board.add_items([f"n{len(board.events)}-{i}" for i in range(3)])
    return board


@pytest.mark.parametrize("seed", range(12))
def test_honest_boards_are_never_refused(tmp_path, seed):
    board = life(tmp_path / "b.bbedge", seed)
    for epoch in range(1, len(board.state.epochs) + 1):
        content = json.loads(to_json(board_document(board, board.leaderboard(epoch), epoch)))
        assert checked(content).ranks.rank_intervals
        stood = [look["edges"] for look in content["looks"]]
        assert stood == sorted(stood)
        assert not stood or stood[-1] == board.leaderboard(epoch).graph.n_edges
    board.close()


def test_contradictory_certificates_are_shown_as_such():
    assert checked(json.loads(to_json(certificate(circular())))).graph.cycles


def swapped(content: dict, a: str, b: str, where: tuple[str, ...]) -> dict:
    """Two names exchanged in some parts of a document only."""
    other = {a: b, b: a}
    content = copy.deepcopy(content)
    for key in where:
        for each in content[key]:
            for end in ("name", "winner", "loser"):
                if end in each:
                    each[end] = other.get(each[end], each[end])
    return content


@pytest.mark.parametrize("content", [PARTED, FEW, OPEN], ids=["parted", "few", "open"])
@pytest.mark.parametrize("where", [("models",), ("edges",)])
def test_two_names_exchanged_in_one_place_are_found(content, where):
    names = [model["name"] for model in content["models"]]
    tried = 0
    for a, b in itertools.combinations(names, 2):
        changed = swapped(content, a, b, where)
        if changed != content:
            tried += 1
            with pytest.raises(FormatError, match="contradicts itself"):
                checked(changed)
    assert tried or (content is OPEN and where != ("models",))


def test_exchanged_means_are_found():
    for a, b in itertools.combinations(range(5), 2):
        content = copy.deepcopy(FEW)
        first, second = content["models"][a], content["models"][b]
        first["mean"], second["mean"] = second["mean"], first["mean"]
        with pytest.raises(FormatError, match="contradicts itself"):
            checked(content)


def put(*path, to):
    def change(content: dict) -> None:
        holder = content
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = to(holder[path[-1]]) if callable(to) else to

    return change


def drop(*path):
    def change(content: dict) -> None:
        holder = content
        for key in path[:-1]:
            holder = holder[key]
        del holder[path[-1]]

    return change


def more(value):
    return value + 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put("items", to=more), "items is 41, and 40 follows"),
        (put("design", "blocks", "count", to=more), "blocks.count is 41, and 40"),
        (put("design", "alpha", to=0.2), "threshold"),
        (put("design", "tau", to=0.02), "path_margin"),
        (put("design", "stake_weights", to=[1.0]), "'stake_weights'"),
        (put("models", 0, "mean", to=1.5), "outside the score range"),
        (put("models", 0, "mean", to=lambda mean: mean - 0.3), "order of their tiers|difference of their means"),
        (put("models", 0, "rank_interval", to=[1, 5]), "do not fit|'rank_interval|'certified_above"),
        (put("models", 0, "tier", to=more), "order of their tiers"),
        (put("models", 0, "certified_above", to=more), "certified_above is 3, and 2 follows"),
        (put("models", 0, "certified_below", to=more), "certified_below is 1, and 0 follows"),
        (put("log_threshold", to=more), "'log_threshold'"),
        (put("log_threshold", to=None), "'log_threshold'"),
        (put("log_e", 0, 4, to=more), "the last evidence of 'history'"),
        (put("log_e", 4, 0, to=30.0), "no edge, and its evidence reaches"),
        (put("log_e", 4, 0, to=None), "not of the same directions"),
        (put("margins", 0, 4, to=0.9), "a margin of|difference of their means|exclude each other"),
        (put("margins", 4, 0, to=0.2), "exclude each other"),
        (drop("edges", 0), "'edges' has not"),
        (put("edges", 0, "first_certified", to=99), "not there"),
        (put("edges", 0, "log_e", to=more), ".log_e is"),
        (put("edges", 0, "path_margin", to=0.5), "path_margin is 0.5, and 0.01 follows"),
        (drop("unresolved", 0), "unresolved"),
        (drop("current_edges", 0), "no edge, and its evidence reaches"),
        (put("current_edges", 0, to=["e", "a"]), "'current_edges' has"),
        (lambda content: content["current_edges"].append(content["current_edges"][0]), "lists an edge twice"),
        (drop("current_edges"), "'current_edges'"),
        (put("counts", "current_edges", to=more), "counts.current_edges is 5, and 4 follows"),
        (put("counts", "current_edges", to=99), "more than stands"),
        (put("top_k", "1", to=["a"]), "top_k"),
        (put("top_k", "4", to=None), "top_k"),
        (put("counts", "pairs", to=more), "counts.pairs is 11, and 10"),
        (put("counts", "resolved_pairs", to=more), "counts.resolved_pairs is 7, and 6"),
        (put("counts", "edges", to=more), "counts.edges is 7, and 6"),
        (put("certified_k", to=[1]), "certified_k"),
        (put("certified_k", to=[]), "certified_k"),
        (drop("looks", 6), "'looks'"),
        (drop("counts", "edges"), "'edges' is missing"),
        (put("looks", 6, "edges", to=more), r"looks\[6\]"),
        (put("looks", 6, "resolved_pairs", to=more), r"looks\[6\]"),
        (put("looks", 0, "edges", to=5), "less stands than before"),
        (put("looks", 5, "resolved_pairs", to=lambda pairs: pairs - 1), r"looks\[5\]"),
        (put("looks", 2, "edges", to=0), "less stands than before"),
        (drop("looks", 2), "after each of 7 replicates"),
        (put("contradictions", to=[["a", "b"]]), "'contradictions'"),
        (put("history", "log_e", 6, 0, 1, to=more), "'history'"),
        (put("history", "log_thresholds", 6, to=more), "'history'"),
        (put("outlook", 0, "log_e", to=0.1), "outlook.*log_e is 0.1"),
        (put("outlook", 0, "within", to=[-0.5, 0.5]), "outlook.*within"),
        (put("outlook", 0, "ahead", to="e"), "outlook"),
        (put("replicates", to=more), "'looks'"),
    ],
)
def test_every_check_says_what_contradicts_what(change, reason):
    content = copy.deepcopy(PARTED)
    checked(content)
    change(content)
    with pytest.raises(FormatError, match=reason):
        checked(content, source="c.json")


def test_an_edge_that_the_evidence_does_not_support_is_found():
    # Everything that follows from the edges is written anew: only evidence and threshold can tell.
    leaderboard = certified(parted(), tau=0.01)
    edges = np.array(leaderboard.current_edges)
    a, b = np.argwhere(~edges & ~edges.T & ~np.eye(5, dtype=bool))[0]
    edges[a, b] = True
    first = np.where(edges, np.maximum(leaderboard.first_certified, 1), leaderboard.first_certified)
    graphs = [Graph((first > 0) & (first <= look.replicate)) for look in leaderboard.looks]
    forged = replace(
        leaderboard,
        graph=graphs[-1],
        current_edges=edges,
        first_certified=first,
        looks=tuple(
            replace(look, edges=graph.n_edges, resolved_pairs=graph.n_resolved)
            for look, graph in zip(leaderboard.looks, graphs, strict=True)
        ),
    )
    with pytest.raises(FormatError, match="is an edge, and its evidence does not reach the threshold"):
        checked(json.loads(to_json(certificate(forged))))


def test_an_edge_that_an_earlier_look_did_not_certify_is_found():
    names = [model["name"] for model in PARTED["models"]]
    edge = next(edge for edge in PARTED["edges"] if edge["first_certified"] > 1)
    a, b, number = names.index(edge["winner"]), names.index(edge["loser"]), edge["first_certified"]
    for look, evidence in ((number - 1, -1.0), (number - 2, 30.0)):
        content = copy.deepcopy(PARTED)
        content["history"]["log_e"][look][a][b] = evidence
        with pytest.raises(FormatError, match=r"'history' and '(edges|looks)' do not agree"):
            checked(content)


def test_counts_of_very_many_models_are_checked():
    content = json.loads(to_json(certificate(many(30), most_models=2)))
    checked(content)
    for change in (
        put("models", 3, "tier", to=more),
        put("models", 3, "certified_above", to=more),
        put("counts", "edges", to=more),
        put("counts", "resolved_pairs", to=more),
        put("certified_k", to=[29]),
        put("models", 3, "mean", to=0.0),
    ):
        changed = copy.deepcopy(content)
        change(changed)
        with pytest.raises(FormatError, match="contradicts itself"):
            checked(changed)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"replicates": 7', '"replicates": 7, "replicates": 7', "key 'replicates' appears more than once"),
        ('"name": "a"', '"name": "a", "name": "b"', "key 'name' appears more than once"),
        ('"items": 40', '"items": ' + "9" * 400, "'items' = 9+…9+ is not a whole number"),
        ('"items": 40', '"items": ' + "9" * 5000, "no JSON"),
        ('"items": 40', '"items": NaN', "NaN is not a number"),
        ('"items": 40', '"items": -Infinity', "-Infinity is not a number"),
        ('"alpha": 0.05', '"alpha": 1e999', "1e999 is too large"),
        ('"alpha": 0.05', '"alpha": ' + "9" * 400, "'alpha' = 9+…9+ is not a number"),
        ('"notes": []', '"notes": [], "more": ' + "[" * 200 + "]" * 200, "nested more than 16 deep"),
        ('"notes": []', '"notes": [], "more": ' + "[" * 90_000 + "]" * 90_000, "nested too deeply"),
        ('"notes": []', '"notes": [], "more": ' + '{"a":' * 200 + "1" + "}" * 200, "nested more than 16 deep"),
    ],
)
def test_files_that_no_program_should_read(tmp_path, old, new, reason):
    text = to_json(PARTED)
    assert old in text
    path = tmp_path / "c.json"
    path.write_text(text.replace(old, new, 1), encoding="ascii")
    with pytest.raises(FormatError, match=reason):
        read_certificate(path)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "c.json"
    with path.open("wb") as file:
        file.truncate(1 << 29)  # a hole: it takes no room on the disk
    with pytest.raises(FormatError, match="larger than"):
        read_certificate(path)


VALUES = [None, True, False, 0, 1, -1, 7, 10**400, 0.5, -3.25, 1e300, "", "a", "zz", [], {}, [[]], ["a", "b"], [1, 2]]


def places(value, path=()):
    """Every place in a document."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from places(each, (*path, i))


def mutated(content: dict, rng: np.random.Generator) -> dict:
    content = copy.deepcopy(content)
    every = list(places(content))
    path = every[int(rng.integers(len(every)))]
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    kind = rng.choice(["put", "drop", "number", "exchange", "again"])
    value = holder[path[-1]]
    if kind == "drop":
        del holder[path[-1]]
    elif kind == "number" and type(value) in (int, float):
        holder[path[-1]] = value + rng.choice([-1, 1, 0.01, -0.2]) if rng.random() < 0.7 else -value
    elif kind == "exchange" and isinstance(holder, list) and len(holder) > 1:
        other = int(rng.integers(len(holder)))
        holder[path[-1]], holder[other] = holder[other], holder[path[-1]]
    elif kind == "again" and isinstance(holder, list):
        holder.append(value)
    else:
        holder[path[-1]] = VALUES[int(rng.integers(len(VALUES)))]
    return content


def told(shown: Certificate) -> list:
    """Every number that is shown of models and pairs, but for means: they are written once, and are bounded only."""
    models = sorted(zip(shown.names, shown.ranks.rank_intervals, strict=True))
    place = {name: i for i, name in enumerate(shown.names)}
    names = sorted(place)
    pairs = [
        shown.lead(place[a], place[b]) if shown.graph.above[place[a], place[b]] else "open"
        for a in names
        for b in names
        if a != b
    ]
    return [models, pairs, shown.document["looks"], shown.ranks.n_resolved, sorted(shown.document["notes"])]


def test_whatever_is_changed_is_refused_or_changes_nothing_that_is_shown():
    rng = np.random.default_rng(20)
    expected = told(checked(PARTED))
    refused = 0
    for _ in range(400):
        content = mutated(PARTED, rng)
        try:
            shown = checked(content)
        except FormatError:
            refused += 1
            continue
        notes = content["notes"] == PARTED["notes"]
        same_scale = content["design"]["score_range"] == PARTED["design"]["score_range"]
        assert told(shown) == expected or not (notes and same_scale), content
        render_page(shown)
        for export in EXPORTS.values():
            export(shown)
    assert refused > 250


@pytest.mark.parametrize("seed", range(3))
def test_no_bytes_make_a_traceback(tmp_path, seed):
    rng = np.random.default_rng(seed)
    text, path = bytearray(to_json(PARTED), "ascii"), tmp_path / "c.json"
    expected = told(checked(PARTED))
    for _ in range(60):
        damaged = bytearray(text)
        for _ in range(int(rng.integers(1, 4))):
            damaged[int(rng.integers(len(damaged)))] = int(rng.integers(256))
        path.write_bytes(damaged[: len(damaged) - int(rng.choice([0, 0, 50]))])
        try:
            shown = read_certificate(path)
        except FormatError:
            continue
        assert told(shown)[3] == expected[3]


# bb-edge-x ---------------------------------------------------------------------------------------------------------


def staggered(scores: Scores, **options: object) -> dict:
    return written(scores, method="bb-edge-x", **options)


def test_a_certificate_of_bb_edge_x_says_how_it_was_made():
    content = staggered(parted(), planned=10)
    assert {key: content["design"][key] for key in ("margin_share", "holm", "planned")} == {
        "margin_share": 0.2,
        "holm": "staggered",
        "planned": 10,
    }
    assert "current_edges" not in content
    assert checked(content).content.design.is_joint
    again = json.loads(to_json(checked(content).content))
    assert again == content


def test_no_certified_margin_is_below_tau():
    raised = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        values = (rng.random((12, 5, 40)) < np.array([0.8, 0.62, 0.55, 0.45, 0.3])[None, :, None]).astype(float)
        scores = Scores.of(values, models=list("abcde"), items=[f"q{i}" for i in range(40)])
        leaderboard = certified(scores, method="bb-edge-x", tau=0.02)
        assert (leaderboard.lower_bounds[leaderboard.edges] >= 0.02).all()
        raised += int((leaderboard.lower_bounds[leaderboard.edges] == 0.02).sum())
    assert raised


@pytest.mark.parametrize("tau", [0.0, 0.02])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["edges"].pop(), "edge"),
        (lambda c: c.__setitem__("current_edges", [[e["winner"], e["loser"]] for e in c["edges"]]), "current_edges"),
        (lambda c: c["log_w"][0].__setitem__(1, -9.0), "log_threshold"),
        (lambda c: c["design"].__setitem__("margin_share", 0.5), "threshold|margin|fitted"),
        (lambda c: c["history"].__setitem__("log_e", c["history"].pop("log_w")), "history"),
        (lambda c: c.pop("log_w"), "log_threshold|threshold|log_w|history"),
        (lambda c: c["history"]["log_w"][0][0].__setitem__(1, 60.0), "history"),
    ],
)
def test_changes_of_a_certificate_of_bb_edge_x_are_found(change, message, tau):
    content = copy.deepcopy(staggered(parted(), tau=tau))
    checked(content)
    change(content)
    with pytest.raises(FormatError, match=message):
        checked(content, source="c.json")


def fitted() -> dict:
    rng = np.random.default_rng(5)
    values = np.round(np.clip(rng.normal([[[0.4]], [[0.5]], [[0.6]]], 0.2, (3, 5, 20)), 0.0, 1.0), 2).swapaxes(0, 1)
    scores = Scores.of(values, models=["a", "b", "c"], items=[f"q{i}" for i in range(20)])
    return written(scores, method="bb-edge-x", views={"half": [1.0] * 10 + [0.0] * 10})


@pytest.mark.parametrize(
    "change",
    [
        put("fitted_stakes", 0, "stake", to=lambda stake: stake * 0.99),
        put("fitted_stakes", 4, "noise", to=lambda noise: noise * 1.01),
        put("fitted_stakes", 0, "noise", to=lambda noise: noise * 1.01),
        put("fitted_stakes", 4, "after", to=more),
        put("fitted_stakes", 1, "horizon", to=9.0),
        put("views", 0, "fitted_stakes", 2, "stake", to=0.3),
        drop("fitted_stakes", 4),
        drop("fitted_stakes"),
        put("design", "stakes", to="design"),
        put("design", "planned", to=12),
    ],
)
def test_fitted_stakes_that_do_not_follow_from_their_noise_are_found(change):
    content = fitted()
    assert checked(content).document == content
    assert [each["after"] for each in content["fitted_stakes"]] == [2, 2, 2, 2, 4]
    change(content)
    with pytest.raises(FormatError, match=r"'fitted_stakes'|'stake_weights'"):
        checked(content)
