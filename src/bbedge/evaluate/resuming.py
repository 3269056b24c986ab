"""What a journal must hold before a study goes on with it."""

from __future__ import annotations

from collections.abc import Collection

from bbedge.errors import EvaluationError
from bbedge.evaluate.engine import Benchmark
from bbedge.evaluate.journal import Journal, Page
from bbedge.text import quoted, shown_path


def check_usage(journal: Journal, *, replicates: int) -> None:
    """Refuse a journal that knows some of the board's replicates and lacks others: lines were removed at its end."""
    known = {each.replicate for each in journal.finished()}
    missing = [place for place in range(1, replicates + 1) if place not in known]
    if known and missing:
        raise EvaluationError(
            f"{shown_path(journal.folder / 'usage.jsonl')}: replicate {missing[0]} is on the board, but not in this "
            "file. If lines were removed, restore the file from a copy. If another command has added the replicate to "
            "the board, make a new board for the study"
        )


def check_page(page: Page, benchmark: Benchmark, models: Collection[str]) -> None:
    """Refuse finished samples that are not of this benchmark, or are not scored on exactly its items."""
    items = {sample.name: set(sample.items) for sample in benchmark.samples}
    for (model, sample), done in page.done.items():
        if model not in models or set(done.scores) != items.get(sample):
            raise EvaluationError(
                f"{shown_path(page.path)}: {quoted(sample)} of {quoted(model)} has other items than the benchmark; "
                "remove the file to run its replicate again"
            )
