"""The catalog as a folder with small, readable JSON files, local or on an object store.

    objects/spark_catalog/shop@3-9f2c01ab.json               a schema, written by generation 3
    objects/spark_catalog/shop/orders@7-51d0e6f3.json        a table, written by generation 7
    objects/~clones/5f2d…@8-0c55e1a9.json                    a shallow clone, by a digest of its location
    objects/~groups/sales@9-77e0aa12.json                    a group; also ~functions, ~locations, ~server, ~volumes
    generations/00000000000000000007.json                    generation 7: which file is each object's

Files never change once they are written. A change writes the files for the modified objects, and then creates the next
generation's file with put-if-absent: that step is the commit. Therefore

1. a generation is complete: its objects' files exist before it, and stay as long as it does;
2. if several writers read generation N, one creates N+1, and the others start over from it;
3. a crash between any two writes leaves either the old generation or the new one, and at worst a few small files that
   no generation names;
4. an unknown outcome for the generation's file is resolved by reading it back: it contains its writer's token.

The newest :data:`GENERATIONS_RETAINED` generations are retained, as history and for recovery; an object's file is
deleted with the last generation that names it. A number among the newest ones has therefore never become free again,
which proves a commit. A writer that was suspended so long that it created an older number detects that afterwards,
deletes its file and starts over.

On an object store, a listing is a request; generations are retained for :data:`RETENTION_S` too. A writer that saw
less than
:data:`_SEEN_S` ago that its base was the newest generation can rely on the number being free without another listing.

At startup, a server deletes files that killed servers left on this machine: temporary files, and objects' files that no
retained generation names. Another server may be about to name such a file, so only old ones are deleted.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, assert_never
from urllib.parse import quote

from catalog.conditions import CatalogOutcomeUnknown, CatalogUnreadable
from catalog.entries import (
    CatalogEntry,
    CloneEntry,
    Entry,
    FunctionEntry,
    GroupEntry,
    LocationEntry,
    SchemaEntry,
    ServerEntry,
    TableEntry,
    ViewEntry,
    VolumeEntry,
)
from catalog.state import INITIAL_STATE, CatalogState, state_of
from catalog.store.changes import ChangeSearch, RecordedChange, find_change, from_record, to_lists, with_change
from catalog.store.commit_guard import ensure_may_commit
from catalog.store.entry_json import MalformedEntry, from_json, to_json
from catalog.store.files import Files

logger = logging.getLogger(__name__)

# Version of the generation files' format; a file with another version is not read.
FORMAT = 1

# Part of the format: a release that retains fewer could free numbers that another one relies on.
GENERATIONS_RETAINED = 50

# Minimum age difference in seconds, by the store's clock, between a generation on an object store and the newest one
# before it is deleted. Part of the format, as `GENERATIONS_RETAINED` is.
RETENTION_S = 60.0

# Much less than `RETENTION_S`: the clocks of a store's nodes may differ, and object times are whole seconds.
_SEEN_S = 5.0

# Number of changes on an object store between deletions of old generations.
_FORGET_EVERY = 10

_LOAD_ATTEMPTS_MAX = 10
_READS_AT_ONCE = 16
_FILE_NAME_CHARS_MAX = 160
_GENERATION = re.compile(r"(\d{20})\.json")

# Maps an object, as its name's path, to its file's stamp: `{"spark_catalog/shop": "3-9f2c01ab"}`.
Index = Mapping[str, str]


class _StateOfGeneration(Protocol):
    @property
    def generation(self) -> int: ...


_State = TypeVar("_State", bound=_StateOfGeneration)
_Stored = TypeVar("_Stored")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableEntry:
    """An entry whose file cannot be read; `label` is its text in the generation's file, if that has one."""

    path: str
    label: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredForm(Generic[_State, _Stored]):
    """The stored form of a state: its entries, an entry's name as a relative path, and an entry's JSON.

    `suffix` ends the names of the entries' files. `label` is a text for each entry in the generations' files, for forms
    whose states may contain :class:`UnreadableEntry`; without it, an unreadable file makes the whole state unreadable.
    With `records_changes` the generations' files have the statements that made them (`catalog/store/changes.py`).
    """

    initial: _State
    entries: Callable[[_State], Iterable[_Stored | UnreadableEntry]]
    state_of: Callable[[int, Iterable[_Stored | UnreadableEntry]], _State]
    path: Callable[[_Stored], str]
    to_json: Callable[[_Stored], Mapping[str, object]]
    from_json: Callable[[object], _Stored]
    suffix: str = ".json"
    label: Callable[[_Stored], str] | None = None
    records_changes: bool = False

    def by_path(self, state: _State) -> dict[str, _Stored | UnreadableEntry]:
        """Returns a state's entries by their relative path, unreadable ones included."""
        return {
            entry.path if isinstance(entry, UnreadableEntry) else self.path(entry): entry
            for entry in self.entries(state)
        }

    def object_file(self, path: str, stamp: str) -> str:
        """Returns the file name, relative to the store's folder, for the version `stamp` of the entry at `path`."""
        return f"objects/{path}@{stamp}{self.suffix}"


@dataclass(frozen=True, slots=True)
class _LoadedGeneration(Generic[_State]):
    """A generation and its stored form; `unreadable` are the entries that are read again by the next load."""

    state: _State
    index: Index
    unreadable: frozenset[str] = frozenset()
    changes: tuple[RecordedChange, ...] = ()


class GenerationStore(Generic[_State, _Stored]):
    """A file-based store for one state. Loading an unchanged state costs one listing."""

    def __init__(
        self,
        files: Files,
        form: StoredForm[_State, _Stored],
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = files
        self._form = form
        self._always = frozenset(form.by_path(form.initial))
        self._now_ms = now_ms
        self._clock = clock
        self._lock = threading.Lock()
        self._loaded = _LoadedGeneration(form.initial, {})
        self._was_loaded = False
        # Unreadable files with their reasons that were logged.
        self._reported: set[tuple[str, str]] = set()
        # A generation, and a time on `clock` when it was the newest one, or after which this server created it.
        self._seen = (0, -math.inf)

    def load(self) -> _State:
        found = self._load().state
        self._was_loaded = True
        return found

    def newest(self) -> _State:
        return self._loaded.state if self._was_loaded else self.load()

    def is_recorded(self, transaction_id: str) -> bool:
        """Returns True if a statement made one of the newest generations up to the loaded one."""
        return find_change(self._loaded.changes, transaction_id, 0).is_found

    def find_change(self, transaction_id: str, since_ms: int) -> ChangeSearch:
        """Looks for a statement among the makers of the newest generations; see `catalog/store/changes.py`."""
        loaded = self._load()
        found = find_change(loaded.changes, transaction_id, since_ms)
        is_known = bool(loaded.changes) or loaded.state.generation == 0
        return found if is_known else ChangeSearch(found.is_found, is_complete=False)

    def swap(self, base: _State, new: _State, transaction_id: str | None = None) -> bool:
        loaded = self._loaded if self._loaded.state is base else self._load()
        if loaded.state.generation != base.generation:
            return False
        # An unmounted volume looks like an empty folder. A commit there would start a
        # second history.
        if base.generation and self._files.lists_freely and not self._generations():
            raise self._generations_missing_error()  # before the folder is created again
        ensure_may_commit()  # before objects are written that no generation would name
        token = secrets.token_hex(4)
        stamp = f"{new.generation}-{token}"
        before, after = self._form.by_path(base), self._form.by_path(new)
        # Compared by identity: entries that differ only in a name's spelling are equal.
        written = [path for path, entry in after.items() if before.get(path) is not entry]
        index = {path: file for path, file in loaded.index.items() if path in after} | dict.fromkeys(written, stamp)
        for path in written:
            # Before the generation's file, so that a reader of the new generation finds
            # each object that it names.
            entry = after[path]
            assert not isinstance(entry, UnreadableEntry), (
                "changes leave unreadable entries as they are, or remove them"
            )
            self._files.create(self._form.object_file(path, stamp), _to_bytes(self._form.to_json(entry)))
        now_ms = self._now_ms()
        changes = with_change(loaded.changes, RecordedChange(new.generation, now_ms, transaction_id))
        record: dict[str, object] = {
            "format": FORMAT,
            "generation": new.generation,
            "token": token,
            "written_ms": now_ms,
            "changed": sorted(written),
            "removed": sorted(before.keys() - after.keys()),
            "objects": dict(sorted(index.items())),
        }
        if self._form.label is not None:
            labels = ((path, self._label_of(entry)) for path, entry in sorted(after.items()))
            record["labels"] = {path: label for path, label in labels if label is not None}
        if self._form.records_changes:
            record["changes"] = to_lists(changes)
        if not self._commit(new.generation, token, _to_bytes(record)):
            for path in written:
                self._files.delete(self._form.object_file(path, stamp))
            return False
        with self._lock:
            self._loaded = _LoadedGeneration(new, index, _unreadable(after), changes)
        if self._files.lists_freely or new.generation % _FORGET_EVERY == 0:
            self._forget_old_generations()
        return True

    def _generations_missing_error(self) -> CatalogUnreadable:
        return CatalogUnreadable(self._files.root, "the generations that were in it are gone")

    def _commit(self, generation: int, token: str, record: bytes) -> bool:
        """Creates the generation's file, and determines its outcome."""
        path = _generation_file(generation)
        failure = None
        began_s = self._clock()
        ensure_may_commit()
        try:
            is_created = self._files.create(path, record)
        except OSError as error:
            # The request may have succeeded although its response was lost; reading the
            # file back decides.
            is_created, failure = False, error
        try:
            # An object store's client repeats a request whose response was lost, and then finds its own file.
            if not (is_created or self._is_ours(path, token)) or not self._is_connected(generation):
                return False
            self._seen = (generation, began_s)
            return True
        except FileNotFoundError:
            if failure is not None:
                raise failure from None  # nothing was written
            return False
        except OSError as error:
            raise CatalogOutcomeUnknown(generation, str(error)) from error

    def _is_ours(self, path: str, token: str) -> bool:
        return self._record(path).get("token") == token

    def _is_connected(self, generation: int) -> bool:
        """Returns True if the created file is a valid generation, not a late one below the retained ones."""
        if not self._files.lists_freely and self._has_just_seen(generation - 1):
            return True
        generations = self._generations()
        # All other generations are gone: the folder was replaced while this server was
        # about to write.
        if generations == {generation} and generation > 1:
            self._files.delete(_generation_file(generation))
            raise self._generations_missing_error()
        if max(generations, default=generation) - generation < GENERATIONS_RETAINED:
            return True
        # Another writer may have built on the late generation, or deleted it as an old one.
        # Either way it cannot be taken back.
        if generation not in generations or generation + 1 in generations:
            raise CatalogOutcomeUnknown(generation, "that generation has left the history since")
        self._files.delete(_generation_file(generation))
        return False

    def _has_just_seen(self, generation: int) -> bool:
        """Returns True if the generation was the newest so recently that its successor, if any, is still retained."""
        seen, at_s = self._seen
        return seen == generation and self._clock() - at_s < _SEEN_S

    def _load(self) -> _LoadedGeneration[_State]:
        for attempt in range(_LOAD_ATTEMPTS_MAX):
            began_s = self._clock()
            newest = max(self._generations(), default=0)
            self._seen = (newest, began_s)
            loaded = self._loaded
            if newest == 0 or (newest == loaded.state.generation and not loaded.unreadable):
                return loaded  # no generation exists although one was loaded: the folder is missing, and may return
            try:
                fresh = self._read(newest, loaded, is_last_attempt=attempt == _LOAD_ATTEMPTS_MAX - 1)
            except FileNotFoundError as error:
                missing = error
                continue  # it was deleted while it was read: a newer one exists
            with self._lock:
                self._loaded = fresh
            return fresh
        raise CatalogUnreadable(self._files.root, f"a file that it names is missing ({missing})")

    def _read(
        self, generation: int, known: _LoadedGeneration[_State], *, is_last_attempt: bool
    ) -> _LoadedGeneration[_State]:
        """Reads a generation, and from its objects only the ones that `known` lacks. A missing object may have been
        deleted meanwhile, except in the last attempt.
        """
        if generation == 0:
            return _LoadedGeneration(self._form.initial, {})
        path = _generation_file(generation)
        record = self._record(path)
        index, labels = self._index(record, path), record.get("labels")
        labels = labels if isinstance(labels, dict) else {}
        entries = self._form.by_path(known.state)
        changed = [name for name, stamp in index.items() if known.index.get(name) != stamp or name in known.unreadable]

        def read(name: str) -> _Stored | UnreadableEntry:
            return self._entry(name, index[name], labels.get(name), is_last_attempt=is_last_attempt)

        with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
            entries |= zip(changed, pool.map(read, changed), strict=True)
        # The initial objects exist in each catalog, even if no generation has written them
        # yet.
        selected = {name: entry for name, entry in entries.items() if name in index or name in self._always}
        state = self._form.state_of(generation, selected.values())
        return _LoadedGeneration(state, index, _unreadable(selected), from_record(record, generation))

    def _entry(self, name: str, stamp: str, label: str | None, *, is_last_attempt: bool) -> _Stored | UnreadableEntry:
        path = self._form.object_file(name, stamp)
        if self._form.label is None:
            return self._readable_entry(path, name)
        try:
            entry = self._readable_entry(path, name)
            found = self._form.label(entry)
            if label in (None, found):
                return entry
            reason = f"it belongs to {found}, and not to {label}"
        except CatalogUnreadable as error:
            reason = error.reason
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not is_last_attempt:
                raise
            reason = error.strerror or str(error)
        if (path, reason) not in self._reported:
            self._reported.add((path, reason))
            logger.warning("the file %s/%s cannot be read: %s", self._files.root, path, reason)
        return UnreadableEntry(path=name, label=label, reason=reason)

    def _label_of(self, entry: _Stored | UnreadableEntry) -> str | None:
        assert self._form.label is not None
        return entry.label if isinstance(entry, UnreadableEntry) else self._form.label(entry)

    def _readable_entry(self, path: str, name: str) -> _Stored:
        try:
            entry = self._form.from_json(self._json(path))
        except MalformedEntry as error:
            raise self._unreadable(path, str(error)) from error
        # A file that was restored or copied by hand under another name would give one
        # object's grants to another.
        if self._form.path(entry) != name:
            raise self._unreadable(path, f"it describes {self._form.path(entry)}")
        return entry

    def _index(self, record: Mapping[str, object], path: str) -> Index:
        index = record.get("objects")
        if not isinstance(index, dict) or not all(isinstance(stamp, str) for stamp in index.values()):
            raise self._unreadable(path, "it lists no objects")
        return index

    def _record(self, path: str) -> dict[str, object]:
        record = self._json(path)
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise self._unreadable(path, f"its format is not {FORMAT}")
        return record

    def _json(self, path: str) -> object:
        try:
            return json.loads(self._files.read(path))
        except ValueError as error:
            raise self._unreadable(path, f"no JSON ({error})") from error

    def _unreadable(self, path: str, reason: str) -> CatalogUnreadable:
        return CatalogUnreadable(f"{self._files.root}/{path}", reason)

    def _generations(self) -> set[int]:
        return {int(match[1]) for name in self._files.names("generations") if (match := _GENERATION.fullmatch(name))}

    def _ages_s(self) -> dict[int, float]:
        """Returns the generations, and by how much each is older than the newest file, by the storage's clock."""
        times_s = self._files.times_s("generations")
        newest_s = max(times_s.values(), default=0.0)
        matches = ((_GENERATION.fullmatch(name), at_s) for name, at_s in times_s.items())
        return {int(match[1]): newest_s - at_s for match, at_s in matches if match}

    def _forget_old_generations(self) -> None:
        """Deletes old generations after a commit; a failure is only logged, and the next change tries again."""
        try:
            ages_s = self._ages_s()
            retained = sorted(ages_s)
            for old, following in zip(retained, retained[1:], strict=False):
                # A generation that was recently the newest may be the base of a concurrent writer.
                if old <= retained[-1] - GENERATIONS_RETAINED and (
                    self._files.lists_freely or ages_s[following] >= RETENTION_S
                ):
                    self._forget(_generation_file(old), _generation_file(following))
        except FileNotFoundError:
            return  # another server is deleting it
        except (OSError, CatalogUnreadable):
            logger.warning("old generations of the catalog in %s stay for now", self._files.root, exc_info=True)

    def _forget(self, old: str, following: str) -> None:
        """Deletes a generation, and the files that no later one names: an object's former file never returns."""
        # Comparing with the next generation is sufficient: stamps contain the generation
        # that wrote the file, so none returns later.
        later = self._index(self._record(following), following)
        for name, stamp in self._index(self._record(old), old).items():
            if later.get(name) != stamp:
                self._files.delete(self._form.object_file(name, stamp))
        self._files.delete(old)


def _unreadable(entries: Mapping[str, object]) -> frozenset[str]:
    return frozenset(name for name, entry in entries.items() if isinstance(entry, UnreadableEntry))


def _generation_file(generation: int) -> str:
    return f"generations/{generation:020}.json"


def _path(entry: Entry) -> str:
    """Returns the object's name as a relative path; distinct names have distinct paths, even on case-insensitive file
    systems.

    No catalog name begins with a tilde here.
    """
    match entry:
        case CloneEntry():
            return f"~clones/{hashlib.sha256(entry.location.encode()).hexdigest()}"
        case ServerEntry():
            return "~server/grants"
        case GroupEntry():
            return f"~groups/{_file_name(entry.key)}"
        case LocationEntry():
            return f"~locations/{_file_name(entry.key)}"
        case FunctionEntry():
            return "/".join(("~functions", *map(_file_name, entry.name.key)))
        case VolumeEntry():
            return "/".join(("~volumes", *map(_file_name, entry.name.key)))
        case CatalogEntry() | SchemaEntry() | TableEntry() | ViewEntry():
            return "/".join(map(_file_name, entry.name.key))
        case _:
            assert_never(entry)


def _file_name(part: str) -> str:
    # The tilde marks folders of objects that are not tables, and shortened names.
    name = quote(part, safe="").replace("~", "%7E")
    if len(name) <= _FILE_NAME_CHARS_MAX:
        return name
    return f"{name[:100]}~{hashlib.sha256(part.encode()).hexdigest()[:32]}"


_CATALOG: StoredForm[CatalogState, Entry] = StoredForm(
    initial=INITIAL_STATE,
    entries=CatalogState.entries,
    state_of=lambda generation, entries: state_of(
        generation, (entry for entry in entries if not isinstance(entry, UnreadableEntry))
    ),
    path=_path,
    to_json=to_json,
    from_json=from_json,
    records_changes=True,
)


class FileStore(GenerationStore[CatalogState, Entry]):
    """A file-based store for the catalog, see :class:`catalog.store.store.CatalogStore`."""

    def __init__(
        self,
        files: Files,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(files, _CATALOG, now_ms, clock)


def _to_bytes(value: Mapping[str, object]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


_TEMPORARY = re.compile(r".+\.json\.[0-9a-f]{32}\.tmp")
_OBJECT = re.compile(r".+@\d+-[0-9a-f]{8}(?P<suffix>(?:\.query|\.lineage|\.credential)?\.json)")

# The folders for saved queries and for lineage in the catalog's folder. Their files have names that no earlier release
# takes for its own leftovers.
QUERIES_FOLDER, QUERIES_SUFFIX = "queries", ".query.json"
CREDENTIALS_FOLDER, CREDENTIALS_SUFFIX = "credentials", ".credential.json"
LINEAGE_FOLDER, LINEAGE_SUFFIX = "lineage", ".lineage.json"


def remove_catalog_leftovers(folder: str, older_than_s: float) -> int:
    """Deletes leftover files, and returns their number; `older_than_s` is a time as `time.time()` returns it."""
    count = 0
    for path in _leftovers(folder):
        with suppress(OSError):
            if os.stat(path).st_mtime < older_than_s:
                os.unlink(path)
                count += 1
    return count


def _leftovers(folder: str) -> Iterator[str]:
    files = [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names]
    yield from (path for path in files if _TEMPORARY.fullmatch(os.path.basename(path)))
    for root, suffix in (
        (folder, ".json"),
        (f"{folder}/{QUERIES_FOLDER}", QUERIES_SUFFIX),
        (f"{folder}/{CREDENTIALS_FOLDER}", CREDENTIALS_SUFFIX),
        (f"{folder}/{LINEAGE_FOLDER}", LINEAGE_SUFFIX),
    ):
        matches = ((path, _OBJECT.fullmatch(os.path.basename(path))) for path in files)
        objects = [path for path, match in matches if match and match["suffix"] == suffix]
        # Read after the objects were listed: a file that was named meanwhile is in the newest generation.
        named = _named_objects(root, suffix)
        if named is not None:
            yield from (path for path in objects if os.path.relpath(path, f"{root}/objects") not in named)


def _named_objects(folder: str, suffix: str) -> set[str] | None:
    """Returns the files that some generation names; None if one cannot be read, because then no file can safely be
    deleted.
    """
    named: set[str] = set()
    try:
        for entry in os.scandir(f"{folder}/generations"):
            if entry.name.endswith(".json"):
                with open(entry.path, "rb") as file:
                    named |= {f"{name}@{stamp}{suffix}" for name, stamp in json.load(file)["objects"].items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return named
