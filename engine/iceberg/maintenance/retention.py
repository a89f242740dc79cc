"""Computes the snapshots and references that expire, from one metadata version alone.

A branch other than main, or a tag, expires if its snapshot is older than its `max-ref-age-ms`. A retained reference
retains its snapshot; a branch also retains its ancestors that are young enough or among the first few. Snapshots
outside all references are retained while they are young enough. Limits come from the reference, else from the
statement, else from the table's properties.

Source: Iceberg table specification, "Snapshot Retention Policy"; Java's `RemoveSnapshots` for snapshots without
references.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from engine.iceberg.snapshot.metadata_tables import ancestry
from engine.iceberg.spec.metadata import MAIN, Reference, TableMetadata

SNAPSHOT_AGE_MAX = "history.expire.max-snapshot-age-ms"
SNAPSHOTS_MIN = "history.expire.min-snapshots-to-keep"
REFERENCE_AGE_MAX = "history.expire.max-ref-age-ms"
_SNAPSHOT_AGE_MAX_MS = 5 * 24 * 3600 * 1000
_NO_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """A statement's retention options. `named` snapshots expire at any age."""

    now_ms: int
    older_than_ms: int | None = None
    keep: int | None = None
    named: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """The result. `references` are names; `referenced` has named snapshots that cannot expire, with their
    references.
    """

    snapshots: frozenset[int]
    references: tuple[str, ...]
    referenced: Mapping[int, tuple[str, ...]]


def find_expired(metadata: TableMetadata, retention: Retention, used: Collection[int] = ()) -> Expired:
    """Returns the expired snapshots and references; `used` snapshots are retained."""
    default_age_ms = _property(metadata, SNAPSHOT_AGE_MAX, _SNAPSHOT_AGE_MAX_MS)
    oldest_ms = retention.now_ms - default_age_ms if retention.older_than_ms is None else retention.older_than_ms
    keep = _property(metadata, SNAPSHOTS_MIN, 1) if retention.keep is None else retention.keep
    retained_references, gone_references = _references(metadata, retention.now_ms)
    retained: set[int] = set(used) - retention.named
    for reference in retained_references:
        retained.add(reference.snapshot_id)
        if reference.is_branch:
            retained |= _of_branch(metadata, reference, retention.now_ms, oldest_ms, keep)
    led = _led_to(metadata, retained_references)
    retained |= {each.snapshot_id for each in metadata.snapshots.values()
             if each.snapshot_id not in led and each.timestamp_ms >= oldest_ms}  # fmt: skip
    referenced: dict[int, tuple[str, ...]] = {}
    for reference in retained_references:
        if reference.snapshot_id in retention.named:
            referenced[reference.snapshot_id] = (*referenced.get(reference.snapshot_id, ()), reference.name)
    return Expired(
        snapshots=frozenset(id for id in metadata.snapshots if id not in retained or id in retention.named),
        references=tuple(reference.name for reference in gone_references),
        referenced=referenced,
    )


def _references(metadata: TableMetadata, now_ms: int) -> tuple[list[Reference], list[Reference]]:
    """Returns retained and expired references."""
    default_ms = _property(metadata, REFERENCE_AGE_MAX, _NO_LIMIT)
    retained: list[Reference] = []
    gone: list[Reference] = []
    for reference in metadata.refs.values():
        info = metadata.snapshots.get(reference.snapshot_id)
        age_max_ms = default_ms if reference.max_ref_age_ms is None else reference.max_ref_age_ms
        # "Snapshot Retention Policy": main never expires.
        stays = reference.name == MAIN or (info is not None and now_ms - info.timestamp_ms <= age_max_ms)
        (retained if stays else gone).append(reference)
    return retained, gone


def _of_branch(metadata: TableMetadata, branch: Reference, now_ms: int, oldest_ms: int, keep: int) -> set[int]:
    if branch.max_snapshot_age_ms is not None:
        oldest_ms = now_ms - branch.max_snapshot_age_ms
    keep = keep if branch.min_snapshots_to_keep is None else branch.min_snapshots_to_keep
    retained: set[int] = set()
    for each in ancestry(metadata, metadata.snapshots.get(branch.snapshot_id)):
        # The ancestors are in descending order: the first that is too old ends the walk,
        # and all below it expire.
        if len(retained) >= keep and each.timestamp_ms < oldest_ms:
            break
        retained.add(each.snapshot_id)
    return retained


def _led_to(metadata: TableMetadata, references: Iterable[Reference]) -> set[int]:
    """Returns the ancestors that references retain; a tag retains its snapshot alone."""
    found: set[int] = set()
    for reference in references:
        info = metadata.snapshots.get(reference.snapshot_id)
        found |= (
            {each.snapshot_id for each in ancestry(metadata, info)} if reference.is_branch else {reference.snapshot_id}
        )
    return found


def _property(metadata: TableMetadata, key: str, default: int) -> int:
    """Returns an integer property; other writers may have set an invalid value, then the safe default."""
    text = metadata.properties.get(key, "")
    return int(text) if text.removeprefix("-").isdecimal() else default
