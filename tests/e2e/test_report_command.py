"""Pages and figures as a user makes them."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shlex
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import bbedge as package
from bbedge import read_scores
from bbedge.verify import read_certificate
from unit.certificate.documents import suite

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demo" / "scores.csv"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("certificate") / "certificate.json"
    command = [sys.executable, "-m", "bbedge", "certify", DEMO, "--method", "bb-edge-x", "--json", path]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.fixture
def board(bbedge, tmp_path, monkeypatch) -> Path:
    subprocess.run([sys.executable, ROOT / "demo" / "make_board.py", tmp_path], check=True, capture_output=True)
    monkeypatch.chdir(tmp_path)
    for line in (
        "board init b.bbedge --design design.toml --items items.csv --models alder,birch,cedar",
        "board add b.bbedge run1.csv run2.csv run3.csv",
        "board add-model b.bbedge dogwood dogwood.csv",
        "board retire b.bbedge alder",
    ):
        assert bbedge(*shlex.split(line)).code == 0
    return tmp_path / "b.bbedge"


def embedded(path: Path) -> dict:
    page = path.read_text(encoding="ascii")
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))["document"]


def test_certify_and_report_make_the_same_page(bbedge, tmp_path, certificate):
    straight, later = tmp_path / "a.html", tmp_path / "b.html"
    done = bbedge("certify", DEMO, "--method", "bb-edge-x", "--html", straight)
    assert done.code == 0, done.err
    assert "Wrote the page to" in done.out
    assert bbedge("report", certificate, "--html", later).code == 0
    assert straight.read_bytes() == later.read_bytes()
    assert embedded(later) == json.loads(certificate.read_text())
    assert list(tmp_path.glob("*.part")) == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("suite") / "suite.json"
    path.write_text(suite(("code", "math")).to_json(), encoding="ascii")
    return path


def test_a_view_is_shown_where_it_is_asked_for(bbedge, tmp_path, whole):
    view = package.Certificate.of(json.loads(whole.read_text())).view("math")
    page, badge, edges, ranks = (tmp_path / name for name in ("p.html", "b.svg", "e.csv", "r.svg"))
    assert bbedge("report", whole, "--html", page, "--view", "math").code == 0
    assert '<option value="2" selected>math<' in page.read_text()
    assert embedded(page) == json.loads(whole.read_text())
    assert bbedge("figure", "badge", whole, badge, "--model", "m00", "--view", "math").code == 0
    assert "in math</text>" in badge.read_text()
    assert bbedge("figure", "graph", whole, edges, "--view", "math").code == 0
    assert len(edges.read_text().splitlines()) == 1 + view.graph.n_edges
    assert bbedge("figure", "views", whole, ranks).code == 0
    done = bbedge("figure", "ranks", whole, ranks, "--view", "maths")
    assert done.code == 2
    assert "'maths' is not a view of this certificate; its views are 'code', 'math'" in " ".join(done.err.split())


def test_certify_shows_one_line_per_view_and_one_view_in_full(bbedge, tmp_path):
    rng = np.random.default_rng(2)
    rows = ["model,item,replicate,subject,score"]
    for model, (in_code, in_math) in {"a": (0.9, 0.2), "b": (0.2, 0.9)}.items():
        for run, item in product(range(3), range(80)):
            subject, chance = ("code", in_code) if item < 40 else ("math", in_math)
            rows.append(f"{model},q{item},{run},{subject},{int(rng.random() < chance)}")
    table, whole, arrays = (tmp_path / name for name in ("t.csv", "c.json", "a.npz"))
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    brief = bbedge("certify", table, "--views", "subject", "--json", whole)
    assert brief.code == 0, brief.err
    assert re.search(r"^code +25 % +40 +1 of 1 pair +a, rank 1 *$", brief.out, re.MULTILINE)
    assert re.search(r"^math +25 % +40 +1 of 1 pair +b, rank 1 *$", brief.out, re.MULTILINE)
    math = ("certify", table, "--views", "subject", "--view", "math", "--expect", "b > a", "--arrays", arrays)
    full = bbedge(*math, "--json", tmp_path / "again.json")
    assert full.code == 0, full.err
    assert "view math" in full.out.splitlines()[1]
    assert (tmp_path / "again.json").read_bytes() == whole.read_bytes()
    with np.load(arrays) as found:
        assert found["models"].tolist() == ["b", "a"]
        assert found["above"][0, 1]
    assert bbedge("certify", table, "--views", "subject", "--expect", "b > a").code == 3


def test_a_pilot_s_page_says_what_it_tested(bbedge, tmp_path):
    page = tmp_path / "p.html"
    options = ["--top-k", "3", "--pilot", "2", "--method", "bb-edge-x", "--score-range", "0", "1"]
    assert bbedge("certify", DEMO, *options, "--html", page).code == 0
    assert "Only this set is tested." in page.read_text(encoding="ascii")


def test_a_board_without_added_models_shows_the_evidence_of_every_look(bbedge, tmp_path, monkeypatch):
    subprocess.run([sys.executable, ROOT / "demo" / "make_board.py", tmp_path], check=True, capture_output=True)
    monkeypatch.chdir(tmp_path)
    models = ["--models", "alder,birch,cedar"]
    assert bbedge("board", "init", "p.bbedge", "--design", "design.toml", "--items", "items.csv", *models).code == 0
    for run in ("run1.csv", "run2.csv", "run3.csv"):
        assert bbedge("board", "add", "p.bbedge", run).code == 0
    assert bbedge("board", "retire", "p.bbedge", "alder").code == 0
    assert bbedge("board", "show", "p.bbedge", "--html", "p.html", "--json", "p.json").code == 0
    document = json.loads(Path("p.json").read_text())
    history = document["history"]
    assert history["replicates"] == [1, 2, 3]
    for shown, exact in zip(history["log_w"][-1], document["log_w"], strict=True):
        assert [a is None or abs(a - b) < 1e-4 for a, b in zip(shown, exact, strict=True)] == [True] * 3


def test_a_board_s_page(bbedge, tmp_path, board):
    shown, reported = tmp_path / "s.html", tmp_path / "r.html"
    done = bbedge("board", "show", board, "--html", shown, "--json", tmp_path / "s.json")
    assert done.code == 0, done.err
    assert bbedge("report", board, "--html", reported).code == 0
    assert shown.read_bytes() == reported.read_bytes()
    assert embedded(shown) == json.loads((tmp_path / "s.json").read_text())
    text = shown.read_text(encoding="ascii")
    assert "<h1>b</h1>" in text
    assert "model dogwood" in text
    assert str(tmp_path) not in text
    assert bbedge("report", board, "--html", reported, "--title", "Ours", "--current", "--epoch", "1").code == 0
    assert "<h1>Ours</h1>" in reported.read_text(encoding="ascii")


def test_reports_of_nothing_are_refused(bbedge, tmp_path, certificate):
    out = tmp_path / "x.html"
    for source, reason in ((tmp_path / "none.json", "cannot be read"), (DEMO, "not a certificate")):
        done = bbedge("report", source, "--html", out)
        assert done.code == 2
        assert reason in done.err
        assert not out.exists()
    done = bbedge("report", certificate, "--html", out, "--epoch", "1")
    assert done.code == 2
    assert "not a board" in done.err
    done = bbedge("report", certificate, "--html", tmp_path / "no" / "x.html")
    assert done.code == 2
    assert "cannot be written" in done.err


MAGIC = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("kind", ["graph", "ranks", "evidence"])
def test_figures_are_drawn_and_are_the_same_every_time(bbedge, tmp_path, certificate, kind):
    outs = [tmp_path / f"f{ending}" for ending in MAGIC]
    done = bbedge("figure", kind, certificate, *outs)
    assert done.code == 0, done.err
    first = [out.read_bytes() for out in outs]
    assert all(data.startswith(MAGIC[out.suffix]) for out, data in zip(outs, first, strict=True))
    bbedge("figure", kind, certificate, *outs)
    assert [out.read_bytes() for out in outs] == first
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(out.name for out in outs)


@pytest.mark.parametrize("kind", ["graph", "ranks", "evidence", "stability"])
def test_a_figure_has_the_size_that_was_asked_for(bbedge, tmp_path, certificate, kind):
    source = DEMO if kind == "stability" else certificate
    plain, sized = tmp_path / "plain.png", tmp_path / "sized.png"
    assert bbedge("figure", kind, source, plain).code == 0
    done = bbedge("figure", kind, source, sized, "--width", "5", "--height", "3.5", "--dpi", "80", "--no-title")
    assert done.code == 0, done.err
    with Image.open(plain) as first, Image.open(sized) as second:
        assert first.size != second.size == (400, 280)


def test_the_table_for_latex(bbedge, tmp_path, certificate):
    out = tmp_path / "t.tex"
    done = bbedge("figure", "table", certificate, out)
    assert done.code == 0, done.err
    assert out.read_text(encoding="utf-8") == read_certificate(certificate).to_latex()
    assert r"Rank & Model & Mean & Beats & Loses to \\" in out.read_text(encoding="utf-8")


def test_the_graph_for_other_programs(bbedge, tmp_path, certificate):
    outs = [tmp_path / f"g.{ending}" for ending in ("dot", "graphml", "mmd", "csv")]
    assert bbedge("figure", "graph", certificate, *outs).code == 0
    assert all(out.stat().st_size > 100 for out in outs)


def test_a_badge(bbedge, tmp_path, certificate):
    out = tmp_path / "badge.svg"
    for model in json.loads(certificate.read_text())["models"]:
        assert bbedge("figure", "badge", certificate, out, "--model", model["name"]).code == 0
        best, worst = model["rank_interval"]
        assert best < worst
        assert f"certified #{best}-{worst} of 6<" in out.read_text(encoding="ascii")
    done = bbedge("figure", "badge", certificate, out, "--model", "nobody")
    assert done.code == 2
    assert "'nobody'" in done.err


def test_figures_of_scores(bbedge, tmp_path):
    out = tmp_path / "s.svg"
    assert bbedge("figure", "stability", DEMO, out).code == 0
    assert out.read_bytes().startswith(MAGIC[".svg"])
    rng, rows = np.random.default_rng(4), ["model,item,replicate,score"]
    for model, item, replicate in product("abc", range(20), (1, 2, 3, 4)):
        rows.append(f"{model},q{item},{replicate},{int(rng.random() < 0.5)}")
    table, folder = tmp_path / "four.csv", tmp_path / "figures"  # runs are split in halves of two at least
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = bbedge("diagnose", table, "--permutations", "19", "--splits", "1", "--figures", folder)
    assert done.code == 0, done.err
    assert sorted(path.name for path in folder.iterdir()) == [
        "block-dependence.svg",
        "item-heterogeneity.svg",
        "rank-stability.svg",
        "split-null.svg",
    ]


def test_figures_that_cannot_be(bbedge, tmp_path, certificate, board):
    for args, reason in (
        (("ranks", certificate, tmp_path / "x.gif"), "ends with one of .png, .svg, .pdf"),
        (("ranks", certificate, tmp_path / "no" / "x.png"), "cannot be written"),
        (("evidence", board, tmp_path / "x.png"), "does not contain the evidence"),
        (("table", certificate, tmp_path / "x.csv"), "ends with .tex"),
        (("ranks", certificate, tmp_path / "x.png", "--width", "100"), "--width 100 is not allowed"),
        (("ranks", certificate, tmp_path / "x.png", "--width", "1", "--height", "1"), "a larger --width or --height"),
    ):
        done = bbedge("figure", *args)
        assert done.code == 2, args
        assert reason in done.err


def test_a_notebook_shows_a_leaderboard():
    scores = package.read_scores(DEMO)
    leaderboard = package.certify(scores, method="bb-edge-x")
    table = leaderboard._repr_html_()
    leaderboard_rows, forest_rows = (part.count("<tr>") for part in table.split("<details", 1))
    assert (leaderboard_rows, forest_rows) == (7, 6)
    assert "9 of 15 pairs certified" in table
    assert table.count("<b>1-2</b>") == 2


def test_a_notebook_shows_hostile_names_as_text():
    names = ["<script>alert(1)</script>", "\u202ex"]
    scores = package.Scores.of([[[1.0] * 8, [0.0] * 8]] * 4, models=names, items=list("abcdefgh"))
    table = package.certify(scores, method="bb-edge-x")._repr_html_()
    assert "<script" not in table
    assert "\u202e" not in table


def test_every_page_can_have_a_title(bbedge, tmp_path, certificate, board):
    title, page = "<b>Ours</b> & yours \u202e", tmp_path / "t.html"
    for command in (
        ("certify", DEMO, "--html", page),
        ("report", certificate, "--html", page),
        ("report", board, "--html", page),
        ("board", "show", board, "--html", page),
    ):
        done = bbedge(*command, "--title", title)
        assert done.code == 0, done.err
        text = page.read_text(encoding="ascii")
        assert "<h1>&lt;b&gt;Ours&lt;/b&gt; &amp; yours \\u202e</h1>" in text
        assert "<title>&lt;b&gt;Ours&lt;/b&gt; &amp; yours \\u202e</title>" in text


def test_a_title_is_the_heading_of_a_terminal_and_of_markdown(bbedge, board):
    for command in (("certify", DEMO), ("board", "show", board)):
        done = bbedge(*command, "--title", "Ours \x1b[31m", "--markdown", "-")
        assert done.code == 0
        assert done.out.startswith("## Ours \\\\x1b\\[31m\n")
        assert "Ours \\x1b[31m · " in done.err


def test_only_one_document_goes_to_standard_output(bbedge):
    done = bbedge("certify", DEMO, "--json", "-", "--markdown", "-")
    assert done.code == 2
    assert "both write to standard output" in done.err


def test_a_board_s_table_of_edges_runs_nothing_in_a_spreadsheet(bbedge, tmp_path, monkeypatch):
    subprocess.run([sys.executable, ROOT / "demo" / "make_board.py", tmp_path], check=True, capture_output=True)
    monkeypatch.chdir(tmp_path)
    names = {"alder": "=alder", "birch": "@birch", "cedar": " -cedar"}
    for run in ("run1.csv", "run2.csv", "run3.csv"):
        text = Path(run).read_text(encoding="utf-8")
        for old, new in names.items():
            text = text.replace(old, new)
        Path(run).write_text(text, encoding="utf-8")
    Path("names.txt").write_text("\n".join(names.values()) + "\n", encoding="utf-8")
    init = ["board", "init", "s.bbedge", "--design", "design.toml", "--items", "items.csv", "--models", "@names.txt"]
    assert bbedge(*init).code == 0
    done = bbedge("board", "add", "s.bbedge", "run1.csv", "run2.csv", "run3.csv")
    assert done.code == 0, done.err
    assert bbedge("board", "export", "s.bbedge", "g.csv").code == 0
    rows = Path("g.csv").read_text(encoding="ascii").splitlines()[1:]
    assert rows
    for row in rows:
        _, winner, loser, *numbers = row.split(",")
        assert {winner, loser} <= {f"'{name}" for name in names.values()}
        assert all(re.fullmatch(r"-?[0-9][0-9.e+-]*", number) for number in numbers)


@pytest.fixture
def models(tmp_path) -> Path:
    path = tmp_path / "models.csv"
    path.write_text("model,organisation,link,price\nthree-shot,Us,https://example.org,3\nplain,Them,,0.5\n")
    return path


def test_what_is_known_of_models_is_on_the_page_of_every_command(bbedge, tmp_path, models):
    page, document = tmp_path / "p.html", tmp_path / "c.json"
    done = bbedge("certify", DEMO, "--html", page, "--json", document, "--model-info", models)
    assert done.code == 0, done.err
    first = page.read_text(encoding="ascii")
    assert '<a href="https://example.org" rel="noopener noreferrer nofollow" target="_blank">' in first
    assert "Price against score" in first
    done = bbedge("report", document, "--html", page, "--model-info", models)
    assert done.code == 0, done.err
    assert page.read_text(encoding="ascii") == first
    assert "organisation" not in document.read_text()


def test_an_unknown_model_is_named(bbedge, tmp_path, models):
    models.write_text("model,price\nthreeshot,3\n")
    page = tmp_path / "p.html"
    done = bbedge("certify", DEMO, "--html", page, "--model-info", models)
    assert done.code == 2
    assert "'threeshot' is not on this leaderboard" in done.err
    assert not page.exists()


def test_what_is_for_a_page_needs_one(bbedge, models):
    for options in (("--model-info", models), ("--with-items",)):
        done = bbedge("certify", DEMO, *options)
        assert done.code == 2
        assert f"{options[0]} adds to a page; add --html OUT" in " ".join(done.err.split())


def item_means(page: Path) -> dict:
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(encoding="ascii"), re.DOTALL).group(1))
    return json.loads(gzip.decompress(base64.b64decode(data["items"])))


def test_items_are_written_when_asked_for(bbedge, tmp_path):
    page = tmp_path / "p.html"
    done = bbedge("certify", DEMO, "--html", page, "--with-items")
    assert done.code == 0, done.err
    content = item_means(page)
    scores = read_scores(DEMO)
    expected = scores.values.mean(axis=0)
    assert sorted(content["items"]) == sorted(scores.items)
    for model, means in zip(content["models"], content["means"], strict=True):
        for item, mean in zip(content["items"], means, strict=True):
            place = scores.models.index(model), scores.items.index(item)
            assert mean == pytest.approx(expected[place], abs=1e-4)
    assert content["addresses"] is None


def test_items_of_logs_lead_back_to_their_samples(bbedge, tmp_path):
    page = tmp_path / "p.html"
    done = bbedge("certify", ROOT / "tests" / "logs" / "inspect" / "runs", "--html", page, "--with-items")
    assert done.code == 0, done.err
    addresses = item_means(page)["addresses"]
    assert all(re.fullmatch(r"[^/].*, sample \d+", text) for row in addresses for text in row)


def test_items_of_a_board_are_those_of_the_models_that_still_run(bbedge, board, tmp_path):
    page = tmp_path / "p.html"
    done = bbedge("board", "show", board, "--html", page, "--with-items")
    assert done.code == 0, done.err
    assert sorted(item_means(page)["models"]) == ["birch", "cedar", "dogwood"]
    assert "This page has 3 of 4 models." in page.read_text(encoding="ascii")
    (tmp_path / "more.csv").write_text("item,block\nnew,new\n")
    assert bbedge("board", "add-items", board, tmp_path / "more.csv").code == 0
    done = bbedge("board", "show", board, "--html", page, "--with-items")
    assert done.code == 2
    assert "--with-items is for the current epoch, 2; leave it out for epoch 1" in " ".join(done.err.split())


def test_a_report_is_written_as_markdown_too(bbedge, certificate, tmp_path):
    out = tmp_path / "s.md"
    done = bbedge("report", certificate, "--markdown", out, "--title", "Ours")
    assert done.code == 0, done.err
    assert out.read_text(encoding="utf-8").startswith("## Ours\n\n**On these 72 items, 2 of 6 models could be best; ")
    assert bbedge("report", certificate, "--markdown", "-").out.startswith("## Leaderboard\n")


def test_a_report_of_nothing_is_refused(bbedge, certificate):
    done = bbedge("report", certificate)
    assert done.code == 2
    assert "--html OUT" in done.err


def test_a_figure_can_have_another_title(bbedge, certificate, tmp_path):
    out = tmp_path / "r.svg"
    assert bbedge("figure", "ranks", certificate, out).code == 0
    usual = out.read_text(encoding="utf-8")
    assert "Possible ranks" in usual
    done = bbedge("figure", "ranks", certificate, out, "--title", "Ours $x$")
    assert done.code == 0, done.err
    assert "Ours $x$" in out.read_text(encoding="utf-8")
    assert "Possible ranks" not in out.read_text(encoding="utf-8")
    both = bbedge("figure", "ranks", certificate, out, "--title", "Ours", "--no-title")
    assert both.code == 2
    assert "exclude each other" in both.err


def test_a_certificate_that_was_changed_is_refused_by_everything_that_reads_one(bbedge, tmp_path, certificate):
    text = certificate.read_text()
    first, *_, last = [model["name"] for model in json.loads(text)["models"]]
    swapped = tmp_path / "swapped.json"  # two names changed places everywhere: it agrees with itself
    swapped.write_text(
        text.replace(f'"{first}"', '"\0"').replace(f'"{last}"', f'"{first}"').replace('"\0"', f'"{last}"')
    )
    assert last in package.Certificate.of(json.loads(swapped.read_text())).answer
    outs = {
        "page": ("report", swapped, "--html", tmp_path / "p.html"),
        "markdown": ("report", swapped, "--markdown", tmp_path / "s.md"),
        "graph": ("figure", "graph", swapped, tmp_path / "g.dot"),
        "table": ("figure", "table", swapped, tmp_path / "t.tex"),
        "badge": ("figure", "badge", swapped, tmp_path / "b.svg", "--model", first),
    }
    for what, command in outs.items():
        done = bbedge(*command)
        assert done.code == 2, what
        assert "does not match its digest" in done.err
    assert bbedge("verify", swapped).code != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["swapped.json"]
    with pytest.raises(package.FormatError, match="does not match its digest"):
        package.read_certificate(swapped)


@pytest.mark.parametrize("how", ["digest", "consistency"])
def test_a_certificate_that_fails_its_checks_is_shown_by_force_with_a_banner(bbedge, tmp_path, certificate, how):
    content = json.loads(certificate.read_text())
    if how == "digest":
        content["notes"] = [{"kind": "remark", "text": "nothing to see"}]
    else:
        content["models"][0]["certified_above"] -= 1
        del content["provenance"]["digest"]
    changed, page, summary = (tmp_path / name for name in ("c.json", "p.html", "s.md"))
    changed.write_text(json.dumps(content))
    assert bbedge("report", changed, "--html", page).code == 2
    done = bbedge("report", changed, "--html", page, "--markdown", summary, "--force")
    assert done.code == 0, done.err
    opening = page.read_text().split("<header>")[0]
    assert "<strong>ALTERED CERTIFICATE</strong>" in opening
    assert 'content="ALTERED CERTIFICATE: ' in opening  # the preview of a link
    assert summary.read_text().startswith("**ALTERED CERTIFICATE: ")
    assert "At most 5 % risk" not in summary.read_text().split("## ")[0]
    assert "anything shown is ever wrong" not in page.read_text() + summary.read_text()
    assert not any(word in page.read_text().split("<main>")[0] for word in ("could be best", "is best"))
