"""The feature table: complete, consistent, and the features that metadata requires."""

from __future__ import annotations

import pytest

from engine.delta.spec.features import (
    FEATURES,
    READS,
    WRITES,
    Feature,
    FeatureKind,
    Removal,
    demanded_features,
    find_feature,
    is_listed,
    metadata_facts,
    with_requirements,
)
from engine.tables.operations import TableOperation
from engine.types.schema import ArrayType, DataType, MapType, PrimitiveType, StructField, StructType

READER_WRITER = (
    "columnMapping deletionVectors timestampNtz timestampWithoutTimezone v2Checkpoint catalogManaged "
    "catalogOwned-preview vacuumProtocolCheck typeWidening typeWidening-preview variantType variantType-preview "
    "variantShredding variantShredding-preview geospatial geospatial-dev adaptiveMetadata-preview "
    "redirectReaderWriter-preview timestampNanos"
).split()
WRITER = (
    "appendOnly invariants checkConstraints changeDataFeed generatedColumns identityColumns rowTracking domainMetadata "
    "icebergCompatV1 icebergCompatV2 icebergCompatV3 clustering liquid inCommitTimestamp allowColumnDefaults "
    "checkpointProtection materializePartitionColumns icebergWriterCompatV1 icebergWriterCompatV3 collations "
    "collations-preview coordinatedCommits-preview redirectWriterOnly-preview columnMappingUsageTracking "
    "concurrentIdentityColumns"
).split()
NOT_REMOVABLE = (
    "appendOnly invariants changeDataFeed generatedColumns identityColumns timestampNtz variantType variantShredding "
    "icebergCompatV1 icebergCompatV2 icebergCompatV3 clustering allowColumnDefaults"
).split()


def schema_of(data_type: DataType = PrimitiveType.LONG, /, **column_metadata: object) -> StructType:
    return StructType((StructField("c", data_type, True, column_metadata),))


def test_every_feature_has_its_kind() -> None:
    kinds = {name: feature.kind for name, feature in FEATURES.items()}
    assert kinds == {
        **dict.fromkeys(READER_WRITER, FeatureKind.READER_WRITER),
        **dict.fromkeys(WRITER, FeatureKind.WRITER),
    }


def test_legacy_versions() -> None:
    legacy = {name: (row.legacy.reader, row.legacy.writer) for name, row in FEATURES.items() if row.legacy}
    assert legacy == {
        "appendOnly": (1, 2),
        "invariants": (1, 2),
        "checkConstraints": (1, 3),
        "changeDataFeed": (1, 4),
        "generatedColumns": (1, 4),
        "columnMapping": (2, 5),
        "identityColumns": (1, 6),
    }


@pytest.mark.parametrize("feature", FEATURES.values(), ids=FEATURES)
def test_rows_are_consistent(feature: Feature) -> None:
    assert all(name in FEATURES for name in feature.requires)
    assert feature.canonical_name in FEATURES
    if feature.kind is FeatureKind.WRITER:
        assert feature.allows >= READS, "a writer feature never blocks a read"


def test_features_that_cannot_be_dropped() -> None:
    assert all(FEATURES[name].removal is Removal.NO for name in NOT_REMOVABLE)
    assert FEATURES["checkConstraints"].removal is Removal.YES
    assert FEATURES["deletionVectors"].removal is Removal.WITH_HISTORY


def test_operations_are_reads_or_writes() -> None:
    assert READS | WRITES == frozenset(TableOperation)
    assert not READS & WRITES


@pytest.mark.parametrize(
    ("configuration", "schema", "expected"),
    [
        ({}, schema_of(), set()),
        ({"delta.appendOnly": "true"}, schema_of(), {"appendOnly"}),
        ({"delta.appendOnly": "false"}, schema_of(), set()),
        ({"delta.constraints.positive": "c > 0"}, schema_of(), {"checkConstraints"}),
        ({"delta.enableChangeDataFeed": "true"}, schema_of(), {"changeDataFeed"}),
        ({"delta.columnMapping.mode": "name"}, schema_of(), {"columnMapping"}),
        ({"delta.columnMapping.mode": "none"}, schema_of(), set()),
        ({"delta.enableDeletionVectors": "true"}, schema_of(), {"deletionVectors"}),
        ({"delta.enableRowTracking": "true"}, schema_of(), {"rowTracking"}),
        ({"delta.checkpointPolicy": "v2"}, schema_of(), {"v2Checkpoint"}),
        ({"delta.enableInCommitTimestamps": "true"}, schema_of(), {"inCommitTimestamp"}),
        ({"delta.enableTypeWidening": "true"}, schema_of(), {"typeWidening"}),
        ({"delta.enableVariantShredding": "true"}, schema_of(), {"variantShredding"}),
        ({}, schema_of(**{"delta.invariants": "{}"}), {"invariants"}),
        ({}, schema_of(**{"delta.generationExpression": "1"}), {"generatedColumns"}),
        ({}, schema_of(**{"delta.identity.start": 1}), {"identityColumns"}),
        ({}, schema_of(CURRENT_DEFAULT="1"), {"allowColumnDefaults"}),
        ({}, schema_of(PrimitiveType.TIMESTAMP_NTZ), {"timestampNtz"}),
        ({}, schema_of(ArrayType(PrimitiveType.TIMESTAMP_NTZ)), {"timestampNtz"}),
        ({}, schema_of(MapType(PrimitiveType.STRING, PrimitiveType.VARIANT)), {"variantType"}),
    ],
)
def test_metadata_demands_features(configuration: dict[str, str], schema: StructType, expected: set[str]) -> None:
    assert demanded_features(metadata_facts(configuration, schema.to_json())) == expected


def test_requirements_are_closed_over() -> None:
    assert with_requirements(frozenset({"icebergCompatV3"})) == {
        "icebergCompatV3",
        "columnMapping",
        "rowTracking",
        "domainMetadata",
    }


def test_a_preview_stands_for_its_feature() -> None:
    assert is_listed("typeWidening", frozenset({"typeWidening-preview"}))
    assert not is_listed("typeWidening-preview", frozenset({"typeWidening"}))
    assert with_requirements(frozenset({"variantShredding", "variantType-preview"})) == {
        "variantShredding",
        "variantType-preview",
    }


def test_statements_name_features_in_any_case() -> None:
    assert find_feature("DELETIONvectors") is FEATURES["deletionVectors"]
    assert find_feature("nothing") is None
