"""Conditions of CLONE, CONVERT TO DELTA and COPY INTO, under Delta's own names where it has one."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class CloneSourceNotSupported(SqlError, condition="DELTA_CLONE_UNSUPPORTED_SOURCE", sqlstate="0AKDC"):
    source: str
    kind: str
    template = "{source} is a {kind} and cannot be cloned: only Delta tables can. Use CREATE TABLE … AS SELECT."


@dataclass(eq=False)
class CloneOfItself(SqlError, condition="DELTA_UNSUPPORTED_CLONE_REPLACE_SAME_TABLE", sqlstate="0AKDC"):
    table: str
    template = "The table {table} cannot be replaced by a clone of itself. RESTORE takes it back to an older version."


@dataclass(eq=False)
class CloneWithoutRowCounts(SqlError, condition="DELTA_CLONE_WITH_ROW_TRACKING_WITHOUT_STATS", sqlstate="22000"):
    table: str
    template = (
        "The table {table} cannot be cloned: it tracks rows, and some of its files have no statistics that tell how "
        "many rows they hold. Collect statistics on it first."
    )


@dataclass(eq=False)
class CloneFileMissing(SqlError, condition="CLONE_FILE_NOT_FOUND", sqlstate="42K03"):
    table: str
    version: int
    path: str
    template = (
        "Version {version} of the table {table} cannot be cloned: its file {path} is gone, removed by VACUUM perhaps. "
        "Clone a newer version."
    )
