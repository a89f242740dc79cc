"""Column lineage: columns that a statement reads and writes, and their sources, from Spark's analyzed plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from engine.main import LakeSession
from engine.runtime.accesses import Commit, Lineage, resolve_lineage
from engine.runtime.request import StatementRequest
from engine.spark.session import SparkDriver
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People

U = "`spark_catalog`.`shop`.`u`"


class Watched(People):
    """Lineage reported by each of root's statements."""

    def lineage_of(self, text: str) -> tuple[list[Lineage], list[Commit]]:
        identity = self._lake.identity("root")
        lineage: list[Lineage] = []
        commits: list[Commit] = []
        request = StatementRequest(identity=identity, on_lineage=lineage.append, on_commit=commits.append)
        result = self._session("root").execute(text, request)
        pa.Table.from_batches(result.batches(), result.schema)
        result.close()
        return lineage, commits

    def _session(self, who: str) -> LakeSession:
        self.rows(who, "SELECT 1")
        return self._sessions[who]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("lineage") / "lake"
    folder.mkdir()
    found = Watched(GuardedLake(folder), spark_driver)
    for text in (
        "GRANT ALL PRIVILEGES ON CATALOG spark_catalog TO root",
        "CREATE SCHEMA shop",
        "CREATE TABLE shop.t (a INT, b INT, c STRING, d INT)",
        "CREATE TABLE shop.u (a INT, x STRING, y BIGINT GENERATED ALWAYS AS (CAST(a AS BIGINT) + 1))",
        "INSERT INTO shop.t VALUES (1, 2, 'x', 3)",
        "CREATE VIEW shop.v AS SELECT a AS va, upper(c) AS vc FROM shop.t WHERE d > 0",
    ):
        found.rows("root", text)
    yield found
    found.close()


def shown(lineage: list[Lineage]) -> tuple[dict[str, str], str]:
    """Returns `table.column:K` for each source (K is the kind's first letter), then the columns that decide on rows."""

    def text(source: Any, *, kind: bool = True) -> str:
        return f"{source.relation[-2]}.{source.column}" + (f":{source.transformation[0]}" if kind else "")

    found, besides = resolve_lineage(lineage)
    columns = {
        f"{(each.target or '  ')[-2].strip()}.{each.column}": " ".join(sorted(map(text, each.sources)))
        for each in found
    }
    return columns, " ".join(sorted({text(source, kind=False) for source in besides}))


QUERIES = [
    ("SELECT a, a + b AS s FROM shop.t WHERE d > 1", {".a": "t.a:I", ".s": "t.a:T t.b:T"}, "t.d"),
    ("SELECT c, sum(b) AS n FROM shop.t GROUP BY c ORDER BY max(d)", {".c": "t.c:I", ".n": "t.b:A"}, "t.c t.d"),
    ("SELECT t.a, u.x FROM shop.t t JOIN shop.u u ON t.b = u.a", {".a": "t.a:I", ".x": "u.x:I"}, "t.b u.a"),
    ("SELECT a FROM shop.t UNION ALL SELECT b FROM shop.t", {".a": "t.a:I t.b:I"}, ""),
    ("WITH q AS (SELECT a + b AS s, c FROM shop.t) SELECT s, q2.c FROM q JOIN (SELECT c FROM q) q2 USING (c)",
     {".s": "t.a:T t.b:T", ".c": "t.c:I"}, "t.c"),
    ("SELECT (SELECT max(x) FROM shop.u WHERE u.a = t.a) AS m FROM shop.t", {".m": "t.a:T u.x:A"}, "t.a u.a"),
    ("SELECT a FROM shop.t WHERE EXISTS (SELECT 1 FROM shop.u WHERE u.a = t.b)", {".a": "t.a:I"}, "t.b u.a"),
    ("SELECT a FROM shop.t WHERE b IN (SELECT a FROM shop.u)", {".a": "t.a:I"}, "t.b u.a"),
    ("SELECT sum(a) OVER (PARTITION BY c) AS w FROM shop.t", {".w": "t.a:A t.c:T"}, ""),
    ("SELECT va, vc FROM shop.v", {".va": "t.a:I", ".vc": "t.c:T"}, "t.d"),
    ("SELECT e FROM shop.t LATERAL VIEW explode(split(c, ',')) AS e", {".e": "t.c:T"}, ""),
    ("SELECT a, b, count(1) AS n FROM shop.t GROUP BY CUBE (a, b)", {".a": "t.a:I", ".b": "t.b:I", ".n": ""},
     "t.a t.b"),
    ("WITH RECURSIVE r(n) AS (SELECT a FROM shop.t UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r",
     {".n": "t.a:T"}, "t.a"),
    ("SELECT a FROM shop.t EXCEPT SELECT a FROM shop.u", {".a": "t.a:I"}, "t.a u.a"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "columns", "others"), QUERIES)
def test_columns_of_a_query(people: Watched, text: str, columns: dict[str, str], others: str) -> None:
    lineage, commits = people.lineage_of(text)
    assert shown(lineage) == (columns, others)
    assert not commits


def test_columns_of_writes(people: Watched) -> None:
    lineage, commits = people.lineage_of("INSERT INTO shop.u (a, x) SELECT a, c FROM shop.t WHERE d = 3")
    assert shown(lineage) == ({"u.a": "t.a:I", "u.x": "t.c:I", "u.y": "t.a:T"}, "t.d")
    assert [commit.relation for commit in commits] == [U]
    lineage, commits = people.lineage_of("UPDATE shop.u SET x = 'z' WHERE a = 1")
    columns, others = shown(lineage)
    assert columns["u.a"].startswith("u.a:") and "u.a" in others
    assert commits[0].version == 2
    lineage, _ = people.lineage_of("MERGE INTO shop.u USING shop.t s ON u.a = s.a WHEN MATCHED THEN UPDATE SET x = s.c")
    columns, others = shown(lineage)
    assert "t.c:I" in columns["u.x"].split() and columns["u.a"] == "u.a:I"
    assert "t.a" in others and "t.b" not in others
    lineage, _ = people.lineage_of(
        "MERGE INTO shop.u USING (SELECT a, c FROM shop.t WHERE d > 0) s ON u.a = s.a "
        "WHEN MATCHED THEN UPDATE SET x = s.c"
    )
    columns, others = shown(lineage)
    assert "t.c:I" in columns["u.x"].split(), "the source was materialized"
    assert {"t.a", "t.d"} <= set(others.split())


def test_lineage_is_not_computed_without_listener(people: Watched) -> None:
    assert people.rows("root", "SELECT count(*) FROM shop.t") == [(1,)]
