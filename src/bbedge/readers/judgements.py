"""Tables in which every answer was judged several times: a row for each judgement, and the mean is the score."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bbedge.errors import Argument, Blank, DataError, DomainError, FormatError
from bbedge.readers.choices import Choice, Choices
from bbedge.readers.incomplete import IncompletePolicy
from bbedge.readers.limits import Limits
from bbedge.readers.reading import DataFrameLike, read_scores
from bbedge.text import counted, quoted, shown

if TYPE_CHECKING:
    from bbedge.core.scores import JudgedScores, Scores

_PART = re.compile(r"(?:[^\\+]|\\.)+")


def read_judgements(
    *sources: str | os.PathLike[str] | DataFrameLike,
    judgement: str,
    blocks: str | None = None,
    score_range: tuple[float, float] = (0.0, 1.0),
    columns: Mapping[str, str] | None = None,
    incomplete: str | IncompletePolicy = "refuse",
    choices: Choices | None = None,
    least_models: int = 2,
    progress: Callable[[str], None] | None = None,
    limits: Limits | None = None,
) -> JudgedScores:
    """Read tables with a row for every judgement; ``judgement`` is the column that numbers those of one answer.

    The other arguments are those of :func:`read_scores`, which refuses such a table, because a model x item x replicate
    comes more than once in it.

    **Needs:** a replicate column, and every answer judged equally often.
    """
    replicate = (columns or {}).get("replicate", "replicate")
    if choices is not None and choices.replicate_from is not None:
        raise DomainError(
            Argument("judgement", shown(judgement)), " needs a replicate column; leave out ", Choice("replicate_from")
        )
    from bbedge.readers.tables.roles import ColumnError

    try:
        read = read_scores(
            *sources,
            blocks=blocks,
            score_range=score_range,
            columns={**(columns or {}), "replicate": f"{replicate}+{judgement}"},
            incomplete=incomplete,
            choices=choices,
            least_models=least_models,
            progress=progress,
            limits=limits,
        )
    except ColumnError as error:
        if error.role != "replicate":
            raise
        raise FormatError(
            f"there are no columns {quoted(replicate)} and {quoted(judgement)} for the replicate and its judgements; "
            "correct ",
            Argument("judgement", shown(judgement)),
            ", or name the replicate column with ",
            Argument("columns", {"replicate": Blank("NAME")}),
        ) from None
    return _arranged(read, column=replicate)


def _arranged(read: Scores, *, column: str) -> JudgedScores:
    import numpy as np

    from bbedge.core.scores import JudgedScores
    from bbedge.readers.assemble.grid import ordered_replicates
    from bbedge.readers.tables.columns import is_seed

    places: dict[str, list[int]] = {}
    for place, label in enumerate(read.replicates):
        places.setdefault(_parts(label)[0], []).append(place)
    order = ordered_replicates(list(places), are_seeds=is_seed(column), tables="the judgements")
    counts = {label: len(places[label]) for label in order}
    most = max(counts.values())
    fewer = next((label for label in order if counts[label] < most), None)
    if fewer is not None:
        raise DataError(
            f"replicate {quoted(fewer)} has {counted(counts[fewer], 'judgement')} of each answer, and another one has "
            f"{most}; every answer must be judged equally often: leave the further judgements out, or add those that "
            "are missing"
        )
    judgements = np.stack([read.values[places[label]] for label in order])
    scores = replace(
        read,
        replicates=tuple(order),
        values=judgements.mean(axis=1),
        # What was noticed about copies is about judgements; copies of replicates are looked for anew.
        notes=tuple(note for note in read.notes if note.kind not in ("copies", "repeats")),
        seen=None,
    )
    return JudgedScores(scores=scores, judgements=judgements)


def _parts(label: str) -> list[str]:
    r"""The parts of a name that was made of several columns.

    >>> _parts("1+2"), _parts("a\\+b+2")
    (['1', '2'], ['a+b', '2'])
    """
    return [re.sub(r"\\(.)", r"\1", part) for part in _PART.findall(label)]
