"""The `traceparent` of W3C Trace Context, which assigns a call to a trace of the client."""

from __future__ import annotations

import re

_FORM = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")
_FIRST_VERSION = "00"


def trace_parent_of(given: str | None) -> str | None:
    """Returns the value if it follows the standard; None for any other, which counts as not sent."""
    found = _FORM.fullmatch((given or "").strip())
    if found is None or (found[1] == _FIRST_VERSION and found[3]):
        return None
    return found[0]


def trace_id_of(trace_parent: str) -> str:
    """Returns the trace id of a valid value."""
    return trace_parent[3:35]
