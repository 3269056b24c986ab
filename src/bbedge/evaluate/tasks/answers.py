r"""The number that an answer to a word problem ends with, and when two printed numbers are the same.

Rule, first that applies:

1. The last ``####`` with a number behind it: ``#### 18``. Behind a calculation, ``#### 9 * 2 = 18``, its result
   counts. A heading such as ``#### Step 2`` or ``#### 2. Add up`` is not an answer.
2. The last number stated as the answer: "the answer is 18", "Answer: $18", ``\boxed{18}``.
3. The last number of the text.

Numbers are compared as printed, after commas between groups of three digits, signs of currency, units, a plus sign,
leading zeros and zeros at the end of decimals are dropped. Fractions stay as printed: 1/2 is neither 2/4 nor 0.5.
Comparing text and not floats keeps 114,200 apart from 114,201 however many digits there are, and needs no arithmetic
on numbers of any length.
"""

from __future__ import annotations

import re

_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
# A minus belongs to the number only where nothing stands before it that it could be subtracted from.
_NUMBER = re.compile(
    rf"""
    (?P<sign> (?<![\w.)\]}}%]) [-+] (?=[$€£¥]?[0-9.]) )?
    [$€£¥]? (?P<inner> (?<=[$€£¥]) - )?
    (?P<whole> {_DIGITS} )
    (?: \s?/\s? (?P<below> {_DIGITS} ) )?
    """,
    re.VERBOSE,
)
_DECORATION = r"[\s:=*_`(\[{\\]*"
_STATED = re.compile(rf"(?:\banswer[\s*_]*(?:is\b|[:=])\s*(?:is\b)?|\\boxed\s*\{{){_DECORATION}", re.IGNORECASE)
_MARK = re.compile(
    rf"####{_DECORATION}(?:(?:the\s+)?(?:final\s+)?answer\s*(?:is\b|[:=])?{_DECORATION})?", re.IGNORECASE
)
_HEADING = re.compile(r"[.)][ \t]+\S")
# What follows shows that the number was the start of a calculation and not its result.
_GOES_ON = re.compile(r"[ \t]*[a-zA-Z%]*[ \t]*[-+*/\u00d7\u00f7=^][ \t]*[$€£¥(]?[0-9]")
_NEXT_QUESTION = re.compile(r"^[ \t]*Question:", re.MULTILINE)
_SPELLINGS = ((r"\$", "$"), ("{,}", ","), (r",\!", ","), ("\u2212", "-"), ("\u00a0", " "), ("\u202f", " "))


def same_number(given: str | None, right: str) -> bool:
    """Whether an answer's number is the right one; no number never is.

    >>> same_number("1,000", "1000"), same_number("18.0", "18"), same_number("18.5", "18"), same_number(None, "18")
    (True, True, False, False)
    """
    return given is not None and last_number(given) == last_number(right)


def final_number(text: str) -> str | None:
    r"""The number that a text gives as its answer, in plain form, or None.

    >>> final_number("3 + 4 = 7 eggs at $2 each.\n#### $1,014.00")
    '1014'
    >>> final_number("The answer is 18 dollars. She sold 9 eggs.")
    '18'
    >>> final_number("Bob has 5 apples and Ann 3, so -2.50 is left")
    '-2.5'
    """
    for printed, plain in _SPELLINGS:
        text = text.replace(printed, plain)
    marked = _marked(text)
    if marked is not None:
        return marked
    stated = None
    for found in _STATED.finditer(text):
        number = _NUMBER.match(text, found.end())
        if number is not None and not _GOES_ON.match(text, number.end()):
            stated = _plain(number)
    return stated if stated is not None else last_number(text)


def last_number(text: str) -> str | None:
    """The last number of a text in plain form, or None.

    >>> last_number("10 - 3 = 7.")
    '7'
    """
    last = None
    for found in _NUMBER.finditer(text):
        last = found
    return None if last is None else _plain(last)


def _marked(text: str) -> str | None:
    """The number behind the last mark that has one."""
    if "####" in text:
        # A model that runs on makes up a next question and answers that.
        run_on = _NEXT_QUESTION.search(text, text.index("####"))
        text = text if run_on is None else text[: run_on.start()]
    answer = None
    for found in _MARK.finditer(text):
        number = _NUMBER.match(text, found.end())
        if number is not None and not _HEADING.match(text, number.end()):
            answer = number
    if answer is None:
        return None
    rest = text[answer.end() :].partition("\n")[0]
    result = _NUMBER.search(rest.rpartition("=")[2]) if "=" in rest and _GOES_ON.match(rest) else None
    return _plain(result or answer)


def _plain(found: re.Match[str]) -> str:
    below = found["below"]
    number = _unpadded(found["whole"]) + (f"/{_unpadded(below)}" if below else "")
    negative = "-" in (found["sign"] or "") or found["inner"] is not None
    return f"-{number}" if negative and number != "0" else number


def _unpadded(digits: str) -> str:
    whole, point, decimals = digits.replace(",", "").partition(".")
    decimals = decimals.rstrip("0")
    return (whole.lstrip("0") or "0") + (point + decimals if decimals else "")
