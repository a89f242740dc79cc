"""The text of the view through which a table with a row filter or column masks is read.

Rows are filtered first, by stored values, and masked then; all columns are listed, so that hidden ones (`_metadata`,
row ids) are out of reach. What the session asks is above the view, and above the barrier that the view is: Spark moves
nothing of it below (`Statement.java`), where it would be evaluated on hidden rows, and its errors would show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catalog.names import fold, quote
from engine.types.schema import StructType
from engine.types.sql_types import column_sql_type


@dataclass(frozen=True, slots=True)
class PolicyTexts:
    """A bound policy as SQL over the table's columns and the scans of what it reads besides, and the settings under
    which its functions were created.
    """

    filters: tuple[str, ...]
    masks: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...] = ()


def policy_text(
    policy: PolicyTexts, schema: StructType, relation: str, more: Sequence[str] = (), *, is_filtered: bool = True
) -> str:
    """A query over `relation`, which has the columns of `schema` and maybe hidden ones. `more` are items to select
    besides. Not `is_filtered`: values are masked, and all rows are read.
    """
    masks = {fold(name): mask for name, mask in policy.masks}
    columns = []
    for column in schema.fields:
        mask, name = masks.get(fold(column.name)), quote(column.name)
        columns.append(name if mask is None else f"CAST({mask} AS {column_sql_type(column)}) AS {name}")
    condition = " AND ".join(f"({each})" for each in policy.filters) if is_filtered else ""
    return f"SELECT {', '.join((*columns, *more))} FROM {quote(relation)}" + (
        f" WHERE {condition}" if condition else ""
    )
