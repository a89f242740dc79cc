"""Result cache over a REST catalog's tables that another client changes, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from engine.runtime.results import Repeatable
from tests.engine.execution.counting_spark import CachedLake, CountingSpark
from tests.rest.conftest import RestServer

SCHEMA = pa.schema([("n", pa.int64())])
SUM = "SELECT sum(n), count(*) FROM elsewhere.a.counted"


def some(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64())}, SCHEMA)


@pytest.fixture
def lake(tmp_path: Path, server: RestServer) -> CachedLake:
    return CachedLake(str(tmp_path), allowed_roots=(str(server.folder),), rest_catalogs=(server.options(),))


@pytest.fixture(autouse=True)
def counted(server: RestServer) -> Iterator[None]:
    other = server.other_client()
    other.create_table("a.counted", SCHEMA).append(some(1))
    yield
    other.drop_table("a.counted")


def run_twice(lake: CachedLake, spark: CountingSpark, text: str) -> tuple[int, int]:
    """Returns the answer, which comes from the cache the second time."""
    found, hits = lake.answer(spark, text), lake.cache.counts.hits
    assert lake.answer(spark, text) == found
    assert lake.cache.counts.hits == hits + 1
    return found


def test_commit_by_another_client_is_visible(lake: CachedLake, server: RestServer) -> None:
    spark, table = CountingSpark(), server.other_client().load_table("a.counted")
    assert run_twice(lake, spark, SUM) == (1, 1)
    table.append(some(2))
    assert run_twice(lake, spark, SUM) == (3, 2)
    table.overwrite(some(7))
    assert run_twice(lake, spark, SUM) == (7, 1)
    assert spark.runs == 3


def test_a_table_that_is_made_again_is_another(lake: CachedLake, server: RestServer) -> None:
    spark, other = CountingSpark(), server.other_client()
    assert run_twice(lake, spark, SUM) == (1, 1)
    other.drop_table("a.counted")
    other.create_table("a.counted", SCHEMA).append(some(5))
    assert run_twice(lake, spark, SUM) == (5, 1)


def test_branches_and_tags_have_separate_cache_entries(lake: CachedLake, server: RestServer) -> None:
    spark, table = CountingSpark(), server.other_client().load_table("a.counted")
    first = table.current_snapshot().snapshot_id
    table.append(some(2))
    table.manage_snapshots().create_tag(first, "then").create_branch(first, "beside").commit()
    for _ in range(2):
        assert run_twice(lake, spark, SUM) == (3, 2)
        assert run_twice(lake, spark, f"{SUM} VERSION AS OF 'then'") == (1, 1)
        assert run_twice(lake, spark, f"{SUM} VERSION AS OF {first}") == (1, 1)
        assert run_twice(lake, spark, f"{SUM} VERSION AS OF 'beside'") == (1, 1)
    table.append(some(30), branch="beside")
    assert run_twice(lake, spark, f"{SUM} VERSION AS OF 'beside'") == (31, 2)
    assert run_twice(lake, spark, f"{SUM} VERSION AS OF 'then'") == (1, 1)


def test_volatile_answers_are_not_cached(lake: CachedLake) -> None:
    spark = CountingSpark(repeatable=Repeatable.NEVER)
    assert [lake.answer(spark, SUM) for _ in range(3)] == [(1, 1)] * 3 and spark.runs == 3
