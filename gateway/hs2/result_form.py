"""The wire format for a statement's rows: chosen once, when the statement is sent, and then fixed.

Hive's clients receive columns, or rows before V6; intervals are strings before V8, which has no types for them.
Databricks' clients receive null columns as strings, and map keys as strings in JSON; Hive's clients receive map keys as
Spark's Thrift server writes them. Databricks' clients declare with each statement what formats they can read, and
the metadata names the chosen one. Metadata calls and logs are always columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from functools import cached_property, lru_cache
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
    """A TRowSet's row format, and its name in the extensions."""

    ROWS = t.TSparkRowSetType.ROW_BASED_SET
    COLUMNS = t.TSparkRowSetType.COLUMN_BASED_SET
    ARROW = t.TSparkRowSetType.ARROW_BASED_SET
    LINKS = t.TSparkRowSetType.URL_BASED_SET


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultForm:
    """A wire format. `is_extended`: the client supports the extensions, and the format is reported. `has_intervals`: it
    supports interval types. `may_link`: a large result may be links to Arrow documents, which the client fetches
    concurrently.
    """

    kind: RowSetKind
    is_extended: bool = False
    has_intervals: bool = True
    types: ArrowTypes = ArrowTypes()
    is_compressed: bool = False
    may_link: bool = False

    def saved(self) -> dict[str, object]:
        """Returns the format as JSON values."""
        return _saved(self)

    def of(self, schema: pa.Schema, time_zone: str) -> ShapedResult:
        """Returns this format applied to a result with the columns `schema`."""
        return ShapedResult(form=self, schema=schema, time_zone=time_zone)


@dataclass(frozen=True, kw_only=True)
class ShapedResult:
    """A result in its wire format; `time_zone` is used to display timestamps."""

    form: ResultForm
    schema: pa.Schema
    time_zone: str
    is_staging: bool = False

    def metadata(self) -> Any:
        """Returns a TGetResultSetMetadataResp."""
        # Databricks has no NULL_TYPE: its connector's types and its SQLAlchemy dialect lack the name.
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
        """Returns rows as an Arrow stream, a link's target."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._arrow_schema) as writer:
            for batch in arrow_batches(page.rows, self._arrow_schema, self.time_zone):
                writer.write_batch(batch)
        content = sink.getvalue()
        return lz4_frame(content) if self.form.is_compressed else content.to_pybytes()

    def encode_links(self, pages: Sequence[Page], links: Sequence[tuple[str, int]], *, with_metadata: bool) -> Pieces:
        """Returns the bytes of a TFetchResultsResp with links to `pages`."""
        made = [
            t.TSparkArrowResultLink(url, expiry, page.row_offset, page.rows.num_rows, value_bytes(page.rows))
            for page, (url, expiry) in zip(pages, links, strict=True)
        ]
        row_set = encode_struct(t.TRowSet(pages[0].row_offset, [], resultLinks=made))
        metadata = self.metadata() if with_metadata else None
        return tuple(encode_fetch_response(SUCCESS, pages[-1].has_more, [row_set], metadata))

    def encode_rows(self, page: Page, *, with_metadata: bool = False) -> Pieces:
        """Returns the bytes of a TFetchResultsResp."""
        metadata = self.metadata() if with_metadata else None
        return tuple(encode_fetch_response(SUCCESS, page.has_more, self._row_set(page), metadata))

    def _row_set(self, page: Page) -> Any:
        has_bare_keys = not self.form.is_extended
        match self.form.kind:
            case RowSetKind.ROWS:
                return encode_rows(page.rows, page.row_offset, self.time_zone, has_bare_keys=has_bare_keys)
            case RowSetKind.COLUMNS:
                return encode_columns(page.rows, page.row_offset, self.time_zone, has_bare_keys=has_bare_keys)
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
    """Returns the format for protocol `version` without the client's choice."""
    kind = RowSetKind.COLUMNS if version >= FIRST_COLUMNAR_VERSION else RowSetKind.ROWS
    has_intervals = version >= FIRST_INTERVAL_VERSION
    return ResultForm(kind=kind, is_extended=version >= FIRST_SPARK_VERSION, has_intervals=has_intervals)


@lru_cache(maxsize=64)  # called for each statement
def _saved(form: ResultForm) -> dict[str, object]:
    return asdict(form) | {"kind": form.kind.name}


def restored_form(saved: Mapping[str, Any]) -> ResultForm:
    """Returns the format that `ResultForm.saved` returned."""
    return ResultForm(**{**saved, "kind": RowSetKind[saved["kind"]], "types": ArrowTypes(**saved["types"])})


def requested_form(version: int, request: Any) -> ResultForm:
    """Returns the format that a TExecuteStatementReq requests."""
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
    """Returns the Arrow types; clients from before TSparkArrowTypes choose the timestamp format by a setting."""
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
