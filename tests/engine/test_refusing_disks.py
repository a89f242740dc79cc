"""Disks that are read-only or full: errors by name, nothing changed, and VACUUM makes room."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from catalog.conditions import DataFileNotFound, DiskFull, StorageAccessFailed, TableFilesNotWritable
from catalog.errors import SqlError
from engine.main import LakeSession
from engine.spark.session import SparkDriver
from engine.spark.spark_errors import translate_errors
from tests.engine.bare_aging import age, data_files
from tests.engine.bare_lake import BareLake
from tests.engine.lake_sessions import refuse, rows, run

REPORTED: dict[str, tuple[str, type[SqlError]]] = {
    "read-only": (os.strerror(errno.EROFS), TableFilesNotWritable),
    "denied": (os.strerror(errno.EACCES), TableFilesNotWritable),
    "no folder": ("Mkdirs failed to create file:/t/p=1", TableFilesNotWritable),
    "full": (os.strerror(errno.ENOSPC), DiskFull),
    "quota": (os.strerror(errno.EDQUOT), DiskFull),
}


@pytest.mark.parametrize("case", REPORTED)
def test_refusal_of_a_disk_is_named(spark_driver: SparkDriver, case: str) -> None:
    jvm = spark_driver.process.gateway.jvm
    text, expected = REPORTED[case]
    error = jvm.java.io.FileNotFoundException(f"/t/part-0 ({text})")
    errors = getattr(getattr(jvm.org.apache.spark.sql.errors, "QueryExecutionErrors$"), "MODULE$")
    for raised in (error, errors.taskFailedWhileWritingRowsError("file:/t", error)):
        with pytest.raises(expected), translate_errors(jvm):
            _throw(jvm, raised)


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EACCES, errno.EPERM])
def test_file_that_its_disk_does_not_return_is_a_storage_error(spark_driver: SparkDriver, number: int) -> None:
    jvm = spark_driver.process.gateway.jvm
    errors = getattr(getattr(jvm.org.apache.spark.sql.errors, "QueryExecutionErrors$"), "MODULE$")
    text = f"/t/part-0 ({os.strerror(number)})"
    for raised in (
        errors.cannotReadFilesError(jvm.java.io.IOException(text), "/t/part-0"),
        errors.fileNotExistError("/t/part-0", jvm.java.io.FileNotFoundException(text)),
    ):
        with pytest.raises(StorageAccessFailed, match=f"/t/part-0: .*{os.strerror(number)}"), translate_errors(jvm):
            _throw(jvm, raised)
    missing = errors.fileNotExistError("/t/part-0", jvm.java.io.FileNotFoundException("/t/part-0 does not exist"))
    with pytest.raises(DataFileNotFound, match="/t/part-0"), translate_errors(jvm):
        _throw(jvm, missing)


def _throw(jvm: Any, error: Any) -> None:
    """Has Java raise an exception."""
    future = jvm.java.util.concurrent.CompletableFuture()
    future.completeExceptionally(error)
    future.get()


@pytest.mark.parametrize("text", [os.strerror(errno.ENOSPC), os.strerror(errno.EROFS)])
def test_value_that_reads_like_an_error_is_a_value(session: LakeSession, text: str) -> None:
    assert refuse(session, f"SELECT CAST('{text}' AS INT)").sqlstate == "22018"
    assert refuse(session, f"SELECT raise_error('{text}')").sqlstate == "P0001"


@contextmanager
def mounted(folder: Path, *arguments: str) -> Iterator[None]:
    """Mounts over `folder`."""
    subprocess.run(["mount", *arguments, folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    with mounted(folder, "--bind", str(folder)):
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield


WRITES = {
    "values": "INSERT INTO {t} VALUES (7, 'x')",
    "query": "INSERT INTO {t} SELECT id, 'x' FROM range(5)",
    "overwrite": "INSERT OVERWRITE {t} SELECT id, 'new' FROM range(5)",
    "update": "UPDATE {t} SET s = 'y' WHERE id = 1",
    "delete": "DELETE FROM {t} WHERE id = 1",
    "merge": "MERGE INTO {t} t USING (SELECT 1 id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "delete all": "DELETE FROM {t}",
}
TABLES = {
    "plain": "",
    "partitioned": "PARTITIONED BY (s)",
    "vectors": "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "iceberg": "USING iceberg",
}
CONDITIONS = {"TABLE_FILES_NOT_WRITABLE", "LOG_WRITE_FAILED", "ICEBERG_COMMIT_FAILED"}


@pytest.mark.mounts
@pytest.mark.parametrize("kind", TABLES)
def test_write_to_a_read_only_disk_is_named(lake: Path, session: LakeSession, kind: str) -> None:
    name = f"held_{kind}"
    run(session, f"CREATE TABLE {name} (id BIGINT, s STRING) {TABLES[kind]}")
    run(session, f"INSERT INTO {name} SELECT id, 'x' FROM range(3)")
    before = rows(session, f"SELECT * FROM {name} ORDER BY id")
    with read_only(lake / "default" / name):
        for case, statement in WRITES.items():
            error = refuse(session, statement.format(t=name))
            assert error.condition in CONDITIONS, (case, error)
            assert error.sqlstate == "58030", (case, error)
        assert rows(session, f"SELECT * FROM {name} ORDER BY id") == before
    run(session, WRITES["values"].format(t=name))
    assert rows(session, f"SELECT count(*) FROM {name}") == [(4,)]


@pytest.mark.mounts
def test_vacuum_frees_space_on_full_disk(tmp_path: Path) -> None:
    lake = BareLake(tmp_path)
    lake.path("t").parent.mkdir()
    with mounted(lake.path("t").parent, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        lake.append("t", {"k": [2]})
        lake.append("t", {"k": [1] * 5000, "s": [str(number) for number in range(5000)]}, schema_mode="merge")
        DeltaTable(lake.path("t")).delete("k = 1")
        age(lake.path("t"), 10)
        filler = lake.path("t").parent / "filler"
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(512))
        before = data_files(lake.path("t"))
        assert lake.refuse("ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')").sqlstate == "58030"
        lake.answer("VACUUM t")
        assert len(data_files(lake.path("t"))) < len(before)
        assert [name for name, *_ in lake.operations("t")][-1] == "VACUUM END"
        assert lake.table("t").column("k").to_pylist() == [2]
        lake.answer("ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')")
    lake.sources.close()
