"""In which form a statement's rows reach its client: chosen once, when the statement is sent, and kept with it.

Hive's clients get columns, those before V6 rows; intervals are strings to those before V8, which have no types for
them. Databricks' clients get columns of nulls as strings. They say with each statement what they can read, and are told
in the metadata what they get. Metadata calls and logs are columns for everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, assert_never

import pyarrow as pa

from engine.types.value_bytes import value_bytes
from gateway.hs2.arrow_rows import ArrowTypes, arrow_batches, arrow_schema, batch_message, schema_message
from gateway.hs2.gen import ttypes as t
from gateway.hs2.messages import encode_struct
from gateway.hs2.rowset import encode_arrow, encode_columns, encode_fetch_response, encode_rows
from gateway.hs2.types import table_schema
from gateway.results.lz4_frames import lz4_frame
from gateway.results.result_buffer import Page

FIRST_COLUMNAR_VERSION = t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V6
FIRST_INTERVAL_VERSION = t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V8
FIRST_SPARK_VERSION = t.TProtocolVersion.SPARK_CLI_SERVICE_PROTOCOL_V1
TIMESTAMP_AS_STRING = "spark.thriftserver.arrowBasedRowSet.timestampAsString"
SUCCESS = t.TStatus(t.TStatusCode.SUCCESS_STATUS)


Pieces = tuple[bytes, ...]


class RowSetKind(Enum):
    """What a TRowSet has its rows in, and how the extensions call that."""

    ROWS = t.TSparkRowSetType.ROW_BASED_SET
    COLUMNS = t.TSparkRowSetType.COLUMN_BASED_SET
    ARROW = t.TSparkRowSetType.ARROW_BASED_SET
    LINKS = t.TSparkRowSetType.URL_BASED_SET


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultForm:
    """`is_extended`: the client knows the extensions, and is told of the form. `has_intervals`: it knows the types of
    intervals. `may_link`: a large result may be links to Arrow documents, which the client fetches several at once.
    """

    kind: RowSetKind
    is_extended: bool = False
    has_intervals: bool = True
    types: ArrowTypes = ArrowTypes()
    is_compressed: bool = False
    may_link: bool = False

    def of(self, schema: pa.Schema, time_zone: str) -> ShapedResult:
        """This form of a result with the columns `schema`."""
        return ShapedResult(form=self, schema=schema, time_zone=time_zone)


@dataclass(frozen=True, kw_only=True)
class ShapedResult:
    """A result as it travels; `time_zone` is that in which timestamps show."""

    form: ResultForm
    schema: pa.Schema
    time_zone: str
    is_staging: bool = False

    def metadata(self) -> Any:
        """A TGetResultSetMetadataResp."""
        # Databricks has no NULL_TYPE: its connector's types and its dialect of SQLAlchemy do not know the name.
        described = table_schema(self.schema, has_intervals=self.form.has_intervals, has_void=not self.form.is_extended)
        response = t.TGetResultSetMetadataResp(SUCCESS, described)
        if self.form.is_extended:
            response.resultFormat = self.form.kind.value
            response.isStagingOperation = self.is_staging
            response.lz4Compressed = self.form.is_compressed
        if self.form.kind in (RowSetKind.ARROW, RowSetKind.LINKS):
            response.arrowSchema = schema_message(self._arrow_schema)
        return response

    def document(self, page: Page) -> bytes:
        """Rows as an Arrow stream, the target of a link."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._arrow_schema) as writer:
            for batch in arrow_batches(page.rows, self._arrow_schema, self.time_zone):
                writer.write_batch(batch)
        content = sink.getvalue()
        return lz4_frame(content) if self.form.is_compressed else content.to_pybytes()

    def linked(self, pages: Sequence[Page], links: Sequence[tuple[str, int]], *, with_metadata: bool) -> Pieces:
        """The bytes of a TFetchResultsResp of links to `pages`."""
        made = [
            t.TSparkArrowResultLink(url, expiry, page.row_offset, page.rows.num_rows, value_bytes(page.rows))
            for page, (url, expiry) in zip(pages, links, strict=True)
        ]
        row_set = encode_struct(t.TRowSet(pages[0].row_offset, [], resultLinks=made))
        metadata = self.metadata() if with_metadata else None
        return tuple(encode_fetch_response(SUCCESS, pages[-1].has_more, [row_set], metadata))

    def fetched(self, page: Page, *, with_metadata: bool = False) -> Pieces:
        """The bytes of a TFetchResultsResp."""
        metadata = self.metadata() if with_metadata else None
        return tuple(encode_fetch_response(SUCCESS, page.has_more, self._row_set(page), metadata))

    def _row_set(self, page: Page) -> Any:
        match self.form.kind:
            case RowSetKind.ROWS:
                return encode_rows(page.rows, page.row_offset, self.time_zone)
            case RowSetKind.COLUMNS:
                return encode_columns(page.rows, page.row_offset, self.time_zone)
            case RowSetKind.ARROW:
                batches = arrow_batches(page.rows, self._arrow_schema, self.time_zone)
                messages = [(batch_message(one, compressed=self.form.is_compressed), one.num_rows) for one in batches]
                return encode_arrow(messages, page.row_offset)
            case RowSetKind.LINKS:
                raise AssertionError("links are made of several pages")
            case _:
                assert_never(self.form.kind)

    @cached_property
    def _arrow_schema(self) -> pa.Schema:
        return arrow_schema(self.schema, self.form.types, self.time_zone)


def plain_form(version: int) -> ResultForm:
    """What a client of protocol `version` gets where it may not choose."""
    kind = RowSetKind.COLUMNS if version >= FIRST_COLUMNAR_VERSION else RowSetKind.ROWS
    has_intervals = version >= FIRST_INTERVAL_VERSION
    return ResultForm(kind=kind, is_extended=version >= FIRST_SPARK_VERSION, has_intervals=has_intervals)


def asked_form(version: int, request: Any) -> ResultForm:
    """What a TExecuteStatementReq asks for."""
    plain = plain_form(version)
    if not plain.is_extended or not request.canReadArrowResult:
        return plain
    return ResultForm(
        kind=RowSetKind.ARROW,
        is_extended=True,
        types=_arrow_types(request),
        is_compressed=bool(request.canDecompressLZ4Result),
        may_link=bool(request.canDownloadResult),
    )


def _arrow_types(request: Any) -> ArrowTypes:
    """Clients from before TSparkArrowTypes choose the form of timestamps by a setting."""
    as_text = (request.confOverlay or {}).get(TIMESTAMP_AS_STRING)
    if (given := request.useArrowNativeTypes) is None:
        return ArrowTypes(timestamps=as_text == "false")
    return ArrowTypes(
        timestamps=bool(given.timestampAsArrow) and as_text != "true",
        decimals=bool(given.decimalAsArrow),
        nested=bool(given.complexTypesAsArrow),
        intervals=bool(given.intervalTypesAsArrow),
        nulls=bool(given.nullTypeAsArrow),
    )
