import pytest

from bbedge.evaluate.spec import Price
from bbedge.evaluate.usage import Usage, spent

PRICES = {"m": Price(input=2.0, output=10.0)}


def test_usage_adds_up_and_has_a_price():
    usage = Usage(calls=1, tokens={"m": (500_000, 100_000)}) + Usage(calls=2, tokens={"m": (500_000, 0)}, seconds=2.0)
    assert usage.calls == 3
    assert usage.total_tokens == 1_100_000
    assert usage.cost(PRICES) == pytest.approx(3.0)
    assert usage.cost({}) is None
    assert (usage + Usage(tokens={"judge": (1, 1)})).cost(PRICES) is None
    assert Usage.from_content(usage.content) == usage


def test_the_saving_is_against_every_model_to_the_end():
    one = Usage(calls=10, tokens={"m": (100, 20)})
    result = spent([{"a": one, "b": one}, {"a": one}], budget=5, prices=PRICES, unfinished=Usage(calls=3))
    assert result.used.calls == 33
    assert result.full.calls == 100
    assert result.full.total_tokens == 5 * 2 * 120
    assert result.saved == pytest.approx(0.67)
    assert result.full_cost is not None
    assert spent([], budget=5, prices={}, unfinished=Usage()).saved == 0.0
