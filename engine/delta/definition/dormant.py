"""Dormant metadata: what a table's metadata says for features that its protocol does not support.

Writers of every age leave such metadata behind: a copied schema, a property of a newer engine, a protocol from before
table features. It must not begin to mean something because somebody changes a comment, so there are three kinds:

1. *What counts by itself* (`Feature.by_metadata`). Rules that older engines took from the metadata alone: constraints,
   invariants, append-only, change data, defaults, and types. Under legacy versions rows are written by them, and the
   next change of metadata brings the features that existing tables get by themselves into the protocol.
2. *What is idle.* Generation expressions and identities (the column is an ordinary one), column mapping, row tracking,
   Iceberg compatibility and the like: they would tell another thing of rows and files that are there. No read and no
   write sees them, and a change of metadata leaves them out, also when it upgrades the protocol. Who wants them sets
   them again.
3. *Switches of what writers may do from now on*: deletion vectors, type widening, timestamps in commits, version 2
   checkpoints. No write sees them; a change of metadata upgrades the protocol for them, since that gives no row another
   meaning.

                       read            write rows                  change the metadata
    counts by itself   -               obeyed                      kept, protocol upgraded where that is allowed
    idle               ordinary        ordinary                    left out, protocol kept
    switch             -               ordinary                    kept, protocol upgraded

That is for legacy versions. A protocol that lists its features promises that metadata and list agree; writing rows is
then refused (`TableConfig.ensure_protocol_carries_metadata`), and a change of metadata mends the table.

Protocol: "Table Features"; delta-spark for what becomes of generation expressions.
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

_COLUMN_KEYS: Mapping[str, str] = {
    "generatedColumns": GENERATION,
    "identityColumns": "delta.identity.",
    "columnMapping": MAPPING_PREFIX,
}
"""What begins the idle keys of column metadata, by feature."""

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
"""The idle properties, by feature."""


def effective_schema(schema: StructType, column_keys: Collection[str], features: frozenset[str]) -> StructType:
    """The schema without idle metadata of columns, at any depth.

    `column_keys` are all keys of that metadata, `features` those of the protocol.
    """
    idle = tuple(prefix for name, prefix in _COLUMN_KEYS.items() if not is_listed(name, features))
    if not any(key.startswith(idle) for key in column_keys):
        return schema

    def awake(field: StructField) -> StructField:
        return replace(field, metadata={key: item for key, item in field.metadata.items() if not key.startswith(idle)})

    return map_fields(schema, awake)


def without_idle_settings(configuration: Configuration, features: frozenset[str]) -> Configuration:
    """The properties without idle ones."""
    idle = {key for name, keys in _SETTINGS.items() if not is_listed(name, features) for key in keys}
    return {key: value for key, value in configuration.items() if key not in idle}
