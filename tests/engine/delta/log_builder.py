"""Writes logs for tests, file by file, without product code except action values.

`NaiveTable` is the model for log replay: the protocol's action reconciliation in dictionaries.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from engine.delta.spec.actions import (
    Action,
    Add,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    SetTransaction,
    Sidecar,
    format_action,
)
from engine.delta.spec.paths import LOG_DIR, checkpoint_name, checkpoint_part_name, commit_name, compaction_name
from engine.storage.storage import Storage
from tests.interleave.storages import DictStorage

SCHEMA_STRING = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": "id", "type": "long", "nullable": True, "metadata": {}},
            {"name": "day", "type": "string", "nullable": True, "metadata": {}},
        ],
    }
)
PROTOCOL = Protocol(min_reader_version=1, min_writer_version=2)
METADATA = Metadata(id="table", schema_string=SCHEMA_STRING, partition_columns=("day",))

STRING_MAP = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
CHECKPOINT_SCHEMA = pa.schema(
    [
        ("txn", pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())])),
        (
            "add",
            pa.struct(
                [
                    ("path", pa.string()),
                    ("partitionValues", STRING_MAP),
                    ("size", pa.int64()),
                    ("modificationTime", pa.int64()),
                    ("dataChange", pa.bool_()),
                    ("tags", STRING_MAP),
                    ("deletionVector", VECTOR),
                    ("baseRowId", pa.int64()),
                    ("defaultRowCommitVersion", pa.int64()),
                    ("clusteringProvider", pa.string()),
                    ("stats", pa.string()),
                ]
            ),
        ),
        (
            "remove",
            pa.struct(
                [
                    ("path", pa.string()),
                    ("deletionTimestamp", pa.int64()),
                    ("dataChange", pa.bool_()),
                    ("extendedFileMetadata", pa.bool_()),
                    ("partitionValues", STRING_MAP),
                    ("size", pa.int64()),
                    ("deletionVector", VECTOR),
                ]
            ),
        ),
        (
            "metaData",
            pa.struct(
                [
                    ("id", pa.string()),
                    ("name", pa.string()),
                    ("format", pa.struct([("provider", pa.string()), ("options", STRING_MAP)])),
                    ("schemaString", pa.string()),
                    ("partitionColumns", pa.list_(pa.string())),
                    ("configuration", STRING_MAP),
                    ("createdTime", pa.int64()),
                ]
            ),
        ),
        (
            "protocol",
            pa.struct(
                [
                    ("minReaderVersion", pa.int32()),
                    ("minWriterVersion", pa.int32()),
                    ("readerFeatures", pa.list_(pa.string())),
                    ("writerFeatures", pa.list_(pa.string())),
                ]
            ),
        ),
        (
            "domainMetadata",
            pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
        ),
        ("checkpointMetadata", pa.struct([("version", pa.int64()), ("tags", STRING_MAP)])),
        (
            "sidecar",
            pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())]),
        ),
    ]
)


_UNKNOWN = b'{"unknown":{}}\n'


def add(path: str, **fields: Any) -> Add:
    return Add(**{"path": path, "size": 10, "modification_time": 1, "partition_values": {"day": "1"}, **fields})


def remove(path: str, **fields: Any) -> Remove:
    return Remove(**{"path": path, "deletion_timestamp": 5, **fields})


def json_lines(actions: Iterable[Action]) -> bytes:
    return b"".join(json.dumps(format_action(action)).encode() + b"\n" for action in actions)


def parquet_bytes(actions: Iterable[Action], schema: Any = CHECKPOINT_SCHEMA, **options: Any) -> bytes:
    rows = []
    for action in actions:
        row = format_action(action)
        body = row[action.WIRE_NAME]
        for name in ("partitionValues", "tags", "configuration"):
            if name in body and isinstance(body[name], dict):
                body[name] = list(body[name].items())
        if "format" in body:
            body["format"]["options"] = list(body["format"]["options"].items())
        rows.append(row)
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema), buffer, **options)
    return buffer.getvalue()


@dataclass
class LogWriter:
    """A log in a storage."""

    storage: Storage
    next_version: int = 0

    def commit(self, *actions: Action) -> int:
        """Writes a commit; without actions it contains an unknown action, since no commit is empty."""
        version = self.next_version
        self.put(commit_name(version), json_lines(actions) or _UNKNOWN)
        self.next_version += 1
        return version

    def create(self, *actions: Action) -> int:
        return self.commit(PROTOCOL, METADATA, *actions)

    def put(self, name: str, data: bytes) -> None:
        self.storage.write(f"{LOG_DIR}/{name}", data)

    def drop(self, *names: str) -> None:
        for name in names:
            self.storage.delete(f"{LOG_DIR}/{name}")

    def checkpoint(self, version: int, actions: Iterable[Action], **options: Any) -> None:
        self.put(checkpoint_name(version), parquet_bytes(actions, **options))

    def multi_part_checkpoint(self, version: int, actions: Iterable[Action], parts: int) -> None:
        rows = list(actions)
        for part in range(parts):
            self.put(checkpoint_part_name(version, part + 1, parts), parquet_bytes(rows[part::parts]))

    def sidecar(self, name: str, actions: Iterable[Action]) -> Sidecar:
        data = parquet_bytes(actions)
        self.put(f"_sidecars/{name}", data)
        return Sidecar(path=name, size_in_bytes=len(data), modification_time=1)

    def compaction(self, first: int, last: int, actions: Iterable[Action]) -> None:
        self.put(compaction_name(first, last), json_lines(actions) or _UNKNOWN)


@dataclass
class LogBuilder(LogWriter):
    """A log in memory."""

    storage: DictStorage = field(default_factory=DictStorage)


@dataclass
class NaiveTable:
    """A table's state, action by action."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    adds: dict[tuple[str, str | None], Add] = field(default_factory=dict)
    removes: dict[tuple[str, str | None], Remove] = field(default_factory=dict)
    transactions: dict[str, SetTransaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)

    def apply(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Add():
                    key = (action.file_path, action.dv_id)
                    self.removes.pop(key, None)
                    self.adds[key] = action
                case Remove():
                    key = (action.file_path, action.dv_id)
                    self.adds.pop(key, None)
                    self.removes[key] = action
                case Protocol():
                    self.protocol = action
                case Metadata():
                    self.metadata = action
                case SetTransaction():
                    self.transactions[action.app_id] = action
                case DomainMetadata():
                    self.domains[action.domain] = action
                case _:
                    pass

    def actions(self) -> list[Action]:
        """Returns the actions in a checkpoint for this state."""
        head = [action for action in (self.protocol, self.metadata) if action is not None]
        domains = [domain for domain in self.domains.values() if not domain.removed]
        return [*head, *self.transactions.values(), *domains, *self.adds.values(), *self.removes.values()]
