"""Where names and tables come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from catalog.catalog import Catalog
from catalog.grants.tokens import TokenStore
from engine.cache.result_cache import ResultCache
from engine.concurrency.remembered import Remembered
from engine.concurrency.table_locks import TableLocks
from engine.concurrency.table_pins import TablePins
from engine.concurrency.turns import Turns
from engine.runtime.activity import ActivitySource, NoActivity
from engine.runtime.global_views import GlobalViews
from engine.runtime.metrics import MetricFamily
from engine.tables.formats import TableFormats
from engine.tables.source_files import FileSource, NoFiles
from engine.tables.transaction import TableCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where names and tables come from; shared by all sessions."""

    catalog: Catalog
    formats: TableFormats
    """Load the tables that the catalog names."""
    tokens: TokenStore | None = None
    """The personal access tokens of a server that takes them."""
    files: FileSource = NoFiles()
    """Finds the files that statements name by their path."""
    audit_folder: Path | None = None
    """Of the server's audit trail, if it keeps one."""
    activity: ActivitySource = NoActivity()
    """What the front ends tell of sessions and statements."""
    after_commit: Callable[[TableCommit], None] = lambda _: None
    """Told of every version that a statement made."""
    measures: tuple[Callable[[], Iterable[MetricFamily]], ...] = ()
    """What the parts of the engine count."""
    before_removal: Callable[[str], None] = lambda _: None
    """Told of the location of a table whose files are about to go."""
    locks: TableLocks = field(default_factory=TableLocks)
    """For statements that cannot commit at once, by location of the table."""
    turns: Turns | None = field(default_factory=Turns)
    """For commits to a table, by its location; None: they race each other."""
    own_files: Remembered = field(default_factory=Remembered)
    """Which tables name no files of others, for those that remove files."""
    pins: TablePins = field(default_factory=TablePins)
    """Which tables running statements use, for those that remove files."""
    global_views: GlobalViews = field(default_factory=GlobalViews)
    """The temporary views that sessions share."""
    results: ResultCache | None = None
    """Keeps answers of queries from one statement to the next."""
    close: Callable[[], None] = lambda: None
    """Finishes what is still to be done for these versions."""
