"""Gates: whether a new system may ship, by claims that a policy fixes beforehand."""

from bbedge.gate.gate import Gate, gate
from bbedge.gate.ledger import Ledger, Recorded, read_ledger, record
from bbedge.gate.policy import Claim, Policy
from bbedge.gate.report import ClaimResult, GateReport

__all__ = [
    "Claim",
    "ClaimResult",
    "Gate",
    "GateReport",
    "Ledger",
    "Policy",
    "Recorded",
    "gate",
    "read_ledger",
    "record",
]
