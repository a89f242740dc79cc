"""Deletion vectors in every form, storage and fault, through the whole pipeline.

Valid ones must leave the other rows, for us, DuckDB's kernel and deltalake, also if pages and row groups are skipped: a
vector contains row indexes in the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from engine.storage.deletion_vectors import format_file, format_rows, relative_deletion_vector, z85_encode
from tests.engine.lake_sessions import refuse, rows
from tests.engine.peer_readers import PEERS
from tests.handmade import Part, column, protocol, write_table

pytestmark = pytest.mark.spark

ROWS = 20_000
_UUID = UUID("5c2d4f6e-0000-4000-8000-0000000000aa")
_NAME = f"deletion_vector_{_UUID}.bin"


def _write(path: Path, *vectors: bytes) -> tuple[int, ...]:
    path.parent.mkdir(parents=True, exist_ok=True)
    content, offsets = format_file(vectors)
    path.write_bytes(content)
    return offsets


def _keys(storage: str, place: str, data: bytes, deleted: np.ndarray, **more: int) -> dict[str, Any]:
    return {
        "storageType": storage,
        "pathOrInlineDv": place,
        "sizeInBytes": len(data),
        "cardinality": len(deleted),
        **more,
    }


def _inline(root: Path, data: bytes, deleted: np.ndarray) -> dict[str, Any]:
    return _keys("i", z85_encode(data + bytes(-len(data) % 4)), data, deleted)


def _relative(root: Path, data: bytes, deleted: np.ndarray) -> dict[str, Any]:
    (offset,) = _write(root / _NAME, data)
    return _keys("u", relative_deletion_vector(_UUID), data, deleted, offset=offset)


def _prefixed(root: Path, data: bytes, deleted: np.ndarray) -> dict[str, Any]:
    (offset,) = _write(root / "xY" / _NAME, data)
    return _keys("u", relative_deletion_vector(_UUID, "xY"), data, deleted, offset=offset)


def _absolute(root: Path, data: bytes, deleted: np.ndarray) -> dict[str, Any]:
    file = root.parent.parent / "else where" / root.name / _NAME
    (offset,) = _write(file, data)
    return _keys("p", f"file://{quote(str(file))}", data, deleted, offset=offset)


def _second_of_two(root: Path, data: bytes, deleted: np.ndarray) -> dict[str, Any]:
    other = format_rows(np.arange(ROWS, dtype=np.int64))
    _, offset = _write(root / _NAME, other, data)
    return _keys("u", relative_deletion_vector(_UUID), data, deleted, offset=offset)


PLACES: dict[str, Callable[[Path, bytes, np.ndarray], dict[str, Any]]] = {
    "inline": _inline,
    "relative": _relative,
    "with a prefix": _prefixed,
    "absolute": _absolute,
    "the second in its file": _second_of_two,
}
SETS = {
    "first and last": np.array([0, ROWS - 1], np.int64),
    "every third": np.arange(0, ROWS, 3, dtype=np.int64),
    "a long run": np.arange(5000, 12_000, dtype=np.int64),
    "all": np.arange(ROWS, dtype=np.int64),
    "none": np.array([], np.int64),
}
FILTER = "n BETWEEN 6990 AND 7010 OR n >= 19998 OR n = 3"


def _live_rows(deleted: np.ndarray) -> list[int]:
    return sorted(set(range(ROWS)) - set(deleted.tolist()))


@dataclass(frozen=True, slots=True)
class Fault:
    change: Callable[[dict[str, Any], Path], None]
    condition: str


def _flip(keys: dict[str, Any], file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-6] ^= 1
    file.write_bytes(content)


def _cut(keys: dict[str, Any], file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5])


def _changed(**changes: Any) -> Callable[[dict[str, Any], Path], None]:
    return lambda keys, file: keys.update(changes)


FAULTS = {
    "a flipped bit": Fault(_flip, "DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH"),
    "cut short": Fault(_cut, "DELTA_DELETION_VECTOR_SIZE_MISMATCH"),
    "another size": Fault(_changed(sizeInBytes=9), "DELTA_DELETION_VECTOR_SIZE_MISMATCH"),
    "another count": Fault(_changed(cardinality=1), "DELTA_DELETION_VECTOR_CARDINALITY_MISMATCH"),
    "no file": Fault(lambda keys, file: file.unlink(), "DELTA_LOG_FILE_NOT_FOUND"),
    "an unknown storage": Fault(_changed(storageType="r"), "DELTA_MALFORMED_LOG_ENTRY"),
    "no text of Z85": Fault(_changed(storageType="i", pathOrInlineDv="~~~~~"), "DELTA_MALFORMED_LOG_ENTRY"),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("deleted") / "lake"
    numbers = pa.table({"n": pa.array(range(ROWS), pa.int64())})

    def write(name: str, keys: dict[str, Any]) -> None:
        part = Part(
            name="a.parquet",
            rows=numbers,
            keys={"deletionVector": keys, "stats": json.dumps({"numRecords": ROWS})},
            options={"row_group_size": 1000, "data_page_size": 512, "write_page_index": True},
        )
        write_table(root / name, [column("n", "long")], [part], table_protocol=protocol("deletionVectors"))

    for place, make in PLACES.items():
        for kind, deleted in SETS.items():
            name = _table(place, kind)
            write(name, make(root / name, format_rows(deleted), deleted))
    for fault, case in FAULTS.items():
        name = _table("fault", fault)
        deleted = SETS["every third"]
        keys = _relative(root / name, format_rows(deleted), deleted)
        case.change(keys, root / name / _NAME)
        write(name, keys)
    return root


def _table(first: str, second: str) -> str:
    return f"{first}_{second}".replace(" ", "_")


@pytest.fixture(scope="module")
def session(lake: Path, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    roots = (str(lake.parent / "else where"),)
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake), trusted_roots=roots)), spark_driver)
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.mark.diagonals("kind", "place", step=2)
@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("place", PLACES)
def test_the_others_are_read(session: LakeSession, lake: Path, place: str, kind: str) -> None:
    name, expected = _table(place, kind), [(n,) for n in _live_rows(SETS[kind])]
    assert rows(session, f"SELECT n FROM {name} ORDER BY n") == expected
    near = [(n,) for (n,) in expected if 6990 <= n <= 7010 or n >= 19998 or n == 3]
    assert rows(session, f"SELECT n FROM {name} WHERE {FILTER} ORDER BY n") == near
    assert rows(session, f"SELECT count(*), max(n) FROM {name}") == [(len(expected), max(expected, default=(None,))[0])]
    for peer, read in PEERS.items():
        assert sorted(read(lake / name, ["n"])) == expected, peer


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_and_no_row_read(session: LakeSession, fault: str) -> None:
    assert refuse(session, f"SELECT * FROM {_table('fault', fault)}").condition == FAULTS[fault].condition
