"""Names made harmless for messages and tables.

Names of models and items, and paths, come from files that were not checked. They are kept as they are in the data; only
what is shown to a person is escaped and shortened.
"""

from __future__ import annotations

import itertools
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable

# Control, format (bidirectional marks, joiners), surrogate, private, unassigned, line and paragraph separators:
# all of these can hide or reorder the text around them on a terminal.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

# Characters of other alphabets that look like Latin letters, and signs that look like a hyphen or an apostrophe, all of
# which Unicode's compatibility forms keep apart.
_LOOK_ALIKE = str.maketrans(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408"
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf"
    "\u2212\u02d7\u2018\u2019\u02bc",
    "ABEKMHOPCTYXSIJaeopcyxsijhABEZHIKMNOPTYXo--'''",
)
_DASHES, _INVISIBLE = "Pd", "Cf"


def shown(name: str, width: int | None = 60) -> str:
    r"""The name with everything invisible escaped, cut in the middle to the width (None: not cut).

    >>> shown("gpt\x1b[31m")
    'gpt\\x1b[31m'
    >>> shown("abcdefghij", 7)
    'abc…hij'
    """
    # A name can be a whole prompt; only its ends can show, so the middle is not worth escaping.
    if width is not None and len(name) > 2 * width:
        name = name[:width] + name[-width:]
    text = "".join(_escaped(character) for character in name)
    if width is None or len(text) <= width:
        return text
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + text[len(text) - tail :]


def _escaped(character: str) -> str:
    if (character.isascii() and character.isprintable()) or unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def harmless(text: str) -> str:
    """A message with everything invisible escaped, line by line: the last guard before a terminal."""
    return "\n".join(shown(line, None) for line in text.split("\n"))


def quoted(name: str, width: int | None = 60) -> str:
    """The name as :func:`shown`, in quotes."""
    return f"'{shown(name, width)}'"


_SHOWN_AS: dict[str, str] = {}


def show_folder_as(folder: str, name: str) -> None:
    """Call a temporary folder of this program by the name of what was unpacked into it."""
    _SHOWN_AS[folder] = name


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path for a message: escaped like a name, in full, because it must be found again."""
    text = os.fspath(path)
    folder = next((each for each in _SHOWN_AS if text.startswith(each)), "")
    return shown(_SHOWN_AS.get(folder, "") + text[len(folder) :], None)


def listed(names: Iterable[str], *, limit: int = 5) -> str:
    """A few names in quotes, and how many more there are.

    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    every = list(names)
    text = ", ".join(quoted(name) for name in every[:limit])
    return text if len(every) <= limit else f"{text} and {len(every) - limit} more"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A clause that proposes the name that was probably meant; empty if none is near.

    >>> did_you_mean("alhpa", ["alpha", "tau"]), did_you_mean("colour", ["alpha", "tau"])
    ("; did you mean 'alpha'?", '')
    """
    from difflib import get_close_matches  # needed for messages alone

    close = get_close_matches(name, list(names), n=1)
    return f"; did you mean {quoted(close[0])}?" if close else ""


def display_names(names: Iterable[str], *, width: int = 40) -> list[str]:
    """Harmless short forms that still tell the names apart.

    >>> display_names(["a" * 50, "a" * 51, "b"], width=9)
    ['aaaa…aaaa (1)', 'aaaa…aaaa (2)', 'b']
    >>> display_names(["Llama-3.1-405B-Instruct-fp8", "Llama-3.3-405B-Instruct-fp8"], width=14)
    ['Lla…1-405B-In…', 'Lla…3-405B-In…']
    """
    given = list(names)
    short = [shown(name, width) for name in given]
    for cut in [text for text, count in Counter(short).items() if count > 1]:
        places = [i for i, text in enumerate(short) if text == cut]
        alike = [shown(given[i], None) for i in places]
        apart = next((i for i, letters in enumerate(zip(*alike, strict=False)) if len(set(letters)) > 1), 0)
        for i, text in zip(places, alike, strict=True):
            short[i] = _cut_before(text, apart, width)
    counts = Counter(short)
    number = {text: itertools.count(1) for text in counts}
    return [f"{text} ({next(number[text])})" if counts[text] > 1 else text for text in short]


def _cut_before(text: str, place: int, width: int) -> str:
    """The start of a text and what is at a place further on; cut as usual if that is not far from the start."""
    head = width // 4
    start = min(place, len(text) - width + head + 1)
    if start <= head:
        return shown(text, width)
    rest = text[start:]
    return f"{text[:head]}…{rest if len(rest) < width - head else rest[: width - head - 2] + '…'}"


def folded(name: str) -> str:
    r"""What spellings of a name have in common that differ by case, spaces, hyphens or look-alike characters.

    >>> folded("GPT\u20114"), folded(" gpt-4")
    ('gpt-4', 'gpt-4')
    """
    plain = unicodedata.normalize("NFKC", name).translate(_LOOK_ALIKE)
    kinds = ((character, unicodedata.category(character)) for character in plain)
    plain = "".join("-" if kind == _DASHES else character for character, kind in kinds if kind != _INVISIBLE)
    return " ".join(unicodedata.normalize("NFKC", plain.casefold()).split())


def counted(number: int, thing: str) -> str:
    """A number of things: one sample, 2 samples.

    >>> counted(1, "sample"), counted(2000, "sample")
    ('1 sample', '2,000 samples')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
