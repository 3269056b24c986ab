"""``bbedge publish``: a board as a folder, from the command line."""

import csv
import json
import re
import shlex
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bbedge.board import Board
from bbedge.site.publish import file_name
from e2e.published import HREF, NAMES, board_with_history, broken_links

EVERYWHERE = (
    ".nojekyll",
    "badge.svg",
    "board.jsonl",
    "certificate.json",
    "feed.xml",
    "heads.jsonl",
    "index.html",
    "manifest.json",
    "rows.csv",
    "verify.md",
)


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    path = tmp_path_factory.mktemp("board") / "board.db"
    board_with_history(path).close()
    return path


@pytest.fixture
def published(board, bbedge, tmp_path):
    done = bbedge("publish", board, tmp_path / "site")
    assert done.code == 0, done.err
    return tmp_path / "site"


class Attributes(HTMLParser):
    """The names of all attributes of a page."""

    @classmethod
    def of(cls, page):
        parser = cls()
        parser.found = set()
        parser.feed(page)
        return parser.found

    def handle_starttag(self, tag, attrs):
        self.found.update(name for name, _ in attrs)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_board_becomes_a_folder(board, bbedge, tmp_path):
    done = bbedge("publish", board, tmp_path / "new" / "site", "--title", "Ours")
    assert done.code == 0
    models = [f"models/{file_name(name)}.{ending}" for name in (*NAMES, "late") for ending in ("html", "svg")]
    assert sorted(contents(tmp_path / "new" / "site")) == sorted([*EVERYWHERE, *models])
    events, head = len(Board.open(board).events), Board.open(board).head
    files = len(EVERYWHERE) - 1 + len(models)
    assert done.out.splitlines() == [
        f"Published {board} in {tmp_path / 'new' / 'site'}: {files} files written, 0 unchanged, 0 removed.",
        f"{events} events, head {head}",
    ]
    again = bbedge("publish", board, tmp_path / "new" / "site", "--title", "Ours")
    assert f": 0 files written, {files} unchanged, 0 removed." in again.out
    for file in ("index.html", *models[:1]):
        page = (tmp_path / "new" / "site" / file).read_text()
        assert f"ledger event {events}, {head[:8]}" in page
        assert "<title>" in page
        assert "Ours" in page
    for file in ("badge.svg", *models[1:2]):
        assert f"event {events}, {head[:8]}</text>" in (tmp_path / "new" / "site" / file).read_text()


def test_the_same_board_gives_the_same_bytes(board, published, bbedge, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")  # no clock
    assert bbedge("board", "import", published / "board.jsonl", tmp_path / "board.db").code == 0
    assert bbedge("publish", tmp_path / "board.db", tmp_path / "copy").code == 0
    assert contents(tmp_path / "copy") == contents(published)


def test_only_what_a_run_changes_is_written(board, bbedge, tmp_path):
    shutil.copy(board, tmp_path / "board.db")
    bbedge("publish", tmp_path / "board.db", tmp_path / "site")
    before = contents(tmp_path / "site")
    times = {path: (tmp_path / "site" / path).stat().st_mtime_ns for path in before}
    Board.open(tmp_path / "board.db").note("protocol", "checked")
    assert bbedge("publish", tmp_path / "board.db", tmp_path / "site").code == 0
    after = contents(tmp_path / "site")
    kept = {path for path, text in after.items() if before.get(path) == text}
    assert {"rows.csv", "feed.xml", ".nojekyll"} <= kept
    assert {path for path in kept if (tmp_path / "site" / path).stat().st_mtime_ns != times[path]} == set()
    assert sorted(after) == sorted(before)


def test_every_link_leads_somewhere_and_none_leaves_the_folder(published, tmp_path):
    assert broken_links(published) == []
    # The check finds what is planted.
    page = published / "models" / f"{file_name('late')}.html"
    page.write_text(page.read_text().replace("</main>", '<a href="../no.html">x</a><img src="https://a.b/c"></main>'))
    assert broken_links(published) == [f"models/{page.name}: ../no.html", f"models/{page.name}: https://a.b/c"]


def test_pages_run_nothing_of_others_and_fetch_nothing(published):
    for path in sorted(published.rglob("*.html")):
        page = path.read_text(encoding="ascii")
        (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
        assert "unsafe" not in policy
        assert "http" not in policy
        attributes = Attributes.of(page)
        assert "href" in attributes
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        if path.parent.name == "models":
            assert "<script" not in page
            assert "script-src" not in policy
        else:
            assert page.count("<script") == 2


def test_names_of_files_suit_every_disk_and_every_address(published):
    names = [path.stem for path in (published / "models").iterdir()]
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)
    assert len({name.casefold() for name in names}) == len(names) // 2 == len(NAMES) + 1
    assert max(map(len, names)) <= 65
    assert not {"con", "nul", "aux", "prn"} & set(names)


def test_every_row_that_was_ever_shown_is_in_the_table(board, published):
    with (published / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["what"] for row in rows if row["model"] == "Model"} == {"added", "re-scored", "retired"}
    assert [row["what"] for row in rows if row["model"] == "late"] == ["added", "re-scored"]
    hashes = {event.hash for event in Board.open(board).events}
    assert {row["hash"] for row in rows} <= hashes
    heads = [json.loads(line) for line in (published / "heads.jsonl").read_text().splitlines()]
    assert [head["hash"] for head in heads] == [event.hash for event in Board.open(board).events]


def test_with_its_address_a_folder_names_itself_and_has_a_picture(board, bbedge, tmp_path):
    done = bbedge("publish", board, tmp_path / "site", "--base-url", "https://example.org/sub/path/")
    assert done.code == 0
    page = (tmp_path / "site" / "index.html").read_text()
    assert '<link rel="canonical" href="https://example.org/sub/path/index.html">' in page
    assert '<meta property="og:image" content="https://example.org/sub/path/picture.png">' in page
    assert (tmp_path / "site" / "picture.png").read_bytes().startswith(b"\x89PNG")
    name = f"models/{file_name('late')}.html"
    assert f'href="https://example.org/sub/path/{name}"' in (tmp_path / "site" / name).read_text()
    assert "https://example.org/sub/path/feed.xml" in (tmp_path / "site" / "feed.xml").read_text()
    # Every other link still is relative, so that the folder works anywhere.
    inside = re.sub(r"<head>.*?</head>|<code.*?</code>|<script.*?</script>", "", page, flags=re.DOTALL)
    assert not [link for link in HREF.findall(inside) if "example.org" in link]


def test_without_matplotlib_there_is_a_note_and_no_picture(board, bbedge, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = bbedge("publish", board, tmp_path / "site", "--base-url", "https://example.org/x")
    assert done.code == 0
    assert "There is no picture for links, which Matplotlib draws" in done.err
    assert not (tmp_path / "site" / "picture.png").exists()
    assert "og:image" not in (tmp_path / "site" / "index.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mine",), "is not empty, and bbedge publish did not write it; choose a new or an empty folder"),
        (("with-board",), "the board is in this folder; choose another one"),
        (("new", "--base-url", "example.org"), "--base-url example.org is not allowed"),
        (("file",), "is a file; choose a folder"),
    ],
)
def test_what_cannot_be_published_is_refused(board, bbedge, tmp_path, monkeypatch, arguments, words):
    for name in ("mine", "with-board"):
        (tmp_path / name).mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    (tmp_path / "file").write_text("x")
    shutil.copy(board, tmp_path / "with-board" / "board.db")
    before = contents(tmp_path)
    done = bbedge("publish", tmp_path / "with-board" / "board.db", tmp_path / arguments[0], *arguments[1:])
    assert done.code == 2
    assert words in done.err
    assert {
        path: text for path, text in contents(tmp_path).items() if "-wal" not in path and "-shm" not in path
    } == before


def test_the_two_commands_of_the_folder_check_all_of_it(published, bbedge, monkeypatch):
    text = (published / "verify.md").read_text()
    commands = re.findall(r"```sh\n(.*?)\n```", text, re.DOTALL)
    assert len(commands) == 2

    def run():
        return [bbedge(*shlex.split(each)[1:]) for each in commands]

    monkeypatch.chdir(published)
    done = run()
    assert [each.code for each in done] == [0, 0], done
    assert done[0].out.startswith("verified: ")
    # Another score, another head.
    archive = published / "board.jsonl"
    archive.write_text(re.sub(r'("\.\./\.\./etc/passwd",".)(.)', r"\1A", archive.read_text(), count=1))
    assert all(each.code for each in run())


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["exchange", "renames"])
def test_a_kill_at_any_moment_leaves_the_old_folder_or_the_new_one(kind, tmp_path):
    assert _kills(kind, tmp_path) >= {"old", "new"}


@pytest.mark.every_push("of kills one: at every eleventh moment")
def test_a_kill_at_some_moments_leaves_the_old_folder_or_the_new_one(tmp_path):
    assert _kills("exchange", tmp_path, 11) >= {"old", "new"}


def _kills(kind, folder, step=1):
    """The states in which kills left the folder."""
    tests = Path(__file__).parents[1]
    command = [sys.executable, tests / "e2e" / "site_kills.py", kind, folder, str(step)]
    done = subprocess.run(command, env={"PYTHONPATH": str(tests)}, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {line.split()[0] for line in done.stdout.splitlines()}
