"""Result cache in the pipeline, without Spark: cache keys, freshness with concurrent writers, and single-flight
execution.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from catalog.changes import CreateView
from catalog.conditions import ResultRowsDiffer, StatementCancelled, TableNotFound
from catalog.entries import ViewColumn, ViewEntry
from catalog.names import SchemaName, TableName
from engine.binding.bound import BoundChanges
from engine.planning.reads.scans import change_scan
from engine.runtime.accesses import Lineage
from engine.runtime.identity import Identity, Method
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.results import Repeatable, ResultStream
from engine.storage.confinement import FilePlaces
from engine.storage.storage import open_storage
from engine.tables.changes import ChangeFiles
from engine.tables.scan import NO_FILES
from engine.types.schema import StructType
from tests.engine.execution.counting_spark import ANN, CachedLake, CountingSpark

SUM = "SELECT sum(n), count(*) FROM sold WHERE n > -1"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "default" / "sold", 0)
    write(tmp_path / "default" / "other", 0)
    return tmp_path


@pytest.fixture
def lake(folder: Path) -> CachedLake:
    return CachedLake(str(folder))


def write(table: Path, version: int) -> None:
    """Version v has v + 1 rows, the numbers to v."""
    write_deltalake(table, pa.table({"n": pa.array([version], pa.int64())}), mode="append")


def sum_at(version: int) -> tuple[int, int]:
    return version * (version + 1) // 2, version + 1


SAME_ANSWERS: dict[str, Callable[[CachedLake, CountingSpark], object]] = {
    "again": lambda lake, spark: lake.answer(spark, SUM),
    "a comment and white space": lambda lake, spark: lake.answer(spark, f"/* of ann */ {SUM.replace(' ', '  ')} -- x"),
    "another principal": lambda lake, spark: lake.answer(spark, SUM, Identity("ben")),
    "another current schema": lambda lake, spark: lake.answer(
        replace(spark, current=("spark_catalog", "elsewhere")), SUM.replace("sold", "default.sold")
    ),
    "another table has a version more": lambda lake, spark: lake.answer(spark, SUM),
}
OTHER_ANSWERS: dict[str, Callable[[CachedLake, CountingSpark], object]] = {
    "a setting": lambda lake, spark: lake.answer(replace(spark, settings={"spark.sql.ansi.enabled": "false"}), SUM),
    "a time zone": lambda lake, spark: lake.answer(
        replace(spark, settings={"spark.sql.session.timeZone": "Asia/Tokyo"}), SUM
    ),
    "another text": lambda lake, spark: lake.answer(spark, SUM.replace("-1", "-2")),
    "another spelling of a name": lambda lake, spark: lake.answer(spark, SUM.replace("count", "COUNT")),
    "another table": lambda lake, spark: lake.answer(spark, SUM.replace("sold", "other")),
    "an older version": lambda lake, spark: lake.answer(spark, SUM.replace("sold", "sold VERSION AS OF 0")),
}


@pytest.mark.parametrize("change", SAME_ANSWERS.values(), ids=SAME_ANSWERS)
def test_the_answer_is_the_same(
    folder: Path, lake: CachedLake, change: Callable[[CachedLake, CountingSpark], object]
) -> None:
    spark = CountingSpark()
    lake.answer(spark, SUM)
    write(folder / "default" / "other", 1)
    hits = lake.cache.counts.hits
    change(lake, spark)
    assert lake.cache.counts.hits == hits + 1


@pytest.mark.parametrize("change", OTHER_ANSWERS.values(), ids=OTHER_ANSWERS)
def test_the_answer_may_be_another(
    folder: Path, lake: CachedLake, change: Callable[[CachedLake, CountingSpark], object]
) -> None:
    write(folder / "default" / "sold", 1)
    lake.answer(CountingSpark(), SUM)
    change(lake, CountingSpark())
    assert lake.cache.counts.hits == 0
    assert lake.cache.counts.cached == 2


PARAMETERS = (
    (Parameter(value="1", sql_type="int"),),
    (Parameter(value="2", sql_type="int"),),
    (Parameter(value="1", sql_type="bigint"),),
    (Parameter(value=None, sql_type="int"),),
)


def test_an_empty_change_feed_is_of_its_version() -> None:
    """Its columns are the table's newest ones."""
    pins = {change_scan("r", changes, kind).pin for changes, kind in map(empty_feed, ("1", "2"))}
    assert pins == {"1", "2"}


def empty_feed(stamp: str) -> tuple[BoundChanges, ChangeFiles]:
    snapshot = SimpleNamespace(stamp=stamp, table_root="/t", storage=open_storage("/t"))
    table = SimpleNamespace(label="t", visible_label="t", snapshot=snapshot)
    feed = SimpleNamespace(schema=StructType(()), versions=(), file_places=FilePlaces())
    changes = SimpleNamespace(label="t", table=table, feed=feed)
    kind = SimpleNamespace(layout=None, partition_columns=(), files=NO_FILES, read_as={})
    return cast(BoundChanges, changes), cast(ChangeFiles, kind)


def test_values_and_types_of_markers_count(lake: CachedLake) -> None:
    spark = CountingSpark()
    for _ in range(2):
        for parameters in PARAMETERS:
            lake.answer(spark, "SELECT sum(n) FROM sold WHERE n > ?", parameters=parameters)
    assert spark.runs == len(PARAMETERS)


def test_an_answer_that_depends_on_the_session_is_its_own(lake: CachedLake) -> None:
    spark = CountingSpark(repeatable=Repeatable.SESSION)
    elsewhere = replace(spark, current=("spark_catalog", "elsewhere"))
    for _ in range(2):
        lake.answer(spark, SUM)
        lake.answer(spark, SUM, Identity("ben"))
        lake.answer(elsewhere, SUM.replace("sold", "default.sold AS sold"))
    assert spark.runs == 2 and elsewhere.runs == 1


def test_nondeterministic_result_is_not_cached(lake: CachedLake) -> None:
    spark = CountingSpark(repeatable=Repeatable.NEVER)
    for _ in range(3):
        lake.answer(spark, SUM)
    assert spark.runs == 3 and lake.cache.counts.cached == 0
    assert lake.cache.counts.misses == 1, "once it is known it is not looked up"


@pytest.mark.parametrize("relation", ["queries", "sessions", "metrics", "gateway.metrics"])
def test_rows_about_the_server_push_out_no_answer(lake: CachedLake, relation: str) -> None:
    """Nor if a user's view reads them."""
    entry = ViewEntry(
        name=TableName("spark_catalog", "default", "about"),
        text=f"SELECT count(*) AS n FROM system.{relation}",
        current=SchemaName("spark_catalog", "default"),
        columns=(ViewColumn(name="n", source="n", type="bigint"),),
    )
    lake.sources.catalog.change(CreateView(entry))
    spark = CountingSpark()
    for _ in range(2):
        for name in (f"system.{relation}", f"sold, system.{relation}", "about"):
            lake.answer(spark, f"SELECT count(*) FROM {name}")
    assert (spark.runs, lake.cache.counts.cached) == (6, 0)


def test_metadata_rows_are_cached_until_a_table_changes(folder: Path, lake: CachedLake) -> None:
    spark = CountingSpark()
    for _ in range(2):
        lake.answer(spark, "SELECT count(*) FROM information_schema.tables")
    assert spark.runs == 1
    write(folder / "default" / "another", 1)
    lake.answer(spark, "SELECT count(*) FROM information_schema.tables")
    assert spark.runs == 2


def test_groups_count_where_the_text_asks_for_them(lake: CachedLake) -> None:
    spark, text = CountingSpark(), "SELECT sum(n) FROM sold WHERE is_member('staff')"
    for groups in ((), ("staff",), ("staff", "other"), ()):
        lake.answer(spark, text, Identity("ann", groups=frozenset(groups)))
    assert spark.runs == 2


def test_a_view_that_is_replaced_is_another(lake: CachedLake) -> None:
    spark, text = CountingSpark(), "SELECT sum(n) FROM seen"
    for number, condition in enumerate(("n > 0", "n > 0", "n > 1", "n > 0")):
        entry = ViewEntry(
            name=TableName("spark_catalog", "default", "seen"),
            text=f"SELECT n FROM sold WHERE {condition}",
            current=SchemaName("spark_catalog", "default"),
            columns=(ViewColumn(name="n", source="n", type="bigint"),),
        )
        lake.sources.catalog.change(CreateView(entry, number > 0))
        lake.answer(spark, text)
    assert spark.runs == 2


def test_a_table_that_is_made_again_is_another(folder: Path, lake: CachedLake) -> None:
    spark, table = CountingSpark(), folder / "default" / "sold"
    assert lake.answer(spark, SUM) == (0, 1)
    write_deltalake(folder / "new", pa.table({"n": pa.array([41], pa.int64())}))
    table.rename(folder / "old")
    (folder / "new").rename(table)
    assert lake.answer(spark, SUM) == (41, 1), "of the same version"
    assert spark.runs == 2


RIGHTS = ("USE CATALOG ON CATALOG spark_catalog", "USE SCHEMA ON SCHEMA default", "SELECT ON TABLE sold")


def test_rights_are_looked_at_each_time(lake: CachedLake) -> None:
    spark = CountingSpark()
    root = Identity("root", is_admin=True, method=Method.PASSWORD)
    ann, ben = Identity("ann", method=Method.PASSWORD), Identity("ben", method=Method.PASSWORD)
    for right in RIGHTS:
        lake.run(spark, f"GRANT {right} TO USER ann", root).close()
    assert lake.answer(spark, SUM, ann) == (0, 1)
    with pytest.raises(TableNotFound):
        lake.answer(spark, SUM, ben)
    for right in RIGHTS:
        lake.run(spark, f"GRANT {right} TO USER ben", root).close()
    assert lake.answer(spark, SUM, ben) == (0, 1)
    lake.run(spark, "REVOKE SELECT ON TABLE sold FROM ben", root).close()
    with pytest.raises(TableNotFound):
        lake.answer(spark, SUM, ben)
    assert spark.runs == 1


def test_a_session_that_changes_meanwhile_keeps_nothing(lake: CachedLake) -> None:
    spark = CountingSpark()

    def set_and_reset(_: StatementRequest) -> None:
        spark.settings = dict(spark.settings)  # as it was, by two changes

    spark.during = set_and_reset
    lake.answer(spark, SUM)
    assert lake.cache.counts.cached == 0


def test_the_profile_says_so(lake: CachedLake) -> None:
    spark = CountingSpark()
    requests = [StatementRequest(identity=ANN) for _ in range(2)]
    for request in requests:
        lake.answer(spark, SUM, request=request)
    assert [each.profile.is_from_cache for each in requests] == [False, True]
    assert [any("result cache" in line for line in each.profile.lines) for each in requests] == [False, True]


def test_the_profile_is_of_the_last_statement(lake: CachedLake) -> None:
    """For example without names from earlier statements."""
    spark, request = CountingSpark(), StatementRequest(identity=ANN)
    lake.answer(spark, SUM)
    for text, is_cached in ((SUM, True), (SUM.replace("-1", "-2"), False)):
        lake.answer(spark, text, request=request)
        assert request.profile.is_from_cache == is_cached
        assert any("result cache" in line for line in request.profile.lines) == is_cached


def test_cached_result_reports_lineage(lake: CachedLake) -> None:
    spark, reported = CountingSpark(), list[Lineage]()
    lake.answer(spark, SUM)  # without any waiting session

    def tell(request: StatementRequest) -> None:
        assert request.on_lineage is not None
        request.on_lineage(Lineage(materialized_as="x"))

    spark.during = tell
    for _ in range(3):
        lake.answer(spark, SUM, request=StatementRequest(identity=ANN, on_lineage=reported.append))
    assert spark.runs == 2 and reported == [Lineage(materialized_as="x")] * 3


def test_an_answer_larger_than_the_statement_may_have_is_not_given(lake: CachedLake) -> None:
    spark = CountingSpark()
    lake.answer(spark, SUM)
    lake.answer(spark, SUM, request=StatementRequest(identity=ANN, result_bytes_max=10))
    assert spark.runs == 2


def test_streamed_result_is_cached_after_full_read(lake: CachedLake) -> None:
    spark, reported = CountingSpark(), list[ResultStream]()

    def announcing(request: StatementRequest) -> None:
        assert request.on_rows is not None
        spark.during = lambda _: None
        stream = ResultStream(schema=pa.schema([("n", pa.int64())]), source=(pa.record_batch({"n": [7, 8]}),))
        request.on_rows(stream)
        stream.repeatable = Repeatable.ALWAYS  # at the query's end

    spark.during = announcing
    lake.answer(spark, SUM, request=StatementRequest(identity=ANN, on_rows=reported.append))
    (stream,) = reported
    assert lake.cache.counts.cached == 0
    batches = stream.batches()
    assert next(batches).to_pydict() == {"n": [7, 8]} and lake.cache.counts.cached == 0
    assert list(batches) == [] and lake.cache.counts.cached == 1


def test_rows_streamed_after_result_are_read_once(lake: CachedLake) -> None:
    spark, reported, late = CountingSpark(), list[ResultStream](), list[StatementRequest]()
    spark.during = late.append
    assert lake.answer(spark, SUM, request=StatementRequest(identity=ANN, on_rows=reported.append)) == (0, 1)
    on_rows = late[0].on_rows
    assert on_rows is not None
    on_rows(ResultStream(schema=pa.schema([("n", pa.int64())])))
    assert reported == []


def test_incomplete_result_is_not_cached(lake: CachedLake) -> None:
    spark = CountingSpark(rows_made=2)
    with pytest.raises(ResultRowsDiffer):
        lake.run(spark, SUM)
    assert lake.cache.counts.cached == 0


def test_incomplete_streamed_result_is_not_cached(lake: CachedLake) -> None:
    spark, reported = CountingSpark(), list[ResultStream]()

    def announcing(request: StatementRequest) -> None:
        assert request.on_rows is not None
        stream = ResultStream(schema=pa.schema([("n", pa.int64())]), source=(pa.record_batch({"n": [7, 8]}),))
        request.on_rows(stream)
        stream.repeatable, stream.rows_made = Repeatable.ALWAYS, 3

    spark.during = announcing
    lake.answer(spark, SUM, request=StatementRequest(identity=ANN, on_rows=reported.append))
    with pytest.raises(ResultRowsDiffer):
        list(reported[0].batches())
    assert lake.cache.counts.cached == 0


def test_a_query_runs_once_for_all_who_ask_at_the_same_time(lake: CachedLake) -> None:
    def wait_for_others(_: StatementRequest) -> None:
        while lake.cache.counts.waits < 7:
            time.sleep(0.001)

    spark = CountingSpark(during=wait_for_others)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: lake.answer(spark, SUM), range(8)))
    assert answers == [(0, 1)] * 8 and spark.runs == 1


def test_a_leader_that_is_cancelled_leaves_the_query_to_the_others(lake: CachedLake) -> None:
    leader = StatementRequest(identity=ANN)

    def cancel_leader(request: StatementRequest) -> None:
        if request.cancel is leader.cancel:
            while lake.cache.counts.waits < 3:
                time.sleep(0.001)
            request.cancel.cancel()

    spark = CountingSpark(during=cancel_leader)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(lake.answer, spark, SUM, request=leader)
        while not spark.runs:
            time.sleep(0.001)
        others = [pool.submit(lake.answer, spark, SUM) for _ in range(3)]
        assert isinstance(first.exception(60), StatementCancelled)
        assert [each.result(60) for each in others] == [(0, 1)] * 3
    assert spark.runs == 2


def test_where_the_query_fails_each_fails_by_itself(lake: CachedLake) -> None:
    def fail(_: StatementRequest) -> None:
        while spark.runs == 1 and lake.cache.counts.waits < 3:
            time.sleep(0.001)
        raise ZeroDivisionError

    spark = CountingSpark(during=fail)
    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(lake.answer, spark, SUM) for _ in range(4)]
        assert [type(each.exception(60)) for each in found] == [ZeroDivisionError] * 4
    assert spark.runs == 4 and not lake.cache._in_flight


def test_answers_beside_a_writer_are_of_the_version_they_name(folder: Path, lake: CachedLake) -> None:
    """And that is the newest one at the statement's start, or one that was committed since."""
    spark, table, ends = CountingSpark(), folder / "default" / "sold", threading.Event()
    found: list[tuple[int, tuple[int, int, int], int]] = []

    def read() -> None:
        while not ends.is_set():
            before = DeltaTable(table).version()
            answer = lake.versioned_answer(spark, SUM)
            found.append((before, answer, DeltaTable(table).version()))

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        for version in range(1, 25):
            write(table, version)
            answered = len(found) + 12  # three from one reader: two begin after this version was written
            while len(found) < answered and not any(reader.done() for reader in readers):
                time.sleep(0.001)
        ends.set()
        for reader in readers:
            reader.result(60)
    for before, (total, count, version), after in found:
        assert before <= version <= after
        assert (total, count) == sum_at(version)
    assert lake.cache.counts.hits > 0 and spark.runs < len(found)


@pytest.mark.parametrize("started", [False, True])
def test_closing_uncached_result_fails_its_reader(lake: CachedLake, started: bool) -> None:
    """Its reader would take an end of stream for the complete rows."""
    lake.cache.entry_bytes_max = 0
    reader = lake.run(CountingSpark(batches=2), SUM)
    rows = reader.pieces()
    if started:
        next(rows)
    reader.close()
    with pytest.raises(StatementCancelled):
        list(rows)
