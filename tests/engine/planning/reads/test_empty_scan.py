"""The relation over which expressions are analysed before their table has rows, or exists."""

from __future__ import annotations

from engine.planning.reads.scans import empty_scan
from engine.types.schema import PrimitiveType, StructField, StructType


def test_the_columns_alone() -> None:
    """Neither NOT NULL nor metadata, which might be read as a separate constraint."""
    schema = StructType((StructField("__scan_0", PrimitiveType.LONG, nullable=False, metadata={"comment": "c"}),))
    scan = empty_scan(schema, "/lake/t")
    assert scan.relation == "___scan_0"
    assert scan.schema == StructType((StructField("__scan_0", PrimitiveType.LONG),))
    assert scan.files.num_rows == 0 and scan.partition_columns == () and scan.table_root == "/lake/t"
