"""What the journal shows that readers of the board should know: requests without seeds, answers that repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bbedge.errors import CopiedReplicateError, EvaluationError
from bbedge.evaluate.journal import Journal, Page
from bbedge.text import shown

_MANY = 8  # samples whose answers must repeat before it is worth a note ...
_LONG = 40  # ... and their mean length: the same letter or number twice is a coincidence

LOST_PARTS: Final = (
    "The journal has lost samples of the first pass that are on the board. Their scores are those on the board, and "
    "what they cost is not known."
)
"""The note of a study whose journal :func:`bbedge.evaluate.frozen.lacks_parts`."""


def unseeded(page: Page) -> list[str]:
    """A note for every model that was asked without a seed."""
    return [
        f"Requests to {shown(model)} carry no seed, because its provider takes none: that its answers differ "
        "between replicates as independent ones do rests on the provider."
        for model in dict.fromkeys(name for done in page.done.values() for name in done.unseeded)
    ]


def set_back(journal: Journal, place: int) -> list[str]:
    """A note for every replicate from this place on that the journal has and the board lacks.

    Those that were run for a board with another order are lacking, too.
    """
    lacking = {each.replicate for each in journal.finished() if each.replicate >= place} | journal.of_other_orders()
    return [
        f"The journal has replicate {replicate}, which the board lacks: the board is an older copy or was made anew. "
        "The replicate is run again, although its scores had been seen."
        for replicate in sorted(lacking)
    ]


def repeated_answers(journal: Journal, page: Page, traces: Mapping[str, str], *, samples: int) -> list[str]:
    """A note for every model that answered all of so many samples as in an earlier replicate."""
    earlier, notes = [each for each in journal.finished() if each.replicate < page.replicate], []
    for model, trace in traces.items():
        same = [each.replicate for each in earlier if each.traces.get(model) == trace]
        length = sum(done.length for (name, _), done in page.done.items() if name == model)
        if same and samples >= _MANY and length >= _LONG * samples:
            notes.append(
                f"{shown(model)} answered everything in replicate {page.replicate} word for word as in replicate "
                f"{same[0]}: it decodes greedily, or its server caches or ignores seeds."
            )
    return notes


def is_fresh(journal: Journal, page: Page, traces: Mapping[str, str]) -> bool:
    """Whether the answers show that the replicate was run anew, so that equal scores are a coincidence.

    Where the answers of an earlier one are not known, as those of a run in parts or those of a journal that was lost,
    they show nothing.
    """
    earlier = [each for each in journal.finished() if each.replicate < page.replicate]
    if not traces or len({each.replicate for each in earlier}) < page.replicate - 1:
        return False
    return not any(all(each.traces.get(model, trace) == trace for model, trace in traces.items()) for each in earlier)


def repeated(place: int, error: CopiedReplicateError) -> EvaluationError:
    """What stops a study whose replicate, or the part of it that was run, has the scores of an earlier one."""
    return EvaluationError(
        f"replicate {place} repeats an earlier one. {error.what} Likely causes: greedy decoding, a cache, or a "
        "server that ignores seeds. Remove the cause before the next study. To count this replicate and all "
        'like it, set copies = "allow" under [run] and run the same command again; the board states it. Until '
        "then the replicate stays in the journal"
    )
