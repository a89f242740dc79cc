r"""Runs statements and commands one after the other in one session: typed on a terminal, from a file, or a pipe.

A statement ends with `;` outside quotes, comments and scripts. A script (`BEGIN … END`) may also end with a line `/`.
A command begins with a backslash, also after a statement: `SELECT max(id) AS last FROM t \gset` stores the result's
columns as variables, which `:last` reads as a parameter. While a statement runs on a terminal, a line on standard error
shows its progress; Ctrl-C cancels it without ending the shell.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

from engine.sql.statement_texts import Kind, Piece, marker_names, split_statements
from gateway.cli.client import ClientError, Column, Statement, Variable
from gateway.cli.output import FORMATS, Output
from gateway.cli.session import Session

HELP = """Statements end with ; and a script (BEGIN … END) with ; or a line that is /.
\\d NAME         columns of a table or view      \\l           catalogs
\\dt [SCHEMA]    tables                          \\dn          schemas
\\h STATEMENT    syntax and an example           \\h           all statements
\\format NAME    how rows are written            \\x           a line per value, on or off
\\null TEXT      how NULL is written             \\limit N     rows shown on a terminal, 0 for all
\\o FILE         rows go there; \\o: back         \\pager       the pager on or off
\\g, \\gx         run; with a line per value      \\watch S     again every S seconds
\\set NAME VALUE a variable, read by :NAME       \\set         all variables
\\gset [PREFIX]  run, columns become variables   \\unset NAME  remove a variable
\\i FILE         run a file                      \\e           edit the statement with $EDITOR
\\timing         the time on or off              \\c           forget what was typed
\\q, quit, exit  leave                           \\?, help     this list
"""
# Texts that are commands if nothing else is typed.
BARE_COMMANDS = {"quit": "\\q", "exit": "\\q", "help": "\\?"}
_NAME = r"(?:[\w.]|`[^`]+`)+"
_COMMANDS: Mapping[str, str] = {
    r"\\l": "SHOW CATALOGS",
    r"\\dn": "SHOW SCHEMAS",
    r"\\dt": "SHOW TABLES",
    rf"\\dt\s+({_NAME})": "SHOW TABLES IN {}",
    rf"\\d\s+({_NAME})": "DESCRIBE TABLE EXTENDED {}",
}
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_VALUE_TYPES = (
    (re.compile(r"[-+]?[0-9]{1,9}"), "INT"),
    (re.compile(r"[-+]?[0-9]{10,18}"), "BIGINT"),
    (re.compile(r"[-+]?[0-9]+\.[0-9]+"), "DOUBLE"),
    (re.compile(r"(?i)true|false"), "BOOLEAN"),
)
_SCALARS = frozenset(
    "BOOLEAN BYTE SHORT INT LONG FLOAT DOUBLE DECIMAL DATE TIMESTAMP TIMESTAMP_NTZ STRING CHAR VARCHAR".split()
)
# The depth of files that run files.
_FILES_MAX = 16


def syntax_help(words: str) -> str:
    """Returns the syntax and an example of each statement whose title or syntax begins with `words`.

    Without words, and if there is no such statement, returns the titles by family.
    """
    entries = json.loads(files(__package__).joinpath("sql_reference.json").read_text(encoding="utf-8"))
    wanted = " ".join(words.upper().rstrip(";").split())
    found = [each for each in entries if wanted and wanted in (each["title"].upper(), each["family"].upper())]
    found = found or [each for each in entries if wanted and each["title"].upper().startswith(wanted)]
    found = found or [each for each in entries if wanted and each["syntax"].upper().startswith(wanted)]
    if found:
        return "\n".join(f"{each['title']}\n  {each['syntax']}\n  Example: {each['example']}\n" for each in found)
    families: dict[str, list[str]] = {}
    for each in entries:
        families.setdefault(each["family"], []).append(each["title"])
    missing = f"No statement begins with {wanted}.\n" if wanted else ""
    return missing + "".join(f"{family}: {', '.join(titles)}\n" for family, titles in families.items())


def is_complete(text: str) -> bool:
    """Returns True if Enter sends `text`: nothing in it waits for its end, or its last line is a command."""
    if text.strip().rstrip(";").lower() in BARE_COMMANDS:
        return True
    pieces = split_statements(text)
    return not pieces or pieces[-1].is_ended


def variable_of(text: str) -> Variable:
    """Returns the variable for a value as `\\set` has it: a number, true or false, or a text, in quotes or without."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return Variable(text[1:-1].replace("''", "'"), "STRING")
    for pattern, sql_type in _VALUE_TYPES:
        if pattern.fullmatch(text):
            return Variable(text, sql_type)
    return Variable(text, "STRING")


class _Left(Exception):
    """The user has left the shell."""


@dataclass
class Shell:
    """Runs texts; `output.out` receives rows and `err` messages."""

    session: Session
    output: Output
    err: TextIO
    # Shows progress and times, and goes on with the next text after an error.
    is_interactive: bool = True
    # An error does not end the text that it is in.
    continues_on_error: bool = False
    is_timing: bool = True
    variables: dict[str, Variable] = field(default_factory=dict)
    # The last statement, which `\watch` and `\e` take.
    last: str = ""
    # A statement without an end, which a command or the next text follows.
    pending: str = ""
    has_failed: bool = False
    # Surrounds the run of a statement.
    while_running: Callable[[], AbstractContextManager[object]] = nullcontext
    _depth: int = 0

    def run_interactively(self, read_text: Callable[[str], str]) -> int:
        """Runs until the end of the input; `read_text` lets a user edit a text and returns it. Returns the exit
        code.
        """
        with self._closing():
            self.session.open()
            while True:
                try:
                    text, self.pending = read_text(self.pending), ""
                except EOFError:
                    break
                except KeyboardInterrupt:
                    self.pending = ""
                    continue
                bare = BARE_COMMANDS.get(text.strip().rstrip(";").lower())
                self._run_pieces(bare or text)
        return 0

    def run_texts(self, texts: Sequence[tuple[str, str]]) -> int:
        """Runs texts, each with the name of its file or an empty one, not interactively; returns the exit code."""
        with self._closing():
            for name, text in texts:
                if not self._run_whole(text, name) and not self.continues_on_error:
                    break
        return int(self.has_failed)

    def _run_whole(self, text: str, name: str) -> bool:
        """Runs a text whose last statement needs no semicolon."""
        has_succeeded = self._run_pieces(text, name)
        pending, self.pending = self.pending, ""
        if pending and (has_succeeded or self.continues_on_error):
            return self._run(pending, where=f"{name}: " if name else "") and has_succeeded
        return has_succeeded

    @contextmanager
    def _closing(self) -> Iterator[None]:
        try:
            with suppress(_Left):
                yield
        finally:
            self.session.close()

    def _run_pieces(self, text: str, name: str = "") -> bool:
        """Runs a text up to its first error; returns False after one."""
        pieces = split_statements(text)
        has_succeeded = True
        for piece in pieces:
            line = text.count("\n", 0, piece.offset) + 1
            where = f"{name}:{line}: " if name else f"line {line}: " if len(pieces) > 1 else ""
            if piece.kind is Kind.COMMAND:
                has_succeeded &= self._command(piece.text, where)
            elif piece.is_ended:
                has_succeeded &= self._run(self._with_pending(piece), where=where)
            else:
                self.pending = self._with_pending(piece)
            if not has_succeeded and not self.continues_on_error:
                self.pending = ""
                return False
        return has_succeeded

    def _with_pending(self, piece: Piece) -> str:
        pending, self.pending = self.pending, ""
        return f"{pending}\n{piece.text}" if pending else piece.text

    def _command(self, line: str, where: str) -> bool:
        word, _, rest = line.partition(" ")
        rest = rest.strip().removesuffix(";").rstrip()
        if word == "\\q":
            raise _Left()
        if self._setting(word, rest):
            return True
        has_succeeded = self._running_command(word, rest, where)
        if has_succeeded is not None:
            return has_succeeded
        text = _statement_of(line.rstrip("; "))
        if text is not None:
            return self._run(text, where=where)
        is_known = word == "\\?" or self._fail(f"{where}Unknown command: {line}")
        if self.is_interactive:
            self.output.out.write(f"{HELP}Formats: {', '.join(FORMATS)}\n")
        return is_known

    def _setting(self, word: str, rest: str) -> bool:
        """Changes how results are written, or a variable; returns False if `word` is another command."""
        output = self.output
        if word == "\\format" and rest in FORMATS:
            output.format = rest
        elif word == "\\x":
            output.is_expanded = _switched(rest, output.is_expanded)
            self._note(f"A line per value is {_on(output.is_expanded)}.")
        elif word == "\\timing":
            self.is_timing = _switched(rest, self.is_timing)
            self._note(f"The time is {_on(self.is_timing)}.")
        elif word == "\\pager":
            output.is_paging = _switched(rest, output.is_paging)
            self._note(f"The pager is {_on(output.is_paging)}.")
        elif word == "\\null":
            output.null = rest
        elif word == "\\limit" and rest.isdecimal():
            output.rows_max = int(rest)
        elif word == "\\o":
            output.file = rest
        elif word == "\\c":
            self.pending = ""
        elif word == "\\set":
            return self._set(rest)
        elif word == "\\unset":
            self.variables.pop(rest, None)
        elif word == "\\h":
            output.out.write(syntax_help(rest))
        else:
            return False
        return True

    def _set(self, rest: str) -> bool:
        name, _, value = rest.partition(" ")
        if name and not _VARIABLE.fullmatch(name):
            return False
        if name:
            self.variables[name] = variable_of(value.strip())
        else:
            for name, variable in sorted(self.variables.items()):
                self.output.out.write(f"{name} = {variable.value} ({variable.sql_type})\n")
        return True

    def _running_command(self, word: str, rest: str, where: str) -> bool | None:
        """Runs a file, or the pending or the last statement in a special way; returns whether that succeeded, None if
        `word` is another command.
        """
        if word == "\\i" and rest:
            return self._run_file(rest, where)
        if word == "\\e" and self.is_interactive:
            return self._edit()
        is_watch = word == "\\watch" and re.fullmatch(r"[0-9]{1,5}", rest)
        if word not in ("\\g", "\\gx", "\\gset") and not is_watch:
            return None
        text, self.pending = self.pending or self.last, ""
        if not text:
            return self._fail(f"{where}There is no statement to run.")
        if word == "\\gset":
            return self._run(text, lambda statement: self._store(statement, rest), where)
        if is_watch:
            return self._watch(text, int(rest))
        is_expanded, self.output.is_expanded = self.output.is_expanded, self.output.is_expanded or word == "\\gx"
        try:
            return self._run(text, where=where)
        finally:
            self.output.is_expanded = is_expanded

    def _store(self, statement: Statement, prefix: str) -> None:
        """Stores the columns of a result's only row as variables."""
        rows = list(islice(chain.from_iterable(statement.row_chunks()), 2))
        if len(rows) != 1:
            raise ClientError(f"\\gset takes a result of one row, and this one has {'more' if rows else 'none'}")
        stored = [
            (f"{prefix}{column.name}", _value(column, cell))
            for column, cell in zip(statement.columns, rows[0], strict=True)
        ]
        for name, _ in stored:
            if not _VARIABLE.fullmatch(name):
                raise ClientError(f"{name} is no name of a variable; name the column with AS")
        self.variables.update(stored)

    def _run_file(self, name: str, where: str) -> bool:
        if self._depth >= _FILES_MAX:
            return self._fail(f"{where}files run each other more than {_FILES_MAX} deep")
        self._depth += 1
        try:
            return self._run_whole(Path(name).expanduser().read_text(encoding="utf-8"), name)
        except (OSError, UnicodeDecodeError) as error:
            return self._fail(f"{where}{name} cannot be read: {getattr(error, 'strerror', None) or error}")
        finally:
            self._depth -= 1

    def _edit(self) -> bool:
        """Lets the user edit the pending or the last statement; the result is pending, or runs if it has an end."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "statement.sql")
            file.write_text(f"{self.pending or self.last}\n", encoding="utf-8")
            try:
                subprocess.run([*shlex.split(editor), str(file)], check=True)
                text = file.read_text(encoding="utf-8").strip()
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                return self._fail(f"{editor} failed: {error}")
        self.pending = ""
        return self._run_pieces(text)

    def _watch(self, text: str, seconds: int) -> bool:
        try:
            while self._run(text):
                time.sleep(seconds)
        except KeyboardInterrupt:
            self.output.out.write("\n")
            return True
        return False

    def _run(self, text: str, take: Callable[[Statement], None] | None = None, where: str = "") -> bool:
        """Runs a statement, gives its result to `take` (by default the output), and prints its error; returns True on
        success.
        """
        self.last = text
        began = time.monotonic()
        names = marker_names(text)
        try:
            with self.while_running():
                statement = self.session.run(
                    text,
                    rows_inline=self.output.rows_inline or take is not None,
                    rows_max=self.output.row_limit if take is None else 0,
                    variables={name: value for name, value in self.variables.items() if name in names},
                    on_profile=self._show_progress if self.is_interactive else None,
                )
            duration_s = time.monotonic() - began  # without the time that a user reads in the pager
            self._clear()
            try:
                (take or self.output.write)(statement)
            finally:
                statement.close()
            if self.is_interactive and self.is_timing:
                self.output.out.write(f"{duration_s:.3f} s\n")
            self.output.out.flush()
            return True
        except ClientError as error:
            self._clear()
            return self._fail(f"{where}{error}")
        except KeyboardInterrupt:
            self._clear()
            self.session.cancel()
            if not self.is_interactive:
                raise
            self.err.write("cancelled\n")
        return False

    def _fail(self, message: str) -> bool:
        """Prints an error; returns False."""
        self.has_failed = True
        self.err.write(f"{message}\n" if self.is_interactive else f"delta-gateway: {message}\n")
        return False

    def _note(self, text: str) -> None:
        if self.is_interactive:
            self.output.out.write(f"{text}\n")

    def _show_progress(self, profile: Mapping[str, Any]) -> None:
        if self.err.isatty():
            self.err.write(f"\r\x1b[K{progress_text(profile)}")
            self.err.flush()

    def _clear(self) -> None:
        if self.is_interactive and self.err.isatty():
            self.err.write("\r\x1b[K")


def _value(column: Column, cell: str | None) -> Variable:
    if column.type_name not in _SCALARS:
        raise ClientError(f"{column.name} has the type {column.type_text}, and variables have scalar types only")
    return Variable(cell, column.type_text)


def _switched(rest: str, before: bool) -> bool:
    return {"on": True, "off": False}.get(rest.lower(), not before)


def _on(value: bool) -> str:
    return "on" if value else "off"


def progress_text(profile: Mapping[str, Any]) -> str:
    """Returns a line with a statement's progress."""
    tasks, reads = profile["tasks"], profile["reads"]
    said = [f"statement {profile['statements_begun']}"] if profile["statements_begun"] else []
    said.append(profile["stage"] or "starting")
    if reads:
        said.append(f"{sum(read['files'] for read in reads)} of {sum(read['files_total'] for read in reads)} files")
    if tasks["total"]:
        done = 20 * tasks["done"] // tasks["total"]
        said.append(f"[{'#' * done}{'.' * (20 - done)}] {tasks['done']} of {tasks['total']} tasks")
    if profile["rows"]:
        said.append(f"{profile['rows']} rows")
    return ", ".join(said)


def _statement_of(command: str) -> str | None:
    for pattern, text in _COMMANDS.items():
        if found := re.fullmatch(pattern, command):
            return text.format(*found.groups())
    return None
