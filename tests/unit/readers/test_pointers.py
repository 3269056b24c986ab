"""Files of which only a pointer of Git LFS was downloaded."""

import pytest

from bbedge.errors import FormatError
from bbedge.readers import read_items, read_scores

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
TABLE = "model,item,score\na,q,1\nb,q,0\n"


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.json", "a.eval", "a.xlsx", "samples.csv.gz"])
def test_a_pointer_is_named_as_such(tmp_path, name):
    (tmp_path / name).write_text(POINTER)
    (tmp_path / "b.csv").write_text(TABLE)
    for source in (tmp_path / name, tmp_path):
        with pytest.raises(FormatError, match=rf"{name}: a Git LFS pointer, .*; fetch the file with git lfs pull"):
            read_scores(source)


def test_a_pointer_to_a_file_that_has_no_scores_is_passed_over(tmp_path):
    (tmp_path / "model.safetensors").write_text(POINTER)
    (tmp_path / "b.csv").write_text(TABLE)
    assert read_scores(tmp_path).models == ("a", "b")


def test_a_list_of_items_may_not_be_a_pointer(tmp_path):
    (tmp_path / "items.csv").write_text(POINTER)
    with pytest.raises(FormatError, match="a Git LFS pointer"):
        read_items(tmp_path / "items.csv")
