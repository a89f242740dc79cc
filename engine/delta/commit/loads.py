"""Which files COPY INTO has loaded into a table: kept beside the table's log, and tied to its commits.

    _delta_log/_copy_into_log/00f3a1…c2.parquet      one segment: the paths that some loads have loaded

A load writes the segment of its files first. Its commit then has a `txn` action of one application id for all loads,
whose version is the number that the segment is called by. So the files count as loaded exactly if their rows are there:
a segment that no commit names is nobody's. Two loads that run at once conflict by the application id; the one that is
later looks again, and finds the other's files among those that were loaded.

A segment names those before it that still count. One that is at least as large as the last of these takes its rows
over, so that a table that was loaded n times has about log n segments, and no action grows with the number of files.

Protocol: "Transaction Identifiers". The version of such an action is a number of the application's own.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from catalog.conditions import LogFileNotFound, MalformedLogEntry
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import SetTransaction
from engine.delta.spec.paths import LOG_DIR
from engine.storage.storage import Storage

APP_ID = "delta-gateway.copy-into"
LOADS_DIR = f"{LOG_DIR}/_copy_into_log"

SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modification_time", pa.int64())])
"""Of a segment: absolute paths or URLs, bytes, milliseconds since the epoch; of the files when they were loaded."""

_BEFORE = b"segments"
_NUMBER_BITS = 62


@dataclass(frozen=True, slots=True)
class Segment:
    number: int
    count: int
    """Of its rows."""

    @property
    def name(self) -> str:
        return f"{LOADS_DIR}/{self.number:016x}.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """All that was loaded into a table, oldest segment first."""

    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLoad:
    """A segment that was written, and the action by which it counts."""

    segment: Segment
    action: SetTransaction


def read_loads(snapshot: Snapshot) -> Loads:
    """The segments that count at a version. Raises `LogFileNotFound`, `MalformedLogEntry`."""
    last = snapshot.set_transactions.get(APP_ID)
    if last is None:
        return Loads()
    table = _read(snapshot.storage, Segment(last.version, 0))
    try:
        before = tuple(Segment(int(number), int(count)) for number, count in json.loads(table.schema.metadata[_BEFORE]))
    except (ValueError, TypeError, KeyError) as error:
        raise MalformedLogEntry(Segment(last.version, 0).name, f"it names no segments ({error})") from error
    return Loads(segments=(*before, Segment(last.version, table.num_rows)))


def not_loaded(storage: Storage, loads: Loads, paths: Any) -> Any:
    """For each of `paths` (an Arrow array), whether it is in no segment."""
    fresh = pa.repeat(True, len(paths))
    for segment in loads.segments:
        fresh = pc.and_(fresh, pc.invert(pc.is_in(paths, value_set=_read(storage, segment)["path"])))
    return fresh


def write_load(storage: Storage, loads: Loads, files: pa.Table) -> WrittenLoad:
    """A segment of `files` (rows of `SCHEMA`), with those of small segments before it."""
    before, parts = list(loads.segments), [files.cast(SCHEMA)]
    while before and before[-1].count <= sum(part.num_rows for part in parts):
        parts.append(_read(storage, before.pop()))
    table = pa.concat_tables(part.replace_schema_metadata(None) for part in parts)
    segment = Segment(uuid.uuid4().int >> (128 - _NUMBER_BITS), table.num_rows)
    named = json.dumps([[each.number, each.count] for each in before])
    with storage.open_output(segment.name) as output:
        pq.write_table(table.replace_schema_metadata({_BEFORE: named.encode()}), output)
    return WrittenLoad(segment=segment, action=SetTransaction(app_id=APP_ID, version=segment.number))


def _read(storage: Storage, segment: Segment) -> pa.Table:
    try:
        with storage.open_input(segment.name) as source:
            table = pq.read_table(source)
    except FileNotFoundError as error:
        raise LogFileNotFound(storage.path_of(segment.name)) from error
    except pa.ArrowException as error:
        raise MalformedLogEntry(segment.name, str(error)) from error
    if not table.schema.equals(SCHEMA):
        raise MalformedLogEntry(segment.name, f"its columns are {table.schema.names}")
    return table
