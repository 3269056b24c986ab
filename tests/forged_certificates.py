"""Forged certificates: what somebody could write who knows the format, with digests that match.

A forgery changes facts of an honest certificate, alone or several, may then write everything that follows from them
again, as the program itself would, and ends with a new digest. ``facts`` is what a certificate states, in a form of its
own that shares nothing with the comparison under test.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bbedge.certificate.document import read_document, to_json
from bbedge.certificate.parts import Parts
from bbedge.certificate.provenance import digest
from bbedge.errors import FormatError

Content = dict[str, Any]
Random = np.random.Generator


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """An honest certificate and what verifies it."""

    content: Content
    given: Any
    suite: Any = None
    unknowable: tuple[tuple[str | int, ...], ...] = ()
    """Places that what is given does not yield; verification reports them as not checked."""
    noted: tuple[str, ...] = field(default=("beside",))
    """Kinds of notes that what is given does not yield."""


def sealed(content: Content) -> Content:
    """The same with the digest of what it says now."""
    if isinstance(content.get("provenance"), dict):
        content["provenance"]["digest"] = digest(content)
    return content


# Facts ---------------------------------------------------------------------------------------------------------------


def facts(case: Case, content: Content) -> Content:
    """What a certificate states, without what it may state in other words and without what cannot be known."""
    content = copy.deepcopy(content)
    provenance = content.get("provenance", {})
    for key in ("digest", "time", "sources"):  # sources are known by their bytes, which are compared apart
        provenance.pop(key, None)
    for place in case.unknowable:
        holder = content
        for key in place[:-1]:
            holder = holder[key] if isinstance(holder, list) else holder.get(key, {})
        holder.pop(place[-1], None)
    content["notes"] = sorted(
        json.dumps([note["kind"], note.get("subject", []), note["text"]])
        for note in content["notes"]
        if note["kind"] not in case.noted
    )
    for part in (content, *content.get("views", ())):
        for key in ("edges", "current_edges", "unresolved", "outlook", "contradictions"):
            if part.get(key):
                part[key] = sorted((_sorted_names(key, each) for each in part[key]), key=_name)
        for size, names in (part.get("top_k") or {}).items():
            part["top_k"][size] = names and sorted(names)
        for each in part["outlook"]:
            each.pop("more_replicates")  # a forecast, rounded to one digit, and no claim
    return content


def _sorted_names(key: str, entry: Any) -> Any:
    return sorted(entry) if key in ("unresolved", "contradictions") else entry


def _name(entry: Any) -> str:
    if isinstance(entry, dict):
        return json.dumps([entry.get(key) for key in ("winner", "loser", "ahead", "behind")])
    return json.dumps(entry)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, numbers but for rounding: evidence of single looks is kept with four decimals."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, str | None):
        return one == other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=3e-6, abs_tol=3e-4)
    return bool(one == other)


# Forgeries -----------------------------------------------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in plain values."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from places(each, (*path, at))


def _pick(rng: Random, options: list[Any]) -> Any:
    return options[int(rng.integers(len(options)))]


def _holder(content: Content, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        content = content[key]
    return content


def _part(rng: Random, content: Content) -> Content:
    """The headline or another view."""
    return _pick(rng, [content, *content.get("views", ())])


def number(rng: Random, content: Content) -> None:
    """Another number anywhere: evidence, a margin, a mean, an end of an interval, a count, a level."""
    numbers = [
        path
        for path in places(content)
        if isinstance(_holder(content, path)[path[-1]], int | float)
        and not isinstance(_holder(content, path)[path[-1]], bool)
    ]
    # Matrices have most of the numbers: every key has its turn.
    key = _pick(rng, sorted({str(path[0]) for path in numbers}))
    path = _pick(rng, [path for path in numbers if path[0] == key])
    holder = _holder(content, path)
    change = _pick(rng, [1, -1, 0.05, -0.05, 7])
    holder[path[-1]] += change if isinstance(holder[path[-1]], float) else round(change) or 1


def removed(rng: Random, content: Content) -> None:
    """Something left out."""
    path = _pick(rng, [path for path in places(content) if len(path) < 4])
    del _holder(content, path)[path[-1]]


def replaced(rng: Random, content: Content) -> None:
    """Something of another type, or from another place."""
    every = list(places(content))
    path, other = _pick(rng, every), _pick(rng, every)
    value = _pick(
        rng, [None, True, "", "x", [], {}, 0, -1, 10**30, 1e300, copy.deepcopy(_holder(content, other)[other[-1]])]
    )
    _holder(content, path)[path[-1]] = value


def swapped(rng: Random, content: Content) -> None:
    """Two models that have changed their names everywhere: nothing in the certificate contradicts it."""
    one, other = rng.choice([model["name"] for model in content["models"]], 2, replace=False).tolist()
    text = json.dumps(content)
    text = text.replace(json.dumps(one), '"\\u0000"').replace(json.dumps(other), json.dumps(one))
    content.update(json.loads(text.replace('"\\u0000"', json.dumps(other))))


def renamed(rng: Random, content: Content) -> None:
    """A model under another name everywhere."""
    one = _pick(rng, content["models"])["name"]
    content.update(json.loads(json.dumps(content).replace(json.dumps(one), '"the best model"')))


def level(rng: Random, content: Content) -> None:
    """A smaller error level, or another rule."""
    design = content["design"]
    key = _pick(rng, ["alpha", "tau", "margin_share", "method", "evidence", "holm", "copies", "planned", "directions"])
    design[key] = {
        "alpha": design["alpha"] / 10, "tau": design["tau"] + 0.01, "margin_share": design["margin_share"] / 2,
        "method": "bb-edge" if design["method"] == "bb-edge-x" else "bb-edge-x", "evidence": "hoeffding",
        "holm": "direct", "copies": "allow" if design["copies"] == "refuse" else "refuse", "planned": 3,
        "directions": design["directions"] + 1,
    }[key]  # fmt: skip


def certified(rng: Random, content: Content) -> None:
    """An edge that was not certified, with evidence to go with it."""
    part = _part(rng, content)
    if part["edges"] is None or not content["replicates"]:
        return
    names = [model["name"] for model in part["models"]]
    there = {(edge["winner"], edge["loser"]) for edge in part["edges"]}
    open_ = [(a, b) for a in names for b in names if a != b and (a, b) not in there and (b, a) not in there]
    if not open_:
        return
    winner, loser = _pick(rng, open_)
    a, b = names.index(winner), names.index(loser)
    for key, value in (("log_e", 60.0), ("log_w", 60.0), ("margins", 0.001)):
        if part.get(key):
            part[key][a][b] = value
    part["margins"][b][a] = -0.5
    edge = {"winner": winner, "loser": loser, "log_e": 60.0, "margin": 0.001, "path_margin": 0.0}
    part["edges"].append(edge | {"first_certified": content["replicates"]})
    if part.get("current_edges") is not None:
        part["current_edges"].append([winner, loser])
    if part["history"]:
        for look in part["history"].get("log_e", part["history"].get("log_w"))[-1:]:
            look[a][b] = 60.0


def uncertified(rng: Random, content: Content) -> None:
    """An edge that is left out."""
    part = _part(rng, content)
    if part["edges"]:
        edge = part["edges"].pop(int(rng.integers(len(part["edges"]))))
        pair = [edge["winner"], edge["loser"]]
        if pair in (part.get("current_edges") or ()):
            part["current_edges"].remove(pair)
        names = [model["name"] for model in part["models"]]
        for key in ("log_e", "log_w"):
            if part.get(key):
                part[key][names.index(pair[0])][names.index(pair[1])] = -1.0


def earlier(rng: Random, content: Content) -> None:
    """A comparison that is said to have been certified before it was."""
    part = _part(rng, content)
    late = [edge for edge in part["edges"] or () if edge["first_certified"] > 1]
    if late:
        _pick(rng, late)["first_certified"] = 1


def interval(rng: Random, content: Content) -> None:
    """A narrower interval: of a difference, or of a mean."""
    part = _part(rng, content)
    if rng.random() < 0.5 and any("mean_interval" in model for model in part["models"]):
        model = _pick(rng, part["models"])
        low, high = model["mean_interval"]
        model["mean_interval"] = [low + (high - low) / 10, high - (high - low) / 10]
    elif part["margins"]:
        a, b = rng.choice(len(part["margins"]), 2, replace=False).tolist()
        if part["margins"][a][b] is not None:
            part["margins"][a][b] += 0.01
            part["margins"][b][a] = None if part["margins"][b][a] is None else part["margins"][b][a] - 0.02


def note(rng: Random, content: Content) -> None:
    """A note that was added, removed, changed, or given another kind or subject."""
    notes, audited = content["notes"], "Audited by the Institute."
    kind = _pick(rng, ["beside", "remark", "files", "log", "copies", "retired", "position", "seed"])
    how = _pick(rng, ["add", "add", "drop", "text", "kind", "subject", "slash", "empty"])
    if how == "add" or not notes:
        subject = _pick(rng, [[], [content["models"][0]["name"]], [audited]])
        notes.insert(int(rng.integers(len(notes) + 1)), {"kind": kind, "subject": subject, "text": audited})
    elif how == "drop":
        notes.pop(int(rng.integers(len(notes))))
    elif how == "empty":
        notes.clear()
    else:
        one = _pick(rng, notes)
        one.update({
            "text": {"text": audited}, "kind": {"kind": kind}, "subject": {"subject": [audited]},
            "slash": {"text": f"Audited_by_the_Institute./{one['text']}"},
        }[how])  # fmt: skip


def version(rng: Random, content: Content) -> None:
    """Another version of the program, which may have written other notes."""
    content["bbedge"] = _pick(rng, ["0.0.9", "99.0", "", "0.1.0 (audited)"])
    if "provenance" in content:
        content["provenance"]["version"] = content["bbedge"]
    if rng.random() < 0.5:
        content["notes"] = []


def identity(rng: Random, content: Content) -> None:
    """Other hashes, files or options of reading."""
    provenance, other = content.get("provenance"), "0" * 64
    what = _pick(rng, ["hash", "scores", "head", "source", "bytes", "reading", "none", "unverified", "registration"])
    if what == "hash":
        content["design"]["hash"] = other
        if provenance:
            provenance["design"] = other
    elif what == "registration" and "board" in content:
        for holder in (content["design"], content["board"]):
            holder["hash" if holder is content["design"] else "design_hash"] = other
        provenance["design"] = other
    elif what == "head" and "board" in content:
        content["board"]["head"] = provenance["head"] = other
    elif what == "none":
        content.pop("provenance", None)
    elif provenance and what == "scores" and "scores" in provenance:
        provenance["scores"] = other
    elif provenance and what in ("source", "bytes") and provenance.get("sources"):
        source = _pick(rng, provenance["sources"])
        source.update({"sha256": other} if what == "source" else {"bytes": source["bytes"] + 1})
    elif provenance and what == "reading":
        names = [model["name"] for model in content["models"]]
        provenance["reading"] = {"model_name": [f"{names[0]}={names[1]}", f"{names[1]}={names[0]}"]}
    elif provenance and what == "unverified":
        provenance["unverified_notes"] = [0]
        content["notes"].insert(0, {"kind": "remark", "subject": [], "text": "Audited by the Institute."})


def fewer(rng: Random, content: Content) -> None:
    """Other counts: of runs, items, blocks, missing scores, attempts."""
    if rng.random() < 0.5 and content["looks"]:
        content["looks"].pop()
        content["replicates"] -= 1
    else:
        content["items"] += 1
        content["design"]["blocks"]["sizes"].append(1)
        content["design"]["blocks"]["count"] += 1


def board(rng: Random, content: Content) -> None:
    """Another life of a board: its budget, its models, its claims."""
    if "board" not in content:
        return
    record = content["board"]
    what = _pick(rng, ["spent", "next", "level", "retired", "epochs", "events", "alpha", "claims"])
    if what == "spent":
        record["alpha_spent"] /= 2
    elif what == "next":
        record["next_level"] *= 2
    elif what == "level":
        record["claims"][0]["level"] /= 2
        record["alpha_spent"] = sum(claim["level"] for claim in record["claims"])
    elif what == "retired":
        record["retired"], record["active"] = record["active"][:1], record["active"][1:] + record["retired"]
    elif what in ("epochs", "events"):
        record[what] += 1
    elif what == "alpha":
        record["design"]["alpha"] /= 2
    else:
        record["claims"].append(dict(record["claims"][0], claim=len(record["claims"])))


def target(rng: Random, content: Content) -> None:
    """Another target, another schedule of looks, or an answer about new items that is left out."""
    design, views = content["design"], content.get("views", [])
    what = _pick(rng, ["target", "looks", "weights", "of_runs", "equal", "drop", "claim"])
    if what == "target":
        design["target"] = _pick(rng, [each for each in ("new-items", "both") if each != design.get("target")])
    elif what == "looks":
        design["looks"] = [*design.get("looks", [1])[:-1], content["replicates"] + 1]
    elif what == "weights" and design.get("look_weights"):
        design["look_weights"].reverse()
    elif what == "of_runs":
        design["of_runs"] = "any:2" if design.get("of_runs") == "all:2" else "all:2"
    elif what == "equal":
        design["equal_within"] = design.get("equal_within", 0.02) / 2
    elif what == "drop" and views:
        views.pop(int(rng.integers(len(views))))
    elif what == "claim" and views:
        view = _pick(rng, views)
        view.pop("target") if "target" in view else view.update(target="new-items")


FORGERIES: tuple[Callable[[Random, Content], None], ...] = (
    number, removed, replaced, swapped, renamed, level, certified, uncertified, earlier, interval, note, version,
    identity, fewer, board, target,
)  # fmt: skip


def forged(case: Case, rng: Random) -> tuple[str, Content]:
    """A forgery of a certificate, and how it was made."""
    content, made = copy.deepcopy(case.content), []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        change = _pick(rng, list(FORGERIES))
        try:
            change(rng, content)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            continue  # what was changed before has left nothing to change
        made.append(change.__name__)
    if rng.random() < 0.6:
        made.append("written again")
        content = written_again(content)
    return " + ".join(made), sealed(content)


def written_again(content: Content) -> Content:
    """The same with everything that follows from the rest of it, as the program itself would write it."""
    try:
        document = read_document(content, source="forged")
        parts = Parts.of(document, source="forged")
        thresholds = parts.log_thresholds()[0]
        again = json.loads(to_json(parts.again(thresholds, exact=parts.is_complete)))
    except (FormatError, ValueError, KeyError, IndexError, TypeError, OverflowError):
        return content
    return content | again
