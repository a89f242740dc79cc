"""Operations allowed per table, and the protocol that a metadata change requires."""

from __future__ import annotations

import json
from typing import Any

import pytest

from catalog.conditions import (
    FeaturesProtocolMismatch,
    FeaturesRequireManualEnablement,
    InvalidProtocolVersion,
    UnsupportedReaderFeatures,
    UnsupportedWriterFeatures,
)
from engine.delta.definition.table_config import DeltaConfig, choose_protocol
from engine.delta.snapshot.snapshot import load_snapshot
from engine.delta.spec.actions import Metadata, Protocol
from engine.delta.spec.features import FEATURES, READS, WRITES
from engine.delta.spec.protocols import add_features, weakest_protocol
from engine.tables.operations import TableOperation
from engine.types.schema import PrimitiveType, StructField, StructType
from tests.engine.delta.committing import metadata
from tests.paths import DAT


def config(protocol: Protocol, table: Metadata | None = None) -> DeltaConfig:
    return DeltaConfig.of("t", protocol, table or metadata())


def listing(*names: str, readers: tuple[str, ...] = ()) -> Protocol:
    return Protocol(min_reader_version=3, min_writer_version=7, reader_features=readers, writer_features=names)


@pytest.mark.parametrize("operation", TableOperation)
def test_a_plain_table_allows_everything(operation: TableOperation) -> None:
    config(Protocol(min_reader_version=1, min_writer_version=2)).ensure_supported(operation)


@pytest.mark.parametrize("operation", TableOperation)
@pytest.mark.parametrize("writer", [1, 2, 3, 4, 5, 6])
def test_old_versions_imply_features_but_no_use_of_them(writer: int, operation: TableOperation) -> None:
    config(Protocol(min_reader_version=2, min_writer_version=writer)).ensure_supported(operation)


def test_an_unknown_writer_feature_stops_writes_and_no_read() -> None:
    table = config(listing("appendOnly", "fromTheFuture"))
    for operation in READS:
        table.ensure_supported(operation)
    for operation in WRITES:
        with pytest.raises(UnsupportedWriterFeatures, match="fromTheFuture"):
            table.ensure_supported(operation)


def test_an_unknown_reader_feature_stops_everything() -> None:
    table = config(listing("fromTheFuture", readers=("fromTheFuture",)))
    with pytest.raises(UnsupportedReaderFeatures, match="fromTheFuture"):
        table.ensure_supported(TableOperation.READ)
    with pytest.raises(UnsupportedWriterFeatures, match="fromTheFuture"):
        table.ensure_supported(TableOperation.APPEND)


def test_table_with_another_name_is_named_so_in_errors() -> None:
    table = config(listing("appendOnly", "fromTheFuture"))
    table.ensure_supported(TableOperation.READ)
    for name in ("s.t", "other.t"):
        named = table.with_name(name)
        named.ensure_supported(TableOperation.READ)
        with pytest.raises(UnsupportedWriterFeatures, match=name):
            named.ensure_supported(TableOperation.APPEND)
        assert named.lacking == table.lacking and named.table == name


def test_all_that_stops_an_operation_is_named() -> None:
    table = config(listing("b", "a", readers=("b", "a")))
    with pytest.raises(UnsupportedReaderFeatures, match="a, b"):
        table.ensure_supported(TableOperation.READ)


@pytest.mark.parametrize(
    ("reader", "writer", "operation", "is_allowed"),
    [(99, 7, TableOperation.READ, False), (1, 8, TableOperation.READ, True), (1, 8, TableOperation.APPEND, False)],
)
def test_versions_beyond_the_known(reader: int, writer: int, operation: TableOperation, is_allowed: bool) -> None:
    protocol = Protocol(min_reader_version=reader, min_writer_version=writer, reader_features=(), writer_features=())
    if is_allowed:
        config(protocol).ensure_supported(operation)
    else:
        with pytest.raises(InvalidProtocolVersion):
            config(protocol).ensure_supported(operation)


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("operation", TableOperation)
def test_a_feature_in_use_allows_what_its_row_says(name: str, operation: TableOperation) -> None:
    """The rows whose use can be seen in no metadata stand for themselves; for the others their use is made up."""
    feature = FEATURES[name]
    table = config(weakest_protocol({name}))
    if not feature.is_in_use(table.facts):
        table.ensure_supported(operation)
    elif operation in feature.allows:
        table.ensure_supported(operation)
    else:
        with pytest.raises((UnsupportedReaderFeatures, UnsupportedWriterFeatures), match=name):
            table.ensure_supported(operation)


@pytest.mark.parametrize(
    ("feature", "configuration", "column", "operation"),
    [
        ("checkConstraints", {"delta.constraints.c": "id > 0"}, {}, TableOperation.APPEND),
        ("generatedColumns", {}, {"delta.generationExpression": "1"}, TableOperation.APPEND),
        ("identityColumns", {}, {"delta.identity.start": 1}, TableOperation.APPEND),
        ("changeDataFeed", {"delta.enableChangeDataFeed": "true"}, {}, TableOperation.DML),
        ("icebergCompatV2", {"delta.enableIcebergCompatV2": "true"}, {}, TableOperation.APPEND),
    ],
)
def test_unenforced_feature_is_rejected_only_if_in_use(
    feature: str, configuration: dict[str, str], column: dict[str, Any], operation: TableOperation
) -> None:
    schema = StructType((StructField("id", PrimitiveType.LONG, True, column),))
    protocol = add_features(Protocol(min_reader_version=1, min_writer_version=2), {feature})
    used, unused = (
        metadata(schema, (), configuration),
        metadata(StructType((StructField("id", PrimitiveType.LONG),)), ()),
    )
    config(protocol, unused).ensure_supported(operation)
    if operation not in FEATURES[feature].allows:
        with pytest.raises(UnsupportedWriterFeatures, match=feature):
            config(protocol, used).ensure_supported(operation)


@pytest.mark.foreign
def test_a_reader_feature_that_only_the_writers_list_names_counts() -> None:
    """A table that another engine wrote: (3, 7) without reader features, and yet mapped."""
    snapshot = load_snapshot(str(DAT / "iceberg_compat_v1" / "delta"))
    table = DeltaConfig.of("t", snapshot.protocol, snapshot.metadata)
    assert snapshot.protocol.reader_features == ()
    assert table.is_supported("columnMapping")
    assert table.column_mapping_mode == "name"


def test_a_property_without_its_feature_is_only_text() -> None:
    table = config(
        Protocol(min_reader_version=1, min_writer_version=2),
        metadata(configuration={"delta.columnMapping.mode": "name"}),
    )
    assert table.column_mapping_mode == "none"
    assert not table.is_enabled("columnMapping")
    with pytest.raises(FeaturesProtocolMismatch, match="columnMapping"):
        table.ensure_protocol_carries_metadata(None)


def test_partition_values_go_by_physical_names() -> None:
    day = StructField("day", PrimitiveType.DATE, True, {"delta.columnMapping.physicalName": "col-1"})
    table = metadata(StructType((day,)), ("day",), {"delta.columnMapping.mode": "name"})
    protocol = choose_protocol("t", None, table)
    assert config(protocol, table).partition_keys == ("col-1",)


@pytest.mark.parametrize(
    ("configuration", "explicit", "expected"),
    [
        ({}, "", [1, 2]),
        ({"delta.constraints.c": "id > 0"}, "", [1, 3]),
        (
            {"delta.enableDeletionVectors": "true"},
            "",
            [3, 7, ["deletionVectors"], ["appendOnly", "deletionVectors", "invariants"]],
        ),
        ({}, "clustering", [1, 7, None, ["appendOnly", "clustering", "domainMetadata", "invariants"]]),
        (
            {"delta.enableRowTracking": "true"},
            "",
            [1, 7, None, ["appendOnly", "domainMetadata", "invariants", "rowTracking"]],
        ),
    ],
    ids=json.dumps,
)
def test_a_new_table_gets_the_weakest_protocol(
    configuration: dict[str, str], explicit: str, expected: list[Any]
) -> None:
    protocol = choose_protocol("t", None, metadata(configuration=configuration), frozenset(explicit.split()))
    lists = [None if names is None else list(names) for names in (protocol.reader_features, protocol.writer_features)]
    written = [protocol.min_reader_version, protocol.min_writer_version, *lists]
    assert written[: len(expected)] == expected


def test_type_with_feature_does_not_upgrade_protocol() -> None:
    old = Protocol(min_reader_version=1, min_writer_version=2)
    table = metadata(StructType((StructField("t", PrimitiveType.TIMESTAMP_NTZ),)), ())
    with pytest.raises(FeaturesRequireManualEnablement, match="timestampNtz"):
        choose_protocol("t", old, table)
    assert choose_protocol("t", old, table, frozenset({"timestampNtz"})).reader_features == ("timestampNtz",)


def test_sufficient_protocol_is_unchanged() -> None:
    old = Protocol(min_reader_version=2, min_writer_version=6)
    assert choose_protocol("t", old, metadata(configuration={"delta.appendOnly": "true"})) is old
