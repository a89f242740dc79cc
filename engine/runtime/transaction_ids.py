"""Transaction ids: every commit of a statement has its own, which follows from the statement's id.

A statement with one commit writes the id of its request. Each of several INSERTs, each step before the last one, and
each statement of a script has an id that is derived from it, so that another process that runs the same statement again
derives the same ids.
"""

from __future__ import annotations

import uuid


def derived_id(transaction_id: str | None, kind: str, ordinal: int) -> str | None:
    """Returns the id for the part `ordinal` of a statement; None without an id. `kind` distinguishes nested parts."""
    if transaction_id is None:
        return None
    return str(uuid.uuid5(uuid.UUID(transaction_id), f"{kind} {ordinal}"))
