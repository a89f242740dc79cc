"""The catalog as a folder of small JSON files that people can read, on this machine or on an object store.

    objects/spark_catalog/shop@3-9f2c01ab.json               a schema, written by generation 3
    objects/spark_catalog/shop/orders@7-51d0e6f3.json        a table, written by generation 7
    objects/~clones/5f2d…@8-0c55e1a9.json                    a shallow clone, by a digest of its location
    objects/~groups/sales@9-77e0aa12.json                    a group; also ~functions, ~locations, ~server, ~volumes
    generations/00000000000000000007.json                    generation 7: which file is each object's

No file ever changes once it is written. A change writes the files of the objects that it touches, and then creates the
next generation's file, put-if-absent: that one step is the commit. So

1. a generation is whole: its objects' files were there before it, and stay as long as it does;
2. of several writers that read generation N, one creates N+1, and the others begin again with what it wrote;
3. a crash between any two writes leaves either the old generation or the new one, and at worst a few small files that
   no generation names;
4. an error while creating the generation's file is settled by reading it back: it holds its writer's token.

The newest :data:`GENERATIONS_KEPT` generations stay, as a history to look at and to recover from; an object's file goes
with the last generation that names it. So a number among the newest ones was never free again, which proves a commit; a
writer that slept so long that it created an older one finds that out afterwards, takes its file back and begins again.

On an object store, where a listing is a request, generations stay for :data:`KEPT_S` too. A writer that saw less than
:data:`_SEEN_S` ago that its base was the newest generation knows without another listing that its number was free.

A server that starts removes the files that killed servers left on this machine: temporary ones, and files of objects
that no kept generation names. Another server may be about to name such a file, so only old ones go.
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
from typing import assert_never
from urllib.parse import quote

from catalog.conditions import CatalogOutcomeUnknown, CatalogUnreadable
from catalog.entries import (
    CatalogEntry,
    CloneEntry,
    Entry,
    FunctionEntry,
    GroupEntry,
    LocationEntry,
    Relation,
    SchemaEntry,
    ServerEntry,
    TableEntry,
    ViewEntry,
    VolumeEntry,
)
from catalog.names import CatalogName, SchemaName, TableName
from catalog.state import INITIAL_STATE, CatalogState
from catalog.store.entry_json import MalformedEntry, from_json, to_json
from catalog.store.files import Files

logger = logging.getLogger(__name__)

FORMAT = 1
"""Of the generation files; a file of another format is not read."""

GENERATIONS_KEPT = 50
"""Part of the format: a release that keeps fewer could take numbers away from one that relies on them."""

KEPT_S = 60.0
"""How much older a generation on an object store is than the newest before it goes, by the store's clock, in seconds.
Part of the format, as `GENERATIONS_KEPT` is.
"""

_SEEN_S = 5.0
"""Much less than `KEPT_S`: clocks of a store's nodes may differ, and times of objects are whole seconds."""

_FORGET_EVERY = 10
"""Changes on an object store after which old generations go."""

_LOAD_ATTEMPTS_MAX = 10
_READS_AT_ONCE = 16
_FILE_NAME_CHARS_MAX = 160
_GENERATION = re.compile(r"(\d{20})\.json")

Index = Mapping[str, str]
"""Object, as the path of its name, to the stamp of its file: `{"spark_catalog/shop": "3-9f2c01ab"}`."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A generation and how it is stored."""

    state: CatalogState
    index: Index


class FileStore:
    """See :class:`catalog.store.CatalogStore`. Loading an unchanged catalog costs one listing."""

    def __init__(
        self,
        files: Files,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = files
        self._now_ms = now_ms
        self._clock = clock
        self._lock = threading.Lock()
        self._loaded = _Loaded(INITIAL_STATE, {})
        self._was_loaded = False
        self._seen = (0, -math.inf)
        """A generation, and a moment of `clock` at which there was no newer one, or after which it was made by us."""

    def load(self) -> CatalogState:
        found = self._load().state
        self._was_loaded = True
        return found

    def newest(self) -> CatalogState:
        return self._loaded.state if self._was_loaded else self.load()

    def swap(self, base: CatalogState, new: CatalogState) -> bool:
        loaded = self._loaded if self._loaded.state is base else self._load()
        if loaded.state.generation != base.generation:
            return False
        if base.generation and self._files.lists_freely and not self._generations():
            raise self._gone()  # before the folder is made again
        token = secrets.token_hex(4)
        stamp = f"{new.generation}-{token}"
        before, after = _by_path(base), _by_path(new)
        # By identity: entries that differ in a name's spelling are equal.
        written = [path for path, entry in after.items() if before.get(path) is not entry]
        index = {path: file for path, file in loaded.index.items() if path in after} | dict.fromkeys(written, stamp)
        for path in written:
            self._files.create(_object_file(path, stamp), _to_bytes(to_json(after[path])))
        record: dict[str, object] = {
            "format": FORMAT,
            "generation": new.generation,
            "token": token,
            "written_ms": self._now_ms(),
            "changed": sorted(written),
            "removed": sorted(before.keys() - after.keys()),
            "objects": dict(sorted(index.items())),
        }
        if not self._commit(new.generation, token, _to_bytes(record)):
            for path in written:
                self._files.delete(_object_file(path, stamp))
            return False
        with self._lock:
            self._loaded = _Loaded(new, index)
        if self._files.lists_freely or new.generation % _FORGET_EVERY == 0:
            self._forget_old_generations()
        return True

    def _gone(self) -> CatalogUnreadable:
        return CatalogUnreadable(self._files.root, "the generations that were in it are gone")

    def _commit(self, generation: int, token: str, record: bytes) -> bool:
        """Create the generation's file, and make sure of what became of it."""
        path = _generation_file(generation)
        failure = None
        began_s = self._clock()
        try:
            is_created = self._files.create(path, record)
        except OSError as error:
            is_created, failure = False, error
        try:
            # A client of an object store repeats a request whose answer was lost, and then finds its own file.
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
        """Whether the file just created is a generation's, not a late one's below those that are kept."""
        if not self._files.lists_freely and self._has_just_seen(generation - 1):
            return True
        kept = self._generations()
        if kept == {generation} and generation > 1:
            self._files.delete(_generation_file(generation))
            raise self._gone()
        if max(kept, default=generation) - generation < GENERATIONS_KEPT:
            return True
        if generation not in kept or generation + 1 in kept:
            raise CatalogOutcomeUnknown(generation, "that generation has left the history since")
        self._files.delete(_generation_file(generation))
        return False

    def _has_just_seen(self, generation: int) -> bool:
        """Returns whether the generation was the newest so recently that the one after it, if any, is still kept."""
        seen, at_s = self._seen
        return seen == generation and self._clock() - at_s < _SEEN_S

    def _load(self) -> _Loaded:
        for _ in range(_LOAD_ATTEMPTS_MAX):
            began_s = self._clock()
            newest = max(self._generations(), default=0)
            self._seen = (newest, began_s)
            loaded = self._loaded
            if newest in (0, loaded.state.generation):
                return loaded  # no generation at all, after one was loaded: the folder is gone, and may come back
            try:
                fresh = self._read(newest, loaded)
            except FileNotFoundError as error:
                missing = error
                continue  # it was forgotten while it was read: there is a newer one
            with self._lock:
                self._loaded = fresh
            return fresh
        raise CatalogUnreadable(self._files.root, f"a file that it names is missing ({missing})")

    def _read(self, generation: int, known: _Loaded) -> _Loaded:
        """Generation `generation`, of which only those objects are read that `known` has not."""
        if generation == 0:
            return _Loaded(INITIAL_STATE, {})
        path = _generation_file(generation)
        index = self._index(path)
        entries = _by_path(known.state)
        changed = [name for name, stamp in index.items() if known.index.get(name) != stamp]
        with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
            entries |= zip(changed, pool.map(lambda name: self._entry(name, index[name]), changed), strict=True)
        kept = (entry for name, entry in entries.items() if name in index or name in _ALWAYS)
        return _Loaded(_state(generation, kept), index)

    def _entry(self, name: str, stamp: str) -> Entry:
        path = _object_file(name, stamp)
        try:
            entry = from_json(self._json(path))
        except MalformedEntry as error:
            raise self._unreadable(path, str(error)) from error
        if _path(entry) != name:
            raise self._unreadable(path, f"it describes {_path(entry)}")
        return entry

    def _index(self, path: str) -> Index:
        index = self._record(path).get("objects")
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
        """Generations, and how much older each is than the newest file, by the clock of the storage."""
        times_s = self._files.times_s("generations")
        newest_s = max(times_s.values(), default=0.0)
        matches = ((_GENERATION.fullmatch(name), at_s) for name, at_s in times_s.items())
        return {int(match[1]): newest_s - at_s for match, at_s in matches if match}

    def _forget_old_generations(self) -> None:
        """Post-commit: a failure is only logged, and the next change tries again."""
        try:
            ages_s = self._ages_s()
            kept = sorted(ages_s)
            for old, following in zip(kept, kept[1:], strict=False):
                # One that has just lost its place as the newest may be what a writer has just seen.
                if old <= kept[-1] - GENERATIONS_KEPT and (self._files.lists_freely or ages_s[following] >= KEPT_S):
                    self._forget(_generation_file(old), _generation_file(following))
        except FileNotFoundError:
            return  # another server is at it
        except (OSError, CatalogUnreadable):
            logger.warning("old generations of the catalog in %s stay for now", self._files.root, exc_info=True)

    def _forget(self, old: str, following: str) -> None:
        """The generation, and the files that no later one names: an object's former file never comes back."""
        later = self._index(following)
        for name, stamp in self._index(old).items():
            if later.get(name) != stamp:
                self._files.delete(_object_file(name, stamp))
        self._files.delete(old)


def _generation_file(generation: int) -> str:
    return f"generations/{generation:020}.json"


def _object_file(path: str, stamp: str) -> str:
    return f"objects/{path}@{stamp}.json"


def _path(entry: Entry) -> str:
    """The object's name as a relative path; distinct names have distinct ones, also where case does not count.

    No name of a catalog begins with a tilde here.
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
    name = quote(part, safe="").replace("~", "%7E")
    if len(name) <= _FILE_NAME_CHARS_MAX:
        return name
    return f"{name[:100]}~{hashlib.sha256(part.encode()).hexdigest()[:32]}"


def _by_path(state: CatalogState) -> dict[str, Entry]:
    return {_path(entry): entry for entry in state.entries()}


_ALWAYS = frozenset(_by_path(INITIAL_STATE))


def _state(generation: int, entries: Iterable[Entry]) -> CatalogState:
    catalogs: dict[CatalogName, CatalogEntry] = {}
    schemas: dict[SchemaName, SchemaEntry] = {}
    relations: dict[TableName, Relation] = {}
    clones: dict[str, CloneEntry] = {}
    functions: dict[TableName, FunctionEntry] = {}
    volumes: dict[TableName, VolumeEntry] = {}
    locations: dict[str, LocationEntry] = {}
    groups: dict[str, GroupEntry] = {}
    server = INITIAL_STATE.server
    for entry in entries:
        match entry:
            case CatalogEntry():
                catalogs[entry.name] = entry
            case SchemaEntry():
                schemas[entry.name] = entry
            case TableEntry() | ViewEntry():
                relations[entry.name] = entry
            case CloneEntry():
                clones[entry.location] = entry
            case FunctionEntry():
                functions[entry.name] = entry
            case VolumeEntry():
                volumes[entry.name] = entry
            case LocationEntry():
                locations[entry.key] = entry
            case GroupEntry():
                groups[entry.key] = entry
            case ServerEntry():
                server = entry
            case _:
                assert_never(entry)
    return CatalogState(
        generation=generation,
        catalogs=catalogs,
        schemas=schemas,
        relations=relations,
        clones=clones,
        server=server,
        functions=functions,
        volumes=volumes,
        locations=locations,
        groups=groups,
    )


def _to_bytes(value: Mapping[str, object]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


_TEMPORARY = re.compile(r".+\.json\.[0-9a-f]{32}\.tmp")
_OBJECT = re.compile(r".+@\d+-[0-9a-f]{8}\.json")


def remove_catalog_leftovers(folder: str, older_than_s: float) -> int:
    """How many files were removed; `older_than_s` is a time as `time.time()` tells it."""
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
    objects = [path for path in files if _OBJECT.fullmatch(os.path.basename(path))]
    # Read after the objects were listed: what is named since is in the newest generation.
    named = _named_objects(folder)
    if named is not None:
        yield from (path for path in objects if os.path.relpath(path, f"{folder}/objects") not in named)


def _named_objects(folder: str) -> set[str] | None:
    """The files that some generation names; None where one of them cannot be read, so that nothing is sure."""
    named: set[str] = set()
    try:
        for entry in os.scandir(f"{folder}/generations"):
            if entry.name.endswith(".json"):
                with open(entry.path, "rb") as file:
                    named |= {f"{name}@{stamp}.json" for name, stamp in json.load(file)["objects"].items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return named
