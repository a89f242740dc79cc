"""Every table, through every interface, compared cell by cell with its makers' expected content.

The tables come from other engines, in every version with recorded rows, and from the sample lake. Tables that must fail
report the same condition everywhere. Hive's own client starts once for all tables, since a start takes seconds.
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

from engine.sample.data import make_sample_rows
from tests.clients.drivers import JARS, java
from tests.clients.fix_server import RealServer
from tests.clients.typed_values import sql_type, typed
from tests.paths import DAT, GOLDEN

pytestmark = [pytest.mark.clients, pytest.mark.spark]

# A table's rows that text clients fetch; Arrow fetches all.
ROWS_MAX = 500

# Converts binary cells before comparison, for clients that cannot show bytes unchanged.
Binary = Callable[[Any], Any]

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
    version: int | None = None

    @property
    def relation(self) -> str:
        return self.name if self.version is None else f"{self.name} VERSION AS OF {self.version}"

    @cached_property
    def expected(self) -> pa.Table:
        return self.read()

    @property
    def query(self) -> str:
        limit = f" LIMIT {ROWS_MAX}" if self.expected.num_rows > ROWS_MAX else ""
        return f"SELECT * FROM {self.relation}{limit}"

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
        """Returns the expected rows that may be among the shown ones: a million rows are too many to compare one by
        one.
        """
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
        Table(
            f"`dat.{case.parents[1].name}`.delta",
            "UTC",
            _parquet(case / "table_content/*.parquet"),
            case.parents[1] / "delta",
            None if case.name == "latest" else int(case.name.removeprefix("v")),
        )
        for case in sorted(DAT.glob("*/expected/*"))
    ]
    golden = [
        Table(
            f"`golden.{f.name}`.delta",
            _PACIFIC if f.name.startswith("data-reader-partition-values") else "UTC",
            _parquet(f / "expected/*.parquet"),
            f / "delta",
        )
        for f in sorted(folder.parent for folder in GOLDEN.glob("*/expected"))
    ]
    sample = make_sample_rows().tables
    return [
        *dat,
        *golden,
        *(Table(table.path.replace("/", "."), "UTC", partial(_same, table.rows)) for table in sample),
    ]


TABLES = _tables()
EACH = pytest.mark.parametrize(
    "table",
    [pytest.param(table, marks=pytest.mark.foreign if table.folder else ()) for table in TABLES],
    ids=lambda table: table.relation,
)


@EACH
def test_arrow_over_http(server: RealServer, table: Table) -> None:
    client = server.http(TIMEZONE=table.zone)
    text = f"SELECT * FROM {table.relation}"
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
    cursor.execute(table.query)
    table.check([name for name, *_ in cursor.description], cursor.fetchall())


# Golden tables that must fail: the statement, its condition and SQLSTATE.
FAILING = {
    "canonicalized-paths-special-a": ("SELECT * FROM {} VERSION AS OF 0", "LOG_PATH_NOT_ALLOWED", "42501"),
    "corrupted-last-checkpoint": ("SELECT * FROM {}", "DELTA_READ_TABLE_WITHOUT_COLUMNS", "428GU"),
    "data-reader-absolute-paths-escaped-chars": ("SELECT * FROM {}", "DELTA_STATE_RECOVER_ERROR", "XXKDS"),
    "deltalog-invalid-protocol-version": ("SELECT * FROM {}", "DELTA_INVALID_PROTOCOL_VERSION", "KD004"),
    "deltalog-state-reconstruction-from-checkpoint-missing-metadata": (
        "SELECT * FROM {}",
        "DELTA_STATE_RECOVER_ERROR",
        "XXKDS",
    ),
    "deltalog-state-reconstruction-from-checkpoint-missing-protocol": (
        "SELECT count(*) FROM {}",
        "DELTA_STATE_RECOVER_ERROR",
        "XXKDS",
    ),
    "deltalog-state-reconstruction-without-metadata": ("SELECT * FROM {}", "DELTA_STATE_RECOVER_ERROR", "XXKDS"),
    "deltalog-state-reconstruction-without-protocol": ("SELECT * FROM {}", "DELTA_STATE_RECOVER_ERROR", "XXKDS"),
    "snapshot-vacuumed": ("SELECT * FROM {} VERSION AS OF 1", "FAILED_READ_FILE.FILE_NOT_EXIST", "KD001"),
    "versions-not-contiguous": ("SELECT * FROM {}", "DELTA_VERSIONS_NOT_CONTIGUOUS", "KD00C"),
}


@pytest.mark.foreign
@pytest.mark.parametrize("name", FAILING)
def test_tables_that_must_fail_say_why(server: RealServer, cursor: Any, name: str) -> None:
    text, condition, sqlstate = FAILING[name]
    text = text.format(f"`golden.{name}`.delta")
    client = server.http()
    status = client.wait(client.submit(text))["status"]
    assert (status["state"], status["sql_state"]) == ("FAILED", sqlstate)
    assert f"[{condition}]" in status["error"]["message"]
    with pytest.raises(hive.OperationalError) as raised:
        cursor.execute(text)
    refused = raised.value.args[0].status
    assert refused.sqlState == sqlstate
    assert f"[{condition}]" in refused.errorMessage


_MARK = "<end>"
_SEPARATORS = {"csv2": ",", "tsv2": "\t"}


@dataclass(frozen=True)
class Shell:
    """beeline's output for each table, header and rows, and all its errors."""

    answers: list[list[list[str]]]
    errors: list[str]


@pytest.fixture(scope="module", params=["csv2", pytest.param("tsv2", marks=pytest.mark.slow)])
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
    """Yields the output between SET's answer (a header and a row) and the delimiter's, likewise."""
    answer: list[list[str]] = []
    for record in records:
        answer.append(record)
        if answer[-2:] == [[_MARK], [_MARK]]:
            yield answer[2:-2]
            answer = []


@EACH
def test_beeline(shell: Shell, table: Table) -> None:
    answer = shell.answers[TABLES.index(table)]
    columns, *rows = answer
    cells = [[None if cell == "NULL" else cell for cell in row] for row in rows]
    table.check(columns, cells, binary=_as_java_text)


def test_beeline_reports_no_error(shell: Shell) -> None:
    assert len(shell.answers) == len(TABLES)
    assert shell.errors == []


def _as_java_text(cell: Any) -> bytes | None:
    """Returns bytes as Java's client shows them: invalid UTF-8 is lost."""
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", "replace")
    return None if cell is None else cell.encode()


def _rows(table: pa.Table, columns: Sequence[str]) -> Iterable[Sequence[object]]:
    return zip(*(table[name].to_pylist() for name in columns), strict=True)


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names])
