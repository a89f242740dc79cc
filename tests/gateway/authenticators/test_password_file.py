"""Who is in the file logs in with their password, as the one principal that they are, and nobody else does."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.conditions import (
    CredentialsRefused,
    LogInEnded,
    PasswordInvalid,
    SecretReadable,
    SecretUnusable,
    TooManyLogIns,
    UserNameInvalid,
)
from engine.runtime.identity import Identity, Method
from gateway.authenticators.names import ensure_name
from gateway.authenticators.password_file import PasswordFile, User, load_users, make_user, remove_user, store_user
from gateway.authenticators.passwords import PasswordVerifier, hash_password

ANN = Identity("ann", frozenset({"staff", "Ops"}), method=Method.PASSWORD)


@pytest.mark.parametrize(
    ("typed", "password", "principal"),
    [
        ("ann", "annann", "ann"),
        ("ANN", "annann", "ann"),
        ("ａｎｎ", "annann", "ann"),
        ("zoë", "zoëzoë", "zoë"),
        ("zoe\u0308", "zoe\u0308zoe\u0308", "zoë"),
        ("ZOË", "zoëzoë", "zoë"),
    ],
)
def test_a_user_is_one_principal_however_the_name_is_typed(
    users: Path, typed: str, password: str, principal: str
) -> None:
    assert PasswordFile(users).log_in(typed, password).principal == principal


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("ann", "bobbob"),
        ("ann", "ANNANN"),
        ("ann", "annann "),
        ("ann ", "annann"),
        ("ann\0x", "annann"),
        ("*", "annann"),
        ("eve", "eveeve"),
        ("", ""),
        ("staff", "annann"),
    ],
)
def test_rejected_logins(users: Path, user: str, password: str) -> None:
    with pytest.raises(CredentialsRefused):
        PasswordFile(users).log_in(user, password)


def test_the_file_is_read_again_when_it_changes(users: Path) -> None:
    file = PasswordFile(users)
    logged_in = file.log_in("ann", "annann")
    assert replace(logged_in, client_id=None) == file.find("Ann") == ANN
    file.ensure_current(logged_in)
    store_user(users, User("ann", hash_password("annann"), ("staff", "Ops")))  # another salt is another password
    file.ensure_current(ANN)
    with pytest.raises(LogInEnded):
        file.ensure_current(logged_in)
    assert store_user(users, User("ann", hash_password("new"), ("staff",)))
    with pytest.raises(CredentialsRefused):
        file.log_in("ann", "annann")
    assert file.log_in("ann", "new").groups == {"staff"}
    with pytest.raises(LogInEnded):  # Ops is gone
        file.ensure_current(ANN)
    file.ensure_current(file.log_in("bob", "bobbob"))
    assert remove_user(users, "BOB") and not remove_user(users, "bob")
    with pytest.raises(LogInEnded):
        file.ensure_current(Identity("bob", method=Method.PASSWORD))
    assert file.find("bob") is None


def test_a_file_that_became_unusable_lets_nobody_in_and_ends_no_log_in(
    users: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = PasswordFile(users)
    good = users.read_bytes()
    users.write_bytes(good + b"eve\n")
    for _ in range(2):
        with pytest.raises(CredentialsRefused):
            file.log_in("ann", "annann")
    assert caplog.text.count("nobody can log in with a password") == 1 and "argon2id$" not in caplog.text
    file.ensure_current(ANN)
    users.write_bytes(good)
    assert replace(file.log_in("ann", "annann"), client_id=None) == ANN
    assert [record.levelno for record in caplog.records][-1] <= logging.ERROR


HASH = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$YWJj"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("ann", "line 1 is not name:argon2id-hash"),
        ("# users\n\nann:secret", "line 3 .*the hash is none of argon2id"),
        ("ann:$2b$12$abc", "none of argon2id"),
        (f"ann:{HASH}:a:b", "none of SCRAM-SHA-256"),
        (f"ann :{HASH}", "ends with a blank"),
        (f":{HASH}", "it is empty"),
        (f"Account Users:{HASH}", "the group that has everybody"),
        (f"ann:{HASH}\nANN:{HASH}", "line 2 has a user whom a line before has"),
        (f"ann:{HASH}:staff\nStaff:{HASH}", "staff is a user and a group"),
        (f"ann:{HASH}:a\x07b", "control characters"),
    ],
)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    file = tmp_path / "users"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(SecretUnusable, match=reason) as refused:
        PasswordFile(file)
    assert "secret" not in str(refused.value) and "YWJj" not in str(refused.value)


@pytest.mark.parametrize(("mode", "is_private"), [(0o600, True), (0o440, True), (0o604, False), (0o620, False)])
def test_a_file_that_others_may_read_or_change_is_refused(users: Path, mode: int, is_private: bool) -> None:
    users.chmod(mode)
    if is_private:
        assert load_users(users)
        return
    with pytest.raises(SecretReadable, match=f"(?s){mode:04o}.*chmod go="):
        load_users(users)


def test_malformed_password_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(SecretUnusable, match="no such file"):
        PasswordFile(tmp_path / "missing")
    with pytest.raises(SecretUnusable, match="directory"):
        PasswordFile(tmp_path)
    with pytest.raises(SecretUnusable, match="no such file"):
        store_user(tmp_path / "no" / "users", User("ann", HASH))


def test_a_changed_file_is_private_and_whole(users: Path) -> None:
    os.umask(0o022)
    store_user(users, User("carl", HASH, ("staff",)))
    assert users.stat().st_mode & 0o777 == 0o600
    assert list(load_users(users)) == ["ann", "bob", "zoë", "carl"]
    before = users.read_bytes()
    with pytest.raises(SecretUnusable, match="ops is a user and a group"):
        store_user(users, User("Ops", HASH))
    assert users.read_bytes() == before
    assert sorted(path.name for path in users.parent.iterdir()) == [".users.lock", "users"]


@pytest.mark.parametrize("password", ["", "a\0b", "x" * 1025])
def test_invalid_passwords(password: str) -> None:
    with pytest.raises(PasswordInvalid):
        hash_password(password)


@pytest.mark.parametrize("name", ["", " ann", "a:b", "a,b", "*", "a\nb", "a\u200bb", "ACCOUNT USERS", "x" * 257])
def test_invalid_user_names(name: str) -> None:
    with pytest.raises(UserNameInvalid):
        ensure_name(name)


@pytest.mark.parametrize("name", ["ann", "Ann Lee", "ann@corp.example", "zoë", "a" * 256, "CORP\\ann"])
def test_valid_user_names(name: str) -> None:
    assert ensure_name(name) == name


def test_an_unknown_user_is_verified_too(users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets_seen: list[str | None] = []
    verifier = PasswordVerifier()
    matches = verifier.matches

    def record(password: str, stored: str | None) -> bool:
        secrets_seen.append(stored)
        return matches(password, stored)

    monkeypatch.setattr(verifier, "matches", record)
    for user in ("ann", "eve"):
        with pytest.raises(CredentialsRefused):
            PasswordFile(users, verifier).log_in(user, "x")
    assert secrets_seen[0] and secrets_seen[1] is None
    assert not matches("", None)


def test_verifications_wait_for_a_place_shortly() -> None:
    verifier = PasswordVerifier(places=1, wait_s=0.0)
    stored = hash_password("x")
    assert verifier.matches("x", stored) and not verifier.matches("y", stored)
    verifier._places.acquire()
    with pytest.raises(TooManyLogIns):
        verifier.matches("x", stored)


def test_verifier_is_stored_after_the_groups_and_read_again(tmp_path: Path) -> None:
    users = tmp_path / "users"
    store_user(users, make_user("ann", "annann", ("staff",)))
    store_user(users, make_user("bob", "bobbob"))
    found = load_users(users)
    assert found["ann"].groups == ("staff",) and found["bob"].groups == ()
    assert users.read_text().splitlines()[1].startswith("bob:$argon2id$")
    assert all(user.verifier is not None for user in found.values())
