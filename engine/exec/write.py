"""Writing data files: what is asked of Spark, and what it wrote.

Files land under final, unique names where they stay (`InPlaceCommitProtocol`), by Spark's own Parquet writer, at the
speed of `df.write.parquet`. They are no part of the table before a commit names them; a failed job deletes what it can.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import unquote

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTarget:
    """A folder (decoded path or URI) and the columns that become folders in it, as the query names them."""

    folder: str
    partition_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A data file: `path` decoded and relative to the folder, `size` in bytes, `modification_time` in ms.

    `partition_values` are by the names of the query's columns, as Spark casts them to text in the session's zone.
    A file may have no rows.
    """

    path: str
    size: int
    modification_time: int
    partition_values: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))


def target_request(target: WriteTarget) -> str:
    """What `TableWriter` reads."""
    return json.dumps({"folder": target.folder, "partition_columns": target.partition_columns})


def read_written(answer: str) -> tuple[WrittenFile, ...]:
    """What `TableWriter` answers."""
    return tuple(
        WrittenFile(path=path, size=size, modification_time=time, partition_values=partition_values(path))
        for path, size, time in json.loads(answer)
    )


def partition_values(path: str) -> Mapping[str, str | None]:
    """The values in the folders of `path`, `name=value/…`, which Spark escapes with per cent signs."""
    values: dict[str, str | None] = {}
    for folder in path.split("/")[:-1]:
        name, _, value = folder.partition("=")
        values[unquote(name)] = None if value == _NULL_PARTITION else unquote(value)
    return MappingProxyType(values)
