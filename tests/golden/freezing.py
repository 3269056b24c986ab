"""Runs commands in a folder of their own, at one time and with one source of chance, and keeps what they give.

A *case* is a script of commands (:mod:`golden.frozen_cases`). Of every command it keeps the exit code, the class of an
error, what was printed, and every file that was written. Short texts are kept whole. Of long ones a SHA-256 is kept and
a digest of each of their pieces, so that a difference says where it is.

What differs from run to run is fixed, not masked: the clock, the seeds that boards draw, and the version of bbedge.
Masked are only :data:`MASKS` and the folder itself, which studies print. Files of SQLite are left out: their archives
are kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import secrets
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray
from scipy import special
from scipy.special import logsumexp

import bbedge
from bbedge.cli import main
from bbedge.errors import BbedgeError

NOW = 1769860800
VERSION_NOW = bbedge.__version__
VERSION = "0.0.frozen"
MASKS = (
    # The line of a journal about a failure names a file by its whole path, and its checksum covers that.
    (re.compile(r'(FOLDER[^\n]*"sum":")[0-9a-f]{64}'), r"\g<1>SUM"),
    # The version in a page and in a citation is set when its module is imported.
    (re.compile(rf"(bbedge |version |version = {{){re.escape(VERSION_NOW)}(?!\.?\d)"), rf"\g<1>{VERSION}"),
)
WHOLE = 5000
"""Characters up to which a text is kept as it is."""
_LINE = 400
_SHORT = 60
_PIECE = 20
_TOLD = 700
_HASH = re.compile(r"(?<![0-9a-f])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])(?:[0-9a-f]{64}|[0-9a-f]{16})(?![0-9a-f])")
_LONG_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d{6,}(?:e[-+]?\d+)?|(?<![\w.])-?\d+(?:\.\d+)?e-\d+")
_EXACT = re.compile(r"(?<=\b[0-9a-f]{12})\.[0-9a-f]{6}\b")
_SAVED_STATE = '"UEsDB'  # an archive of arrays in base64, which has every last digit
_MOST_LINES = 120


def frozen_path(case: str) -> Path:
    """Where the outputs of a case are kept."""
    return Path(__file__).parent / "frozen" / f"{case}.json"


class FrozenClock(datetime):
    """The time at which everything happens."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return datetime.fromtimestamp(NOW, tz)


class FrozenTime:
    """The module ``time``, of which no time passes: nothing takes long, and no wait is given up."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def monotonic(self) -> float:
        return 1.0


@cache
def import_askers() -> None:
    """Import every module that asks for the time or the version, but those of other tools, to replace both there."""
    source = Path(bbedge.__file__).parent
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        asks = any(word in text for word in ("datetime.now(", "time.monotonic(", "__version__"))
        if asks and "inspect" not in path.stem:
            import_module(".".join(("bbedge", *path.relative_to(source).with_suffix("").parts)))


@contextlib.contextmanager
def same_world(folder: Path, width: int = 120) -> Iterator[None]:
    """A folder to work in, and the same clock, seeds, version and width of the terminal as ever."""
    import_askers()
    drawn = iter(range(1, 1_000_000))
    fixed: list[tuple[Any, str, Any]] = [(secrets, "randbelow", lambda below: next(drawn) * 7919 % below)]
    instead = (("datetime", datetime, FrozenClock), ("time", time, FrozenTime()), ("__version__", VERSION_NOW, VERSION))
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "bbedge"]:
        fixed += [(module, name, new) for name, old, new in instead if getattr(module, name, None) is old]
    signals = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    environment, home = dict(os.environ), Path.cwd()
    before = [(place, name, getattr(place, name)) for place, name, _ in fixed]
    try:
        for place, name, value in fixed:
            setattr(place, name, value)
        os.environ |= {"SOURCE_DATE_EPOCH": str(NOW), "COLUMNS": str(width)}
        os.chdir(folder)
        yield
    finally:
        os.chdir(home)
        os.environ.clear()
        os.environ |= environment
        for place, name, value in before:
            setattr(place, name, value)
        for number, handler in signals.items():
            signal.signal(number, handler)


def call(words: list[str]) -> tuple[int, str, str, BaseException | None]:
    """Run a command in this process: its exit code, what it printed, and the error that ended it."""
    out, err = io.StringIO(), io.StringIO()
    before, error = sys.argv, None
    sys.argv = ["bbedge", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code = 0
    except SystemExit as stop:
        code, error = int(stop.code or 0), stop.__context__
    finally:
        sys.argv = before
    return code, out.getvalue(), err.getvalue(), error


def error_name(error: BaseException | None) -> str | None:
    """The class of an error; all that the library of the command line finds is ``usage``."""
    if isinstance(error, BbedgeError):
        return type(error).__name__
    # The library may bring its own copy of another one.
    return "usage" if any(each.__name__ == "ClickException" for each in type(error).__mro__) else None


class Bench:
    """A folder in which the commands of a case are run one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept: dict[str, Any] = {}

    def __call__(self, command: str) -> int:
        """Run ``bbedge`` with these words, and keep what it gives."""
        before = self._files()
        code, out, err, error = call(shlex.split(command))
        found = {"exit": code, "error": error_name(error) if code == 2 else None}
        found |= {"out": self._frozen("out.txt", out.encode()), "err": self._frozen("err.txt", err.encode())}
        written = {name: data for name, data in self._files().items() if before.get(name) != data}
        found["files"] = {name: self._frozen(name, data) for name, data in written.items()}
        self.keep(command, {key: value for key, value in found.items() if value not in (None, [], {})})
        return code

    def keep(self, name: str, value: Any) -> None:
        """Keep a value under a name; where it is used again, the name is numbered."""
        names = (name, *(f"{name} ({number})" for number in range(2, 100)))
        self.kept[next(name for name in names if name not in self.kept)] = value

    def write(self, name: str, text: str) -> None:
        """Write an input."""
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _frozen(self, name: str, data: bytes) -> Any:
        # What a program of an evaluation gets and writes is in its scores too.
        here = data.replace(str(self.folder).encode(), b"FOLDER")
        return digest(here.decode()) if "/attempt-" in name else frozen(name, here)

    def _files(self) -> dict[str, bytes]:
        files = {}
        for path in sorted(Path().rglob("*")):
            if path.is_file() and path.stat().st_size:
                data = path.read_bytes()
                if not data.startswith(b"SQLite format 3") and not path.name.endswith(("-wal", "-shm", "-journal")):
                    files[path.as_posix()] = data
        return files


def run_case(script: Callable[[Bench], None], folder: Path) -> dict[str, Any]:
    """What a script gives, in a folder that is empty."""
    # A study prints the whole path of its board: no line may be so long that it is broken.
    with same_world(folder, width=120 if script.__name__ != "study" else 500):
        bench = Bench(folder)
        script(bench)
    return bench.kept


def frozen(name: str, data: bytes) -> Any:
    """What is kept of an output: all of it, or a SHA-256 and digests of its pieces."""
    ending = Path(name).suffix
    if ending == ".npz":
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return {key: array_piece(value) for key, value in arrays.items()}
    if ending == ".parquet":
        # The bytes of Parquet differ with the library that writes them; its rows and metadata do not.
        metadata = pl.read_parquet_metadata(io.BytesIO(data))
        rows = pl.read_parquet(io.BytesIO(data)).write_csv()
        return {"rows": frozen("rows.csv", rows.encode())} | {
            key: pieces(value) for key, value in metadata.items() if key != "ARROW:schema"
        }
    text = data.decode("utf-8")
    for pattern, instead in MASKS:
        text = pattern.sub(instead, text)
    if len(text) <= (WHOLE if "\n" in text.strip() else _LINE) and ending != ".html":
        return text.splitlines()
    whole = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "characters": len(text)}
    if ending == ".html":
        return whole | {"sections": sections(text)}
    if ending == ".json":
        return whole | {"keys": pieces(json.loads(text))}
    lines = text.splitlines()
    if lines[0].startswith('{"') and len(lines) <= _MOST_LINES:
        return whole | {"lines": [line_piece(line) for line in lines]}
    return whole | {"lines": [digest("\n".join(lines[at : at + _PIECE])) for at in range(0, len(lines), _PIECE)]}


def loose(text: str) -> str:
    """A text as every processor gives it: numbers without their last digits, and no hashes, which depend on these."""
    text = _LONG_NUMBER.sub(lambda found: shorter(float(found[0])), text)
    return _HASH.sub("HASH", _EXACT.sub("", text))


def shorter(number: float) -> str:
    """A number to nine digits, and to nine decimals."""
    return f"{round(number, 9) + 0.0:.9g}"


def digest(text: str) -> str:
    """Short digests of a piece: one that is the same on every processor, and after a dot an exact one."""
    everywhere = "" if text.startswith(_SAVED_STATE) else loose(text)
    return f"{hashlib.sha256(everywhere.encode()).hexdigest()[:12]}.{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def array_piece(array: NDArray[Any]) -> str:
    """An array: its type, its shape and its numbers."""
    values = " ".join(map(shorter, array.ravel().tolist())) if array.dtype.kind == "f" else str(array.tolist())
    return f"{array.dtype} {array.shape} {digest(values)}"


def line_piece(line: str) -> Any:
    """A line of JSON lines; the payload of an event, which is JSON itself, is opened."""
    values = json.loads(line)
    if "payload" in values:
        values["payload"] = json.loads(values["payload"])
    return pieces(values)


def pieces(value: Any, depth: int = 2) -> Any:
    """A value of JSON with digests in place of all that is long."""
    text = json.dumps(value, ensure_ascii=True)
    if len(text) <= _SHORT:
        return value
    if depth and isinstance(value, dict):
        return {key: pieces(part, depth - 1) for key, part in value.items()}
    if depth and isinstance(value, list) and len(value) <= _PIECE:
        return [pieces(part, depth - 1) for part in value]
    if isinstance(value, str) and len(text) <= 4 * _SHORT:
        return value
    return f"{type(value).__name__} {digest(text)}"


_SECTION = re.compile(r"(?=<(?:section|script|style|header|footer|details|table|svg)\b)")


def sections(page: str) -> dict[str, str]:
    """A digest of every section of a page, and of the pieces of the data in it."""
    found: dict[str, Any] = {}
    for part in _SECTION.split(page):
        opening = part[: part.find(">") + 1]
        named = re.search(r'(?:aria-labelledby|id|class|data-part)="([^"]*)"', opening)
        name = (re.match(r"<\w+", opening) or re.match("", opening)).group()[1:] or "start"
        name = f"{name} {named[1]}" if named else name
        number = sum(1 for known in found if known.partition(" #")[0] == name)
        name = f"{name} #{number + 1}" if number else name
        if "application/json" in opening:
            found[name] = pieces(json.loads(part[len(opening) : part.rfind("</script>")]))
        else:
            found[name] = digest(part)
    return found


def differences(old: Any, new: Any, where: str = "", *, exact: bool = True) -> Iterator[str]:
    """Where two kept values differ, a line for each place; unless ``exact``, up to last digits and hashes."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            if exact or key not in ("sha256", "characters"):
                yield from differences(old.get(key), new.get(key), f"{where} / {key}", exact=exact)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{where}: had {len(old)} entries, has {len(new)}"
        found = enumerate(zip(old, new, strict=False), 1)
        places = (differences(one, other, f"{where} [{number}]", exact=exact) for number, (one, other) in found)
        yield from islice(chain.from_iterable(places), None if len(old) == len(new) else 1)
    elif old != new:
        was, now = json.dumps(old, ensure_ascii=False), json.dumps(new, ensure_ascii=False)
        if exact or loose(was) != loose(now):
            yield f"{where}: was {was[:_TOLD]}, is {now[:_TOLD]}"


def arithmetic() -> str:
    """Names the arithmetic of this machine: where it is the same, every last digit is, and so is every hash."""
    rng = np.random.default_rng(1)
    one, two = rng.random((40, 37)), rng.random((37, 41))
    made = [one @ two, np.exp(one), np.log(one), np.log1p(two), one**1.7, one.sum(), one.mean(axis=0), two.T @ two]
    made += [logsumexp(one, axis=1), special.ndtri(two), special.gammaln(one), np.sqrt(two)]
    numbers = hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in made)).hexdigest()[:16]
    return f"{numbers}, NumPy {np.__version__}, SciPy {scipy.__version__}, polars {pl.__version__}"


def write_frozen(path: Path, kept: Any) -> None:
    """Write what a case gives."""
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
