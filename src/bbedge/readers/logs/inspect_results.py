"""What the header of an Inspect log states about its samples: how many, their means, and who graded them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bbedge.readers.logs.contract import Run, Stated
from bbedge.readers.logs.fields import mapping, number, text, whole

# Metrics that are a plain mean of the values of the samples.
_MEANS = ("accuracy", "mean")
# Scorers of Inspect that ask a model: the one they name, or that of a role, or else the model that is evaluated.
_GRADING = "model_graded"
_ROLE = "grader"


def stated_by(header: Mapping[str, Any], run: Run, path: str) -> Iterator[Stated]:
    """The number of samples and the means that the results state."""
    results = mapping(header.get("results"))
    total, completed = whole(results.get("total_samples")), whole(results.get("completed_samples"))
    if completed is not None:
        # Samples that failed or were never begun are in the total; of these the log has some, or none.
        exact = total == completed
        yield Stated(where=path, run=run, count=completed if exact else None, least=None if exact else completed)
    scores = results.get("scores")
    if scores is None and "scorer" in results:
        scores = [{**mapping(results["scorer"]), "metrics": results.get("metrics")}]
    found = [mapping(score) for score in scores] if isinstance(scores, list) else []
    for score in found:
        name, scorer = text(score.get("name")), text(score.get("scorer"))
        # Epochs that were reduced in another way than by their mean have another mean.
        if name is None or text(score.get("reducer")) not in (None, "mean"):
            continue
        for metric in _MEANS:
            mean = number(mapping(mapping(score.get("metrics")).get(metric)).get("value"))
            if mean is not None:
                of_scorer = name if scorer in (None, name) else f"{scorer}.{name}"
                yield Stated(where=path, run=run, metric=of_scorer, mean=float(mean))


def graders_of(header: Mapping[str, Any]) -> frozenset[str]:
    """The models that graded the answers, as far as the header says."""
    described = mapping(header.get("eval"))
    model = text(described.get("model"))
    graders: set[str] = set()
    for name, options in _scorers(header):
        own = options.get("model")
        named = [each for each in map(text, own if isinstance(own, list) else [own]) if each]
        if not named and name.rpartition("/")[2].startswith(_GRADING) and model is not None:
            role = text(options.get("model_role")) or _ROLE
            named = _of_role(mapping(described.get("model_roles")).get(role)) or [model]
        graders.update(named)
    return frozenset(graders)


def _scorers(header: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The scorers with their arguments; older logs have them in the results only."""
    results = mapping(header.get("results"))
    for found, key in (
        (mapping(header.get("eval")).get("scorers"), "options"),
        (results.get("scores"), "params"),
        ([results.get("scorer")], "params"),
    ):
        for each in found if isinstance(found, list) else []:
            name = text(mapping(each).get("scorer")) or text(mapping(each).get("name"))
            if name:
                yield name, mapping(mapping(each).get(key))


def _of_role(found: object) -> list[str]:
    parts = found if isinstance(found, list) else [found]
    return [name for part in parts if (name := text(part) or text(mapping(part).get("model")))]
