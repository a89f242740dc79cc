"""Journals of sessions that were opened for one statement: a file has the records of many of them.

To create and to remove a file costs more than such a statement's records. All ids of these sessions begin with the
journal's key, so that other gateways find them as they find a session with its own journal. Each line has the records
of one session. The store begins a new journal once one has `FULL_BYTES`, and a journal is removed with its last
session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from catalog.conditions import StateLost
from catalog.errors import SqlError
from engine.spool.budget import SpoolBudget
from gateway.state.appended_file import AppendedFile, Span
from gateway.state.records import Record, SharedRecords, encode_shared

# Size in bytes from which further sessions are in another journal.
FULL_BYTES = 1 << 20
# A full journal is written anew when its open sessions have less than this part of its bytes.
_LIVE_PART = 8


@dataclass(slots=True)
class _Lines:
    """The lines of an open session."""

    owner: str
    spans: list[Span] = field(default_factory=list)
    size: int = 0


class SharedJournal:
    """One such file. Thread-safe. `on_empty` is called after the file was removed."""

    def __init__(
        self,
        file: AppendedFile,
        budget: Callable[[], SpoolBudget],
        note_failure: Callable[[Exception], None],
        on_empty: Callable[[SharedJournal], None],
        *,
        is_current: bool,
    ) -> None:
        """`is_current`: further sessions may begin here."""
        # The first bytes of its sessions' ids.
        self.key = bytes.fromhex(file.path.name)
        self._file = file
        self._budget = budget
        self._note_failure = note_failure
        self._on_empty = on_empty
        # Guards the file and the fields below.
        self._lock = file.lock
        self._sessions: dict[str, _Lines] = {}
        # Bytes in the file by owner.
        self._held: Counter[str] = Counter()
        self._live_bytes = 0
        self._is_current = is_current
        self._is_removed = False

    @property
    def size(self) -> int:
        """Returns the size of the file in bytes."""
        return self._file.size

    @property
    def num_sessions(self) -> int:
        """Returns the number of open sessions."""
        return len(self._sessions)

    def session(self, session_id: str, owner: str) -> SharedSession | None:
        """Returns the part of a session, which has to be removed at its end; None if the file was removed."""
        with self._lock:
            if self._is_removed:
                return None
            self._sessions.setdefault(session_id, _Lines(owner))
        return SharedSession(self, session_id, owner)

    def append(self, session_id: str, owner: str, records: tuple[Record, ...]) -> bool:
        """Appends records of one session; returns False if they could not be written, or the session has ended."""
        content = encode_shared(SharedRecords(session=session_id, records=records))
        size = len(content)
        with self._lock:
            if session_id not in self._sessions:
                return False
            try:
                self._take(owner, size)
            except SqlError as error:
                self._note_failure(error)
                return False
            offset = self._file.size
            try:
                self._file.append(content)
            except (OSError, StateLost) as error:
                self._budget().give_back(owner, size)
                self._note_failure(error)
                return False
            self._add(session_id, owner, (offset, size))
        return True

    def end(self, session_id: str) -> None:
        """Records that the session has ended with its statement; removes the file after the last one."""
        with self._lock:
            if (found := self._sessions.pop(session_id, None)) is None:
                return
            self._live_bytes -= found.size
            is_empty = not self._sessions and not self._is_current
            if is_empty:
                self._remove()
            elif found.spans:
                self._append_end(session_id)
                self._shrink()
        if is_empty:
            self._on_empty(self)

    def adopt(self, lines: Sequence[tuple[SharedRecords | None, int]], owners: Mapping[str, str]) -> None:
        """Counts the lines, with their sizes, that the file has already; `owners` are of the sessions that are open."""
        with self._lock:
            offset = 0
            for line, size in lines:
                if line is not None and line.session in owners:
                    # The limit may be lower than it was for the process that wrote them.
                    self._budget().count(owners[line.session], size)
                    self._add(line.session, owners[line.session], (offset, size))
                offset += size
            self._file.size = offset

    def fill(self) -> None:
        """Ends the use for further sessions."""
        with self._lock:
            self._is_current = False
            self._file.close()
            is_empty = not self._sessions
            if is_empty:
                self._remove()
            else:
                self._shrink()
        if is_empty:
            self._on_empty(self)

    def _append_end(self, session_id: str) -> None:
        # The line is not part of the limit: what the limit keeps from ending would never become free.
        try:
            self._file.append(encode_shared(SharedRecords(session=session_id, has_ended=True)))
        except (OSError, StateLost) as error:
            self._note_failure(error)

    def _shrink(self) -> None:
        if not self._is_current and self._live_bytes * _LIVE_PART < self._file.size:
            self._rewrite()

    def _take(self, owner: str, size: int) -> None:
        """Takes the bytes from the budget, if necessary by removing the lines of ended sessions."""
        try:
            self._budget().take(owner, size)
        except SqlError:
            self._rewrite()
            self._budget().take(owner, size)

    def _add(self, session_id: str, owner: str, span: Span) -> None:
        lines = self._sessions.setdefault(session_id, _Lines(owner))
        lines.spans.append(span)
        lines.size += span[1]
        self._held[owner] += span[1]
        self._live_bytes += span[1]

    def _rewrite(self) -> None:
        """Writes the lines anew without those of ended sessions."""
        lines = [(span, found) for found in self._sessions.values() for span in found.spans]
        lines.sort(key=lambda line: line[0])
        if not self._file.size:
            return
        try:
            self._file.replace(span for span, _ in lines)
        except (OSError, StateLost) as error:
            self._note_failure(error)
            return
        offset, former = 0, self._held
        self._held = Counter()
        for found in self._sessions.values():
            found.spans = []
        for (_, size), found in lines:
            found.spans.append((offset, size))
            self._held[found.owner] += size
            offset += size
        for owner, count in (former - self._held).items():
            self._budget().give_back(owner, count)

    def _remove(self) -> None:
        self._is_removed = True
        self._file.remove()
        self._file.size = 0
        for owner, count in self._held.items():
            self._budget().give_back(owner, count)
        self._held.clear()


class SharedSession:
    """The part of a session in a shared journal, as a `Journal`."""

    def __init__(self, journal: SharedJournal, session_id: str, owner: str) -> None:
        self._journal = journal
        self._session_id = session_id
        self._owner = owner

    def append(self, *records: Record) -> bool:
        """Appends records; returns False if they could not be written."""
        return self._journal.append(self._session_id, self._owner, records)

    def remove(self) -> None:
        """Records that the session has ended, with its statement."""
        self._journal.end(self._session_id)
