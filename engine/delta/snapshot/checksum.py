"""Version checksums: parses `<version>.crc` files and verifies the replayed state against them.

The file is one JSON object with the table's size, its number of files, its protocol and its metadata, and optional
further fields. It is written after the commit and may be missing. If it exists, it verifies the replay: a mismatch
means that a log file was lost or changed, or that one of the writers has a bug.

Protocol: "Version Checksum File".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow.compute as pc

from catalog.conditions import LogIntegrityFailed, MalformedLogEntry
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import DomainMetadata, Metadata, Protocol, SetTransaction
from engine.delta.spec.paths import LOG_DIR, checksum_name
from engine.storage.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChecksum:
    table_size_bytes: int
    num_files: int
    protocol: Protocol
    metadata: Metadata
    in_commit_timestamp: int | None = None
    set_transactions: tuple[SetTransaction, ...] | None = None
    domain_metadata: tuple[DomainMetadata, ...] | None = None
    num_deleted_records: int | None = None
    num_deletion_vectors: int | None = None
    # All other fields, such as `fileSizeHistogram` (`histogramOpt` in older writers), `allFiles`, `txnId`.
    extra: Mapping[str, Any] = field(default_factory=dict)


_KNOWN = {
    "tableSizeBytes",
    "numFiles",
    "numMetadata",
    "numProtocol",
    "protocol",
    "metadata",
    "inCommitTimestampOpt",
    "setTransactions",
    "domainMetadata",
    "numDeletedRecordsOpt",
    "numDeletionVectorsOpt",
}


def parse_checksum(data: bytes, source: str) -> VersionChecksum:
    """Parses a checksum file. Raises `MalformedLogEntry`."""
    try:
        value = msgspec.json.decode(data)
        transactions, domains = value.get("setTransactions"), value.get("domainMetadata")
        return VersionChecksum(
            table_size_bytes=_count(value, "tableSizeBytes"),
            num_files=_count(value, "numFiles"),
            protocol=Protocol.from_json(value["protocol"]),
            metadata=Metadata.from_json(value["metadata"]),
            in_commit_timestamp=_optional_count(value, "inCommitTimestampOpt"),
            set_transactions=None if transactions is None else tuple(map(SetTransaction.from_json, transactions)),
            domain_metadata=None if domains is None else tuple(map(DomainMetadata.from_json, domains)),
            num_deleted_records=_optional_count(value, "numDeletedRecordsOpt"),
            num_deletion_vectors=_optional_count(value, "numDeletionVectorsOpt"),
            extra={name: item for name, item in value.items() if name not in _KNOWN and item is not None},
        )
    except MalformedLogEntry as error:
        raise MalformedLogEntry(source, error.detail) from error
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise MalformedLogEntry(source, str(error)) from error


def format_checksum(checksum: VersionChecksum) -> bytes:
    """Returns a checksum file's bytes; the inverse of `parse_checksum`."""
    transactions, domains = checksum.set_transactions, checksum.domain_metadata
    value: dict[str, Any] = {
        **checksum.extra,
        "tableSizeBytes": checksum.table_size_bytes,
        "numFiles": checksum.num_files,
        # "Version Checksum File" requires both counts, and both are always 1.
        "numMetadata": 1,
        "numProtocol": 1,
        "inCommitTimestampOpt": checksum.in_commit_timestamp,
        "setTransactions": None if transactions is None else [item.to_json() for item in transactions],
        "domainMetadata": None if domains is None else [item.to_json() for item in domains],
        "numDeletedRecordsOpt": checksum.num_deleted_records,
        "numDeletionVectorsOpt": checksum.num_deletion_vectors,
        "metadata": checksum.metadata.to_json(),
        "protocol": checksum.protocol.to_json(),
    }
    return msgspec.json.encode({name: item for name, item in value.items() if item is not None})


def load_checksum(storage: Storage, version: int) -> VersionChecksum | None:
    """Loads a version's checksum, or returns None if it has none. Raises `MalformedLogEntry`."""
    name = f"{LOG_DIR}/{checksum_name(version)}"
    try:
        return parse_checksum(storage.read_bytes(name), name)
    except FileNotFoundError:
        return None


def ensure_checksum(snapshot: Snapshot) -> bool:
    """Raises `LogIntegrityFailed` if the version's checksum file disagrees. Returns False if it has none."""
    checksum = load_checksum(snapshot.storage, snapshot.version)
    if checksum is None:
        return False
    for name, recorded, replayed in _comparisons(checksum, snapshot):
        # All optional fields may be absent, and delta-spark leaves some out, for example
        # the files of large tables.
        if recorded is not None and recorded != replayed:
            detail = f"{name} is {replayed}, but {recorded} was recorded"
            raise LogIntegrityFailed(snapshot.table_root, snapshot.version, detail)
    return True


def _comparisons(checksum: VersionChecksum, snapshot: Snapshot) -> list[tuple[str, Any, Any]]:
    """Returns (field, recorded, replayed); a recorded None is not compared."""
    vectors = snapshot.files["deletion_vector"]
    transactions, domains = checksum.set_transactions, checksum.domain_metadata
    replayed_transactions = set(snapshot.set_transactions)
    return [
        ("the number of files", checksum.num_files, snapshot.num_files),
        ("the size of the table", checksum.table_size_bytes, snapshot.size_bytes),
        # Only fields that log replay determines are compared. `createdTime` and the
        # format's options, say, are written differently by writers and change nothing.
        ("the table's id", checksum.metadata.id, snapshot.metadata.id),
        ("the schema", checksum.metadata.schema_string, snapshot.metadata.schema_string),
        ("the configuration", dict(checksum.metadata.configuration), dict(snapshot.metadata.configuration)),
        ("the reader version", checksum.protocol.min_reader_version, snapshot.protocol.min_reader_version),
        ("the writer version", checksum.protocol.min_writer_version, snapshot.protocol.min_writer_version),
        ("the number of deletion vectors", checksum.num_deletion_vectors, len(vectors) - vectors.null_count),
        ("the number of deleted rows", checksum.num_deleted_records, _deleted_rows(vectors)),
        (
            "the set of applications",
            # By application, not by version: a transaction may expire between the
            # checkpoint that the replay starts from and the checksum.
            None if transactions is None else {item.app_id for item in transactions},
            replayed_transactions,
        ),
        (
            "the set of domains",
            None if domains is None else {item.domain for item in domains if not item.removed},
            set(snapshot.domain_metadata),
        ),
    ]


def _deleted_rows(vectors: Any) -> int:
    return int(pc.sum(pc.struct_field(vectors, "cardinality")).as_py() or 0)


def _count(value: Mapping[str, Any], name: str) -> int:
    number = value[name]
    if not isinstance(number, int):
        raise TypeError(f"{name} is no integer")
    return number


def _optional_count(value: Mapping[str, Any], name: str) -> int | None:
    return None if value.get(name) is None else _count(value, name)
