"""A certificate is verified if it follows from its scores; whatever else was changed, it is not."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import bbedge
from bbedge.certificate.provenance import digest
from bbedge.core.scores import Scores
from bbedge.verify.checks import Verification
from bbedge.verify.verify import verify_certificate
from unit.certificate.documents import drawn, parted, parted_as_published, schema
from unit.verify.test_consistency import life

DEMO = Path(__file__).parents[3] / "demo" / "scores.csv"
SCORES = bbedge.read_scores(DEMO)
CERTIFIED = json.loads(bbedge.certify(SCORES).to_json(time="2026-01-31T12:00:00Z"))


def statuses(result: Verification) -> dict[str, str]:
    return {check.kind: check.status for check in result.checks}


def wrong(result: Verification) -> set[str]:
    return {check.kind for check in result.checks if check.status == "differs"}


def places(result: Verification) -> list[str]:
    return [each.place for check in result.checks for each in check.differences]


def resealed(content: dict) -> dict:
    """What a forger would write: the digest of what was changed."""
    content["provenance"]["digest"] = digest(content)
    return content


def without_provenance(content: dict) -> dict:
    """The same without its sources and digest, as of scores that Python code made."""
    return {key: value for key, value in content.items() if key != "provenance"}


def test_a_certificate_is_verified_by_its_scores():
    result = verify_certificate(CERTIFIED, SCORES)
    assert set(statuses(result).values()) == {"ok"}
    assert list(statuses(result)) == [
        "schema", "digest", "version", "consistency", "files", "scores", "design", "results", "notes",
    ]  # fmt: skip
    assert result.summary.startswith("verified: the certificate matches its digest, and everything that")
    assert repr(result) == f"Verification({result.summary})"
    assert json.loads(json.dumps(result.content))["verified"] is True


def test_without_scores_it_says_that_nothing_was_computed():
    result = verify_certificate(CERTIFIED)
    assert (result.outcome, result.verified) == ("consistent", False)
    assert "nothing was computed again" in result.summary


def test_the_time_is_in_no_hash_and_other_spaces_are_no_change(tmp_path):
    other = copy.deepcopy(CERTIFIED)
    other["provenance"]["time"] = "2030-01-01T00:00:00Z"
    other = {key: other[key] for key in sorted(other)}
    (tmp_path / "c.json").write_text(json.dumps(other, indent=2).replace(": 0.0,", ": 0,"))
    assert '"tau": 0,' in (tmp_path / "c.json").read_text()
    assert verify_certificate(tmp_path / "c.json", SCORES).verified


# What was changed in the certificate -------------------------------------------------------------------------------


def edited(*path: str | int, to: object) -> dict:
    content = copy.deepcopy(CERTIFIED)
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    assert holder[path[-1]] != to
    holder[path[-1]] = to(holder[path[-1]]) if callable(to) else to
    return content


EDITS = {
    "mean": edited("models", 0, "mean", to=lambda mean: mean + 1e-6),
    "margin": edited("edges", 0, "margin", to=lambda margin: margin + 0.01),
    "matrix": edited("margins", 0, 1, to=lambda margin: margin - 0.01),
    "evidence": edited("log_e", 1, 0, to=lambda log_e: log_e - 0.5),
    "note": edited("notes", to=[{"kind": "remark", "subject": [], "text": "Everything is fine."}]),
    "name": edited("models", 0, "name", to="someone else"),
    "rank": edited("models", 0, "rank_interval", to=[1, 1]),
    "edge": edited("edges", to=lambda edges: edges[1:]),
    "alpha": edited("design", "alpha", to=0.01),
    "items": edited("items", to=73),
    "look": edited("looks", 0, "edges", to=lambda edges: edges + 1),
    "outlook": edited("outlook", 0, "log_e", to=lambda log_e: log_e + 1.0),
    "history": edited("history", "log_w", 0, 0, 1, to=lambda log_w: log_w + 0.001),
    "source": edited("provenance", "sources", 0, "sha256", to="0" * 64),
    "scores": edited("provenance", "scores", to="0" * 64),
}


def test_without_scores_a_certificate_is_not_called_verified():
    """A forger can make a new digest: that it matches shows nothing about what is true."""
    forged = resealed(edited("models", 0, "mean", to=lambda mean: mean + 1e-6))
    for content in (forged, without_provenance(forged)):
        said = verify_certificate(content).summary
        assert "verified" not in said
        assert "unchanged" not in said
        assert "does not show that it is true" in said


@pytest.mark.parametrize("path", [("endorsed",), ("provenance", "endorsed"), ("models", 0, "endorsed")])
def test_what_a_certificate_says_beyond_its_schema_is_no_part_of_it(path):
    content = copy.deepcopy(CERTIFIED)
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = "by everyone"
    for scores in (None, SCORES):
        result = verify_certificate(resealed(content), scores)
        assert statuses(result)["schema"] == "differs"
        assert "endorsed" in result.summary
    if path[0] != "provenance":
        other = {**without_provenance(content), "bbedge": "0.0.1"}
        assert statuses(verify_certificate(other, SCORES))["schema"] == "differs"


def test_another_size_of_the_same_file_is_a_difference():
    content = resealed(edited("provenance", "sources", 0, "bytes", to=lambda size: size + 1))
    assert statuses(verify_certificate(content, SCORES))["files"] == "differs"


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_found_without_the_scores(what):
    result = verify_certificate(EDITS[what])
    assert "digest" in wrong(result)
    assert result.summary.startswith("does not match: ")
    assert "does not match its digest" in result.summary


@pytest.mark.parametrize("what", EDITS)
def test_a_forged_digest_does_not_help(what):
    result = verify_certificate(resealed(copy.deepcopy(EDITS[what])), SCORES)
    assert wrong(result)
    assert "digest" not in wrong(result)


@pytest.mark.parametrize("what", [what for what in EDITS if what not in ("source", "scores")])
def test_an_edit_is_found_where_there_is_no_digest(what):
    content = without_provenance(EDITS[what])
    result = verify_certificate(content, SCORES)
    assert statuses(result)["digest"] == "unknown"
    assert wrong(result) & {"results", "design", "notes", "schema"}
    if what == "mean":
        assert places(result) == ["models['three-shot'].mean"]


REQUIRED = set(schema()["$defs"]["Document"]["required"])


@pytest.mark.parametrize(
    "key", [key for key in CERTIFIED if key not in ("version", "bbedge", "design", "models", "provenance")]
)
def test_a_key_that_is_gone_is_found(key):
    content = {name: value for name, value in CERTIFIED.items() if name != key}
    if key in REQUIRED:
        with pytest.raises(bbedge.FormatError, match=f"'{key}' is missing"):
            verify_certificate(content, SCORES)
        return
    result = verify_certificate(content, SCORES)
    assert "digest" in wrong(result)
    assert key in places(result)


def test_an_added_key_is_found():
    assert "digest" in wrong(verify_certificate(CERTIFIED | {"added": 1}))
    result = verify_certificate(resealed(copy.deepcopy(CERTIFIED) | {"added": 1}), SCORES)
    assert places(result) == ["added"]


def test_rounding_of_another_machine_is_no_difference():
    content = copy.deepcopy(CERTIFIED)
    for row in content["log_e"]:
        row[:] = [value and value * (1.0 + 1e-9) for value in row]
    assert content["log_e"] != CERTIFIED["log_e"]
    assert "results" not in wrong(verify_certificate(resealed(content), SCORES))


# What was changed in the scores ------------------------------------------------------------------------------------


def table() -> pl.DataFrame:
    return pl.read_csv(DEMO)


def read(tmp_path: Path, frame: pl.DataFrame, name: str = "scores.csv") -> Scores:
    frame.write_csv(tmp_path / name)
    return bbedge.read_scores(tmp_path / name)


def test_a_changed_score_is_found_in_all_places(tmp_path):
    frame = table()
    one = frame.with_columns(
        score=pl.when(pl.int_range(pl.len()) == 5).then(1 - pl.col("score")).otherwise(pl.col("score"))
    )
    result = verify_certificate(CERTIFIED, read(tmp_path, one))
    assert wrong(result) >= {"files", "scores", "results"}
    assert statuses(result)["design"] == "ok"
    assert "1 file changed: 'scores.csv'" in result.summary
    assert any(place.startswith("models[") and place.endswith(".mean") for place in places(result))


def test_a_changed_name_is_found(tmp_path):
    renamed = table().with_columns(pl.col("model").replace("plain", "plainer"))
    result = verify_certificate(CERTIFIED, read(tmp_path, renamed))
    assert {"scores", "design", "results"} <= wrong(result)
    assert "'plain' only in the certificate, 'plainer' only in the scores" in result.summary
    items = table().with_columns(pl.col("item").str.replace("^", "x"))
    assert {"scores", "design"} <= wrong(verify_certificate(CERTIFIED, read(tmp_path, items)))


def test_other_bytes_with_the_same_scores_are_said(tmp_path):
    shuffled = table().sample(fraction=1.0, shuffle=True, seed=1)
    result = verify_certificate(CERTIFIED, read(tmp_path, shuffled))
    assert wrong(result) == {"files"}
    assert statuses(result)["scores"] == statuses(result)["results"] == "ok"


def test_a_file_under_another_name_is_the_same_file(tmp_path):
    (tmp_path / "other.csv").write_bytes(DEMO.read_bytes())
    assert verify_certificate(CERTIFIED, bbedge.read_scores(tmp_path / "other.csv")).verified


def test_files_left_out_and_added_are_named(tmp_path):
    parts = [f"{r}.csv" for r in (1, 2, 3)]
    for r, name in enumerate(parts, start=1):
        table().filter(pl.col("replicate") == r).write_csv(tmp_path / name)
    both = bbedge.read_scores(*(tmp_path / name for name in parts[:2]))
    content = json.loads(bbedge.certify(both).to_json())
    assert verify_certificate(content, both).verified
    fewer = verify_certificate(content, bbedge.read_scores(tmp_path / parts[0]))
    assert "1 file missing: '2.csv'" in fewer.summary
    more = verify_certificate(content, bbedge.read_scores(*(tmp_path / name for name in parts)))
    assert "1 file not named in the certificate: '3.csv'" in more.summary
    for result in (fewer, more):
        assert wrong(result) == {"files", "scores", "results"}
        assert "replicates" in places(result)


# Designs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "options"),
    [
        (SCORES, {"method": "bb-edge"}),
        (SCORES, {"alpha": 0.2, "tau": 0.01, "evidence": "sharp", "prediction": "two-way"}),
        (SCORES, {"margin_share": 0.0, "planned": 3}),
        (SCORES, {"grid": [0.25, 0.5], "blocks": "one"}),
        (SCORES, {"blocks": "item"}),
        (SCORES, {"mean_share": 0.1}),
        (SCORES, {"candidate": ["three-shot", "plain"]}),
        (parted(), {"tau": 0.01}),
        (parted_as_published(), {"method": "bb-edge"}),
        (drawn([0.5, 0.6]), {"copies": "allow"}),
        (replace(drawn([0.9, 0.5, 0.2]), score_range=(-10.0, 90.0)), {}),
    ],
    ids=str,
)
def test_the_design_is_taken_from_the_certificate(scores, options):
    content = json.loads(bbedge.certify(scores, **options).to_json())
    result = verify_certificate(content, scores)
    assert result.verified, result.summary
    assert statuses(result)["design"] == "ok"


def test_a_pilot_chooses_again():
    content = json.loads(bbedge.certify_pilot_top_k(SCORES, k=2, pilot=1).to_json())
    assert verify_certificate(content, SCORES).verified
    content["pilot"]["candidate"] = ["plain", "three-shot"]
    result = verify_certificate(without_provenance(content), SCORES)
    assert "pilot.candidate[0]" in places(result)


def test_missing_scores_and_stopped_models():
    values = drawn([0.8, 0.6, 0.3]).values.copy()
    values[1, 0, :7] = np.nan
    values[2, 2] = np.nan
    scores = replace(drawn([0.8, 0.6, 0.3]), values=values, gaps="worst-case", stops=(3, 3, 2))
    content = json.loads(bbedge.certify(scores).to_json())
    assert content["gaps"]["cells"] == 7
    assert verify_certificate(content, scores).verified
    values = values.copy()
    values[1, 0, 7] = np.nan
    result = verify_certificate(content, replace(scores, values=values))
    assert "gaps.cells" in places(result)


def suite_scores() -> tuple[Scores, dict]:
    labels = tuple("math" if i % 3 else "code" for i in range(80))
    scores = replace(drawn([0.9, 0.6, 0.55, 0.2]), columns={"topic": labels})
    return scores, bbedge.suite_options(scores, macro="topic", views="topic")


def test_weights_and_views_need_their_columns_again():
    scores, suite = suite_scores()
    content = json.loads(bbedge.certify(scores, **suite, shares={"code": 0.4}).to_json())
    with pytest.raises(bbedge.DesignError, match=r"weighs items, by a column .* pass macro=COLUMN, weights=COLUMN or"):
        verify_certificate(content, scores)
    result = verify_certificate(content, scores, suite=suite)  # the shares are in the certificate
    assert result.verified, result.summary
    content["views"][0]["models"][0]["mean"] += 0.001
    assert "views['code'].models['m00'].mean" in places(verify_certificate(content, scores, suite=suite))


def test_a_view_by_itself_is_not_computed_again():
    scores, suite = suite_scores()
    leaderboard = bbedge.certify(scores, **suite)
    assert verify_certificate(leaderboard.certificate(), scores, suite=suite).verified
    alone = json.loads(leaderboard.view("math").to_json())
    assert verify_certificate(alone).outcome == "consistent"
    with pytest.raises(bbedge.DomainError, match="is of one view by itself"):
        verify_certificate(alone, scores, suite=suite)


def test_other_options_are_another_design():
    scores, suite = suite_scores()
    content = json.loads(bbedge.certify(scores).to_json())
    result = verify_certificate(content, scores, suite=suite)
    assert "another design: the items, blocks, weights or views are not the same; read the scores" in result.summary


def test_a_design_that_does_not_fit_is_a_difference():
    content = json.loads(bbedge.certify_pilot_top_k(SCORES, k=2, pilot=2).to_json())
    short = replace(SCORES, values=SCORES.values[:2], replicates=SCORES.replicates[:2], seen=None)
    result = verify_certificate(content, short)
    assert {"scores", "design"} <= wrong(result)
    assert "does not fit these scores: a pilot of 2 replicates" in result.summary


@pytest.mark.nightly
def test_very_many_models_are_compared_without_their_pairs():
    rng = np.random.default_rng(1)
    values = (rng.random((1, 502, 30)) < np.linspace(0.9, 0.1, 502)[None, :, None]).astype(float)
    scores = Scores.of(values, models=[f"m{i:03}" for i in range(502)], items=[f"q{i}" for i in range(30)])
    content = json.loads(bbedge.certify(scores, method="bb-edge").to_json())
    assert content["log_e"] is None
    assert verify_certificate(content, scores).verified
    content["counts"]["edges"] += 1
    assert not verify_certificate(content, scores).verified


# What is left out or added ----------------------------------------------------------------------------------------


def test_missing_scores_cannot_be_hidden_by_leaving_out_what_says_so():
    values = drawn([0.8, 0.6, 0.3]).values.copy()
    values[1, 0, :7] = np.nan
    scores = replace(drawn([0.8, 0.6, 0.3]), values=values, gaps="worst-case")
    content = without_provenance(json.loads(bbedge.certify(scores).to_json()))
    del content["gaps"], content["design"]["gaps"]
    assert places(verify_certificate(content, scores)) == ["design.gaps", "gaps"]


def test_what_another_version_wrote_is_not_verified():
    content = copy.deepcopy(CERTIFIED) | {"bbedge": "99.0"}
    content["provenance"]["version"] = "99.0"
    for scores in (None, SCORES):
        result = verify_certificate(resealed(content), scores)
        assert (result.outcome, result.verified, result.version) == ("other-version", False, "99.0")
        assert statuses(result) == {"schema": "ok", "digest": "ok", "version": "unknown"}
        assert result.summary.startswith("not verified: bbedge 99.0 wrote it, and this is bbedge ")
    content |= {"later": 1}
    assert verify_certificate(resealed(content), SCORES).outcome == "differs"


# Boards ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def board(tmp_path):
    design = bbedge.BoardDesign(method="bb-edge-x")
    with bbedge.Board.create(
        tmp_path / "b.bbedge", design, models=SCORES.models, items=SCORES.items, blocks=SCORES.blocks
    ) as made:
        made.add(replace(SCORES, values=SCORES.values[:2], replicates=SCORES.replicates[:2], seen=None))
        yield made


def test_a_board_gives_its_certificate_again_also_after_it_has_grown(board):
    content = json.loads(board.certificate().to_json())
    result = verify_certificate(content, board)
    assert result.verified, result.summary
    assert list(statuses(result)) == [
        "schema",
        "digest",
        "version",
        "consistency",
        "ledger",
        "design",
        "results",
        "notes",
    ]
    assert result.summary.endswith("follows from the board.")
    board.add(SCORES)
    board.retire("plain")
    again = verify_certificate(content, board)
    assert again.verified, again.summary
    assert any("2 events came after the certificate" in check.text for check in again.checks)
    assert json.loads(board.certificate().to_json()) != content


@pytest.mark.parametrize("seed", range(8))
def test_every_certificate_of_every_board_is_verified(tmp_path, seed):
    board = life(tmp_path / "b.bbedge", seed)
    for epoch in range(1, len(board.state.epochs) + 1):
        result = verify_certificate(board.certificate(epoch).document, board)
        assert result.verified, result.summary
    board.close()


def test_what_a_board_s_certificate_must_not_say(board, tmp_path):
    content = json.loads(board.certificate().to_json())
    content["models"][0]["mean"] += 1e-6
    assert places(verify_certificate(resealed(content), board)) == [f"models['{content['models'][0]['name']}'].mean"]
    content = json.loads(board.certificate().to_json())
    content["board"]["alpha_spent"] = content["board"]["claims"][0]["level"] = 0.04
    assert {"board.alpha_spent", "board.claims[0].level"} <= set(places(verify_certificate(resealed(content), board)))
    content = json.loads(board.certificate().to_json())
    content["board"]["head"] = content["provenance"]["head"] = "0" * 64
    result = verify_certificate(resealed(content), board)
    assert wrong(result) == {"ledger"}
    assert "history was rewritten" in result.summary
    other = bbedge.Board.create(tmp_path / "o", bbedge.BoardDesign(), models=["a", "b"], items=["q"])
    assert wrong(verify_certificate(json.loads(board.certificate().to_json()), other)) == {"design"}
    other.close()


def test_boards_and_scores_are_not_mixed_up(board):
    with pytest.raises(bbedge.DomainError, match="is not the certificate of a board"):
        verify_certificate(CERTIFIED, board)
    with pytest.raises(bbedge.DomainError, match="give the board, not score files"):
        verify_certificate(json.loads(board.certificate().to_json()), SCORES)
