"""GSM8K: from the answers that ZeroEval published to a table.

python -m gallery.gsm8k.table CHECKOUT [TABLE]

The rule for what counts as right is that of the repository's ``src/evaluation/math_eval.py``, written anew.
"""

from __future__ import annotations

import ast
import json
import operator
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
from gallery.boards import make_table, models_of, table_of

_STATED = (r'"answer"\s*:\s*"([^"]*)"', r'"answer"\s*:\s*([^,\s]*)', r"answer\s*:\s*([^,\s]*)")
"""Where an answer stands in text that is no JSON: in quotes, without them, without quotes around the key."""
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_BOXED = re.compile(r"\\boxed{([\w\d]+)}")
_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def rows(checkout: Path) -> pl.DataFrame:
    """One score for each model and question: 1 if the first number of the answer is the right one."""
    return table_of(_cells(checkout / "result_dirs" / "gsm"))


def _cells(folder: Path) -> Iterator[tuple[str, str, float]]:
    for model in models_of("gsm8k"):
        for each in json.loads((folder / f"{model}.json").read_text(encoding="utf-8")):
            given = _given(model, each["output"][0])
            right = given is not None and _number(given) == _number(each["answer"].replace("#", ""))
            yield model, each["id"], float(right)


def _given(model: str, output: str) -> str | None:
    """The answer that an output gives, or ``None``."""
    found = _first_object(output)
    if isinstance(found, dict) and "answer" in found:
        return str(found["answer"])
    for pattern in _STATED:
        if stated := re.search(pattern, output):
            return stated[1]
    boxed = _BOXED.search(output) if "Llama-3.1" in model and "boxed" in output[-30:] else None
    return boxed[1] if boxed else None


def _first_object(text: str) -> Any:  # noqa: ANN401 - any JSON
    """The first span with matching braces, as JSON; ``None`` if there is none or if it is no JSON."""
    depth, start = 0, 0
    for place, character in enumerate(text):
        if character == "{":
            start = place if depth == 0 else start
            depth += 1
        elif character == "}" and depth:
            depth -= 1
            if not depth:
                try:
                    return json.loads(text[start : place + 1].replace("\n", ""))
                except json.JSONDecodeError:
                    return None
    return None


def _number(answer: str) -> float | None:
    """The first number of an answer, without dollar signs and commas; a fraction counts as its value."""
    plain = answer.replace("$", "").strip().replace(",", "")
    if "/" in plain:
        plain = _evaluated(plain)
    found = _NUMBER.search(plain)
    return float(found[0]) if found else None


def _evaluated(text: str) -> str:
    """Arithmetic as the number it gives; anything else as it is."""
    try:
        return str(float(_value(ast.parse(text, mode="eval").body)))
    except (SyntaxError, ValueError, ZeroDivisionError):
        return text


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_value(left), _value(right))
    raise ValueError("is no arithmetic")


if __name__ == "__main__":
    make_table("gsm8k", rows, sys.argv[1:])
