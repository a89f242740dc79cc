"""By which names conditions on columns may be pushed into files that are read by field ids.

Spark pushes conditions by name, and takes a name for the column that a file has under it. So a column is pushed if its
name has never meant another column, and the column had no other name, in any schema that the table ever had; where one
of these is not in the metadata any more, nobody knows. Files that lack the name are read as without the condition.

Source: Iceberg table specification, "Schema Evolution", "Column Projection".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.iceberg.spec.types import IcebergSchema

_PLAIN = re.compile(r"\w+", re.ASCII)
"""Writers spell other names in ways of their own."""


def pushable_names(schemas: Mapping[int, IcebergSchema]) -> Mapping[int, str]:
    """Names of top-level columns, by field id."""
    if set(schemas) != set(range(max(schemas, default=-1) + 1)):
        return {}
    ids: dict[str, set[int]] = {}
    names: dict[int, set[str]] = {}
    for schema in schemas.values():
        for column in schema.fields:
            ids.setdefault(column.name.casefold(), set()).add(column.id)  # files are asked without regard to case
            names.setdefault(column.id, set()).add(column.name)
    found = {id: next(iter(called)) for id, called in names.items() if len(called) == 1}
    return {id: name for id, name in found.items() if len(ids[name.casefold()]) == 1 and _PLAIN.fullmatch(name)}
