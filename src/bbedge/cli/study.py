"""``bbedge study``: the experiments, run, resumed and shown."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bbedge._version import __version__
from bbedge.cli.output import results_console
from bbedge.errors import DataError, DomainError, FormatError
from bbedge.files import write_whole
from bbedge.text import shown_path
from bbedge.workers import Crew

if TYPE_CHECKING:
    from bbedge.display.study import Made
    from bbedge.study.results import StudyResults
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

    table = Table(box=None, pad_edge=False)
    for heading in ("study", "about", "reproduces", "results"):
        table.add_column(heading, no_wrap=heading != "reproduces")
    for study in STUDIES.values():
        made = _read_made(out / study.name)
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
    from bbedge.study.experiments import STUDIES
    from bbedge.study.experiments import study as find

    if backend not in ("joblib", "ray"):
        raise DomainError(f"unknown backend {backend!r}; choose joblib or ray")
    if address is not None and backend != "ray":
        raise DomainError("--address needs --backend ray; add it")
    chosen = list(STUDIES.values()) if name == _ALL else [find(name)]
    for study in chosen:
        found = _with_data(study, data or []) if study.needs_data else study
        if data and not any(each.needs_data for each in chosen):
            raise DomainError(f"study {study.name} takes no data; leave out --data")
        _run_one(
            found,
            repetitions=repetitions,
            seed=seed,
            crew=Crew("ray" if backend == "ray" else "joblib", workers=workers, address=address),
            device=device,
            data=tuple(file.name for file in data or []) if study.needs_data else (),
            out=out,
        )


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of the study.", show_default=False)], out: Out = Path("studies")
) -> None:
    """Print the results of a study next to the numbers of the paper."""
    from bbedge.display.study import setting_tables, show_study
    from bbedge.study.experiments import study as find

    study, results = read_results(out / find(name).name)
    made = _made(out / study.name, study)
    show_study(results_console(), study, setting_tables(study, results), made=made.sentence())


def read_results(folder: Path) -> tuple[Study, StudyResults]:
    """The results in a folder that carries the name of a study."""
    from bbedge.study.experiments import study as find
    from bbedge.study.results import StudyResults

    study = find(folder.resolve().name)
    made = _made(folder, study)
    file = folder / "results.csv"
    try:
        return study, StudyResults.from_csv(file.read_text(encoding="utf-8"), repetitions=made.repetitions)
    except OSError as error:
        raise DataError(f"{shown_path(file)}: cannot be read ({error.strerror}); run the study again") from error
    except FormatError as error:
        raise FormatError(f"{shown_path(file)}: {error}") from error


def _made(folder: Path, study: Study) -> Made:
    made = _read_made(folder)
    if made is None:
        raise DataError(f"{shown_path(folder)}: no results of {study.name}; run: bbedge study run {study.name}")
    return made


def _run_one(
    study: Study,
    *,
    repetitions: int,
    seed: int,
    crew: Crew,
    device: str | None,
    data: tuple[str, ...],
    out: Path,
) -> None:
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
    from bbedge.display.study import Made, setting_tables, show_study
    from bbedge.study.monte_carlo import fingerprint, run_study

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
            repetitions=repetitions,
            seed=seed,
            keep=out / _CHUNKS,
            crew=crew,
            device=device,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    made = Made(seed=seed, repetitions=repetitions, version=__version__, fingerprint=fingerprint(study), data=data)
    _write(study, results, made, out)
    show_study(results_console(), study, setting_tables(study, results), made=made.sentence())
    results_console().print(f"\nWritten to {shown_path(out / study.name)}", highlight=False)


def _write(study: Study, results: StudyResults, made: Made, out: Path) -> None:
    """Write the table, the figure, the page and the record of the run; last, the list of studies."""
    from bbedge.display.plotting import save_figure
    from bbedge.display.study import index_page, study_figure, study_page
    from bbedge.study.experiments import STUDIES

    # As they will be read back: the page and the figure then follow from the table alone.
    results = type(results).from_csv(results.to_csv(), repetitions=results.repetitions)
    folder = out / study.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{shown_path(folder)}: cannot create the folder ({error.strerror}); choose another --out"
        ) from error
    write_whole(folder / "results.csv", results.to_csv())
    save_figure(study_figure(study, results), folder / "figure.png", folder / "figure.svg")
    write_whole(folder / "README.md", study_page(study, results, made))
    write_whole(folder / "run.json", json.dumps(asdict(made), indent=1) + "\n")
    records = {each.name: _read_made(out / each.name) for each in STUDIES.values()}
    found = {name: record for name, record in records.items() if record is not None}
    write_whole(out / "README.md", index_page(STUDIES.values(), found))


def _read_made(folder: Path) -> Made | None:
    from bbedge.display.study import Made

    file = folder / "run.json"
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return Made(**(content | {"data": tuple(content["data"])}))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FormatError(f"{shown_path(file)}: not a record of a run ({error}); run the study again") from error


def _with_data(study: Study, files: list[Path]) -> Study:
    from bbedge.readers import read_scores
    from bbedge.study.experiments import same_model

    return same_model.with_data({file.stem: read_scores(file, least_models=1) for file in files}) if files else study
