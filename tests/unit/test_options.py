"""Options in groups: Typer sees every field, the command gets one value."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from bbedge.cli.options import Reading, Without, grouped


@dataclass(frozen=True, slots=True, kw_only=True)
class Fruit:
    apples: Annotated[int, typer.Option(help="How many apples.")] = 1
    pears: Annotated[list[str] | None, typer.Option("--pear", help="Names of pears.")] = None


@pytest.fixture
def run():
    def run(command, *words):
        app = typer.Typer(rich_markup_mode=None)
        app.command()(grouped(command))
        return CliRunner().invoke(app, words, catch_exceptions=False)

    return run


def buy(basket: str, *, first: int = 0, fruit: Fruit, last: bool = False) -> None:
    """Buy fruit."""
    typer.echo(f"{basket} {first} {fruit} {last}")


def test_a_command_gets_the_fields_of_a_group_as_one_value(run):
    done = run(buy, "mine", "--pear", "a", "--apples", "3", "--pear", "b", "--last")
    assert done.output == f"mine 0 {Fruit(apples=3, pears=['a', 'b'])} True\n"
    assert run(buy, "mine").output == f"mine 0 {Fruit()} False\n"


def test_help_lists_the_options_where_the_command_has_the_group(run):
    text = run(buy, "--help").output
    assert "Buy fruit." in text
    places = [text.index(option) for option in ("--first", "--apples", "--pear", "--last")]
    assert places == sorted(places)
    assert "How many apples." in text
    assert "[default: 1]" in text


def test_an_option_that_is_left_out_keeps_its_default(run):
    def pick(fruit: Annotated[Fruit, Without("apples")]) -> None:
        typer.echo(str(fruit))

    assert run(pick, "--pear", "a").output == f"{Fruit(pears=['a'])}\n"
    assert run(pick, "--apples", "2").exit_code == 2


def test_a_call_is_written_as_the_options_of_the_next_command():
    reading = Reading(metric=["acc", "f1"], score_range=(0.0, 10.0), column=["item=a b"], kind="inspect")
    words = ["--format", "inspect", "--metric", "acc", "--metric", "f1", "--column", "item=a b"]
    assert reading.words() == [*words, "--score-range", "0", "10"]
    assert Reading().words() == []
