"""A user's log or metadata in an external location does not reach other tables' files.

Each attack builds a table that references a forbidden file, and another one with its own copy in the same role: the
copy is read, so a rejection is due to the file's location.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.errors import SqlError
from engine.delta.spec.actions import CheckpointMetadata, Sidecar
from engine.delta.spec.paths import checkpoint_v2_name
from engine.spark.session import SparkDriver
from engine.storage.deletion_vectors import format_file, format_rows
from tests.engine.delta.log_builder import METADATA, PROTOCOL, json_lines
from tests.engine.iceberg.handmade import HandmadeTable
from tests.handmade import Part, column, protocol, write_table
from tests.security.guarded_lake import GuardedLake
from tests.security.people import People

pytestmark = pytest.mark.spark

NOT_ALLOWED = "LOG_PATH_NOT_ALLOWED"
SECRET = 666
_ID = [column("id", "long")]
_ROWS = pa.table({"id": pa.array([1], pa.int64())})
_UUID = UUID("3a0d65cd-4a56-49a8-937b-95f9e3ee90e5")
_FIRST_ROW = format_rows(pa.array([0]).to_numpy())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`lake`, and `landing`, an external location whose files eve may read and write."""
    place = tmp_path_factory.mktemp("other tables")
    (place / "lake").mkdir()
    (place / "landing").mkdir()
    return place


@pytest.fixture(scope="module")
def people(place: Path, spark_driver: SparkDriver) -> Iterator[People]:
    """`shop.secret` has a filter that leaves eve no row; `shop.inner`, below the location, is not hers."""
    found = People(GuardedLake(place / "lake", (str(place / "landing"),)), spark_driver)
    for who, text in (
        ("root", "CREATE SCHEMA shop"),
        ("root", f"CREATE EXTERNAL LOCATION landing URL '{place / 'landing'}'"),
        ("root", "GRANT USE CATALOG ON CATALOG TO `account users`"),
        ("root", "GRANT USE SCHEMA, CREATE TABLE, CREATE FUNCTION ON SCHEMA shop TO `account users`"),
        ("root", "GRANT READ FILES, CREATE EXTERNAL TABLE ON EXTERNAL LOCATION landing TO `account users`"),
        ("ann", "CREATE FUNCTION shop.mine(id BIGINT) RETURNS BOOLEAN RETURN current_user() = 'ann'"),
        ("ann", "CREATE TABLE shop.secret (id BIGINT)"),
        ("ann", f"INSERT INTO shop.secret VALUES ({SECRET})"),
        ("ann", "ALTER TABLE shop.secret SET ROW FILTER shop.mine ON (id)"),
        ("ann", f"CREATE TABLE shop.inner (id BIGINT) LOCATION '{place / 'landing' / 'outer' / 'inner'}'"),
        ("ann", f"INSERT INTO shop.inner VALUES ({SECRET})"),
        ("ann", "GRANT SELECT ON shop.secret TO eve"),
    ):
        found.rows(who, text)
    yield found
    found.close()


@pytest.fixture(scope="module")
def secret(people: People, place: Path) -> Path:
    """Returns `shop.secret`'s data file."""
    (file,) = (place / "lake" / "shop" / "secret").glob("*.parquet")
    return file


# (the new table's folder, the targeted file) -> the query that would show the file's row.
Attack = Callable[[Path, Path], str]


def _query(root: Path) -> str:
    return f"SELECT id FROM delta.`{root}`"


def _named(spelling: str) -> Attack:
    """References the file in an `add` action."""

    def build(root: Path, file: Path) -> str:
        write_table(root, _ID, [])
        _append(root, 0, _add(spelling.format(file=file), file))
        return _query(root)

    return build


def _add(path: str, file: Path, **keys: Any) -> dict[str, Any]:
    return {"add": {"path": path, "partitionValues": {}, "size": file.stat().st_size, "dataChange": True, **keys}}


def _append(root: Path, version: int, *actions: Any) -> None:
    with (root / "_delta_log" / f"{version:020}.json").open("a") as log:
        log.writelines(json.dumps(action) + "\n" for action in actions)


def _percent(root: Path, file: Path) -> str:
    write_table(root, _ID, [])
    _append(root, 0, _add("file:" + "".join(f"%{byte:02x}" if byte != 47 else "/" for byte in os.fsencode(file)), file))
    return _query(root)


def _change_file(root: Path, file: Path) -> str:
    write_table(root, _ID, [], configuration={"delta.enableChangeDataFeed": "true"})
    rows = pa.table(
        {"id": pq.read_table(file)["id"], "_change_type": pa.array(["insert"] * pq.read_metadata(file).num_rows)}
    )
    if root in file.parents:
        pq.write_table(rows, file)
    change = {"path": str(file), "partitionValues": {}, "size": file.stat().st_size, "dataChange": False}
    _append(root, 1, {"cdc": change})
    return f"SELECT id FROM table_changes('delta.`{root}`', 1)"


def _removed_file(root: Path, file: Path) -> str:
    write_table(root, _ID, [], configuration={"delta.enableChangeDataFeed": "true"})
    removed = {"path": str(file), "deletionTimestamp": 1, "dataChange": True, "extendedFileMetadata": True}
    sizes = {"partitionValues": {}, "size": file.stat().st_size}
    _append(root, 1, {"remove": {**removed, **sizes}})
    return f"SELECT id FROM table_changes('delta.`{root}`', 1)"


def _linked_file(root: Path, file: Path) -> str:
    write_table(root, _ID, [Part(name="own.parquet", rows=pq.read_table(file))])
    (root / "own.parquet").unlink()
    (root / "own.parquet").symlink_to(file)
    return _query(root)


def _linked_folder(root: Path, file: Path) -> str:
    write_table(root, _ID, [])
    (root / "folder").symlink_to(file.parent)
    _append(root, 0, _add(f"folder/{file.name}", file))
    return _query(root)


def _linked_log(root: Path, file: Path) -> str:
    """Returns the log of the file's table, with the same file names."""
    root.mkdir(parents=True, exist_ok=True)
    log = file.parent / "_delta_log"
    if not log.exists():
        write_table(file.parent, _ID, [])
        _append(file.parent, 0, _add(file.name, file))
    (root / "_delta_log").symlink_to(log)
    shutil.copy(file, root / file.name)
    return _query(root)


def _hard_linked_file(root: Path, file: Path) -> str:
    write_table(root, _ID, [])
    os.link(file, root / "second.parquet")
    _append(root, 0, _add("second.parquet", file))
    return _query(root)


def _vector(root: Path, file: Path) -> str:
    """Returns a deletion vector next to the file."""
    vector = file.parent / f"deletion_vector_{_UUID}.bin"
    vector.write_bytes(format_file([_FIRST_ROW])[0])
    text = {
        "storageType": "p",
        "pathOrInlineDv": str(vector),
        "offset": 1,
        "sizeInBytes": len(_FIRST_ROW),
        "cardinality": 1,
    }
    rows = pa.table({"id": pa.array([1, SECRET], pa.int64())})
    part = Part(name="own.parquet", rows=rows, keys={"deletionVector": text})
    write_table(root, _ID, [part], table_protocol=protocol("deletionVectors"))
    return _query(root)


def _sidecar(root: Path, file: Path) -> str:
    """Returns a sidecar next to the file, which names an own file."""
    write_table(root, _ID, [Part(name="own.parquet", rows=pq.read_table(file))])
    (root / "_delta_log" / f"{0:020}.json").rename(root / "kept.json")
    adds = [json.loads(line)["add"] for line in (root / "kept.json").read_text().splitlines() if '"add"' in line]
    sidecar = file.parent / "sidecar.parquet"
    schema = pa.struct(
        [
            ("path", pa.string()),
            ("partitionValues", pa.map_(pa.string(), pa.string())),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
        ]
    )
    pq.write_table(pa.table({"add": pa.array([{**add, "partitionValues": []} for add in adds], schema)}), sidecar)
    named = Sidecar(path=str(sidecar), size_in_bytes=sidecar.stat().st_size, modification_time=1)
    top = json_lines([CheckpointMetadata(version=0), PROTOCOL, METADATA, named]).decode()
    lines = [line for line in (root / "kept.json").read_text().splitlines() if '"metaData"' in line]
    top = "\n".join(lines[0] if '"metaData"' in line else line for line in top.splitlines()) + "\n"
    top = top.replace('"minReaderVersion":1,"minWriterVersion":2', json.dumps(protocol("v2Checkpoint"))[1:-1])
    (root / "_delta_log" / checkpoint_v2_name(0, str(_UUID), "json")).write_text(top)
    return _query(root)


def _iceberg(root: Path) -> HandmadeTable:
    return HandmadeTable(root, columns=[{"id": 1, "name": "id", "required": False, "type": "long"}])


def _iceberg_file(root: Path, file: Path) -> str:
    made = _iceberg(root)
    entry = made.data({"id": [1]})
    mapping = json.dumps([{"field-id": 1, "names": ["id"]}])
    made.properties["schema.name-mapping.default"] = mapping
    made.commit({**entry, "file_path": f"file://{file}", "file_size_in_bytes": file.stat().st_size})
    return f"SELECT id FROM iceberg.`{root}`"


def _iceberg_list(root: Path, file: Path) -> str:
    """Moves the manifest list next to the file."""
    made = _iceberg(root)
    made.commit(made.data(pq.read_table(file)))
    (path,) = (root / "metadata").glob("snap-*.avro")
    shutil.move(path, file.parent / path.name)
    made.snapshots[-1]["manifest-list"] = f"file://{file.parent / path.name}"
    made.write()
    return f"SELECT id FROM iceberg.`{root}`"


def _iceberg_hard_link(root: Path, file: Path) -> str:
    made = _iceberg(root)
    made.properties["schema.name-mapping.default"] = json.dumps([{"field-id": 1, "names": ["id"]}])
    os.link(file, root / "data" / "second.parquet")
    entry = made.data({"id": [1]})
    made.commit(
        {**entry, "file_path": f"{made.location}/data/second.parquet", "file_size_in_bytes": file.stat().st_size}
    )
    return f"SELECT id FROM iceberg.`{root}`"


def _iceberg_linked_metadata(root: Path, file: Path) -> str:
    made = _iceberg(root)
    made.commit(made.data(pq.read_table(file)))
    (root / "metadata").rename(file.parent / "metadata")
    (root / "metadata").symlink_to(file.parent / "metadata")
    return f"SELECT id FROM iceberg.`{root}`"


ATTACKS: dict[str, Attack] = {
    "add, absolute": _named("{file}"),
    "add, file:": _named("file:{file}"),
    "add, file:///": _named("file://{file}"),
    "add, file://localhost/": _named("file://localhost{file}"),
    "add, FILE:": _named("FILE:{file}"),
    "add, //": _named("/{file}"),
    "add, percent-encoded": _percent,
    "cdc": _change_file,
    "remove": _removed_file,
    "link to a file": _linked_file,
    "link to a folder": _linked_folder,
    "link to a log": _linked_log,
    "hard link": _hard_linked_file,
    "deletion vector": _vector,
    "sidecar": _sidecar,
    "iceberg, data file": _iceberg_file,
    "iceberg, manifest list": _iceberg_list,
    "iceberg, hard link": _iceberg_hard_link,
    "iceberg, link to metadata": _iceberg_linked_metadata,
}


@pytest.fixture
def copy(place: Path, secret: Path, request: pytest.FixtureRequest) -> Path:
    """Returns eve's copy of the secret file: with privileges on it, but in another folder than the table."""
    folder = place / "landing" / f"copy {abs(hash(request.node.name))}"
    folder.mkdir()
    return Path(shutil.copy(secret, folder / "copied.parquet"))


@pytest.mark.parametrize("case", ATTACKS)
def test_file_of_another_table_is_rejected(people: People, place: Path, secret: Path, copy: Path, case: str) -> None:
    root = place / "landing" / case.replace(":", " ").replace("/", "-")
    control = ATTACKS[case](root / "own", _own_file(root / "own", secret))
    assert people.rows("eve", control) == [(SECRET,)]
    target = secret if case not in ("sidecar", "iceberg, manifest list", "iceberg, link to metadata") else copy
    attack = ATTACKS[case](root / "other", target)
    queries = [attack, attack.replace("SELECT id", "SELECT count(*), min(id), max(id)")]
    for who in ("eve", "ann"):
        for query in queries:
            assert people.refuse(who, query).condition == NOT_ALLOWED, query


def _own_file(root: Path, secret: Path) -> Path:
    """Returns a copy of the secret file in the table's own folder."""
    folder = root / "files"
    folder.mkdir(parents=True)
    file = Path(shutil.copy(secret, folder / "copied.parquet"))
    return file


STATEMENTS: dict[str, tuple[str, ...]] = {
    "a table at the location": (
        "CREATE TABLE shop.{name} USING delta LOCATION '{root}'",
        "SELECT id FROM shop.{name}",
    ),
    "a shallow clone": ("CREATE TABLE shop.{name} SHALLOW CLONE delta.`{root}`", "SELECT id FROM shop.{name}"),
    "a deep clone": ("CREATE TABLE shop.{name} DEEP CLONE delta.`{root}`", "SELECT id FROM shop.{name}"),
    "an insert": (
        "CREATE TABLE shop.{name} (id BIGINT)",
        "INSERT INTO shop.{name} SELECT * FROM delta.`{root}`",
        "SELECT id FROM shop.{name}",
    ),
    "an Iceberg snapshot": (
        "CREATE TABLE shop.{name}_source USING delta LOCATION '{root}'",
        "CALL system.snapshot('shop.{name}_source', 'shop.{name}')",
        "SELECT id FROM shop.{name}",
    ),
}


@pytest.mark.parametrize("spelling", ["{file}", "//{file}", "link"])
@pytest.mark.parametrize("case", STATEMENTS)
def test_statement_over_a_file_of_another_table(
    people: People, place: Path, secret: Path, case: str, spelling: str
) -> None:
    name = f"s{list(STATEMENTS).index(case)}_{len(spelling)}"
    root = place / "landing" / name
    (_linked_file if spelling == "link" else _named(spelling))(root, secret)
    shown: list[Any] = []
    conditions = []
    for text in STATEMENTS[case]:
        try:
            shown += people.rows("eve", text.format(name=name, root=root))
        except SqlError as error:
            conditions.append(error.condition)
    assert conditions and conditions[0] in (NOT_ALLOWED, "ICEBERG_PROCEDURE_REFUSED")
    assert (SECRET,) not in shown


def test_files_below_a_table_that_belong_to_an_inner_table(people: People, place: Path) -> None:
    """A path relative to the outer table leads into the folder of a table in the catalog."""
    outer = place / "landing" / "outer"
    (inner,) = (outer / "inner").glob("*.parquet")
    write_table(outer, _ID, [Part(name="own/x.parquet", rows=pq.read_table(inner))])
    (outer / "link").symlink_to(outer / "inner")
    assert people.rows("ann", _query(outer)) == [(SECRET,)]
    assert people.refuse("eve", _query(outer)).condition == "INSUFFICIENT_PERMISSIONS"
    for path in (f"inner/{inner.name}", f"./inner//{inner.name}", str(inner), f"link/{inner.name}"):
        (outer / "_delta_log" / f"{1:020}.json").write_text(json.dumps(_add(path, inner)))
        (outer / "_delta_log" / f"{2:020}.json").unlink(missing_ok=True)
        assert people.refuse("ann", _query(outer)).condition == NOT_ALLOWED, path


def test_clone_of_this_server_is_read_and_one_of_a_protected_table_is_not_made(people: People) -> None:
    people.rows("ann", "CREATE TABLE shop.open (id BIGINT)")
    people.rows("ann", "INSERT INTO shop.open VALUES (7)")
    people.rows("ann", "GRANT SELECT ON shop.open TO eve")
    people.rows("eve", "CREATE TABLE shop.cloned SHALLOW CLONE shop.open")
    assert people.rows("eve", "SELECT id FROM shop.cloned") == [(7,)]
    people.rows("eve", "CREATE TABLE shop.cloned_again SHALLOW CLONE shop.cloned")
    assert people.rows("eve", "SELECT id FROM shop.cloned_again") == [(7,)]
    people.rows("ann", "INSERT INTO shop.open VALUES (8)")
    assert people.rows("eve", "SELECT id FROM shop.cloned") == [(7,)]
    assert people.refuse("eve", "CREATE TABLE shop.taken SHALLOW CLONE shop.secret").sqlstate == "0A000"
