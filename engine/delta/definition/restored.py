"""RESTORE: a table's definition after it is restored to an older version.

The metadata comes from the older version, with exceptions. Identity high-water marks and the highest column id never
move back, since assigned values and ids stay assigned. Properties about versions, checkpoint protection and in-commit
timestamp enablement, are kept. The protocol carries all features that either version needs, because versions in between
stay readable. Clustering columns come from the older version; other domains, and application transactions, are
unchanged, as in delta-spark.

Protocol: "Identity Columns", "Column Mapping", "Protocol Evolution", "Clustered Table".
"""

from __future__ import annotations

from dataclasses import replace

from engine.delta.definition.clustering import format_clustering
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.definition.table_draft import Definition
from engine.delta.schema.column_mapping import NO_MAPPING
from engine.delta.spec import properties
from engine.delta.spec.actions import Metadata
from engine.delta.spec.protocols import add_features, protocol_features, raised_to
from engine.tables.column_metadata import HIGH_WATER_MARK, STEP, is_identity
from engine.types.schema import StructField, StructType, parse_schema


def restored_definition(now: DeltaConfig, then: DeltaConfig) -> Definition:
    """Returns the definition that restores `then` over `now`; all features in both are known."""
    protocol = add_features(now.protocol, protocol_features(then.protocol))
    protocol = raised_to(protocol, then.protocol.min_reader_version, then.protocol.min_writer_version)
    clustering = then.clustering
    if clustering is None and now.clustering is not None:
        clustering = format_clustering(())
    return Definition(protocol=protocol, metadata=_metadata(now, then), clustering=clustering)


def _metadata(now: DeltaConfig, then: DeltaConfig) -> Metadata:
    schema = parse_schema(then.metadata.schema_string)
    merged = StructType(tuple(_with_high_water_mark(field, now.schema.field(field.name)) for field in schema.fields))
    configuration = dict(then.metadata.configuration)
    if then.column_mapping_mode != NO_MAPPING:
        highest = max(each.get(properties.COLUMN_MAPPING_MAX_ID) for each in (now, then))
        configuration[properties.COLUMN_MAPPING_MAX_ID.key] = str(highest)
    protected = max(each.get(properties.CHECKPOINT_PROTECTION_VERSION) for each in (now, then))
    if protected:
        configuration[properties.CHECKPOINT_PROTECTION_VERSION.key] = str(protected)
    if then.is_enabled("inCommitTimestamp"):
        enabled = now.metadata.configuration if now.is_enabled("inCommitTimestamp") else {}
        for key in (properties.ICT_ENABLEMENT_VERSION.key, properties.ICT_ENABLEMENT_TIMESTAMP.key):
            configuration.pop(key, None)  # a commit that enables them sets its own
            if key in enabled:
                configuration[key] = enabled[key]
    text = then.metadata.schema_string if merged == schema else merged.to_json()
    return replace(then.metadata, id=now.metadata.id, schema_string=text, configuration=configuration)


def _with_high_water_mark(field: StructField, newer: StructField | None) -> StructField:
    """Returns the identity column with the furthest assigned value in either version."""
    if newer is None or not is_identity(field) or not is_identity(newer):
        return field
    given = [each.metadata[HIGH_WATER_MARK] for each in (field, newer) if HIGH_WATER_MARK in each.metadata]
    if not given:
        return field
    # "Identity Columns": values must not be assigned again. Rows between the two versions
    # have them, and the history shows both.
    furthest = max(given) if field.metadata[STEP] > 0 else min(given)
    return replace(field, metadata={**field.metadata, HIGH_WATER_MARK: furthest})
