"""Answers in which a server says nothing: they are failures, not empty texts that could be scored.

Also copied beside the files that run in the Python of lm-evaluation-harness: nothing of bbedge is imported here.
"""

from __future__ import annotations

from typing import Any

_SAID = ("tool_calls", "function_call", "refusal", "reasoning", "reasoning_content", "reasoning_details", "audio")
_CUT_OFF = "length"


class EmptyAnswer(ValueError):  # noqa: N818 - an outcome
    """The server answered, but its message has no content."""


def refuse_empty(answer: Any) -> None:  # noqa: ANN401 - JSON
    """Raise if the first choice of an answer in the form of OpenAI's has ``null`` in place of its content.

    A tool call, a refusal and reasoning are answers without content, and so is one that the limit on tokens has cut
    off: the model has used its tokens. An empty text is an answer.
    """
    choices = answer.get("choices") if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or choice.get("finish_reason") == _CUT_OFF:
        return
    message = choice.get("message")
    if isinstance(message, dict):
        is_empty = message.get("content") is None and not any(message.get(key) for key in _SAID)
    else:
        is_empty = "text" in choice and choice["text"] is None
    if is_empty:
        reason = choice.get("finish_reason")
        raise EmptyAnswer(f"the content of the message is null (finish_reason {str(reason)[:40]})")
