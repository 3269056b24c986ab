"""The timeline of a board says what each event changed, as the board itself said it at the time."""

from __future__ import annotations

import copy
import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.certificate.certificate import Certificate
from bbedge.core.leaderboard import certify
from bbedge.display.page import timeline as history
from bbedge.display.page.charts import pairs_chart
from bbedge.display.page.facts import page_summary
from bbedge.display.ranking import model_rows
from bbedge.errors import FormatError
from unit.certificate.documents import certified, checked, drawn
from unit.verify.test_consistency import life
from unit.verify.test_recompute_board import stopped_inside


def earlier(board: Board, event: int, epoch: int) -> Certificate:
    """The certificate of an epoch as the board gave it after an event."""
    return board.as_of(board.events[event - 1].hash).certificate(epoch)


def check(board: Board, epoch: int) -> int:
    """Compare every row of the timeline with the certificates of the time; how many looks there were."""
    made = board.certificate(epoch)
    steps = [step for step in made.content.board.timeline if step.epoch == epoch]
    rows = [row for row in reversed(history.timeline(made)) if row.is_of_this]
    label, before, edges, looks = dict(zip(made.names, made.labels, strict=True)), {}, set(), 0
    for step, row in zip(steps, rows, strict=True):
        assert step.time == board.events[step.event - 1].at.replace("+00:00", "Z") == row.time
        then = earlier(board, step.event, epoch)
        ranks = {label[model.name]: model.rank_interval for model in then.content.models}
        stands = {(label[edge.winner], label[edge.loser]) for edge in then.content.edges}
        assert {(winner, loser) for winner, losers in row.wins for loser in losers} == stands - edges
        assert row.certified == len(stands - edges)
        if before or row.has_look:
            said = lambda ends: f"{ends[0]}" if ends[0] == ends[1] else f"{ends[0]}-{ends[1]}"  # noqa: E731
            assert {each.label: (each.before, each.after) for each in row.changes} == {
                name: (said(before[name]) if name in before else "", said(ends))
                for name, ends in ranks.items()
                if before.get(name) != ends
            }
        if row.has_look:
            looks += 1
            assert row.pairs == f"{then.ranks.n_resolved:,} of {then.n_pairs:,}"
        before, edges = ranks, stands
    return looks


@pytest.mark.parametrize("seed", [1, 4, 9])
def test_every_row_is_what_the_board_said_then(tmp_path, seed):
    board = life(tmp_path / "b.bbedge", seed)
    looks = [check(board, epoch.number) for epoch in board.state.epochs if epoch.has_scores]
    assert sum(looks)
    board.close()


def test_looks_inside_the_first_run_are_events_too(tmp_path):
    board, _ = stopped_inside(tmp_path / "board.db")
    assert check(board, 1) >= 2
    assert [row.what for row in history.timeline(board.certificate())][-2:] == [
        "Checkpoint 1 of run 1",
        "The board began with 4 models and 60 items",
    ]
    board.close()


@pytest.fixture
def grown(tmp_path):
    """A board to which a model was added, whose name is markup, and where another was retired."""
    scores = drawn([0.9, 0.7, 0.5, 0.2], replicates=4, items=120)
    names = ["a", "b", "c", "<b>d</b>"]
    board = Board.create(tmp_path / "b.bbedge", BoardDesign(), models=names[:3], items=scores.items)
    part = lambda models, runs: type(scores).of(  # noqa: E731
        scores.values[runs][:, [names.index(model) for model in models]], models=models, items=scores.items
    )
    board.add(part(names[:3], slice(0, 2)))
    board.add_model(names[3], part(names[3:], slice(0, 2)))
    board.retire("c")
    board.add(part(["a", "b", names[3]], slice(2, 4)))
    yield board
    board.close()


def test_the_page_shows_it_and_escapes_names(grown):
    page = grown.certificate().to_html()
    section = page.split('aria-labelledby="timeline"')[1].split("</section>")[0]
    rows = [html.unescape(re.sub("<.*?>", "", row)) for row in re.findall(r"<td><bdi>(.*?)</bdi></td>", section)]
    assert rows == [
        "Run 4", "Run 3", "c was retired", "<b>d</b> was added", "Run 2", "Run 1",
        "The board began with 3 models and 120 items",
    ]  # fmt: skip
    assert "<b>d" not in section
    assert "<h3>Since the look before</h3>" in section
    assert 'id="timeline"' not in Certificate.made(certified(drawn([0.9, 0.2]))).to_html().split("</style>")[1]


def test_a_retired_model_is_marked_in_its_row(grown):
    rows = re.findall(r"<tr role=\"row\" data-model.*?</tr>", grown.certificate().to_html())
    assert len(rows) == 4
    marked = [row for row in rows if 'class="retired"' in row]
    assert [re.search("<bdi>(.*?)</bdi>", row)[1] for row in marked] == ["c"]
    assert [re.findall('class="over">(.*?)<', row) for row in rows if row in marked] == [["2 of 4 runs"]]
    assert grown.certificate().to_html().count('class="over"') == 1


@pytest.mark.parametrize(("first", "own"), [(None, {"c": [0, 1]}), (1, {"c": [0, 1], "new": [0, 3, 4]})])
def test_a_mean_over_fewer_runs_says_over_how_many(tmp_path, first, own):
    scores, names = drawn([0.9, 0.7, 0.5, 0.6], replicates=5, items=40), ["a", "b", "c", "new"]
    part = lambda models, runs: type(scores).of(  # noqa: E731
        scores.values[runs][:, [names.index(model) for model in models]], models=models, items=scores.items
    )
    design = BoardDesign() if first is None else BoardDesign(pairing="first", first=first)
    board = Board.create(tmp_path / "b.bbedge", design, models=names[:3], items=scores.items)
    board.add(part(names[:3], slice(0, 2)))
    board.retire("c")
    board.add(part(names[:2], slice(2, 3)))
    board.add_model("new", part(["new"], slice(0, first or 3)))
    board.add(part(["a", "b", "new"], slice(3, 5)))
    made = board.certificate()
    for row in model_rows(made):
        name = made.names[row.index]
        assert row.mean_runs == (f"{len(own[name])} of 5 runs" if name in own else "")
        runs = scores.values[own.get(name, slice(None)), names.index(name)]
        assert made.means[row.index] == pytest.approx(runs.mean())
    assert page_summary(made).startswith(f"last look {made.content.board.timeline[-1].time[:10]} · ")
    text = made.to_markdown()
    assert "2 of 5 runs" in text
    assert "2 of 5 runs" in made.to_latex()
    board.close()


def test_models_that_were_stopped_say_how_many_runs_they_have():
    scores = drawn([0.9, 0.7, 0.5], replicates=4, items=40)
    values = scores.values.copy()
    values[2:, 2] = np.nan
    stopped = replace(scores, values=values, gaps="worst-case", stops=(4, 4, 2))
    (row,) = (row for row in model_rows(certify(stopped).certificate()) if row.mean_runs)
    assert (row.label, row.mean_runs) == (scores.models[2], "2 of 4 runs")


def test_the_chart_of_pairs_marks_where_a_model_came(grown):
    made = grown.certificate()
    chart = pairs_chart(made)
    steps = [step.kind for step in made.content.board.timeline if step.has_look]
    assert [kind for _, _, kind in chart.dots] == ["added" if kind == "add-model" else "pairs" for kind in steps]
    assert chart.has_added
    assert [tick.text for tick in chart.across] == ["1", "2", "3", "4"]  # a run that was looked at twice has one number
    assert "a model was added" in made.to_html()
    alone = Certificate.made(certified(drawn([0.9, 0.2])))
    assert "a model was added" not in alone.to_html()


def test_events_of_other_epochs_have_counts_only(grown):
    grown.add_items(["more"])
    rows = history.timeline(grown.certificate(1))
    assert rows[0].what == "Epoch 2 began: 1 new item, 3 models"
    assert not rows[0].is_of_this
    assert not rows[0].changes
    assert history.last_look(rows).what == "Run 4"
    assert history.last_look(history.timeline(grown.certificate(2))) is None


FORGERIES = {
    "order": lambda steps: steps.insert(1, steps.pop(2)),
    "time": lambda steps: steps[2].update(time="2020-01-01T00:00:00Z"),
    "event": lambda steps: steps[-1].update(event=999),
    "start": lambda steps: steps.pop(0),
    "epoch": lambda steps: steps[-1].update(epoch=2),
    "retired": lambda steps: steps[4].update(names=["b"]),
    "added": lambda steps: steps[3].update(names=["e"]),
    "a run less": lambda steps: steps.pop(1),
    "edges": lambda steps: steps[-1].update(edges=steps[-1]["edges"] + 1),
    "earlier edges": lambda steps: steps[1].update(edges=0, resolved_pairs=0),
    "pairs": lambda steps: steps[2].update(resolved_pairs=steps[2]["resolved_pairs"] - 1),
    "look": lambda steps: (steps[1].pop("edges"), steps[1].pop("resolved_pairs")),
    "half a look": lambda steps: steps[1].pop("edges"),
    "ranks": lambda steps: steps[-3 if "ranks" in steps[-3] else 3]["ranks"].update(a=[1, 4]),
    "checkpoint": lambda steps: steps[1].update(checkpoint=1),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_timeline_that_contradicts_the_rest_is_refused(grown, name):
    content = json.loads(grown.certificate().to_json())
    assert checked(content).names
    forgery = copy.deepcopy(content)
    FORGERIES[name](forgery["board"]["timeline"])
    assert forgery != content
    with pytest.raises(FormatError, match=r"timeline"):
        checked(forgery)
