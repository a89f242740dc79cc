"""A process that has lost its sessions to another one commits nothing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from catalog.changes import CreateSchema, apply
from catalog.conditions import StateLost
from catalog.entries import SchemaEntry
from catalog.names import SchemaName
from catalog.store.commit_guard import run_guarded
from catalog.store.file_store import FileStore
from catalog.store.files import LocalFiles
from engine.storage.confirmed_put import StorageRetries, put_confirmed
from engine.storage.storage import open_storage


def refuse() -> None:
    raise StateLost()


def allow() -> None:
    pass


def test_no_version_is_put_after_the_sessions_were_lost(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    with pytest.raises(StateLost):
        run_guarded(
            refuse, lambda content: put_confirmed(storage, "a", content, lambda _: True, StorageRetries()), b"1"
        )
    assert not (tmp_path / "a").exists()
    assert run_guarded(allow, lambda one: put_confirmed(storage, "a", one, lambda _: False, StorageRetries()), b"1")
    assert (tmp_path / "a").read_bytes() == b"1"


def test_no_catalog_change_is_committed_after_the_sessions_were_lost(tmp_path: Path) -> None:
    store = FileStore(LocalFiles(str(tmp_path / "catalog")))
    base = store.load()
    name = SchemaName("spark_catalog", "shop")
    new = apply(base, CreateSchema(SchemaEntry(name=name)))
    with pytest.raises(StateLost):
        run_guarded(refuse, partial(store.swap, base), new)
    assert FileStore(LocalFiles(str(tmp_path / "catalog"))).load() == base
    assert run_guarded(allow, partial(store.swap, base), new)
    assert FileStore(LocalFiles(str(tmp_path / "catalog"))).load() == new
