"""Modes of catalog files and folders on a local disk."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from catalog.store.remote import open_files


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077, 0])
def test_the_catalog_is_its_owner_s_alone(tmp_path: Path, umask: int) -> None:
    """Folders above it are as the umask makes them."""
    before = os.umask(umask)
    try:
        assert open_files(str(tmp_path / "above" / "catalog")).create("log/1.json", b"{}")
    finally:
        os.umask(before)
    modes = {
        name: stat.S_IMODE((tmp_path / name).stat().st_mode)
        for name in ("above", "above/catalog", "above/catalog/log", "above/catalog/log/1.json")
    }
    assert modes == {
        "above": 0o777 & ~umask,
        "above/catalog": 0o700,
        "above/catalog/log": 0o700,
        "above/catalog/log/1.json": 0o600,
    }
