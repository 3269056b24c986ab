"""Lists of items: what is read, and what is refused with its line."""

import pytest

from bbedge.errors import FormatError
from bbedge.readers import read_items


def write(tmp_path, text, name="items.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path):
    with pytest.raises(FormatError) as caught:
        read_items(path)
    return str(caught.value).replace(str(path), "FILE")


def test_items_with_blocks(tmp_path):
    read = read_items(write(tmp_path, "item,block\nq1,d1\nq2,d1\nq3,d2\n"))
    assert read.items == ("q1", "q2", "q3")
    assert read.blocks == ("d1", "d1", "d2")


def test_without_blocks_every_item_is_for_itself(tmp_path):
    read = read_items(write(tmp_path, "item\nq2\nq1\n"))
    assert read.items == read.blocks == ("q2", "q1")


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffitem,block\r\nq1,d\r\nq2,d\r\n",
        "Item , BLOCK\nq1,d\nq2,d\n",
        "note,block,item\nx,d,q1\ny,d,q2\n",
        "item,block\n\nq1,d\n\nq2,d",
    ],
    ids=["windows", "case", "other columns", "blank lines"],
)
def test_spellings_of_the_same_list(tmp_path, text):
    read = read_items(write(tmp_path, text))
    assert (read.items, read.blocks) == (("q1", "q2"), ("d", "d"))


def test_names_are_kept_as_they_are(tmp_path):
    names = ("a,b", 'say "x"', "two\nlines", " spaced ", "é🤖", "=1+1")
    body = "".join('"' + name.replace('"', '""') + '"\n' for name in names)
    assert read_items(write(tmp_path, "item\n" + body)).items == names


def test_a_path_may_be_text(tmp_path):
    assert read_items(str(write(tmp_path, "item\nq\n"))).items == ("q",)


def test_many_items(tmp_path):
    names = tuple(f"q{i}" for i in range(12_032))
    assert read_items(write(tmp_path, "item\n" + "\n".join(names))).items == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "FILE: the file is empty (0 bytes); expected item and, optionally, block"),
        ("question,block\nq,b\n", "FILE: no column named item; found 'question', 'block'"),
        ("item;block\nq;b\n", "FILE: no column named item; found 'item;block'"),
        ("item\n", "FILE: the file lists no items; give one row per item"),
        ("item,block\nq1,d\nq2,d\nq1,e\n", "FILE:4: item 'q1' comes twice; remove one of the rows"),
        ("item,block\nq1,d\n,d\n", "FILE:3: the item has no name; every row needs one"),
        ("item,block\nq1,d\nq2,\n", "FILE:3: item 'q2' has no block; fill it in or remove the column"),
        ("item,block\nq1,d\nq2\n", "FILE:3: item 'q2' has no block"),
        ("block,item\nd\n", "FILE:2: the item has no name"),
        (b"item\nq\xff\n", "FILE: not a CSV file in UTF-8"),
        ('item\n"q1\n', "FILE: not a CSV file in UTF-8"),
        ('item\n"q1"x\n', "FILE: not a CSV file in UTF-8"),
        (b"PK\x03\x04\x00\x00", "FILE: "),
    ],
)
def test_lists_that_are_refused(tmp_path, text, message):
    assert refusal(write(tmp_path, text)).startswith(message)


def test_more_cells_than_columns_are_refused(tmp_path):
    """A comma in a name that was not quoted must not shift the blocks."""
    assert "FILE:2" in refusal(write(tmp_path, "item,block\nq1, or what,d1\n"))


def test_a_column_that_comes_twice_is_refused(tmp_path):
    assert "item" in refusal(write(tmp_path, "item,Item\nq1,p1\n"))


def test_a_huge_cell_is_refused_or_read(tmp_path):
    path = write(tmp_path, "item\n" + "x" * 200_000 + "\n")
    assert "not a CSV file" in refusal(path)


def test_names_in_messages_are_harmless(tmp_path):
    text = "item\n\x1b[31mq\u202e\n\x1b[31mq\u202e\n"
    message = refusal(write(tmp_path, text))
    assert "comes twice" in message
    assert "\x1b" not in message
    assert "\u202e" not in message


def test_a_file_that_is_not_there(tmp_path):
    assert refusal(tmp_path / "no.csv") == "FILE: no such file; check the path"
    assert "a directory, not a file" in refusal(tmp_path)
