"""Version checksums: read, and compared with the state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from catalog.conditions import LogIntegrityFailed, MalformedLogEntry
from engine.delta import load_snapshot
from engine.delta.snapshot.checksum import ensure_checksum, format_checksum, load_checksum, parse_checksum
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import DeletionVectorDescriptor, DomainMetadata, SetTransaction
from engine.delta.spec.paths import checksum_name
from tests.engine.delta.log_builder import METADATA, PROTOCOL, LogBuilder, add
from tests.paths import TESTDATA

FOREIGN = sorted(TESTDATA.glob("delta/**/_delta_log/0*.crc"))


def checksum(**fields: Any) -> bytes:
    value = {
        "tableSizeBytes": 20,
        "numFiles": 2,
        "numMetadata": 1,
        "numProtocol": 1,
        "protocol": PROTOCOL.to_json(),
        "metadata": METADATA.to_json(),
        **fields,
    }
    return json.dumps({name: item for name, item in value.items() if item is not ...}).encode()


def log_with(data: bytes) -> Snapshot:
    log = LogBuilder()
    vector = DeletionVectorDescriptor(storage_type="u", path_or_inline_dv="v", size_in_bytes=1, cardinality=3)
    log.create(
        add("a"),
        add("b", deletion_vector=vector),
        SetTransaction(app_id="app", version=1),
        DomainMetadata(domain="d", configuration="{}"),
    )
    log.put(checksum_name(0), data)
    return Snapshot.load(log.storage)


@pytest.mark.foreign
@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: f"{path.parents[2].name}-{int(path.stem)}")
def test_checksums_of_other_writers_agree(path: Path) -> None:
    assert ensure_checksum(load_snapshot(str(path.parents[1]), int(path.stem)))


@pytest.mark.foreign
def test_there_are_checksums_of_other_writers() -> None:
    assert len(FOREIGN) >= 6


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"numDeletedRecordsOpt": 3, "numDeletionVectorsOpt": 1},
        {"setTransactions": [{"appId": "app", "version": 1}], "domainMetadata": []},
        {"setTransactions": None, "histogramOpt": {"x": [1]}, "unknown": 1},
    ],
)
def test_agreement(fields: dict[str, Any]) -> None:
    if fields.get("domainMetadata") == []:
        fields = fields | {"domainMetadata": [{"domain": "d", "configuration": "{}", "removed": False}]}
    assert ensure_checksum(log_with(checksum(**fields)))


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"numFiles": 3}, "the number of files is 2, but 3 was recorded"),
        ({"tableSizeBytes": 21}, "the size of the table is 20, but 21 was recorded"),
        ({"metadata": METADATA.to_json() | {"id": "other"}}, "the table's id"),
        ({"metadata": METADATA.to_json() | {"configuration": {"a": "b"}}}, "the configuration"),
        ({"protocol": {"minReaderVersion": 2, "minWriterVersion": 2}}, "the reader version"),
        ({"numDeletedRecordsOpt": 4}, "the number of deleted rows is 3"),
        ({"numDeletionVectorsOpt": 0}, "the number of deletion vectors is 1"),
        ({"setTransactions": []}, "the set of applications"),
        ({"domainMetadata": []}, "the set of domains"),
    ],
)
def test_disagreement_is_named(fields: dict[str, Any], what: str) -> None:
    with pytest.raises(LogIntegrityFailed) as caught:
        ensure_checksum(log_with(checksum(**fields)))
    assert what in str(caught.value)


def test_no_checksum_is_no_opinion() -> None:
    log = LogBuilder()
    log.create()
    snapshot = Snapshot.load(log.storage)
    assert load_checksum(log.storage, 0) is None
    assert not ensure_checksum(snapshot)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        checksum(numFiles="2"),
        checksum(numFiles=...),
        checksum(metadata={"id": 3}),
        checksum(protocol=...),
    ],
)
def test_invalid_checksum_is_rejected(data: bytes) -> None:
    with pytest.raises(MalformedLogEntry, match="0.crc"):
        parse_checksum(data, "0.crc")


def test_formatted_checksum_has_the_fields_of_the_protocol() -> None:
    fields = {
        "numDeletedRecordsOpt": 3,
        "numDeletionVectorsOpt": 1,
        "setTransactions": [{"appId": "app", "version": 1}],
        "domainMetadata": [{"domain": "d", "configuration": "{}", "removed": False}],
        "inCommitTimestampOpt": 7,
        "unknown": 1,
    }
    for optional in ({}, fields):
        data = checksum(**optional)
        assert json.loads(format_checksum(parse_checksum(data, "0.crc"))) == json.loads(data)
