"""The pages of a published board in a browser: their links, what axe finds, what they ask for, what they say."""

from importlib.resources import files

import pytest

from bbedge.site.publish import Site, file_name
from e2e.browsing import HOSTILE
from e2e.published import NAMES, board_with_history

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("board")
    Site(board=board_with_history(place / "board.db"), title="Ours & <theirs>").publish(place / "site")
    return place / "site"


@pytest.fixture
def visit(browser, folder):
    """Opens a page of the folder, offline, and keeps what it asks for and what it complains about."""
    contexts = []

    def open_page(path, **options):
        context = browser.new_context(offline=True, **{"viewport": DESK, **options})
        contexts.append(context)
        page = context.new_page()
        page.asked, page.said = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto((folder / path).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


def violations(page):
    """What axe finds wrong, in words."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]} ({len(each['nodes'])})" for each in found]


@pytest.mark.nightly
@pytest.mark.parametrize(("viewport", "scheme"), [(DESK, "light"), (PHONE, "dark")])
def test_every_page_passes_axe_asks_for_nothing_and_stays_inside_the_screen(visit, folder, viewport, scheme):
    pages = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.html"))
    assert len(pages) == 2 + len(NAMES)
    for path in pages:
        page = visit(path, viewport=viewport, color_scheme=scheme)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert violations(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert page.asked == [(folder / path).as_uri()]
        assert page.said == []
        assert page.evaluate("window.hit") is None


@pytest.mark.nightly
def test_one_goes_from_the_leaderboard_to_a_model_to_another_and_back(visit):
    page = visit("index.html")
    page.wait_for_selector("html.scripted")
    page.get_by_role("link", name="Page of late").click()
    assert page.locator("h1").inner_text() == "late"
    page.locator("#comparisons ~ table tbody th a", has_text="CON").first.click()
    assert page.locator("h1").inner_text() == "CON"
    page.get_by_role("link", name="Ours & <theirs>").click()
    assert page.locator(".ranking tbody tr").count() == 1 + len(NAMES)
    page.locator("dl a", has_text="verify.md").wait_for()


def test_a_page_shows_names_that_mean_harm_as_they_are(visit):
    page = visit(f"models/{file_name(HOSTILE[0])}.html")
    assert page.locator("h1").inner_text() == HOSTILE[0]
    assert page.evaluate("[window.hit ?? null, document.scripts.length]") == [None, 0]
    assert page.said == []
    assert violations(page) == []
    page.evaluate("document.documentElement.removeAttribute('lang')")
    assert [each.split(":")[0] for each in violations(page)] == ["html-has-lang"]  # axe runs, and would say so
