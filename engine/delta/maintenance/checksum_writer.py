"""Writes version checksums: once after a commit, and never over an existing one.

`checksum_after` adds a commit to the previous version's checksum, at a cost proportional to the commit. It returns None
if the result would be a guess (no previous checksum, a removed file with unknown size, a file added again).
`checksum_of` counts a snapshot's files.

Protocol: "Version Checksum File".
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.commit.transaction import Committed
from engine.delta.snapshot.checksum import VersionChecksum, format_checksum
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import DomainMetadata, SetTransaction
from engine.delta.spec.paths import LOG_DIR, checksum_name
from engine.storage.storage import Storage
from engine.types.arrow_types import RecordBatch

_TXN_ID = "txnId"


def write_checksum(storage: Storage, version: int, checksum: VersionChecksum) -> bool:
    """Writes the checksum. Returns False if the version already has one."""
    # "Version Checksum File": it must not change once written. An incomplete file is
    # readable as malformed, therefore `in_place` is allowed here though not for commits.
    return storage.put_if_absent(f"{LOG_DIR}/{checksum_name(version)}", format_checksum(checksum), in_place=True)


def checksum_of(snapshot: Snapshot) -> VersionChecksum:
    """Computes the checksum from a snapshot's files. Raises the errors of reading them."""
    info = snapshot.commit_info
    vectors = snapshot.files.column("deletion_vector")
    return VersionChecksum(
        table_size_bytes=_sum(snapshot.files.column("size")),
        num_files=snapshot.files.num_rows,
        protocol=snapshot.protocol,
        metadata=snapshot.metadata,
        in_commit_timestamp=info.in_commit_timestamp if info else None,
        set_transactions=tuple(snapshot.set_transactions.values()),
        domain_metadata=tuple(snapshot.domain_metadata.values()),
        num_deleted_records=_deleted_rows(vectors),
        num_deletion_vectors=_vectors(vectors),
        extra={_TXN_ID: info.txn_id} if info and info.txn_id else {},
    )


def checksum_after(previous: VersionChecksum | None, committed: Committed) -> VersionChecksum | None:
    """Computes a commit's checksum from the previous version's; None if only counting can determine it."""
    config, adds, removes = committed.config, committed.adds, committed.staged.removes
    if previous is None and committed.version == 0:
        previous = _empty(committed)
    if previous is None or not _is_countable(adds, removes):
        return None
    return VersionChecksum(
        table_size_bytes=previous.table_size_bytes + _sum(adds.column("size")) - _sum(removes.column("size")),
        num_files=previous.num_files + adds.num_rows - removes.num_rows,
        protocol=config.protocol,
        metadata=config.metadata,
        in_commit_timestamp=committed.timestamp_ms if config.is_enabled("inCommitTimestamp") else None,
        set_transactions=_transactions_after(previous, committed.staged.set_transactions),
        domain_metadata=_domains_after(previous, committed.domain_metadata),
        num_deleted_records=_count_after(previous.num_deleted_records, _deleted_rows, adds, removes),
        num_deletion_vectors=_count_after(previous.num_deletion_vectors, _vectors, adds, removes),
        extra={_TXN_ID: committed.txn_id},
    )


def _empty(committed: Committed) -> VersionChecksum:
    """Returns the checksum before version 0."""
    return VersionChecksum(
        table_size_bytes=0,
        num_files=0,
        protocol=committed.config.protocol,
        metadata=committed.config.metadata,
        set_transactions=(),
        domain_metadata=(),
        num_deleted_records=0,
        num_deletion_vectors=0,
    )


def _is_countable(adds: RecordBatch, removes: RecordBatch) -> bool:
    """Returns whether each add adds one file and each remove removes one with known size.

    A remove refers to a live file; otherwise the commit would have lost to the one that removed it. An add without data
    change may refer to an existing file, unless the same commit removes that path.
    """
    if removes.column("size").null_count:
        return False
    again = adds.column("path").filter(pc.invert(adds.column("data_change")))
    return bool(pc.all(pc.is_in(again, value_set=removes.column("path")), min_count=0).as_py())


def _transactions_after(
    previous: VersionChecksum, committed: tuple[SetTransaction, ...]
) -> tuple[SetTransaction, ...] | None:
    if previous.set_transactions is None:
        return None
    return tuple({txn.app_id: txn for txn in (*previous.set_transactions, *committed)}.values())


def _domains_after(
    previous: VersionChecksum, committed: tuple[DomainMetadata, ...]
) -> tuple[DomainMetadata, ...] | None:
    if previous.domain_metadata is None:
        return None
    newest = {domain.domain: domain for domain in (*previous.domain_metadata, *committed)}
    return tuple(domain for domain in newest.values() if not domain.removed)


def _count_after(previous: int | None, count: Any, adds: RecordBatch, removes: RecordBatch) -> int | None:
    if previous is None:
        return None
    return int(previous + count(adds.column("deletion_vector")) - count(removes.column("deletion_vector")))


def _sum(column: Any) -> int:
    return int(pc.sum(column.cast(pa.int64()), min_count=0).as_py())


def _deleted_rows(vectors: Any) -> int:
    return _sum(pc.struct_field(vectors, "cardinality"))


def _vectors(vectors: Any) -> int:
    return len(vectors) - int(vectors.null_count)
