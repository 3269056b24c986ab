"""The contract of readers, as a function that any package with a reader can call in its tests."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from bbedge.errors import BbedgeError
from bbedge.readers.incomplete import ERROR_KINDS
from bbedge.readers.logs.contract import Glimpse, Log, Reader, Sample
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
    if not _NAME.fullmatch(reader.name):
        _broken(reader, f"the name {reader.name!r} is not made of lower-case letters, digits and hyphens")
    if not reader.title.strip():
        _broken(reader, "it has no title")
    if not samples:
        _broken(reader, "there is no sample to try it on")
    count = 0
    for path in map(str, samples):
        if reader.recognises(Glimpse.of(path)) != "samples":
            _broken(reader, f"it does not recognise {path}")
        rivals = [other.name for other in readers().values() if other.name != reader.name]
        rivals = [name for name in rivals if readers()[name].recognises(Glimpse.of(path)) == "samples"]
        if rivals:
            _broken(reader, f"{path} is also recognised by {', '.join(rivals)}")
        whole = _read(reader, path)
        if [_plain(each) for each in whole] != [_plain(each) for each in _read(reader, path)]:
            _broken(reader, f"{path} gives other samples when it is read again")
        count += len(whole)
        _check_cuts(reader, path, len(whole))
    for path in map(str, others):
        if reader.recognises(Glimpse.of(path)) == "samples":
            _broken(reader, f"it claims {path}, which is not its log")
    _check_strange(reader)
    return count


def _read(reader: Reader, path: str) -> list[Sample]:
    log = reader.open(path)
    found = _checked_samples(reader, log, path)
    if not found:
        _broken(reader, f"{path} gives no samples")
    return found


def _checked_samples(reader: Reader, log: Log, path: str) -> list[Sample]:
    if not log.runs:
        _broken(reader, f"{path} gives no runs")
    runs = {id(run) for run in log.runs}
    seen = set()
    found = []
    for sample in log.samples():
        place = f"{path}, sample at {sample.place}"
        if id(sample.run) not in runs:
            _broken(reader, f"{place}: its run is not one of the log's")
        if not isinstance(sample.item, str) or not sample.item.strip():
            _broken(reader, f"{place}: its item is {sample.item!r}")
        if not isinstance(sample.place, int) or sample.place < 1:
            _broken(reader, f"{place}: a place counts from 1")
        for name, value in sample.scores.items():
            if not isinstance(name, str) or not (value is None or isinstance(value, bool | float)):
                _broken(reader, f"{place}: metric {name!r} is {value!r}; expected a float, a truth value or None")
            if value != value:
                _broken(reader, f"{place}: metric {name!r} is NaN; a score that is not there is None")
        if sample.failure is not None and sample.failure not in ERROR_KINDS:
            _broken(reader, f"{place}: its failure is {sample.failure!r}; expected one of {', '.join(ERROR_KINDS)}")
        key = (id(sample.run), sample.item, sample.repeat, sample.filter)
        if key in seen:
            _broken(reader, f"{place}: a second sample of the same item, repetition and filter")
        seen.add(key)
        found.append(sample)
    return found


def _check_cuts(reader: Reader, path: str, whole: int) -> None:
    """A log that was cut off is refused, or has fewer samples; it is never a crash."""
    content = Path(path).read_bytes()
    beside = reader.open(path).beside
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / Path(path).name
        for other in beside:
            shutil.copy(other, folder)
        for share in _CUTS:
            copy.write_bytes(content[: int(share * len(content))])
            try:
                found = sum(1 for _ in reader.open(str(copy)).samples())
            except BbedgeError as error:
                if copy.name not in str(error):
                    _broken(reader, f"cut off at {share:.0%}, {path} is refused without its name: {error}")
            else:
                if found > whole:
                    _broken(reader, f"cut off at {share:.0%}, {path} gives more samples than whole")


def _check_strange(reader: Reader) -> None:
    """No content may make recognition raise."""
    with tempfile.TemporaryDirectory() as folder:
        for number, content in enumerate(_STRANGE):
            path = Path(folder) / f"strange{number}.json"
            path.write_bytes(content)
            if reader.recognises(Glimpse.of(str(path))) == "samples":
                _broken(reader, f"it takes {content[:12]!r} for a log")


def _plain(sample: Sample) -> tuple[object, ...]:
    return sample.item, dict(sample.scores), sample.place, sample.repeat, sample.filter, sample.error, sample.failure


def _broken(reader: Reader, problem: str) -> NoReturn:
    raise AssertionError(f"reader {reader.name!r}: {problem}")
