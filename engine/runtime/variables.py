"""Session variables and the local variables of scripts: names with values, as frozen values.

A value is held in Spark's own binary form beside its type, which is exact for every type; no variable stays in Spark,
so a session can be rebuilt from its state. Each statement takes along the variables that it may see, and Spark resolves
the names among them (`engine/spark/java/Variables.java`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from catalog.conditions import VariableAlreadyExists, VariableNotFound

SESSION = "session"
"""The scope of the session's own variables, which `system` may precede."""


@dataclass(frozen=True, slots=True)
class RowValue:
    """Column `column` of a row: `row_type` is the row's type as Spark's JSON, `row` its bytes in base64."""

    row_type: str
    row: str
    column: int


@dataclass(frozen=True, slots=True)
class RowValues:
    """The rows of a query, of a few columns each."""

    row_type: str
    names: tuple[str, ...]
    rows: tuple[str, ...]

    def row(self, index: int) -> tuple[RowValue, ...]:
        """The values of one row, in the order of `names`."""
        return tuple(RowValue(self.row_type, self.rows[index], column) for column in range(len(self.names)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What Spark makes of a DECLARE or SET: `values` for `targets`, pairs of a scope's label and a name.

    `default` is the text of a declared default. A query alone has no targets.
    """

    values: RowValues
    targets: tuple[tuple[str, str], ...] = ()
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """`name` is in lower case, as Spark compares it; `default` the SQL that `SET x = DEFAULT` evaluates again."""

    name: str
    value: RowValue
    default: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The variables of one block of a script; `label` qualifies them, and is one that nobody can write if none was."""

    label: str
    variables: Mapping[str, Variable] = field(default_factory=lambda: MappingProxyType({}))

    def with_variables(self, variables: Sequence[Variable], *, or_replace: bool = False) -> Scope:
        """Raises `VariableAlreadyExists`, unless it may `or_replace`."""
        found = dict(self.variables)
        for variable in variables:
            if variable.name in found and not or_replace:
                raise VariableAlreadyExists(qualified(self.label, variable.name))
            found[variable.name] = variable
        return replace(self, variables=MappingProxyType(found))

    def with_value(self, name: str, value: RowValue) -> Scope:
        """Raises `VariableNotFound` where another statement dropped it concurrently."""
        if name not in self.variables:
            raise VariableNotFound(qualified(self.label, name))
        return self.with_variables([replace(self.variables[name], value=value)], or_replace=True)

    def without(self, name: str) -> Scope:
        kept = {key: variable for key, variable in self.variables.items() if key != name}
        return replace(self, variables=MappingProxyType(kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleVariables:
    """What a statement sees: the session's variables, and the scopes of the script around it, the innermost last."""

    session: Scope = Scope(label=SESSION)
    scopes: tuple[Scope, ...] = ()


def qualified(label: str, name: str) -> str:
    """How messages call a variable."""
    return f"`system`.`session`.`{name}`" if label == SESSION else f"`{name}`"
