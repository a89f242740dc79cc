"""Table errors for any format: the table's name in them, and common advice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from catalog.conditions import DeltaError

# Advice for a table whose files cannot be shared.
COPY_ROWS = "CREATE TABLE … AS SELECT makes a copy of its rows."


@contextmanager
def name_table_in_errors(table: str) -> Iterator[None]:
    """Names the table in errors from the block as the user did, instead of by its location."""
    try:
        yield
    except DeltaError as error:
        if hasattr(error, "table"):
            error.table = table
        raise
