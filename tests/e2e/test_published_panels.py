"""Claims about these items and about new ones on public result panels, as docs/howto/target.md has them."""

import os
from pathlib import Path

import pytest

from bbedge import certify, read_scores

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "target.md"
ROWS = {
    "GSM8K": "zeroeval_gsm_complete",
    "EQ-Bench": "eqbench_v2_complete",
    "tau2-bench": "tau2_airline_complete",
    "MMLU": "routellm_mmlu_subjects",
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", ROWS)
def test_certified_pairs_are_those_of_the_page(name):
    if "BBEDGE_PANELS" not in os.environ:
        pytest.skip("set BBEDGE_PANELS to the folder of public result panels to try them")
    scores = read_scores(Path(os.environ["BBEDGE_PANELS"]) / f"{ROWS[name]}.parquet")
    found = {}
    for planned in (None, 1):
        boards = [certify(scores, target=target, planned=planned) for target in ("benchmark", "new-items", "both")]
        found[planned] = [board.graph.n_edges for board in (*boards, *boards[-1].views)]
    line = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|") and name in line)
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[-4:] == [f"{one} ({other})" for one, other in zip(found[None], found[1], strict=True)]
