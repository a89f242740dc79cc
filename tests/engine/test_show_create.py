"""SHOW CREATE TABLE's output runs and creates an equal table: over random ones."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from catalog.catalog import Catalog
from catalog.discovery.discovery import ServedFolder
from catalog.errors import SqlError
from catalog.names import quote
from catalog.store.files import LocalTree
from catalog.store.store import MemoryStore
from engine.binding.sources import Sources
from engine.delta.definition.clustering import clustering_names
from engine.delta.snapshot.snapshot import Snapshot, load_snapshot
from engine.execution.execute import answer_command
from engine.formats.delta.delta_format import DeltaFormat
from engine.planning.plans.ddl import CreateTablePlan, DropTablePlan
from engine.planning.plans.reads import CommandPlan
from engine.runtime.identity import Identity
from engine.runtime.session_state import SessionState
from engine.statements.containers.execution import drop_table
from engine.tables.formats import formats_of
from tests.engine.planned import make_table, planned
from tests.feature_tables import FEATURE_TABLES

STATE = SessionState(identity=Identity("ann"), catalog="spark_catalog", schema="default")


class Lake:
    """Statements that need no Spark: nothing is evaluated, so expressions need not mean anything."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.catalog = Catalog(MemoryStore(), ServedFolder(LocalTree(str(root))))

    def run(self, text: str) -> list[Any]:
        sources = Sources(catalog=self.catalog, formats=formats_of(DeltaFormat(load_snapshot)))
        plan = planned(text, STATE, sources)
        match plan:
            case CreateTablePlan():
                make_table(plan, self.catalog, 0)
                return []
            case DropTablePlan():
                drop_table(plan, self.catalog, lambda _: None)
                return []
            case CommandPlan(statement=statement, bound=bound):
                result = answer_command(statement, bound).result
                rows: list[Any] = pa.Table.from_batches(result.batches(), result.schema).to_pylist()
                return rows
            case _:
                raise AssertionError(plan)

    def definition(self) -> dict[str, Any]:
        return definition_of(load_snapshot(str(self.root / "default/t")))


@contextmanager
def open_lake() -> Iterator[Lake]:
    with tempfile.TemporaryDirectory() as root:
        yield Lake(Path(root).resolve())


def definition_of(snapshot: Snapshot) -> dict[str, Any]:
    """Returns the table's definition without its id and generated metadata."""
    made_up = ("delta.columnMapping.", "delta.rowTracking.materialized")
    configuration = snapshot.metadata.configuration
    return {
        "schema": without_ids(json.loads(snapshot.metadata.schema_string)),
        "partitions": list(snapshot.partition_columns),
        "clustering": clustering_names(snapshot.config),
        "properties": {key: value for key, value in configuration.items() if not key.startswith(made_up)},
        "mapping": configuration.get("delta.columnMapping.mode"),
        "comment": snapshot.metadata.description,
        "protocol": snapshot.protocol,
    }


def without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_ids(inner) for key, inner in value.items() if not key.startswith("delta.columnMapping.")}
    return [without_ids(each) for each in value] if isinstance(value, list) else value


def string(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


# Names as column mapping allows them; a dot in a name has to be quoted, a backtick doubled.
NAMES = st.one_of(
    st.sampled_from(["a", "B c", "x`y", "d.e", "struct<", "k:int", "é", "a,b", "p(q)", "`", "not null", "COMMENT"]),
    st.text("abXY `.:,;<>()='\"\\", min_size=1, max_size=6).filter(lambda name: name.strip() != ""),
)
TEXTS = st.one_of(
    st.sampled_from(["it's", "''", '"', "\\", "\\n", "a\nb", "ä😀", "%_", "-- no", "/* no */", "`"]),
    st.text("ab'\"\\\n` ", min_size=1, max_size=6),
)
LEAVES = st.sampled_from(
    ["INT", "BIGINT", "STRING", "DATE", "TIMESTAMP", "DECIMAL(9, 2)", "CHAR(3)", "VARCHAR(12)", "BINARY", "DOUBLE"]
)


@st.composite
def fields(draw: st.DrawFn, types: st.SearchStrategy[str]) -> str:
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique_by=str.lower))
    parts = []
    for name in names:
        part = f"{quote(name)}: {draw(types)}{draw(st.sampled_from(['', ' NOT NULL']))}"
        parts.append(part + (f" COMMENT {string(draw(TEXTS))}" if draw(st.booleans()) else ""))
    return f"STRUCT<{', '.join(parts)}>"


TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        fields(inner),
        inner.map(lambda element: f"ARRAY<{element}>"),
        st.tuples(LEAVES, inner).map(lambda pair: f"MAP<{pair[0]}, {pair[1]}>"),
    ),
    max_leaves=5,
)
CLAUSES = ["", " NOT NULL", " GENERATED ALWAYS AS (1 + 1)", " DEFAULT 5", " GENERATED BY DEFAULT AS IDENTITY"]
PROPERTIES = {
    "delta.appendOnly": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.enableDeletionVectors": "true",
    "delta.enableRowTracking": "true",
    "delta.enableInCommitTimestamps": "true",
    "delta.feature.allowColumnDefaults": "supported",
    "delta.feature.v2Checkpoint": "supported",
    "delta.feature.timestampNtz": "supported",
    "delta.feature.checkConstraints": "supported",
    "delta.feature.domainMetadata": "supported",
    "delta.minWriterVersion": "4",
    "delta.logRetentionDuration": "interval 60 days",
    "mine": "it's",
    "spaces and 'quotes'": "\\",
}


@st.composite
def tables(draw: st.DrawFn) -> str:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique_by=str.lower))
    columns = ["`id` BIGINT"]
    for name in names:
        assume(name.lower() != "id")
        clause = draw(st.sampled_from(CLAUSES))
        kind = "BIGINT" if "AS" in clause or "DEFAULT" in clause else draw(TYPES)
        comment = f" COMMENT {string(draw(TEXTS))}" if draw(st.booleans()) else ""
        columns.append(f"{quote(name)} {kind}{clause}{comment}")
    columns += draw(
        st.sampled_from([[], ["CONSTRAINT `odd name` CHECK (id > 0)"], ["CHECK (id IN (1, 2) OR 'a''b' = 'c')"]])
    )
    selected = {key: PROPERTIES[key] for key in draw(st.sets(st.sampled_from(sorted(PROPERTIES)), max_size=4))}
    selected["delta.columnMapping.mode"] = draw(st.sampled_from(["name", "id"]))
    layout = draw(st.sampled_from(["", " PARTITIONED BY (`id`)", " CLUSTER BY (`id`)"]))
    comment = f" COMMENT {string(draw(TEXTS))}" if draw(st.booleans()) else ""
    pairs = ", ".join(f"{string(key)} = {string(value)}" for key, value in selected.items())
    return f"CREATE TABLE t ({', '.join(columns)}) USING delta{layout}{comment} TBLPROPERTIES ({pairs})"


PLAIN = [
    "CREATE TABLE t (a STRUCT<x: CHAR(3) NOT NULL COMMENT 'it''s', `B c`: ARRAY<STRUCT<y: VARCHAR(2) COMMENT 'z'>>>) "
    "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "CREATE TABLE t (a INT DEFAULT 5) TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
    "CREATE TABLE t (a INT) TBLPROPERTIES ('delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')",
    "CREATE TABLE t (a INT) TBLPROPERTIES ('delta.minWriterVersion' = '4')",
    "CREATE TABLE t (a INT) TBLPROPERTIES ('delta.feature.checkConstraints' = 'supported')",
    "CREATE TABLE t (a INT, b MAP<CHAR(1), VARCHAR(2)>) COMMENT 'it''s \\\\ \\n'",
]


@given(tables())
@example(PLAIN[0])
@example(PLAIN[1])
@example(PLAIN[2])
@example(PLAIN[3])
@example(PLAIN[4])
@example(PLAIN[5])
def test_show_create_makes_the_same_table(text: str) -> None:
    with open_lake() as lake:
        try:
            lake.run(text)
        except SqlError:
            assume(False)
        before = lake.definition()
        ((shown,),) = (row.values() for row in lake.run("SHOW CREATE TABLE t"))
        lake.run("DROP TABLE t")
        lake.run(shown)
        assert lake.definition() == before, shown
        ((again,),) = (row.values() for row in lake.run("SHOW CREATE TABLE t"))
        assert again == shown
        if "DEFAULT 5" in text:
            assert "'delta.feature.allowColumnDefaults' = 'supported'" in shown


# Column metadata keys that no statement sets.
UNSAID = ("delta.columnMapping.", "delta.identity.highWaterMark", "delta.invariants", "delta.typeChanges")
# The tables have these, and no columns to cluster by.
OF_CLUSTERING = {"clustering", "liquid"}
# One that breaks the protocol, having no `commitInfo`, is left out.
SHOWN = [name for name, table in FEATURE_TABLES.items() if table.is_appended and name != "inCommitTimestamp"]


@pytest.mark.parametrize("name", SHOWN)
def test_show_create_runs_for_each_feature(name: str) -> None:
    def shown_of() -> tuple[frozenset[str], list[tuple[str, Any, dict[str, Any]]]]:
        config = load_snapshot(str(lake.root / "default/t")).config
        columns = [
            (field.name, field.data_type, {key: of for key, of in field.metadata.items() if not key.startswith(UNSAID)})
            for field in config.schema.fields
        ]
        return frozenset(config.features) - OF_CLUSTERING, columns

    with open_lake() as lake:
        FEATURE_TABLES[name].write(lake.root / "default/t")
        features, columns = shown_of()
        ((shown,),) = (row.values() for row in lake.run("SHOW CREATE TABLE t"))
        shutil.rmtree(lake.root / "default/t")
        lake.run(shown)
        made, made_columns = shown_of()
        assert made >= features and made_columns == columns, shown
