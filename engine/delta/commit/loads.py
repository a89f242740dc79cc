"""Files that COPY INTO has loaded into a table: stored in the log's directory and linked to the table's commits.

    _delta_log/_copy_into_log/00f3a1…c2.parquet      one segment: the paths that some loads have loaded

A load first writes a segment with its files. Its commit then has a `txn` action, with the same application id for all
loads; its version is the number in the segment's name. So files count as loaded exactly if their rows are in the table,
and a segment without a commit is ignored. Two concurrent loads conflict by the application id; the later one is retried
and finds the other's files among the loaded ones.

A segment names the earlier segments that are still valid. If it is at least as large as the last of them, it takes over
its rows. So a table with n loads has about log n segments, and no action grows with the number of files.

Protocol: "Transaction Identifiers". The `txn` version is an application-defined number.
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

# A segment's schema: absolute path or URL, bytes, milliseconds since the epoch; as of the load.
SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modification_time", pa.int64())])

_BEFORE = b"segments"
_NUMBER_BITS = 62


@dataclass(frozen=True, slots=True)
class Segment:
    number: int
    # The number of rows.
    count: int

    @property
    def name(self) -> str:
        """Returns the file's path relative to the table, with the number in hexadecimal so that names sort by it."""
        return f"{LOADS_DIR}/{self.number:016x}.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """All files loaded into a table, oldest segment first."""

    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLoad:
    """A written segment, and the action that makes it valid."""

    segment: Segment
    action: SetTransaction


def read_loads(snapshot: Snapshot) -> Loads:
    """Reads a version's valid segments. Raises `LogFileNotFound`, `MalformedLogEntry`."""
    last = snapshot.set_transactions.get(APP_ID)
    if last is None:
        return Loads()
    # The number of rows is not known from the action; only older segments' counts are
    # needed before the file is read.
    table = _read(snapshot.storage, Segment(last.version, 0))
    try:
        before = tuple(Segment(int(number), int(count)) for number, count in json.loads(table.schema.metadata[_BEFORE]))
    except (ValueError, TypeError, KeyError) as error:
        raise MalformedLogEntry(Segment(last.version, 0).name, f"it names no segments ({error})") from error
    return Loads(segments=(*before, Segment(last.version, table.num_rows)))


def mask_not_loaded(storage: Storage, loads: Loads, paths: Any) -> Any:
    """Returns, for each path in `paths` (an Arrow array), whether it is in no segment."""
    fresh = pa.repeat(True, len(paths))
    for segment in loads.segments:
        fresh = pc.and_(fresh, pc.invert(pc.is_in(paths, value_set=_read(storage, segment)["path"])))
    return fresh


def write_load(storage: Storage, loads: Loads, files: pa.Table) -> WrittenLoad:
    """Writes a segment with `files` (`SCHEMA` rows) and the rows from small segments before it."""
    before, parts = list(loads.segments), [files.cast(SCHEMA)]
    # Like a log-structured merge tree: each row is copied at most as often as the segments
    # double.
    while before and before[-1].count <= sum(part.num_rows for part in parts):
        parts.append(_read(storage, before.pop()))
    table = pa.concat_tables(part.replace_schema_metadata(None) for part in parts)
    # Random, not counted: two loads that run at the same time must not write the same file,
    # and the loser's segment is simply never named. The number fits into the action's
    # signed 64 bits.
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
