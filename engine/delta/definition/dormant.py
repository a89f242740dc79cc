"""Dormant metadata: table metadata for features that the protocol does not support.

Writers of all ages leave this behind: a copied schema, a newer engine's property, a protocol from before table
features. It must not become effective because somebody changes a comment. There are three kinds:

- *Effective by itself* (`Feature.by_metadata`): rules that older engines took from the metadata alone (constraints,
  invariants, append-only, change data, defaults, types). With legacy versions they apply to row writes, and the next
  metadata change adds the features that existing tables get automatically to the protocol.
- *Idle*: generation expressions and identities (the column is an ordinary one), column mapping, row tracking, Iceberg
  compatibility and similar. If they became effective they would change the meaning of existing rows and files. Reads
  and writes ignore them, and a metadata change drops them, even if it upgrades the protocol. To use them, set them
  again.
- *Switches* for future writes: deletion vectors, type widening, in-commit timestamps, v2 checkpoints. Writes ignore
  them; a metadata change upgrades the protocol for them, since that does not change the meaning of any row.

                           read            write rows                  change the metadata
        by itself          -               enforced                    kept, protocol upgraded if permitted
        idle               ordinary        ordinary                    dropped, protocol kept
        switch             -               ordinary                    kept, protocol upgraded

This applies to legacy versions. In a protocol that lists its features, metadata and list must agree. If they do not,
row writes are rejected (`DeltaConfig.ensure_protocol_carries_metadata`), and a metadata change repairs the table.

Protocol: "Table Features"; the treatment of generation expressions follows delta-spark.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from engine.delta.schema.column_mapping import MAPPING_PREFIX
from engine.delta.spec import properties
from engine.delta.spec.features import is_listed
from engine.delta.spec.properties import Configuration
from engine.tables.column_metadata import GENERATION
from engine.types.schema import StructField, StructType, map_fields

# Prefixes of idle column metadata keys, by feature.
_COLUMN_KEYS: Mapping[str, str] = {
    "generatedColumns": GENERATION,
    "identityColumns": "delta.identity.",
    "columnMapping": MAPPING_PREFIX,
}

# Idle properties, by feature.
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "columnMapping": (properties.COLUMN_MAPPING_MODE.key, properties.COLUMN_MAPPING_MAX_ID.key),
    "rowTracking": (
        properties.ROW_TRACKING.key,
        properties.ROW_TRACKING_SUSPENDED.key,
        properties.ROW_ID_COLUMN.key,
        properties.ROW_COMMIT_VERSION_COLUMN.key,
    ),
    "icebergCompatV1": (properties.ICEBERG_COMPAT_V1.key,),
    "icebergCompatV2": (properties.ICEBERG_COMPAT_V2.key,),
    "icebergCompatV3": (properties.ICEBERG_COMPAT_V3.key,),
    "icebergWriterCompatV1": (properties.ICEBERG_WRITER_COMPAT_V1.key,),
    "icebergWriterCompatV3": (properties.ICEBERG_WRITER_COMPAT_V3.key,),
    "materializePartitionColumns": (properties.MATERIALIZE_PARTITION_COLUMNS.key,),
}


def effective_schema(schema: StructType, column_keys: Collection[str], features: frozenset[str]) -> StructType:
    """Returns the schema without idle column metadata, at any depth.

    `column_keys` are all column metadata keys, `features` the protocol's features.
    """
    idle = tuple(prefix for name, prefix in _COLUMN_KEYS.items() if not is_listed(name, features))
    if not any(key.startswith(idle) for key in column_keys):
        return schema

    def awake(field: StructField) -> StructField:
        return replace(field, metadata={key: item for key, item in field.metadata.items() if not key.startswith(idle)})

    return map_fields(schema, awake)


def without_idle_settings(configuration: Configuration, features: frozenset[str]) -> Configuration:
    """Returns the properties without idle ones."""
    idle = {key for name, keys in _SETTINGS.items() if not is_listed(name, features) for key in keys}
    return {key: value for key, value in configuration.items() if key not in idle}
