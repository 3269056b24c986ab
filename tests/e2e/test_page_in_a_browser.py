"""One page opened from disk in a real browser that can reach nothing."""

from __future__ import annotations

import pytest

from bbedge.display.ranking import ordinal
from e2e.browsing import rank


@pytest.mark.every_push("the one page that a browser opens")
def test_the_table_says_what_the_json_says(opened, demo):
    document, html = demo
    it = opened(html)
    it.scripted()
    models = document["models"]
    assert it.cells("model") == [model["name"] for model in models]
    assert it.cells("rank") == [rank(model["rank_interval"]) for model in models]
    assert it.cells("mean .value") == [f"{model['mean']:.4f}" for model in models]
    assert it.cells("group") == [ordinal(model["rank_interval"][0]) for model in models]
    counts = [[str(model["certified_above"]), str(model["certified_below"])] for model in models]
    assert it.cells("counts") == [text for pair in counts for text in pair]
    sets = {k: names for k, names in document["top_k"].items() if names}
    assert it.page.locator(".sets dt").all_inner_texts() == [f"Top-{k}" for k in sets]
    shown = it.page.locator(".open-pairs tbody tr").count()
    assert shown == len(document["unresolved"]) == len(document["outlook"])
    assert document["design"]["hash"] in it.page.locator(".facts").first.inner_text()
    assert it.asked == [it.page.url]
    assert it.said == []
