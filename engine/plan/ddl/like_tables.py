"""CREATE TABLE … LIKE: a table without rows that is defined as another one is.

Columns, partitioning, clustering, properties, constraints and the comment are the other table's; what tells of its own
past (ids of columns, widened types, high-water marks) is not, and its protocol is the weakest that carries all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.bind.bound import BoundStatement, BoundTable
from engine.delta.definition.clustering import clustering_columns
from engine.delta.definition.constraints import check_constraints
from engine.delta.definition.metadata_changes import (
    AddConstraint,
    ClusterBy,
    MetadataChange,
    SetDescription,
    define_table,
    set_properties,
)
from engine.delta.definition.table_draft import Definition
from engine.delta.delta_format import delta_snapshot
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.properties import CONSTRAINT_PREFIX, ensure_distinct, is_settable
from engine.errors.definition_errors import LocationNotEmpty
from engine.plan.ddl.table_ddl import describe_creation, free_name, new_entry, tolerated
from engine.plans.ddl import CreateTablePlan
from engine.statements.tables import CreateTableLike, Properties
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType

_OF_THE_PAST = ("delta.columnMapping.", "delta.typeChanges", "delta.identity.highWaterMark")


def plan_create_table_like(bound: BoundStatement, statement: CreateTableLike) -> CreateTablePlan:
    (source,) = bound.relations
    assert isinstance(source, BoundTable)
    target = free_name(bound, if_not_exists=statement.if_not_exists)
    if target is None:
        return CreateTablePlan(entry=None)
    if target.found is not None:
        raise LocationNotEmpty(str(target.name), target.location)
    definition = define_like(
        str(target.name), delta_snapshot(source.snapshot, "CREATE TABLE LIKE"), statement.properties
    )
    return CreateTablePlan(
        entry=new_entry(bound, target),
        is_path=target.is_path,
        definition=definition,
        description=describe_creation("CREATE TABLE", bound, target.managed, definition),
        tolerated=tolerated(if_not_exists=statement.if_not_exists),
    )


def define_like(table: str, snapshot: Snapshot, written: Properties = ()) -> Definition:
    """The definition of a new table like another one, with the properties that a statement writes."""
    return define_table(
        table,
        _without_past(snapshot.schema),
        partition_columns=tuple(snapshot.partition_columns),
        changes=_changes(snapshot, written),
    )


def _changes(snapshot: Snapshot, written: Properties) -> Iterator[MetadataChange]:
    configuration = snapshot.metadata.configuration
    kept = {
        key: value
        for key, value in configuration.items()
        if value is not None and not key.startswith(CONSTRAINT_PREFIX) and is_settable(key)
    }
    ensure_distinct(key for key, _ in written)
    yield from set_properties({**kept, **dict(written)})
    for constraint in check_constraints(configuration):
        yield AddConstraint(name=constraint.name, expression=constraint.expression)
    yield SetDescription(text=snapshot.metadata.description)
    yield ClusterBy(columns=clustering_columns(snapshot.config))


def _without_past(schema: StructType) -> StructType:
    return StructType(tuple(_field(field) for field in schema.fields))


def _field(field: StructField) -> StructField:
    metadata = {key: value for key, value in field.metadata.items() if not key.startswith(_OF_THE_PAST)}
    return replace(field, data_type=_type(field.data_type), metadata=metadata)


def _type(data_type: DataType) -> DataType:
    match data_type:
        case StructType():
            return _without_past(data_type)
        case ArrayType(element):
            return replace(data_type, element_type=_type(element))
        case MapType(key, value):
            return replace(data_type, key_type=_type(key), value_type=_type(value))
        case PrimitiveType() | DecimalType():
            return data_type
