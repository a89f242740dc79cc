"""Calls of the catalog's functions, put into queries as expressions; and who the session's principal is.

Spark never looks a function of the catalog up: its body takes the place of the call, with the arguments in the places
of its parameters. What the body calls in its turn is looked up as its owner, from where it was made. A function that
the principal may not know of is left to Spark, which does not find it either.

`is_account_group_member` and `is_member` are about the session's principal wherever they are called, also in views and
functions of others. They are answered here, and become TRUE or FALSE.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from catalog.entries import FunctionEntry, owner_of
from catalog.names import SchemaName, TableName, quote
from catalog.privileges import group
from catalog.right_errors import ViewOwnerLacksPrivileges
from catalog.rights import Caller, Login, caller_of, label_of, owning
from catalog.view import CatalogView
from engine.bind.bound import BoundFunction
from engine.errors.function_errors import (
    FunctionTooDeep,
    GroupNotLiteral,
    RepeatedArgument,
    WrongNumberOfArguments,
)
from engine.runtime.identity import Identity
from engine.sql.query.bodies import (
    MEMBERSHIP,
    expression_of,
    expression_query,
    inlined_call,
    inlined_expression,
    is_deterministic,
    literal_call,
    parse_body,
    parse_expression,
    repeats,
    string_literal,
    with_defaults,
)
from engine.statements.merges import Merge, MergeClause
from engine.statements.queries import Call, InlinedCall, Query
from engine.statements.writes import Assignment, Delete, ReplaceOn, ReplaceWhere, Update

FUNCTION_DEPTH_MAX = 32
"""Functions in functions."""

_T = TypeVar("_T")


class Functions:
    """The functions of one statement. `view` is what the session's principal may know of."""

    def __init__(self, view: CatalogView, identity: Identity) -> None:
        self._view, self._identity = view, identity

    def in_statement(self, statement: _T, current: SchemaName) -> tuple[_T, tuple[BoundFunction, ...]]:
        """The statement with the calls of all its queries inlined, and the functions that these call."""
        found: list[BoundFunction] = []

        def change(query: Query) -> Query:
            changed, functions = self.in_query(query, current, self._view)
            found.extend(functions)
            return changed

        def change_text(text: str) -> str:
            if not self._may_call(text):
                return text
            changed, functions = self.in_query(expression_query(text), current, self._view)
            found.extend(functions)
            return inlined_expression(changed)

        return cast(_T, _with_queries(statement, change, change_text)), tuple(found)

    def _may_call(self, text: str) -> bool:
        """Whether to look closer at an expression that a statement keeps as text beside its queries."""
        folded = text.casefold()
        names = (name.table.casefold() for name in self._view.state.functions)
        return "(" in text and any(name in folded for name in (*MEMBERSHIP, *names))

    def in_query(
        self, query: Query, current: SchemaName, view: CatalogView, inside: tuple[TableName, ...] = ()
    ) -> tuple[Query, tuple[BoundFunction, ...]]:
        """The query with its calls inlined; names are looked up in `view`, from `current`."""
        found: list[BoundFunction] = []
        inlined: list[InlinedCall] = []
        for call in query.calls:
            if len(call.name_parts) == 1 and call.name_parts[0].lower() in MEMBERSHIP:
                inlined.append(literal_call(call, self._membership(query, call)))
                continue
            entry = view.find_function(TableName.from_parts(call.name_parts, current))
            if entry is not None:
                made, inner = self._inlined(query, call, entry, inside)
                inlined.append(made)
                found.append(BoundFunction(entry=entry, functions=inner))
        return (replace(query, inlined=tuple(inlined)) if inlined else query), tuple(found)

    def entry(self, name: TableName) -> FunctionEntry | None:
        """A function by its full name, whoever may know of it."""
        return self._view.unrestricted.find_function(name)

    def expression(self, name: TableName, arguments: Sequence[str]) -> str:
        """A call of a function that is there, with its body in its place; for what nobody has to have EXECUTE on."""
        text = f"SELECT {'.'.join(map(quote, name.parts))}({', '.join(arguments)})"
        query = parse_expression(text)
        changed, _ = self.in_query(query, name.schema_name, self._view.unrestricted)
        return expression_of(changed)

    def _inlined(
        self, query: Query, call: Call, entry: FunctionEntry, inside: tuple[TableName, ...]
    ) -> tuple[InlinedCall, tuple[BoundFunction, ...]]:
        if entry.name in inside or len(inside) >= FUNCTION_DEPTH_MAX:
            raise FunctionTooDeep(str(entry.name), FUNCTION_DEPTH_MAX)
        parameters, given = entry.parameters, len(call.arguments)
        defaults = [each.default for each in parameters[given:]]
        if given > len(parameters) or None in defaults:
            least = sum(each.default is None for each in parameters)
            raise WrongNumberOfArguments(str(entry.name), least, len(parameters), given)
        body = parse_body(entry.body, [each.name for each in parameters], entry.name.table)
        for number, span in enumerate(call.arguments):
            if repeats(body, number) and not is_deterministic(query.text[span.start : span.end]):
                raise RepeatedArgument(str(entry.name), parameters[number].name)
        inner, functions = self.in_query(body.query, entry.current, self._as_owner(entry), (*inside, entry.name))
        if len(inner.inlined) < len(body.query.calls) and not self._view.tells_all(entry):
            raise ViewOwnerLacksPrivileges(label_of(entry))  # Spark would say the name of what is gone
        made = inlined_call(call, body, inner.inlined, [each.type for each in parameters], entry.returns)
        return with_defaults(call, given, [default or "" for default in defaults], made), functions

    def _as_owner(self, entry: FunctionEntry) -> CatalogView:
        if self._view.rights is None:
            return self._view
        return self._view.seen_by(owning(self._view.state, owner_of(entry)))

    def _membership(self, query: Query, call: Call) -> str:
        texts = [query.text[span.start : span.end] for span in call.arguments]
        name = string_literal(texts[0]) if len(texts) == 1 else None
        if name is None:
            raise GroupNotLiteral(call.name_parts[0])
        return "TRUE" if group(name) in self._caller.principals else "FALSE"

    @property
    def _caller(self) -> Caller:
        if self._view.rights is not None:
            return self._view.rights.caller
        return caller_of(self._view.state, Login(self._identity.principal, self._identity.groups))


_TEXTS: dict[type, str] = {
    **dict.fromkeys((Delete, Update, Merge, MergeClause, ReplaceWhere, ReplaceOn), "condition"),
    Assignment: "text",
}
"""Expressions that statements keep as text."""


def _with_queries(value: Any, change: Callable[[Query], Query], change_text: Callable[[str], str]) -> Any:
    """`value` with `change` made of each query in it; the same object where none changes."""
    if isinstance(value, Query):
        return change(value) if value.calls else value
    if isinstance(value, tuple):
        items = tuple(_with_queries(item, change, change_text) for item in value)
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if not is_dataclass(value) or isinstance(value, type):
        return value
    old = {each.name: getattr(value, each.name) for each in fields(value)}
    new = {name: _with_queries(field, change, change_text) for name, field in old.items()}
    text = old.get(_TEXTS.get(type(value), ""))
    if isinstance(text, str):
        new[_TEXTS[type(value)]] = change_text(text)
    changed = {name: field for name, field in new.items() if field is not old[name]}
    return replace(value, **changed) if changed else value
