"""Before the first sample every model is asked one short question, so that what is wrong shows at once.

A wrong address, key or model name would otherwise show only after all retries of the first samples, and a wrong model
name only when it is frozen with the design. The answers are not scored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bbedge.credentials import redacted, secret_values, without_credentials
from bbedge.errors import ReportedError
from bbedge.evaluate.engine import Answered, Checking, Engine, Seeds, Silent
from bbedge.evaluate.events import CheckBegun, CheckEnded, ErrorSeen, StillSilent, Watcher
from bbedge.evaluate.extras import add_extra
from bbedge.evaluate.problem import Problem, Problems, advice, described
from bbedge.evaluate.spec import EvaluationSpec, StudyModel
from bbedge.evaluate.usage import Usage
from bbedge.text import counted, shown_path

_MOST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the short questions have found."""

    usage: Usage = field(default_factory=Usage)
    """What they cost."""
    served: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What servers call their models, of those whose answers state it."""


def preflight(
    study: EvaluationSpec, engine: Engine, models: Sequence[StudyModel], problems: Problems, watch: Watcher
) -> Checked:
    """Ask every model its question; raise if the study would fail in any case.

    It would if a failure lasts until something is changed, or if no model answers at all without the servers saying
    that they are busy or have failed. An engine that cannot ask is left alone.
    """
    if not study.running.preflight or not isinstance(engine, Checking):
        return Checked()
    seeds = Seeds.of("preflight", study.protocol_hash)
    heard = _Heard(problems, watch)
    watch(CheckBegun(models=tuple(model.name for model in models)))
    engine.check(models, lambda name: seeds.seed(model=name, sample="", replicate=0), heard)
    lasting = [problem for problem in heard.failed if problem.lasting]
    if not heard.answered:
        lasting = lasting or [problem for problem in heard.failed if not problem.passing]
    if lasting:
        _stop(study, lasting)
    usage = sum((each.usage for each in heard.answered.values()), Usage())
    watch(
        CheckEnded(answered=tuple(heard.answered), failed=tuple(problem.model for problem in heard.failed), usage=usage)
    )
    served = {name: (each.served,) for name, each in heard.answered.items() if each.served}
    return Checked(usage=usage, served=served)


def preflight_unwatched(study: EvaluationSpec, engine: Engine) -> Checked:
    """The same for all models where no watcher is there to show anything: only the error that stops the study shows."""
    checked = preflight(study, engine, study.models, Problems(), lambda event: None)
    add_extra(study.folder, "check", checked.usage)
    return checked


def _stop(study: EvaluationSpec, found: Sequence[Problem]) -> None:
    lines = [f"  {described(problem)}" for problem in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"  and {len(found) - _MOST} more")
    advised = dict.fromkeys(filter(None, map(advice, found)))
    what = f"{shown_path(study.path)}: {counted(len(found), 'model')} did not answer a short question"
    again = "then run the same command again. To start without these questions, set preflight = false under [run]"
    raise ReportedError(
        f"{what}, so no sample was run:\n"
        + "\n".join(lines)
        + "".join(f"\nTo fix it: {each}." for each in advised)
        + f"\nT{again[1:]}",
        f"{what}, so no sample was run. Fix the {'errors' if len(found) > 1 else 'error'} above, {again}",
    )


class _Heard:
    """Takes what an engine reports about the short questions."""

    def __init__(self, problems: Problems, watch: Watcher) -> None:
        self._problems, self._watch = problems, watch
        self._secrets = secret_values(os.environ)
        self.answered: dict[str, Answered] = {}
        self.failed: list[Problem] = []

    def __call__(self, what: Answered | Silent | Problem) -> None:
        if isinstance(what, Answered):
            self.answered[what.model] = what
        elif isinstance(what, Silent):
            place = None if what.endpoint is None else redacted(without_credentials(what.endpoint), self._secrets)
            self._watch(StillSilent(model=what.model, endpoint=place, seconds=what.seconds))
        else:
            cleaned = what.cleaned(self._secrets)
            self.failed.append(cleaned)
            self._watch(ErrorSeen(problem=cleaned, count=self._problems.add(cleaned)))
