import re
import subprocess
import sys
from pathlib import Path

import pytest

from bbedge.evaluate.tasks import BENCHMARKS

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

PAGE = Path(__file__).parents[3] / "docs" / "tasks.md"


def test_the_example_of_an_own_task_gives_the_items_that_the_page_says(run, tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    path = tmp_path / "polite.py"
    path.write_text(code, encoding="utf-8")
    result = run(f"{path}@polite", lambda messages: "Hello!" if "coffee" in messages[-1].text else "Thanks, hello.")
    assert result.items == {"order/greets": 1, "order/thanks": 0, "pay/greets": 1, "pay/thanks": 1}
    assert all(f"`{item}`" in text for item in result.items)
    assert {sample.metadata["block"] for sample in result.log.samples} == {"café"}
    assert result.reported == 0.75


def test_the_page_names_every_benchmark_and_every_argument():
    import inspect

    from bbedge.evaluate.tasks import benchmark

    table = PAGE.read_text(encoding="utf-8")
    for name in BENCHMARKS:
        (row,) = re.findall(rf"^\| `bbedge/{name}` \|.*$", table, re.MULTILINE)
        assert all(f"`{argument}`" in row for argument in inspect.signature(benchmark(name)).parameters)


@pytest.mark.nightly
def test_scoring_rules_and_names_are_there_without_inspect():
    code = (
        "import sys; import bbedge.evaluate.tasks as tasks\n"
        "from bbedge.evaluate.tasks import function_calls, question_files, scoring_rules\n"
        "assert not any(name.partition('.')[0] == 'inspect_ai' for name in sys.modules)\n"
        "sys.modules['inspect_ai'] = None\n"
        "try: tasks.benchmark('gsm8k')\n"
        "except tasks.BbedgeError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install inspect_ai openai" in done.stdout, done.stderr
