"""Answers Java's callbacks while Spark plans: the files in a scan that may contain rows for these filters, their
estimated size, and rows that are not in files. While a query runs: disk space for its result, and credentials that a
catalog vended for a table's files.

Java's announcement of a statement's first rows is passed on to its result (`streaming_result.py`). A statement is
registered here only while it runs. An error in a callback fails the statement with the original error
(`DriverCallbacks.failure`), not with Java's view of it. A statement whose files exceed its limit fails this way,
before any job.

Rows that are not in files are computed in the context of the statement's own thread (:class:`GivenAnswers`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import ScanLimitExceeded, VendedCredentialsNotInSpark
from catalog.names import quote
from catalog.rest.vended import vended_by
from engine.concurrency.cancel import CancelToken
from engine.errors.table_errors import name_table_in_errors
from engine.planning.plans.reads import ReadPlan, RowScan
from engine.pruning.estimates import Estimate
from engine.runtime.profile import Profile
from engine.runtime.request import StatementRequest
from engine.runtime.results import FileListRequest
from engine.runtime.time_zones import find_zone
from engine.spark.driver_callbacks import CallbackServer
from engine.spark.filters import read_filters
from engine.spark.scan import file_list
from engine.spark.schema import PythonRowsJson
from engine.spark.streaming_result import StreamingResult
from engine.spool.budget import Reservation
from engine.tables.scan import CountingPruning, PrunedFiles, Scan

logger = logging.getLogger(__name__)

# Metadata for a list from which matching files may be omitted, for `ScanFiles.java`.
IS_PART = {"is_part": "true"}


class ScannedBytes:
    """A statement's scanned bytes: each file in a scan counts once, however often Spark requests it."""

    def __init__(self, bytes_max: int) -> None:
        """0 means no limit."""
        self._bytes_max = bytes_max
        self._total = 0
        # By scan name: the files that are included in the total.
        self._counted: dict[str, npt.NDArray[np.bool_]] = {}

    def add(self, scan: Scan, rows: pa.Array | None) -> None:
        """Adds files; `rows` are positions in the scan's files; None: all. Raises `ScanLimitExceeded`."""
        if not self._bytes_max:
            return
        counted = self._counted.setdefault(scan.relation, np.zeros(scan.files.num_rows, bool))
        added = np.ones_like(counted) if rows is None else np.zeros_like(counted)
        if rows is not None:
            added[rows.to_numpy(zero_copy_only=False)] = True
        sizes = scan.files["size"].fill_null(0).to_numpy()
        # Adaptive execution and dynamic pruning request a scan's files several times in one
        # statement.
        self._total += int(sizes[added & ~counted].sum())
        counted |= added
        if self._total > self._bytes_max:
            raise ScanLimitExceeded(self._total, self._bytes_max)


class DriverCallbacks:
    """A running statement's scans, and the first error in its callbacks."""

    def __init__(
        self,
        scans: Sequence[Scan],
        profile: Profile,
        scan_bytes_max: int = 0,
        disk: Reservation | None = None,
        on_file_request: Callable[[FileListRequest], None] | None = None,
        given: GivenAnswers | None = None,
    ) -> None:
        """Registers scans; `disk` reserves bytes for its result's files (None: unlimited)."""
        self._scans = scans
        self._profile = profile
        self._on_file_request = on_file_request
        self._given = given or GivenAnswers()
        self._counted = ScannedBytes(scan_bytes_max)
        self._disk = disk or Reservation(None, "")
        self._failure: Exception | None = None

    @property
    def failure(self) -> Exception | None:
        """Returns the first error in a callback, None without one; Spark's own error only reports a failed call."""
        return self._failure or self._given.failure

    def answer(self, callback: dict[str, Any]) -> pa.Table | dict[str, Any] | Iterator[pa.RecordBatch]:
        """Returns the scan's files that match the filters, in the form of `file_list`, or an estimate; or the number of
        further bytes that may be written for the result; or Hadoop's settings for vended credentials.
        """
        try:
            if "lease" in callback:
                return _vended_credentials(callback["lease"], callback["place"])
            if "disk_bytes" in callback:
                return {"granted": self._disk.take(callback["disk_bytes"], callback["needed"])}
            if "given" in callback:
                return self._given.answer(callback)
            scan = self._scans[callback["scan"]]
            with name_table_in_errors(scan.label):
                if "estimate" in callback:
                    return asdict(_estimate(scan, callback))
                pruned = self._pruned_files(scan, callback)
                rows = None if pruned is None else pruned.rows
                self._counted.add(scan, rows)
                files = file_list(scan, rows)
                return files if pruned is None or not pruned.is_part else files.replace_schema_metadata(IS_PART)
        except Exception as error:
            self._failure = error
            raise

    def _pruned_files(self, scan: Scan, callback: dict[str, Any]) -> PrunedFiles | None:
        """Returns the files that may match, or enough of them for the requested row count; None for all."""
        request = FileListRequest(
            callback["scan"], json.dumps(callback["filters"]), callback["zone"], callback.get("rows")
        )
        if self._on_file_request is not None:
            self._on_file_request(request)
        pruned = pruned_files(scan, request)
        if pruned is None:
            return None
        # The number of files that a policy's condition leaves would reveal hidden values.
        if not scan.is_hidden:
            self._profile.add_read(pruned.read)
        return pruned


def pruned_files(scan: Scan, request: FileListRequest) -> PrunedFiles | None:
    """Returns the selected files for a request on a scan, possibly in another version; None: all its files."""
    pruning = scan.pruning
    if pruning is None:
        return None
    filters = read_filters(json.loads(request.filters))
    zone = find_zone(request.zone)
    # With a row filter above the scan, files with enough rows may still hold too few
    # visible ones.
    if request.rows is not None and not scan.is_hidden and isinstance(pruning, CountingPruning):
        return pruning.choose_rows(filters, zone, request.rows)
    return pruning.choose(filters, zone)


def _vended_credentials(credentials_id: str, place: str) -> dict[str, Any]:
    """Returns credentials in the form for `VendedCredentials.java`. Raises `VendedCredentialsNotInSpark`,
    `RestCatalogNotAvailable`.
    """
    vended = vended_by(credentials_id)
    if vended.hadoop is None:
        raise VendedCredentialsNotInSpark(place, "Spark takes none of their kind")
    return {"connector": vended.hadoop.connector, "settings": dict(vended.hadoop.settings), "ends_ms": vended.ends_ms}


def _estimate(scan: Scan, callback: dict[str, Any]) -> Estimate:
    """Returns an estimate. For rows that policies hide, it contains only publicly visible information."""
    if scan.pruning is not None and not scan.is_hidden:
        filters = read_filters(callback["filters"])
        zone = find_zone(callback["zone"])
        try:
            return scan.pruning.estimate(filters, zone, callback["estimate"])
        except Exception:  # a real error is raised when the files are listed
            logger.exception("nothing is estimated of %s", scan.label)
    return Estimate(files=scan.files.num_rows, bytes=pc.sum(scan.files["size"]).as_py() or 0)


class FileLists:
    """The process-wide registry for running statements; see the module."""

    def __init__(self) -> None:
        self._running: dict[str, DriverCallbacks] = {}
        self._streaming: dict[str, StreamingResult] = {}
        self.server = CallbackServer(self._answer, self._follow)

    @contextmanager
    def serve(
        self,
        request: StatementRequest,
        plan: ReadPlan,
        streaming: StreamingResult | None = None,
        disk: Reservation | None = None,
    ) -> Iterator[DriverCallbacks]:
        """Answers callbacks for this statement, records the files in its profile, and passes first rows to `streaming`;
        `disk` reserves bytes for its result's files.
        """
        callbacks = self._running[request.statement_id] = DriverCallbacks(
            plan.scans,
            request.profile,
            request.scan_bytes_max,
            disk,
            request.on_files_requested,
            GivenAnswers(plan.given, request.cancel),
        )
        if streaming is not None:
            self._streaming[request.statement_id] = streaming
        try:
            yield callbacks
        finally:
            del self._running[request.statement_id]
            self._streaming.pop(request.statement_id, None)

    def _answer(self, callback: dict[str, Any]) -> pa.Table | dict[str, Any] | Iterator[pa.RecordBatch]:
        callbacks = self._running.get(callback["statement"])
        if callbacks is None and "lease" in callback:  # from a task that removes its files, after its statement
            return _vended_credentials(callback["lease"], callback["place"])
        return self._running[callback["statement"]].answer(callback)

    def _follow(self, callback: dict[str, Any], lines: Iterable[bytes]) -> None:
        streaming = self._streaming.get(callback["statement"])
        if streaming is not None:  # otherwise it has ended
            streaming.read_segments(callback["result"], lines)


class GivenAnswers:
    """Row answers for one statement, created on its thread."""

    def __init__(self, given: Sequence[RowScan] = (), cancel: CancelToken | None = None) -> None:
        self._given = given
        self._cancel = cancel or CancelToken()
        # Context variables carry the statement's catalog lookups and credentials; Java
        # calls back on another thread.
        self._context = copy_context()
        self.failure: Exception | None = None

    def answer(self, callback: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        """Yields the keys of all objects, or the rows for the objects at the positions `pruned` (None: all), with
        values for the costly columns `used`.
        """
        rows = self._given[callback["given"]].rows
        # A context can be entered by one thread at a time, and Spark may read several
        # relations concurrently.
        context = self._context.copy()
        try:
            if "chosen" not in callback:
                objects = context.run(rows.objects)
                columns = [pa.array([keys[at] for keys in objects], pa.string()) for at in range(len(rows.keys))]
                yield pa.RecordBatch.from_arrays(columns, rows.keys)
                return
            batches = rows.batches(callback["chosen"], callback["used"])
            while (batch := context.run(next, batches, None)) is not None:
                self._cancel.ensure_live()
                yield batch
        except Exception as error:
            self.failure = error
            raise


def given_request(given: RowScan) -> PythonRowsJson:
    """Returns the request that `PythonRowsRelation.java` reads."""
    columns = ", ".join(f"{quote(name)} {kind}" for name, kind in given.rows.columns)
    spooled = given.rows.spooled
    return {
        "relation": given.relation,
        "columns": columns,
        "keys": list(given.rows.keys),
        "costly": list(given.rows.costly),
        "paths": list(given.rows.paths),
        "is_stamped": given.rows.stamp is not None,
        "spooled": None
        if spooled is None
        else {"files": list(map(str, spooled.files)), "rows": spooled.num_rows, "bytes": spooled.size_bytes},
    }
