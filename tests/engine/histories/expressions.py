"""Random values, conditions and expressions over a definition's columns, for us and for DuckDB."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.engine.histories.definition import Definition, Role
from tests.engine.histories.values import NOT_COMPARED, TYPES, Sql, fill, same

IDS_OF_OTHERS = (
    "IN (SELECT id FROM %s AS o WHERE %s)",
    "NOT IN (SELECT id FROM %s AS o WHERE %s AND o.id IS NOT NULL)",
)


@dataclass
class Expressions:
    random: Random
    definition: Definition
    # The table's name, for subqueries.
    table: Sql
    # Some or all ids in the table.
    ids: list[int]

    def value(self, name: str) -> Sql:
        column = self.definition.column(name)
        if name == "id":
            return same(str(self.random.choice([*self.ids, 0])))[0]
        of = TYPES[column.of]
        if self.random.random() < 0.15:
            return Sql(f"CAST(NULL AS {of.name.ours})", f"CAST(NULL AS {of.name.duck})")
        return self.random.choice(of.values)

    def leaf(self, alias: str = "") -> Sql:
        """About one column; `alias` has its dot."""
        names = [column.name for column in self.definition.columns if column.of not in NOT_COMPARED]
        name = self.random.choice([*names, "id"])
        column, chance = f"{alias}{name}", self.random.random()
        if chance < 0.12:
            return Sql(*[f"{column} IS {self.random.choice(('', 'NOT '))}NULL"] * 2)
        if chance < 0.2 and "st" in self.definition.names:
            return Sql(*[f"{alias}st.a >= 1"] * 2)
        if chance < 0.3:
            return Sql(*[f"{alias}id % {(by := self.random.choice((2, 3, 5)))} = {self.random.randrange(by)}"] * 2)
        value = self._literal(name)
        if chance < 0.4:
            return fill(f"{column} IN (%s, %s)", value, self._literal(name))
        if chance < 0.48:
            return Sql(f"{column} <=> {value.ours}", f"{column} IS NOT DISTINCT FROM {value.duck}")
        return fill(f"{column} {self.random.choice(('=', '<', '>=', '<>'))} %s", value)

    def _literal(self, name: str) -> Sql:
        return self.value(name) if name == "id" else self.random.choice(TYPES[self.definition.column(name).of].values)

    def condition(self, alias: str = "", *, with_subquery: bool = False) -> Sql:
        found = self.leaf(alias)
        while self.random.random() < 0.35:
            word = self.random.choice(("AND", "OR", "AND NOT", "OR NOT"))
            found = fill(f"(%s {word} %s)", found, self.leaf(alias))
        if with_subquery and self.random.random() < 0.4:
            return self.subquery(alias, found)
        return found

    def subquery(self, alias: str, condition: Sql) -> Sql:
        """Returns a condition with a subquery over the table itself."""
        inner, chance = self.condition("o."), self.random.random()
        if chance < 0.4:
            return fill(f"({alias}id {self.random.choice(IDS_OF_OTHERS)} OR %s)", self.table, inner, condition)
        if chance < 0.8:
            name = self.random.choice([each.name for each in self.definition.columns if each.of not in NOT_COMPARED])
            word = self.random.choice(("", "NOT "))
            text = f"({word}EXISTS (SELECT 1 FROM %s AS o WHERE o.{name} = {alias}{name} AND o.id < {alias}id) AND %s)"
            return fill(text, self.table, condition)
        return fill(f"({alias}id >= (SELECT min(o.id) FROM %s AS o WHERE %s))", self.table, inner)

    def expression(self, name: str, alias: str = "") -> Sql:
        """Returns a new value for the column, from a row in `alias`."""
        of, column, chance = self.definition.column(name).of, f"{alias}{name}", self.random.random()
        if chance < 0.35:
            return self.value(name)
        if chance < 0.45:
            condition = self.condition(alias)
            return fill(f"CASE WHEN %s THEN %s ELSE {column} END", condition, self.value(name))
        if chance < 0.6:
            others = [each.name for each in self.definition.columns if each.of == of and each.role is not Role.IDENTITY]
            return Sql(*[f"{alias}{self.random.choice(others)}"] * 2)
        if chance < 0.68 and of not in NOT_COMPARED:
            inner = self.condition("o.")
            return fill(
                f"(SELECT {self.random.choice(('min', 'max'))}(o.{name}) FROM %s AS o WHERE %s)", self.table, inner
            )
        return self._computed(name, of, column)

    def _computed(self, name: str, of: str, column: str) -> Sql:
        match of:
            case "int" | "long" if name != "id":
                return same(f"({column} % 4) + 1")[0]
            case "string":
                return same(f"substring(concat(coalesce({column}, ''), 'x'), 1, 4)")[0]
            case "decimal":
                return same(f"-{column}")[0]
            case "double":
                return same(f"{column} + 1e0")[0]
            case "date":
                return Sql(f"date_add({column}, 1)", f"CAST({column} + INTERVAL 1 DAY AS DATE)")
            case "boolean":
                return same(f"NOT {column}")[0]
            case "stamp":
                return same(f"{column} + INTERVAL 1 HOUR")[0]
            case _:
                return self.value(name)
