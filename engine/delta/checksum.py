"""Version checksums: `<version>.crc`, what a replay of that version must come to.

One JSON object with the number and size of the live files, protocol, metadata, transactions and domains. It is written
after a commit, once and never over an existing one, and is optional: whoever finds none does without.

Two ways to make one. `checksum_after` adds a commit to the checksum of the version before, which costs what the commit
costs; it declines where that would be a guess (no checksum before, a removed file of unknown size, a file added again).
`checksum_of` counts the files of a snapshot.

Protocol: "Version Checksum File".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.errors import MalformedLogEntry
from engine.delta.snapshot import Snapshot
from engine.delta.spec.actions import DomainMetadata, Json, Metadata, Protocol, SetTransaction
from engine.delta.spec.paths import LOG_DIR, checksum_name
from engine.delta.storage import Storage
from engine.delta.transaction import Committed

_SOURCE = "version checksum"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChecksum:
    """What the log says a version is."""

    table_size_bytes: int
    num_files: int
    metadata: Metadata
    protocol: Protocol
    txn_id: str | None = None
    in_commit_timestamp: int | None = None
    set_transactions: tuple[SetTransaction, ...] | None = None
    """None where the writer did not record them."""
    domain_metadata: tuple[DomainMetadata, ...] | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    """What other writers add: histograms, the files of a small table."""

    def to_json(self) -> dict[str, Json]:
        value: dict[str, Json] = {
            "txnId": self.txn_id,
            "tableSizeBytes": self.table_size_bytes,
            "numFiles": self.num_files,
            "numMetadata": 1,
            "numProtocol": 1,
            "inCommitTimestampOpt": self.in_commit_timestamp,
            "setTransactions": _to_json(self.set_transactions),
            "domainMetadata": _to_json(self.domain_metadata),
            "metadata": self.metadata.to_json(),
            "protocol": self.protocol.to_json(),
            **self.extra,
        }
        return {name: item for name, item in value.items() if item is not None}


def parse_checksum(data: bytes) -> VersionChecksum:
    """Raises `MalformedLogEntry`."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MalformedLogEntry(_SOURCE, f"no JSON ({error})") from error
    if not isinstance(value, dict):
        raise MalformedLogEntry(_SOURCE, "no object")
    for name in ("numMetadata", "numProtocol"):
        value.pop(name, None)
    return VersionChecksum(
        table_size_bytes=_count(value.pop("tableSizeBytes", None), "tableSizeBytes"),
        num_files=_count(value.pop("numFiles", None), "numFiles"),
        metadata=Metadata.from_json(value.pop("metadata", None)),
        protocol=Protocol.from_json(value.pop("protocol", None)),
        txn_id=_optional(value.pop("txnId", None), str, "txnId"),
        in_commit_timestamp=_optional(value.pop("inCommitTimestampOpt", None), int, "inCommitTimestampOpt"),
        set_transactions=_actions(value.pop("setTransactions", None), SetTransaction, "setTransactions"),
        domain_metadata=_actions(value.pop("domainMetadata", None), DomainMetadata, "domainMetadata"),
        extra=value,
    )


def read_checksum(storage: Storage, version: int) -> VersionChecksum | None:
    """The checksum of a version; None where there is none, or none that can be read: it is only ever a help."""
    try:
        return parse_checksum(storage.read_bytes(f"{LOG_DIR}/{checksum_name(version)}"))
    except (OSError, MalformedLogEntry):
        return None


def write_checksum(storage: Storage, version: int, checksum: VersionChecksum) -> bool:
    """False where the version has one already."""
    data = json.dumps(checksum.to_json(), separators=(",", ":"), ensure_ascii=False).encode()
    return storage.put_if_absent(f"{LOG_DIR}/{checksum_name(version)}", data)


def checksum_of(snapshot: Snapshot) -> VersionChecksum:
    """Counted from the files of a snapshot. The errors of reading them."""
    info = snapshot.commit_info
    return VersionChecksum(
        table_size_bytes=_sum(snapshot.files.column("size")),
        num_files=snapshot.files.num_rows,
        metadata=snapshot.metadata,
        protocol=snapshot.protocol,
        txn_id=info.txn_id if info else None,
        in_commit_timestamp=info.in_commit_timestamp if info else None,
        set_transactions=tuple(snapshot.set_transactions.values()),
        domain_metadata=tuple(snapshot.domain_metadata.values()),
    )


def checksum_after(previous: VersionChecksum | None, committed: Committed) -> VersionChecksum | None:
    """The checksum of a commit, from that of the version before it; None where only a count can tell."""
    config, staged = committed.config, committed.staged
    if previous is None and committed.version == 0:
        previous = VersionChecksum(
            table_size_bytes=0,
            num_files=0,
            metadata=config.metadata,
            protocol=config.protocol,
            set_transactions=(),
            domain_metadata=(),
        )
    if previous is None or not _is_countable(committed):
        return None
    return VersionChecksum(
        table_size_bytes=previous.table_size_bytes
        + _sum(committed.adds.column("size"))
        - _sum(staged.removes.column("size")),
        num_files=previous.num_files + committed.adds.num_rows - staged.removes.num_rows,
        metadata=config.metadata,
        protocol=config.protocol,
        txn_id=committed.txn_id,
        in_commit_timestamp=committed.timestamp_ms if config.is_enabled("inCommitTimestamp") else None,
        set_transactions=_transactions_after(previous.set_transactions, staged.set_transactions),
        domain_metadata=_domains_after(previous.domain_metadata, committed.domain_metadata),
    )


def _is_countable(committed: Committed) -> bool:
    """Does each add make one file more, and each remove one less, of known size?

    A remove is of a live file, or the commit would have lost to the one that removed it. An add that rearranges may be
    of a file that is there, unless the same commit removes that path.
    """
    adds, removes = committed.adds, committed.staged.removes
    if removes.column("size").null_count:
        return False
    again = adds.column("path").filter(pc.invert(adds.column("data_change")))
    return bool(pc.all(pc.is_in(again, value_set=removes.column("path"))).as_py())


def _transactions_after(
    before: tuple[SetTransaction, ...] | None, committed: tuple[SetTransaction, ...]
) -> tuple[SetTransaction, ...] | None:
    if before is None:
        return None
    return tuple({txn.app_id: txn for txn in (*before, *committed)}.values())


def _domains_after(
    before: tuple[DomainMetadata, ...] | None, committed: tuple[DomainMetadata, ...]
) -> tuple[DomainMetadata, ...] | None:
    if before is None:
        return None
    newest = {domain.domain: domain for domain in (*before, *committed)}
    return tuple(domain for domain in newest.values() if not domain.removed)


def _sum(column: Any) -> int:
    return int(pc.sum(column.cast(pa.int64()), min_count=0).as_py())


def _to_json(actions: tuple[SetTransaction, ...] | tuple[DomainMetadata, ...] | None) -> Json:
    return None if actions is None else [action.to_json() for action in actions]


def _count(value: Json, name: str) -> int:
    if type(value) is not int or value < 0:
        raise MalformedLogEntry(_SOURCE, f"{name} is no count")
    return value


def _optional(value: Json, kind: type, name: str) -> Any:
    if value is not None and type(value) is not kind:
        raise MalformedLogEntry(_SOURCE, f"{name} is no {kind.__name__}")
    return value


def _actions(value: Json, kind: Any, name: str) -> Any:
    if value is None:
        return None
    if not isinstance(value, list):
        raise MalformedLogEntry(_SOURCE, f"{name} is no array")
    return tuple(kind.from_json(item) for item in value)
