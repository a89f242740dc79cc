"""Editing of statements on a terminal by prompt_toolkit: several lines, a saved history, highlighting, completion."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import termios
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Lock
from urllib.parse import urlencode

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import Output
from pygments.lexers.sql import SqlLexer

from gateway.cli.client import ApiClient, ClientError
from gateway.cli.shell import HELP, is_complete

PROMPT, FURTHER_PROMPT = "sql> ", "  -> "
_CATALOG = "/api/2.0/catalog"
_KEYWORDS = """ALTER ANALYZE AND AS BETWEEN BY CASE CAST CREATE DELETE DESC DESCRIBE DETAIL DISTINCT DROP ELSE END
EXISTS EXPLAIN FROM FULL GRANT GROUP HAVING HISTORY IN INNER INSERT INTO IS JOIN LEFT LIKE LIMIT
MERGE NOT NULL ON OPTIMIZE OR ORDER OUTER OVERWRITE PARTITIONED RESTORE REVOKE RIGHT SCHEMA SCHEMAS
SELECT SET SHOW TABLE TABLES THEN TO UNION UPDATE USE USING VACUUM VALUES VERSION VIEW WHEN WHERE
WITH""".split()
_COMMANDS = sorted(set(re.findall(r"\\[a-z?]+", HELP)))
_WORD = re.compile(r"[^\s()=<>,;'\"]+$")


class NameCompleter(Completer):
    """Completes words. Names are requested at the first Tab, and again after the session's schema changed; without
    names, only keywords are completed.

    A catalog's names are completed without the catalog too, and one schema's tables without the schema.
    """

    def __init__(self, client: ApiClient, catalog: str | None, schema: str | None = None) -> None:
        """Creates a completer with a connection of its own, because it runs on another thread than the statements.
        `catalog` None: the initial one; `schema` None: all schemas in the catalog.
        """
        self._client = client
        self._catalog = catalog
        self._schema = schema
        self._names = list[str]()
        self._is_current_list = False
        self._lock = Lock()

    def follow(self, catalog: str, schema: str) -> None:
        """Sets the session's current catalog and schema."""
        self._catalog = catalog
        self._schema = schema
        self._is_current_list = False

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Returns the completions of the word before the cursor, as prompt_toolkit's `Completer` requests them."""
        before = document.current_line_before_cursor
        if before.lstrip().startswith("\\") and " " not in before.lstrip():
            word = before.lstrip()
            return [Completion(name, -len(word)) for name in _COMMANDS if name.startswith(word)]
        found = _WORD.search(before)
        word = found[0] if found else ""
        return [Completion(match, -len(word)) for match in self.matches(word)]

    def matches(self, text: str) -> list[str]:
        """Returns names and keywords that begin with `text`, in any case; loads the names if the list is not current.

        Keywords follow the case of the text's first letter.
        """
        with self._lock:
            if not self._is_current_list:
                self._is_current_list = True
                with contextlib.suppress(ClientError):
                    self._names = sorted(set(self._load()))
            names = self._names
        keywords = [word if text[:1].isupper() or not text else word.lower() for word in _KEYWORDS]
        return [name for name in (*names, *keywords) if name.casefold().startswith(text.casefold())]

    def _load(self) -> Iterator[str]:
        answer = self._client.ask("GET", f"{_CATALOG}/catalogs")
        current = (self._catalog or answer["current"]).casefold()
        for catalog in answer["catalogs"]:
            is_current = catalog["name"].casefold() == current
            named = {"catalog": catalog["name"]}
            for schema in self._client.ask("GET", f"{_CATALOG}/schemas?{urlencode(named)}")["schemas"]:
                place = schema["name"] if is_current else f"{catalog['name']}.{schema['name']}"
                yield place
                path = f"{_CATALOG}/tables?{urlencode(named | {'schema': schema['name']})}"
                for table in self._client.ask("GET", path)["tables"]:
                    yield f"{place}.{table['name']}"
                    if is_current and self._is_current(schema["name"]):
                        yield table["name"]

    def _is_current(self, schema: str) -> bool:
        return self._schema is None or schema.casefold() == self._schema.casefold()


def text_reader(
    completer: Completer, *, source: Input | None = None, screen: Output | None = None
) -> Callable[[str], str]:
    """Returns a function that lets a user edit a text, up to an Enter after its end, and returns it.

    Texts are saved in `$XDG_STATE_HOME/delta-gateway/shell_history`. `source` and `screen` replace the terminal.
    """
    session: PromptSession[str] = PromptSession(
        PROMPT,
        multiline=has_focus("DEFAULT_BUFFER") & Condition(lambda: not is_complete(get_app().current_buffer.text)),
        prompt_continuation=FURTHER_PROMPT,
        completer=completer,
        complete_in_thread=True,
        complete_while_typing=False,
        lexer=PygmentsLexer(SqlLexer),
        history=_history(),
        input=source,
        output=screen,
    )
    return lambda text: session.prompt(default=text)


def _history() -> History:
    """Returns the saved history, readable by its user only; one in memory if it cannot be written."""
    states = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    file = states / "delta-gateway" / "shell_history"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))


@contextlib.contextmanager
def without_echo() -> Iterator[None]:
    """Hides keys typed while a statement runs, which the next prompt reads; they would mix with the progress line."""
    try:
        before = termios.tcgetattr(sys.stdin)
    except (termios.error, OSError, ValueError):  # is no terminal
        yield
        return
    hidden = before.copy()
    hidden[3] &= ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSANOW, hidden)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, before)
