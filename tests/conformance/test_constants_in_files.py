"""Files that contain columns with logged values: the log takes precedence, and no filter on them is pushed down.

Writers with `materializePartitionColumns`, IcebergCompat tables and many others put partition columns into the files.
With a page index Parquet skips single pages, without one row groups, by dictionaries and bloom filters too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.spark.session import SparkDriver
from tests.engine.read_paths import READ_PATHS, Readers, open_readers
from tests.handmade import Part, column, write_table

pytestmark = pytest.mark.spark

FILES, COUNT = 5, 12
BY_NAME = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
BY_ID = {**BY_NAME, "delta.columnMapping.mode": "id"}
# The files' partition values.
LOG = ("0", "1", "2", "3", None)

IN_FILES: dict[str, Callable[[int], pa.Array | None]] = {
    "the same value": lambda file: pa.array([file] * COUNT, pa.int32()),
    "another value": lambda file: pa.array([file + 100] * COUNT, pa.int32()),
    "values that change": lambda file: pa.array(range(100, 100 + COUNT), pa.int32()),
    "nulls": lambda file: pa.array([None] * COUNT, pa.int32()),
    "another type": lambda file: pa.array([f"p{file}"] * COUNT),
    "nothing": lambda file: None,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "page index": {"write_page_index": True, "max_rows_per_page": 3, "row_group_size": 6, "write_batch_size": 3},
    "no dictionary": {"use_dictionary": False, "row_group_size": 4},
    "bloom filter": {"row_group_size": 6, "bloom_filter_options": {"part": {"ndv": 4}, "id": {"ndv": 8}}},
}


def _ids(file: int) -> list[int]:
    return list(range(file * COUNT, (file + 1) * COUNT))


ROWS = [(number, None if LOG[file] is None else file) for file in range(FILES) for number in _ids(file)]
CONDITIONS: dict[str, Callable[[int, int | None], bool]] = {
    "id = 5 OR part <= 2": lambda i, p: i == 5 or (p is not None and p <= 2),
    "id = 5 OR part = 2": lambda i, p: i == 5 or p == 2,
    "id = 5 OR part IS NULL": lambda i, p: i == 5 or p is None,
    "id = 5 OR PART IS NOT NULL": lambda i, p: i == 5 or p is not None,
    "id = 5 OR part IN (1, 3)": lambda i, p: i == 5 or p in (1, 3),
    "id = 5 OR part <=> NULL": lambda i, p: i == 5 or p is None,
    "NOT (id <> 40 AND part > 1)": lambda i, p: i == 40 or (p is not None and p <= 1),
    "NOT (id < 40 OR part > 3)": lambda i, p: i >= 40 and p is not None and p <= 3,
    "(id > 3 OR part = 0) AND part < 2": lambda i, p: p in (0, 1),
    "(id = 3 AND part = 0) OR (id = 15 AND part = 1)": lambda i, p: i in (3, 15),
    "id = 5 OR CAST(part AS STRING) LIKE '1%'": lambda i, p: i == 5 or p == 1,
    "id = 5 OR part + 1 = 2": lambda i, p: i == 5 or p == 1,
    "part = 3": lambda i, p: p == 3,
    "part = 3 AND id < 40": lambda i, p: p == 3 and i < 40,
    "id = 5 OR _metadata.file_size > 0": lambda i, p: True,
    "id = 5 OR _metadata.row_index = 2": lambda i, p: i == 5 or i % COUNT == 2,
    "id = 5 OR _metadata.file_name = 'f1.parquet'": lambda i, p: i == 5 or i // COUNT == 1,
}


def _layouts(root: Path) -> list[str]:
    """Returns tables with all kinds of columns in files and all options."""
    names = []
    for in_files, make in IN_FILES.items():
        for option, options in OPTIONS.items():
            if option == "bloom filter" and make(0) is None:
                continue
            name = f"{in_files} {option}".replace(" ", "_")
            parts = []
            for file in range(FILES):
                arrays = {"id": pa.array(_ids(file)), "part": make(file)}
                rows = pa.table({key: values for key, values in arrays.items() if values is not None})
                parts.append(Part(name=f"f{file}.parquet", rows=rows, values={"part": LOG[file]}, options=options))
            columns = [column("id", "long"), column("part", "integer")]
            write_table(root / name, columns, parts, partition_columns=["part"])
            names.append(name)
    return names


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("constants")


@pytest.fixture(scope="module")
def readers(lake: Path, spark_driver: SparkDriver) -> Iterator[Readers]:
    _layouts(lake)
    with open_readers(lake, spark_driver) as opened:
        yield opened


@pytest.mark.diagonals("in_files", "path", step=2)
@pytest.mark.diagonals("in_files", "path", step=3)
@pytest.mark.parametrize("path", READ_PATHS)
@pytest.mark.parametrize("in_files", IN_FILES)
def test_values_of_partition_columns_come_from_the_log(readers: Readers, lake: Path, in_files: str, path: str) -> None:
    for option in OPTIONS:
        name = f"{in_files} {option}".replace(" ", "_")
        if not (lake / name).exists():
            continue
        plan = readers.plan(
            " UNION ALL ".join(
                f"SELECT {number} AS condition, id, part FROM {name} WHERE {condition}"
                for number, condition in enumerate(CONDITIONS)
            )
        )
        expected = [(number, *row) for number, holds in enumerate(CONDITIONS.values()) for row in ROWS if holds(*row)]
        assert readers.rows(plan, path) == sorted(expected, key=repr), option
