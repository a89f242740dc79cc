"""A clone's definition: the source table's, without the parts that belong to the source's own history.

Schema, partitioning, constraints, column mapping, clustering and properties come from the source, so that its files
have the same meaning in the clone. Not copied:

- The id, since the clone is a separate table; a clone that replaces a table keeps the replaced table's id.
- Row tracking: rows get new row ids. Columns with materialized row ids in the source's files are identified by their
  names, so the clone uses other names.
- The in-commit timestamp enablement and checkpoint protection, which refer to the source's versions.

A replaced table keeps the parts that its older versions need, as with REPLACE TABLE, and its row tracking. Its protocol
is then the weakest one that carries both tables' features.

Protocol: "Row Tracking", "In-Commit Timestamps"; inheritance follows delta-spark.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace

from catalog.conditions import ClusteredTableNotPartitionable
from engine.delta.definition.clustering import CLUSTERING, CLUSTERING_DOMAIN, format_clustering
from engine.delta.definition.metadata_changes import change_table
from engine.delta.definition.table_config import DeltaConfig
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
# Domains that are created for the clone, not copied.
_OWN_DOMAINS = frozenset({"delta.rowTracking", CLUSTERING_DOMAIN})


def define_clone(
    table: str,
    source: DeltaConfig,
    target: DeltaConfig | None,
    settings: Mapping[str, str],
    created_ms: int | None = None,
) -> Definition:
    """Returns the definition for a clone of `source` with properties `settings`, which may replace `target`.

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
    """Returns user-defined domains: the source's, and tombstones for domains that only the target has."""
    copied = [domain for name, domain in source.items() if name not in _OWN_DOMAINS]
    gone = [
        replace(domain, removed=True)
        for name, domain in target.items()
        if name not in _OWN_DOMAINS and name not in source
    ]
    return (*copied, *gone)


def _configuration(source: Configuration, target: DeltaConfig | None) -> dict[str, str | None]:
    copied = {key: value for key, value in source.items() if key not in (*_ROW_TRACKING, *_OF_VERSIONS)}
    if target is None:
        return copied
    before = target.metadata.configuration
    past = _OF_VERSIONS if properties.IN_COMMIT_TIMESTAMPS.read(copied) else _OF_VERSIONS[-1:]
    copied |= {key: before[key] for key in (*_ROW_TRACKING, *past) if key in before}
    key = properties.COLUMN_MAPPING_MAX_ID
    if key.key in before or key.key in source:
        # "Writer Requirements for Column Mapping": an id is never used twice, also not for
        # the replaced table's columns, whose versions stay readable.
        copied[key.key] = str(max(key.read(before), key.read(source)))
    return copied


def _protocol(source: DeltaConfig, target: DeltaConfig | None) -> Protocol:
    features = protocol_features(source.protocol)
    lasting = features - _FEATURES_OF_VERSIONS
    if target is not None:
        return add_features(target.protocol, lasting)
    return source.protocol if lasting == features else weakest_protocol(lasting)
