"""Six capitals, two metrics of our own, and answers that are written down: run.py FOLDER."""

import shutil
import sys
import tempfile
from pathlib import Path

import mlflow
import pandas as pd
from mlflow.metrics import MetricValue, make_metric

CAPITALS = {
    "Capital of France?": "Paris",
    "Capital of Peru?": "Lima",
    "Capital of Kenya?": "Nairobi",
    "Capital of Japan?": "Tokyo",
    "Capital of Chile?": "Santiago",
    "Capital of Norway?": "Oslo",
}
ANSWERS = {
    "aster": ("Paris", "Lima", "Nairobi", "Kyoto", "Santiago", "Bergen"),
    "birch": ("Paris", "Cusco", "Mombasa", "It is Tokyo", "Valparaiso", "Oslo"),
}


def match(predictions, targets, metrics):
    scores = [float(right in answer) for answer, right in zip(predictions, targets, strict=True)]
    return MetricValue(scores=scores, justifications=["compared"] * len(scores))


def judged(predictions, targets, metrics):
    scores = [None if answer == "Mombasa" else 5.0 - len(answer) % 5 for answer in predictions]
    why = ["Failed to score model on payload." if score is None else "by length" for score in scores]
    return MetricValue(scores=scores, justifications=why)


folder = Path(sys.argv[1])
metrics = [
    make_metric(eval_fn=rule, greater_is_better=True, name=name, version="v1")
    for name, rule in (("match", match), ("judged", judged))
]
with tempfile.TemporaryDirectory() as store:
    mlflow.set_tracking_uri(f"file://{store}/runs")
    for model, answers in ANSWERS.items():
        columns = {"inputs": list(CAPITALS), "ground_truth": list(CAPITALS.values()), "outputs": answers}
        with mlflow.start_run() as run:
            mlflow.evaluate(
                data=pd.DataFrame(columns | {"topic": ["north", "south"] * 3}),
                targets="ground_truth",
                predictions="outputs",
                extra_metrics=metrics,
                evaluators="default",
            )
        (folder / model).mkdir(parents=True, exist_ok=True)
        found = next(Path(store).rglob(f"{run.info.run_id}/artifacts/eval_results_table.json"))
        shutil.copy(found, folder / model)
