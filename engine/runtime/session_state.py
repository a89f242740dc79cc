"""The state of a session between its statements, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

from catalog.entries import FunctionEntry, ViewEntry
from catalog.names import SchemaName, TableName, fold
from engine.runtime.identity import Identity
from engine.runtime.settings import find_setting
from engine.runtime.variables import SESSION, RowValue, Scope, Variable, VisibleVariables

# A statement asks for its current schema about three times; an instance checks and folds both names.
_schema_name = lru_cache(1000)(SchemaName)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """The state of a session between statements; replaced as a whole, never changed.

    `values` has the settings that the session changed, by key; `temporary_views` and `temporary_functions` are the
    session's own views and functions, by folded name. `global_views` are the views that the session shares with others,
    as of the statement that uses this state. `variables` are the session's; `scopes` belong to the script of the
    running statement, innermost last, and are empty between statements. `shows_materialized` comes from the running
    statement's `StatementRequest`.
    """

    identity: Identity
    catalog: str
    schema: str
    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    temporary_views: Mapping[str, ViewEntry] = field(default_factory=lambda: MappingProxyType({}))
    temporary_functions: Mapping[str, FunctionEntry] = field(default_factory=lambda: MappingProxyType({}))
    global_views: Mapping[str, ViewEntry] = field(default_factory=lambda: MappingProxyType({}))
    variables: Scope = Scope(label=SESSION)
    scopes: tuple[Scope, ...] = ()
    shows_materialized: bool = False

    @property
    def principal(self) -> str:
        """Returns the name of the principal that the session acts for."""
        return self.identity.principal

    def value(self, key: str) -> str | None:
        """Returns the effective value; None for Spark's own default."""
        return self.values.get(key, find_setting(key).default)

    def with_value(self, key: str, value: str) -> SessionState:
        """Returns the state with a changed setting; the value is not checked here."""
        return replace(self, values=MappingProxyType({**self.values, key: value}))

    def without(self, key: str | None) -> SessionState:
        """Resets one setting, or all of them."""
        remaining = {name: value for name, value in self.values.items() if key is not None and name != key}
        return replace(self, values=MappingProxyType(remaining))

    @property
    def current(self) -> SchemaName:
        """Returns the schema in which names without a schema are resolved."""
        return _schema_name(self.catalog, self.schema)

    def temporary_view(self, parts: tuple[str, ...]) -> ViewEntry | None:
        """Returns the temporary view with this name: `v`, `session.v` or `system.session.v`, or a shared one,
        `global_temp.v`.
        """
        if is_qualified_global(parts):
            return self.global_views.get(fold(parts[-1]))
        return self.temporary_views.get(fold(parts[-1])) if may_be_temporary(parts) else None

    def with_temporary_view(self, entry: ViewEntry) -> SessionState:
        """Returns the state with the view; replaces one of equal name, in any case of letters."""
        views = {**self.temporary_views, fold(entry.name.table): entry}
        return replace(self, temporary_views=MappingProxyType(views))

    def without_temporary_view(self, name: TableName) -> SessionState:
        """Returns the state without the view; equal to this one if the view does not exist."""
        remaining = {key: entry for key, entry in self.temporary_views.items() if entry.name != name}
        return replace(self, temporary_views=MappingProxyType(remaining))

    def temporary_function(self, parts: tuple[str, ...]) -> FunctionEntry | None:
        """Returns the session's own function with this name, which may be qualified as `session.f` or
        `system.session.f`.
        """
        return self.temporary_functions.get(fold(parts[-1])) if may_be_temporary(parts) else None

    def with_temporary_function(self, entry: FunctionEntry) -> SessionState:
        """Returns the state with the function; replaces one of equal name, in any case of letters."""
        functions = {**self.temporary_functions, fold(entry.name.table): entry}
        return replace(self, temporary_functions=MappingProxyType(functions))

    def without_temporary_function(self, name: TableName) -> SessionState:
        """Returns the state without the function; equal to this one if the function does not exist."""
        remaining = {key: entry for key, entry in self.temporary_functions.items() if entry.name != name}
        return replace(self, temporary_functions=MappingProxyType(remaining))

    @property
    def visible(self) -> VisibleVariables:
        """Returns the variables that are visible to a statement."""
        return VisibleVariables(session=self.variables, scopes=self.scopes)

    def with_declared(self, variables: Sequence[Variable], *, or_replace: bool) -> SessionState:
        """Adds variables: to the innermost block of a script, or else to the session."""
        if self.scopes:
            return replace(self, scopes=(*self.scopes[:-1], self.scopes[-1].with_variables(variables)))
        return replace(self, variables=self.variables.with_variables(variables, or_replace=or_replace))

    def with_value_of(self, label: str, name: str, value: RowValue) -> SessionState:
        """Changes the value of the variable `name` in the scope `label`."""
        if label == SESSION:
            return replace(self, variables=self.variables.with_value(name, value))
        scopes = tuple(scope.with_value(name, value) if scope.label == label else scope for scope in self.scopes)
        return replace(self, scopes=scopes)


_TEMPORARY_SCHEMA = ("system", "session")
GLOBAL_SCHEMA = "global_temp"
_GLOBAL_SCHEMA = ("system", GLOBAL_SCHEMA)


def temporary_name(name: str) -> TableName:
    """Returns the full name of a temporary view or function in Spark's spelling."""
    return TableName(*_TEMPORARY_SCHEMA, name)


def global_name(name: str) -> TableName:
    """Returns the full name of a global temporary view."""
    return TableName(*_GLOBAL_SCHEMA, name)


def is_qualified_global(parts: tuple[str, ...]) -> bool:
    """Returns whether a name is written as that of a global temporary view: with its schema and no catalog."""
    return tuple(map(fold, parts[:-1])) == _GLOBAL_SCHEMA[1:]


def may_be_temporary(parts: tuple[str, ...]) -> bool:
    """Returns whether a name, qualified or not, may be that of a temporary view or function."""
    return tuple(map(fold, parts[:-1])) in ((), _TEMPORARY_SCHEMA[1:], _TEMPORARY_SCHEMA)


def is_temporary(name: TableName) -> bool:
    """Returns whether it is in no catalog: a view or function of a session, or a view that sessions share."""
    return name.key[:2] in (_TEMPORARY_SCHEMA, _GLOBAL_SCHEMA)


def is_of_session(name: TableName) -> bool:
    """Returns whether :func:`temporary_name` made it."""
    return name.key[:2] == _TEMPORARY_SCHEMA


def is_global(name: TableName) -> bool:
    """Returns whether :func:`global_name` made it."""
    return name.key[:2] == _GLOBAL_SCHEMA
