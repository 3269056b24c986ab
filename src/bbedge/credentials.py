"""Keys, passwords and tokens: found in settings, and removed from URLs, messages and logs.

What a study freezes is published with its board, and what an engine reports ends up in journals, messages and logs.
None of it may hold a credential. One rule serves all of them: a credential is known by its value, by its name
(``api_key``) or by its shape (``sk-...``). Settings and messages use all three. Logs are records of what was asked and
answered, where a name alone says little, so there only the names of headers count. These functions read no environment
and no file.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from urllib.parse import quote, unquote

HIDDEN = "***"
"""What stands in place of a credential."""

_SINGLE = frozenset({
    "apikey", "apitoken", "authtoken", "accesstoken", "authorization", "authentication", "bearer", "cookie",
    "cookies", "credential", "credentials", "passphrase", "passwd", "password", "passwords", "pwd", "secret",
    "secrets", "secretkey", "privatekey", "accesskey", "dbpass", "userpass", "userpwd",
})  # fmt: skip
_PASSWORDS = frozenset({"passphrase", "passwd", "password", "pwd"})
# Whose key it is: "openai_key"; "sort_key" is none.
_KEYS = frozenset({
    "access", "account", "admin", "ai21", "anthropic", "api", "auth", "azure", "azureai", "bedrock", "bing", "cerebras",
    "claude", "client", "cloudflare", "cohere", "databricks", "deepinfra", "deepseek", "encryption", "fireworks",
    "gemini", "google", "gpt", "grok", "groq", "hf", "huggingface", "langfuse", "langsmith", "master", "mistral",
    "moonshot", "nvidia", "openai", "openrouter", "perplexity", "private", "replicate", "sambanova", "secret", "serper",
    "service", "signing", "subscription", "tavily", "together", "togetherai", "vertex", "vllm", "wandb", "xai",
})  # fmt: skip
# Whose password it is: "user_pass"; "first_pass" is none.
_LOGINS = frozenset({
    "account", "admin", "auth", "basic", "database", "db", "email", "ftp", "http", "https", "login", "mail", "mysql",
    "pg", "postgres", "proxy", "redis", "root", "smtp", "ssh", "user", "username",
})  # fmt: skip
_OF_HEADERS = frozenset({"auth", "key", "pass", "sig", "signature"})
"""How the name of a header of one's own ends, such as ``X-Auth``, if its value is a credential."""
# Special tokens of a tokenizer, and counts: "pad_token", "max_token".
_OF_TEXT = frozenset({
    "begin", "bos", "cls", "decoder", "end", "eod", "eom", "eos", "eot", "first", "image", "last", "mask", "max",
    "min", "new", "next", "pad", "padding", "per", "prefix", "prompt", "sep", "special", "start", "stop", "suffix",
    "think", "top", "unk", "unknown", "word",
})  # fmt: skip
# "password_file" and "api_key_env" say where the credential is, not what it is.
_ABOUT = frozenset({
    "count", "dir", "env", "environment", "field", "file", "filename", "format", "header", "id", "length", "limit",
    "name", "path", "policy", "prefix", "type", "uri", "url", "var", "variable",
})  # fmt: skip
_PLACEHOLDERS = frozenset({"", "-", "dummy", "empty", "n/a", "no-key", "none", "not-needed", "null", "unused", HIDDEN})
_REFERENCE = re.compile(
    r"\$(?:[A-Z_][A-Z0-9_]*|\{\w+\}|\(.*)$|%\w+%$|\{\w+\}$|(?:os\.)?(?:getenv|environ)\b|<[\w -]+>$"
)

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SHAPES = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        sk-(?:proj|ant|or|svcacct|admin|live|test)-[\w-]{8,}
      | sk-(?=[\w-]*\d)[\w-]{20,}
      | sk-(?:[\w]+-)*(?=[A-Za-z_]*\d)(?=\d*[A-Za-z_])\w{8,}
      | [rs]k_(?:live|test)_\w{8,}
      | gh[oprsu]_[A-Za-z0-9]{16,} | github_pat_\w{16,} | glpat-[\w-]{16,}
      | hf_[A-Za-z0-9]{16,} | gsk_[A-Za-z0-9]{16,} | r8_[A-Za-z0-9]{16,}
      | xai-[A-Za-z0-9]{16,} | nvapi-[\w-]{16,} | pypi-Ag[\w-]{16,}
      | (?:dapi|dose)[0-9a-f]{16,}(?:-\d+)? | pplx-[A-Za-z0-9]{16,} | csk-[a-z0-9]{16,} | npm_[A-Za-z0-9]{30,}
      | lsv2_[a-z]{2}_\w{16,} | tgp_v1_[\w-]{16,}
      | A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])
      | AIza[\w-]{30,}
      | xox[abeoprs]-[A-Za-z0-9-]{10,}
      | eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*
      | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[^-"]*(?:-----END\ [A-Z ]*PRIVATE\ KEY-----)?
    )""",
    re.VERBOSE,
)
_BEARER = re.compile(r"\b(bearer)\s+(?=[^\s\"',;]{20}|[^\s\"',;]*\d)([^\s\"',;]+)", re.IGNORECASE)
_WHOLE_BEARER = re.compile(r"\s*bearer\s+\S+\s*", re.IGNORECASE)
_BASIC = re.compile(r"\b(basic)\s+([A-Za-z0-9+/_-]{4,}={0,2})", re.IGNORECASE)
_SCHEME = re.compile(r"(?:bearer|basic|digest|token)\s", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_USER_AND_PASSWORD = re.compile(r"[^:/\s]+:[^/\s]+")
_HEADER = re.compile(
    r"(?:proxy-)?authorization|(?:[\w-]+[-_])?api[-_]?key|x-[\w-]*(?:auth|token|key)|(?:set-)?cookie", re.I
)

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+")
_USER = re.compile(r"(?P<before>://)[^/?#\s]*@")
# A password may hold "@", "/", "?" and "#" that its writer did not escape, so it ends at the last "@"; a port ends
# at a "/" and is not taken for one.
_LOGIN = re.compile(r"(?P<before>://[^:/@?#\s]*:)(?!\d{1,5}(?:[/?#]|$))(?P<password>[^\s\"'<>]*)@")
_PARAMETER = re.compile(r"(?P<before>[?&;#](?P<name>[^=&;#\s\"']+)=)(?P<value>[^&;#\s\"']*)")

_SETTING = re.compile(
    r"""(?<![A-Za-z0-9_])(?P<name>[A-Za-z_][\w.-]*+)
        (?P<between>["']?\s*[:=]\s*(?:b(?=["']))?|["']\s*,\s*b?(?=["']))
        (?P<value>"[^"]*"|'[^']*'|(?:(?:bearer|basic|digest|token)\s+)?[^\s,;&"']+)""",
    re.VERBOSE | re.IGNORECASE,
)
_FLAG = re.compile(r"--?(?P<name>[A-Za-z][\w.-]*)")
_FLAGGED = re.compile(r"(?<![\w-])(?P<flag>--?(?P<name>[A-Za-z][\w.-]*+)\s+)(?P<value>[^\s\"',;-][^\s\"',;]*)")
_FOLDERS = frozenset({"PWD", "OLDPWD"})
_LEAST_KNOWN = 8  # characters: a shorter text is too likely to be something else


def find_credentials(values: Mapping[str, object]) -> list[str]:
    """Where settings hold what looks like a credential: dotted names, never the credential.

    >>> find_credentials({"args": {"api_key": "abc"}, "config": {"max_tokens": 100, "extra": ["Bearer abc"]}})
    ['args.api_key', 'config.extra.1']
    """
    return [redacted(place) for place in _places(values, "", named=False)]


def find_in_words(words: Sequence[str]) -> list[int]:
    """Which words of a command hold what looks like a credential, from 0.

    >>> find_in_words(["run", "--api-key", "abc", "--token=abc", "--max-tokens", "100", "--key", "{seed}"])
    [2, 3]
    """
    return [
        place
        for place, word in enumerate(words)
        if _is_shaped(word) or (place and _is_flagged(words[place - 1], word)) or any(_secret_settings(word))
    ]


def _is_flagged(before: str, word: str) -> bool:
    """Whether a word is the value of a flag that names a credential."""
    flag = _FLAG.fullmatch(before)
    return flag is not None and not word.startswith("-") and _is_secret(flag["name"], word)


def without_credentials(url: str) -> str:
    """A URL without its password and without the values of parameters that are credentials. It never raises.

    >>> without_credentials("postgresql://ann:pass@host/db?sslmode=require&password=pass")
    'postgresql://ann:***@host/db?sslmode=require&password=***'
    """
    text = _LOGIN.sub(lambda login: f"{login['before']}{HIDDEN}@", url)
    text = _PARAMETER.sub(
        lambda each: each["before"] + (HIDDEN if _is_secret_parameter(each["name"], each["value"]) else each["value"]),
        text,
    )
    return _SHAPES.sub(HIDDEN, text)


def redacted(text: str, known: Iterable[str] = ()) -> str:
    """A message without credentials: those in ``known``, and what looks like one.

    >>> redacted("401 for http://a:b@host/v1 (Authorization: Bearer xyz)")
    '401 for http://a:***@host/v1 (Authorization: ***)'
    """
    text = _without_settings(_without_shapes(_without_known(text, known)))
    text = _FLAGGED.sub(
        lambda each: each["flag"] + (HIDDEN if _is_secret(each["name"], each["value"]) else each["value"]), text
    )
    return _without_shapes(text)


def redacted_record(value: object, known: Iterable[str] = ()) -> object:
    """A part of a log, as plain values, without credentials: known ones, shapes, and headers.

    >>> redacted_record({"Authorization": "Basic abc", "text": ["password = x", "it was abc45678"]}, ["abc45678"])
    {'Authorization': '***', 'text': ['password = x', 'it was ***']}
    """
    known = tuple(known)
    if isinstance(value, str):
        return _without_shapes(_without_known(value, known))
    if isinstance(value, Mapping):
        return {
            redacted_record(key, known): HIDDEN
            if isinstance(each, str) and _is_real(each) and _HEADER.fullmatch(str(key))
            else redacted_record(each, known)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [redacted_record(each, known) for each in value]
    return value


def public_address(url: str, known: Iterable[str] = ()) -> str:
    """The address of a server as it may be published: without user and password, and without other credentials.

    >>> public_address("https://ann:pass@host:8000/v1/?api-version=3&key=abc")
    'https://host:8000/v1/?api-version=3&key=***'
    """
    plain = _USER.sub(r"\g<before>", without_credentials(url))
    return _without_shapes(_without_known(plain, known)).rstrip("/")


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of the variables whose names say that they are credentials.

    >>> secret_values({"OPENAI_API_KEY": "abc123", "HOME": "/home/ann", "HF_TOKEN": "none"})
    ('abc123',)
    """
    return tuple(value for name, value in environment.items() if name not in _FOLDERS and _is_secret(name, value))


def _without_known(text: str, known: Iterable[str]) -> str:
    """A text without these values, also where they are escaped as in JSON or in a URL."""
    forms = {
        form
        for secret in known
        if len(secret) >= _LEAST_KNOWN
        for form in (secret, json.dumps(secret)[1:-1], quote(secret, safe=""))
    }
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def _without_shapes(text: str) -> str:
    # Logs are long, and most of their texts have none of these words.
    if "://" in text:
        text = _URL.sub(lambda url: without_credentials(url[0]), text)
    lower = text.lower()
    if "bearer" in lower:
        text = _BEARER.sub(lambda found: f"{found[1]} {HIDDEN}", text)
    if "basic" in lower:
        text = _BASIC.sub(lambda found: f"{found[1]} {HIDDEN}" if _is_login(found[2]) else found[0], text)
    return _SHAPES.sub(HIDDEN, text)


def _is_login(encoded: str) -> bool:
    """Whether it is a user and a password as a header has them, in base64."""
    padded = encoded.rstrip("=") + "=" * (-len(encoded.rstrip("=")) % 4)
    try:
        return ":" in base64.urlsafe_b64decode(padded.replace("+", "-").replace("/", "_")).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return False


def _places(value: object, place: str, *, named: bool, in_list: bool = False) -> Iterable[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            name = str(key)
            inner = f"{place}.{name}" if place else name
            is_login = _words(name)[-1:] == ["auth"] and isinstance(each, list | tuple) and len(each) == 2
            of_header = name == "value" and any(_is_secret(str(value.get(key)), each) for key in ("name", "key"))
            is_named = named or is_login or of_header or _names_secret(name) or _is_secret(name, each)
            yield from _places(each, inner, named=is_named)
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value, start=1):
            of_pair = number > 1 and _is_pair(value[number - 2], each, certain=len(value) == 2 and in_list)
            yield from _places(each, f"{place}.{number}", named=named or of_pair, in_list=True)
    elif (isinstance(value, str) and ((named and _is_real(value)) or _is_shaped(value) or _is_setting(value))) or (
        named and isinstance(value, int) and not isinstance(value, bool) and _is_secret(place, value)
    ):
        yield place


def _is_pair(name: object, value: object, *, certain: bool) -> bool:
    """Whether a text in a list names a credential, which is the next element.

    An element of a list of pairs is ``certain`` to be a name; elsewhere two words may just stand beside each other.
    """
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    if _FLAG.fullmatch(name) is not None:
        return _is_flagged(name, value)
    return _NAME.fullmatch(name) is not None and _is_secret(name, value) and (certain or not value.isalpha())


def _is_setting(text: str) -> bool:
    """Whether a text is a header or a list of settings with a credential; a sentence that mentions one is not."""
    found = [_bare(setting["value"]) for setting in _secret_settings(text)]
    if not found:
        return False
    return any(_SCHEME.match(each) or _is_random(each) for each in found) or not _SETTING.sub("", text).strip(" ,;&\n")


def _is_secret(name: str, value: object) -> bool:
    """Whether the name says that its value is a credential and the value is one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return bool(_PASSWORDS & set(_words(name))) and _names_secret(name)
    if not isinstance(value, str) or not _is_real(value):
        return False
    last = _words(name)[-1:]
    return (
        _names_secret(name)
        or (last in (["key"], ["auth"], ["sig"]) and _is_random(value))
        or (last == ["auth"] and _USER_AND_PASSWORD.fullmatch(value) is not None)
    )


def _is_secret_parameter(name: str, value: str) -> bool:
    """In a URL a bare ``key`` or ``sig`` is a credential, too."""
    name = unquote(name)
    return bool(value) and (_names_secret(name) or _words(name)[-1:] in (["key"], ["auth"], ["sig"], ["signature"]))


def _names_secret(name: str) -> bool:
    words = _words(name)
    if not words or words[-1] in _ABOUT:
        return False
    return (
        any(word in _SINGLE for word in words)
        or any(first in _KEYS and then in ("key", "keys") for first, then in pairwise(words))
        or any(first in _LOGINS and then == "pass" for first, then in pairwise(words))
        or (words[0] == "x" and words[-1] in _OF_HEADERS and len(words) > 1)
        or (words[-1] == "token" and (len(words) == 1 or words[-2] not in _OF_TEXT))
    )


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _is_real(value: str) -> bool:
    text = value.strip()
    return text.lower() not in _PLACEHOLDERS and _REFERENCE.match(text) is None


def _is_random(value: str) -> bool:
    """Long, in one piece, of letters and digits: nothing that a person would choose as a name."""
    return len(value) >= 20 and re.fullmatch(r"(?=.*\d)(?=.*[A-Za-z])[\w+/=.-]+", value) is not None


def _is_shaped(value: str) -> bool:
    return _without_shapes(value) != value or _WHOLE_BEARER.fullmatch(value) is not None


def _bare(value: str) -> str:
    return value[1:-1] if value[:1] in "\"'" and value[:1] == value[-1:] else value


def _secret_settings(text: str) -> Iterator[re.Match[str]]:
    """Settings whose value is a credential; a value may itself be a setting, as in ``--args=api_key=abc``."""
    start = 0
    while (setting := _SETTING.search(text, start)) is not None:
        secret = _is_secret(setting["name"], _bare(setting["value"]))
        if secret:
            yield setting
        start = setting.end() if secret else setting.start("value")


def _without_settings(text: str) -> str:
    pieces, start = [], 0
    for setting in _secret_settings(text):
        value, between = _bare(setting["value"]), setting["between"]
        # "Unexpected token: <" is a sentence; "token=abc" and {"token": "abc"} are settings.
        if (
            ":" in between
            and between[0] not in "\"'"
            and _words(setting["name"]) == ["token"]
            and not _is_random(value)
        ):
            continue
        quote = setting["value"][0] if value != setting["value"] else ""
        closing = ")" * (not quote and value.endswith(")"))
        pieces += [text[start : setting.start("value")], f"{quote}{HIDDEN}{quote}{closing}"]
        start = setting.end()
    return "".join([*pieces, text[start:]])
