"""JSON documents read piece by piece give what the standard library gives, whatever the pieces are."""

import io
import json
import math
import random
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bbedge.errors import FormatError
from bbedge.readers.json_files import Archive, JsonStream
from bbedge.readers.limits import LimitError, Limits, limited

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


class Dripping(io.BytesIO):
    """A file that gives a few bytes at a time, whatever it is asked for."""

    def __init__(self, content, seed):
        super().__init__(content)
        self.rng = random.Random(seed)

    def read(self, size=-1):
        return super().read(self.rng.randint(1, 5))


def stream(document, seed=0):
    content = document if isinstance(document, bytes) else json.dumps(document, ensure_ascii=False).encode()
    return JsonStream(Dripping(content, seed), "log.json")


@settings(deadline=None)
@given(VALUES, st.integers())
def test_a_value_is_what_the_standard_library_reads(value, seed):
    assert stream(value, seed).value() == value


@settings(deadline=None)
@given(st.dictionaries(st.text(), VALUES, max_size=5), st.integers())
def test_objects_are_entered_key_by_key(value, seed):
    document = stream(value, seed)
    assert {key: document.value() for key in document.entries()} == value
    document.end()


@settings(deadline=None)
@given(st.lists(VALUES, max_size=5), st.integers())
def test_arrays_are_entered_element_by_element(value, seed):
    document = stream(value, seed)
    assert list(document.elements()) == value
    document.end()


def test_values_that_nobody_reads_are_passed_over():
    document = stream({"a": [1, {"b": 2}], "c": {"d": []}, "e": "end"})
    assert list(document.entries()) == ["a", "c", "e"]
    document.end()


def test_inner_objects_and_arrays_are_entered():
    document = stream({"x": 1, "results": {"version": 3, "results": [10, 20], "after": None}, "y": 2})
    found = []
    for key in document.entries():
        if key == "results":
            for inner in document.entries():
                if inner == "results":
                    found += document.elements()
    assert found == [10, 20]
    document.end()


def test_nan_and_infinity_are_taken_as_tools_write_them():
    first, second, third = stream(b"[NaN, -Infinity, 1e3]").elements()
    assert math.isnan(first)
    assert second == -math.inf
    assert third == 1000.0


def test_a_byte_order_mark_is_passed_over():
    assert stream(b"\xef\xbb\xbf[1]").value() == [1]


@settings(deadline=None)
@given(VALUES.filter(lambda value: isinstance(value, dict | list)), st.data())
def test_a_document_that_was_cut_off_is_refused(value, data):
    content = json.dumps(value).encode()
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(FormatError, match=r"log\.json: not a complete JSON document"):
        stream(content[:cut]).value()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"a": 1 "b": 2}' + b" " * 50, "delimiter"),
        (b'{"a": tru}' + b" " * 50, "Expecting value"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "4300 digits"),
    ],
)
def test_what_is_wrong_is_said(content, problem):
    with pytest.raises(FormatError, match=problem):
        stream(content).value()


def test_text_that_is_not_utf8_is_refused():
    with pytest.raises(FormatError, match=r"log\.json: not valid UTF-8"):
        stream(b'{"a": "\xff\xfe"}').value()


def test_what_follows_the_end_is_refused():
    document = stream(b"[1] [2]")
    document.value()
    with pytest.raises(FormatError, match="more after its end"):
        document.end()


def test_keys_and_separators_are_checked():
    for content in (b"{1: 2}", b'{"a" 1}', b'{"a": 1; "b": 2}', b"[1]"):
        document = stream(content)
        with pytest.raises(FormatError, match="not a complete JSON document"):
            list(document.entries())


def test_a_value_without_end_does_not_fill_the_memory():
    with limited(Limits(line_bytes=1000)), pytest.raises(LimitError, match="one value does not end"):
        stream(b'["' + b"a" * 5000 + b'"]').value()


@pytest.mark.parametrize("error", [RecursionError("deep"), OSError("elsewhere")])
def test_a_fault_of_whoever_reads_a_member_is_not_that_of_the_archive(tmp_path, error):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("member.json", "{}")

    def read():
        with Archive(str(tmp_path / "a.zip")) as archive, archive.member("member.json"):
            raise error

    with pytest.raises(type(error), match=str(error)):
        read()
