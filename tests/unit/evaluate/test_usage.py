from pathlib import Path

import pytest

from bbedge.evaluate.specification import EvaluationSpec
from bbedge.evaluate.usage import cost_of, spent
from bbedge.records.codec import convert, plain
from bbedge.records.journal import Replicate, Usage
from bbedge.records.study import Price

PRICES = {"m": Price(input=2.0, output=10.0)}


def used(**values):
    return Replicate(**{"replicate": 1, "samples": 0, "lost": 0, "traces": {}} | values)


def total(replicates_, **options):
    finished = [each if isinstance(each, Replicate) else used(usage=each, wasted={}) for each in replicates_]
    values = {"budget": 5, "models": ["a", "b"], "benchmark": {"task": "t"}, "prices": plain(PRICES)}
    study = EvaluationSpec.from_values(values, path=Path("study.toml"))
    extras = {"check": Usage(), "pilot": Usage()}
    given = {"replicates": len(finished), "full_samples": 0, "unfinished": (), "inside": None, "extras": extras}
    return spent(study, finished, **given | options)


def test_usage_adds_up_and_has_a_price():
    usage = Usage(calls=1, tokens={"m": (500_000, 100_000)}) + Usage(calls=2, tokens={"m": (500_000, 0)}, seconds=2.0)
    assert usage.calls == 3
    assert usage.total_tokens == 1_100_000
    assert cost_of(usage, PRICES) == pytest.approx(3.0)
    assert cost_of(usage, {}) is None
    assert cost_of(usage + Usage(tokens={"judge": (1, 1)}), PRICES) is None
    assert convert(plain(usage), Usage, source="") == usage


def test_the_saving_is_against_every_model_to_the_end():
    one = Usage(calls=10, tokens={"m": (100, 20)})
    result = total([{"a": one, "b": one}, {"a": one}], unfinished=[used(usage={"a": Usage(calls=3)}, wasted={})])
    assert result.used.calls == 33
    assert result.full.calls == 100
    assert result.full.total_tokens == 5 * 2 * 120
    assert result.saved == pytest.approx(0.67)
    assert result.full_cost is not None
    assert total([]).saved == 0.0


def test_what_failed_or_was_lost_is_used_and_not_projected():
    one, bad = Usage(calls=10, tokens={"m": (100, 20)}), Usage(calls=70, tokens={"m": (9, 9)})
    usual = used(usage={"a": one, "b": one}, wasted={})
    crashed = used(usage={"a": one + bad, "b": one}, wasted={"a": bad}, lost=60)
    result = total([usual, crashed], unfinished=[used(usage={"a": bad}, wasted={"a": bad}, lost=4)])
    assert (result.used.calls, result.lost) == (180, 64)
    assert result.full.calls == 5 * 2 * 10
    assert result.full.total_tokens == 5 * 2 * 120


def test_nothing_is_projected_from_replicates_that_are_not_known_well_enough():
    one = Usage(calls=10)
    assert total([]).full == Usage()
    assert total([{"a": one}]).full == Usage()  # nothing is known of b
    assert total([{"a": one}, {"a": one, "b": one}]).full.calls == 100
    assert total([{"a": one, "b": one}], replicates=3).unknown == 2
