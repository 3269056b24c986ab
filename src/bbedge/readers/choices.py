"""What a log cannot say and its reader does not guess."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePath

from bbedge.errors import Argument, DomainError, FormatError, Part
from bbedge.text import listed, quoted


class ChoiceNeededError(FormatError):
    """A log holds several metrics or filters, and none was chosen."""


OTHER_BLOCKS: tuple[Part, ...] = (Argument("blocks", "item"), " or ", Argument("blocks", "one"))
"""The blocks that need no column."""


class Choice(Argument):
    """A field of :class:`Choices` that a message names.

    >>> str(Choice("metrics", ("match",))), str(Choice("metrics"))
    ("choices=Choices(metrics=('match',))", 'metrics')
    """

    def __str__(self) -> str:
        """The field as Python code."""
        return self.name if self.value is None else f"choices=Choices({super().__str__()})"


Range = tuple[float, float]
"""Two ends of a scale of scores."""
_FIXED = ("folder", "file", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What to take from logs. Plain tables need none of it: their columns are named with ``columns``.

    A table with a column ``metric`` is the exception: it may need ``metric_ranges``.

    >>> Choices(model_names=("runs/small/*=small",)).model_of("runs/small/a.eval", "openai/gpt")
    'small'
    """

    format: str | None = None
    """The reader for all files, or ``table`` or ``wide``; None recognises each file by its content."""
    metrics: tuple[str, ...] = ()
    """The metric that is the score; several if files of different tasks have different ones."""
    filters: tuple[str, ...] = ()
    """The filter of lm-evaluation-harness, or another way of scoring one answer, that counts; several as above."""
    model_names: tuple[str, ...] = ()
    """A name for the model of all files, or PATTERN=NAME for those whose path or model fits the pattern."""
    replicate_from: str | None = None
    """What distinguishes replicates: ``folder``, ``file``, ``seed``, ``path:REGEX`` or a field such as
    ``metadata.run``; None counts the runs of a model in the order of their times."""
    metric_ranges: Mapping[str, Range] = field(default_factory=dict, hash=False)
    """The worst and the best possible value of metrics that are not on the common scale: ``{"wer": (1, 0)}``."""
    without_metrics: tuple[str, ...] = ()
    """Metrics to leave out where every metric is read, by name or by a pattern with ``*``."""

    def __post_init__(self) -> None:
        for metric, (worst, best) in self.metric_ranges.items():
            if not (worst != best and math.isfinite(best - worst)):
                raise DomainError(
                    Choice("metric_ranges", {metric: (worst, best)}),
                    ": expected two different finite numbers, the worst and the best possible value",
                )
        given = self.replicate_from
        if given is None or given in _FIXED or (not given.startswith("path:") and "." in given):
            return
        if not given.startswith("path:"):
            raise DomainError(
                Choice("replicate_from"),
                f" {quoted(given)} is not known; choose {', '.join(_FIXED)}, path:REGEX with one group, "
                "or a field of the samples such as metadata.run",
            )
        try:
            groups = re.compile(given[5:]).groups
        except re.error as error:
            raise DomainError(
                Choice("replicate_from"), f" {quoted(given)}: not a regular expression ({error})"
            ) from None
        if groups != 1:
            raise DomainError(
                Choice("replicate_from"),
                f" {quoted(given)}: {groups} groups; put the part that names the replicate, and nothing else, in "
                "parentheses",
            )

    def model_of(self, path: str, model: str | None) -> str | None:
        """What to call the model of a file."""
        for given in self.model_names:
            pattern, equals, name = given.partition("=")
            if not equals:
                return given
            if fits(pattern, path, model):
                return name
        return model

    def check_names(self, seen: Sequence[tuple[str, str | None]]) -> None:
        """Raise if a pattern fits none of the paths and models: it is a mistake."""
        for given in self.model_names:
            pattern, equals, name = given.partition("=")
            if equals and not name:
                raise DomainError(Choice("model_names"), f" {quoted(given)} gives no name; write PATTERN=NAME")
            if equals and not any(fits(pattern, path, model) for path, model in seen):
                models = listed(dict.fromkeys(model for _, model in seen if model is not None))
                raise DomainError(
                    Choice("model_names"),
                    f" {quoted(given)}: no file and no model fits {quoted(pattern)}; the logs name "
                    f"{models or 'no model'}",
                )

    def has_metric(self, name: str) -> bool:
        """Whether a metric is read where every metric is."""
        return not any(fnmatchcase(name, pattern) for pattern in self.without_metrics)

    def any_for_logs(self, *, metrics: bool = False) -> Choice | None:
        """A choice that only means something for logs, if one was made; ``metrics``: unless tables name metrics."""
        of_metrics = () if metrics else ("metrics", "metric_ranges")
        names = (*of_metrics, "filters", "model_names", "replicate_from", "without_metrics")
        return next((Choice(name) for name in names if getattr(self, name)), None)


def fits(pattern: str, path: str, model: str | None) -> bool:
    """Whether a pattern with ``*`` and ``?`` fits a path, or the end of it, or the name of the model."""
    whole = PurePath(path).as_posix()
    return fnmatchcase(whole, pattern) or fnmatchcase(whole, f"*/{pattern}") or fnmatchcase(model or "", pattern)
