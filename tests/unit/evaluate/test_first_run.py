"""Looks inside the first run: when there are any, the order of samples, which models are dropped, what is saved."""

import io
import json
import random
import re
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import UNSET, structs
from rich.console import Console

from bbedge.board import Board, BoardDesign
from bbedge.board.stored_scores import stored_scores
from bbedge.cli.evaluate_screen import Screen, first_run_lines, line
from bbedge.core.certifier import Certifier
from bbedge.core.checkpoints import run_order
from bbedge.core.scores import Scores
from bbedge.errors import BbedgeError
from bbedge.evaluate.engine import Benchmark, Sample
from bbedge.evaluate.events import Dropped, Looked, ReplicateBegun, SampleDone, plain
from bbedge.evaluate.runner import evaluate
from bbedge.evaluate.study_board import first_run_of, frozen_design, open_board, reserved_study, study_hash
from bbedge.gate import Claim, Policy, gate, record
from bbedge.ledger.heads import heads_beside
from bbedge.records.design import CheckpointRule
from bbedge.records.journal import Done
from bbedge.study.synthetic import SyntheticBenchmark
from bbedge.verify.ledger import verify
from fake_engine import FakeEngine, fake_study

WIDE = SyntheticBenchmark(means=(0.97, 0.5, 0.3, 0.05), n_items=240, offset=0.0)
PAIRS = SyntheticBenchmark(means=(0.5, 0.5, 0.5), n_items=400, block_sizes=2, offset=0.0)
TIED = SyntheticBenchmark(means=(0.5, 0.5, 0.5), n_items=240, offset=0.0)
SMALL = SyntheticBenchmark(means=(0.8, 0.4), n_items=199, offset=0.0)


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    """The seeds that boards draw, from a generator with a seed of its own, so that the tests repeat."""
    numbers = random.Random(20)
    monkeypatch.setattr("bbedge.board.board.drawn_seed", lambda: numbers.getrandbits(53))


def run(study, engine, **options):
    seen = []
    ended = evaluate(study, engine, watch=seen.append, sleep=lambda _: None, **options)
    return ended, seen


def opened(study):
    return closing(Board.open(study.board))


@pytest.mark.parametrize(
    ("synthetic", "values", "checkpoints"),
    [
        (WIDE, {}, CheckpointRule()),
        (PAIRS, {}, CheckpointRule()),
        (SMALL, {}, UNSET),
        (WIDE, {"checkpoints": False}, UNSET),
        (WIDE, {"design": {"checkpoints": False}}, UNSET),
        (SMALL, {"checkpoints": True}, CheckpointRule()),
        (WIDE, {"checkpoints": [0.1, 0.5]}, CheckpointRule(fractions=(0.1, 0.5))),
        (
            WIDE,
            {"checkpoints": {"fractions": [0.5], "complete": 0.7}},
            CheckpointRule(fractions=(0.5,), complete=0.7),
        ),
        (WIDE, {"design": {"method": "bb-edge"}}, UNSET),
        (WIDE, {"question": "best", "design": {"family": "pilot-top-k", "k": 1, "pilot": 1}}, UNSET),
    ],
)
def test_which_studies_look_inside_the_first_run(tmp_path, synthetic, values, checkpoints):
    study = fake_study(tmp_path, synthetic, **values)
    run(study, FakeEngine(synthetic), at_most=0)
    with opened(study) as board:
        assert board.design.checkpoints == checkpoints
        assert (board.state.epoch.order_seed is None) == (checkpoints is UNSET)
        assert not any(note.about == "checkpoints" for note in board.noted)


def test_the_order_is_drawn_by_the_board_and_is_the_same_for_all_models(tmp_path):
    study, engine = fake_study(tmp_path, PAIRS, drop="never", checkpoints=[0.05, 0.3]), FakeEngine(PAIRS)
    run(study, engine, at_most=1)
    with opened(study) as board:
        epoch = board.state.epoch
        order = run_order(epoch.items, epoch.blocks, epoch.order_seed)
        blocks = [epoch.blocks[places[0]] for places in order]
    assert blocks != sorted(blocks)
    ran = [(model, sample) for replicate, model, sample in engine.ran if replicate == 1]
    for begin, end in ((0, 10), (10, 60), (60, 200)):
        part = ran[begin * 3 : end * 3]
        for model in PAIRS.models:
            assert [sample for name, sample in part if name == model] == blocks[begin:end]


def test_no_order_can_be_asked_for_and_another_study_has_another(tmp_path):
    seeds = []
    for name in ("a", "b"):
        study = fake_study(tmp_path / name, WIDE)
        run(study, FakeEngine(WIDE), at_most=0)
        with opened(study) as board:
            seeds.append(board.state.epoch.order_seed)
    assert seeds[0] != seeds[1]
    for table in ({"order": "file"}, {"order_seed": 1}):
        with pytest.raises(BbedgeError, match="unknown key"):
            fake_study(tmp_path, WIDE, checkpoints=table)


def test_it_looks_drops_and_stops_inside_the_run(tmp_path):
    study, engine = fake_study(tmp_path, WIDE, question="best", drop="unneeded"), FakeEngine(WIDE)
    ended, seen = run(study, engine)
    assert ended.reason == "answered"
    assert ended.leaderboard.replicates == 0
    parts = [event for event in seen if isinstance(event, Looked) and event.checkpoint]
    assert [event.checkpoint.number for event in parts] == list(range(1, len(parts) + 1))
    assert len(parts) < 8
    assert [event.checkpoint.blocks for event in parts] == [3, 5, 10, 17, 29, 48, 84, 144][: len(parts)]
    assert not any(isinstance(event, Looked) and event.checkpoint is None for event in seen)
    assert sum(isinstance(event, ReplicateBegun) for event in seen) == 1
    # A model that was dropped at a checkpoint is not run after it.
    running = list(WIDE.models)
    for event in seen:
        if isinstance(event, SampleDone):
            assert event.model in running
        elif isinstance(event, Dropped):
            running = list(event.left)
        elif isinstance(event, Looked) and event.checkpoint:
            assert event.models == tuple(running)
            share = f"{100 * event.checkpoint.fraction:.3g} % of blocks, {len(running)} models running"
            assert f"checkpoint {event.checkpoint.number} of 8 ({share})" in line(event)
            written = json.loads(json.dumps(plain(event), allow_nan=False))
            assert written["event"] == "part-looked"
            assert (written["checkpoint"], written["models"]) == (event.checkpoint.number, running)
    assert len(running) < 4
    assert ended.retired
    again, seen = run(study, FakeEngine(WIDE))
    assert (again.reason, again.spent, again.first_run) == (ended.reason, ended.spent, ended.first_run)
    assert not any(isinstance(event, SampleDone) for event in seen)
    with opened(study) as board:
        verify(board.store)


def test_the_screen_leaves_out_what_was_dropped_inside_the_run(tmp_path):
    study = fake_study(tmp_path, WIDE, question="best", drop="unneeded")
    console = Console(width=160, file=io.StringIO())
    screen, frames = Screen(console, study), []

    def watch(event):
        screen(event)
        if isinstance(event, SampleDone | Looked):
            with console.capture() as frame:
                console.print(screen.render())
            frames.append(frame.get())

    evaluate(study, FakeEngine(WIDE), watch=watch, sleep=lambda _: None)
    assert not any("nan" in frame for frame in frames)
    bars = [set(re.findall(r"^(\S+)  [█·]{24}", frame, re.MULTILINE)) for frame in frames]
    assert bars[0] == set(WIDE.models)
    assert len(bars[-1]) < 4
    assert "decided, not run: " in frames[-1]
    assert f"the best is {WIDE.models[0]}" in frames[-1]


@pytest.mark.nightly
def test_what_was_saved_is_stated_beside_the_complete_run(tmp_path):
    prices = {model: {"input": 100, "output": 1000} for model in WIDE.models}
    study = fake_study(tmp_path, WIDE, question="best", drop="unneeded", prices=prices)
    engine = FakeEngine(WIDE)
    ended, _ = run(study, engine)
    saving = ended.first_run
    assert (saving.items, saving.full_items) == (len(engine.ran), 4 * 240)
    assert saving.items < saving.full_items
    assert (saving.used.calls, saving.full.calls) == (len(engine.ran), 4 * 240)
    assert (saving.used.total_tokens, saving.full.total_tokens) == (12 * len(engine.ran), 12 * 4 * 240)
    assert saving.full_cost == pytest.approx(4 * 240 * (10 * 100 + 2 * 1000) / 1e6)
    assert ended.spent.full.calls == study.file.budget * 4 * 240
    text = "\n".join(first_run_lines(saving, study))
    assert f"{len(engine.ran):,} of 960 item runs" in text
    written = json.loads(json.dumps(plain(ended), allow_nan=False))
    assert written["first_pass"]["full_queries"] == 960
    assert not written["first_pass"]["complete"]
    # Later runs do not change what the first one saved, and the budget is projected from whole runs.
    more, _ = run(
        replace(study, question=fake_study(tmp_path, WIDE).question, file=structs.replace(study.file, drop="never")),
        FakeEngine(WIDE),
    )
    assert more.leaderboard.replicates >= 0
    assert more.spent.full.calls == study.file.budget * 4 * 240


def test_a_pass_that_is_never_stopped_is_that_of_a_certifier_fed_with_the_parts(tmp_path):
    study, engine = fake_study(tmp_path, TIED, budget=2, drop="never"), FakeEngine(TIED)
    ended, seen = run(study, engine)
    assert ended.reason == "budget"
    assert sum(isinstance(event, Looked) and event.checkpoint is not None for event in seen) == 8
    with opened(study) as board:
        verify(board.store)
        design, found = board.state.epoch.stages[0].design, board.leaderboard()
        plan = board.state.epoch.plan
    certifier = Certifier(design)
    panels = [TIED.panel(np.random.default_rng([0, replicate])) for replicate in (1, 2)]
    columns = [TIED.items.index(item) for item in design.items]
    for checkpoint in plan.checkpoints:
        certifier.update(panels[0][:, columns][:, plan.new_places(checkpoint.number)], certifier.next_checkpoint.blocks)
    for panel in panels:
        certifier.update(panel[:, columns])
    direct = certifier.leaderboard()
    np.testing.assert_array_equal(found.log_e, direct.log_e)
    np.testing.assert_array_equal(found.graph.above, direct.graph.above)
    np.testing.assert_array_equal(found.lower_bounds, direct.lower_bounds)


def test_limits_are_checked_at_checkpoints_and_cut_off_nothing_that_counts_as_saved(tmp_path):
    study = fake_study(tmp_path, TIED, max_tokens=12 * 3 * 40)
    ended, _ = run(study, FakeEngine(TIED))
    assert ended.reason == "limit"
    assert ended.first_run is None
    done = ended.spent.samples
    assert 3 * 40 <= done <= 3 * 40 + 3 * 20
    more, _ = run(fake_study(tmp_path, TIED, budget=1), FakeEngine(TIED))
    assert (more.reason, more.spent.samples, more.leaderboard.replicates) == ("budget", 3 * 240, 1)


def test_a_study_that_began_without_looks_goes_on_without(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1)
    design = structs.replace(study.design, checkpoints=UNSET)
    benchmark = FakeEngine(TIED).benchmark()
    Board.create(study.board, design, models=study.names, items=benchmark.items, blocks=benchmark.blocks).close()
    ended, seen = run(study, FakeEngine(TIED))
    assert ended.leaderboard.early is None
    assert not any(isinstance(event, Looked) and event.checkpoint for event in seen)
    assert "first_pass" not in plain(ended)
    assert '"shares"' not in (study.folder / "usage.jsonl").read_text()
    with pytest.raises(BbedgeError, match="'checkpoints' differ"):
        run(fake_study(tmp_path, TIED, budget=1, checkpoints=True), FakeEngine(TIED))


def gated(folder, rules, **values):
    return fake_study(folder, WIDE, drop="unneeded", **values).gated(rules)


def test_a_gate_is_decided_inside_the_run_and_does_not_run_other_models(tmp_path):
    new, old, *_ = WIDE.models
    rules = Policy(candidates=(new,), baseline=old, claims=(Claim(kind="better_by", amount=0.05),))
    study, engine = gated(tmp_path, rules), FakeEngine(WIDE)
    ended, seen = run(study, engine)
    assert (ended.reason, ended.answer.text, ended.leaderboard.replicates) == (
        "answered",
        "1 blocking claim: 1 PASS",
        0,
    )
    parts = [event for event in seen if isinstance(event, Looked) and event.checkpoint]
    assert parts[1].models == (new, old)
    with opened(study) as board:
        systems = study.question.systems
        found = gate(rules, stored_scores(board, systems), first_run=first_run_of(board, systems))
    assert (found.release, found.fraction) == ("ship", parts[-1].checkpoint.fraction)
    assert found.results[0].since_fraction == parts[-1].checkpoint.fraction


def test_a_gate_about_new_items_looks_at_complete_runs_alone(tmp_path):
    claim = Claim(kind="better_by", amount=0.05)
    rules = Policy(candidates=(TIED.models[0],), baseline=TIED.models[1], claims=(claim,), target="new-items")
    study, ledger = fake_study(tmp_path, TIED, budget=1, checkpoints=True), tmp_path / "gate.bbedge"
    with open_board(study, FakeEngine(TIED).benchmark()) as board:
        chosen = reserved_study(study, rules, board, ledger, label="one")
    ended, _ = run(chosen, FakeEngine(TIED))
    assert ended.spent.replicates == 1
    with closing(Board.open(study.board)) as board:
        systems = chosen.question.systems
        assert first_run_of(board, systems).panels
        assert first_run_of(board, systems, rules) is None
        done = record(ledger, rules, stored_scores(board, systems), label="one", study=study_hash(board))
    assert [look.replicate for look in done.report.results[0].looks] == [1]


def test_the_board_says_whether_parts_had_been_seen_when_a_policy_was_stated(tmp_path):
    new, old, *_ = WIDE.models
    rules = Policy(candidates=(new,), baseline=old, claims=(Claim(kind="better_by", amount=0.05),))
    study = gated(tmp_path, rules)
    run(study, FakeEngine(WIDE))
    later = gated(tmp_path, rules.changed(alpha=0.01))
    run(later, FakeEngine(WIDE), at_most=0)
    with opened(study) as board:
        parts = board.state.epoch.passed
        first, second = (note.text for note in board.noted if note.about == "gate")
    assert first.endswith("stated before the first replicate.")
    assert second.endswith(f"stated when {parts} parts of the first replicate had been seen.")


class Whole(FakeEngine):
    """An engine that runs the whole benchmark in one call."""

    divisible = False

    def benchmark(self):
        whole = super().benchmark()
        sample = Sample(name="all", items=whole.items, blocks=whole.blocks, is_divisible=self.divisible)
        return Benchmark(samples=(sample,), fingerprint="synthetic")


class Divisible(Whole):
    """An engine that runs any list of items in one call."""

    divisible = True


def test_an_engine_whose_run_is_the_unit_looks_at_complete_runs(tmp_path):
    study = fake_study(tmp_path, WIDE, budget=1)
    ended, seen = run(study, Whole(WIDE))
    assert not any(isinstance(event, Looked) and event.checkpoint for event in seen)
    with opened(study) as board:
        assert board.design == BoardDesign(planned=1)
        (note,) = (note for note in board.noted if note.about == "checkpoints")
        assert note.particulars == {"reason": "whole-runs"}
    assert ended.leaderboard.replicates == 1
    stated = fake_study(tmp_path / "stated", WIDE, checkpoints=True)
    with pytest.raises(BbedgeError, match="runs the whole benchmark in one call"):
        run(stated, Whole(WIDE))


def test_a_sample_of_many_blocks_is_run_in_parts(tmp_path):
    study, engine = fake_study(tmp_path, TIED, budget=2, drop="never"), Divisible(TIED)
    ended, _ = run(study, engine)
    assert ended.leaderboard.replicates == 2
    first = [sample for replicate, model, sample in engine.ran if (replicate, model) == (1, TIED.models[0])]
    assert first == [f"all, part {number} of 9" for number in range(1, 10)]
    assert [sample for replicate, _, sample in engine.ran if replicate == 2] == ["all"] * 3
    assert (ended.spent.samples, ended.spent.full_samples) == (3 * 10, 3 * 10)


class Greedy(FakeEngine):
    """Gives the same answers and scores in every replicate."""

    def run(self, replicate, jobs, seeds, report):
        def same(what):
            report(structs.replace(what, trace=what.sample, length=100) if isinstance(what, Done) else what)

        super().run(1, jobs, seeds, same)


class GreedyInOneCall(Greedy, Divisible):
    """The same for an engine that sees no answers of a part."""

    def run(self, replicate, jobs, seeds, report):
        def blind_in_parts(what):
            report(structs.replace(what, trace=None) if "part" in what.sample else what)

        super().run(replicate, jobs, seeds, blind_in_parts)


@pytest.mark.parametrize("engine", [Greedy, GreedyInOneCall])
def test_a_replicate_that_repeats_the_parts_of_the_first_is_refused(tmp_path, engine):
    """The first run has another order, and where a run is the unit other samples: neither makes a copy look fresh."""
    study = fake_study(tmp_path, TIED, budget=2, drop="never")
    with pytest.raises(BbedgeError, match="replicate 2 repeats an earlier one"):
        run(study, engine(TIED))


@pytest.mark.parametrize("checkpoints", [False, True])
def test_a_replicate_that_repeats_one_whose_answers_are_lost_is_refused(tmp_path, checkpoints):
    study = fake_study(tmp_path, TIED, budget=2, drop="never", checkpoints=checkpoints)
    run(study, Greedy(TIED), at_most=1)
    shutil.rmtree(study.folder)
    with pytest.raises(BbedgeError, match="replicate 2 repeats an earlier one"):
        run(study, Greedy(TIED))


def test_a_part_that_repeats_the_pilot_is_refused(tmp_path):
    design = {"family": "pilot-top-k", "k": 1, "pilot": 1, "checkpoints": [0.1, 0.5]}
    options = {"design": design, "question": "best"}
    study = fake_study(tmp_path, TIED, **options, budget=3, drop="never")
    with pytest.raises(BbedgeError, match=r"replicate 2 repeats an earlier one\. The part has the scores of pilot"):
        run(study, Greedy(TIED))
    allowed = fake_study(tmp_path, TIED, **options, budget=3, run={"copies": "allow"})
    run(allowed, Greedy(TIED), at_most=1)
    with opened(study) as board:
        assert (board.state.epoch.passed, board.state.epoch.replicates) == (2, 1)


def test_the_design_of_a_study_is_not_changed_by_its_benchmark(tmp_path):
    study = fake_study(tmp_path, WIDE)
    assert study.design.checkpoints is UNSET
    assert frozen_design(study, FakeEngine(WIDE).benchmark()).checkpoints == CheckpointRule()


def test_a_score_that_is_missing_inside_the_run_is_final(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1, on_error="worst-case", run={"pause": 0.0, "retries": 0})
    lost = TIED.models[1]
    engine = FakeEngine(TIED, fails=lambda _, model, sample, __: model == lost and hash_of(sample) % 10 == 0)
    run(study, engine, at_most=1)
    count = sum(hash_of(sample) % 10 == 0 for sample in TIED.blocks)
    with opened(study) as board:
        verify(board.store)
        found = board.leaderboard()
    assert found.replicates == 1
    assert found.gaps.of_models == tuple(count if model == lost else 0 for model in found.design.models)


def stopped_at(study, checkpoint, engine=None):
    """Run a study until it is interrupted right after a look inside the first run."""

    def watch(event):
        if isinstance(event, Looked) and event.checkpoint and event.checkpoint.number == checkpoint:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(study, engine or FakeEngine(TIED), watch=watch, sleep=lambda _: None)
    return study.folder / "replicate-00001.jsonl"


@pytest.mark.parametrize("is_deleted", [False, True])
def test_what_the_journal_loses_inside_the_run_is_as_on_the_board(tmp_path, is_deleted):
    study = fake_study(tmp_path, TIED, budget=1, drop="never")
    page = stopped_at(study, 3)
    page.unlink() if is_deleted else page.write_bytes(b"")
    with opened(study) as board:
        seen = [*first_run_of(board, TIED.models).panels.values()]
        places = board.state.epoch.seen_places
    other = FakeEngine(TIED, seed=1)
    ended, _ = run(study, other)
    assert (ended.reason, ended.leaderboard.replicates) == ("budget", 1)
    assert ended.first_run is None  # what the lost part has cost is not known
    ran = {sample for _, _, sample in other.ran}
    with opened(study) as board:
        verify(board.store)
        (values,) = stored_scores(board, TIED.models).values
        blocks = {board.state.epoch.blocks[place] for place in places}
        assert board.state.epoch.attempts == {1: ["abandoned", "finished"]}
    assert np.array_equal(values[:, places], np.concatenate(seen, axis=1))
    assert not ran & blocks
    again, _ = run(study, other)
    assert again.first_run is None


@pytest.mark.parametrize("left", [1, 2, 20, -2])
def test_a_journal_that_lacks_some_of_what_is_on_the_board_is_refused(tmp_path, left):
    study = fake_study(tmp_path, TIED, budget=1, drop="never")
    page = stopped_at(study, 3)
    page.write_bytes(b"".join(page.read_bytes().splitlines(keepends=True)[:left]))
    with pytest.raises(BbedgeError, match="of the first run on the board are not in this file"):
        run(study, FakeEngine(TIED))
    page.unlink()
    assert run(study, FakeEngine(TIED))[0].reason == "budget"


def test_a_part_that_another_command_has_added_to_the_study_is_refused(tmp_path):
    study = fake_study(tmp_path, TIED, budget=1, drop="never")
    stopped_at(study, 1)
    with opened(study) as board:
        new = Scores.of(np.ones((3, len(board.next_items))), models=study.names, items=board.next_items)
        board.add(new, upto=board.next_checkpoint.blocks)
    with pytest.raises(BbedgeError, match="another command has added a part to the board"):
        run(study, FakeEngine(TIED))


@pytest.mark.parametrize("checkpoints", [False, True])
@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_board_that_was_set_back_says_that_a_replicate_is_run_again(tmp_path, checkpoints, is_deleted):
    study = fake_study(tmp_path, TIED, budget=1, drop="never", checkpoints=checkpoints)
    run(study, FakeEngine(TIED), at_most=0)
    shutil.copy(study.board, tmp_path / "older")
    for _ in range(2):
        run(study, FakeEngine(TIED))
    with opened(study) as board:
        assert not any("run again" in note.text for note in board.noted)
    without_heads(study)
    if not is_deleted:
        shutil.copy(tmp_path / "older", study.board)
    for _ in range(2):
        run(study, FakeEngine(TIED, seed=1))
    with opened(study) as board:
        (said,) = [note for note in board.noted if "run again" in note.text]
        assert said.text.startswith("The journal has replicate 1, which the board lacks")
        assert said.text in " ".join(map(str, board.certificate().content.notes))


def without_heads(study):
    """Remove a board and what would give it away: the file of its heads."""
    Path(study.board).unlink(missing_ok=True)
    heads_beside(Path(study.board)).unlink()


def test_a_new_board_takes_no_answers_from_the_journal_of_another_order(tmp_path):
    """Otherwise an order could be drawn again until it suits the answers that were seen."""
    study = fake_study(tmp_path, TIED, budget=1, drop="never")
    stopped_at(study, 3)
    Path(study.board).unlink()
    with pytest.raises(BbedgeError, match="its last head is that of an event"):
        run(study, FakeEngine(TIED))
    without_heads(study)
    with pytest.raises(BbedgeError, match="belongs to another study"):
        run(study, FakeEngine(TIED))


def test_parts_that_no_study_has_run_are_refused(tmp_path):
    study, engine = fake_study(tmp_path, TIED), FakeEngine(TIED)
    benchmark = engine.benchmark()
    design = frozen_design(study, benchmark)
    with closing(
        Board.create(study.board, design, models=study.names, items=benchmark.items, blocks=benchmark.blocks)
    ) as board:
        new = Scores.of(np.ones((3, len(board.next_items))), models=study.names, items=board.next_items)
        board.add(new, upto=board.next_checkpoint.blocks)
    with pytest.raises(BbedgeError, match="holds replicates that no study has run"):
        run(study, engine)


def hash_of(text):
    return sum(text.encode())
