"""Failed CREATE after the commit's outcome is unknown: files are deleted only if the table surely does not exist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from catalog.catalog import Catalog
from catalog.changes import CreateSchema, CreateTable
from catalog.conditions import CommitOutcomeUnknown, RestCatalogNotAvailable, TableAlreadyExists
from catalog.entries import SchemaEntry, TableEntry
from catalog.names import SchemaName, TableName
from catalog.store.store import MemoryStore
from engine.concurrency.retry import RetryPolicy
from engine.execution.writes.commit import commit_creation

NAME = TableName("spark_catalog", "s", "t")


class Commit:
    """A commit after which the table's existence is checked as in `looks`: present, absent, or no answer (None); then
    normal.
    """

    version = 1

    def __init__(self, *looks: bool | None, is_removable: bool = True) -> None:
        self._looks, self._is_removable = list(looks), is_removable

    def is_whole(self, *, with_files: bool) -> bool:
        found = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        if found is None:
            raise RestCatalogNotAvailable("r", "it is away")
        return found

    def take_back(self) -> None:
        if self._is_removable:
            self._looks = [False]


CASES: dict[str, tuple[Commit, bool, type[Exception] | None]] = {
    "made": (Commit(True), False, None),
    "name taken": (Commit(True), True, TableAlreadyExists),
    "name taken, and built upon": (Commit(True, is_removable=False), True, CommitOutcomeUnknown),
    "away after the commit": (Commit(None, is_removable=False), False, CommitOutcomeUnknown),
    "away after the commit, and back": (Commit(None, True), False, RestCatalogNotAvailable),
    "away after the name": (Commit(True, None), False, CommitOutcomeUnknown),
}


@pytest.mark.parametrize("case", CASES)
def test_error_of_a_failed_creation(case: str, tmp_path: Path) -> None:
    committed, is_taken, expected = CASES[case]
    entry = TableEntry(name=NAME, location=str(tmp_path / "t"), format="iceberg")
    catalog = Catalog(MemoryStore(), None, [str(tmp_path)])
    catalog.change(CreateSchema(SchemaEntry(name=SchemaName("spark_catalog", "s"))))
    if is_taken:
        catalog.change(CreateTable(replace(entry, location=str(tmp_path / "other"))))
    transaction = SimpleNamespace(commit=lambda policy: committed)
    staged = cast(Any, SimpleNamespace(transaction=transaction, is_path=False, converts=None, has_files=True))
    if expected is None:
        assert commit_creation(staged, entry, RetryPolicy(), catalog) is committed
        return
    with pytest.raises(expected):
        commit_creation(staged, entry, RetryPolicy(), catalog)
