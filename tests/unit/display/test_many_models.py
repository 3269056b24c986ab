"""With very many models there are counts instead of pairs, and what is said of each model is the same."""

from __future__ import annotations

import copy
import io
import itertools
import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from rich.console import Console

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import MOST_MODELS, certificate, to_json
from bbedge.certificate.exports import EXPORTS, write_pair_arrays
from bbedge.certificate.parts import PAIRWISE
from bbedge.core.graph import Graph
from bbedge.display.compact import NOTEBOOK_ROWS, badge, leaderboard_html
from bbedge.display.figures import graph_figure, rank_figure
from bbedge.display.page import render_page
from bbedge.display.page.table import MOST_ROWS
from bbedge.display.terminal import MOST_ROWS as TERMINAL_ROWS
from bbedge.display.terminal import show_leaderboard
from bbedge.errors import DomainError, FormatError
from unit.certificate.documents import checked, many

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "certificate.schema.json").read_text(encoding="utf-8"))
SIZE = 60
BOARD = many(SIZE)


def written(most_models: int, board=BOARD) -> dict:
    return json.loads(to_json(certificate(board, most_models=most_models)))


WHOLE, BRIEF = written(SIZE), written(SIZE - 1)


def test_nothing_that_grows_with_the_pairs_is_written():
    pairwise = {*PAIRWISE} - {"log_w", "equal"}  # of staggered e-Holm, and of designs that ask for it
    assert all(WHOLE[key] is not None for key in pairwise)
    assert all(BRIEF[key] is None for key in pairwise)
    assert {key for key in WHOLE if WHOLE[key] != BRIEF[key]} == pairwise
    for document in (WHOLE, BRIEF):
        jsonschema.validate(document, SCHEMA)


def test_the_limit_is_kept_by_default():
    few, over = certificate(many(40)), certificate(many(MOST_MODELS + 1))
    assert few.edges is not None
    assert over.edges is None
    assert len(to_json(over)) < 400 * (MOST_MODELS + 1)


def test_counts_stand_for_the_lists():
    assert BRIEF["counts"] == {
        "pairs": SIZE * (SIZE - 1) // 2,
        "resolved_pairs": SIZE * (SIZE - 1) // 2 - len(WHOLE["unresolved"]),
        "edges": len(WHOLE["edges"]),
        "current_edges": len(WHOLE["current_edges"]),
    }
    assert BRIEF["counts"]["edges"] > BRIEF["counts"]["current_edges"]


def test_certified_sets_are_the_first_models():
    board = many(SIZE, certified=0.995)
    document = written(SIZE, board)
    sets = {int(k): set(names) for k, names in document["top_k"].items() if names}
    assert len(sets) > 3
    names = [model["name"] for model in document["models"]]
    assert {k: set(names[:k]) for k in written(2, board)["certified_k"]} == sets


@pytest.mark.parametrize("shown", ["current", "all"])
def test_ranks_tiers_and_order_are_those_of_the_graph(shown):
    whole = Certificate.of(WHOLE, shown=shown)
    brief = Certificate.made(BOARD, certificate(BOARD, most_models=2), shown=shown)
    assert brief.pairs is None
    assert brief.ranks.rank_intervals == whole.ranks.rank_intervals == whole.graph.rank_intervals
    assert brief.ranks.tiers == whole.graph.tiers
    assert (brief.names, brief.labels, brief.means, brief.order) == (
        whole.names,
        whole.labels,
        whole.means,
        whole.order,
    )
    assert brief.n_edges == whole.n_edges
    assert brief.n_pairs == whole.n_pairs
    assert badge(brief, "m0007") == badge(whole, "m0007")


def test_the_last_look_needs_pairs_or_the_leaderboard():
    with pytest.raises(DomainError, match=r"c\.json: a certificate of 60 models does not list the edges of the last"):
        Certificate.of(BRIEF, shown="current", source="c.json")


def test_what_needs_pairs_says_so():
    brief = Certificate.of(BRIEF, source="c.json")
    for export in EXPORTS.values():
        with pytest.raises(DomainError, match=r"c\.json: a certificate of 60 models lists no pairs.*--arrays"):
            export(brief)
    with pytest.raises(DomainError, match="lists no pairs"):
        graph_figure(brief)
    assert rank_figure(brief).axes


def cells(page: str, kind: str) -> list[str]:
    return [
        re.sub("<.*?>", "", text) for text in re.findall(rf'<t[dh][^>]* class="{kind}[^"]*"[^>]*>(.*?)</t[dh]>', page)
    ]


def test_the_page_says_of_each_model_what_the_page_with_pairs_says():
    whole, brief = render_page(Certificate.of(WHOLE)), render_page(Certificate.of(BRIEF))
    for kind in ("group", "rank", "model", "mean", "counts"):
        body = [page.split("<tbody", 2)[1] for page in (whole, brief)]
        assert cells(body[0], kind) == cells(body[1], kind), kind
        assert len(cells(body[1], kind)) == (2 if kind == "counts" else 1) * SIZE
    assert 'class="matrix' in whole
    assert 'class="matrix' not in brief
    assert 'class="graph"' not in brief
    assert "<aside" not in brief
    assert "too many to display" in brief
    assert "--arrays OUT.npz" in brief
    sets = [re.search('class="sets">.*?</dl>', page, re.DOTALL) for page in (whole, brief)]
    assert (sets[0] and sets[0].group(0)) == (sets[1] and sets[1].group(0))
    rows, listed = (open_rows(page) for page in (whole, brief))
    assert set(listed) <= set(rows)  # which also has all pairs of models that could be best
    assert listed


def open_rows(page: str) -> list[str]:
    return re.findall("<tr>(?=<td><bdi>).*?</tr>", page.split('<h2 id="open"')[1].split("</section>")[0])


def test_what_an_earlier_look_decided_is_not_open_among_what_stands():
    above, names = BOARD.graph.above, BOARD.design.models
    listed = [(names.index(each["ahead"]), names.index(each["behind"])) for each in BRIEF["outlook"]]
    assert listed
    assert not any(above[a, b] or above[b, a] for a, b in listed)
    pages = [render_page(Certificate.of(WHOLE, shown="current")), render_page(Certificate.of(BRIEF))]
    rows, brief = map(open_rows, pages)
    assert len(brief) == len(listed)
    assert set(brief) <= set(rows)


def test_most_rows_of_very_many_are_folded_away():
    size = MOST_ROWS + 5
    page = render_page(Certificate.of(written(2, many(size))))
    first, rest = page.split('<noscript><details id="rest">')
    assert "The other 5 models" in rest
    assert first.count('<tr role="row"') == MOST_ROWS + 1
    assert rest.split("</noscript>")[0].count('<tr role="row"') == 5 + 1
    assert '<details id="rest">' not in render_page(Certificate.of(BRIEF))
    assert '<details id="rest">' not in render_page(Certificate.of(written(size, many(size))))


def changed(*path, to) -> dict:
    content = copy.deepcopy(BRIEF)
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
        (changed("edges", to=[]), "'log_e' is null and others are not"),
        (changed("top_k", to=KeyError), "'top_k' is missing"),
        (changed("counts", to=KeyError), "'counts' is missing"),
        (changed("counts", "edges", to=-1), "'edges' = -1 is not a whole number"),
        (changed("models", 0, "rank_interval", to=[0, 3]), "'rank_interval' = 0 is not a whole number"),
        (changed("models", 0, "rank_interval", to=[3, 2]), "'rank_interval' is not a range"),
        (changed("models", 0, "rank_interval", to=[1, SIZE + 1]), "'rank_interval' is not a range"),
        (changed("models", 0, "rank_interval", to=[1.0, 2]), "'rank_interval' = 1.0 is not a whole number"),
        (changed("models", 0, "rank_interval", to=KeyError), "'rank_interval' is missing"),
        (changed("models", 0, "rank_interval", to=[SIZE, SIZE]), "do not fit together"),
        (changed("outlook", 0, "within", to="no"), "'within'"),
        (changed("outlook", 0, "within", to=[1.0]), "'within'"),
        (changed("outlook", 0, "within", to=["a", "b"]), "'within'"),
    ],
)
def test_a_damaged_certificate_is_refused_with_a_reason(content, reason):
    with pytest.raises(FormatError, match=reason):
        checked(content)


def test_arrays_hold_the_pairs_in_the_order_of_the_json(tmp_path):
    path, again = tmp_path / "a.npz", tmp_path / "b.npz"
    write_pair_arrays(BOARD, path)
    write_pair_arrays(BOARD, again)
    assert path.read_bytes() == again.read_bytes()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.npz", "b.npz"]
    with np.load(path) as arrays:
        names = arrays["models"].tolist()
        assert names == [model["name"] for model in WHOLE["models"]]
        for key in ("log_e", "margins"):
            assert np.array_equal(arrays[key], np.array(WHOLE[key], dtype=float), equal_nan=True)
        for key, mask in (("edges", arrays["edges"]), ("edges", arrays["first_certified"] > 0)):
            assert {(edge["winner"], edge["loser"]) for edge in WHOLE[key]} == {
                (names[a], names[b]) for a, b in np.argwhere(mask)
            }
        current = {(names[a], names[b]) for a, b in np.argwhere(arrays["current_edges"])}
        assert current == set(map(tuple, WHOLE["current_edges"]))
        assert arrays["above"].sum(axis=1).tolist() == [model["certified_above"] for model in WHOLE["models"]]


def printed(board, shown="all", **options) -> str:
    out = io.StringIO()
    certificate = Certificate.made(board, shown=shown)
    show_leaderboard(Console(file=out, width=120, no_color=True), certificate, **options)
    return out.getvalue()


def rows_of(text: str) -> list[str]:
    table = text.split("open pairs")[0]
    return re.findall(r"^(?:\d+\w\w)? +\d+(?:-\d+)? .*(m\d{4}) ", table, re.MULTILINE)


def test_a_terminal_shows_the_first_models_unless_all_are_asked_for():
    board = many(TERMINAL_ROWS + 25)
    names = list(Certificate.made(board).names)
    text = printed(board)
    assert rows_of(text) == names[:TERMINAL_ROWS]
    assert "25 more models; add --all to certify or board show to print all" in " ".join(text.split())
    assert rows_of(printed(board, most_rows=None)) == names
    assert "more model" not in printed(board, most_rows=None)


@pytest.mark.parametrize("shown", ["current", "all"])
def test_open_pairs_in_a_terminal(shown):
    graph = BOARD.graph if shown == "all" else Graph(BOARD.current_edges)
    order, names = BOARD.order(), BOARD.design.models
    above = graph.above
    neighbours = [(a, b) for a, b in itertools.pairwise(order) if not (above[a, b] or above[b, a])]
    across = [(a, b) for a in order[:9] for b in order[9:] if not (above[a, b] or above[b, a])]
    for options, pairs in (({}, neighbours), ({"top_k": 9}, across)):
        table = printed(BOARD, shown=shown, **options).split("  evidence")[1]
        told = [set(found) for found in re.findall(r"^ *(m\d{4}) +(m\d{4}) ", table, re.MULTILINE)]
        assert told == [{names[a], names[b]} for a, b in pairs[:10]]
        assert f"{graph.n_unresolved:,} pairs are open." in table


def test_a_notebook_shows_the_first_models():
    text = leaderboard_html(BOARD.certificate())
    assert text.split("</table>")[0].count("<tr>") == NOTEBOOK_ROWS + 1
    assert f"{SIZE - NOTEBOOK_ROWS} more models" in text
    assert len(leaderboard_html(many(400).certificate())) < 2 * len(text)
