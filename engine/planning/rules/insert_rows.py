"""What an INSERT says of the rows that it writes: columns, the constants of its PARTITION clause, its condition."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from catalog.conditions import AliasWithReplaceWhere, ColumnsWithReplaceOn, DuplicateKey, StatementNotSupported
from engine.binding.bound import BoundStatement, BoundTable
from engine.enforcement.columns import partition_column
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.write_plan import LiteralRows, WritePlan
from engine.planning.rules.conditions import own_condition
from engine.planning.rules.default_values import DefaultValues, find_defaults
from engine.runtime.settings import AUTO_MERGE
from engine.sql.expressions import Expression
from engine.sql.query.splice import Edit
from engine.statements.insert.statement import Insert, ReplaceOn, ReplaceWhere

REPLACE_WHERE = "REPLACE WHERE"


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertRows:
    """`condition` is that of REPLACE WHERE; `evolves`: columns of the query that the table lacks are added to it."""

    defaults: DefaultValues
    condition: Expression | None
    evolves: bool

    @property
    def rows(self) -> WritePlan:
        """Of the first part."""
        return self.defaults.parts[0].rows

    @property
    def edits(self) -> list[Edit]:
        """Of the query's text, where it says DEFAULT."""
        return self.defaults.edits

    def sources(self, source: ReadPlan) -> tuple[ReadPlan, ...]:
        """Of each part the query (with the edits), without the columns that it leaves to the table."""
        return tuple(part.of(source) for part in self.defaults.parts)


def insert_rows(bound: BoundStatement, statement: Insert) -> InsertRows:
    """Raises for clauses that do not go together, and for DEFAULT where it cannot be told what it means."""
    table = bound.target
    assert isinstance(table, BoundTable)
    _ensure_clauses_fit(statement)
    own = _own_condition(table, statement)
    defaults = find_defaults(_rows(table, statement, own), statement)
    evolves = statement.schema_evolution or bound.state.value(AUTO_MERGE) == "true"
    if len(defaults.parts) > 1 and (evolves or isinstance(statement.replace, ReplaceOn)):
        raise StatementNotSupported("DEFAULT in some of the rows, with REPLACE ON or schema evolution,")
    return InsertRows(defaults=defaults, condition=own, evolves=evolves)


def _ensure_clauses_fit(statement: Insert) -> None:
    if isinstance(statement.replace, ReplaceWhere) and statement.alias is not None:
        raise AliasWithReplaceWhere(statement.alias)
    if isinstance(statement.replace, ReplaceOn) and statement.columns:
        raise ColumnsWithReplaceOn()


def _own_condition(table: BoundTable, statement: Insert) -> Expression | None:
    """That of REPLACE WHERE."""
    if not isinstance(statement.replace, ReplaceWhere):
        return None
    return own_condition(table, REPLACE_WHERE, statement.replace.condition)


def _rows(table: BoundTable, statement: Insert, own: Expression | None) -> WritePlan:
    for number, item in enumerate(statement.partition):
        if item.column.casefold() in (other.column.casefold() for other in statement.partition[:number]):
            raise DuplicateKey("The PARTITION clause", item.column)
        partition_column(table.snapshot.rules, item.column)
    static_partitions = {item.column: item.value for item in statement.partition if item.value is not None}
    return WritePlan(
        table=table.label,
        config=table.snapshot.rules,
        insert_columns=statement.columns,
        static_partitions=MappingProxyType(static_partitions),
        replaces=None if own is None else own.text,
        removes=statement.overwrite or statement.replace is not None,
        arrangement=None if statement.source.relations else LiteralRows(),
    )
