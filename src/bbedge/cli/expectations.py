"""What ``--expect`` and ``--forbid`` say of two models, and whether a leaderboard certifies it, or its opposite."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bbedge.errors import DomainError
from bbedge.text import display_names, listed, quoted

if TYPE_CHECKING:
    from rich.console import Console

    from bbedge.core.leaderboard import Leaderboard
    from bbedge.core.scores import Scores

NOT_CERTIFIED = 3
"""Exit code when an expectation is not certified."""
OPPOSITE_CERTIFIED = 4
"""Exit code when the opposite of an expectation, or what is forbidden, is certified."""

_SIGN = re.compile(r"[+-]")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

Finding = Literal["certified", "opposite certified", "not certified", "contradicted"]
"""What a leaderboard says of a statement; where anything is contradicted, it says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One model's mean exceeds another's, or the other's plus or minus something.

    >>> str(Statement(better="new", worse="old", shift=-0.02))
    'new > old - 0.02'
    """

    better: str
    """The model whose mean is the larger one."""
    worse: str
    """The model that it is compared with."""
    shift: float = 0.0
    """What is added to the other's mean, in score units."""

    def __str__(self) -> str:
        """The statement as the command line writes it."""
        first, second = display_names([self.better, self.worse])
        shift = f" {'-' if self.shift < 0.0 else '+'} {abs(self.shift):g}" if self.shift else ""
        return f"{first} > {second}{shift}"

    def found(self, leaderboard: Leaderboard) -> Finding:
        """Whether it is certified, or its opposite is.

        Without a shift, what stands over all looks decides; with one, the margins of the last look.

        **Guarantee:** that of the leaderboard's comparisons and margins. The opposite of ``A > B`` is ``B > A``; that
        of ``A > B + c`` is that the difference is below ``c``.
        """
        above, below = (
            leaderboard.is_certified(self.better, self.worse),
            leaderboard.is_certified(self.worse, self.better),
        )
        if self.shift:
            design, bounds = leaderboard.design, leaderboard.lower_bounds
            low, high = design.score_range
            a, b, bar = design.models.index(self.better), design.models.index(self.worse), self.shift / (high - low)
            # A bound is NaN, which exceeds nothing, where a direction is not tested.
            above, below = bool(bounds[a, b] > bar), bool(bounds[b, a] > -bar)
        return "opposite certified" if below else "certified" if above else "not certified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What a command expects of the result, which sets its exit code."""

    expect: Annotated[
        list[str] | None,
        typer.Option(
            metavar='"A > B"',
            help='Exit with code 3 unless A is certified better than B. "A > B - 0.02": unless A is certified not '
            'worse than B by 0.02 score units or more; "A > B + 0.01": better by more than 0.01. Exit with code 4 if '
            "the opposite is certified. May be repeated.",
            show_default=False,
        ),
    ] = None
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            metavar='"B > A"',
            help="Exit with code 4 if B is certified better than A; a margin as in --expect. May be repeated.",
            show_default=False,
        ),
    ] = None

    def read(self, scores: Scores) -> Read:
        """The statements, about the models of these scores."""
        low, high = scores.score_range
        read = partial(parse, models=scores.models, width=high - low)
        return Read(
            expected=tuple(read(text, option="--expect") for text in self.expect or ()),
            forbidden=tuple(read(text, option="--forbid") for text in self.forbid or ()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What is expected and what is forbidden."""

    expected: tuple[Statement, ...]
    """What must be certified."""
    forbidden: tuple[Statement, ...]
    """What must not be."""

    def check(self, console: Console, leaderboard: Leaderboard, *, contradicted: bool) -> int:
        """Print what was found of each statement; the exit code that follows, unless anything is contradicted."""
        from bbedge.display.terminal import show_expectations

        def found(statement: Statement) -> Finding:
            return "contradicted" if contradicted else statement.found(leaderboard)

        expected = [(str(each), found(each)) for each in self.expected]
        forbidden = [(str(each), found(each)) for each in self.forbidden]
        show_expectations(console, expected, forbidden)
        if any(found == "opposite certified" for _, found in expected) or any(
            found == "certified" for _, found in forbidden
        ):
            return OPPOSITE_CERTIFIED
        return NOT_CERTIFIED if any(found != "certified" for _, found in expected) else 0


def parse(text: str, models: Sequence[str], width: float, *, option: str) -> Statement:
    """Read ``A > B``, ``A > B + 0.01`` or ``A > B - 0.02``, on a score range of this width.

    Names may contain the signs themselves, so that every way to split the text is tried against the known models, and
    a text that can be read in two ways is refused.

    >>> parse("a-1 > b - 0.5", ["a-1", "b"], 1.0, option="--expect")
    Statement(better='a-1', worse='b', shift=-0.5)
    """
    known = set(models)
    ways = list(dict.fromkeys(way for way in _ways(text) if {way.better, way.worse} <= known))
    ways = [way for way in ways if way.better != way.worse]
    if len(ways) > 1:
        # Readings of one text look alike in the usual form, so that each is spelled out.
        first, second = (f"{quoted(way.better)} above {quoted(way.worse)} {way.shift:+g}" for way in ways[:2])
        raise DomainError(
            f"{option} {quoted(text)} has two readings, {first} and {second}; rename a model with --model-name, or in "
            "the file"
        )
    if not ways:
        raise DomainError(
            f'{option} {quoted(text)} does not name two models as "A > B", "A > B - 0.02" or "A > B + 0.01"; the '
            f"models are {listed(models)}"
        )
    if abs(ways[0].shift) >= width:
        raise DomainError(
            f"{option} {quoted(text)}: a margin of {abs(ways[0].shift):g} is not below the width of the score range, "
            f"{width:g}; margins are in score units"
        )
    return ways[0]


def _ways(text: str) -> Iterator[Statement]:
    """Every way to read the text, whatever the models are."""
    parts = text.split(">")
    for i in range(1, len(parts)):
        better, worse = ">".join(parts[:i]).strip(), ">".join(parts[i:]).strip()
        yield Statement(better=better, worse=worse)
        for sign in _SIGN.finditer(worse):
            number = worse[sign.end() :].strip()
            if _NUMBER.fullmatch(number):
                # Adding zero turns -0.0 into 0.0: the statement without a shift.
                shift = float(sign[0] + number) + 0.0
                yield Statement(better=better, worse=worse[: sign.start()].strip(), shift=shift)
