"""Gates: whether a new system may ship, by claims that a policy fixes beforehand.

``gate`` has the statistics, ``verdicts`` what follows from evidence; ``ledger`` records uses, ``uses`` is what its
events say, ``admit`` the only way onto it. Policy, report and events are records.

A verdict is computed from stored scores each time before it is shown. Whatever changes a ledger is an event that
``admit`` lets in: recording, importing and verifying use it alike. The level of a use is spent when it begins.
"""

from bbedge.gate.gate import Gate, gate
from bbedge.gate.ledger import read_ledger, record
from bbedge.records.gate import ClaimResult, GateHistory, GateReport, GateUse, RecordedUse
from bbedge.records.policy import Claim, Policy

__all__ = [
    "Claim",
    "ClaimResult",
    "Gate",
    "GateHistory",
    "GateReport",
    "GateUse",
    "Policy",
    "RecordedUse",
    "gate",
    "read_ledger",
    "record",
]
