"""``bbedge study``: the experiments, run, resumed and shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge._version import __version__
from bbedge.cli.output import results_console, say_written
from bbedge.errors import DomainError
from bbedge.files import write_whole
from bbedge.text import shown_path
from bbedge.workers import Crew

if TYPE_CHECKING:
    from bbedge.study.monte_carlo import Made
    from bbedge.study.study import Study

app = typer.Typer(
    no_args_is_help=True,
    help="Run the experiments: every simulation of the paper and our own, next to the published numbers.",
)

Out = Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the results, with one subfolder per study.")]
_CHUNKS = ".chunks"
_ALL = "all"


@app.command("list")
def list_studies(out: Out = Path("studies")) -> None:
    """List the experiments and which of them have results."""
    from rich.table import Table
    from rich.text import Text

    from bbedge.study.experiments import STUDIES
    from bbedge.study.monte_carlo import read_made

    table = Table(box=None, pad_edge=False)
    for heading in ("study", "about", "reproduces", "results"):
        table.add_column(heading, no_wrap=heading != "reproduces")
    for study in STUDIES.values():
        made = read_made(out / study.name)
        done = "" if made is None else f"{made.repetitions} repetitions"
        table.add_row(Text(study.name, style="cyan"), Text(study.title), Text(study.source, style="dim"), done)
    console = results_console()
    console.print(table)
    console.print()
    console.print("bbedge study run NAME runs a study; bbedge study show NAME prints its numbers.", highlight=False)


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="Name of the study, or all.", show_default=False)],
    repetitions: Annotated[int, typer.Option(min=1, help="Repetitions of every setting.")] = 500,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed. Results depend on it alone, not on the number of workers.")
    ] = 1,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of processes. Default: one per core.", show_default=False)
    ] = None,
    backend: Annotated[str, typer.Option(help="joblib (this machine) or ray (a cluster).")] = "joblib",
    address: Annotated[
        str | None,
        typer.Option(
            help="Address of a running Ray cluster, or auto. Default: start one on this machine.", show_default=False
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="Compute the evidence of many repetitions together on a PyTorch device, such as cuda.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="Score table with repeated runs of a real model, for the study same-model. May be repeated.",
            show_default=False,
        ),
    ] = None,
    out: Out = Path("studies"),
) -> None:
    """Run a study, or continue an interrupted one.

    Finished chunks of ten repetitions are saved, so that Ctrl-C or a crash loses only the chunks in progress. At the
    end the table, the figure and the page are written.

    [cyan]bbedge study run power --repetitions 50[/cyan]
    [cyan]bbedge study run all[/cyan]
    """
    from bbedge.readers import read_scores
    from bbedge.study.experiments import STUDIES, comparison
    from bbedge.study.experiments import study as find
    from bbedge.study.monte_carlo import Made, fingerprint

    if backend not in ("joblib", "ray"):
        raise DomainError(f"unknown backend {backend!r}; choose joblib or ray")
    if address is not None and backend != "ray":
        raise DomainError("--address needs --backend ray; add it")
    chosen = list(STUDIES.values()) if name == _ALL else [find(name)]
    for study in chosen:
        if data and not any(each.needs_data for each in chosen):
            raise DomainError(f"study {study.name} takes no data; leave out --data")
        found, files = study, tuple(data or ()) if study.needs_data else ()
        if files:
            found = comparison.with_data({file.stem: read_scores(file, least_models=1) for file in files})
        names, code = tuple(file.name for file in files), fingerprint(found)
        made = Made(seed=seed, repetitions=repetitions, version=__version__, fingerprint=code, data=names)
        crew = Crew("ray" if backend == "ray" else "joblib", workers=workers, address=address)
        _run_one(found, made, crew, device, out)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of the study.", show_default=False)],
    out: Out = Path("studies"),
    html_out: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="OUT.html", help="Write a web page: one file that needs no network.", show_default=False
        ),
    ] = None,
) -> None:
    """Print the results of a study next to the numbers of the paper."""
    from bbedge.display.study import setting_tables, show_study
    from bbedge.study.experiments import study as find
    from bbedge.study.monte_carlo import read_results

    study = find(name)
    results, made = read_results(out / study.name, study)
    if html_out is not None:
        from bbedge.display.page.study import results_page

        write_whole(html_out, results_page(study, results, made))
    console = results_console()
    show_study(console, study, setting_tables(study, results), made=made.sentence())
    say_written(console, page=html_out)


def _run_one(study: Study, made: Made, crew: Crew, device: str | None, out: Path) -> None:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from bbedge.display.plotting import need_matplotlib
    from bbedge.display.study import setting_tables, show_study, write_study
    from bbedge.study.monte_carlo import run_study

    need_matplotlib()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("repetitions ·"),
        TimeElapsedColumn(),
        TextColumn("· left"),
        TimeRemainingColumn(elapsed_when_finished=False),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task(study.name, total=None)
        results = run_study(
            study,
            repetitions=made.repetitions,
            seed=made.seed,
            keep=out / _CHUNKS,
            crew=crew,
            device=device,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    write_study(study, results, made, out)
    show_study(results_console(), study, setting_tables(study, results), made=made.sentence())
    results_console().print(f"\nWritten to {shown_path(out / study.name)}", highlight=False)
