"""The root of errors that a client may see, and how their classes are made from `conditions.toml`.

Each condition is an entry of the resource: class, SQLSTATE, parameters, message and hint. `catalog/conditions.py` holds
the classes, `conditions.pyi` their types for readers and mypy (`make conditions` writes it). Both are in `catalog`, the
lowest package, because one resource describes the errors of all three packages, and each of them raises some.

The name and SQLSTATE are Spark's or Delta's if one of them has the condition. To add a condition::

    [TABLE_OR_VIEW_NOT_FOUND]
    class = "TableNotFound"
    sqlstate = "42P01"
    parameters = "name: str, suggestion: str = ''"
    message = "The table or view {name} cannot be found.{suggestion}"
    hint = "Check the spelling and the current schema; SHOW TABLES lists the tables of a schema."
"""

from __future__ import annotations

import re
import tomllib
from ast import literal_eval
from collections.abc import Iterator, Mapping
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

ECHO_MAX = 200
"""Characters that an error repeats of a name, a key or a value that a client sent."""
CONDITIONS_FILE = Path(__file__).with_name("conditions.toml")
_SQLSTATE = re.compile(r"[0-9A-Z]{5}")
_PROSE = frozenset(
    {"reason", "detail", "suggestion", "text", "advice", "excerpt", "expected", "known", "applicable", "problem"}
    | {"candidates", "columns", "constraints", "dependents", "domains", "features", "keys", "names", "partitions"}
    | {"children", "existing", "specified", "values", "files", "tables", "committed", "condition_text", "expression"}
    | {"path", "location", "url", "folder", "file", "directory", "root", "source", "place", "metadata", "issuer"}
    | {"dialects", "formats", "supported", "arguments", "missing", "done", "what", "change", "becomes", "used_by"}
)
"""Parameters that are sentences, lists or places, and not a name or value that a client sent."""
_LONG_WORD = re.compile(rf"([^\s/]{{{ECHO_MAX - 1}}})[^\s/]{{2,}}")
"""Not a path, whose reader needs it whole."""
_declared: dict[str, type[SqlError]] = {}


class SqlError(Exception):
    """Root of every error shown to a client.

    `condition` is the stable name, `sqlstate` its five characters, `template` the message with the parameters in
    braces. An instance has an attribute per parameter.
    """

    condition: str
    sqlstate: str
    template: str
    signature = Signature()

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values)
        bound = self.signature.bind(*values, **named)
        bound.apply_defaults()
        vars(self).update(bound.arguments)

    @property
    def message(self) -> str:
        """The text without condition and SQLSTATE; it repeats at most :data:`ECHO_MAX` characters of a name."""
        return _LONG_WORD.sub(r"\1…", self.template.format(**self._shown()))

    def _shown(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.signature.parameters}
        return {name: value if name in _PROSE else shortened(value) for name, value in values.items()}

    def __str__(self) -> str:
        return f"[{self.condition}] {self.message} SQLSTATE: {self.sqlstate}"


def shortened(value: Any) -> Any:
    """Returns a text of more than :data:`ECHO_MAX` characters with `…` for the rest, and anything else as it is."""
    is_long = isinstance(value, str) and len(value) > ECHO_MAX
    return f"{value[: ECHO_MAX - 1]}…" if is_long else value


def declared_errors() -> Iterator[type[SqlError]]:
    """Returns the classes of all conditions, for the tests that walk them."""
    yield from _declared.values()


def load_conditions() -> dict[str, type[SqlError]]:
    """Returns the classes of `conditions.toml` by their names, families first; called once, by `catalog.conditions`."""
    resource = tomllib.loads(CONDITIONS_FILE.read_text(encoding="utf-8"))
    classes: dict[str, type[SqlError]] = {"SqlError": SqlError}
    for name, entry in resource.pop("families").items():
        classes[name] = type(name, (classes[entry["family"]],), {"__module__": "catalog.conditions"})
    for condition, entry in resource.items():
        classes[entry["class"]] = declare_error(condition, entry, classes[entry.get("family", "SqlError")])
    return classes


def declare_error(condition: str, entry: Mapping[str, str], family: type[SqlError] = SqlError) -> type[SqlError]:
    """Returns the class of one condition; raises TypeError if the name is taken or the SQLSTATE is malformed."""
    if not _SQLSTATE.fullmatch(entry["sqlstate"]):
        raise TypeError(f"{condition}: {entry['sqlstate']!r} is not an SQLSTATE")
    if condition in _declared:
        raise TypeError(f"{condition} is already {_declared[condition].__name__}")
    parts = {
        "condition": condition,
        "sqlstate": entry["sqlstate"],
        "template": entry["message"],
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
