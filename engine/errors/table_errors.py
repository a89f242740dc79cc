"""Table errors for any format: the table's name in them, and common advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

from catalog.conditions import ColumnNotFound, DeltaError

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


_LISTED_MAX = 20


def column_not_found(column: str, columns: Sequence[str], table: str = "The table") -> ColumnNotFound:
    """Returns the error for `column`, which is not one of the `columns` of `table`; it lists at most 20 of them."""
    by_folded = {name.casefold(): name for name in columns}
    close = get_close_matches(column.casefold(), by_folded, n=1)
    more = f" and {len(columns) - _LISTED_MAX} more" if len(columns) > _LISTED_MAX else ""
    listed = ", ".join(columns[:_LISTED_MAX]) + more
    return ColumnNotFound(column, listed, f"Did you mean {by_folded[close[0]]}?" if close else "", table)
