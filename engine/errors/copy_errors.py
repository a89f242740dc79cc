"""Conditions of CLONE, CONVERT TO DELTA and COPY INTO, under Delta's own names where it has one."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError

COPY_ROWS = "CREATE TABLE … AS SELECT makes a copy of its rows."


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


@dataclass(eq=False)
class SourceNotFound(SqlError, condition="PATH_NOT_FOUND", sqlstate="42K03"):
    path: str
    template = "There are no files at {path}, and nothing was copied. Check the path, FILES and PATTERN."


@dataclass(eq=False)
class PartitionFoldersInSource(SqlError, condition="COPY_INTO_PARTITION_FOLDERS", sqlstate="0A000"):
    path: str
    folder: str
    template = (
        "The folder {path} has partition folders ({folder}), whose values are in no file. Copy each of them by itself "
        "with the value in the query, or set recursiveFileLookup in FORMAT_OPTIONS to do without these values."
    )


@dataclass(eq=False)
class PatternNotValid(SqlError, condition="COPY_INTO_PATTERN_NOT_VALID", sqlstate="42601"):
    pattern: str
    template = "The pattern {pattern} has a bracket or a brace that is not closed."


@dataclass(eq=False)
class SourceWithoutColumns(SqlError, condition="UNABLE_TO_INFER_SCHEMA", sqlstate="42KD9"):
    path: str
    template = "No columns were found in the files at {path}: they are empty, or of another format."


@dataclass(eq=False)
class FilesNotShareable(SqlError, condition="FILES_NOT_CONVERTIBLE", sqlstate="0AKDC"):
    """`advice` is a sentence."""

    table: str
    format: str
    reason: str
    advice: str = COPY_ROWS
    template = "The files of {table} cannot become those of a table of the format {format}: {reason}. {advice}"


@dataclass(eq=False)
class PartitionsOfTableSaid(SqlError, condition="DELTA_PARTITION_SCHEMA_IN_ICEBERG_TABLES", sqlstate="42613"):
    table: str
    template = "{table} is a table, which says itself how it is partitioned. Leave PARTITIONED BY out."


@dataclass(eq=False)
class FolderOfTwoTables(SqlError, condition="FOLDER_OF_TWO_TABLES", sqlstate="55006"):
    """Files of the one are files of the other."""

    table: str
    statement: str
    other: str
    metadata: str
    template = (
        "{statement} is refused for {table}, whose folder is that of {other} too: it would change or remove what that "
        "one needs. When nobody reads {other} any more, remove {metadata}."
    )
