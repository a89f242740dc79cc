"""Where names and tables come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from catalog.catalog import Catalog
from engine.concurrency.table_locks import TableLocks
from engine.concurrency.table_pins import TablePins
from engine.delta.commit.transaction import Committed
from engine.delta.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where names and tables come from; shared by all sessions."""

    catalog: Catalog
    load: Callable[[str, int | None], Snapshot]
    """The snapshot of the table at a location: of a version, or the newest one."""
    after_commit: Callable[[Committed], None] = lambda _: None
    """Told of every version that a statement made."""
    before_removal: Callable[[str], None] = lambda _: None
    """Told of the location of a table whose files are about to go."""
    locks: TableLocks = field(default_factory=TableLocks)
    """For statements that cannot commit at once, by location of the table."""
    pins: TablePins = field(default_factory=TablePins)
    """Which tables running statements use, for those that remove files."""
    close: Callable[[], None] = lambda: None
    """Finishes what is still to be done for these versions."""
