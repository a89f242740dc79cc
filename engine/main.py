"""The engine for a lake: combines catalog, snapshots and Spark, and provides the sessions.

A session has a :class:`~engine.runtime.settings.SessionState` and its own Spark session. Statements in one session may
run at the same time: each begins with the state at its start, and its changes (USE, SET) are applied to the newest
state, under the session's lock, when it ends.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import assert_never

from catalog.catalog import Catalog
from catalog.changes import Change
from catalog.conditions import AdministratorNeeded, BlockForbidsStatement, PositionalScriptParameters, SchemaNotFound
from catalog.discovery.discovery import ServedFolder
from catalog.discovery.other_tables import OtherTablesFinder
from catalog.entries import TableEntry
from catalog.errors import SqlError, shorten
from catalog.grants.right_changes import DropGroup
from catalog.grants.tokens import TokenStore
from catalog.lineage.recorder import LineageRecorder, open_lineage
from catalog.names import DEFAULT_CATALOG, DEFAULT_SCHEMA, SchemaName, matches_all
from catalog.queries.store import open_queries
from catalog.rest.connections import RestPolicy
from catalog.rest.names import RestCatalogs
from catalog.rest.options import RestOptions
from catalog.rest.places import RestPlaces
from catalog.roots import configured_location, is_local
from catalog.store.conditional_put import reason_against_puts, verify_conditional_puts
from catalog.store.credentials import options_for
from catalog.store.file_store import FileStore, remove_catalog_leftovers
from catalog.store.interruption import interrupted_by
from catalog.store.remote import open_files, open_tree
from catalog.store.store import MemoryStore
from catalog.store.store_requests import as_os_errors
from engine.attempts import run_statement
from engine.binding.sources import Sources
from engine.binding.visibility import login_of, visible_to
from engine.cache.result_cache import ResultCache
from engine.delta.commit.transaction import Committed
from engine.delta.log.file_table import use_compact_memory
from engine.delta.maintenance.after_commit import PostCommitQueue
from engine.delta.maintenance.leftovers import commit_times, remove_lake_leftovers
from engine.delta.snapshot.snapshot_cache import SnapshotCache
from engine.editor_help import OWN_FUNCTIONS, user_functions
from engine.engine import TableCount
from engine.formats.delta.delta_format import DeltaFileSource, DeltaFormat
from engine.formats.delta.planning.default_settings import DEFAULT_SETTINGS
from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.commit.metadata_files import metadata_times
from engine.pipeline import parse_statement
from engine.repeated_statements import ensure_repeatable_in_script
from engine.runtime.activity import ActivitySource
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.function_help import FunctionHelp, SqlHelp, read_sql_help
from engine.runtime.identity import Identity
from engine.runtime.metrics import MetricFamily, MetricKind, counter, family_with_labels, gauge
from engine.runtime.parameters import Parameter
from engine.runtime.profile import Profile, Stage
from engine.runtime.request import StatementRequest, derived_id, with_changes
from engine.runtime.results import ResultStream
from engine.runtime.session_state import SessionState
from engine.runtime.settings import TRACE_PARENT, declare_settings, find_setting, opening_settings, requires_admin
from engine.runtime.statement import Statement
from engine.saved_queries import SavedQueries
from engine.saved_session import from_saved, to_saved
from engine.script.immediate import execute_immediate, with_names
from engine.script.interpreter import run_script
from engine.script.statement_pipeline import Scopes, StatementPipeline, Step
from engine.spark.execution_context import ExecutionContext
from engine.spark.session import ExecSession, SparkDriver, SparkOptions
from engine.spool.budget import SpoolBudget
from engine.spool.spool import OwnedSpool
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS, CALLABLE_FUNCTIONS
from engine.sql.hive_variables import substitute_variables
from engine.sql.name_places import name_position
from engine.sql.query.dataframes import dataframe_query
from engine.statements.insert.statement import MultiInsert
from engine.statements.registry import may_answer_rows
from engine.statements.scripting.statement import (
    Executable,
    ExecuteImmediate,
    NamedByExpressions,
    RunnableStatement,
    Script,
)
from engine.statements.session.statement import UseCatalog, UseSchema
from engine.statements.volumes.statement import ChangeFile
from engine.storage.storage import Storage, open_storage
from engine.storage.unlisted_folders import is_abandoned
from engine.tables.formats import formats_of
from engine.warm_up import IDENTITY, RunningStatements, WarmUp

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Options for an engine.

    `lake_folder` is the directory (or URI) whose Delta tables are served; `catalog_folder` stores explicit objects
    (None: they exist as long as the server); ``delta.`path` `` is allowed below `allowed_roots` and `lake_folder`; any
    table's log may name files below `trusted_roots`. `tokens` are the tokens that statements create; `audit_folder`
    contains the audit log, which is readable as a table. `records_lineage`: committed statements are recorded as the
    lineage of their tables. `rest_catalogs` are other catalogs, `rest_policy` restricts
    the catalogs that statements may connect to. `snapshot_cache_bytes` limits the snapshots cached between statements,
    `result_cache_bytes` the cached results (0: disabled) and `result_cache_entry_bytes` each of them. Temporary files
    from killed servers are removed at the start if they are older than `leftovers_age_s`. `warms_up`: the engine runs
    warm-up statements once Spark has started (`warm_up.py`).
    """

    lake_folder: str | None = None
    catalog_folder: str | None = None
    allowed_roots: tuple[str, ...] = ()
    trusted_roots: tuple[str, ...] = ()
    tokens: TokenStore | None = None
    audit_folder: Path | None = None
    records_lineage: bool = True
    rest_catalogs: tuple[RestOptions, ...] = ()
    rest_policy: RestPolicy = RestPolicy()
    snapshot_cache_bytes: int = 1 << 30
    result_cache_bytes: int = 0
    result_cache_file_bytes: int = 0
    result_cache_entry_bytes: int = 16 << 20
    leftovers_age_s: float = 86_400.0
    warms_up: bool = False
    spark: SparkOptions = field(default_factory=SparkOptions)


def open_engine(
    options: EngineOptions,
    progress: Callable[[str], None] = lambda step: None,
    on_give_up: Callable[[SqlError], None] = lambda error: None,
) -> LakeEngine:
    """Opens the catalog and starts Spark, which takes seconds; `progress` is called with each step.

    `on_give_up` is called if Spark, which is restarted after failures, no longer starts.
    """
    use_compact_memory()
    progress("opening the catalog")
    verify_stores(options)
    sources = open_sources(options)
    threading.Thread(target=remove_leftovers, args=(options, sources.catalog), name="leftovers", daemon=True).start()
    driver = SparkDriver.start(
        options.spark,
        allowed_functions=CALLABLE_FUNCTIONS,
        allowed_table_functions=ALLOWED_TABLE_FUNCTIONS,
        progress=progress,
        on_give_up=on_give_up,
    )
    engine = LakeEngine(sources, driver)
    if options.warms_up:
        engine.warm_up(options.spark.local_dir)
    return engine


@contextmanager
def opened_session(folder: str, driver: SparkDriver) -> Iterator[LakeSession]:
    """Yields a session over the lake in `folder` that shares only Spark with client sessions."""
    sources = open_sources(EngineOptions(lake_folder=folder, catalog_folder=f"{folder}/.catalog"))
    try:
        session = LakeEngine(sources, driver).open_session(IDENTITY, settings={}, catalog=None, schema=None)
        try:
            yield session
        finally:
            session.close()
    finally:
        sources.close()


def verify_stores(options: EngineOptions) -> None:
    """Tries a conditional put in each configured object store; a store that ignores the condition is not written.

    A store that cannot be reached, or not be written, is left to the statements. Raises `StorageNotAvailable`.
    """
    folders = (options.lake_folder, options.catalog_folder, *options.allowed_roots)
    for url in dict.fromkeys(configured_location(folder) for folder in folders if folder):
        if is_local(url) or reason_against_puts(url):
            continue
        try:
            with as_os_errors():
                is_honored = verify_conditional_puts(url, options_for(url))
            if not is_honored:
                logger.warning("%s is read-only: %s", url, reason_against_puts(url))
        except OSError as error:
            logger.info("whether %s has conditional puts is not known: %s", url, error)


def remove_leftovers(options: EngineOptions, catalog: Catalog) -> None:
    """Removes files that killed servers left on this machine's disks; a failure is only logged."""
    older_than_s = time.time() - options.leftovers_age_s
    count = 0
    try:
        if options.catalog_folder and is_local(folder := configured_location(options.catalog_folder)):
            count += remove_catalog_leftovers(folder, older_than_s)
        if options.lake_folder and is_local(folder := configured_location(options.lake_folder)):
            count += remove_lake_leftovers(
                folder,
                older_than_s,
                lambda marker_text: is_abandoned(marker_text, catalog, older_than_s, version_times),
            )
    except Exception:  # statements do not depend on the cleanup
        logger.warning("leftovers of killed servers stay for now", exc_info=True)
    if count:
        logger.info("removed %d temporary files and dropped tables that killed servers left", count)


def version_times(storage: Storage) -> list[int]:
    """Returns the commit times for a table's versions, in any format, in ms since the epoch."""
    return [*commit_times(storage), *metadata_times(storage)]


def open_sources(options: EngineOptions) -> Sources:
    """Returns the catalog's own objects over the tables in the lake's directory, and their snapshot cache."""
    store = FileStore(open_files(options.catalog_folder)) if options.catalog_folder else MemoryStore()
    served = ServedFolder(open_tree(options.lake_folder), options.allowed_roots) if options.lake_folder else None
    roots = (*([options.lake_folder] if options.lake_folder else []), *options.allowed_roots)
    if served is not None:
        served.root_table()  # a log at the lake's own root is reported at the start
    declare_settings(DEFAULT_SETTINGS)
    own_folders = filter(None, (options.lake_folder, options.catalog_folder))
    places = RestPlaces(map(configured_location, own_folders))
    rest = RestCatalogs(options.rest_catalogs, options.rest_policy, places)
    catalog = Catalog(store, served, options.allowed_roots, options.catalog_folder, rest)
    catalog.record_rest_catalogs()
    queries = open_queries(options.catalog_folder)
    lineage = open_lineage(options.catalog_folder, is_on=options.records_lineage)

    def follow(change: Change) -> None:
        lineage.follow(change)
        if isinstance(change, DropGroup):
            queries.forget_group(change.name)

    catalog.on_change = follow
    others = OtherTablesFinder(store.newest, options.trusted_roots, served)

    def open_table(location: str) -> Storage:
        storage = open_storage(location, allowed_roots=roots)
        storage.find_others = others.find
        return storage

    snapshots = SnapshotCache(options.snapshot_cache_bytes)
    after_commits = PostCommitQueue(snapshots.load_committed)
    results, remove_results = _result_cache(options)

    def close() -> None:
        after_commits.close()
        lineage.close()
        remove_results()

    return Sources(
        catalog=catalog,
        queries=queries,
        lineage=lineage,
        formats=formats_of(
            DeltaFormat(
                read=lambda location, version: snapshots.load(open_table(location), version),
                open=open_table,
            ),
            IcebergFormat(
                open_table,
                cache_bytes=options.snapshot_cache_bytes,
                rest=rest,
                ensure_free=lambda address, location, may_have_metadata: catalog.view().folders.ensure_free_for(
                    address, location, may_have_metadata=may_have_metadata
                ),
            ),
        ),
        tokens=options.tokens,
        audit_folder=options.audit_folder,
        files=DeltaFileSource(lambda location: open_storage(location, allowed_roots=roots)),
        after_commit=lambda made: after_commits.submit(made) if isinstance(made, Committed) else None,
        before_removal=lambda location: after_commits.forget(open_storage(location).root),
        results=results,
        metric_sources=(
            partial(snapshot_metrics, snapshots),
            partial(lineage_metrics, lineage),
            *([] if results is None else [results.metrics]),
        ),
        close=close,
    )


def _result_cache(options: EngineOptions) -> tuple[ResultCache | None, Callable[[], None]]:
    """Returns the cache, and a function that removes its files."""
    if not options.result_cache_bytes:
        return None, lambda: None
    if not options.result_cache_file_bytes:
        return ResultCache(options.result_cache_bytes, options.result_cache_entry_bytes), lambda: None
    spool = OwnedSpool(options.spark.local_dir, SpoolBudget(options.result_cache_file_bytes))
    sizes = options.result_cache_bytes, options.result_cache_entry_bytes
    return ResultCache(*sizes, spool, options.result_cache_file_bytes), spool.close


def lineage_metrics(lineage: LineageRecorder) -> Iterator[MetricFamily]:
    """Yields metrics for recorded lineage."""
    yield gauge("gateway_lineage_waiting", "Changes of lineage that are not written yet.", lineage.num_waiting)
    yield counter("gateway_lineage_failures_total", "Failed attempts to write lineage.", lineage.failures)
    yield counter("gateway_lineage_lost_total", "Changes of lineage that were given up: too many wait.", lineage.lost)


def snapshot_metrics(cache: SnapshotCache) -> Iterator[MetricFamily]:
    """Yields metrics for the Delta snapshot cache."""
    yield gauge("gateway_snapshot_cache_tables", "Tables whose newest snapshot is kept.", cache.num_tables)
    yield gauge("gateway_snapshot_cache_bytes", "About the bytes of these snapshots.", cache.num_bytes)
    yield gauge("gateway_snapshot_cache_max_bytes", "Bytes that the snapshots may take.", cache.bytes_max)
    loads = (({"result": "hit"}, cache.hits), ({"result": "miss"}, cache.misses))
    name, text = "gateway_snapshot_loads_total", "Newest snapshots asked for: kept and advanced, or read from the log."
    yield family_with_labels(MetricKind.COUNTER, name, text, loads)
    yield counter("gateway_snapshot_evictions_total", "Snapshots dropped to make room.", cache.evictions)


class LakeEngine:
    """The server's only engine; see :class:`engine.engine.Engine`."""

    def __init__(self, sources: Sources, driver: SparkDriver) -> None:
        self._sources = sources
        self._driver = driver
        self._running = RunningStatements()
        self._help: SqlHelp | None = None
        self._help_lock = threading.Lock()
        self.saved_queries = SavedQueries(
            sources.queries, sources.catalog, lambda name: self._sources.activity.knows_user(name)
        )
        self._warm_up: WarmUp | None = None

    def warm_up(self, local_dir: str | None) -> None:
        """Runs warm-up statements on another thread; returns immediately."""
        self._warm_up = WarmUp(lambda folder: opened_session(folder, self._driver), self._running, local_dir)
        self._warm_up.start()

    @property
    def unready_reason(self) -> str | None:
        return self._driver.unready_reason

    @property
    def left_statements(self) -> Mapping[str, int]:
        return self._driver.left_statements

    def restart(self, reason: str) -> None:
        self._driver.restart(reason)

    def sql_help(self) -> SqlHelp:
        with self._help_lock:
            if self._help is None:
                infos = self._driver.function_infos()
                self._help = read_sql_help(infos, ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS, OWN_FUNCTIONS)
            return self._help

    def user_functions(self, identity: Identity, catalog: str | None) -> Sequence[FunctionHelp]:
        return list(user_functions(visible_to(self._sources.catalog.view(), identity), catalog))

    def show_activity(self, activity: ActivitySource) -> None:
        self._sources = replace(self._sources, activity=activity)

    def count_tables(self) -> TableCount:
        found = self._sources.catalog.view().find_relations(DEFAULT_CATALOG, matches_all, matches_all)
        schemas = Counter(entry.name.schema for entry in found if isinstance(entry, TableEntry))
        return TableCount(tables=schemas.total(), schemas=len(schemas))

    def metrics(self) -> Iterable[MetricFamily]:
        for measure in self._sources.metric_sources:
            yield from measure()
        yield from self._driver.metrics()

    def open_session(
        self,
        identity: Identity,
        *,
        settings: Mapping[str, str],
        catalog: str | None,
        schema: str | None,
        may_lack_schema: bool = False,
    ) -> LakeSession:
        """Opens a session at `catalog`.`schema`; rejects unknown ones, and unknown settings, before Spark is called.

        `may_lack_schema`: the schema may not exist yet.
        """
        view = visible_to(self._sources.catalog.view(), identity)
        name = SchemaName(catalog or DEFAULT_CATALOG, schema or DEFAULT_SCHEMA)
        try:
            name = view.schema(name).name
        except SchemaNotFound:
            if not may_lack_schema:
                raise
        values, without_effect = opening_settings(settings)
        login = login_of(identity)
        if login is not None and not login.is_admin and requires_admin(values):
            raise AdministratorNeeded()
        state = SessionState(identity=identity, catalog=name.catalog, schema=name.schema, values=values)
        return LakeSession(state, self._sources, self._driver.open_session(), self._running, without_effect)

    def restore_session(self, identity: Identity, saved: Mapping[str, object]) -> LakeSession:
        return LakeSession(from_saved(identity, saved), self._sources, self._driver.open_session(), self._running)

    def close(self) -> None:
        """Finishes post-commit work, and stops Spark."""
        if self._warm_up is not None:
            self._warm_up.stop()
        self._sources.close()
        self._driver.stop()


# Stages in which an error is about the statement's text, and SQLSTATE classes of such errors in all stages.
_STAGES_OF_TEXT = frozenset({None, Stage.PARSE, Stage.BIND, Stage.AUTHORIZE, Stage.ANALYZE, Stage.PLAN, Stage.ENFORCE})
_CLASSES_OF_TEXT = ("0A", "22022", "2B", "42")


@contextmanager
def _with_name_position(text: str, current: SchemaName, profile: Profile) -> Iterator[None]:
    """Adds the position of the reported name to errors that have no position."""
    try:
        yield
    except SqlError as error:
        is_about_text = profile.stage in _STAGES_OF_TEXT or error.sqlstate.startswith(_CLASSES_OF_TEXT)
        position = name_position(error, text, current) if error.position is None and is_about_text else None
        if position is None:
            raise
        raise error.at(position) from error


class LakeSession:
    """One client's session; see :class:`engine.engine.EngineSession`."""

    def __init__(
        self,
        state: SessionState,
        sources: Sources,
        executor: ExecSession,
        running: RunningStatements | None = None,
        without_effect: Sequence[str] = (),
    ) -> None:
        """`running` counts its statements; `without_effect` are settings about which the first statement's log
        warns.
        """
        self._state = state
        self._sources = sources
        self._executor = executor
        self._running = running or RunningStatements()
        self._without_effect = without_effect
        self._lock = threading.Lock()
        self._apply_to_spark(SessionState(identity=state.identity, catalog="", schema=""), state)

    @property
    def current_catalog(self) -> str:
        return self._state.catalog

    @property
    def current_schema(self) -> str:
        return self._state.schema

    @property
    def statement_timeout_s(self) -> float:
        return float(self._state.value("gateway.statement.timeout") or 0)

    @property
    def trace_parent(self) -> str | None:
        return self._state.value(TRACE_PARENT) or None

    @property
    def state_mark(self) -> object:
        return self._state

    def saved_state(self) -> dict[str, object]:
        return to_saved(self._state)

    def execute(
        self, text: str | DataFramePlan, request: StatementRequest, parameters: Sequence[Parameter] = ()
    ) -> ResultStream:
        """Parses `text` and runs it."""
        with interrupted_by(request.cancel), self._running.statement():
            if isinstance(text, DataFramePlan):
                return self._execute(dataframe_query(text), parameters, request)
            substituted = substitute_variables(text, self._state.values)
            if substituted != text:
                text = substituted
                request.on_substituted(text)
            with _with_name_position(text, self._state.current, request.profile):
                parsed = parse_statement(text, request.dialect)
                # PyHive's first statement, without a log
                if self._without_effect and not isinstance(parsed, UseCatalog | UseSchema):
                    names, self._without_effect = ", ".join(map(shorten, self._without_effect)), ()
                    request.profile.log(f"WARNING: settings without effect: {names}")
                return self._execute(parsed, parameters, request)

    def _execute(self, parsed: Executable, parameters: Sequence[Parameter], request: StatementRequest) -> ResultStream:
        match parsed:
            case Script() as script:
                if request.block is not None:
                    raise BlockForbidsStatement("A script")
                if any(parameter.name is None for parameter in parameters):
                    raise PositionalScriptParameters()
                request.profile.enter(Stage.EXECUTE)
                return run_script(script, self._pipeline(request, is_script=True), parameters)
            case ExecuteImmediate() as immediate:
                return execute_immediate(immediate, self._pipeline(request), (), parameters).result
            case NamedByExpressions() as named:
                return self._execute(*with_names(named, self._pipeline(request), (), parameters), request)
            case Statement() | MultiInsert() as statement:
                request.on_parsed(may_answer_rows(statement))
                return self._take(statement, (), parameters, request).result
            case _:
                assert_never(parsed)

    def run(self, statement: Statement | ChangeFile, request: StatementRequest) -> ResultStream:
        """Runs a statement that was not sent as text."""
        with interrupted_by(request.cancel), self._running.statement():
            return self._take(statement, (), (), request).result

    def close(self) -> None:
        self._executor.close()

    def _pipeline(self, request: StatementRequest, *, is_script: bool = False) -> StatementPipeline:
        """Returns the operations for inner statements; each statement in a script has its own timeout, as if it had
        been sent alone.
        """
        ordinals = count()

        def take(statement: RunnableStatement, scopes: Scopes, parameters: Sequence[Parameter]) -> Step:
            # the outer statement decides which rows are read, and when
            own = with_changes(request, on_rows=None, rows_wanted=None, bytes_wanted=None)
            if not is_script:
                return self._take(statement, scopes, parameters, own)
            if request.is_repeated:
                ensure_repeatable_in_script(statement, scopes)
            own = with_changes(
                own,
                instant_us=request.now_ms() * 1000,
                profile=request.profile.begin_part(),
                transaction_id=derived_id(request.transaction_id, "statement", next(ordinals)),
                versions={},  # each statement reads the newest ones
                on_versions=None,
                is_repeated=False,  # what was checked above has the same effect again
            )
            try:
                return self._take(statement, scopes, parameters, own)
            finally:
                request.profile.end_part(own.profile)

        def with_position(text: str) -> AbstractContextManager[None]:
            return _with_name_position(text, self._state.current, request.profile)

        return StatementPipeline(parse=parse_statement, take=take, with_position=with_position, cancel=request.cancel)

    def _take(
        self, statement: RunnableStatement, scopes: Scopes, parameters: Sequence[Parameter], request: StatementRequest
    ) -> Step:
        """Runs `statement` and applies its changes to the session and to the `scopes` that are visible to it."""
        state = self._state
        before = replace(
            state,
            identity=request.identity,
            scopes=scopes,
            shows_materialized=request.shows_materialized,
            values=MappingProxyType({**state.values, **request.settings}) if request.settings else state.values,
        )
        context = ExecutionContext(
            request=request, state=before, sources=self._sources, executor=self._executor, parameters=parameters
        )
        outcome = run_statement(statement, context)
        if outcome.change is not None:
            with self._lock:
                changed = outcome.change(replace(self._state, scopes=scopes))
                after, scopes = replace(changed, scopes=()), changed.scopes
                self._apply_to_spark(self._state, after)
                self._state = after
        return Step(result=outcome.result, scopes=scopes, values=outcome.values)

    def _apply_to_spark(self, before: SessionState, after: SessionState) -> None:
        """Applies the current schema and Spark settings from `after` to the Spark session."""
        if (before.catalog, before.schema) != (after.catalog, after.schema):
            self._executor.set_current_schema(after.catalog, after.schema)
        for key in before.values.keys() | after.values.keys():
            if find_setting(key).is_spark and before.values.get(key) != after.values.get(key):
                self._executor.set_setting(key, after.values.get(key))
