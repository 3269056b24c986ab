"""Where the sample logs are, and small logs made by hand for what the tools do not write on demand."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

LOGS = Path(__file__).parent / "logs"


def lm_eval_run(folder, *, model="m", time="2026-01-01T00-00-00.000001", task="t", rows=None, **results):
    """A run of lm-evaluation-harness with two documents; ``results`` are further keys of the results."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [lm_eval_row(0), lm_eval_row(1)] if rows is None else rows
    path = folder / f"samples_{task}_{time}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    document = {"results": {}, "configs": {task: {}}, "model_name": model, "date": time, **results}
    (folder / f"results_{time}.json").write_text(json.dumps(document))
    return path


def lm_eval_row(number, *, score=1.0, metric="acc", doc=None, **more):
    doc = {"question": f"q{number}", "group": number // 2} if doc is None else doc
    row = {"doc_id": number, "doc": doc, "resps": [["a"]], "filter": "none", "metrics": [metric], metric: score}
    return row | {"doc_hash": hashlib.sha256(str(doc).encode()).hexdigest()} | more


def inspect_log(path, *, model="m", samples=None, status="success", eval_id=None, method=zipfile.ZIP_DEFLATED, **said):
    """An archive of Inspect AI."""
    samples = [inspect_sample("q1"), inspect_sample("q2")] if samples is None else samples
    about = {"model": model, "task": "t", "created": "2026-01-01T00:00:00", "eval_id": eval_id or str(path), **said}
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "status": status, "eval": about, "plan": {}}))
        archive.writestr("summaries.json", json.dumps(samples))
    return path


def inspect_sample(name, *, value="C", epoch=1, **more):
    scores = {"match": {"value": value}}
    return {"id": name, "epoch": epoch, "input": f"What is {name}?", "target": "a", "scores": scores} | more
