"""Copy-on-write UPDATE: one query for both changed and copied rows.

The scan distinguishes the rows by position (`told_rows` in `engine.tables.scan`), so the condition is not evaluated
again. New values are computed for changed rows alone: for others they might raise errors. All rows pass the table's
constraint checks, which examine only changed rows (`CopiedColumns`).
"""

from __future__ import annotations

from collections.abc import Iterator

from catalog.names import quote
from engine.binding.bound import BoundRelation, BoundTable
from engine.planning.plans.file_writes import FieldMatching
from engine.planning.plans.write_plan import Arrangement, CopiedColumns, TaskPerFile, WritePlan
from engine.planning.plans.writes import RewrittenRows
from engine.planning.reads.scans import row_id_columns
from engine.planning.reads.target_reads import TargetReading, project
from engine.planning.semantics.assignments import NewValues
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.sql.expressions import parse_any_expression
from engine.sql.query.splice import Edit
from engine.sql.query.values import Span
from engine.statements.row_changes.statement import Update
from engine.tables.config import Capability, TableConfig
from engine.types.schema import DecimalType, PrimitiveType


def rewritten_rows(
    table: BoundTable,
    reading: TargetReading,
    statement: Update,
    relations: tuple[BoundRelation, ...],
    new: NewValues,
) -> RewrittenRows | None:
    """Returns the rewrite; None for merge-on-read, if a change data feed needs the new rows, and for values with
    subqueries, which may become joins with all rows.
    """
    config = table.snapshot.table_config
    if config.has(Capability.VECTORS_ON_UPDATE) or config.has(Capability.CHANGE_FEED):
        return None
    if any(parse_any_expression(each.text).has_subquery for each in statement.assignments if not each.is_default):
        return None
    place = reading.target.metadata
    changes = f"{place}.row_index >= 0"
    ids = row_id_columns(table.label, reading.target.row_tracking)
    unassigned = [quote(column.name) for column in new.old_columns]
    names = reading.names
    given, old = names.several("value", len(statement.assignments)), names.several("old", len(unassigned))
    moved, (flag,) = names.several("id", len(ids)), names.several("changes", 1)
    before = {name: names.new("before") for name in _columns_that_may_change(config, new)}
    items = [*unassigned, *(f"{place}.{field}" for field in ("row_id", "row_commit_version")[: len(ids)])]
    items += [changes, *map(quote, before)]
    edits = [edit for span in statement.values.values for edit in _only_if(changes, span)]
    text = reading.splice_text(statement.values, relations, "".join(f", {item}" for item in items), edits)
    values = [
        f"CASE WHEN {flag} THEN {value} END" if column.name in before else value
        for column, value in zip(new.columns, new.items(given, old), strict=True)
    ]
    if ids:
        # Copied rows keep the version that last changed them ("Row Commit Versions").
        values += [moved[0], f"CASE WHEN {flag} THEN CAST(NULL AS BIGINT) ELSE {moved[1]} END"]
    text = project(text, (*given, *old, *moved, flag, *before.values()), (*values, flag, *before.values()))
    return RewrittenRows(
        values=reading.read(text, with_ids=bool(ids)),
        rows=WritePlan(
            table=table.label,
            config=config,
            insert_columns=tuple(column.name for column in new.columns),
            extra_columns=ids,
            fields=FieldMatching.NAME,
            assigns=True,
            removes=True,
            updates=True,
            copied_columns=CopiedColumns(flag=flag, before=before),
            arrangement=_arrangement(config, new),
        ),
    )


def _columns_that_may_change(config: TableConfig, new: NewValues) -> Iterator[str]:
    """Yields columns whose stored values may change during the copy: texts in other writers' files may be too long for
    their types, and partitions may have values that mean NULL.
    """
    said = {column.name for column in new.columns}
    for column in config.schema.fields:
        is_plain = (
            isinstance(column.data_type, PrimitiveType | DecimalType) and CHAR_VARCHAR_TYPE not in column.metadata
        )
        stays = is_plain and column.name in said and column.name not in {*new.trees, *config.partition_columns}
        if not stays and column.data_type is not PrimitiveType.VOID:
            yield column.name


def _only_if(condition: str, value: Span) -> tuple[Edit, Edit]:
    """Wraps a value in parentheses, computed only if the condition holds."""
    start, end = Span(value.start, value.start + 1), Span(value.end - 1, value.end)
    return (start, f"CASE WHEN {condition} THEN ("), (end, ") END")


def _arrangement(config: TableConfig, new: NewValues) -> Arrangement | None:
    """Returns the arrangement: each task writes a file, and so about one per input file; rows are shuffled if they move
    to other partitions, or if the table's settings define a file size.
    """
    moves = any(name in new.trees or name in config.generations for name in config.partition_columns)
    is_sized = config.target_file_size is not None or config.optimizes_writes
    return None if moves or is_sized else TaskPerFile()
