"""Readers of score tables: files or frames in, complete panels of scores out.

The readers use polars, which is imported on the first call, not with this package.
"""

from bbedge.formats.items import Items, read_items
from bbedge.formats.reading import DataFrameLike, Incomplete, read_scores

__all__ = ["DataFrameLike", "Incomplete", "Items", "read_items", "read_scores"]
