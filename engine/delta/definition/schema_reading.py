"""Can the files of one version be read with the columns of a later one?

Yes where columns were only added or widened: every older column is still there under its name, leads to the same
physical column, and has a type that reads as the newer one. A column that was dropped, renamed, or dropped and made
again under its name would lose its values, or show those of another.

Protocol: "Column Mapping", "Type Widening"; delta-spark for what a change data feed refuses.
"""

from __future__ import annotations

from engine.delta.definition.table_config import TableConfig
from engine.delta.schema.column_mapping import column_id, physical_name
from engine.types.schema import ArrayType, DataType, MapType, StructType
from engine.types.widening import is_widening


def is_readable_with(old: TableConfig, new: TableConfig, *, without_dropped: bool = False) -> bool:
    """Whether rows written under `old` lose nothing when they are read under `new`.

    `without_dropped`: but the values of columns that `new` does not have.
    """
    if old.partition_keys != new.partition_keys:
        return False
    old_mode, new_mode = old.column_mapping_mode, new.column_mapping_mode

    def reads_struct(before: StructType, after: StructType) -> bool:
        for item in before.fields:
            found = after.field(item.name)
            if found is None and without_dropped:
                continue
            if found is None or physical_name(found, new_mode) != physical_name(item, old_mode):
                return False
            if old_mode == new_mode == "id" and column_id(found) != column_id(item):
                return False
            if not reads(item.data_type, found.data_type):
                return False
        return True

    def reads(before: DataType, after: DataType) -> bool:
        match before, after:
            case StructType(), StructType():
                return reads_struct(before, after)
            case ArrayType(), ArrayType():
                return reads(before.element_type, after.element_type)
            case MapType(), MapType():
                return reads(before.key_type, after.key_type) and reads(before.value_type, after.value_type)
            case _:  # any other pair of types
                return before == after or is_widening(before, after)

    return reads_struct(old.schema, new.schema)
