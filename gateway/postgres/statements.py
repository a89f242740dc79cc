"""A client's statement before it runs: a text of one statement, or one of several in a simple query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.runtime.parameters import Parameter
from engine.runtime.request import SqlDialect
from engine.runtime.statement import StatementClass, class_of
from engine.sql.postgres.result_types import result_types
from engine.sql.postgres_text import (
    MARKER_PREFIX,
    AdaptedText,
    InsertText,
    adapt_catalogs,
    adapt_text,
    defines_columns,
    limit_markers,
    parse_insert,
    standard_text,
)
from engine.sql.statement_texts import split_statements
from gateway.postgres.commands import Command, Copy, Declare, is_begin, is_blank, parse_command
from gateway.postgres.errors import SentText, positions_in
from gateway.postgres.fixed_answers import Answers, Call, parse_calls
from gateway.postgres.returning import Returning, read_returning, split_returning

# Longer texts are not read for INSERT's rows, and run by themselves.
_INSERT_TEXT_MAX = 1 << 20
# Words of queries of the system catalog. Others without FROM are the engine's, which has most functions too.
_OF_CATALOG = re.compile(
    r"(?i)\bpg_\w+|\binformation_schema\b|::\s*\"?reg\w+|\b(?:current_schemas|format_type|has_\w+_privilege)\b"
    r"|\b(?:obj|col|shobj)_description\b|\b_pg_expandarray\b|\bto_reg\w+|\bcurrent_setting\b|\bset_config\b|\bversion\s*\("
)


@dataclass(frozen=True, slots=True)
class SentStatement:
    """A statement: a command of the front end, calls that it answers, or a statement of the engine."""

    sent: SentText
    command: Command | None = None
    calls: Sequence[Call] = ()
    kind: StatementClass | None = None
    insert: InsertText | None = None
    dialect: SqlDialect = SqlDialect.SPARK
    # The text with Spark's markers, whatever the dialect.
    spark_text: str = ""
    # The clause of an INSERT, which is not in the text.
    returning: Returning | None = None

    @property
    def text(self) -> str:
        """Returns the text for the engine."""
        return self.sent.adapted.text

    @property
    def source(self) -> str:
        """Returns the client's text."""
        return self.sent.adapted.source

    @property
    def may_be_of_catalog(self) -> bool:
        """Returns False for a statement that is certainly not a query of the system catalog."""
        return self.command is None and self.kind is StatementClass.READ and _OF_CATALOG.search(self.source) is not None

    @property
    def markers(self) -> int:
        """Returns the number of parameters; for DECLARE, of the cursor's query."""
        if isinstance(self.command, Declare):
            return adapt_text(self.command.query).markers
        return self.sent.adapted.markers

    @property
    def can_wait(self) -> bool:
        """Returns True for an INSERT … VALUES that may be written later, together with others."""
        return self.insert is not None and self.returning is None

    @property
    def result_types(self) -> Sequence[str | None]:
        """Returns the types of the columns that Spark has as texts; an empty tuple if there are none."""
        return result_types(self.text) if self.dialect is SqlDialect.POSTGRES and self.is_query else ()

    @property
    def is_query(self) -> bool:
        """Returns True for a query whose columns are found without running it."""
        return self.kind is StatementClass.READ and not self.text.lstrip()[:7].upper().startswith("EXPLAIN")


@dataclass(frozen=True, slots=True)
class TextSettings:
    """A connection's dialect, and the databases that its texts may name, with their catalogs."""

    dialect: SqlDialect = SqlDialect.SPARK
    catalogs: Mapping[str, str] = field(default_factory=dict)


def read_statement(text: str, whole: str, offset: int, known: Answers, settings: TextSettings) -> SentStatement:
    """Reads one statement, which begins at `offset` of `whole`. Raises `PostgresFeatureNotSupported`."""
    dialect = settings.dialect
    command = parse_command(text)
    if command is not None:
        return SentStatement(SentText(AdaptedText(text, text), whole, offset), command)
    calls = parse_calls(text, known)
    if calls is not None:
        return SentStatement(SentText(AdaptedText(text, text), whole, offset), calls=calls)
    is_postgres = dialect is SqlDialect.POSTGRES
    standard = standard_text(text) if is_postgres else AdaptedText(text, text)
    if (split := split_returning(standard.text)) is not None:
        statement = read_statement(text[: standard.origin(split[1])], whole, offset, known, settings)
        with positions_in(SentText(standard, whole, offset)):
            read = read_returning(standard.text, split[1], statement.spark_text, folds=is_postgres)
            return replace(statement, returning=read)
    adapted = adapt_text(standard.text, settings.catalogs, is_postgres=is_postgres).after(standard)
    kind = class_of(adapted.text)
    is_write = kind is StatementClass.WRITE and len(text) <= _INSERT_TEXT_MAX
    insert = parse_insert(adapted.text) if is_write else None
    spark_text = adapted.text
    if is_postgres and insert is None and not defines_columns(text):
        adapted = adapt_catalogs(text, settings.catalogs, adapted.markers)
    else:
        dialect = SqlDialect.SPARK
    sent = SentText(adapted, whole, offset)
    return SentStatement(sent, kind=kind, insert=insert, dialect=dialect, spark_text=spark_text)


def split_query(text: str, dialect: SqlDialect = SqlDialect.SPARK) -> list[tuple[str, int]]:
    """Returns the statements of a simple query, each with its place."""
    if ";" not in text:
        return [] if is_blank(text) else [(text, 0)]
    if is_begin(text):  # BEGIN with modes looks like the begin of a script
        return [(text, 0)]
    standard = standard_text(text) if dialect is SqlDialect.POSTGRES else AdaptedText(text, text)
    pieces = split_statements(standard.text)
    spans = ((standard.origin(one.offset), standard.origin(one.offset + len(one.text))) for one in pieces)
    return [(text[start:end], start) for start, end in spans]


@dataclass(slots=True)
class Prepared:
    """A prepared statement; `oids` are those of Parse, then of what is inferred."""

    statement: SentStatement
    oids: list[int] = field(default_factory=list)
    # Whether the types of the parameters that Parse did not name were looked for.
    is_inferred: bool = False
    is_empty: bool = False

    @property
    def is_write(self) -> bool:
        """Returns True for a statement that has no rows before it is run, as a write."""
        statement = self.statement
        return isinstance(statement.command, Copy) or (
            statement.command is None
            and not statement.calls
            and statement.returning is None
            and statement.kind is StatementClass.WRITE
        )

    def with_limits(self, parameters: Sequence[Parameter]) -> Sequence[Parameter]:
        """Returns the parameters with those of LIMIT and OFFSET as INT, which Spark requires."""
        limits = {f"{MARKER_PREFIX}{number}" for number in limit_markers(self.statement.spark_text)}
        if not limits:
            return parameters
        return tuple(replace(one, sql_type="int") if one.name in limits else one for one in parameters)

    def __post_init__(self) -> None:
        missing = self.statement.markers - len(self.oids)
        self.oids += [0] * max(0, missing)
