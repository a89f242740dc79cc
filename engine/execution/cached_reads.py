"""Queries that are answered from the result cache, or whose results are added to it (`engine.cache`).

The statement was parsed, bound, authorized and planned like any other; only Spark is skipped. So a cached result
contains only data that the session's principal may read, at the versions pinned for it, and is audited like any read.

A result is cached if Spark's plan is repeatable (`Volatility.java`), if the session was not changed during the
computation, and after all its rows were read: the count must equal the rows that Spark's tasks produced. A small result
is read immediately, for waiting statements; a streaming result is cached while its client reads it. The reader is
chosen once: the rows can be read only once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from catalog.conditions import ResultRowsDiffer, StatementCancelled, StatementEnded
from engine.cache.cached_result import CachedResult, keep
from engine.cache.result_cache import InFlightQuery, ResultCache, WaitOutcome
from engine.execution.read_key import ReadKey, files_digest, read_key
from engine.planning.plans.reads import ReadPlan
from engine.runtime.accesses import Lineage
from engine.runtime.request import StatementRequest, with_changes
from engine.runtime.results import FileListRequest, Repeatable, ResultStream
from engine.spark.execution_context import ExecutionContext
from engine.spark.query import SessionFacts
from engine.spool.spool_file import AnyBatch, batch_bytes


def cached_query(plan: ReadPlan, context: ExecutionContext) -> ResultStream:
    """Returns the rows of `plan`, from the result cache if present. Raises the errors of `ExecSession.stream_query`."""
    cache = context.sources.results
    if cache is None or not context.request.caches_results:
        return context.executor.stream_query(plan, context.request, context.parameters)
    facts = context.executor.facts
    versions = read_key(plan, facts, context.request, context.parameters)
    if versions is None:
        return context.executor.stream_query(plan, context.request, context.parameters)
    found = _claim(versions, plan, cache, context)
    if isinstance(found, CachedResult) and _answers(found, context):
        return _replayed_result(found, context)
    in_flight = found if isinstance(found, InFlightQuery) else None
    try:
        return _Miss(
            plan=plan, context=context, cache=cache, versions=versions, facts=facts, in_flight=in_flight
        ).answer()
    except StatementEnded:
        if in_flight is not None:
            in_flight.end(alone=False)
        raise
    finally:
        if in_flight is not None:
            in_flight.end(alone=True)  # if it has not ended yet


def _claim(
    versions: ReadKey, plan: ReadPlan, cache: ResultCache, context: ExecutionContext
) -> CachedResult | InFlightQuery | None:
    """Returns the cached result, or a run that others wait for; None: an independent run."""
    while (known := cache.repeatable(versions.text)) is not Repeatable.NEVER:
        found = cache.claim(_key(versions, known, plan, cache), context.request.cancel)
        if found is not WaitOutcome.AGAIN:
            return None if found is WaitOutcome.ALONE else found
    return None


def _with_files(
    versions: ReadKey, file_requests: tuple[FileListRequest, ...] | None, plan: ReadPlan, cache: ResultCache
) -> ReadKey:
    """Returns the key with the files that the query requests, if the requests are known."""
    if file_requests is None:
        return versions
    found = versions.with_file_requests(file_requests)
    files = cache.files(found)
    if files is None and (files := files_digest(plan, file_requests)) is not None:
        cache.note_files(found, files)
    return versions.with_files(files)


def _key(versions: ReadKey, known: Repeatable | None, plan: ReadPlan, cache: ResultCache) -> bytes:
    """Returns the lookup key."""
    return _with_files(versions, cache.file_requests(versions.request_scope(known)), plan, cache).of(known)


def explain_cache(plan: ReadPlan, context: ExecutionContext) -> str:
    """Reports whether the result is in the cache, for EXPLAIN."""
    cache = context.sources.results
    if cache is None or not context.request.caches_results:
        return "result cache: off"
    versions = read_key(plan, context.executor.facts, context.request, context.parameters)
    known = None if versions is None else cache.repeatable(versions.text)
    if versions is None or known is Repeatable.NEVER:
        return "result cache: not kept, since the query may give another answer each time"
    is_there = cache.holds(_key(versions, known, plan, cache))
    return f"result cache: {'the answer is there' if is_there else 'the answer is not there'}"


def _answers(cached: CachedResult, context: ExecutionContext) -> bool:
    """Returns whether the result is within the statement's size limit, with lineage if the statement reports it."""
    return cached.num_bytes <= context.request.result_bytes_max and (
        context.request.on_lineage is None or cached.lineage is not None
    )


def _replayed_result(cached: CachedResult, context: ExecutionContext) -> ResultStream:
    request = context.request
    # Another principal's statement may have run other queries too, for example to evaluate constants.
    is_own = cached.principal == request.identity.principal
    request.profile.note_cached((lambda: cached.profile.plans) if is_own else None)
    if context.request.on_lineage is not None and cached.lineage is not None:
        context.request.on_lineage(cached.lineage)
    return cached.stream()


@dataclass(slots=True, kw_only=True)
class _Miss:
    """A query that runs, and whose result may be cached. `facts` are the session facts in its key, which is `versions`
    until the requested files are known.
    """

    plan: ReadPlan
    context: ExecutionContext
    cache: ResultCache
    versions: ReadKey
    facts: SessionFacts
    # The single-flight run that others wait for.
    in_flight: InFlightQuery | None
    lineage: Lineage | None = None
    file_requests: set[FileListRequest] = field(default_factory=set)
    # Guards the two fields below.
    lock: threading.Lock = field(default_factory=threading.Lock)
    # The streaming result's consumer reads the rows.
    is_streaming: bool = False
    # The rows are read here, or by the result's consumer.
    is_answered: bool = False

    def answer(self) -> ResultStream:
        stream = self.context.executor.stream_query(self.plan, self._context(), self.context.parameters)
        # Known only after Spark has analyzed the query; the next identical text is then
        # looked up under the right key at once.
        self.cache.note_repeatable(self.versions.text, stream.repeatable)
        with self.lock:
            self.is_answered = not self.is_streaming
        if not self.is_answered or not self._may_keep(stream):
            return stream
        try:
            return self._cached_stream(stream)
        except BaseException:
            stream.close()
            raise

    def _context(self) -> StatementRequest:
        """Returns the statement's request, with the reported query facts recorded."""
        request = self.context.request
        on_lineage, on_rows = request.on_lineage, request.on_rows

        def note_lineage(lineage: Lineage) -> None:
            self.lineage = lineage
            assert on_lineage is not None
            on_lineage(lineage)

        def note_rows(stream: ResultStream) -> None:
            with self.lock:
                if self.is_answered:
                    return
                self.is_streaming = True
            if self.in_flight is not None:
                self.in_flight.end(alone=True)
            assert on_rows is not None
            on_rows(replace(stream, source=self._cache_while_reading(stream), on_close=stream.close))

        return with_changes(
            request,
            on_files_requested=self.file_requests.add,
            on_lineage=None if on_lineage is None else note_lineage,
            on_rows=None if on_rows is None else note_rows,
        )

    def _may_keep(self, stream: ResultStream) -> bool:
        # A SET in the same session during a streaming result would otherwise store rows
        # under settings that did not produce them.
        is_unchanged = self.facts.is_unchanged(self.context.executor.facts)
        return is_unchanged and stream.repeatable is not Repeatable.NEVER

    def _cached_stream(self, stream: ResultStream) -> ResultStream:
        """Returns the complete result from the cache; unchanged if it is too large."""
        pieces = deque(stream.pieces())
        _ensure_whole(stream, sum(piece.num_rows for piece in pieces))
        if sum(map(batch_bytes, pieces)) > self.cache.entry_bytes_max:
            return replace(stream, source=_take_pieces(pieces, len(pieces)), on_close=partial(_give_up, pieces, stream))
        cached = self._put(stream, tuple(pieces))
        if self.in_flight is not None:
            self.in_flight.end(alone=False)
        stream.close()
        return cached.stream()

    def _cache_while_reading(self, stream: ResultStream) -> Iterator[AnyBatch]:
        """Yields a streaming result's rows, and caches them when its client has read all."""
        read: list[AnyBatch] = []
        left, rows = self.cache.entry_bytes_max, 0
        for piece in stream.pieces():
            left, rows = left - batch_bytes(piece), rows + piece.num_rows
            if left < 0:
                read.clear()
            else:
                read.append(piece)
            yield piece
        _ensure_whole(stream, rows)
        if left >= 0 and self._may_keep(stream):
            self._put(stream, read)

    def _put(self, stream: ResultStream, read: Sequence[AnyBatch]) -> CachedResult:
        request = self.context.request
        cached = keep(stream, read, self.lineage)
        cached = replace(cached, principal=request.identity.principal, profile=request.profile)
        file_requests = tuple(sorted(self.file_requests, key=repr))
        self.cache.note_file_requests(self.versions.request_scope(stream.repeatable), file_requests)
        key = _with_files(self.versions, file_requests, self.plan, self.cache)  # from this run's own file requests
        self.cache.put(key.of(stream.repeatable), cached)
        return cached


def _take_pieces(pieces: deque[AnyBatch], count: int) -> Iterator[AnyBatch]:
    """Yields `count` pieces. Each reference is released immediately, because a result's files are removed with the last
    one.

    Raises `StatementCancelled` if `_give_up` removes them: a reader must not mistake that for the end.
    """
    for _ in range(count):
        yield _first(pieces)


def _first(pieces: deque[AnyBatch]) -> AnyBatch:
    try:
        return pieces.popleft()
    except IndexError:
        raise StatementCancelled from None


def _give_up(pieces: deque[AnyBatch], stream: ResultStream) -> None:
    pieces.clear()
    stream.close()


def _ensure_whole(stream: ResultStream, rows: int) -> None:
    """Checks the number of read rows. Raises `ResultRowsDiffer` if the query produced more or fewer."""
    if stream.rows_made is not None and stream.rows_made != rows:
        raise ResultRowsDiffer(rows, stream.rows_made)
