"""Gates and certificates of tables that went wrong: a verdict only where the definitions give one, no traceback."""

import json

import numpy as np
import pytest

from bbedge.errors import CONTRADICTION_EXIT_CODE
from odd_tables import READ_WITH, literal_verdict, odd_table

MARGIN = 0.05
VERDICTS = {0: "PASS", 1: "FAIL", 3: "OPEN", CONTRADICTION_EXIT_CODE: "CONTRADICTION"}
POLICY = f'candidate = "new"\nbaseline = "old"\ncopies = "allow"\n[[claims]]\nnot_worse_by = {MARGIN}\n'


def check_table(number, bbedge, folder):
    """What the gate and the leaderboard say of a table, by every policy for missing scores."""
    table = odd_table(number)
    folder.mkdir()
    files = [folder / name for name in table.write(folder)]
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    read = [*files, *READ_WITH[table.layout]]
    values = table.as_read
    is_complete = not np.isnan(values).any()
    seen = set()
    for incomplete in ("refuse", "worst-case", "zero"):
        done = bbedge("gate", folder / "policy.toml", *read, "--incomplete", incomplete, "--json", folder / "g.json")
        seen.add(done.code)
        if done.code == 2:
            assert done.err.startswith("bbedge: ")
            assert not is_complete
        else:
            found = json.loads((folder / "g.json").read_text(encoding="utf-8"))["claims"][0]
            used = np.nan_to_num(values, nan=0.0) if incomplete == "zero" else values
            assert (VERDICTS[done.code], found["verdict"]) == (literal_verdict(used, MARGIN),) * 2
            assert is_complete or incomplete != "refuse"
        done = bbedge("certify", *read, "--incomplete", incomplete, "--copies", "allow", "--json", folder / "c.json")
        if done.code in (0, CONTRADICTION_EXIT_CODE):
            contradicted = json.loads((folder / "c.json").read_text(encoding="utf-8")).get("contradicted", False)
            assert contradicted == (done.code == CONTRADICTION_EXIT_CODE)
            assert done.out.lstrip().startswith("CONTRADICTION") == contradicted
        else:
            assert done.code == 2
            assert done.err.startswith("bbedge: ")
    return seen


@pytest.mark.nightly
def test_odd_tables(bbedge, tmp_path):
    seen = set().union(*(check_table(number, bbedge, tmp_path / str(number)) for number in range(24)))
    assert seen == {0, 1, 2, 3, 5}


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(0, 500, 50))
def test_five_hundred_odd_tables(bbedge, tmp_path, start):
    for number in range(start, start + 50):
        check_table(number, bbedge, tmp_path / str(number))
