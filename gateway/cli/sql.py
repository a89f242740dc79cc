"""`delta-gateway sql`: runs a statement over the HTTP API and writes its rows, chunk by chunk as they arrive.

Without a statement on a terminal it is a shell (`shell.py`).

Ctrl-C, or this process's end for any reason, cancels the statement: the server sees the disconnected client on the
connection of the waiting request.
"""

from __future__ import annotations

import argparse
import getpass
import os
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

import pyarrow as pa

from gateway.cli.client import ApiClient, ClientError, Statement
from gateway.cli.format import write_json, write_table
from gateway.cli.lines import Completer, join_history, line_reader
from gateway.cli.shell import INLINE, Shell

DEFAULT_SERVER = "http://127.0.0.1:8080"
EXIT_FAILED = 1
_EXIT_INTERRUPTED = 130
_CLEAR = "\x1b[H\x1b[2J"
_PASSWORD, _TOKEN = "DELTA_GATEWAY_PASSWORD", "DELTA_GATEWAY_TOKEN"


def main(arguments: Sequence[str]) -> int:
    """Runs one statement; returns the exit code."""
    given = _parser().parse_args(arguments)
    try:
        if given.statement is None and given.file is None and sys.stdin.isatty():
            return _run_shell(given)
        text = _read_statement(given)
        with ApiClient(given.server, _authorization(given), given.ca_file) as client:
            _run_once(client, given, text)
            while given.watch is not None:
                time.sleep(given.watch)
                _run_once(client, given, text)
    except (ClientError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the output's reader has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the interpreter's end
            return 0
        sys.stderr.write(f"delta-gateway: {error}\n")
        return EXIT_FAILED
    except KeyboardInterrupt:
        sys.stderr.write("delta-gateway: the statement was cancelled\n")
        return _EXIT_INTERRUPTED
    return 0


def _run_once(client: ApiClient, given: argparse.Namespace, text: str) -> None:
    statement = client.run(text, catalog=given.catalog, schema=given.schema, rows_inline=given.format in INLINE)
    try:
        if given.watch is not None and sys.stdout.isatty():
            sys.stdout.write(_CLEAR)
        _WRITERS[given.format](statement, sys.stdout)
        sys.stdout.flush()
    finally:
        statement.close()


def _run_shell(given: argparse.Namespace) -> int:
    with ApiClient(given.server, _authorization(given), given.ca_file) as client:
        sys.stdout.write("\\? lists the commands.\n")
        completer = Completer(client, given.catalog, given.schema)
        read = line_reader(completer)
        shell = Shell(client, _WRITERS, sys.stdout, sys.stderr, read, join_history, given.format)
        shell.on_place = completer.follow
        return shell.run(given.catalog, given.schema)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-gateway sql", description="Run one statement on a running server.", allow_abbrev=False
    )
    parser.add_argument(
        "statement",
        nargs="?",
        metavar="SQL",
        help="the statement; else standard input, or a shell",
    )
    parser.add_argument("-f", "--file", type=Path, metavar="FILE", help="read the statement from a file")
    parser.add_argument("--server", default=DEFAULT_SERVER, metavar="URL", help=f"the server ({DEFAULT_SERVER})")
    parser.add_argument("--user", metavar="NAME", help=f"log in; the password is asked for, or in ${_PASSWORD}")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help=f"log in with a token; also ${_TOKEN}")
    parser.add_argument("--ca-file", default="", metavar="FILE", help="authorities of an https server's certificate")
    parser.add_argument("--format", choices=tuple(_WRITERS), default="table", help="how to write the rows (table)")
    parser.add_argument("--watch", type=float, metavar="SECONDS", help="run it again and again, until Ctrl-C")
    parser.add_argument("--catalog", help="current catalog of the statement")
    parser.add_argument("--schema", help="current schema of the statement")
    return parser


def _authorization(arguments: argparse.Namespace) -> str:
    """Returns the header for the login. Secrets are never arguments, which other users on this machine could see."""
    if arguments.user is not None:
        password = os.environ.get(_PASSWORD) or getpass.getpass(f"Password of {arguments.user}: ")
        return "Basic " + b64encode(f"{arguments.user}:{password}".encode()).decode()
    file = arguments.token_file
    token = file.read_text(encoding="utf-8").strip() if file else os.environ.get(_TOKEN, "")
    return f"Bearer {token}" if token else ""


def _read_statement(arguments: argparse.Namespace) -> str:
    if arguments.statement is not None and arguments.file is not None:
        raise ClientError("give the statement or a file, not both")
    if arguments.file is not None:
        return Path(arguments.file).read_text(encoding="utf-8")
    return arguments.statement if arguments.statement is not None else sys.stdin.read()


def _write_table(statement: Statement, out: TextIO) -> None:
    write_table(statement.columns, statement.row_chunks(), out)


def _write_json(statement: Statement, out: TextIO) -> None:
    write_json(statement.columns, statement.row_chunks(), out)


def _write_csv(statement: Statement, out: TextIO) -> None:
    for document in statement.documents("text/csv"):
        out.buffer.write(document)


def _write_parquet(statement: Statement, out: TextIO) -> None:
    if out.isatty():
        raise ClientError("a Parquet file is not for a terminal; redirect it into a file")
    for piece in statement.file("parquet"):
        out.buffer.write(piece)


def _write_arrow(statement: Statement, out: TextIO) -> None:
    if out.isatty():
        raise ClientError("an Arrow stream is not for a terminal; redirect it into a file")
    _join_arrow(statement.documents("application/vnd.apache.arrow.stream"), out.buffer)


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


_WRITERS: Mapping[str, Callable[[Statement, TextIO], None]] = {
    "table": _write_table,
    "csv": _write_csv,
    "json": _write_json,
    "arrow": _write_arrow,
    "parquet": _write_parquet,
}
