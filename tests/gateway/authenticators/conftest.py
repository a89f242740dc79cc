"""Passwords with a low hash cost, and a user file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gateway.authenticators.users import cheap_passwords, make_users


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap_passwords(monkeypatch)


@pytest.fixture
def users(tmp_path: Path) -> Path:
    return make_users(tmp_path / "users")
