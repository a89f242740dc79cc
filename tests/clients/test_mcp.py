"""Agents at a real server with users: rights in each tool, read-only statements, functions as tools, the audit log."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.clients.environments import NODE, node_packages
from tests.clients.fix_agents import Agents
from tests.security.secure_server import basic

pytestmark = [pytest.mark.clients, pytest.mark.spark]

IN_SALES = {"catalog": "spark_catalog", "schema": "sales"}
IN_SECRET = {"catalog": "spark_catalog", "schema": "secret"}
FUNCTIONS = "functions/spark_catalog/sales"
READ = "execute_sql_read_only"
JSON = {"Content-Type": "application/json"}


def names(found: dict[str, Any], key: str) -> list[str]:
    assert found["truncated"] is False
    return [each["name"] for each in found[key]]


def test_lists_have_what_the_user_may_see(agents: Agents) -> None:
    for user, schemas in (("bob", ["sales"]), ("ann", ["sales", "secret"])):
        listed = names(agents.call(user, "list_schemas", catalog="spark_catalog"), "schemas")
        assert [name for name in listed if name != "default"] == schemas
    assert names(agents.call("bob", "list_catalogs"), "catalogs") == ["spark_catalog", "system"]
    for user in ("bob", "ann"):
        assert names(agents.call(user, "list_tables", **IN_SALES), "tables") == ["ids", "people", "plain"]
        assert names(agents.call(user, "list_tables", **IN_SALES, pattern="p%n"), "tables") == ["plain"]
    assert names(agents.call("bob", "list_tables", **IN_SECRET), "tables") == []
    assert names(agents.call("ann", "list_tables", **IN_SECRET), "tables") == ["plans"]
    assert names(agents.call("bob", "list_columns", **IN_SECRET), "columns") == []
    assert names(agents.call("ann", "list_columns", **IN_SECRET), "columns") == ["id"]
    of_all = agents.call("bob", "list_columns", **IN_SALES)
    assert (len(of_all["columns"]), of_all["truncated"]) == (4, True)
    columns = agents.call("bob", "list_columns", **IN_SALES, table="people")["columns"]
    assert [(each["name"], each["type"], each.get("comment")) for each in columns] == [
        ("id", "int", "a key"),
        ("region", "string", None),
        ("email", "string", None),
    ]


def test_description_is_bounded_too(agents: Agents) -> None:
    described = agents.call("bob", "describe_table", **IN_SALES, table="people")
    assert ([column["name"] for column in described["table"]["columns"]], described["truncated"]) == (
        ["id", "region", "email"],
        False,
    )
    wide = {"catalog": "spark_catalog", "schema": "information_schema", "table": "tables"}
    described = agents.call("bob", "describe_table", **wide)
    assert (len(described["table"]["columns"]), described["truncated"]) == (4, True)


@pytest.mark.parametrize("tool", ["describe_table", "sample_rows", "table_history"])
def test_table_of_hidden_schema_is_unknown_to_each_tool(agents: Agents, tool: str) -> None:
    assert agents.condition("bob", tool, **IN_SECRET, table="plans") == "TABLE_OR_VIEW_NOT_FOUND"
    for user, place, table in (("ann", IN_SECRET, "plans"), ("bob", IN_SALES, "plain")):
        assert "error" not in agents.call(user, tool, **place, table=table).get("status", {})


@pytest.mark.parametrize("tool", [READ, "execute_sql", "explain_sql"])
def test_statement_about_hidden_table_fails_as_for_an_unknown_one(agents: Agents, tool: str) -> None:
    assert agents.condition("bob", tool, query="SELECT * FROM secret.plans") == "TABLE_OR_VIEW_NOT_FOUND"
    assert agents.rows("ann", tool, query="SELECT * FROM secret.plans")
    assert agents.rows("bob", tool, query="SELECT * FROM sales.plain")


def test_row_filters_and_masks_apply(agents: Agents) -> None:
    assert agents.rows("bob", "sample_rows", **IN_SALES, table="people") == [["1", "north", "***"]]
    for tool in (READ, "execute_sql"):
        assert agents.rows("bob", tool, query="SELECT * FROM sales.people") == [["1", "north", "***"]]
    assert agents.condition("bob", "table_history", **IN_SALES, table="people").startswith("ROW_LEVEL_SECURITY")


WRITES = (
    "INSERT INTO sales.plain VALUES (9, 1, array())",
    "INSERT OVERWRITE sales.plain VALUES (9, 1, array())",
    "UPDATE sales.plain SET id = 9",
    "DELETE FROM sales.plain",
    "TRUNCATE TABLE sales.plain",
    "MERGE INTO sales.plain AS t USING (SELECT 9 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "COPY INTO sales.plain FROM '/Volumes/spark_catalog/sales/files/x.parquet' FILEFORMAT = PARQUET",
    "CREATE TABLE sales.made (i INT)",
    "CREATE TABLE sales.made AS SELECT 1 AS i",
    "CREATE OR REPLACE TABLE sales.plain (i INT)",
    "CREATE TABLE sales.made SHALLOW CLONE sales.plain",
    "CREATE VIEW sales.made AS SELECT 1 AS i",
    "CREATE TEMPORARY VIEW made AS SELECT 1 AS i",
    "CREATE FUNCTION sales.made() RETURNS INT RETURN 1",
    "CREATE SCHEMA made",
    "CREATE VOLUME sales.made",
    "ALTER TABLE sales.plain ADD COLUMN more INT",
    "ALTER TABLE sales.plain SET TBLPROPERTIES ('a' = 'b')",
    "DROP TABLE sales.plain",
    "DROP SCHEMA sales CASCADE",
    "DROP FUNCTION sales.plus",
    "OPTIMIZE sales.plain",
    "VACUUM sales.plain",
    "REORG TABLE sales.plain APPLY (PURGE)",
    "RESTORE TABLE sales.plain TO VERSION AS OF 0",
    "ANALYZE TABLE sales.plain COMPUTE STATISTICS",
    "GENERATE symlink_format_manifest FOR TABLE sales.plain",
    "CALL spark_catalog.system.rewrite_data_files(table => 'sales.plain')",
    "COMMENT ON TABLE sales.plain IS 'x'",
    "GRANT SELECT ON TABLE sales.plain TO bob",
    "REVOKE SELECT ON SCHEMA sales FROM bob",
    "CREATE GROUP made",
    "CREATE TOKEN",
    "REMOVE '/Volumes/spark_catalog/sales/files/x.parquet'",
    "EXECUTE IMMEDIATE 'DELETE FROM sales.plain'",
    "BEGIN DELETE FROM sales.plain; END",
    "BEGIN IF 1 = 1 THEN EXECUTE IMMEDIATE 'DROP TABLE sales.plain'; END IF; END",
    "/* SELECT 1 */ DELETE FROM sales.plain",
    "WITH s AS (SELECT 9 AS id) DELETE FROM sales.plain",
)


def test_read_only_tools_change_nothing(agents: Agents) -> None:
    """As the administrator, whose privileges permit each statement; the last one shows that they would run."""
    before = agents.call("ann", "table_history", **IN_SALES, table="plain")
    for text in WRITES:
        error = agents.call("ann", READ, query=text)["status"]
        assert error["state"] == "FAILED", text
        assert error["error"]["condition"] == "INSUFFICIENT_PERMISSIONS.SCOPE", (text, error)
    assert agents.call("ann", "table_history", **IN_SALES, table="plain") == before
    assert agents.rows("ann", "execute_sql", query="CREATE TABLE sales.made_at_last (i INT)") == []
    assert agents.rows("ann", "execute_sql", query="DROP TABLE sales.made_at_last") == []


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("SELECT id FROM sales.plain", ["1"]),
        ("WITH s AS (SELECT 5 AS i) SELECT i FROM s", ["5"]),
        ("SHOW TABLES IN sales LIKE 'plain'", ["sales", "plain", "false"]),
        ("EXECUTE IMMEDIATE 'SELECT 7'", ["7"]),
        ("BEGIN SELECT 8; END", ["8"]),
        ("SET spark.sql.session.timeZone = UTC", ["spark.sql.session.timeZone", "UTC"]),
    ],
)
def test_read_only_tool_runs_what_reads(agents: Agents, text: str, row: list[str]) -> None:
    assert agents.rows("bob", READ, query=text) == [row]


def test_setting_ends_with_its_call(agents: Agents) -> None:
    before = agents.rows("bob", READ, query="SET spark.sql.session.timeZone")
    assert agents.rows("bob", READ, query="SET spark.sql.session.timeZone = Asia/Tokyo") != before
    assert agents.rows("bob", READ, query="SET spark.sql.session.timeZone") == before


def test_writing_tool_has_the_privileges_of_its_user(agents: Agents) -> None:
    agents.rows("bob", "execute_sql", query="CREATE TABLE sales.of_bob AS SELECT 1 AS i")
    assert agents.rows("bob", "sample_rows", **IN_SALES, table="of_bob") == [["1"]]
    assert agents.condition("bob", "execute_sql", query="CREATE SCHEMA of_bob") == "INSUFFICIENT_PERMISSIONS"
    assert agents.condition("zoë", "execute_sql", query="DROP TABLE sales.of_bob") == "TABLE_OR_VIEW_NOT_FOUND"
    agents.rows("bob", "execute_sql", query="DROP TABLE sales.of_bob")


def test_statement_of_another_user_is_unknown(agents: Agents) -> None:
    statement_id = agents.call("bob", READ, query="SELECT 1")["statement_id"]
    for user in ("ann", "zoë"):
        found = agents.condition(user, "poll_sql_result", statement_id=statement_id)
        assert found == "INVALID_HANDLE.OPERATION_NOT_FOUND"
    assert agents.rows("bob", "poll_sql_result", statement_id=statement_id) == [["1"]]


def test_functions_are_tools_with_typed_arguments(agents: Agents) -> None:
    tools = agents.tools("bob", FUNCTIONS)
    functions = ("hidden", "in_north", "plan_count", "plus", "tagged")
    assert list(tools) == [*(f"spark_catalog__sales__{name}" for name in functions), "poll_sql_result"]
    plus = tools["spark_catalog__sales__plus"]
    assert plus.description == "Adds. (SQL function spark_catalog.sales.plus(x INT, y INT) RETURNS INT)"
    assert plus.input_schema["required"] == ["x"]
    assert plus.input_schema["properties"]["x"] == {
        "type": ["integer", "null"],
        "minimum": -(2**31),
        "maximum": 2**31 - 1,
        "description": "a number (int)",
    }
    assert len(tools) > 4, "the number of tools on a page"
    assert list(agents.tools("bob", f"{FUNCTIONS}/plus")) == ["spark_catalog__sales__plus", "poll_sql_result"]


def test_functions_are_called_with_values(agents: Agents) -> None:
    def rows(name: str, **arguments: object) -> list[list[str | None]]:
        return agents.rows("bob", f"spark_catalog__sales__{name}", at=FUNCTIONS, **arguments)

    assert rows("plus", x=3) == [["5"]]
    called = agents.call("bob", "spark_catalog__sales__plus", at=FUNCTIONS, x=3)
    assert agents.call("bob", "poll_sql_result", at=FUNCTIONS, statement_id=called["statement_id"]) == called
    assert rows("plus", x=3, y=4) == [["7"]]
    assert rows("plus", x=None) == [[None]]
    assert rows("in_north", r='it\'s ` \\ "north"') == [["false"]]
    assert rows("tagged", tags=["a", "it's"], price="123456789012345678.91") == [["it's", "123456789012345678.91"]]
    for arguments, condition in (
        ({}, "INVALID_PARAMETER_VALUE.HTTP_FIELD"),
        ({"x": [1]}, "INVALID_PARAMETER_VALUE.HTTP_FIELD"),
        ({"x": 1, "z": 1}, "INVALID_PARAMETER_VALUE.HTTP_FIELD"),
        ({"x": "one"}, "CAST_INVALID_INPUT"),
        ({"x": 2**40}, "CAST_INVALID_INPUT"),
    ):
        found = agents.condition("bob", "spark_catalog__sales__plus", at=FUNCTIONS, **arguments)
        assert found == condition, arguments


def test_function_reads_with_the_rights_of_its_owner(agents: Agents) -> None:
    """bob may not read `secret.plans`, which ann's function counts, and sees no function of its schema."""
    assert agents.rows("bob", "spark_catalog__sales__plan_count", at=FUNCTIONS) == [["1"]]
    assert list(agents.tools("ann", "functions/spark_catalog/secret"))[:1] == ["spark_catalog__secret__all_plans"]
    with pytest.raises(BaseExceptionGroup) as refused:
        agents.tools("bob", "functions/spark_catalog/secret")
    assert "SCHEMA_NOT_FOUND" in repr(refused.value.exceptions)


def test_without_credentials_nothing_is_answered(agents: Agents) -> None:
    for headers in ({}, basic("bob", "wrong")):
        content = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
        request = urllib.request.Request(f"{agents.url}/api/2.0/mcp/sql", content, JSON | headers)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 401


def test_each_call_is_in_the_audit_log_with_its_front_end(agents: Agents) -> None:
    statement_id = agents.call("bob", READ, query="SELECT id AS audited FROM sales.plain")["statement_id"]
    agents.call("bob", "list_tables", **IN_SALES)
    records = [record for record in agents.audit_records() if record.get("wire") == "mcp"]
    (began, ended) = (record for record in records if record.get("statement") == statement_id)
    assert (began["event"], began["principal"], ended["outcome"]) == ("statement.begin", "bob", "ok")
    assert [each["name"] for each in began["objects"]] == ["`spark_catalog`.`sales`.`plain`"]
    assert any(record.get("text") == "ListTables" for record in records)


def test_owner_sees_the_statements_of_its_agent_in_the_history(agents: Agents) -> None:
    agents.call("bob", READ, query="SELECT 'of an agent'")
    text = "SELECT interface FROM system.gateway.queries WHERE statement_text = 'SELECT \\'of an agent\\''"
    assert agents.server.rows(text, user="bob") == [["mcp"]]
    assert agents.server.rows(text, user="zoë") == []


@pytest.mark.slow
def test_inspector_lists_and_calls_tools(agents: Agents) -> None:
    """The protocol's own inspector, which is written in TypeScript."""
    package = node_packages("inspector", "@modelcontextprotocol/inspector@2.12.0") / "@modelcontextprotocol/inspector"
    program = package / json.loads((package / "package.json").read_text())["bin"]["mcp-inspector"]
    header = f"Authorization: {basic('bob')['Authorization']}"

    def inspect(*arguments: str, status: int = 0) -> Any:
        command: list[str | Path] = [NODE, program, "--cli", f"{agents.url}/api/2.0/mcp/sql", "--transport", "http"]
        command += ["--header", header, "--method", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)

    assert READ in [tool["name"] for tool in inspect("tools/list")["tools"]]
    called = inspect("tools/call", "--tool-name", READ, "--tool-arg", "query=SELECT id FROM sales.plain")
    assert called["structuredContent"]["result"] == {"data_array": [["1"]]}
    failed = inspect("tools/call", "--tool-name", "list_tables", "--tool-arg", "catalog=spark_catalog", status=5)
    assert failed["isError"] and failed["structuredContent"]["status"]["sql_state"] == "22023"
