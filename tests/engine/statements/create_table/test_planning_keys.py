"""Primary and foreign keys: columns exist and fit, and each key has a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from catalog.errors import SqlError
from catalog.names import TableName
from engine.statements.create_table.planning_definition import table_schema
from engine.statements.create_table.planning_keys import new_keys, with_not_nulls
from engine.statements.create_table.statement import CreateTable
from engine.statements.parse import parse
from engine.tables.keys import ForeignKey, PrimaryKey, TableKey
from engine.types.schema import StructType

NAME = TableName("c", "s", "t")


def created(text: str) -> tuple[CreateTable, StructType]:
    statement = parse(f"CREATE TABLE t ({text})")
    assert isinstance(statement, CreateTable)
    return statement, with_not_nulls(table_schema(statement.columns), statement.keys)


def keys_of(text: str, parents: Sequence[Any] = ()) -> list[TableKey]:
    statement, schema = created(text)
    return [change.key for change in new_keys(NAME, schema, statement.keys, parents)]


OWN = ("c", "s", "t")
KEYS: list[tuple[str, list[TableKey]]] = [
    ("a INT, PRIMARY KEY (A)", [PrimaryKey(name="t_pk", columns=("a",), rely=False)]),
    ("a INT, b INT, CONSTRAINT k PRIMARY KEY (b, a) RELY", [PrimaryKey(name="k", columns=("b", "a"), rely=True)]),
    (
        "a INT, b INT, FOREIGN KEY (b) REFERENCES t, PRIMARY KEY (a)",
        [
            PrimaryKey(name="t_pk", columns=("a",), rely=False),
            ForeignKey(name="t_t_fk", columns=("b",), parent=OWN, parent_columns=("a",), rely=False),
        ],
    ),
    (
        "a INT, b INT, c INT, PRIMARY KEY (a), FOREIGN KEY (b) REFERENCES t, FOREIGN KEY (c) REFERENCES t (A)",
        [
            PrimaryKey(name="t_pk", columns=("a",), rely=False),
            ForeignKey(name="t_t_fk", columns=("b",), parent=OWN, parent_columns=("a",), rely=False),
            ForeignKey(name="t_t_fk_2", columns=("c",), parent=OWN, parent_columns=("a",), rely=False),
        ],
    ),
    (
        "a BIGINT, b INT, PRIMARY KEY (a), FOREIGN KEY (b) REFERENCES t",
        [
            PrimaryKey(name="t_pk", columns=("a",), rely=False),
            ForeignKey(name="t_t_fk", columns=("b",), parent=OWN, parent_columns=("a",), rely=False),
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), KEYS)
def test_keys_of_a_new_table(text: str, expected: list[TableKey]) -> None:
    """Its own primary key comes first, in any statement order."""
    assert keys_of(text) == expected


def test_columns_of_a_primary_key_have_values() -> None:
    _, schema = created("a INT, b INT, c INT, PRIMARY KEY (B, a)")
    assert [field.nullable for field in schema.fields] == [False, False, True]


REFUSED = {
    "a INT, PRIMARY KEY (zz)": "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
    "a INT, PRIMARY KEY (a, A)": "DUPLICATE_KEY_COLUMN",
    "a INT, FOREIGN KEY (a) REFERENCES t": "FOREIGN_KEY_MISMATCH",
    "a INT, b INT, PRIMARY KEY (a), FOREIGN KEY (b) REFERENCES t (b)": "FOREIGN_KEY_MISMATCH",
    "a INT, b STRING, PRIMARY KEY (a), FOREIGN KEY (b) REFERENCES t": "FOREIGN_KEY_MISMATCH",
    "a INT, b INT, c INT, PRIMARY KEY (a), FOREIGN KEY (b, c) REFERENCES t": "FOREIGN_KEY_MISMATCH",
}


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_keys_are_rejected(text: str) -> None:
    with pytest.raises(SqlError) as caught:
        keys_of(text)
    assert caught.value.condition == REFUSED[text]
