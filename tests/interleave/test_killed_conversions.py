"""CONVERT TO DELTA and CALL system.snapshot die at every storage call: one of the tables is readable, and repeating the
statement completes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from catalog.catalog import Catalog
from catalog.conditions import TableAlreadyExists
from engine.storage.storage import LocalStorage
from tests.engine.bare_lake import BareLake
from tests.engine.iceberg.foreign import open_duckdb
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.peer_readers import PEERS, Rows, comparable

CALLS = ("put_if_absent", "write", "delete", "list_names", "stat", "exists", "read_bytes", "open_input")


class Crash(BaseException):
    """The process is gone: nothing may catch this."""


@dataclass
class Fuse:
    """Burns down by one for each call to a storage; at the end it blows, and every later call fails."""

    left: int
    after: bool
    is_blown: bool = False

    def around(self, do: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if threading.current_thread().name == "post-commit":
                return do(*arguments, **options)
            if self.is_blown:
                raise Crash
            self.left -= 1
            self.is_blown = self.left < 0
            if self.is_blown and not self.after:
                raise Crash
            result = do(*arguments, **options)
            if self.is_blown:
                raise Crash
            return result

        return call


def _iceberg(bare: BareLake) -> None:
    """`t`, which the catalog has recorded, with a row that is deleted by its position."""
    place = bare.folder / "far" / "away" / "t"
    made = HandmadeTable(place)
    one = made.data({"id": [1, 2, 3]})
    made.commit(one, made.data({"id": [4]}))
    made.commit(made.positions([one["file_path"]], [0]), operation="delete")
    bare.answer(f"CREATE TABLE t USING iceberg LOCATION '{place}'")


def _delta(bare: BareLake) -> None:
    bare.append("t", {"id": [2, 3]})
    bare.append("t", {"id": [4]})


@dataclass(frozen=True)
class Case:
    """`results` are the names and formats once the statement is done; `{folder}` in it is the lake's."""

    make: Callable[[BareLake], None]
    statement: str
    results: dict[str, str]


CASES = {
    "convert": Case(_iceberg, "CONVERT TO DELTA t", {"t": "delta"}),
    "snapshot": Case(_delta, "CALL system.snapshot('t', 'u')", {"t": "delta", "u": "iceberg"}),
    "snapshot elsewhere": Case(
        _delta, "CALL system.snapshot('t', 'u', '{folder}/far/away/u')", {"t": "delta", "u": "iceberg"}
    ),
}
ROWS = [(2,), (3,), (4,)]


def _tables(bare: BareLake) -> dict[str, str]:
    """Returns all tables' formats, if other engines read each one's rows."""
    found = {}
    for _, name, _ in bare.rows("SHOW TABLES"):
        (detail,) = bare.answer(f"DESCRIBE DETAIL {name}").to_pylist()
        folder = Path(detail["location"].removeprefix("file://"))
        found[name] = detail["format"]
        assert _read(folder, detail["format"]) == ROWS, name
    return found


def _read(folder: Path, format: str) -> Rows:
    if format == "delta":
        return PEERS["duckdb"](folder, ["id"])
    newest = max(folder.glob("metadata/v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0]))
    return comparable(open_duckdb().execute(f"SELECT id FROM iceberg_scan('{newest}')").to_arrow_table())


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_killed_conversion_leaves_a_readable_table_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case, after: bool
) -> None:
    """`after`: the call at which it fails has taken effect."""
    left, is_done, states = 0, False, set()
    while not is_done:
        bare = BareLake(tmp_path / str(left))
        case.make(bare)
        before, statement = _tables(bare), case.statement.format(folder=bare.folder)
        fuse = Fuse(left, after=after)
        with monkeypatch.context() as patch:
            for name in CALLS:
                patch.setattr(LocalStorage, name, fuse.around(getattr(LocalStorage, name)))
            patch.setattr(Catalog, "change", fuse.around(Catalog.change))
            try:
                bare.answer(statement)
                is_done = True
            except Crash:
                pass
        states.add(str(_tables(bare)))
        assert _tables(bare) in (before, case.results), left
        try:
            bare.answer(statement)
        except TableAlreadyExists:
            assert _tables(bare) == case.results
        assert _tables(bare) == case.results, left
        left += 1
    assert left > len(CALLS) and len(states) > 1
