"""SHOW PROCEDURES: the procedures that CALL supports, in Spark's columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from catalog.names import CatalogName, like_matcher
from engine.binding.bound import BoundStatement, Outcome
from engine.runtime.results import string_rows
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.query.names import take_pattern
from engine.statements.procedures.grammar import SIGNATURES
from engine.statements.spec import StatementSpec, unrestricted

_SCHEMA = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowProcedures(Statement):
    """`SHOW PROCEDURES [{IN | FROM} catalog[.system]] [[LIKE] 'pattern']`"""

    catalog: str | None = None
    pattern: str | None = None


def _parse(cursor: Cursor) -> ShowProcedures:
    catalog = None
    if cursor.take_any("IN", "FROM"):
        catalog, *schema = cursor.read_names()
        if [part.lower() for part in schema] not in ([], [_SCHEMA]):
            raise cursor.fail(f"procedures are in the schema {_SCHEMA} of a catalog")
    return ShowProcedures(catalog=catalog, pattern=take_pattern(cursor))


def _answer(bound: BoundStatement, statement: ShowProcedures) -> Outcome:
    """Returns the rows. Raises `CatalogNotFound`."""
    catalog = bound.view.catalog(CatalogName(statement.catalog or bound.state.catalog)).name.catalog
    names = filter(like_matcher(statement.pattern), sorted(SIGNATURES))
    columns = ("catalog", "namespace", "schema", "procedure_name")
    return Outcome(result=string_rows(columns, ((catalog, _SCHEMA, _SCHEMA, name) for name in names)))


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], ShowProcedures]] = MappingProxyType(
    {("SHOW", "PROCEDURES"): _parse}
)

SPECS: tuple[StatementSpec[ShowProcedures], ...] = (
    unrestricted(
        ShowProcedures,
        "SHOW PROCEDURES",
        syntax="SHOW PROCEDURES [{IN | FROM} catalog[.system]] [[LIKE] 'pattern']",
        example="SHOW PROCEDURES LIKE 'rewrite*'",
        answer=_answer,
    ),
)
