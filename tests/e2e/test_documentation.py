"""What the README and the documentation show is what happens."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest

import bbedge as bbedge_package

ROOT = Path(__file__).parents[2]
PYTHON_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in DOCS.rglob("*.md"))
REFRESH = DOCS / "generate" / "refresh.py"
RUN = [page for page in PAGES if page.count("/") > 1 or page in ("docs/faq.md", "docs/gallery.md", "docs/index.md")]


def test_the_readme_s_python_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (block,) = PYTHON_BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    names: dict = {}
    exec(block, names)
    leaderboard = names["leaderboard"]
    assert leaderboard.rank_interval("instructed") == (3, 5)
    assert leaderboard.certified("three-shot", "plain")
    assert leaderboard.graph.rank_intervals[:3] == ((1, 2), (3, 5), (3, 6))
    assert leaderboard.graph.top_k(2) == (0, 4)
    assert capsys.readouterr().out == "1 None\n2 None\n3 ('three-shot', 'five-shot')\n"


def test_the_readme_s_commands_run(bbedge, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (policy,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "policy.toml").write_text(policy)
    table = tmp_path / "gallery" / "gsm8k" / "table.parquet"
    table.parent.mkdir(parents=True)
    pl.read_csv(ROOT / "demo" / "scores.csv").write_parquet(table)  # instead of 43 models
    lines = [line for block in re.findall(r"```(?:sh|bash)\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    made, setup, *rest = sorted(
        (shlex.split(line, comments=True) for line in lines), key=lambda words: words[0] == "bbedge"
    )
    assert (made, setup) == (["make", "demo"], ["pip", "install", "."])
    assert re.search(r"^demo:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert [words[1] for words in rest] == ["certify", "figure", "demo", "certify", "gate"]
    for words in rest:
        outcome = bbedge(*words[1:])
        assert outcome.code == 0, (words, outcome.err)


def test_the_front_pages_show_the_picture_that_the_command_draws():
    picture = (DOCS / "hero.png").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == (1200, 630)
    assert "](docs/hero.png)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "](hero.png)" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_the_python_page_prints_what_it_shows(monkeypatch, tmp_path):
    (tmp_path / "scores.csv").write_bytes((ROOT / "demo" / "scores.csv").read_bytes())
    monkeypatch.chdir(tmp_path)
    blocks = PYTHON_BLOCK.findall((ROOT / "docs" / "python.md").read_text(encoding="utf-8"))
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "docs/python.md", "docs/python.md", 0)
    assert len(test.examples) > 30
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(test, out=said.append)
    assert outcome.failed == 0, "".join(said)
    certified = bbedge_package.certify(bbedge_package.read_scores("scores.csv"), method="bb-edge-x")
    assert (tmp_path / "certificate.json").read_text() == certified.to_json()
    assert (tmp_path / "board.jsonl").stat().st_size > 1000


def test_the_python_page_names_everything_that_is_public():
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    elsewhere = {"Design", "Evidence", "Graph", "e_holm", "__version__"}  # for work on the statistics: the docstrings
    assert [name for name in bbedge_package.__all__ if name not in elsewhere and name not in page] == []
    public = [name for name in vars(bbedge_package.Leaderboard) if name.startswith(("to_", "certif", "rank_", "top_"))]
    assert [name for name in public if f"{name}(" not in page] == []


def test_the_worked_example_of_the_board_runs_as_it_stands(bbedge, monkeypatch, tmp_path):
    subprocess.run([sys.executable, ROOT / "demo" / "make_board.py", tmp_path], check=True, capture_output=True)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "board.md").read_text(encoding="utf-8")
    design = re.search(r"```toml\n(.*?)```", page, re.DOTALL).group(1)
    assert design == (tmp_path / "design.toml").read_text(encoding="utf-8")
    said = ""
    commands = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    assert len(commands) >= 14
    for line in commands:
        outcome = bbedge(*shlex.split(line, comments=True)[1:])
        assert outcome.code == 0, (line, outcome.err)
        said += outcome.out
    assert "dogwood > alder" in said
    assert "all is in order" in said
    names: dict = {}
    exec(PYTHON_BLOCK.findall(page)[0], names)
    assert names["board"].state.epoch.replicates == 1
    for block in PYTHON_BLOCK.findall(page)[1:]:
        exec(block, names)
    assert names["board"].state.retired == ["c"]
    # The board draws the order of the blocks, and how soon b is ahead or behind depends on it. Of a and c it does not.
    assert names["board"].leaderboard().certified("a", "c")
    assert names["board"].verify().certificates >= 1


def test_the_picture_of_the_terminal_is_of_this_version(bbedge):
    picture = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    drawn = re.sub(r"&#160;|\s+", " ", re.sub(r"<[^>]+>", "", picture))
    table = bbedge("certify", ROOT / "demo" / "scores.csv", "--method", "bb-edge-x").out
    for line in table.splitlines()[:24]:
        for word in line.split():
            assert word in drawn


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *PAGES])
def test_links_lead_somewhere(page):
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_every_option_is_documented(bbedge):
    shown = bbedge("certify", "--help").out
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    options = set(re.findall(r"--[a-z][a-z-]+", shown)) - {"--help"}
    assert "--alpha" in options
    assert {option for option in options if f"`{option}" not in page} == set()


def test_every_option_of_pages_and_figures_is_documented(bbedge):
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for command in ("report", "figure graph", "figure stability", "figure badge", "diagnose", "board show", "gate"):
        options = set(re.findall(r"--[a-z][a-z-]+", bbedge(*command.split(), "--help").out)) - {"--help"}
        assert options
        assert {option for option in options if f"`{option}" not in page} == set(), command


def test_the_reference_has_every_option_that_help_prints(bbedge):
    page = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (bbedge [\w -]+)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    assert len(sections) > 25
    for command in ("bbedge certify", "bbedge gate", "bbedge board init", "bbedge figure graph"):
        shown = bbedge(*command.split()[1:], "--help").out
        options = set(re.findall(r"^\W*(--[a-z][a-z-]+)", shown, re.MULTILINE)) - {"--help"}
        assert options
        assert {option for option in options if f"`{option}" not in sections[command]} == set(), command


def test_the_pictures_of_the_page_and_the_badge_are_there_and_small():
    assert 10_000 < (ROOT / "docs" / "page.png").stat().st_size < 300_000
    assert "certified #1-2 of 6" in (ROOT / "docs" / "badge.svg").read_text(encoding="ascii")


@pytest.mark.nightly
def test_the_commands_of_the_report_page_run(bbedge, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_bytes((ROOT / "demo" / "scores.csv").read_bytes())
    assert bbedge("certify", "scores.csv", "--json", "certificate.json", "--method", "bb-edge-x").code == 0
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    (models,) = re.findall(r"```csv\n(.*?)```", page, re.DOTALL)
    (tmp_path / "models.csv").write_text(models, encoding="utf-8")
    commands = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    assert len(commands) >= 9
    for line in commands:
        if "board.bbedge" not in line:
            outcome = bbedge(*shlex.split(line, comments=True)[1:])
            assert outcome.code == 0, (line, outcome.err)


@pytest.mark.every_push("what users install")
def test_the_wheel_has_all_it_needs(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("bbedge-*.whl")
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        assert "bbedge/py.typed" in archive.namelist()
        assert {f"bbedge/display/page/page.{kind}" for kind in ("html", "css", "js")} <= set(archive.namelist())
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        assert "**Which model is really better?**" in archive.read(metadata).decode()
        archive.extractall(unpacked)
    certify = [sys.executable, "-m", "bbedge", "certify", ROOT / "demo" / "scores.csv"]
    done = subprocess.run(
        [*certify, "--expect", "three-shot > plain-cut", "--html", tmp_path / "page.html"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(unpacked), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Certified leaderboard" in (tmp_path / "page.html").read_text(encoding="ascii")
    origin = subprocess.run(
        [sys.executable, "-c", "import bbedge; print(bbedge.__file__)"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert origin.stdout.startswith(str(unpacked))


ODD_PHRASES = (
    "a name a line",
    "alpha event",
    "all that stands",
    "asks nobody",
    "first neighbours",
    "had leave",
    "leaderboard that lives",
    "names are hostile",
    "no downward way",
    "nobody's business",
    "not said",
    "of the way",
    "see to it",
    "tells how",
    "tells its life",
    "tells the whole life",
    "two thousand million",
)
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / page for page in PAGES), ROOT / "demo" / "README.md"]
TEXTS += [
    path
    for folder in ("cli", "display")
    for path in sorted((ROOT / "src" / "bbedge" / folder).rglob("*"))
    if path.suffix in (".py", ".html", ".js")
]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_texts_for_users_avoid_odd_phrases(path):
    text = " ".join(path.read_text(encoding="utf-8").lower().split())
    assert [phrase for phrase in ODD_PHRASES if phrase in text] == []


@pytest.mark.parametrize("page", ["README.md", *PAGES])
def test_links_to_sections_lead_to_headings(page):
    path = ROOT / page
    for target, section in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", path.read_text(encoding="utf-8")):
        text = (path.parent / target if target else path).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert section in slugs, (target, section)


# Their many commands, each a process, take several seconds.
LONG_PAGES = (
    "docs/gallery.md",
    *(f"docs/howto/{name}.md" for name in ("missing", "prompts", "publish", "suites", "verify")),
    *(f"docs/howto/{name}.md" for name in ("blocks", "certificate", "gate", "harness", "target")),
)
FIRST_PAGE = "docs/tutorial/first-leaderboard.md"


def pages():
    for page in RUN:
        if page in LONG_PAGES:
            yield pytest.param(page, marks=pytest.mark.nightly)
        elif page == FIRST_PAGE:
            yield pytest.param(page, marks=pytest.mark.every_push("the first page that people follow"))
        else:
            yield page
    yield from (path.relative_to(ROOT).as_posix() for path in sorted((DOCS / "concepts").glob("intervals-*.svg")))


@pytest.mark.parametrize("page", list(pages()))
def test_a_page_shows_what_its_commands_print(page):
    done = subprocess.run(
        [sys.executable, REFRESH, "--check", ROOT / page], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_a_page_that_went_stale_is_found_and_written_again(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("A\n\n```sh\nhead -1 scores.csv\nfalse  # exit code 1\n```\n\n```text\nold\n```\n\nB\n")
    check = [sys.executable, REFRESH, "--check", page]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "-old" in done.stderr
    subprocess.run([sys.executable, REFRESH, page], check=True, capture_output=True)
    header = (ROOT / "demo" / "scores.csv").read_text().splitlines()[0]
    assert page.read_text().splitlines()[8:10] == [header, "```"]
    assert page.read_text().endswith("\nB\n")
    subprocess.run(check, check=True)
    page.write_text("```sh\nbbedge certify nothing.csv\n```\n")
    assert subprocess.run(check, capture_output=True, check=False).returncode == 2


@pytest.mark.parametrize("page", RUN)
def test_commands_of_new_pages_run_unless_they_need_another_machine(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    allowed = ("pip ", "git ", "make ", "cp ", "cd ", "python -m venv ", ". ", "#", "bbedge demo")
    elsewhere = ("--device cuda", "sbatch ", "bbedge evaluate ", "bbedge study ", "ray ")
    for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            assert line.startswith(allowed) or any(each in line for each in elsewhere), line
    assert re.findall(r"^```(?:shell|console|python\n(?!# \w+\.py\n))", text, re.MULTILINE) == []


def test_the_front_page_leads_to_every_page():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    missing = [page for page in PAGES if page != "docs/index.md" and f"]({page.removeprefix('docs/')})" not in text]
    assert missing == []


def test_the_api_page_lists_everything_that_is_public():
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    assert page.count(".. autosummary::") == page.count("   :toctree: api\n") == page.count("```{eval-rst}")
    shown = re.findall(r"^   bbedge\.(\w+)$", page, re.MULTILINE)
    assert sorted(shown) == sorted(set(bbedge_package.__all__) - {"__version__"})


def test_the_search_of_the_site_puts_guides_first(browser):
    scorer = (DOCS / "generate" / "scorer.js").read_text(encoding="utf-8")
    guides, reference = ["docs/howto/gate", "docs/concepts/intervals"], ["docs/gate", "docs/reference/commands"]
    page = browser.new_page()
    page.add_script_tag(content=scorer)
    scores = page.evaluate(
        "(documents) => documents.map((each) => Scorer.score([each, '', '', '', 10]))",
        [*guides, *reference, "studies/gates/README", "CHANGELOG"],
    )
    assert scores[0] == scores[1] > scores[2] > scores[3] > 3 * scores[4] == 3 * scores[5] > 0
    # A scorer replaces all numbers of Sphinx: without one of them, a search finds nothing.
    numbers = page.evaluate("Object.keys(Scorer).filter((name) => typeof Scorer[name] === 'number').sort()")
    assert numbers == [
        "objNameMatch",
        "objPartialMatch",
        "objPrioDefault",
        "partialTerm",
        "partialTitle",
        "term",
        "title",
    ]
    folders = set(re.findall(r'"docs/([a-z]+)/', scorer))
    assert all((DOCS / folder).is_dir() for folder in folders), folders


def test_notebooks_are_kept_without_output():
    (path,) = DOCS.rglob("*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert len([cell for cell in cells if cell["cell_type"] == "code"]) > 5
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)


def test_the_readme_fits_on_a_screen_or_two_and_names_the_paper():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 90
    assert "Anytime-Valid LLM Leaderboards via Benchmark-weighted and Block-Factorized e-Processes" in text
    assert "](CITATION.cff)" in text


def test_what_builds_the_documentation_is_pinned_exactly():
    lines = (ROOT / "constraints-docs.txt").read_text(encoding="utf-8").splitlines()[1:]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    names = {line.split("==")[0].lower() for line in lines}
    assert {"sphinx", "furo", "myst-nb", "ipykernel"} <= names
    others = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()[1:]}
    assert not names & others
