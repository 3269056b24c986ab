"""Keys, passwords and tokens: found in settings, and removed from URLs and messages.

What a study freezes is published with its board, and what an engine reports ends up in journals and messages. None
of it may hold a credential. These functions decide by name (``api_key``) and by shape (``sk-...``); they read no
environment and no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from urllib.parse import unquote

HIDDEN = "***"
"""What stands in place of a credential."""

_SINGLE = frozenset({
    "apikey", "apitoken", "authtoken", "accesstoken", "authorization", "authentication", "bearer", "cookie",
    "cookies", "credential", "credentials", "passphrase", "passwd", "password", "passwords", "pwd", "secret",
    "secrets", "secretkey", "privatekey", "accesskey",
})  # fmt: skip
_PASSWORDS = frozenset({"passphrase", "passwd", "password", "pwd"})
_KEYS = frozenset(
    {"access", "account", "api", "auth", "client", "encryption", "private", "secret", "signing", "subscription"}
)
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
      | A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])
      | AIza[\w-]{30,}
      | xox[abeoprs]-[A-Za-z0-9-]{10,}
      | eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*
      | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[^-]*(?:-----END\ [A-Z ]*PRIVATE\ KEY-----)?
    )""",
    re.VERBOSE,
)
_BEARER = re.compile(r"\b(bearer)\s+(?=[^\s\"',;]{20}|[^\s\"',;]*\d)([^\s\"',;]+)", re.IGNORECASE)
_WHOLE_BEARER = re.compile(r"\s*bearer\s+\S+\s*", re.IGNORECASE)

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+")
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
    found = []
    for place, word in enumerate(words):
        flag = _FLAG.fullmatch(words[place - 1]) if place else None
        if (
            _is_shaped(word)
            or (flag is not None and not word.startswith("-") and _is_secret(flag["name"], word))
            or any(True for _ in _secret_settings(word))
        ):
            found.append(place)
    return found


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
    for secret in sorted(known, key=len, reverse=True):
        if len(secret) >= _LEAST_KNOWN:
            text = text.replace(secret, HIDDEN)
    text = _URL.sub(lambda url: without_credentials(url[0]), text)
    text = _without_settings(text)
    text = _FLAGGED.sub(
        lambda each: each["flag"] + (HIDDEN if _is_secret(each["name"], each["value"]) else each["value"]), text
    )
    text = _BEARER.sub(lambda found: f"{found[1]} {HIDDEN}", text)
    return _SHAPES.sub(HIDDEN, text)


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of the variables whose names say that they are credentials.

    >>> secret_values({"OPENAI_API_KEY": "abc123", "HOME": "/home/ann", "HF_TOKEN": "none"})
    ('abc123',)
    """
    return tuple(value for name, value in environment.items() if name not in _FOLDERS and _is_secret(name, value))


def _places(value: object, place: str, *, named: bool) -> Iterable[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            name = str(key)
            inner = f"{place}.{name}" if place else name
            yield from _places(each, inner, named=named or _names_secret(name) or _is_secret(name, each))
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value, start=1):
            yield from _places(each, f"{place}.{number}", named=named)
    elif (isinstance(value, str) and ((named and _is_real(value)) or _is_shaped(value))) or (
        named and isinstance(value, int) and not isinstance(value, bool) and _is_secret(place, value)
    ):
        yield place


def _is_secret(name: str, value: object) -> bool:
    """Whether the name says that its value is a credential and the value is one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return bool(_PASSWORDS & set(_words(name))) and _names_secret(name)
    if not isinstance(value, str) or not _is_real(value):
        return False
    return _names_secret(name) or (_words(name)[-1:] in (["key"], ["auth"], ["sig"]) and _is_random(value))


def _is_secret_parameter(name: str, value: str) -> bool:
    """In a URL a bare ``key`` or ``sig`` is a credential, too."""
    name = unquote(name)
    return bool(value) and (_names_secret(name) or _words(name)[-1:] in (["key"], ["auth"], ["sig"], ["signature"]))


def _names_secret(name: str) -> bool:
    words = _words(name)
    if not words or words[-1] in _ABOUT:
        return False
    if any(word in _SINGLE for word in words):
        return True
    if any(first in _KEYS and then in ("key", "keys") for first, then in pairwise(words)):
        return True
    return words[-1] == "token" and (len(words) == 1 or words[-2] not in _OF_TEXT)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _is_real(value: str) -> bool:
    text = value.strip()
    return text.lower() not in _PLACEHOLDERS and _REFERENCE.match(text) is None


def _is_random(value: str) -> bool:
    """Long, in one piece, of letters and digits: nothing that a person would choose as a name."""
    return len(value) >= 20 and re.fullmatch(r"(?=.*\d)(?=.*[A-Za-z])[\w+/=.-]+", value) is not None


def _is_shaped(value: str) -> bool:
    if _SHAPES.search(value) or _BEARER.search(value) or _WHOLE_BEARER.fullmatch(value):
        return True
    return any(without_credentials(url[0]) != url[0] for url in _URL.finditer(value))


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
