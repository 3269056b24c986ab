"""Logs of evaluation tools: what a reader of them is, and how what it reads becomes a table of scores.

A module in ``readers/tools`` needs what is imported here and nothing else of this folder: ``contract`` says what a
reader gives (runs and samples, recognised from a glimpse), ``fields`` reads values of JSON, ``record_log`` is the
engine of tools whose logs are rows with fields, and ``stated`` compares samples with what a log states about itself. A
reader parses and decides nothing.

The rest decides, for all tools alike: ``table`` chooses metric, filter and blocks, ``runs`` numbers replicates and
looks for what is suspicious, ``naming`` says what models are called and whether all were asked the same questions. To
add a tool, write a reader and list it in ``readers/tools``; nothing here has to change.
"""

from bbedge.readers.logs.contract import (
    Glimpse,
    Log,
    LogRun,
    LogSample,
    Reader,
    Recognition,
    StatedAggregate,
    ToolReader,
    Value,
    open_log,
)
from bbedge.readers.logs.fields import (
    TIME_IN_NAME,
    answer_text,
    array,
    at,
    digest,
    error_text,
    kind_of_error,
    mapping,
    number,
    numbers,
    optional_digest,
    question_digest,
    settings,
    several,
    text,
    whole,
)
from bbedge.readers.logs.record_log import (
    Failed,
    LogRecord,
    Numbering,
    RecordLog,
    Records,
    Row,
    Said,
    SeenLog,
    failed_with,
    holds_no_score,
    joined,
    judged_runs,
    numbered,
    own_judge_notes,
)
from bbedge.readers.logs.stated import (
    SampleTally,
    check_count,
    compared_mean,
    counted_as_failures,
    stated_count,
    stated_means,
    tallied,
    without_empty,
)

__all__ = [
    "TIME_IN_NAME",
    "Failed",
    "Glimpse",
    "Log",
    "LogRecord",
    "LogRun",
    "LogSample",
    "Numbering",
    "Reader",
    "Recognition",
    "RecordLog",
    "Records",
    "Row",
    "Said",
    "SampleTally",
    "SeenLog",
    "StatedAggregate",
    "ToolReader",
    "Value",
    "answer_text",
    "array",
    "at",
    "check_count",
    "compared_mean",
    "counted_as_failures",
    "digest",
    "error_text",
    "failed_with",
    "holds_no_score",
    "joined",
    "judged_runs",
    "kind_of_error",
    "mapping",
    "number",
    "numbered",
    "numbers",
    "open_log",
    "optional_digest",
    "own_judge_notes",
    "question_digest",
    "settings",
    "several",
    "stated_count",
    "stated_means",
    "tallied",
    "text",
    "whole",
    "without_empty",
]
