"""Redaction of secrets in stored text."""

from __future__ import annotations

import logging
import sys

import pytest

from gateway.observability.log_format import JsonFormatter, TextFormatter
from gateway.observability.redaction import redact, without_literals

SECRETS = (
    "password = 'hunter2 is''t'",
    'OPTIONS ("fs.s3a.secret.key" = "hunter2")',
    "SET spark.hadoop.fs.s3a.access.key=hunter2",
    "Authorization: Bearer hunter2hunter2",
    "authorization: Basic aHVudGVyMjpodW50ZXIy",
    "Bearer hunter2hunter2",
    "{'api_key': 'hunter2'}",
    "token => 'hunter2'",
    "dgp_hunter2hunter2hunter2",
    "https://bucket/x?sig=hunter2&other=1",
    "https://u:hunter2@host/x",
    "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----",
    "eyJhbGciOiJub25lIn0.eyJodW50ZXIyIjoxfQ.hunter2",
    "eyJhbGciOiJub25lIn0.eyJodW50ZXIyIjoxfhunter2…",
    "AKIAHUNTER2HUNTER2",
    "CREATE CATALOG c USING rest OPTIONS (uri 'u', token \"hunter2\")",
    "ALTER CATALOG c SET OPTIONS (token r'hunter2')",
    "create /* it's */ catalog c WITH (token /* c */ 'hunter2')",
    "CREATE CATALOG c OPTIONS (credential -- the user's\n 'hunter2')",
    "CREATE CATALOG c OPTIONS (token.x 'hunter2')",
    "CREATE CATALOG c OPTIONS (token            'hunter2')",
    "CREATE CATALOG c OPTIONS (token = 'a' 'hunter2', k r'\\', x 'hunter2')",
    "CREATE CATALOG c OPTIONS (token $$it's hunter2$$, pin 'hunter2",
    "CREATE CATALOG IF NOT EXISTS c USING rest COMMENT 'a; b' OPTIONS (anything 'hunter2')",
    "SET fs.azure.account.key.acct.dfs.core.windows.net=hunter2/hunter2==",
    "SET `spark.hadoop.fs.azure.account.key.a-rather-long-account-name-here.dfs.core.windows.net` = hunter2==",
    "SET fs.azure.sas.fixed.token.container@a-rather-long-account-name-here.blob.core.windows.net = sig%3Dhunter2",
    "; SET spark.hadoop.fs.s3a.encryption.key = my hunter2",
    "ALTER TABLE t SET TBLPROPERTIES ('fs.azure.account.key.acct.dfs.core.windows.net' = 'hunter2')",
    "ALTER TABLE t SET TBLPROPERTIES ('fs.azure.account.key.acct.dfs.core.windows.net' 'hunter2')",
    'CREATE TABLE t (a INT) TBLPROPERTIES (fs.azure.account.key.acct "hunter2")',
    "SELECT * FROM read_files('abfss://x', options => map('fs.azure.account.key.acct', 'hunter2'))",
    "COPY INTO t FROM 's3://b' WITH (ENCRYPTION (TYPE = 'AWS_SSE_C', MASTER_KEY = 'hunter2'))",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=hunter2==;EndpointSuffix=core.windows.net",
    "SELECT aes_encrypt(a, 'hunter2')",
    "SELECT base64(system.builtin.AES_ENCRYPT /* x */ (a, concat('hunter', '2hunter2'), 'GCM')) FROM t",
    "SELECT `aes_decrypt`(unbase64(a), 'hunter2', 'ECB')",
    "SELECT try_aes_decrypt(a, X'48554e544552', \"hunter2\"",
    "SELECT hmac('hunter2', a, 'sha2')",
    "CREATE VIEW v AS SELECT aes_encrypt(a, r'hunter2') AS b FROM t",
    "EXECUTE IMMEDIATE 'SELECT aes_encrypt(a, ''hunter2'') FROM t'",
    '[DATATYPE_MISMATCH] Cannot resolve "aes_encrypt(a, hunter2)" due to',
    "; EXECUTE IMMEDIATE 'SELECT aes_encrypt(a, :k) FROM t' USING 'hunter2' AS k",
    "; EXECUTE IMMEDIATE 'DECLARE k STRING DEFAULT ''hunter2'' '",
    "; DECLARE k STRING DEFAULT 'hunter2'",
    "; DECLARE OR REPLACE VARIABLE k = 'hunter2'",
    "; DECLARE k STRING DEFAULT concat('a', -- hunter2\n 'hunter2')",
    "; SET VAR k = 'hunter2'",
    "; SET VARIABLE (j, k) = (SELECT 1, $$hunter2$$)",
    "BEGIN DECLARE k STRING; SET k = 'hunter2'; SELECT k; END",
    "BEGIN IF true THEN SET k = 'hunter2'; END IF; END",
)


@pytest.mark.parametrize("text", SECRETS)
def test_no_secret_is_left(text: str) -> None:
    hidden = redact(f"before {text} after")
    assert "***" in hidden and hidden.startswith("before ")
    assert "hunter2" not in hidden.lower() and "aHVudGVyMj" not in hidden


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t WHERE a = 'b'",
        "SELECT tokens FROM t",
        "INSERT INTO t VALUES (1, 'x')",
        "https://host/path?x=1",
        "SELECT 1 -- basic arithmetic",
        "CREATE TABLE t (a INT DEFAULT 5) COMMENT 'the catalog'; SELECT catalog FROM t WHERE a IN (1, 'x')",
        "CREATE CATALOG c COMMENT 'x'; SELECT 'y', ('z')",
        "SELECT aes_encrypts('a'), hmac FROM t WHERE b IN ('c')",
        "SET spark.sql.session.timeZone = UTC",
        "UPDATE t SET a = 'b' WHERE c = 5",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET a = 'b'",
        "ALTER TABLE t SET TBLPROPERTIES ('delta.appendOnly' = 'true')",
        "DECLARE CONTINUE HANDLER FOR SQLSTATE '22012' SELECT 'x' = 'y'",
        "DECLARE k DECIMAL(10, 2); SELECT 'x' = 'y'",
        "EXECUTE IMMEDIATE 'SELECT 1' INTO x",
        "SELECT 'key', 'x', primary_key = 'a', foreign.key = 'b' FROM t",
    ],
)
def test_text_without_secrets_is_unchanged(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("SELECT a1 FROM t WHERE b = 'it''s' AND c > 1.5e3", "SELECT a1 FROM t WHERE b = ? AND c > ?"),
        ('SELECT "x", `y 2` FROM t1', "SELECT ?, `y 2` FROM t1"),
        (r"SELECT 'a\'b', 'c", "SELECT ?, ?"),
        ("SELECT 1 -- it's\n, 'hunter2'", "SELECT ? /*?*/\n, ?"),
        ("SELECT /* it's /* a */ 'x' */ 'hunter2', a", "SELECT /*?*/ ?, a"),
        (r"SELECT r'\', 'hunter2', R" + '"\\", "hunter2"', "SELECT ?, ?, ?, ?"),
        ("SELECT $$it's$$, 'hunter2', $a$ $$' $a$, 'hunter2'", "SELECT ?, ?, ?, ?"),
        ("SELECT '-- no', 'hunter2' /* not ended 'hunter2'", "SELECT ?, ? /*?*/"),
        ("INSERT INTO t VALUES (DATE '2024-01-01', X'00')", "INSERT INTO t VALUES (DATE ?, X?)"),
    ],
)
def test_literals_are_taken_out(text: str, without: str) -> None:
    assert without_literals(text) == without


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "token",
        "token=",
        "password ",
        "eyJ-",
        "eyJ.",
        "a.",
        "a://:",
        "://a:",
        "'",
        "''",
        "secret='",
        "Bearer A ",
        "0",
        "/*",
        "create catalog ",
        "create catalog c (",
        "$a",
        "$a$",
        "r'",
        "aes_encrypt(",
        "aes_encrypt ",
        "declare default ",
        "; set var a = '",
        "set password",
        "'secret',",
        "token'",
        "token.",
    ],
)
def test_text_of_any_kind_is_looked_through_in_time(text: str) -> None:
    """Long texts that force patterns to backtrack; without bounds some take hours."""
    long = text * (300_000 // len(text))
    assert redact(long) and redact(f"password='{long}") and without_literals(long)


def test_a_secret_that_is_cut_off_is_hidden_too() -> None:
    assert redact("SET password = 'hunter") == "SET password = ***"


def test_the_log_has_no_secrets() -> None:
    shown = TextFormatter()
    record = logging.LogRecord("x", logging.INFO, "", 0, "sent %s", ("Bearer hunter2hunter2",), None)
    assert shown.format(record).endswith("INFO x: sent Bearer ***")
    plain = logging.LogRecord("x", logging.INFO, "", 0, "100%% of %d", (5,), None)
    assert shown.format(plain).endswith("INFO x: 100% of 5")


def test_tracebacks_in_the_log_have_no_secrets() -> None:
    try:
        try:
            raise OSError("cannot open s3a://AKIAABCDEFGHIJKLMNOP:hunter2@bucket/t")
        except OSError as cause:
            raise ValueError("password='hunter2'") from cause
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "failed", (), sys.exc_info())
    for formatter in (TextFormatter(), JsonFormatter()):
        shown = formatter.format(record)
        assert "ValueError: password=***" in shown and "hunter2" not in shown and "AKIA" not in shown
