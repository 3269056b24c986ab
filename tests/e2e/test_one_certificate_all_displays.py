"""Every number in the terminal, on the page, in Markdown and in a notebook is that of the JSON of the certificate."""

from __future__ import annotations

import csv
import hashlib
import html
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import bbedge as bbedge_package

ROOT = Path(__file__).parents[2]
ROW = ("could be", "rank", "model", "mean", "mean interval", "to leader", "to leader, interval", "beats", "loses to")


def noisy(path: Path, *, models: int, blocks: int, runs: int, low: float, high: float) -> Path:
    """Graded scores of models whose means lie close together, so that some pairs stay open."""
    rng = np.random.default_rng(models)
    means = np.linspace(0.75, 0.35, models)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "item", "block", "replicate", "score"])
        for run in range(1, runs + 1):
            for model, mean in enumerate(means):
                for block in range(blocks):
                    for item in range(2):
                        score = low + (high - low) * float(np.clip(rng.normal(mean, 0.3), 0, 1))
                        writer.writerow([f"m{model:02}", f"q{block}-{item}", f"b{block}", run, round(score, 3)])
    return path


CASES = {
    "demo": (None, ()),
    "two": ({"models": 2, "blocks": 60, "runs": 2, "low": 0.0, "high": 1.0}, ()),
    "thirteen": ({"models": 13, "blocks": 60, "runs": 3, "low": 0.0, "high": 1.0}, ("--mean-share", "0.1")),
    "scale": ({"models": 5, "blocks": 50, "runs": 3, "low": 0.0, "high": 10.0}, ("--score-range", "0", "10")),
    "tau": ({"models": 6, "blocks": 80, "runs": 4, "low": 0.0, "high": 1.0}, ("--tau", "0.02", "--method", "bb-edge")),
    "open": ({"models": 3, "blocks": 8, "runs": 1, "low": 0.0, "high": 1.0}, ()),
}


def ordinal(number: int) -> str:
    return f"{number}{'th' if 10 < number % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def rounded(value: float, decimals: int, direction: int, sign: str = "") -> str:
    """A bound rounded down (-1) or up (+1), by hand."""
    scaled = value * 10.0**decimals
    whole = math.floor(scaled) if direction < 0 else math.ceil(scaled)
    return f"{whole / 10.0**decimals:{sign}.{decimals}f}" if whole or not sign else "0"


def expected(document: dict) -> list[dict[str, str]]:
    """The table, from nothing but the JSON."""
    low, high = document["design"]["score_range"]
    decimals, step = (4 if high - low == 1.0 else 3), document["design"]["tau"] * (high - low)
    models = {model["name"]: model for model in document["models"]}
    place = {name: i for i, name in enumerate(models)}
    above = longest(document)
    order = sorted(models, key=lambda name: (models[name]["rank_interval"][0], place[name]))
    leader, rows, last = order[0], [], 0
    for name in order:
        model = models[name]
        best, worst = model["rank_interval"]
        row = {
            "could be": ordinal(best) if best != last else "",
            "rank": f"{best}" if best == worst else f"{best}-{worst}",
            "model": name,
            "mean": f"{model['mean']:.{decimals}f}",
            "mean interval": "",
            "to leader": "",
            "to leader, interval": "",
            "beats": f"{model['certified_above']}",
            "loses to": f"{model['certified_below']}",
        }
        if "mean_interval" in model:
            ends = model["mean_interval"]
            row["mean interval"] = f"{rounded(ends[0], decimals, -1)} to {rounded(ends[1], decimals, 1)}"
        if name != leader:
            row["to leader"] = f"{round(model['mean'] - models[leader]['mean'], decimals) + 0.0:+.{decimals}f}"
            least = document["margins"][place[name]][place[leader]]
            most = -document["margins"][place[leader]][place[name]]
            if (leader, name) in above:
                most = min(most, -above[leader, name] * step)
            row["to leader, interval"] = f"{rounded(least, decimals, -1, '+')} to {rounded(most, decimals, 1, '+')}"
        rows.append(row)
        last = best
    return rows


def longest(document: dict) -> dict[tuple[str, str], int]:
    """The number of edges of the longest certified path of every pair, by hand."""
    below: dict[str, set[str]] = {}
    for edge in document["edges"]:
        below.setdefault(edge["winner"], set()).add(edge["loser"])
    found: dict[tuple[str, str], int] = {}

    def walk(start: str, here: str, length: int) -> None:
        for following in below.get(here, ()):
            if length + 1 > found.get((start, following), 0):
                found[start, following] = length + 1
                walk(start, following, length + 1)

    for name in below:
        walk(name, name, 0)
    return found


def columns_shown(rows: list[dict[str, str]]) -> list[str]:
    return [head for head in ROW if any(row[head] for row in rows)]


def of_terminal(text: str, heads: list[str]) -> list[list[str]]:
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("could be"))
    ends = [lines[head].index(name) for name in heads]
    rows = []
    for line in lines[head + 2 :]:
        if not line.strip():
            break
        if "╌" not in line:
            cells = re.split(r" {2,}", re.sub(r"^ +", "-   ", line.replace("█", "").replace("·", "")).strip())
            rows.append(["" if cell == "-" else cell for cell in cells])
    assert ends == sorted(ends)
    return rows


def of_markdown(text: str) -> tuple[list[str], list[list[str]]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return cells[0], [[cell.replace("\\", "") for cell in row] for row in cells[2:]]


def of_page(text: str) -> list[dict[str, str]]:
    table = text.split('<table class="ranking')[1].split("</table>")[0].split("<tbody")[1]
    rows = []
    for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL):
        cells = {
            kind: [html.unescape(re.sub("<.*?>", "", cell)).strip() for cell in found]
            for kind in ("group", "rank", "model", "counts")
            if (found := re.findall(rf'class="{kind}[^"]*"[^>]*>(.*?)</t[dh]>', row, re.DOTALL))
        }
        made = {"could be": cells["group"][0], "rank": cells["rank"][0], "model": cells["model"][0]}
        for kind, head in (("mean", "mean"), ("behind", "to leader")):
            cell = re.search(rf'class="{kind}[^"]*"[^>]*>(.*?)</td>', row, re.DOTALL).group(1)
            value = re.search(r'class="value">(.*?)<', cell).group(1)
            interval = re.search(r'class="interval">(.*?)<', cell)
            made[head] = value
            made["mean interval" if kind == "mean" else "to leader, interval"] = interval.group(1) if interval else ""
        rows.append(made | {"beats": cells["counts"][0], "loses to": cells["counts"][1]})
    return rows


def expected_forest(document: dict) -> list[tuple[str, str, str, float, float]]:
    """The leader against each other model, from nothing but the JSON: label, difference, interval, and its ends."""
    low, high = document["design"]["score_range"]
    decimals, step = (4 if high - low == 1.0 else 3), document["design"]["tau"] * (high - low)
    models = {model["name"]: model for model in document["models"]}
    place, above = {name: i for i, name in enumerate(models)}, longest(document)
    leader, *others = sorted(models, key=lambda name: (models[name]["rank_interval"][0], place[name]))
    rows = []
    for name in others:
        least = document["margins"][place[leader]][place[name]]
        most = -document["margins"][place[name]][place[leader]]
        if (leader, name) in above:
            least = max(least, above[leader, name] * step)
        seen = f"{round(models[leader]['mean'] - models[name]['mean'], decimals) + 0.0:+.{decimals}f}"
        words = f"{rounded(least, decimals, -1, '+')} to {rounded(most, decimals, 1, '+')}"
        rows.append((name if len(others) > 1 else f"{leader} minus {name}", seen, words, least, most))
    return rows


def check_forest(text: str, document: dict) -> None:
    """Every number of the forest is in the JSON, and lines are drawn where the numbers say."""
    table = text.split('<table class="forest">')[1].split("</table>")[0]
    rows = re.findall(r"<tr>.*?</tr>", table.split("<tbody>")[1], re.DOTALL)
    wanted = expected_forest(document)
    for row, (label, seen, words, _, _) in zip(rows, wanted, strict=True):
        said = [html.unescape(re.sub("<.*?>", "", cell)) for cell in re.findall(r"<t[hd]\b.*?</t[hd]>", row, re.DOTALL)]
        assert [each for each in said if each] == [label, seen, words]
    check_places(rows, [(least, most) for *_, least, most in wanted])


def check_open_pairs(text: str, document: dict) -> None:
    """Every number of the open pairs is in the JSON; those that would decide who is best come first, all of them."""
    low, high = document["design"]["score_range"]
    decimals, models = 4 if high - low == 1.0 else 3, {model["name"]: model for model in document["models"]}
    place = {name: i for i, name in enumerate(models)}
    first = min(models, key=lambda name: (models[name]["rank_interval"][0], place[name]))
    could = {name for name, model in models.items() if model["rank_interval"][0] == 1} - {first}
    listed = {(each["ahead"], each["behind"]): each for each in document["outlook"]}
    section = text.split('<h2 id="open">')[1].split("</section>")[0] if document["outlook"] else ""
    rows = [
        [text_of(cell) for cell in re.findall("<td.*?</td>", row, re.DOTALL)]
        for row in re.findall("<tr><td>.*?</tr>", section, re.DOTALL)
    ]
    assert len(rows) == len(listed) == document["counts"]["pairs"] - document["counts"]["resolved_pairs"]
    for (ahead, behind, difference, interval, share, more), row in zip(
        rows, section.split("<tr><td>")[1:], strict=True
    ):
        each = listed[ahead, behind]
        seen = round(models[ahead]["mean"] - models[behind]["mean"], decimals) + 0.0
        least, most = document["margins"][place[ahead]][place[behind]], document["margins"][place[behind]][place[ahead]]
        assert difference == f"{seen:+.{decimals}f}"
        assert interval == f"{rounded(least, decimals, -1, '+')} to {rounded(-most, decimals, 1, '+')}"
        assert each["log_e"] == document["log_e"][place[ahead]][place[behind]]
        part = 100 * math.exp(each["log_e"] - each["log_threshold"])
        assert share == (f"{math.floor(part)} %" if part >= 1 else f"{part:.1g} %" if part >= 0.01 else "< 0.01 %")
        drawn = float(re.search(r'class="open" width="([\d.e-]+)"', row).group(1))
        assert drawn == pytest.approx(56 * part / 100, rel=1e-3)
        low_runs, high_runs = each["more_replicates"] or (None, None)
        assert more.split(" to ") == (
            ["no trend yet"] if low_runs is None else [f"{runs:,}" for runs in sorted({low_runs, high_runs})]
        )
    deciding = rows[: len(could)]
    assert could == {name for row in deciding for name in row[:2]} - {first}
    assert all(first in row[:2] for row in deciding)
    assert ('id="deciding"' in text) == bool(could)


def of_notebook(text: str) -> tuple[list[str], list[list[str]]]:
    def cells(row: str, tag: str) -> list[str]:
        found = re.findall(rf"<{tag}[ >].*?</{tag}>", row, re.DOTALL)
        return [html.unescape(re.sub("<.*?>", "", cell)).strip() for cell in found]

    head, body = text.split("<thead>")[1].split("</thead><tbody>")
    return cells(head, "th"), [cells(row, "td") for row in re.findall(r"<tr>.*?</tr>", body, re.DOTALL)]


@pytest.mark.parametrize("case", CASES)
def test_all_say_the_same(bbedge, tmp_path, monkeypatch, case):
    shape, options = CASES[case]
    table = ROOT / "demo" / "scores.csv" if shape is None else noisy(tmp_path / "scores.csv", **shape)
    page, markdown, out = (tmp_path / name for name in ("p.html", "s.md", "c.json"))
    monkeypatch.setenv("COLUMNS", "160")
    done = bbedge("certify", table, *options, "--html", page, "--markdown", markdown, "--json", out)
    assert done.code == 0, done.err
    document = json.loads(out.read_text(encoding="ascii"))
    rows = expected(document)
    heads = columns_shown(rows)

    printed = of_terminal(done.out, heads)
    assert len(printed) == len(rows)
    for cells, row in zip(printed, rows, strict=True):
        assert [cell for cell in cells if cell] == [row[head] for head in heads if row[head]]

    titles, written = of_markdown(markdown.read_text(encoding="utf-8"))
    assert titles == heads
    assert written == [[row[head] for head in heads] for row in rows]

    text = page.read_text(encoding="ascii")
    shown = of_page(text)
    for on_page, row in zip(shown, rows, strict=True):
        assert on_page["could be"] == ordinal(int(row["rank"].split("-")[0]))
        assert {head: on_page[head] for head in ROW[1:]} == {head: row[head] for head in ROW[1:]}

    check_forest(text, document)
    check_open_pairs(text, document)

    notebook = bbedge_package.read_certificate(out)._repr_html_()
    check_forest(notebook, document)
    assert of_notebook(notebook) == (heads, [[row[head] for head in heads] for row in rows])

    answer = bbedge_package.read_certificate(out).answer
    for said in (
        done.out,
        html.unescape(re.sub("<.*?>", " ", notebook)),
        markdown.read_text(encoding="utf-8").replace("*", ""),
        html.unescape(re.sub("<.*?>", " ", text)),
    ):
        assert "".join(answer.split()) in "".join(said.replace("\\", "").split())
    pairs = f"{document['counts']['resolved_pairs']} of {document['counts']['pairs']} pair"
    assert pairs in done.out
    assert pairs in text
    assert pairs in notebook


def test_an_answer_from_a_file_is_the_answer_of_the_scores(bbedge, tmp_path):
    out = tmp_path / "c.json"
    assert bbedge("certify", ROOT / "demo" / "scores.csv", "--json", out).code == 0
    made = bbedge_package.certify(bbedge_package.read_scores(ROOT / "demo" / "scores.csv"))
    assert bbedge_package.read_certificate(out).answer == made.answer


def check_places(rows: list[str], ends: list[tuple[float, float]]) -> None:
    """Lines and the mark at zero are where the numbers say, on one scale for all rows."""
    values, places = [], []
    for row, (low, high) in zip(rows, ends, strict=True):
        drawn = re.search(r'class="interval \w+" x1="([\d.]+)%" x2="([\d.]+)%"', row)
        zero = re.search(r'class="zero" x1="([\d.]+)%"', row)
        values += [low, high, 0.0]
        places += [float(at) for at in (*drawn.groups(), zero.group(1))]
    slope, start = np.polyfit(values, places, 1)
    assert slope > 0
    np.testing.assert_allclose(places, slope * np.array(values) + start, atol=2e-3)


def test_the_page_of_a_gate_is_that_of_its_json(bbedge, tmp_path):
    table, policy = noisy(tmp_path / "s.csv", models=2, blocks=150, runs=3, low=0.0, high=1.0), tmp_path / "p.toml"
    claims = {"better_by": 0.1, "not_worse_by": 0.02, "at_least": 0.7, "equal_within": 0.05}
    text = "".join(f"[[claims]]\n{kind} = {amount}\n" for kind, amount in claims.items())
    policy.write_text(f'candidate = "m00"\nbaseline = "m01"\n{text}', encoding="utf-8")
    out, page = tmp_path / "g.json", tmp_path / "g.html"
    assert bbedge("gate", policy, table, "--json", out, "--html", page).code in (1, 3)
    document, text = json.loads(out.read_text(encoding="ascii")), page.read_text(encoding="ascii")
    assert {claim["verdict"] for claim in document["claims"]} >= {"PASS", "OPEN"}
    rows = re.findall(r"<tr>.*?</tr>", text.split('<table class="forest">')[1].split("<tbody>")[1], re.DOTALL)
    for row, claim in zip(rows, document["claims"], strict=True):
        cells = [text_of(cell) for cell in re.findall(r"<t[hd]\b.*?</t[hd]>", row, re.DOTALL)]
        low, high = claim["bounds"]
        seen = claim["claim"], "", claim["verdict"], f"{claim['difference']:+.4f}", f"{low:+.4f} to {high:+.4f}"
        assert tuple(cells) == seen
        marks = len(re.findall(r'class="mark"', row))
        assert marks == (2 if claim["kind"] == "equal_within" else int(claim["bar"] != 0))
    check_places(rows, [claim["bounds"] for claim in document["claims"]])
    said = text_of(text.split("</style>")[1])
    sources = {table.name: hashlib.sha256(table.read_bytes()).hexdigest()}
    assert document["sources"] == sources
    assert f"{table.name} {sources[table.name]} Policy {document['policy']}" in said
    for claim in document["claims"]:
        if claim["more_runs"] is not None:
            assert f"about {claim['more_runs']:,} more run" in said
        if claim["needed_items"] is not None:
            assert f"{claim['needed_items']:,} items instead of {document['items']:,} in 3 runs" in said
    assert f"{document['items']:,} items" in said
    assert f"at most {100 * document['alpha']:g} % risk" in said.lower()


def text_of(cell: str) -> str:
    return " ".join(html.unescape(re.sub("<.*?>", " ", cell)).split())


def timeline_of_page(text: str) -> list[list[str]]:
    section = text.split('<table class="timeline">')[1].split("</table>")[0].split("<tbody>")[1]
    return [re.findall(r"<td.*?</td>", row, re.DOTALL) for row in re.findall(r"<tr.*?</tr>", section, re.DOTALL)]


def timeline_of_json(document: dict) -> list[tuple[str, str, str, set[tuple[str, str]], set[str]]]:
    """Time, comparisons, pairs, who beats whom and the changes of ranks of every event, from nothing but the JSON."""
    said = lambda ends: f"{ends[0]}" if ends[0] == ends[1] else f"{ends[0]}-{ends[1]}"  # noqa: E731
    board, models, edges, ranks, rows = document["board"], set(), 0, {}, []
    joined = {each["names"][0]: each["event"] for each in board["timeline"] if each["kind"] == "add-model"}
    look_of = {each["run"]: each["event"] for each in board["timeline"] if each["kind"] == "replicate"}
    for step in board["timeline"]:
        if step["kind"] != "retire":
            models |= set(step.get("names", ()))
        changed = {name: ends for name, ends in step.get("ranks", {}).items() if ranks.get(name) != ends}
        wins = {
            (edge["winner"], edge["loser"])
            for edge in document["edges"]
            if max(look_of[edge["first_certified"]], joined.get(edge["winner"], 0), joined.get(edge["loser"], 0))
            == step["event"]
        }
        looked = "edges" in step
        moves = {
            f"{name} {said(ranks[name])} → now {said(e)}" if name in ranks else f"{name} {said(e)}"
            for name, e in changed.items()
        }
        time = step["time"].replace("T", " ")[:16] + " UTC"
        new = str(step["edges"] - edges) if looked else ""
        pairs = f"{step['resolved_pairs']} of {len(models) * (len(models) - 1) // 2}" if looked else ""
        rows.append((time, new, pairs, wins, moves if looked else set()))
        ranks, edges = {**ranks, **changed}, step.get("edges", edges)
    return rows[::-1]


@pytest.mark.nightly
def test_the_timeline_is_that_of_the_json(tmp_path):
    rng = np.random.default_rng(6)
    means = {"a": 0.9, "b": 0.75, "c": 0.5, "late": 0.6, "d": 0.3}

    def runs(names: list[str], count: int) -> bbedge_package.Scores:
        values = (rng.random((count, len(names), 150)) < np.array([means[name] for name in names])[None, :, None]) * 1.0
        return bbedge_package.Scores.of(values, models=names, items=[f"q{i}" for i in range(150)])

    names = ["a", "b", "c", "d"]
    board = bbedge_package.Board.create(
        tmp_path / "b.bbedge", bbedge_package.BoardDesign(), models=names, items=[f"q{i}" for i in range(150)]
    )
    for _ in range(2):
        board.add(runs(names, 1))
    board.add_model("late", runs(["late"], 2))
    board.retire("d")
    for _ in range(2):
        board.add(runs(["a", "b", "c", "late"], 1))
    made = board.certificate()
    document = json.loads(made.to_json())
    shown, rows = timeline_of_page(made.to_html()), timeline_of_json(document)
    assert len(shown) == len(rows) == 7
    assert sum(bool(row[3]) for row in rows) >= 3
    for (time, _, new, pairs, moved), row in zip(shown, rows, strict=True):
        beats = [part.split(" beats ") for part in map(text_of, re.findall(r"<p>.*?</p>", new, re.DOTALL))]
        wins = {(winner, loser) for winner, losers in beats for loser in losers.replace(" ,", ",").split(", ")}
        count = text_of(new.split("</summary>")[0])
        moves = set(map(text_of, re.findall(r"<li>.*?</li>", moved, re.DOTALL)))
        assert (text_of(time), count, text_of(pairs), wins, moves) == row
    board.close()
