"""Plans DELETE and UPDATE: the affected rows, and their new values.

A DELETE removes entire files if the condition uses only partition columns, or is absent.

For `column IN (query)` in a condition, the query's values determine which files may contain matching rows. The query
may then run first, before the rows are searched (`engine.execution.writes.dml.queried_keys`): the plan contains its
text, and the condition's text with a scan over its result in its place. Only Spark can determine whether it can run
alone; a correlated query cannot.
"""

from __future__ import annotations

from collections.abc import Mapping

from catalog.names import fold
from engine.binding.bound import BoundRelation, BoundStatement, BoundTable, tables_of
from engine.errors.table_errors import name_table_in_errors
from engine.planning.plans.expression_checks import ExpressionCheckPlan, QueryCheck
from engine.planning.plans.file_writes import FieldMatching
from engine.planning.plans.write_plan import WritePlan
from engine.planning.plans.writes import (
    DeletePlan,
    QueriedKey,
    ReplaceAll,
    ReplaceMatching,
    ReplaceWholeFiles,
    UpdatePlan,
)
from engine.planning.reads.scans import row_id_columns
from engine.planning.reads.target_reads import (
    TargetReading,
    bitmaps,
    place_columns,
    places_of,
    policy_of_target,
    project,
)
from engine.planning.semantics.assignments import assigned_values, assignment_refusals, path_in_table
from engine.planning.semantics.conditions import (
    ensure_no_metadata,
    partitions_matching,
    target_condition,
    target_condition_check,
    whole_files_matching,
)
from engine.planning.semantics.idempotence import idempotent_write
from engine.planning.semantics.matched_columns import fields_down, is_compared
from engine.sql.expressions import Expression, parse_any_expression, queried_columns, to_one_line
from engine.sql.query.values import Span
from engine.statements.row_changes.planning_rewrite import rewritten_rows
from engine.statements.row_changes.statement import Delete, Update
from engine.tables.operations import CommitDescription, Json, TableOperation

DELETE, UPDATE = "DELETE", "UPDATE"


def plan_delete(bound: BoundStatement, statement: Delete) -> DeletePlan:
    """Plans DELETE. Raises for table features that prevent removing rows, and for unsuitable conditions."""
    table = target_of(bound)
    condition = _condition(table, DELETE, statement.condition)
    own = _own(table, DELETE, condition, statement.alias)
    whole: ReplaceAll | ReplaceMatching | ReplaceWholeFiles | None = ReplaceAll() if condition is None else None
    if own is not None:
        # "Add File and Remove File": removing a file needs no reading, which makes DELETE
        # by partition independent of the data's size.
        whole = partitions_matching(table, own) or whole_files_matching(table, own)
    relations = bound.relations
    shown = "true" if condition is None else _condition_text(condition)
    policy = policy_of_target(relations, statement.rows.target)
    reading = TargetReading(table, ((statement.rows.query, relations),), policy=policy)
    return DeletePlan(
        table=table,
        places=places_of(reading, statement.rows, relations, is_once=_is_plain(condition)),
        shown=shown,
        # Hidden rows must survive, so files of a protected table are never removed unread.
        whole=whole if policy is None else None,
        queried=queried_key(table, reading, statement, relations) if policy is None else None,
        reads_table=reads_besides(relations, table, (statement.rows.target,)),
        description=_description(bound, DELETE, {"predicate": [shown]}),
        expression_checks=_check(table, DELETE, own),
        idempotent_write=idempotent_write(bound.state),
    )


def plan_update(bound: BoundStatement, statement: Update) -> UpdatePlan:
    """Plans UPDATE. Raises like `plan_delete`, and for invalid assignments."""
    table = target_of(bound)
    condition = _condition(table, UPDATE, statement.condition)
    own = _own(table, UPDATE, condition, statement.alias)
    for assignment in statement.assignments:
        if not assignment.is_default:
            ensure_no_metadata(table, UPDATE, parse_any_expression(assignment.text), "A value")
    new = assigned_values(table, table.snapshot.table_config, statement.assignments, statement.alias)
    split = len(statement.rows.query.relations)
    of_rows, of_values = bound.relations[:split], bound.relations[split:]
    queries = ((statement.rows.query, of_rows), (statement.values.query, of_values))
    policy = policy_of_target(of_rows, statement.rows.target)
    reading = TargetReading(table, queries, (statement.alias or "",), policy=policy)
    ids = row_id_columns(table.label, reading.target.row_tracking)
    unassigned = [reading.stored_value(column.name) for column in new.old_columns]
    row_id = [f"{reading.target.metadata}.row_id"] if ids else []
    more = "".join(f", {item}" for item in (*unassigned, *row_id))
    text = reading.splice_text(statement.values, of_values, more, are_found=True)
    given = reading.names.several("value", len(statement.assignments))
    old, moved = reading.names.several("old", len(unassigned)), reading.names.several("id", len(row_id))
    items = (*new.items(given, old), *moved, *(["CAST(NULL AS BIGINT)"] if ids else []))
    values = reading.read(project(text, (*given, *old, *moved), items), with_ids=bool(ids))
    given_alone = reading.read(reading.splice_text(statement.values, of_values, ""))
    targets = (statement.rows.target, split + (statement.values.target or 0))
    return UpdatePlan(
        table=table,
        places=places_of(reading, statement.rows, of_rows, is_once=_is_plain(condition)),
        values=values,
        rows=WritePlan(
            table=table.label,
            config=table.snapshot.table_config,
            insert_columns=tuple(column.name for column in new.columns),
            extra_columns=ids,
            fields=FieldMatching.NAME,
            assigns=True,
            removes=True,
            updates=True,
        ),
        reads_table=reads_besides(bound.relations, table, targets),
        description=_description(bound, UPDATE, {} if condition is None else {"predicate": _condition_text(condition)}),
        queried=queried_key(table, reading, statement, of_rows) if policy is None else None,
        rewritten=rewritten_rows(table, reading, statement, of_values, new) if policy is None else None,
        checks=QueryCheck(read=given_alone.read, refused=assignment_refusals(UPDATE)),
        expression_checks=_check(table, UPDATE, own),
        idempotent_write=idempotent_write(bound.state),
    )


def reads_besides(
    relations: tuple[BoundRelation, ...], table: BoundTable, targets: tuple[int | None, ...] = ()
) -> bool:
    """Returns True if the statement reads `table` in other relations too."""
    return any(reads(relation, table) for at, relation in enumerate(relations) if at not in targets)


def reads(relation: BoundRelation, table: BoundTable) -> bool:
    """Returns True if the relation has rows of `table`."""
    return any(found.snapshot.table_root == table.snapshot.table_root for found in tables_of((relation,)))


def target_of(bound: BoundStatement) -> BoundTable:
    """Returns the target of DELETE, UPDATE or MERGE. Raises for table features that prevent row-level changes."""
    table = bound.target
    assert isinstance(table, BoundTable)
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.DML)
    return table


def _condition(table: BoundTable, clause: str, text: str | None) -> Expression | None:
    if text is None:
        return None
    expression = parse_any_expression(text)
    ensure_no_metadata(table, clause, expression)
    return expression


def _own(table: BoundTable, clause: str, condition: Expression | None, alias: str | None) -> Expression | None:
    """Returns a condition over the table's columns alone."""
    is_own = condition is not None and not condition.has_subquery
    return target_condition(table, clause, condition.text, alias) if condition is not None and is_own else None


def _is_plain(condition: Expression | None) -> bool:
    return condition is None or not condition.has_subquery


def _check(table: BoundTable, clause: str, own: Expression | None) -> ExpressionCheckPlan | None:
    return None if own is None else target_condition_check(table, clause, own)


def _condition_text(condition: Expression) -> str:
    return f"({to_one_line(condition.text)})"


def _description(bound: BoundStatement, name: str, parameters: Mapping[str, Json]) -> CommitDescription:
    return CommitDescription(
        name=name, operation=TableOperation.DML, parameters=parameters, user_name=bound.state.principal
    )


# Names that, in a query that runs alone, may refer to a table column in the condition.
_FUNCTIONS = frozenset(
    {"current_catalog", "current_database", "current_date", "current_schema", "current_time", "current_timestamp"}
    | {"current_user", "localtime", "localtimestamp", "session_user", "user", "grouping__id"}
)


def queried_key(
    table: BoundTable, reading: TargetReading, statement: Delete | Update, relations: tuple[BoundRelation, ...]
) -> QueriedKey | None:
    """Returns the first such column whose values can be compared with file statistics."""
    query, schema = statement.rows, table.snapshot.schema
    # Inside the condition such a word is the column; in a query that runs alone Spark would
    # resolve it as the function.
    if any(fold(name) in _FUNCTIONS for name in schema.names):
        return None
    if query.query.inlined:  # the condition contains inlined function bodies, and its positions differ from the query's
        return None
    for path, span in queried_columns(statement.condition) if statement.condition is not None else ():
        fields = fields_down(schema, path_in_table(table, schema, path, statement.alias))
        if not fields or not is_compared(fields[-1], fields[-1]):
            continue
        (where,) = query.values
        start, end = where.start + 1 + span.start, where.start + 1 + span.end
        source_relation = reading.names.new("kept")
        own = ((Span(start, end), f"(SELECT * FROM {source_relation})"),)
        places = reading.splice_text(query, relations, place_columns(reading.target), instead=own)
        around = (Span(query.items.start, start + 1), "* FROM ("), (Span(end - 1, len(query.query.text)), "\n)")
        return QueriedKey(
            path=tuple(field.name for field in fields),
            field=fields[-1],
            query=reading.beside_target(reading.splice_text(query, relations, "", instead=around)),
            relation=source_relation,
            places=reading.read_places(bitmaps(places), is_once=False),
        )
    return None
