"""`delta-gateway users`: the password never is an argument, and a mistake changes nothing."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gateway.__main__ import main
from gateway.authenticators.password_file import load_users
from gateway.authenticators.passwords import PasswordVerifier
from tests.gateway.authenticators.users import cheap_passwords


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cheap_passwords(monkeypatch)
    return tmp_path / "users"


def users(monkeypatch: pytest.MonkeyPatch, file: Path, typed: str, *arguments: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    return main(["users", *arguments, "--password-file", str(file)])


def test_users_come_change_and_go(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert users(monkeypatch, file, "first word \n", "add", "ann", "--groups", "staff, ops") == 0
    assert users(monkeypatch, file, "sécret88", "add", "Bob") == 0
    assert users(monkeypatch, file, "other word\n", "add", "ANN") == 0
    assert "ANN has a new password" in capsys.readouterr().out
    assert PasswordVerifier().matches("other word", load_users(file)["ann"].password_hash)
    assert users(monkeypatch, file, "", "list") == 0
    assert capsys.readouterr().out == "Bob\t\nANN\t\n"
    assert users(monkeypatch, file, "", "remove", "bob") == 0
    assert users(monkeypatch, file, "", "remove", "bob") == 1
    assert "there is no user bob" in capsys.readouterr().err
    assert list(load_users(file)) == ["ann"]


@pytest.mark.parametrize(
    ("typed", "arguments", "reason"),
    [
        ("\n", ["add", "ann"], "empty"),
        ("", ["add", "ann"], "empty"),
        ("7 chars\n", ["add", "ann"], "fewer than 8 characters"),
        ("se\u0301cret7\n", ["add", "ann"], "fewer than 8 characters"),
        ("x\n", ["add", "a:b"], "control characters"),
        ("x\n", ["add", "ann", "--groups", "a:b"], "control characters"),
        ("", ["list"], "no such file"),
    ],
)
def test_invalid_cli_users_are_rejected(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    arguments: list[str],
    reason: str,
) -> None:
    assert users(monkeypatch, file, typed, *arguments) == 1
    assert reason in capsys.readouterr().err and not file.exists()


def test_at_a_terminal_the_password_is_typed_twice(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal())
    answers = iter(["one", "two", "same word", "same word"])
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(answers))
    assert main(["users", "add", "ann", "--password-file", str(file)]) == 1
    assert "differ" in capsys.readouterr().err and not file.exists()
    assert main(["users", "add", "ann", "--password-file", str(file)]) == 0
