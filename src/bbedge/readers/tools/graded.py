"""Answers that are right or wrong: specs of EvalPlus, LiveCodeBench, CRUXEval, OpenCompass and MMLU-Pro.

Several answers to one question are repetitions in the order of their generation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path, PurePath

from bbedge.errors import FormatError
from bbedge.readers.choices import without_ending
from bbedge.readers.logs import (
    Failed,
    Glimpse,
    LogRecord,
    LogRun,
    LogSample,
    RecordLog,
    Records,
    Row,
    SeenLog,
    ToolReader,
    Value,
    array,
    at,
    compared_mean,
    digest,
    first_value,
    mapping,
    number,
    optional_digest,
    question_digest,
    settings,
    tallied,
    text,
)
from bbedge.text import counted, quoted

# EvalPlus names its files after the model, the backend and the temperature, the others after what they wrote.
_NAME = re.compile(
    r"(?P<model>.+)_(?P<backend>[a-z0-9-]+)_temp_(?P<temperature>\d+(?:\.\d+)?)"
    r"(?:[-_.]sanitized|\.raw)?[_.]eval_results\.json(?:\.gz)?"
)
_LCB_NAME = re.compile(r"(?:Scenario\.)?(?P<task>[a-z]+)_\d+_(?P<temperature>[\d.]+)(?:_cot)?_eval_all\.json(?:\.gz)?")
_CRUX_NAME = re.compile(r"(?:sample_scored_)?(?P<model>.+)_temp(?P<temperature>[\d.]+)_(?:in|out)put\.json(?:\.gz)?")
_MMLU_NAME = re.compile(r"model_outputs_(?P<model>.+?)(?:_\d+shots?)?\.json(?:\.gz)?")
# Details of answers, by name or in a list, and what they have in common.
_COMPASS_LIST = re.compile(rb'"details":\s*\[')
_COMPASS = re.compile(rb'"details":\s*[{[].*"(references|answer|refr)":', re.DOTALL)
_CRUX_SCORES, _CRUX_ANSWERS = "raw_scored_generations", "raw_generations"
# In 2023 they had other names.
_STATUSES = {"pass": True, "fail": False, "timeout": False, "success": True, "failed": False, "timed out": False}


def _several(record: LogRecord, found: object, *, mean: object = None) -> Iterator[LogRecord]:
    """A record for each grade of a list, numbered, after comparing their mean with the stated one."""
    grades = array(found)
    if not grades or not all(isinstance(grade, bool) for grade in grades):
        raise FormatError(f"{record.at}: the grades are {quoted(repr(found))}; expected a list of true and false")
    stated = number(mean)
    if stated is not None and abs(sum(grades) / len(grades) - stated) > 1e-6:
        raise FormatError(
            f"{record.at}: {sum(grades)} of {counted(len(grades), 'answer')} are right, but the log states "
            f"{stated:.4g}; the file was changed: grade the answers again"
        )
    for copy, grade in enumerate(grades, start=1):
        yield replace(record, found={**record.row, "correct": grade}, copy=copy)


def _notes(
    seen: SeenLog, samples: Callable[[], Iterator[LogSample]], stated: dict[str, object], what: str
) -> Iterator[str]:
    """A note about several answers to one question, and one for each mean that is not the stated one."""
    most = max((int(sample.repeat or 0) for sample in samples()), default=0)
    if most > 1:
        yield (
            f"{seen.records.place}: {most:,} {what} are {most:,} replicates, which is right only if they were drawn "
            "independently of each other."
        )
    for metric, tally in tallied(samples(), *stated).items():
        yield from compared_mean(tally.mean, stated[metric], place=seen.records.place, what=f"of {metric}")


def _has_results(glimpse: Glimpse) -> bool:
    """Whether a file is the results of tasks, of this form or of the one before."""
    if glimpse.has("task_id", "solution") or not glimpse.has("eval") or glimpse.has("version", "status"):
        return False
    first = next(iter(mapping(glimpse.first.get("eval")).values()), None)
    old = isinstance(at(first, "base"), list) and "nfiles" in mapping(first)
    return b'"base_status"' in glimpse.head or old


def _evalplus_run(seen: SeenLog) -> LogRun:
    benchmarks = [name for run in seen.runs.values() for name in run.said["benchmark"]]
    if len(benchmarks) > 1:
        raise FormatError(
            f"{seen.records.place}: tasks of {quoted(benchmarks[0])} and of {quoted(benchmarks[1])}; expected one "
            "benchmark per file"
        )
    head, named = seen.records.head, _NAME.fullmatch(PurePath(seen.records.path).name)
    return LogRun(
        model=named["model"].replace("--", "/") if named else None,
        task="".join(benchmarks),
        when=text(head.get("date")) or "",
        protocol=settings({"hash of the benchmark": head.get("hash")}),
        sampling=settings({"backend": named["backend"], "temperature": named["temperature"]} if named else {}),
    )


def _solutions(record: LogRecord) -> Iterator[LogRecord]:
    """The solutions of a task; in the form of 2023 two lists of statuses, each with the results of the tests."""
    value = record.row["value"]
    base, plus = (
        [each[0] if isinstance(each, list) and each else each for each in array(at(value, key))]
        for key in ("base", "plus")
    )
    old = [{"base_status": one, "plus_status": two} for one, two in zip_longest(base or [None], plus)]
    for copy, solution in enumerate(value if isinstance(value, list) else old, start=1):
        yield replace(record, found={**mapping(solution), "key": record.row["key"]}, copy=copy)


def _solution_scores(record: LogRecord) -> dict[str, Value]:
    base = _passed(record, "base_status")
    if base is None:
        raise record.lacks("base_status")
    plus = _passed(record, "plus_status")
    return {"base": base} if plus is None else {"base": base, "plus": base and plus}


def _passed(record: LogRecord, key: str) -> bool | None:
    status = record.row.get(key)
    if status is None:
        return None
    if not isinstance(status, str) or status not in _STATUSES:
        raise FormatError(
            f"{record.at}: status {quoted(str(status))}; expected one of {', '.join(_STATUSES)}, as EvalPlus writes "
            "them"
        )
    # A solution that is too slow for the tests has not passed them.
    return _STATUSES[status]


EVALPLUS = ToolReader(
    name="evalplus",
    title="EvalPlus",
    has_samples=_has_results,
    # The solutions that were tested.
    stands_beside=lambda glimpse: (
        glimpse.has("task_id", "solution")
        and Path(glimpse.path).with_name(f"{Path(glimpse.path).stem}_eval_results.json").is_file()
    ),
    open=RecordLog(
        records=lambda path: Records(
            path=path, expected="results of EvalPlus", keyed="eval", keep=("date", "hash", "pass_at_k")
        ),
        said=lambda record: {"benchmark": {record.row["key"].rpartition("/")[0]: ""}},
        runs=_evalplus_run,
        parts=_solutions,
        item=lambda record, _: record.item("key", what="name of the task"),
        scores=_solution_scores,
        repeat=lambda record: str(record.copy),
        # The mean over all solutions, if every task has as many.
        notes=lambda seen, samples: _notes(
            seen,
            samples,
            {
                name: at(rates, name, "pass@1")
                for rates in [mapping(seen.records.head.get("pass_at_k"))]
                for name in ("base", "plus")
                if name in rates
            },
            "solutions of a task",
        ),
    ).open,
)
"""Reads results of EvalPlus 0.1 to 0.3: ``*_eval_results.json`` with the solutions of every task.

Each solution has the status of two sets of tests, and counts for ``plus`` if it passes both, as EvalPlus counts it.
Solutions are drawn independently if the temperature is above 0.
"""


def _lcb_run(seen: SeenLog) -> LogRun:
    path = Path(seen.records.path).absolute()
    named = _LCB_NAME.fullmatch(path.name)
    if named is None:
        return LogRun(model=None)
    model, task = path.parent.name or None, named["task"]
    return LogRun(
        model=model,
        task=task,
        identity=seen.identity(model, task),
        sampling=settings({"temperature": named["temperature"]}),
    )


def _lcb_answer(row: Row) -> object:
    found = first_value(row, "output_list", "code_list")
    return found and [row.get("question_id"), row.get("test_id"), row.get("id"), found]


def _lcb_item(record: LogRecord, run: LogRun) -> str:
    """The problem, with the test or the program where it has several."""
    others = (text(record.row.get(key)) for key in ("test_id", "id"))
    return run.item("/".join(filter(None, (record.name("question_id"), *others))))


def _beside_grades(glimpse: Glimpse) -> bool:
    """Whether a file has the answers that were graded, or their means, beside the graded answers."""
    path = Path(glimpse.path)
    return path.with_name(f"{path.stem.removesuffix('_eval')}_eval_all.json").is_file()


LIVECODEBENCH = ToolReader(
    name="livecodebench",
    title="LiveCodeBench",
    # Means over all problems without the graded answers are refused when they are opened, so that no model is lost.
    has_samples=lambda glimpse: (
        glimpse.has("question_id", "graded_list") or (glimpse.has("pass@1", "detail") and not _beside_grades(glimpse))
    ),
    stands_beside=lambda glimpse: glimpse.head[:1] == b"[" and _beside_grades(glimpse),
    open=RecordLog(
        records=lambda path: Records(path=path, expected="a problem of LiveCodeBench", under=()),
        said=lambda _: {},
        answer=_lcb_answer,
        runs=_lcb_run,
        parts=lambda record: _several(record, record.row.get("graded_list"), mean=record.row.get("pass@1")),
        item=_lcb_item,
        scores=lambda record: {"correct": record.row["correct"]},
        repeat=lambda record: str(record.copy),
        fields=lambda record: {"problem": record.named("platform", "difficulty")},
        content=lambda record: optional_digest(record.row.get("question_content") or record.row.get("code")),
        notes=lambda seen, samples: _notes(seen, samples, {}, "answers to a problem"),
    ).open,
)
"""Reads ``output/MODEL/Scenario.SCENARIO_N_TEMPERATURE_eval_all.json`` of LiveCodeBench."""


def _crux_run(seen: SeenLog) -> LogRun:
    """The run. Inputs and outputs are predicted for the same samples, which only the name of the file tells."""
    name = PurePath(seen.records.path).name
    modes = [mode for mode in ("input", "output") if mode in name]
    if len(modes) != 1:
        raise FormatError(
            f"{seen.records.place}: nothing says whether inputs or outputs were predicted, which are different items "
            "with the same names; rename the file so that input or output is in its name"
        )
    named = _CRUX_NAME.fullmatch(name)
    model, answers = named["model"] if named else None, digest(modes, seen.records.head.get(_CRUX_ANSWERS))
    return LogRun(
        model=model,
        task=f"{modes[0]} prediction",
        identity=f"{model} {answers}" if model else "",
        sampling=settings({"temperature": named["temperature"]} if named else {}),
    )


def _percent_notes(seen: SeenLog, samples: Callable[[], Iterator[LogSample]], key: str, what: str) -> Iterator[str]:
    """The notes of :func:`_notes` where the mean is stated in percent."""
    percent = number(seen.records.head.get(key))
    return _notes(seen, samples, {} if percent is None else {"correct": percent / 100.0}, what)


CRUXEVAL = ToolReader(
    name="cruxeval",
    title="CRUXEval",
    has_samples=lambda glimpse: glimpse.has(_CRUX_ANSWERS) and f'"{_CRUX_SCORES}"'.encode() in glimpse.head,
    open=RecordLog(
        records=lambda path: Records(
            path=path, expected="results of CRUXEval", keyed=_CRUX_SCORES, keep=("pass_at_1", _CRUX_ANSWERS)
        ),
        said=lambda _: {},
        runs=_crux_run,
        parts=lambda record: _several(record, record.row["value"]),
        item=lambda record, run: run.item(record.item("key", what="name of the sample")),
        scores=lambda record: {"correct": record.row["correct"]},
        repeat=lambda record: str(record.copy),
        notes=lambda seen, samples: _percent_notes(seen, samples, "pass_at_1", "answers to a sample"),
    ).open,
)
"""Reads the scored results of CRUXEval's ``evaluate_generations.py``."""


def _compass_run(seen: SeenLog) -> LogRun:
    """The run, by ``results/MODEL/DATASET.json``."""
    path = Path(seen.records.path).absolute()
    model, task = path.parent.name if path.parents[1].name == "results" else None, without_ending(path.name)
    return LogRun(model=model, task=task, identity=seen.identity(model, task))


def _compass_grades(record: LogRecord) -> Iterator[LogRecord]:
    """The grades of an answer: of those of an object the key is the name, of those of a list the place."""
    name, found = record.row.get("key", str(record.place - 1)), mapping(record.row.get("value", record.row))
    grades = first_value(found, "correct", "is_correct")
    if name != "type":  # which says how the questions were asked
        of_item = replace(record, found={"key": name, **found})
        yield from _several(of_item, grades if isinstance(grades, list) else [grades])


OPENCOMPASS = ToolReader(
    name="opencompass",
    title="OpenCompass",
    has_samples=lambda glimpse: _COMPASS.search(glimpse.head) and glimpse.has("details"),
    stands_beside=lambda glimpse: {"origin_prompt", "prediction"} <= mapping(glimpse.first.get("0")).keys(),
    open=RecordLog(
        records=lambda path: Records(
            path=path,
            expected="details of OpenCompass with a grade for every answer, as some of its evaluators write them",
            **({"under": ("details",)} if _COMPASS_LIST.search(Glimpse.of(path).head) else {"keyed": "details"}),
            keep=("accuracy",),
        ),
        said=lambda _: {},
        answer=lambda row: row,
        runs=_compass_run,
        parts=_compass_grades,
        item=lambda record, run: run.item(record.row["key"]),
        scores=lambda record: {"correct": record.row["correct"]},
        repeat=lambda record: str(record.copy),
        content=lambda record: optional_digest(first_value(record.row, "references", "answer", "refr")),
        notes=lambda seen, samples: _percent_notes(seen, samples, "accuracy", "answers to a question"),
    ).open,
)
"""Reads the results of OpenCompass that have details: ``results/MODEL/DATASET.json``."""


def _mmlu_run(seen: SeenLog) -> LogRun:
    path = Path(seen.records.path).absolute()
    named = _MMLU_NAME.fullmatch(path.name)
    scored = next((each.parent.name for each in path.parents if each.name == "CoT"), None)
    model = named["model"] if named else scored or (path.parent.name if path.name.endswith("_result.json") else None)
    return LogRun(model=model, identity=seen.identity(model))


def _mmlu_scores(record: LogRecord) -> dict[str, Value]:
    """Right if the letters are equal. Where none was found MMLU-Pro draws one, which nobody can draw again."""
    answer, found, index = (record.row.get(key) for key in ("answer", "pred", "answer_index"))
    if not all(re.fullmatch("[A-Z]", each if isinstance(each, str) else "") for each in (answer, found or answer)):
        raise record.lacks("letter as answer and as pred in this record")
    if isinstance(index, int) and answer != chr(ord("A") + index % 26):
        raise FormatError(
            f"{record.at}: answer {quoted(str(answer))}, but answer_index {index}; expected the same answer"
        )
    return {"correct": found == answer} if found else {}


def _mmlu_failed(row: Row) -> Failed:
    return (
        (None, None)
        if row.get("pred")
        else ("no answer was found in the output, for which MMLU-Pro draws one", "unknown")
    )


MMLU_PRO = ToolReader(
    name="mmlu-pro",
    title="MMLU-Pro",
    has_samples=lambda glimpse: glimpse.has("question_id", "options", "answer", "answer_index", "pred"),
    # Counts for each category.
    stands_beside=lambda glimpse: (
        glimpse.name.endswith("_summary.json") and {"corr", "wrong"} <= mapping(glimpse.first.get("total")).keys()
    ),
    open=RecordLog(
        records=lambda path: Records(path=path, expected="an answer of MMLU-Pro").or_array(),
        said=lambda _: {},
        answer=lambda row: [row.get("question_id"), row.get("model_outputs") or row.get("pred")],
        runs=_mmlu_run,
        item=lambda record, _: record.name("question_id"),
        scores=_mmlu_scores,
        failed=_mmlu_failed,
        fields=lambda record: {"question": record.named("category", "src")},
        content=lambda record: question_digest(
            text(record.row.get("question")), *map(text, array(record.row.get("options")))
        ),
    ).open,
)
"""Reads the answers of MMLU-Pro's scripts, with the letter that was found in each."""
