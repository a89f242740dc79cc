"""`engine.delta` and `engine.iceberg` as libraries: create, append and read tables without importing other parts of the
engine.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

# Engine packages that both libraries depend on.
SHARED = {"cache", "concurrency", "errors", "pruning", "storage", "tables", "types"}

BEGIN = """
import json, sys
import pyarrow as pa
import pyarrow.parquet as pq
from engine.storage.storage import open_storage
from engine.tables.operations import CommitDescription, TableOperation
from engine.tables.transaction import DataFile
from engine.types.schema import PrimitiveType, StructField, StructType

folder = sys.argv[1]
schema = StructType((StructField("id", PrimitiveType.LONG, nullable=True, metadata={}),))
made = CommitDescription(name="CREATE TABLE", operation=TableOperation.METADATA)
appended = CommitDescription(name="WRITE", operation=TableOperation.APPEND)


def written(ids, name="a.parquet", **metadata):
    field = pa.field("id", pa.int64(), metadata=metadata or None)
    pq.write_table(pa.table([pa.array(ids)], schema=pa.schema([field])), f"{folder}/{name}")
    status = open_storage(folder).stat(name)
    return DataFile(path=name, size=status.size, modification_time=status.modified_ms, partition_values={})
"""
DELTA = """
from engine.delta import Transaction, load_snapshot
from engine.delta.commit.new_files import describe_files
from engine.delta.definition.metadata_changes import define_table

transaction = Transaction.create(open_storage(folder), made)
transaction.define(define_table("t", schema))
transaction.commit()
snapshot = load_snapshot(folder)
transaction = Transaction.on(snapshot, appended)
transaction.add_files(describe_files(snapshot.storage, snapshot.config, [written([1, 2])]))
transaction.commit()
snapshot = load_snapshot(folder)
paths = snapshot.files["path"].to_pylist()
"""
ICEBERG = """
from engine.iceberg import IcebergTransaction, load_snapshot
from engine.iceberg.commit.file_store import FileMetadataStore, clock_ms
from engine.iceberg.definition.changes import define_table
from engine.iceberg.writing.new_files import FileSchema, describe_files

store = FileMetadataStore(storage=open_storage(folder), clock=clock_ms)
transaction = IcebergTransaction(store, None, made, table="t")
transaction.define(define_table("t", schema, (), ()))
transaction.commit()
snapshot = load_snapshot(folder)
metadata = snapshot.metadata
files = FileSchema(
    location=metadata.location, schema=snapshot.iceberg_schema, spec=metadata.specs[metadata.default_spec_id]
)
transaction = IcebergTransaction(store, snapshot, appended, table="t")
file = written([1, 2], **{"PARQUET:field_id": "1"})
transaction.add_files(describe_files(snapshot.storage, files, [file]))
transaction.commit()
snapshot = load_snapshot(folder)
paths = snapshot.files["path"].to_pylist()
"""
END = """
rows = [row for path in paths for row in pq.read_table(f"{folder}/{path}")["id"].to_pylist()]
imported = sorted({name.split(".")[1] for name in sys.modules if name.startswith("engine.")})
catalog = sorted(name for name in sys.modules if name.startswith("catalog."))
print(json.dumps({"rows": rows, "imported": imported, "catalog": catalog, "modules": sorted(sys.modules)}))
"""


@pytest.mark.parametrize(("library", "script"), [("delta", DELTA), ("iceberg", ICEBERG)])
def test_library_alone_makes_appends_and_reads_a_table(tmp_path: Path, library: str, script: str) -> None:
    command = [sys.executable, "-c", BEGIN + script + END, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"] == [1, 2]
    assert set(found["imported"]) <= {library, *SHARED}
    assert not {"pyspark", "sqlglot", "flask", "thrift"} & set(found["modules"])
