import pytest

from bbedge.credentials import (
    find_credentials,
    find_in_words,
    public_address,
    redacted,
    redacted_record,
    secret_values,
    without_credentials,
)

KEY = "sk-" + "proj-" + "Ab12Cd34" * 4
SECRET = "hunter2Correct"


@pytest.mark.parametrize(
    "name",
    [
        "api_key", "apikey", "API-Key", "apiKey", "x-api-key", "token", "hf_token", "access_token", "authToken",
        "Authorization", "proxy-authorization", "secret", "client_secret", "aws_secret_access_key", "password",
        "db_passwd", "Cookie", "private_key", "OPENAI_API_KEY", "Ocp-Apim-Subscription-Key", "X-Auth", "x-auth-key",
        "openai_key", "anthropicKey", "user_pass", "userpass", "db-pass",
    ],
)  # fmt: skip
def test_a_name_gives_a_credential_away(name):
    assert find_credentials({"args": {name: SECRET}}) == [f"args.{name}"]
    assert find_credentials({"args": {name: {"value": SECRET}}}) == [f"args.{name}.value"]
    assert find_in_words(["run", f"--{name}", SECRET]) == [2]
    assert find_in_words(["run", f"--{name}={SECRET}"]) == [1]
    assert find_in_words(["run", f"model=x,{name}={SECRET},seed=1"]) == [1]
    assert find_in_words(["run", f"--model_args={name}={SECRET}"]) == [1]
    assert SECRET not in redacted(f"failed with {{'{name}': '{SECRET}'}}")
    assert SECRET not in redacted(f"failed with {name}={SECRET}, sorry")
    assert SECRET not in redacted(f"failed with [(b'{name}', b'{SECRET}')]")
    assert secret_values({name: SECRET}) == (SECRET,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", 100), ("max_token", "100"), ("tokenizer", "meta/llama-3"), ("token_limit", "5000"),
        ("pad_token", "<pad>"), ("eos_token", "</s>"), ("tokens", "a b"), ("use_auth_token", True), ("token", None),
        ("api_key", "none"), ("api_key", "EMPTY"), ("api_key", "$OPENAI_API_KEY"), ("api_key_env", "OPENAI_API_KEY"),
        ("password_file", "/run/secret.txt"), ("sort_key", "question"), ("key", "value"), ("secretary", "ann"),
        ("system_message", "You keep a secret. The password is what the user says. Bearer bonds are paper."),
        ("model", "openai/gpt-4o-2024-08-06"), ("model", "anthropic/claude-3-5-haiku-latest"),
        ("model", "sk-learn/sk-llm-7b"), ("task", "risk-assessment-2024-final-v2"),
        ("revision", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        ("model", "hf/hf_model"), ("base", "http://127.0.0.1:8000/v1"), ("base", "https://ann@host/v1/x@y?seed=1"),
        ("base", "https://host:443/a@b"), ("data", "s3://bucket/path?versionId=3"),
        ("first_pass", "done"), ("pass", "12"), ("auth", "none"), ("x", "a"), ("level", "Basic English"),
        ("level", "basic arithmetic"), ("city", "dapifer"),
        ("auth", "https://host/login"), ("answer_key", "answers"),
    ],
)  # fmt: skip
def test_what_is_not_a_credential_is_left_alone(name, value):
    assert find_credentials({name: value, "list": [{name: value}]}) == []
    if isinstance(value, str):
        assert find_in_words(["run", f"--{name}", value]) == []
        assert redacted(value) == value


@pytest.mark.parametrize(
    "secret",
    [
        KEY, "sk-" + "ant-api03-abcdefgh", "sk-" + "0123456789abcdef0123", "ghp_" + "a1" * 18, "hf_" + "aB" * 17,
        "AKIA" + "ABCDEFGH12345678", "Bearer abc", "github_pat_" + "a1_" * 10, "AIza" + "Sy0" * 12,
        "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0.abc", "https://ann:hunter2@host/v1", "http://host/v1?token=hunter2",
        "postgresql://host/db?user=ann&password=hunter2", "https://host/v1?key=abc",
        "dapi" + "0123456789abcdef" * 2, "dapi" + "0123456789abcdef" * 2 + "-3", "Basic YW5uOmh1bnRlcjI=",
        "Authorization: Basic abc", "authorization=hunter2", "X-Auth: hunter2", "model=x,api_key=abc",
    ],
)  # fmt: skip
def test_a_shape_gives_a_credential_away(secret):
    assert find_credentials({"config": {"note": f"{secret}"}, "deep": {"list": ["fine", secret]}}) == [
        "config.note",
        "deep.list.2",
    ]
    assert find_in_words(["run", secret, "--seed", "{seed}"]) == [1]


def test_a_command_reads_its_placeholders_and_the_environment():
    words = [
        "sh",
        "-c",
        'run --api-key "$OPENAI_API_KEY" --token={seed}',
        "--password",
        "{model}",
        "--api-key",
        "--out",
    ]
    assert find_in_words(words) == []
    assert find_in_words(["curl", "-H", "Authorization: Bearer abc", "env", "HF_TOKEN=abc"]) == [2, 4]
    assert find_in_words(["run", "--key", "A1b2" * 8, "--key", "name"]) == [2]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:pass@host:5432/db", "postgresql://ann:***@host:5432/db"),
        ("postgresql://ann:p@ss/w?rd@host/db", "postgresql://ann:***@host/db"),
        ("postgresql://:pass@host/db", "postgresql://:***@host/db"),
        ("postgresql://ann:123@host/db", "postgresql://ann:***@host/db"),
        ("postgresql://host/db?password=pass&sslmode=on", "postgresql://host/db?password=***&sslmode=on"),
        ("postgresql://host/db?pass%77ord=pass", "postgresql://host/db?pass%77ord=***"),
        ("https://host/v1?token=abc#access_token=abc", "https://host/v1?token=***#access_token=***"),
        ("https://host:8000/v1?max_tokens=5", "https://host:8000/v1?max_tokens=5"),
        ("not a url", "not a url"),
        ("postgresql://host:port/db", "postgresql://host:port/db"),
        ("", ""),
    ],
)
def test_urls_lose_their_credentials_and_nothing_else(url, shown):
    assert without_credentials(url) == shown
    assert without_credentials(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"GET https://ann:{SECRET}@host/v1 failed",
        f"GET https://host/v1?api_key={SECRET} failed",
        f"headers: {{'Authorization': 'Bearer {SECRET}'}}",
        f'{{"authorization": "Basic {SECRET}", "x": 1}}',
        f"Authorization: Bearer {SECRET}",
        f"the header was Bearer {SECRET}{SECRET}",
        f"connection to host with password={SECRET} failed",
        f"usage: run --api-key {SECRET} --out x",
        f"Command '['run', '--api-key', '{SECRET}']' returned non-zero exit status 1.",
    ],
)
def test_messages_lose_credentials(text):
    assert KEY not in redacted(text)
    assert SECRET not in redacted(text)
    assert "***" in redacted(text)


def test_messages_keep_everything_else():
    for text in (
        "Unexpected token: < in JSON at position 0",
        "the command ended with exit code 7; the command's output is in run/log.txt",
        "RateLimitError: 10000 tokens per minute, max_tokens=500",
        "Connection refused: http://127.0.0.1:8000/v1/chat",
    ):
        assert redacted(text) == text
    assert secret_values({"PWD": "/home/ann/study", "OLDPWD": "/home/ann", "HOME": "/home/ann"}) == ()
    assert redacted("no such model: qwertyuiop", ["qwertyuiop", "no"]) == "no such model: ***"


def test_a_name_that_is_a_credential_is_not_repeated():
    (place,) = find_credentials({KEY: {"password": "abc"}})
    assert KEY not in place


def test_no_text_makes_a_pattern_explode():
    """A pattern that tried every split of these would never return."""
    for text in ("a-" * 1000, "sk-" * 700, "://a:" * 1000, "a=" * 1000, "'" * 2000, "bearer " * 500, "eyJ." * 700):
        assert redacted(text) is not None
        assert find_credentials({"x": text}) in ([], ["x"])


@pytest.mark.parametrize(
    ("setting", "place"),
    [
        ({"default_headers": [["Authorization", "Basic abc"]]}, "default_headers.1.2"),
        ({"default_headers": [["X-Auth", "abc"], ["X-Trace", "on"]]}, "default_headers.1.2"),
        ({"headers": ["Accept: text/plain", "Authorization: Basic abc"]}, "headers.2"),
        ({"headers": ["Authorization", "Basic abc"]}, "headers.2"),
        ({"headers": [{"name": "Authorization", "value": "Basic abc"}]}, "headers.1.value"),
        ({"flags": ["--seed", "1", "--api-key", "abc", "--fast"]}, "flags.4"),
        ({"auth": ["ann", "abc"]}, "auth.1"),
        ({"basic_auth": "ann:abc"}, "basic_auth"),
    ],
)
def test_a_credential_is_found_in_whatever_form_settings_have(setting, place):
    assert find_credentials({"args": setting})[0] == f"args.{place}"


def test_words_that_stand_beside_each_other_are_no_pair():
    prompt = "Reply in the form 'password: WORD', please."
    assert find_credentials({"prompt": prompt, "stop": ["password", "token"]}) == []
    assert find_credentials({"choices": [["a", "b"], ["sort_key", "name"]]}) == []


def test_known_values_are_removed_in_every_spelling():
    key = 'p"ss/w+rd=='
    for text in (f"key {key}", 'key p\\"ss/w+rd==', "http://host/?x=p%22ss%2Fw%2Brd%3D%3D"):
        assert "ss/w" not in redacted(text, [key])
        assert "ss%2F" not in redacted(text, [key])


def test_a_log_loses_credentials_and_keeps_what_was_asked_and_answered():
    record = {
        "input": "Which password is safe? password: hunter2",
        "output": f"you sent me {SECRET}",
        "arguments": {"password": "hunter2", "token": "dog", "max_tokens": 5},
        "logprobs": [{"token": " dog", "logprob": -0.5}],
        "request": {"Authorization": "Basic abc", "x-api-key": "abc", "url": "https://ann:pw@host/v1?key=abc"},
        "error": f"Bearer {'Ab12' * 8}; {KEY}",
        "score": None,
    }
    assert redacted_record(record, [SECRET]) == record | {
        "output": "you sent me ***",
        "request": {"Authorization": "***", "x-api-key": "***", "url": "https://ann:***@host/v1?key=***"},
        "error": "Bearer ***; ***",
    }


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ann:pw@host:8000/v1/", "https://host:8000/v1"),
        ("https://token@host/v1?api-version=3&api-key=abc", "https://host/v1?api-version=3&api-key=***"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://host/hunter2Correct/v1", "http://host/***/v1"),
    ],
)
def test_an_address_that_is_published_has_no_credentials(url, shown):
    assert public_address(url, [SECRET]) == shown
