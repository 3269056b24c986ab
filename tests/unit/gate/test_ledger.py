"""The ledger of a gate: levels, what is recorded, and what damage and crashes do to it."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from bbedge.chain import append
from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError, DataError, DesignError, FormatError
from bbedge.gate import Claim, Policy, gate
from bbedge.gate import ledger as ledgers
from bbedge.gate.ledger import read_ledger, record, reserve
from bbedge.gate.use import policy_content

CLAIMS = (Claim(kind="not_worse_by", amount=0.1), Claim(kind="better_by", amount=0.3, tier="info"))
SHARED = Policy(candidates=("new",), baseline="old", claims=CLAIMS, spending="ledger")
EACH = replace(SHARED, spending="each-run")


def made(seed: int, runs: int = 3, models: tuple[str, ...] = ("new", "old")) -> Scores:
    rng = np.random.default_rng(seed)
    chances = np.where(np.arange(60) < 40, 0.95, 0.05)
    values = (rng.random((8, len(models), 60)) < chances).astype(float)[:runs]
    return Scores.of(values, models=models, items=[f"q{i}" for i in range(60)])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gate.bbedge"


def test_each_use_has_its_share_and_all_of_them_at_most_alpha(path):
    levels = [record(path, SHARED, made(seed)).use.level for seed in range(6)]
    assert levels == [SHARED.level(use) for use in range(6)]
    assert levels[0] > levels[1] > levels[5] > 0.0
    ledger = read_ledger(path)
    assert ledger.spent == pytest.approx(sum(levels))
    assert sum(SHARED.level(use) for use in range(10_000)) <= SHARED.alpha
    assert [use.number for use in ledger.uses] == [1, 2, 3, 4, 5, 6]
    assert [use.report.policy.alpha for use in ledger.uses] == levels, "verdicts are at the level of their use"


def test_the_verdict_is_that_of_the_gate_at_the_level_of_the_use(path):
    for seed in range(2):
        found = record(path, SHARED, made(seed))
        alone = gate(replace(EACH, alpha=found.use.level), made(seed))
        assert found.report.results == alone.results
        assert read_ledger(path).uses[seed].report == found.report


def test_equal_shares_end(path):
    policy = replace(SHARED, shares=2)
    for seed in (1, 2):
        assert record(path, policy, made(seed)).use.level == pytest.approx(0.025)
    before = path.read_bytes()
    with pytest.raises(DesignError, match="all 2 shares of alpha are spent"):
        record(path, policy, made(3))
    assert record(path, policy, made(2)).is_known, "what is recorded can still be read"
    assert path.read_bytes() == before


def test_with_each_run_every_use_has_alpha(path):
    assert [record(path, EACH, made(seed)).use.level for seed in range(3)] == [0.05] * 3


def test_the_same_scores_again_return_what_is_recorded_and_spend_nothing(path):
    first = record(path, SHARED, made(1), label="one")
    record(path, SHARED, made(2))
    before = path.read_bytes()
    again = record(path, SHARED, made(1), label="two")
    assert again.is_known
    assert not first.is_known
    assert (again.report, again.use) == (first.report, first.use)
    fewer = record(path, SHARED, made(1, runs=1))
    assert fewer.is_known
    assert fewer.report == first.report
    other = made(1, models=("other", "new", "old"))
    rows = Scores.of(
        np.concatenate([other.values[:, :1], made(1).values], axis=1), models=other.models, items=other.items
    )
    assert record(path, SHARED, rows).is_known, "systems that the policy does not name do not matter"
    assert path.read_bytes() == before


def test_further_runs_are_another_look_at_the_same_use(path):
    first = record(path, SHARED, made(1, runs=2), label="one")
    record(path, SHARED, made(2))
    longer = record(path, SHARED, made(1, runs=5))
    assert (longer.use.number, longer.use.level, longer.use.label) == (1, first.use.level, "one")
    assert longer.report.replicates == 5
    assert longer.report.results == gate(replace(EACH, alpha=first.use.level), made(1, runs=5)).results
    ledger = read_ledger(path)
    assert [use.report.replicates for use in ledger.uses] == [5, 3]
    assert ledger.spent == pytest.approx(SHARED.level(0) + SHARED.level(1))


def test_runs_in_another_order_or_of_other_items_are_another_use(path):
    scores = made(1)
    record(path, SHARED, scores)
    assert record(path, SHARED, replace(scores, values=scores.values[::-1])).use.number == 2
    assert record(path, SHARED, replace(scores, blocks=("one",) * 60)).use.number == 3


def test_another_policy_is_refused_with_what_differs(path):
    record(path, SHARED, made(1))
    before = path.read_bytes()
    other = replace(SHARED, alpha=0.1, claims=CLAIMS[:1], source="policy.toml")
    with pytest.raises(DesignError) as refused:
        record(path, other, made(2))
    for words in ("policy.toml", "alpha is 0.05 there and 0.1 now", "better by more than 0.3"):
        assert words in str(refused.value)
    with pytest.raises(DesignError, match="spending is 'ledger' there and 'each-run' now"):
        reserve(path, EACH, "study")
    assert path.read_bytes() == before


def test_a_policy_that_fits_no_scores_makes_no_ledger(path):
    with pytest.raises(DesignError, match="is not a model"):
        record(path, replace(SHARED, candidates=("nwe",)), made(1))
    assert not path.exists()
    with pytest.raises(FormatError, match="no ledger here yet"):
        read_ledger(path)


def test_a_gate_of_a_shared_budget_needs_its_ledger():
    with pytest.raises(DesignError, match="name the ledger"):
        gate(SHARED, made(1))
    with pytest.raises(DesignError, match="shares divide"):
        replace(EACH, shares=3)
    with pytest.raises(DesignError, match="number of shares"):
        replace(SHARED, shares=0)


def test_a_study_keeps_the_level_that_it_reserved(path):
    mine = reserve(path, SHARED, "my board", label="mine")
    assert (mine.number, mine.level, mine.report) == (1, SHARED.level(0), None)
    assert record(path, SHARED, made(2)).use.number == 2
    assert reserve(path, SHARED, "my board").number == 1
    assert reserve(path, SHARED, "another board").number == 3
    done = record(path, SHARED, made(1), use=1)
    assert (done.use.number, done.use.level, done.use.label) == (1, SHARED.level(0), "mine")
    assert record(path, SHARED, made(1, runs=5), use=1).report.replicates == 5
    assert [use.report is None for use in read_ledger(path).uses] == [False, False, True]
    before = path.read_bytes()
    with pytest.raises(BbedgeError):
        record(path, SHARED, made(7), use=1)
    assert path.read_bytes() == before, "other scores cannot take the place of those that were seen"


def test_a_file_that_ends_anywhere_keeps_every_complete_line_and_goes_on(path):
    for seed in range(3):
        record(path, SHARED, made(seed, runs=1))
    data = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(data) if byte == ord("\n")]
    cuts = {0, 1, *ends, *(end - 1 for end in ends), *(end + 7 for end in ends[:-1]), *range(0, len(data), 997)}
    for cut in sorted(cuts):
        path.write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends)
        if not whole:
            with pytest.raises(FormatError, match="no ledger here yet"):
                read_ledger(path)
        else:
            assert len(read_ledger(path).uses) == whole - 1
        done = record(path, SHARED, made(50, runs=1))
        assert done.use.number == max(whole, 1)
        assert len(read_ledger(path).uses) == max(whole, 1)


def test_lines_that_were_changed_removed_or_moved_are_noticed(path):
    for seed in range(3):
        record(path, SHARED, made(seed, runs=1))
    lines = path.read_bytes().splitlines(keepends=True)
    changes = [
        ([lines[0], lines[2], lines[3]], ":2:"),
        ([lines[0], lines[2], lines[1], lines[3]], ":2:"),
        ([*lines[:2], lines[2].replace(b'"OPEN"', b'"PASS"', 1), lines[3]], ":3:"),
        ([*lines[:2], lines[2].replace(b": ", b":").replace(b'"label":null', b'"label":"x"', 1), lines[3]], ":3:"),
        ([lines[0].replace(b"not_worse_by", b"better_by"), *lines[1:]], ":1:"),
        ([b"{}\n", *lines], ":1:"),
    ]
    for changed, place in changes:
        path.write_bytes(b"".join(changed))
        for call in (lambda: read_ledger(path), lambda: record(path, SHARED, made(9))):
            with pytest.raises(FormatError, match=f"{path.name}{place}"):
                call()


@pytest.mark.parametrize(
    "change",
    [
        {"level": 0.04},
        {"use": 3},
        {"use": 0},
        {"kind": "other"},
        {"report": {}},
        {"scores": {"about": "x"}},
        {"use": 1, "level": None},
    ],
)
def test_a_line_that_no_version_writes_is_refused_even_with_a_fitting_checksum(path, change):
    record(path, SHARED, made(1, runs=1))
    _, line = path.read_bytes().splitlines()
    content = {key: value for key, value in json.loads(line).items() if key != "sum"}
    head = read_ledger(path).head
    with path.open("ab") as file:
        append(file, head, {**content, "use": 2, "level": SHARED.level(1)} | change, durable=False)
    with pytest.raises(FormatError, match=":3: the line is damaged"):
        read_ledger(path)


def test_what_is_no_ledger_is_refused_and_left_alone(path):
    path.write_bytes(b"SQLite format 3\0" + bytes(100))
    before = path.read_bytes()
    for call in (lambda: read_ledger(path), lambda: record(path, SHARED, made(1))):
        with pytest.raises(FormatError, match="not the ledger of a gate"):
            call()
    assert path.read_bytes() == before


def test_metrics_and_their_ranges_are_part_of_the_policy(path):
    policy = replace(SHARED, metric=("match",), metric_ranges={"tokens": (1000.0, 0.0)})
    scores = [replace(made(seed), columns={"metric": ("match",) * 60}) for seed in (1, 2)]
    record(path, policy, scores[0])
    assert read_ledger(path).policy == policy
    assert record(path, replace(policy, metric="match"), scores[0]).is_known
    with pytest.raises(DesignError, match="metric_ranges is"):
        record(path, replace(policy, metric_ranges={"tokens": (2000.0, 0.0)}), scores[1])


def test_uses_at_the_same_time_get_numbers_of_their_own(path):
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda seed: record(path, SHARED, made(seed, runs=1)).use.number, range(12)))
    assert sorted(found) == list(range(1, 13))
    assert len(read_ledger(path).uses) == 12


def test_a_ledger_that_stays_in_use_is_not_waited_for_without_end(path, monkeypatch):
    record(path, SHARED, made(1))
    monkeypatch.setattr(ledgers, "_WAIT_SECONDS", 0.0)
    with path.open("rb") as file:
        ledgers.lock(file)
        with pytest.raises(DataError, match="another process is using the ledger"):
            record(path, SHARED, made(2))


def test_the_content_of_a_policy_leaves_out_what_is_as_by_default():
    assert policy_content(SHARED) == {
        "candidates": ["new"],
        "baseline": "old",
        "claims": [
            {"kind": "not_worse_by", "amount": 0.1},
            {"kind": "better_by", "amount": 0.3, "tier": "info"},
        ],
        "spending": "ledger",
    }
