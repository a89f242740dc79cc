"""Bodies of SQL functions: one expression over the parameters, which is put in the place of a call.

A body names its parameters and nothing else that a query around it could mean: no tables, no variables, no names that
it declares itself (of lambdas), under which a column in an argument would be taken for something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from catalog.names import quote
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.dialect.errors import BodyNotPossible
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS, EXCLUDED_FUNCTIONS
from engine.sql.query.query import parse_query, query_tree
from engine.sql.query.splice import Edit, apply_edits
from engine.statements.queries import Call, InlinedCall, Query, Span

_HEAD = "SELECT "
MEMBERSHIP = frozenset({"is_account_group_member", "is_member"})
"""Functions about who asks, which Spark does not have."""

_MARK = "\0"
"""Around the number of an argument in a text under way; no text of SQL has it."""

_NOT_DETERMINISTIC = frozenset(
    {"monotonically_increasing_id", "rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid"}
)


@dataclass(frozen=True, slots=True)
class Body:
    """`query` selects the expression alone; `uses` are the places of parameters in it, with their numbers."""

    query: Query
    uses: tuple[tuple[Span, int], ...]


def expression_query(text: str) -> Query:
    """A query of the expression alone, whose calls are no columns."""
    select = f"{_HEAD}{text}\n"
    query = parse_query(Cursor(select, tokenize(select)))
    return replace(query, calls=tuple(replace(call, is_column=False) for call in query.calls))


def inlined_expression(query: Query) -> str:
    """The expression of :func:`expression_query` with its calls inlined."""
    return apply_edits(query.text, [], query.inlined)[len(_HEAD) :].rstrip("\n")


def parse_body(text: str, parameters: Sequence[str], function: str) -> Body:
    """Raises `SyntaxFailure`, and `BodyNotPossible` for what no body may have."""
    query = expression_query(text)
    tree = query_tree(f"{_HEAD}{text}\n")
    if not isinstance(tree, exp.Select) or any(tree.args[clause] for clause in tree.args if clause != "expressions"):
        raise BodyNotPossible(function, "it is no single expression")
    if len(tree.expressions) != 1 or isinstance(tree.expressions[0], exp.Alias | exp.Star):
        raise BodyNotPossible(function, "it is no single expression")
    folded = [name.lower() for name in parameters]
    uses = []
    for node in tree.expressions[0].walk():
        reason = _refusal(node)
        if reason is not None:
            raise BodyNotPossible(function, reason)
        if isinstance(node, exp.Column):
            uses.append(_use(node, folded, function))
    return Body(query, tuple(sorted(uses, key=lambda use: use[0].start)))


def parse_expression(text: str) -> Query:
    """A query that selects one expression of ours, whose calls are not columns."""
    query = parse_query(Cursor(text, tokenize(text)))
    return replace(query, calls=tuple(replace(call, is_column=False) for call in query.calls))


def expression_of(query: Query) -> str:
    """The expression that such a query selects, with the calls that are inlined; there must be one."""
    assert query.inlined
    return apply_edits(query.text, [], query.inlined)[len(_HEAD) :]


def _refusal(node: exp.Expr) -> str | None:
    match node:
        case exp.Query() | exp.Table():
            return "it has a query in it"
        case exp.Lambda():
            return "it has a lambda in it"
        case exp.Window():
            return "it has a window in it"
        case exp.Placeholder() | exp.Parameter() | exp.SessionParameter():
            return "it has a parameter of a statement in it"
        case _:
            return None


def _use(column: exp.Column, parameters: Sequence[str], function: str) -> tuple[Span, int]:
    """The first name is a parameter, or the function whose parameter the second one is; more are fields."""
    parts = [part for part in column.parts if isinstance(part, exp.Identifier) and "start" in part.meta]
    names = [part.name.lower() for part in parts]
    for skipped in (0, 1):
        if len(names) > skipped and names[:skipped] == [function.lower()][:skipped] and names[skipped] in parameters:
            span = Span(parts[0].meta["start"], parts[skipped].meta["end"] + 1)
            return span, parameters.index(names[skipped])
    raise BodyNotPossible(function, f"{'.'.join(names) or 'a column'} is none of its parameters")


def inlined_call(
    call: Call, body: Body, inner: Sequence[InlinedCall], types: Sequence[str], returns: str
) -> InlinedCall:
    """What comes in the place of `call`: the body, with arguments cast to the `types` of the parameters.

    A column that it is all of is called as the function, as Spark calls it.
    """
    edits: list[Edit] = [(span, f"CAST(({_MARK}{number}{_MARK}) AS {types[number]})") for span, number in body.uses]
    text = apply_edits(body.query.text, edits, inner)[len(_HEAD) :]
    alias = f" AS {quote('.'.join(call.name_parts))}" if call.is_column else ""
    pieces = f"CAST(({text}) AS {returns}){alias}".split(_MARK)
    return InlinedCall(
        span=call.span,
        arguments=call.arguments,
        pieces=tuple(int(piece) if at % 2 else piece for at, piece in enumerate(pieces)),
    )


def literal_call(call: Call, text: str) -> InlinedCall:
    """What comes in the place of a call whose value is known."""
    alias = f" AS {quote(call.name_parts[-1])}" if call.is_column else ""
    return InlinedCall(span=call.span, arguments=call.arguments, pieces=(text + alias,))


def with_defaults(call: Call, count: int, defaults: Sequence[str], inlined: InlinedCall) -> InlinedCall:
    """With the expressions of `defaults` for the arguments from `count` on that the call does not give."""
    pieces = [
        defaults[piece - count] if isinstance(piece, int) and piece >= count else piece for piece in inlined.pieces
    ]
    return InlinedCall(span=call.span, arguments=call.arguments, pieces=tuple(pieces))


def is_known_function(name: str) -> bool:
    """Whether a name without a schema means a function that nobody made."""
    return name.lower() in MEMBERSHIP or name.lower() in ALLOWED_FUNCTIONS or name.lower() in EXCLUDED_FUNCTIONS


def is_called_by_name(name: str) -> bool:
    """Whether a call of that name is read as one of a function of the catalog."""
    text = f"SELECT {name}(1)"
    try:
        return bool(parse_query(Cursor(text, tokenize(text))).calls)
    except SyntaxFailure:
        return False


def repeats(body: Body, number: int) -> bool:
    """Whether an argument comes more than once."""
    return sum(used == number for _, used in body.uses) > 1


def is_deterministic(text: str) -> bool:
    """Whether evaluating an argument twice gives the same value."""
    return not any(token.text.lower() in _NOT_DETERMINISTIC for token in tokenize(text))


def string_literal(text: str) -> str | None:
    """The value of an argument that is one string."""
    cursor = Cursor(text, tokenize(text))
    value = cursor.take_string()
    return value if cursor.is_done else None
