"""Logs of any size, written piece by piece: ``make(folder, samples, text)`` with a long text in every sample."""

from __future__ import annotations

import json

from shape_makers import (
    alpaca_eval_row,
    arena_hard_row,
    deepeval_case,
    exported_item,
    instance,
    livebench_row,
    mlflow_row,
    mlflow_table,
    mt_bench_row,
    write_document,
)


def _lines(path, rows):
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def _array(path, rows, *, before="[", after="]"):
    with path.open("w") as file:
        file.write(before)
        for number, row in enumerate(rows):
            file.write(("," if number else "") + json.dumps(row))
        file.write(after)
    return path


def deepeval(folder, samples, text):
    cases = (deepeval_case(number, score=number % 2, actualOutput=text) for number in range(samples))
    return _array(folder / "run.json", cases, before='{"testRunData": {"testCases": [', after='], "runDuration": 1.5}}')


def mlflow(folder, samples, text):
    rows = (mlflow_row(number, number % 2, output=text) for number in range(samples))
    columns = json.dumps(mlflow_table([])["columns"])
    return _array(folder / "eval_results_table.json", rows, before=f'{{"columns": {columns}, "data": [', after="]}")


def openai_api(folder, samples, text):
    rows = (exported_item(number, grade=number % 2, grader_samples={"x": text}) for number in range(samples))
    return _lines(folder / "items.jsonl", rows)


def swe_bench(folder, samples, text):
    lists = {"no_generation": [], "no_logs": [], "resolved": [instance(number) for number in range(0, samples, 2)]}
    path = write_document(folder / "system" / "results" / "results.json", lists)
    rows = ({"instance_id": instance(number), "model_patch": text} for number in range(samples))
    _lines(folder / "system" / "all_preds.jsonl", rows)
    return path


def livebench(folder, samples, text):
    return _lines(folder / "a.jsonl", (livebench_row(n, score=n % 2, answer=text) for n in range(samples)))


def arena_hard(folder, samples, text):
    return _lines(folder / "a.jsonl", (arena_hard_row(n, answer=text * 2) for n in range(samples // 2)))


def mt_bench(folder, samples, text):
    return _lines(folder / "a.jsonl", (mt_bench_row(n // 2, n % 2, judgment=text) for n in range(samples)))


def alpaca_eval(folder, samples, text):
    rows = (alpaca_eval_row(n, preference=1 + n % 2, output_2=f"{n}{text}") for n in range(samples))
    return _array(folder / "annotations.json", rows)


HUGE = {
    make.__name__: make
    for make in (deepeval, mlflow, openai_api, swe_bench, livebench, arena_hard, mt_bench, alpaca_eval)
}
