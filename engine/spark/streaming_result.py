"""Streaming results: rows that may be read before their query has ended.

Java opens a connection to the question server for the first rows that are on disk (`ResultSpool.java`), or earlier for
the columns of a query that takes longer (`FirstRowsNotifier.java`): the request is `{"statement": id, "result":
header}`, with a result header (`frame.py`), and a line `[path, offset, length]` follows for each piece: the segment at
`offset` in that file, the last announced one or the next one, has this length in bytes. The connection ends with the
query, whose response has the complete list; so correctness does not depend on the lines that were read.

A query may run several times, in one Spark process after the other; the reader has one result.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from typing import Any

from engine.runtime.results import ResultStream
from engine.spark.frame import OnWork, complete_result, read_answer, read_result_header, work_of
from engine.spark.record_batches import RecordBatches, Segment
from engine.spool.spool import Spool


class StreamingResult:
    """Calls `on_rows` with the result once, on the connection's thread, if rows are available before the query has
    ended.

    `on_rows` has returned when :meth:`complete` does, or is never called: a stream has one reader, and the caller of
    `complete` has to know whether another reader already has it. It must not wait for the query.
    """

    def __init__(
        self,
        on_columns: Callable[[ResultStream], None],
        on_rows: Callable[[ResultStream], None],
        on_work: OnWork,
        spool: Spool,
        owner: str,
    ) -> None:
        """The result's files are moved to `spool`, accounted to `owner`; `on_work` receives step durations and rules,
        and `on_columns` the result before it has rows.
        """
        self._on_columns = on_columns
        self._on_rows = on_rows
        self._on_work = on_work
        self._spool = spool
        self._owner = owner
        # Guards the fields below, and is held while `on_rows` runs.
        self._lock = threading.Lock()
        self._begun: tuple[ResultStream, RecordBatches] | None = None
        self._has_ended = False
        self._is_reported = False
        # The number of runs that were lost with their process.
        self._lost_runs = 0

    def read_segments(self, header: dict[str, Any], lines: Iterable[bytes]) -> None:
        """Reads the segments of the result's file from Java, one JSON array `[path, offset, length]` per line.

        Calls `on_columns` before the first segment and `on_rows` after it. Returns when the connection or the query
        ends, or when this run was replaced after Java was killed.
        """
        with self._lock:
            if self._has_ended:
                return
            run, is_first = self._lost_runs, self._begun is None
            stream, batches = self._begun = self._begun or self._begin(header)
        if is_first:
            self._on_columns(stream)
        for line in lines:
            if not line.endswith(b"\n"):
                return  # Java was killed
            with self._lock:
                if self._has_ended or self._lost_runs != run:
                    return
                batches.announce(Segment(*json.loads(line)))
                if not self._is_reported:
                    self._is_reported = True
                    self._on_rows(stream)

    def complete(self, frame: bytes) -> ResultStream:
        """Returns the whole result from the query's response: the stream that `on_rows` received, or one without a
        reader.
        """
        header, body = read_answer(frame)
        self._on_work(*work_of(header))
        with self._lock:
            self._has_ended = True
            stream, batches = self._begun or self._begin(header)
        return complete_result(stream, batches, header, body)

    def _begin(self, header: dict[str, Any]) -> tuple[ResultStream, RecordBatches]:
        return read_result_header(header, self._spool, self._owner)

    def begin_again(self) -> None:
        """Prepares for another run of the query; see `RecordBatches.begin_again`."""
        with self._lock:
            self._lost_runs += 1
            if self._begun is not None:
                self._begun[1].begin_again()

    def fail(self, error: BaseException) -> None:
        """Ends the result with the query's error, which its stream then raises."""
        with self._lock:
            self._has_ended = True
            begun = self._begun
        if begun is not None:
            begun[1].fail(error)
