"""HELM: ``per_instance_stats.json`` with ``run_spec.json`` beside it.

A trial draws the examples of the prompt again; it counts as a repetition, which is right only if that draw belongs to
what is evaluated. Rows of perturbed instances are left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.logs.contract import Glimpse, Log, Recognition, Run, Sample, Value
from bbedge.readers.logs.fields import mapping, number, settings, text
from bbedge.readers.logs.files import JsonStream, document
from bbedge.readers.opening import opened
from bbedge.text import quoted, shown_path

_BESIDE = frozenset(["run_spec.json", "scenario.json", "scenario_state.json", "stats.json", "instances.json"])
_UNPERTURBED = "unperturbed"
_MODEL = re.compile(r"(?<=[:,])model(?:_deployment)?=[^,]*,?")


class Helm:
    """Reads statistics of HELM 0.5."""

    name = "helm"
    title = "HELM"

    def recognises(self, glimpse: Glimpse) -> Recognition:
        """By the keys of the first row, or by the names of the files beside it."""
        if glimpse.has("instance_id", "stats"):
            return "samples"
        named = glimpse.name in _BESIDE or glimpse.name.startswith("display_")
        return "beside" if named and (Path(glimpse.path).parent / "per_instance_stats.json").exists() else "no"

    def open(self, path: str) -> Log:
        """Open the statistics and read the run's specification beside them."""
        spec = Path(path).parent / "run_spec.json"
        found = spec.is_file()
        run = _run(document(str(spec)) if found else {})
        notes = () if found else (f"{shown_path(path)} has no run_spec.json beside it, which would name the model.",)
        return Log(
            runs=(run,),
            samples=lambda: _samples(path, run),
            usual_filter=_UNPERTURBED,
            beside=(str(spec),) if found else (),
            notes=notes,
        )


def _run(spec: Mapping[str, Any]) -> Run:
    adapter = mapping(spec.get("adapter_spec"))
    task = _MODEL.sub("", text(spec.get("name")) or "").rstrip(":,")
    return Run(
        model=text(adapter.get("model")) or text(adapter.get("model_deployment")),
        task=task,
        protocol=settings(
            {
                "adaptation": adapter.get("method"),
                "most examples in the prompt": adapter.get("max_train_instances"),
                "most instances": adapter.get("max_eval_instances"),
                "instructions": adapter.get("instructions"),
            }
        ),
        sampling=settings({name: adapter.get(name) for name in ("temperature", "max_tokens", "num_outputs")}),
        fields={"run_spec": spec},
    )


def _samples(path: str, run: Run) -> Iterator[Sample]:
    prefix = f"{run.task}/" if run.task else ""
    with opened(path) as file:
        stream = JsonStream(file, shown_path(path))
        for place, row in enumerate(stream.elements(), start=1):
            where = f"{shown_path(path)}: sample {place}"
            if not isinstance(row, dict) or text(row.get("instance_id")) is None:
                raise FormatError(f"{where}: no instance_id; expected a row of HELM")
            perturbation = mapping(row.get("perturbation")).get("name")
            yield Sample(
                run=run,
                item=f"{prefix}{text(row['instance_id'])}",
                scores=_stats(row.get("stats"), where),
                place=place,
                repeat=text(row.get("train_trial_index")),
                filter=f"perturbed by {text(perturbation)}" if perturbation else _UNPERTURBED,
            )
        stream.end()


def _stats(found: object, where: str) -> dict[str, Value]:
    scores: dict[str, Value] = {}
    for stat in found if isinstance(found, list) else []:
        stat_name = mapping(mapping(stat).get("name"))
        name = text(stat_name.get("name"))
        if name is None:
            raise FormatError(f"{where}: a statistic without a name; expected a row of HELM")
        if name in scores:
            raise FormatError(f"{where}: two statistics are named {quoted(name)}; expected one of each per row")
        count = number(stat.get("count"))
        # A statistic over several values would be an average; over none it is nothing.
        if count == 1:
            scores[name] = number(stat.get("mean"))
        elif count == 0:
            scores[name] = None
    return scores
