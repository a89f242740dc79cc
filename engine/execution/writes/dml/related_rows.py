"""REPLACE ON: a query's rows are used twice: they are written, and they determine the table rows to delete.

Both times they must be the same rows, even for a volatile query (`rand()`, a table that is being written). Three ways:

* the values that the condition needs are read from the new files, if these store them as the query returned them;
* a whole number that was stored in a column with another width is cast back, without loss;
* if storing may have changed a value that the condition needs (a decimal became an INT, a text a CHAR), the query's
rows are first materialized next to the table's files, unchanged, and both uses read these files. No version ever
contains them; they are removed when the statement ends, and VACUUM removes leftovers after a crash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from catalog.conditions import AmbiguousInCondition, SparkFailure, UnresolvedInCondition
from catalog.errors import SqlError
from catalog.names import fold, quote
from engine.binding.bound import BoundTable
from engine.execution.writes.materialized_source import materialized_rows
from engine.planning.plans.expression_checks import ExpressionCheckPlan
from engine.planning.plans.reads import QueryColumn, ReadPlan, TargetRead
from engine.planning.plans.write_plan import WritePlan
from engine.planning.plans.writes import InsertPlan, ReplaceRelated
from engine.planning.reads.scans import empty_scan
from engine.planning.reads.target_reads import places_where
from engine.planning.semantics.allowed_expressions import condition_check
from engine.planning.semantics.expression_checks import ensure_checked
from engine.planning.semantics.query_columns import materialized_scan
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.runtime.parameters import Parameter
from engine.spark.execution_context import ExecutionContext
from engine.sql.expressions import requalify
from engine.sql.query.composed import Names
from engine.tables.scan import Scan
from engine.tables.transaction import NewFiles
from engine.types.schema import PrimitiveType, StructField, parse_data_type
from engine.types.sql_types import ddl_type, format_sql_type

_WHOLE = (PrimitiveType.BYTE, PrimitiveType.SHORT, PrimitiveType.INTEGER, PrimitiveType.LONG)
_NAME = re.compile(r"`(?:[^`]|``)+`(?:\.`(?:[^`]|``)+`)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRows:
    """The rows to write, with their statement parameters; and the rows they replace, once they are written (None: see
    the plan).
    """

    read: ReadPlan
    parameters: Sequence[Parameter]
    deleted: Callable[[NewFiles], TargetRead] | None = None


@contextmanager
def related_rows(plan: InsertPlan, relation: ReplaceRelated, context: ExecutionContext) -> Iterator[SourceRows]:
    """Raises for a condition that cannot be evaluated, before anything is written."""
    table, source, rows, columns = plan.table, plan.source, plan.rows, plan.columns
    source_alias = relation.source_alias or _unused_alias(relation, table, columns)
    _ensure_condition(table, relation, source_alias, columns, context)
    condition = _qualify(table, relation, source_alias, columns)

    def places(query: str, scan: Scan) -> TargetRead:
        alias = quote(relation.alias)
        # A semi-join returns each table row at most once, however many query rows relate to
        # it. The line break ends a comment at the end of the user's condition.
        join = f"AS {alias} LEFT SEMI JOIN ({query}) AS {quote(source_alias)} ON ({condition}\n)"
        return places_where(table, join, (scan,))

    stored = _stored_values(columns, relation, rows)
    if stored is not None:
        scan = _scan_of_new(table, rows, columns)
        query = f"SELECT {stored} FROM {scan.relation}"
        yield SourceRows(
            read=source,
            parameters=context.parameters,
            deleted=lambda new: places(query, replace(scan, files=new.files)),
        )
        return
    scan = materialized_scan(Names(column.name for column in columns).new("source"), columns, table.snapshot.table_root)
    with materialized_rows(table.snapshot.storage, scan, source, context) as materialized:
        query = f"SELECT * FROM {materialized.relation}"
        yield SourceRows(
            read=ReadPlan(text=query, scans=(materialized,)),
            parameters=(),
            deleted=lambda _: places(query, materialized),
        )


# --- The condition ---------------------------------------------------------------------------------------------------


def _unused_alias(relation: ReplaceRelated, table: BoundTable, columns: Sequence[QueryColumn]) -> str:
    named = [part for path in relation.condition.columns for part in path]
    taken = (*named, *table.snapshot.schema.names, *(column.name for column in columns))
    return Names(taken).new("query")


def _ensure_condition(
    table: BoundTable,
    relation: ReplaceRelated,
    source_alias: str,
    columns: Sequence[QueryColumn],
    context: ExecutionContext,
) -> None:
    scan = empty_scan(table.snapshot.schema, table.entry.location)
    # Only names and types are checked here, so one row of NULLs stands for the query, which
    # must not run twice.
    nulls = ", ".join(f"CAST(NULL AS {_sql_type(column)}) AS {quote(column.name)}" for column in columns)
    over = f"FROM {scan.relation} AS {quote(relation.alias)} CROSS JOIN (SELECT {nulls}) AS {quote(source_alias)}"
    check = condition_check("REPLACE ON", relation.shown, relation.condition.in_parentheses)
    check = replace(check, translated=_translate)
    plan = ExpressionCheckPlan(over=ReadPlan(text=over, scans=(scan,)), checks=(check,))
    ensure_checked(plan, replace(context, parameters=()))


def _qualify(table: BoundTable, relation: ReplaceRelated, source_alias: str, columns: Sequence[QueryColumn]) -> str:
    """Returns the condition with all columns qualified, so that it has the same meaning if the table has additional
    columns: ones added by the statement, or generated ones.
    """
    aliases = {fold(relation.alias), fold(source_alias)}
    names = {fold(column.name) for column in columns}

    def qualifier(parts: Sequence[str]) -> tuple[int, str] | None:
        if len(parts) > 1 and fold(parts[0]) in aliases:
            return None
        is_new, is_old = fold(parts[0]) in names, table.snapshot.schema.field(parts[0]) is not None
        # A name on both sides stays ambiguous, and Spark reports it with the user's
        # spelling.
        return None if is_new == is_old else (0, f"{quote(source_alias if is_new else relation.alias)}.")

    return requalify(relation.condition.text, qualifier)


def _sql_type(column: QueryColumn) -> str:
    nested = not isinstance(column.json_type, str)
    return ddl_type(parse_data_type(column.json_type)) if nested else column.sql_type


def _translate(failure: SparkFailure) -> SqlError:
    found = _NAME.search(failure.text)
    name = found[0] if found else "a column"
    match failure.condition:
        case "AMBIGUOUS_REFERENCE":
            return AmbiguousInCondition(name)
        case str(condition) if condition.startswith("UNRESOLVED_COLUMN"):
            return UnresolvedInCondition(name)
        case _:  # a Spark error condition, or none
            return failure


# --- The query's values, read from the new files ---------------------------------------------------------------------


def _stored_values(columns: Sequence[QueryColumn], relation: ReplaceRelated, rows: WritePlan) -> str | None:
    """Returns the query columns that the condition needs, as a list over the new files; None if they cannot be
    recovered.
    """
    parts = {fold(part) for path in relation.condition.columns for part in path}
    by_position = [None] * len(columns) if rows.source_columns is not None else rows.target_columns
    unlike = {*rows.stored_as, *rows.config.stored_values}
    texts = []
    for position, column in enumerate(columns):
        if "*" not in parts and fold(column.name) not in parts:
            continue
        field = by_position[position] if position < len(by_position) else None
        text = _stored_value(column, field or rows.schema.field(column.name), unlike)
        if text is None:
            return None
        texts.append(f"{text} AS {quote(column.name)}")
    return ", ".join(texts or ["1"])


def _stored_value(column: QueryColumn, field: StructField | None, unlike: Collection[str]) -> str | None:
    """Returns the query's value, recovered from the stored one; None if that may differ, as in the columns `unlike`."""
    if _is_void(column):
        return "NULL"
    given = parse_data_type(column.json_type)
    if field is None or field.name in unlike:
        return None
    # A `char(n)` column pads and a `varchar(n)` column may reject: the stored text can
    # differ from the query's.
    if CHAR_VARCHAR_TYPE in field.metadata:
        return None
    if format_sql_type(given) == format_sql_type(field.data_type):
        return quote(field.name)
    if given in _WHOLE and field.data_type in _WHOLE:
        return f"CAST({quote(field.name)} AS {format_sql_type(given)})"
    return None


def _scan_of_new(table: BoundTable, rows: WritePlan, columns: Sequence[QueryColumn]) -> Scan:
    """Returns a scan whose files are not known yet."""
    relation = Names((*table.snapshot.schema.names, *(column.name for column in columns))).new("new_rows")
    none = table.snapshot.files.slice(0, 0)
    return replace(table.snapshot.row_files.scan(rows.config, none, relation, table.label), row_tracking=None)


def _is_void(column: QueryColumn) -> bool:
    return column.json_type == PrimitiveType.VOID.value
