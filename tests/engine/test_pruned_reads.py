"""File pruning: the same rows as reading every file, and the expected files are pruned.

The engine writes the tables, and so their statistics; deletion vectors and missing statistics are put into the log by
hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from catalog.conditions import MalformedLogEntry
from engine.binding.sources import Sources
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.table_pruning import TableFilePruning
from engine.pruning.predicates import Predicate
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.session_state import SessionState
from engine.spark.session import ExecSession, SparkDriver
from engine.tables.scan import PrunedFiles, TableRead
from tests.engine.planned import planned

pytestmark = pytest.mark.spark

COLUMNS = (
    "id BIGINT, i INT, x DOUBLE, s STRING, d DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, m DECIMAL(9,2), o BOOLEAN,"
    " a STRUCT<y: INT, z: STRING>, p STRING, q INT"
)
ROW_COUNT, INSERTS = 40, 5
TEXTS = ("", "a", "ab", "abc", "b", "Ä", "zz", "x'y", "%", "2024-01-05", "3")
DAYS = tuple(f"2024-01-{day:02}" for day in range(1, 13))


def _text(value: str) -> str:
    return "'" + value.replace("'", "\\'") + "'"


def _pick(random: Random, make: Callable[[], str], nulls: float = 0.15) -> str:
    return "NULL" if random.random() < nulls else make()


def _row(random: Random, number: int, center: int) -> str:
    """Values in one file are close, so that statistics separate files."""
    near = center * 3 + random.randrange(6)
    stamp = f"{DAYS[near % 12]} {random.randrange(24):02}:{random.randrange(60):02}:00"
    values = (
        str(number),
        _pick(random, lambda: str(near)),
        _pick(random, lambda: random.choice((f"{near}.5D", "double('NaN')", "-0.0D", "0.0D", "double('-Infinity')"))),
        _pick(random, lambda: _text(TEXTS[near % len(TEXTS)])),
        _pick(random, lambda: f"DATE'{DAYS[near % 12]}'"),
        _pick(random, lambda: f"TIMESTAMP'{stamp}'"),
        _pick(random, lambda: f"TIMESTAMP_NTZ'{stamp}'"),
        _pick(random, lambda: f"{near}.25BD"),
        _pick(random, lambda: random.choice(("true", "false"))),
        _pick(random, lambda: f"named_struct('y', {_pick(random, lambda: str(near))}, 'z', 'k')"),
        _pick(random, lambda: _text(random.choice(("a", "b", "c%20", "é")))),
        _pick(random, lambda: str(center)),
    )
    return f"({', '.join(values)})"


def _leaf(random: Random) -> str:
    number = random.randrange(20)
    day = random.choice(DAYS)
    operator = random.choice(("=", "<", "<=", ">", ">=", "<=>", "<>"))
    return random.choice(
        (
            f"i {operator} {number}",
            f"{number} {operator} i",
            f"i IN ({number}, {number + 1}, NULL)",
            f"i NOT IN ({number}, {number + 5})",
            f"i BETWEEN {number} AND {number + 3}",
            f"CAST(i AS BIGINT) {operator} {number}L",
            f"CAST(i AS STRING) {operator} '{number}'",
            f"i {operator} '{number}'",
            f"x {operator} {number}.5D",
            f"x {operator} double('NaN')",
            f"x {operator} 0.0D",
            f"TRY_CAST(x AS INT) {operator} {number}",
            f"s {operator} {_text(random.choice(TEXTS))}",
            f"s LIKE '{random.choice(('a%', 'ab%', '%b', 'z_', 'Ä%', ''))}'",
            f"s NOT LIKE '{random.choice(('a%', 'b%'))}'",
            f"d {operator} DATE'{day}'",
            f"d {operator} '{day}'",
            f"CAST(d AS TIMESTAMP) {operator} TIMESTAMP'{day} 06:00:00'",
            f"ts {operator} TIMESTAMP'{day} 12:00:00'",
            f"CAST(ts AS DATE) {operator} DATE'{day}'",
            f"n {operator} TIMESTAMP_NTZ'{day} 12:00:00'",
            f"m {operator} {number}.25BD",
            f"m {operator} {number}",
            f"{random.choice(('', 'NOT '))}o",
            f"a.y {operator} {number}",
            "a.y IS NULL",
            "a IS NOT NULL",
            f"p {operator} {_text(random.choice(('a', 'b', 'c%20', 'é')))}",
            f"p IN ('a', {_text(random.choice(TEXTS))})",
            f"q {operator} {random.randrange(INSERTS)}",
            f"q + 1 {operator} {random.randrange(INSERTS)}",
            f"{random.choice('ixsdnmpq')} IS {random.choice(('', 'NOT '))}NULL",
            f"coalesce(i, 0) {operator} {number}",
        )
    )


def _condition(random: Random, depth: int = 2) -> str:
    if depth == 0 or random.random() < 0.3:
        return _leaf(random)
    kind = random.choice(("AND", "OR", "NOT"))
    if kind == "NOT":
        return f"NOT ({_condition(random, depth - 1)})"
    return f"({_condition(random, depth - 1)}) {kind} ({_condition(random, depth - 1)})"


def _edit_log(table: Path, edit: Callable[[dict[str, Any], int], list[dict[str, Any]]]) -> None:
    """Rewrites each action in each commit."""
    for number, log in enumerate(sorted((table / "_delta_log").glob("*.json"))):
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        edited = [changed for action in actions for changed in edit(action, number)]
        log.write_text("".join(json.dumps(action) + "\n" for action in edited))
    for checksum in (table / "_delta_log").glob("*.crc"):
        checksum.unlink()


def _without_statistics(action: dict[str, Any], version: int) -> list[dict[str, Any]]:
    """Removes statistics from every other file, and all but the counts from some others."""
    if "add" in action and version % 2:
        action["add"].pop("stats", None)
    elif "add" in action and version % 3 == 0:
        action["add"]["stats"] = json.dumps({"numRecords": json.loads(action["add"]["stats"])["numRecords"]})
    return [action]


def _with_deletion_vectors(action: dict[str, Any], version: int) -> list[dict[str, Any]]:
    """Deletes each file's first row, which makes the statistics' bounds inexact."""
    if "add" in action:
        stats = json.loads(action["add"]["stats"])
        action["add"]["stats"] = json.dumps({**stats, "tightBounds": False})
        action["add"]["deletionVector"] = inline_deletion_vector(np.array([0], np.uint64)).to_json()
    return [action]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    name: str
    layout: str = ""
    properties: str = ""
    edit: Callable[[dict[str, Any], int], list[dict[str, Any]]] | None = None


TABLES = (
    Table(name="plain"),
    Table(name="parted", layout="PARTITIONED BY (p, q)"),
    Table(name="mapped", layout="PARTITIONED BY (q)", properties="TBLPROPERTIES ('delta.columnMapping.mode'='name')"),
    Table(name="bare", edit=_without_statistics),
    Table(
        name="deleted",
        properties="TBLPROPERTIES ('delta.enableDeletionVectors'='true')",
        edit=_with_deletion_vectors,
    ),
    Table(
        name="short", properties="TBLPROPERTIES ('delta.dataSkippingNumIndexedCols'='4')", layout="PARTITIONED BY (o)"
    ),
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def sources(lake: Path) -> Iterator[Sources]:
    opened = open_sources(EngineOptions(lake_folder=str(lake)))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def session(sources: Sources, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    opened = LakeEngine(sources, spark_driver).open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


def run(session: LakeSession, text: str) -> tuple[list[tuple[Any, ...]], tuple[TableRead, ...]]:
    request = StatementRequest(identity=Identity("ann"))
    result = session.execute(text, request)
    table = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True)), request.profile.reads


@pytest.mark.parametrize("count", [9, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_random_conditions_find_the_same_rows_with_and_without_pruning(
    lake: Path, sources: Sources, session: LakeSession, spark: ExecSession, table: Table, count: int
) -> None:
    random, name = Random(f"pruning {table.name}"), f"{table.name}_{count}"
    run(session, f"CREATE TABLE {name} ({COLUMNS}) {table.layout} {table.properties}")
    for center in range(INSERTS):
        written = (_row(random, center * ROW_COUNT + number, center) for number in range(ROW_COUNT))
        run(session, f"INSERT INTO {name} VALUES {', '.join(written)}")
    if table.edit is not None:
        _edit_log(lake / "default" / name, table.edit)
        sources = open_sources(EngineOptions(lake_folder=str(lake)))
    conditions = [_condition(random) for _ in range(count)]
    text = " UNION ALL ".join(
        f"SELECT {number} AS condition, id FROM {name} WHERE {condition}" for number, condition in enumerate(conditions)
    )
    plan = planned(text, SessionState(identity=Identity("ann"), catalog="spark_catalog", schema="default"), sources)
    assert isinstance(plan, ReadPlan)

    def found(read: ReadPlan) -> tuple[dict[int, list[int]], tuple[TableRead, ...]]:
        request = StatementRequest(identity=Identity("ann"))
        result = spark.run_query(read, request)
        rows = pa.Table.from_batches(result.batches(), result.schema).to_pylist()
        ids: dict[int, list[int]] = {number: [] for number in range(len(conditions))}
        for row in sorted(rows, key=lambda row: (row["condition"], row["id"])):
            ids[row["condition"]].append(row["id"])
        return ids, request.profile.reads

    pruned, reads = found(plan)
    whole, _ = found(replace(plan, scans=tuple(replace(scan, pruning=None) for scan in plan.scans)))
    for number, condition in enumerate(conditions):
        assert pruned[number] == whole[number], condition
    assert any(0 < len(ids) for ids in whole.values())
    assert any(read.files < read.files_total for read in reads)


EVENTS = (
    "CREATE TABLE events (id BIGINT, at TIMESTAMP, word STRING, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)),"
    " start STRING GENERATED ALWAYS AS (substring(word, 1, 2))) PARTITIONED BY (day, start)"
)
PRUNED = (
    # condition, files after partition pruning, after statistics
    ("id = 3", 6, 1),
    ("id BETWEEN 2 AND 3", 6, 2),
    ("id > 6", 6, 0),
    ("day = DATE'2024-03-02'", 1, 1),
    ("day >= DATE'2024-03-02' AND id < 3", 5, 1),
    ("start = 'wo'", 6, 6),
    ("word = 'word1'", 6, 1),
    ("word LIKE 'xy%'", 0, 0),
    # within a time zone's width in days around the requested one
    ("at = TIMESTAMP'2024-03-04 12:00:00'", 3, 1),
    ("at < TIMESTAMP'2024-02-20 00:00:00'", 0, 0),
    ("CAST(at AS DATE) = DATE'2024-03-01'", 2, 1),
    ("id % 2 = 0", 6, 6),
    ("id IS NULL", 6, 0),
    ("id = 3 OR day = DATE'2024-03-06'", 6, 2),
    ("id = 3 AND start = 'wo' OR day > DATE'2024-03-05' AND word > 'word5'", 6, 2),
    ("NOT (id <= 4 OR day = DATE'2024-03-06')", 5, 1),
    ("(id = 3 OR day = DATE'2024-03-06') AND rand() >= 0", 6, 2),
    ("id + rand() > 3 OR day = DATE'2024-03-06'", 6, 6),
    ("CAST(id AS STRING) = start", 6, 6),
    ("id = 3 OR word = 'word5'", 6, 2),
)


@pytest.fixture(scope="module")
def events(session: LakeSession) -> str:
    run(session, EVENTS)
    for number in range(1, 7):
        values = f"{number}, TIMESTAMP'2024-03-0{number} 12:00:00Z', 'word{number}'"
        run(session, f"INSERT INTO events (id, at, word) VALUES ({values})")
    return "events"


@pytest.mark.parametrize(("condition", "by_partition", "by_statistics"), PRUNED, ids=[row[0] for row in PRUNED])
def test_files_that_cannot_match_are_left_out(
    session: LakeSession, events: str, condition: str, by_partition: int, by_statistics: int
) -> None:
    _, (read,) = run(session, f"SELECT sum(id), max(word) FROM {events} WHERE {condition}")
    assert (read.files_total, read.files_partition, read.files) == (6, by_partition, by_statistics)


ASKS_MORE = "it asks for more than counts, extremes and partition values of one table"


def test_explain_tells_the_files_of_each_table(session: LakeSession, events: str) -> None:
    ((text,),), _ = run(
        session, f"EXPLAIN SELECT * FROM {events} a JOIN {events} VERSION AS OF 3 b ON a.id = b.id WHERE b.id = 2"
    )
    _, _, rest = text.partition("== Tables ==\n")
    listed, _, rules = rest.partition("\n\n== Gateway Rules ==\n")
    tables = listed.splitlines()
    assert rules == "scanStatistics, singleTaskHashJoin, singleTaskExecution, staticPlans\n"
    assert tables.pop() == "result cache: off"
    assert tables.pop() == f"not answered from the log: {ASKS_MORE}"
    assert [line.split(";")[0] for line in sorted(tables)] == [
        "`spark_catalog`.`default`.`events`: version 3, 3 files, 3 after partition pruning, 1 after statistics",
        "`spark_catalog`.`default`.`events`: version 6, 6 files, 6 after partition pruning, 1 after statistics",
    ]


JOINS = (
    # a query over events e and wanted w (ids 2 and 5, `few` for the first), number of event files read
    ("SELECT sum(e.id) FROM {e} e JOIN wanted w ON e.id = w.id", 2),
    ("SELECT sum(e.id) FROM {e} e JOIN wanted w ON e.id = w.id WHERE w.few", 1),
    ("SELECT sum(e.id) FROM wanted w JOIN {e} e ON e.id = w.id AND w.few", 1),
    ("SELECT sum(e.id) FROM {e} e WHERE e.id IN (SELECT id FROM wanted WHERE few)", 1),
    ("SELECT sum(e.id) FROM {e} e WHERE EXISTS (SELECT 1 FROM wanted w WHERE w.id = e.id AND few)", 1),
    ("SELECT sum(e.id) FROM {e} e JOIN wanted w ON CAST(e.id AS DECIMAL(20,0)) = w.id + 0BD WHERE few", 1),
    ("SELECT max(e.word) FROM {e} e JOIN wanted w ON e.word = concat('word', w.id)", 2),
    ("SELECT sum(e.id) FROM {e} e JOIN wanted w ON e.day = date_add(DATE'2024-02-29', w.small)", 2),
    ("SELECT sum(e.x) FROM (SELECT id AS x, rand() AS r FROM {e} WHERE word <> 'q') e JOIN wanted w ON x = w.id", 2),
    ("SELECT sum(e.id) FROM {e} e JOIN wanted v ON e.id = v.id JOIN wanted w ON e.id = w.id WHERE w.few", 1),
    ("SELECT sum(e.id) FROM {e} e JOIN (SELECT id FROM wanted WHERE id > 99) w ON e.id = w.id", 0),
    ("SELECT sum(e.id) FROM {e} e JOIN wanted w ON e.id = w.id AND e.word = concat('word', 5)", 1),
    ("SELECT sum(e.id) FROM {e} e JOIN wanted w ON e.id = w.id AND e.word = concat('word', w.id)", 2),
    ("SELECT sum(e.id) FROM {e} e WHERE (e.id, e.day) IN (SELECT id, DATE'2024-03-05' FROM wanted)", 1),
    ("SELECT sum(e.id) FROM {e} e JOIN wanted w ON e.id % 7 = w.id AND e.word = concat('word', w.id)", 2),
    ("SELECT sum(e.id) FROM {e} e JOIN wanted w ON e.id = w.id OR w.few", 6),
    ("SELECT sum(e.id), count(w.id) FROM {e} e LEFT JOIN wanted w ON e.id = w.id", 6),
    ("SELECT sum(e.id), count(e.id) FROM wanted w RIGHT JOIN {e} e ON e.id = w.id AND few", 6),
    ("SELECT sum(e.id) FROM {e} e LEFT ANTI JOIN wanted w ON e.id = w.id", 6),
    ("SELECT sum(e.id) FROM {e} e WHERE e.id NOT IN (SELECT id FROM wanted WHERE id IS NOT NULL)", 6),
    ("SELECT sum(e.id) FROM {e} e JOIN wanted w ON e.id % 7 = w.id", 6),
)


@pytest.fixture(scope="module")
def wanted(session: LakeSession) -> None:
    run(session, "CREATE TABLE wanted (id BIGINT, small INT, few BOOLEAN)")
    run(session, "INSERT INTO wanted VALUES (2, 2, true), (5, 5, false), (NULL, NULL, NULL)")


@pytest.mark.parametrize(("text", "files"), JOINS, ids=[row[0] for row in JOINS])
def test_joins_leave_out_files(session: LakeSession, events: str, wanted: None, text: str, files: int) -> None:
    """If the join itself would have dropped their rows."""
    query = text.format(e=events)
    found, reads = run(session, query)
    assert sum(read.files for read in reads if "events" in read.label) == files
    setting = "spark.sql.optimizer.dynamicPartitionPruning.enabled"
    run(session, f"SET {setting} = false")
    whole, _ = run(session, query)
    run(session, f"RESET {setting}")
    assert found == whole


# More keys than are listed, so that they are a range.
RANGES = (
    # the join condition on `many`, its first and last number from 0 to 5999, and the number of files read from
    # `spread`'s six
    ("m.id = s.id", "m.id BETWEEN 1000 AND 1899", 1),
    ("m.id = s.id", "m.id BETWEEN 1001 AND 2600 AND m.id % 2 = 1", 2),
    ("m.id = s.id", "m.id >= 100 AND m.id <= 5000", 6),
    ("m.id = s.id", "m.id >= 1000", 5),
    ("m.id = s.id", "m.id >= 999 AND m.id < 5998", 6),
    ("m.id = s.id", "m.id >= 20 AND m.id < 5998", 6),
    ("-m.id = s.less", "m.id BETWEEN 3000 AND 3999", 1),
    ("CAST(-m.id AS INT) = s.less AND CAST(m.id AS INT) = s.more", "m.id BETWEEN 1500 AND 2499", 2),
    ("lpad(m.id, 4, '0') = s.word", "m.id BETWEEN 4000 AND 4999", 1),
    ("CAST(m.id AS DECIMAL(25,1)) = s.wide", "m.id BETWEEN 4000 AND 5999", 2),
)


@pytest.fixture(scope="module")
def spread(session: LakeSession) -> None:
    columns = "id, CAST(-id AS INT) AS less, CAST(id AS INT) AS more, lpad(id, 4, '0') AS word"
    run(session, f"CREATE TABLE many AS SELECT {columns}, CAST(id AS DECIMAL(25,1)) AS wide FROM range(6000)")
    run(session, "CREATE TABLE spread LIKE many")
    for start in range(0, 6000, 1000):
        run(session, f"INSERT INTO spread SELECT * FROM many WHERE id >= {start} AND id < {start + 1000}")


@pytest.mark.parametrize(("condition", "keys", "files"), RANGES, ids=[" ".join(row[:2]) for row in RANGES])
def test_many_keys_are_a_range(session: LakeSession, spread: None, condition: str, keys: str, files: int) -> None:
    query = f"SELECT count(*), sum(s.id), max(s.wide) FROM spread s JOIN many m ON {condition} WHERE {keys}"
    found, reads = run(session, query)
    ((count, total, widest),) = run(session, f"SELECT count(*), sum(id), max(id) FROM many m WHERE {keys}")[0]
    assert found == [(count, total, widest)]
    assert sum(read.files for read in reads if "spread" in read.label) == files


def test_concatenated_integer_keys_are_distinguished(session: LakeSession) -> None:
    """Spark packs them into one number."""
    run(session, "CREATE TABLE pairs (a INT, b SMALLINT, c TINYINT)")
    for row in ("(-5, -1, -128)", "(7, 300, 0)", "(2147483647, 4, 1)", "(NULL, 4, 1)", "(-2147483648, 32767, 127)"):
        run(session, f"INSERT INTO pairs VALUES {row}")
    run(session, "CREATE TABLE chosen (a INT, b SMALLINT, c TINYINT)")
    run(
        session, "INSERT INTO chosen VALUES (-5, -1, -128), (-2147483648, 32767, 127), (2147483647, 5, 1), (NULL, 4, 1)"
    )
    found, reads = run(session, "SELECT sum(p.b) FROM pairs p JOIN chosen n ON p.a = n.a AND p.b = n.b AND p.c = n.c")
    assert found == [(32766,)]
    assert [read.files for read in reads if "pairs" in read.label] == [2]


class BrokenPruning(TableFilePruning):
    """A log whose statistics cannot be read, which shows when Spark plans."""

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> PrunedFiles:
        raise MalformedLogEntry("stats", "torn")


def test_failure_during_spark_planning_keeps_its_error(
    sources: Sources, session: LakeSession, spark: ExecSession, events: str
) -> None:
    state = SessionState(identity=Identity("ann"), catalog="spark_catalog", schema="default")
    plan = planned(f"SELECT word FROM {events} WHERE id = 1", state, sources)
    assert isinstance(plan, ReadPlan)
    broken = []
    for scan in plan.scans:
        assert isinstance(scan.pruning, TableFilePruning)
        broken.append(replace(scan, pruning=BrokenPruning("t", scan.pruning.snapshot)))
    with pytest.raises(MalformedLogEntry):
        spark.run_query(replace(plan, scans=tuple(broken)), StatementRequest(identity=Identity("ann")))
    assert run(session, f"SELECT word FROM {events} WHERE id = 1")[0] == [("word1",)]
