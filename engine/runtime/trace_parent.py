"""The `traceparent` of W3C Trace Context, by which a client says to which of its traces a call belongs."""

from __future__ import annotations

import re

_FORM = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")
_FIRST_VERSION = "00"


def trace_parent_of(given: str | None) -> str | None:
    """One that follows the standard; None for one that does not, which counts as not sent."""
    found = _FORM.fullmatch((given or "").strip())
    if found is None or (found[1] == _FIRST_VERSION and found[3]):
        return None
    return found[0]


def trace_id_of(trace_parent: str) -> str:
    """Of one that follows the standard."""
    return trace_parent[3:35]
