"""The JSON Schema of certificates, and the same as a page for people."""

from __future__ import annotations

import json
import re
from typing import Any

from bbedge.records.certificate import Document
from bbedge.records.schema import schema_text

HEAD = """\
# Schema of the certificate

This page lists every key of the JSON that `bbedge certify --json` and `bbedge board show --json` write. Programs can
check a certificate with the [JSON Schema](../certificate.schema.json), from which this page is made by
`make docs-outputs`. [Formats](../formats.md#the-certificate) describes the document as a whole, and
[Read the certificate](../howto/certificate.md) shows how to use it.
"""
_LIMITS = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}


def text() -> str:
    """The schema itself."""
    return schema_text(Document, "bbedge certificate")


def page() -> str:
    """The page, as Markdown."""
    schema = json.loads(text())
    return "\n\n".join([HEAD.strip(), *(_record(name, each) for name, each in schema["$defs"].items())]) + "\n"


def _record(name: str, record: dict[str, Any]) -> str:
    required = record.get("required", [])
    rows = [
        f"| `{key}` | {_type(value)} | {'yes' if key in required else ''} | {_prose(value.get('description', ''))} |"
        for key, value in record.get("properties", {}).items()
    ]
    table = "\n".join(["| key | value | required | meaning |", "|---|---|---|---|", *rows])
    return f"## {name}\n\n{_prose(record.get('description', ''))}\n\n{table}"


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(_type(each) for each in value["anyOf"]))
    if "enum" in value:
        return ", ".join(f"`{json.dumps(each)}`" for each in value["enum"])
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if value.get("type") == "array":
        if "prefixItems" in value:
            return "list: " + ", ".join(_type(each) for each in value["prefixItems"])
        return f"list of {_inner(value['items'])}" if value.get("items") else "list"
    if value.get("type") == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"object of {_inner(value['additionalProperties'])}"
    limits = ", ".join(f"{word} {value[key]}" for key, word in _LIMITS.items() if key in value)
    kinds = value.get("type", "any")
    return f"{kinds if isinstance(kinds, str) else ' or '.join(kinds)}{f', {limits}' if limits else ''}"


def _inner(value: dict[str, Any]) -> str:
    """The type of what is in a list or an object; in brackets if it is a choice."""
    shown = _type(value)
    return f"({shown})" if " or " in shown else shown


def _prose(text: str) -> str:
    return re.sub(r"([*_<|\[\]])(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", r"\\\1", text.replace("``", "`")).replace("\n", " ")
