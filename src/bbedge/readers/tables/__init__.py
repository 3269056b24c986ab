"""Plain tables: one row per score, wide, as CSV, JSON lines, Parquet or a data frame."""
