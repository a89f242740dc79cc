"""The sources for names and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from catalog.catalog import Catalog
from catalog.grants.tokens import TokenStore
from catalog.lineage.recorder import LineageRecorder
from catalog.queries.store import QueryStore
from engine.cache.result_cache import ResultCache
from engine.concurrency.table_cache import TableCache
from engine.concurrency.table_locks import TableLocks
from engine.concurrency.table_pins import TablePins
from engine.concurrency.write_queue import WriteQueue
from engine.runtime.activity import ActivitySource, NoActivity
from engine.runtime.global_views import GlobalViews
from engine.runtime.metrics import MetricFamily
from engine.tables.formats import TableFormats
from engine.tables.source_files import FileSource, NoFiles
from engine.tables.transaction import TableCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The sources for names and tables, shared by all sessions."""

    catalog: Catalog
    # Loads the tables that the catalog names.
    formats: TableFormats
    # The server's personal access tokens, if it accepts them.
    tokens: TokenStore | None = None
    # Finds the files that statements name by path.
    files: FileSource = NoFiles()
    # The queries that users keep on the server.
    queries: QueryStore = field(default_factory=lambda: QueryStore(None))
    # The lineage of the catalog's tables.
    lineage: LineageRecorder = field(default_factory=LineageRecorder)
    # The server's audit log directory, if it has one.
    audit_folder: Path | None = None
    # Sessions and statements from the front ends.
    activity: ActivitySource = NoActivity()
    # Called with each version that a statement committed.
    after_commit: Callable[[TableCommit], None] = lambda _: None
    # Metrics from the engine's components.
    metric_sources: tuple[Callable[[], Iterable[MetricFamily]], ...] = ()
    # Called with a table's location before its files are removed.
    before_removal: Callable[[str], None] = lambda _: None
    # Locks for statements that cannot commit concurrently, by table location.
    locks: TableLocks = field(default_factory=TableLocks)
    # Turns for commits to a table, by its location; None: commits race each other.
    write_queue: WriteQueue | None = field(default_factory=WriteQueue)
    # Tables whose log names no foreign files, for statements that remove files.
    own_files: TableCache = field(default_factory=TableCache)
    # Tables in use by running statements, for statements that remove files.
    pins: TablePins = field(default_factory=TablePins)
    # The temporary views that sessions share.
    global_views: GlobalViews = field(default_factory=GlobalViews)
    # Caches query results between statements.
    results: ResultCache | None = None
    # Finishes pending work for these versions.
    close: Callable[[], None] = lambda: None
