"""Chunks partition a result whatever its size."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.runtime.identity import Identity
from engine.runtime.results import ResultStream
from gateway.http import delivery
from gateway.http.delivery import Delivery
from gateway.http.requests import StatementRequest
from gateway.sessions.operation import Operation
from tests.gateway.arrow_engine import answer_of_rows


@settings(deadline=None)
@given(rows=st.integers(0, 3000), chunk_bytes=st.integers(1, 100_000))
def test_chunks_follow_each_other_and_hold_all_rows(rows: int, chunk_bytes: int) -> None:
    handed = Delivery(StatementRequest(text="x"))
    operation = Operation(Identity("ann"), "x", answer_of_rows(rows), result_bytes_max=1 << 30, whole=True)
    operation.run()
    remaining, delivery._CHUNK_BYTES = delivery._CHUNK_BYTES, chunk_bytes
    try:
        chunks = handed.chunks(operation)
    finally:
        delivery._CHUNK_BYTES = remaining
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    counts = [chunk.row_count for chunk in chunks]
    assert [chunk.row_offset for chunk in chunks] == list(accumulate(counts[:-1], initial=0))
    assert sum(counts) == rows and len(chunks) >= 1
    assert all(chunk.row_count for chunk in chunks) or rows == 0


@settings(deadline=None)
@given(rows=st.integers(0, 2500), row_limit=st.integers(0, 3000), byte_limit=st.integers(1, 60_000))
def test_a_cut_result_is_the_longest_beginning_within_its_limits(rows: int, row_limit: int, byte_limit: int) -> None:
    handed = Delivery(StatementRequest(text="x", row_limit=row_limit, byte_limit=byte_limit))
    closed: list[bool] = []
    source = answer_of_rows(rows)(None)  # type: ignore[arg-type]
    whole = ResultStream(schema=source.schema, source=source.source, on_close=lambda: closed.append(True))
    cut = handed.cut(whole)
    batches = list(cut.batches())
    cut.close()
    remaining = [row for batch in batches for row in batch["id"].to_pylist()]
    assert remaining == list(range(len(remaining))) and closed == [True]
    assert len(remaining) <= row_limit and sum(batch.nbytes for batch in batches) <= byte_limit + 16 * len(batches)
