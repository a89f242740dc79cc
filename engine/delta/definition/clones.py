"""The definition of a clone: another table's, without what belongs to that table's own history.

Schema, partitioning, constraints, mapping of columns, clustering and properties are the source's, so that its files
mean the same in the clone. What is not taken over:

- the id, for the clone is a table of its own; one that replaces a table keeps the id of that table;
- row tracking: rows get new ids. Ids that rows of the source keep in columns of their files are told by the names of
  these columns, so the clone has none of these names;
- since when commits have timestamps of their own, and which checkpoints are protected: both count the source's
  versions.

A table that is replaced keeps what its older versions hang on, as with REPLACE TABLE, and its row tracking. Its
protocol is then the least one that carries both tables' features.

Protocol: "Row Tracking", "In-Commit Timestamps"; delta-spark for what is inherited.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace

from catalog.conditions import ClusteredTableNotPartitionable
from engine.delta.definition.clustering import CLUSTERING, CLUSTERING_DOMAIN, format_clustering
from engine.delta.definition.metadata_changes import change_table
from engine.delta.definition.table_config import TableConfig
from engine.delta.definition.table_draft import Definition
from engine.delta.spec import properties
from engine.delta.spec.actions import DomainMetadata, Protocol
from engine.delta.spec.properties import Configuration
from engine.delta.spec.protocols import add_features, protocol_features, weakest_protocol
from engine.tables.definition_changes import set_properties

_ROW_TRACKING = (
    properties.ROW_TRACKING.key,
    properties.ROW_TRACKING_SUSPENDED.key,
    properties.ROW_ID_COLUMN.key,
    properties.ROW_COMMIT_VERSION_COLUMN.key,
)
_OF_VERSIONS = (
    properties.ICT_ENABLEMENT_VERSION.key,
    properties.ICT_ENABLEMENT_TIMESTAMP.key,
    properties.CHECKPOINT_PROTECTION_VERSION.key,
)
_FEATURES_OF_VERSIONS = frozenset({"checkpointProtection"})
_OWN_DOMAINS = frozenset({"delta.rowTracking", CLUSTERING_DOMAIN})
"""Domains that are made for the clone, not copied."""


def define_clone(
    table: str,
    source: TableConfig,
    target: TableConfig | None,
    settings: Mapping[str, str],
    created_ms: int | None = None,
) -> Definition:
    """The definition of a clone of `source` with the properties `settings`; `target` is the table that it replaces.

    Raises the errors of `change_table`, and `ClusteredTableNotPartitionable`.
    """
    if target is not None and target.is_supported(CLUSTERING) and source.metadata.partition_columns:
        raise ClusteredTableNotPartitionable(table)
    metadata = replace(
        source.metadata,
        id=target.metadata.id if target else str(uuid.uuid4()),
        name=target.metadata.name if target else None,
        created_time=target.metadata.created_time if target else created_ms,
        configuration=_configuration(source.metadata.configuration, target),
    )
    clustering = source.clustering
    if clustering is None and target is not None and target.clustering is not None:
        clustering = format_clustering([])
    definition = Definition(protocol=_protocol(source, target), metadata=metadata, clustering=clustering)
    return change_table(definition.config(table), set_properties(settings)) if settings else definition


def cloned_domains(
    source: Mapping[str, DomainMetadata], target: Mapping[str, DomainMetadata]
) -> tuple[DomainMetadata, ...]:
    """The domains of others' making: those of the source, and the end of those that only the target has."""
    copied = [domain for name, domain in source.items() if name not in _OWN_DOMAINS]
    gone = [
        replace(domain, removed=True)
        for name, domain in target.items()
        if name not in _OWN_DOMAINS and name not in source
    ]
    return (*copied, *gone)


def _configuration(source: Configuration, target: TableConfig | None) -> dict[str, str | None]:
    kept = {key: value for key, value in source.items() if key not in (*_ROW_TRACKING, *_OF_VERSIONS)}
    if target is None:
        return kept
    before = target.metadata.configuration
    past = _OF_VERSIONS if properties.IN_COMMIT_TIMESTAMPS.read(kept) else _OF_VERSIONS[-1:]
    kept |= {key: before[key] for key in (*_ROW_TRACKING, *past) if key in before}
    key = properties.COLUMN_MAPPING_MAX_ID
    if key.key in before or key.key in source:
        kept[key.key] = str(max(key.read(before), key.read(source)))
    return kept


def _protocol(source: TableConfig, target: TableConfig | None) -> Protocol:
    features = protocol_features(source.protocol)
    lasting = features - _FEATURES_OF_VERSIONS
    if target is not None:
        return add_features(target.protocol, lasting)
    return source.protocol if lasting == features else weakest_protocol(lasting)
