"""Gates in Inspect: the verdict after an eval set, and a rule that ends a task once the verdict is known.

Both use what Inspect offers publicly: ``inspect_ai.hooks`` and ``inspect_ai.util.EarlyStopping``. Inspect imports this
module at every start, so NumPy and the readers are imported only when there is something to decide.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspect_ai.hooks import EvalSetEnd, Hooks, hooks
from inspect_ai.util import EarlyStop

from bbedge.errors import BbedgeError, CopiedReplicateError, DataError, DesignError
from bbedge.integrations import read_policy
from bbedge.text import counted, harmless, listed, quoted

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSpec
    from inspect_ai.scorer import SampleScore

    from bbedge.core.scores import Scores
    from bbedge.gate import Gate, GateReport, Policy

POLICY_VARIABLE = "BBEDGE_GATE_POLICY"
"""The environment variable with the path of the policy that is applied after every eval set."""

_FILE = "file://"


@hooks(name="bbedge_gate", description="Prints the verdict of a policy after an eval set.")
class GateHook(Hooks):
    """Idle unless the environment variable names a policy."""

    def enabled(self) -> bool:
        """Whether a policy is named."""
        return bool(os.environ.get(POLICY_VARIABLE))

    async def on_eval_set_end(self, data: EvalSetEnd) -> None:
        """Print the verdict, or why there is none; an eval set has no exit status that a hook could change."""
        from rich.console import Console

        from bbedge.display.gate import render

        console = Console()
        try:
            report = verdict(os.environ[POLICY_VARIABLE], data.log_dir)
        except BbedgeError as error:
            console.print(harmless(f"bbedge gate: no verdict: {error}"), markup=False, highlight=False)
            return
        console.print(render(report))


def verdict(policy: str | Path | Policy, logs: str | Path) -> GateReport:
    """Apply a policy to the logs in a folder.

    **Needs:** a policy chosen before the scores were seen, and a folder with all runs of the systems that it names.
    """
    from bbedge.gate import gate
    from bbedge.readers import read_scores

    rules = read_policy(policy) if isinstance(policy, str | Path) else policy
    folder = os.fspath(logs).removeprefix(_FILE)
    if "://" in folder:
        raise DataError(f"the logs are at {quoted(folder, None)}; copy them to a folder and use bbedge gate")
    scores = read_scores(folder, item_column=rules.columns, least_models=1)
    if not rules.repeats_are_harmless:
        scores.check_copies("refuse")
    return gate(rules, scores)


@dataclass(slots=True)
class _Progress:
    """What is known of the task that runs."""

    gate: Gate
    prefix: str
    """What the names of items begin with."""
    items: tuple[str, ...]
    scores: dict[int, dict[str, float]] = field(default_factory=dict)
    """The scores of the candidate by epoch and item."""
    panels: list[list[list[float]]] = field(default_factory=list)
    """What the gate has seen: the candidate, then the baseline if there is one."""
    looked: int = 0
    """Complete epochs that the gate has seen, from the first on."""
    report: GateReport | None = None
    admitted: dict[int, bool] = field(default_factory=dict)
    """Whether an epoch runs: decided once, so that no epoch is run in part."""
    off: str | None = None
    """Why the rule stops nothing any more."""


class GateStopping:
    """Ends a task at the end of an epoch once further runs would change nothing of the verdict of a policy.

    That is so when every blocking claim is decided, when the runs contradict each other, or when no look is left.

    For ``Task(early_stopping=...)``. The task evaluates the candidate; the runs of the baseline are in ``baseline``,
    a log or a folder of logs, where the run with index r is compared with epoch r. The gate looks only after epochs
    that are complete, and whether an epoch runs is decided once, when its first sample is about to start: epochs are
    run whole or not at all. Where samples of the next epoch start before the last ones of an epoch have ended, one more
    epoch runs than needed; set ``max_samples`` to at most the number of samples.

    A sample without a score, or with two, and epochs that repeat each other score by score turn the rule off: the task
    then runs all of its epochs.

    **Guarantee:** that of :class:`bbedge.gate.Gate`, which holds at all looks together and so at the one that stops.

    **Needs:** what the gate needs; stopping uses complete epochs alone. The verdict is that of the rule, which
    ``log.results.early_stopping.metadata`` keeps.
    """

    def __init__(
        self, policy: str | Path | Policy, baseline: str | Path | None = None, *, scorer: str | None = None
    ) -> None:
        self._policy = read_policy(policy) if isinstance(policy, str | Path) else policy
        self._scorer = scorer
        self._progress: _Progress | None = None
        if len(self._policy.candidates) != 1 or (self._policy.baseline is None) != (baseline is None):
            raise DesignError(
                f"{self._policy.source}: name one candidate, and give the logs of the baseline if the policy names one"
            )
        self._reference = None if baseline is None else self._read(baseline)

    def _read(self, path: str | Path) -> Scores:
        from bbedge.readers import read_scores

        scores = read_scores(path, item_column=self._policy.columns, metric=self._scorer or (), least_models=1)
        if self._policy.baseline not in scores.models:
            raise DesignError(
                f"{self._policy.source}: the logs have no {quoted(str(self._policy.baseline))}, only "
                f"{listed(scores.models)}"
            )
        if scores.gaps != "refuse" or scores.stops is not None:
            raise DataError("the logs of the baseline lack scores")
        return scores

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Check that the task can be compared with the baseline, before it runs."""
        import numpy as np

        from bbedge.core.scores import Scores
        from bbedge.gate import Gate

        candidate = self._policy.candidates[0]
        if task.model != candidate:
            raise DesignError(
                f"{self._policy.source}: the candidate is {quoted(candidate)}; this task is about {quoted(task.model)}"
            )
        prefix = f"{task.task}/" if task.task else ""  # as the reader of logs names items
        names = tuple(f"{prefix}{sample.id}" for sample in samples)
        reference = self._reference
        if reference is not None:
            strange = sorted(set(names) ^ set(reference.items))
            if strange:
                raise DataError(f"only one of the task and the baseline has {listed(strange)}; use the same samples")
            if epochs > len(reference.replicates):
                runs = counted(len(reference.replicates), "run")
                raise DataError(f"{counted(epochs, 'epoch')} cannot be compared with {runs} of the baseline")
            models = (candidate, str(self._policy.baseline))
            none = np.zeros((0, 2, len(reference.items)))
            scores = replace(reference, models=models, replicates=(), values=none, notes=(), runs=(), seen=None)
        else:
            scores = Scores.of(np.zeros((0, 1, len(names))), models=[candidate], items=names)
        # The candidate and the baseline without any run: names, blocks and columns for the gate.
        self._progress = _Progress(gate=Gate(self._policy, scores), prefix=prefix, items=scores.items)
        return "bbedge gate"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:  # noqa: A002 - Inspect's name
        """Stop the samples of epochs that are not needed."""
        from bbedge.records.gate import awaited

        now = self._progress
        if now is None:
            return None
        report = now.report if now.off is None else None
        is_decided = report is not None and not (report.next_look and awaited(report.results))
        if now.admitted.setdefault(epoch, not is_decided):
            return None
        why = "every blocking claim was decided"
        if now.report is not None and awaited(now.report.results):
            why = "no look at new items is left"
        elif now.report is not None and now.report.contradictions:
            why = "the runs contradict each other"
        return EarlyStop(id=id, epoch=epoch, reason=f"{why} after epoch {now.looked}")

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:  # noqa: A002
        """Take in the scores of a sample, and look if an epoch is complete."""
        now = self._progress
        if now is None or now.off is not None:
            return
        from bbedge.evaluate.engines.inspect_hook import item_scores

        name, seen = f"{now.prefix}{id}", now.scores.setdefault(epoch, {})
        try:
            values = {key: each.score for key, each in scores.items()}
            number = item_scores(name, (name,), values, scorer=self._scorer)[name]
            if name in seen:
                raise DataError(f"sample {quoted(name)} was scored twice in epoch {epoch}")
            seen[name] = number
            self._look(now)
        except (CopiedReplicateError, DataError) as error:
            now.off = str(error)

    def _look(self, now: _Progress) -> None:
        """Hand complete epochs to the gate; one that repeats another may come from a cache, and is no new run."""
        import numpy as np

        from bbedge.core.scores import Scores

        while len(now.scores.get(now.looked + 1, ())) == len(now.items):
            panel = [[now.scores[now.looked + 1][item] for item in now.items]]
            if self._reference is not None:
                row = self._reference.models.index(str(self._policy.baseline))
                panel.append(self._reference.values[now.looked, row].tolist())
            now.panels.append(panel)
            models = ("candidate", "baseline")[: len(panel)]
            if not self._policy.repeats_are_harmless:
                Scores.of(now.panels, models=models, items=now.items).check_copies("refuse")
            now.gate.update(np.array(panel))
            now.looked += 1
            now.report = now.gate.report()

    async def complete_task(self) -> dict[str, Any]:
        """What the log keeps: the verdict, and the report that it comes from."""
        now = self._progress
        if now is None:
            return {}
        found: dict[str, Any] = {"epochs": now.looked}
        if now.off is not None:
            found["off"] = harmless(now.off)
        elif now.report is not None:
            from bbedge.display.gate import sentence

            verdict = sentence(now.report)
            found |= {"release": now.report.release, "verdict": verdict, "report": now.report.to_values()}
        return found
