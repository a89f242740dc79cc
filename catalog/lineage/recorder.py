"""Records lineage in a folder `lineage` in the catalog's folder, in the form of the catalog's own state.

Edges are written on a thread of their own, so that no statement waits for them or fails with them. A new edge is
written at once, unless edges were written less than :data:`_PAUSE_S` ago. The time and the number of statements of a
known edge may wait for :data:`_UPDATE_S`. A crash loses what waits. Other servers' edges, crashes in between and lost
answers are handled as for the catalog, see :mod:`catalog.store.file_store`.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Iterable, Mapping

import msgspec

from catalog.changes import Change, DropCatalog, DropSchema, DropTable, DropView, RenameTable
from catalog.conditions import CatalogBusy
from catalog.lineage.edges import (
    INITIAL_LINEAGE,
    Dropped,
    Edge,
    LineageEvent,
    LineageState,
    Renamed,
    TargetEdges,
    lineage_of,
    with_events,
)
from catalog.store.entry_json import MalformedEntry
from catalog.store.file_store import LINEAGE_FOLDER, LINEAGE_SUFFIX, GenerationStore, StoredForm, UnreadableEntry
from catalog.store.files import Files
from catalog.store.remote import open_files

logger = logging.getLogger(__name__)

# Maximum number of waiting events, and the number from which they are written at once.
WAITING_MAX, _MANY = 10_000, 1000
_PAUSE_S, _PAUSE_S_MAX, _UPDATE_S, _CLOSE_S = 1.0, 60.0, 30.0, 10.0
_CHANGE_ATTEMPTS_MAX = 50


def _from_json(value: object) -> TargetEdges:
    try:
        found = msgspec.convert(value, TargetEdges)
    except msgspec.ValidationError as error:
        raise MalformedEntry(str(error)) from error
    if not found.edges:
        raise MalformedEntry("it has no edges")
    return found


def _to_json(target: TargetEdges) -> Mapping[str, object]:
    fields: Mapping[str, object] = msgspec.to_builtins(target)
    return fields


def _state_of(generation: int, targets: Iterable[TargetEdges | UnreadableEntry]) -> LineageState:
    # Without labels in the form, an unreadable file makes all of them unreadable.
    return lineage_of(generation, (target for target in targets if not isinstance(target, UnreadableEntry)))


LINEAGE: StoredForm[LineageState, TargetEdges] = StoredForm(
    initial=INITIAL_LINEAGE,
    entries=lambda state: state.targets.values(),
    state_of=_state_of,
    # A path may be longer than a file name.
    path=lambda each: hashlib.sha256("\0".join(each.target.key).encode()).hexdigest()[:32],
    to_json=_to_json,
    from_json=_from_json,
    suffix=LINEAGE_SUFFIX,
)


class LineageRecorder:
    """The edges of a catalog. Thread-safe, and safe among processes if they share the files; without files, in memory.

    `is_on`: statements' edges are recorded; names of recorded ones are followed in any case.
    """

    def __init__(self, files: Files | None = None, *, is_on: bool = True, pause_s: float = _PAUSE_S) -> None:
        self._store = None if files is None else GenerationStore(files, LINEAGE)
        self._is_on = is_on
        self._pause_s = pause_s
        # The state that was last written.
        self._state = INITIAL_LINEAGE
        self._waiting: list[LineageEvent] = []
        self._is_urgent = self._is_closed = False
        self.failures = self.lost = 0
        # Guards the fields above.
        self._changed = threading.Condition()
        # Held while events are written, so that a reader finds each event exactly once.
        self._writing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="lineage-record", daemon=True)
        if self._store is not None:
            self._thread.start()

    @property
    def num_waiting(self) -> int:
        """Returns the number of recorded edges that are not yet written to the files."""
        return len(self._waiting)

    def record(self, edges: Iterable[Edge]) -> None:
        """Adds a statement's edges. Returns immediately, and never raises."""
        if self._is_on:
            self._submit(*edges)

    def follow(self, change: Change) -> None:
        """Moves or removes the edges of an object that a catalog change renamed or dropped; returns immediately."""
        match change:
            case RenameTable(old, new):
                self._submit(Renamed(old.parts, new.parts))
            case DropTable(name, _) | DropView(name) | DropSchema(name, _) | DropCatalog(name):
                self._submit(Dropped(name.parts))
            case _:  # other changes keep names
                return

    def load(self) -> LineageState:
        """Returns all edges, including this server's waiting ones."""
        with self._writing:
            with self._changed:
                waiting = tuple(self._waiting)
            return with_events(self._state if self._store is None else self._store.load(), waiting)

    def close(self) -> None:
        """Writes waiting events for a limited time, and stops."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._store is not None:
            self._thread.join(_CLOSE_S)

    def _submit(self, *events: LineageEvent) -> None:
        with self._changed:
            if self._store is None:
                self._state = with_events(self._state, events)
                return
            accepted = events[: max(0, WAITING_MAX - len(self._waiting))]
            self.lost += len(events) - len(accepted)
            self._waiting += accepted
            is_new = any(not (isinstance(event, Edge) and self._state.has(event)) for event in accepted)
            self._is_urgent |= is_new or len(self._waiting) >= _MANY
            self._changed.notify_all()

    def _run(self) -> None:
        pause_s = self._pause_s
        while self._wait():
            pause_s = self._pause_s if self._write() else min(pause_s * 2, _PAUSE_S_MAX)
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed, pause_s)
        self._write()

    def _wait(self) -> bool:
        """Waits until events have to be written; returns False at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            self._changed.wait_for(lambda: self._is_urgent or self._is_closed, _UPDATE_S)
            self._is_urgent = False
            return not self._is_closed

    def _write(self) -> bool:
        """Writes the waiting events; returns False after a failure, which is logged."""
        with self._writing:
            with self._changed:
                waiting = tuple(self._waiting)
            try:
                state = self._change(waiting) if waiting else self._state
            except Exception:  # a statement never depends on it
                self.failures += 1
                self._is_urgent = True
                logger.warning("%d changes of lineage wait: they cannot be written", len(waiting), exc_info=True)
                return False
            with self._changed:
                self._state = state
                del self._waiting[: len(waiting)]
            return True

    def _change(self, events: Iterable[LineageEvent]) -> LineageState:
        assert self._store is not None
        for _ in range(_CHANGE_ATTEMPTS_MAX):
            base = self._store.load()
            new = with_events(base, events)
            if new is base or self._store.swap(base, new):
                return new
        raise CatalogBusy(_CHANGE_ATTEMPTS_MAX)


def open_lineage(catalog_folder: str | None, *, is_on: bool = True) -> LineageRecorder:
    """Opens the lineage of a catalog."""
    files = open_files(f"{catalog_folder.rstrip('/')}/{LINEAGE_FOLDER}") if catalog_folder else None
    return LineageRecorder(files, is_on=is_on)
