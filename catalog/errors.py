"""The base class for errors that clients see, and the construction of error classes from `conditions.toml`.

Each condition is an entry in that resource: class, SQLSTATE, parameters, message and hint. `catalog/conditions.py`
contains the classes, `conditions.pyi` their types for readers and mypy (`make conditions` writes it). Both are in
`catalog`, the lowest package, because one resource describes the errors for all three packages.

The name and SQLSTATE are Spark's or Delta's if one has the condition. To add a condition::

    [TABLE_OR_VIEW_NOT_FOUND]
    class = "TableNotFound"
    sqlstate = "42P01"
    parameters = "name: str, suggestion: str = ''"
    message = "The table or view {name} cannot be found."
    hint = "{suggestion} Check the spelling and the current schema; SHOW TABLES lists the tables of a schema."

The message is one sentence: which object the statement failed on, and why. The hint says what to do. A position in the
statement's text, or in the text of a view, is separate too, so that clients can mark it.
"""

from __future__ import annotations

import re
import tomllib
from ast import literal_eval
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, Self

# Maximum number of characters that an error repeats from a client's name, key or value.
ECHO_MAX = 200
CONDITIONS_FILE = Path(__file__).with_name("conditions.toml")
_EXCERPT_CHARS_MAX = 120
_NUL_SHOWN = "␀"
_SQLSTATE = re.compile(r"[0-9A-Z]{5}")
# Parameters that are sentences, lists or locations, and not a name or value from a client.
_PROSE = frozenset(
    {"reason", "detail", "suggestion", "text", "advice", "excerpt", "expected", "known", "applicable", "problem"}
    | {"candidates", "columns", "constraints", "dependents", "domains", "features", "keys", "names", "partitions"}
    | {"children", "existing", "specified", "values", "files", "tables", "committed", "condition_text", "expression"}
    | {"path", "location", "url", "folder", "file", "directory", "root", "source", "place", "metadata", "issuer"}
    | {"dialects", "formats", "supported", "arguments", "missing", "done", "what", "change", "becomes", "used_by"}
)
# Excludes paths, which a reader needs in full.
_LONG_WORD = re.compile(rf"([^\s/]{{{ECHO_MAX - 1}}})[^\s/]{{2,}}")
_declared: dict[str, type[SqlError]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in the text of the statement, of the view `view`, or in the text that the statement `inside` runs; `line`
    and `column` count from 1.

    `excerpt` is the line, at most 120 characters of it, and a second line with a caret below the place.
    """

    line: int
    column: int
    excerpt: str
    view: str = ""
    inside: str = ""
    # The place in characters of the whole text, from 0.
    offset: int = field(default=0, compare=False)

    @classmethod
    def in_text(cls, text: str, offset: int, view: str = "", inside: str = "") -> Self:
        """Returns the position of the character at `offset` (from 0) in `text`."""
        offset = min(offset, len(text))
        line_start = text.rfind("\n", 0, offset) + 1
        line_end = text.find("\n", offset)
        line = text[line_start : line_end if line_end >= 0 else len(text)]
        column = offset - line_start
        shown_from = max(0, column - _EXCERPT_CHARS_MAX // 2)
        shown = line[shown_from : shown_from + _EXCERPT_CHARS_MAX].replace("\0", _NUL_SHOWN)
        mark = "".join("\t" if char == "\t" else " " for char in shown[: column - shown_from]) + "^"
        line_number = text.count("\n", 0, offset) + 1
        excerpt = f"{shown}\n{mark}"
        return cls(line=line_number, column=column + 1, excerpt=excerpt, view=view, inside=inside, offset=offset)

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}"
        if self.view:
            return f"{place} of the view {self.view}"
        return f"{place} of the text of {self.inside}" if self.inside else place


@dataclass(frozen=True, slots=True)
class SparkError:
    """What clients of Spark know of its exception: its Java class, the parameters of its message, and the text of the
    expression that failed, if it is known.
    """

    java_class: str
    parameters: Mapping[str, str]
    fragment: str = ""


class SqlError(Exception):
    """Base class for every error that clients see.

    `condition` is the stable name, `sqlstate` its five characters, `template` and `hint_template` the texts with the
    parameters in braces. An instance has one attribute per parameter.
    """

    condition: str
    sqlstate: str
    template: str
    hint_template = ""
    signature = Signature()
    position: Position | None = None
    # The exception of Spark that it translates; None if that is hidden, or if it is the gateway's own error.
    spark: SparkError | None = None

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values)
        bound = self.signature.bind(*values, **named)
        bound.apply_defaults()
        vars(self).update(bound.arguments)

    @property
    def message(self) -> str:
        """Returns the sentence without condition, SQLSTATE and hint; a name has at most :data:`ECHO_MAX` characters.

        Line and column are at its end, if they are known.
        """
        message = self._format(self.template)
        return message if self.position is None else f"{message.removesuffix('.')} ({self.position})."

    @property
    def hint(self) -> str:
        """Returns the user's options as sentences; empty if there is no advice."""
        return self._format(self.hint_template).strip()

    @property
    def full_message(self) -> str:
        """Returns message and hint in one line, for command lines and pages, which show no condition."""
        return f"{self.message} {self.hint}".rstrip()

    @property
    def echoed_values(self) -> tuple[str, ...]:
        """Returns the names, keys and values from the client that the message repeats. A list only counts if it is the
        first parameter: others list what exists.
        """
        names = [name for at, name in enumerate(self.signature.parameters) if not at or name not in _PROSE]
        return tuple(value for name in names if isinstance(value := getattr(self, name), str))

    def at(self, position: Position) -> Self:
        """Returns a copy with a position: statements that wait for the same work may share an error."""
        copied = type(self).__new__(type(self))
        vars(copied).update(vars(self) | {"position": position})
        copied.args = self.args
        return copied

    def _format(self, template: str) -> str:
        values = {name: getattr(self, name) for name in self.signature.parameters}
        shown = {name: value if name in _PROSE else shorten(value) for name, value in values.items()}
        return _LONG_WORD.sub(r"\1…", template.format(**shown))

    def __str__(self) -> str:
        """Returns `[CONDITION] message SQLSTATE: 12345`, then the line with a caret, then the hint, one per line."""
        excerpt = "" if self.position is None else f"\n{self.position.excerpt}"
        hint = self.hint and f"\nHint: {self.hint}"
        return f"[{self.condition}] {self.message} SQLSTATE: {self.sqlstate}{excerpt}{hint}"


def shorten(value: Any) -> Any:
    """Returns a text cut to :data:`ECHO_MAX` characters with `…` for the rest; returns other values unchanged."""
    is_long = isinstance(value, str) and len(value) > ECHO_MAX
    return f"{value[: ECHO_MAX - 1]}…" if is_long else value


def declared_errors() -> Iterator[type[SqlError]]:
    """Returns the classes for all conditions; tests iterate over them."""
    yield from _declared.values()


def load_conditions() -> dict[str, type[SqlError]]:
    """Returns the classes from `conditions.toml` by name, families first; called once, by `catalog.conditions`."""
    resource = tomllib.loads(CONDITIONS_FILE.read_text(encoding="utf-8"))
    classes: dict[str, type[SqlError]] = {"SqlError": SqlError}
    for name, entry in resource.pop("families").items():
        classes[name] = type(name, (classes[entry["family"]],), {"__module__": "catalog.conditions"})
    for condition, entry in resource.items():
        classes[entry["class"]] = declare_error(condition, entry, classes[entry.get("family", "SqlError")])
    return classes


def declare_error(condition: str, entry: Mapping[str, str], family: type[SqlError] = SqlError) -> type[SqlError]:
    """Returns the class for one condition; raises TypeError if the name is taken or the SQLSTATE is malformed."""
    if not _SQLSTATE.fullmatch(entry["sqlstate"]):
        raise TypeError(f"{condition}: {entry['sqlstate']!r} is not an SQLSTATE")
    if condition in _declared:
        raise TypeError(f"{condition} is already {_declared[condition].__name__}")
    parts = {
        "condition": condition,
        "sqlstate": entry["sqlstate"],
        "template": entry["message"],
        "hint_template": entry.get("hint", ""),
        "signature": Signature(list(_parameters(entry.get("parameters", "")))),
        "__module__": "catalog.conditions",
    }
    _declared[condition] = type(entry["class"], (family,), parts)
    return _declared[condition]


def _parameters(declaration: str) -> Iterator[Parameter]:
    """Parses parameters as Python declares them: `name: type`, `name: type = literal`, and `*` before keywords."""
    is_keyword = False
    for each in filter(None, declaration.split(", ")):
        if each == "*":
            is_keyword = True
            continue
        typed, _, default = each.partition(" = ")
        yield Parameter(
            typed.partition(":")[0],
            Parameter.KEYWORD_ONLY if is_keyword else Parameter.POSITIONAL_OR_KEYWORD,
            default=literal_eval(default) if default else Parameter.empty,
        )
