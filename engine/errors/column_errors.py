"""The error for a column that does not exist, with the name that is closest."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from catalog.conditions import ColumnNotFound

_LISTED_MAX = 20


def column_not_found(column: str, columns: Sequence[str], table: str = "The table") -> ColumnNotFound:
    """Returns the error for `column`, which is not one of the `columns` of `table`; it lists at most 20 of them."""
    by_folded = {name.casefold(): name for name in columns}
    close = get_close_matches(column.casefold(), by_folded, n=1)
    more = f" and {len(columns) - _LISTED_MAX} more" if len(columns) > _LISTED_MAX else ""
    listed = ", ".join(columns[:_LISTED_MAX]) + more
    return ColumnNotFound(column, listed, f"Did you mean {by_folded[close[0]]}?" if close else "", table)
