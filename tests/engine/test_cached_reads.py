"""Answers that come from the result cache, those that must not, and what statements say of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.cache.result_cache import CacheCounts, ResultCache
from engine.exec.session import SparkDriver
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.context import StatementContext
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from tests.engine.lake_sessions import rows, run

ANN, BEN = Identity("ann"), Identity("ben")


@pytest.fixture(scope="module")
def cached(lake: Path, spark_driver: SparkDriver) -> Iterator[LakeEngine]:
    """An engine with a result cache; other than its sessions, it lasts for the module."""
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


def cache_of(engine: LakeEngine) -> ResultCache:
    found = engine._sources.results
    assert found is not None
    return found


def counts(engine: LakeEngine) -> CacheCounts:
    return cache_of(engine).counts


def is_cached(
    session: LakeSession, text: str, identity: Identity = ANN, parameters: tuple[Parameter, ...] = ()
) -> bool:
    """Whether the answer of `text`, which is read to its end, comes from the cache."""
    context = StatementContext(identity=identity)
    result = session.execute(text, context, parameters)
    list(result.batches())
    result.close()
    return context.profile.is_from_cache


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
    "SELECT * FROM information_schema.tables WHERE table_name = 'sold'",
    "SELECT 'today', 'now', now FROM (SELECT n AS now FROM sold)",
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
    "SELECT n, collect_list(x) FROM sold, (SELECT any_value(n) AS x FROM sold) GROUP BY n",
    r"SELECT n FROM sold WHERE d < DATE 'tod\u0061y'",
    "SELECT n FROM sold WHERE d < TIMESTAMP /* x */ ' Now'",
    "SELECT unix_timestamp(), n FROM sold",
    "SELECT localtimestamp(), n FROM sold",
    "SELECT rand(), n FROM sold",
    "SELECT rand(4), n FROM sold",
    "SELECT uuid(), n FROM sold",
    "SELECT shuffle(array(n, 1, 2)) FROM sold",
    "SELECT monotonically_increasing_id(), n FROM sold",
    "SELECT input_file_name(), n FROM sold",
    "SELECT spark_partition_id(), n FROM sold",
    "SELECT n FROM sold TABLESAMPLE (50 PERCENT)",
    "SELECT n FROM sold WHERE n IN (SELECT n FROM sold WHERE rand() < 2)",
    "WITH t AS (SELECT now() AS t) SELECT n, t FROM sold, t",
    "SELECT n FROM sold ORDER BY uuid()",
    "SELECT sum(n) OVER (ORDER BY rand()) FROM sold",
)


@pytest.mark.parametrize("text", REPEATED)
def test_an_answer_comes_again_from_the_cache(session: LakeSession, text: str) -> None:
    first = rows(session, text)
    assert is_cached(session, text)
    assert rows(session, text) == first


@pytest.mark.parametrize("text", NOT_REPEATED)
def test_what_depends_on_time_or_chance_is_not_kept(session: LakeSession, text: str) -> None:
    rows_before = list(rows(session, text))
    assert rows_before is not None
    assert not is_cached(session, text)
    assert not is_cached(session, text)
