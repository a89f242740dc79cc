"""Decodes a query's response from Java: a header and record batches (`ResponseFrame.java`), read without copying.

The batches have no Arrow schema; it is created here, from Spark's types, so that a column carries its SQL type. Small
results are in the response itself, larger ones in files (`record_batches.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from engine.planning.plans.expression_checks import Dependency, Examination
from engine.planning.plans.reads import QueryColumn
from engine.runtime.results import Repeatable, ResultStream, sql_field
from engine.spark.record_batches import RecordBatches, Segment
from engine.spool.spool import Spool
from engine.types.schema import has_user_type, user_metadata

# Receives step durations in ms, and counts of rules.
OnWork = Callable[[Mapping[str, float], Mapping[str, int]], None]

_PRIMITIVES = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
_DAY_TIME = ("interval day", "interval hour", "interval minute", "interval second")


def read_columns(frame: bytes) -> list[QueryColumn]:
    """Returns a response's columns."""
    header, _ = read_answer(frame)
    return [
        QueryColumn(
            column["name"],
            column["ddl"],
            column["comment"],
            column["type"],
            is_nullable=column["nullable"],
            metadata=user_metadata(column["metadata"]),
        )
        for column in header["columns"]
    ]


def read_examination(frame: bytes) -> Examination:
    """Returns the column types and dependencies in a response."""
    header, _ = read_answer(frame)
    types = tuple(column["ddl"] for column in header["columns"])
    return Examination(types=types, dependencies={Dependency(kind): sql for kind, sql in header["traits"].items()})


def read_result(frame: bytes, spool: Spool, owner: str, on_work: OnWork) -> ResultStream:
    """Returns a response's rows, as a stream over the bytes in place; files are moved to `spool`, accounted to `owner`.

    `on_work` receives step durations and rules.
    """
    header, body = read_answer(frame)
    on_work(*work_of(header))
    return complete_result(*read_result_header(header, spool, owner), header, body)


def complete_result(
    stream: ResultStream, batches: RecordBatches, header: dict[str, Any], body: pa.Buffer
) -> ResultStream:
    """Returns the stream with the source `batches`, with all information from the response."""
    stream.repeatable = Repeatable(header["repeatable"])
    stream.rows_made = header["rows"]
    batches.complete(segments_of(header), body, header["rows"])  # the stream's reader may then use both
    return stream


def read_result_header(header: dict[str, Any], spool: Spool, owner: str) -> tuple[ResultStream, RecordBatches]:
    """Returns a result whose rows follow later."""
    schema = pa.schema([_result_field(column) for column in header["columns"]])
    batches = RecordBatches(schema, spool, owner)
    stream = ResultStream(
        schema=schema,
        source=batches,
        time_zone=header["time_zone"],
        on_close=batches.release,
        wait_ready=batches.wait_ready,
    )
    return stream, batches


def _result_field(column: dict[str, Any]) -> pa.Field:
    kind = column["type"]
    return sql_field(column["name"], arrow_type(kind), column["ddl"], kind if has_user_type(kind) else None)


def work_of(header: dict[str, Any]) -> tuple[dict[str, float], dict[str, int]]:
    """Returns Spark's time in ms for each step of the query, and how often each rule changed its plan."""
    return {step: micros / 1000 for step, micros in header["steps_us"].items()}, header["rules"]


def segments_of(header: dict[str, Any]) -> list[Segment]:
    """Returns the locations of a response's rows."""
    return [Segment(*segment) for segment in header["segments"]]


def read_header(frame: bytes) -> dict[str, Any]:
    """Returns a response's header: everything except rows."""
    return read_answer(frame)[0]


def read_answer(frame: bytes) -> tuple[dict[str, Any], pa.Buffer]:
    """Returns the header and the body."""
    end = 4 + int.from_bytes(frame[:4], "big")
    return json.loads(frame[4:end]), pa.py_buffer(memoryview(frame)[end:])


def arrow_type(spark_type: str | dict[str, Any]) -> pa.DataType:
    """Returns the Arrow type for a Spark type in JSON form, in the layout of `ClientValues` and Spark's converter.

    Month intervals, calendar intervals and variants are text.
    """
    match spark_type:
        case str() if spark_type in _PRIMITIVES:
            return _PRIMITIVES[spark_type]
        case str() if spark_type.startswith("decimal"):
            precision, scale = spark_type.removeprefix("decimal(").removesuffix(")").split(",")
            return pa.decimal128(int(precision), int(scale))
        case str() if spark_type.startswith(_DAY_TIME):
            return pa.duration("us")
        case str() if spark_type.startswith("time("):
            return pa.time64("ns")
        case str():
            return pa.string()
        case {"type": "udt", "sqlType": stored}:
            return arrow_type(stored)
        case {"type": "array", "elementType": element}:
            return pa.list_(pa.field("element", arrow_type(element)))
        case {"type": "map", "keyType": key, "valueType": value}:
            # a map with keys of type void is empty, and Arrow has no such keys
            return pa.map_(pa.string() if key == "void" else arrow_type(key), arrow_type(value))
        case {"type": "struct", "fields": fields}:
            return pa.struct([pa.field(field["name"], arrow_type(field["type"])) for field in fields])
        case _:  # JSON from Spark
            raise TypeError(f"no Arrow type for {spark_type}")
