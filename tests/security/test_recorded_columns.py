"""Result column names in the audit log: from tables and from the statement's text, never values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.main import LakeEngine
from engine.runtime.parameters import Parameter
from engine.spark.session import SparkDriver
from gateway.audit.audit_log import AuditLog, log_contents
from gateway.audit.auditor import LogAuditor
from gateway.configuration.config import OnFailure, StatementText
from gateway.observability.redaction import identifiers
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from tests.gateway.http.conftest import eventually
from tests.security.guarded_lake import ROOT, GuardedLake

pytestmark = pytest.mark.spark

Column = tuple[str | None, tuple[str, ...]]


class Recorded:
    """A registry with Spark whose audit log is read."""

    def __init__(self, folder: Path, engine: LakeEngine, text: StatementText) -> None:
        self.text, self._folder = text, folder / f"audit-{text}"
        auditor = LogAuditor(AuditLog(self._folder), text=text, on_failure=OnFailure.REFUSE)
        self._registry = Registry(engine, Limits(linger_s=0), auditor=auditor)
        self._session = self._registry.open_session(ROOT)

    def recorded(self, text: str, *parameters: Parameter) -> tuple[list[Column], str]:
        """Returns the result columns with their source names, and the statement's complete records."""
        operation = self._session.execute(text, parameters=parameters)
        assert operation.wait(60) is OperationState.FINISHED, operation.error
        operation.fetch(10)
        assert eventually(lambda: self._lines(operation)[-1]["event"] == "statement.end")
        lines = self._lines(operation)
        lineage = lines[-1].get("lineage", ())
        columns = [(each["column"], tuple(source["column"] for source in each["sources"])) for each in lineage]
        return columns, json.dumps(lines)

    def close(self) -> None:
        self._registry.drain(0)

    def _lines(self, operation: Operation) -> list[dict[str, Any]]:
        lines = [json.loads(line) for _, content in log_contents(self._folder) for line in content.splitlines()]
        return [line for line in lines if line.get("statement") == str(operation.id)]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[dict[str, Recorded]]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "lake").mkdir()
    lake = GuardedLake(folder / "lake")
    lake.table("shop/t")
    lake.do("root", "GRANT ALL PRIVILEGES ON CATALOG spark_catalog TO root")
    engine = LakeEngine(lake.sources, spark_driver)
    found = {text.value: Recorded(folder, engine, text) for text in StatementText}
    yield found
    for server in found.values():
        server.close()


@pytest.fixture(params=[text.value for text in StatementText])
def server(request: pytest.FixtureRequest, servers: dict[str, Recorded]) -> Recorded:
    return servers[request.param]


VALUE = "PARAMVALUE1"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT :p", []),
        ("SELECT :p AS x", [("x", ())]),
        ("SELECT upper(:p), id FROM shop.t", [("id", ("id",))]),
        ("SELECT concat(ssn, :p) FROM shop.t", [(None, ("ssn",))]),
        ("SELECT concat(ssn, :p) AS `x y`, ID FROM shop.t", [("x y", ("ssn",)), ("ID", ("id",))]),
        ("SELECT * FROM (SELECT concat(ssn, :p), ssn FROM shop.t)", [(None, ("ssn",)), ("ssn", ("ssn",))]),
        ("WITH q AS (SELECT :p, id FROM shop.t) SELECT * FROM q", [("id", ("id",))]),
        ("SELECT id > length(:p) FROM shop.t", [(None, ("id",))]),
        ("SELECT max(ssn = :p) FROM shop.t", [(None, ("ssn",))]),
    ],
)  # fmt: skip
def test_no_value_of_a_parameter_is_recorded(server: Recorded, text: str, columns: list[Column]) -> None:
    found, recorded = server.recorded(text, Parameter(name="p", value=VALUE))
    if server.text is StatementText.NONE:  # without the text there are no aliases
        named = [(name if name in ("id", "ID", "ssn") else None, read) for name, read in columns]
        columns = [(name, read) for name, read in named if name or read]
    assert found == columns
    assert VALUE not in recorded.upper()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'hunter2'",
        "SELECT concat(ssn, 'hunter2') FROM shop.t",
        "SELECT count_if(ssn = 'hunter2') FROM shop.t",
        "SELECT named_struct('hunter2', ssn) FROM shop.t",
        "SELECT q.s.* FROM (SELECT named_struct('hunter2', ssn) AS s FROM shop.t) q",
        "SELECT * FROM (SELECT id, ssn FROM shop.t) PIVOT (max(id) FOR ssn IN ('hunter2'))",
        "SELECT inline(array(named_struct('hunter2', ssn))) FROM shop.t",
        "SELECT j.* FROM (SELECT from_json(ssn, 'hunter2 INT') AS j FROM shop.t)",
        "SELECT * FROM VALUES ('hunter2')",
        "SELECT ssn AS IDENTIFIER('hunter2') FROM shop.t",
        "SELECT NULL, TRUE, X'48', DATE'2020-01-01', 42, current_user FROM shop.t",
        "SELECT sha2(ssn || 'dapihunter2hunter2', 256) FROM shop.t",
        "EXECUTE IMMEDIATE 'SELECT ssn || ''x'' AS hunter2 FROM shop.t'",
        "BEGIN SELECT ssn || 'hunter2' FROM shop.t; END",
    ],
)
def test_no_literal_becomes_the_name_of_a_column(server: Recorded, text: str) -> None:
    found, recorded = server.recorded(text)
    assert all(name in ("id", "ssn", None) for name, _ in found)
    if server.text is not StatementText.FULL:
        assert "hunter2" not in recorded.lower()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT a AS `b C`", {"select", "a", "as", "b c"}),
        ("SELECT 'a', \"b\", 1 -- c", {"select"}),
        ("SELECT TRUE, null, False, `true x`", {"select", "true x"}),
        ("SELECT r'a' /* b */ x", {"select", "x"}),
    ],
)
def test_identifiers_of_a_text(text: str, found: object) -> None:
    assert identifiers(text) == found
