"""How files of logs are read: JSON lines, JSON documents piece by piece, members of zip archives, archives of a folder.

Of a JSON document one sample is in memory at a time, not the log. The standard library's parser decodes the values;
:class:`JsonStream` finds where they begin. Unlike strict streaming parsers it takes NaN, which evaluation tools write.
"""

from __future__ import annotations

import atexit
import codecs
import json
import re
import stat
import sys
import tempfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path, PurePosixPath
from shutil import copyfileobj, rmtree
from typing import IO, Any, cast

from bbedge.errors import FormatError
from bbedge.readers.assemble.grid import spool_folder
from bbedge.readers.limits import limits_in_force
from bbedge.readers.opening import Readable, json_object, lines, naming_errors, opened
from bbedge.records.codec import unique_keys
from bbedge.text import listed, quoted, show_folder_as, shown_path

_CHUNK = 1 << 20
# An error this close to the end of what was read may only mean that there is more to come.
_NEAR_END = 16
_WHITE = re.compile(r"[ \t\n\r]*")
_AFTER_VALUE = " \t\n\r,:]}"
ZIP = ".zip"
_PACKED = (ZIP, ".7z", ".rar", ".tar", ".tgz", ".tar.gz", ".bz2", ".xz", ".zst")
# What a file takes at least: an archive of very many empty files is a bomb, too.
_LEAST_BYTES = 4096


def objects(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, each with its line."""
    return ((line, _object(content, f"{shown_path(path)}:{line}")) for line, content in lines(path))


@contextmanager
def json_stream(path: str) -> Iterator[JsonStream]:
    """A JSON document that is read to its end, after which nothing may follow."""
    with opened(path) as file:
        stream = JsonStream(file, shown_path(path))
        yield stream
        stream.end()


def parts_under(
    path: str,
    *lists: str,
    inside: str | None = None,
    keep: Collection[str] = (),
    head: dict[str, Any] | None = None,
) -> Iterator[tuple[str, Any]]:
    """The elements of the arrays under some keys of a document, each with its key.

    The keys of an object under the key ``inside`` count like those of the document. What stands under the keys ``keep``
    goes into ``head`` on the way.
    """
    with json_stream(path) as stream:
        begin = stream.opens()
        if begin not in ("{", ""):
            raise FormatError(
                f"{shown_path(path)}: begins with {quoted(begin)}, so that it is no JSON object; expected an object "
                f"with {' or '.join(lists)}"
            )
        for key in stream.entries(inside):
            if key in lists and stream.opens() == "[":
                for row in stream.elements():
                    yield key, row
            elif head is not None and key in keep:
                head[key] = stream.value()


def entries_under(
    path: str, keyed: str, *, keep: Collection[str] = (), head: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The entries of the object under a key of a document, of the document itself without a key.

    What stands under the keys ``keep`` goes into ``head``.
    """
    with json_stream(path) as stream:
        for key in stream.entries() if keyed else [""]:
            if key in keep:
                head[key] = stream.value()
            elif key == keyed and stream.opens() == "{":
                for inner in stream.entries():
                    # Element by element: a key that comes twice is then named with its line.
                    yield {"key": inner, "value": list(stream.elements()) if stream.opens() == "[" else stream.value()}


def document_beside(path: Path | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A small document that may stand beside a log, and the path that was read, if any."""
    return (document(str(path)), (str(path),)) if path is not None and path.is_file() else ({}, ())


def document(path: str) -> dict[str, Any]:
    """A small JSON document that is one object."""
    name = shown_path(path)
    with naming_errors(path):
        # A summary that stands beside a log is kilobytes; a much larger file is something else.
        limits_in_force().check_line(Path(path).stat().st_size, place=name, what="the summary of a run")
        content = Path(path).read_bytes()
    return _object(content.removeprefix(b"\xef\xbb\xbf"), name)


def _object(content: bytes, place: str) -> dict[str, Any]:
    return json_object(
        content,
        place=place,
        expected="one object",
        cut_off="if the run was cut off, let it end or leave the file out",
    )


class JsonStream:
    """A JSON document in a file: objects and arrays are entered, everything else is decoded whole."""

    def __init__(self, file: Readable, name: str, *, unique: bool = True) -> None:
        """``unique`` refuses an object with a key that comes twice; otherwise its last value counts."""
        self._file, self._name, self._strict = file, name, unique
        self._decoder = json.JSONDecoder(object_pairs_hook=self._unique if unique else None)
        self._codec = codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._at = "", 0
        self._ended = self._waiting = False
        self._line = 1

    def opens(self) -> str:
        """The character with which the next value begins: ``{``, ``[`` or another; empty at the end."""
        while True:
            self._at = cast("re.Match[str]", _WHITE.match(self._text, self._at)).end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def entries(self, inside: str | None = None) -> Iterator[str]:
        """Enter an object: its keys, each before its value, which may be read, entered or left.

        An object under the key ``inside`` is entered as well: its keys come in the place of that one.
        """
        seen: set[str] = set()
        for _ in self._between("{", "}"):
            key = self.value()
            if not isinstance(key, str):
                raise self._broken("a key that is not text")
            if key in seen and self._strict:
                self._unique([(key, None)] * 2)
            seen.add(key)
            self._expect(":")
            self._waiting = True
            if key == inside and self.opens() == "{":
                yield from self.entries()
            else:
                yield key
            if self._waiting:
                self.skip()

    def elements(self) -> Iterator[Any]:
        """Enter an array: its elements, decoded."""
        for _ in self._between("[", "]"):
            yield self.value()

    def _between(self, first: str, last: str) -> Iterator[None]:
        """Pass the brackets and commas of an object or an array; what is between them is left to the caller."""
        self._waiting = False
        self._expect(first)
        if self.opens() != last:
            yield
            while self.opens() != last:
                self._expect(",")
                yield
        self._at += 1

    def skip(self) -> None:
        """Pass over a value; an array is passed over element by element."""
        if self.opens() == "[":
            for _ in self.elements():
                pass
        else:
            self.value()

    def value(self) -> Any:  # noqa: ANN401 - any JSON
        """The next value, decoded."""
        self._waiting = False
        if not self.opens():
            raise self._broken("it ends in the middle")
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                unfinished = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _NEAR_END
                if not unfinished:
                    raise self._broken(f"{error.msg} after {quoted(self._text[error.pos - 20 : error.pos])}") from None
                if not self._more():
                    raise self._broken("it ends in the middle") from None
            except FormatError:
                raise
            except (RecursionError, ValueError) as error:
                raise self._broken("nested too deeply" if isinstance(error, RecursionError) else str(error)) from None
            else:
                # A number at the end of what was read may go on, also after a point or an exponent's letter.
                closed = self._text[end - 1] in '}]"' or (end < len(self._text) and self._text[end] in _AFTER_VALUE)
                if closed or not self._more():
                    self._at = end
                    return value

    def end(self) -> None:
        """Check that nothing follows."""
        if self.opens():
            raise self._broken(f"more after its end: {quoted(self._text[self._at : self._at + 20])}")

    def _expect(self, character: str) -> None:
        found = self.opens()
        if found != character:
            raise self._broken(
                f"{quoted(found)} where {quoted(character)} should be" if found else "it ends in the middle"
            )
        self._at += 1

    def _more(self) -> bool:
        if self._ended:
            return False
        kept = len(self._text) - self._at
        limits_in_force().check_line(kept, place=self._place(), what="one value")
        # As much again as is there already, so that a long value is not decoded from its beginning too often.
        data = self._file.read(max(_CHUNK, kept))
        self._ended = not data
        try:
            new = self._codec.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise FormatError(f"{self._name}: not valid UTF-8 ({error.reason}); save the file as UTF-8") from None
        self._line += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :] + new, 0
        return True

    def _unique(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return unique_keys(pairs, place=self._place)

    def _place(self) -> str:
        return f"{self._name}:{self._line + self._text.count(chr(10), 0, self._at)}"

    def _broken(self, problem: str) -> FormatError:
        return FormatError(
            f"{self._name}: not a complete JSON document ({problem}); if the run was cut off, let it end or leave the "
            "file out"
        )


class Archive(AbstractContextManager["Archive"]):
    """A zip archive; a damaged one raises a :class:`FormatError` that names it."""

    def __init__(self, path: str) -> None:
        zipfile, self._broken = zip_library()
        self._name = shown_path(path)
        self._unpacked = 0
        with self._refusing_damage(), naming_errors(path):
            self._packed = Path(path).stat().st_size
            self._archive = zipfile.ZipFile(path)

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def names(self) -> list[str]:
        """The names of all members."""
        return list(self._archive.namelist())

    def infos(self) -> list[Any]:
        """What the archive says of its members."""
        return list(self._archive.infolist())

    def check_whole(self) -> None:
        """Raise if all members together unpack to too much."""
        self._check(sum(each.file_size for each in self.infos()))

    @contextmanager
    def member(self, name: str) -> Iterator[IO[bytes]]:
        """A member, unpacked while it is read."""
        try:
            self._unpacked += self._archive.getinfo(name).file_size
        except KeyError:
            raise FormatError(f"{self._name}: no {quoted(name)} in the archive; write the log again") from None
        self._check(self._unpacked)
        with self._refusing_damage():
            file = self._archive.open(name)
        # An OSError or a RuntimeError is of whoever reads the member, not of the archive.
        with file, self._refusing_damage(besides=(RuntimeError, OSError)):
            yield file

    def members(self, names: Sequence[str]) -> Iterator[tuple[str, IO[bytes]]]:
        """Members one after the other, unless all of them together unpack to too much."""
        self._check(sum(self._archive.getinfo(name).file_size for name in names))
        for name in names:
            with self.member(name) as file:
                yield name, file

    def _check(self, unpacked: int) -> None:
        # No more than the size that the archive states is ever unpacked.
        limits_in_force().check_unpacked(unpacked, packed=self._packed, name=self._name)

    @contextmanager
    def _refusing_damage(self, besides: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        try:
            yield
        except self._broken as error:
            if isinstance(error, besides):
                raise
            raise FormatError(
                f"{self._name}: not a complete zip archive ({error}); if the run was cut off, let it end or leave the "
                "file out"
            ) from None


def member_names(path: str) -> frozenset[str]:
    """The names of all members; none if the archive cannot be read."""
    try:
        with Archive(path) as archive:
            return frozenset(archive.names())
    except FormatError:
        return frozenset()


def zip_library() -> tuple[Any, tuple[type[Exception], ...]]:
    """The module zipfile, and what it raises on an archive that is damaged, encrypted or packed in an unknown way."""
    if sys.version_info >= (3, 14):
        import zipfile

        from compression.zstd import ZstdError
    else:
        # The standard library before 3.14 does not know the compression that Inspect uses.
        from backports.zstd import ZstdError, zipfile
    # A damaged directory can name a place before the beginning of the file, which is an OSError.
    return zipfile, (zipfile.BadZipFile, ZstdError, zlib.error, EOFError, RuntimeError, OSError)


def unpacked(path: str) -> str:
    """The folder with the files of an archive, which is there until the program ends."""
    found = Path(path).stat()
    return _unpacked(path, found.st_size, found.st_mtime_ns)


# Sources are looked at more than once.
@cache
def _unpacked(path: str, size: int, _changed: int) -> str:
    name = shown_path(path)
    with Archive(path) as archive:
        members = [each for each in archive.infos() if not each.filename.endswith("/")]
        limits_in_force().check_unpacked(
            sum(max(each.file_size, _LEAST_BYTES) for each in members), packed=size, name=name
        )
        for problem, names in _problems(members).items():
            raise FormatError(f"{name}: {problem}, {listed(names)}; unpack it if you trust it, and name the folder")
        within = Path(tempfile.mkdtemp(prefix="bbedge-", dir=spool_folder()))
        atexit.register(rmtree, within, ignore_errors=True)
        folder = within / Path(path).name
        show_folder_as(str(folder), folder.name)
        folder.mkdir()
        try:
            for member in members:
                to = folder / member.filename
                to.parent.mkdir(parents=True, exist_ok=True)
                with archive.member(member.filename) as file, to.open("wb") as copy:
                    copyfileobj(file, copy)
        except (OSError, UnicodeError) as error:
            # Also a file where another member needs a folder, or no room.
            raise FormatError(
                f"{name}: cannot be unpacked into {spool_folder()} ({error}); unpack it yourself"
            ) from None
    return str(folder)


def _problems(members: Sequence[Any]) -> dict[str, list[str]]:
    """What an archive of a folder does not have, each with the names of such members."""
    seen: set[str] = set()
    found: dict[str, list[str]] = {} if members else {"no files": [""]}
    for member in members:
        name, path = member.filename, PurePosixPath(member.filename)
        leads_out = path.is_absolute() or not path.parts or ".." in path.parts or "\\" in name or ":" in path.parts[0]
        problems = {
            "paths that lead out of the archive": leads_out,
            "links": stat.S_ISLNK(member.external_attr >> 16),
            "archives inside the archive": name.lower().endswith(_PACKED),
            "encrypted files": member.flag_bits & 1,
            "several files of one name": name in seen,
        }
        seen.add(name)
        for problem in (each for each, holds in problems.items() if holds):
            found.setdefault(problem, []).append(name)
    return found
