"""Random cases: a table with random columns, features and layout, and random statements that change it.

A case depends on its seed only. Both engines run the statements; some fail in both (a value out of range, a missing
column), and the error condition is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.oracle.compared.case import Case, made, one_task

_TYPES: dict[str, tuple[str, ...]] = {
    "BIGINT": ("0", "3", "-7", "9223372036854775807"),
    "INT": ("0", "1", "2", "3", "-2147483648"),
    "STRING": ("''", "'a'", "'A'", "'a b'", "'a/b=c%20:#?'", "'é€'", "'z+'", "repeat('long', 20)"),
    "DOUBLE": ("double('NaN')", "-0.0D", "1.5D", "1e300", "double('-Infinity')"),
    "DATE": ("DATE'2024-02-29'", "DATE'1969-12-31'", "DATE'0001-01-01'"),
    "DECIMAL(9,2)": ("0.00", "1.25", "-9999999.99"),
    "TIMESTAMP": ("TIMESTAMP'2024-01-01 00:00:00'", "TIMESTAMP'1900-12-31 23:59:59.999999'"),
    "BOOLEAN": ("true", "false"),
    "STRUCT<a: INT, b: STRING>": ("named_struct('a', 1, 'b', 'x')", "named_struct('a', NULL, 'b', '')"),
    "ARRAY<INT>": ("array(1, NULL)", "array()"),
    "MAP<STRING, INT>": ("map('k', 1)", "map()"),
}
_NOT_COMPARED = ("STRUCT", "ARRAY", "MAP")
_PROPERTIES: tuple[dict[str, str], ...] = (
    {"enableDeletionVectors": "true"},
    {"enableChangeDataFeed": "true"},
    {"enableRowTracking": "true"},
    {"columnMapping__mode": "name"},
    {"columnMapping__mode": "id"},
    {"checkpointInterval": "2"},
    {"checkpointPolicy": "v2", "checkpointInterval": "3"},
    {"enableInCommitTimestamps": "true"},
    {"dataSkippingNumIndexedCols": "2"},
    {"enableTypeWidening": "true"},
)
_STEPS = 7


@dataclass
class _Table:
    random: Random
    columns: dict[str, str] = field(default_factory=dict)
    layout: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    ids: int = 0

    def choose(self) -> None:
        """Chooses a key, some columns, a layout with allowed partition columns, some properties."""
        types = self.random.sample(sorted(_TYPES), self.random.randrange(2, 6))
        self.columns = {"id": "BIGINT"} | {f"c{number}": sql_type for number, sql_type in enumerate(types)}
        flat = [name for name in self.columns if name != "id" and self.is_compared(name)]
        self.layout = self.random.sample(flat, min(len(flat), self.random.choice((0, 0, 1, 2))))
        for selected in self.random.sample(_PROPERTIES, self.random.randrange(4)):
            self.properties |= selected

    def is_compared(self, name: str) -> bool:
        return not self.columns[name].startswith(_NOT_COMPARED)

    def value(self, name: str) -> str:
        if name == "id":
            self.ids += 1
            return f"{self.ids}L"
        sql_type = self.columns[name]
        text = "NULL" if self.random.random() < 0.2 else self.random.choice(_TYPES[sql_type])
        return f"CAST({text} AS {sql_type})"

    def rows(self, names: list[str] | None = None) -> str:
        names = names or list(self.columns)
        rows = [", ".join(map(self.value, names)) for _ in range(self.random.choice((1, 2, 5)))]
        return one_task(", ".join(f"({row})" for row in rows)) + f" AS v({', '.join(names)})"

    def condition(self) -> str:
        name = self.random.choice([each for each in self.columns if self.is_compared(each)])
        sign = self.random.choice(("=", "<", ">=", "<>", "<=>"))
        literal = self.random.choice(
            (str(self.random.randrange(1, 12)),) if name == "id" else _TYPES[self.columns[name]]
        )
        leaf = f"{name} IS NULL" if self.random.random() < 0.15 else f"{name} {sign} {literal}"
        if self.random.random() < 0.4:
            return f"({leaf}) {self.random.choice(('AND', 'OR'))} NOT ({self.condition()})"
        return leaf

    # --- statements

    def insert(self) -> str:
        return f"INSERT INTO {{t}} {self.rows()}"

    def insert_some(self) -> str:
        names = ["id", *self.random.sample(list(self.columns)[1:], self.random.randrange(len(self.columns)))]
        self.random.shuffle(names)
        listed = "BY NAME" if self.random.random() < 0.5 else f"({', '.join(names)})"
        return f"INSERT INTO {{t}} {listed} {self.rows(names)}"

    def delete(self) -> str:
        return f"DELETE FROM {{t}} WHERE {self.condition()}"

    def overwrite(self) -> str:
        return f"INSERT OVERWRITE {{t}} {self.rows()}"

    def replace_where(self) -> str:
        """Returns REPLACE WHERE with matching rows: `id` is new."""
        return f"INSERT INTO {{t}} REPLACE WHERE id >= {self.random.randrange(1, self.ids + 2)} {self.rows()}"

    def add_column(self) -> str:
        sql_type, name = self.random.choice(sorted(_TYPES)), f"n{len(self.columns)}"
        self.columns[name] = sql_type
        return f"ALTER TABLE {{t}} ADD COLUMN {name} {sql_type}"

    def rename(self) -> str:
        old, new = self.random.choice(list(self.columns)[1:]), f"r{self.random.randrange(1000)}"
        if "columnMapping__mode" in self.properties:
            self.columns = {new if name == old else name: kind for name, kind in self.columns.items()}
        return f"ALTER TABLE {{t}} RENAME COLUMN {old} TO {new}"

    def switch_on(self) -> str:
        """Enables a disabled feature, since delta-spark writes a version without changes otherwise. Not row tracking:
        existing rows get ids in a file order that each engine chooses.
        """
        keys = [key for key in ("enableDeletionVectors", "enableTypeWidening") if key not in self.properties]
        if not keys:
            return self.delete()
        key = self.random.choice(keys)
        self.properties[key] = "true"
        return f"ALTER TABLE {{t}} SET TBLPROPERTIES ('delta.{key}' = 'true')"

    def step(self) -> str:
        weights: dict[Callable[[], str], int] = {
            self.insert: 4,
            self.insert_some: 3,
            self.delete: 6,
            self.overwrite: 1,
            self.replace_where: 2,
            self.add_column: 1,
            self.rename: 1,
            self.switch_on: 1,
        }
        (selected,) = self.random.choices(list(weights), list(weights.values()))
        return selected()


def random_case(seed: int) -> Case:
    """Returns the seed's case."""
    table = _Table(Random(seed))
    table.choose()
    columns = ", ".join(f"{name} {kind}" for name, kind in table.columns.items())
    clauses = f"PARTITIONED BY ({', '.join(table.layout)})" if table.layout else ""
    properties = dict(table.properties)
    steps = (table.insert(), *(table.step() for _ in range(_STEPS)))
    return made(columns, *steps, clauses=clauses, **properties)
