"""Define the statements that hold others: EXECUTE IMMEDIATE, the IDENTIFIER clause, SQL scripts.

What they hold runs statement by statement (`engine/script`), each through the pipeline by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.runtime.statement import Statement
from engine.sql.query.values import Query, Span
from engine.statements.insert.statement import MultiInsert
from engine.statements.variables.statement import Names

RunnableStatement = Statement | MultiInsert
"""A statement that runs by itself; MultiInsert holds several INSERTs of one source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of USING: its name is that of AS, or of the variable it is; None for other expressions."""

    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteImmediate:
    """`EXECUTE IMMEDIATE source [INTO targets] [USING arguments]`; `source` and `arguments_row` are of one row."""

    source: Query
    shown: str
    targets: tuple[Names, ...] = ()
    arguments: tuple[Argument, ...] = ()
    arguments_row: Query | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedByExpressions:
    """A statement with `IDENTIFIER(expression)` in it, at `spans` of `text`.

    `names` is the query of one row that has the values of the expressions, `shown` their texts. `markers` is where the
    text has parameters by position, those inside of the expressions included.
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
    """`[label:] BEGIN … END`; also the body of a handler that is one statement."""

    body: tuple[ScriptPart, ...]
    label: str | None = None
    handlers: tuple[Handler, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A body that runs where `condition` (a query of one row) is true."""

    condition: Query
    shown: str
    body: tuple[ScriptPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """IF, and CASE of either form: the first branch that applies, else `otherwise`.

    `subject` is the expression of `CASE expression WHEN`, evaluated once; the branches then compare with the variable
    :data:`CASE_VALUE`.
    """

    branches: tuple[Branch, ...]
    otherwise: tuple[ScriptPart, ...] = ()
    subject: Query | None = None


CASE_SCOPE, CASE_VALUE = "case of a script", "value"
"""Where the subject of a CASE is held; no label has blanks unless somebody quotes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """WHILE (`before`), REPEAT (`after`: the loop ends where it is true), LOOP (neither)."""

    body: tuple[ScriptPart, ...]
    label: str | None = None
    before: Branch | None = None
    after: Branch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class For:
    """`FOR [variable AS] query DO … END FOR`: the columns of the row are variables of the scope `variable`."""

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
    """`DECLARE name [ASENSITIVE | INSENSITIVE] CURSOR FOR query`; rows are those at the time of OPEN in any case."""

    name: str
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCursor:
    """`OPEN cursor [USING arguments]`; `arguments_row` is of one row."""

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
    | Choice
    | Loop
    | For
    | Leave
    | Iterate
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """`BEGIN … END`, sent as one statement."""

    body: Compound


Executable = RunnableStatement | ExecuteImmediate | NamedByExpressions | Script
"""What a text of SQL may be."""
