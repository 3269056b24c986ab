"""Writes a benchmark of four tasks, and the solutions of two mock models: python make.py FOLDER."""

from __future__ import annotations

import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])
# A function, what it returns, a wrong answer, and inputs of the two sets of tests; some pass only the first set.
FUNCTIONS = [
    ("add", "a + b", "a - b", [[1, 2], [3, 4]], [[0, 0], [-1, 1]]),
    ("largest", "max(a, b)", "abs(max(a, b))", [[1, 2], [4, 3]], [[-1, -2], [0, 0]]),
    ("times", "a * b", "a + b if a == b else a * b", [[1, 2], [2, 2]], [[0, 5], [-1, 3]]),
    ("power", "a ** b", "a * b if b == 2 else a ** b", [[1, 2], [2, 2]], [[0, 5], [2, 3]]),
]
# The task and the number of every wrong solution.
WRONG = {
    "aster": {(0, 1), (1, 0), (2, 2), (3, 0)},
    "birch": {(0, 0), (0, 2), (1, 0), (1, 1), (2, 0), (3, 1), (3, 2)},
}

with (folder / "benchmark.jsonl").open("w") as file:
    for number, (name, returned, _, base, plus) in enumerate(FUNCTIONS):
        task = {"task_id": f"HumanEval/{number}", "prompt": f"def {name}(a, b):\n", "entry_point": name, "atol": 0}
        task |= {"canonical_solution": f"    return {returned}\n", "test": "", "contract": ""}
        file.write(json.dumps(task | {"base_input": base, "plus_input": plus}) + "\n")
for model, wrong in WRONG.items():
    with (folder / f"{model}_hf_temp_0.8.jsonl").open("w") as file:
        for number, (name, right, other, _, _) in enumerate(FUNCTIONS):
            for copy in range(3):
                solution = f"def {name}(a, b):\n    return {other if (number, copy) in wrong else right}\n"
                file.write(json.dumps({"task_id": f"HumanEval/{number}", "solution": solution}) + "\n")
