"""Conversion between a session's state and JSON, so that another process can continue the session.

A value of a variable is saved in Spark's binary form with its type, as `engine/runtime/variables.py` stores it, and a
temporary view or function as the catalog stores its own; a view of files has them in addition. Not saved are:

- the identity, which comes from the authentication of whoever continues the session;
- global temporary views, which belong to all sessions of a user on one server (`engine/runtime/global_views.py`);
- the warning about settings without effect, which only the first statement's log has.

Unknown fields are rejected: a state that this release understands only in part would change answers. Settings are
checked again, because this release may not have one of them, but without the privileges that they required.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType

import msgspec

from catalog.conditions import SessionStateNotReadable
from catalog.entries import FunctionEntry, ViewEntry
from catalog.errors import SqlError
from catalog.names import TableName, fold
from catalog.store.entry_json import MalformedEntry, from_json, to_json
from engine.binding.bound import FileView, FrameView
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.identity import Identity
from engine.runtime.session_state import SessionState, is_of_session
from engine.runtime.settings import parse_setting
from engine.runtime.variables import SESSION, RowValue, Scope, Variable
from engine.sql.query.values import FilesAt
from engine.tables.scan import FileFormat, FileKind
from engine.types.schema import parse_schema

# The fields of a view with its files, and with its DataFrame.
_FILES = "files"
_FRAME = "frame"


class _SavedVariable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable; the first three fields are those of `RowValue`."""

    row_type: str
    row: str
    column: int
    name: str
    default: str


class _SavedFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of `FileView`, with schemas as Spark's JSON."""

    path: str
    kind: FileKind
    options: tuple[tuple[str, str], ...]
    recursive: bool
    schema: str | None
    columns: str


class _SavedInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of `PlanInput`."""

    name: str
    text: str
    parameters: tuple[_SavedParameter, ...]
    alias: tuple[str, ...]
    frames: tuple[tuple[str, _SavedPlan], ...]


class _SavedParameter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of `Parameter`."""

    value: str | None
    sql_type: str
    name: str | None
    row_value: RowValue | None
    members: tuple[_SavedParameter, ...] | None


class _SavedPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The fields of `DataFramePlan`."""

    plan: bytes
    inputs: tuple[_SavedInput, ...]
    description: str
    expressions: tuple[str, ...] = ()
    is_source: bool = False


class _SavedFrame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of `FrameView`."""

    plan: _SavedPlan
    captured: list[dict[str, object]]


class _RowType(msgspec.Struct, frozen=True):
    """The part of Spark's type in JSON that is checked here."""

    fields: list[dict[str, object]]


class _SavedSession(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    catalog: str
    schema: str
    settings: dict[str, str]
    temporary_views: list[dict[str, object]]
    temporary_functions: list[dict[str, object]]
    variables: list[_SavedVariable]


def to_saved(state: SessionState) -> dict[str, object]:
    """Returns the state between two statements as a JSON object."""
    variables = [
        _SavedVariable(
            row_type=variable.value.row_type,
            row=variable.value.row,
            column=variable.value.column,
            name=variable.name,
            default=variable.default,
        )
        for variable in state.variables.variables.values()
    ]
    saved = _SavedSession(
        catalog=state.catalog,
        schema=state.schema,
        settings=dict(state.values),
        temporary_views=list(map(_view_json, state.temporary_views.values())),
        temporary_functions=list(map(to_json, state.temporary_functions.values())),
        variables=variables,
    )
    fields: dict[str, object] = msgspec.to_builtins(saved)
    return fields


def from_saved(identity: Identity, value: Mapping[str, object]) -> SessionState:
    """Returns the state that `to_saved` made `value` of, for `identity`. Raises `SessionStateNotReadable`."""
    try:
        saved = msgspec.convert(value, _SavedSession)
        return SessionState(
            identity=identity,
            catalog=saved.catalog,
            schema=saved.schema,
            values=MappingProxyType(dict(_checked(key, text) for key, text in saved.settings.items())),
            temporary_views=MappingProxyType(dict(map(_view, saved.temporary_views))),
            temporary_functions=MappingProxyType(dict(map(_function, saved.temporary_functions))),
            variables=Scope(label=SESSION, variables=MappingProxyType(dict(map(_variable, saved.variables)))),
        )
    except (msgspec.DecodeError, MalformedEntry, SqlError) as error:
        raise SessionStateNotReadable(str(error)) from error


def _checked(key: str, text: str) -> tuple[str, str]:
    """Returns a setting as it is stored; raises a `SqlError` if a session cannot have it."""
    setting, value = parse_setting(key, text)
    return setting.key, value


def _view_json(entry: ViewEntry) -> dict[str, object]:
    found = to_json(entry)
    if isinstance(entry, FileView):
        files = entry.files
        found[_FILES] = _SavedFiles(
            path=files.path,
            kind=files.format.kind,
            options=files.format.options,
            recursive=files.recursive,
            schema=None if files.schema is None else files.schema.to_json(),
            columns=entry.schema.to_json(),
        )
    if isinstance(entry, FrameView):
        # The hook makes plain texts of generated ones, which msgspec does not take.
        plan = msgspec.convert(msgspec.to_builtins(entry.frame, enc_hook=str), _SavedPlan)
        found[_FRAME] = msgspec.to_builtins(_SavedFrame(plan=plan, captured=list(map(_view_json, entry.captured))))
    return found


def _view(value: Mapping[str, object]) -> tuple[str, ViewEntry]:
    """Returns a temporary view with its folded name; raises `MalformedEntry`, and the errors of schemas."""
    entry = _any_view(value)
    return _temporary_key(entry.name), entry


def _any_view(value: Mapping[str, object]) -> ViewEntry:
    """Returns a view, which may be a global one that a view of the session has captured."""
    entry = from_json({key: each for key, each in value.items() if key not in (_FILES, _FRAME)})
    if not isinstance(entry, ViewEntry):
        raise MalformedEntry(f"{value.get('kind')!r} is not a view")
    own = {each.name: getattr(entry, each.name) for each in fields(entry)}
    if _FRAME in value:
        saved_frame = msgspec.convert(value[_FRAME], _SavedFrame)
        plan = msgspec.convert(msgspec.to_builtins(saved_frame.plan), DataFramePlan)
        captured = tuple(_any_view(each) for each in saved_frame.captured)
        entry = FrameView(**own, frame=plan, captured=captured)
    if _FILES in value:
        saved = msgspec.convert(value[_FILES], _SavedFiles)
        files = FilesAt(
            path=saved.path,
            format=FileFormat(kind=saved.kind, options=saved.options),
            recursive=saved.recursive,
            schema=None if saved.schema is None else parse_schema(saved.schema),
        )
        entry = FileView(**own, files=files, schema=parse_schema(saved.columns))
    return entry


def _function(value: Mapping[str, object]) -> tuple[str, FunctionEntry]:
    entry = from_json(value)
    if not isinstance(entry, FunctionEntry):
        raise MalformedEntry(f"{value.get('kind')!r} is not a function")
    return _temporary_key(entry.name), entry


def _temporary_key(name: TableName) -> str:
    if not is_of_session(name):
        raise MalformedEntry(f"{name} is not a temporary name")
    return fold(name.table)


def _variable(saved: _SavedVariable) -> tuple[str, Variable]:
    """Returns a variable with its name. Raises `MalformedEntry` if the row is not one of its type: Spark would read
    memory outside of it.
    """
    try:
        num_bytes = len(base64.b64decode(saved.row, validate=True))
    except binascii.Error as error:
        raise MalformedEntry(f"the value of {saved.name!r} is not base64") from error
    num_fields = len(msgspec.json.decode(saved.row_type, type=_RowType).fields)
    # A row begins with a bit for each field, in words, and a word for each field.
    if not 0 <= saved.column < num_fields or num_bytes < 8 * ((num_fields + 63) // 64 + num_fields):
        raise MalformedEntry(f"the value of {saved.name!r} does not have its type")
    value = RowValue(saved.row_type, saved.row, saved.column)
    return saved.name, Variable(name=saved.name, value=value, default=saved.default)
