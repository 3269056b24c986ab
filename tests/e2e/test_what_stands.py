"""What stands is the answer wherever an answer is shown; the last look alone is shown when it is asked for."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest

from bbedge.core.leaderboard import Certifier, certify
from plain_graph import PlainGraph
from unit.certificate.documents import parted_as_published as parted

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "certificate.schema.json").read_text(encoding="utf-8"))
OPTIONS = ("--method", "bb-edge", "--tau", "0.01")
NAMES = parted().models


@dataclass(frozen=True)
class Expected:
    """Everything that follows from one graph, by hand."""

    graph: PlainGraph

    @property
    def ranks(self) -> dict[str, str]:
        above, size = self.graph.above, len(NAMES)
        ends = [(1 + int(above[:, i].sum()), size - int(above[i].sum())) for i in range(size)]
        return {name: f"{a}" if a == b else f"{a}-{b}" for name, (a, b) in zip(NAMES, ends, strict=True)}

    @property
    def pairs(self) -> int:
        return int(self.graph.above.sum())

    @property
    def open_pairs(self) -> set[frozenset[str]]:
        size, above = len(NAMES), self.graph.above
        return {
            frozenset((NAMES[a], NAMES[b]))
            for a in range(size)
            for b in range(a)
            if not above[a, b] and not above[b, a]
        }

    @property
    def sets(self) -> dict[int, set[str]]:
        size, above = len(NAMES), self.graph.above
        found = {}
        for k in range(1, size):
            inside = np.argsort(-above.sum(axis=1), kind="stable")[:k]
            outside = [i for i in range(size) if i not in inside]
            if above[np.ix_(inside, outside)].all():
                found[k] = {NAMES[i] for i in inside}
        return found

    @property
    def tiers(self) -> dict[str, int]:
        return {name: 1 + sum(name not in members for members in self.sets.values()) for name in NAMES}


def by_hand() -> tuple[list[Expected], list[Expected]]:
    """The graph of every look, and the union of the looks up to it."""
    certifier = Certifier(parted().design(method="bb-edge", tau=0.01))
    looks = [certifier.update(panel).edges for panel in parted().panels()]
    unions = np.logical_or.accumulate(looks)
    return [Expected(PlainGraph(edges)) for edges in looks], [Expected(PlainGraph(edges)) for edges in unions]


LOOKS, UNIONS = by_hand()
CURRENT, STANDING = LOOKS[-1], UNIONS[-1]


@pytest.fixture
def table(tmp_path) -> Path:
    path, scores = tmp_path / "scores.csv", parted()
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "item", "replicate", "score"])
        for (r, m, i), value in np.ndenumerate(scores.values):
            writer.writerow([scores.models[m], scores.items[i], r + 1, value])
    return path


def test_the_two_graphs_differ_in_everything():
    assert CURRENT.pairs < STANDING.pairs
    for key in ("ranks", "open_pairs", "sets", "tiers"):
        assert getattr(CURRENT, key) != getattr(STANDING, key)


def check_terminal(text: str, expected: Expected) -> None:
    ranking, rest = text.split(" pairs certified")[0], text
    rows = re.findall(
        r"^(?:(\d)\w\w)? +(\d(?:-\d)?) +\S+ +([a-e]) +0\.\d+ +(.*?) +(\d) +(\d) *$", ranking, re.MULTILINE
    )
    assert {name: rank for _, rank, name, *_ in rows} == expected.ranks
    places = [NAMES.index(name) for _, _, name, *_ in rows]
    group = 0
    for place, (could_be, rank, _, interval, *_) in zip(places, rows, strict=True):
        group = int(could_be or group)
        assert rank.split("-")[0] == str(group)
        if interval:  # of the difference to the leader: never above zero where the leader is certified better
            assert float(interval.split(" to ")[1]) <= 0.0 or not expected.graph.above[places[0], place]
    lines = [i for i, line in enumerate(ranking.splitlines()) if "╌" in line]
    assert len(lines) == len(expected.sets)
    above = {name: (int(over), int(under)) for _, _, name, _, over, under in rows}
    for i, name in enumerate(NAMES):
        assert above[name] == (expected.graph.above[i].sum(), expected.graph.above[:, i].sum())
    assert f"{expected.pairs} of 10 pairs certified" in text
    listed = re.findall(r"^ *([a-e]) +([a-e]) +[+-]0\.\d+", rest, re.MULTILINE)
    neighbours = {frozenset((NAMES[a], NAMES[b])) for a, b in pairwise(places)}
    assert {frozenset(pair) for pair in listed} == neighbours & expected.open_pairs
    sets = {int(k): set(names.split(", ")) for k, names in re.findall(r"^Top-(\d)  (.*?) *$", rest, re.MULTILINE)}
    assert sets == expected.sets


@pytest.mark.parametrize(("options", "expected"), [((), STANDING), (("--current",), CURRENT)])
def test_certify_in_a_terminal(bbedge, table, options, expected):
    done = bbedge("certify", table, *OPTIONS, *options)
    assert done.code == 0, done.err
    check_terminal(done.out, expected)
    for k in range(1, len(NAMES)):
        said = bbedge("certify", table, *OPTIONS, *options, "--top-k", k).out
        assert ("not certified yet" in said) == (k not in expected.sets)
        across = said.split("open pairs across")
        assert (len(across) == 1) == (k in expected.sets)


def test_an_expectation_is_met_where_the_table_says_so(bbedge, table):
    for a, better in enumerate(NAMES):
        for b, worse in enumerate(NAMES):
            if a != b:
                done = bbedge("certify", table, *OPTIONS, "--expect", f"{better} > {worse}")
                above = STANDING.graph.above
                assert done.code == (0 if above[a, b] else 4 if above[b, a] else 3)


def cells(page: str, kind: str) -> list[str]:
    ranking = page.split('<table class="ranking')[1].split("</table>")[0].split("<tbody")[1]
    found = re.findall(rf'<t[dh][^>]* class="{kind}[^"]*"[^>]*>(.*?)</t[dh]>', ranking)
    return [re.sub("<.*?>", "", text) for text in found]


def check_page(page: str, expected: Expected) -> None:
    names = cells(page, "model")
    assert dict(zip(names, cells(page, "rank"), strict=True)) == expected.ranks
    places = [NAMES.index(name) for name in names]
    for (name, could_be), behind in zip(
        zip(names, cells(page, "group"), strict=True), cells(page, "behind"), strict=True
    ):
        assert could_be[:-2] == expected.ranks[name].split("-")[0]
        if behind:  # the difference to the leader: its interval ends below zero where the leader is certified better
            high = float(behind.split(" to ")[1])
            assert high <= 0.0 or not expected.graph.above[places[0], NAMES.index(name)]
    counts = iter(cells(page, "counts"))
    for name in names:
        i = NAMES.index(name)
        assert (int(next(counts)), int(next(counts))) == (
            expected.graph.above[i].sum(),
            expected.graph.above[:, i].sum(),
        )
    assert f'<span class="decided">{expected.pairs} of 10 pairs certified</span>' in page
    cuts = {int(i) for i in re.findall(r'<tr role="row" data-model="(\d)" class="cut">', page)}
    assert cuts == set(expected.sets)
    listed = re.findall(r"<tr><td><bdi>(.)</bdi></td><td><bdi>(.)</bdi></td>", page)
    assert {frozenset(pair) for pair in listed} == STANDING.open_pairs
    assert len(listed) == len(STANDING.open_pairs)
    sets = {int(k): words for k, words in re.findall(r"<dt>Top-(\d)</dt><dd>(.*?)</dd>", page)}
    assert set(sets) == set(expected.sets)
    chart = page.split('id="pairs-chart"')[1].split("</svg>")[0]
    heights = [float(y) for y in re.findall(r'<circle class="dot pairs" cx="[^"]*" cy="([^"]*)"', chart)]
    shares = [round(250.0 - 36.0 - look.pairs / 10 * (250.0 - 36.0 - 12.0), 1) for look in UNIONS]
    assert heights == shares
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))
    counts = [(look["edges"], look["resolved_pairs"]) for look in data["document"]["looks"]]
    assert counts == [(look.graph.edges.sum(), look.pairs) for look in UNIONS]
    curves = page.split('id="evidence-chart"')[1].split("</svg>")[0]
    kinds = re.findall(r'class="curve (\w+)".*?data-a="(\d)" data-b="(\d)"', curves)
    for kind, a, b in kinds:
        ahead, behind = NAMES.index(names[int(a)]), NAMES.index(names[int(b)])
        assert (kind == "decided") == bool(expected.graph.above[ahead, behind])
    assert len(kinds) == 10


def test_pages_figures_exports_and_badges(bbedge, table, tmp_path):
    certificate, page = tmp_path / "c.json", tmp_path / "c.html"
    assert bbedge("certify", table, *OPTIONS, "--json", certificate, "--html", page).code == 0
    check_page(page.read_text(encoding="ascii"), STANDING)
    for options, expected in (((), STANDING), (("--current",), CURRENT)):
        done = bbedge("report", certificate, "--html", page, *options)
        assert done.code == 0, done.err
        check_page(page.read_text(encoding="ascii"), expected)
        outs = [tmp_path / f"g.{ending}" for ending in ("csv", "dot", "graphml")]
        assert bbedge("figure", "graph", certificate, *outs, *options).code == 0
        with outs[0].open(newline="", encoding="ascii") as file:
            edges = {(row["winner"], row["loser"]) for row in csv.DictReader(file)}
        assert edges == {(NAMES[a], NAMES[b]) for a, b in np.argwhere(expected.graph.edges).tolist()}
        labels = re.findall(r'label="(.) \(rank (.*?)\)"', outs[1].read_text(encoding="ascii"))
        assert dict(labels) == expected.ranks
        space = "{http://graphml.graphdrawing.org/xmlns}"
        root = ElementTree.fromstring(outs[2].read_text(encoding="ascii"))
        assert len(list(root.iter(f"{space}edge"))) == expected.graph.edges.sum()
        for name in NAMES:
            badge = tmp_path / "b.svg"
            assert bbedge("figure", "badge", certificate, badge, "--model", name, *options).code == 0
            assert f"certified #{expected.ranks[name]} of 5<" in badge.read_text(encoding="ascii")
        drawn = tmp_path / "r.svg"
        for kind in ("ranks", "evidence"):
            assert bbedge("figure", kind, certificate, drawn, *options).code == 0


def test_the_json_has_what_stands_and_the_edges_of_the_last_look(bbedge, table, tmp_path):
    out = tmp_path / "c.json"
    assert bbedge("certify", table, *OPTIONS, "--json", out).code == 0
    document = json.loads(out.read_text(encoding="ascii"))
    jsonschema.validate(document, SCHEMA)
    above = STANDING.graph.above
    for model in document["models"]:
        i = NAMES.index(model["name"])
        best, worst = model["rank_interval"]
        assert (f"{best}" if best == worst else f"{best}-{worst}") == STANDING.ranks[model["name"]]
        assert model["tier"] == STANDING.tiers[model["name"]]
        assert model["certified_above"] == above[i].sum()
        assert model["certified_below"] == above[:, i].sum()
    assert {frozenset(pair) for pair in document["unresolved"]} == STANDING.open_pairs
    assert {int(k): set(names) for k, names in document["top_k"].items() if names} == STANDING.sets
    assert document["certified_k"] == sorted(STANDING.sets)
    assert document["counts"]["resolved_pairs"] == STANDING.pairs
    assert [look["resolved_pairs"] for look in document["looks"]] == [look.pairs for look in UNIONS]
    assert [look["edges"] for look in document["looks"]] == [look.graph.edges.sum() for look in UNIONS]
    last = {(NAMES[a], NAMES[b]) for a, b in np.argwhere(CURRENT.graph.edges).tolist()}
    assert {tuple(edge) for edge in document["current_edges"]} == last
    assert document["counts"]["current_edges"] == len(last)


def test_a_notebook_and_the_order_of_the_models():
    leaderboard = certify(parted(), method="bb-edge", tau=0.01)
    text = leaderboard._repr_html_()
    rows = re.findall(r"<tr><td.*?<b>(.*?)</b>.*?<bdi>([a-e])</bdi>.*?</td></tr>", text)
    assert {name: rank for rank, name in rows} == STANDING.ranks
    assert f"{STANDING.pairs} of 10 pairs certified" in text
    order = sorted((NAMES[i] for i in leaderboard.order()), key=lambda name: int(STANDING.ranks[name][0]))
    assert [name for _, name in rows] == order
    assert [STANDING.tiers[name] for name in order] == sorted(STANDING.tiers.values())


def test_comparing_methods(bbedge, table, tmp_path):
    done = bbedge("compare", table, "--tau", "0.01", "--methods", "bb-edge,emr", "--json", tmp_path / "c.json")
    assert done.code == 0, done.err
    row = next(line.split() for line in done.out.splitlines() if line.startswith("BB-EDGE "))
    assert row[1:5] == [f"{STANDING.graph.edges.sum()}", f"{STANDING.pairs}", "0", "0"]
    ours, emr = json.loads((tmp_path / "c.json").read_text())["methods"]
    assert (ours["edges"], ours["pairs"]) == (STANDING.graph.edges.sum(), STANDING.pairs)
    assert (ours["current_edges"], ours["withdrawn"]) == (CURRENT.graph.edges.sum(), 0)
    assert emr["edges"] == emr["current_edges"]


def test_a_board_of_the_same_scores(bbedge, table, tmp_path):
    (tmp_path / "design.toml").write_text('method = "bb-edge"\nalpha = 0.0822467\ntau = 0.01\n')
    (tmp_path / "items.csv").write_text("item\n" + "\n".join(parted().items) + "\n")
    board = tmp_path / "b.bbedge"
    init = ("--design", tmp_path / "design.toml", "--items", tmp_path / "items.csv", "--models", ",".join(NAMES))
    for command in (("init", board, *init), ("add", board, table)):
        assert bbedge("board", *command).code == 0
    for options, expected in (((), STANDING), (("--current",), CURRENT)):
        page = tmp_path / "p.html"
        done = bbedge("board", "show", board, "--html", page, *options)
        assert done.code == 0, done.err
        check_terminal(done.out, expected)
        check_page(page.read_text(encoding="ascii"), expected)
        history = re.findall(r"^ *(\d) +(\d+) +(\d+) *$", done.out, re.MULTILINE)
        assert [(int(e), int(p)) for _, e, p in history] == [(look.graph.edges.sum(), look.pairs) for look in UNIONS]
