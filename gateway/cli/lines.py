"""Line editing on a terminal, with a saved history, and Tab completion for keywords and catalog names."""

from __future__ import annotations

import contextlib
import os
import readline
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlencode

from gateway.cli.client import ApiClient, ClientError

_CATALOG = "/api/2.0/catalog"
_HISTORY_LINES = 5000
_KEYWORDS = """ALTER ANALYZE AND AS BETWEEN BY CASE CAST CREATE DELETE DESC DESCRIBE DETAIL DISTINCT DROP ELSE END
EXISTS EXPLAIN FROM FULL GRANT GROUP HAVING HISTORY IN INNER INSERT INTO IS JOIN LEFT LIKE LIMIT
MERGE NOT NULL ON OPTIMIZE OR ORDER OUTER OVERWRITE PARTITIONED RESTORE REVOKE RIGHT SCHEMA SCHEMAS
SELECT SET SHOW TABLE TABLES THEN TO UNION UPDATE USE USING VACUUM VALUES VERSION VIEW WHEN WHERE
WITH""".split()


class Completer:
    """Completes words. Names are requested at the first Tab, and again after the session's schema changed; without
    names, only keywords are completed.

    A catalog's names are completed without the catalog too, and one schema's tables without the schema.
    """

    def __init__(self, client: ApiClient, catalog: str | None, schema: str | None = None) -> None:
        """Creates a completer. `catalog` None: the initial one; `schema` None: all schemas in the catalog."""
        self._client = client
        self._catalog = catalog
        self._schema = schema
        self._names = list[str]()
        self._found: list[str] = []
        self._is_prompting = False

    def follow(self, catalog: str, schema: str) -> None:
        """Sets the session's current catalog and schema."""
        self._catalog = catalog
        self._schema = schema
        self._is_prompting = False

    def __call__(self, text: str, state: int) -> str | None:
        """Returns the completions for `text` one by one, as `readline` requests them."""
        if state == 0:
            self._found = self.matches(text)
        return self._found[state] if state < len(self._found) else None

    def matches(self, text: str) -> list[str]:
        if not self._is_prompting:
            self._is_prompting = True
            with contextlib.suppress(ClientError):
                self._names = sorted(set(self._load()))
        keywords = [word if text[:1].isupper() or not text else word.lower() for word in _KEYWORDS]
        return [name for name in (*self._names, *keywords) if name.casefold().startswith(text.casefold())]

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


def join_history(lines: Sequence[str]) -> None:
    """Joins the last lines into one history entry, so that a multi-line statement is recalled as a whole."""
    end = readline.get_current_history_length()
    start = end - len(lines)
    if [readline.get_history_item(at + 1) for at in range(start, end)] != list(lines):
        return  # a command came in between
    for at in reversed(range(start, end)):
        readline.remove_history_item(at)
    readline.add_history("\n".join(lines))


def line_reader(completer: Completer) -> Callable[[str], str]:
    """Returns a function that reads a line after a prompt; lines are saved in
    `$XDG_STATE_HOME/delta-gateway/history`.
    """
    file = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "delta-gateway" / "history"
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        readline.read_history_file(file)
    readline.set_history_length(_HISTORY_LINES)
    readline.set_completer(completer)
    readline.set_completer_delims(" \t\n()=<>,;'\"")
    readline.parse_and_bind("tab: complete")
    readline.parse_and_bind("set show-all-if-ambiguous on")

    def read(prompt: str) -> str:
        line = input(prompt)
        with contextlib.suppress(OSError):
            readline.append_history_file(1, file)
        return line

    return read
