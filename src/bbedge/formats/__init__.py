"""Readers of score tables: files or frames in, complete panels of scores out.

The readers use polars, which is imported on the first call, not with this package.
"""

from bbedge.formats.reading import DataFrameLike, Incomplete, read_scores

__all__ = ["DataFrameLike", "Incomplete", "read_scores"]
