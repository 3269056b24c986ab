"""SWE-bench: lists of instances that a system resolved.

In the repository of experiments a system has a folder with ``results/results.json``, or ``per_instance_details.json``;
the harness writes a report with lists whose names end in ``_ids``, and a ``report.json`` for every instance. An
instance that is in no list was not resolved only if the system was asked to resolve it, and that must be written
somewhere: in the lists, in ``all_preds.jsonl``, in the folders of logs or trajectories, or in a list of items that the
user declares. A score of 0 is for an instance that was tested to the end; what broke on the way is a missing score.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from bbedge.errors import FormatError
from bbedge.readers.choices import ErrorKind
from bbedge.readers.json_files import document, json_stream, objects
from bbedge.readers.logs import (
    Glimpse,
    Log,
    LogRecord,
    LogRun,
    LogSample,
    RecordLog,
    Records,
    Row,
    SeenLog,
    ToolReader,
    Value,
    at,
    check_count,
    holds_no_score,
    mapping,
    refused_without_items,
)
from bbedge.readers.opening import naming_errors
from bbedge.text import listed, quoted, shown_path

_RESOLVED = ("resolved", "resolved_ids")
_ATTEMPTED = ("generated", "no_generation", "applied", "with_logs", "unresolved_ids", "completed_ids", "submitted_ids")
# Lists of instances that were not tested to the end, with what they say about why. A patch that cannot be applied is
# one that resolves nothing; all others may be the fault of the system or of the harness.
_BROKEN: dict[str, tuple[str, ErrorKind]] = {
    "no_generation": ("no patch was generated", "unknown"),
    "empty_patch_ids": ("no patch was generated", "unknown"),
    "incomplete_ids": ("no prediction was submitted", "unknown"),
    "error_ids": ("the evaluation ended with an error", "unknown"),
    "no_logs": ("there is no log of the evaluation", "infrastructure"),
    "install_fail": ("the installation failed", "infrastructure"),
    "reset_failed": ("the repository could not be reset", "infrastructure"),
    "test_errored": ("the tests ended with an error", "unknown"),
    "test_timeout": ("the tests took too long", "unknown"),
}
# What is known of an instance that is in none of the lists above and not in this one either.
_UNLISTED: dict[str, tuple[str, ErrorKind]] = {
    "unresolved_ids": ("no result is listed", "unknown"),
    "with_logs": _BROKEN["no_logs"],
}
# The complement of the resolved instances is known where these are there.
_WHOLE = ({"generated", "no_generation"}, {"resolved_ids", "unresolved_ids"})
_DETAILS = "per_instance_details.json"
_REPORT = "report.json"
_PREDICTIONS = ("all_preds.jsonl", "preds.jsonl")
_FOLDERS = ("logs", "trajs")
_OF_INSTANCE = (".json", ".log", ".txt", ".traj", ".diff", ".patch", ".sh", ".md")
_SUMMARY = "resolved_by_repo.json"
_BESIDE = frozenset([_SUMMARY, "resolved_by_time.json", "metadata.yaml", "metadata.yml", *_PREDICTIONS])
_NAME = re.compile(r"^(?:info:\s*\n(?:[ \t]+.*\n)*?[ \t]+)?name:[ \t]*(?P<name>\S.*?)[ \t]*$", re.MULTILINE)
_INSTANCE = re.compile(r"[\w.-]+__[\w.-]+-\d+")
_BARE = re.compile(rb'\s*\[\s*"[\w.-]+__[\w.-]+-\d+"')
_OF_RESOLVED = re.compile(r"(?<![a-z])(?<!not[_-])resolved", re.IGNORECASE)


def _open_swe_bench(path: str) -> Log:
    """Open the lists of one system."""
    if not _has_lists(Glimpse.of(path)):
        return _TESTED.open(path)
    system = _system(path)
    content = {"resolved": _bare_list(path)} if _is_bare(Glimpse.of(path)) else document(path)
    run = _run_of(system)
    lists = _lists(content, path)
    resolved = {instance for name in _RESOLVED for instance in lists.get(name, ())}
    found = _attempted(lists, resolved, system, path)
    if found is None:
        return Log(
            runs=(run,),
            samples=lambda: refused_without_items(
                f"{shown_path(path)}: lists the {len(resolved)} instances that were resolved, but not all that were "
                "attempted, and an instance that is not listed may have failed or never been tried; put "
                "all_preds.jsonl of the system, with an instance_id per line, into its folder, or its folder logs or "
                "trajs"
            ),
            of_items=lambda items: _samples(run, lists, resolved, _declared(items, lists, content, path)),
        )
    attempted, beside, notes = found
    summary = Path(path).parent / _SUMMARY
    if summary.is_file() and system is not None:
        beside += (str(summary),)
        notes += _compared(summary, len(resolved), len(attempted), path)
    return Log(runs=(run,), samples=lambda: _samples(run, lists, resolved, attempted), beside=beside, notes=notes)


def _run_of(system: Path | None) -> LogRun:
    return LogRun(
        model=None if system is None else system.name,
        identity="" if system is None else f"{system.parent.name}/{system.name}",
        fields={} if system is None else {"metadata": _metadata(system)},
    )


def _tested_run(seen: SeenLog) -> LogRun:
    """The run of instances that were tested: those of a system, or that one whose folder is in that of the model."""
    file = Path(seen.records.path).absolute()
    if file.name == _DETAILS or not _INSTANCE.fullmatch(file.parent.name):
        return _run_of(_system(seen.records.path))
    above = file.parents[1] if file.parents[1].name not in _FOLDERS else file.parents[2]
    # Of one instance each, reports of a model are one run together: as runs of different tasks.
    return LogRun(model=above.name.replace("__", "/"), task=file.parent.name, identity="/".join(file.parent.parts[-3:]))


def _tested_scores(record: LogRecord) -> dict[str, Value]:
    resolved = at(record.row, "value", "resolved")
    if not isinstance(resolved, bool):
        raise FormatError(f"{record.at}: no result for {quoted(str(record.row['key']))}; expected resolved")
    return {"resolved": resolved}


_TESTED = RecordLog(
    records=lambda path: Records(
        path=path,
        expected="results of SWE-bench",
        keyed="",
        only=Path(path).absolute().parent.name if _is_flat(Glimpse.of(path)) else None,
    ),
    runs=_tested_run,
    item=lambda record, _: record.item("key", what="name of the instance"),
    scores=_tested_scores,
    failed=lambda row: _BROKEN["no_generation"] if at(row, "value", "patch_is_None") is True else (None, None),
    fields=lambda record: _fields(record.row["key"]),
)


def _declared(items: Iterable[str], lists: Mapping[str, list[str]], content: Row, path: str) -> frozenset[str]:
    """The instances that the user declares, and those that the lists name; as many as the report counts, if it does."""
    found = frozenset(filter(_INSTANCE.fullmatch, items)).union(*lists.values())
    check_count(len(found), content.get("total_instances"), place=shown_path(path), what="instances in the list")
    return found


def _system(path: str) -> Path | None:
    """The folder of the system; None for a report of the harness, which lies anywhere."""
    file = Path(path).absolute()
    if file.name == _DETAILS:
        return file.parent
    return file.parent.parent if file.name == "results.json" and file.parent.name == "results" else None


def _is_report(glimpse: Glimpse) -> bool:
    """Whether a file says of one or more instances what became of their patches."""
    name, first = next(iter(glimpse.first.items()), ("", None))
    reported = {"resolved", "patch_exists"} <= mapping(first).keys()
    of_instance = _INSTANCE.fullmatch(name) and (reported or (glimpse.name == _REPORT and first is None))
    return bool(of_instance) or _is_flat(glimpse)


def _is_flat(glimpse: Glimpse) -> bool:
    """Whether a report does not name its instance, which its folder does."""
    named = glimpse.name == _REPORT and _INSTANCE.fullmatch(Path(glimpse.path).absolute().parent.name)
    return bool(named) and glimpse.has("patch_exists", "resolved")


def _is_beside(glimpse: Glimpse) -> bool:
    if glimpse.has("instance_id", "model_patch"):
        return holds_no_score(glimpse)
    path = Path(glimpse.path)
    above = list(path.parents)[:4]
    of_instance = path.suffix in _OF_INSTANCE and any(folder.name in _FOLDERS for folder in above)
    if path.name not in _BESIDE and not of_instance:
        return False
    # Other tools have results, too.
    results = (folder / "results" / "results.json" for folder in above)
    return any(each.is_file() and _has_lists(Glimpse.of(str(each))) for each in results)


def _is_bare(glimpse: Glimpse) -> bool:
    """Whether a file is a list of instances, which its name alone says to be resolved."""
    return _BARE.match(glimpse.head) is not None and _OF_RESOLVED.search(glimpse.name) is not None


def _bare_list(path: str) -> list[Any]:
    with json_stream(path) as stream:
        return list(stream.elements())


def _has_lists(glimpse: Glimpse) -> bool:
    if _is_bare(glimpse):
        return True
    if glimpse.has("resolved") and (glimpse.has("no_generation") or glimpse.has("no_logs")):
        return True
    if glimpse.has("resolved_ids", "unresolved_ids", "submitted_ids"):
        return True
    lists = [found for name in _RESOLVED if isinstance(found := glimpse.first.get(name), list)]
    # Of a system that resolved nothing the list is empty.
    return bool(lists) and all(isinstance(each, str) and _INSTANCE.fullmatch(each) for found in lists for each in found)


def _metadata(system: Path) -> dict[str, str]:
    """The name that the system gives itself. Two systems may have the same one; their folders differ."""
    file = next((system / name for name in ("metadata.yaml", "metadata.yml") if (system / name).is_file()), None)
    if file is None:
        return {}
    with naming_errors(str(file)):
        found = _NAME.search(file.read_bytes()[: 1 << 16].decode("utf-8", "replace"))
    return {"name": found["name"].strip("'\"")} if found else {}


def _lists(content: Row, path: str) -> dict[str, list[str]]:
    """The lists of instances that are known; none may name an instance twice, nor differ from its stated count."""
    known = dict.fromkeys((*_RESOLVED, *_ATTEMPTED, *_BROKEN))
    lists: dict[str, list[str]] = {name: content[name] for name in known if content.get(name) is not None}
    for name, found in lists.items():
        if not isinstance(found, list) or not all(isinstance(each, str) and each.strip() for each in found):
            raise FormatError(f"{shown_path(path)}: {name} is no list of instances; expected results of SWE-bench")
        twice = [instance for instance, count in Counter(found).items() if count > 1]
        if twice:
            raise FormatError(
                f"{shown_path(path)}: {name} names {listed(twice)} more than once; an instance has one result"
            )
    if not lists.keys() & set(_RESOLVED):  # all that is attempted would count as failed
        raise FormatError(
            f"{shown_path(path)}: no list of the instances that were resolved; expected results of SWE-bench with "
            f"{' or '.join(_RESOLVED)}"
        )
    for name in ("unresolved_ids", *_BROKEN):
        resolved = (instance for each in _RESOLVED for instance in lists.get(each, ()))
        both = sorted(set(lists.get(name, ())).intersection(resolved))
        if both:
            raise FormatError(f"{shown_path(path)}: {listed(both)} in {name} and among the resolved; correct one list")
    for name, instances in lists.items():
        stated = content.get(f"{name.removesuffix('_ids')}_instances")
        if name.endswith("_ids") and isinstance(stated, int) and stated != len(instances):
            raise FormatError(
                f"{shown_path(path)}: {name} has {len(instances)} instances, but the report counts {stated}; the file "
                "was changed or cut: write the report again"
            )
    return lists


def _compared(summary: Path, resolved: int, attempted: int, path: str) -> tuple[str, ...]:
    """Compare the lists with the counts per repository that stand beside them."""
    rows = [mapping(row) for row in document(str(summary)).values()]
    counts = [sum(row[key] for row in rows if isinstance(row.get(key), int)) for key in ("resolved", "total")]
    if counts[0] != resolved:
        raise FormatError(
            f"{shown_path(path)}: {resolved} instances resolved, but {summary.name} beside it counts {counts[0]}; use "
            "files of one run"
        )
    said = f"{shown_path(path)}: {attempted} instances attempted, and {summary.name} counts {counts[1]} in all."
    return () if counts[1] == attempted else (said,)


def _attempted(
    lists: Mapping[str, list[str]], resolved: set[str], system: Path | None, path: str
) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]] | None:
    """All instances that the system was asked to resolve, the files that say so, and notes; None if nothing says it."""
    named = frozenset(instance for instances in lists.values() for instance in instances)
    if any(whole <= lists.keys() for whole in _WHOLE):
        return named, (), ()
    # What was generated and tested shows in two lists; where one of them is not there, only the logs show it.
    stated = {"no_generation", "no_logs"} <= lists.keys()
    folders = () if system is None else (system,)
    for file in (system / name for system in folders for name in (_PREDICTIONS if stated else ())):
        if file.is_file():
            found = _predicted(str(file))
            unknown = sorted(resolved & (named - found))
            if unknown:
                raise FormatError(
                    f"{shown_path(path)}: {listed(unknown)} resolved without a prediction in {file.name}; use files "
                    "of one run"
                )
            return named | found, (str(file),), ()
    for folder in (system / name for system in folders for name in (_FOLDERS if stated else ("logs",))):
        if folder.is_dir() and resolved <= (found := _instances_in(folder)):
            known = named | found
            what = f"the {len(known)} instances that were attempted are those in the folder {folder.name}."
            return known, (), (f"{shown_path(path)}: {what}",)
    return None


def _predicted(path: str) -> frozenset[str]:
    found: set[str] = set()
    for line, row in objects(path):
        instance = row.get("instance_id")
        if not isinstance(instance, str) or not instance.strip():
            raise FormatError(f"{shown_path(path)}:{line}: no instance_id; expected a prediction of SWE-bench")
        found.add(instance)
    return frozenset(found)


def _instances_in(folder: Path) -> frozenset[str]:
    """The instances after which the files and folders of a folder are named."""
    with naming_errors(str(folder)):
        names = [entry.name for entry in folder.iterdir()]
    return frozenset(match[0] for match in map(_INSTANCE.match, names) if match)


def _samples(
    run: LogRun, lists: Mapping[str, list[str]], resolved: set[str], attempted: Set[str]
) -> Iterator[LogSample]:
    broken = {instance: why for name, why in _BROKEN.items() for instance in lists.get(name, ())}
    for name, why in _UNLISTED.items():
        if name in lists:
            broken |= dict.fromkeys(attempted - resolved - broken.keys() - set(lists[name]), why)
    for place, instance in enumerate(sorted(attempted), start=1):
        error, kind = broken.get(instance, (None, None))
        yield LogSample(
            run=run,
            item=instance,
            scores={} if error is not None else {"resolved": instance in resolved},
            place=place,
            error=error,
            failure=kind,
            fields=_fields(instance),
        )


def _fields(instance: str) -> dict[str, Any]:
    return {"instance": {"repository": re.sub(r"-\d+$", "", instance)}}


SWE_BENCH = ToolReader(
    name="swe-bench",
    title="SWE-bench",
    # By the names of the lists.
    has_samples=lambda glimpse: (
        _has_lists(glimpse)
        or (glimpse.name == _DETAILS and "resolved" in mapping(next(iter(glimpse.first.values()), None)))
        or (_is_report(glimpse) and not _is_beside(glimpse))
    ),
    stands_beside=_is_beside,
    open=_open_swe_bench,
)
"""Reads results of SWE-bench."""
