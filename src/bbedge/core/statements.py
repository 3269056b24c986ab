"""What people expect of two models, in words, and whether a leaderboard certifies it, or its opposite."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bbedge.errors import Argument, DomainError
from bbedge.text import display_names, listed, quoted

if TYPE_CHECKING:
    from bbedge.core.leaderboard import Leaderboard

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
            a, b = design.models.index(self.better), design.models.index(self.worse)
            bar = self.shift / design.score_width
            # A bound is NaN, which exceeds nothing, where a direction is not tested.
            above, below = bool(bounds[a, b] > bar), bool(bounds[b, a] > -bar)
        return "opposite certified" if below else "certified" if above else "not certified"


def parse(text: str, models: Sequence[str], width: float, *, argument: str) -> Statement:
    """Read ``A > B``, ``A > B + 0.01`` or ``A > B - 0.02``, on a score range of this width.

    Names may contain the signs themselves, so that every way to split the text is tried against the known models, and
    a text that can be read in two ways is refused.

    >>> parse("a-1 > b - 0.5", ["a-1", "b"], 1.0, argument="expect")
    Statement(better='a-1', worse='b', shift=-0.5)
    """
    known = set(models)
    ways = list(dict.fromkeys(way for way in _ways(text) if {way.better, way.worse} <= known))
    ways = [way for way in ways if way.better != way.worse]
    if len(ways) > 1:
        # Readings of one text look alike in the usual form, so that each is spelled out.
        first, second = (f"{quoted(way.better)} above {quoted(way.worse)} {way.shift:+g}" for way in ways[:2])
        raise DomainError(
            Argument(argument),
            f" {quoted(text)} has two readings, {first} and {second}; rename a model with --model-name, or in the file",
        )
    if not ways:
        raise DomainError(
            Argument(argument),
            f' {quoted(text)} does not name two models as "A > B", "A > B - 0.02" or "A > B + 0.01"; the '
            f"models are {listed(models)}",
        )
    if abs(ways[0].shift) >= width:
        raise DomainError(
            Argument(argument),
            f" {quoted(text)}: a margin of {abs(ways[0].shift):g} is not below the width of the score range, "
            f"{width:g}; margins are in score units",
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
