"""CREATE, SHOW and REVOKE TOKEN: the secret is in one answer, and a token for reading changes nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from catalog.grants.tokens import TokenStore
from engine.pipeline import parse_statement
from engine.runtime.identity import Identity, Method, Scope
from engine.statements.tokens.spec import CreateToken, RevokeToken, ShowTokens
from tests.engine.bare_lake import BareLake

ANN = Identity("ann", frozenset({"staff"}), method=Method.PASSWORD)
SHOWN = ["token_id", "owner", "comment", "scope", "created_at", "expires_at"]


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    return TokenStore(tmp_path / "tokens.json")


@pytest.fixture
def lake(tmp_path: Path, store: TokenStore) -> BareLake:
    (tmp_path / "lake").mkdir()
    lake = BareLake(tmp_path / "lake")
    lake.sources = replace(lake.sources, tokens=store)
    return as_user(lake, ANN)


def as_user(lake: BareLake, identity: Identity) -> BareLake:
    lake.state = replace(lake.state, identity=identity)
    return lake


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("CREATE TOKEN", CreateToken()),
        (
            "create token comment 'for dbt' lifetime 30 days read only;",
            CreateToken(comment="for dbt", lifetime_s=30 * 86_400, is_read_only=True),
        ),
        ("CREATE TOKEN LIFETIME 1 SECOND", CreateToken(lifetime_s=1)),
        ("CREATE TOKEN LIFETIME 2 HOURS", CreateToken(lifetime_s=7200)),
        ("CREATE TOKEN READ ONLY", CreateToken(is_read_only=True)),
        ("REVOKE TOKEN 'abc'", RevokeToken(token_id="abc")),
        ("SHOW TOKENS", ShowTokens()),
    ],
)
def test_the_grammar(text: str, statement: object) -> None:
    assert parse_statement(text) == statement


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TOKEN LIFETIME",
        "CREATE TOKEN LIFETIME 1.5 DAYS",
        "CREATE TOKEN LIFETIME -1 DAYS",
        "CREATE TOKEN LIFETIME 1 MONTH",
        "CREATE TOKEN READ ONLY COMMENT 'x'",
        "CREATE TOKEN COMMENT x",
        "REVOKE TOKEN abc",
        "REVOKE TOKEN",
        "SHOW TOKENS x",
    ],
)
def test_malformed_token_statements(lake: BareLake, text: str) -> None:
    assert lake.refuse(text).condition == "PARSE_SYNTAX_ERROR"


def test_a_token_is_made_shown_and_revoked(lake: BareLake, store: TokenStore) -> None:
    answer = lake.answer("CREATE TOKEN COMMENT 'ci' LIFETIME 2 DAYS READ ONLY")
    assert answer.column_names == ["token", *SHOWN]
    (made,) = answer.to_pylist()
    entry = store.find(made["token"])
    assert entry and (entry.owner.principal, entry.owner.groups, entry.owner.method) == ("ann", ("staff",), "password")
    assert made["expires_at"] - made["created_at"] == timedelta(days=2)
    shown = lake.answer("SHOW TOKENS")
    assert shown.column_names == SHOWN and shown.to_pylist() == [{name: made[name] for name in SHOWN}]
    assert (made["owner"], made["comment"], made["scope"]) == ("ann", "ci", "read-only")
    as_user(lake, Identity("bob", method=Method.PASSWORD))
    assert lake.rows("SHOW TOKENS") == []
    revoke = f"REVOKE TOKEN '{made['token_id']}'"
    assert lake.refuse(revoke).condition == lake.refuse("REVOKE TOKEN 'x'").condition == "TOKEN_NOT_FOUND"
    as_user(lake, Identity("root", is_admin=True, method=Method.PASSWORD))
    assert len(lake.rows("SHOW TOKENS")) == 1
    lake.answer(revoke)
    assert store.find(made["token"]) is None and lake.rows("SHOW TOKENS") == []


@pytest.mark.parametrize(
    ("identity", "condition"),
    [
        (replace(ANN, scopes=frozenset({Scope.READ_ONLY})), "INSUFFICIENT_PERMISSIONS.SCOPE"),
        (replace(ANN, real_user="hue"), "TOKEN_NOT_ALLOWED"),
        (replace(ANN, expires_ms=1), "TOKEN_LIFETIME_INVALID"),
    ],
)
def test_principals_that_may_not_create_tokens(lake: BareLake, identity: Identity, condition: str) -> None:
    assert as_user(lake, identity).refuse("CREATE TOKEN").condition == condition


def test_a_server_that_takes_no_tokens(lake: BareLake) -> None:
    lake.sources = replace(lake.sources, tokens=None)
    for text in ("CREATE TOKEN", "SHOW TOKENS", "REVOKE TOKEN 'x'"):
        assert lake.refuse(text).condition == "TOKEN_NOT_ALLOWED"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t2 (i INT)",
        "CREATE OR REPLACE TABLE t (i INT)",
        "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')",
        "DROP TABLE t",
        "CREATE SCHEMA s",
        "CREATE VIEW v AS SELECT 1",
        "COMMENT ON TABLE t IS 'x'",
        "CREATE GROUP g",
        "GRANT SELECT ON t TO bob",
        "VACUUM t",
        "OPTIMIZE t",
        "FSCK REPAIR TABLE t",
        "TRUNCATE TABLE t",
        "DELETE FROM t",
        "INSERT INTO t VALUES (1)",
        "REVOKE TOKEN 'x'",
    ],
)
def test_a_token_for_reading_changes_nothing(lake: BareLake, text: str) -> None:
    as_user(lake, Identity("ann")).answer("CREATE TABLE t (i INT)")
    as_user(lake, Identity("ann", scopes=frozenset({Scope.READ_ONLY})))
    assert lake.refuse(text).condition == "INSUFFICIENT_PERMISSIONS.SCOPE"
    for allowed in ("SHOW TABLES", "DESCRIBE TABLE t", "USE default", "SET spark.sql.ansi.enabled = true"):
        lake.answer(allowed)


def test_the_secret_is_in_no_text_of_the_statement(lake: BareLake) -> None:
    statement: Any = parse_statement("CREATE TOKEN COMMENT 'c'")
    assert "dgp_" not in repr(statement)
