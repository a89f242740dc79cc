"""A process that has lost its sessions to another one commits nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.changes import CreateSchema, apply
from catalog.conditions import StateLost
from catalog.entries import SchemaEntry
from catalog.names import SchemaName
from catalog.store.commit_guard import guarded
from catalog.store.file_store import FileStore
from catalog.store.files import LocalFiles
from engine.storage.confirmed_put import StorageRetries, put_confirmed
from engine.storage.storage import open_storage


def refuse() -> None:
    raise StateLost()


def test_no_version_is_put_after_the_sessions_were_lost(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    with guarded(refuse), pytest.raises(StateLost):
        put_confirmed(storage, "a", b"1", lambda _: True, StorageRetries())
    assert not (tmp_path / "a").exists()
    with guarded(lambda: None):
        assert put_confirmed(storage, "a", b"1", lambda _: False, StorageRetries())
    assert (tmp_path / "a").read_bytes() == b"1"


def test_no_catalog_change_is_committed_after_the_sessions_were_lost(tmp_path: Path) -> None:
    store = FileStore(LocalFiles(str(tmp_path / "catalog")))
    base = store.load()
    name = SchemaName("spark_catalog", "shop")
    new = apply(base, CreateSchema(SchemaEntry(name=name)))
    with guarded(refuse), pytest.raises(StateLost):
        store.swap(base, new)
    assert FileStore(LocalFiles(str(tmp_path / "catalog"))).load() == base
    with guarded(lambda: None):
        assert store.swap(base, new)
    assert FileStore(LocalFiles(str(tmp_path / "catalog"))).load() == new
