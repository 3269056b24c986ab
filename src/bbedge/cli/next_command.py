"""The command that ``inspect-scores`` proposes: the choices that the files still need."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bbedge.readers.survey import MetricFacts, Survey

_BOOKKEEPING = re.compile(
    r"^(num|n|inference|training|finish_reason|batch|max|predicted|prompt|estimated)_|logprob|perplexity|bits_per|"
    r"runtime|latency|duration|tokens|truncated|cost$|time$|length$"
)


def model_from_fields(found: Survey) -> str | None:
    """The fields that name apart what the logs call by one name, as an option; None if nothing differs."""
    if not found.differing:
        return None
    fields = "+".join(dict.fromkeys(each.field for each in found.differing))
    several = len({model for file in found.files for model in file.models}) > 1
    return shlex.quote(f"model+{fields}" if several else fields)


def next_command(found: Survey, sources: Sequence[str], given: Sequence[str]) -> str:
    """The next command: certify if the scores can be read, else inspect-scores with the missing choices."""
    options = _without_replaced(given, found)
    command = "inspect-scores"
    fields = model_from_fields(found)
    if found.scores is not None and fields is not None and len(found.scores.models) == 1:
        # As it is there is nothing to compare; what the arguments name apart may be.
        return " ".join(["bbedge", command, *map(shlex.quote, (*sources, *options)), "--model-from", fields])
    if found.scores is not None:
        command = "certify" if len(found.scores.models) > 1 else "diagnose"
    elif found.remedy is not None:
        command = "diagnose" if _has_one_model(found) else "certify"
        options += ["--incomplete", "zero" if command == "diagnose" else found.remedy]
    options += [word for argument in found.proposal for word in argument.words]
    if found.to_choose:
        if "--metric" not in options:
            options += [part for name in _metrics(found) for part in ("--metric", name)]
        if "--filter" not in options:
            options += [part for name in _filters(found) for part in ("--filter", name)]
    if found.scores is None and not {"--score-range", "--metric-range"} & set(options):
        options += _range(found, options)
    return " ".join(["bbedge", command, *map(shlex.quote, sources), *map(shlex.quote, options)])


def _without_replaced(given: Sequence[str], found: Survey) -> list[str]:
    """The options that were given, without those for which the proposal has another value."""
    replaced = {each.words[0] for each in found.proposal if each.name in ("model_from", "replicate_from")}
    options: list[str] = []
    for word, before in zip(given, ("", *given), strict=False):
        if word not in replaced and before not in replaced:
            options.append(word)
    return options


def _range(found: Survey, options: Sequence[str]) -> list[str]:
    """The range of the chosen metrics, as far as the values show it, if they pass the usual one."""
    named = {value for option, value in pairwise(options) if option == "--metric"}
    off = [each for each in found.metrics if each.name in named and each.samples and not each.on_unit_scale]
    if not off:
        return []
    low, high = math.floor(min(each.low for each in off)), math.ceil(max(each.high for each in off))
    return ["--score-range", str(low), str(high)] if low < high else []


def _has_one_model(found: Survey) -> bool:
    """Whether all files are logs of one model, which cannot be certified; the models of tables are not known here."""
    return len({file.models for file in found.files}) == 1 and len(found.files[0].models) == 1


def _metrics(found: Survey) -> list[str]:
    """The fewest metrics that give every task exactly one, as far as that can be done."""
    if len(found.metrics) < 2:
        return []
    chosen: list[MetricFacts] = []
    open_tasks = {task for metric in found.metrics for task in metric.tasks}
    for metric in sorted(ranked_metrics(found), key=lambda each: (_is_bookkeeping(each.name), -len(each.tasks))):
        if metric.on_unit_scale and not metric.lower_is_better and open_tasks.issuperset(metric.tasks):
            chosen.append(metric)
            open_tasks.difference_update(metric.tasks)
    if not chosen:  # no metric is on the usual scale: the next answer is about the range of one
        chosen = [metric for metric in ranked_metrics(found) if not metric.lower_is_better][:1]
    return [metric.name for metric in chosen]


def _filters(found: Survey) -> list[str]:
    if all(len(of_task) < 2 for of_task in found.filters.values()):
        return []
    return list(dict.fromkeys(next(iter(of_task)) for of_task in found.filters.values()))


def ranked_metrics(found: Survey) -> list[MetricFacts]:
    """The metrics, those first that a leaderboard is most likely about."""

    def key(metric: MetricFacts) -> tuple[bool, bool, bool, bool]:
        varied = metric.low < metric.high
        return metric.lower_is_better, not metric.on_unit_scale, _is_bookkeeping(metric.name), not varied

    return sorted(found.metrics, key=key)


def _is_bookkeeping(name: str) -> bool:
    """Whether a metric counts or times something, and is on the unit scale only by accident: num_prompt_tokens."""
    return _BOOKKEEPING.search(name) is not None
