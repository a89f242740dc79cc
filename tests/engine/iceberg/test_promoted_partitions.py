"""Partitions by a promoted column: files from before and after are in the same ones."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.writing.new_files import partitions_of
from engine.storage.storage import open_storage
from tests.engine.iceberg.handmade import LONG_COLUMNS, HandmadeTable


def test_deletes_apply_in_a_partition_whose_decimal_was_promoted(tmp_path: Path) -> None:
    column = {"id": 2, "name": "price", "required": False, "type": "decimal(18, 2)"}
    field = {"source-id": 2, "field-id": 1000, "name": "price", "transform": "identity"}
    specs = [{"spec-id": 0, "fields": [field]}]
    table = HandmadeTable(tmp_path, columns=[*LONG_COLUMNS, column], specs=specs)
    price: dict[str, Any] = {"partition": {"price": Decimal("-1.28")}}
    first, second = table.data({"id": [1, 2]}, **price), table.data({"id": [3]}, **price)
    for size, precision, added in (
        (4, 9, [first]),
        (8, 18, [second, table.positions([first["file_path"]], [1], **price)]),
    ):
        stored = {"type": "fixed", "name": "d", "size": size, "logicalType": "decimal", "scale": 2}
        table.partition = [(1000, "price", {**stored, "precision": precision})]
        table.commit(*added)
    found = IcebergFormat(open_storage, 1 << 26).load(str(tmp_path))
    deleted = dict(zip(found.files["path"].to_pylist(), found.row_files.deleted_rows(found.files), strict=True))
    assert {path: rows.tolist() for path, rows in deleted.items()} == {
        "data/00001.parquet": [1],
        "data/00002.parquet": [],
    }
    assert len(set(partitions_of(found.files))) == 1
