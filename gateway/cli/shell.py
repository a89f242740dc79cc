"""`delta-gateway sql` on a terminal: multi-line statements in one session, with history and completion.

A statement ends with `;` at the end of a line, outside quotes and comments. A script (`BEGIN … END`) contains such
lines, so it ends with a line `/`, as any statement may. Lines that begin with a backslash are commands. While a
statement runs, a line on standard error shows its progress; Ctrl-C cancels it without ending the shell.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import chain
from typing import Any, TextIO

from gateway.cli.client import ApiClient, ClientError, Statement

SESSIONS, STATEMENTS = "/api/2.0/sql/sessions", "/api/2.0/sql/statements"
# Formats whose rows are included in the responses.
INLINE = ("table", "json")
PROMPT, FURTHER_PROMPT = "sql> ", "  -> "
HELP = """\\d NAME        columns of a table or view     \\l          catalogs
\\dt [SCHEMA]   tables                         \\dn         schemas
\\format NAME   how rows are written           \\watch S    the last statement again every S seconds
\\o FILE        rows go there; \\o: back        \\c          forget what was typed
\\h STATEMENT   syntax and an example           \\h          all statements
\\q             leave
A statement ends with ; at the end of a line, a script (BEGIN … END) with a line that is /.
"""
_NAME = r"(?:[\w.]|`[^`]+`)+"
_COMMANDS: Mapping[str, str] = {
    r"\\l": "SHOW CATALOGS",
    r"\\dn": "SHOW SCHEMAS",
    r"\\dt": "SHOW TABLES",
    rf"\\dt\s+({_NAME})": "SHOW TABLES IN {}",
    rf"\\d\s+({_NAME})": "DESCRIBE TABLE EXTENDED {}",
}
_TOKEN = re.compile(r"--[^\n]*|/\*.*?(?:\*/|$)|'(?:[^'\\]|\\.|'')*+'?|\"(?:[^\"\\]|\\.|\"\")*+\"?|`[^`]*`?|\S", re.S)
_OPEN = re.compile(r"'(?:[^'\\]|\\.|'')*+|\"(?:[^\"\\]|\\.|\"\")*+|`[^`]*|/\*(?:(?!\*/).)*", re.S)
_MOVES = re.compile(r"(?:\s|--[^\n]*|/\*(?:(?!\*/).)*\*/)*+(?:USE|SET\s+CATALOG)\b", re.IGNORECASE | re.S)
_SCRIPT = re.compile(r"\s*BEGIN\b(?!\s+TRANSACTION)", re.IGNORECASE)

Writer = Callable[[Statement, TextIO], None]


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
    """Returns True if a statement ends at the end of `text`: with a semicolon that is not in quotes or a comment."""
    if _SCRIPT.match(text):
        return False
    last = ""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if _OPEN.fullmatch(token) and found.end() == len(text):
            return False
        if not token.startswith(("--", "/*")):
            last = token
    return last == ";"


def _nothing(_: object) -> None:
    pass


@dataclass
class Shell:
    """An interactive shell. `read_line` shows a prompt and returns a line without its end; it raises EOFError at the
    end of the input.
    """

    client: ApiClient
    writers: Mapping[str, Writer]
    out: TextIO
    err: TextIO
    read_line: Callable[[str], str]
    # Receives a multi-line statement.
    on_lines: Callable[[Sequence[str]], None] = _nothing
    format: str = "table"
    # Output file for rows; empty: `out`.
    file: str = ""
    session: str = ""
    # Receives the current catalog and schema after a statement has changed them.
    on_place: Callable[[str, str], None] | None = None
    last: str = ""
    typed: list[str] = field(default_factory=list)

    def run(self, catalog: str | None, schema: str | None) -> int:
        """Runs until the end of the input; returns the exit code."""
        self.session = str(self.client.ask("POST", SESSIONS, {"catalog": catalog, "schema": schema})["session_id"])
        try:
            while self._step():
                pass
        finally:
            self.client.ask("DELETE", f"{SESSIONS}/{self.session}")
        return 0

    def _step(self) -> bool:
        """Processes one line; returns False after the last."""
        try:
            line = self.read_line(FURTHER_PROMPT if self.typed else PROMPT)
        except EOFError:
            self.out.write("\n")
            return False
        except KeyboardInterrupt:
            self.typed.clear()
            self.out.write("\n")
            return True
        if line.lstrip().startswith("\\"):
            return self._command(line.strip())
        if line.strip() == "/":
            self._send("\n".join(self.typed), is_script=True)
        elif line.strip() or self.typed:
            self.typed.append(line)
            text = "\n".join(self.typed)
            if is_complete(text):
                self._send(text.rstrip().removesuffix(";"))
        return True

    def _command(self, line: str) -> bool:
        word, _, rest = line.partition(" ")
        if word == "\\q":
            return False
        if word == "\\c":
            self.typed.clear()
        elif word == "\\format" and rest.strip() in self.writers:
            self.format = rest.strip()
        elif word == "\\o":
            self.file = rest.strip()
        elif word == "\\watch" and re.fullmatch(r"\s*[0-9]{1,5}\s*", rest) and self.last:
            self._watch(int(rest))
        elif word == "\\h":
            self.out.write(syntax_help(rest))
        elif text := _statement_of(line):
            self._execute(text)
        else:
            if word != "\\?":
                self.err.write(f"Unknown command: {line}\n")
            self.out.write(f"{HELP}Formats: {', '.join(self.writers)}\n")
        return True

    def _send(self, text: str, *, is_script: bool = False) -> None:
        lines = [*filter(None, self.typed), *(["/"] if is_script else [])]
        if len(lines) > 1:
            self.on_lines(lines)
        self.typed.clear()
        if text.strip():
            self.last = text
            self._execute(text)

    def _watch(self, seconds: int) -> None:
        try:
            while self._execute(self.last):
                time.sleep(seconds)
        except KeyboardInterrupt:
            self.out.write("\n")

    def _execute(self, text: str) -> bool:
        """Runs a statement and prints its error; returns True on success."""
        began = time.monotonic()
        running = list[str]()

        def note(statement_id: str) -> None:
            running[:] = [statement_id]
            if self.err.isatty():
                profile = self.client.ask("GET", f"{STATEMENTS}/{statement_id}/profile")
                self.err.write(f"\r\x1b[K{progress_text(profile)}")
                self.err.flush()

        try:
            statement = self.client.run(text, rows_inline=self.format in INLINE, session_id=self.session, on_wait=note)
            running.clear()
            self._clear()
            try:
                self._write(statement)
            finally:
                statement.close()
            self.out.write(f"{time.monotonic() - began:.3f} s\n")
            self.out.flush()
            if self.on_place is not None and _MOVES.match(text):
                self._tell_place(self.on_place)
            return True
        except ClientError as error:
            self._clear()
            self.err.write(f"{error}\n")
        except KeyboardInterrupt:
            self._clear()
            self.client.hang_up()  # cancels statements that the server is waiting for
            for statement_id in running:
                with suppress(ClientError):  # the statement or the server has ended
                    self.client.ask("POST", f"{STATEMENTS}/{statement_id}/cancel")
            self.err.write("cancelled\n")
        return False

    def _tell_place(self, tell: Callable[[str, str], None]) -> None:
        """Requests the current catalog and schema, because only the server resolves the name."""
        statement = self.client.run("SHOW CURRENT NAMESPACE", rows_inline=True, session_id=self.session)
        try:
            for catalog, schema in chain.from_iterable(statement.row_chunks()):
                tell(str(catalog), str(schema))
        finally:
            statement.close()

    def _write(self, statement: Statement) -> None:
        if not self.file:
            self.writers[self.format](statement, self.out)
            return
        try:
            with open(self.file, "w", encoding="utf-8") as file:
                self.writers[self.format](statement, file)
        except OSError as error:
            raise ClientError(f"{self.file} cannot be written: {error.strerror}") from error
        self.out.write(f"written to {self.file}\n")

    def _clear(self) -> None:
        if self.err.isatty():
            self.err.write("\r\x1b[K")


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
