"""Users for tests: ann in the groups staff and ops, bob and zoë in none; each password is the name twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from argon2 import PasswordHasher

from gateway.authenticators import passwords, throttle
from gateway.authenticators.password_file import make_user, store_user

USERS = {"ann": ("staff", "Ops"), "bob": (), "zoë": ()}


def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Verified in no time, and refused at once."""
    monkeypatch.setattr(passwords, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    monkeypatch.setattr(throttle, "FAILURE_S", 0.0)


def make_users(file: Path) -> Path:
    for name, groups in USERS.items():
        store_user(file, make_user(name, name * 2, groups))
    return file
