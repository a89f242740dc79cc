"""Table properties upgrade the protocol as far as they must."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from engine.main import LakeSession
from tests.engine.lake_sessions import run

pytestmark = pytest.mark.spark

UPGRADES = [
    ("'delta.minWriterVersion' = '3'", (1, 3), None, None),
    ("'delta.minWriterVersion' = '4'", (1, 4), None, None),
    (
        "'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5', 'delta.columnMapping.mode' = 'name'",
        (2, 5),
        None,
        None,
    ),
    ("'delta.minReaderVersion' = '2'", (2, 2), None, None),
    ("'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '4'", (2, 4), None, None),
    ("'delta.minWriterVersion' = '5'", (1, 5), None, None),
    (
        "'delta.minReaderVersion' = '2', 'delta.enableChangeDataFeed' = 'true'",
        (1, 7),
        None,
        ["appendOnly", "changeDataFeed", "invariants"],
    ),
    ("'delta.enableChangeDataFeed' = 'true'", (1, 7), None, ["appendOnly", "changeDataFeed", "invariants"]),
    (
        "'delta.enableDeletionVectors' = 'true'",
        (3, 7),
        ["deletionVectors"],
        ["appendOnly", "deletionVectors", "invariants"],
    ),
    (
        "'delta.feature.allowColumnDefaults' = 'supported'",
        (1, 7),
        None,
        ["allowColumnDefaults", "appendOnly", "invariants"],
    ),
    ("'delta.minReaderVersion' = '1', 'delta.minWriterVersion' = '2'", (1, 2), None, None),
]


@pytest.mark.parametrize(("properties", "versions", "reader", "writer"), UPGRADES)
def test_properties_upgrade_the_protocol_as_far_as_they_must(
    session: LakeSession,
    lake: Path,
    properties: str,
    versions: tuple[int, int],
    reader: list[str] | None,
    writer: list[str] | None,
) -> None:
    run(session, "DROP TABLE IF EXISTS upgraded")
    run(session, "CREATE TABLE upgraded (id INT)")
    run(session, f"ALTER TABLE upgraded SET TBLPROPERTIES ({properties})")
    protocol = DeltaTable(lake / "default" / "upgraded").protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == versions
    assert (protocol.reader_features, protocol.writer_features) == (reader, writer)
