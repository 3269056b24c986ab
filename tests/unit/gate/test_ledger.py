"""The ledger of a gate: labels, levels, what is recorded, and what an attacker or a crash can do to it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from bbedge.board import Board, BoardDesign
from bbedge.core.leaderboard import COUNTED
from bbedge.core.scores import Scores
from bbedge.errors import (
    BbedgeError,
    BoardError,
    CopiedReplicateError,
    DataError,
    DesignError,
    DomainError,
    FormatError,
    NoBoardError,
)
from bbedge.gate import Policy, gate, read_ledger, record
from bbedge.gate.admit import verify_session
from bbedge.gate.ledger import reserve
from bbedge.gate.uses import level_of
from bbedge.ledger import location
from bbedge.ledger.archive import export_lines, import_lines
from bbedge.ledger.heads import heads_beside
from bbedge.ledger.store import Store
from bbedge.records.notes import Note
from gate_ledgers import CLAIMS, SHARED, STUDY, Taken, changed, copied_uses, made

EACH = SHARED.changed(spending="each-run")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gate.bbedge"


def events(path):
    with Store(path, what="ledger").read() as session:
        return [event.hash for event in session.events()]


def verified(path):
    with Store(path, what="ledger").read() as session:
        return verify_session(session)


def test_a_use_about_new_items_has_its_schedule_and_continues_between_looks(path):
    policy = SHARED.changed(target="new-items", looks=(2, 4))
    first = record(path, policy, made(1, runs=3), label="one")
    assert (first.report.next_look, first.to_values()["next_look"]) == (4, 4)
    again = record(path, policy, made(1, runs=4), label="one")
    assert (again.report.next_look, again.use.level) == (None, first.use.level)
    alone = gate(policy.at_level(first.use.level), made(1, runs=4))
    assert alone.results == again.report.results
    assert [look.replicate for look in alone.results[0].looks] == [2, 4]
    with pytest.raises(DesignError, match="looks is 2, 4 there and 2, 5 now"):
        record(path, policy.changed(looks=(2, 5)), made(1, runs=4), label="one")
    with pytest.raises(DesignError, match="target is 'new-items' there and left out now; looks is 2, 4 there and left"):
        record(path, SHARED, made(1, runs=4), label="one")
    assert verified(path).uses == 1


def test_each_use_has_its_share_and_all_of_them_at_most_alpha(path):
    levels = [record(path, SHARED, made(seed), label=str(seed)).use.level for seed in range(6)]
    assert levels == [level_of(SHARED, use) for use in range(1, 7)]
    assert levels[0] > levels[1] > levels[5] > 0.0
    ledger = read_ledger(path)
    assert ledger.spent == pytest.approx(sum(levels))
    assert sum(level_of(SHARED, use) for use in range(1, 10_000)) <= SHARED.alpha
    assert [use.number for use in ledger.uses] == [1, 2, 3, 4, 5, 6]
    assert [use.report.policy.alpha for use in ledger.uses] == levels, "verdicts are at the level of their use"
    done = verified(path)
    assert (done.events, done.uses, done.vectors, done.head) == (1 + 3 * 6, 6, 6 * 3 * 2, ledger.head)


def test_the_verdict_is_that_of_the_gate_at_the_level_of_the_use(path):
    for seed in range(2):
        found = record(path, SHARED, made(seed), label=str(seed))
        alone = gate(EACH.changed(alpha=found.use.level), made(seed))
        assert found.report.results == alone.results
        assert read_ledger(path).uses[seed].report == found.report


def test_equal_shares_end(path):
    policy = SHARED.changed(shares=2)
    for seed in (1, 2):
        assert record(path, policy, made(seed), label=str(seed)).use.level == pytest.approx(0.025)
    before = events(path)
    with pytest.raises(DesignError, match="all 2 shares of alpha are spent"):
        record(path, policy, made(3), label="3")
    assert record(path, policy, made(2), label="2").is_known, "what is recorded can still be read"
    assert events(path) == before


def test_with_each_run_every_use_has_alpha(path):
    assert [record(path, EACH, made(seed), label=str(seed)).use.level for seed in range(3)] == [0.05] * 3


def test_the_same_label_and_scores_return_what_is_recorded_and_spend_nothing(path):
    first = record(path, SHARED, made(1), label="one")
    record(path, SHARED, made(2), label="two")
    before = events(path)
    again = record(path, SHARED, made(1), label="one")
    assert again.is_known
    assert not first.is_known
    assert (again.report, again.use) == (first.report, first.use)
    other = made(1, models=("other", "new", "old"))
    rows = Scores.of(
        np.concatenate([other.values[:, :1], made(1).values], axis=1), models=other.models, items=other.items
    )
    assert record(path, SHARED, rows, label="one").is_known, "systems that the policy does not name do not matter"
    assert record(path, SHARED, made(1, files=("0" * 64,)), label="one").is_known, "files do not identify a use"
    assert events(path) == before


def test_another_label_is_another_use_whatever_the_scores(path):
    """A commit that was never judged does not get the verdict of an earlier one whose scores are equal."""
    first = record(path, SHARED, made(1, runs=5), label="one")
    second = record(path, SHARED, made(1, runs=1), label="two")
    assert (second.use.number, second.is_known) == (2, False)
    assert second.use.level < first.use.level
    assert second.report.results == gate(EACH.changed(alpha=second.use.level), made(1, runs=1)).results
    assert second.report.replicates == 1


def test_fewer_runs_do_not_return_a_verdict_that_was_reached_with_more(path):
    record(path, SHARED, made(1, runs=5), label="one")
    before = events(path)
    with pytest.raises(DataError, match=r"use 1 \('one'\) has 5 runs recorded, and these are 2 of them"):
        record(path, SHARED, made(1, runs=2), label="one")
    assert events(path) == before


def test_further_runs_are_another_look_at_the_same_use(path):
    first = record(path, SHARED, made(1, runs=2), label="one")
    record(path, SHARED, made(2), label="two")
    longer = record(path, SHARED, made(1, runs=5), label="one")
    assert (longer.use.number, longer.use.level, longer.use.label) == (1, first.use.level, "one")
    assert longer.report.replicates == 5
    assert longer.report.results == gate(EACH.changed(alpha=first.use.level), made(1, runs=5)).results
    ledger = read_ledger(path)
    assert [use.report.replicates for use in ledger.uses] == [5, 3]
    assert ledger.spent == pytest.approx(level_of(SHARED, 1) + level_of(SHARED, 2))
    assert verified(path).vectors == 2 * (5 + 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda scores: replace(scores, values=scores.values[::-1]), "has seen other scores"),
        (lambda scores: made(2), "has seen other scores"),
        (lambda scores: replace(scores, blocks=("one",) * 60), "the items, their blocks or columns differ"),
        (lambda scores: replace(scores, items=scores.items[::-1]), "the items, their blocks or columns differ"),
        (lambda scores: replace(scores, score_range=(0.0, 2.0)), "the score range differ"),
        (lambda scores: replace(scores, gaps="worst-case"), "the rule for missing scores differ"),
    ],
)
def test_the_same_label_with_other_scores_is_refused(path, change, words):
    record(path, SHARED, made(1), label="one")
    before = events(path)
    with pytest.raises(BbedgeError, match=words):
        record(path, SHARED, change(made(1)), label="one")
    assert events(path) == before


@pytest.mark.parametrize("label", [None, "", "  "])
def test_a_use_needs_a_label(path, label):
    with pytest.raises(DesignError, match=r"known by its label.*label=TEXT"):
        record(path, SHARED, made(1), label=label)
    assert not path.exists()


def test_another_policy_is_refused_with_what_differs(path):
    record(path, SHARED, made(1), label="one")
    before = events(path)
    other = Policy.from_toml(
        'candidate = "new"\nbaseline = "old"\nalpha = 0.1\nspending = "ledger"\nopen = "pass"\n'
        "[[claims]]\nnot_worse_by = 0.1\n",
        source="policy.toml",
    )
    with pytest.raises(DesignError) as refused:
        record(path, other, made(2), label="two")
    for words in ("policy.toml", "alpha is 0.05 there and 0.1 now", "better by more than 0.3", "open is 'error' there"):
        assert words in str(refused.value)
    with pytest.raises(DesignError, match="spending is 'ledger' there and 'each-run' now"):
        reserve(path, EACH, made(1), label="two", study=STUDY)
    with pytest.raises(DesignError, match="alpha is"):
        read_ledger(path, policy=other)
    assert read_ledger(path, policy=SHARED).policy == SHARED
    assert events(path) == before


def test_a_policy_that_fits_no_scores_makes_no_ledger(path):
    with pytest.raises(DesignError, match="is not a model"):
        record(path, SHARED.changed(candidates=("nwe",)), made(1), label="one")
    assert not path.exists()
    with pytest.raises(NoBoardError, match="no ledger here yet"):
        read_ledger(path)


def test_copies_are_refused_unless_the_policy_counts_them(path):
    values = made(1).values.copy()
    values[1] = values[0]
    with pytest.raises(CopiedReplicateError):
        record(path, SHARED, made(1, values=values), label="one")
    assert not path.exists()
    allowed = SHARED.changed(copies="allow")
    found = record(path, allowed, made(1, values=values), label="one")
    assert found.report.notes == (COUNTED.text,)
    assert [content["copies"] for _, content in Taken.apart(path).of("looked")] == [
        {"2": [{"of": 1, "models": ["new", "old"], "whole": True}]}
    ]


def test_what_the_reader_noticed_is_recorded_and_shown(path):
    noted = made(1, notes=(Note(kind="seed", text="Seeds are shared."),), files=("a" * 64,))
    assert record(path, SHARED, noted, label="one").report.notes == ("Seeds are shared.",)
    assert read_ledger(path).uses[0].report.notes == ("Seeds are shared.",)
    (_, content), *_ = Taken.apart(path).of("looked")
    assert content["files"] == ["a" * 64]


def test_items_are_listed_once(path):
    for seed in range(3):
        record(path, SHARED, made(seed), label=str(seed))
    record(path, SHARED, made(5, items=40), label="other items")
    assert ["listing" in content for _, content in Taken.apart(path).of("begun")] == [True, False, False, True]


def test_a_gate_of_a_shared_budget_needs_its_ledger():
    with pytest.raises(DesignError, match="name the ledger"):
        gate(SHARED, made(1))
    with pytest.raises(DesignError, match="shares divide"):
        EACH.changed(shares=3)
    with pytest.raises(DesignError, match="number of shares"):
        SHARED.changed(shares=0)


def test_a_study_keeps_the_level_that_it_reserved(path):
    mine = reserve(path, SHARED, made(1, runs=0), label="mine", study=STUDY)
    assert (mine.number, mine.level, mine.report) == (1, level_of(SHARED, 1), None)
    assert record(path, SHARED, made(2), label="other").use.number == 2
    assert reserve(path, SHARED, made(1, runs=0), label="mine", study=STUDY).number == 1
    assert reserve(path, SHARED, made(1, runs=0), label="third", study="6" * 64).number == 3
    for study, label in (("6" * 64, "mine"), (None, "mine"), (STUDY, "other")):
        with pytest.raises(DesignError, match="choose another label"):
            record(path, SHARED, made(1), label=label, study=study)
    done = record(path, SHARED, made(1), label="mine", study=STUDY)
    assert (done.use.number, done.use.level) == (1, level_of(SHARED, 1))
    assert record(path, SHARED, made(1, runs=5), label="mine", study=STUDY).report.replicates == 5
    assert [use.report is None for use in read_ledger(path).uses] == [False, False, True]


def forge(path, change):
    """The same ledger after a change, with hashes that fit, and without the heads beside it."""
    taken = Taken.apart(path)
    change(taken)
    path.unlink()
    heads_beside(path).unlink()
    taken.write(path)


def first(taken, kind):
    return next(taken.of(kind))[1]


def passing(taken):
    """A PASS whose interval ends below the bar: the old ledger shipped it."""
    result = first(taken, "decided")["results"][0]
    result |= {"verdict": "PASS", "since": 1, "upper": -0.15}
    for look in result["looks"]:
        look["verdict"] = "PASS"


FORGERIES = {
    "a pass with its upper bound below the bar": passing,
    "a verdict": lambda taken: first(taken, "decided")["results"][0].update(verdict="FAIL", since=2),
    "a bound": lambda taken: first(taken, "decided")["results"][1].update(lower=0.0),
    "evidence": lambda taken: first(taken, "decided")["results"][0].update(log_e=30.0),
    "no claims": lambda taken: first(taken, "decided").update(results=[]),
    "a level": lambda taken: first(taken, "begun").update(level=0.05),
    "more alpha": lambda taken: first(taken, "policy")["policy"].update(alpha=0.2),
    "another claim": lambda taken: first(taken, "policy")["policy"]["claims"][0].update(amount=0.3),
    "a label twice": lambda taken: list(taken.of("begun"))[1][1].update(label="one"),
    "a number twice": lambda taken: list(taken.of("begun"))[1][1].update(use=1),
    "fewer runs": lambda taken: first(taken, "looked")["runs"].pop("2"),
    "copies": lambda taken: first(taken, "looked").update(copies={"2": [{"of": 1, "models": ["new"], "whole": False}]}),
    "other systems": lambda taken: first(taken, "begun").update(systems=["old", "new"]),
    "other items": lambda taken: first(taken, "begun")["listing"]["items"].reverse(),
    "no scores": lambda taken: taken.vectors.pop(0),
    "a study": lambda taken: first(taken, "begun").update(checkpoints={}),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_ledger_that_says_what_its_scores_do_not_is_refused_although_its_hashes_fit(path, name):
    for seed in (1, 2):
        record(path, SHARED, made(seed, runs=2), label={1: "one", 2: "two"}[seed])
    forge(path, lambda taken: None)
    assert len(read_ledger(path).uses) == verified(path).uses == 2, "the same content is accepted"
    forge(path, FORGERIES[name])
    with pytest.raises(BoardError):
        verified(path)
    lines = list(export_lines(Store(path, what="ledger")))
    with pytest.raises(BbedgeError):
        import_lines(lines, path.with_suffix(".new"), source="archive", verify=verify_session)
    assert not path.with_suffix(".new").exists()


def test_a_forged_verdict_is_never_shown(path):
    record(path, SHARED, made(1, runs=2), label="one")
    forge(path, passing)
    with pytest.raises(BoardError, match=r"the report says verdict = PASS .* the stored scores give OPEN"):
        read_ledger(path)
    with pytest.raises(BoardError, match="the stored scores give OPEN"):
        record(path, SHARED, made(1, runs=2), label="one")


def test_emptied_copies_are_noticed(path):
    copied_uses(path)
    forge(path, lambda taken: first(taken, "looked").update(copies={}))
    with pytest.raises(BoardError, match="are not those that repeat earlier ones"):
        verified(path)


@pytest.mark.parametrize("attack", ["cut", "set back", "removed", "begun anew"])
def test_a_published_head_finds_what_was_lost(path, attack):
    record(path, SHARED, made(1), label="one")
    before = path.read_bytes()
    head = record(path, SHARED, made(2), label="two").head
    assert read_ledger(path, head=head).head == head
    assert record(path, SHARED, made(3), label="three", head=head).use.number == 3
    assert read_ledger(path, head=head).head != head, "what came later is no loss"
    if attack == "cut":
        path.write_bytes(path.read_bytes()[:-5])
    elif attack == "set back":
        path.write_bytes(before)
        heads_beside(path).unlink()
        assert record(path, SHARED, made(2), label="x").use.number == 2, "without the head nothing shows it"
        path.write_bytes(before)
        heads_beside(path).unlink()
    elif attack == "removed":
        path.unlink()
    else:
        path.unlink()
        heads_beside(path).unlink()
        record(path, SHARED, made(2), label="two")
    for call in (
        lambda: read_ledger(path, head=head),
        lambda: record(path, SHARED, made(4), label="four", head=head),
    ):
        with pytest.raises(BbedgeError, match=r"no event has the published hash|cut short|no ledger here yet"):
            call()


def test_few_digits_of_a_head_are_refused(path):
    record(path, SHARED, made(1), label="one")
    with pytest.raises(DomainError, match="at least 16"):
        read_ledger(path, head="abc")


def test_what_is_no_ledger_is_refused_and_left_alone(path):
    path.write_bytes(b"SQLite format 3\0" + bytes(100))
    before = path.read_bytes()
    for call in (lambda: read_ledger(path), lambda: record(path, SHARED, made(1), label="one")):
        with pytest.raises(BoardError, match="not a gate ledger"):
            call()
    assert path.read_bytes() == before


def test_a_board_is_no_gate_and_a_gate_no_board(path):
    Board.create(path, BoardDesign(), models=("a", "b"), items=("q1", "q2")).close()
    for call in (lambda: read_ledger(path), lambda: record(path, SHARED, made(1), label="one")):
        with pytest.raises(BoardError, match="this is a board, not the ledger of a gate"):
            call()
    path.unlink()
    heads_beside(path).unlink()
    record(path, SHARED, made(1), label="one")
    with pytest.raises(BoardError, match="this is the ledger of a gate, not a board"):
        Board.open(path)


def test_a_ledger_is_the_same_after_export_and_import(path, tmp_path):
    copied_uses(path)
    lines = list(export_lines(Store(path, what="ledger")))
    assert '"kind":"bbedge-gate"' in lines[0]
    import_lines(lines, tmp_path / "new", source="archive", verify=verify_session)
    assert read_ledger(tmp_path / "new") == read_ledger(path)
    board = [lines[0].replace("bbedge-gate", "bbedge-board"), *lines[1:]]
    with pytest.raises(FormatError, match="bbedge-board cannot begin with 'policy'"):
        import_lines(board, tmp_path / "other", source="archive", verify=verify_session)


def test_metrics_and_their_ranges_are_part_of_the_policy(path):
    policy = SHARED.changed(metric=("match",), metric_ranges={"tokens": (1000.0, 0.0)})
    scores = [made(seed, columns={"metric": ("match",) * 60}) for seed in (1, 2)]
    record(path, policy, scores[0], label="one")
    assert read_ledger(path).policy == policy
    with pytest.raises(DesignError, match="metric_ranges is"):
        record(path, policy.changed(metric_ranges={"tokens": (2000.0, 0.0)}), scores[1], label="two")


def test_names_that_cannot_be_written_are_refused(path):
    with pytest.raises(BbedgeError, match="surrogate"):
        record(path, SHARED, made(1), label="x\ud800")
    with pytest.raises(BbedgeError, match="surrogate"):
        record(path, SHARED, changed(made(1), items=("\ud800", *made(1).items[1:])), label="x")
    assert not path.exists()


@pytest.mark.every_push("the only test of two recordings at one time")
def test_uses_at_the_same_time_get_numbers_of_their_own(path):
    with ThreadPoolExecutor(6) as pool:
        found = list(
            pool.map(lambda seed: record(path, SHARED, made(seed, runs=1), label=str(seed)).use.number, range(12))
        )
    assert sorted(found) == list(range(1, 13))
    assert verified(path).uses == 12


def test_a_ledger_that_stays_in_use_is_not_waited_for_without_end(path, monkeypatch):
    record(path, SHARED, made(1), label="one")
    monkeypatch.setattr(location, "BUSY_SECONDS", 0.05)
    with (
        Store(path, what="ledger").write(),
        pytest.raises(BoardError, match="another program kept writing to the gate ledger"),
    ):
        record(path, SHARED, made(2), label="two")


def test_the_content_of_a_policy_leaves_out_what_is_as_by_default():
    assert SHARED.claims == CLAIMS
    assert SHARED.content == {
        "candidates": ("new",),
        "baseline": "old",
        "claims": (
            {"kind": "not_worse_by", "amount": 0.1},
            {"kind": "better_by", "amount": 0.3, "tier": "info"},
        ),
        "spending": "ledger",
    }
