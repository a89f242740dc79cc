"""`system.gateway`: the server's sessions, statements, tables and metrics as relations, filtered per user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.entries import TableEntry
from catalog.system.server_views import SERVER_RELATIONS
from engine.binding.binder import Binder
from engine.binding.bound import BoundTable
from engine.main import LakeEngine
from engine.spark.session import SparkDriver
from gateway.lifecycle import Lifecycle, Ports
from gateway.observability.activity import ServerActivity
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from gateway.sessions.session import Origin, Session
from tests.security.guarded_lake import GuardedLake

pytestmark = pytest.mark.spark


@dataclass
class ViewServer:
    """Sessions in a server over a lake, one per principal."""

    lake: GuardedLake
    registry: Registry
    sessions: dict[str, Session]

    def state(self, who: str, text: str) -> OperationState:
        return self._run(who, text).wait(60)

    def rows(self, who: str, text: str) -> list[dict[str, Any]]:
        operation = self._run(who, text)
        operation.wait(60)
        found: pa.Table = operation.fetch(10_000).rows
        listed: list[dict[str, Any]] = found.to_pylist()
        return listed

    def _run(self, who: str, text: str) -> Operation:
        if who not in self.sessions:
            origin = Origin("http", "192.0.2.1", f"client of {who}")
            self.sessions[who] = self.registry.open_session(self.lake.identity(who), origin=origin, schema="shop")
        return self.sessions[who].execute(text)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[ViewServer]:
    folder: Path = tmp_path_factory.mktemp("served") / "lake"
    folder.mkdir()
    lake = GuardedLake(folder)
    for name in ("open", "seen", "filtered", "unknown"):
        lake.table(f"shop/{name}")
    (folder / "shop" / "broken" / "_delta_log").mkdir(parents=True)
    (folder / "shop" / "broken" / "_delta_log" / f"{0:020}.json").write_text("{not json")
    lake.do(
        "root",
        "GRANT USE CATALOG ON CATALOG TO `account users`",
        "GRANT USE SCHEMA ON SCHEMA shop TO `account users`",
        "GRANT MODIFY ON TABLE shop.seen TO ann",
        *(f"GRANT SELECT ON TABLE shop.{name} TO ann" for name in ("open", "filtered", "broken")),
    )
    engine, lifecycle = LakeEngine(lake.sources, spark_driver), Lifecycle()
    engine.show_activity(ServerActivity(lifecycle))
    registry = Registry(engine, Limits(linger_s=0))
    lifecycle.become_ready(registry, Ports(thrift=0, http=0))
    found = ViewServer(lake, registry, {})
    for text in (
        "CREATE FUNCTION shop.mine(id BIGINT) RETURNS BOOLEAN RETURN is_member('none')",
        "ALTER TABLE shop.filtered SET ROW FILTER shop.mine ON (id)",
    ):
        assert found.state("root", text) is OperationState.FINISHED
    assert found.rows("ann", "SELECT count(*) AS own FROM open") == [{"own": 2}]
    assert found.state("bob", "SELECT 'hunter2' AS password_of_bob, nope") is OperationState.FAILED
    yield found
    registry.drain(0)


def test_columns_are_those_of_the_catalog(server: ViewServer) -> None:
    for name, columns in SERVER_RELATIONS.items():
        described = server.rows("ann", f"DESCRIBE system.{name}")
        assert [(row["col_name"], row["data_type"]) for row in described] == list(columns)
        types = server.rows("ann", f"DESCRIBE QUERY SELECT * FROM system.{name}")
        assert [row["data_type"] for row in types] == [kind.replace(", ", ",") for _, kind in columns]
        assert server.state("ann", f"SELECT * FROM system.gateway.{name} LIMIT 1") is OperationState.FINISHED
    assert [row["tableName"] for row in server.rows("ann", "SHOW TABLES IN system.gateway")] == sorted(SERVER_RELATIONS)


def test_users_see_their_own_statements_and_administrators_all(server: ViewServer) -> None:
    text = "SELECT statement_text, state, error_condition, result_rows FROM system.queries"
    own = server.rows("ann", f"{text} WHERE statement_text LIKE '%AS own%'")
    assert own[-1] == {
        "statement_text": "SELECT count(*) AS own FROM open",
        "state": "FINISHED",
        "error_condition": None,
        "result_rows": 1,
    }
    assert not server.rows("ann", f"{text} WHERE error_condition LIKE 'UNRESOLVED%'")
    (others,) = server.rows("root", f"{text} WHERE error_condition LIKE 'UNRESOLVED%'")
    assert others["state"] == "FAILED"
    (stages,) = server.rows(
        "ann", "SELECT stage_ms['execute'] > 0 AS ran, duration_ms >= 0 AS timed, ended >= created AS ordered"
        " FROM system.queries WHERE statement_text LIKE '%AS own FROM open' AND state = 'FINISHED'"
    )  # fmt: skip
    assert stages == {"ran": True, "timed": True, "ordered": True}


def test_a_running_statement_sees_itself(server: ViewServer) -> None:
    (found,) = server.rows("ann", "SELECT state, ended FROM system.queries WHERE statement_text LIKE '%itself%'")
    assert found == {"state": "RUNNING", "ended": None}


def test_users_see_their_own_sessions_and_administrators_all(server: ViewServer) -> None:
    (own,) = server.rows("ann", "SELECT * FROM system.sessions")
    assert (own["user_name"], own["current_schema"], own["running_statements"]) == ("ann", "shop", 1)
    assert (own["client_address"], own["user_agent"]) == ("192.0.2.1", "client of ann")
    assert {row["user_name"] for row in server.rows("root", "SELECT user_name FROM system.sessions")} >= {"ann", "bob"}


def test_last_altered_is_null_unless_all_of_the_table_may_be_read(server: ViewServer) -> None:
    text = "SELECT table_name, last_altered IS NOT NULL AS known FROM information_schema.tables"
    found = {row["table_name"]: row["known"] for row in server.rows("ann", f"{text} WHERE table_schema = 'shop'")}
    assert found == {"open": True, "seen": False, "filtered": False, "broken": False}


def test_server_views_contain_visible_tables(server: ViewServer) -> None:
    text = "SELECT table_name, format, location, version, num_files, size_bytes > 0 AS sized, error_condition"
    found = {row["table_name"]: row for row in server.rows("ann", f"{text} FROM system.tables")}
    assert found.keys() == {"open", "seen", "filtered", "broken"}
    assert (found["open"]["version"], found["open"]["num_files"], found["open"]["sized"]) == (1, 2, True)
    for name in ("seen", "filtered"):
        assert found[name] == {"table_name": name, "format": "delta"} | dict.fromkeys(list(found[name])[2:])
    assert found["broken"]["error_condition"] and found["broken"]["version"] is None
    assert not any(row["location"] for row in found.values())
    (own,) = server.rows("root", "SELECT location, num_files FROM system.tables WHERE table_name = 'unknown'")
    assert own == {"location": str(server.lake.folder / "shop" / "unknown"), "num_files": None}


def test_server_views_change_with_each_statement(server: ViewServer) -> None:
    text = "SELECT value FROM system.metrics WHERE name = 'gateway_stage_seconds_count' AND labels['stage'] = 'parse'"
    before, after = (server.rows("ann", text)[0]["value"] for _ in range(2))
    assert after == before + 1


def test_server_views_can_be_joined(server: ViewServer) -> None:
    found = server.rows(
        "ann",
        "SELECT t.table_name, c.n FROM system.tables t JOIN (SELECT table_name, count(*) AS n FROM"
        " information_schema.columns GROUP BY 1) c USING (table_name) WHERE t.num_files = 2",
    )
    assert found == [{"table_name": "open", "n": 2}]


def test_the_schema_is_reserved(server: ViewServer) -> None:
    for text in ("CREATE TABLE system.gateway.t (a INT)", "DROP VIEW system.gateway.queries"):
        assert server.state("root", text) is OperationState.FAILED


def test_a_table_of_the_short_name_wins(server: ViewServer) -> None:
    server.lake.table("system/queries")
    assert [row["col_name"] for row in server.rows("root", "DESCRIBE system.queries")] == ["id", "ssn"]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yields the tables whose logs are opened for a listing."""
    names: list[str] = []

    def note(binder: Binder, entry: TableEntry) -> BoundTable:
        names.append(entry.name.table)
        return loaded(binder, entry)

    loaded = Binder._load_uncached
    monkeypatch.setattr(Binder, "_load_uncached", note)
    yield names


OPENED = [
    ("ann", "true", ("open", "seen", "filtered", "broken")),
    ("root", "true", ("open", "seen", "filtered", "broken", "unknown")),
    ("ann", "table_name = 'open'", ("open",)),
    ("ann", "upper(table_name) IN ('OPEN', 'UNKNOWN')", ("open",)),
    ("ann", "table_name = 'unknown'", ()),
    ("root", "table_name = 'unknown'", ("unknown",)),
    ("ann", "if(table_name = 'unknown', raise_error('it is there'), true)", ("open", "seen", "filtered", "broken")),
]


@pytest.mark.parametrize("relation", ["information_schema.columns", "system.gateway.tables"])
@pytest.mark.parametrize(("who", "condition", "names"), OPENED, ids=lambda case: str(case)[:40])
def test_only_tables_that_are_visible_are_opened_or_meet_conditions(
    server: ViewServer, opened: list[str], relation: str, who: str, condition: str, names: tuple[str, ...]
) -> None:
    text = f"SELECT DISTINCT table_name FROM {relation} WHERE table_schema = 'shop' AND {condition}"
    assert server.state(who, text) is OperationState.FINISHED
    assert sorted(opened) == sorted(names)
    found = {row["table_name"] for row in server.rows(who, text)}
    assert found == set(names) - ({"broken"} if relation == "information_schema.columns" else set())


def test_a_condition_that_fails_for_a_table_fails_for_who_may_see_it(server: ViewServer) -> None:
    text = "SELECT count(*) FROM information_schema.columns WHERE if(table_name = 'unknown', raise_error('x'), true)"
    assert server.state("root", text) is OperationState.FAILED
    assert server.state("ann", text) is OperationState.FINISHED
