"""Applies definition changes to a table, including the changes that only Delta has.

A DDL statement is a tuple of changes (`engine.tables.definition_changes`). `change_table` folds them over a table's
protocol and metadata, `define_table` starts a new table. Both return a `Definition`, which a transaction stages. Each
change sees the effects of the previous ones. At the end, once for all changes, new columns in a mapped table get ids,
the protocol becomes the weakest one that carries everything, and the schema is checked as in every commit.

Checks on rows are left to the planner: whether existing rows satisfy a new constraint, or files still need a dropped
feature. So are checks on expressions (a constraint that refers to a renamed column), since the planner parses SQL.

Protocol: "Column Mapping", "Type Widening", "Clustered Table", "Table Features".
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias, TypeVar, assert_never

from catalog.conditions import ClusteredTableNotPartitionable, LayoutNotSupported
from engine.delta.definition.clustering import CLUSTERING, format_clustering, unmeasured_columns
from engine.delta.definition.column_changes import apply_column_change, cluster_by
from engine.delta.definition.dormant import without_idle_settings
from engine.delta.definition.property_changes import DropFeature, RemoveMapping, apply_property_change
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.definition.table_draft import Definition, TableDraft
from engine.delta.spec import properties
from engine.delta.spec.actions import Metadata
from engine.delta.spec.properties import canonical_key, default_properties, ensure_distinct
from engine.delta.spec.protocols import add_features, protocol_features
from engine.tables.definition_changes import (
    ChangeIdentifiers,
    ChangePartitioning,
    ClusterBy,
    ColumnChange,
    DefinitionChange,
    LayoutChange,
    PartitionBy,
    SetProperty,
    SortBy,
    set_properties,
)
from engine.types.schema import StructType

MetadataChange: TypeAlias = DefinitionChange | RemoveMapping | DropFeature


T = TypeVar("T")


def unique_physical_name(_: str) -> str:
    """Returns a globally unique physical name."""
    return f"col-{uuid.uuid4()}"


def change_table(
    old: DeltaConfig, changes: Iterable[MetadataChange], new_name: Callable[[str], str] = unique_physical_name
) -> Definition:
    """Returns the definition after `changes`.

    Raises the errors in `catalog.conditions`, and those of clustering, features and properties.
    """
    draft = TableDraft(
        table=old.table,
        before=old,
        # Idle settings must go before the changes apply: a statement that adds their
        # feature for another reason would wake them.
        metadata=replace(old.metadata, configuration=without_idle_settings(old.metadata.configuration, old.features)),
        schema=old.schema,
        new_name=new_name,
        clustering=old.clustering,
        unmeasured=frozenset(unmeasured_columns(old)),
    )
    return _fold(draft, changes)


def define_table(
    table: str,
    schema: StructType,
    *,
    partition_columns: tuple[str, ...] = (),
    changes: Iterable[MetadataChange] = (),
    created_ms: int | None = None,
    new_name: Callable[[str], str] = unique_physical_name,
) -> Definition:
    """Returns the definition of a new table with `schema`, after `changes`. Errors as above."""
    metadata = Metadata(id=str(uuid.uuid4()), partition_columns=partition_columns, created_time=created_ms)
    draft = TableDraft(table=table, before=None, metadata=metadata, schema=schema, new_name=new_name)
    return _fold(draft, changes)


def redefine_table(
    old: DeltaConfig,
    schema: StructType,
    *,
    partition_columns: tuple[str, ...] = (),
    changes: Iterable[MetadataChange] = (),
    new_name: Callable[[str], str] = unique_physical_name,
) -> Definition:
    """Redefines an existing table as if it were newly created. It remains the same table, with readable history.

    It keeps its id, its protocol's features and everything that older versions need; column ids continue from the
    assigned ones. A table with the clustering feature cannot become partitioned.
    """
    if partition_columns and old.is_supported(CLUSTERING):
        raise ClusteredTableNotPartitionable(old.table)
    settings = old.metadata.configuration
    # REPLACE TABLE keeps the log, and older versions stay readable: `maxColumnId` must not
    # go back, since files with those ids remain, and the in-commit timestamps' enablement
    # dates versions that exist already.
    past = {key: settings[key] for key in _OF_THE_PAST if key in settings}
    metadata = Metadata(
        id=old.metadata.id,
        partition_columns=partition_columns,
        created_time=old.metadata.created_time,
        configuration=past,
    )
    draft = TableDraft(table=old.table, before=None, metadata=metadata, schema=schema, new_name=new_name)
    new = _fold(draft, changes)
    # Older versions may need the features; and a protocol must not be downgraded
    # implicitly.
    protocol = add_features(old.protocol, protocol_features(new.protocol))
    # "Writer Requirements for Clustered Table": a clustered table must have the domain.
    # Without columns it stays, with an empty list.
    clustering = new.clustering or (format_clustering([]) if old.clustering else None)
    return replace(new, protocol=protocol, metadata=_without_idle_past(new.metadata), clustering=clustering)


_ENABLEMENT = (properties.ICT_ENABLEMENT_VERSION.key, properties.ICT_ENABLEMENT_TIMESTAMP.key)
_OF_THE_PAST = (
    properties.COLUMN_MAPPING_MAX_ID.key,
    properties.CHECKPOINT_PROTECTION_VERSION.key,
    *_ENABLEMENT,
)


def _without_idle_past(metadata: Metadata) -> Metadata:
    """Removes the in-commit timestamp enablement if in-commit timestamps are no longer enabled."""
    if properties.IN_COMMIT_TIMESTAMPS.read(metadata.configuration):
        return metadata
    remaining = {key: value for key, value in metadata.configuration.items() if key not in _ENABLEMENT}
    return replace(metadata, configuration=remaining)


def with_defaults(changes: Iterable[DefinitionChange], settings: Mapping[str, str]) -> tuple[DefinitionChange, ...]:
    """Returns a new table's changes, preceded by the default properties in the session's settings."""
    said = distinct(changes)
    written = {canonical_key(change.key) for change in said if isinstance(change, SetProperty)}
    defaults = {key: value for key, value in default_properties(settings).items() if key not in written}
    return (*set_properties(defaults), *said)


def distinct(changes: Iterable[T]) -> tuple[T, ...]:
    """Returns one statement's changes. Raises `DuplicateKey` if it sets a property twice."""
    said = tuple(changes)
    ensure_distinct(change.key for change in said if isinstance(change, SetProperty))
    return said


def _fold(draft: TableDraft, changes: Iterable[MetadataChange]) -> Definition:
    for change in changes:
        draft = apply_change(draft, change)
    return draft.finish()


def apply_change(draft: TableDraft, change: MetadataChange) -> TableDraft:
    """Applies one change to the draft."""
    if isinstance(change, ColumnChange):
        return apply_column_change(draft, change)
    if not isinstance(change, LayoutChange):
        return apply_property_change(draft, change)
    match change:
        case ClusterBy():
            return cluster_by(draft, change)
        case PartitionBy():
            raise LayoutNotSupported("A function in PARTITIONED BY", "Partition by a generated column.")
        case ChangePartitioning() | SortBy() | ChangeIdentifiers():
            raise LayoutNotSupported("Another partitioning, order or identifier", "Cluster the table: CLUSTER BY.")
        case _:
            assert_never(change)
