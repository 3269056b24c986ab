"""The reference of the command line, made from the program itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from bbedge.cli import make_app

HEAD = """\
# Commands and options

This page lists every command of `bbedge` with its arguments and options, as `bbedge COMMAND --help` prints them. It is
made from the program: run `make docs-outputs` after a change. [Command line](../cli.md) explains the options of
`certify`, the methods and the exit codes, with links to the details.
"""
_FACT = re.compile(r"  \[(default: (?P<default>.*?)|(?P<required>required))\]$")


def page() -> str:
    """The page, as Markdown."""
    root = typer.main.get_command(make_app())
    parts = [HEAD, "| command | |\n|---|---|"]
    found = list(_walk(root, "bbedge"))
    parts[-1] += "".join(
        f"\n| [`{name}`](#{name.replace(' ', '-')}) | {_escaped(_first(command))} |" for name, command in found
    )
    parts += [_section(name, command) for name, command in found]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    children = getattr(command, "commands", None)
    if children is None:
        yield name, command
    for word, child in (children or {}).items():
        yield from _walk(child, f"{name} {word}")


def _first(command: Any) -> str:  # noqa: ANN401
    return " ".join((command.help or "").split("\n\n")[0].split())


def _section(name: str, command: Any) -> str:  # noqa: ANN401
    context = typer.Context(command, info_name=name)
    arguments, options = [], []
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            if parameter.opts[0].startswith("-"):
                options.append(_row(*record))
            else:
                arguments.append(_row(record[0].split(" <")[0].upper(), record[1]))
    parts = [f"## {name}", *_prose(command.help or "")]
    if arguments:
        rows = "\n".join(f"| {name} | {meaning} |" for name, _, meaning in arguments)
        parts.append(f"| argument | meaning |\n|---|---|\n{rows}")
    if options:
        parts.append(
            "| option | default | meaning |\n|---|---|---|\n" + "\n".join(f"| {o} | {d} | {m} |" for o, d, m in options)
        )
    return "\n\n".join(parts)


def _row(declared: str, meaning: str) -> tuple[str, str, str]:
    fact = _FACT.search(meaning)
    default = ""
    if fact:
        meaning = meaning[: fact.start()]
        default = "required" if fact["required"] else f"`{fact['default'].strip('()')}`"
    shown = ", ".join(f"`{part}`" for part in declared.replace(" <bool>", "").split(", "))
    return shown.replace("|", r"\|"), default, _escaped(" ".join(meaning.split()))


def _prose(text: str) -> Iterator[str]:
    """The help of a command, with its examples as a list and settings as a block."""
    examples: list[str] = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("[cyan]"):
            examples += _examples(paragraph)
            continue
        if examples:
            yield "\n".join(examples)
            examples = []
        plain = paragraph.replace("\\[", "[")
        if re.match(r"\w+ = ", plain):
            yield f"```toml\n{plain}\n```"
        else:
            yield re.sub(r"\\\[/?bold\\\]", "**", _escaped(" ".join(plain.split())))
    if examples:
        yield "\n".join(examples)


def _examples(paragraph: str) -> list[str]:
    found: list[str] = []
    for line in paragraph.splitlines():
        if command := re.fullmatch(r"\[cyan\](.*)\[/cyan\]", line):
            found.append(f"* `{command[1]}`")
        else:
            found[-1] += (": " if found[-1].endswith("`") else " ") + _escaped(line)
    return found


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is, also in the cell of a table."""
    return re.sub(r"([*_<|\[\]])", r"\\\1", text)
