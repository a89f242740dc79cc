"""Statements that change a table whose metadata or manifests somebody has broken: done, or one named error."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from catalog.errors import SqlError
from tests.engine.bare_lake import BareLake
from tests.engine.iceberg.handmade import HandmadeTable

STATEMENTS = (
    "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')",
    "ALTER TABLE t ADD COLUMN more INT",
    "CALL system.rollback_to_snapshot('t', 1001)",
    "CALL system.expire_snapshots(table => 't', retain_last => 1, clean_expired_metadata => true)",
    "CALL system.remove_orphan_files('t')",
    "CALL system.rewrite_manifests('t')",
    "CALL system.cherrypick_snapshot('t', 1001)",
    "TRUNCATE TABLE t",
)
_GONE = object()
_PLACES = 60
_VALUES: tuple[Any, ...] = (_GONE, None, -1, 2**70, 1.5, "x", [], {}, [None], True)


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields all places in JSON."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*path, key)
        yield from paths(each, (*path, key))


def changed(value: Any, path: tuple[Any, ...], to: Any) -> Any:
    found = copy.deepcopy(value)
    place = found
    for key in path[:-1]:
        place = place[key]
    if to is not _GONE:
        place[path[-1]] = to
    else:
        del place[path[-1]]
    return found


def made(lake: BareLake, version: int) -> HandmadeTable:
    spec = {"spec-id": 0, "fields": [{"source-id": 1, "field-id": 1000, "name": "p", "transform": "bucket[4]"}]}
    table = HandmadeTable(
        lake.folder / "default" / "t",
        version=version,
        specs=[spec],
        partition=[(1000, "p", "int")],
        refs={"main": {"snapshot-id": 1003, "type": "branch"}, "old": {"snapshot-id": 1002, "type": "tag"}},
        properties={"history.expire.min-snapshots-to-keep": "1"},
    )
    for number in range(3):
        row_ids: dict[str, Any] = {"first-row-id": number, "added-rows": 1} if version > 2 else {}
        table.commit(table.data({"id": [number]}, partition={"p": number}), **row_ids)
    return table


def do(lake: BareLake, text: str) -> None:
    """Raises whatever is no named error."""
    try:
        lake.answer(text)
    except SqlError as error:
        assert not error.condition.startswith("INTERNAL"), error


@pytest.mark.parametrize("version", [1, 2, 3])
def test_metadata_that_is_broken_anywhere_ends_in_a_named_error(tmp_path: Path, version: int) -> None:
    lake = BareLake(tmp_path)
    table = made(lake, version)
    file = table.folder / "metadata" / f"v{table.metadata_version}.metadata.json"
    whole = json.loads(file.read_text())
    remaining = {path: path.read_bytes() for path in table.folder.rglob("*") if path.is_file()}
    chance = random.Random(version)
    for path in chance.sample(list(paths(whole)), _PLACES):
        text, value = chance.choice(STATEMENTS), chance.choice(_VALUES)
        file.write_text(json.dumps(changed(whole, path, value)))
        try:
            do(lake, text)
        except Exception as error:
            raise AssertionError((path, value, text)) from error
        for each in table.folder.rglob("*"):
            if each.is_file() and each not in remaining:
                each.unlink()
        for each, data in remaining.items():
            each.write_bytes(data)


def test_manifests_that_are_broken_anywhere_end_in_a_named_error(tmp_path: Path) -> None:
    lake = BareLake(tmp_path)
    table = made(lake, 2)
    chance = random.Random(5)
    remaining = {path: path.read_bytes() for path in table.folder.rglob("*") if path.is_file()}
    for file in (table.folder / "metadata").glob("*.avro"):
        data = file.read_bytes()
        for text in STATEMENTS[2:]:
            place = chance.randrange(len(data))
            file.write_bytes(chance.choice([data[:place], data[:place] + b"\xff" + data[place + 1 :], b""]))
            try:
                do(lake, text)
            except Exception as error:
                raise AssertionError((file.name, place, text)) from error
            for each in table.folder.rglob("*"):
                if each.is_file() and each not in remaining:
                    each.unlink()
            for each, whole in remaining.items():
                each.write_bytes(whole)


@pytest.mark.parametrize("value", [1_700_000_000_000_000, 2**62, -(2**63)])
@pytest.mark.parametrize(
    "path",
    [
        ("last-updated-ms",),
        ("snapshots", 0, "timestamp-ms"),
        ("snapshot-log", 0, "timestamp-ms"),
        ("metadata-log", 0, "timestamp-ms"),
    ],
)
def test_times_that_no_calendar_has(tmp_path: Path, path: tuple[Any, ...], value: int) -> None:
    """For example microseconds, which would fail when times are shown."""
    lake = BareLake(tmp_path)
    table = made(lake, 2)
    file = table.folder / "metadata" / f"v{table.metadata_version}.metadata.json"
    logged = [{"timestamp-ms": 1_700_000_000_000, "metadata-file": f"{table.location}/metadata/v1.metadata.json"}]
    whole = {**json.loads(file.read_text()), "metadata-log": logged}
    file.write_text(json.dumps(whole))
    assert lake.rows("DESCRIBE DETAIL t")
    file.write_text(json.dumps(changed(whole, path, value)))
    for text in ("DESCRIBE DETAIL t", "DESCRIBE HISTORY t"):
        with pytest.raises(SqlError) as caught:
            lake.answer(text)
        assert caught.value.condition == "ICEBERG_METADATA_MALFORMED" and str(value) in str(caught.value)
