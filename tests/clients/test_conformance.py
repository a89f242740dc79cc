"""Every table, through every interface, cell for cell what its makers say it holds.

The tables are those of other engines with their expected rows, and the sample lake. Which of them must be refused is
asked of the table of features, so that a feature that the product learns moves its tables from one side to the other.
Hive's own client is started once for all tables, since a start takes seconds.
"""

from __future__ import annotations

import csv
import io
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyhive import hive

from engine.delta import load_snapshot
from engine.delta.errors import UnsupportedReaderFeatures
from engine.delta.spec.features import Operation
from engine.sample_data import make_sample_rows
from tests.clients.drivers import JARS, java
from tests.clients.fix_server import RealServer
from tests.clients.typed_values import sql_type, typed
from tests.paths import DAT, GOLDEN

pytestmark = [pytest.mark.clients, pytest.mark.spark]

ROWS_MAX = 500
"""Rows of a table that the clients of text fetch; Arrow fetches all."""

Binary = Callable[[Any], Any]
"""What becomes of a cell of bytes before it is compared, for clients that cannot show bytes as they are."""

_PACIFIC = "America/Los_Angeles"


def _same(cell: Any) -> Any:
    return cell


@dataclass(frozen=True)
class Table:
    """`zone` is the session zone in which the expected rows were written down."""

    name: str
    zone: str
    read: Callable[[], pa.Table] = field(repr=False)
    folder: Path | None = None

    @cached_property
    def expected(self) -> pa.Table:
        return self.read()

    @cached_property
    def refused_features(self) -> str | None:
        """The features for which a read must be refused, or None."""
        if self.folder is None:
            return None
        try:
            load_snapshot(str(self.folder)).config.ensure_supported(Operation.READ)
        except UnsupportedReaderFeatures as error:
            return error.features
        return None

    @property
    def label(self) -> str:
        """How messages call it."""
        parts = (part.strip("`") for part in self.name.rsplit(".", 1))
        return ".".join(f"`{part}`" for part in ("spark_catalog", *parts))

    @property
    def query(self) -> str:
        limit = f" LIMIT {ROWS_MAX}" if self.expected.num_rows > ROWS_MAX else ""
        return f"SELECT * FROM {self.name}{limit}"

    def check(self, columns: Sequence[str], rows: Iterable[Sequence[object]], binary: Binary = _same) -> None:
        """Compare rows as multisets; rows that were cut must be among the expected ones."""
        assert sorted(columns) == sorted(self.expected.column_names)
        shown = self._count(columns, rows, binary)
        if self.expected.num_rows > ROWS_MAX:
            near = self._near(columns, shown)
            assert shown.total() == ROWS_MAX and shown <= self._count(columns, _rows(near, columns), binary)
        else:
            assert shown == self._count(columns, _rows(self.expected, columns), binary)

    def _near(self, columns: Sequence[str], shown: Counter[Any]) -> pa.Table:
        """The expected rows that may be among the shown ones: a million rows are too many to compare one by one."""
        for position, name in enumerate(columns):
            if pa.types.is_integer(kind := self.expected.schema.field(name).type):
                keys = pa.array({row[position] for row in shown}, kind)
                return self.expected.filter(pc.is_in(self.expected[name], keys))
        return self.expected

    def _count(self, columns: Sequence[str], rows: Iterable[Sequence[object]], binary: Binary) -> Counter[Any]:
        kinds = [self.expected.schema.field(name).type for name in columns]
        reads = [binary if pa.types.is_binary(kind) else _same for kind in kinds]
        return Counter(
            tuple(typed(read(cell), kind, self.zone) for cell, kind, read in zip(row, kinds, reads, strict=True))
            for row in rows
        )


def _parquet(pattern: Path) -> Callable[[], pa.Table]:
    return lambda: pa.concat_tables(map(pq.read_table, sorted(pattern.parent.glob(pattern.name))))


def _tables() -> list[Table]:
    dat = [
        Table(f"`dat.{f.name}`.delta", "UTC", _parquet(f / "expected/latest/table_content/*.parquet"), f / "delta")
        for f in sorted(DAT.iterdir())
    ]
    golden = [
        Table(
            f"`golden.{f.name}`.delta",
            _PACIFIC if f.name.startswith("data-reader-partition-values") else "UTC",
            _parquet(f / "expected/*.parquet"),
            f / "delta",
        )
        for f in sorted(GOLDEN.iterdir())
        if (f / "expected").is_dir()
    ]
    sample = make_sample_rows().tables
    return [
        *dat,
        *golden,
        *(Table(table.path.replace("/", "."), "UTC", partial(_same, table.rows)) for table in sample),
    ]


TABLES = _tables()
EACH = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


@EACH
def test_arrow_over_http(server: RealServer, table: Table) -> None:
    client = server.http(TIMEZONE=table.zone)
    text = f"SELECT * FROM {table.name}"
    if table.refused_features:
        _ensure_refusal(client.failure(text)["message"], table)
    else:
        types, rows = client.arrow(text)
        assert types == {column.name: sql_type(column.type) for column in table.expected.schema}
        if rows.num_rows <= ROWS_MAX:
            table.check(rows.column_names, _rows(rows, rows.column_names))
        else:
            assert _sorted(rows.cast(table.expected.select(rows.column_names).schema)) == _sorted(table.expected)
    client.close()


@EACH
def test_json_over_http(server: RealServer, table: Table) -> None:
    client = server.http(TIMEZONE=table.zone)
    if table.refused_features:
        _ensure_refusal(client.failure(table.query)["message"], table)
    else:
        answer = client.run(table.query)
        columns = [column["name"] for column in answer["manifest"]["schema"]["columns"]]
        table.check(columns, answer["result"]["data_array"])
    client.close()


@pytest.fixture(scope="module")
def cursor(server: RealServer) -> Iterator[Any]:
    connection = hive.connect("127.0.0.1", server.thrift_port, username="ada")
    yield connection.cursor()
    connection.close()


@EACH
def test_pyhive(cursor: Any, table: Table) -> None:
    cursor.execute(f"SET TIME ZONE '{table.zone}'")
    if table.refused_features:
        with pytest.raises(hive.OperationalError) as raised:
            cursor.execute(table.query)
        _ensure_refusal(str(raised.value), table)
    else:
        cursor.execute(table.query)
        table.check([name for name, *_ in cursor.description], cursor.fetchall())


_MARK = "<end>"
_SEPARATORS = {"csv2": ",", "tsv2": "\t"}


@dataclass(frozen=True)
class Shell:
    """What beeline said of each table: header and rows, none where it was refused; and all its errors."""

    answers: list[list[list[str]]]
    errors: list[str]


@pytest.fixture(scope="module", params=_SEPARATORS)
def shell(request: pytest.FixtureRequest, server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    script = tmp_path_factory.mktemp("beeline") / "all.sql"
    lines = [f"SET TIME ZONE '{table.zone}';\n{table.query};\nSELECT '{_MARK}';\n" for table in TABLES]
    script.write_text("".join(lines), encoding="utf-8")
    url = f"jdbc:hive2://127.0.0.1:{server.thrift_port}/default"
    options = [f"--outputformat={request.param}", "--silent=true", "--force=true", "-f", str(script)]
    command = [java(), "-Ddisable.quoting.for.sv=false", "-Dfile.encoding=UTF-8", "-cp", JARS]
    done = subprocess.run(
        [*command, "org.apache.hive.beeline.BeeLine", "-u", url, "-n", "ada", *options],
        capture_output=True,
        encoding="utf-8",
        timeout=240,
    )
    records = csv.reader(io.StringIO(done.stdout), delimiter=_SEPARATORS[request.param])
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    return Shell(list(_answers(record for record in records if record)), errors)


def _answers(records: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    """What stands between the answer of SET, a header and a row, and that of the mark, which is both."""
    answer: list[list[str]] = []
    for record in records:
        answer.append(record)
        if answer[-2:] == [[_MARK], [_MARK]]:
            yield answer[2:-2]
            answer = []


@EACH
def test_beeline(shell: Shell, table: Table) -> None:
    answer = shell.answers[TABLES.index(table)]
    if table.refused_features:
        assert answer == []
        _ensure_refusal(next(error for error in shell.errors if table.label in error), table)
        return
    columns, *rows = answer
    cells = [[None if cell == "NULL" else cell for cell in row] for row in rows]
    table.check(columns, cells, binary=_as_java_text)


def test_beeline_reports_nothing_but_the_refusals(shell: Shell) -> None:
    assert len(shell.answers) == len(TABLES)
    assert len(shell.errors) == sum(table.refused_features is not None for table in TABLES)


def _as_java_text(cell: Any) -> bytes | None:
    """Bytes as Java's client shows them: what is no UTF-8 is lost."""
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", "replace")
    return None if cell is None else cell.encode()


def _ensure_refusal(message: str, table: Table) -> None:
    for part in ("DELTA_UNSUPPORTED_FEATURES_FOR_READ", "56038", table.label, str(table.refused_features)):
        assert part in message


def _rows(table: pa.Table, columns: Sequence[str]) -> Iterable[Sequence[object]]:
    return zip(*(table[name].to_pylist() for name in columns), strict=True)


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names])
