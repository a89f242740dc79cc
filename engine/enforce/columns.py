"""Which column of the table each column of the query becomes.

By position, for all columns of the table or those of the column list; by name with BY NAME. Columns whose value the
PARTITION clause says are not the query's to give. Number and types are matched by Spark's own store assignment
(`RowEnforcer`): it refuses a cast that may lose something and a text that is too long for its char or varchar, except
that blanks at the end of a varchar go as far as they are too many ('abc  ' is 'abc' in VARCHAR(3)), and pads a char.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.delta.schema.schema_errors import ColumnNotFound, DuplicateColumns
from engine.enforce.errors import NoPartitionColumn, PartitionColumnListed
from engine.plans.write_plan import WritePlan
from engine.sql.expressions import parse_expression
from engine.types.schema import StructField
from engine.types.sql_types import ddl_type


def match_columns(plan: WritePlan) -> WritePlan:
    """Fills `target_columns`, and `constants` with the values of the PARTITION clause."""
    static_partitions = {_partition_column(plan, name): text for name, text in plan.static_partitions.items()}
    if plan.insert_columns:
        target_columns = _insert_columns(plan, plan.insert_columns)
        for column in target_columns:
            if column.name in static_partitions:
                raise PartitionColumnListed(column.name)
    elif plan.source_columns is not None:
        source = {name.casefold() for name in plan.source_columns}
        target_columns = tuple(
            column
            for column in plan.schema.fields
            if column.name.casefold() in source and column.name not in static_partitions
        )
    else:
        target_columns = tuple(column for column in plan.schema.fields if column.name not in static_partitions)
    return replace(
        plan,
        target_columns=target_columns,
        constants={name: _static_partition(plan, name, text) for name, text in static_partitions.items()},
    )


def _static_partition(plan: WritePlan, name: str, text: str) -> str:
    column = plan.schema.field(name)
    assert column is not None
    return f"CAST({parse_expression(text).in_parentheses} AS {ddl_type(column.data_type)})"


def _insert_columns(plan: WritePlan, names: Iterable[str]) -> tuple[StructField, ...]:
    found: dict[str, StructField] = {}
    for name in names:
        column = plan.schema.field(name)
        if column is None:
            raise ColumnNotFound(name, ", ".join(plan.schema.names))
        if column.name in found:
            raise DuplicateColumns(name)
        found[column.name] = column
    return tuple(found.values())


def _partition_column(plan: WritePlan, name: str) -> str:
    columns = plan.config.partition_columns
    for column in columns:
        if column.casefold() == name.casefold():
            return column
    raise NoPartitionColumn(name, ", ".join(columns) or "none")
