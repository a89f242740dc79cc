"""Plans DDL that creates and drops tables.

The table's format stores the table; the catalog only stores the name. So CREATE has two steps, the table before the
name: a crash in between leaves a folder, never a dangling name. If a location already contains a table, it is
registered unchanged, provided that the statement does not contradict it.
"""

from __future__ import annotations

from collections.abc import Callable

from catalog.conditions import (
    ClusteredAndPartitioned,
    ClusteringDiffers,
    ExternalTableWithoutSchema,
    LocationNotEmpty,
    PartitioningDiffers,
    PropertyDiffers,
    SchemaDiffers,
    TableAlreadyExists,
    TableExpected,
    TableNotFound,
    UnsupportedClause,
)
from catalog.entries import TableEntry, ViewEntry
from catalog.policies.policies import NO_POLICIES, Policies
from engine.binding.bound import BoundStatement, BoundTable, FreeName, TakenName
from engine.planning.plans.ddl import CreateTablePlan, DropTablePlan
from engine.runtime.settings import captured_settings
from engine.statements.create_table.planning_definition import (
    checks_of,
    ensure_no_identity_partition,
    plan_expression_checks,
    table_changes,
    table_schema,
)
from engine.statements.create_table.planning_keys import new_keys, with_not_nulls
from engine.statements.create_table.statement import CreateMode, CreateTable, CreateTableLike, DropTable
from engine.statements.policies.planning import new_policies
from engine.tables.definition import TableDefinition
from engine.tables.formats import TableFormat
from engine.tables.operations import CommitDescription, TableOperation
from engine.tables.snapshot import TableSnapshot
from engine.types.column_paths import format_name
from engine.types.partition_terms import columns_as_terms
from engine.types.schema import StructType
from engine.types.sql_types import column_sql_type


def plan_create_table(bound: BoundStatement, statement: CreateTable) -> CreateTablePlan:
    """Plans CREATE TABLE without a query. Raises if the statement contradicts an existing table, or is invalid."""
    ensure_creatable(statement)
    target = free_name(bound, if_not_exists=statement.if_not_exists)
    if target is None:
        return CreateTablePlan(entry=None)
    schema = with_not_nulls(
        table_schema(statement.columns, captured_settings(bound.state.values)), statement.declared_keys
    )
    entry = new_entry(bound, target, new_policies(bound, statement, target, schema))
    if target.found is not None and statement.replaces:
        raise LocationNotEmpty(str(target.name), target.location)
    if target.found is not None:
        _ensure_same(statement, schema, target.own, target.found)
        return CreateTablePlan(entry=entry, tolerated=tolerated_errors(if_not_exists=statement.if_not_exists))
    if not (statement.columns or target.managed or target.is_path):
        # A location without a log is more likely misspelled than meant for a table without columns.
        raise ExternalTableWithoutSchema(str(target.name), target.location)
    definition = define(bound, target, statement, schema)
    return CreateTablePlan(
        entry=entry,
        is_path=target.is_path,
        definition=definition,
        description=describe_creation(operation_name(statement), bound, target.managed, definition),
        expression_checks=plan_expression_checks(
            schema, [(name, check.expression) for name, check in checks_of(statement)], target.location
        ),
        tolerated=tolerated_errors(if_not_exists=statement.if_not_exists),
    )


# Returns a definition like a snapshot's, from its label, the snapshot, and the written properties.
LikeDefinition = Callable[[str, TableSnapshot, dict[str, str]], TableDefinition]


def plan_create_like(bound: BoundStatement, statement: CreateTableLike, define_: LikeDefinition) -> CreateTablePlan:
    """Plans CREATE TABLE … LIKE in the format of `define_`. Raises `LocationNotEmpty`, and like `define_`."""
    (source,) = bound.relations
    assert isinstance(source, BoundTable)
    target = free_name(bound, if_not_exists=statement.if_not_exists)
    if target is None:
        return CreateTablePlan(entry=None)
    if target.found is not None:
        raise LocationNotEmpty(str(target.name), target.location)
    definition = define_(str(target.name), source.snapshot, dict(statement.properties))
    return CreateTablePlan(
        entry=new_entry(bound, target),
        is_path=target.is_path,
        definition=definition,
        description=describe_creation("CREATE TABLE", bound, target.managed, definition),
        tolerated=tolerated_errors(if_not_exists=statement.if_not_exists),
    )


def plan_drop_table(bound: BoundStatement, statement: DropTable) -> DropTablePlan:
    """Plans DROP TABLE. Raises `TableExpected` for a view."""
    if bound.target is None:
        return DropTablePlan(entry=None)
    assert isinstance(bound.target, TakenName)
    entry = bound.target.entry
    if isinstance(entry, ViewEntry):
        raise TableExpected(str(entry.name))
    tolerated_ = (TableNotFound,) if statement.if_exists else ()
    return DropTablePlan(entry=entry, purge=statement.purge, tolerated=tolerated_, condition=bound.condition)


def ensure_creatable(statement: CreateTable) -> None:
    """Raises an error that names the clause if this release cannot create the table."""
    if statement.options:
        raise UnsupportedClause("CREATE TABLE … OPTIONS other than path", "Use TBLPROPERTIES.")
    if statement.is_partitioned and (statement.cluster_by or statement.clusters_automatically):
        raise ClusteredAndPartitioned()


def operation_name(statement: CreateTable) -> str:
    """Returns the operation's name in DESCRIBE HISTORY."""
    mode = CreateMode.CREATE if statement.if_not_exists else statement.mode
    return f"{mode} TABLE" if statement.query is None else f"{mode} TABLE AS SELECT"


def free_name(bound: BoundStatement, *, if_not_exists: bool) -> FreeName | None:
    """Returns the new table's name and location; None if a table has the name and IF NOT EXISTS permits that."""
    target = bound.target
    if isinstance(target, FreeName):
        return target
    assert isinstance(target, TakenName)
    if not if_not_exists:
        raise TableAlreadyExists(str(target.entry.name))
    return None


def tolerated_errors(*, if_not_exists: bool) -> tuple[type[TableAlreadyExists], ...]:
    """Returns the errors that end a creation without effect: an existing name, with IF NOT EXISTS."""
    return (TableAlreadyExists,) if if_not_exists else ()


def new_entry(bound: BoundStatement, target: FreeName, policies: Policies = NO_POLICIES) -> TableEntry:
    """Returns the catalog entry, without a comment, which is in the log."""
    return TableEntry(
        name=target.name,
        location=target.location,
        managed=target.managed,
        format=target.found.format if target.found is not None else target.own.name,
        owner=bound.state.principal,
        created_by=bound.state.principal,
        policies=policies,
    )


def define(bound: BoundStatement, target: FreeName, statement: CreateTable, schema: StructType) -> TableDefinition:
    """Returns the new table's definition. Raises the format's errors."""
    changes = table_changes(statement, captured_settings(bound.state.values))
    if statement.query is None:
        changes += new_keys(target.name, schema, statement.declared_keys, bound.tables)
    partitions = partition_names(statement, schema)
    return target.own.define(str(target.name), schema, partitions, changes, bound.state.values)


def partition_names(statement: CreateTable, schema: StructType) -> tuple[str, ...]:
    """Returns the partition columns as spelled in the schema."""
    ensure_no_identity_partition(schema, statement.partitioned_by)
    spelled = {name: schema.field(name) for name in statement.partitioned_by}
    return tuple(field.name if field else name for name, field in spelled.items())


def describe_creation(
    name: str, bound: BoundStatement, managed: bool, definition: TableDefinition
) -> CommitDescription:
    """Returns the history entry."""
    details = definition.details(name)
    return CommitDescription(
        name=name,
        operation=TableOperation.METADATA,
        parameters={
            "isManaged": managed,
            "description": details.description,
            "partitionBy": list(definition.config(name).partition_columns),
            "clusterBy": [format_name(path) for path in details.clustering_columns],
            "properties": dict(details.properties),
        },
        user_name=bound.state.principal,
    )


def _ensure_same(statement: CreateTable, schema: StructType, own: TableFormat, found: TableSnapshot) -> None:
    """Checks that the existing table matches the statement's clauses; anything unspecified may differ."""
    location = found.table_root
    if schema.fields:
        specified, existing = spelled_columns(schema), spelled_columns(found.schema)
        if [text.casefold() for text in specified] != [text.casefold() for text in existing]:
            raise SchemaDiffers(location, ", ".join(specified), ", ".join(existing))
    partitions = statement.partition_terms or columns_as_terms(statement.partitioned_by)
    there = found.details.partition_terms or columns_as_terms(found.partition_columns)
    said, existing = ([str(term) for term in terms] for terms in (partitions, there))
    if (schema.fields or said) and [text.casefold() for text in said] != [text.casefold() for text in existing]:
        raise PartitioningDiffers(location, ", ".join(said), ", ".join(existing))
    clustering = [format_name(path).casefold() for path in statement.cluster_by or ()]
    details = found.definition.details(location)
    existing = [format_name(path) for path in details.clustering_columns]
    if (schema.fields or clustering) and clustering != [name.casefold() for name in existing]:
        raise ClusteringDiffers(location, ", ".join(clustering), ", ".join(existing))
    settings = own.stored_properties(dict(statement.properties))
    other = [key for key, value in settings.items() if details.properties.get(key) != value]
    if statement.comment is not None and statement.comment != details.description:
        other.append("comment")
    if other:
        raise PropertyDiffers(location, ", ".join(other))


def spelled_columns(schema: StructType) -> list[str]:
    """Returns names, types and NOT NULL, for comparisons and messages."""
    return [
        f"{column.name} {column_sql_type(column)}{'' if column.nullable else ' NOT NULL'}" for column in schema.fields
    ]
