"""The command line as a whole: whichever command is asked for is there, made alone or with all others."""

import pytest

from bbedge.cli import COMMANDS, GROUPS, make_app


def names(app):
    return [command.name for command in app.registered_commands] + [group.name for group in app.registered_groups]


def test_only_the_command_that_is_asked_for_is_made():
    for name in (*COMMANDS, *GROUPS):
        assert names(make_app(name)) == [name]
    for first in (None, "--version", "--help", "certfy", ""):
        assert names(make_app(first)) == [*COMMANDS, *GROUPS]


@pytest.mark.parametrize("name", [*COMMANDS, *GROUPS])
def test_every_command_explains_itself(bbedge, name):
    done = bbedge(name, "--help")
    assert done.code == 0
    assert f"Usage: bbedge {name} " in done.out


def test_a_command_that_is_not_there_is_named(bbedge):
    done = bbedge("certfy", "scores.csv")
    assert done.code == 2
    assert "No such command" in done.err
    assert "certify" in done.err


def test_the_version(bbedge):
    assert bbedge("--version").out.startswith("bbedge 0.")


@pytest.mark.parametrize("command", ["certify", "compare", "inspect-scores"])
def test_progress_is_for_people(bbedge, tmp_path, command):
    rows = [f"{m},q{i},{r},{(i + r) % 2 if m == 'a' else 0}" for m in "ab" for i in range(4) for r in (1, 2, 3)]
    scores = tmp_path / "scores.csv"
    scores.write_text("\n".join(["model,item,replicate,score", *rows]) + "\n", encoding="utf-8")
    done = bbedge(command, scores)
    assert done.code == 0
    assert done.err == ""  # a file or a pipe is no screen: not even an empty line
