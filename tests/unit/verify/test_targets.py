"""Certificates about new items, or about both targets: computed again from scores, and forged."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

import bbedge
from bbedge import verify_certificate
from unit.certificate.documents import drawn
from unit.verify.test_verification import resealed

SCHEDULE = {"looks": [2, 4], "look_weights": [0.3, 0.7]}
OPTIONS = {
    "looks": SCHEDULE,
    "planned": {"planned": 4, "equal_within": 0.05},
    "of runs": {"of_runs": "any:2", "tau": 0.01},
    "published shares": {"margin_share": 0.0, **SCHEDULE},
}


def scores(*, gaps: bool = False) -> bbedge.Scores:
    """Four runs of four models, two topics; with gaps, one model stopped after two and some scores are missing."""
    made = drawn([0.95, 0.7, 0.6, 0.1], replicates=4)
    made = replace(made, columns={"topic": tuple("math" if i % 3 else "code" for i in range(80))}, seen=None)
    if not gaps:
        return made
    values = np.array(made.values)
    values[0, 2, :5], values[2:, 1] = np.nan, np.nan
    return replace(made, values=values, gaps="worst-case", stops=(4, 2, 4, 4))


def written(given: bbedge.Scores, **options: object) -> tuple[dict, dict]:
    suite = bbedge.suite_options(given, macro="topic", views="topic", shares={"code": 0.1})
    return json.loads(bbedge.certify(given, **options, **suite).to_json()), suite


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("target", ["new-items", "both"])
def test_what_was_certified_is_computed_again(target, name, gaps):
    given = scores(gaps=gaps)
    content, suite = written(given, target=target, **OPTIONS[name])
    assert any(part["edges"] for part in (content, *content["views"]) if part.get("target", target) == "new-items")
    assert verify_certificate(content, given, suite=suite).verified


def of_new_items(content: dict) -> dict:
    return next(view for view in content["views"] if view["name"] == "new items")


def other_target(content: dict) -> None:
    content["design"]["target"] = "new-items"


def other_looks(content: dict) -> None:
    content["design"]["looks"] = [1, 4]


def other_weights(content: dict) -> None:
    content["design"]["look_weights"] = [0.7, 0.3]


def no_claim_about_new_items(content: dict) -> None:
    content["views"].remove(of_new_items(content))


def claim_under_another_target(content: dict) -> None:
    of_new_items(content).pop("target")


def higher_margins(content: dict) -> None:
    margins = of_new_items(content)["margins"]
    margins[:] = [[each and each + 0.01 for each in row] for row in margins]


FORGED = (
    other_target, other_looks, other_weights, no_claim_about_new_items, claim_under_another_target, higher_margins,
)  # fmt: skip


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_other_claims_are_not_verified(forge):
    given = scores()
    content, suite = written(given, target="both", **SCHEDULE)
    forged = copy.deepcopy(content)
    forge(forged)
    assert forged != content
    assert verify_certificate(resealed(forged), given, suite=suite).outcome == "differs"
