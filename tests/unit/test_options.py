"""Options in groups: Typer sees every field, the command gets one value."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
from typer.testing import CliRunner

from bbedge.cli.options import Without, as_option, grouped
from bbedge.errors import DomainError
from bbedge.records.codec import plain
from bbedge.records.reading import Reading, ReadingOptions
from bbedge.records.values import Level, Part, Positive, Strict, option


class Fruit(Strict, frozen=True, kw_only=True):
    apples: Annotated[int, option("How many apples.")] = 1
    pears: Annotated[tuple[str, ...], option("Names of pears.", names="--pear")] = ()


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
    assert done.output == f"mine 0 {Fruit(apples=3, pears=('a', 'b'))} True\n"
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

    assert run(pick, "--pear", "a").output == f"{Fruit(pears=('a',))}\n"
    assert run(pick, "--apples", "2").exit_code == 2


class Recipe(Strict, frozen=True, kw_only=True):
    """Every kind of field that an option is made from."""

    salt: Annotated[Level, option("How salty.")] = 0.05
    sugar_share: Annotated[Part | None, option("How sweet.", metavar="SHARE", default="0.2")] = None
    cooks: Annotated[Positive | None, option("How many cooks.", metavar="N", default=False)] = None
    oven: Annotated[Literal["gas", "wood"], option("Which oven.")] = "gas"
    spice: Annotated[Literal["hot", "mild"] | None, option("Which spice.")] = None
    times: Annotated[tuple[float, float], option("From when to when.", metavar="FROM TO")] = (0.0, 1.0)
    herbs: Annotated[tuple[str, ...], option("Which herbs.", metavar="NAME", names="--herb")] = ()
    out: Annotated[Path | None, option("Where to.", panel="Places")] = None
    stirred: Annotated[bool, option("Stir it.", names="-s --stirred")] = False


def cook(recipe: Recipe) -> None:
    """Cook."""
    typer.echo(str(recipe))


def test_a_record_is_a_group(run):
    words = "--salt 0.1 --sugar-share 0 --cooks 2 --oven wood --spice hot --times 1 2 --herb a --herb b --out x -s"
    made = Recipe(salt=0.1, sugar_share=0.0, cooks=2, oven="wood", spice="hot", times=(1.0, 2.0), herbs=("a", "b"))
    expected = str(made).replace("out=None, stirred=False", f"out={Path('x')!r}, stirred=True")
    assert run(cook, *words.split()).output == f"{expected}\n"
    assert run(cook).output == f"{Recipe()}\n"


def test_help_says_of_a_field_what_the_record_says(run):
    text = " ".join(run(cook, "--help").output.split())
    for part in (
        "--salt <float> How salty. [default: 0.05]",
        "--sugar-share SHARE How sweet. [default: (0.2)]",
        "--cooks N How many cooks. --oven",
        "--oven <gas|wood> Which oven. [default: gas]",
        "--spice <hot|mild> Which spice. --times",
        "--times FROM TO From when to when. [default: 0.0, 1.0]",
        "--herb NAME Which herbs. --out",
        "-s, --stirred Stir it.",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("--salt 2", "--salt 2 is not allowed; choose a number above 0 and below 1"),
        ("--sugar-share nan", "--sugar-share nan is not allowed; choose a number of at least 0 and below 1"),
        ("--cooks 0", "--cooks 0 is not allowed; choose a whole number of at least 1"),
    ],
)
def test_a_value_outside_its_bounds_is_refused_by_the_name_of_the_option(run, words, refusal):
    with pytest.raises(DomainError) as error:
        run(cook, *words.split())
    assert error.value.render(as_option) == refusal


def test_a_call_is_written_as_the_options_of_the_next_command():
    reading = Reading(metric=("acc", "f1"), score_range=(0.0, 10.0), column=("item=a b",), format="inspect")
    words = ["--format", "inspect", "--metric", "acc", "--metric", "f1", "--column", "item=a b"]
    assert reading.words() == [*words, "--score-range", "0", "10"]
    assert Reading().words() == []


def test_the_arguments_of_python_are_the_fields_of_the_record():
    assert set(ReadingOptions.__annotations__) == set(Reading.__struct_fields__)
    given = {"column": {"item": "a b"}, "metric": "acc", "metric_range": {"wer": (1, 0)}, "items": Path("x") / "y.csv"}
    made = Reading(column=("item=a b",), metric=("acc",), metric_range=("wer=1:0",), items=str(Path("x") / "y.csv"))
    assert Reading.of(given) == made
    with pytest.raises(TypeError, match="unexpected keyword argument 'metrics'; did you mean 'metric'"):
        Reading.of({"metrics": ("acc",)})


def test_what_a_certificate_states_is_read_again_as_it_was():
    reading = Reading(metric=("acc",), blocks="b", model_from="file", items="folder/items.csv", score_range=(0.0, 2.0))
    assert plain(reading.stated) == {"blocks": "b", "metric": ("acc",), "model_from": "file", "items": "items.csv"}
    again = Reading(blocks="item").with_stated(reading.stated)
    assert again == Reading(blocks="item", metric=("acc",))
