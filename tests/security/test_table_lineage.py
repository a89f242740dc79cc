"""Rights on lineage: an edge is visible if both its ends are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from catalog.lineage.edges import Edge, End, EndKind
from engine.binding.lineage_rows import visible_edges
from engine.binding.visibility import visible_to
from engine.statements.listings.statement import ListLineage
from tests.security.guarded_lake import GuardedLake

EDGES = (("t", "mart"), ("hidden", "mart"), ("mart", "report"), ("gone", "mart"))


def table(name: str) -> End:
    return End(EndKind.TABLE, ("spark_catalog", "shop", name))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedLake]:
    folder = tmp_path_factory.mktemp("lineage") / "lake"
    landing = tmp_path_factory.mktemp("landing")
    folder.mkdir()
    found = GuardedLake(folder, allowed=(str(landing),))
    for name in ("t", "hidden", "mart", "report"):
        found.table(f"shop/{name}")
    found.do(
        "root",
        "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
        "GRANT USE SCHEMA ON SCHEMA shop TO `account users`",
        "GRANT SELECT ON shop.t TO eve",
        "GRANT BROWSE ON CATALOG spark_catalog TO both",
        "GRANT SELECT ON shop.mart TO eve",
        "ALTER TABLE shop.mart OWNER TO ann",
        "ALTER TABLE shop.report OWNER TO bob",
        f"CREATE EXTERNAL LOCATION landing URL '{landing}'",
        "GRANT READ FILES ON EXTERNAL LOCATION landing TO eve",
        "CREATE VOLUME shop.files",
        "GRANT READ VOLUME ON VOLUME shop.files TO ann",
        "GRANT SELECT ON shop.mart TO mal",
    )
    sources = [*((table(source), table(target)) for source, target in EDGES)]
    sources += [
        (End(EndKind.PATH, (path,)), table("mart"))
        for path in (f"{landing}/x", "/Volumes/spark_catalog/shop/files/a.csv")
    ]
    found.sources.lineage.record(
        Edge(
            source=source,
            target=target,
            statement_type="INSERT",
            user="root",
            statement_id="1",
            first_ms=at,
            last_ms=at,
        )
        for at, (source, target) in enumerate(sources)
    )
    yield found
    found.sources.close()


def edges(lake: GuardedLake, who: str) -> set[tuple[str, str]]:
    view = visible_to(lake.sources.catalog.view(), lake.identity(who))
    found = visible_edges(view, lake.sources.lineage.load().edges())
    return {(edge.source.parts[-1].rpartition("/")[2], edge.target.parts[-1]) for edge in found}


@pytest.mark.parametrize(
    ("who", "visible"),
    [
        ("root", {("t", "mart"), ("hidden", "mart"), ("mart", "report"), ("x", "mart"), ("a.csv", "mart")}),
        ("both", {("t", "mart"), ("hidden", "mart"), ("mart", "report")}),
        ("eve", {("t", "mart"), ("x", "mart")}),
        ("ann", {("a.csv", "mart")}),
        ("bob", set()),
        ("mal", set()),
    ],
)
def test_edge_is_visible_with_both_ends(lake: GuardedLake, who: str, visible: set[tuple[str, str]]) -> None:
    assert edges(lake, who) == visible


def test_list_of_a_table_has_its_visible_edges(lake: GuardedLake) -> None:
    mart = ListLineage(table_parts=("spark_catalog", "shop", "mart"))

    def neighbors(who: str) -> list[tuple[object, ...]]:
        return [(row[0], row[3] or str(row[5]).rpartition("/")[2], row[4]) for row in lake.rows(who, mart)]

    path, up = "PATH", True
    assert neighbors("eve") == [(up, "x", path), (up, "t", "TABLE")]
    assert neighbors("ann") == [(up, "a.csv", path)]
    assert neighbors("mal") == []
    assert neighbors("both") == [
        (False, "report", "TABLE"),
        (up, "hidden", "TABLE"),
        (up, "t", "TABLE"),
    ]
    assert lake.outcome("bob", mart) == "42P01"


@pytest.mark.parametrize(("who", "audit"), [("root", "55000"), ("eve", "42P01"), ("bob", "42P01")])
def test_everybody_may_query_lineage_but_not_the_audit_log(lake: GuardedLake, who: str, audit: str) -> None:
    for name in ("system.access.table_lineage", "system.access.column_lineage", "system.table_lineage"):
        assert lake.outcome(who, f"SELECT * FROM {name}") == "R"
    shown = [row[1] for row in lake.rows(who, "SHOW TABLES IN system.access")]
    assert shown == ["audit", "column_lineage", "table_lineage"][who != "root" :]
    for name in ("system.access.audit", "system.audit"):
        assert lake.outcome(who, f"SELECT * FROM {name}") == audit
