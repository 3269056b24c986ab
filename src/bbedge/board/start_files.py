"""The files that a board begins with: its design, its items and its models."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bbedge.board.design import BoardDesign
from bbedge.errors import DataError, DesignError
from bbedge.files import read_text, write_whole
from bbedge.records.design import BoardOptions
from bbedge.records.options import ABOUT_TARGET
from bbedge.records.reading import Reading
from bbedge.records.values import HEADLINE
from bbedge.text import quoted, shown_path

if TYPE_CHECKING:
    from bbedge.core.scores import Scores

_DESIGN = """\
# The design of a board. Edit it, then create the board. It cannot change afterwards.
# docs/board.md describes every key. Choose the values without looking at the scores.

alpha = 0.05                 # largest probability that anything shown is ever wrong, as long as the board exists
tau = 0.0                    # certify only differences above this margin, a fraction of the score range
method = "bb-edge-x"         # or "bb-edge", the published method, without the next two keys
margin_share = 0.2           # the part of alpha that margins spend; 0 for certificates and margins apart
{planned:<28} # replicates that you plan for this version of the benchmark; never the number that you have
# mean_share = 0.1           # the part of alpha for intervals of the models' own means; without it there are none
score_range = [{low!r}, {high!r}]
spending = "open-ended"      # how alpha is divided among new models and new items
copies = "refuse"            # or "allow": count replicates with the same scores as earlier ones
"""


def design_values(suite: Reading, options: BoardOptions) -> dict[str, Any]:
    """What options say of a design, as its file would."""
    shares = suite.shares
    headline = {"macro": suite.macro, "weights": suite.weights, "share": shares.get(HEADLINE)}
    views = {"column": suite.views, "shares": {name: share for name, share in shares.items() if name != HEADLINE}}
    about = {name: getattr(options, name) or None for name in ABOUT_TARGET}
    given: dict[str, Any] = {
        "planned": options.planned or None,
        **{name: list(value) if isinstance(value, tuple) else value for name, value in about.items()},
        "incomplete": None if options.incomplete == "refuse" else options.incomplete,
        "headline": {key: value for key, value in headline.items() if value is not None},
        "views": {key: value for key, value in views.items() if value} if suite.views is not None else None,
    }
    return {key: value for key, value in given.items() if value not in (None, {})}


def read_design(path: Path, otherwise: Mapping[str, object]) -> BoardDesign:
    """The design in a file; ``otherwise`` has values for what it leaves out."""
    return BoardDesign.from_toml(read_text(path), source=shown_path(path), otherwise=otherwise)


def frozen_design(path: Path, options: Mapping[str, Any]) -> BoardDesign:
    """The design in a file together with that of the options; what both say must be the same."""
    design = read_design(path, options)
    stated = tomllib.loads(read_text(path))
    for key, value in options.items():
        if key in ("headline", "views") and key in stated:
            raise DesignError(
                f"{shown_path(path)}: [{key}] is in the file, and options say something of it too; keep one of them"
            )
        if key in stated and stated[key] != value:
            raise DesignError(
                f"{shown_path(path)}: {key} = {stated[key]}, but --{key.replace('_', '-')} is {value}; leave out the "
                "option, or change the file"
            )
    return design


def start_files(place: str, scores: Scores, options: Mapping[str, Any]) -> tuple[Path, Path, Path]:
    """Write the design, the items and the models beside the board's place; existing files are never replaced."""
    home = Path("board") if "://" in place else Path(place)
    design, items, models = (
        home.with_name(f"{home.stem}{ending}") for ending in ("-design.toml", "-items.csv", "-models.txt")
    )
    for path in (design, items, models):
        if path.exists():
            raise DataError(f"{shown_path(path)}: the file exists already; move it, or use it as it is")
    for model in scores.models:
        if model != model.strip() or len(model.splitlines()) != 1:
            raise DataError(
                f"model {quoted(model)} has a line break or leading or trailing white space, so a file with one name "
                "per line cannot hold it; change the name"
            )
    write_whole(items, items_table(scores.items, scores.blocks, scores.columns))
    write_whole(models, "".join(f"{model}\n" for model in scores.models))
    write_whole(design, _design_text(scores, options))
    return design, items, models


def items_table(items: Sequence[str], blocks: Sequence[str], columns: Mapping[str, Sequence[str]]) -> str:
    """A list of items as CSV, in the form that ``init`` and ``add-items`` read; names are as they are in the data."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    others = {name: texts for name, texts in columns.items() if name not in ("item", "block")}
    writer.writerow(["item", "block", *others])
    writer.writerows(zip(items, blocks, *others.values(), strict=True))
    return text.getvalue()


def _design_text(scores: Scores, options: Mapping[str, Any]) -> str:
    low, high = scores.score_range
    planned = options.get("planned")
    number = "# planned = 20" if planned is None else f"planned = {planned}"
    text = _DESIGN.format(low=low, high=high, planned=number)
    text += "".join(f"{_value(name, options[name])}\n" for name in ABOUT_TARGET if name in options)
    if "incomplete" in options:
        text += f"{_value('incomplete', options['incomplete']):<28} # what a missing score does\n"
    for name in ("headline", "views"):
        if name in options:
            plain = {key: value for key, value in options[name].items() if not isinstance(value, Mapping)}
            inner = {key: value for key, value in options[name].items() if isinstance(value, Mapping)}
            text += _table(name, plain) + "".join(_table(f"{name}.{key}", value) for key, value in inner.items())
    return text


def _table(name: str, values: Mapping[str, Any]) -> str:
    lines: Sequence[str] = [_value(key, value) for key, value in values.items()]
    return "\n".join(["", f"[{name}]", *lines, ""])


def _value(key: str, value: str | float | list[float]) -> str:
    """A line of TOML. A quoted JSON text is a TOML text, too."""
    name = key if key.isidentifier() and key.isascii() else json.dumps(key, ensure_ascii=False)
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"
