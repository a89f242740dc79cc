"""USE, SET and RESET: session changes. They return a state change, which only the session applies."""

from __future__ import annotations

from dataclasses import replace

from catalog.conditions import SchemaNotFound, TooManyForeignSettings, VariableSetAsSetting
from catalog.names import CatalogName, SchemaName
from engine.binding.bound import BoundStatement, Outcome
from engine.runtime.foreign_settings import FOREIGN_MAX
from engine.runtime.results import empty_result, string_rows
from engine.runtime.session_state import SessionState
from engine.runtime.settings import SETTINGS, displayed_key, find_setting, is_foreign, parse_setting
from engine.statements.session.statement import ResetSetting, SetSetting, ShowSettings, UseCatalog, UseSchema

_UNSET = "<undefined>"


def use_catalog(bound: BoundStatement, statement: UseCatalog) -> Outcome:
    """Switches to a catalog, at its schema `default`; the current catalog retains its schema, as in Spark."""
    catalog = bound.view.catalog(CatalogName(statement.catalog)).name.catalog
    return _use(bound.state.current if catalog == bound.state.catalog else SchemaName(catalog, "default"))


def use_schema(bound: BoundStatement, statement: UseSchema) -> Outcome:
    """Switches to a schema. `USE x` is a catalog if no schema has that name but a catalog does, as in Spark."""
    view = bound.view
    catalog = CatalogName(statement.parts[0])
    may_be_catalog = len(statement.parts) == 1 and not statement.schema_only and view.has_catalog(catalog)
    try:
        return _use(view.schema(SchemaName.from_parts(statement.parts, bound.state.catalog)).name)
    except SchemaNotFound:
        if may_be_catalog:
            return use_catalog(bound, UseCatalog(catalog=catalog.catalog))
        raise


def set_setting(bound: BoundStatement, statement: SetSetting) -> Outcome:
    """Returns the pair that is in force now, as Spark does."""
    if statement.key.lower().removeprefix("system.").removeprefix("session.") in bound.state.variables.variables:
        raise VariableSetAsSetting(statement.key)
    setting, value = parse_setting(statement.key, statement.value)
    if setting.key not in bound.state.values and is_foreign(setting.key):
        _ensure_capacity(bound.state)
    return Outcome(
        result=string_rows(("key", "value"), ((displayed_key(statement.key), value),)),
        change=lambda state: state.with_value(setting.key, value),
    )


def show_settings(bound: BoundStatement, statement: ShowSettings) -> Outcome:
    """Lists settings: `SET`: set in the session; `SET -v`: all that may be set; `SET key`: one."""
    state = bound.state
    if statement.key is not None:
        setting = find_setting(statement.key)
        value = state.value(setting.key)
        row = displayed_key(statement.key), (statement.default or _UNSET) if value is None else value
        return Outcome(result=string_rows(("key", "value"), (row,)))
    if statement.verbose:
        rows = sorted((row.key, _value_text(state, row.key), row.doc) for row in SETTINGS.values())
        return Outcome(result=string_rows(("key", "value", "meaning"), rows))
    return Outcome(result=string_rows(("key", "value"), sorted(state.values.items())))


def reset_setting(bound: BoundStatement, statement: ResetSetting) -> Outcome:
    """Restores Spark's or the server's default, for one setting or all."""
    key = None if statement.key is None else find_setting(statement.key).key
    return Outcome(result=empty_result(), change=lambda state: state.without(key))


def _ensure_capacity(state: SessionState) -> None:
    if sum(map(is_foreign, state.values)) >= FOREIGN_MAX:
        raise TooManyForeignSettings(FOREIGN_MAX)


def _use(schema: SchemaName) -> Outcome:
    return Outcome(
        result=empty_result(), change=lambda state: replace(state, catalog=schema.catalog, schema=schema.schema)
    )


def _value_text(state: SessionState, key: str) -> str:
    value = state.value(key)
    return _UNSET if value is None else value
