"""Archives forged with care: any content, with all hashes, counts and checksums made right again."""

from __future__ import annotations

import base64
import copy
import io
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bbedge.board import Board, BoardDesign
from bbedge.core.arrays import write_archive
from bbedge.core.scores import Scores
from bbedge.ledger.archive import export_lines
from bbedge.ledger.chain import LedgerEvent, digest
from bbedge.records.codec import FILE_VERSION, canonical
from bbedge.records.design import Headline, Views
from unit.board import first_runs
from unit.board.boards import ITEMS, make, runs

MORE = ("r1", "r2")


def event_after(previous: LedgerEvent | None, kind: str, at: str, content: dict[str, Any]) -> LedgerEvent:
    """An event that says anything at all, with a right hash."""
    return LedgerEvent.after(previous, kind, at, canonical({"version": FILE_VERSION, **content}))


@dataclass
class Forged:
    """The parsed content of an archive, to be changed at will."""

    rows: list[dict[str, Any]]
    """The events: kind, at, content, vectors."""
    cache: dict[str, str]
    """Saved evidence in base64, by claim."""
    what: str = ""
    """What was changed."""

    def lines(self) -> list[str]:
        """The archive, with the chain of hashes and the head made right."""
        rows = []
        last = None
        for row in self.rows:
            last = event_after(last, row["kind"], row["at"], row["content"])
            rows.append(
                {
                    "seq": last.seq,
                    "kind": last.kind,
                    "at": last.at,
                    "payload": last.payload,
                    "previous": last.previous,
                    "hash": last.hash,
                    "vectors": row["vectors"],
                }
            )
        head = {"kind": "bbedge-board", "version": FILE_VERSION, "events": len(rows)}
        head["head"] = last.hash if last else "0" * 64
        return [json.dumps(row, separators=(",", ":")) + "\n" for row in (head, *rows, {"cache": self.cache})]

    def copy(self) -> Forged:
        """A copy that shares nothing."""
        return Forged(rows=copy.deepcopy(self.rows), cache=dict(self.cache))


def parsed(board: Board) -> Forged:
    """The archive of a board."""
    lines = [json.loads(line) for line in export_lines(board.store)]
    rows = [
        {"kind": row["kind"], "at": row["at"], "content": json.loads(row["payload"]), "vectors": row["vectors"]}
        for row in lines[1:-1]
    ]
    return Forged(rows=rows, cache=lines[-1]["cache"])


def whole_life(folder) -> Board:
    """Epochs, stages, a retired model, notes."""
    rng = np.random.default_rng(1)
    board = make(folder, alpha=0.3)
    board.add(runs(rng, "abc", 5))
    board.note("protocol", "temperature 0.7", version=3)
    board.add_model("d", runs(rng, "d", 5))
    board.retire("b")
    board.withdraw("b", "its authors asked for it")
    board.state_trust("d", "re-run", by="the maintainers")
    board.add(runs(rng, "acd"))
    board.add_items(MORE)
    board.add(runs(rng, "acd", 2, (*ITEMS, *MORE)))
    return board


def after_a_pilot(folder) -> Board:
    """A Top-k family."""
    rng = np.random.default_rng(2)
    board = make(folder, alpha=0.3, family="pilot-top-k", k=1, pilot=2, pairing="first", first=2)
    board.add(runs(rng, "abc", 6))
    board.add_model("d", runs(rng, "d", 2))
    board.add(runs(rng, "abcd"))
    board.retire("c")
    return board


def with_views_and_gaps(folder) -> Board:
    """Categories, one of them new in the second epoch, missing scores, and announced runs that did not all come."""
    rng = np.random.default_rng(3)
    design = BoardDesign(
        alpha=0.3, incomplete="worst-case", headline=Headline(macro="topic"), views=Views(column="topic")
    )
    topics = {"topic": ("x", "x", "y", "y", "y", "y")}
    board = Board.create(folder / "board.db", design, models="abc", items=ITEMS, columns=topics)

    def gapped(models, n=1, items=ITEMS):
        made = runs(rng, models, n, items)
        return replace(made, values=np.where(rng.random(made.values.shape) < 0.05, np.nan, made.values))

    board.add(gapped("abc", 5))
    board.add_model("d", gapped("d", 5))
    board.announce("e", 5)
    board.retire("b")
    board.add(gapped("acd"))
    board.close_announcement("e")
    board.add_model("e", gapped("e", 4))
    board.add_items(MORE, columns={"topic": ("y", "z")})
    board.add(gapped("acde", 2, (*ITEMS, *MORE)))
    return board


def of_both_targets(folder) -> Board:
    """Claims about new items that go on in three epochs, and models that joined in each of them."""
    rng = np.random.default_rng(4)
    board = make(folder, alpha=0.6, target="both", looks=(1, 2, 4))
    board.add(runs(rng, "abc", 3))
    board.add_model("d", runs(rng, "d", 3))
    board.add_items(MORE)
    board.retire("b")
    every = (*ITEMS, *MORE)
    board.add(runs(rng, "acd", 2, every))
    board.add_model("e", runs(rng, "e", 5, every))
    board.add_items(("s1", "s2", "s3"))
    board.add(runs(rng, "acde", 2, (*every, "s1", "s2", "s3")))
    return board


def in_parts_with_attempts(folder) -> Board:
    """A pilot, a first run in parts, attempts at runs, identities of runs, and runs that repeat each other."""
    board = first_runs.make(folder / "board.db", family="pilot-top-k", k=2, pilot=1, copies="allow")
    board.begin_attempt(1, 1, 5, "0" * 64)
    board.end_attempt(1, 1, "abandoned", reason="journal-missing")
    board.begin_attempt(1, 2, 6, "0" * 64)
    first_runs.complete(board, first_runs.drawn(1))
    board.end_attempt(1, 2, "finished")
    first = first_runs.drawn(2)
    first_runs.add_checkpoint(board, first)
    board.retire("d")
    first_runs.add_checkpoint(board, first)
    first_runs.complete(board, first)
    again = first_runs.some(first_runs.drawn(3), ("a", "b", "c"), first_runs.ITEMS)
    for name in ("x", "y"):
        board.add(replace(again, runs=((f"run {name}",),)))
    single = first_runs.drawn(4)
    single["b"] = first_runs.drawn(3)["b"]
    board.add(first_runs.some(single, ("a", "b", "c"), first_runs.ITEMS))
    newcomer = first_runs.drawn(5, ("e",))["e"]
    values = [[newcomer], [first_runs.drawn(6, ("e",))["e"]], [newcomer], [first_runs.drawn(7, ("e",))["e"]]]
    board.add_model("e", Scores.of(values, models=("e",), items=first_runs.ITEMS))
    return board


HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63, -(2**63) - 1, 10**400, 0.5, 1.5, -0.0, 1e-320, 1.7e308, 0.05,
    "", "0", "1", "a", "b", "weak", "\0", "\ud800", "é" * 2000, "a" * 300, "../x", [], {}, [[]], {"a": 1}, ["a", "a"],
    [None], [0.1, 0.2], {"0": 1}, {"0": ""}, {"a": "0" * 64},
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything in a JSON value."""
    found = [path] if path else []
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        found += places(value[key], (*path, key))
    return found


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _tweaked(value: Any, rng: np.random.Generator) -> Any:
    """A value of the same type, near the old one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1, 2]))
    if isinstance(value, float):
        return value * float(rng.choice([0.5, 0.999, 1.001, 2.0]))
    if isinstance(value, str):
        spot = int(rng.integers(len(value) + 1))
        return value[:spot] + str(rng.choice(["a", "0", "b", "A", "="])) + value[spot + 1 :]
    if isinstance(value, list) and value:
        spot = int(rng.integers(len(value)))
        return [value[:spot] + value[spot + 1 :], value[::-1], [*value, value[spot]]][int(rng.integers(3))]
    if isinstance(value, dict) and value:
        keys = list(value)
        one, other = keys[int(rng.integers(len(keys)))], keys[int(rng.integers(len(keys)))]
        return value | {one: value[other], other: value[one]}
    return "other"


def forge_content(forged: Forged, rng: np.random.Generator) -> None:
    """One to three changes of the content of events: any type, any value, missing and additional keys."""
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        number = int(rng.integers(len(forged.rows)))
        content = forged.rows[number]["content"]
        inside = places(content)
        if not inside:
            continue
        if rng.random() < 0.5:  # or the many entries of lists would be all that is ever changed
            inside = [path for path in inside if len(path) == 1]
        path = inside[int(rng.integers(len(inside)))]
        parent, key = at(content, path[:-1]), path[-1]
        how = str(rng.choice(["hostile", "hostile", "tweak", "tweak", "remove", "add", "move"]))
        forged.what += f"; event {number + 1} {how} {path}"
        if how == "hostile":
            parent[key] = HOSTILE[int(rng.integers(len(HOSTILE)))]
        elif how == "tweak":
            parent[key] = _tweaked(parent[key], rng)
        elif how == "remove":
            del parent[key]
        elif how == "add" and isinstance(parent, dict):
            parent[str(rng.choice(["x", "epoch", "look", "stages", "candidate", "0", "9"]))] = HOSTILE[
                int(rng.integers(len(HOSTILE)))
            ]
        else:
            donor = forged.rows[int(rng.integers(len(forged.rows)))]["content"]
            donors = places(donor)
            if donors:
                parent[key] = copy.deepcopy(at(donor, donors[int(rng.integers(len(donors)))]))


def forge_events(forged: Forged, rng: np.random.Generator) -> None:
    """Events in another order, twice, left out, or called something else."""
    rows = forged.rows
    how = str(rng.choice(["swap", "repeat", "remove", "kind", "move vectors", "at"]))
    one, other = (int(rng.integers(len(rows))) for _ in range(2))
    forged.what = f"{how} {one + 1} {other + 1}"
    if how == "swap":
        rows[one], rows[other] = rows[other], rows[one]
    elif how == "repeat":
        rows.insert(other, copy.deepcopy(rows[one]))
    elif how == "remove":
        del rows[one]
    elif how == "kind":
        rows[one]["kind"] = str(
            rng.choice(["init", "pilot", "replicate", "add-model", "add-items", "retire", "note", "x"])
        )
    elif how == "move vectors":
        rows[one]["vectors"], rows[other]["vectors"] = rows[other]["vectors"], rows[one]["vectors"]
    else:
        rows[one]["at"] = str(rng.choice(["", "yesterday", "2020-01-01T00:00:00+00:00", "\0", "\ud800", "x" * 300]))


def forge_vectors(forged: Forged, rng: np.random.Generator) -> None:
    """Scores of another place, of another size, or none."""
    rows = [row for row in forged.rows if row["vectors"]]
    row = rows[int(rng.integers(len(rows)))]
    spot = int(rng.integers(len(row["vectors"])))
    part = int(rng.integers(5))
    forged.what = f"vector {spot} of a {row['kind']}: part {part}"
    if part == 4:
        row["vectors"] = [
            row["vectors"][:spot],
            [*row["vectors"], row["vectors"][spot]],
            HOSTILE[int(rng.integers(len(HOSTILE)))],
        ][int(rng.integers(3))]
    elif rng.random() < 0.5:
        row["vectors"][spot][part] = HOSTILE[int(rng.integers(len(HOSTILE)))]
    else:
        row["vectors"][spot][part] = _tweaked(row["vectors"][spot][part], rng)


def forge_cache(forged: Forged, rng: np.random.Generator) -> None:
    """Saved evidence that was edited, with its checksum in the ledger made right."""
    claim = str(rng.choice(sorted(forged.cache)))
    state = base64.b64decode(forged.cache[claim])
    how = str(rng.choice(["array", "array", "array", "array", "bytes", "other claim", "left out", "unknown claim"]))
    forged.what = f"cache {claim} {how}"
    if how == "array":
        state, name = _edited(state, rng)
        forged.what += f" {name}"
    elif how == "bytes":
        spot = int(rng.integers(len(state)))
        state = state[:spot] + bytes([state[spot] ^ int(rng.integers(1, 256))]) + state[spot + 1 :]
    elif how == "other claim":
        state = base64.b64decode(forged.cache[str(rng.choice(sorted(forged.cache)))])
    elif how == "left out":
        del forged.cache[claim]
        return
    else:
        claim = str(rng.choice(["9", "-1", "x", "00", "99999999999"]))
    forged.cache[claim] = base64.b64encode(state).decode("ascii")
    for row in reversed(forged.rows):
        if claim in row["content"].get("cache", {}):
            row["content"]["cache"][claim] = digest(state)
            return


def _edited(state: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """The same arrays, one entry of one of them changed; a state inside a state is edited in the same way."""
    with np.load(io.BytesIO(state), allow_pickle=False) as loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    name = str(rng.choice(sorted(arrays)))
    array = arrays[name]
    if name == "evidence" and rng.random() < 0.9:
        inner, label = _edited(array.tobytes(), rng)
        arrays[name], name = np.frombuffer(inner, dtype=np.uint8), f"{name}/{label}"
    elif array.size and rng.random() < 0.8:
        array = array.copy()
        spot = np.unravel_index(int(rng.integers(array.size)), array.shape)
        if array.dtype.kind == "b":
            array[spot] = not array[spot]
        elif array.dtype.kind in "iuf":
            change = [1, 5, 100][int(rng.integers(3))]
            array[spot] = (np.nan_to_num(array[spot]).astype(np.int64) + change).astype(array.dtype)
        arrays[name] = array
    else:
        other = array.astype(np.float32) if array.dtype.kind in "iufb" else array[None]
        arrays[name] = [array[:0], np.zeros(3), other][int(rng.integers(3))]
    buffer = io.BytesIO()
    write_archive(buffer, arrays.items())
    return buffer.getvalue(), name


def forge_meaning(forged: Forged, rng: np.random.Generator) -> None:
    """One thing that an event states becomes another one that an event could state."""
    while True:
        number = int(rng.integers(len(forged.rows)))
        row = forged.rows[number]
        possible = [change for change, keys in _CHANGES.items() if keys <= row["content"].keys()]
        if not possible:
            continue
        change = possible[int(rng.integers(len(possible)))]
        before = copy.deepcopy(row)
        change(row["content"], row, forged, rng)
        if row != before:
            forged.what = f"event {number + 1} {row['kind']} {change.__name__}"
            return


def _number(content, row, forged, rng):
    key = str(rng.choice([k for k in ("replicate", "pilot", "checkpoint", "attempt", "epoch") if k in content]))
    content[key] = max(1, content[key] + int(rng.choice([-1, 1])))


def _level(content, row, forged, rng):
    for stage in content["stages"]:
        stage["level"] *= float(rng.choice([0.5, 0.999999, 1.000001, 2.0]))


def _claim(content, row, forged, rng):
    for stage in content["stages"]:
        stage["claim"] += 1


def _continued(content, row, forged, rng):
    """A claim begins again, or goes on from another one."""
    for stage in content["stages"]:
        if "continues" in stage and rng.random() < 0.5:
            del stage["continues"]
        else:
            stage["continues"] = 0


def _target(content, row, forged, rng):
    for stage in content["stages"]:
        stage["target"] = "new-items" if stage.get("target") == "benchmark" else "benchmark"


def _edge_left_out(content, row, forged, rng):
    content["certified"] = content["certified"][1:]


def _edge_added(content, row, forged, rng):
    names = sorted(content.get("vectors") or {"a": 0, "b": 0}) if isinstance(content["vectors"], dict) else ["a", "b"]
    winner, loser = rng.choice(names, 2, replace=False)
    edge = {"claim": 0, "log_e": 12.5, "loser": str(loser), "replicate": 1, "winner": str(winner)}
    content["certified"] = [*content["certified"], edge]


def _edge_turned(content, row, forged, rng):
    for edge in content["certified"]:
        edge["winner"], edge["loser"] = edge["loser"], edge["winner"]


def _evidence(content, row, forged, rng):
    for edge in content["certified"]:
        edge["log_e"] += float(rng.choice([1e-5, 0.1, -0.1]))


def _bit(content, row, forged, rng):
    """A current edge more or less."""
    claim = str(rng.choice(sorted(content["current"])))
    bits = bytearray(base64.b64decode(content["current"][claim]))
    bits[int(rng.integers(len(bits)))] ^= 1 << int(rng.integers(8))
    content["current"][claim] = base64.b64encode(bytes(bits)).decode("ascii")


def _counts(content, row, forged, rng):
    content["look"][str(rng.choice(["edges", "resolved_pairs"]))] += 1


def _gaps(content, row, forged, rng):
    if isinstance(content["gaps"], dict):
        model = str(rng.choice(sorted(content["vectors"])))
        content["gaps"][model] = content["gaps"].get(model, 0) + 1
    elif content["gaps"]:
        content["gaps"][0] += 1


def _candidate(content, row, forged, rng):
    content["candidate"] = [["a", "d"], ["a"], ["b", "c"], None][int(rng.integers(4))]


def _copies_emptied(content, row, forged, rng):
    content["copies"] = []


def _copies_invented(content, row, forged, rng):
    content["copies"] = [*content["copies"], {"models": ["a"], "of": 1, "whole": False}]


def _copies_refused(content, row, forged, rng):
    """The rule of the event says that nothing is repeated."""
    if content["copies"]:
        content["copy_rule"], content["copies"] = "refuse", []


def _whole_runs(content, row, forged, rng):
    content["whole_runs"] = not content["whole_runs"]


def _order(content, row, forged, rng):
    if content["order_seed"] is not None:
        content["order_seed"] += 1


def _checksum_more(content, row, forged, rng):
    """One run of an added model more than there are replicates, with its scores."""
    if isinstance(content["vectors"], list) and content["vectors"]:
        epoch, place, model, data = row["vectors"][-1]
        row["vectors"].append([epoch, place + 1, model, data])
        content["vectors"].append(content["vectors"][-1])
        content["gaps"].append(content["gaps"][-1])


def _checksum_less(content, row, forged, rng):
    if isinstance(content["vectors"], list):
        content["vectors"], content["gaps"] = content["vectors"][:-1], content["gaps"][:-1]
        row["vectors"] = row["vectors"][:-1]


def _scores_of_another(content, row, forged, rng):
    """The scores of one model become those of another one in the same event, with their checksum."""
    if len(row["vectors"]) > 1 and isinstance(content["vectors"], dict):
        one, other = rng.choice(len(row["vectors"]), 2, replace=False)
        row["vectors"][one][3] = row["vectors"][other][3]
        content["vectors"][row["vectors"][one][2]] = content["vectors"][row["vectors"][other][2]]


def _scores_of_before(content, row, forged, rng):
    """All scores become those of another event of the same kind, with their checksums: one run that counts twice."""
    donors = [
        each
        for each in forged.rows
        if each["kind"] == row["kind"]
        and each["content"]["vectors"] != content["vectors"]
        and [vector[2] for vector in each["vectors"]] == [vector[2] for vector in row["vectors"]]
    ]
    if donors and row["vectors"]:
        donor = donors[int(rng.integers(len(donors)))]
        content["vectors"], content["gaps"] = donor["content"]["vectors"], donor["content"]["gaps"]
        for mine, theirs in zip(row["vectors"], donor["vectors"], strict=True):
            mine[3] = theirs[3]


def _run_twice(content, row, forged, rng):
    """The identity of a run that another event has."""
    others = [each["content"] for each in forged.rows if each is not row and each["kind"] != "announce"]
    runs = [run for other in others for run in other.get("runs", []) if run]
    if runs and row["kind"] != "add-model":
        content["runs"] = [str(runs[0] if isinstance(runs[0], str) else runs[0][0])]


def _outcome(content, row, forged, rng):
    """An attempt that was given up becomes one that finished; the scores cannot contradict the opposite."""
    content["outcome"], content["reason"] = "finished", None


def _registration(content, row, forged, rng):
    content["design"]["alpha"] = 0.5


_CHANGES = {
    _number: {"epoch"},
    _level: {"stages"},
    _claim: {"stages"},
    _continued: {"stages"},
    _target: {"stages"},
    _edge_left_out: {"certified"},
    _edge_added: {"certified"},
    _edge_turned: {"certified"},
    _evidence: {"certified"},
    _bit: {"current"},
    _counts: {"look"},
    _gaps: {"gaps"},
    _candidate: {"candidate"},
    _copies_emptied: {"copies"},
    _copies_invented: {"copies"},
    _copies_refused: {"copies"},
    _whole_runs: {"whole_runs"},
    _order: {"order_seed"},
    _checksum_more: {"vectors"},
    _checksum_less: {"vectors"},
    _scores_of_another: {"vectors"},
    _scores_of_before: {"vectors"},
    _run_twice: {"runs"},
    _outcome: {"outcome"},
    _registration: {"design"},
}
"""What may be changed, by the keys that an event must have."""
