"""Which tests run when: on every push, every night, and one part of the nightly tests with each push."""

from __future__ import annotations

import argparse
import hashlib
import re
from dataclasses import dataclass

import pytest

LONG = 2.0
"""Seconds from which on a test is nightly, unless ``every_push`` gives a reason."""


@dataclass(frozen=True)
class Share:
    """One of several parts of the tests. A test keeps its part when others come and go."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Share:
        """Read K/N.

        Raises:
            argparse.ArgumentTypeError: If K is not one of 1 to N.
        """
        parts = re.fullmatch(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})", text)
        if not parts or int(parts[1]) > int(parts[2]):
            raise argparse.ArgumentTypeError(f"{text!r} is no share; write K/N with K from 1 to N, such as 3/7")
        return cls(int(parts[1]), int(parts[2]))

    def __contains__(self, name: str) -> bool:
        """Whether the test with this node id is in this share."""
        digest = hashlib.md5(name.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        return int(digest, 16) % self.of == self.number - 1


def complaint(marks: list[pytest.Mark]) -> str | None:
    """What is wrong with the tier of a test, or None."""
    kept = [mark for mark in marks if mark.name == "every_push"]
    if any(len(mark.args) != 1 or not str(mark.args[0]).strip() or mark.kwargs for mark in kept):
        return 'give one reason: @pytest.mark.every_push("reason")'
    if kept and any(mark.name == "nightly" for mark in marks):
        return "a test is nightly or runs on every push, not both"
    return None
