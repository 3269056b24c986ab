"""The only verification: replay or compute, write the document again, compare field by field.

``verify`` recognises what was given and puts the checks together, ``checks`` reads a certificate with those that need
no scores, ``consistency`` finds what contradicts itself, ``recompute`` makes the document again from scores, and
``differences`` compares two documents. ``ledger`` admits every event of a board or a gate again. No command reads a
certificate unchecked. Files of scores are read by the caller.
"""

from bbedge.verify.checks import Check, Verification, read_certificate
from bbedge.verify.verify import verify_certificate

__all__ = ["Check", "Verification", "read_certificate", "verify_certificate"]
