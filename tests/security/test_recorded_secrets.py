"""Secrets in statements: absent from the audit log, the query history, `system.queries`, the HTTP list and the log."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

import pytest

from engine.runtime.identity import Identity
from gateway.audit.audit_log import log_contents
from gateway.observability.activity import ServerActivity
from gateway.observability.log_format import JsonFormatter, TextFormatter
from tests.gateway.arrow_engine import fails
from tests.gateway.http.conftest import eventually
from tests.security.secure_server import SecureServer, basic

HISTORY = "/api/2.0/sql/history/queries?max_results=1"
SECRET = "hunter2"
STATEMENTS = (
    "SET spark.hadoop.fs.s3a.secret.key = hunter2",
    "SET fs.azure.account.key.acct.dfs.core.windows.net=hunter2/x==",
    "SET spark.hadoop.fs.azure.sas.container.acct.blob.core.windows.net = sv=2024&sp=r&se=hunter2",
    "SET spark.hadoop.fs.azure.account.oauth2.client.secret.acct.dfs.core.windows.net = hunter2",
    "SET spark.hadoop.fs.s3a.encryption.key = a hunter2",
    "CREATE TABLE t (a INT) TBLPROPERTIES ('fs.azure.account.key.acct.dfs.core.windows.net' = 'hunter2')",
    "ALTER TABLE t SET TBLPROPERTIES ('fs.azure.account.key.acct.dfs.core.windows.net' 'hunter2')",
    "CREATE TABLE t USING delta OPTIONS ('fs.s3a.secret.key' = \"hunter2\") LOCATION 's3a://b/t'",
    "CREATE CATALOG c USING rest OPTIONS (uri 'https://h', pin 'hunter2')",
    "ALTER CATALOG c SET OPTIONS (credential 'id:hunter2')",
    "COPY INTO t FROM 's3://b/x' WITH (CREDENTIAL (AWS_ACCESS_KEY = 'hunter2', AWS_SECRET_KEY = 'hunter2'))",
    "COPY INTO t FROM 'abfss://c@a/x' WITH (CREDENTIAL (AZURE_SAS_TOKEN = 'hunter2'))",
    "COPY INTO t FROM 's3://b/x' WITH (ENCRYPTION (TYPE = 'AWS_SSE_C', MASTER_KEY = 'hunter2'))",
    "SELECT * FROM read_files('s3://b/x?X-Amz-Signature=hunter2')",
    "SELECT * FROM parquet.`https://user:hunter2@host/x`",
    "SELECT aes_encrypt(a, 'hunter2') FROM t",
    "SELECT aes_decrypt(unbase64(a), concat('hunter2', 'x'), 'ECB') FROM t",
    "SELECT try_aes_decrypt(a, 'hunter2') FROM t",
    "SELECT hex(hmac('hunter2', a)) FROM t",
    "CREATE VIEW v AS SELECT AES_ENCRYPT (a, 'hunter2') AS a FROM t",
    "DECLARE k STRING DEFAULT 'hunter2'",
    "DECLARE OR REPLACE VARIABLE k STRING = 'hunter2'",
    "SET VAR k = CASE WHEN true THEN lower('hunter2') END",
    "BEGIN DECLARE k STRING; SET k = 'hunter2'; END",
    "EXECUTE IMMEDIATE 'SELECT aes_encrypt(a, ?) FROM t' USING 'hunter2'",
    "EXECUTE IMMEDIATE 'SELECT aes_encrypt(a, ''hunter2'') FROM t'",
    "SELECT * FROM t WHERE password = 'hunter2'",
    "SELECT 'dgp_hunter2hunter2hunter2'",
    "SELECT 'eyJhbGciOiJub25lIn0.eyJodW50ZXIyIjoxfQ.hunter2'",
)  # fmt: skip
ROOT = Identity("ann", is_admin=True)


class RecordedServer:
    """A server whose statements and log lines are all recorded."""

    def __init__(self, folder: Path, log: io.StringIO) -> None:
        self.audit_log, self.log = folder / "audit", log
        settings = {"audit__folder": str(self.audit_log), "authentication__admins": ["ann"]}
        self.server = SecureServer(folder, **settings).start()

    def shown(self, text: str) -> dict[str, str]:
        """Runs `text` as bob; returns its text in each place that outlives a statement."""
        self.server.engine.answers[text] = fails(RuntimeError(f"cannot run {text}"))
        self.log.seek(0)
        self.log.truncate()
        answer = self.server.submit(text, user="bob")
        assert answer["status"]["state"] == "FAILED"
        statement = answer["statement_id"]
        assert eventually(lambda: '"statement.end"' in self._audited(statement))
        listed = self.server.ask("GET", HISTORY, **basic("ann")).body["res"][0]
        assert listed["query_id"] == statement
        row = next(
            row for row in ServerActivity(self.server._server._lifecycle).queries(ROOT) if row.statement_id == statement
        )
        return {
            "audit": self._audited(statement),
            "list": json.dumps(listed),
            "system.queries": str(astuple(row)),
            "log": self.log.getvalue(),
        }

    def _audited(self, statement: str) -> str:
        lines = (line.decode() for _, content in log_contents(self.audit_log) for line in content.splitlines())
        return "\n".join(line for line in lines if statement in line)


@pytest.fixture
def recorded(folder: Path) -> Iterator[RecordedServer]:
    log = io.StringIO()
    handlers = [logging.StreamHandler(log), logging.StreamHandler(log)]
    for handler, formatter in zip(handlers, (TextFormatter(), JsonFormatter()), strict=True):
        handler.setFormatter(formatter)
        logging.getLogger().addHandler(handler)
    found = RecordedServer(folder, log)
    yield found
    found.server.stop()
    for handler in handlers:
        logging.getLogger().removeHandler(handler)


def test_statement_secrets_are_stored_nowhere(recorded: RecordedServer) -> None:
    assert len(STATEMENTS) >= 19
    left = [
        (text, place)
        for text in STATEMENTS
        for place, content in recorded.shown(text).items()
        if SECRET in content.lower() or "***" not in content
    ]
    assert not left


def test_statements_without_secrets_are_recorded_unchanged(recorded: RecordedServer) -> None:
    text = "SELECT a, 'visible' FROM t WHERE b = 5"
    assert [
        place for place, content in recorded.shown(text).items() if "'visible' FROM t WHERE b = 5" not in content
    ] == []
