"""Position delete files, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.orc as po
import pytest

from catalog.errors import SqlError
from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.storage.storage import open_storage
from tests.engine.iceberg.handmade import HandmadeTable, required, write_avro


def load(folder: Path) -> IcebergSnapshot:
    return IcebergFormat(open_storage, 1 << 26).load(str(folder))


@pytest.mark.parametrize(("kind", "has_ids"), [("orc", False), ("avro", True), ("avro", False)])
def test_positions_are_read_in_the_formats_of_data_files(tmp_path: Path, kind: str, has_ids: bool) -> None:
    table = HandmadeTable(tmp_path / "t")
    file = table.data({"id": list(range(5))})
    path = f"{table.location}/data/deletes.{kind}"
    local = table.folder / f"data/deletes.{kind}"
    paths, positions = [file["file_path"], file["file_path"], "elsewhere"], [3, 1, 0]
    if kind == "orc":
        po.write_table(pa.table({"pos": pa.array(positions, pa.int64()), "file_path": paths}), str(local))
    else:
        fields = [required(2147483545, "p", "long"), required(2147483546, "f", "string")]
        if not has_ids:
            fields = [{"name": "pos", "type": "long"}, {"name": "file_path", "type": "string"}]
        names = [str(each["name"]) for each in fields]
        rows = [dict(zip(names, row, strict=True)) for row in zip(positions, paths, strict=True)]
        write_avro(local, {"type": "record", "name": "table", "fields": fields}, rows)
    deletes = {"content": 1, "file_path": path, "file_format": kind.upper(), "record_count": 3}
    table.commit(file, {**deletes, "file_size_in_bytes": local.stat().st_size})
    (vector,) = load(table.folder).files["deletion_vector"].to_pylist()
    assert vector["cardinality"] == 2
    local.write_bytes(b"no file of any format")
    with pytest.raises(SqlError) as caught:
        _ = load(table.folder).files
    assert caught.value.condition == "ICEBERG_METADATA_MALFORMED"
