"""Which answers say nothing."""

import pytest

from bbedge.evaluate.engines.lm_eval_requests import EmptyAnswer, refuse_empty


def answer(finish_reason="stop", **message):
    return {"choices": [{"finish_reason": finish_reason, "message": {"role": "assistant", "content": None} | message}]}


@pytest.mark.parametrize(
    "said",
    [
        answer(),
        answer("content_filter"),
        answer(tool_calls=[]),
        {"choices": [{"message": {"role": "assistant"}}]},
        {"choices": [{"text": None}]},
    ],
)
def test_null_in_place_of_content_is_no_answer(said):
    with pytest.raises(EmptyAnswer, match="content of the message is null"):
        refuse_empty(said)


@pytest.mark.parametrize(
    "said",
    [
        answer(content=""),
        answer(content="ok"),
        answer(tool_calls=[{"function": {"name": "f"}}]),
        answer(refusal="I cannot"),
        answer(reasoning_content="hm"),
        answer("length"),
        {"choices": [{"text": ""}]},
        {"choices": ["word"]},
        {"choices": []},
        {"content": []},
        {},
        [],
        None,
    ],
)
def test_everything_else_is_one(said):
    refuse_empty(said)
