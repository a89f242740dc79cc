"""Writes rows as data files, and removes them if their statement fails.

The written files are removed if they are accessible, and remaining ones are in no version, so that VACUUM removes them.
After a commit with an unknown outcome they stay, because the version (or a new table's name) may exist.
"""

from __future__ import annotations

import io
import logging
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from catalog.conditions import CatalogOutcomeUnknown, CommitOutcomeUnknown, ConcurrentDrop, SparkFailure
from catalog.errors import SqlError
from engine.binding.bound import BoundTable
from engine.enforcement.plain_literals import columns_of_literals, takes_values_as_they_stand
from engine.enforcement.row_writing import row_writing, violation
from engine.planning.plans.file_writes import WriteTarget, WrittenFile
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.write_plan import WritePlan
from engine.spark.execution_context import ExecutionContext
from engine.spark.jvm import SPARK_VERSION
from engine.sql.query.plain_values import plain_rows
from engine.storage.storage import Storage
from engine.storage.vended_storage import credentials_id_of
from engine.tables.formats import TableFormat
from engine.tables.transaction import AlreadyCommitted, DataFile, NewFiles

logger = logging.getLogger(__name__)

_PLAIN_ROWS_MAX = 20_000
# Table setting -> codec name in PyArrow and in file names. None: Spark's default.
# Spark's default codec is snappy. Another codec is left to Spark, whose writer has its own
# levels and native libraries.
_CODECS = {None: "snappy", "snappy": "snappy", "zstd": "zstd"}
# The default level in Parquet's Java library.
_ZSTD_LEVEL = 3
_SCHEMA_KEY, _VERSION_KEY = "org.apache.spark.sql.parquet.row.metadata", "org.apache.spark.version"
# Spark settings that affect neither plain literals nor files.
_IRRELEVANT = (
    "spark.app.",
    "spark.driver.",
    "spark.executor.",
    "spark.local.",
    "spark.memory.",
    "spark.scheduler.",
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.codegen.",
    "spark.sql.session.timeZone",
    "spark.sql.shuffle.",
    "spark.sql.ui.",
    "spark.ui.",
)


@contextmanager
def new_files(
    table: BoundTable, source: ReadPlan, rows: WritePlan, context: ExecutionContext, folder: str = ""
) -> Iterator[NewFiles]:
    """Writes the rows of `source` as table files; if the block that commits them fails, they are removed.

    They are written below a directory of the table (`name/`).
    """
    with written_files(table.own, table.snapshot.storage, source, rows, context, folder) as new:
        yield new


@contextmanager
def written_files(
    own: TableFormat, target: Storage, source: ReadPlan, rows: WritePlan, context: ExecutionContext, folder: str = ""
) -> Iterator[NewFiles]:
    """Does the same for a table with the format `own` that may not exist yet."""
    target.ensure_writable()
    written = write_plain_rows(source, rows, target, folder, context)
    if written is None:
        written = _write(source, rows, f"{target.root}/{folder}".rstrip("/"), credentials_id_of(target), context)
    with discarded_on_failure(target, [f"{folder}{file.path}" for file in written], context):
        files = [
            DataFile(
                path=f"{folder}{file.path}",
                size=file.size,
                modification_time=file.modification_time,
                partition_values=file.partition_values,
                null_counts=file.null_counts,
                footer=file.footer,
            )
            for file in written
        ]
        new = own.describe_files(target, rows.config, files, rows.identity_names)
        # Not in the log and not needed by readers.
        discard(target, new.empty)
        # The last point at which a cancelled statement can still remove its files without a
        # commit.
        context.request.cancel.ensure_live()
        yield new


def ensure_can_write(table: BoundTable, source: ReadPlan, rows: WritePlan, context: ExecutionContext) -> None:
    """Raises the errors of `new_files` that do not depend on the rows of `source`; nothing runs."""
    storage = table.snapshot.storage
    target = _target(rows, storage.root, credentials_id_of(storage), uuid.uuid4().hex)
    context.executor.check_write(source, target, context.request, context.parameters)


@contextmanager
def discarded_on_failure(storage: Storage, paths: Iterable[str], context: ExecutionContext) -> Iterator[None]:
    """Removes the data files at `paths` if the block fails and has certainly not committed.

    After an internal error during a commit's put, the commit may exist: the files stay.
    """
    try:
        yield
    except (CommitOutcomeUnknown, CatalogOutcomeUnknown):
        raise
    except BaseException as error:
        # Sealed means that the put may have been sent; then an unexpected exception leaves
        # it unknown whether the commit exists.
        if isinstance(error, SqlError | AlreadyCommitted) or not context.request.cancel.is_sealed:
            discard(storage, paths)
        raise


@contextmanager
def report_drops(table: BoundTable) -> Iterator[None]:
    """Translates a failure in the block if `table` was dropped concurrently with its files."""
    try:
        yield
    except (SparkFailure, OSError) as failure:
        if table.snapshot.is_gone():
            raise ConcurrentDrop(table.label) from failure
        raise


def write_plain_rows(
    source: ReadPlan, rows: WritePlan, target: Storage, folder: str, context: ExecutionContext
) -> tuple[WrittenFile, ...] | None:
    """Writes rows that need no Spark (`engine.enforcement.plain_literals`); returns None for others."""
    if source.scans or source.views or not takes_values_as_they_stand(rows) or rows.config.compression not in _CODECS:
        return None
    # Lineage comes from Spark's analyzed plan, and any other setting might change how a
    # literal is parsed or stored.
    if context.request.on_lineage is not None or not all(map(_is_irrelevant, context.executor.setting_names)):
        return None
    values = plain_rows(source.text, context.parameters)
    columns = columns_of_literals(rows, values) if values is not None and len(values) <= _PLAIN_ROWS_MAX else None
    if columns is None:
        return None
    name = f"part-00000-{uuid.uuid4()}-c000.{_CODECS[rows.config.compression]}.parquet"
    data, footer = _parquet(columns, rows)
    try:
        target.write(f"{folder}{name}", data)
        modified_ms = target.stat(f"{folder}{name}").modified_ms
    except OSError as error:  # Spark has an error condition for each reason that prevents writing there
        logger.info("rows are left to Spark, since %s cannot be written: %s", name, error)
        return None
    return (WrittenFile(path=name, size=len(data), modification_time=modified_ms, footer=footer),)


def _is_irrelevant(setting: str) -> bool:
    return setting.startswith(_IRRELEVANT)


def _parquet(columns: pa.Table, rows: WritePlan) -> tuple[bytes, Any]:
    """Returns a file's bytes, in the layout of Spark's writer, and its footer."""
    codec = _CODECS[rows.config.compression]
    output = io.BytesIO()
    footers: list[Any] = []
    with pq.ParquetWriter(
        output,
        columns.schema,
        # As Spark's writer does by default: old readers do not know the types of Parquet 2.
        version="1.0",
        compression=codec,
        compression_level=_ZSTD_LEVEL if codec == "zstd" else None,
        use_dictionary=columns.num_rows > 1,
        store_schema=False,
        store_decimal_as_integer=True,
        write_page_index=True,
        metadata_collector=footers,
    ) as writer:
        writer.write_table(columns)
        # Spark reads the exact types from this entry, for example `char(n)` in column
        # metadata, which Parquet's own schema does not have.
        schema = rows.config.stored_schema.to_json()
        writer.add_key_value_metadata({_SCHEMA_KEY: schema, _VERSION_KEY: SPARK_VERSION})
    return output.getvalue(), footers[0]


def _write(
    source: ReadPlan, rows: WritePlan, folder: str, credentials_id: str | None, context: ExecutionContext
) -> tuple[WrittenFile, ...]:
    token = uuid.uuid4().hex
    try:
        return context.executor.write_files(
            source, _target(rows, folder, credentials_id, token), context.request, context.parameters
        )
    except SparkFailure as failure:
        # The token distinguishes an error raised by our checks from one with the same text
        # in the user's expressions.
        error = violation(rows, token, failure)
        if error is None:
            raise
        raise error from failure


def _target(rows: WritePlan, folder: str, credentials_id: str | None, token: str) -> WriteTarget:
    return WriteTarget(
        folder=folder,
        lease=credentials_id,
        partition_columns=rows.config.partition_keys,
        compression=rows.config.compression,
        rules=row_writing(rows, token),
    )


def discard(storage: Storage, paths: Iterable[str]) -> None:
    """Removes data files that are in no version; files that cannot be removed stay."""
    for path in paths:
        try:
            storage.delete(path)
        except OSError:
            logger.warning("the file %s of no version stays in %s", path, storage.root)
