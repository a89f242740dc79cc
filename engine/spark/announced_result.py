"""The result of a query whose rows may be read before it has ended.

Java opens a connection to the question server for the first rows that are on disk (`ResultSpool.java`): the question is
`{"statement": id, "result": header}`, with the header of an answer (`frame.py`), and a line `[path, offset, length]`
follows for each piece: the segment at `offset` of that file, the last one told of or the next one, has so many bytes.
The connection ends with the query, whose answer has the whole list; so nothing depends on how far the lines were read.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from typing import Any

from engine.runtime.results import ResultStream
from engine.spark.frame import OnSteps, complete_result, read_answer, read_result_header, steps_of
from engine.spark.record_batches import RecordBatches, Segment
from engine.spool.spool import Spool


class AnnouncedResult:
    """Tells `on_rows` of the result once, on the connection's thread, if there are rows before the query has ended.

    `on_rows` has returned when :meth:`complete` does, or is never called: a stream has one reader, and who gets the
    stream of `complete` has to know whether that is somebody else. It must not wait for the query.
    """

    def __init__(self, on_rows: Callable[[ResultStream], None], on_steps: OnSteps, spool: Spool, owner: str) -> None:
        """Files of the result go to `spool`, as those of `owner`; `on_steps` is told how long what took."""
        self._on_rows = on_rows
        self._on_steps = on_steps
        self._spool = spool
        self._owner = owner
        self._lock = threading.Lock()
        """Guards all below, and is held while `on_rows` runs."""
        self._begun: tuple[ResultStream, RecordBatches] | None = None
        self._has_ended = False
        self._is_told = False

    def follow(self, header: dict[str, Any], lines: Iterable[bytes]) -> None:
        """Read what Java says, until it hangs up."""
        stream, batches = self._begin(header)
        with self._lock:
            if self._has_ended:
                return
            self._begun = stream, batches
        for line in lines:
            if not line.endswith(b"\n"):
                return  # of a Java that was killed
            batches.announce(Segment(*json.loads(line)))
            if self._is_told:
                continue
            with self._lock:
                if self._has_ended:
                    return
                self._is_told = True
                self._on_rows(stream)

    def complete(self, frame: bytes) -> ResultStream:
        """The whole result, of the query's answer: the stream of which `on_rows` was told, or one that nobody reads."""
        header, body = read_answer(frame)
        self._on_steps(steps_of(header))
        with self._lock:
            self._has_ended = True
            stream, batches = self._begun or self._begin(header)
        return complete_result(stream, batches, header, body)

    def _begin(self, header: dict[str, Any]) -> tuple[ResultStream, RecordBatches]:
        return read_result_header(header, self._spool, self._owner)

    def fail(self, error: BaseException) -> bool:
        """End the result with the query's error; whether `on_rows` was told of it, who gets the error then."""
        with self._lock:
            self._has_ended = True
            begun, is_told = self._begun, self._is_told
        if begun is not None:
            begun[1].fail(error)
        return is_told
