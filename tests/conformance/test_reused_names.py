"""Files whose column names have another meaning in the table: the log determines each column.

Names collide: physical and logical names, old and new columns' names, `_metadata` fields and columns, the log's
additions to rows and foreign writers' extra columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from engine.spark.session import SparkDriver
from tests.engine import feed_tables
from tests.engine.feed_tables import FeedTable
from tests.engine.read_paths import READ_PATHS, Readers, open_readers
from tests.handmade import Part, column, mapped, protocol, struct, write_table

pytestmark = pytest.mark.spark

MAPPING = protocol("columnMapping", "timestampNtz", "typeWidening")
BY_NAME = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
BY_ID = {**BY_NAME, "delta.columnMapping.mode": "id"}
PAGES = {"write_page_index": True, "max_rows_per_page": 2, "write_batch_size": 2, "use_dictionary": False}
COUNT = 8
IDS = list(range(COUNT))


def _field(name: str, number: int | None, data_type: pa.DataType) -> pa.Field:
    return pa.field(name, data_type, metadata=None if number is None else {"PARQUET:field_id": str(number)})


def _rows(fields: Mapping[pa.Field, Sequence[Any]]) -> pa.Table:
    return pa.Table.from_arrays([pa.array(v, f.type) for f, v in fields.items()], schema=pa.schema(list(fields)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    columns: Sequence[dict[str, Any]]
    parts: Sequence[Part]
    rows: Sequence[tuple[Any, ...]]
    # SQL, and the same for a row.
    conditions: Mapping[str, Callable[..., bool]]
    more: Mapping[str, Any] = field(default_factory=dict)
    configuration: Mapping[str, str] = field(default_factory=dict)


def part(rows: pa.Table | Mapping[str, Any], number: int = 0, **values: str | None) -> Part:
    table = rows if isinstance(rows, pa.Table) else pa.table(dict(rows))
    return Part(name=f"f{number}.parquet", rows=table, values=values, options=PAGES)


NAMES = {
    "a physical name that is the partition column's": Case(
        columns=[mapped("id", "long", 1, "id"), mapped("a", "long", 2, "part"), mapped("part", "long", 3, "x")],
        parts=[part({"id": IDS, "part": [i + 10 for i in IDS], "x": [99] * COUNT}, x="1")],
        rows=[(i, i + 10, 1) for i in IDS],
        conditions={
            "a = 15 OR part = 2": lambda i, a, p: a == 15,
            "a > 15 OR part = 1": lambda i, a, p: True,
            "a > 15 AND part = 1": lambda i, a, p: a > 15,
            "id = 3 OR part IS NULL": lambda i, a, p: i == 3,
        },
        configuration=BY_NAME,
        more={"partition_columns": ["part"]},
    ),
    "a partition column's physical name is another column": Case(
        columns=[mapped("id", "long", 1, "c1"), mapped("a", "long", 2, "c2"), mapped("part", "long", 3, "a")],
        parts=[part({"c1": IDS, "c2": [i + 10 for i in IDS], "a": [99] * COUNT, "part": IDS}, a="1")],
        rows=[(i, i + 10, 1) for i in IDS],
        conditions={
            "a = 15 OR part = 2": lambda i, a, p: a == 15,
            "a > 15 OR part = 1": lambda i, a, p: True,
            "a > 15 AND part < 2": lambda i, a, p: a > 15,
        },
        configuration=BY_NAME,
        more={"partition_columns": ["part"]},
    ),
    "names that swapped": Case(
        columns=[mapped("id", "long", 1, "id"), mapped("a", "string", 2, "b"), mapped("b", "long", 3, "a")],
        parts=[part({"id": IDS, "a": IDS, "b": [f"b{i}" for i in IDS]})],
        rows=[(i, f"b{i}", i) for i in IDS],
        conditions={"a = 'b3' OR b = 5": lambda i, a, b: i in (3, 5), "b > 5 AND a > 'b6'": lambda i, a, b: i > 6},
        configuration=BY_NAME,
    ),
    "a name that came back": Case(
        columns=[mapped("id", "long", 1, "id"), mapped("a", "long", 3, "col-3")],
        parts=[
            part({"id": IDS, "a": [f"old {i}" for i in IDS]}),
            part({"id": [i + 10 for i in IDS], "col-3": IDS, "a": [77] * COUNT}, 1),
        ],
        rows=[*((i, None) for i in IDS), *((i + 10, i) for i in IDS)],
        conditions={
            "a IS NULL OR a = 3": lambda i, a: a in (None, 3),
            "a < 2": lambda i, a: a is not None and a < 2,
            "NOT (a >= 2 AND id > 3)": lambda i, a: i <= 3 or (a is not None and a < 2),
        },
        configuration=BY_NAME,
    ),
    "fields of structs that swapped": Case(
        columns=[
            mapped("id", "long", 1, "id"),
            mapped("s", struct(mapped("x", "long", 3, "y"), mapped("y", "string", 4, "x")), 2, "s"),
        ],
        parts=[part({"id": IDS, "s": [{"x": f"x{i}", "y": i} for i in IDS]})],
        rows=[(i, {"x": i, "y": f"x{i}"}) for i in IDS],
        conditions={"s.x = 3 OR s.y = 'x5'": lambda i, s: i in (3, 5), "s.x > 5": lambda i, s: i > 5},
        configuration=BY_NAME,
    ),
    "names of the fields of _metadata": Case(
        columns=[
            column("id", "long"),
            column("file_size", "long"),
            column("file_name", "string"),
            column("row_index", "long"),
        ],
        parts=[
            part({"id": IDS, "file_size": IDS, "file_name": [f"n{i}" for i in IDS], "row_index": [5] * COUNT}),
        ],
        rows=[(i, i, f"n{i}", 5) for i in IDS],
        conditions={
            "_metadata.file_size > 100 AND file_size = 3": lambda i, *_: i == 3,
            "_metadata.file_size > 100 OR id = 3": lambda *_: True,
            "_metadata.file_name = 'f0.parquet'": lambda *_: True,
            "_metadata.file_name = 'f0.parquet' OR id < 0": lambda *_: True,
            "_metadata.row_index = 4": lambda i, *_: i == 4,
            "_metadata.row_index = 4 OR row_index = 6": lambda i, *_: i == 4,
            "_metadata.row_index = 4 OR file_size = 6": lambda i, *_: i in (4, 6),
        },
        more={"keys": {"stats": '{"numRecords":8,"minValues":{"file_size":0,"file_name":"n0","row_index":5},'
                                '"maxValues":{"file_size":7,"file_name":"n7","row_index":5}}'}},
    ),
    "names in other cases": Case(
        columns=[column("Id", "long"), column("part", "long")],
        parts=[part({"ID": IDS, "PART": [99] * COUNT}, part="1")],
        rows=[(i, 1) for i in IDS],
        conditions={
            "id = 3 OR part = 2": lambda i, p: i == 3,
            "ID > 5 OR PART = 1": lambda i, p: True,
            "iD > 5 AND Part = 1": lambda i, p: i > 5,
        },
        more={"partition_columns": ["part"]},
    ),
    "a partition column of another case in the metadata": Case(
        columns=[column("id", "long"), column("part", "long")],
        parts=[part({"id": IDS, "part": [99] * COUNT}, part="1")],
        rows=[(i, 1) for i in IDS],
        conditions={"id = 3 OR part = 2": lambda i, p: i == 3, "id > 5 OR part = 1": lambda i, p: True},
        more={"partition_columns": ["PART"]},
    ),
}  # fmt: skip

IDENTIFIED = {
    "by id, names that swapped with their types": Case(
        columns=[
            mapped("id", "long", 1, "c1"),
            mapped("a", "string", 2, "c2"),
            mapped("b", "integer", 3, "c3"),
            mapped("c", "decimal(9,2)", 4, "c4"),
        ],
        parts=[
            part(
                _rows(
                    {
                        _field("c2", 1, pa.int64()): IDS,
                        _field("c1", 2, pa.string()): [f"a{i}" for i in IDS],
                        _field("c4", 3, pa.int32()): [i + 10 for i in IDS],
                        _field("c3", 4, pa.decimal128(9, 2)): [None] * COUNT,
                    }
                )
            )
        ],
        rows=[(i, f"a{i}", i + 10, None) for i in IDS],
        conditions={
            "a = 'a3' OR b = 15": lambda i, *_: i in (3, 5),
            "id > 5 AND b < 17 AND c IS NULL": lambda i, *_: i == 6,
        },
        configuration=BY_ID,
    ),
    "by id, names of other columns and wider types": Case(
        columns=[
            mapped("id", "long", 1, "c1"),
            mapped("b", "long", 2, "c2"),
            mapped("x", "double", 3, "c3"),
            mapped("t", "timestamp", 4, "c4"),
            mapped("n", "timestamp_ntz", 5, "c5"),
        ],
        parts=[
            part(
                _rows(
                    {
                        _field("c4", 1, pa.int64()): IDS,
                        _field("q", 2, pa.int32()): [i + 10 for i in IDS],
                        _field("c1", 3, pa.float32()): [i / 2 for i in IDS],
                        _field("c5", 4, pa.timestamp("us", "UTC")): [None] * COUNT,
                        _field("c3", 5, pa.timestamp("us")): [None] * COUNT,
                    }
                )
            )
        ],
        rows=[(i, i + 10, i / 2, None, None) for i in IDS],
        conditions={"b = 13 OR x = 2.5": lambda i, *_: i in (3, 5), "t IS NULL AND n IS NULL": lambda *_: True},
        configuration=BY_ID,
    ),
    "by id, columns that the file lacks have names in it": Case(
        columns=[mapped("id", "long", 1, "c1"), mapped("a", "string", 2, "c2"), mapped("new", "long", 5, "gone")],
        parts=[
            part(
                _rows(
                    {
                        _field("c2", 1, pa.int64()): IDS,
                        _field("gone", 9, pa.string()): ["x"] * COUNT,
                        _field("c1", None, pa.string()): ["y"] * COUNT,
                    }
                )
            )
        ],
        rows=[(i, None, None) for i in IDS],
        conditions={"a IS NULL AND id > 5": lambda i, *_: i > 5, "new = 3 OR id = 1": lambda i, *_: i == 1},
        configuration=BY_ID,
    ),
    "by id, fields of structs, arrays and maps that swapped": Case(
        columns=[
            mapped("id", "long", 1, "c1"),
            mapped("s", struct(mapped("x", "long", 3, "p"), mapped("y", "string", 4, "q")), 2, "c2"),
            mapped(
                "l",
                {
                    "type": "array",
                    "containsNull": True,
                    "elementType": struct(mapped("x", "long", 6, "p"), mapped("y", "string", 7, "q")),
                },
                5,
                "c5",
            ),
            mapped(
                "m",
                {
                    "type": "map",
                    "keyType": "string",
                    "valueContainsNull": True,
                    "valueType": struct(mapped("x", "long", 9, "p"), mapped("y", "string", 10, "q")),
                },
                8,
                "c8",
            ),
        ],
        parts=[
            part(
                _rows(
                    {
                        _field("c8", 1, pa.int64()): IDS,
                        _field(
                            "c5", 2, pa.struct([_field("q", 3, pa.int32()), _field("p", 4, pa.string())])
                        ): [{"q": i, "p": f"s{i}"} for i in IDS],
                        _field(
                            "c2",
                            5,
                            pa.list_(pa.struct([_field("p", 7, pa.string()), _field("q", 6, pa.int64())])),
                        ): [[{"p": f"l{i}", "q": i}] for i in IDS],
                        _field(
                            "c1",
                            8,
                            pa.map_(pa.string(), pa.struct([_field("q", 9, pa.int64()), _field("z", 10, pa.string())])),
                        ): [[("k", {"q": i, "z": f"m{i}"})] for i in IDS],
                    }
                )
            )
        ],
        rows=[
            (i, {"x": i, "y": f"s{i}"}, [{"x": i, "y": f"l{i}"}], [("k", {"x": i, "y": f"m{i}"})]) for i in IDS
        ],
        conditions={
            "s.x = 3 OR l[0].y = 'l5' OR m['k'].x = 6": lambda i, *_: i in (3, 5, 6),
            "s.y > 's5' AND id > 6": lambda i, *_: i == 7,
        },
        configuration=BY_ID,
    ),
    "by id, a partition column in the file": Case(
        columns=[mapped("id", "long", 1, "c1"), mapped("part", "long", 2, "c2"), mapped("a", "string", 3, "part")],
        parts=[
            part(
                _rows(
                    {
                        _field("c1", 1, pa.int64()): IDS,
                        _field("part", 2, pa.int64()): [99] * COUNT,
                        _field("c2", 3, pa.string()): [f"a{i}" for i in IDS],
                    }
                ),
                c2="1",
            )
        ],
        rows=[(i, 1, f"a{i}") for i in IDS],
        conditions={
            "id = 3 OR part = 2": lambda i, *_: i == 3,
            "a > 'a5' AND part = 1": lambda i, *_: i > 5,
            "a > 'a5' OR part = 1": lambda *_: True,
        },
        configuration=BY_ID,
        more={"partition_columns": ["part"]},
    ),
}  # fmt: skip

CASES = {**NAMES, **IDENTIFIED}


def _folder(name: str) -> str:
    return f"t{list(CASES).index(name)}"


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[Readers]:
    lake = tmp_path_factory.mktemp("names")
    for name, case in CASES.items():
        more = dict(case.more)
        keys = more.pop("keys", {})
        parts = [Part(name=p.name, rows=p.rows, values=p.values, options=p.options, keys=keys) for p in case.parts]
        if case.configuration:
            more |= {"configuration": case.configuration, "table_protocol": MAPPING}
        write_table(lake / _folder(name), case.columns, parts, **more)
    _write_feed(lake / "feed")
    with open_readers(lake, spark_driver) as opened:
        yield opened


@pytest.mark.diagonals("name", "path", step=2)
@pytest.mark.parametrize("path", READ_PATHS)
@pytest.mark.parametrize("name", CASES)
def test_columns_are_those_of_the_log(readers: Readers, name: str, path: str) -> None:
    case = CASES[name]
    assert readers.rows(readers.plan(f"SELECT * FROM {_folder(name)}"), path) == sorted(case.rows, key=repr)
    for condition, holds in case.conditions.items():
        plan = readers.plan(f"SELECT * FROM {_folder(name)} WHERE {condition}")
        expected = [row for row in case.rows if holds(*row)]
        assert readers.rows(plan, path) == sorted(expected, key=repr), condition


CHANGES = [(i, 1, "insert", 1) for i in IDS] + [(i, 1, "delete", 2) for i in (0, 1)] + [
    (0, 1, "update_preimage", 3), (0, 1, "update_postimage", 3),
]  # fmt: skip
FEED_CONDITIONS: dict[str, Callable[..., bool]] = {
    "id = 5 OR _commit_version = 2": lambda i, p, t, v: i == 5 or v == 2,
    "id = 5 OR _change_type = 'delete'": lambda i, p, t, v: i == 5 or t == "delete",
    "id = 5 OR _commit_timestamp > TIMESTAMP'2020-01-01 00:00:00'": lambda *_: True,
    "id = 5 OR part = 1": lambda *_: True,
    "id = 5 OR part = 7": lambda i, *_: i == 5,
    "_change_type = 'update_postimage' OR id = 7": lambda i, p, t, v: i == 7 or t == "update_postimage",
    "NOT (_commit_version <> 3 AND id <> 6)": lambda i, p, t, v: v == 3 or i == 6,
}


def _write_feed(folder: Path) -> None:
    """Every file has columns with the feed's names, and the partition column, with other values than the log's."""
    table = FeedTable(folder)
    schema = (feed_tables.column("id", "long"), feed_tables.column("part", "long"))

    def columns(ids: Sequence[int], types: Sequence[str]) -> dict[str, Any]:
        count = len(ids)
        stamps = pa.array([0] * count, pa.timestamp("us", "UTC"))
        return {
            "id": pa.array(ids),
            "part": [7] * count,
            "_change_type": types,
            "_commit_version": [77] * count,
            "_commit_timestamp": stamps,
        }

    values = {"partitionValues": {"part": "1"}}
    table.commit({"protocol": feed_tables.LEGACY}, FeedTable.metadata(*schema, partitions=["part"]))
    table.commit(table.add("a.parquet", columns(IDS, ["odd"] * COUNT), **values))
    deleted = table.cdc("_change_data/d.parquet", columns([0, 1], ["delete"] * 2), **values)
    table.commit(table.remove("a.parquet", **values), deleted)
    table.commit(
        table.cdc("_change_data/u.parquet", columns([0, 0], ["update_preimage", "update_postimage"]), **values)
    )


@pytest.mark.parametrize("path", READ_PATHS)
def test_change_feeds_take_from_the_log_what_it_says(readers: Readers, path: str) -> None:
    for condition, holds in FEED_CONDITIONS.items():
        text = f"SELECT id, part, _change_type, _commit_version FROM table_changes('feed', 1) WHERE {condition}"
        assert readers.rows(readers.plan(text), path) == sorted((row for row in CHANGES if holds(*row)), key=repr), (
            condition
        )
