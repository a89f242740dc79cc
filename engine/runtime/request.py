"""What one run of a statement may know of the world: who asks, until when, and whether it was cancelled.

Stages take time, ids and settings from here and from nowhere else, so a run can be repeated in a test.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from catalog.grants.right_differences import RightDifference
from engine.concurrency.cancel import CancelToken
from engine.concurrency.retry import Loss
from engine.runtime.accesses import Commit, Lineage, StatementAccess
from engine.runtime.identity import Identity
from engine.runtime.profile import Profile, SparkJob
from engine.runtime.results import FileQuestion, ResultStream
from engine.runtime.variables import VisibleVariables
from engine.spool.spool import Spool
from engine.storage.volume_files import FileTransfer


def _ignore(_: object) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRequest:
    """One run: identity, cancel switch, id and clock; `profile` is told what was read.

    `instant_us` (microseconds since the epoch) is what `current_timestamp()` answers, in all queries of the run.
    Who asks takes no more than the first `rows_wanted` rows of the answer, and none behind `bytes_wanted` bytes (None:
    all): a query need not compute the others. `spool` holds what of its result is in files (None: one of the engine's).
    `scan_bytes_max` bounds the data files that its queries read (0: no bound); `pool` is what its tasks share Spark's
    time in (None: that of all others).
    `caches_results`: its answer may come from the result cache, and go there. `variables` are those that its queries
    may name. `shows_materialized`: SHOW VIEWS has Databricks' column `isMaterialized`. `on_substituted` is called with
    the text after Hive's variables got their values. `on_parsed` is told, once the text is parsed, whether the
    statement may answer rows: some protocols have to say so before it has run. `on_rows`, where it is given, is told of
    the result of a query that goes on computing its last rows, on any thread; a later failure is the result's too.
    `on_authorized` is told what the statement will touch, each time before it is planned; where it raises, nothing is
    done. `on_lineage`, where it is given, is told after each query of the run which columns that read and wrote,
    `on_commit` of each version of a table that was made, `on_loss` of each commit of another writer because of which an
    attempt is made again, `on_rights` of what a change of the catalog did to rights. `on_files_asked`, where it is
    given, is told which files of its scans each query asked for, on any thread; `on_jobs`, where it is given, of the
    jobs that Spark ran for each query. `stage`, where it is given, makes URLs for files of volumes.
    """

    identity: Identity
    cancel: CancelToken = field(default_factory=CancelToken)
    statement_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    now_ms: Callable[[], int] = field(default=lambda: time.time_ns() // 1_000_000)
    instant_us: int = field(default_factory=lambda: time.time_ns() // 1000)
    result_bytes_max: int = 1 << 30
    rows_wanted: int | None = None
    bytes_wanted: int | None = None
    spool: Spool | None = None
    scan_bytes_max: int = 0
    pool: str | None = None
    caches_results: bool = True
    profile: Profile = field(default_factory=Profile)
    variables: VisibleVariables = VisibleVariables()
    shows_materialized: bool = False
    on_substituted: Callable[[str], None] = _ignore
    on_parsed: Callable[[bool], None] = _ignore
    on_authorized: Callable[[StatementAccess], None] = _ignore
    on_rows: Callable[[ResultStream], None] | None = None
    on_lineage: Callable[[Lineage], None] | None = None
    on_commit: Callable[[Commit], None] = _ignore
    on_loss: Callable[[Loss], None] = _ignore
    on_files_asked: Callable[[FileQuestion], None] | None = None
    on_jobs: Callable[[Sequence[SparkJob]], None] | None = None
    on_rights: Callable[[Sequence[RightDifference]], None] = _ignore
    stage: Callable[[FileTransfer], str] | None = None
