"""Random tables and predicates: pruning never loses a row, and its statements about whole files and partitions hold."""

from __future__ import annotations

import decimal
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.delta.log.file_table import encode_partition_values, partition_schema
from engine.delta.snapshot.file_stats import parse_stats, stats_schema
from engine.pruning.predicates import (
    And,
    Cast,
    Column,
    Compare,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Operand,
    Operator,
    Or,
    Path,
    Predicate,
    StartsWith,
    Unknown,
    columns_of,
    push_down_not,
)
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumns
from engine.types.schema import DataType, DecimalType, PrimitiveType, StructField, StructType
from tests.engine.delta.row_evaluation import Row, evaluate_row, round_to_float, value_of
from tests.engine.delta.written_stats import Writer, stats_text
from tests.examples import examples

_SHORT, _LONG = DecimalType(10, 2), DecimalType(38, 4)
_DAY_US = 86_400_000_000

DATA: Mapping[Path, DataType] = {
    ("i",): PrimitiveType.LONG,
    ("b",): PrimitiveType.BYTE,
    ("x",): PrimitiveType.DOUBLE,
    ("f",): PrimitiveType.FLOAT,
    ("s",): PrimitiveType.STRING,
    ("t",): PrimitiveType.TIMESTAMP,
    ("n",): PrimitiveType.TIMESTAMP_NTZ,
    ("d",): PrimitiveType.DATE,
    ("m",): _SHORT,
    ("w",): _LONG,
    ("o",): PrimitiveType.BOOLEAN,
    ("a", "y"): PrimitiveType.INTEGER,
}
PARTITIONS: Mapping[Path, DataType] = {
    ("ps",): PrimitiveType.STRING,
    ("pi",): PrimitiveType.INTEGER,
    ("pd",): PrimitiveType.DATE,
    ("px",): PrimitiveType.DOUBLE,
    ("pw",): _LONG,
    ("pt",): PrimitiveType.TIMESTAMP,
}
TYPES = {**DATA, **PARTITIONS}
SCHEMA = StructType(
    (
        *(StructField(path[0], kind) for path, kind in TYPES.items() if len(path) == 1),
        StructField("a", StructType((StructField("y", PrimitiveType.INTEGER),))),
    )
)
COLUMNS = TableColumns(
    schema=SCHEMA, partition_columns=tuple(path[0] for path in PARTITIONS), time_zone=ZoneInfo("Asia/Tokyo")
)
STATS_SCHEMA = stats_schema(SCHEMA, [path[0] for path in PARTITIONS])

_STRING_PARTS = st.sampled_from(["a", "b", "z", "\x01", "é", "ﬀ", "\U0001f600", "\U0010ffff", "abc"])
_LONG_STRINGS = st.builds(
    lambda start, tail: (start * 40)[:31] + tail, st.sampled_from(["a", "é", "\U0010ffff"]), st.text(max_size=6)
)
_FLOATS = st.sampled_from([0.0, -0.0, 1.5, -1.5, 0.1, 1e300, math.inf, -math.inf, math.nan]) | st.floats()
_INSTANTS = st.one_of(
    st.integers(-3 * _DAY_US, 3 * _DAY_US),
    st.integers(0, 5).map(lambda ms: 1_700_000_000_000_000 + ms * 500),
    st.integers(-62_000_000_000_000_000, 200_000_000_000_000_000),
)

_VALUES: Mapping[DataType, st.SearchStrategy[Any]] = {
    PrimitiveType.LONG: st.integers(-5, 5) | st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1, 2**53]),
    PrimitiveType.INTEGER: st.integers(-5, 5) | st.sampled_from([2**31 - 1, -(2**31)]),
    PrimitiveType.BYTE: st.integers(-3, 3) | st.sampled_from([127, -128]),
    PrimitiveType.DOUBLE: _FLOATS,
    PrimitiveType.FLOAT: _FLOATS.map(round_to_float),
    PrimitiveType.STRING: st.lists(_STRING_PARTS, max_size=4).map("".join) | _LONG_STRINGS,
    PrimitiveType.TIMESTAMP: _INSTANTS,
    PrimitiveType.TIMESTAMP_NTZ: _INSTANTS,
    PrimitiveType.DATE: st.integers(-3, 3) | st.integers(-700_000, 2_000_000),
    _SHORT: st.integers(-300, 300).map(lambda units: Decimal(units).scaleb(-2)),
    _LONG: st.builds(
        lambda units, near: Decimal(units + near).scaleb(-4),
        st.sampled_from([0, 10**20, -(10**33), 123456789012345678901234567890]),
        st.integers(-3, 3),
    ),
    PrimitiveType.BOOLEAN: st.booleans(),
}
_CASTS: Mapping[DataType, tuple[DataType, ...]] = {
    PrimitiveType.LONG: (PrimitiveType.DOUBLE, PrimitiveType.FLOAT, DecimalType(20, 1)),
    PrimitiveType.INTEGER: (PrimitiveType.LONG, DecimalType(10, 0)),
    PrimitiveType.BYTE: (PrimitiveType.INTEGER,),
    PrimitiveType.FLOAT: (PrimitiveType.DOUBLE,),
    PrimitiveType.TIMESTAMP: (PrimitiveType.DATE, PrimitiveType.TIMESTAMP_NTZ),
    PrimitiveType.TIMESTAMP_NTZ: (PrimitiveType.DATE, PrimitiveType.TIMESTAMP),
    PrimitiveType.DATE: (PrimitiveType.TIMESTAMP, PrimitiveType.TIMESTAMP_NTZ),
    _SHORT: (PrimitiveType.DOUBLE, DecimalType(20, 4)),
    _LONG: (PrimitiveType.DOUBLE,),
}
_OF_CAST: Mapping[DataType, st.SearchStrategy[Any]] = {
    DecimalType(20, 1): st.integers(-50, 50).map(lambda units: Decimal(units).scaleb(-1)),
    DecimalType(10, 0): st.integers(-5, 5).map(Decimal),
    DecimalType(20, 4): st.integers(-30000, 30000).map(lambda units: Decimal(units).scaleb(-4)),
}


def values(kind: DataType) -> st.SearchStrategy[Any]:
    return _VALUES[kind] if kind in _VALUES else _OF_CAST[kind]


@dataclass(frozen=True)
class DataFile:
    # All rows; in a partitioned table they include the partition values.
    rows: tuple[Row, ...]
    # The rows that no deletion vector deletes.
    live: tuple[Row, ...]
    partition: Mapping[str, str | None]
    stats: str | None


def partition_text(value: Any, kind: DataType) -> str | None:
    """Returns the text that writers use; a timestamp has its offset."""
    if value is None:
        return None
    match kind:
        case PrimitiveType.DATE:
            return str(np.datetime64(value, "D"))
        case PrimitiveType.TIMESTAMP:
            return str(np.datetime64(value, "us")) + "Z"
        case PrimitiveType.DOUBLE:
            return repr(value).replace("inf", "Infinity").replace("nan", "NaN")
        case DecimalType():
            return f"{value:f}"
        case _:
            return str(value)


@st.composite
def data_files(draw: st.DrawFn, paths: list[Path]) -> DataFile:
    """Returns a file in a table with the columns `paths`."""
    types = {path: kind for path, kind in DATA.items() if path in paths}
    partition = {path: draw(st.none() | values(kind)) for path, kind in PARTITIONS.items() if path in paths}
    if partition.get(("ps",)) == "":
        partition[("ps",)] = None
    cells = {path: values(kind) if draw(st.booleans()) else st.none() | values(kind) for path, kind in types.items()}
    rows = [{**row, **partition} for row in draw(st.lists(st.fixed_dictionaries(cells), max_size=3))]
    live = [row for row in rows if draw(st.booleans())] if draw(st.integers(0, 3)) == 0 else rows
    texts = {path[0]: partition_text(value, PARTITIONS[path]) for path, value in partition.items()}
    if draw(st.integers(0, 4)) == 0:
        texts = {name: text for name, text in texts.items() if text is not None}
    stats = None
    if draw(st.integers(0, 9)):
        left_out = [draw(st.sampled_from(sorted(types)))] if types and draw(st.integers(0, 4)) == 0 else []
        writer = draw(st.sampled_from(Writer))
        stats = stats_text(rows, types, writer, left_out=left_out, wide=len(live) < len(rows))
    return DataFile(tuple(rows), tuple(live), texts, stats)


def neighbors(value: Any, kind: DataType) -> list[Any]:
    """Returns the value and adjacent values, where off-by-one errors show."""
    match value:
        case bool():
            return [value, not value]
        case int():
            return [value, value - 1, value + 1]
        case float():
            return [value, math.nextafter(value, -math.inf), math.nextafter(value, math.inf), math.nan]
        case Decimal() if isinstance(kind, DecimalType):
            step = Decimal(1).scaleb(-kind.scale)
            with decimal.localcontext(prec=60):
                return [value, value - step, value + step]
        case str():
            return [value, value[:-1], value + "\x7f", value + "a"]
        case _:
            return [value]


@st.composite
def leaves(draw: st.DrawFn, paths: list[Path], rows: list[Row]) -> Predicate:
    path = draw(st.sampled_from(paths))
    kind = TYPES[path]
    operand: Operand = Column(path)
    if kind in _CASTS and draw(st.integers(0, 3)) == 0:
        kind = draw(st.sampled_from(_CASTS[kind]))
        operand = Cast(Column(path), kind)
    seen = [value for row in rows if (value := value_of(operand, row, TYPES)) is not None]
    near = [
        Decimal(item) if isinstance(kind, DecimalType) else item for value in seen for item in neighbors(value, kind)
    ]
    if bool(near) and draw(st.integers(0, 7)) > 0:
        literal_values: st.SearchStrategy[Any] = st.sampled_from(near)
    else:
        literal_values = st.none() | values(kind)
    literal = st.builds(Literal, literal_values, st.just(kind))
    shape = draw(st.integers(0, 9))
    if shape == 0:
        null_tests: list[IsNull | IsNotNull] = [IsNull(Column(path)), IsNotNull(Column(path))]
        return draw(st.sampled_from(null_tests))
    if shape == 1:
        return In(operand, tuple(draw(st.lists(literal, min_size=1, max_size=12))))
    if kind is PrimitiveType.STRING and shape < 5:
        prefix = draw(literal).value
        assert prefix is None or isinstance(prefix, str)
        return StartsWith(operand, prefix)
    return Compare(draw(st.sampled_from(Operator)), operand, draw(literal))


def predicates(paths: list[Path], rows: list[Row]) -> st.SearchStrategy[Predicate]:
    base = st.one_of(*[leaves(paths, rows)] * 4, st.sampled_from([Constant(True), Constant(False), Constant(None)]))
    return st.recursive(
        base,
        lambda children: st.one_of(
            st.lists(children, min_size=1, max_size=3).map(lambda parts: And(tuple(parts))),
            st.lists(children, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts))),
            children.map(Not),
        ),
        max_leaves=3,
    )


@st.composite
def queries(draw: st.DrawFn, paths: list[Path], min_rows: int = 0) -> tuple[list[DataFile], Predicate]:
    """Returns files with up to three columns, and a predicate close to their values."""
    selected = draw(st.lists(st.sampled_from(paths), min_size=1, max_size=3, unique=True))
    files = draw(st.lists(data_files(selected).filter(lambda file: len(file.rows) >= min_rows), min_size=1, max_size=3))
    rows = [row for file in files for row in file.rows]
    return files, draw(predicates(selected, rows))


def pruning_of(files: list[DataFile]) -> FilePruning:
    """Returns the files as the snapshot gives them."""
    maps = pa.array([list(file.partition.items()) for file in files], pa.map_(pa.string(), pa.string()))
    batch = parse_stats(pa.array([file.stats for file in files], pa.string()), STATS_SCHEMA)
    table = pa.Table.from_batches([batch])
    texts = encode_partition_values(maps, partition_schema(COLUMNS.partition_columns))
    return FilePruning(
        COLUMNS,
        len(files),
        lambda name: pa.chunked_array([texts.column(name)]),
        lambda rows, _: table if rows is None else table.take(rows),
    )


@examples(200)
@given(queries(sorted(TYPES)))
def test_no_file_with_a_matching_row_is_pruned(query_text: tuple[list[DataFile], Predicate]) -> None:
    ensure_nothing_is_lost(*query_text)


@pytest.mark.parametrize("path", sorted(TYPES), ids=".".join)
@examples(25)
@given(data=st.data())
def test_no_file_with_a_matching_row_is_pruned_by_its_only_column(path: Path, data: st.DataObject) -> None:
    ensure_nothing_is_lost(*data.draw(queries([path])))


def ensure_nothing_is_lost(files: list[DataFile], predicate: Predicate) -> None:
    pruning = pruning_of(files)
    remaining, whole = pruning.prune(predicate), pruning.matches_all(predicate)
    false_somewhere = pruning.prune(Not(predicate))
    for index, file in enumerate(files):
        found = {evaluate_row(predicate, row, TYPES) for row in file.live}
        assert remaining[index] or True not in found
        assert false_somewhere[index] or False not in found
        assert not whole[index] or found <= {True}


@examples(80)
@given(queries(sorted(PARTITIONS)))
def test_partition_masks_are_exact_or_say_that_they_are_not(query_text: tuple[list[DataFile], Predicate]) -> None:
    files, predicate = query_text
    mask, is_exact = pruning_of(files).partition_mask(predicate)
    rows = [{path: file_value(file, path) for path in PARTITIONS} for file in files]
    wanted = [evaluate_row(predicate, row, TYPES) is True for row in rows]
    if is_exact:
        assert mask.tolist() == wanted
    else:
        assert columns_of(predicate) is not None
        assert all(remaining or not match for remaining, match in zip(mask.tolist(), wanted, strict=True))


def file_value(file: DataFile, path: Path) -> Any:
    """Returns the partition value of the text, parsed independently."""
    text = file.partition.get(path[0])
    if text is None or text == "":
        return None
    match PARTITIONS[path]:
        case PrimitiveType.DATE:
            return int(np.datetime64(text, "D").astype(int))
        case PrimitiveType.TIMESTAMP:
            return int(np.datetime64(text.removesuffix("Z"), "us").astype(int))
        case PrimitiveType.DOUBLE:
            return float(text)
        case PrimitiveType.INTEGER:
            return int(text)
        case DecimalType():
            return Decimal(text)
        case _:
            return text


@examples(200)
@given(queries(sorted(TYPES)))
def test_pushing_not_down_changes_no_truth_value(query_text: tuple[list[DataFile], Predicate]) -> None:
    files, predicate = query_text
    for row in files[0].rows:
        assert evaluate_row(push_down_not(predicate), row, TYPES) == evaluate_row(predicate, row, TYPES)
        negated = push_down_not(predicate, negate=True)
        assert evaluate_row(negated, row, TYPES) == evaluate_row(Not(predicate), row, TYPES)


@examples(100)
@given(queries(sorted(TYPES), min_rows=1), st.booleans())
def test_an_unknown_part_weakens_the_answer_only(query_text: tuple[list[DataFile], Predicate], negated: bool) -> None:
    files, predicate = query_text
    pruning = pruning_of(files)
    mystery: Predicate = Not(Unknown("rand() < 0.5")) if negated else Unknown("rand() < 0.5")
    assert pruning.prune(And((predicate, mystery))).tolist() == pruning.prune(predicate).tolist()
    assert pruning.prune(Or((predicate, mystery))).all()
    assert not pruning.matches_all(And((predicate, mystery))).any()


@pytest.mark.parametrize("count", [0, 1])
def test_tables_of_no_and_one_file(count: int) -> None:
    partition = {path[0]: None for path in PARTITIONS}
    files = [DataFile((), (), partition, None)] * count
    assert pruning_of(files).prune(IsNull(Column(("ps",)))).tolist() == [True] * count
    assert pruning_of(files).prune(IsNotNull(Column(("i",)))).tolist() == [True] * count
