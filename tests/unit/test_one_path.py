"""Python and the command line certify on one path: what one writes, the other writes too, byte by byte."""

import inspect
import json
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Union, Unpack, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from msgspec import UnsetType, structs

import bbedge as package
from bbedge.core.design import Design
from bbedge.core.scores import DesignOptions
from bbedge.records.options import OptionArguments, Options
from e2e.conftest import bbedge  # noqa: F401 - a fixture

DEMO = Path(__file__).parents[2] / "demo" / "scores.csv"


TIME = "2026-01-31T12:00:00Z"  # what conftest.py fixes the time to


@pytest.fixture(scope="module")
def scores():
    return package.read_scores(DEMO)


CASES = [
    ({}, []),
    ({"method": "bb-edge"}, ["--method", "bb-edge"]),
    ({"margin_share": 0.5, "planned": 3}, ["--margin-share", "0.5", "--planned", "3"]),
    ({"mean_share": 0.1}, ["--mean-share", "0.1"]),
    (
        {"alpha": 0.2, "tau": 0.01, "evidence": "sharp", "prediction": "two-way", "stakes": "design"},
        ["--alpha", "0.2", "--tau", "0.01", "--evidence", "sharp", "--prediction", "two-way", "--stakes", "design"],
    ),
]


@pytest.mark.parametrize(("options", "arguments"), CASES, ids=["plain", "method", "margins", "means", "parts"])
def test_the_json_of_python_is_that_of_the_command_line(bbedge, scores, tmp_path, options, arguments):  # noqa: F811
    assert bbedge("certify", DEMO, *arguments, "--json", tmp_path / "c.json").code == 0
    text = package.certify(scores, **options).to_json(time=TIME)
    assert text.encode() == (tmp_path / "c.json").read_bytes()
    history = json.loads(text)["history"]
    assert history["replicates"] == [1, 2, 3]
    assert len(history["log_e" if options.get("method") == "bb-edge" else "log_w"]) == 3


def test_without_a_time_python_writes_everything_else(bbedge, scores, tmp_path):  # noqa: F811
    assert bbedge("certify", DEMO, "--json", tmp_path / "c.json").code == 0
    timed, plain = json.loads((tmp_path / "c.json").read_text()), json.loads(package.certify(scores).to_json())
    assert timed["provenance"].pop("time") == TIME
    assert timed == plain
    assert [source["name"] for source in plain["provenance"]["sources"]] == ["scores.csv"]


def test_both_state_how_files_were_read(bbedge, tmp_path):  # noqa: F811
    words = ("--blocks", "item", "--merge-names", "--json", tmp_path / "c.json")
    assert bbedge("certify", DEMO, *words).code == 0
    scores = package.read_scores(DEMO, blocks="item", merge_names=True)
    text = package.certify(scores).to_json(time=TIME)
    assert text.encode() == (tmp_path / "c.json").read_bytes()
    assert json.loads(text)["provenance"]["reading"] == {"blocks": "item", "merge_names": True}


def test_a_certificate_from_python_is_verified_without_the_options_that_it_states(bbedge, tmp_path):  # noqa: F811
    table = tmp_path / "t.csv"
    table.write_text(DEMO.read_text().replace("model,item,block", "model,item,category"))
    scores = package.read_scores(table, blocks="category")
    (tmp_path / "c.json").write_text(package.certify(scores).to_json())
    assert bbedge("verify", tmp_path / "c.json", table).code == 0


def test_the_page_of_python_is_that_of_the_command_line(bbedge, scores, tmp_path):  # noqa: F811
    html = ("--html", tmp_path / "p.html")
    assert bbedge("certify", DEMO, *html).code == 0
    leaderboard = package.certify(scores)
    assert leaderboard.to_html(time=TIME).encode() == (tmp_path / "p.html").read_bytes()
    assert bbedge("certify", DEMO, *html, "--title", "A & B").code == 0
    assert leaderboard.to_html("A & B", time=TIME).encode() == (tmp_path / "p.html").read_bytes()


def test_a_pilot_is_in_the_json_of_both(bbedge, scores, tmp_path):  # noqa: F811
    assert bbedge("certify", DEMO, "--top-k", "2", "--pilot", "1", "--json", tmp_path / "c.json").code == 0
    leaderboard = package.certify_pilot_top_k(scores, k=2, pilot=1)
    assert leaderboard.to_json(time=TIME).encode() == (tmp_path / "c.json").read_bytes()
    pilot = json.loads(leaderboard.to_json())["pilot"]
    best = np.argsort(-scores.values[0].mean(axis=1), kind="stable")[:2]
    assert pilot == {"k": 2, "replicates": 1, "candidate": sorted(scores.models[i] for i in best)}
    assert leaderboard.pilot == 1


def test_notes_and_counted_copies_are_in_the_json_of_both(bbedge, tmp_path):  # noqa: F811
    table = tmp_path / "t.csv"
    panel = np.random.default_rng(2).integers(0, 2, (2, 12))
    rows = [
        f"{model},q{i},{replicate},{panel[m, i]}"
        for replicate in (1, 2)
        for m, model in enumerate(["Model A", "model  a"])
        for i in range(12)
    ]
    table.write_text("\n".join(["model,item,replicate,score", *rows]) + "\n")
    assert bbedge("certify", table, "--copies", "allow", "--json", tmp_path / "c.json").code == 0
    scores = package.read_scores(table)
    with pytest.raises(package.CopiedReplicateError, match="copies='allow'"):
        package.certify(scores)
    leaderboard = package.certify(scores, copies="allow")
    assert leaderboard.to_json(time=TIME).encode() == (tmp_path / "c.json").read_bytes()
    assert [note.kind for note in leaderboard.notes] == [*(note.kind for note in scores.notes), "copies"]
    assert "were counted" in leaderboard.notes[-1].text
    assert len(leaderboard.notes) == 3


def test_the_board_s_certificate_is_what_board_show_writes(bbedge, scores, tmp_path):  # noqa: F811
    place = tmp_path / "board.bbedge"
    design = package.BoardDesign(method="bb-edge-x")
    with package.Board.create(place, design, models=scores.models, items=scores.items, blocks=scores.blocks) as board:
        board.add(scores)
        text = board.certificate().to_json(time=TIME)
        assert bbedge("board", "show", place, "--json", tmp_path / "c.json").code == 0
        assert text.encode() == (tmp_path / "c.json").read_bytes()
        assert json.loads(text)["history"]["replicates"] == [1, 2, 3]
        board.export(tmp_path / "python.jsonl")
        assert bbedge("board", "export", place, tmp_path / "cli.jsonl").code == 0
        assert (tmp_path / "python.jsonl").read_bytes() == (tmp_path / "cli.jsonl").read_bytes()


# Options ----------------------------------------------------------------------------------------------------------


def test_options_are_those_of_a_design_with_their_types():
    design = inspect.signature(Design.make, eval_str=True).parameters
    shared = get_type_hints(OptionArguments)
    own = {name: hint for name, hint in get_type_hints(DesignOptions).items() if name not in shared}
    assert own.keys() == design.keys() - {"models", "items", "options"}
    for name, annotation in own.items():
        assert annotation == design[name].annotation, name
    assert design["options"].annotation == Unpack[OptionArguments]
    for function in (package.certify, package.certify_pilot_top_k, package.Scores.design):
        assert get_type_hints(function)["options"] == Unpack[DesignOptions]


def without_bounds(kind):
    """A type without its metadata; what is not set in a record is None as an argument."""
    if get_origin(kind) is Annotated:
        return without_bounds(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        kinds = (without_bounds(each) for each in get_args(kind))
        return Union[tuple(NoneType if each is UnsetType else each for each in kinds)]  # noqa: UP007 - made at run time
    if get_origin(kind) is tuple:
        return tuple[tuple(map(without_bounds, get_args(kind)))]
    return kind


def test_arguments_are_the_options_with_their_types():
    fields = get_type_hints(Options, include_extras=True)
    arguments = get_type_hints(OptionArguments)
    assert arguments.keys() == set(Options.__struct_fields__)
    assert {name: without_bounds(fields[name]) for name in arguments} == arguments


def test_every_option_reaches_the_design(scores):
    options = {
        "alpha": 0.1,
        "tau": 0.02,
        "method": "bb-edge-x",
        "evidence": "sharp",
        "prediction": "two-way",
        "grid": [0.25, 0.5],
        "blocks": "one",
        "candidate": ["three-shot"],
        "copies": "allow",
    }
    design = package.certify(scores, **options).design
    assert design == Design.make(scores.models, scores.items, **options)
    del options["candidate"]
    piloted = package.certify_pilot_top_k(scores, k=1, pilot=1, **options).design
    assert structs.replace(piloted, family=design.family) == design
    with pytest.raises(TypeError, match="alhpa"):
        package.certify(scores, alhpa=0.1)
