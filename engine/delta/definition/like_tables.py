"""CREATE TABLE LIKE: definitions that copy another table's, and properties for SHOW CREATE TABLE.

State from the other table's own history (column ids, type changes, high-water marks) is not included in either.
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
from engine.delta.definition.table_config import DeltaConfig
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
from engine.tables.column_metadata import DEFAULT
from engine.tables.definition import TableDetails
from engine.tables.definition_changes import AddConstraint, ClusterBy, DefinitionChange, SetDescription, set_properties
from engine.types.partition_terms import IDENTITY
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType

_DEFAULTS = "allowColumnDefaults"


_OF_THE_PAST = ("delta.columnMapping.", "delta.typeChanges", "delta.identity.highWaterMark")


def define_like(table: str, config: DeltaConfig, written: Mapping[str, str] = MappingProxyType({})) -> Definition:
    """Returns the definition of a new table like another one, with the properties that the statement sets.

    Its protocol is the weakest one that carries everything.
    """
    return define_table(
        table,
        _without_past(config.schema),
        partition_columns=tuple(config.partition_columns),
        changes=_changes(config, written),
    )


def define_like_other(table: str, schema: StructType, details: TableDetails, written: Mapping[str, str]) -> Definition:
    """Returns a definition like a table in another format.

    Raises `LayoutNotSupported` if its partitions are not columns.
    """
    odd = [term for term in details.partition_terms if term.transform != IDENTITY or len(term.column) > 1]
    if odd:
        raise LayoutNotSupported(f"PARTITIONED BY {odd[0]}", "Create the table with partition columns, or CLUSTER BY.")
    ensure_distinct(written)
    changes: list[DefinitionChange] = list(set_properties(written))
    if any(DEFAULT in column.metadata for column in schema.fields):
        changes += set_properties({f"{FEATURE_PREFIX}{_DEFAULTS}": "supported"})
    changes.append(SetDescription(text=details.description))
    columns = tuple(term.column[0] for term in details.partition_terms)
    return define_table(table, schema, partition_columns=columns, changes=changes)


def _changes(config: DeltaConfig, written: Mapping[str, str]) -> Iterator[DefinitionChange]:
    configuration = config.metadata.configuration
    copied = {
        key: value
        for key, value in configuration.items()
        if value is not None and not key.startswith(CONSTRAINT_PREFIX) and is_settable(key)
    }
    ensure_distinct(written)
    yield from set_properties({**copied, **written})
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


def creating_properties(label: str, config: DeltaConfig) -> list[tuple[str, str]]:
    """Returns the TBLPROPERTIES for a statement that creates this table: settable properties, and the protocol.

    Constraints have their own clause.
    """
    settable = [(key, value or "") for key, value in sorted(config.metadata.configuration.items()) if _is_said(key)]
    return settable + _protocol_properties(label, config)


def _protocol_properties(label: str, config: DeltaConfig) -> list[tuple[str, str]]:
    """Returns properties that select the protocol, if the rest of the statement would create a weaker one.

    The column defaults feature is always included: other engines do not add it automatically.
    """
    protocol = config.protocol
    present = protocol_features(config.protocol)
    try:
        implied = protocol_features(define_like(label, config).protocol)
    except SqlError:  # another writer's table, which no statement can create
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
    """Returns whether TBLPROPERTIES may contain the key.

    Constraints have their own clause, and some keys are internal.
    """
    return not key.startswith(CONSTRAINT_PREFIX) and is_settable(key)
