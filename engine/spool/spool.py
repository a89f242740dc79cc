"""One server process's directory with spooled record batches, with a byte limit.

Each batch is written as a separate Arrow message, so that it can be read alone. Files from Java (`ResultSpool.java`)
have the same form, are read while they grow, and are moved here when complete. LZ4 reduces file sizes by a third to a
half and makes writing five times slower (550 MB/s instead of 3 GB/s into the page cache). So it is used for long-lived
files, as are checksums, because their rows may be read hours later.

    spool = OwnedSpool(parent, SpoolBudget(16 << 30))
    writer = spool.writer(schema, owner="ann", file_bytes_max=1 << 30)
    stored = [writer.add(batch) for batch in batches]     # raises DiskFull, SpoolFull: close the writer's file then
    rows = stored[7].read()                               # any, in any order, on any thread
    writer.file.close()                                   # or let go of the writer and of all its batches
"""

from __future__ import annotations

import itertools
import zlib
from pathlib import Path

import pyarrow as pa

from catalog.conditions import SpoolFull
from engine.spool.budget import Reservation, SpoolBudget
from engine.spool.messages import find_messages
from engine.spool.private_folder import PrivateFolder
from engine.spool.spool_file import SpoolFile, StoredBatch
from engine.types.value_bytes import value_bytes

_LZ4 = pa.ipc.IpcWriteOptions(compression="lz4")
# Bytes in the end-of-stream marker.
_END = 8


class Spool:
    """A directory for spooled files. Thread-safe."""

    def __init__(
        self, folder: Path, budget: SpoolBudget | None = None, *, prefix: str = "rows-", outlives_process: bool = False
    ) -> None:
        """Uses the existing private directory `folder`; without a budget, files have no size limit.

        Files' names begin with `prefix`. With `outlives_process` they are not removed at the process's normal exit.
        """
        self.folder = folder
        self.budget = budget
        self._prefix = prefix
        self._outlives_process = outlives_process
        self._names = itertools.count()

    def follow(self, path: Path, owner: str = "") -> SpoolFile:
        """Returns a file at `path` that another program is still writing; call `keep` when it is complete."""
        return SpoolFile(path, self.budget, owner)

    def keep(self, file: SpoolFile) -> None:
        """Moves a followed file into this directory and counts its bytes; see `SpoolFile.keep`."""
        file.keep(self._new_path())
        self._mark(file)

    def adopt(self, name: str, owner: str = "") -> SpoolFile:
        """Returns the handle of a complete file that another process has left in this directory; see
        `SpoolFile.keep`.
        """
        file = SpoolFile(self.folder / name, self.budget, owner)
        self._mark(file)
        file.keep(self.folder / name)
        return file

    def writer(
        self, schema: pa.Schema, owner: str = "", file_bytes_max: int | None = None, *, is_compressed: bool = False
    ) -> SpoolWriter:
        """Returns a writer for `schema` batches into a file with at most `file_bytes_max` bytes."""
        file = SpoolFile(self._new_path(), self.budget, owner)
        self._mark(file)
        return SpoolWriter(file, schema, file_bytes_max, is_compressed=is_compressed)

    def reservation(self, owner: str) -> Reservation:
        """Reserves bytes for followed files while they are written; release it before they are kept."""
        return Reservation(self.budget, owner)

    def held_bytes(self) -> int:
        """Returns the bytes in the spool's files; 0 if they are not counted, without a budget."""
        return self.budget.held_bytes() if self.budget is not None else 0

    def _new_path(self) -> Path:
        self.folder.mkdir(0o700, parents=True, exist_ok=True)  # the system may clean up temporary directories
        return self.folder / f"{self._prefix}{next(self._names)}"

    def _mark(self, file: SpoolFile) -> None:
        if self._outlives_process:
            file.outlive_process()


class SpoolWriter:
    """Writes batches sequentially; one thread at a time."""

    def __init__(self, file: SpoolFile, schema: pa.Schema, bytes_max: int | None, *, is_compressed: bool) -> None:
        self.file = file
        self._schema = schema
        self._bytes_max = bytes_max
        self._is_compressed = is_compressed

    def add(self, batch: pa.RecordBatch) -> StoredBatch:
        """Writes `batch`, which can be read immediately. Raises `DiskFull`, `SpoolFull` or `SpoolFullOfOwner`."""
        message = _compress(batch) if self._is_compressed else batch.serialize()
        if self._bytes_max is not None and self.file.size + message.size > self._bytes_max:
            raise SpoolFull(self._bytes_max, "the limit of one file")
        offset = self.file.append(message)
        rows = batch.num_rows
        checksum = zlib.crc32(message) if self._is_compressed else None
        return StoredBatch(self.file, self._schema, offset, message.size, rows, value_bytes(batch), 0, rows, checksum)


def _compress(batch: pa.RecordBatch) -> pa.Buffer:
    """Returns the batch's message from a compressed stream; Arrow compresses in streams only."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_LZ4) as writer:
        writer.write_batch(batch)
    stream = sink.getvalue()
    _, place = find_messages(lambda offset, length: bytes(stream[offset : offset + length]), 0, stream.size - _END)
    return stream.slice(place.offset, place.length)


class OwnedSpool(Spool):
    """A spool in its own directory below `parent`; `close` removes it with all files."""

    def __init__(self, parent: str | None, budget: SpoolBudget | None = None) -> None:
        self._private = PrivateFolder(parent)
        super().__init__(self._private.path, budget)

    def close(self) -> None:
        """Removes the directory with all files."""
        self._private.remove()
