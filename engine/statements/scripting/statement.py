"""Statements that contain others: EXECUTE IMMEDIATE, the IDENTIFIER clause, SQL scripts.

Their statements run one by one (`engine/script`), each through the pipeline.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.runtime.statement import Statement
from engine.sql.query.values import Query, Span
from engine.statements.insert.statement import MultiInsert
from engine.statements.variables.statement import Names

# A statement that runs by itself; MultiInsert contains several INSERTs from one source.
RunnableStatement = Statement | MultiInsert


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A USING argument: named by AS, or by its variable; None for other expressions."""

    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteImmediate:
    """`EXECUTE IMMEDIATE source [INTO targets] [USING arguments]`; `source` and `arguments_row` have one row."""

    source: Query
    shown: str
    targets: tuple[Names, ...] = ()
    arguments: tuple[Argument, ...] = ()
    arguments_row: Query | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedByExpressions:
    """A statement with `IDENTIFIER(expression)`, at `spans` in `text`.

    `names` is the query with one row that has the expressions' values, `shown` their texts. `markers` are the
    positional parameters' positions in the text, including inside the expressions.
    """

    text: str
    spans: tuple[Span, ...]
    shown: tuple[str, ...]
    names: Query
    markers: tuple[int, ...] = ()


class HandlerKind(StrEnum):
    EXIT = "EXIT"
    CONTINUE = "CONTINUE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """`DECLARE kind HANDLER FOR …`: `conditions` and `sqlstates` in upper case."""

    kind: HandlerKind
    body: Compound
    conditions: tuple[str, ...] = ()
    sqlstates: tuple[str, ...] = ()
    sql_exception: bool = False
    not_found: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compound:
    """`[label:] BEGIN … END`; also a handler's single-statement body."""

    body: tuple[ScriptPart, ...]
    label: str | None = None
    handlers: tuple[Handler, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A body that runs if `condition` (a query with one row) is true."""

    condition: Query
    shown: str
    body: tuple[ScriptPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalPart:
    """IF, and CASE in either form: the first branch that applies, else `otherwise`.

    `subject` is the expression in `CASE expression WHEN`, evaluated once; the branches then compare with the variable
    :data:`CASE_VALUE`.
    """

    branches: tuple[Branch, ...]
    otherwise: tuple[ScriptPart, ...] = ()
    subject: Query | None = None


# The scope and name for a CASE subject; no unquoted label contains blanks.
CASE_SCOPE, CASE_VALUE = "case of a script", "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """WHILE (`before`), REPEAT (`after`: the loop ends if it is true), LOOP (neither)."""

    body: tuple[ScriptPart, ...]
    label: str | None = None
    before: Branch | None = None
    after: Branch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class For:
    """`FOR [variable AS] query DO … END FOR`: the row's columns are variables in the scope `variable`."""

    query: Query
    body: tuple[ScriptPart, ...]
    variable: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Iterate:
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareCursor:
    """`DECLARE name [ASENSITIVE | INSENSITIVE] CURSOR FOR query`; rows are always as of OPEN."""

    name: str
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCursor:
    """`OPEN cursor [USING arguments]`; `arguments_row` has one row."""

    parts: Names
    arguments: tuple[Argument, ...] = ()
    arguments_row: Query | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchCursor:
    """`FETCH [[NEXT] FROM] cursor INTO targets`"""

    parts: Names
    targets: tuple[Names, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseCursor:
    parts: Names


CursorStatement = DeclareCursor | OpenCursor | FetchCursor | CloseCursor


ScriptPart = (
    RunnableStatement
    | ExecuteImmediate
    | NamedByExpressions
    | CursorStatement
    | Compound
    | ConditionalPart
    | Loop
    | For
    | Leave
    | Iterate
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """`BEGIN … END`, sent as a single statement."""

    body: Compound


# Anything that a SQL text may be.
Executable = RunnableStatement | ExecuteImmediate | NamedByExpressions | Script
