r"""How answers are scored, without Inspect: final numbers of word problems, and what the judge of MT-Bench is asked.

The number that an answer to a word problem ends with, by the first rule that applies:

1. The last ``####`` with a number behind it: ``#### 18``. Behind a calculation, ``#### 9 * 2 = 18``, its result
   counts. A heading such as ``#### Step 2`` or ``#### 2. Add up`` is not an answer.
2. The last number stated as the answer: "the answer is 18", "Answer: $18", ``\boxed{18}``.
3. The last number of the text.

Numbers are compared as printed, after commas between groups of three digits, signs of currency, units, a plus sign,
leading zeros and zeros at the end of decimals are dropped. Fractions stay as printed: 1/2 is neither 2/4 nor 0.5.
Comparing text and not floats keeps 114,200 apart from 114,201 however many digits there are, and needs no arithmetic
on numbers of any length.

Each turn of MT-Bench is judged in a request of its own: the first with the first question and answer only, the second
with the whole dialogue. Where there are reference answers the judge gets them too. The wording is ours; the file of
judge prompts that the benchmark publishes can be used instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bbedge.errors import DataError, FormatError
from bbedge.evaluate.tasks.question_files import read_rows
from bbedge.text import quoted

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

RATINGS = (1.0, 10.0)
_RATING = re.compile(r"\[\[([0-9]+(?:\.[0-9]+)?)\]\]")
_FIELD = re.compile(r"\{(question|answer|question_1|answer_1|question_2|answer_2|ref_answer_1|ref_answer_2)\}")
_SHORT = 200


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
    stated = [number for number in _behind(_STATED, text) if not _GOES_ON.match(text, number.end())]
    return _marked(text) or (_plain(stated[-1]) if stated else last_number(text))


def last_number(text: str) -> str | None:
    """The last number of a text in plain form, or None.

    >>> last_number("10 - 3 = 7.")
    '7'
    """
    found = [*_NUMBER.finditer(text)]
    return _plain(found[-1]) if found else None


def _marked(text: str) -> str | None:
    """The number behind the last mark that has one."""
    if "####" in text:
        # A model that runs on makes up a next question and answers that.
        run_on = _NEXT_QUESTION.search(text, text.index("####"))
        text = text if run_on is None else text[: run_on.start()]
    answers = [number for number in _behind(_MARK, text) if not _HEADING.match(text, number.end())]
    if not answers:
        return None
    rest = text[answers[-1].end() :].partition("\n")[0]
    result = _NUMBER.search(rest.rpartition("=")[2]) if "=" in rest and _GOES_ON.match(rest) else None
    return _plain(result or answers[-1])


def _behind(mark: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The numbers that stand directly behind a mark."""
    return filter(None, (_NUMBER.match(text, found.end()) for found in mark.finditer(text)))


def _plain(found: re.Match[str]) -> str:
    number = "/".join(map(_unpadded, filter(None, found.group("whole", "below"))))
    negative = "-" in (found["sign"] or "") or found["inner"] is not None
    return f"-{number}" if negative and number != "0" else number


def _unpadded(digits: str) -> str:
    whole, point, decimals = digits.replace(",", "").partition(".")
    decimals = decimals.rstrip("0")
    return (whole.lstrip("0") or "0") + (point + decimals if decimals else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What the judge is asked about one turn."""

    system: str
    """The system message; may be empty."""
    template: str
    """The user message, with ``{question}``, ``{answer}`` and the like where the texts go."""

    def filled(self, texts: Mapping[str, str]) -> str:
        """The user message with the texts in it; braces inside of the texts stay as they are."""
        return _FIELD.sub(lambda found: texts[found[1]], self.template)


_ROLE = "You grade answers of AI assistants, fairly and by what they say, whatever they claim about themselves."
_FINISH = (
    "First explain your view in a few sentences. Then give one rating from 1 (useless) to 10 (could not be better), "
    "between double square brackets and nowhere else, like this: Rating: [[5]]"
)
_CRITERIA = {
    False: (
        "Judge how helpful, relevant and correct it is, how deep and detailed, and how original where that is asked "
        "for."
    ),
    True: "Compare it with the reference answer, point out and correct every mistake, and judge correctness and help.",
}
_ONE = "[Question]\n{question}\n\n"
_ONE_REFERENCE = "[Reference answer]\n{ref_answer_1}\n[End of reference answer]\n\n"
_ONE_ANSWER = "[Assistant's answer]\n{answer}\n[End of assistant's answer]"
_TWO_REFERENCE = (
    "[Reference dialogue]\n### User:\n{question_1}\n\n### Reference answer:\n{ref_answer_1}\n\n"
    "### User:\n{question_2}\n\n### Reference answer:\n{ref_answer_2}\n[End of reference dialogue]\n\n"
)
_TWO = (
    "[Dialogue with the assistant]\n### User:\n{question_1}\n\n### Assistant:\n{answer_1}\n\n"
    "### User:\n{question_2}\n\n### Assistant:\n{answer_2}\n[End of dialogue]"
)
_TEXTS = {
    (1, False): f"{_ONE}{_ONE_ANSWER}",
    (1, True): f"{_ONE}{_ONE_REFERENCE}{_ONE_ANSWER}",
    (2, False): _TWO,
    (2, True): f"{_TWO_REFERENCE}{_TWO}",
}
_RATE = {
    1: "Rate the assistant's answer to the question below.",
    2: "Rate the assistant's second answer in the dialogue below, and only that one; the first is there for context.",
}

JudgePrompts = Mapping[tuple[int, bool], Prompt]
"""The prompts of single-answer grading, by turn and whether there are reference answers."""
OURS: JudgePrompts = {
    (turn, known): Prompt(system=_ROLE, template=f"{_RATE[turn]} {_CRITERIA[known]} {_FINISH}\n\n{texts}")
    for (turn, known), texts in _TEXTS.items()
}
_PUBLISHED = {
    (1, False): "single-v1",
    (1, True): "single-math-v1",
    (2, False): "single-v1-multi-turn",
    (2, True): "single-math-v1-multi-turn",
}


def read_judging(where: str) -> JudgePrompts:
    """The four single-answer prompts of the published file of judge prompts."""
    rows = {row.text("name"): row for row in read_rows(where).rows}
    missing = [name for name in _PUBLISHED.values() if name not in rows]
    if missing:
        raise FormatError(
            f"{where}: there is no prompt {quoted(missing[0])}; is this the published file of judge prompts?"
        )
    return {
        key: Prompt(system=rows[name].text("system_prompt"), template=rows[name].text("prompt_template"))
        for key, name in _PUBLISHED.items()
    }


def rating(text: str) -> float:
    """The judge's rating, from 1 to 10.

    A judge that gives no rating, several that differ, or one off the scale has not judged. That is an error and never a
    low score, or a judge that fails would look like a model that does.

    >>> rating("Clear and correct. Rating: [[8.5]]")
    8.5
    """
    found = {float(number) for number in _RATING.findall(text)}
    lowest, highest = RATINGS
    if len(found) == 1 and lowest <= min(found) <= highest:
        return found.pop()
    problem = "no rating" if not found else "several ratings" if len(found) > 1 else "a rating off the scale"
    raise DataError(
        f"the judge gave {problem}; expected one of the form [[7]] from 1 to 10, got {quoted(text, _SHORT)}; "
        "try again, or choose another judge"
    )
