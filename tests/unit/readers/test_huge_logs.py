"""Logs of two gigabytes are read in bounded memory."""

import json
import os
import resource
import subprocess
import sys

import polars as pl
import pytest

from log_makers import lm_eval_row

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


@pytest.mark.slow
@pytest.mark.parametrize("make", [lm_eval_log, inspect_log, promptfoo_log])
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
