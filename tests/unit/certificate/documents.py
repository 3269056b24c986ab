"""Certificates to try things on."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.document import certificate, read_document, to_json
from bbedge.certificate.parts import Parts
from bbedge.core.design import Design
from bbedge.core.eholm import log_threshold
from bbedge.core.graph import Graph
from bbedge.core.leaderboard import Leaderboard, LookCount, run
from bbedge.core.scores import Scores
from bbedge.core.views import category_weights
from bbedge.records.certificate import Document
from bbedge.records.schema import schema as record_schema
from bbedge.verify.consistency import check_consistency


def schema() -> Any:
    """The JSON Schema of certificates."""
    return record_schema(Document, "bbedge certificate")


def checked(content: dict[str, Any], **options: Any) -> Certificate:
    """A certificate that agrees with itself; another one is refused."""
    source = options.get("source", "certificate")
    check_consistency(Parts.of(read_document(content, source=source), source=source))
    return Certificate.of(content, **options)


LOOK_BY_LOOK = {"method": "bb-edge", "evidence": "betting", "stakes": "design"}
"""The evidence and stakes of bb-edge-x, shown look by look."""


def drawn(means: list[float], *, names: list[str] | None = None, items: int = 80, replicates: int = 3) -> Scores:
    """Right or wrong answers with these probabilities, best model first if the means fall."""
    rng = np.random.default_rng(17)
    values = (rng.random((replicates, len(means), items)) < np.array(means)[None, :, None]).astype(float)
    return Scores.of(
        values, models=names or [f"m{i:02}" for i in range(len(means))], items=[f"q{i}" for i in range(items)]
    )


def certified(scores: Scores, **options: object) -> Leaderboard:
    """By a method whose last look may certify less than stands, unless another is named."""
    chosen = options if "method" in options else LOOK_BY_LOOK | options
    return run(scores.design(**chosen), scores.panels())


def document(means: list[float], *, names: list[str] | None = None, replicates: int = 3, **options: object) -> dict:
    return json.loads(to_json(certificate(certified(drawn(means, names=names, replicates=replicates), **options))))


def looked(replicates: int, graph: Graph) -> tuple[LookCount, ...]:
    """So many looks at which the same was certified."""
    return tuple(
        LookCount(replicate=r, edges=graph.n_edges, resolved_pairs=graph.n_resolved) for r in range(1, replicates + 1)
    )


def many(size: int, *, certified: float = 0.9, seed: int = 3) -> Leaderboard:
    """A leaderboard of many models without the work of its evidence; what stands is a little more than is current."""
    rng = np.random.default_rng(seed)
    means = rng.random(size)
    difference = means[:, None] - means
    noise = rng.random((size, size)) * 0.02
    width = 1.0 - certified**0.5
    stands, current = difference - noise > width, difference - noise > width + 0.01
    log_e = np.where(current, 30.0, np.minimum(8.0, 20.0 * difference))
    lower = difference - width
    for matrix in (log_e, lower):
        np.fill_diagonal(matrix, np.nan)
    design = Design.make([f"m{i:04}" for i in range(size)], ["q1", "q2"], method="bb-edge")
    thresholds = np.where(np.isnan(log_e), np.nan, log_threshold(log_e, design.alpha))
    graph = Graph(stands)
    return Leaderboard(
        design=design,
        replicates=5,
        means=means,
        log_e=log_e,
        log_thresholds=thresholds,
        lower_bounds=lower,
        graph=graph,
        current_edges=current,
        first_certified=stands.astype(np.int64),
        looks=looked(5, graph),
    )


def parted() -> Scores:
    """Scores of five models after which two edges stand that the last look alone would not certify."""
    rng = np.random.default_rng(77)
    values = (rng.random((7, 5, 40)) < np.array([0.75, 0.62, 0.6, 0.45, 0.3])[None, :, None]).astype(float)
    return Scores.of(values, models=list("abcde"), items=[f"q{i}" for i in range(40)])


def parted_as_published() -> Scores:
    """The same for the published method: an edge stands that the last look alone would not certify."""
    rng = np.random.default_rng(210)
    values = (rng.random((9, 5, 60)) < np.array([0.8, 0.64, 0.6, 0.42, 0.25])[None, :, None]).astype(float)
    return Scores.of(values, models=list("abcde"), items=[f"q{i}" for i in range(60)])


def circular() -> Leaderboard:
    """Three models certified in a circle, above a fourth: what cannot be unless an assumption is broken."""
    design = Design.make(["a", "b", "c", "d"], ["q1", "q2"], method="bb-edge")
    edges = np.zeros((4, 4), dtype=np.bool_)
    edges[[0, 1, 2, 0, 1, 2], [1, 2, 0, 3, 3, 3]] = True
    log_e, lower = np.where(edges, 30.0, 0.0), np.full((4, 4), -0.5)
    for matrix in (log_e, lower):
        np.fill_diagonal(matrix, np.nan)
    graph = Graph(edges)
    return Leaderboard(
        design=design,
        replicates=2,
        means=np.array([0.6, 0.5, 0.4, 0.3]),
        log_e=log_e,
        log_thresholds=np.where(np.isnan(log_e), np.nan, log_threshold(log_e, design.alpha)),
        lower_bounds=lower,
        graph=graph,
        current_edges=edges,
        first_certified=edges.astype(np.int64),
        looks=looked(2, graph),
    )


def suite(
    names: tuple[str, ...] = ("code", "math"), *, models: int = 5, items: int = 40, seed: int = 5, **options: object
) -> Leaderboard:
    """A leaderboard with a view for each name, whose items they are; models do not rank alike in all of them."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.85, 0.25, models)
    chance = np.concatenate([np.tile(rng.permutation(skill)[:, None], items) for _ in names], axis=1)
    chance = 0.6 * np.tile(skill[:, None], chance.shape[1]) + 0.4 * chance
    values = (rng.random((4, *chance.shape)) < chance).astype(float)
    labels = [name for name in names for _ in range(items)]
    scores = Scores.of(
        values, models=[f"m{i:02}" for i in range(models)], items=[f"q{i}" for i in range(chance.shape[1])]
    )
    return run(scores.design(views=category_weights(labels), **options), scores.panels())
