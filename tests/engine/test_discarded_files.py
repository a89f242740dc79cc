"""Files that were written for a commit go if it surely was not made, and stay otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catalog.conditions import CatalogOutcomeUnknown, CommitOutcomeUnknown, ConcurrentDrop, LogWriteFailed
from engine.execution.writes.staged_files import discarded_on_failure
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.storage.storage import open_storage
from tests.engine.contexts import context_without_spark

NO_EXECUTOR: Any = None


@pytest.mark.parametrize(
    ("error", "is_sealed", "goes"),
    [
        (ValueError("before the commit"), False, True),
        (OSError(5, "before the commit"), False, True),
        (ConcurrentDrop("t"), True, True),
        (LogWriteFailed("t", 1, "no space"), True, True),
        (ValueError("while it is put"), True, False),
        (OSError(5, "while it is put"), True, False),
        (KeyboardInterrupt(), True, False),
        (CommitOutcomeUnknown("t", 1, "id", "lost"), True, False),
        (CatalogOutcomeUnknown(1, "lost"), True, False),
    ],
    ids=repr,
)
def test_files_stay_where_a_version_may_have_them(
    tmp_path: Path, error: BaseException, is_sealed: bool, goes: bool
) -> None:
    storage, request = open_storage(str(tmp_path)), StatementRequest(identity=Identity("ann"))
    storage.write("a.parquet", b"rows")
    with (
        pytest.raises(type(error)),
        discarded_on_failure(storage, ["a.parquet"], context_without_spark(request)),
    ):
        if is_sealed:
            request.cancel.seal()
        raise error
    assert storage.exists("a.parquet") is not goes
