"""``bbedge figure``: figures and a table for a paper, the graph for other programs, a badge for a README."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge.cli.options import Only, PlainReading, Without, grouped, read
from bbedge.cli.output import Source, open_certificate, say
from bbedge.errors import DomainError
from bbedge.files import write_whole
from bbedge.records.output import Canvas, Selection
from bbedge.text import shown_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Figures (PNG, SVG, PDF) and a LaTeX table for a paper, the graph for other programs, a badge for a README.",
)

Outs = Annotated[
    list[Path],
    typer.Argument(metavar="OUT...", help="Files to write; the file extension selects the format.", show_default=False),
]

_OF_LOGS = ("format", "metric", "filter", "model_name", "replicate_from", "model_from")
PICTURES = (".png", ".svg", ".pdf")


@app.command()
@grouped
def graph(source: Source, out: Outs, selection: Selection, canvas: Canvas) -> None:
    """Draw the certified graph, or export it.

    .png, .svg and .pdf are figures; .dot, .graphml, .mmd (Mermaid) and .csv are exports for other programs.

    [cyan]bbedge figure graph certificate.json graph.pdf graph.dot[/cyan]
    """
    from bbedge.certificate.exports import EXPORTS
    from bbedge.display.figures import graph_figure

    _check(out, (*PICTURES, *EXPORTS))
    certificate, _ = open_certificate(source, selection)
    for path in out:
        if path.suffix.lower() in EXPORTS:
            write_whole(path, EXPORTS[path.suffix.lower()](certificate))
    pictures = [path for path in out if path.suffix.lower() in PICTURES]
    save(lambda: graph_figure(certificate), pictures, canvas)
    _print_written(out)


@app.command()
@grouped
def ranks(source: Source, out: Outs, selection: Selection, canvas: Canvas) -> None:
    """Draw the rank interval of every model, with the certified cuts."""
    from bbedge.display.figures import rank_figure

    _draw(out, lambda: rank_figure(open_certificate(source, selection)[0]), canvas)


@app.command()
@grouped
def hero(source: Source, out: Outs, selection: Selection, canvas: Annotated[Canvas, Only("title")]) -> None:
    """Draw a picture for a README or a link: how many are best by the means, and how many could be.

    It has 1200 x 630 pixels, as services show pictures of links. --title is the line above.

    [cyan]bbedge figure hero certificate.json hero.png --title "Who is best at GSM8K?"[/cyan]
    """
    from bbedge.display.hero import CANVAS, hero_figure

    _draw(out, lambda: hero_figure(open_certificate(source, selection)[0], title=canvas.title), CANVAS)


@app.command()
@grouped
def views(source: Source, out: Outs, selection: Annotated[Selection, Without("view")], canvas: Canvas) -> None:
    """Draw the rank interval of every model in every view.

    [cyan]bbedge figure views certificate.json views.pdf[/cyan]
    """
    from bbedge.display.figures import views_figure

    _draw(out, lambda: views_figure(open_certificate(source, selection)[0]), canvas)


@app.command()
@grouped
def evidence(source: Source, out: Outs, selection: Selection, canvas: Canvas) -> None:
    """Draw the evidence of every pair against the threshold, after each replicate."""
    from bbedge.display.figures import evidence_figure

    _draw(out, lambda: evidence_figure(open_certificate(source, selection)[0]), canvas)


@app.command()
@grouped
def stability(
    scores: Annotated[Path, typer.Argument(metavar="SCORES", help="A score table, as for certify.")],
    out: Outs,
    reading: Annotated[
        PlainReading,
        Without(
            "blocks", "format", "metric", "filter", "model_name", "replicate_from", "model_from", "skip", "max_size"
        ),
    ],
    canvas: Canvas,
) -> None:
    """Draw the rank of every model in each single replicate."""
    from bbedge.display.figures import stability_figure

    def draw() -> Figure:
        table = read([scores], reading)
        return stability_figure(table.values.mean(axis=2), table.models, table.replicates)

    _draw(out, draw, canvas)


@app.command()
@grouped
def power(
    study: Annotated[
        Path,
        typer.Argument(metavar="STUDY", help="A folder that bbedge study run wrote, for example studies/power."),
    ],
    out: Outs,
    canvas: Canvas,
) -> None:
    """Draw the curves of a study over replicates: error, power and its other metrics.

    [cyan]bbedge figure power studies/power power.pdf[/cyan]
    """
    from bbedge.display.study import study_figure
    from bbedge.study.experiments import study as find
    from bbedge.study.results import read_results

    found = find(study.resolve().name)
    _draw(out, lambda: study_figure(found, read_results(study, found)[0], width=canvas.width), canvas)


@app.command()
@grouped
def table(
    source: Source,
    out: Annotated[Path, typer.Argument(metavar="OUT.tex", help="The file to write.", show_default=False)],
    selection: Selection,
) -> None:
    """Write the leaderboard as a LaTeX table, for the package booktabs.

    [cyan]bbedge figure table certificate.json leaderboard.tex[/cyan]
    """
    _check([out], (".tex",))
    certificate, _ = open_certificate(source, selection)
    write_whole(out, certificate.to_latex())
    _print_written([out])


@app.command()
@grouped
def badge(
    source: Source,
    out: Annotated[Path, typer.Argument(metavar="OUT.svg", help="The file to write.", show_default=False)],
    *,
    model: Annotated[str, typer.Option(help="The model whose rank the badge shows.", show_default=False)],
    label: Annotated[str | None, typer.Option(help="Text before the rank. Default: the name of the model.")] = None,
    selection: Selection,
) -> None:
    """Make a badge for a README: certified #1-2 of 10.

    [cyan]bbedge figure badge certificate.json badge.svg --model ours[/cyan]
    """
    from bbedge.display.compact import badge as draw

    _check([out], (".svg",))
    certificate, _ = open_certificate(source, selection)
    write_whole(out, draw(certificate, model, label=label))
    _print_written([out])


def save(draw: Callable[[], Figure], out: Sequence[Path], canvas: Canvas | None = None) -> None:
    """Draw in the house style and write every file whole or not at all."""
    from bbedge.display.plotting import house_style, save_figure

    if not out:
        return
    with house_style():
        save_figure(draw(), *out, canvas=canvas)


def _draw(out: Sequence[Path], draw: Callable[[], Figure], canvas: Canvas) -> None:
    _check(out, PICTURES)
    save(draw, out, canvas)
    _print_written(out)


def _check(out: Sequence[Path], endings: Sequence[str]) -> None:
    allowed = endings[0] if len(endings) == 1 else f"one of {', '.join(endings)}"
    for path in out:
        if path.suffix.lower() not in endings:
            raise DomainError(f"{shown_path(path)}: use a file name that ends with {allowed}")


def _print_written(out: Sequence[Path]) -> None:
    say(f"Written: {', '.join(shown_path(path) for path in out)}")
