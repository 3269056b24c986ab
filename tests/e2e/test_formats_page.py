"""The pictures of files on the formats page are read by the commands beside them."""

import re
import shlex
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
SECTION = re.search(r"## Your file looks like this: type this\n(.*?)\n## ", PAGE, re.DOTALL)[1]
PICTURES = re.findall(r"\*\*(\d+\. .*?)\*\*: (.*?)\n\n```text\n(.*?)```\n\n```sh\n(.*?)\n```", SECTION, re.DOTALL)


def test_there_are_twelve():
    assert len(PICTURES) == 12
    assert [int(title.split(".")[0]) for title, *_ in PICTURES] == list(range(1, 13))


@pytest.mark.parametrize(("names", "content", "command"), [picture[1:] for picture in PICTURES])
def test_what_is_pictured_is_read(bbedge, tmp_path, monkeypatch, names, content, command):
    monkeypatch.chdir(tmp_path)
    for name in re.findall(r"`([\w.]+\.(?:csv|jsonl?))`", names):
        (tmp_path / name).write_text(content)
    outcome = bbedge(*shlex.split(command)[1:])
    assert outcome.code == 0, outcome.err
    assert "gpt" in outcome.out
