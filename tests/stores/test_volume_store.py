"""Volumes on an object store: the statements, and concurrent writers on one file."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from catalog.errors import SqlError
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.storage.storage import open_storage
from engine.storage.volume_files import FileTransfer
from tests.engine.bare_lake import BareLake
from tests.stores.s3_lake import S3Lake, S3Server, s3_server

VOLUME = "/Volumes/spark_catalog/s/v"
WRITERS = 6
# More than s3fs puts by one request.
LARGE_BYTES = 101 << 20


@pytest.fixture(scope="module")
def store() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


_numbers = itertools.count()


@pytest.fixture
def lake(store: S3Server) -> S3Lake:
    found = S3Lake(f"volumes{next(_numbers)}")
    found.answer("CREATE SCHEMA s")
    found.answer("CREATE VOLUME s.v")
    return found


def transfer(lake: BareLake, text: str) -> FileTransfer:
    """Returns the transfer that a statement allows a client that follows links."""
    found: list[FileTransfer] = []

    def stage(allowed: FileTransfer) -> str:
        found.append(allowed)
        return ""

    lake.answer(text, StatementRequest(identity=Identity("ann"), stage=stage))
    return found[0]


def put(lake: BareLake, path: str, content: bytes, option: str = "") -> None:
    allowed = transfer(lake, f"PUT 'x' INTO '{path}' {option}")
    allowed.file.write(io.BytesIO(content), overwrite=allowed.overwrite)


def read(lake: BareLake, path: str) -> bytes:
    with transfer(lake, f"GET '{path}' TO 'x'").file.open() as file:
        return file.read()


def listed(lake: BareLake, path: str) -> list[tuple[str, int]]:
    return [(str(row[1]), int(row[2])) for row in lake.rows(f"LIST '{path}'")]


def test_files_of_a_volume_are_put_listed_read_and_removed(lake: S3Lake) -> None:
    assert listed(lake, VOLUME) == []
    put(lake, f"{VOLUME}/in/a b.csv", b"1")
    put(lake, f"{VOLUME}/c", b"")
    assert listed(lake.other(), VOLUME) == [("c", 0), ("in/", 0)]
    assert listed(lake, f"{VOLUME}/in") == [("a b.csv", 1)]
    with pytest.raises(SqlError, match="FILE_IN_STAGING_PATH_ALREADY_EXISTS"):
        put(lake, f"{VOLUME}/in/a b.csv", b"22")
    put(lake, f"{VOLUME}/in/a b.csv", b"333", "OVERWRITE")
    assert read(lake.other(), f"{VOLUME}/in/a b.csv") == b"333"
    lake.answer(f"REMOVE '{VOLUME}/in/a b.csv'")
    assert listed(lake, VOLUME) == [("c", 0)]
    lake.answer("DROP VOLUME s.v")
    lake.answer("CREATE VOLUME s.v")
    assert listed(lake, VOLUME) == []


@pytest.mark.parametrize("is_local", [True, False])
def test_an_upload_leaves_nothing_in_a_volume_that_was_dropped_meanwhile(
    lake: S3Lake, tmp_path: Path, is_local: bool
) -> None:
    found: BareLake = lake
    if is_local:
        found = BareLake(tmp_path)
        found.answer("CREATE SCHEMA s")
        found.answer("CREATE VOLUME s.v")
    location = str(found.rows("DESCRIBE VOLUME s.v")[0][4])
    late, renamed = (transfer(found, f"PUT 'x' INTO '{VOLUME}/in/{name}' OVERWRITE") for name in "ab")
    found.answer("ALTER VOLUME s.v RENAME TO w")
    renamed.file.write(io.BytesIO(b"kept"), overwrite=True)
    assert listed(found, "/Volumes/spark_catalog/s/w/in") == [("b", 4)]
    found.answer("DROP VOLUME s.w")
    with pytest.raises(SqlError, match="UC_VOLUME_NOT_FOUND"):
        late.file.write(io.BytesIO(b"lost"), overwrite=True)
    listing = open_storage(location).list_folder("")
    assert not listing.files + listing.folders


@pytest.mark.parametrize("size", [3, pytest.param(LARGE_BYTES, marks=pytest.mark.slow)])
def test_concurrent_puts_without_overwrite_have_one_winner(lake: S3Lake, size: int) -> None:
    writers = WRITERS if size < LARGE_BYTES else 2
    allowed = [transfer(lake, f"PUT 'x' INTO '{VOLUME}/raced'") for _ in range(writers)]
    start = Barrier(writers)

    def write(number: int) -> int | None:
        start.wait()
        try:
            allowed[number].file.write(io.BytesIO(b"%d" % number * size), overwrite=False)
        except SqlError as error:
            assert error.condition == "FILE_IN_STAGING_PATH_ALREADY_EXISTS"
            return None
        return number

    with ThreadPoolExecutor(writers) as threads:
        won = [number for number in threads.map(write, range(writers)) if number is not None]
    assert len(won) == 1
    assert read(lake, f"{VOLUME}/raced") == b"%d" % won[0] * size
