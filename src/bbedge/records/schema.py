"""The JSON Schema of any record, from its definition."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec

from bbedge.records.values import LARGEST_COUNT

_MATRIX = {"type": "array", "items": {"type": "array", "items": {"type": ["number", "null"]}}}


def schema(kind: type, title: str) -> Any:  # noqa: ANN401 - any JSON
    """The schema of a record; the description of a key is the text under its field."""
    content = msgspec.json.schema(kind, schema_hook=lambda _: _MATRIX)
    texts = {record.__name__: _field_texts(record) for record in _records(msgspec.inspect.type_info(kind))}
    for name, record in content["$defs"].items():
        for key in record["properties"]:
            record["properties"][key] |= {"description": texts[name][key]} if key in texts[name] else {}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title} | _clean(content)


def schema_text(kind: type, title: str) -> str:
    """The schema as a file has it."""
    return _laid_out(schema(kind, title), "") + "\n"


def _records(kind: Any) -> Iterator[type]:  # noqa: ANN401 - any type of msgspec
    """Every record inside a type, itself included."""
    if isinstance(kind, msgspec.inspect.StructType | msgspec.inspect.DataclassType):
        yield kind.cls
        inside = [field.type for field in kind.fields]
    else:
        inside = [getattr(kind, name) for name in ("type", "item_type", "value_type") if hasattr(kind, name)]
        inside += [*getattr(kind, "types", ()), *getattr(kind, "item_types", ())]
    for each in inside:
        yield from _records(each)


def _field_texts(record: type) -> dict[str, str]:
    """The text under every field of a record, also of its bases; Python does not keep it, the source does."""
    texts: dict[str, str] = {}
    for base in reversed([each for each in record.__mro__ if each.__module__.startswith("bbedge.")]):
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        body = node.body if isinstance(node, ast.ClassDef) else []
        for field, text in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                texts[ast.unparse(field.target)] = ast.literal_eval(text.value).rstrip(".")
    return texts


def _clean(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The same from every version of msgspec, without bounds that only refuse what programs cannot represent."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in ("minimum", "maximum") or abs(v) < LARGEST_COUNT}
        return {key: _clean(each) for key, each in kept.items()}
    if isinstance(value, list):
        return sorted((_clean(each) for each in value), key=lambda each: each == {"type": "null"})
    return " ".join(value.split()) if isinstance(value, str) else value


def _laid_out(value: Any, indent: str) -> str:  # noqa: ANN401 - any JSON
    """JSON with what fits on one line."""
    flat, deeper = json.dumps(value), indent + "  "
    if len(indent) + len(flat) <= 160 or not isinstance(value, dict | list):
        return flat
    if isinstance(value, dict):
        lines = [f"{json.dumps(key)}: {_laid_out(each, deeper)}" for key, each in value.items()]
    else:
        lines = [_laid_out(each, deeper) for each in value]
    return flat[0] + ",".join(f"\n{deeper}{line}" for line in lines) + f"\n{indent}{flat[-1]}"
