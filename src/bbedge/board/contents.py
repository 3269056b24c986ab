"""What the event of each kind says: every key that it must have, what may stand there, and nothing else."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from bbedge.core.notes import NoteKind
from bbedge.text import quoted

EventKind = Literal["init", "pilot", "replicate", "add-model", "add-items", "retire", "note"]

VERSION = 2
"""The form of the events that this version writes; events without a version are of form 1."""

Check = Callable[[object], bool]

_LARGEST = 2**31 - 1
_DIGEST = re.compile(r"[0-9a-f]{64}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def _text(value: object) -> bool:
    return isinstance(value, str) and _is_unicode(value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _name(value: object) -> bool:
    return _text(value) and bool(value)


def _whole(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _positive(value: object) -> bool:
    return type(value) is int and 1 <= value <= _LARGEST


def _number(value: object) -> bool:
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) <= _LARGEST)


def _digest(value: object) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _bits(value: object) -> bool:
    return isinstance(value, str) and len(value) % 4 == 0 and _BASE64.fullmatch(value) is not None


def _claim(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdecimal() and str(int(value[:10])) == value


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _table(key: Check, entry: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(key, value)) and all(map(entry, value.values()))


def _record(**keys: Check) -> Check:
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == keys.keys()
        and all(check(value[key]) for key, check in keys.items())
    )


_NAMES = _list(_name)
_STAGES = _list(_record(claim=_whole, level=_number, newcomer=_or_none(_name), design_hash=_digest))
_CACHE = _table(_claim, _digest)
_LOOK = {
    "look": _record(edges=_whole, resolved_pairs=_whole),
    "current": _table(_claim, _bits),
    "certified": _list(_record(winner=_name, loser=_name, log_e=_number, claim=_whole, replicate=_positive)),
}
_ORIGIN = {
    "files": _list(_digest),
    "copies": _list(_record(of=_positive, models=_NAMES, whole=lambda value: isinstance(value, bool))),
    "notes": _list(_record(kind=lambda value: value in get_args(NoteKind), subject=_list(_text), text=_text)),
}
"""What events with scores say since form 2: the files, what was counted although it repeats earlier scores, what the
reader noticed."""

_KEYS: dict[str, dict[str, Check]] = {
    "init": {
        "design": lambda value: isinstance(value, dict),
        "design_hash": _digest,
        "models": _NAMES,
        "items": _NAMES,
        "blocks": _NAMES,
        "stages": _STAGES,
        "cache": _CACHE,
    },
    "pilot": {
        "epoch": _positive,
        "pilot": _positive,
        "vectors": _table(_name, _digest),
        "candidate": _or_none(_NAMES),
        "stages": _STAGES,
        "cache": _CACHE,
    },
    "replicate": {
        "epoch": _positive,
        "replicate": _positive,
        "vectors": _table(_name, _digest),
        "cache": _CACHE,
        **_LOOK,
    },
    "add-model": {
        "epoch": _positive,
        "model": _name,
        "vectors": _list(_digest),
        "stages": _STAGES,
        "cache": _CACHE,
    },
    "add-items": {
        "epoch": _positive,
        "items": _NAMES,
        "blocks": _NAMES,
        "models": _NAMES,
        "stages": _STAGES,
        "cache": _CACHE,
    },
    "retire": {"epoch": _positive, "model": _name, "cache": _CACHE},
    "note": {"epoch": _positive, "about": _text, "text": _text},
}
_ADDED: dict[str, dict[str, Check]] = {
    "init": {"registration": _digest},
    "pilot": {"runs": _NAMES, **_ORIGIN},
    "replicate": {"runs": _NAMES, **_ORIGIN},
    "add-model": {"runs": _list(_NAMES), **_ORIGIN},
    "note": {"particulars": lambda value: isinstance(value, dict)},
}
"""Keys that form 2 added."""

_OTHERS = {key for keys in _KEYS.values() for key in keys} - _KEYS["note"].keys()


def parsed(payload: str) -> Any:  # noqa: ANN401 - whatever the text holds
    """The value of a payload; ``ValueError`` unless it is JSON in the one form that is written."""
    try:
        value = json.loads(payload)
        same = canonical(value) == payload
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not same:
        raise ValueError("not in canonical form, or a key comes twice")
    return value


def canonical(value: object) -> str:
    """The one text that stands for a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def problem(kind: str, content: object) -> str | None:
    """What is wrong with the content of an event, or nothing."""
    if kind not in _KEYS:
        return f"the kind {quoted(kind)} is unknown"
    if not isinstance(content, dict):
        return "its content is not a record"
    version = content.get("version", 1)
    if type(version) is not int or not 1 <= version <= VERSION:
        return f"its form {quoted(str(version))} is unknown; use the newer bbedge that wrote it"
    keys = dict(_KEYS[kind])
    if version > 1:
        keys |= {"version": _positive} | _ADDED.get(kind, {})
        if kind == "init":
            del keys["design_hash"]
    if kind == "add-model" and "look" in content:
        keys |= _LOOK  # there is a look if there are replicates; verifying checks that
    return _wrong(keys, content, others=kind == "note" and version == 1)


def _wrong(keys: Mapping[str, Check], content: Mapping[str, object], *, others: bool) -> str | None:
    for key, check in keys.items():
        if key not in content:
            return f"{quoted(key)} is missing"
        if not check(content[key]):
            return f"{quoted(key)} is not what belongs there"
    # Form 1 kept the particulars of a note beside its text; none of them may look like what other events say.
    unknown = sorted(key for key in content if key not in keys and not (others and key not in _OTHERS))
    return f"the key {quoted(unknown[0])} is unknown" if unknown else None
