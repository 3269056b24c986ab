"""The only verification: replay or compute, write the document again, compare field by field.

``verify`` recognises what was given and puts the checks together, ``consistency`` has those that need no scores,
``recompute`` makes the document again from scores, and ``differences`` compares two documents. Reading a certificate
with its checks is here, so that no command reads one unchecked. Files of scores are read by the caller.
"""

from bbedge.verify.outcome import Check, Verification
from bbedge.verify.reading import read_certificate
from bbedge.verify.verify import verify_certificate

__all__ = ["Check", "Verification", "read_certificate", "verify_certificate"]
