"""`delta-gateway tokens`: the secret is printed once, and lists have none."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.grants.tokens import TokenOwner, TokenStore
from gateway.__main__ import main
from gateway.authenticators.tokens import Tokens


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


def tokens(file: Path, *arguments: str) -> int:
    return main(["tokens", *arguments, "--token-file", str(file)])


def test_tokens_come_and_go(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tokens(file, "create", "ann", "--days", "2", "--comment", "ci", "--read-only") == 0
    secret = capsys.readouterr().out.strip()
    entry = TokenStore(file).find(secret)
    assert entry and (entry.owner, entry.comment) == (TokenOwner(principal="ann", method="password"), "ci")
    assert entry.expires_ms - entry.created_ms == 2 * 86_400_000 and entry.is_read_only
    assert tokens(file, "list") == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{entry.token_id}\tann\tread-only\t") and secret not in shown
    assert tokens(file, "revoke", entry.token_id) == 0
    assert tokens(file, "revoke", entry.token_id) == 1 and "cannot be found" in capsys.readouterr().err
    assert TokenStore(file).entries() == ()


def test_a_token_of_a_user_whom_nobody_knows(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tokens(file, "create", "etl", "--groups", "loaders, staff") == 0
    identity = Tokens(TokenStore(file), None).log_in(capsys.readouterr().out.strip())
    assert (identity.principal, identity.groups) == ("etl", frozenset({"loaders", "staff"}))


@pytest.mark.parametrize(
    "arguments", [["create", "a:b"], ["create", "ann", "--days", "366"], ["create", "ann", "--groups", "*"]]
)
def test_invalid_cli_tokens_are_rejected(file: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert tokens(file, *arguments) == 1 and capsys.readouterr().err and not file.exists()
