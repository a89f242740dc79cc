"""Hive variables: `${hivevar:x}`, `${hiveconf:x}` and `${x}` in a statement's text, substituted before parsing.

As in Spark's `VariableSubstitution`, all three refer to the same variables, which SET, RESET and OpenSession change.
Unlike Spark, a reference in a string, a quoted name or a comment is text, a value is one token of the statement, and
Spark's settings, the environment and Java's properties cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from catalog.conditions import ExpansionTooLong, UnknownHiveVariable
from engine.errors.statement_errors import TEXT_LENGTH_MAX
from engine.runtime.settings import is_foreign
from engine.sql.dialect.tokens import literals_and_comments

_REFERENCE = re.compile(r"\$\{(?:(\w+):)?([^\s{}]+)\}")
_NAMESPACES = ("hivevar", "hiveconf")
# A number, a string, or a name.
_TOKEN = re.compile(
    r"""(?x) [+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\w{0,2} | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*"
    | (?:[^\W\d]\w*|`(?:[^`]|``)+`)(?:\.(?:\w+|`(?:[^`]|``)+`))*""",
    re.DOTALL,
)
_SET = re.compile(r"(?is)(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*SET\s+(?!(?:VAR|VARIABLE|CATALOG)\b(?!\s*=))")


def substitute_variables(text: str, settings: Mapping[str, str], length_max: int = TEXT_LENGTH_MAX) -> str:
    """Returns `text` with each variable reference replaced by its value from `settings`.

    A value that is a number, a quoted string or a name is inserted unchanged; any other becomes a string. In a SET
    statement the value is raw text, and so are the variables in it.

    Raises `UnknownHiveVariable`, and `ExpansionTooLong` before the result exceeds `length_max` characters, because a
    few references to a long value can produce gigabytes.
    """
    if "${" not in text or len(text) > length_max:  # the parser rejects a long text itself
        return text
    is_raw = _SET.match(text) is not None
    edits = [(match, _value(match, settings)) for match in _references(text)]
    edits = [(match, value if is_raw else _as_token(value)) for match, value in edits]
    length = len(text) + sum(len(value) - len(match[0]) for match, value in edits)
    if length > length_max:
        raise ExpansionTooLong(length, length_max)
    pieces, done = [], 0
    for match, value in edits:
        pieces += [text[done : match.start()], value]
        done = match.end()
    return "".join([*pieces, text[done:]])


def _references(text: str) -> Iterator[re.Match[str]]:
    """Yields the references outside strings, quoted names and comments."""
    done = 0
    for start, end in (*literals_and_comments(text), (len(text), len(text))):
        yield from _REFERENCE.finditer(text, done, start)
        done = end


def _value(reference: re.Match[str], settings: Mapping[str, str]) -> str:
    namespace = reference[1] or _NAMESPACES[0]
    name = reference[2]
    if namespace in _NAMESPACES and is_foreign(name):
        for key in (f"{namespace}:{name}", name, *(f"{other}:{name}" for other in _NAMESPACES)):
            if key in settings:
                return settings[key]
    raise UnknownHiveVariable(reference[0], name)


def _as_token(value: str) -> str:
    """Returns `value` as one token: a word may continue the word around it (`sales_${year}`), any other value is
    separate.
    """
    if re.fullmatch(r"\w+", value):
        return value
    if _TOKEN.fullmatch(value):
        return f" {value} "
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f" '{escaped}' "
