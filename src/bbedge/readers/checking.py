"""The contract of readers, as a function that any package with a reader can call in its tests."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bbedge.errors import BbedgeError
from bbedge.readers.choices import ERROR_KINDS
from bbedge.readers.logs.contract import Glimpse, LogSample, Reader
from bbedge.readers.tools import readers

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_STRANGE = (
    b"",
    b"\0" * 64,
    b"{",
    b"[",
    b"[[[[",
    b'{"a": ',
    b"PK\x03\x04",
    b"PAR1",
    b"\xff\xfe{",
    b"a,b\n1,2\n",
    b"\xf0\x9f",
)
_CUTS = (0.0, 0.1, 0.5, 0.9, 0.999)


def check_reader(reader: Reader, samples: Sequence[str | Path], *, others: Iterable[str | Path] = ()) -> int:
    """Raise AssertionError if a reader breaks the contract; returns the number of samples read.

    ``samples`` are logs that it must read, ``others`` are files that it must leave to other readers. The logs are read
    whole, read again, and read after being cut off at several places: a reader may refuse with a
    :class:`~bbedge.errors.BbedgeError` that names the file, and may do nothing else.
    """
    _require(
        bool(_NAME.fullmatch(reader.name)),
        reader,
        f"the name {reader.name!r} is not made of lower-case letters, digits and hyphens",
    )
    _require(bool(reader.title.strip()), reader, "it has no title")
    _require(bool(samples), reader, "there is no sample to try it on")
    count = 0
    for path in map(str, samples):
        _require(_claims(reader, path), reader, f"it does not recognise {path}")
        claiming = [other.name for other in readers().values() if _claims(other, path)]
        rivals = [name for name in claiming if name != reader.name]
        _require(not rivals, reader, f"{path} is also recognised by {', '.join(rivals)}")
        whole = list(map(_plain, _read(reader, path)))
        again = list(map(_plain, _read(reader, path)))
        _require(whole == again, reader, f"{path} gives other samples when it is read again")
        count += len(whole)
        _check_cuts(reader, path, len(whole))
    for path in map(str, others):
        _require(not _claims(reader, path), reader, f"it claims {path}, which is not its log")
    # No content may make recognition raise.
    with tempfile.TemporaryDirectory() as folder:
        strange = Path(folder) / "strange.json"
        for content in _STRANGE:
            strange.write_bytes(content)
            _require(not _claims(reader, str(strange)), reader, f"it takes {content[:12]!r} for a log")
    return count


def _claims(reader: Reader, path: str) -> bool:
    return reader.recognises(Glimpse.of(path)) == "samples"


def _read(reader: Reader, path: str) -> list[LogSample]:
    log = reader.open(path)
    _require(bool(log.runs), reader, f"{path} gives no runs")
    runs = {id(run) for run in log.runs}
    found: dict[tuple[object, ...], LogSample] = {}
    for sample in log.samples():
        key = (id(sample.run), sample.item, sample.repeat, sample.filter)
        _require(id(sample.run) in runs, reader, f"{path}, sample at {sample.place}: its run is not one of the log's")
        for holds, problem in _conditions(sample):
            _require(holds, reader, f"{path}, sample at {sample.place}: {problem}")
        again = "a second sample of the same item, repetition and filter"
        _require(key not in found, reader, f"{path}, sample at {sample.place}: {again}")
        found[key] = sample
    _require(bool(found), reader, f"{path} gives no samples")
    return list(found.values())


def _conditions(sample: LogSample) -> Iterator[tuple[bool, str]]:
    """What must hold of a sample, each with what is wrong otherwise."""
    yield isinstance(sample.item, str) and bool(sample.item.strip()), f"its item is {sample.item!r}"
    yield isinstance(sample.place, int) and sample.place >= 1, "a place counts from 1"
    for name, value in sample.scores.items():
        fits = isinstance(name, str) and (value is None or isinstance(value, bool | float))
        yield fits, f"metric {name!r} is {value!r}; expected a float, a truth value or None"
        yield value == value, f"metric {name!r} is NaN; a score that is not there is None"
    known = sample.failure is None or sample.failure in ERROR_KINDS
    yield known, f"its failure is {sample.failure!r}; expected one of {', '.join(ERROR_KINDS)}"


def _check_cuts(reader: Reader, path: str, whole: int) -> None:
    """A log that was cut off is refused, or has fewer samples; it is never a crash."""
    content = Path(path).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / Path(path).name
        for other in reader.open(path).beside:
            shutil.copy(other, folder)
        for share in _CUTS:
            copy.write_bytes(content[: int(share * len(content))])
            try:
                found = sum(1 for _ in reader.open(str(copy)).samples())
            except BbedgeError as error:
                _require(
                    copy.name in str(error),
                    reader,
                    f"cut off at {share:.0%}, {path} is refused without its name: {error}",
                )
            else:
                _require(found <= whole, reader, f"cut off at {share:.0%}, {path} gives more samples than whole")


def _plain(sample: LogSample) -> tuple[object, ...]:
    return sample.item, dict(sample.scores), sample.place, sample.repeat, sample.filter, sample.error, sample.failure


def _require(holds: bool, reader: Reader, problem: str) -> None:
    if not holds:
        raise AssertionError(f"reader {reader.name!r}: {problem}")
