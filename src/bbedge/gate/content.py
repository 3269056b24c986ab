"""A policy as plain values, by which two policies are compared."""

from __future__ import annotations

import hashlib
import json
from dataclasses import MISSING, Field, fields
from typing import Any

from bbedge.gate.policy import Claim, Policy


def policy_content(policy: Policy) -> dict[str, Any]:
    """What a policy says. What is as by default is left out, so that a later version with further keys says the same.

    >>> claim = Claim(kind="not_worse_by", amount=0.02)
    >>> policy_content(Policy(candidates=("new",), baseline="old", claims=(claim,)))
    {'candidates': ['new'], 'baseline': 'old', 'claims': [{'kind': 'not_worse_by', 'amount': 0.02}]}
    """
    content = _changed(policy)
    content["claims"] = [_changed(claim) for claim in policy.claims]
    content["candidates"] = list(policy.candidates)
    if policy.metric is not None:
        content["metric"] = [policy.metric] if isinstance(policy.metric, str) else list(policy.metric)
    if "metric_ranges" in content:
        content["metric_ranges"] = {name: list(ends) for name, ends in sorted(policy.metric_ranges.items())}
    return content


def policy_hash(policy: Policy) -> str:
    """SHA-256 of the content, in hexadecimal."""
    text = json.dumps(policy_content(policy), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _changed(record: Policy | Claim) -> dict[str, Any]:
    """The fields that count and are not as by default."""
    return {
        each.name: getattr(record, each.name)
        for each in fields(record)
        if each.compare and getattr(record, each.name) != _default(each)
    }


def _default(each: Field[Any]) -> object:
    return each.default if each.default_factory is MISSING else each.default_factory()
