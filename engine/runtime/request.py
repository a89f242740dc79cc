"""The front end's request to run a statement: identity, cancellation, limits, and callbacks.

The stages take time, ids and settings from the request only, so a run can be repeated in a test.

Callbacks are fields, and not the methods of one listener: the front end's operation, its trace, the result cache and
the script interpreter each set, wrap or remove single ones with `with_changes`, and None means that the engine need not
collect the event. A listener would need a forwarding class for each of them, and a flag for each such event.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from catalog.grants.right_differences import RightDifference
from engine.concurrency.cancel import CancelToken
from engine.concurrency.retry import RetryReason
from engine.runtime.accesses import Commit, Lineage, StatementAccess
from engine.runtime.identity import Identity
from engine.runtime.profile import Profile, SparkJob
from engine.runtime.results import FileListRequest, ResultStream
from engine.runtime.transaction_block import TransactionBlock
from engine.runtime.variables import VisibleVariables
from engine.spool.spool import Spool
from engine.spool.spooled_rows import SpooledRows
from engine.storage.volume_files import FileTransfer

__all__ = ["SqlDialect", "StatementRequest", "derived_id", "with_changes"]

if TYPE_CHECKING:
    from dataclasses import replace as with_changes
else:
    # The type checker knows the changes of `dataclasses.replace`, which takes 13 µs for a request, six times a
    # statement, and rejects a struct at run time.
    with_changes = msgspec.structs.replace


class SqlDialect(StrEnum):
    """Dialects that the parse stage reads; a front end names the one that its client writes."""

    SPARK = "spark"
    POSTGRES = "postgres"


def _ignore(_: object) -> None:
    pass


class StatementRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request: identity, cancel token, id, clock, profile, limits and callbacks.

    - `dialect`: the dialect of the statement's text.
    - `transaction_id`: a UUID, which the statement's commit records; several commits have ids derived from it
      (`engine/runtime/request.py`). None: each commit has a random id.
    - `began_ms`: when the statement began, in milliseconds since the epoch, by the clock of its first process.
    - `is_repeated`: another process had begun the statement, and may have executed it. A statement with a
      `transaction_id` is then executed only if it was not (`engine/repeated_statements.py`).
    - `versions`: the versions of tables that a query reads again, as `on_versions` reported them; it reads all other
      tables at their newest versions. A version that no longer exists fails the query as time travel does, and an
      older one has its own columns.
    - `inserted_version`: a version that the session has just committed by an INSERT. `table_changes` reads its rows
      also from tables without a change data feed, for INSERT … RETURNING.
    - `instant_us`: the value of `current_timestamp()` in all queries of the run, in microseconds since the epoch.
    - `rows_wanted`, `bytes_wanted`: the client takes no more rows or bytes (None: all), so a query need not compute
      them.
    - `result_bytes_max`: the maximum size of the result.
    - `spool`: stores the part of the result that is in files (None: the engine's own spool).
    - `scan_bytes_max`: the limit on the data files that the queries read (0: none).
    - `pool`: Spark's scheduler pool for the tasks (None: the default pool).
    - `caches_results`: the result may come from the result cache, and be added to it.
    - `variables`: the session variables that are visible to the queries.
    - `block`: the transaction block to which the statement belongs; a change is committed at the block's end.
    - `spooled_rows`: rows of the client that the statement's text reads by their names.
    - `settings`: values of session settings for this statement only, which the engine reads (not Spark).
    - `shows_materialized`: SHOW VIEWS has Databricks' column `isMaterialized`.

    Callbacks:

    - `on_substituted(text)`: the text after the substitution of Hive variables.
    - `on_parsed(may_answer_rows)`: some protocols report this before the statement has run.
    - `on_authorized(access)`: the objects that the statement accesses, each time before it is planned; an exception
      fails the statement.
    - `on_versions(versions)`: the versions of the tables that a query reads, by location, before it is planned; texts
      for `versions`. They do not include tables with time travel. None: not reported.
    - `on_columns(stream)`: the result of a query that takes longer, before it has rows, on any thread; only its columns
      may be read.
    - `on_rows(stream)`: the result of a query whose last rows are still computed, on any thread; a later failure is
      also raised by the stream. None: results are complete when they are returned.
    - `on_lineage(lineage)`: the columns that a query read and wrote, after each query. None: lineage is not collected.
    - `on_staged(result)`: the result of a change that waits for the end of its block, before its commit.
    - `on_commit(commit)`: each table version that was committed.
    - `on_retry(reason)`: each attempt that failed and is repeated, after a conflict with another writer's commit.
    - `on_observed(metrics)`: the metrics of `observe` in a DataFrame plan, each a `spark.connect` message, after each
      query or write that has some. None: not reported.
    - `on_rights(differences)`: the privileges that a catalog change granted or revoked.
    - `on_files_requested(request)`: the files of a scan that a query requested, on any thread. None: not reported.
    - `on_jobs(jobs)`: the Spark jobs of each query. None: not reported.
    - `stage(transfer)`: returns a presigned URL for a file of a volume. None: the front end has no staging.
    """

    identity: Identity
    cancel: CancelToken = msgspec.field(default_factory=CancelToken)
    statement_id: str = msgspec.field(default_factory=lambda: uuid.uuid4().hex)
    dialect: SqlDialect = SqlDialect.SPARK
    transaction_id: str | None = None
    began_ms: int = msgspec.field(default_factory=lambda: time.time_ns() // 1_000_000)
    is_repeated: bool = False
    versions: Mapping[str, str] = msgspec.field(default_factory=dict)
    inserted_version: int | None = None
    now_ms: Callable[[], int] = msgspec.field(default=lambda: time.time_ns() // 1_000_000)
    instant_us: int = msgspec.field(default_factory=lambda: time.time_ns() // 1000)
    result_bytes_max: int = 1 << 30
    rows_wanted: int | None = None
    bytes_wanted: int | None = None
    spool: Spool | None = None
    scan_bytes_max: int = 0
    pool: str | None = None
    caches_results: bool = True
    profile: Profile = msgspec.field(default_factory=Profile)
    variables: VisibleVariables = VisibleVariables()
    settings: Mapping[str, str] = msgspec.field(default_factory=dict)
    shows_materialized: bool = False
    block: TransactionBlock | None = None
    spooled_rows: Sequence[SpooledRows] = ()
    on_substituted: Callable[[str], None] = _ignore
    on_parsed: Callable[[bool], None] = _ignore
    on_authorized: Callable[[StatementAccess], None] = _ignore
    on_versions: Callable[[Mapping[str, str]], None] | None = None
    on_columns: Callable[[ResultStream], None] = _ignore
    on_rows: Callable[[ResultStream], None] | None = None
    on_lineage: Callable[[Lineage], None] | None = None
    on_staged: Callable[[ResultStream], None] = _ignore
    on_commit: Callable[[Commit], None] = _ignore
    on_retry: Callable[[RetryReason], None] = _ignore
    on_files_requested: Callable[[FileListRequest], None] | None = None
    on_jobs: Callable[[Sequence[SparkJob]], None] | None = None
    on_observed: Callable[[Sequence[bytes]], None] | None = None
    on_rights: Callable[[Sequence[RightDifference]], None] = _ignore
    stage: Callable[[FileTransfer], str] | None = None


def derived_id(transaction_id: str | None, kind: str, ordinal: int) -> str | None:
    """Returns the id for the part `ordinal` of a statement; None without an id. `kind` distinguishes nested parts."""
    if transaction_id is None:
        return None
    return str(uuid.uuid5(uuid.UUID(transaction_id), f"{kind} {ordinal}"))
