"""File pruning on columns that are shown with another type than the stored one."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, product
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, TimeType, UUIDType

from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.spec.partitions import parse_transform
from engine.iceberg.spec.single_values import to_bytes
from engine.iceberg.spec.transforms import apply
from engine.iceberg.spec.types import Kind, SimpleType
from engine.main import LakeSession
from engine.pruning.predicates import Column, Compare, In, Literal, Not, Operator, Predicate, StartsWith
from engine.storage.storage import open_storage
from engine.types.schema import PrimitiveType
from tests.bench.sides import run as run_profiled
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.lake_sessions import rows, run

OPERATORS = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.LESS_OR_EQUAL: le,
    Operator.GREATER: gt,
    Operator.GREATER_OR_EQUAL: ge,
}
DAY_US = 86_400_000_000
NTZ, TZ, STRING = PrimitiveType.TIMESTAMP_NTZ, PrimitiveType.TIMESTAMP, PrimitiveType.STRING
KINDS = [
    (Kind.UUID, STRING, "bytes"),
    (Kind.TIME, STRING, "long"),
    (Kind.TIMESTAMP_NS, NTZ, "long"),
    (Kind.TIMESTAMPTZ_NS, TZ, "long"),
]
CASES = [(*kind, transform) for kind in KINDS for transform in ("", "identity", "bucket[4]")]
# Times and uuids have no days.
CASES += [(*kind, "day") for kind in KINDS if kind[1] is not STRING]


def some_values(kind: Kind, chance: random.Random) -> list[Any]:
    """Returns stored values close to each other, so that files have separate ranges."""
    if kind is Kind.UUID:
        head, sign = chance.randrange(256), chance.choice([0, 0x80])
        tails = [bytes([sign, 0, chance.randrange(256)]) + chance.randbytes(5) for _ in range(3)]
        heads = [bytes([head ^ chance.choice([0, 0, 0x80])]) + bytes(7) for _ in range(3)]
        return [chance.choice(heads) + chance.choice(tails) for _ in range(6)]
    if kind is Kind.TIME:
        hour = chance.randrange(24) * 3_600_000_000
        return [hour + chance.choice([0, 1, 500_000, 3_599_999_999, 60_000_000]) for _ in range(6)]
    start = chance.choice([-1, 1]) * chance.randrange(10**9) * 10**9
    return [start + chance.randrange(5_000_000) * 1000 for _ in range(6)]


def shown(kind: Kind, value: Any) -> Any:
    if kind is Kind.UUID:
        return str(UUID(bytes=value))
    if kind is Kind.TIME:
        whole, _, fraction = (datetime(1970, 1, 1) + timedelta(microseconds=value)).isoformat()[11:].partition(".")
        return f"{whole}.{fraction.rstrip('0')}" if fraction else whole
    return value // 1000


def signed(value: bytes) -> tuple[int, int]:
    """Compares as `java.util.UUID` does."""
    return int.from_bytes(value[:8], "big", signed=True), int.from_bytes(value[8:], "big", signed=True)


def bounds(kind: Kind, groups: Sequence[Sequence[Any]]) -> dict[str, dict[int, bytes]]:
    """Returns bounds over a file's row groups, as a Java writer combines them."""
    order = signed if kind is Kind.UUID else None
    low, high = min(map(min, groups), key=order), max(map(max, groups), key=order)
    type_ = SimpleType(kind)
    return {"lower_bounds": {1: to_bytes(type_, low)}, "upper_bounds": {1: to_bytes(type_, high)}}


def contains(values: Sequence[Any], value: Any) -> bool:
    return value in values


def lacks(values: Sequence[Any], value: Any) -> bool:
    return value not in values


def begins_with(prefix: str, value: str) -> bool:
    return value.startswith(prefix)


def holds_for(holds: Callable[[Any, Any], Any], right: Any, left: Any) -> Any:
    return holds(left, right)


def conditions(sql: PrimitiveType, values: Sequence[Any]) -> list[tuple[Predicate, Any]]:
    """Returns conditions with their truth for a shown value; `values` are some existing ones."""
    near = [*values, *([each + step for each in values for step in (-1, 1)] if sql is not STRING else ["0", "g"])]
    column, found = Column(("c",)), list[tuple[Predicate, Any]]()
    for value, (operator, holds) in product(near, OPERATORS.items()):
        found.append((Compare(operator, column, Literal(value, sql)), partial(holds_for, holds, value)))
    for count in (1, 3, 12):
        some = values[::2][:count]
        among = In(column, tuple(Literal(each, sql) for each in some))
        found.append((among, partial(contains, some)))
        found.append((Not(among), partial(lacks, some)))
    if sql is STRING:
        for value, length in product(values[::3], (1, 2, 5, 20)):
            prefix = value[:length]
            found.append((StartsWith(column, prefix), partial(begins_with, prefix)))
    return found


def load(table: HandmadeTable) -> IcebergSnapshot:
    return IcebergFormat(open_storage, 1 << 26).load(str(table.folder))


@pytest.mark.parametrize(("kind", "sql", "avro", "transform"), CASES, ids=lambda each: getattr(each, "value", each))
def test_no_file_is_left_out_that_has_a_matching_row(
    tmp_path: Path, kind: Kind, sql: PrimitiveType, avro: str, transform: str
) -> None:
    """Files with one row group and with several, and manifest list summaries."""
    chance, type_ = random.Random(f"{kind} {transform}"), SimpleType(kind)
    parsed = parse_transform(transform) if transform else None
    fields = [{"source-id": 1, "field-id": 1000, "name": "p", "transform": transform}] if transform else []
    result = avro if transform == "identity" else "int"
    table = HandmadeTable(
        tmp_path / "t",
        columns=[{"id": 1, "name": "c", "required": False, "type": kind.value}],
        version=3,
        specs=[{"spec-id": 0, "fields": fields}],
        partition=[(1000, "p", result)] if transform else (),
    )
    held: dict[str, list[Any]] = {}
    for number in range(20):
        entries, partitions = list[dict[str, Any]](), list[Any]()
        for at in range(2):
            stored = some_values(kind, chance)
            if parsed is not None:
                parts = [apply(parsed, type_, each) for each in stored]
                stored = [each for each, part in zip(stored, parts, strict=True) if part == parts[0]]
                partitions.append(parts[0])
            cut = chance.choice([0, max(1, len(stored) // 2)])
            groups = [each for each in (stored[:cut], stored[cut:]) if each]
            path = f"data/{number}-{at}.parquet"
            held[path] = [shown(kind, each) for each in stored]
            entries.append(
                {
                    "content": 0,
                    "file_path": f"{table.location}/{path}",
                    "file_format": "PARQUET",
                    "record_count": len(stored),
                    "file_size_in_bytes": 100,
                    "null_value_counts": {1: 0},
                    "split_offsets": [4 + 100 * each for each in range(len(groups))],
                    "partition": {"p": partitions[-1]} if transform else {},
                    **(bounds(kind, groups) if chance.random() < 0.9 else {}),
                }
            )
        listed = table.manifest(entries, 0, number + 1, 1001, 0)
        if partitions:
            of_result = type_ if transform == "identity" else SimpleType(Kind.INT)
            order = signed if result == "bytes" else None
            low, high = (to_bytes(of_result, of(partitions, key=order)) for of in (min, max))
            listed |= {"partitions": [{"contains_null": False, "lower_bound": low, "upper_bound": high}]}
        table.listed.append(listed)
    table.commit()
    snapshot = load(table)
    paths = snapshot.files["path"].to_pylist()
    everything = [held[path] for path in paths]
    values = sorted({each[0] for each in everything[:4]})
    pruned = without = whole = 0
    for predicate, holds in conditions(sql, values):
        remaining, every = snapshot.pruning().prune(predicate), snapshot.pruning().matches_all(predicate)
        narrowed = set(replace(snapshot).narrow(predicate).files["path"].to_pylist())
        for path, inside, is_persistent, is_all in zip(paths, everything, remaining, every, strict=True):
            matching = [holds(each) for each in inside]
            assert (is_persistent and path in narrowed) or not any(matching), (predicate, inside)
            assert not is_all or all(matching), (predicate, inside)
            pruned, without, whole = pruned + (not is_persistent), without + (not any(matching)), whole + is_all
    assert pruned > without / 4  # uuids with both signs are in many files
    assert whole


@pytest.mark.parametrize("rows_of_group", [1000, 2])
def test_no_file_of_another_writer_is_left_out(tmp_path: Path, rows_of_group: int) -> None:
    """Files from pyiceberg, and from DuckDB, whose bounds pyiceberg takes from their footers."""
    chance = random.Random(rows_of_group)
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/lake")
    catalog.create_namespace("d")
    schema = Schema(NestedField(1, "u", UUIDType()), NestedField(2, "t", TimeType()))
    properties = {"write.parquet.row-group-limit": str(rows_of_group)}
    table = catalog.create_table("d.t", schema, properties=properties)
    data = tmp_path / "lake/d/t/data"
    data.mkdir(parents=True)
    held: dict[str, dict[str, list[str]]] = {}
    for number in range(12):
        uuids = [bytes([chance.choice([0, 0x7F, 0x80, 0xFF])]) + chance.randbytes(15) for _ in range(5)]
        micros = [chance.choice([0, 1, 500_000, chance.randrange(DAY_US), DAY_US - 1]) for _ in range(5)]
        times = pa.array(micros, pa.int64()).cast(pa.time64("us"))
        found = pa.table([pa.ExtensionArray.from_storage(pa.uuid(), pa.array(uuids, pa.binary(16))), times], ["u", "t"])
        if number % 2:
            path = data / f"{number}.parquet"
            duckdb.from_arrow(found).write_parquet(str(path), row_group_size=rows_of_group)
            table.add_files([str(path)])
        else:
            table.append(found)
        (name,) = {Path(each.file.file_path).name for each in table.scan().plan_files()} - held.keys()
        held[name] = {
            "u": [shown(Kind.UUID, each) for each in uuids],
            "t": [shown(Kind.TIME, each) for each in micros],
        }
    shutil.copy(table.metadata_location.removeprefix("file://"), data.parent / "metadata/v1.metadata.json")
    (data.parent / "metadata/version-hint.text").write_text("1")
    snapshot = IcebergFormat(open_storage, 1 << 26).load(str(data.parent))
    names = [Path(path).name for path in snapshot.files["path"].to_pylist()]
    for column in ("u", "t"):
        pruned = without = 0
        everything = [held[name][column] for name in names]
        for value, (operator, holds) in product(chain.from_iterable(everything), OPERATORS.items()):
            predicate = Compare(operator, Column((column,)), Literal(value, STRING))
            remaining, every = snapshot.pruning().prune(predicate), snapshot.pruning().matches_all(predicate)
            for inside, is_persistent, is_all in zip(everything, remaining, every, strict=True):
                matching = [holds(each, value) for each in inside]
                assert is_persistent or not any(matching), (predicate, inside)
                assert not is_all or all(matching), (predicate, inside)
                pruned, without = pruned + (not is_persistent), without + (not any(matching))
        assert pruned > without / 8


U = [f"{first:02x}000000-0000-4000-8000-{number:012x}" for number, first in enumerate((0x01, 0x7F, 0x80, 0xFE))]
TIMES = ["00:00:00", "07:30:00.5", "12:00:00", "23:59:59.999999"]
QUERIES = [
    (f"u = '{U[2]}'", [2], 1),
    (f"u = '{U[3].upper()}'", [], 0),
    (f"u < '{U[2]}'", [0, 1], 2),
    (f"u IN ('{U[0]}', '{U[3]}')", [0, 3], 2),
    (f"u LIKE '{U[1][:5]}%'", [1], 1),
    (f"u >= '{U[1]}' AND t < '12'", [1], 1),
    ("t = '12:00:00'", [2], 1),
    ("t BETWEEN '07:30:00.4' AND '12:00:00'", [1, 2], 2),
    ("t > '07:30:00.5'", [2, 3], 2),
    ("n = TIMESTAMP_NTZ'2024-01-03 00:00:00.000001'", [2], 1),
    ("n < TIMESTAMP_NTZ'2024-01-03 00:00:00'", [0, 1], 2),
]
# Conditions on four files with one row each and one with nulls; the matching rows, and the number of files read.
INSTANTS = [
    ("z >= TIMESTAMP'2024-01-03 00:00:00Z'", [2, 3], 2),
    ("z = TIMESTAMP'2024-01-02 00:00:00.000001Z'", [1], 1),
    ("z IS NULL", [9], 1),
]


@pytest.mark.spark
def test_statements_read_no_more_files(session: LakeSession, lake: Path) -> None:
    """The rows match DuckDB's, which supports all types except nanosecond timestamps."""

    def found(name: str, condition: str) -> tuple[list[int], int]:
        ids, (read,) = run_profiled(session, f"SELECT id FROM {name} WHERE {condition} ORDER BY id")
        return ids["id"].to_pylist(), read.files

    table = made(lake / "shown", {"id": "long", "u": "uuid", "t": "time", "n": "timestamp_ns"})
    made(lake / "instants", {"id": "long", "z": "timestamptz_ns"})
    for at, (uuid, time) in enumerate(zip(U, TIMES, strict=True)):
        moment = f"2024-01-{at + 1:02} 00:00:00.000001"
        run(session, f"INSERT INTO shown VALUES ({at}, '{uuid}', '{time}', TIMESTAMP_NTZ'{moment}')")
        run(session, f"INSERT INTO instants VALUES ({at}, TIMESTAMP'{moment}Z')")
    run(session, "INSERT INTO shown (id) VALUES (9)")
    run(session, "INSERT INTO instants (id) VALUES (9)")
    version = (table.folder / "metadata/version-hint.text").read_text()
    duckdb = open_duckdb()
    scan = f"iceberg_scan('{table.folder}/metadata/v{version}.metadata.json')"
    shown = "id, CAST(u AS VARCHAR) AS u, CAST(t AS VARCHAR) AS t, CAST(n AS TIMESTAMP) AS n"
    duckdb.execute(f"CREATE TABLE all_rows AS SELECT {shown} FROM {scan}")
    for condition, ids, files in QUERIES:
        assert found("shown", condition) == (ids, files), condition
        theirs = condition.replace("TIMESTAMP_NTZ'", "TIMESTAMP '")
        its_rows = duckdb.execute(f"SELECT id FROM all_rows WHERE {theirs} ORDER BY id").fetchall()
        assert [each for (each,) in its_rows] == ids, condition
    for condition, ids, files in INSTANTS:
        assert found("instants", condition) == (ids, files), condition
    assert run(session, f"DELETE FROM shown WHERE u >= '{U[2]}'") == 2
    assert run(session, "UPDATE shown SET id = 7 WHERE t = '07:30:00.5'") == 1
    assert rows(session, "SELECT id FROM shown ORDER BY id") == [(0,), (7,), (9,)]


def made(folder: Path, kinds: Mapping[str, str]) -> HandmadeTable:
    columns = [
        {"id": at, "name": name, "required": False, "type": kind} for at, (name, kind) in enumerate(kinds.items(), 1)
    ]
    table = HandmadeTable(folder, columns=columns, version=3)
    table.write()
    return table
