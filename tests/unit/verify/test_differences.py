"""Whatever differs between two documents is found, and rounding is no difference."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator

import pytest

import bbedge
from bbedge.verify.differences import MOST_LISTED, compare
from unit.certificate.documents import drawn, parted, suite
from unit.verify.test_consistency import life

ELSEWHERE = ("bbedge", "notes", "provenance")
Way = tuple[str | int, ...]


@pytest.fixture(scope="module")
def documents(tmp_path_factory) -> dict[str, dict]:
    board = life(tmp_path_factory.mktemp("boards") / "b.bbedge", 2)
    made = {
        "plain": bbedge.certify(parted(), tau=0.01),
        "published": bbedge.certify(drawn([0.9, 0.6, 0.5]), method="bb-edge"),
        "views": suite(("code", "math"), models=3),
        "pilot": bbedge.certify_pilot_top_k(drawn([0.9, 0.5, 0.2]), k=1, pilot=1),
        "board": board.leaderboard(),
    }
    found = {name: json.loads(leaderboard.to_json()) for name, leaderboard in made.items()}
    board.close()
    return found


def leaves(value: object, way: Way = ()) -> Iterator[tuple[Way, object]]:
    """Every value that is neither a record nor a list, and the way to it; also lists and records that are empty."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        if not (not way and key in ELSEWHERE):
            yield from leaves(each, (*way, key))
    if not inside and not isinstance(value, dict | list):
        yield way, value


def changed(content: dict, way: Way, value: object) -> dict:
    """A copy with another value at one place; the rest is shared."""
    if not way:
        return value
    key, *rest = way
    other = copy.copy(content)
    other[key] = changed(content[key], tuple(rest), value)
    return other


def another(value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1000
    if isinstance(value, float):
        return value + 1e-3 * max(1.0, abs(value))
    return 0.5 if value is None else f"{value}x"


@pytest.mark.parametrize("name", ["plain", "published", "views", "pilot", "board"])
def test_every_changed_value_is_found(documents, name):
    content = documents[name]
    assert compare(content, content).count == 0
    ways = list(leaves(content))
    assert len(ways) > 100
    hidden = [way for way, value in ways if not compare(changed(content, way, another(value)), content).count]
    assert hidden == []


@pytest.mark.parametrize("name", ["plain", "views", "board"])
def test_every_removed_entry_is_found(documents, name):
    content = documents[name]

    def places(value: object, way: Way = ()) -> Iterator[tuple[Way, object]]:
        if isinstance(value, dict | list) and value:
            if way:
                yield way, value
            for key, each in value.items() if isinstance(value, dict) else enumerate(value):
                yield from places(each, (*way, key))

    hidden = []
    for way, value in places({key: each for key, each in content.items() if key not in ELSEWHERE}):
        fewer = value[1:] if isinstance(value, list) else dict(list(value.items())[1:])
        if set(way) & {"models", "edges", "outlook", "views"} and isinstance(value, dict):
            continue  # a record without its name cannot be read
        if not compare(changed(content, way, fewer), content).count:
            hidden.append(way)
    assert hidden == []


def test_the_order_of_models_is_compared_and_does_not_confuse_matrices(documents):
    content = documents["plain"]
    swapped = copy.deepcopy(content)
    order = [1, 0, *range(2, len(content["models"]))]
    swapped["models"] = [content["models"][i] for i in order]
    for key in ("log_e", "log_w", "margins"):
        swapped[key] = [[content[key][a][b] for b in order] for a in order]
    for key in ("log_w",):
        swapped["history"][key] = [[[look[a][b] for b in order] for a in order] for look in content["history"][key]]
    assert [each.place for each in compare(swapped, content).found] == ["the order of models"]


def test_rounding_is_no_difference(documents):
    content = documents["plain"]
    ways = [(way, value) for way, value in leaves(content) if isinstance(value, float)]
    rounded = content
    for way, value in ways:
        rounded = changed(rounded, way, value * (1.0 + 1e-12))
    assert rounded != content
    assert compare(rounded, content).count == 0


def test_very_many_differences_are_counted():
    size = 40
    names = [{"name": f"m{i}"} for i in range(size)]
    base = {"design": {"score_range": [0, 1]}, "models": names, "log_e": [[0.0] * size] * size}
    found = compare(base | {"log_e": [[1.0] * size] * size}, base)
    assert (found.count, len(found.found)) == (size**2, MOST_LISTED)
    assert found.found[1].place == "log_e['m0' over 'm1']"
    assert (found.found[1].stated, found.found[1].computed) == (1.0, 0.0)


def test_tolerance_follows_the_scale_of_the_scores():
    def content(mean: float) -> dict:
        return {"design": {"score_range": [0.0, 1e-6]}, "models": [{"name": "a", "mean": mean}]}

    assert compare(content(4e-7), content(4e-7 + 1e-17)).count == 0
    assert compare(content(4e-7), content(4.1e-7)).count == 1


def test_names_that_look_alike_on_a_terminal_are_told_apart():
    long = "x" * 100

    def content(*names: str) -> dict:
        return {"design": {"score_range": [0, 1]}, "models": [{"name": name, "mean": 0.5} for name in names]}

    for one, other in (("a\x1b", "a\\x1b"), (f"{long}1{long}", f"{long}2{long}")):
        assert compare(content(one, "b"), content(other, "b")).count == 2
