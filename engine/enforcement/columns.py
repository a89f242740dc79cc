"""Maps query columns to table columns.

The mapping is by position, to all table columns or to the column list, or by name with BY NAME. The query does not
provide columns that have a value in the PARTITION clause. Types are converted by store assignment
(`StoreAssignment.java`) under `spark.sql.storeAssignmentPolicy`. ANSI: each value gets an ANSI cast, so a string with a
number or a date is converted, and any other string is an error. STRICT rejects a statement whose casts may lose
information. LEGACY converts values that cannot be cast to NULL. Spark checks column counts and lengths: a string too
long for its char or varchar is rejected, except that a varchar's excess trailing blanks are trimmed ('abc  ' becomes
'abc' in VARCHAR(3)), and a char is padded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from catalog.conditions import DuplicateColumns, NoPartitionColumn, PartitionColumnListed
from engine.errors.table_errors import column_not_found
from engine.planning.plans.write_plan import WritePlan
from engine.sql.expressions import parse_expression
from engine.tables.config import TableConfig
from engine.types.partition_terms import IDENTITY
from engine.types.schema import StructField


def match_columns(plan: WritePlan) -> WritePlan:
    """Fills `target_columns`, and `constants` with the PARTITION clause's values."""
    static_partitions = {partition_column(plan.config, name): text for name, text in plan.static_partitions.items()}
    if plan.insert_columns:
        target_columns = _insert_columns(plan, plan.insert_columns)
        for column in target_columns:
            # A column in both the PARTITION clause and the column list would get two
            # values; Spark rejects it as well.
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
        # BY NAME, a table column that the query lacks is filled like one that a column list
        # omits.
        target_columns = tuple(column for column in plan.schema.fields if column.name not in static_partitions)
    return replace(
        plan,
        target_columns=target_columns,
        constants={name: parse_expression(text).in_parentheses for name, text in static_partitions.items()},
    )


def _insert_columns(plan: WritePlan, names: Iterable[str]) -> tuple[StructField, ...]:
    found: dict[str, StructField] = {}
    for name in names:
        column = plan.schema.field(name)
        if column is None:
            raise column_not_found(name, plan.schema.names)
        if column.name in found:
            raise DuplicateColumns(name)
        found[column.name] = column
    return tuple(found.values())


def partition_column(config: TableConfig, name: str) -> str:
    """Returns the name as the schema spells it. Raises `NoPartitionColumn`."""
    # An Iceberg partition field with the identity transform is named by its source column;
    # other transforms have no value that a statement could give.
    columns = config.partition_columns or tuple(
        each.path[0] for each in config.partition_sources if each.transform == IDENTITY and len(each.path) == 1
    )
    for column in columns:
        if column.casefold() == name.casefold():
            return column
    raise NoPartitionColumn(name, ", ".join(columns) or "none")
