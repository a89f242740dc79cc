"""Logs and links that lead out of the table's folder are rejected and nothing is read; clones are read."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from engine.storage.deletion_vectors import format_file, format_rows, relative_deletion_vector
from tests.engine.lake_sessions import refuse, rows, run
from tests.handmade import LEGACY, Part, column, protocol, write_table

pytestmark = pytest.mark.spark

NOT_ALLOWED = "LOG_PATH_NOT_ALLOWED"
MALFORMED = "DELTA_MALFORMED_LOG_ENTRY"
MISMATCH = "DELTA_DELETION_VECTOR_SIZE_MISMATCH"
_IDS = pa.table({"id": pa.array([1, 2], pa.int64())})
_SECRET = pa.table({"id": pa.array([666], pa.int64())})
_UUID = UUID("3a0d65cd-4a56-49a8-937b-95f9e3ee90e5")
_FIRST_ROW = format_rows(pa.array([0]).to_numpy())
_VECTORS: dict[str, Any] = {
    "table_protocol": protocol("deletionVectors"),
    "configuration": {"delta.enableDeletionVectors": "true"},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`lake`, `allowed` (a root), `trusted` (as it is called) and `outside`, each with a file `x.parquet`; `spelled`
    links to `lake`.
    """
    place = tmp_path_factory.mktemp("places")
    for name in ("lake", "allowed", "trusted", "outside"):
        (place / name).mkdir()
        pq.write_table(_SECRET, place / name / "x.parquet")
    (place / "spelled").symlink_to(place / "lake")
    return place


@pytest.fixture(scope="module")
def lake(place: Path) -> Path:
    return place / "lake" / "default"


@pytest.fixture(scope="module")
def engine(place: Path, spark_driver: SparkDriver) -> LakeEngine:
    options = EngineOptions(
        lake_folder=str(place / "spelled"),
        allowed_roots=(str(place / "allowed"), str(place / "trusted")),
        trusted_roots=(str(place / "spelled" / "default" / "source"), str(place / "trusted")),
    )
    return LakeEngine(open_sources(options), spark_driver)


@pytest.fixture
def session(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


def table(root: Path, log_path: str | None = None, **keys: Any) -> None:
    """Writes a table with one file and, with `log_path`, another `add` for it."""
    parts = [Part(name="own.parquet", rows=_IDS, keys=keys)]
    write_table(root, [column("id", "long")], parts, **(_VECTORS if keys else {}))
    if log_path is not None:
        size = (root / "own.parquet").stat().st_size
        _append(root, {"add": {"path": log_path, "partitionValues": {}, "size": size, "dataChange": True}})


def _append(root: Path, *actions: Mapping[str, Any]) -> None:
    with (root / "_delta_log" / f"{0:020}.json").open("a") as file:
        file.writelines(json.dumps(action) + "\n" for action in actions)


def _vector(kind: str, text: str, **fields: Any) -> dict[str, Any]:
    found = {"storageType": kind, "pathOrInlineDv": text, "offset": 1, "sizeInBytes": len(_FIRST_ROW), "cardinality": 1}
    return {"deletionVector": {**found, **fields}}


def _vector_file(folder: Path) -> None:
    """Writes a file with one deletion vector, for the first row."""
    (folder / f"deletion_vector_{_UUID}.bin").write_bytes(format_file([_FIRST_ROW])[0])


ELSEWHERE: dict[str, str] = {
    "up": "../../x.parquet",
    "up, encoded": "%2e%2e/%2e%2e/x.parquet",
    "up, within": "a/../../../x.parquet",
    "absolute": "{place}/outside/x.parquet",
    "absolute, encoded": "{place}/outside%2Fx.parquet",
    "absolute, up": "{place}/lake/../outside/x.parquet",
    "another table": "{place}/lake/default/another/own.parquet",
    "another table, file:": "file:{place}/lake/default/another/own.parquet",
    "another table, file:///": "file://{place}/lake/default/another/own.parquet",
    "another table, file://localhost/": "file://localhost{place}/lake/default/another/own.parquet",
    "another table, FILE:": "FILE:{place}/lake/default/another/own.parquet",
    "another table, encoded": "file:{place}/lake/default/%61nother/own%2Eparquet",
    "another table, //": "/{place}/lake/default/another/own.parquet",
    "an allowed root": "{place}/allowed/x.parquet",
    "a sibling by its beginning": "{place}/lakeside/x.parquet",
    "file:": "file:{place}/outside/x.parquet",
    "file://": "file://{place}/outside/x.parquet",
    "FILE:": "FILE:{place}/outside/x.parquet",
    "http": "http://127.0.0.1:9/x.parquet",
    "ftp": "ftp://127.0.0.1:9/x.parquet",
    "hdfs": "hdfs://127.0.0.1:9/x.parquet",
    "s3a": "s3a://bucket/x.parquet",
    "nothing": "",
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_an_added_file_elsewhere(place: Path, lake: Path, session: LakeSession, case: str) -> None:
    name = f"add_{list(ELSEWHERE).index(case)}"
    table(lake / name, ELSEWHERE[case].format(place=place))
    for query in (f"SELECT * FROM {name}", f"SELECT count(*) FROM {name}"):
        assert refuse(session, query).condition == NOT_ALLOWED


@pytest.mark.parametrize("case", ["up", "absolute", "http"])
def test_a_change_file_elsewhere(place: Path, lake: Path, session: LakeSession, case: str) -> None:
    name = f"cdc_{case}"
    write_table(lake / name, [column("id", "long")], [], configuration={"delta.enableChangeDataFeed": "true"})
    path = ELSEWHERE[case].format(place=place)
    _append(lake / name, {"cdc": {"path": path, "partitionValues": {}, "size": 500, "dataChange": False}})
    assert refuse(session, f"SELECT * FROM table_changes('{name}', 0)").condition == NOT_ALLOWED


VECTORS: dict[str, dict[str, Any]] = {
    "p": _vector("p", f"{{place}}/outside/deletion_vector_{_UUID}.bin"),
    "p up": _vector("p", f"file:{{place}}/lake/default/../../outside/deletion_vector_{_UUID}.bin"),
    "p http": _vector("p", "http://127.0.0.1:9/x.bin"),
    "u up": _vector("u", relative_deletion_vector(_UUID, "../../../outside")),
    "u absolute": _vector("u", relative_deletion_vector(_UUID, "{place}/outside")),
}


@pytest.mark.parametrize("case", VECTORS)
def test_a_deletion_vector_elsewhere(place: Path, lake: Path, session: LakeSession, case: str) -> None:
    name = "vector_" + case.replace(" ", "_")
    _vector_file(place / "outside")
    vector = dict(VECTORS[case]["deletionVector"])
    vector["pathOrInlineDv"] = vector["pathOrInlineDv"].replace("{place}", str(place))
    table(lake / name, deletionVector=vector)
    assert refuse(session, f"SELECT * FROM {name}").condition == NOT_ALLOWED


SIZES = {
    "a vector of 2e9 bytes": (
        _vector("u", relative_deletion_vector(_UUID), sizeInBytes=2_000_000_000),
        MALFORMED,
    ),
    "a vector of 1e8 bytes": (_vector("u", relative_deletion_vector(_UUID), sizeInBytes=10**8), MISMATCH),
    "a negative vector": (_vector("u", relative_deletion_vector(_UUID), sizeInBytes=-1), MALFORMED),
    "a negative offset": (_vector("u", relative_deletion_vector(_UUID), offset=-5), MALFORMED),
    "an offset behind the end": (
        _vector("u", relative_deletion_vector(_UUID), offset=2**31 - 1),
        MISMATCH,
    ),
    "no rows": (_vector("u", relative_deletion_vector(_UUID), cardinality=-1), MALFORMED),
    "a file of 2^60 bytes": ({"size": 2**60}, MALFORMED),
    "a file of -1 bytes": ({"size": -1}, MALFORMED),
}


@pytest.mark.parametrize("case", SIZES)
def test_a_size_that_nothing_has(lake: Path, session: LakeSession, case: str) -> None:
    name = f"size_{list(SIZES).index(case)}"
    keys, condition = SIZES[case]
    table(lake / name, **keys)
    _vector_file(lake / name)
    assert refuse(session, f"SELECT * FROM {name}").condition == condition
    assert rows(session, "SELECT 1") == [(1,)]


def _link_file(root: Path, target: Path) -> None:
    (root / "own.parquet").unlink()
    (root / "own.parquet").symlink_to(target / "x.parquet")


def _link_log(root: Path, target: Path) -> None:
    (root / "_delta_log").rename(target / root.name)
    (root / "_delta_log").symlink_to(target / root.name)


def _link_commit(root: Path, target: Path) -> None:
    commit = root / "_delta_log" / f"{0:020}.json"
    commit.rename(target / f"{root.name}.json")
    commit.symlink_to(target / f"{root.name}.json")


def _link_vector(root: Path, target: Path) -> None:
    _vector_file(target)
    (root / f"deletion_vector_{_UUID}.bin").symlink_to(target / f"deletion_vector_{_UUID}.bin")


LINKS: dict[str, Callable[[Path, Path], None]] = {
    "file": _link_file,
    "log": _link_log,
    "commit": _link_commit,
    "vector": _link_vector,
}


@pytest.mark.parametrize("case", LINKS)
def test_links_lead_below_trusted_roots_only(place: Path, lake: Path, session: LakeSession, case: str) -> None:
    for target, is_allowed in (("outside", False), ("allowed", False), ("lake", False), ("trusted", True)):
        name = f"link_{case}_{target}"
        table(lake / name, **(_vector("u", relative_deletion_vector(_UUID)) if case == "vector" else {}))
        LINKS[case](lake / name, place / target)
        if is_allowed:
            assert len(rows(session, f"SELECT * FROM {name}")) == {"file": 1, "vector": 1}.get(case, 2)
        else:
            assert refuse(session, f"SELECT * FROM {name}").condition == NOT_ALLOWED


def test_a_linked_partition_folder_is_neither_read_nor_written(place: Path, lake: Path, session: LakeSession) -> None:
    run(session, "CREATE TABLE parts (id BIGINT, day STRING) PARTITIONED BY (day)")
    run(session, "INSERT INTO parts VALUES (1, 'a'), (2, 'b')")
    assert sorted(rows(session, "SELECT * FROM parts")) == [(1, "a"), (2, "b")]
    shutil.move(lake / "parts" / "day=a", place / "outside" / "day=a")
    (lake / "parts" / "day=a").symlink_to(place / "outside" / "day=a")
    before = list((place / "outside" / "day=a").iterdir())
    assert refuse(session, "SELECT * FROM parts").condition == NOT_ALLOWED
    assert refuse(session, "INSERT INTO parts VALUES (3, 'a')").condition == NOT_ALLOWED
    assert list((place / "outside" / "day=a").iterdir()) == before
    assert rows(session, "SELECT * FROM parts WHERE day = 'b'") == [(2, "b")]


@pytest.mark.parametrize("target", ["outside", "trusted", "lake"])
def test_writes_through_a_linked_log_are_rejected(place: Path, lake: Path, session: LakeSession, target: str) -> None:
    name = f"written_{target}"
    table(lake / name)
    _link_log(lake / name, place / target)
    files = sorted(path.name for path in (lake / name).iterdir())
    log = sorted(path.name for path in (place / target / name).iterdir())
    for statement in (f"INSERT INTO {name} VALUES (3)", f"ALTER TABLE {name} SET TBLPROPERTIES ('a' = 'b')"):
        assert refuse(session, statement).condition == NOT_ALLOWED
    assert sorted(path.name for path in (lake / name).iterdir()) == files
    assert sorted(path.name for path in (place / target / name).iterdir()) == log


@pytest.mark.parametrize("spelling", ["{place}/{root}", "file:{place}/{root}", "file://{place}/{root}"])
@pytest.mark.parametrize("root", ["lake/default/source", "spelled/default/source", "trusted/source"])
def test_a_clone_names_the_files_of_another_table(
    place: Path, lake: Path, session: LakeSession, spelling: str, root: str
) -> None:
    if not (source := place / root).exists():
        table(source)
    name = "clone_" + hex(zlib.crc32(f"{spelling} {root}".encode()))
    write_table(lake / name, [column("id", "long")], [])
    path = f"{spelling.format(place=place, root=root)}/own.parquet".replace(" ", "%20")
    size = (source / "own.parquet").stat().st_size
    _append(lake / name, {"add": {"path": path, "partitionValues": {}, "size": size, "dataChange": True}})
    assert sorted(rows(session, f"SELECT * FROM {name}")) == [(1,), (2,)]


def test_a_log_names_its_own_files_through_a_linked_lake(place: Path, lake: Path, session: LakeSession) -> None:
    table(lake / "alias", f"{place}/spelled/default/alias/own.parquet")
    assert sorted(rows(session, "SELECT * FROM alias")) == [(1,), (1,), (2,), (2,)]


def test_twice_encoded_path_is_a_file_name(lake: Path, session: LakeSession) -> None:
    parts = [Part(name="%2e%2e/a..b %25.parquet", rows=_IDS, log_path="%252e%252e/a..b%20%2525.parquet")]
    write_table(lake / "twice", [column("id", "long")], parts, table_protocol=LEGACY)
    assert sorted(rows(session, "SELECT * FROM twice")) == [(1,), (2,)]
