"""Evaluates a mock model on questions of our own, each asked twice: python run.py MODEL PORT OUTPUT."""

from __future__ import annotations

import sys
from pathlib import Path

from evalscope import TaskConfig, run_task

model, port, output = sys.argv[1:]
run_task(
    TaskConfig(
        model=model,
        api_url=f"http://127.0.0.1:{port}/v1",
        api_key="none",
        eval_type="openai_api",
        datasets=["general_mcq"],
        dataset_args={"general_mcq": {"local_path": str(Path(__file__).parent), "subset_list": ["capitals"]}},
        repeats=2,
        eval_batch_size=1,
        judge_strategy="rule",
        work_dir=output,
        no_timestamp=True,
    )
)
