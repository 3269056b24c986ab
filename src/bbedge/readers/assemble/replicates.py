"""The order of replicates, and numbers left out of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from bbedge.errors import DataError
from bbedge.readers.assemble.ordering import natural_key, whole_number
from bbedge.text import quoted


def ordered_replicates(labels: Sequence[str], *, are_seeds: bool, tables: str) -> list[str]:
    """The labels in the order in which they are processed: numbers by value, others naturally.

    **Needs:** numbers that count the runs, without a skip, unless they are seeds. A run that was left out after its
    scores were seen makes the remaining ones a biased choice.

    >>> ordered_replicates(["10", "9", "11"], are_seeds=False, tables="a.csv")
    ['9', '10', '11']
    """
    numbers = {label: number for label in labels if (number := whole_number(label)) is not None}
    if len(numbers) < len(labels):
        return sorted(labels, key=natural_key)
    order = sorted(labels, key=lambda label: (numbers[label], label))
    for one, other in pairwise(order):
        if numbers[one] == numbers[other]:
            raise DataError(
                f"{tables}: replicates {quoted(one)} and {quoted(other)} are one number written in two ways; "
                "write it in one way"
            )
    missing = 0 if are_seeds else numbers[order[-1]] - numbers[order[0]] + 1 - len(order)
    if missing:
        skipped = _skipped(sorted(numbers.values()), missing)
        raise DataError(
            f"{tables}: the replicates run from {order[0]} to {order[-1]} but {skipped}; "
            "a run that was left out after its scores were seen breaks the guarantee: add it; or renumber the runs if "
            "none was left out; or, if the numbers are mere labels such as seeds, name the column seed"
        )
    return order


def _skipped(numbers: Sequence[int], missing: int, most: int = 5) -> str:
    first: list[int] = []
    for one, other in pairwise(numbers):
        first.extend(range(one + 1, min(other, one + 1 + most - len(first))))
    names = ", ".join(map(str, first))
    if missing > len(first):
        names += f" and {missing - len(first)} more"
    return f"{names} {'is' if missing == 1 else 'are'} missing"
