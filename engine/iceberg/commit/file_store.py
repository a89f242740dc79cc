"""Metadata store for a table in a folder: version N + 1 is a file that exactly one writer creates, by put-if-absent.

    base v<N> ─► requirements, updates ─► put v<N+1> if absent ─► version-hint.text

The hint is replaced after the commit. It may be stale, or the replacement may fail: readers search forward from it
(`metadata_files`). A version's file name depends on its compression, so no spelling of N + 1 may exist. Our spelling
follows from the properties in version N, and is therefore the same for all writers that start from it. For that reason
the first version is never compressed.

A put with an unknown outcome is resolved by reading the file back: the commit is ours if the file has our bytes. These
contain a new snapshot's id, or the time in milliseconds, which no other writer has.

CONVERT TO DELTA writes a log in the same folder that names the table's files. It looks for a later metadata version
after its log is written; a commit here looks for a log after its version is written. So at least one detects the other.

Other engines write these tables too. Java's implementation checks that the next version is absent and then renames. On
a local disk the rename replaces a file that was created in between, so two engines must not write the same local table
concurrently.

A commit copies the base's JSON into the next version, and looks up objects in it by their ids. Other writers may have
written objects without ids, so `ensure_whole` checks more than readers do.

Source: Iceberg table specification, "File System Tables".
"""

from __future__ import annotations

import gzip
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias
from uuid import uuid4

from catalog.conditions import (
    CommitOutcomeUnknown,
    CommittedWhileConverted,
    ConcurrentDrop,
    IcebergCommitFailed,
    IcebergTableIsStatic,
    IcebergUpdateRefused,
    MalformedIcebergFile,
)
from catalog.errors import SqlError
from catalog.store.files import LOG_FOLDER, is_version
from engine.iceberg.commit.fold import apply, new_metadata, unmet
from engine.iceberg.commit.metadata_files import (
    HINT,
    find_neighbors,
    find_status,
    find_version,
    list_versions,
    load_newest,
    name_of,
    newest_metadata,
    version_of,
)
from engine.iceberg.commit.metadata_store import LoadedMetadata
from engine.iceberg.commit.updates import Json, Requirement, SetLocation, Update
from engine.iceberg.spec.metadata import parse_json, read_metadata
from engine.storage.confirmed_put import FolderGone, PutOutcomeUnknown, PutRefused, StorageRetries, put_confirmed
from engine.storage.storage import FileStatus, Storage

logger = logging.getLogger(__name__)

COMPRESSION = "write.metadata.compression-codec"
VERSIONS_MAX = "write.metadata.previous-versions-max"
DELETE_OLD = "write.metadata.delete-after-commit.enabled"
_VERSIONS_MAX_DEFAULT = 100
_FIRST = 1


# Returns the bytes for a key, which are read if they are absent.
FileCache: TypeAlias = Callable[[tuple[object, ...], Callable[[], bytes]], bytes]


def clock_ms() -> int:
    """Returns the milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMetadataStore:
    """A metadata store on `storage`, the table's folder. `clock` returns milliseconds since the epoch.

    `cache` returns the bytes of metadata files.
    """

    storage: Storage
    clock: Callable[[], int]
    cache: FileCache = field(default=lambda key, read: read(), repr=False)
    retries: StorageRetries = field(default_factory=StorageRetries)

    @property
    def location(self) -> str:
        """Returns the location for a new table, with its scheme."""
        root = self.storage.root
        return root if "://" in root else f"file://{root}"

    def load(self) -> LoadedMetadata:
        """Loads the newest version. Raises like `MetadataStore.load`, and `AmbiguousIcebergMetadata`."""
        return load_newest(self.storage, self._load)

    def _load(self, name: str, status: FileStatus | None) -> LoadedMetadata:
        # The stamp is taken before the read: if the file is replaced in between, a later
        # comparison finds the difference.
        stamp = status or self.storage.stat(name)
        value = parse_json(read_metadata_file(self.storage, name, stamp, self.cache), name)
        metadata = read_metadata(value, name, self.storage.root)
        ensure_whole(value, name)
        return LoadedMetadata(name=name, metadata=metadata, json=value, stamp=stamp)

    def commit(
        self, base: LoadedMetadata | None, requirements: Sequence[Requirement], updates: Sequence[Update]
    ) -> LoadedMetadata | None:
        """Commits the next version.

        Raises like `MetadataStore.commit`, and `IcebergTableIsStatic`, `IcebergCommitFailed`, `StorageNotWritable`.
        """
        self.storage.ensure_writable()
        if any(isinstance(update, SetLocation) for update in updates):
            raise IcebergUpdateRefused(self.storage.root, "a table in a folder is where its metadata is")
        # The requirements are what a REST catalog would check. Here the base itself is the
        # newest version, so that an unmet one means that another writer was faster.
        if unmet(requirements, None if base is None else base.json) is not None:
            return None
        if base is None:
            return self._create(updates)
        version = version_of(base.name)
        if version is None:
            raise IcebergTableIsStatic(self.storage.root, base.name)
        value = apply(base.json, updates, self.clock())
        dropped = _log_metadata(value, base)
        # The base's property decides, not the new one's: two writers on one base must try
        # the same file name, or both puts would succeed.
        compressed = base.metadata.properties.get(COMPRESSION, "none").lower() == "gzip"
        name = name_of(version + 1, compressed=compressed)
        # Put-if-absent protects the name `v<N+1>` only. After DROP and CREATE in the same
        # folder that name may be free again, in another table. Another engine may spell the
        # version differently (`.gz.metadata.json`), which put-if-absent cannot see.
        found, after = find_neighbors(self.storage, base.name, version)
        if not _is_same(base, found):
            if not self._has_later(base):
                raise ConcurrentDrop(self.storage.root)
            return None  # later commits have removed the file
        # With `write.metadata.delete-after-commit.enabled` a version file can be absent
        # because it is old. Its name would be free for a put, although the version was
        # committed.
        if _removes_versions(base.json) and newest_metadata(self.storage) != base.name:
            return None  # the next version may have existed and been removed
        data = _file_bytes(name, value)
        committed = None if after is not None else self._put(version + 1, name, value, data)
        if committed is None:
            return None
        # DROP may have removed the base between the check and the put. Our version would
        # then be the only file of a table that does not exist.
        if not self._still_has(base, version, name, data) and not self._has_later(committed):
            with suppress(OSError):
                self.storage.delete(name)
            raise ConcurrentDrop(self.storage.root)
        self._follow_up(version + 1, dropped if _removes_versions(value) else ())
        self._ensure_not_converted(version + 1, committed)
        return committed

    def _create(self, updates: Sequence[Update]) -> LoadedMetadata | None:
        value = apply(new_metadata(str(uuid4()), self.location, self.clock()), updates, self.clock())
        if find_version(self.storage, _FIRST) is not None:
            return None
        name = name_of(_FIRST, compressed=False)
        committed = self._put(_FIRST, name, value, _file_bytes(name, value))
        if committed is not None:
            self._follow_up(_FIRST, ())
        return committed

    def _put(self, version: int, name: str, value: Json, data: bytes) -> LoadedMetadata | None:
        """Writes a metadata file by put-if-absent; returns None if another commit has the version.

        Raises `ConcurrentDrop`, `IcebergCommitFailed`, `CommitOutcomeUnknown`, and the errors of `read_metadata`.
        """
        root = self.storage.root
        metadata = read_metadata(value, name, root)  # never write metadata that cannot be read back
        try:
            is_put = put_confirmed(
                self.storage, name, data, lambda found: found == data, self.retries, in_place=version > _FIRST
            )
        except FolderGone as error:
            raise ConcurrentDrop(root) from error
        except PutRefused as error:
            raise IcebergCommitFailed(root, str(error)) from error
        except PutOutcomeUnknown as error:
            raise CommitOutcomeUnknown(root, version, str(value.get("current-snapshot-id")), str(error)) from error
        return LoadedMetadata(name=name, metadata=metadata, json=value) if is_put else None

    def _still_has(self, base: LoadedMetadata, version: int, name: str, data: bytes) -> bool:
        """Checks like `_is_same`, after the next version is written: an unreachable storage must not undo the commit.

        The listing that has both also identifies the written file, which the next statement then need not read.
        """
        try:
            listed = list_versions(self.storage, version)
            if listed is None:
                return _is_same(base, find_status(self.storage, base.name))
        except OSError:
            return True
        is_same, written = _is_same(base, listed.get(base.name)), listed.get(name)
        if is_same and written is not None and written.etag and written.size == len(data):
            self.cache(_key(self.storage, name, written), lambda: data)
        return is_same

    def _has_later(self, loaded: LoadedMetadata) -> bool:
        """Returns True if the table has a later version by now."""
        try:
            newest = self.load()
        except (SqlError, OSError):
            return False
        version, known = version_of(newest.name), version_of(loaded.name)
        is_later = version is not None and known is not None and version > known
        # A later version with another UUID belongs to another table in the same folder.
        return is_later and newest.metadata.table_uuid == loaded.metadata.table_uuid

    def _ensure_not_converted(self, version: int, committed: LoadedMetadata) -> None:
        """Raises `CommittedWhileConverted`, also if the conversion has seen the version and starts again."""
        root = self.storage.root
        id = str(committed.metadata.current_snapshot_id)
        try:
            is_converted = any(map(is_version, self.storage.list_names(LOG_FOLDER)))
        except (SqlError, OSError) as error:
            raise CommitOutcomeUnknown(root, version, id, str(error)) from error
        if is_converted:
            raise CommittedWhileConverted(root, version, id, root)

    def _follow_up(self, version: int, dropped: Sequence[str]) -> None:
        """Updates the hint and deletes dropped versions. Failures do not affect the commit: readers need no hint."""
        try:
            # Not atomic with the commit: the hint may go backwards when two writers update
            # it in the other order. Readers therefore search forward from it.
            self.storage.write(HINT, str(version).encode())
            for name in dropped:
                self.storage.delete(name)
        except OSError:
            logger.warning("the hint of the Iceberg table %s lags behind version %d", self.storage.root, version)

    def has(self, committed: LoadedMetadata) -> bool:
        """Implements `MetadataStore.has`."""
        return self.storage.exists(committed.name)

    def take_back(self, committed: LoadedMetadata) -> None:
        """Removes a table's first version, unless another writer has committed on top. Raises `OSError`."""
        if find_version(self.storage, _FIRST + 1) is None:
            self.storage.delete(committed.name)
            self.storage.delete(HINT)


def read_metadata_file(storage: Storage, name: str, status: FileStatus, cache: FileCache) -> bytes:
    """Returns a metadata file's bytes, cached if the storage identifies the content of a file."""
    if not status.etag:
        return storage.read_bytes(name)
    return cache(_key(storage, name, status), lambda: storage.read_bytes(name))


def _key(storage: Storage, name: str, status: FileStatus) -> tuple[object, ...]:
    return "metadata file", storage.root, name, status


def _file_bytes(name: str, value: Json) -> bytes:
    text = json.dumps(value, separators=(",", ":")).encode()
    # Without a time in the header equal metadata has equal bytes, by which `put_confirmed`
    # recognizes our own file.
    return gzip.compress(text, mtime=0) if ".gz." in name else text


def _is_same(base: LoadedMetadata, found: FileStatus | None) -> bool:
    """Returns True if the base version still exists, by its file's status.

    Otherwise the table was dropped, another table was created in its place, or later commits removed the file.
    """
    return found is not None and (not isinstance(base.stamp, FileStatus) or found.may_be(base.stamp))


def _removes_versions(metadata: Json) -> bool:
    """Returns True if commits delete old versions' files."""
    return str(metadata["properties"].get(DELETE_OLD, "")).lower() == "true" if metadata.get("properties") else False


def _log_metadata(value: Json, base: LoadedMetadata) -> list[str]:
    """Appends the previous version's file to the metadata log; returns the relative names that dropped out."""
    location = str(value["location"]).rstrip("/")
    log = [
        *value["metadata-log"],
        {"timestamp-ms": base.metadata.last_updated_ms, "metadata-file": f"{location}/{base.name}"},
    ]
    try:
        # At least one entry, as in Java: the previous file is needed to roll back by hand.
        versions_max = max(1, int(value["properties"].get(VERSIONS_MAX, _VERSIONS_MAX_DEFAULT)))
    except ValueError:
        versions_max = _VERSIONS_MAX_DEFAULT
    value["metadata-log"] = log[-versions_max:]
    prefix = f"{location}/"
    return [
        entry["metadata-file"].removeprefix(prefix)
        for entry in log[:-versions_max]
        if entry["metadata-file"].startswith(prefix)
    ]


_ID_KEYS = MappingProxyType({"schemas": "schema-id", "partition-specs": "spec-id", "sort-orders": "order-id"})
_LISTS = ("snapshots", "snapshot-log", "metadata-log", "statistics", "partition-statistics")
_OBJECTS = ("properties", "refs")


def ensure_whole(value: Json, source: str) -> None:
    """Checks the structure that a commit relies on. Raises `MalformedIcebergFile`."""
    for key, id_key in _ID_KEYS.items():
        if key in value:
            _ensure_unique_ids(value[key], key, id_key, source)
    for key in _LISTS:
        if not _is_list_of_objects(value.get(key) or []):
            raise MalformedIcebergFile(source, f"its {key} are no list of objects")
    for key in _OBJECTS:
        if not isinstance(value.get(key) or {}, Mapping):
            raise MalformedIcebergFile(source, f"its {key} are no object")
    known = {each.get("snapshot-id") for each in value.get("snapshots") or []}
    for name, reference in (value.get("refs") or {}).items():
        if not isinstance(reference, Mapping) or reference.get("snapshot-id") not in known:
            raise MalformedIcebergFile(source, f"the reference {name} has no snapshot that is there")


def _ensure_unique_ids(items: Any, key: str, id_key: str, source: str) -> None:
    if not items or not _is_list_of_objects(items):
        raise MalformedIcebergFile(source, f"its {key} are no list of objects")
    for each in items:
        if not _is_number(each.get(id_key)):
            raise MalformedIcebergFile(source, f"one of its {key} has no {id_key}")
        if not _is_list_of_objects(each.get("fields")):
            raise MalformedIcebergFile(source, f"one of its {key} has no fields")


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) for each in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
