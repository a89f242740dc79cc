"""The listed scan: exactly the listed files, constants from the list, nothing from names or folders."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from engine.exec.session import ExecSession
from tests.engine.exec.scans import DataFile, rows, write_scan

pytestmark = pytest.mark.spark

SALES = {"id": "long", "day": "date", "amount": "double"}


def sales(root: Path) -> list[DataFile]:
    return [
        DataFile(
            path="day=x/a.parquet", columns={"id": [1, 2], "amount": [1.5, 2.5]}, partition_values={"day": "2024-01-01"}
        ),
        DataFile(path="b.parquet", columns={"id": [3], "amount": [3.5]}, partition_values={"day": "2024-01-02"}),
        DataFile(path="c.parquet", columns={"id": [4], "amount": [4.5]}, partition_values={"day": None}),
    ]


def test_partitioned_table_keeps_the_order_of_its_columns(spark: ExecSession, tmp_path: Path) -> None:
    scan = write_scan(tmp_path, SALES, sales(tmp_path), partition_columns=["day"])
    assert rows(spark, "SELECT * FROM __scan_0 ORDER BY id", scan)[2:] == [
        (3, dt.date(2024, 1, 2), 3.5),
        (4, None, 4.5),
    ]
