"""Pages for FetchResults: rows and bytes, start position, and waiting time."""

from __future__ import annotations

import pyarrow as pa

from catalog.conditions import FetchOrientationNotSupported, PageTooLarge
from gateway.hs2 import metadata
from gateway.hs2.gen import ttypes as t
from gateway.hs2.result_form import Pieces, ShapedResult
from gateway.results.result_buffer import Page
from gateway.results.row_links import RowLinks
from gateway.sessions.operation import FetchFrom, Operation

# Limits per response; clients with Thrift 0.25 reject single strings from 15.6 MiB on.
FETCH_ROWS_MAX, FETCH_BYTES_MAX = 100_000, 8 << 20
# Maximum number of links per response.
LINKS_MAX = 32
# Byte limit per response for clients that declare their own.
EXTENDED_BYTES_MAX = 32 << 20
# Time in seconds that a response without rows is delayed, for clients that fetch again.
ROWS_S = 20.0
_STARTS = {
    t.TFetchOrientation.FETCH_NEXT: FetchFrom.NEXT,
    t.TFetchOrientation.FETCH_PRIOR: FetchFrom.PRIOR,
    t.TFetchOrientation.FETCH_FIRST: FetchFrom.FIRST,
}
_NO_ROWS = Page(0, metadata.RESULT.empty_table(), False)


def fetch_log(operation: Operation, orientation: int | None) -> Page:
    """Returns the statement's log lines as a page: all with FETCH_FIRST, otherwise the ones since the last fetch."""
    lines = operation.log_lines(from_start=orientation == t.TFetchOrientation.FETCH_FIRST)
    return Page(0, pa.table([pa.array(lines, pa.string())], schema=metadata.OPERATION_LOG), False)


def fetch_links(
    shaped: ShapedResult, operation: Operation, orientation: int | None, links: RowLinks, with_metadata: bool
) -> Pieces:
    """Returns a TFetchResultsResp with links to the next rows."""
    pages = [fetch(operation, orientation, None, None, is_sent=False, wait_s=ROWS_S)]
    # Several links per response let the client download in parallel; only rows that exist
    # are linked.
    while pages[-1].has_more and len(pages) < LINKS_MAX:
        page = fetch(operation, None, None, None, is_sent=False, wait_s=0)
        if not page.rows.num_rows:
            break  # the query is still computing them
        pages.append(page)
    urls = [links.link(operation.id, page.row_offset, page.rows.num_rows) for page in pages]
    return shaped.encode_links(pages, urls, with_metadata=with_metadata)


def page_limits(rows_max: int | None, bytes_max: int | None) -> tuple[int, int]:
    """Returns the limits for a response, from the client's requested rows and bytes."""
    # Clients send 0, -1 or 2**63 - 1 for "as many as you like".
    rows = max(1, min(rows_max or FETCH_ROWS_MAX, FETCH_ROWS_MAX))
    return rows, min(bytes_max, EXTENDED_BYTES_MAX) if bytes_max and bytes_max > 0 else FETCH_BYTES_MAX


def fetch(
    operation: Operation,
    orientation: int | None,
    rows_max: int | None,
    bytes_max: int | None,
    *,
    is_sent: bool = True,
    wait_s: float | None = None,
) -> Page:
    """Returns the next rows, or the first ones; fewer if they exceed the bytes, or have yet to be computed."""
    start = _fetch_start(operation, orientation)
    if not operation.has_rows:
        return _NO_ROWS
    rows_max, bytes_max = page_limits(rows_max, bytes_max)
    return operation.fetch(rows_max, start=start, bytes_max=bytes_max, is_sent=is_sent, wait_s=wait_s)


def _fetch_start(operation: Operation, orientation: int | None) -> FetchFrom:
    """Returns the position at which the fetch begins; raises the error for an operation without a result."""
    start = FetchFrom.NEXT if orientation is None else _STARTS.get(orientation)
    if start is None:
        names = {member.value: member.name for member in t.TFetchOrientation}
        raise FetchOrientationNotSupported(names.get(orientation, str(orientation)))
    operation.ensure_result()
    return start


def fetch_all(operation: Operation, orientation: int | None, rows_max: int | None) -> Page:
    """Returns `rows_max` rows, or the ones up to the result's end, and waits for them.

    Raises :class:`PageTooLarge` for first rows that exceed a response's byte limit: the client would take a partial
    page for the whole result. Later pages may be partial, since a client that continues reads until a response without
    rows.
    """
    start = _fetch_start(operation, orientation)
    if not operation.has_rows:
        return _NO_ROWS
    rows_max, _ = page_limits(rows_max, None)
    page = operation.fetch(rows_max, start=start, bytes_max=EXTENDED_BYTES_MAX, is_filled=True)
    if start is FetchFrom.FIRST and page.has_more and page.rows.num_rows < rows_max:
        raise PageTooLarge(rows_max, EXTENDED_BYTES_MAX)
    return page
