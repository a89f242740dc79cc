"""A server with users, a new one for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.authenticators.users import cheap_passwords, make_users
from tests.security.secure_server import SecureServer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a folder with a user file."""
    cheap_passwords(monkeypatch)
    make_users(tmp_path / "users")
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[SecureServer]:
    server = SecureServer(folder).start()
    yield server
    server.stop()
