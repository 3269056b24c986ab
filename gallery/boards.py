"""A board of the gallery: what its folder says, and how its table, certificate and page are made.

A folder has ``board.toml`` (origin and command), ``published.csv`` (the published scores), ``table.py`` (from the
published files to the table), the table of most boards whose licence allows it, ``certificate.json`` and ``README.md``.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import polars as pl

from bbedge import Certificate, read_certificate

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "gallery"
TABLES = "BBEDGE_GALLERY_TABLES"
"""The environment variable that names a folder with NAME.parquet, for boards whose table is not kept here."""

Status = Literal["same", "rule", "other", "absent", "none"]
"""How a published score and the table agree.

* same: the mean in the table is the published score.
* rule: the published score follows from the same files by another rule, which the note states.
* other: the published score does not follow from the files; the note says what is known.
* absent: a score was published, and the model is not in the table; the note says why.
* none: the model is in the table, and no score was published.
"""

_SAYS = re.compile(r"(?<=<!-- written by make gallery -->\n).*?(?=<!-- end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedScore:
    """A row of ``published.csv``."""

    model: str
    """The model in the table, or as published if it is not there."""
    view: str
    """The part of the board; empty for its overall score."""
    published: float | None
    status: Status
    note: str


@dataclass(frozen=True, kw_only=True)
class Board:
    """A folder of the gallery."""

    name: str
    title: str
    repository: str
    commit: str
    published_in: str
    """Where the published scores were read."""
    licence: str
    """Empty if none is stated: then the table is not kept."""
    keeps_table: bool
    """Whether the table is in the folder; else its script makes it."""
    command: str
    """How the table becomes the certificate, run in the folder of the table."""
    times: float
    """What a mean of the table is multiplied with to be on the published scale."""
    within: float
    """How far it may then be from the published score, which is rounded."""
    parts: tuple[str, ...]
    """The views that have published scores of their own."""

    @classmethod
    def read(cls, name: str) -> Board:
        """The board of that folder."""
        found = tomllib.loads((GALLERY / name / "board.toml").read_text(encoding="utf-8"))
        usual = {"name": name, "within": 0.0, "keeps_table": bool(found["licence"])}
        return cls(**{**usual, **found, "parts": tuple(found.get("parts", ()))})

    @property
    def folder(self) -> Path:
        """Its folder."""
        return GALLERY / self.name

    @property
    def table(self) -> Path | None:
        """Its table: kept here, or else in the folder that the environment names; ``None`` if it is in neither."""
        places = [self.folder / "table.parquet"]
        if os.environ.get(TABLES):
            places.append(Path(os.environ[TABLES]) / f"{self.name}.parquet")
        return next((path for path in places if path.is_file()), None)

    @cached_property
    def certificate(self) -> Certificate:
        """Its certificate, as it is kept."""
        return read_certificate(self.folder / "certificate.json")

    @cached_property
    def published(self) -> tuple[PublishedScore, ...]:
        """Every published score, and every model of the table of which none was published."""
        with (self.folder / "published.csv").open(encoding="utf-8", newline="") as file:
            return tuple(_published_score(row) for row in csv.DictReader(file))

    def certify(self) -> bool:
        """Make the certificate again from the table; whether it changed. It keeps its time if it says nothing new."""
        path = self.folder / "certificate.json"
        old = path.read_text(encoding="utf-8") if path.exists() else None
        if old is not None and self._certified(time=json.loads(old)["provenance"]["time"]) == old:
            return False
        path.write_text(self._certified(time=None), encoding="utf-8")
        self.__dict__.pop("certificate", None)
        return True

    def _certified(self, *, time: str | None) -> str:
        if self.table is None:
            raise FileNotFoundError(f"the table of {self.name} is not kept here; name its folder in {TABLES}")
        clock = {"SOURCE_DATE_EPOCH": f"{datetime.fromisoformat(time).timestamp():.0f}"} if time else {}
        here = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
        }
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copy(self.table, Path(scratch, "table.parquet"))
            command = [*shlex.split(self.command), "--json", "certificate.json"]
            subprocess.run(command, cwd=scratch, env=os.environ | here | clock, check=True, stdout=subprocess.DEVNULL)
            return Path(scratch, "certificate.json").read_text(encoding="utf-8")

    def readme(self) -> str:
        """Its README with what its certificate says now."""
        says = f"\n```bash\n{self.command}\n```\n\n{self.certificate.answer}\n\n"
        text, found = _SAYS.subn(lambda _: says, (self.folder / "README.md").read_text(encoding="utf-8"))
        if found != 1:
            raise ValueError(f"{self.name}/README.md has {found} places for what the certificate says, not one")
        return text

    def write_page(self, folder: Path) -> Path:
        """Write the page of the certificate. It needs no table."""
        page = folder / f"{self.name}.html"
        page.write_text(self.certificate.to_html(self.title), encoding="utf-8")
        return page


def every_board() -> list[Board]:
    """The boards, in the order of the story."""
    order = tomllib.loads((GALLERY / "order.toml").read_text(encoding="utf-8"))
    return [Board.read(name) for name in order["boards"]]


def _published_score(row: dict[str, str]) -> PublishedScore:
    status = next((each for each in get_args(Status) if each == row["status"]), None)
    if status is None:
        raise ValueError(f"{row['status']!r} is none of {', '.join(get_args(Status))}")
    published = float(row["published"]) if row["published"] else None
    return PublishedScore(model=row["model"], view=row["view"], published=published, status=status, note=row["note"])


# ---- From published files to a table.


def models_of(name: str) -> list[str]:
    """The models of a table, as ``published.csv`` lists them."""
    return list(dict.fromkeys(row.model for row in Board.read(name).published if row.status != "absent"))


def table_of(cells: Iterable[tuple[str | float, ...]], *columns: str) -> pl.DataFrame:
    """Scores as a table. The columns are model, item, score and those named."""
    names = ("model", "item", "score", *columns)
    schema = {name: pl.Float64 if name == "score" else pl.String for name in names}
    return pl.DataFrame(list(cells), schema=schema, orient="row").sort("model", "item")


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table in few bytes: names as categories, scores that are whole numbers as such."""
    whole = (table["score"] == table["score"].round()).all()
    names = [name for name, kind in table.schema.items() if kind == pl.String]
    kinds = {name: pl.Categorical() for name in names} | ({"score": pl.Int8()} if whole else {})
    table.cast(kinds).write_parquet(path, compression="zstd", compression_level=19, statistics=False)


def make_table(name: str, rows: Callable[[Path], pl.DataFrame], arguments: Sequence[str]) -> None:
    """What ``python -m gallery.NAME.table CHECKOUT [TABLE]`` does."""
    if not 1 <= len(arguments) <= 2:
        source = Board.read(name).repository
        sys.exit(f"usage: python -m gallery.{name}.table CHECKOUT [TABLE]\nCHECKOUT is a clone of {source}")
    to = Path(arguments[1]) if arguments[1:] else GALLERY / name / "table.parquet"
    write_table(rows(Path(arguments[0])), to)
    print(f"wrote {to}: {to.stat().st_size:,} bytes")
