"""``bbedge diagnose``: test the assumptions on the scores."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.options import Only, PlainReading, ScoreFiles, as_option, check_complete, grouped, read
from bbedge.cli.output import JsonOut, spinner, write_json
from bbedge.errors import DataError, DomainError
from bbedge.records.options import Options
from bbedge.text import counted, shown_path

if TYPE_CHECKING:
    from bbedge.core.forecast import PairAssumptions
    from bbedge.core.scores import Scores
    from bbedge.diagnostics.assumptions import Diagnosis
    from bbedge.diagnostics.judge_noise import JudgeNoise, NoiseParts


@grouped
def diagnose(
    scores: ScoreFiles,
    *,
    reading: PlainReading,
    permutations: Annotated[
        int, typer.Option(min=19, help="Number of permutations in the test for dependence.")
    ] = 1999,
    splits: Annotated[
        int, typer.Option(min=1, help="Number of random splits of each model's own runs into halves.")
    ] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the permutations and splits.")] = 1,
    order_seed: Annotated[
        int | None,
        typer.Option(
            metavar="SEED",
            min=0,
            help="Seed of the order in which the blocks of the first replicate were run, as stated by a board with "
            "checkpoints and its certificate: tests whether scores depend on the place in that order.",
            show_default=False,
        ),
    ] = None,
    judgement: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column that numbers the judgements of one answer, in tables with a row for every judgement. The "
            "score is their mean, and the noise is split into answers and judge.",
            show_default=False,
        ),
    ] = None,
    judge_cost: Annotated[
        float, typer.Option(metavar="X", help="Cost of one judgement, in units of one answer; needs --judgement.")
    ] = 1.0,
    options: Annotated[Options, Only("target", "of_runs")],
    json_out: JsonOut = None,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write figures of the findings as SVG files.", show_default=False),
    ] = None,
) -> None:
    """Test whether the scores contradict the assumptions.

    After an alarm, stop and check how the runs were made: with independent runs and blocks, the probability of any
    alarm is at most 1 %. The absence of alarms proves nothing: scores alone cannot show independence.

    [cyan]bbedge diagnose scores.csv --blocks dialogue[/cyan]
    """
    import numpy as np

    from bbedge.diagnostics.assumptions import ALARM_LEVEL
    from bbedge.diagnostics.assumptions import diagnose as examine
    from bbedge.diagnostics.constant_items import constant_finding, constant_items
    from bbedge.diagnostics.findings import findings_of
    from bbedge.diagnostics.judge_noise import judge_finding, judge_noise
    from bbedge.display.reports import show_findings
    from bbedge.readers.read_scores import judgements_in

    if judgement is None and judge_cost != 1.0:
        raise DomainError("--judge-cost needs --judgement COLUMN, the column that numbers the judgements of an answer")
    judged = None
    if judgement is None:
        table = read(scores, reading, least_models=1)
    else:
        with spinner() as progress:
            judged = judgements_in(scores, reading, judgement, least_models=1, progress=progress)
        table = judged.scores
        check_complete(table, reading)
    with spinner() as progress:
        progress("permuting blocks, comparing runs")
        diagnosis = examine(
            table,
            rng=np.random.default_rng(seed),
            permutations=permutations,
            splits=splits,
            order_seed=order_seed,
        )
    constant = constant_items(table)
    findings = (*findings_of(diagnosis, table, options=options, write=as_option), constant_finding(constant))
    noise = None if judged is None else judge_noise(judged, cost=judge_cost)
    if judged is not None:
        findings = (*findings, judge_finding(noise, judged))
    if figures is not None:
        _draw(figures, table, diagnosis)
    console = write_json(
        json_out,
        lambda: {
            "seed": seed,
            "permutations": permutations,
            "alarm_level": ALARM_LEVEL,
            "findings": [asdict(finding) for finding in findings],
            **_document(diagnosis, table),
            "constant_items": {**asdict(constant), "share_that_differs": constant.share},
            **({} if judged is None else {"judge_noise": _noise(noise)}),
        },
    )
    show_findings(
        console,
        findings,
        title=f"{counted(len(table.models), 'model')} · {counted(len(table.items), 'item')} in "
        f"{counted(len(set(table.blocks)), 'block')} · {counted(len(table.replicates), 'replicate')}",
    )


def _document(diagnosis: Diagnosis, table: Scores) -> dict[str, object]:
    """The numbers behind the findings."""
    together = [asdict(each) for each in diagnosis.dependence if each.model is None]
    return {
        "block_dependence": [asdict(each) for each in diagnosis.dependence if each.model is not None],
        "block_dependence_together": together[0] if together else None,
        "close_replicates": [
            {**asdict(each), "replicates": [table.replicates[place] for place in each.replicates]}
            for each in diagnosis.close
        ],
        "split_null": [asdict(each) for each in diagnosis.halves],
        "item_variance": None if (parts := diagnosis.variance) is None else _with_between_share(parts),
        **({} if diagnosis.positions is None else {"positions": [asdict(each) for each in diagnosis.positions]}),
    }


def _with_between_share(parts: PairAssumptions) -> dict[str, object]:
    return {**asdict(parts), "between_share": parts.between_share}


def _noise(noise: JudgeNoise | None) -> dict[str, object] | None:
    if noise is None:
        return None
    parts = {"models": [_with_share(each) for each in noise.models], "together": _with_share(noise.together)}
    return {**asdict(noise), **parts, "worth": noise.worth}


def _with_share(parts: NoiseParts) -> dict[str, object]:
    return {**asdict(parts), "judge_share": parts.judge_share}


def _draw(folder: Path, table: Scores, diagnosis: Diagnosis) -> None:
    """Draw one figure for each question that these scores can answer."""
    from math import log

    from bbedge.cli.figure import save
    from bbedge.diagnostics.assumptions import DEPENDENCE_LEVEL, SELF_LEVEL
    from bbedge.display.figures import stability_figure
    from bbedge.display.reports import dependence_figure, halves_figure, heterogeneity_figure

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{shown_path(folder)}: cannot create the folder ({error.strerror}); choose another one"
        ) from error
    of_models = [each for each in diagnosis.dependence if each.model is not None]
    if of_models:
        ratios, adjusted = [each.ratio for each in of_models], [each.adjusted for each in of_models]
        save(
            lambda: dependence_figure(table.models, ratios, adjusted, alarm=DEPENDENCE_LEVEL),
            [folder / "block-dependence.svg"],
        )
    if diagnosis.halves:
        evidence = [each.log_e for each in diagnosis.halves]
        # An alarm is about the average over models; one model alone raises it from here.
        alarm = log(len(evidence) / SELF_LEVEL)
        save(lambda: halves_figure(table.models, evidence, alarm=alarm), [folder / "split-null.svg"])
    if len(table.models) > 1:
        save(
            lambda: stability_figure(table.values.mean(axis=2), table.models, table.replicates),
            [folder / "rank-stability.svg"],
        )
        closest = diagnosis.heterogeneity[0]
        items = table.values.mean(axis=0)
        a, b = (table.models.index(name) for name in (closest.first, closest.second))
        save(
            lambda: heterogeneity_figure(items[a] - items[b], closest.first, closest.second),
            [folder / "item-heterogeneity.svg"],
        )
