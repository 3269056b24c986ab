"""Logs of two gigabytes are read in bounded memory."""

import json
import os
import resource
import subprocess
import sys

import polars as pl
import pytest

from log_makers import lm_eval_row
from suite_makers import (
    eee_row,
    evalscope_review,
    nemo_row,
    nemo_run,
    tau2_results,
    tau2_simulation,
    tau_record,
    terminal_run,
    terminal_trial,
    verifiers_row,
    verifiers_run,
)

SIZE = int(os.environ.get("BBEDGE_HUGE_LOG", 2 << 30))
SAMPLES = 40_000
PROMPT = "All work and no play makes a dull benchmark. " * (SIZE // SAMPLES // 45)


def lm_eval_log(folder):
    path = folder / "samples_t_2026-01-01T00-00-00.000001.jsonl"
    (folder / "results_2026-01-01T00-00-00.000001.json").write_text('{"model_name": "m", "results": {}, "configs": {}}')
    with path.open("w") as file:
        for number in range(SAMPLES):
            row = lm_eval_row(number, score=number % 2, doc={"question": f"{number}", "group": number // 4})
            file.write(json.dumps(row | {"arguments": PROMPT}) + "\n")
    return path


def inspect_log(folder):
    path = folder / "log.json"
    with path.open("w") as file:
        file.write('{"version": 2, "status": "success", "eval": {"model": "m", "task": "t"}, "samples": [')
        for number in range(SAMPLES):
            scores = {"match": {"value": "CI"[number % 2]}}
            sample = {"id": number, "epoch": 1, "input": PROMPT, "target": "", "scores": scores}
            file.write(("," if number else "") + json.dumps(sample))
        file.write('], "reductions": []}')
    return path


def promptfoo_log(folder):
    path = folder / "out.json"
    with path.open("w") as file:
        file.write('{"evalId": "e", "results": {"version": 3, "results": [')
        for number in range(SAMPLES):
            case = {"vars": {"n": number}, "assert": []}
            row = {"testIdx": number, "promptIdx": 0, "provider": {"id": "m"}, "testCase": case, "score": number % 2}
            file.write(("," if number else "") + json.dumps(row | {"response": {"output": PROMPT}, "success": True}))
        file.write("]}}")
    return path


def long_array(path, before, records, after):
    with path.open("w") as file:
        file.write(before)
        for number, record in enumerate(records):
            file.write(("," if number else "") + json.dumps(record))
        file.write(after)
    return path


def long_lines(path, rows):
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def tau_log(folder):
    talk = [{"role": "user", "content": PROMPT}]
    path = folder / "tool-calling-m-0.0_range_0--1_user-u-llm_0102030405.json"
    return long_array(path, "[", (tau_record(n, solved=n % 2) | {"traj": talk} for n in range(SAMPLES)), "]")


def tau2_log(folder):
    head = json.dumps(tau2_results("m", [], num_trials=1) | {"tasks": []})
    talk = [{"role": "user", "content": PROMPT}]
    simulations = (tau2_simulation(n, solved=n % 2) | {"messages": talk} for n in range(SAMPLES))
    return long_array(folder / "results.json", head.removesuffix("]}"), simulations, "]}")


def terminal_log(folder):
    terminal_run(folder, "m")
    trials = (terminal_trial(f"t{n}", 0, n % 2 == 0, of=1) | {"instruction": PROMPT} for n in range(SAMPLES))
    return long_array(folder / "results.json", '{"results": [', trials, "]}")


def evalplus_log(folder):
    path = folder / "m_hf_temp_0.0_eval_results.json"
    with path.open("w") as file:
        file.write('{"date": "2026-01-01", "hash": "0f", "eval": {')
        for number in range(SAMPLES):
            solution = {"solution": PROMPT, "base_status": "pass" if number % 2 else "fail", "plus_status": None}
            file.write(("," if number else "") + f'"HumanEval/{number}": {json.dumps([solution])}')
        file.write("}}")
    return path


def nemo_log(folder):
    nemo_run(folder, "m", [nemo_row(0)], n_results=SAMPLES, benchmark={"name": "b", "scores": {}})
    rows = (nemo_row(n, solved=n % 2) | {"model_response": PROMPT} for n in range(SAMPLES))
    return long_lines(folder / "results.jsonl", rows)


def every_eval_log(folder):
    rows = (eee_row("m", 0, f"t{n}", bool(n % 2)) | {"output": {"raw": [PROMPT]}} for n in range(SAMPLES))
    return long_lines(folder / "a_samples.jsonl", rows)


def evalscope_log(folder):
    rows = (evalscope_review(n, solved=n % 2) | {"input": PROMPT} for n in range(SAMPLES))
    (folder / "reviews" / "m").mkdir(parents=True)
    return long_lines(folder / "reviews" / "m" / "bench_main.jsonl", rows)


def verifiers_log(folder):
    verifiers_run(folder, "m", num_examples=SAMPLES, rollouts_per_example=1)
    talk = [{"role": "assistant", "content": PROMPT}]
    rows = (verifiers_row(n, solved=n % 2) | {"completion": talk} for n in range(SAMPLES))
    return long_lines(folder / "results.jsonl", rows)


OF_SUITES = [
    tau_log,
    tau2_log,
    terminal_log,
    evalplus_log,
    nemo_log,
    every_eval_log,
    evalscope_log,
    verifiers_log,
]


def list_of_records(folder):
    path = folder / "records.json"
    with path.open("w") as file:
        file.write('{"model": "m", "results": [')
        for number in range(SAMPLES):
            row = {"task_id": number, "reward": number % 2, "turns": [{"content": PROMPT}]}
            file.write(("," if number else "") + json.dumps(row))
        file.write("]}")
    return path


@pytest.mark.nightly
@pytest.mark.parametrize("make", [lm_eval_log, inspect_log, promptfoo_log, list_of_records, *OF_SUITES])
def test_two_gigabytes_in_bounded_memory(make, tmp_path):
    path = make(tmp_path)
    assert path.stat().st_size > 0.95 * SIZE
    out = tmp_path / "out.parquet"
    command = [sys.executable, "-m", "bbedge", "convert", str(path), "--to", str(out)]
    code = (
        "import resource, subprocess, sys\n"
        f"done = subprocess.run({command!r}, capture_output=True, text=True)\n"
        "print(done.stderr, file=sys.stderr)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        "sys.exit(done.returncode)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    path.unlink()
    assert done.returncode == 0, done.stderr
    megabytes = int(done.stdout) / 1024 / (1024 if sys.platform == "darwin" else 1)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{make.__name__}: {megabytes:.0f} MB at most, {spent.ru_utime + spent.ru_stime:.0f} s so far")  # noqa: T201
    assert pl.read_parquet(out).height == SAMPLES
    assert megabytes < 400
