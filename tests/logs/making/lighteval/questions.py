"""A lighteval task whose data lies beside it, in the folder ``data``."""

from pathlib import Path

from lighteval.metrics.metrics import Metrics
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc


def prompt(line, task_name=None):
    return Doc(
        task_name=task_name,
        query=line["question"],
        choices=[line["answer"]],
        gold_index=0,
        specific={"group": line["group"]},
    )


TASKS_TABLE = [
    LightevalTaskConfig(
        name="capitals",
        prompt_function=prompt,
        hf_repo=str(Path(__file__).parent / "data"),
        hf_subset="default",
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        few_shots_split=None,
        few_shots_select=None,
        generation_size=8,
        metrics=[Metrics.exact_match],
        stop_sequence=["\n"],
        version=0,
    )
]
