"""MERGE keys: conditions on target rows alone, derived from the join condition once the source's values are known.

`t.k = s.k AND …` is true only for rows whose `k` is among the source's, if both are compared unchanged
(`engine.planning.semantics.matched_columns`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from catalog.names import quote
from engine.binding.bound import BoundRelation, BoundTable
from engine.planning.plans.writes import MatchedKey
from engine.planning.semantics.assignments import path_in_table, without_qualifier
from engine.planning.semantics.matched_columns import fields_down, is_compared
from engine.pruning.predicates import Path
from engine.sql.expressions import equal_columns
from engine.statements.merge.statement import Merge
from engine.tables.scan import Scan
from engine.types.schema import StructField, StructType


def matched_keys(
    statement: Merge, table: BoundTable, source: Scan, relation: BoundRelation | None
) -> tuple[MatchedKey, ...]:
    """Returns a key for each table column that the condition equates with a source column; `relation` is the source if
    it has no alias.
    """
    full_name = relation.name.parts if relation is not None and relation.name else (statement.source_alias,)
    sides = _Sides(table=table, alias=statement.alias, source=source.schema, source_name=full_name)
    return tuple(_keys(sides, equal_columns(statement.condition), source.relation))


def _keys(sides: _Sides, pairs: Iterable[tuple[Path, Path]], relation: str) -> Iterator[MatchedKey]:
    for pair in pairs:
        for one, other in (pair, pair[::-1]):
            own = sides.of_table(one)
            given = sides.of_source(other)
            if own and given and is_compared(own[-1], given[-1]):
                yield MatchedKey(
                    path=tuple(field.name for field in own),
                    of_source=".".join((relation, *(quote(field.name) for field in given))),
                    data_type=given[-1].data_type,
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Resolves names against both relations: field paths, empty if a name is not in that relation."""

    table: BoundTable
    alias: str | None
    source: StructType
    source_name: Sequence[str]

    def of_table(self, parts: Path) -> list[StructField]:
        own, given = self._paths(parts)
        is_other = given != parts or (own == parts and self.source.field(parts[0]) is not None)
        return [] if is_other else fields_down(self.table.snapshot.schema, own)

    def of_source(self, parts: Path) -> list[StructField]:
        own, given = self._paths(parts)
        is_other = own != parts or (given == parts and self.table.snapshot.schema.field(parts[0]) is not None)
        return [] if is_other else fields_down(self.source, given)

    def _paths(self, parts: Path) -> tuple[Path, Path]:
        """Returns the paths without relation names."""
        schema = self.table.snapshot.schema
        return (
            path_in_table(self.table, schema, parts, self.alias),
            without_qualifier(self.source_name, self.source, parts),
        )
