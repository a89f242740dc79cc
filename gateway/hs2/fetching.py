"""The pages that FetchResults answers: how many rows and bytes, from where, and how long they are waited for."""

from __future__ import annotations

import pyarrow as pa

from catalog.conditions import FetchOrientationNotSupported, PageTooLarge
from gateway.hs2 import metadata
from gateway.hs2.gen import ttypes as t
from gateway.hs2.result_form import Pieces, ShapedResult
from gateway.results.result_buffer import Page
from gateway.results.row_links import RowLinks
from gateway.sessions.operation import FetchFrom, Operation

FETCH_ROWS_MAX, FETCH_BYTES_MAX = 100_000, 8 << 20
"""One answer's rows and bytes; clients of Thrift 0.25 refuse single strings from 15.6 MiB on."""
LINKS_MAX = 32
"""Of one answer."""
EXTENDED_BYTES_MAX = 32 << 20
"""One answer's bytes for clients that say how many they take."""
ROWS_S = 20.0
"""How long an answer without rows is held for those that ask again."""
_STARTS = {
    t.TFetchOrientation.FETCH_NEXT: FetchFrom.NEXT,
    t.TFetchOrientation.FETCH_PRIOR: FetchFrom.PRIOR,
    t.TFetchOrientation.FETCH_FIRST: FetchFrom.FIRST,
}
_NO_ROWS = Page(0, metadata.RESULT.empty_table(), False)


def fetch_log(operation: Operation, orientation: int | None) -> Page:
    lines = operation.log_lines(from_start=orientation == t.TFetchOrientation.FETCH_FIRST)
    return Page(0, pa.table([pa.array(lines, pa.string())], schema=metadata.OPERATION_LOG), False)


def fetch_links(
    shaped: ShapedResult, operation: Operation, orientation: int | None, links: RowLinks, with_metadata: bool
) -> Pieces:
    """A TFetchResultsResp of links to the next rows."""
    pages = [fetch(operation, orientation, None, None, is_sent=False, wait_s=ROWS_S)]
    while pages[-1].has_more and len(pages) < LINKS_MAX:
        page = fetch(operation, None, None, None, is_sent=False, wait_s=0)
        if not page.rows.num_rows:
            break  # the query still computes them
        pages.append(page)
    urls = [links.link(operation.id, page.row_offset, page.rows.num_rows) for page in pages]
    return shaped.linked(pages, urls, with_metadata=with_metadata)


def page_limits(rows_max: int | None, bytes_max: int | None) -> tuple[int, int]:
    """The rows and bytes of an answer to a client that asks for so many."""
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
    """Returns the next rows, or the first ones; fewer where they pass the bytes, or have yet to be computed."""
    start = _fetch_start(operation, orientation)
    if not operation.has_rows:
        return _NO_ROWS
    rows_max, bytes_max = page_limits(rows_max, bytes_max)
    return operation.fetch(rows_max, start=start, bytes_max=bytes_max, is_sent=is_sent, wait_s=wait_s)


def _fetch_start(operation: Operation, orientation: int | None) -> FetchFrom:
    """Returns where the fetch begins; raises the error of an operation that has no result."""
    start = FetchFrom.NEXT if orientation is None else _STARTS.get(orientation)
    if start is None:
        names = {member.value: member.name for member in t.TFetchOrientation}
        raise FetchOrientationNotSupported(names.get(orientation, str(orientation)))
    operation.ensure_result()
    return start


def fetch_all(operation: Operation, orientation: int | None, rows_max: int | None) -> Page:
    """Returns `rows_max` rows, or those up to the end of the result, and waits for them.

    Raises :class:`PageTooLarge` for first rows that pass the bytes of an answer: the client would take those that fit
    for all. After other rows fewer are answered, since a client that goes on reads until an answer without rows.
    """
    start = _fetch_start(operation, orientation)
    if not operation.has_rows:
        return _NO_ROWS
    rows_max, _ = page_limits(rows_max, None)
    page = operation.fetch(rows_max, start=start, bytes_max=EXTENDED_BYTES_MAX, is_filled=True)
    if start is FetchFrom.FIRST and page.has_more and page.rows.num_rows < rows_max:
        raise PageTooLarge(rows_max, EXTENDED_BYTES_MAX)
    return page
