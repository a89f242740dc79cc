"""Writes results: in a format, to a file or to the terminal, there with a row limit and through a pager."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import IO, BinaryIO, TextIO, cast

import pyarrow as pa

from gateway.cli.client import ClientError, Statement
from gateway.cli.format import NULL, write_csv, write_expanded, write_json, write_markdown, write_table

FORMATS = ("table", "csv", "json", "markdown", "arrow", "parquet")
# Formats made of the rows in the responses; the server makes the others.
_INLINE = frozenset(("table", "json", "markdown"))
_FOR_FILES = frozenset(("arrow", "parquet"))
# The formats for people, which the row limit applies to.
_LIMITED = frozenset(("table", "markdown"))
ROWS_MAX = 1000
# `less` ends by itself if everything fits on the screen, keeps colors, cuts long lines and leaves the text there.
_LESS_OPTIONS = "-FRSX"


@dataclass
class Output:
    """How and where results are written."""

    out: TextIO
    format: str = "table"
    # The text for NULL; None: the format's own.
    null: str | None = None
    is_expanded: bool = False
    # The maximum number of rows on a terminal; 0 for all.
    rows_max: int = ROWS_MAX
    is_paging: bool = True
    # Output file for rows; empty: `out`.
    file: str = ""
    _has_parquet: bool = False

    @property
    def rows_inline(self) -> bool:
        """Returns True for formats that are written from JSON rows; the server makes files of the others."""
        return self.format in _INLINE or (self.format == "csv" and self.null is not None)

    @property
    def row_limit(self) -> int:
        """Returns the row limit for the next statement; 0 for all rows."""
        is_for_people = self.format in _LIMITED and not self.file and self.out.isatty()
        return self.rows_max if is_for_people else 0

    def write(self, statement: Statement) -> None:
        """Writes a result. Raises `ClientError` if it cannot be written."""
        if self.file:
            try:
                with open(self.file, "w", encoding="utf-8") as file:
                    self._write(statement, file)
            except OSError as error:
                raise ClientError(f"{self.file} cannot be written: {error.strerror}") from error
            self.out.write(f"written to {self.file}\n")
            return
        if self.format in _FOR_FILES and self.out.isatty():
            raise ClientError(f"the format {self.format} is not for a terminal; redirect the output into a file")
        if self.format in _LIMITED and self.is_paging and self.out.isatty():
            with PagedOutput(self.out) as paged:
                self._write(statement, cast(TextIO, paged))
        else:
            self._write(statement, self.out)
        if statement.is_truncated:
            self.out.write(f"Only the first {self.rows_max} rows are shown (\\limit 0, --limit 0: all rows).\n")

    def _write(self, statement: Statement, out: TextIO) -> None:
        rows, columns = statement.row_chunks, statement.columns
        null = NULL if self.null is None else self.null
        match self.format:
            case "table":
                (write_expanded if self.is_expanded else write_table)(columns, rows(), out, null)
            case "markdown":
                write_markdown(columns, rows(), out, null)
            case "json":
                write_json(columns, rows(), out)
            case "csv" if self.null is not None:
                write_csv(columns, rows(), out, self.null)
            case "csv":
                for document in statement.documents("text/csv"):
                    _bytes_of(out).write(document)
            case "arrow":
                _join_arrow(statement.documents("application/vnd.apache.arrow.stream"), _bytes_of(out))
            case _:  # Parquet, the last of FORMATS
                self._write_parquet(statement, out)

    def _write_parquet(self, statement: Statement, out: TextIO) -> None:
        if not statement.columns:
            return
        if self._has_parquet and not self.file:
            raise ClientError("a Parquet file has the rows of one statement; run the others separately")
        self._has_parquet = True
        for piece in statement.file("parquet"):
            _bytes_of(out).write(piece)


def _bytes_of(out: TextIO) -> BinaryIO:
    out.flush()
    return out.buffer


def _join_arrow(documents: Iterator[bytes], out: BinaryIO) -> None:
    """Joins several streams with the same schema into one."""
    writer: pa.ipc.RecordBatchStreamWriter | None = None
    for document in documents:
        with pa.ipc.open_stream(document) as reader:
            writer = writer or pa.ipc.new_stream(out, reader.schema)
            for batch in reader:
                writer.write_batch(batch)
    if writer:
        writer.close()


class PagedOutput(io.TextIOBase):
    """A text stream that is shown by `$PAGER` (by default `less`) as soon as it is larger than the terminal."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._size = shutil.get_terminal_size()
        self._start = list[str]()
        self._lines = 0
        self._write = self._collect
        self._pager: subprocess.Popen[str] | None = None

    def write(self, text: str) -> int:
        """Writes to the pager, or holds the text while it fits the terminal; returns its length in characters."""
        self._write(text)
        return len(text)

    def isatty(self) -> bool:
        """Returns True if the stream below is a terminal."""
        return self._out.isatty()

    def close(self) -> None:
        """Writes the text that fits the terminal, or waits until the user ends the pager. May be called again."""
        if self.closed:
            return
        if self._pager is None:
            self._out.write("".join(self._start))
        elif self._pager.stdin is not None:
            with suppress(OSError):  # the pager's user has seen enough
                self._pager.stdin.close()
            self._wait(self._pager)
        super().close()

    def _collect(self, text: str) -> None:
        """Collects what fits on the screen."""
        self._start.append(text)
        self._lines += text.count("\n")
        widest = max(map(len, text.split("\n")))
        if self._lines >= self._size.lines - 1 or widest > self._size.columns:
            pager = _start_pager()
            self._pager = pager
            self._write = partial(_feed, pager.stdin) if pager and pager.stdin else self._pass_on
            start, self._start = "".join(self._start), []
            self._write(start)

    def _pass_on(self, text: str) -> None:
        self._out.write(text)

    @staticmethod
    def _wait(pager: subprocess.Popen[str]) -> None:
        while True:
            try:
                pager.wait()
                return
            except KeyboardInterrupt:  # is the pager's as well, which may go on
                continue


def _feed(pager: IO[str], text: str) -> None:
    with suppress(OSError):
        pager.write(text)


def _start_pager() -> subprocess.Popen[str] | None:
    """Starts the pager; None if there is no such program, or `$PAGER` is empty."""
    command = shlex.split(os.environ.get("PAGER", "less"))
    environment = {"LESS": _LESS_OPTIONS, **os.environ}
    if not command:
        return None
    sys.stdout.flush()
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, text=True, env=environment)
    except OSError:
        return None
