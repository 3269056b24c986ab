"""A message names arguments for Python, options for the command line."""

import pickle

import pytest

from bbedge.cli.options import as_option
from bbedge.errors import Argument, Blank, CopiedReplicateError, DataError
from bbedge.readers.limits import HOW_TO_RAISE


@pytest.mark.parametrize(
    ("argument", "python", "option"),
    [
        (Argument("blocks"), "blocks", "--blocks"),
        (Argument("blocks", "one"), "blocks='one'", "--blocks one"),
        (Argument("score_range", (0, 10)), "score_range=(0, 10)", "--score-range 0 10"),
        (Argument("score_range", (Blank("LOW"), Blank("HIGH"))), "score_range=(LOW, HIGH)", "--score-range LOW HIGH"),
        (Argument("column", {"item": "a b"}), "column={'item': 'a b'}", "--column 'item=a b'"),
        (Argument("column", {Blank("ROLE"): Blank("NAME")}), "column={ROLE: NAME}", "--column ROLE=NAME"),
        (Argument("keep"), "keep", "--out"),
        (Argument("replicate_from"), "replicate_from", "--replicate-from"),
        (Argument("format", "wide"), "format='wide'", "--format wide"),
        (Argument("metric", ("a", "b")), "metric=('a', 'b')", "--metric a --metric b"),
        (Argument("model_name", (Blank("NAME"),)), "model_name=(NAME,)", "--model-name NAME"),
    ],
)
def test_an_argument_in_both_forms(argument, python, option):
    assert str(argument) == python
    assert as_option(argument) == option


def test_a_message_in_both_forms():
    error = DataError("a line is too long: ", *HOW_TO_RAISE, ".")
    assert str(error) == "a line is too long: raise the limits with max_size=SIZE."
    assert error.render(as_option) == "a line is too long: raise the limits with --max-size SIZE."


def test_a_value_that_looks_like_an_option_stays_as_it_is():
    error = DataError("column 'blocks='one'' is missing; pass ", Argument("blocks", "--blocks"))
    assert error.render(as_option) == "column 'blocks='one'' is missing; pass --blocks --blocks"


@pytest.mark.parametrize("error", [DataError("pass ", Argument("blocks", "one")), CopiedReplicateError("1 is 2.")])
def test_an_error_from_another_process_keeps_its_arguments(error):
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert copy.render(as_option) == error.render(as_option)
