"""Result cache: cached answers, uncacheable ones, and the reported cache status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.profile import Profile
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import run, table

ANN, BEN = Identity("ann"), Identity("ben")


@pytest.fixture(scope="module")
def cached(lake: Path, spark_driver: SparkDriver) -> Iterator[LakeEngine]:
    """Yields an engine with a result cache; other than its sessions, it lasts for the module."""
    options = EngineOptions(lake_folder=str(lake), result_cache_bytes=1 << 20, result_cache_entry_bytes=1 << 19)
    engine = LakeEngine(open_sources(options), spark_driver)
    session = opened(engine)
    columns = "id AS n, concat('c', id % 3) AS c, date_add(DATE '2026-01-01', int(id)) AS d"
    run(session, f"CREATE TABLE sold AS SELECT {columns} FROM range(20)")
    session.close()
    yield engine


@pytest.fixture
def session(cached: LakeEngine) -> Iterator[LakeSession]:
    session = opened(cached)
    yield session
    session.close()


def opened(engine: LakeEngine, identity: Identity = ANN) -> LakeSession:
    return engine.open_session(identity, settings={}, catalog=None, schema=None)


def rows(session: LakeSession, text: str, identity: Identity = ANN) -> list[tuple[Any, ...]]:
    result = session.execute(text, StatementRequest(identity=identity))
    found = pa.Table.from_batches(result.batches(), result.schema)
    result.close()
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


def is_cached(
    session: LakeSession, text: str, identity: Identity = ANN, parameters: tuple[Parameter, ...] = ()
) -> bool:
    """Returns if the answer to `text`, read to its end, comes from the cache."""
    request = StatementRequest(identity=identity)
    result = session.execute(text, request, parameters)
    list(result.batches())
    result.close()
    return request.profile.is_from_cache


def profile_of(session: LakeSession, text: str, identity: Identity = ANN) -> Profile:
    request = StatementRequest(identity=identity)
    with closing(session.execute(text, request)) as result:
        list(result.batches())
    return request.profile


def test_plan_of_the_first_run_is_for_its_user_only(session: LakeSession) -> None:
    query = "SELECT c, max(n + 71) FROM sold GROUP BY c"
    first = profile_of(session, query)
    assert len(first.plans) == 1
    again, other = profile_of(session, query), profile_of(session, query, BEN)
    assert again.is_from_cache and again.plans == first.plans
    assert other.is_from_cache and other.plans == ()


REPEATED = (
    "SELECT count(*), sum(n) FROM sold WHERE c = 'c1'",
    "SELECT c, sum(n) AS total FROM sold GROUP BY c ORDER BY total",
    "SELECT * FROM sold LIMIT 3",
    "WITH a AS (SELECT n FROM sold) SELECT max(n) FROM a JOIN sold USING (n) WHERE d > '2026-01-03'",
    "SELECT (SELECT min(n) FROM sold), x FROM VALUES (1), (2) AS t(x)",
    "SELECT n FROM sold VERSION AS OF 0 WHERE d >= DATE '2026-01-05' ORDER BY n",
    "SELECT date_trunc('month', d), from_utc_timestamp(TIMESTAMP '2026-01-01', 'CET') FROM sold",
    "SELECT max_by(n, d), percentile(n, 0.5) FROM sold TABLESAMPLE (100 PERCENT)",
    "SELECT current_user(), current_schema(), n FROM sold",
    "SELECT _metadata.file_path FROM sold",
    "SELECT table_name, created_by FROM information_schema.tables WHERE table_name = 'sold'",
    "SELECT 'today', 'now', later FROM (SELECT n AS later FROM sold)",
)
NOT_REPEATED = (
    "SELECT current_timestamp(), n FROM sold",
    "SELECT n FROM sold WHERE d < current_date()",
    "SELECT n, now() FROM sold",
    "SELECT n FROM sold WHERE d < 'today'",
    "SELECT n FROM sold WHERE d < CAST(concat('to', 'day') AS DATE)",
    "SELECT n FROM sold WHERE d < DATE 'today'",
    "SELECT n FROM sold WHERE d < to_date('yesterday')",
    "SELECT n FROM sold WHERE d < try_to_timestamp(' TODAY ')",
    r"SELECT n FROM sold WHERE d < DATE 'tod\u0061y'",
    "SELECT n FROM sold WHERE d < TIMESTAMP /* x */ ' Now'",
    "SELECT unix_timestamp(), n FROM sold",
    "SELECT localtimestamp(), n FROM sold",
    "SELECT rand(), n FROM sold",
    "SELECT rand(4), n FROM sold",
    "SELECT uuid(), n FROM sold",
    "SELECT last_altered FROM information_schema.tables WHERE table_name = 'sold'",
    "SELECT shuffle(array(n, 1, 2)) FROM sold",
    "SELECT monotonically_increasing_id(), n FROM sold",
    "SELECT input_file_name(), n FROM sold",
    "SELECT spark_partition_id(), n FROM sold",
    "SELECT n FROM sold TABLESAMPLE (50 PERCENT)",
    "SELECT n FROM sold WHERE n IN (SELECT n FROM sold WHERE rand() < 2)",
    "WITH t AS (SELECT now() AS t) SELECT n, t FROM sold, t",
    "SELECT n FROM sold ORDER BY uuid()",
    "SELECT IDENTIFIER('no' || 'w')(), n FROM sold",
    "SELECT sum(n) OVER (ORDER BY rand()) FROM sold",
)


@pytest.mark.parametrize("text", REPEATED)
def test_an_answer_comes_again_from_the_cache(session: LakeSession, text: str) -> None:
    first = rows(session, text)
    assert is_cached(session, text)
    assert rows(session, text) == first


@pytest.mark.parametrize("text", NOT_REPEATED)
def test_volatile_results_are_not_cached(session: LakeSession, text: str) -> None:
    run(session, text)
    assert not is_cached(session, text)


def test_the_session_may_do_without(session: LakeSession) -> None:
    text = "SELECT n + 1 FROM sold"
    run(session, "SET gateway.result_cache = off")
    assert [is_cached(session, text) for _ in range(2)] == [False, False]
    run(session, "SET use_cached_result = true")
    assert [is_cached(session, text) for _ in range(2)] == [False, True]
    assert rows(session, "SET gateway.result_cache") == [("gateway.result_cache", "true")]
    run(session, "SET use_cached_result = false")
    assert not is_cached(session, text)


def test_explain_says_whether_the_answer_is_there(session: LakeSession) -> None:
    text = "SELECT max(n) + 2 FROM sold"
    assert "result cache: the answer is not there" in explained(session, text)
    run(session, text)
    assert is_cached(session, text)
    assert "result cache: the answer is there" in explained(session, text)
    run(session, "SELECT DATE 'today' FROM sold")
    assert "result cache: not kept" in explained(session, "SELECT DATE 'today' FROM sold")
    run(session, "SET gateway.result_cache = off")
    assert "result cache: off" in explained(session, text)


def explained(session: LakeSession, text: str) -> str:
    ((plan,),) = rows(session, f"EXPLAIN {text}")
    return str(plan)


def test_settings_and_users_have_answers_of_their_own(cached: LakeEngine, session: LakeSession) -> None:
    text = "SELECT current_user(), CAST(TIMESTAMP '2026-01-01 00:00:00Z' AS STRING), n FROM sold WHERE n = 1"
    other = opened(cached, BEN)
    run(other, "SET TIME ZONE 'Asia/Tokyo'")
    for _ in range(2):
        (of_ann,) = rows(session, text)
        assert of_ann[0] == "ann"
        result = other.execute(text, StatementRequest(identity=BEN))
        (of_ben,) = (row for batch in result.batches() for row in batch.to_pylist())
        assert tuple(of_ben.values())[:2] == ("ben", "2026-01-01 09:00:00")
    other.close()


def hits(engine: LakeEngine) -> int:
    """Returns cache hits from the metrics, since a statement over a table with policies does not report them."""
    cache = engine._sources.results
    assert cache is not None
    return cache.counts.hits


def test_cache_key_contains_functions_and_policies(cached: LakeEngine, session: LakeSession) -> None:
    run(session, "CREATE TABLE shown AS SELECT id AS n FROM range(5)")
    run(session, "CREATE TABLE allowed AS SELECT 1L AS least")
    run(session, "CREATE FUNCTION is_shown(n BIGINT) RETURNS BOOLEAN RETURN n >= (SELECT max(least) FROM allowed)")
    text = "SELECT count(n), min(n + 0) FROM shown"
    expected = {
        "ALTER TABLE shown SET ROW FILTER is_shown ON (n)": (4, 1),
        "INSERT INTO allowed VALUES (3)": (2, 3),
        "ALTER TABLE shown DROP ROW FILTER": (5, 0),
        "CREATE OR REPLACE FUNCTION is_shown(n BIGINT) RETURNS BOOLEAN RETURN n = 4": (5, 0),
        "ALTER TABLE shown SET ROW FILTER is_shown ON (n) ": (1, 4),
        "INSERT INTO shown VALUES (4)": (2, 4),
    }
    assert rows(session, text) == [(5, 0)]
    for statement, answer in expected.items():
        run(session, statement)
        assert rows(session, text) == [answer], statement
        before = hits(cached)
        assert rows(session, text) == [answer] and hits(cached) == before + 1, statement


def test_a_policy_that_asks_for_the_user_answers_each_for_themselves(cached: LakeEngine, session: LakeSession) -> None:
    run(session, "CREATE TABLE owned AS SELECT * FROM VALUES ('ann', 1), ('ben', 2), ('ben', 3) AS t(who, n)")
    run(session, "CREATE FUNCTION is_own(who STRING) RETURNS BOOLEAN RETURN who = current_user()")
    run(session, "ALTER TABLE owned SET ROW FILTER is_own ON (who)")
    text, other = "SELECT sum(n) FROM owned", opened(cached, BEN)
    for expected in (0, 2):
        before = hits(cached)
        assert [rows(each, text, who) for each, who in ((session, ANN), (other, BEN))] == [[(1,)], [(5,)]]
        assert hits(cached) == before + expected
    other.close()


def test_cache_key_contains_variables_and_temporary_views(session: LakeSession) -> None:
    run(session, "DECLARE least BIGINT DEFAULT 3")
    run(session, "CREATE TEMPORARY VIEW few AS SELECT n FROM sold WHERE n < 7")
    text = "SELECT sum(n) FROM few WHERE n >= least"
    assert rows(session, text) == [(18,)] and is_cached(session, text)
    run(session, "SET VAR least = 5")
    assert rows(session, text) == [(11,)] and is_cached(session, text)
    run(session, "CREATE OR REPLACE TEMPORARY VIEW few AS SELECT n FROM sold WHERE n < 6")
    assert rows(session, text) == [(5,)]
    run(session, "DROP TEMPORARY VARIABLE least")
    with pytest.raises(SqlError, match="least"):
        rows(session, text)


def test_spooled_rows_are_cached_unchanged(session: LakeSession) -> None:
    text = "SELECT id, array(id, 2) AS a, map('k', id) AS m, named_struct('x', string(id)) AS s FROM range(1500), sold"
    first = table(session, f"{text} WHERE n < 2")
    assert first.nbytes > 100_000
    again = table(session, f"{text} WHERE n < 2")
    assert is_cached(session, f"{text} WHERE n < 2")
    assert again.equals(first) and again.schema.equals(first.schema, check_metadata=True)


def test_too_large_result_is_complete_but_not_cached(session: LakeSession) -> None:
    text = (
        "SELECT t.id, uniform FROM (SELECT id, sha2(string(id), 256) AS uniform FROM range(30000)) t, sold WHERE n = 0"
    )
    assert table(session, text).num_rows == 30_000
    assert table(session, text).num_rows == 30_000
    assert not is_cached(session, text)
