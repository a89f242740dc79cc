"""Builds a new snapshot's manifests: the parent's without removed files, and manifests with added files.

    staged = StagedManifests(storage, table, snapshot_id, snapshot.entries_of)
    staged.add(entries)                       # written files: data, position deletes, deletion vectors
    staged.remove(entries)                    # live entries of the parent to remove
    found = staged.on(head_manifests)         # for each attempt: the manifests of the list, and the summary's counts
    write_manifest_list(storage, table, found.manifests, ...)

A parent's manifest is rewritten only if it contains a removed file: remaining entries get the status `EXISTING` and all
inherited values, removed ones `DELETED`. Rewritten manifests are cached for the next attempt, by the replaced
manifest's path. Manifests without live files are dropped from the list.

Removing a data file also removes the deletion vectors and position deletes that name it alone. A delete manifest that
is rewritten loses deletes older than every data file.

Many small manifests are merged into one, as configured by the properties `commit.manifest.min-count-to-merge`,
`commit.manifest.target-size-bytes` and `commit.manifest-merge.enabled`.

Adjacent manifests with the same spec and content kind are merged; a group is rewritten once it has min-count-to-merge
manifests, so that entries in a table with many small commits are rewritten once per so many commits.

Source: Iceberg table specification, "Manifests", "Snapshots", "Scan Planning".
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.iceberg.manifests.manifest import ADDED, DATA, DELETED, EXISTING, SPEC_ID
from engine.iceberg.manifests.manifest_list import Manifest
from engine.iceberg.writing.manifest_writer import UNASSIGNED, write_manifests
from engine.iceberg.writing.snapshot_summary import FileCounts, counts_of, num_partitions, summary_of
from engine.iceberg.writing.written_table import WrittenTable
from engine.storage.storage import Storage

# Returns manifests' live entries, with all inherited values (`IcebergSnapshot.entries_of`).
EntriesOf = Callable[[Sequence[Manifest]], Sequence[pa.Table]]
_NO_ENTRIES: Mapping[str, int | str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestsOnSnapshot:
    """The manifests on a head. `missing` are paths to remove that are not live any more; if any, nothing was
    written.
    """

    manifests: tuple[Manifest, ...]
    added: FileCounts
    removed: FileCounts
    missing: tuple[str, ...]
    num_partitions: int
    num_created: int
    num_reused: int
    num_replaced: int

    def summary(
        self, operation: str, parent: Mapping[str, str] | None, others: Mapping[str, int | str] = _NO_ENTRIES
    ) -> dict[str, str]:
        """Returns the snapshot's summary; `parent` is its parent's."""
        counts = {
            "changed-partition-count": self.num_partitions,
            "manifests-created": self.num_created,
            "manifests-kept": self.num_reused,
            "manifests-replaced": self.num_replaced,
        }
        return summary_of(operation, self.added, self.removed, parent, {**counts, **others})


@dataclass
class StagedManifests:
    """One transaction's manifests, for one thread."""

    storage: Storage
    table: WrittenTable
    snapshot_id: int
    entries_of: EntriesOf
    # The partition spec whose manifests are all merged.
    rewritten_spec_id: int | None = None
    token: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __post_init__(self) -> None:
        self._added: list[pa.Table] = []
        self._removed: dict[str, str] = {}
        self._new: list[Manifest] | None = None
        self._rewritten: dict[tuple[str, ...], _Rewritten] = {}
        self._count = 0
        # Manifests written by this transaction, by name in the table's folder; orphans if it is not committed.
        self.written: list[str] = []

    def add(self, entries: pa.Table) -> None:
        """Adds files with the `ENTRIES` columns, `SPEC_ID` and partition values; entries without a status are added
        ones.
        """
        if entries.num_rows:
            self._added.append(self._with_added_status(entries))
            self._new = None

    def remove(self, entries: pa.Table) -> None:
        """Removes live files, identified by path and, in Puffin files, by offset."""
        # What was rewritten for an earlier attempt lacks the files that are removed now.
        self._rewritten.clear()
        self._removed |= dict(zip(_keys(entries), entries["file_path"].to_pylist(), strict=True))

    @property
    def is_empty(self) -> bool:
        """Returns True if no file is added or removed."""
        return not self._added and not self._removed

    def _with_added_status(self, entries: pa.Table) -> pa.Table:
        ids = pa.repeat(self.snapshot_id, entries.num_rows).cast(pa.int64())
        return _with(_with_status(entries, ADDED), "snapshot_id", ids)

    def on(self, current: Sequence[Manifest]) -> ManifestsOnSnapshot:
        """Returns the manifests for a snapshot after the one with `current`. Raises reading and writing errors."""
        new = self._new_manifests()
        remaining, replaced, found, gone = self._reused_manifests(current)
        # This commit's own manifests are not merged: a later commit merges them once there are many.
        merged = [*new, *replaced, *self._merge(remaining)]
        paths = {each.path for each in merged}
        known = {each.path for each in current}
        return ManifestsOnSnapshot(
            manifests=tuple(merged),
            added=counts_of(self._added),
            removed=counts_of(gone),
            num_partitions=num_partitions([*self._added, *gone]),
            missing=tuple(path for key, path in self._removed.items() if key not in found),
            num_created=len(paths - known),
            num_reused=len(paths & known),
            num_replaced=len(known - paths),
        )

    # --- Added files ---

    def _new_manifests(self) -> list[Manifest]:
        if self._new is None:
            found = []
            for entries in self._added_groups():
                found += self._write(entries, entries[SPEC_ID][0].as_py())
            self._new = found
        return self._new

    def _added_groups(self) -> list[pa.Table]:
        """Returns groups with one spec and one content kind each: data files before deletes."""
        if not self._added:
            return []
        entries = pa.concat_tables(self._added, promote_options="default")
        groups = []
        for has_deletes in (False, True):
            kind = entries.filter(pc.equal(pc.not_equal(entries["content"], DATA), has_deletes))
            for spec_id in sorted(set(kind[SPEC_ID].to_pylist())):
                groups.append(kind.filter(pc.equal(kind[SPEC_ID], spec_id)))
        return groups

    def _write(self, entries: pa.Table, spec_id: int) -> list[Manifest]:
        self._count += 1
        found = write_manifests(
            self.storage, self.table, entries, spec_id, self.snapshot_id, f"{self.token}-m{self._count}"
        )
        self.written += [each.path.removeprefix(f"{self.table.location}/") for each in found]
        return found

    # --- Existing files ---

    def _reused_manifests(
        self, current: Sequence[Manifest]
    ) -> tuple[list[Manifest], list[Manifest], set[str], list[pa.Table]]:
        """Returns unchanged manifests, replacement manifests, the removed files' keys, and their entries."""
        live = [self._with_counts(each) for each in current if not _has_no_files(each)]
        if not self._removed:
            return live, [], set(), []
        data = [each for each in live if not each.has_deletes]
        deletes = [each for each in live if each.has_deletes]
        remaining, replaced, found, gone = self._without(data, frozenset(), None)
        # "Scan Planning": a delete that is older than all live data files applies to none.
        # Its entry may go, but only when its manifest is rewritten anyway.
        numbers = [each.min_sequence_number for each in (*remaining, *replaced, *self._new_manifests())]
        oldest = min((number for number in numbers if number != UNASSIGNED), default=None)
        names = frozenset(path for part in gone for path in part["file_path"].to_pylist())
        others = self._without(deletes, names, oldest)
        return [*remaining, *others[0]], [*replaced, *others[1]], found | others[2], [*gone, *others[3]]

    def _without(
        self, manifests: Sequence[Manifest], data_files: frozenset[str], oldest: int | None
    ) -> tuple[list[Manifest], list[Manifest], set[str], list[pa.Table]]:
        remaining: list[Manifest] = []
        replaced: list[Manifest] = []
        found: set[str] = set()
        gone: list[pa.Table] = []
        for manifest, entries in zip(manifests, self.entries_of(manifests), strict=True):
            again = self._rewritten.get((manifest.path,))
            if again is None:
                again = self._rewrite(manifest, entries, data_files, oldest)
            if again is None:
                remaining.append(manifest)
                continue
            replaced += again.manifests
            found |= again.keys
            gone.append(again.gone)
        return remaining, replaced, found, gone

    def _rewrite(
        self, manifest: Manifest, entries: pa.Table, data_files: frozenset[str], oldest: int | None
    ) -> _Rewritten | None:
        """Rewrites a manifest; returns None if it contains no removed file."""
        keys = _keys(entries)
        goes = np.fromiter((key in self._removed for key in keys), bool, len(keys))
        if manifest.has_deletes and data_files:
            # "Deletion Vectors": a vector whose data file is removed must be removed as
            # well.
            goes |= pc.is_in(entries["referenced_data_file"], value_set=pa.array(sorted(data_files))).to_numpy()
        if not goes.any():
            return None
        if manifest.has_deletes and oldest is not None:
            goes |= pc.less(entries["sequence_number"], oldest).to_numpy()
        status = pa.array(np.where(goes, DELETED, EXISTING).astype(np.int8))
        # "Manifests": the snapshot id of a deleted entry is the snapshot that deletes it;
        # an existing entry keeps the one that added it.
        ids = pc.if_else(pa.array(goes), pa.scalar(self.snapshot_id, pa.int64()), entries["snapshot_id"])
        changed = _with(_with(entries, "status", status), "snapshot_id", ids)
        again = _Rewritten(
            manifests=tuple(self._write(changed, manifest.spec_id)),
            keys=frozenset(key for key, gone in zip(keys, goes, strict=True) if gone),
            gone=entries.filter(pa.array(goes)),
        )
        self._rewritten[(manifest.path,)] = again
        return again

    def _with_counts(self, manifest: Manifest) -> Manifest:
        """Adds counts that v1 lists may omit and later versions require."""
        if manifest.length is not None and None not in (*manifest.added, *manifest.existing, *manifest.deleted):
            return manifest
        (entries,) = self.entries_of([manifest])
        added = pc.equal(entries["status"], ADDED)
        rows = entries["record_count"]
        new, old = rows.filter(added), rows.filter(pc.invert(added))
        length = manifest.length
        if length is None:
            length = self.storage.stat(manifest.path.removeprefix(f"{self.table.location}/")).size
        return replace(
            manifest,
            length=length,
            added=(len(new), pc.sum(new).as_py() or 0),
            existing=(len(old), pc.sum(old).as_py() or 0),
            deleted=(manifest.deleted[0] or 0, manifest.deleted[1] or 0),
        )

    # --- Merging ---

    def _merge(self, manifests: Sequence[Manifest]) -> list[Manifest]:
        """Merges manifests; each group takes its first one's place."""
        found: list[Manifest] = []
        for group in merge_groups(manifests, self.table, self.rewritten_spec_id):
            key = tuple(each.path for each in group)
            is_again = len(group) > 1 or group[0].spec_id == self.rewritten_spec_id
            if is_again and key not in self._rewritten:
                entries = pa.concat_tables(
                    [_with_status(part, EXISTING) for part in self.entries_of(group)], promote_options="default"
                )
                written = tuple(self._write(entries, group[0].spec_id))
                self._rewritten[key] = _Rewritten(written, frozenset(), entries.slice(0, 0))
            found += self._rewritten[key].manifests if is_again else group
        return found


@dataclass(frozen=True, slots=True)
class _Rewritten:
    """Replacement `manifests`; `keys` for the removed files, which are `gone`."""

    manifests: tuple[Manifest, ...]
    keys: frozenset[str]
    gone: pa.Table


def _with(entries: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return entries.set_column(entries.schema.get_field_index(name), name, values)


def _with_status(entries: pa.Table, status: int) -> pa.Table:
    return _with(entries, "status", pa.repeat(status, entries.num_rows).cast(pa.int8()))


def _has_no_files(manifest: Manifest) -> bool:
    """Returns True if all its files are known to be removed."""
    return manifest.added[0] == 0 and manifest.existing[0] == 0


def _keys(entries: pa.Table) -> list[str]:
    """Returns the file identities: a path, and the offset if it has one."""
    paths, offsets = entries["file_path"].to_pylist(), entries["content_offset"].to_pylist()
    return [path if offset is None else f"{path}\0{offset}" for path, offset in zip(paths, offsets, strict=True)]


_MIN_COUNT = "commit.manifest.min-count-to-merge"
_MIN_COUNT_DEFAULT = 100
_ENABLED = "commit.manifest-merge.enabled"


def merge_groups(
    manifests: Sequence[Manifest], table: WrittenTable, whole_spec_id: int | None = None
) -> list[list[Manifest]]:
    """Groups all manifests; a single one remains unchanged. With `whole_spec_id`, all manifests with that spec and one
    content kind form a group.
    """
    if whole_spec_id is None and not table.flag(_ENABLED, True):
        return [[each] for each in manifests]
    minimum = table.integer(_MIN_COUNT, _MIN_COUNT_DEFAULT)
    kinds: dict[tuple[bool, int], list[Manifest]] = {}
    for each in manifests:
        # "Manifests": one manifest has one partition spec, and either data files or delete
        # files.
        kinds.setdefault((each.has_deletes, each.spec_id), []).append(each)
    found: list[list[Manifest]] = []
    for (_, spec_id), listed in kinds.items():
        if spec_id == whole_spec_id:
            found.append(listed)
            continue
        # Manifests with a spec that the metadata no longer has cannot be written again:
        # their partition type is unknown.
        if whole_spec_id is not None or spec_id not in table.specs:
            found += [[each] for each in listed]
            continue
        for group in _pack(listed, table.manifest_target_bytes):
            found += [group] if len(group) >= max(minimum, 2) else [[each] for each in group]
    return found


def _pack(manifests: Sequence[Manifest], target_bytes: int) -> Iterable[list[Manifest]]:
    group: list[Manifest] = []
    size = 0
    for each in manifests:
        length = each.length or 0
        if group and size + length > target_bytes:
            yield group
            group, size = [], 0
        group.append(each)
        size += length
    if group:
        yield group
