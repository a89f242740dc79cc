"""Rows that a client sends to a statement, in files of the spool until the statement has read them.

Their number is limited by the spool only: memory holds about one message. Spark's tasks read the files in parallel, and
fetch them from the driver if they run on other machines. The statement reads the rows as a relation with a generated
name, so that it has the privileges, constraints and the single commit of any other one:

    rows = SpooledRows(session.store.spool, schema, owner=session.principal)
    try:
        for batch in batches:
            rows.add(batch)                                # raises SpoolFull, DiskFull, pa.ArrowInvalid
        rows.finish()
        text = GeneratedText(f"INSERT INTO t SELECT c0, CAST(c1 AS date) FROM {rows.name}")
        operation = session.execute(text, wanted=WantedResult(rows=(rows,)))
        ...                                                # waits for the operation, which may run it again
    finally:
        rows.close()                                       # removes the files

A front end that calls the engine itself puts the rows into `StatementRequest.spooled_rows`. Nobody else can read them:
the name is known in the text of the request only, not in views or function bodies.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa

from catalog.conditions import UnsupportedDataType
from engine.spool.spool import Spool, SpoolWriter
from engine.types.arrow_types import table_type
from engine.types.sql_types import ddl_type
from engine.types.value_bytes import value_bytes

# Bytes and rows of one message, about: small batches are joined, and large ones divided.
MESSAGE_BYTES = 4 << 20
MESSAGE_ROWS = 1 << 16
# Bytes of one file, about, which one task reads.
FILE_BYTES = 32 << 20
NAME_PREFIX = "gateway_rows_"


class SpooledRows:
    """Rows with a schema, added by one thread and then read any number of times until they are closed."""

    def __init__(self, spool: Spool, schema: pa.Schema, owner: str = "") -> None:
        """Begins without rows; `owner` is charged for the bytes in the spool's budget.

        Raises `UnsupportedDataType` for an Arrow type that Spark does not read as it is.
        """
        self.name = f"{NAME_PREFIX}{uuid.uuid4().hex}"
        self.schema = schema
        self.columns = tuple((field.name, _ddl(field)) for field in schema)
        self.num_rows = self.size_bytes = 0
        self._spool = spool
        self._owner = owner
        self._writers: list[SpoolWriter] = []
        self._joined: list[pa.RecordBatch] = []
        self._joined_rows = self._joined_bytes = 0

    @property
    def files(self) -> tuple[Path, ...]:
        """Returns the files, each with Arrow messages without a schema."""
        return tuple(writer.file.path for writer in self._writers)

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds rows, which may come from an untrusted client.

        Raises `pa.ArrowInvalid` for a malformed batch or one with another schema, `DiskFull`, and the errors of the
        spool's budget.
        """
        if not batch.schema.equals(self.schema, check_metadata=False):
            raise pa.ArrowInvalid("a batch has another schema than the rows before")
        # Spark reads texts at the addresses that the offsets name, without a check of bounds.
        batch.validate(full=True)
        size = value_bytes(batch)
        # Values of no type take no bytes, so that a small batch could have any number of rows.
        if batch.num_rows > 8 * size + MESSAGE_ROWS:
            raise pa.ArrowInvalid(f"a batch has {batch.num_rows} rows without values")
        step = max(1, min(MESSAGE_ROWS, batch.num_rows * MESSAGE_BYTES // max(1, size)))
        for start in range(0, batch.num_rows, step):
            rows = batch.slice(start, step)
            self._join(rows, size * rows.num_rows // batch.num_rows)

    def finish(self) -> None:
        """Writes the rows that are left in memory. Raises as `add`."""
        if self._joined:
            joined = self._joined[0] if len(self._joined) == 1 else pa.concat_batches(self._joined)
            self._joined, self._joined_rows, self._joined_bytes = [], 0, 0
            self._write(joined)

    def close(self) -> None:
        """Removes the files; a second call does nothing."""
        self._joined = []
        writers, self._writers = self._writers, []
        for writer in writers:
            writer.file.close()

    def _join(self, rows: pa.RecordBatch, size: int) -> None:
        if self._joined_rows + rows.num_rows > MESSAGE_ROWS or self._joined_bytes + size > MESSAGE_BYTES:
            self.finish()
        self._joined.append(rows)
        self._joined_rows += rows.num_rows
        self._joined_bytes += size

    def _write(self, rows: pa.RecordBatch) -> None:
        if not self._writers or self._writers[-1].file.size >= FILE_BYTES:
            self._writers.append(self._spool.writer(self.schema, self._owner))
        stored = self._writers[-1].add(rows)
        self.num_rows += rows.num_rows
        self.size_bytes += stored.length


def _ddl(field: pa.Field) -> str:
    if field.type.equals(pa.time64("ns")):
        return "time(6)"
    if field.type.equals(pa.duration("us")):
        return "interval day to second"
    try:
        return ddl_type(table_type(field.type))
    except KeyError:
        raise UnsupportedDataType(str(field.type)[:100]) from None
