"""What kind of failure a log describes, where it only gives a message."""

from __future__ import annotations

import re

from bbedge.readers.incomplete import ErrorKind

# What providers write when they filter a prompt or an answer. Words such as "safety" alone are in other messages too.
_FILTERED = re.compile(
    r"content[ _-]?filter|content[ _-]policy|content management policy|responsible_?ai_?policy|"
    r"usage policies|(?:prompt|response|output) (?:was |is )?blocked|prohibited[ _]content",
    re.IGNORECASE,
)


def kind_of_error(message: str) -> ErrorKind:
    """The kind of an error that ended a sample: the provider's filter, or else the way to the answer.

    >>> kind_of_error("Error code: 400 - content_filter"), kind_of_error("ReadTimeout")
    ('refusal', 'infrastructure')
    """
    return "refusal" if _FILTERED.search(message) else "infrastructure"
