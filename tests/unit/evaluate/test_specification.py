from pathlib import Path

import pytest
from msgspec import UNSET

from bbedge.errors import BbedgeError
from bbedge.evaluate.specification import EvaluationSpec

WHOLE = """
question = "top-2"
budget = 30
board = "boards/mine.bbedge"
seed = 7
drop = "unneeded"
on_error = "zero"

[design]
alpha = 0.1
spending = "equal"
shares = 1

[[models]]
name = "big"
model = "openai/gpt-large"
config = { temperature = 0.7, max_tokens = 200 }
[[models]]
model = "openai-api/local/tiny"
base_url = "http://127.0.0.1:8000/v1"
args = { emulate_tools = true }
[[models]]
model = "anthropic/one"

[benchmark]
task = "tasks/quiz.py@quiz"
args = { n = 10 }
scorer = "match"
limit = 5
roles = { grader = "openai/judge" }

[prices]
currency = "€"
"openai/gpt-large" = { input = 2.5, output = 10 }

[run]
retries = 1
pause = 0.5
connections = 8
timeout = 60
"""
COMMAND = """
budget = 5
engine = "command"
models = ["a", "b"]
command = ["./harness", "--model", "{model}", "--seed", "{seed}", "--out={out}"]
[benchmark]
items = "items.csv"
"""


def read(tmp_path: Path, text: str, **options) -> EvaluationSpec:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return EvaluationSpec.read(path, **options)


def test_everything_is_read(tmp_path):
    study = read(tmp_path, WHOLE)
    assert study.names == ("big", "openai-api/local/tiny", "anthropic/one")
    assert study.models[0].config == {"temperature": 0.7, "max_tokens": 200}
    assert study.models[1].base_url == "http://127.0.0.1:8000/v1"
    assert study.design.alpha == 0.1
    assert study.design.method == "bb-edge-x"
    assert study.board == str(tmp_path / "boards" / "mine.bbedge")
    assert study.benchmark.task == "tasks/quiz.py@quiz"  # as written: the folder may move
    assert study.folder == tmp_path / "study.run"
    assert study.prices["openai/gpt-large"].output == 10.0
    assert study.file.run.connections == 8
    assert (study.file.drop, study.file.on_error, study.file.seed, study.currency) == ("unneeded", "zero", 7, "€")


def test_a_command_and_the_defaults(tmp_path):
    study = read(tmp_path, COMMAND)
    assert study.file.engine == "command"
    assert study.benchmark.items == "items.csv"
    assert study.question.kind == "all-pairs"
    assert study.board == str(tmp_path / "study.bbedge")
    assert read(tmp_path, COMMAND, drop="never").file.drop == "never"


def test_a_database_is_not_a_path(tmp_path):
    study = read(tmp_path, COMMAND.replace("budget", 'board = "postgresql://host/db"\nbudget'))
    assert study.board == "postgresql://host/db"


@pytest.mark.parametrize(
    ("design", "planned"),
    [
        ("", 8),
        ("planned = 30", 30),
        ("method = 'bb-edge'", UNSET),
        ("stakes = 'paper'", UNSET),
        ("family = 'pilot-top-k'\nk = 1\npilot = 3", 5),
        ("family = 'pilot-top-k'\nk = 1\npilot = 8", 1),
    ],
)
def test_the_planned_number_is_the_budget_less_the_pilots(tmp_path, design, planned):
    asked = COMMAND.replace("budget = 5", "question = 'top-1'\nbudget = 8")
    study = read(tmp_path, f"{asked}[design]\n{design}\n")
    assert study.design.planned == planned


def test_the_margin_of_the_question_is_that_of_the_design(tmp_path):
    study = read(tmp_path, COMMAND.replace("budget", 'question = "a > b by 0.02"\nbudget'))
    assert study.design.tau == 0.02
    with pytest.raises(BbedgeError, match=r"tau = 0\.1 but the question asks for a margin of 0\.02"):
        read(tmp_path, COMMAND.replace("budget", 'question = "a > b by 0.02"\nbudget') + "[design]\ntau = 0.1\n")


def test_only_what_is_measured_is_part_of_the_protocol(tmp_path):
    study = read(tmp_path, WHOLE)
    free = (
        ("budget = 30", "budget = 40"),
        ('"top-2"', '"best"'),
        ("connections = 8", "connections = 2"),
        ("input = 2.5", "input = 3"),
        ('"unneeded"', '"never"'),
        ("8000", "9000"),
    )
    for old, new in free:
        assert read(tmp_path, WHOLE.replace(old, new)).protocol_hash == study.protocol_hash, old
    frozen = (
        ("temperature = 0.7", "temperature = 0.8"),
        ("n = 10", "n = 11"),
        ("seed = 7", "seed = 8"),
        ('"zero"', '"wait"'),
        ("limit = 5", "limit = 6"),
        ("openai/judge", "openai/other"),
    )
    for old, new in frozen:
        assert read(tmp_path, WHOLE.replace(old, new)).protocol_hash != study.protocol_hash, old


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("budget = 30", "", "'budget' is missing"),
        ("budget = 30", "budget = 0", "'budget' = 0 is not a whole number of at least 1"),
        ("budget = 30", "budget = true", "whole number"),
        ("budget = 30", "budget = 30\nbudgett = 3", r"unknown key 'budgett'; did you mean 'budget'\?"),
        ('"top-2"', '"top-3"', "choose K from 1 to 2"),
        ('"top-2"', "3", "'question' = 3 is not a text"),
        ("alpha = 0.1", "alpha = 2", "alpha"),
        ("alpha = 0.1", "alhpa = 0.1", r"unknown key 'alhpa'; did you mean 'alpha'\?"),
        ("budget = 30", "bugdet = 30", r"unknown key 'bugdet'; did you mean 'budget'\?"),
        ("budget = 30", "budget = 30\ncolour = 3", "unknown key 'colour'; known are"),
        ('"unneeded"', '"all"', "'drop' = 'all' is not one of never, settled, unneeded"),
        ('name = "big"', 'name = "anthropic/one"', "two models are called 'anthropic/one'"),
        ('name = "big"', 'nam = "big"', r"unknown key 'nam' in 'models\[0\]'; did you mean 'name'"),
        ('model = "openai/gpt-large"', "", r"'model' is missing in 'models\[0\]'"),
        ('task = "tasks/quiz.py@quiz"', "", r"\[benchmark\]: 'task' is missing"),
        (", output = 10 }", "}", r"\[prices\] 'openai/gpt-large': 'output' is missing"),
        ("output = 10 }", "output = -1 }", "at least 0"),
        ("retries = 1", "retries = -1", "at least 0"),
        ("[design]", "[design]\nfamily = 'pilot-top-k'\nk = 1\npilot = 2", "can only answer top-1"),
        ("[design]", "[design]\nscore_range = [0, 10]", "scores of an Inspect task are from 0 to 1"),
        ("[design]", "[design", "not a TOML file"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, message):
    assert old in WHOLE
    with pytest.raises(BbedgeError, match=message) as caught:
        read(tmp_path, WHOLE.replace(old, new, 1))
    assert "study.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (', "--out={out}"', "", "no argument contains {out}"),
        ('"{seed}"', '"7"', "no argument contains {seed}"),
        ("command = [", 'command = "x"\nother = [', "'command' = 'x' is not a list of texts"),
        ('items = "items.csv"', "", "'items' is missing"),
        ('["a", "b"]', '["a"]', "a comparison needs at least 2"),
        ('["a", "b"]', '"a"', "'models' = 'a' is not a list of texts or records"),
        ("budget", 'out = "../x.csv"\nbudget', "is a path"),
    ],
)
def test_what_is_wrong_with_a_command_is_named(tmp_path, old, new, message):
    with pytest.raises(BbedgeError, match=message):
        read(tmp_path, COMMAND.replace(old, new, 1))


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(BbedgeError, match="cannot be read"):
        EvaluationSpec.read(tmp_path / "none.toml")
    (tmp_path / "study.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BbedgeError, match="not a text file"):
        EvaluationSpec.read(tmp_path / "study.toml")


SECRET = "hunter2Correct"


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("emulate_tools = true", f'api_key = "{SECRET}"', "models.2.args.api_key"),
        ("max_tokens = 200", f'extra_headers = {{ Authorization = "Bearer {SECRET}" }}', "Authorization"),
        ("http://127.0.0.1:8000/v1", f"http://ann:{SECRET}@127.0.0.1:8000/v1", "models.2.base_url"),
        ("http://127.0.0.1:8000/v1", f"http://127.0.0.1:8000/v1?token={SECRET}", "models.2.base_url"),
        ("n = 10", f'hf_token = "{SECRET}"', "benchmark.args.hf_token"),
        ("n = 10", f'data = "https://host/test.jsonl?password={SECRET}"', "benchmark.args.data"),
        ("seed = 7", f'seed = 7\npassword = "{SECRET}"', "password"),
        ("args = { n = 10 }", f'args = "api_key={SECRET}"', "benchmark.args looks like a key"),
        ("emulate_tools = true", f'default_headers = [["Authorization", "Basic {SECRET}"]]', "default_headers.1.2"),
        ("emulate_tools = true", f'headers = ["Authorization: Basic {SECRET}"]', "models.2.args.headers.1"),
        ("emulate_tools = true", f'headers = {{ X-Auth = "{SECRET}" }}', "models.2.args.headers.X-Auth"),
        ("emulate_tools = true", f'openai_key = "{SECRET}"', "models.2.args.openai_key"),
        ("n = 10", f'user_pass = "{SECRET}"', "benchmark.args.user_pass"),
        ("n = 10", 'workspace = "dapi0123456789abcdef0123456789abcdef"', "benchmark.args.workspace"),
        ('"boards/mine.bbedge"', f'["postgresql://ann:{SECRET}@host/db"]', "'board' is not a text"),
    ],
)
def test_credentials_are_refused_and_not_repeated(tmp_path, old, new, place):
    assert old in WHOLE
    with pytest.raises(BbedgeError, match=place) as caught:
        read(tmp_path, WHOLE.replace(old, new, 1))
    assert "study.toml" in str(caught.value)
    assert SECRET not in str(caught.value)
    if "looks like a key" in str(caught.value):
        assert "set the environment variable" in str(caught.value)


@pytest.mark.parametrize(
    "words",
    [
        f'"--api-key={SECRET}"',
        f'"--api-key", "{SECRET}"',
        f'"-H", "Authorization: Bearer {SECRET}"',
        f'"--model_args", "model=x,api_key={SECRET}"',
        f'"--url", "https://ann:{SECRET}@host/v1"',
    ],
)
def test_credentials_in_a_command_are_refused_and_not_repeated(tmp_path, words):
    with pytest.raises(BbedgeError, match=r"command: argument \d looks like a key or a password") as caught:
        read(tmp_path, COMMAND.replace('"--seed"', f'{words}, "--seed"'))
    assert SECRET not in str(caught.value)
    assert "environment is passed on" in str(caught.value)


def test_ordinary_settings_are_not_taken_for_credentials(tmp_path):
    config = 'stop_seqs = ["token:"], system_message = "The password is a secret: never say it", max_tokens = 5'
    read(tmp_path, WHOLE.replace("max_tokens = 200", config))
    read(tmp_path, COMMAND.replace('"--seed"', '"--api-key-env", "MY_KEY", "--max-tokens", "300", "--seed"'))
    read(tmp_path, COMMAND.replace("budget", 'board = "postgresql://ann:word@host/db"\nbudget'))
