"""What a study has spent, from its journal, beside its whole budget and beside a complete first pass."""

from __future__ import annotations

from collections.abc import Sequence

from bbedge.evaluate.engine import Benchmark, Sample
from bbedge.evaluate.extras import extra_usage
from bbedge.evaluate.journal import Journal, Page
from bbedge.evaluate.spec import EvaluationSpec
from bbedge.evaluate.usage import PassSaving, Replicate, Spent, pass_saving, spent


def spent_so_far(
    study: EvaluationSpec,
    benchmark: Benchmark,
    journal: Journal,
    *,
    replicates: int,
    first: int | None = None,
    first_samples: Sequence[Sample] = (),
) -> Spent:
    """What the journal knows, beside every sample of every model in every replicate of the budget.

    ``first`` is the replicate that is run in parts, if there is one, and ``first_samples`` are its samples.
    """
    finished, per_model = journal.finished(), len(benchmark.samples)
    samples = sum(each.samples for each in finished)
    unfinished = {}
    for place in journal.pages():
        page = journal.page(place)
        unfinished[place] = _in_progress(page, benchmark)
        samples += len(page.done)
        page.close()
    more = max(0, len(first_samples) - per_model)  # a sample that was run in parts is one for each part
    return spent(
        finished,
        models=study.names,
        replicates=replicates,
        samples=samples,
        full_samples=(per_model * study.budget + more) * len(study.names),
        budget=study.budget,
        prices=study.prices,
        unfinished=unfinished.values(),
        inside=None if first is None else unfinished.get(first),
        checks=extra_usage(journal.folder, "check"),
        pilot=extra_usage(journal.folder, "pilot"),
    )


def first_pass_saving(
    study: EvaluationSpec, benchmark: Benchmark, journal: Journal, *, first: int
) -> PassSaving | None:
    """What looks inside the first pass saved, now that the pass is over; ``None`` if its usage is not known."""
    found: Replicate | None = next((each for each in journal.finished() if each.replicate == first), None)
    if found is None and first in journal.pages():
        page = journal.page(first)
        found = _in_progress(page, benchmark)
        page.close()
    if found is None:
        return None
    return pass_saving(found, models=study.names, items=len(benchmark.items), prices=study.prices)


def _in_progress(page: Page, benchmark: Benchmark) -> Replicate:
    return Replicate(
        usage=page.usage(),
        wasted=page.wasted,
        lost=sum(page.lost.values()),
        shares=page.shares(len(benchmark.items)),
    )
