"""Tables like another one: their definition, and the properties of a statement that makes one.

What tells of the other table's own past (ids of columns, widened types, high-water marks) is no part of either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import assert_never

from catalog.conditions import LayoutNotSupported
from catalog.errors import SqlError
from engine.delta.definition.clustering import CLUSTERING, clustering_columns
from engine.delta.definition.constraints import check_constraints
from engine.delta.definition.metadata_changes import define_table
from engine.delta.definition.table_config import TableConfig
from engine.delta.definition.table_draft import Definition
from engine.delta.spec.features import FEATURES
from engine.delta.spec.properties import (
    CONSTRAINT_PREFIX,
    FEATURE_PREFIX,
    MIN_READER_VERSION,
    MIN_WRITER_VERSION,
    ensure_distinct,
    is_settable,
)
from engine.delta.spec.protocols import DEFAULT_FEATURES, WRITER_FEATURES_VERSION, protocol_features
from engine.tables.definition import TableDetails
from engine.tables.definition_changes import AddConstraint, ClusterBy, DefinitionChange, SetDescription, set_properties
from engine.types.partition_terms import IDENTITY
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType

_DEFAULTS = "allowColumnDefaults"
_DEFAULT = "CURRENT_DEFAULT"


_OF_THE_PAST = ("delta.columnMapping.", "delta.typeChanges", "delta.identity.highWaterMark")


def define_like(table: str, config: TableConfig, written: Mapping[str, str] = MappingProxyType({})) -> Definition:
    """The definition of a new table like another one, with the properties that a statement writes.

    Its protocol is the weakest that carries all of it.
    """
    return define_table(
        table,
        _without_past(config.schema),
        partition_columns=tuple(config.partition_columns),
        changes=_changes(config, written),
    )


def define_like_other(table: str, schema: StructType, details: TableDetails, written: Mapping[str, str]) -> Definition:
    """Like a table of another format. Raises `LayoutNotSupported` where its partitions are no columns of it."""
    odd = [term for term in details.partition_terms if term.transform != IDENTITY or len(term.column) > 1]
    if odd:
        raise LayoutNotSupported(f"PARTITIONED BY {odd[0]}", "Create the table with partition columns, or CLUSTER BY.")
    ensure_distinct(written)
    changes: list[DefinitionChange] = list(set_properties(written))
    if any(_DEFAULT in column.metadata for column in schema.fields):
        changes += set_properties({f"{FEATURE_PREFIX}{_DEFAULTS}": "supported"})
    changes.append(SetDescription(text=details.description))
    columns = tuple(term.column[0] for term in details.partition_terms)
    return define_table(table, schema, partition_columns=columns, changes=changes)


def _changes(config: TableConfig, written: Mapping[str, str]) -> Iterator[DefinitionChange]:
    configuration = config.metadata.configuration
    kept = {
        key: value
        for key, value in configuration.items()
        if value is not None and not key.startswith(CONSTRAINT_PREFIX) and is_settable(key)
    }
    ensure_distinct(written)
    yield from set_properties({**kept, **written})
    for constraint in check_constraints(configuration):
        yield AddConstraint(name=constraint.name, expression=constraint.expression, settings=constraint.settings)
    yield SetDescription(text=config.metadata.description)
    yield ClusterBy(columns=clustering_columns(config))


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
        case _:
            assert_never(data_type)


def creating_properties(label: str, config: TableConfig) -> list[tuple[str, str]]:
    """What TBLPROPERTIES of a statement says that makes such a table: properties that may be set, and the protocol.

    Constraints have a clause of their own.
    """
    settable = [(key, value or "") for key, value in sorted(config.metadata.configuration.items()) if _is_said(key)]
    return settable + _protocol_properties(label, config)


def _protocol_properties(label: str, config: TableConfig) -> list[tuple[str, str]]:
    """What asks for the protocol, where the rest of the statement would make a weaker one.

    The feature of defaults is always said: other engines do not add it by themselves.
    """
    protocol = config.protocol
    present = protocol_features(config.protocol)
    try:
        implied = protocol_features(define_like(label, config).protocol)
    except SqlError:  # another writer's table, of which no statement could make one
        implied = DEFAULT_FEATURES
    if protocol.min_writer_version < WRITER_FEATURES_VERSION:
        if present <= implied:
            return []
        versions = {MIN_READER_VERSION: protocol.min_reader_version, MIN_WRITER_VERSION: protocol.min_writer_version}
        return [(key, str(version)) for key, version in versions.items()]
    clustering = {name for name, feature in FEATURES.items() if CLUSTERING in (name, feature.same_as)}
    said = {name for name in present if name not in implied or name == _DEFAULTS} - clustering
    return [(f"{FEATURE_PREFIX}{name}", "supported") for name in sorted(said)]


def _is_said(key: str) -> bool:
    """Whether TBLPROPERTIES may say it; constraints have a clause of their own, and some keys are the product's."""
    return not key.startswith(CONSTRAINT_PREFIX) and is_settable(key)
