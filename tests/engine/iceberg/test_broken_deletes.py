"""Damaged delete files: a named error or, if undetectable, an answer; never resurrected rows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from catalog.errors import SqlError
from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.main import LakeSession
from engine.storage.storage import open_storage
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.lake_sessions import rows

GONE = [1, 5, 6, 7, 900]
LEFT = sorted(set(range(1000)) - set(GONE))


def row_ids(first: int, count: int) -> dict[str, Any]:
    return {"first-row-id": first, "added-rows": count}


def by_vector(folder: Path) -> tuple[HandmadeTable, Path]:
    table = HandmadeTable(folder, version=3)
    data = table.data({"id": list(range(1000))})
    table.commit(data, **row_ids(0, 1000))
    (vector,) = table.vectors({data["file_path"]: GONE})
    table.commit(vector, **row_ids(1000, 0))
    return table, Path(vector["file_path"].removeprefix("file://"))


def by_positions(folder: Path) -> tuple[HandmadeTable, Path]:
    table = HandmadeTable(folder)
    data = table.data({"id": list(range(1000))})
    table.commit(data)
    deletes = table.positions([data["file_path"]] * len(GONE), GONE)
    table.commit(deletes)
    return table, Path(deletes["file_path"].removeprefix("file://"))


def by_equality(folder: Path) -> tuple[HandmadeTable, Path]:
    table = HandmadeTable(folder)
    table.commit(table.data({"id": list(range(1000))}))
    deletes = table.equality({"id": GONE}, [1])
    table.commit(deletes)
    return table, Path(deletes["file_path"].removeprefix("file://"))


def broken(data: bytes, chance: random.Random, start: int = 0) -> bytes:
    """Returns truncated, altered or extended bytes."""
    at = chance.randrange(start, len(data))
    match chance.randrange(4):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        case 2:
            return data[:at] + chance.randbytes(min(16, len(data) - at)) + data[at + 16 :]
        case _:
            return b""


def gone_by_us(folder: Path) -> list[int]:
    snapshot = IcebergFormat(open_storage, 1 << 24).load(str(folder))
    (found,) = snapshot.row_files.deleted_rows(snapshot.files)
    return [int(each) for each in found]


@pytest.mark.parametrize("seed", range(60))
def test_broken_deletion_vector_is_reported(tmp_path: Path, seed: int) -> None:
    """It has a checksum; no reader reads the bytes before and after it in the file."""
    _, path = by_vector(tmp_path / "t")
    assert gone_by_us(tmp_path / "t") == GONE
    path.write_bytes(broken(path.read_bytes(), random.Random(seed), start=4))
    with pytest.raises(SqlError) as caught:
        gone_by_us(tmp_path / "t")
    assert not caught.value.condition.startswith("INTERNAL")


@pytest.mark.parametrize("seed", range(60))
def test_broken_position_deletes_are_reported_or_valid(tmp_path: Path, seed: int) -> None:
    _, path = by_positions(tmp_path / "t")
    assert gone_by_us(tmp_path / "t") == GONE
    path.write_bytes(broken(path.read_bytes(), random.Random(seed)))
    try:
        found = gone_by_us(tmp_path / "t")
    except SqlError as error:
        assert not error.condition.startswith("INTERNAL"), error
    else:
        assert len(found) <= len(GONE) and all(0 <= each < 1 << 63 for each in found)


@pytest.mark.spark
@pytest.mark.parametrize("make", [by_vector, by_positions, by_equality])
def test_queries_over_broken_deletes(session: LakeSession, lake: Path, make: object) -> None:
    for seed in range(12):
        name = f"{make.__name__}_{seed}"  # type: ignore[attr-defined]
        _, path = make(lake / name)  # type: ignore[operator]
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] if seed == 0 else broken(data, random.Random(seed), start=4))
        try:
            found = [id for (id,) in rows(session, f"SELECT id FROM {name} ORDER BY id")]
        except SqlError as error:
            assert not error.condition.startswith("INTERNAL"), (seed, error)
        else:
            assert make is not by_vector
            assert len(found) >= len(LEFT) and found == sorted(set(found))
