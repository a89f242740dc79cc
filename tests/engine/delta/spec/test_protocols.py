"""Protocols: supported features, and the minimum protocol for a table's features."""

from __future__ import annotations

import pytest

from catalog.conditions import MalformedLogEntry
from engine.delta.spec.actions import Protocol
from engine.delta.spec.protocols import (
    DEFAULT_FEATURES,
    add_features,
    protocol_features,
    remove_feature,
    weakest_protocol,
)


def protocol(reader: int, writer: int, readers: str | None = None, writers: str | None = None) -> Protocol:
    return Protocol(
        min_reader_version=reader,
        min_writer_version=writer,
        reader_features=None if readers is None else tuple(readers.split()),
        writer_features=None if writers is None else tuple(writers.split()),
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (protocol(1, 1), ""),
        (protocol(1, 2), "appendOnly invariants"),
        (protocol(1, 3), "appendOnly invariants checkConstraints"),
        (protocol(1, 4), "appendOnly invariants checkConstraints changeDataFeed generatedColumns"),
        (protocol(1, 5), "appendOnly invariants checkConstraints changeDataFeed generatedColumns"),
        (protocol(2, 5), "appendOnly invariants checkConstraints changeDataFeed generatedColumns columnMapping"),
        (
            protocol(2, 6),
            "appendOnly invariants checkConstraints changeDataFeed generatedColumns columnMapping identityColumns",
        ),
        (protocol(1, 7, None, "appendOnly"), "appendOnly"),
        (protocol(2, 7, None, "columnMapping"), "columnMapping"),
        (protocol(3, 7, "", "columnMapping icebergCompatV1"), "columnMapping icebergCompatV1"),
        (protocol(3, 7, "deletionVectors", "deletionVectors x"), "deletionVectors x"),
        (protocol(1, 2, "", None), "appendOnly invariants"),
    ],
    ids=str,
)
def test_a_protocol_carries_what_it_lists_and_implies(value: Protocol, expected: str) -> None:
    assert protocol_features(value) == set(expected.split())


@pytest.mark.parametrize("value", [protocol(3, 7, None, "x"), protocol(1, 7), protocol(3, 7, "x", None)], ids=str)
def test_a_promised_list_must_be_there(value: Protocol) -> None:
    with pytest.raises(MalformedLogEntry, match="Features"):
        protocol_features(value)


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("", protocol(1, 2)),
        ("checkConstraints", protocol(1, 3)),
        ("changeDataFeed", protocol(1, 7, None, "appendOnly changeDataFeed invariants")),
        ("changeDataFeed checkConstraints generatedColumns", protocol(1, 4)),
        ("columnMapping", protocol(2, 7, None, "appendOnly columnMapping invariants")),
        ("changeDataFeed checkConstraints generatedColumns columnMapping", protocol(2, 5)),
        ("identityColumns", protocol(1, 7, None, "appendOnly identityColumns invariants")),
        ("deletionVectors", protocol(3, 7, "deletionVectors", "appendOnly deletionVectors invariants")),
        ("timestampNtz", protocol(3, 7, "timestampNtz", "appendOnly invariants timestampNtz")),
        ("clustering", protocol(1, 7, None, "appendOnly clustering domainMetadata invariants")),
        (
            "columnMapping deletionVectors",
            protocol(3, 7, "columnMapping deletionVectors", "appendOnly columnMapping deletionVectors invariants"),
        ),
    ],
    ids=str,
)
def test_a_protocol_is_written_in_its_weakest_form(features: str, expected: Protocol) -> None:
    assert weakest_protocol(DEFAULT_FEATURES | set(features.split())) == expected
    assert protocol_features(expected) >= set(features.split())


def test_adding_what_is_there_changes_nothing() -> None:
    old = protocol(2, 5)
    assert add_features(old, {"columnMapping", "invariants"}) is old


def test_adding_keeps_what_old_versions_implied() -> None:
    assert add_features(protocol(1, 3), {"deletionVectors"}) == protocol(
        3, 7, "deletionVectors", "appendOnly checkConstraints deletionVectors invariants"
    )


def test_dropping_returns_to_the_weakest_form() -> None:
    assert remove_feature(
        protocol(3, 7, "deletionVectors", "appendOnly deletionVectors invariants"), "deletionVectors"
    ) == protocol(1, 2)
    assert remove_feature(protocol(1, 3), "checkConstraints") == protocol(1, 2)
