"""Readers of score tables and logs: files or frames in, complete panels of scores out.

The readers use polars, which is imported on the first call, not with this package.
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
