"""The certified Top-k sets as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bbedge.certificate.certificate import Certificate

MOST_SETS = 30
"""The number of Top-k sets that are listed; there is one for every certified cut."""
MOST_MEMBERS = 40
"""The number of members of a Top-k set that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopSet:
    """A certified Top-k set."""

    k: int
    """Its size."""
    before: int
    """The size of the next smaller one, all of whose members it has; 0 if there is none."""
    members: tuple[str, ...]
    """Those that it has beyond that one, as far as they are named."""
    more: int
    """How many are not named."""


def top_sets(certificate: Certificate) -> Iterator[TopSet]:
    """Every certified set, smallest first."""
    done = 0
    for tier in certificate.ranks.tiers[:-1]:
        names = [certificate.labels[i] for i in sorted(tier)]
        yield TopSet(
            k=done + len(names),
            before=done,
            members=tuple(names[:MOST_MEMBERS]),
            more=len(names[MOST_MEMBERS:]),
        )
        done += len(names)
