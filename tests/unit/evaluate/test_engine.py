from collections import Counter

from bbedge.evaluate.engine import JudgementKey, RequestSeeds


def test_seeds_are_those_of_their_study_model_sample_replicate_and_call():
    seeds = RequestSeeds.from_parts("design", 1)
    given = {
        seeds.seed(model=model, sample=sample, replicate=replicate, call=call)
        for model in ("a", "b")
        for sample in ("q1", "q2", "q3")
        for replicate in range(1, 20)
        for call in range(3)
    }
    assert len(given) == 2 * 3 * 19 * 3
    assert all(0 <= seed < 2**31 for seed in given)
    assert RequestSeeds.from_parts("design", 2).seed(model="a", sample="q1", replicate=1) not in given


def test_seeds_do_not_change_between_versions():
    """Written down once: a study that was begun with one version must go on with the next."""
    seeds = RequestSeeds.from_parts("design", 1)
    assert seeds.seed(model="a", sample="q1", replicate=1) == 1248122115
    assert seeds.shuffled(["b1", "b2", "b3", "b4"], model="a", replicate=1) == ["b4", "b1", "b2", "b3"]


def test_a_judgement_has_seeds_of_its_own():
    seeds = RequestSeeds.from_parts("design", 1)
    judgings = [None, *(JudgementKey(scorer=scorer, number=number) for scorer in ("s", "t") for number in (1, 2, 3))]
    given = {
        seeds.seed(model=model, sample="q1", replicate=replicate, call=call, judging=judging)
        for model in ("a", "b")
        for replicate in (1, 2)
        for judging in judgings
        for call in range(3)
    }
    assert len(given) == 2 * 2 * 7 * 3
    # Written down once, from SHA-256 of the parts as JSON: a study goes on with the next version.
    judging = JudgementKey(scorer="s", number=1)
    assert seeds.seed(model="a", sample="q1", replicate=1, judging=judging) == 1172374747


def test_names_that_run_together_have_different_seeds():
    seeds = RequestSeeds.from_parts("design", 1)
    one, other = seeds.seed(model="a,b", sample="c", replicate=1), seeds.seed(model="a", sample="b,c", replicate=1)
    assert one != other


def test_blocks_come_in_every_order():
    seeds = RequestSeeds.from_parts("design", 1)
    blocks = ["x", "y", "z", "x"]
    orders = Counter(tuple(seeds.shuffled(blocks, model="a", replicate=r)) for r in range(600))
    assert len(orders) == 6
    assert all(sorted(order) == ["x", "y", "z"] for order in orders)
    assert min(orders.values()) > 60
