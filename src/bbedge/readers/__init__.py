"""Readers of score tables and logs: files or frames in, complete panels of scores out.

``read_scores`` is the whole way, with the options that ``choices`` and ``metrics`` apply. ``sources`` finds files,
``opening`` and ``json_files`` open them within ``limits``, ``lists`` reads lists of items and models. ``tables`` and
``logs`` read what is there, each of ``tools`` the logs of one tool or family, and ``assemble`` makes panels of both.
``survey`` says what files hold; ``evidence``, ``decisions`` and ``candidates`` propose how to read them, ``convert``
writes a table. ``checking`` is the contract of readers, for other packages.

What is not read without guessing is refused, with the choice that would decide. Nothing here looks at who wins. polars
takes long to import: modules that use it are imported inside functions.
"""

from bbedge.readers.choices import IncompletePolicy
from bbedge.readers.limits import LimitError
from bbedge.readers.lists import Items, read_items
from bbedge.readers.read_scores import DataFrameLike, read_judgements, read_scores

__all__ = [
    "DataFrameLike",
    "IncompletePolicy",
    "Items",
    "LimitError",
    "read_items",
    "read_judgements",
    "read_scores",
]
