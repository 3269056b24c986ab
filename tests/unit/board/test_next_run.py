"""What to run next, at every stage of a board."""

import json

from bbedge.board import Board, BoardDesign
from bbedge.core.checkpoints import first_run_plan
from unit.board.first_runs import ITEMS, MODELS, add_checkpoint, complete, drawn, make


def test_a_first_run_comes_in_parts_then_the_rest_then_complete_replicates(tmp_path):
    board, panel = make(tmp_path / "board.db"), drawn(1)
    order = [ITEMS[place] for place in first_run_plan(board.state.epoch.stages[0].design).order]
    seen = []
    for number, until in ((1, 6), (2, 18), (3, 36)):
        run = board.next_run
        assert (run.kind, run.replicate, run.checkpoint.number, run.checkpoints) == ("part", 1, number, 3)
        assert run.items == board.next_items == tuple(order[len(seen) : until])
        assert run.models == tuple(board.state.active)
        seen += run.items
        add_checkpoint(board, panel)
        if number == 2:
            board.retire("d")
    run = board.next_run
    assert (run.kind, run.checkpoint, run.models) == ("rest", None, ("a", "b", "c"))
    assert run.items == tuple(order[36:])
    complete(board, panel)
    run = board.next_run
    assert (run.kind, run.replicate, run.checkpoint, run.items) == ("replicate", 2, None, ITEMS)


def test_blocks_and_columns_go_with_their_items(tmp_path):
    blocks = [f"b{place // 2}" for place in range(len(ITEMS))]
    topics = [f"t{place % 5}" for place in range(len(ITEMS))]
    design = BoardDesign.from_toml('[checkpoints]\nfractions = [0.2]\n[views]\ncolumn = "topic"')
    board = Board.create(
        tmp_path / "b.db", design, models=MODELS, items=ITEMS, blocks=blocks, columns={"topic": topics}
    )
    run = board.next_run
    assert len(run.items) == 12
    places = [ITEMS.index(item) for item in run.items]
    assert run.blocks == tuple(blocks[place] for place in places)
    assert run.columns == {"topic": tuple(topics[place] for place in places)}


def test_without_checkpoints_and_in_a_pilot_replicates_are_complete(tmp_path):
    plain = Board.create(tmp_path / "plain.db", BoardDesign(), models=MODELS, items=ITEMS)
    run = plain.next_run
    assert (run.kind, run.replicate, run.checkpoints, run.items) == ("replicate", 1, 0, ITEMS)
    pilot = make(tmp_path / "pilot.db", family="pilot-top-k", k=1, pilot=2)
    assert (pilot.next_run.kind, pilot.next_run.replicate, pilot.next_run.items) == ("pilot", 1, ITEMS)
    complete(pilot, drawn(1))
    assert pilot.next_run.replicate == 2
    complete(pilot, drawn(2))
    assert (pilot.next_run.kind, pilot.next_run.replicate, pilot.next_run.checkpoints) == ("part", 1, 3)


def test_a_new_epoch_starts_with_parts_again(tmp_path):
    board = make(tmp_path / "board.db")
    complete(board, drawn(1))
    board.add_items(("r1",), order_seed=9)
    run = board.next_run
    assert (run.kind, run.epoch, run.replicate, run.checkpoint.number) == ("part", 2, 1, 1)


def test_programs_get_plain_values(tmp_path):
    board = make(tmp_path / "board.db")
    content = json.loads(json.dumps(board.next_run.content))
    assert content == {
        "kind": "part",
        "epoch": 1,
        "replicate": 1,
        "checkpoint": {"number": 1, "blocks": 6, "of_blocks": 60, "fraction": 0.1},
        "checkpoints": 3,
        "looks": {"benchmark": 1},
        "models": list(MODELS),
        "items": list(board.next_items),
    }
