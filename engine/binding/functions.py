"""Inlines calls of catalog functions into queries as expressions, and resolves the session's principal.

Spark never looks up a catalog function: its body replaces the call, with the arguments in place of its parameters.
Spark analyzes a body separately if its function was created under other settings than its caller's, or if its value may
derive from file names, which are hidden as in a view's rows (`FunctionBodies.java`). Functions in the body are looked
up as its owner, from its schema; the tables in it become relations of the query, which `binder.py` binds in the same
way. A function that is not visible to the principal is left to Spark, which does not find it either.

`is_account_group_member` and `is_member` refer to the session's principal wherever they are called, also in views and
functions of other owners. They are evaluated here, and become TRUE or FALSE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar, cast

from catalog.conditions import (
    ArgumentGivenTwice,
    ArgumentNotOfRow,
    BodyNotPossible,
    FunctionNotFound,
    FunctionTooDeep,
    GroupNotLiteral,
    MissingArgument,
    NotScalarFunction,
    NotTableFunction,
    PositionalAfterNamed,
    RepeatedArgument,
    UnknownArgument,
    ViewOwnerLacksPrivileges,
    WrongNumberOfArguments,
)
from catalog.entries import FunctionEntry, SchemaMode, owner_of
from catalog.grants.privileges import Principal, group
from catalog.grants.rights import Login, caller_of, caller_of_owner, label_of
from catalog.names import SchemaName, TableName, quote
from catalog.view import CatalogView
from engine.binding.bound import BoundFunction, BoundInBody, BoundRelation, BoundView
from engine.runtime.session_state import SessionState, is_temporary
from engine.runtime.settings import captured_settings
from engine.sql.query.bodies import (
    BODY_CALL,
    MEMBERSHIP,
    Body,
    expression_query,
    free_names,
    inlined_call,
    inlined_expression,
    is_deterministic,
    is_of_row,
    literal_call,
    mentioned_names,
    parse_body,
    parse_expression,
    parse_table_body,
    readable,
    repeats,
    separate_call,
    string_literal,
    with_arguments,
    with_named_markers,
)
from engine.sql.query.values import EXPRESSION, STORED, Call, InlinedCall, Query, Relation

# Occur in all names of functions and hidden columns that show a row's file or its position there, and of metadata
# tables with paths of files.
_FILE_WORDS = ("_file", "metadata", "_pos", "files", "entries", "manifests", "position_deletes", "snapshots")
# Maximum function nesting.
FUNCTION_DEPTH_MAX = 32

_T = TypeVar("_T")
Settings = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextContext:
    """Where a text is read: names are looked up in `view`, from `current`; it is evaluated under `settings`.

    `sees_temporary`: the session's own functions take precedence. `hides_files`: a function value that derives from
    files that the principal may not read is NULL, as in the principal's own text.
    """

    current: SchemaName
    view: CatalogView
    settings: Settings
    sees_temporary: bool = False
    hides_files: bool = False


class Functions:
    """One statement's functions. `view` contains the objects that are visible to the session's principal."""

    def __init__(self, view: CatalogView, state: SessionState) -> None:
        self._view = view
        self._state = state

    @cached_property
    def _settings(self) -> Settings:
        return captured_settings(self._state.values)

    def in_statement(self, statement: _T, current: SchemaName) -> tuple[_T, tuple[BoundFunction, ...]]:
        """Returns the statement with the calls in all its queries inlined, and the called functions."""
        found: list[BoundFunction] = []

        policies = TextContext(current=current, view=self._view, settings=self._settings)
        queries = replace(policies, sees_temporary=True)

        def change(query: Query, *, is_policy: bool = False) -> Query:
            changed, functions = self.in_query(query, policies if is_policy else queries)
            found.extend(functions)
            return with_named_markers(changed)

        def change_text(text: str) -> str:
            if not self._may_call(text):
                return text
            changed, functions = self.in_query(expression_query(text), queries)
            found.extend(functions)
            return inlined_expression(changed)

        return cast(_T, _with_queries(statement, change, change_text)), tuple(found)

    def _may_call(self, text: str) -> bool:
        """Returns whether an expression that a statement stores as text, outside its queries, may contain calls."""
        folded = text.casefold()
        names = (name.table.casefold() for name in self._view.state.functions)
        temporary = self._state.temporary_functions
        return "(" in text and any(name in folded for name in (*MEMBERSHIP, *names, *temporary))

    def in_query(
        self, query: Query, context: TextContext, inside: tuple[TableName, ...] = ()
    ) -> tuple[Query, tuple[BoundFunction, ...]]:
        """Returns the query with its calls inlined; `inside` are the functions whose bodies led to it.

        Raises `FunctionNotFound` for the reserved name that calls of functions with other settings get.
        """
        found: list[BoundFunction] = []
        inlined: list[InlinedCall] = []
        relations = list(query.relations)
        for call in query.calls:
            if len(call.name_parts) == 1 and call.name_parts[0].lower() in MEMBERSHIP:
                inlined.append(literal_call(call, self._membership(query, call)))
                continue
            # The name stands for a body with its owner's rights; it may come only from the
            # gateway itself.
            if BODY_CALL in call.name_parts:
                raise FunctionNotFound(BODY_CALL)
            # As in Spark, a session's function hides a catalog function with the same name,
            # but never in a view's text.
            temporary = self._state.temporary_function(call.name_parts) if context.sees_temporary else None
            entry = temporary or context.view.find_function(TableName.from_parts(call.name_parts, context.current))
            if entry is not None:
                placed = replace(call, places=_places(call, entry))
                body, inner = self._body(query, placed, entry, inside)
                hides = (context.hides_files or context.view is self._view) and _may_show_files(body[1])
                is_separate = hides or entry.settings != context.settings
                inlined.append(_called(placed, entry, body, len(relations), is_separate=is_separate))
                relations += [replace(each, functions=(entry.name, *each.functions)) for each in body[1].relations]
                found.append(BoundFunction(entry=entry, functions=inner))
        changed = replace(query, inlined=tuple(inlined), relations=tuple(relations)) if inlined else query
        return changed, tuple(found)

    def entry(self, name: TableName) -> FunctionEntry | None:
        """Returns a function by its full name, even if it is not visible to the principal."""
        if is_temporary(name):
            return self._state.temporary_function(name.parts)
        return self._view.unrestricted.find_function(name)

    def expression(
        self, name: TableName, arguments: Sequence[str], settings: Settings, *, hides_files: bool = False
    ) -> Query:
        """Returns a query for an existing function's value, with its body inlined, to be evaluated under `settings`;
        for calls that do not require EXECUTE. `hides_files` as in :class:`TextContext`.
        """
        text = f"SELECT {'.'.join(map(quote, name.parts))}({', '.join(arguments)})"
        context = TextContext(
            current=name.schema_name, view=self._view.unrestricted, settings=settings, hides_files=hides_files
        )
        changed, _ = self.in_query(parse_expression(text), context)
        assert changed.inlined
        return changed

    def _body(
        self, query: Query, call: Call, entry: FunctionEntry, inside: tuple[TableName, ...]
    ) -> tuple[tuple[Body, Query], tuple[BoundFunction, ...]]:
        """Returns the body, its query with its own calls inlined, and the functions that these call."""
        if entry.name in inside or len(inside) >= FUNCTION_DEPTH_MAX:
            raise FunctionTooDeep(str(entry.name), FUNCTION_DEPTH_MAX)
        body = _parse_body(entry)
        context = TextContext(
            current=entry.current,
            view=self._as_owner(entry),
            settings=entry.settings,
            sees_temporary=is_temporary(entry.name),
        )
        inner, functions = self.in_query(body.query, context, (*inside, entry.name))
        for number, span in zip(call.places, call.arguments, strict=True):
            text = query.text[span.start : span.end]
            parameter = entry.parameters[number].name
            # Inlining evaluates the argument at each use: `f(rand())` would see several
            # values.
            if repeats(body, number) and not is_deterministic(text):
                raise RepeatedArgument(str(entry.name), parameter)
            is_in_row = not entry.table_columns and (body.has_query or bool(inner.relations))
            if is_in_row and not is_of_row(text):
                raise ArgumentNotOfRow(str(entry.name), parameter)
        if len(inner.inlined) < len(body.query.calls) and not self.tells_all(entry):
            raise ViewOwnerLacksPrivileges(label_of(entry))  # Spark would reveal the missing object's name
        return (body, inner), functions

    def as_owner(self, name: TableName) -> tuple[FunctionEntry, CatalogView]:
        """Returns a function whose body is being bound, and the objects that are visible to its owner."""
        entry = self.entry(name)
        assert entry is not None
        return entry, self._as_owner(entry)

    def tells_all(self, entry: FunctionEntry) -> bool:
        """Returns whether a function's text is visible to the principal."""
        return is_temporary(entry.name) or self._view.tells_all(entry)

    def _as_owner(self, entry: FunctionEntry) -> CatalogView:
        """Returns the owner's catalog view. A temporary function is read as the session's principal, with its login's
        groups.
        """
        if self._view.rights is None or is_temporary(entry.name):
            return self._view
        return self._view.visible_to(caller_of_owner(self._view.state, owner_of(entry)))

    def _membership(self, query: Query, call: Call) -> str:
        texts = [query.text[span.start : span.end] for span in call.arguments]
        name = string_literal(texts[0]) if len(texts) == 1 else None
        if name is None:
            raise GroupNotLiteral(call.name_parts[0])
        return "TRUE" if group(name) in self.principals else "FALSE"

    @cached_property
    def principals(self) -> frozenset[Principal]:
        """Returns the session's principal with all its groups."""
        if self._view.rights is not None:
            return self._view.rights.caller.principals
        return caller_of(self._view.state, Login(self._state.principal, self._state.identity.groups)).principals


def ensure_names_known(relations: tuple[Relation, ...], found: tuple[BoundRelation, ...], functions: Functions) -> None:
    """Raises unless the names in function bodies still resolve as they did at the functions' creation: a dropped column
    would be resolved around the call.
    """
    read: dict[tuple[TableName, ...], list[tuple[Relation, BoundRelation]]] = {}
    for each, bound in zip(relations, found, strict=True):
        if each.functions:
            read.setdefault(each.functions, []).append((each, bound))
    for path, pairs in read.items():
        function, _ = functions.as_owner(path[-1])
        called, _ = functions.as_owner(path[0])
        parameters = [parameter.name for parameter in function.parameters]
        try:
            if not function.table_columns:
                ensure_body_known(function.name, function.body, parameters, pairs)
            _ensure_columns_known(function, pairs)
        except BodyNotPossible:
            if functions.tells_all(called):
                raise
            raise ViewOwnerLacksPrivileges(label_of(called)) from None


def ensure_body_known(
    name: TableName, body: str, parameters: Iterable[str], read: Iterable[tuple[Relation, BoundRelation]]
) -> None:
    """Raises `BodyNotPossible` for a name in a body with queries that is neither a parameter nor a column that it
    reads. It may be a function without parentheses (`current_user`), which a column of the caller would capture.
    """
    known = {name.table, *parameters}
    for each, bound in read:
        known |= {*each.name_parts, *(column.name for column in bound.columns)}
    for free in sorted(free_names(body) - {each.lower() for each in known}):
        raise BodyNotPossible(str(name), f"{free} is no column of what it reads, and no parameter")


def column_names_in_body(body: str, read: Iterable[tuple[Relation, BoundRelation]]) -> tuple[tuple[str, ...], ...]:
    """Returns, for each relation that a body reads, the names in the body that are its columns
    (`FunctionEntry.columns`).
    """
    names = mentioned_names(body)
    folded = ({column.name.lower() for column in bound.columns} for _, bound in read)
    return tuple(tuple(sorted(columns if names is None else columns & names)) for columns in folded)


def ensure_columns_fixed(name: TableName, read: Iterable[tuple[Relation, BoundRelation]]) -> None:
    """Raises `BodyNotPossible` if a body reads a view whose columns may change without ALTER VIEW."""
    for _, relation in read:
        bound = relation.relation if isinstance(relation, BoundInBody) else relation
        if isinstance(bound, BoundView) and bound.entry.schema_mode is SchemaMode.EVOLUTION:
            raise BodyNotPossible(
                str(name), f"it reads the view {bound.label}, whose columns are not fixed (WITH SCHEMA EVOLUTION)"
            )


def _ensure_columns_known(function: FunctionEntry, read: Sequence[tuple[Relation, BoundRelation]]) -> None:
    """Raises unless the names in a body refer to the same columns as at the function's creation, in each call.

    Raises `BodyNotPossible`. A dropped column may have a parameter's name, and a new one may capture it.
    """
    ensure_columns_fixed(function.name, read)
    calls, rest = divmod(len(read), len(function.columns) or len(read) + 1)
    if rest or column_names_in_body(function.body, read) != function.columns * calls:
        reason = "what it reads has other columns since it was made. Make it again (CREATE OR REPLACE FUNCTION)"
        raise BodyNotPossible(str(function.name), reason)


def _called(
    call: Call, entry: FunctionEntry, body: tuple[Body, Query], first: int, *, is_separate: bool
) -> InlinedCall:
    if is_separate or entry.table_columns:
        return separate_call(call, entry, *body, first)
    defaults = [each.default for each in entry.parameters]
    return with_arguments(call, defaults, inlined_call(call, entry, *body, first))


def _may_show_files(body: Query) -> bool:
    """Returns whether a body with its calls inlined may have a value that derives from file names or row positions."""
    text = readable(inlined_expression(body)).lower() if body.relations else ""
    return any(word in text for word in _FILE_WORDS)


def _parse_body(entry: FunctionEntry) -> Body:
    if entry.table_columns:
        return parse_table_body(entry.body, entry.name.table)
    return parse_body(entry.body, [each.name for each in entry.parameters], entry.name.table)


def _places(call: Call, entry: FunctionEntry) -> tuple[int, ...]:
    """Returns the parameter number for each argument of `call`.

    Raises for a scalar function called in FROM, and vice versa; for too many arguments, an unknown parameter name, and
    a parameter without a default that has no argument.
    """
    function, parameters = str(entry.name), entry.parameters
    if call.is_table != bool(entry.table_columns):
        raise NotTableFunction(function) if call.is_table else NotScalarFunction(function)
    folded = [each.name.lower() for each in parameters]
    places: list[int] = []
    for number, name in enumerate(call.names):
        if name is None and any(call.names[:number]):
            raise PositionalAfterNamed(function, next(filter(None, call.names)))
        if name is not None and name.lower() not in folded:
            raise UnknownArgument(function, name, ", ".join(each.name for each in parameters) or "none")
        place = number if name is None else folded.index(name.lower())
        if place in places:
            raise ArgumentGivenTwice(function, parameters[place].name)
        places.append(place)
    required = [place for place, each in enumerate(parameters) if each.default is None]
    missing = next((place for place in required if place not in places), None)
    if len(places) > len(parameters) or (missing is not None and not any(call.names)):
        raise WrongNumberOfArguments(function, len(required), len(parameters), len(places))
    if missing is not None:
        raise MissingArgument(function, parameters[missing].name)
    return tuple(places)


def _with_queries(value: Any, change: Callable[..., Query], change_text: Callable[[str], str]) -> Any:
    """Returns `value` with `change` applied to each query in it; the same object if nothing changes.

    A policy is stored with its function's name, which is never a temporary one.
    """
    if isinstance(value, Query):
        return change(value) if value.calls else value
    if isinstance(value, tuple):
        items = tuple(_with_queries(item, change, change_text) for item in value)
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {}
    for each in fields(value):
        old = getattr(value, each.name)
        if each.metadata == EXPRESSION and isinstance(old, str):
            new = change_text(old)
        else:
            in_field = partial(change, is_policy=True) if each.metadata == STORED else change
            new = _with_queries(old, in_field, change_text)
        if new is not old:
            changed[each.name] = new
    return replace(value, **changed) if changed else value
