"""Columns of files outside tables: inferred by Spark, or the table's for texts."""

from __future__ import annotations

import pytest

from engine.binding.bound import BoundFiles
from engine.statements.copy_into.spec import columns_plan, with_columns
from engine.statements.copy_into.statement import CopyInto
from engine.statements.parse import parse
from engine.tables.scan import NO_FILES, FileFormat
from engine.types.sql_types import format_sql_type
from tests.engine.planning.lake import PlanningLake, bound_table, query_columns


def copied(planning: PlanningLake, text: str, found: str) -> tuple[str, FileFormat]:
    """Returns the columns and format for COPY INTO's files, given Spark's inferred columns."""
    statement = parse(f"COPY INTO {text}")
    assert isinstance(statement, CopyInto)
    files = BoundFiles(root="/in", files=NO_FILES, format=statement.format)
    known = with_columns(files, query_columns(found), statement, bound_table(planning, statement.table_parts[0]))
    assert known.schema is not None
    return format_sql_type(known.schema).removeprefix("struct<").removesuffix(">"), known.format


TYPED = [
    ("plain FROM '/in' FILEFORMAT = CSV", "b STRING, A STRING, more STRING", "b:string,A:int,more:string"),
    ("plain BY POSITION FROM '/in' FILEFORMAT = CSV", "x STRING, y STRING, z STRING", "x:int,y:string,z:string"),
    ("plain (b, a) FROM '/in' FILEFORMAT = CSV", "x STRING, y STRING", "x:string,y:int"),
    ("sales FROM '/in' FILEFORMAT = JSON", "id STRING, day STRING", "id:bigint,day:date"),
    ("nested FROM '/in' FILEFORMAT = JSON", "place STRING, id BIGINT", "place:string,id:int"),
    (
        "plain FROM '/in' FILEFORMAT = CSV FORMAT_OPTIONS ('INFERSCHEMA' = 'TRUE')",
        "a STRING, b STRING",
        "a:string,b:string",
    ),
    ("plain FROM '/in' FILEFORMAT = PARQUET", "a BIGINT, b STRING", "a:bigint,b:string"),
    ("plain FROM (SELECT a FROM '/in') FILEFORMAT = CSV", "a STRING, b STRING", "a:string,b:string"),
]


@pytest.mark.parametrize(("text", "found", "read"), TYPED)
def test_file_columns_that_are_read(planning: PlanningLake, text: str, found: str, read: str) -> None:
    """Texts are read with the table's types if all columns are taken unchanged."""
    assert copied(planning, text, found)[0] == read


OPTIONS = [
    ("FILEFORMAT = PARQUET", {"mergeSchema": "true"}),
    ("FILEFORMAT = JSON", {"mode": "FAILFAST"}),
    ("FILEFORMAT = CSV FORMAT_OPTIONS ('SEP' = ';', 'Mode' = 'PERMISSIVE')", {"mode": "PERMISSIVE", "sep": ";"}),
    (
        "FILEFORMAT = CSV FORMAT_OPTIONS ('header' = 'True')",
        {"mode": "FAILFAST", "header": "True", "enforceschema": "false"},
    ),
]


@pytest.mark.parametrize(("clauses", "options"), OPTIONS)
def test_options_of_copy_into_report_lost_values(planning: PlanningLake, clauses: str, options: dict[str, str]) -> None:
    """Columns that only some files have, headers in another order, broken rows."""
    assert dict(copied(planning, f"plain FROM '/in' {clauses}", "a STRING")[1].options) == options


def test_the_query_for_the_columns() -> None:
    statement = parse("COPY INTO plain FROM '/in' FILEFORMAT = JSON")
    assert isinstance(statement, CopyInto)
    plan = columns_plan(BoundFiles(root="/in", files=NO_FILES, format=statement.format))
    (scan,) = plan.scans
    assert plan.text == f"SELECT * FROM {scan.relation}" and scan.infers
    assert scan.format is not None and dict(scan.format.options) == {"mode": "FAILFAST"}
