"""SQL function bodies: one expression over the parameters, which replaces a call.

A body without a query refers only to its parameters. It contains no other name that the surrounding query could
resolve: no variables, and no names that it declares itself (lambda parameters), which would capture a column in an
argument. Argument texts replace the parameters.

A body with queries refers to table columns too, and a name in it refers first to a column and then to a parameter, as
in Spark. So the parameters are columns of a one-row relation with the function's name, whose values are the arguments:
`(SELECT body FROM (SELECT argument, …) AS function(parameter, …))`. An argument cannot refer to names in the body, and
the body cannot refer to names around the call, except those that an argument brings in.

A function that was created under other settings than its caller's has its body analyzed separately: the call uses the
name :data:`BODY_CALL`, and Spark parses and analyzes the body on its own (`FunctionBodies.java`). The same holds for
each table function call, whose body is a query in FROM after a row with its arguments: `(SELECT argument, …) AS
function(parameter, …), LATERAL (body)`.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any
from urllib import parse as urls

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from catalog.conditions import BodyNotPossible
from catalog.entries import FunctionColumn, FunctionEntry, FunctionParameter
from catalog.names import quote
from engine.runtime.parameters import MARKER
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.dialect.functions import CALLABLE_FUNCTIONS, EXCLUDED_FUNCTIONS
from engine.sql.query.query import parse_query, query_tree
from engine.sql.query.splice import Edit, apply_edits, splice
from engine.sql.query.values import Call, InlinedCall, Piece, Query, RelationName, Span

_HEAD = "SELECT "
# Functions about the current user's groups, which Spark does not have.
MEMBERSHIP = frozenset({"is_account_group_member", "is_member"})

# Functions that need no parentheses.
_BARE_FUNCTIONS = frozenset(
    {"current_catalog", "current_database", "current_date", "current_schema", "current_time", "current_timestamp"}
    | {"current_user", "localtime", "localtimestamp", "session_user", "user"}
)

_OF_ROW = (exp.Case, exp.Cast, exp.Connector, exp.If, exp.TryCast)

# Encloses an argument's number in an intermediate text; SQL text does not contain it.
_MARK = "\0"

# Precedes a relation's number between two marks.
_RELATION = "relation"

# The name for calls whose body is analyzed under its own settings. It does not occur in user text.
# Random per process: a user who could write the name would run text under a function
# owner's rights.
BODY_CALL = f"__body_{secrets.token_hex(12)}"

_BODY = re.compile(rf"{BODY_CALL}\('([^']*)'")
_RELATIONS_OF_CALL = re.compile(rf"{BODY_CALL}\('([^']*)'(?:, '[^']*')*(?:, )?")
# Characters in a body that stay unescaped, so that its words are found in displayed texts.
_UNCHANGED = " ()=<>,.[]!|&*/;:"

_NOT_DETERMINISTIC = frozenset(
    {"monotonically_increasing_id", "rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid"}
)


# A parameter or column name, and its SQL type.
Typed = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Body:
    """A parsed body. `query` selects the expression alone; `uses` are the spans of parameters in it, with their
    numbers; empty if it `has_query`, which resolves them as columns.
    """

    query: Query
    uses: tuple[tuple[Span, int], ...]
    has_query: bool = False


def expression_query(text: str) -> Query:
    """Returns a query that selects only the expression, whose calls are not columns."""
    # The line break ends a comment at the body's end, which would swallow the text after
    # it.
    select = f"{_HEAD}{text}\n"
    query = parse_query(Cursor(select, tokenize(select)))
    return replace(query, calls=tuple(replace(call, is_column=False) for call in query.calls))


def inlined_expression(query: Query) -> str:
    """Returns the expression in :func:`expression_query`'s result with its calls inlined."""
    return apply_edits(query.text, [], query.inlined)[len(_HEAD) :].rstrip("\n")


def parse_table_body(text: str, function: str) -> Body:
    """Parses a table function's body, a query in parentheses. Raises as :func:`parse_body`."""
    query = expression_query(text)
    tree = query_tree(f"{_HEAD}{text}\n")
    for node in tree.walk():
        if isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter):
            raise BodyNotPossible(function, "it has a parameter of a statement in it")
    return Body(query, (), has_query=True)


def parse_body(text: str, parameters: Sequence[str], function: str) -> Body:
    """Parses a scalar body. Raises `SyntaxFailure`, and `BodyNotPossible` for constructs that a body must not
    contain.
    """
    query = expression_query(text)
    tree = query_tree(f"{_HEAD}{text}\n")
    if not isinstance(tree, exp.Select) or any(tree.args[clause] for clause in tree.args if clause != "expressions"):
        raise BodyNotPossible(function, "it is no single expression")
    if len(tree.expressions) != 1 or isinstance(tree.expressions[0], exp.Alias | exp.Star):
        raise BodyNotPossible(function, "it is no single expression")
    folded = [name.lower() for name in parameters]
    has_query = tree.expressions[0].find(exp.Query) is not None
    uses = []
    for node in tree.expressions[0].walk():
        reason = _refusal(node)
        if reason is not None:
            raise BodyNotPossible(function, reason)
        if isinstance(node, exp.Column) and not has_query:
            uses.append(_use(node, folded, function))
    if has_query and not query.relations:
        for name in sorted(free_names(text) - {*folded, function.lower()}):
            raise BodyNotPossible(function, f"{name} is none of its parameters")
    return Body(query, tuple(sorted(uses, key=lambda use: use[0].start)), has_query)


def free_names(text: str) -> frozenset[str]:
    """Returns the first name part of all columns in a body, in lower case, except names that a query in it declares:
    these are columns of the tables that it reads, or parameters. Spark would look for them around the call too.
    """
    tree = query_tree(f"{_HEAD}{text}\n")
    declared = {node.alias.lower() for node in tree.find_all(exp.Alias, exp.CTE)}
    for node in tree.find_all(exp.TableAlias):
        declared |= {node.name.lower(), *(column.name.lower() for column in node.columns)}
    columns = [column for column in tree.find_all(exp.Column) if not isinstance(column.this, exp.Star)]
    names = {column.parts[0].name.lower() for column in columns}
    for token, after in pairwise(tokenize(f"{text}\n;")):  # functions without parentheses, if no column has the name
        if token.text.lower() in _BARE_FUNCTIONS and after.token_type is not TokenType.L_PAREN:
            names.add(token.text.lower())
    return frozenset(names) - declared


def mentioned_names(text: str) -> frozenset[str] | None:
    """Returns all name parts of columns in a body, in lower case; None if it refers to columns without naming them."""
    if any(token.text.upper() == "NATURAL" for token in tokenize(text)):  # a join on all columns with equal names
        return None
    tree = query_tree(f"{_HEAD}{text}\n")
    parts = (part.name.lower() for column in tree.find_all(exp.Column) for part in column.parts)
    return frozenset(parts) | free_names(text)


def parse_expression(text: str) -> Query:
    """Parses a generated expression as a query, whose calls are not columns."""
    query = parse_query(Cursor(text, tokenize(text)))
    return replace(query, calls=tuple(replace(call, is_column=False) for call in query.calls))


def expression_in(text: str) -> str:
    """Returns the expression that such a query selects."""
    return text[len(_HEAD) :]


def _refusal(node: exp.Expr) -> str | None:
    match node:
        case exp.Lambda():
            return "it has a lambda in it"
        case exp.Window() if node.find_ancestor(exp.Subquery, exp.Exists, exp.In) is None:
            return "it has a window in it"
        case exp.Placeholder() | exp.Parameter() | exp.SessionParameter():
            return "it has a parameter of a statement in it"
        case _:  # a sqlglot tree
            return None


def _use(column: exp.Column, parameters: Sequence[str], function: str) -> tuple[Span, int]:
    """Resolves a use: the first name part is a parameter, or the function, whose parameter is the second part; further
    parts are fields.
    """
    parts = [part for part in column.parts if isinstance(part, exp.Identifier) and "start" in part.meta]
    names = [part.name.lower() for part in parts]
    # SQL allows `function.parameter` to distinguish a parameter from a column.
    for skipped in (0, 1):
        if len(names) > skipped and names[:skipped] == [function.lower()][:skipped] and names[skipped] in parameters:
            span = Span(parts[0].meta["start"], parts[skipped].meta["end"] + 1)
            return span, parameters.index(names[skipped])
    raise BodyNotPossible(function, f"{'.'.join(names) or 'a column'} is none of its parameters")


def inlined_call(call: Call, entry: FunctionEntry, body: Body, inner: Query, first: int) -> InlinedCall:
    """Returns the replacement for `call`: the body, with arguments cast to the parameter types. `inner` is its query
    with its own calls inlined; in the calling query its relations are numbered from `first`.

    If the call is a whole result column, the column gets the function's name, as in Spark.
    """
    if inner.relations or body.has_query:
        return queried_call(call, entry, inner, first)
    types = [each.type for each in entry.parameters]
    # Cast at each use, as Spark casts an argument to its parameter's type. The parentheses
    # keep the argument's operators together.
    edits: list[Edit] = [(span, f"CAST(({_MARK}{number}{_MARK}) AS {types[number]})") for span, number in body.uses]
    text = apply_edits(inner.text, edits, inner.inlined)[len(_HEAD) :]
    pieces = f"CAST(({text}) AS {entry.returns}){_alias(call)}".split(_MARK)
    return InlinedCall(
        span=call.span,
        arguments=call.arguments,
        pieces=tuple(int(piece) if at % 2 else piece for at, piece in enumerate(pieces)),
    )


def separate_call(call: Call, entry: FunctionEntry, body: Body, inner: Query, first: int) -> InlinedCall:
    """Returns the replacement for a call whose function is evaluated under its own settings.

    The body selects from one row whose columns are its parameters: defaults, and NULL for the arguments of `call`.
    """
    relations = range(first, first + len(inner.relations))
    text = splice(inner, [f"{_MARK}{_RELATION}{number}{_MARK}" for number in relations])
    for at, number in enumerate(relations):
        text = text.replace(quote(f"{_MARK}{_RELATION}{number}{_MARK}"), f"{_MARK}{at}{_MARK}")
    given = sorted(call.places)
    values = ["NULL" if number in given else each.default or "NULL" for number, each in enumerate(entry.parameters)]
    apart = {
        "function": str(entry.name),
        "is_query": body.has_query or bool(inner.relations),
        "settings": entry.settings,
        "relations": len(relations),
        "given": given,
        "text": _table_text(entry, text, values) if entry.table_columns else _value_query(entry, text, values),
    }
    pieces: list[Piece] = [f"{BODY_CALL}('{urls.quote(json.dumps(apart, ensure_ascii=False), safe=_UNCHANGED)}'"]
    for number in relations:
        pieces += [", '", RelationName(number), "'"]
    for number in given:
        pieces += [", (", call.places.index(number), ")"]
    pieces.append(f"){_alias(call)}")
    return InlinedCall(span=call.span, arguments=call.arguments, pieces=tuple(pieces))


def readable(text: str) -> str:
    """Returns a displayable text, with the bodies of :func:`separate_call` as they were written."""
    while BODY_CALL in text:
        text = _readable_once(text)
    return text


def has_queried_body(text: str) -> bool:
    """Returns whether a body of :func:`separate_call` in `text`, or one that it calls, has a query."""
    while BODY_CALL in text:
        if any(_body_in(found)["is_query"] for found in _BODY.finditer(text)):
            return True
        text = _readable_once(text)
    return False


def separate_functions(text: str) -> list[str]:
    """Returns the names of the functions that :func:`separate_call` inserted into `text`."""
    return [str(_body_in(found)["function"]) for found in _BODY.finditer(text)]


def with_function_names(text: str) -> str:
    """Returns a part of Spark's message text, with function calls as the user wrote them, except for their
    arguments.
    """
    shown = _RELATIONS_OF_CALL.sub(lambda found: f"{_body_in(found)['function']}(", text)
    return shown.replace(BODY_CALL, "function")


def _readable_once(text: str) -> str:
    return _BODY.sub(lambda found: "(" + str(_body_in(found)["text"]).replace(_MARK, "`"), text)


def _body_in(found: re.Match[str]) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(urls.unquote(found[1]))
    return body


def _value_query(entry: FunctionEntry, text: str, values: Sequence[str]) -> str:
    """Returns a query for a function's value: its body, which the query `text` selects, over one row with the
    parameters' `values`.
    """
    rows = f" FROM {_argument_row(entry.name.table, _pairs(entry.parameters), values)}" if values else ""
    selected = text[len(_HEAD) :].rstrip("\n")
    return f"SELECT CAST(({selected}\n) AS {entry.returns}){rows}"


def _pairs(items: Sequence[FunctionParameter | FunctionColumn]) -> list[Typed]:
    return [(each.name, each.type) for each in items]


def _argument_row(function: str, parameters: Sequence[Typed], values: Sequence[str]) -> str:
    columns = ", ".join(
        # The alias differs from the parameter name, which would be visible to the values after it.
        f"CAST(({value}) AS {sql_type}) AS `__argument {number}`"
        for number, ((_, sql_type), value) in enumerate(zip(parameters, values, strict=True))
    )
    names = ", ".join(quote(name) for name, _ in parameters)
    return f"(SELECT {columns}) AS {quote(function)}({names})"


def _table_text(entry: FunctionEntry, text: str, values: Sequence[str]) -> str:
    parameters, columns = _pairs(entry.parameters), _pairs(entry.table_columns)
    return table_query(entry.name.table, parameters, columns, text[len(_HEAD) :], values)


def table_query(
    function: str, parameters: Sequence[Typed], columns: Sequence[Typed], body: str, values: Sequence[str]
) -> str:
    """Returns a query for a table function's rows: `body`, a query in parentheses, over one row with the parameters'
    `values`. Without `columns` the result has the body's columns.
    """
    sources = [_argument_row(function, parameters, values)] if values else []
    names = [f"`__column {number}`" for number in range(len(columns))]
    selected = ", ".join(
        f"CAST(`__rows`.{source} AS {sql_type}) AS {quote(name)}"
        for source, (name, sql_type) in zip(names, columns, strict=True)
    )
    listed = f"({', '.join(names)})" if names else ""
    sources.append(f"{'LATERAL ' if values else ''}{body.rstrip()} AS `__rows`{listed}")
    return f"SELECT {selected or '`__rows`.*'} FROM {', '.join(sources)}"


def _alias(call: Call) -> str:
    if call.is_table:
        return "" if call.is_aliased else f" AS {quote(call.name_parts[-1])}"
    return f" AS {quote('.'.join(call.name_parts))}" if call.is_column else ""


def queried_call(call: Call, entry: FunctionEntry, body: Query, first: int) -> InlinedCall:
    """Returns the replacement for a call whose function has queries in its `body`; in the calling query its relations
    are numbered from `first`.
    """
    text = splice(body, [f"{_MARK}{_RELATION}{first + at}{_MARK}" for at in range(len(body.relations))])
    values = [f"{_MARK}{number}{_MARK}" for number in range(len(entry.parameters))]
    whole = f"({_value_query(entry, text, values)}){_alias(call)}"
    pieces = whole.replace(f"`{_MARK}", _MARK).replace(f"{_MARK}`", _MARK).split(_MARK)
    return InlinedCall(
        span=call.span,
        arguments=call.arguments,
        pieces=tuple(_piece(piece) if at % 2 else piece for at, piece in enumerate(pieces)),
    )


def _piece(text: str) -> int | RelationName:
    return RelationName(int(text.removeprefix(_RELATION))) if text.startswith(_RELATION) else int(text)


def with_named_markers(query: Query) -> Query:
    """Names the `?` markers in a query with inlined calls, because their arguments may be reordered or repeated."""
    markers = [token for token in tokenize(query.text) if token.token_type is TokenType.PLACEHOLDER]
    named = tuple(
        InlinedCall(span=Span(token.start, token.end + 1), arguments=(), pieces=(f":{MARKER}{number}",))
        for number, token in enumerate(markers)
    )
    return replace(query, inlined=(*query.inlined, *named)) if query.inlined and named else query


def literal_call(call: Call, text: str) -> InlinedCall:
    """Returns the replacement for a call with a known value."""
    alias = f" AS {quote(call.name_parts[-1])}" if call.is_column else ""
    return InlinedCall(span=call.span, arguments=call.arguments, pieces=(text + alias,))


def with_arguments(call: Call, defaults: Sequence[str | None], inlined: InlinedCall) -> InlinedCall:
    """Inserts the arguments of `call` for the parameter numbers, and `defaults` for the others."""

    def put(piece: Piece) -> Piece:
        if not isinstance(piece, int):
            return piece
        return call.places.index(piece) if piece in call.places else defaults[piece] or ""

    return InlinedCall(span=call.span, arguments=call.arguments, pieces=tuple(map(put, inlined.pieces)))


def is_known_function(name: str) -> bool:
    """Returns whether a name without a schema is a built-in function."""
    return name.lower() in MEMBERSHIP or name.lower() in CALLABLE_FUNCTIONS or name.lower() in EXCLUDED_FUNCTIONS


def is_called_by_name(name: str) -> bool:
    """Returns whether a call with this name is parsed as a catalog function."""
    text = f"SELECT {name}(1)"
    try:
        return bool(parse_query(Cursor(text, tokenize(text))).calls)
    except SyntaxFailure:
        return False


def repeats(body: Body, number: int) -> bool:
    """Returns whether an argument occurs more than once."""
    return sum(used == number for _, used in body.uses) > 1


def is_deterministic(text: str) -> bool:
    """Returns whether evaluating an argument twice gives the same value."""
    followed = pairwise(tokenize(text))
    return not any(
        token.text.lower() in _NOT_DETERMINISTIC and after.token_type is TokenType.L_PAREN for token, after in followed
    )


def is_of_row(text: str) -> bool:
    """Returns whether an argument consists of columns and constants with operators, CASE and casts, and so depends on
    one row in any query: Spark would treat an inserted aggregate as an aggregate of the surrounding query.
    """
    tree = query_tree(f"{_HEAD}{text}\n")
    nodes = tree.expressions[0].walk() if isinstance(tree, exp.Select) else [tree]
    return not any(
        isinstance(node, exp.Query | exp.Window | exp.Star)
        or (isinstance(node, exp.Func) and not isinstance(node, _OF_ROW))
        for node in nodes
    )


def string_literal(text: str) -> str | None:
    """Returns an argument's value if it is one string."""
    cursor = Cursor(text, tokenize(text))
    value = cursor.take_string()
    return value if cursor.is_done else None
