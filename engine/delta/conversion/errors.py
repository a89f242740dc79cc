"""Conditions of CONVERT TO DELTA, under Delta's own names."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class FooterNotReadable(DeltaError, condition="DELTA_FAILED_READ_FILE_FOOTER", sqlstate="KD001"):
    path: str
    reason: str
    template = (
        "The file {path} cannot be read as Parquet ({reason}). Every file of the folder has to be a Parquet file, but "
        "for those whose names begin with _ or a dot; remove the others, or rename them so."
    )


@dataclass(eq=False)
class NoFilesToConvert(DeltaError, condition="DELTA_EMPTY_DIRECTORY", sqlstate="42K03"):
    directory: str
    template = "There is no file in the folder {directory}, so it cannot be converted. Check the path."


@dataclass(eq=False)
class ConvertedTypeNotSupported(DeltaError, condition="DELTA_CONVERT_UNSUPPORTED_TYPE", sqlstate="0AKDC"):
    path: str
    column: str
    data_type: str
    template = (
        "The column {column} of the file {path} has the type {data_type}, which no column of a Delta table can have. "
        "Write the files again with another type; CREATE TABLE … AS SELECT is a way."
    )


@dataclass(eq=False)
class ConvertedColumnsRepeated(
    DeltaError, condition="DELTA_DUPLICATE_COLUMNS_FOUND.CONVERT_TO_DELTA", sqlstate="42711"
):
    path: str
    columns: str
    template = (
        "The file {path} has columns whose names differ at most in case: {columns}. A Delta table cannot have both; "
        "write the files again with other names."
    )


@dataclass(eq=False)
class ConvertedSchemasDiffer(DeltaError, condition="DELTA_FAILED_MERGE_SCHEMA_FILE", sqlstate="42KDA"):
    path: str
    column: str
    known: str
    found: str
    template = (
        "The files of the folder have no common schema: for the column {column} the file {path} has {found}, other "
        "files have {known}. Write these files again with one type and one name."
    )


@dataclass(eq=False)
class PartitionCountDiffers(
    DeltaError, condition="DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME", sqlstate="KD009"
):
    path: str
    expected: str
    found: str
    template = (
        "The path {path} has the partition columns [{found}], but [{expected}] are expected. PARTITIONED BY must name "
        "the columns of all folders in their order, with their types."
    )


@dataclass(eq=False)
class PartitionNameDiffers(DeltaError, condition="DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME", sqlstate="KD009"):
    path: str
    expected: str
    found: str
    template = (
        "The path {path} has the partition column {found} where {expected} is expected. PARTITIONED BY must name the "
        "columns of all folders in their order, with their types."
    )


@dataclass(eq=False)
class FolderValueNotCastable(DeltaError, condition="DELTA_CONVERT_PARTITION_VALUE", sqlstate="22018"):
    path: str
    column: str
    value: str
    data_type: str
    template = (
        "The value {value} of the partition column {column} in the path {path} is no {data_type}. Give the column "
        "another type in PARTITIONED BY."
    )


@dataclass(eq=False)
class TableInside(DeltaError, condition="DELTA_TABLE_INSIDE_FOLDER", sqlstate="42809"):
    directory: str
    folder: str
    template = (
        "The folder {directory} has a Delta table in it, at {folder}. Its files cannot be taken for files of the "
        "folder; name the folders beside it."
    )
