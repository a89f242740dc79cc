"""String literals in statements that our parser reads mean the same as in Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.schema import ArrayType, StructType

from engine.main import LakeSession
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark

LITERALS = [
    "''",
    "''''",
    "'it''s'",
    "'''it''''s'''",
    "'it' 's'",
    "'it'\n\t's'",
    "'it' /* a comment */ 's'",
    "'a''b' 'c''d'",
    '"it""s"',
    '"it\'s"',
    "\"it''s\"",
    '\'say ""x""\'',
    "'a' \"b\"",
    "'a'\"b\"",
    r"'it\'s'",
    r"'it\'''s'",
    r"'a\\''b'",
    r'"say \"x\""',
    r"'a\nb\tc\rd\be\\f\Zg'",
    r"'\u0041\u00e9\U0001F600'",
    r"'\101\060\377'",
    r"'\u00 \47 \x41 \q \8'",
    r"'100\% \_x'",
    "'a\nb'",
    r"r'a\nb\'",
    r"R'it' 's'",
    r"r'a''b'",
    r"r'a' 'b''c'",
    r"""r"a'\n" 'x'""",
    "'ä😀'",
]


@pytest.mark.parametrize("literal", LITERALS)
def test_a_string_is_what_spark_reads(session: LakeSession, lake: Path, literal: str) -> None:
    ((value,),) = rows(session, f"SELECT {literal} AS s")
    run(session, "DROP TABLE IF EXISTS said")
    run(
        session,
        f"CREATE TABLE said (a INT COMMENT {literal}, n STRUCT<x: INT COMMENT {literal}, y: ARRAY<STRUCT<z: STRING "
        f"COMMENT {literal}>>>) COMMENT {literal} TBLPROPERTIES ('one' = {literal}, 'two.{{}}' = 'x')",
    )

    def state() -> tuple[list[Any], Any, Any]:
        table = DeltaTable(lake / "default" / "said")
        plain, nested = table.schema().fields
        assert isinstance(nested.type, StructType)
        inner = nested.type.fields
        assert isinstance(inner[1].type, ArrayType) and isinstance(inner[1].type.element_type, StructType)
        comments = [plain, inner[0], inner[1].type.element_type.fields[0]]
        return [field.metadata.get("comment") for field in comments], table.metadata().description, table.metadata()

    comments, description, metadata = state()
    assert comments == [value] * 3
    assert description == value
    assert metadata.configuration["one"] == value
    run(session, "COMMENT ON TABLE said IS NULL")
    run(session, f"COMMENT ON TABLE said IS {literal}")
    run(session, "ALTER TABLE said ALTER COLUMN a COMMENT 'other'")
    run(session, f"ALTER TABLE said ALTER COLUMN a COMMENT {literal}")
    run(session, f"ALTER TABLE said ADD COLUMN b STRING COMMENT {literal}")
    run(session, f"ALTER TABLE said SET TBLPROPERTIES ('three' = {literal})")
    table = DeltaTable(lake / "default" / "said")
    assert table.metadata().description == value
    assert [field.metadata.get("comment") for field in table.schema().fields] == [value, None, value]
    assert table.metadata().configuration["three"] == value
    if value:
        run(session, f"ALTER TABLE said SET TBLPROPERTIES ({literal} = 'key')")
        assert DeltaTable(lake / "default" / "said").metadata().configuration[value] == "key"
        assert rows(session, f"SHOW TBLPROPERTIES said ({literal})") == [(value, "key")]
        run(session, f"ALTER TABLE said UNSET TBLPROPERTIES ({literal})")
        assert value not in DeltaTable(lake / "default" / "said").metadata().configuration


@pytest.mark.parametrize("literal", [each for each in LITERALS if "\n" not in each])
def test_conditions_that_the_log_answers_read_the_same_string(session: LakeSession, literal: str) -> None:
    ((value,),) = rows(session, f"SELECT {literal} AS s")
    run(session, "CREATE OR REPLACE TABLE parts (a INT, s STRING) PARTITIONED BY (s)")
    run(session, f"INSERT INTO parts SELECT 1, {literal} UNION ALL SELECT 2, 'its'")
    expected = [(2 if value == "its" else 0 if value == "" else 1,)]
    assert rows(session, f"SELECT count(*) AS n FROM parts WHERE s = {literal}") == expected
    assert rows(session, f"SELECT count(a) AS n FROM parts WHERE s IN ({literal}, 'x')") == expected
