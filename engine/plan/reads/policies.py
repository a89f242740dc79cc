"""The text of the view through which a table with a row filter or column masks is read.

Rows are filtered first, by stored values, and masked then; all columns are listed, so that hidden ones (`_metadata`,
row ids) are out of reach. What the session asks is above the view, and above the barrier that the view is: Spark moves
nothing of it below (`Statement.java`), where it would be evaluated on hidden rows, and its errors would show them.
"""

from __future__ import annotations

from catalog.names import fold, quote
from engine.bind.bound import BoundPolicy
from engine.types.schema import StructType
from engine.types.sql_types import column_sql_type


def policy_text(policy: BoundPolicy, schema: StructType, relation: str) -> str:
    """A query over `relation`, which has the columns of `schema` and maybe hidden ones."""
    masks = {fold(name): mask for name, mask in policy.masks}
    columns = []
    for column in schema.fields:
        mask, name = masks.get(fold(column.name)), quote(column.name)
        columns.append(name if mask is None else f"CAST({mask} AS {column_sql_type(column)}) AS {name}")
    condition = " AND ".join(f"({each})" for each in policy.filters)
    return f"SELECT {', '.join(columns)} FROM {quote(relation)}" + (f" WHERE {condition}" if condition else "")
