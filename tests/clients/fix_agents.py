"""A real server in the mode `read_write` of MCP, with users and an audit log, for tests of agents and of browsing.

bob may use the schema `sales`, whose table `people` has a row filter and a mask for him, and nothing in `secret`.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.clients.fix_users import UserServer, user_server
from tests.security.secure_server import basic

_SETUP = (
    "GRANT ALL PRIVILEGES ON CATALOG spark_catalog TO ann",
    "CREATE SCHEMA sales COMMENT 'what is sold'",
    "CREATE SCHEMA secret",
    "CREATE TABLE sales.people (id INT COMMENT 'a key', region STRING, email STRING) PARTITIONED BY (region) "
    "COMMENT 'those who buy'",
    "INSERT INTO sales.people VALUES (1, 'north', 'a@x'), (2, 'south', 'b@x')",
    "CREATE TABLE sales.plain (id INT, price DECIMAL(10,2), tags ARRAY<STRING>)",
    "INSERT INTO sales.plain VALUES (1, 1.50, array('a'))",
    "CREATE VIEW sales.ids AS SELECT id FROM sales.people",
    "CREATE TABLE secret.plans (id INT)",
    "INSERT INTO secret.plans VALUES (42)",
    "CREATE VOLUME sales.files COMMENT 'papers'",
    "CREATE VOLUME secret.safe",
    "CREATE FUNCTION sales.in_north(r STRING) RETURNS BOOLEAN RETURN r = 'north'",
    "CREATE FUNCTION sales.hidden(v STRING) RETURNS STRING RETURN '***'",
    "CREATE FUNCTION sales.plus(x INT COMMENT 'a number', y INT DEFAULT 2) RETURNS INT COMMENT 'Adds.' RETURN x + y",
    "CREATE FUNCTION sales.plan_count() RETURNS BIGINT RETURN SELECT count(*) FROM secret.plans",
    "CREATE FUNCTION sales.tagged(tags ARRAY<STRING>, price DECIMAL(20,2)) "
    "RETURNS TABLE (tag STRING, price DECIMAL(20,2)) RETURN SELECT tagged.tags[1], tagged.price",
    "CREATE FUNCTION secret.all_plans() RETURNS TABLE (id INT) RETURN SELECT id FROM secret.plans",
    "ALTER TABLE sales.people SET ROW FILTER sales.in_north ON (region)",
    "ALTER TABLE sales.people ALTER COLUMN email SET MASK sales.hidden",
    "GRANT USE CATALOG ON CATALOG spark_catalog TO bob",
    "GRANT USE SCHEMA ON SCHEMA sales TO bob",
    "GRANT SELECT, MODIFY, CREATE TABLE, CREATE FUNCTION ON SCHEMA sales TO bob",
    "GRANT EXECUTE ON SCHEMA sales TO bob",
    "GRANT READ VOLUME ON SCHEMA sales TO bob",
)


@dataclass(frozen=True)
class Agents:
    """The server, and the official client as any user at any address."""

    server: UserServer
    audit: Path

    @property
    def url(self) -> str:
        return self.server.url.rstrip("/")

    def call(self, user: str, name: str, *, at: str = "sql", mode: Any = "auto", **arguments: object) -> dict[str, Any]:
        """Returns a tool's structured result."""

        async def run(client: Client) -> dict[str, Any]:
            answer = await client.call_tool(name, arguments)
            content: dict[str, Any] = answer.structured_content or {}
            assert json.loads(answer.content[0].text) == content  # type: ignore[union-attr]
            assert answer.is_error is ("error" in content.get("status", {}))
            return content

        result: dict[str, Any] = self._run(user, at, mode, run)
        return result

    def rows(self, user: str, name: str, **given: Any) -> list[list[str | None]]:
        """Returns the rows in a tool's result."""
        found = self.call(user, name, **given)
        assert found["status"] == {"state": "SUCCEEDED"}, found
        rows: list[list[str | None]] = found["result"]["data_array"]
        return rows

    def condition(self, user: str, name: str, **given: Any) -> str:
        """Returns the condition of a tool's error."""
        condition: str = self.call(user, name, **given)["status"]["error"]["condition"]
        return condition

    def tools(self, user: str, at: str = "sql") -> dict[str, Any]:
        """Returns the tools on all pages by name."""

        async def run(client: Client) -> dict[str, Any]:
            page = await client.list_tools()
            found = list(page.tools)
            while page.next_cursor:
                page = await client.list_tools(cursor=page.next_cursor)
                found += page.tools
            return {tool.name: tool for tool in found}

        tools: dict[str, Any] = self._run(user, at, "auto", run)
        return tools

    def _run(self, user: str, at: str, mode: Any, run: Any) -> Any:
        async def drive() -> Any:
            async with httpx2.AsyncClient(headers=basic(user), timeout=120) as connection:
                transport = streamable_http_client(f"{self.url}/api/2.0/mcp/{at}", http_client=connection)
                async with Client(transport, mode=mode) as client:
                    return await run(client)

        return anyio.run(drive)

    def audit_records(self) -> list[dict[str, Any]]:
        """Returns the audit log's lines."""
        return [
            json.loads(line) for file in sorted(self.audit.glob("*.jsonl")) for line in file.read_text().splitlines()
        ]


@pytest.fixture(scope="session")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agents]:
    folder = tmp_path_factory.mktemp("agents")
    lake, audit = folder / "lake", folder / "audit"
    lake.mkdir()
    settings = {"GATEWAY_MCP_MODE": "read_write", "GATEWAY_MCP_ROWS_MAX": "4", "GATEWAY_AUDIT_FOLDER": str(audit)}
    # A list of tables takes more statements than a session may have open.
    settings |= {"GATEWAY_SESSIONS_STATEMENTS_MAX": "3"}
    with user_server(folder, lake, **settings) as server:
        for text in _SETUP:
            server.rows(text)
        content = BytesIO()
        pq.write_table(pa.table({"id": pa.array([7], pa.int32())}), content)
        url = f"{server.url}api/2.0/fs/files/Volumes/spark_catalog/sales/files/x.parquet"
        request = urllib.request.Request(url, content.getvalue(), basic("ann"), method="PUT")
        urllib.request.urlopen(request).close()
        yield Agents(server, audit)
