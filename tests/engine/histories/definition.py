"""A table's definition in a history, as the model records it, not read back from the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from tests.engine.histories.values import TYPES, Sql


class Role(Enum):
    PLAIN = auto()
    GENERATED = auto()
    IDENTITY = auto()


@dataclass(frozen=True)
class Column:
    name: str
    # Key in `TYPES`.
    of: str
    role: Role = Role.PLAIN
    # The expression that generates it, or its default.
    made: Sql | None = None
    # A generated column's base column.
    base: str | None = None

    @property
    def sql_type(self) -> Sql:
        return TYPES[self.of].name

    @property
    def default(self) -> Sql | None:
        return self.made if self.role is Role.PLAIN else None


@dataclass(frozen=True)
class Definition:
    columns: tuple[Column, ...]
    partitions: tuple[str, ...] = ()
    clustered: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    # Name, column and condition for each.
    checks: tuple[tuple[str, str, Sql], ...] = ()

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def given(self) -> list[str]:
        """Returns the columns that a statement may give."""
        return [column.name for column in self.columns if column.role is Role.PLAIN]

    @property
    def generated(self) -> list[Column]:
        return [column for column in self.columns if column.role is Role.GENERATED]

    @property
    def identity(self) -> str | None:
        return next((column.name for column in self.columns if column.role is Role.IDENTITY), None)

    @property
    def has_feed(self) -> bool:
        return self.has("enableChangeDataFeed")

    @property
    def is_tracked(self) -> bool:
        return self.has("enableRowTracking")

    @property
    def is_mapped(self) -> bool:
        return self.properties.get("delta.columnMapping.mode", "none") != "none"

    def has(self, key: str) -> bool:
        return self.properties.get(f"delta.{key}") == "true"

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    def free(self) -> list[str]:
        """Returns the columns that nothing hangs on, without the first."""
        needed = {*self.partitions, *self.clustered, *(column.base for column in self.generated)}
        needed |= {column for _, column, _ in self.checks}
        return [column.name for column in self.columns[1:] if column.name not in needed]

    def with_column(self, column: Column) -> Definition:
        return replace(self, columns=(*self.columns, column))

    def without(self, name: str) -> Definition:
        return replace(self, columns=tuple(column for column in self.columns if column.name != name))

    def renamed(self, old: str, new: str) -> Definition:
        def named(name: str) -> str:
            return new if name == old else name

        return replace(
            self,
            columns=tuple(replace(column, name=named(column.name)) for column in self.columns),
            partitions=tuple(map(named, self.partitions)),
            clustered=tuple(map(named, self.clustered)),
        )

    def with_properties(self, properties: Mapping[str, str]) -> Definition:
        return replace(self, properties={**self.properties, **properties})

    def text(self) -> str:
        """Returns the text after the name in CREATE TABLE."""
        columns = ", ".join(map(_declared, self.columns))
        checks = "".join(f", CONSTRAINT {name} CHECK ({condition.ours})" for name, _, condition in self.checks)
        return f"({columns}{checks}) {self.layout_text()}"

    def layout_text(self) -> str:
        parts = []
        if self.partitions:
            parts.append(f"PARTITIONED BY ({', '.join(self.partitions)})")
        if self.clustered:
            parts.append(f"CLUSTER BY ({', '.join(self.clustered)})")
        if self.properties:
            listed = ", ".join(f"'{key}' = '{value}'" for key, value in self.properties.items())
            parts.append(f"TBLPROPERTIES ({listed})")
        return " ".join(parts)


def _declared(column: Column) -> str:
    found = f"{column.name} {column.sql_type.ours}"
    match column.role:
        case Role.GENERATED if column.made:
            return f"{found} GENERATED ALWAYS AS ({column.made.ours})"
        case Role.IDENTITY:
            return f"{found} GENERATED ALWAYS AS IDENTITY"
        case _:
            return f"{found} DEFAULT {column.made.ours}" if column.made else found
