"""``bbedge diagnose``: whether the assumptions look right."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.options import (
    Blocks,
    Columns,
    Filter,
    IncompletePolicy,
    JsonOut,
    Kind,
    MaxSize,
    Metric,
    ModelName,
    ReplicateFrom,
    ScoreFiles,
    ScoreRange,
    log_choices,
    read_table,
)
from bbedge.cli.progress import output, reading
from bbedge.errors import DataError
from bbedge.files import write_whole
from bbedge.naming import quoted, shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bbedge.core.scores import Scores
    from bbedge.report.diagnosis import Finding, Verdict
    from bbedge.study.diagnostics import BlockDependence, Heterogeneity, RankStability, SplitNull

_ALARM = 0.05


def diagnose(
    scores: ScoreFiles,
    blocks: Blocks = None,
    score_range: ScoreRange = (0.0, 1.0),
    incomplete: IncompletePolicy = "refuse",
    column: Columns = None,
    kind: Kind = None,
    metric: Metric = None,
    filter_: Filter = None,
    model_name: ModelName = None,
    replicate_from: ReplicateFrom = None,
    max_size: MaxSize = None,
    permutations: Annotated[int, typer.Option(min=19, help="Permutations of the test for dependence.")] = 500,
    splits: Annotated[int, typer.Option(min=1, help="Random halves of each model's own runs.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of permutations and splits.")] = 1,
    json_out: JsonOut = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Draw what was found, as SVG files.", show_default=False)
    ] = None,
) -> None:
    """Ask the scores whether the assumptions look right.

    An alarm is a reason to stop and look at how the runs were made. Silence is no proof: independence cannot be seen
    in scores alone.

    [cyan]bbedge diagnose scores.csv --blocks dialogue[/cyan]
    """
    import json

    import numpy as np

    from bbedge.core.blocks import BlockLayout
    from bbedge.report.diagnosis import show_findings
    from bbedge.study.diagnostics import block_dependence, heterogeneity, rank_stability, split_null

    table = read_table(
        scores,
        blocks=blocks,
        score_range=score_range,
        incomplete=incomplete,
        column=column,
        choices=log_choices(kind, metric, filter_, model_name, replicate_from),
        max_size=max_size,
        least_models=1,
    )
    layout = BlockLayout.of(table.blocks)
    rng = np.random.default_rng(seed)
    with reading() as progress:
        progress("permuting blocks over replicates")
        dependence = block_dependence(table.values, table.models, layout, rng=rng, permutations=permutations)
        progress("comparing each model with itself")
        halves = split_null(table, rng=rng, splits=splits)
    findings = [
        _dependence(dependence, len(table.replicates), layout.count),
        _copies(table),
        *_seeds(table),
        _halves(halves, len(table.replicates)),
    ]
    if len(table.models) > 1:
        findings.append(_stability(rank_stability(table.values, table.models)))
        findings.append(_heterogeneity(heterogeneity(table.values, table.models)))
    if figures is not None:
        _draw(figures, table, dependence, halves)
    if json_out is not None:
        content = {
            "seed": seed,
            "permutations": permutations,
            "findings": [asdict(finding) for finding in findings],
            "block_dependence": [asdict(each) for each in dependence],
            "split_null": [asdict(each) for each in halves],
        }
        text = json.dumps(content, ensure_ascii=True, allow_nan=False, indent=1) + "\n"
        if json_out == Path("-"):
            typer.echo(text, nl=False)
        else:
            write_whole(json_out, text)
    show_findings(
        output(to_error=json_out == Path("-")),
        findings,
        title=f"{len(table.models)} models · {len(table.items):,} items in {layout.count:,} blocks · "
        f"{len(table.replicates)} replicates",
    )


def _draw(folder: Path, table: Scores, dependence: Sequence[BlockDependence], halves: Sequence[SplitNull]) -> None:
    """One figure for each question that these scores can be asked."""
    from bbedge.cli.figure import save
    from bbedge.report.diagnosis_figures import dependence_figure, halves_figure, heterogeneity_figure
    from bbedge.report.figures import stability_figure
    from bbedge.study.diagnostics import heterogeneity

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{shown_path(folder)}: cannot be made ({error.strerror}); choose another place") from error
    if dependence:
        ratios, adjusted = [each.ratio for each in dependence], [each.adjusted for each in dependence]
        save(lambda: dependence_figure(table.models, ratios, adjusted), [folder / "block-dependence.svg"])
    if halves:
        certified = [each.certified for each in halves]
        save(lambda: halves_figure(table.models, certified, halves[0].splits), [folder / "split-null.svg"])
    if len(table.models) > 1:
        save(
            lambda: stability_figure(table.values.mean(axis=2), table.models, table.replicates),
            [folder / "rank-stability.svg"],
        )
        closest = heterogeneity(table.values, table.models)[0]
        items = table.values.mean(axis=0)
        a, b = (table.models.index(name) for name in (closest.first, closest.second))
        save(
            lambda: heterogeneity_figure(items[a] - items[b], closest.first, closest.second),
            [folder / "item-heterogeneity.svg"],
        )


def _dependence(results: Sequence[BlockDependence], replicates: int, blocks: int) -> Finding:
    from bbedge.report.diagnosis import Finding

    question = "Do replicate means vary as independent blocks imply?"
    not_shown = "Dependence that is the same in every replicate, or too weak for this many replicates to show."
    if not results:
        return Finding(
            question=question,
            verdict="not possible",
            found=f"{replicates} replicates and {blocks} blocks: at least 3 and 2 are needed.",
            not_shown="Anything about dependence.",
            to_do="Justify the blocks by how the runs were made, or use --blocks one.",
        )
    worst = min(results, key=lambda each: (each.adjusted, each.p_value))
    alarmed = [each.model for each in results if each.adjusted <= _ALARM]
    found = (
        f"The variance of replicate means is {worst.ratio:.2f} times what independent blocks imply for "
        f"{quoted(worst.model)}, the most striking of {len(results)} models (p {worst.p_value:.3g}, "
        f"{worst.adjusted:.3g} after Holm)."
    )
    if alarmed:
        return Finding(
            question=question,
            verdict="alarm",
            found=f"{found} {len(alarmed)} of {len(results)} models show dependence across blocks.",
            not_shown="Where it comes from: a shared cache, one seed for a whole run, a judge with memory, or blocks "
            "that are too small.",
            to_do="Look at how the runs were made; use larger blocks, or --blocks one.",
        )
    return Finding(
        question=question,
        verdict="no alarm",
        found=found,
        not_shown=not_shown,
        to_do="Nothing; the blocks still need a reason in how the runs were made.",
    )


def _copies(table: Scores) -> Finding:
    from bbedge.report.diagnosis import Finding

    about = [note for note in table.notes if note.kind in ("copies", "repeats")]
    return Finding(
        question="Do replicates repeat each other exactly?",
        verdict="alarm" if about else "no alarm",
        found=" ".join(note.text for note in about) or "No model has the same scores in two replicates.",
        not_shown="Copies that were changed a little, or caches that hit only some items.",
        to_do="Run with sampling and without caches; leave repeated runs out." if about else "Nothing.",
    )


def _seeds(table: Scores) -> list[Finding]:
    """What logs tell of seeds; tables tell nothing, and then nothing is said."""
    from bbedge.report.diagnosis import Finding

    about = [note for note in table.notes if note.kind == "seed"]
    if not about:
        return []
    return [
        Finding(
            question="Do runs or items share a seed?",
            verdict="look",
            found=" ".join(note.text for note in about),
            not_shown="Whether the tool used the seed, and whether the provider of the model respected it.",
            to_do="Run without a seed, or with one of its own for every run; or use --blocks one.",
        )
    ]


def _halves(results: Sequence[SplitNull], replicates: int) -> Finding:
    from bbedge.report.diagnosis import Finding

    question = "Is a model ever certified above itself?"
    if not results:
        return Finding(
            question=question,
            verdict="not possible",
            found=f"{replicates} replicates: at least 4 are needed to split them.",
            not_shown="Anything.",
            to_do="Nothing.",
        )
    wrong = [each for each in results if each.certified]
    total, tried = sum(each.certified for each in results), sum(each.splits for each in results)
    names = ", ".join(quoted(each.model) for each in wrong[:5])
    return Finding(
        question=question,
        verdict="alarm" if wrong else "no alarm",
        found=f"{total} of {tried} random splits of a model's own runs gave a certificate"
        + (f": {names}." if wrong else "."),
        not_shown="The error probability: all splits reuse the same runs.",
        to_do="Runs of one model differ more than chance: look for a changed version, prompt or judge between them."
        if wrong
        else "Nothing.",
    )


def _stability(result: RankStability) -> Finding:
    from bbedge.report.diagnosis import Finding

    verdict: Verdict = "not possible" if result.replicates < 2 else "look" if result.differing else "no alarm"
    found = "There is only one replicate."
    if result.replicates > 1:
        found = f"{result.differing} of {result.replicates} single replicates rank the models differently from all."
    if result.reversals:
        a, b, count = result.reversals[0]
        found += f" Most often reversed: {quoted(a)} and {quoted(b)}, in {count}."
    return Finding(
        question="Would a single run have given this ranking?",
        verdict=verdict,
        found=found,
        not_shown="Which of the models that change places is better.",
        to_do="Read rank intervals, not ranks.",
    )


def _heterogeneity(results: Sequence[Heterogeneity]) -> Finding:
    from bbedge.report.diagnosis import Finding

    closest = results[0]
    return Finding(
        question="Do close models differ on the same items?",
        verdict="look" if min(closest.for_first, closest.for_second) else "no alarm",
        found=f"{quoted(closest.first)} and {quoted(closest.second)} are {closest.difference:.4f} apart on the [0, 1] "
        f"scale: the first is ahead on {closest.for_first} items, the second on {closest.for_second}.",
        not_shown="How much of this is noise; with few replicates, most of it.",
        to_do="Do not use methods that treat items as alike (SERPANT, pooled tests); bb-edge does not need that.",
    )
