"""The JSON Schema of the certificate, from its definition: ``python -m bbedge.certificate.schema`` prints it."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from typing import Any

import msgspec

from bbedge.certificate import board_shape, design_shape, provenance_shape, shape
from bbedge.certificate.values import LARGEST_COUNT

_MATRIX = {"type": "array", "items": {"type": "array", "items": {"type": ["number", "null"]}}}


def schema() -> Any:  # noqa: ANN401 - any JSON
    """The schema; the description of a key is the text under its field."""
    content = msgspec.json.schema(shape.Document, schema_hook=lambda _: _MATRIX)
    texts = _field_texts()
    for name, record in content["$defs"].items():
        for key in record["properties"]:
            record["properties"][key]["description"] = texts[name][key]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "bbedge certificate"} | _clean(content)


def schema_text() -> str:
    """The schema as ``docs/certificate.schema.json`` has it."""
    return _laid_out(schema(), "") + "\n"


def _field_texts() -> dict[str, dict[str, str]]:
    """The text under every field of every record, also of its bases; Python does not keep it, the source does."""
    found: dict[str, dict[str, str]] = {"Record": {}}
    for module in (design_shape, board_shape, provenance_shape, shape):
        for node in ast.parse(inspect.getsource(module)).body:
            if not isinstance(node, ast.ClassDef):
                continue
            texts = found[node.name] = {}
            for base in node.bases:
                texts |= found[ast.unparse(base)]
            for field, text in zip(node.body, node.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    texts[ast.unparse(field.target)] = ast.literal_eval(text.value).rstrip(".")
    return found


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


if __name__ == "__main__":
    sys.stdout.write(schema_text())
