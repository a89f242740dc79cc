"""The scan over a materialized source: internal column names, for any query columns."""

from __future__ import annotations

import pytest

from catalog.errors import SqlError
from engine.planning.plans.reads import QueryColumn
from engine.planning.semantics.query_columns import materialized_columns, materialized_scan
from engine.tables.scan import FILE_METADATA
from engine.types.schema import PrimitiveType, StructField, StructType
from tests.engine.planning.lake import query_columns


def test_columns_by_position() -> None:
    scan = materialized_scan("s", query_columns("`a b` INT, c0 STRING"), "/kept", "__place_0")
    assert scan.layout is not None
    assert scan.schema.names == ("a b", "c0") and scan.layout.schema.names == ("c0", "c1")
    assert (scan.relation, scan.table_root, scan.metadata, scan.files.num_rows) == ("s", "/kept", "__place_0", 0)
    assert materialized_scan("s", (), "/kept").metadata == FILE_METADATA


def test_columns_of_one_name() -> None:
    """All but the first have a name that no text has."""
    twice = (*query_columns("a INT"), *query_columns("A STRING"), *query_columns("__column_0 INT"))
    scan = materialized_scan("s", twice, "/kept")
    assert scan.schema.names == ("a", "___column_0", "__column_0")


def test_columns_of_nothing_but_null_are_in_no_file() -> None:
    scan = materialized_scan("s", (*query_columns("a INT"), QueryColumn("n", "void", None, "void")), "/kept")
    assert materialized_columns(scan) == StructType((StructField("c0", PrimitiveType.INTEGER),))


def test_a_type_that_no_file_has() -> None:
    with pytest.raises(SqlError) as caught:
        materialized_scan("s", [QueryColumn("i", "interval day", None, "interval day")], "/kept")
    assert caught.value.condition == "DELTA_UNSUPPORTED_DATA_TYPES"
