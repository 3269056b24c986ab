"""Before a study begins: a short question to every model, and what the study will cost, from a pilot.

The question shows at once what is wrong. A wrong address, key or model name would otherwise show only after all retries
of the first samples, and a wrong model name only when it is frozen with the design. The answers are not scored.

The pilot is no part of the study. It has seeds of its own, its answers go into a folder of their own, no score of it is
shown, and no board is made or opened: what it found out cannot become evidence or choose a model.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from statistics import stdev
from typing import Any

from msgspec import structs

from bbedge.credentials import redacted, without_credentials
from bbedge.errors import EvaluationError, ReportedError
from bbedge.evaluate.completion import Completion, StudyCall, unwatched
from bbedge.evaluate.engine import Answered, Benchmark, Checking, Engine, Job, RequestSeeds, Sample, StillSilent
from bbedge.evaluate.events import CheckBegun, CheckEnded, LimitReached, PilotBegun, Watcher
from bbedge.evaluate.failures import Problem, advice, described
from bbedge.evaluate.journal import Journal, ReplicateFile
from bbedge.evaluate.journal_file import add_extra, extra_usage
from bbedge.evaluate.specification import EvaluationSpec
from bbedge.evaluate.usage import Reached, cost_of, reached_limit
from bbedge.records.journal import Usage
from bbedge.records.study import StudyModel
from bbedge.text import counted, shown_path

_MOST = 5
_PLACE = 0  # the number of a replicate that no study has
_SURE = 2.0  # standard errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the short questions have found."""

    usage: Usage = field(default_factory=Usage)
    """What they cost."""
    served: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What servers call their models, of those whose answers state it."""


def preflight(call: StudyCall, models: Sequence[StudyModel]) -> Checked:
    """Ask every model its question; raise if the study would fail in any case.

    It would if a failure lasts until something is changed, or if no model answers at all without the servers saying
    that they are busy or have failed. An engine that cannot ask is left alone.
    """
    study, answered, failed = call.study, dict[str, Answered](), list[Problem]()
    if not study.file.run.preflight or not isinstance(call.engine, Checking):
        return Checked()

    def report(what: Answered | StillSilent | Problem) -> None:
        if isinstance(what, Answered):
            answered[what.model] = what
        elif isinstance(what, StillSilent):
            place = None if what.endpoint is None else redacted(without_credentials(what.endpoint), call.secrets)
            call.watch(replace(what, endpoint=place))
        else:
            failed.append(call.report_failure(what))

    seeds = RequestSeeds.from_parts("preflight", study.protocol_hash)
    call.watch(CheckBegun(models=tuple(model.name for model in models)))
    call.engine.check(models, lambda name: seeds.seed(model=name, sample="", replicate=0), report)
    lasting = [problem for problem in failed if problem.lasting]
    if not answered:
        lasting = lasting or [problem for problem in failed if not problem.passing]
    if lasting:
        _stop(study, lasting)
    usage = sum((each.usage for each in answered.values()), Usage())
    call.watch(CheckEnded(answered=tuple(answered), failed=tuple(problem.model for problem in failed), usage=usage))
    return Checked(usage=usage, served={name: (each.served,) for name, each in answered.items() if each.served})


def preflight_unwatched(study: EvaluationSpec, engine: Engine) -> Checked:
    """The same for all models where no watcher is there to show anything: only the error that stops the study shows."""
    checked = preflight(StudyCall(study, engine), study.models)
    add_extra(study.folder, "check", checked.usage)
    return checked


def _stop(study: EvaluationSpec, found: Sequence[Problem]) -> None:
    lines = [f"  {described(problem)}" for problem in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"  and {len(found) - _MOST} more")
    lines += [f"To fix it: {each}." for each in dict.fromkeys(filter(None, map(advice, found)))]
    what = f"{shown_path(study.path)}: {counted(len(found), 'model')} did not answer a short question"
    again = "then run the same command again. To start without these questions, set preflight = false under [run]"
    raise ReportedError(
        "\n".join([f"{what}, so no sample was run:", *lines, f"T{again[1:]}"]),
        f"{what}, so no sample was run. Fix the {'errors' if len(found) > 1 else 'error'} above, {again}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What some part of a study will use, projected from the pilot."""

    requests: int
    """Requests; for a command, items. Without a pilot the least number: one for every sample."""
    tokens: int | None
    """Tokens, in and out; ``None`` if they are not known."""
    tokens_error: int | None
    """Two standard errors of the tokens; ``None`` if they are not known."""
    cost: float | None
    """Money; ``None`` without a pilot, or without all prices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostForecast:
    """What a study will cost."""

    models: Mapping[str, Estimate]
    """One run of each model."""
    one_run: Estimate
    """One run of all models."""
    whole: Estimate
    """The whole budget, if no question is answered early and no model is dropped."""
    budget: int
    """Runs in the budget."""
    samples: int
    """Samples in a run of one model; for a command, items."""
    looks: tuple[int, ...]
    """After how many runs new items are looked at, where the study is about them: it stops at one of these looks."""
    pilot: int
    """Samples of the pilot for each model; 0 if there was none."""
    spent: Usage
    """What this dry run has used, the short questions included."""
    reached: Reached | None = None
    """The limit that has ended the pilot early, if one has."""

    @property
    def content(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "models": {name: asdict(estimate) for name, estimate in self.models.items()},
            "one_pass": asdict(self.one_run),
            "whole_budget": asdict(self.whole),
            "budget": self.budget,
            "samples": self.samples,
            "looks": list(self.looks),
            "pilot": self.pilot,
            "spent": {"requests": self.spent.calls, "tokens": self.spent.total_tokens},
        }


def dry_run(
    study: EvaluationSpec,
    engine: Engine,
    *,
    pilot: int,
    watch: Watcher | None = None,
    interrupted: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], None] = time.sleep,
) -> CostForecast:
    """Project what a study will cost from ``pilot`` samples of every model; from none, the least number of requests.

    Samples of an earlier pilot of the same study are used again.
    """
    call, benchmark = StudyCall(study, engine, watch or unwatched, interrupted, sleep), engine.benchmark()
    is_sampled = study.file.engine == "inspect"  # of other engines the only sample is the whole benchmark
    units = len(benchmark.samples) if is_sampled else len(benchmark.items)
    chosen = _chosen(study, benchmark, pilot) if pilot else []
    if not chosen:
        return _forecast(study, units, {}, Usage())
    # What distinguishes a pilot from others; of the same samples it is the same, whatever the number of them.
    items = () if is_sampled else chosen[0].items
    root = RequestSeeds.from_parts("pilot", study.protocol_hash, benchmark.fingerprint, *items).root
    # The journal of the study is only locked: two commands must not run its programs at the same time.
    with Journal(study.folder, root=""), Journal(study.folder / f"pilot-{root[:12]}", root=root) as journal:
        page, checked, reached = journal.page(_PLACE), Usage(), None
        before = page.total()

        def limit(page: ReplicateFile) -> Reached | None:
            """The limit that is reached by what this dry run and earlier ones have used."""
            used = checked + page.total() - before + extra_usage(study.folder, "check", "pilot")
            return reached_limit(study, used)

        try:
            checked = preflight(call, study.models).usage
            call.watch(PilotBegun(models=study.names, samples=len(chosen) if is_sampled else len(chosen[0].items)))
            waiting = replace(call, study=replace(study, file=structs.replace(study.file, on_error="wait")))
            seeds = RequestSeeds.from_parts("pilot", root)
            reached = Completion(call=waiting, seeds=seeds, page=page, reached=limit).run(
                [Job(model=model, sample=sample) for sample in chosen for model in study.models]
            )
        finally:
            used = page.total() - before
            page.close()
            add_extra(study.folder, "check", checked)
            add_extra(study.folder, "pilot", used)
    if reached is not None:
        call.watch(LimitReached(reached=reached, replicate=_PLACE))
    return replace(_forecast(study, units, _by_model(study, page, chosen), checked + used), reached=reached)


def _chosen(study: EvaluationSpec, benchmark: Benchmark, pilot: int) -> list[Sample]:
    """The samples of the pilot, at random; of a command, whose sample is the whole benchmark, a part of its items."""
    order = RequestSeeds.from_parts("pilot", benchmark.fingerprint)
    if study.file.engine == "inspect":
        names = order.shuffled([sample.name for sample in benchmark.samples], model="", replicate=_PLACE)
        samples = {sample.name: sample for sample in benchmark.samples}
        return [samples[name] for name in names[:pilot]]
    (whole,) = benchmark.samples
    if not whole.is_divisible:
        return []  # it runs all items, whatever it is asked for
    keep = set(order.shuffled(whole.items, model="", replicate=_PLACE)[:pilot])
    return [whole.part([item for item in whole.items if item in keep], name=whole.name)]


def _by_model(study: EvaluationSpec, page: ReplicateFile, chosen: list[Sample]) -> dict[str, list[Usage]]:
    """What each sample of the pilot has used, by model; of a command, what each item has used on average."""
    found: dict[str, list[Usage]] = {}
    for sample, model in product(chosen, study.names):
        done = page.done.get((model, sample.name))
        if done is not None:
            several = len(sample.items) if study.file.engine != "inspect" else 1
            found.setdefault(model, []).extend([done.usage.scaled(1 / several)] * several)
    if found.keys() != set(study.names):
        raise EvaluationError("the pilot ended before every model had a sample; raise the limit that ended it")
    return found


def _forecast(study: EvaluationSpec, units: int, pilot: Mapping[str, list[Usage]], spent: Usage) -> CostForecast:
    def estimate(models: Collection[str], runs: int = 1) -> Estimate:
        if not pilot:
            return Estimate(requests=units * len(models) * runs, tokens=None, tokens_error=None, cost=None)
        one_run = sum((sum(pilot[model], Usage()).scaled(units / len(pilot[model])) for model in models), Usage())
        usage = one_run.scaled(runs)
        # An upper bound: all models and runs have the same items, so that errors do not cancel.
        errors = [_error(pilot[model], units) for model in models]
        known = [error for error in errors if error is not None]
        return Estimate(
            requests=usage.calls,
            tokens=usage.total_tokens if usage.tokens else None,
            tokens_error=round(runs * sum(known)) if usage.tokens and len(known) == len(errors) else None,
            cost=cost_of(usage, study.prices),
        )

    return CostForecast(
        models={name: estimate([name]) for name in study.names},
        one_run=estimate(study.names),
        whole=estimate(study.names, study.file.budget),
        budget=study.file.budget,
        samples=units,
        looks=tuple(study.design.schedule),
        pilot=min((len(each) for each in pilot.values()), default=0),
        spent=spent,
    )


def _error(each: list[Usage], units: int) -> float | None:
    """Two standard errors of the tokens of one run."""
    if len(each) < 2:
        return None
    return _SURE * units * stdev(usage.total_tokens for usage in each) / math.sqrt(len(each))
