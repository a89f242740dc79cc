"""Session variables and local variables of scripts, as frozen values.

A value is stored in Spark's own binary form together with its type, which is exact for every type. No variable is
stored in Spark, so a session can be rebuilt from its state. Each statement carries the variables that are visible to
it, and Spark resolves their names (`engine/spark/java/src/main/java/deltagateway/analysis/SessionVariables.java`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from catalog.conditions import VariableAlreadyExists, VariableNotFound

# The scope of the session's own variables, which `system` may precede.
SESSION = "session"


@dataclass(frozen=True, slots=True)
class RowValue:
    """The value in column `column` of a row: `row_type` is the row's type as Spark's JSON, `row` its bytes in
    base64.
    """

    row_type: str
    row: str
    column: int


@dataclass(frozen=True, slots=True)
class RowValues:
    """The rows of a query with a few columns."""

    row_type: str
    names: tuple[str, ...]
    rows: tuple[str, ...]

    def row(self, index: int) -> tuple[RowValue, ...]:
        """Returns the values of one row, in the order of `names`."""
        return tuple(RowValue(self.row_type, self.rows[index], column) for column in range(len(self.names)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The result of a DECLARE or SET: `values` for `targets`, pairs of a scope's label and a name.

    `default` is the text of a declared default. A query alone has no targets.
    """

    values: RowValues
    targets: tuple[tuple[str, str], ...] = ()
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable. `name` is in lower case, as Spark compares names; `default` is the SQL that `SET x = DEFAULT`
    evaluates again.
    """

    name: str
    value: RowValue
    default: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The variables of one block of a script. `label` qualifies them; a block without a label gets one that cannot be
    written in SQL.
    """

    label: str
    variables: Mapping[str, Variable] = field(default_factory=lambda: MappingProxyType({}))

    def with_variables(self, variables: Sequence[Variable], *, or_replace: bool = False) -> Scope:
        """Adds variables. Raises `VariableAlreadyExists`, unless `or_replace` is set."""
        found = dict(self.variables)
        for variable in variables:
            if variable.name in found and not or_replace:
                raise VariableAlreadyExists(qualified_name(self.label, variable.name))
            found[variable.name] = variable
        return replace(self, variables=MappingProxyType(found))

    def with_value(self, name: str, value: RowValue) -> Scope:
        """Changes a value. Raises `VariableNotFound` if another statement dropped the variable concurrently."""
        if name not in self.variables:
            raise VariableNotFound(qualified_name(self.label, name))
        return self.with_variables([replace(self.variables[name], value=value)], or_replace=True)

    def without(self, name: str) -> Scope:
        """Returns the scope without the variable with this folded name."""
        remaining = {key: variable for key, variable in self.variables.items() if key != name}
        return replace(self, variables=MappingProxyType(remaining))


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleVariables:
    """The variables that are visible to a statement: the session's, and those in the script's enclosing scopes,
    innermost last.
    """

    session: Scope = Scope(label=SESSION)
    scopes: tuple[Scope, ...] = ()


def qualified_name(label: str, name: str) -> str:
    """Returns the name of a variable as messages show it."""
    return f"`system`.`session`.`{name}`" if label == SESSION else f"`{name}`"
