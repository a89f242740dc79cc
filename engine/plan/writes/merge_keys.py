"""The keys of a MERGE: what its condition says of each row of the table alone, once the source's values are known.

`t.k = s.k AND …` is true of rows only whose `k` is among the source's. That a type of one side is not that of the other
means that Spark compares both as a third one; such a pair is no key here, but for whole numbers, whose order no width
changes. Floating point numbers are none, since nobody joins by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from catalog.names import quote
from engine.bind.bound import BoundRelation, BoundTable
from engine.plan.rules.assignments import own_path, without_qualifier
from engine.plans.writes import MatchedKey
from engine.pruning.predicates import Path
from engine.pruning.table_columns import COLLATIONS
from engine.pruning.value_ranges import INTEGRAL_DIGITS
from engine.sql.expressions import equal_columns
from engine.statements.merges import Merge
from engine.table.scan import Scan
from engine.types.schema import DataType, DecimalType, PrimitiveType, StructField, StructType

_COMPARED = frozenset(
    [
        *INTEGRAL_DIGITS,
        PrimitiveType.DATE,
        PrimitiveType.TIMESTAMP,
        PrimitiveType.TIMESTAMP_NTZ,
        PrimitiveType.STRING,
    ]
)


def matched_keys(
    statement: Merge, table: BoundTable, source: Scan, relation: BoundRelation | None
) -> tuple[MatchedKey, ...]:
    """A key for each column of the table that the condition says equals one of the source; `relation` is the source
    where it has no alias.
    """
    full_name = relation.name.parts if relation is not None and relation.name else (statement.source_alias,)
    sides = _Sides(table=table, alias=statement.alias, source=source.schema, source_name=full_name)
    return tuple(_keys(sides, equal_columns(statement.condition), source.relation))


def _keys(sides: _Sides, pairs: Iterable[tuple[Path, Path]], relation: str) -> Iterator[MatchedKey]:
    for pair in pairs:
        for one, other in (pair, pair[::-1]):
            own, given = sides.of_table(one), sides.of_source(other)
            if own and given and _is_compared(own[-1], given[-1]):
                yield MatchedKey(
                    path=tuple(field.name for field in own),
                    of_source=".".join((relation, *(quote(field.name) for field in given))),
                    data_type=given[-1].data_type,
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """What names mean where both relations are in sight: fields down a path, none where it is not of that side."""

    table: BoundTable
    alias: str | None
    source: StructType
    source_name: Sequence[str]

    def of_table(self, parts: Path) -> list[StructField]:
        own, given = self._paths(parts)
        is_other = given != parts or (own == parts and self.source.field(parts[0]) is not None)
        return [] if is_other else _fields(self.table.snapshot.schema, own)

    def of_source(self, parts: Path) -> list[StructField]:
        own, given = self._paths(parts)
        is_other = own != parts or (given == parts and self.table.snapshot.schema.field(parts[0]) is not None)
        return [] if is_other else _fields(self.source, given)

    def _paths(self, parts: Path) -> tuple[Path, Path]:
        """Without the names of the relations."""
        schema = self.table.snapshot.schema
        return (
            own_path(self.table, schema, parts, self.alias),
            without_qualifier(self.source_name, self.source, parts),
        )


def _fields(schema: StructType, path: Path) -> list[StructField]:
    """The fields down a path; empty where there is no such."""
    found: list[StructField] = []
    level: DataType = schema
    for name in path:
        field = level.field(name) if isinstance(level, StructType) else None
        if field is None:
            return []
        found.append(field)
        level = field.data_type
    return found


def _is_compared(own: StructField, other: StructField) -> bool:
    """Whether values are compared as they are."""
    if own.metadata.get(COLLATIONS) or other.metadata.get(COLLATIONS):
        return False
    if own.data_type in INTEGRAL_DIGITS:
        return other.data_type in INTEGRAL_DIGITS
    is_ordered = isinstance(own.data_type, DecimalType) or own.data_type in _COMPARED
    return is_ordered and own.data_type == other.data_type
