"""Ledgers of gates for tests: made, taken apart, forged with hashes that fit, and judged in another way."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bbedge.core.checkpoints import Checkpoints
from bbedge.core.scores import Scores
from bbedge.errors import BoardError
from bbedge.gate import Claim, Policy
from bbedge.gate.gate import FirstRun, gate_after_runs
from bbedge.gate.ledger import record, record_look, reserve
from bbedge.ledger.chain import LedgerEvent, checksum, digest, pack_scores, unpack_scores
from bbedge.ledger.store import Store, Vector
from bbedge.records.codec import canonical, plain
from bbedge.records.events import checkpoint_place

CLAIMS = (Claim(kind="not_worse_by", amount=0.1), Claim(kind="better_by", amount=0.3, tier="info"))
SHARED = Policy(candidates=("new",), baseline="old", claims=CLAIMS, spending="ledger")
STUDY = "5" * 64
CHECKPOINTS = Checkpoints(order_seed=5, fractions=(0.1, 0.4))


def made(seed: int, runs: int = 3, models: tuple[str, ...] = ("new", "old"), items: int = 60, **about: Any) -> Scores:
    """Runs of systems that are alike; further runs of one seed begin with the same ones."""
    rng = np.random.default_rng(seed)
    chances = np.where(np.arange(items) < 2 * items // 3, 0.95, 0.05)
    values = (rng.random((8, len(models), items)) < chances).astype(float)[:runs]
    scores = Scores.of(values, models=models, items=[f"q{i}" for i in range(items)])
    return changed(scores, **about)


def changed(scores: Scores, **about: Any) -> Scores:
    """The same scores, about something else."""
    return replace(scores, **about)


@dataclass
class Taken:
    """A ledger taken apart."""

    events: list[tuple[str, str, dict[str, Any]]]
    """Kind, time and content."""
    vectors: list[tuple[int, int, str, bytes, int]]
    """Use, place, system, scores and the number of the event."""

    @classmethod
    def apart(cls, path: Path | str) -> Taken:
        with Store(path, what="ledger").read() as session:
            events = [(event.kind, event.at, json.loads(event.payload)) for event in session.events()]
            vectors = [
                (use, place, model, session.vectors(use, place)[model], seq)
                for use, place, model, seq in session.vector_places()
            ]
        return cls(events=events, vectors=vectors)

    def chained(self) -> list[LedgerEvent]:
        """The events with hashes that fit."""
        last, found = None, []
        for kind, at, content in self.events:
            last = LedgerEvent.after(last, kind, at, canonical(content))
            found.append(last)
        return found

    def write(self, path: Path | str) -> None:
        """A new ledger with this content."""
        store = Store(path, create=True)
        with store.write() as session:
            for event in self.chained():
                session.append(event)
            for use, place, model, data, seq in self.vectors:
                session.put_vectors(seq, [Vector(epoch=use, replicate=place, model=model, data=data)])
        store.close()

    def session(self) -> Rows:
        """The same as the rows of a store, without a file."""
        return Rows(self.chained(), self.vectors)

    def copy(self) -> Taken:
        return Taken(events=copy.deepcopy(self.events), vectors=list(self.vectors))

    def of(self, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """The events of a kind, with their numbers."""
        for seq, (each, _, content) in enumerate(self.events, start=1):
            if each == kind:
                yield seq, content


@dataclass
class Rows:
    """What a session reads, from memory."""

    chained: list[LedgerEvent]
    stored: list[tuple[int, int, str, bytes, int]]
    by_place: dict[tuple[int, int], dict[str, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for use, place, model, data, _ in self.stored:
            self.by_place.setdefault((use, place), {})[model] = data

    def events(self) -> list[LedgerEvent]:
        return self.chained

    def head(self) -> str | None:
        return self.chained[-1].hash if self.chained else None

    def vectors(self, use: int, place: int) -> dict[str, bytes]:
        return self.by_place.get((use, place), {})

    def vector_places(self) -> list[tuple[int, int, str, int]]:
        return sorted((use, place, model, seq) for use, place, model, _, seq in self.stored)

    def bad_checksum(self) -> None:
        assert all(digest(data) for *_, data, _ in self.stored)


def file_uses(path: Path | str) -> None:
    """Three uses of files; the first has a second look."""
    record(path, SHARED, made(1, runs=2), label="one")
    record(path, SHARED, made(2, runs=2), label="two")
    record(path, SHARED, made(1, runs=3), label="one")
    record(path, SHARED, made(1, runs=1), label="three")


def study_uses(path: Path | str) -> None:
    """A study that was looked at inside its first run, one that runs, and files beside them."""
    for label, passed, runs in (("merge", 2, 2), ("again", 1, 0)):
        scores = made(7, runs=2, items=240)
        whole = FirstRun.of_complete(CHECKPOINTS, scores)
        none = changed(scores, values=scores.values[:0], replicates=())
        reserve(path, SHARED, none, label=label, study=STUDY, checkpoints=CHECKPOINTS)
        for number in range(1, passed + 1):
            seen = FirstRun(checkpoints=CHECKPOINTS, panels=dict(islice(whole.panels.items(), number)))
            record_look(path, SHARED, none, seen, label=label, study=STUDY)
        if runs:
            record(path, SHARED, scores, label=label, study=STUDY, first_run=whole)
    record(path, SHARED, made(3, runs=1), label="files")


def copied_uses(path: Path | str) -> None:
    """Runs that repeat each other, which the policy counts, and missing scores; views and a floor."""
    claims = (Claim(kind="better_by", amount=0.0, view="*"), Claim(kind="at_least", amount=0.5, tier="warn"))
    policy = Policy(
        candidates=("new",), baseline="old", claims=claims, views="topic", copies="allow", spending="ledger", shares=4
    )
    scores = made(4, runs=3)
    values = scores.values.copy()
    values[1] = values[0]
    values[2, 0, 5] = np.nan
    topics = {"topic": ("a",) * 30 + ("b",) * 30}
    record(path, policy, changed(scores, values=values, gaps="worst-case", columns=topics), label="one")
    record(path, policy, made(5, runs=1, columns=topics), label="two")


def new_item_uses(path: Path | str) -> None:
    """Claims about new items, looked at on a schedule: at a look, between looks, and with runs that are the same."""
    claims = (Claim(kind="equal_within", amount=0.2), Claim(kind="at_least", amount=0.2, tier="warn"))
    policy = SHARED.changed(claims=claims, target="new-items", looks=(2, 4), look_weights=(0.3, 0.7))
    record(path, policy, made(1, runs=3), label="between")
    record(path, policy, made(1, runs=4), label="between")
    repeated = made(2, runs=2)
    record(path, policy, changed(repeated, values=repeated.values[[0, 0]]), label="repeated")
    record(path, policy, made(3, runs=1), label="early")


def joined_uses(path: Path | str) -> None:
    """Scores that two runs make: two of them with a run left over, and none yet."""
    policy = SHARED.changed(of_runs="any:2")
    record(path, policy, made(1, runs=5), label="two")
    record(path, policy, made(2, runs=1), label="none")


BASES: dict[str, Callable[[Path | str], None]] = {
    "files": file_uses,
    "study": study_uses,
    "copies": copied_uses,
    "new items": new_item_uses,
    "joined": joined_uses,
}


# Forging: any value of any event, events as a whole, and scores; hashes always fit, and sometimes checksums do.

WORDS = ["PASS", "FAIL", "OPEN", "CONTRADICTION", "one", "two", "new", "old", "headline", "", "x\ny", "5" * 64]
NUMBERS = [0, 1, 2, 3, -1, 0.05, 0.5, 1.0, 1e300, 2**31, 10**30, True, None, "1"]


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of everything inside a value, also of lists and records."""
    if place:
        yield place
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*place, key))


def at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def forged(base: Taken, rng: np.random.Generator) -> tuple[str, Taken]:
    """Another ledger, and in words what was changed."""
    taken = base.copy()
    ways = [change_value] * 6 + [change_shape] * 2 + [change_events] * 2 + [change_scores] * 2 + [change_report] * 4
    words = [ways[rng.integers(len(ways))](taken, rng) for _ in range(rng.integers(1, 3))]
    return "; ".join(words), taken


def change_value(taken: Taken, rng: np.random.Generator) -> str:
    seq = int(rng.integers(len(taken.events)))
    kind, _, content = taken.events[seq]
    places = list(leaves(content))
    place = places[rng.integers(len(places))]
    holder, key = at(content, place[:-1]), place[-1]
    old = holder[key]
    if isinstance(old, float) and rng.random() < 0.6:
        new: Any = old + float(rng.choice([-0.2, -1e-6, 1e-6, 0.01, 0.3]))
    elif isinstance(old, str) and rng.random() < 0.7:
        new = WORDS[rng.integers(len(WORDS))] if rng.random() < 0.7 else old[::-1]
    elif isinstance(old, list | dict) and rng.random() < 0.5:
        new = type(old)()
    else:
        new = NUMBERS[rng.integers(len(NUMBERS))]
    holder[key] = new
    return f"event {seq + 1} ({kind}): {place} = {new!r} for {str(old)[:60]}"


def change_shape(taken: Taken, rng: np.random.Generator) -> str:
    seq = int(rng.integers(len(taken.events)))
    kind, at_, content = taken.events[seq]
    places = list(leaves(content))
    place = places[rng.integers(len(places))]
    holder, key = at(content, place[:-1]), place[-1]
    way = rng.integers(4)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, dict):
        holder[str(rng.choice(["note", "verdict", "9", "x"]))] = copy.deepcopy(holder[key])
    elif way == 2 and isinstance(holder, list):
        holder.insert(int(rng.integers(len(holder) + 1)), copy.deepcopy(holder[key]))
    else:
        times = ["yesterday", "1999-01-01T00:00:00+00:00", "2999-01-01T00:00:00+00:00", "<script>"]
        taken.events[seq] = (kind, str(rng.choice(times)), content)
        return f"event {seq + 1}: another time than {at_}"
    return f"event {seq + 1} ({kind}): shape at {place}"


def change_events(taken: Taken, rng: np.random.Generator) -> str:
    one, other = rng.integers(len(taken.events), size=2)
    way = rng.integers(4)
    if way == 0:
        del taken.events[one]
        return f"event {one + 1} removed"
    if way == 1:
        taken.events.insert(int(other), copy.deepcopy(taken.events[one]))
        return f"event {one + 1} again before {other + 1}"
    if way == 2:
        taken.events[one], taken.events[other] = taken.events[other], taken.events[one]
        return f"events {one + 1} and {other + 1} change places"
    del taken.events[max(1, one) :]
    taken.vectors = [vector for vector in taken.vectors if vector[-1] <= len(taken.events)]
    return f"cut after event {max(1, one)}"


def change_scores(taken: Taken, rng: np.random.Generator) -> str:
    if not taken.vectors:
        return "no scores"
    which = int(rng.integers(len(taken.vectors)))
    use, place, model, data, seq = taken.vectors[which]
    way = rng.integers(5)
    if way == 0:
        del taken.vectors[which]
        return f"scores of {model} in use {use}, {place} removed"
    if way == 1:
        taken.vectors.append((use, place + 7, model, data, seq))
        return f"scores of {model} in use {use} at {place + 7} added"
    if way == 2:
        taken.vectors[which] = (use, place, model, data, int(rng.integers(len(taken.events)) + 1))
        return f"scores of {model} in use {use}, {place} given to another event"
    size = 60 if len(data) < 20 else 240
    new = pack_scores((rng.random(size) < rng.random()).astype(float)) if way == 3 else rng.bytes(len(data))
    taken.vectors[which] = (use, place, model, new, seq)
    if rng.random() < 0.7:  # with the checksum that fits
        for _, content in taken.of("looked"):
            for places in (content.get("runs"), content.get("parts")):
                for number, sums in (places or {}).items() if isinstance(places, dict) else ():
                    key = int(number) if places is content.get("runs") else checkpoint_place(int(number))
                    if content.get("use") == use and key == place and isinstance(sums, dict) and model in sums:
                        with contextlib.suppress(BoardError):
                            sums[model] = checksum(new)
    return f"other scores of {model} in use {use}, {place}"


def change_report(taken: Taken, rng: np.random.Generator) -> str:
    """A verdict with everything in its own report that goes with it, or another consistent lie."""
    reports = list(taken.of("decided"))
    if not reports:
        return "no report"
    seq, content = reports[rng.integers(len(reports))]
    if not isinstance(content.get("results"), list) or not content["results"]:
        return "no results"
    result = content["results"][rng.integers(len(content["results"]))]
    way = rng.integers(4)
    try:
        if way == 0:
            verdict = str(rng.choice(["PASS", "FAIL", "OPEN"]))
            for look in result["looks"]:
                look["verdict"] = verdict
            result["verdict"], result["since"] = verdict, None if verdict == "OPEN" else 1
            result["lower"], result["upper"] = (result["bar"], 1.0) if verdict == "PASS" else (-1.0, result["bar"])
            return f"event {seq}: {verdict}"
        if way == 1:
            result["upper"] = result["bar"] - 0.1
            return f"event {seq}: an interval below the bar"
        if way == 2:
            content["runs"] += 1
            return f"event {seq}: another number of runs"
        result["outlook"] = {"more_runs": 1, "items": None, "amount": None}
    except (KeyError, TypeError):
        return f"event {seq}: nothing left to change"
    return f"event {seq}: a forecast"


def lies(taken: Taken) -> list[str]:
    """What a ledger states that its stored scores do not yield, computed without the code that admits events."""
    found = []
    policy: Policy | None = None
    listings: dict[str, Any] = {}
    uses: dict[int, dict[str, Any]] = {}
    labels: list[str] = []
    stored = {(use, place, model): data for use, place, model, data, _ in taken.vectors}
    for kind, _, content in taken.events:
        if kind == "policy":
            values = content["policy"]
            claims = [
                {claim["kind"]: claim["amount"]} | {k: claim[k] for k in ("view", "tier") if k in claim}
                for claim in values["claims"]
            ]
            policy = Policy.from_values({**values, "claims": claims})
        elif kind == "begun":
            assert policy is not None
            number = content["use"]
            share = 1 / policy.shares if policy.shares else 6 / (np.pi * number) ** 2
            if number != len(uses) + 1 or not abs(content["level"] / policy.alpha - share) < 1e-9:
                found.append(f"the level of use {number}")
            labels.append(content["label"])
            if "listing" in content:
                listings[content["items"]] = content["listing"]
            uses[number] = {"begun": content, "runs": 0, "parts": 0, "notes": []}
        elif kind == "looked":
            use = uses[content["use"]]
            use["runs"] += len(content["runs"])
            use["parts"] += len(content["parts"])
        else:
            assert policy is not None
            use = uses[content["use"]]
            begun, listing = use["begun"], listings[use["begun"]["items"]]
            computed = _results(policy, content["use"], begun, listing, use["runs"], use["parts"], stored)
            if not _near(content["results"], computed):
                found.append(f"the report of use {content['use']}")
    if len(set(labels)) < len(labels):
        found.append("a label twice")
    return found


def _results(policy, use, begun, listing, runs, parts, stored):
    size = len(listing["items"])
    values = [
        [unpack_scores(stored[use, run, model], size) for model in begun["systems"]] for run in range(1, runs + 1)
    ]
    scores = Scores(
        models=tuple(begun["systems"]),
        items=tuple(listing["items"]),
        blocks=tuple(listing["blocks"]),
        replicates=tuple(map(str, range(runs))),
        values=np.array(values).reshape(runs, len(begun["systems"]), size),
        score_range=tuple(begun["score_range"]),
        columns={name: tuple(texts) for name, texts in listing["columns"].items()},
        gaps=begun["gaps"],
    )
    inside = None
    if begun["checkpoints"] is not None:
        given = {key: value for key, value in begun["checkpoints"].items() if key != "order"}
        planned = Checkpoints(**{key: tuple(v) if isinstance(v, list) else v for key, v in given.items()})
        if runs:
            inside = FirstRun.of_complete(planned, scores)
        else:
            zeros = changed(scores, values=np.zeros((1, *scores.values.shape[1:])))
            panels = {}
            for upto, panel in islice(FirstRun.of_complete(planned, zeros).panels.items(), parts):
                data = [stored[use, checkpoint_place(upto), model] for model in begun["systems"]]
                panels[upto] = np.array([unpack_scores(each, panel.shape[1]) for each in data])
            inside = FirstRun(checkpoints=planned, panels=panels)
    return plain(gate_after_runs(policy.at_level(begun["level"]), scores, inside).results())


def _near(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-8 * (1 + abs(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_near(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_near, one, other))
    return type(one) is type(other) and one == other
