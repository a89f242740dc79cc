"""The protocol's requirements for every commit, checked before anything is written.

`COMMIT_CHECKS` is a tuple of checks. Each raises a named error or returns nothing, given the staged commit and the
table's configuration after it. They apply to all callers, so that no code path in the engine can write a log that
violates the protocol. Requirements for *rows* (constraints, generated columns) are enforced when rows are written.

Protocol: "Delta Log Entries" in the writer requirements, "Consistency Between Table Metadata and Data Files",
"Append-only Tables", "Writer Requirement for Deletion Vectors", "Writer Requirements for Domain Metadata".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import (
    CannotModifyAppendOnly,
    DeletionVectorsDisallowed,
    DeletionVectorWithoutRowCount,
    DomainMetadataNotSupported,
    DuplicateActions,
    DuplicateDomainMetadata,
    InvalidProtocolDowngrade,
    MissingPartitionColumn,
)
from engine.delta.commit.staged_commit import StagedCommit
from engine.delta.definition.schema_validation import ensure_schema
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.log.file_table import file_keys
from engine.delta.snapshot.row_files import num_records
from engine.delta.spec import properties
from engine.delta.spec.actions import Protocol
from engine.delta.spec.features import FEATURES, is_listed
from engine.delta.spec.properties import ensure_consistent
from engine.delta.spec.protocols import protocol_features
from engine.types.arrow_types import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCommit:
    """A staged commit with the table's configuration before and after it."""

    staged: StagedCommit
    # None: the commit creates the table.
    before: DeltaConfig | None
    after: DeltaConfig
    # Features that this commit intentionally removes from the protocol.
    drops: frozenset[str]


CommitCheck: TypeAlias = Callable[[PendingCommit], None]


def ensure_commit_checks(pending: PendingCommit) -> None:
    """Raises the error from the first failing check."""
    for check in COMMIT_CHECKS:
        check(pending)


def _metadata_is_sound(pending: PendingCommit) -> None:
    after = pending.after
    after.ensure_protocol_carries_metadata(pending.before)
    if pending.staged.metadata is not None:
        ensure_consistent(after.metadata.configuration)
        ensure_schema(after)


def _protocol_never_weakens(pending: PendingCommit) -> None:
    before, after = pending.before, pending.after
    if before is None or pending.staged.protocol is None:
        return
    # The protocol never loses a feature silently: older versions and files written under it
    # still need it for reading.
    lost = {name for name in before.features if not is_listed(name, after.features)}
    if lost - pending.drops:
        raise InvalidProtocolDowngrade(after.table, _describe(before.protocol), _describe(after.protocol))
    for name in after.features - before.features:
        missing = [other for other in FEATURES[name].requires if not after.is_supported(other)]
        assert not missing, f"{name} without {missing}: protocols are made by engine.delta.spec.protocols"


def _ensure_one_action_per_file(pending: PendingCommit) -> None:
    adds, removes = pending.staged.adds, pending.staged.removes
    # Two adds with the same path are always wrong, even with different deletion vectors. An add and a remove may share
    # a path.
    texts = [adds.column("path")]
    if removes.num_rows:
        # "Action Reconciliation": the result for two actions with one identity in a commit
        # would depend on their order, which the protocol does not define.
        texts.append(pa.concat_arrays([file_keys(adds), file_keys(removes)]))
    for keys in texts:
        twice = _first_duplicate(keys)
        if twice is not None:
            raise DuplicateActions(pending.after.table, f"the file {twice.partition(chr(0))[0]}")


def _ensure_one_action_per_application(pending: PendingCommit) -> None:
    twice = _first_repeated(txn.app_id for txn in pending.staged.set_transactions)
    if twice is not None:
        raise DuplicateActions(pending.after.table, f"the application id {twice}")


def _ensure_one_action_per_domain(pending: PendingCommit) -> None:
    domains = [domain.domain for domain in pending.staged.domain_metadata]
    twice = _first_repeated(domains)
    if twice is not None:
        raise DuplicateDomainMetadata(pending.after.table, twice)
    # Writers that do not support the feature may lose the domain at their next checkpoint.
    if domains and not pending.after.is_supported("domainMetadata"):
        raise DomainMetadataNotSupported(pending.after.table, ", ".join(domains))


def _append_only(pending: PendingCommit) -> None:
    after, removes = pending.after, pending.staged.removes
    if after.get(properties.APPEND_ONLY):
        # "Append-only Tables": rearranging files is allowed, so that OPTIMIZE works; only a
        # change of data is refused.
        if pc.any(removes.column("data_change")).as_py():
            raise CannotModifyAppendOnly(after.table)


def _partition_values_complete(pending: PendingCommit) -> None:
    after, adds = pending.after, pending.staged.adds
    # Physical names: with column mapping `partitionValues` is keyed by them in both modes
    # ("Writer Requirements for Column Mapping").
    expected = after.partition_keys
    values = adds.column("partition_values")
    if adds.num_rows == 0:
        return
    lengths = pc.subtract(values.offsets.slice(1), values.offsets.slice(0, len(values)))
    incomplete = pc.fill_null(pc.not_equal(lengths, len(expected)), True)
    for column in expected:
        # A value may be null, so the check looks for the key.
        incomplete = pc.or_(incomplete, pc.invert(_has_key(values, column)))
    row = pc.index(incomplete, True).as_py()
    if row >= 0:
        raise MissingPartitionColumn(after.table, adds.column("path")[row].as_py(), f"({', '.join(expected)})")


def _ensure_deletion_vectors_allowed(pending: PendingCommit) -> None:
    after, adds = pending.after, pending.staged.adds
    vectors = adds.column("deletion_vector")
    if vectors.null_count == len(vectors):
        return
    with_vector = adds.filter(vectors.is_valid())
    paths = with_vector.column("path")
    if not after.is_supported("deletionVectors"):
        raise DeletionVectorsDisallowed(after.table, paths[0].as_py())
    # "Writer Requirement for Deletion Vectors": `numRecords` is mandatory, since the
    # number of live rows is computed from it and the vector's cardinality.
    counts = num_records(with_vector.column("stats"))
    if counts.null_count:
        raise DeletionVectorWithoutRowCount(after.table, paths.filter(counts.is_null())[0].as_py())


COMMIT_CHECKS: tuple[CommitCheck, ...] = (
    _metadata_is_sound,
    _protocol_never_weakens,
    _ensure_one_action_per_file,
    _ensure_one_action_per_application,
    _ensure_one_action_per_domain,
    _append_only,
    _partition_values_complete,
    _ensure_deletion_vectors_allowed,
)


def _has_key(maps: Array, key: str) -> Array:
    """Returns whether each map contains `key`."""
    keys = pa.ListArray.from_arrays(maps.offsets, pc.equal(maps.keys, key))
    parents = pc.list_parent_indices(keys)
    found = pc.list_flatten(keys)
    rows = parents.filter(found)
    return pc.is_in(pa.array(np.arange(len(maps)), parents.type), value_set=rows)


def _first_duplicate(keys: Array) -> str | None:
    if pc.count_distinct(keys).as_py() == len(keys):
        return None
    counts = pc.value_counts(keys)
    row = pc.index(pc.greater(counts.field("counts"), 1), True).as_py()
    return str(counts.field("values")[row].as_py())


def _first_repeated(items: Iterable[str]) -> str | None:
    seen: set[Hashable] = set()
    for item in items:
        if item in seen:
            return item
        seen.add(item)
    return None


def _describe(protocol: Protocol) -> str:
    features = sorted(protocol_features(protocol))
    return f"({protocol.min_reader_version}, {protocol.min_writer_version}, {', '.join(features) or 'no features'})"
