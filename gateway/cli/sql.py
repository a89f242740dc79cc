"""`delta-gateway sql`: runs statements over the HTTP API and writes their rows, chunk by chunk as they arrive.

Without statements on a terminal it is a shell (`shell.py`).

Ctrl-C, or this process's end for any reason, cancels the statement: the server sees the disconnected client on the
connection of the waiting request.
"""

from __future__ import annotations

import argparse
import getpass
import os
import re
import sys
import time
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

from engine.sql.statement_texts import Kind, split_statements
from gateway.cli.client import ApiClient, ClientError, Variable
from gateway.cli.help import help_text
from gateway.cli.lines import NameCompleter, text_reader, without_echo
from gateway.cli.output import FORMATS, ROWS_MAX, Output
from gateway.cli.session import Session
from gateway.cli.shell import Shell, variable_of

DEFAULT_SERVER = "http://127.0.0.1:8080"
EXIT_FAILED = 1
_EXIT_INTERRUPTED = 130
_CLEAR = "\x1b[H\x1b[2J"
_SERVER, _USER = "DELTA_GATEWAY_SERVER", "DELTA_GATEWAY_USER"
_PASSWORD, _TOKEN = "DELTA_GATEWAY_PASSWORD", "DELTA_GATEWAY_TOKEN"
_NOTES = """\
Statements end with ; and share one session. The first error ends the run with exit code 1; Ctrl-C with 130.
Without statements on a terminal, this is a shell: \\? there lists its commands, and Tab completes names.
"""
_EXAMPLES = (
    'delta-gateway sql "SELECT * FROM shop.orders LIMIT 5"',
    'delta-gateway sql -c "USE shop" -c "SELECT count(*) FROM orders" --format json',
    "delta-gateway sql -f nightly.sql --continue-on-error",
    'delta-gateway sql "SELECT * FROM orders WHERE id = :id" -v id=7 --schema shop',
    'delta-gateway sql "SELECT * FROM orders" --format parquet > orders.parquet',
    'echo "SHOW TABLES" | delta-gateway sql --server https://gateway.example --user ann',
)
SERVER_ENVIRONMENT = {
    _SERVER: "the server, as --server",
    _USER: "the user, as --user",
    _PASSWORD: "the password, which is asked for otherwise",
    _TOKEN: "a token, as the content of --token-file",
}
_ENVIRONMENT = {
    **SERVER_ENVIRONMENT,
    "PAGER, LESS": "the pager for long tables (less) and its options; an empty PAGER shows them without",
    "VISUAL, EDITOR": "the editor of \\e in the shell (vi)",
    "XDG_STATE_HOME": "the folder with the shell's history (~/.local/state)",
}


def main(arguments: Sequence[str]) -> int:
    """Runs statements or the shell; returns the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        with open_client(given) as client:
            texts = _texts(given, parser)
            if texts is None:
                return _run_shell(client, given)
            shell = _shell(client, given, texts)
            code = shell.run_texts(texts)
            while given.watch is not None and not code:
                time.sleep(given.watch)
                sys.stdout.write(_CLEAR if sys.stdout.isatty() else "")
                code = shell.run_texts(texts)
            return code
    except (ClientError, OSError, UnicodeDecodeError) as error:
        if isinstance(error, BrokenPipeError):  # the output's reader has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the interpreter's end
            return 0
        sys.stderr.write(f"delta-gateway: {error}\n")
        return EXIT_FAILED
    except KeyboardInterrupt:
        sys.stderr.write("delta-gateway: the statement was cancelled\n")
        return _EXIT_INTERRUPTED


def _texts(given: argparse.Namespace, parser: argparse.ArgumentParser) -> list[tuple[str, str]] | None:
    """Returns the texts to run with the names of their files; None for the shell."""
    sources = [given.statement is not None, given.command is not None, given.file is not None]
    if sum(sources) > 1:
        parser.error("give the statements as an argument, with -c, or with -f")
    if given.command is not None:
        return [("", text) for text in given.command]
    if given.file is not None:
        return [(str(file), file.read_text(encoding="utf-8")) for file in given.file]
    if given.statement is not None:
        return [("", given.statement)]
    return None if sys.stdin.isatty() else [("", sys.stdin.read())]


def _shell(client: ApiClient, given: argparse.Namespace, texts: Sequence[tuple[str, str]]) -> Shell:
    """Returns a shell that runs `texts`, without any for a user on a terminal."""
    pieces = [piece for _, text in texts for piece in split_statements(text)]
    is_one = len(pieces) == 1 and pieces[0].kind is Kind.STATEMENT
    session = Session(client, given.catalog, given.schema, is_shared=not is_one)
    session.on_reopen = _report
    limit = ROWS_MAX if given.limit is None else given.limit
    output = Output(sys.stdout, given.format, given.null, rows_max=limit, is_paging=not given.no_pager)
    return Shell(
        session,
        output,
        sys.stderr,
        is_interactive=not texts,
        continues_on_error=given.continue_on_error,
        variables=dict(given.variable),
    )


def _run_shell(client: ApiClient, given: argparse.Namespace) -> int:
    shell = _shell(client, given, ())
    with ApiClient(given.server, client.authorization, given.ca_file) as names:
        completer = NameCompleter(names, given.catalog, given.schema)
        shell.session.on_place = completer.follow
        shell.while_running = without_echo
        sys.stdout.write("\\? lists the commands, \\q leaves.\n")
        return shell.run_interactively(text_reader(completer))


def _report(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-gateway sql",
        description="Run statements on a running server, or a shell.",
        allow_abbrev=False,
        **help_text(_NOTES, _EXAMPLES, _ENVIRONMENT),
    )
    add = parser.add_argument
    add("statement", nargs="?", metavar="SQL", help="statements; else standard input, or a shell on a terminal")
    add("-c", "--command", action="append", metavar="SQL", help="statements, also several times")
    add("-f", "--file", action="append", type=Path, metavar="FILE", help="read statements from a file")
    add("-v", "--variable", action="append", type=_variable, default=[], metavar="NAME=VALUE", help="value for :NAME")
    add("--continue-on-error", action="store_true", help="run the statements after an error too; the exit code is 1")
    add_server_flags(parser)
    add("--format", choices=FORMATS, default="table", help="how rows are written (table)")
    add("--null", metavar="TEXT", help="how NULL is written in a table (NULL), Markdown (NULL) and CSV (null)")
    add("--limit", type=int, metavar="ROWS", help=f"rows of a table on a terminal ({ROWS_MAX}), 0 for all")
    add("--no-pager", action="store_true", help="write long tables to the terminal without a pager")
    add("--watch", type=float, metavar="SECONDS", help="run them again and again, until an error or Ctrl-C")
    add("--catalog", help="current catalog of the statements")
    add("--schema", help="current schema of the statements")
    return parser


def add_server_flags(parser: argparse.ArgumentParser) -> None:
    """Adds the server's address and the login; `open_client` uses them."""
    add, server = parser.add_argument, os.environ.get(_SERVER) or DEFAULT_SERVER
    add("--server", default=server, metavar="URL", help=f"the server ({server})")
    add("--user", metavar="NAME", default=os.environ.get(_USER), help="log in; the password is asked for")
    add("--token-file", type=Path, metavar="FILE", help="log in with a token")
    add("--ca-file", default="", metavar="FILE", help="authorities of an https server's certificate")


def open_client(given: argparse.Namespace) -> ApiClient:
    """Returns a client with the credentials of the arguments and the environment; prompts for a missing password.

    Raises `ClientError`.
    """
    return ApiClient(given.server, _authorization(given), given.ca_file)


def _variable(text: str) -> tuple[str, Variable]:
    name, is_given, value = text.partition("=")
    if not is_given or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE")
    return name, variable_of(value)


def _authorization(arguments: argparse.Namespace) -> str:
    """Returns the header for the login. Secrets are never arguments, which other users on this machine could see."""
    if arguments.user and arguments.token_file is None:
        password = os.environ.get(_PASSWORD) or getpass.getpass(f"Password of {arguments.user}: ")
        return "Basic " + b64encode(f"{arguments.user}:{password}".encode()).decode()
    file = arguments.token_file
    token = file.read_text(encoding="utf-8").strip() if file else os.environ.get(_TOKEN, "")
    return f"Bearer {token}" if token else ""
