"""Comparison with delta-spark: it reads every kind of table that we write in every way, and computes the same
statistics for its rows; it continues writing our tables, and enforces our constraints.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.delta.schema.column_mapping import physical_name
from engine.delta.snapshot.snapshot import load_snapshot
from engine.main import LakeSession
from engine.types.schema import ArrayType, MapType, StructType
from tests.engine.lake_sessions import rows, run
from tests.engine.test_read_back import CASES, WRITE_FORMS, create, insert, source
from tests.engine.written_features import FEATURES
from tests.oracle.conftest import Answers, Oracle

pytestmark = [pytest.mark.oracle, pytest.mark.spark, pytest.mark.timeout(3000)]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A query's rows as text: the query for us and for delta-spark."""

    # Quoted name -> the expression for the column; bytes may be invalid text.
    columns: dict[str, str]

    @classmethod
    def of(cls, session: LakeSession, query: str) -> Shown:
        found = rows(session, f"DESCRIBE QUERY {query}")
        return cls(columns={quoted(name): _text(quoted(name), kind) for name, kind, _ in found})

    def ours(self, session: LakeSession, query: str) -> list[list[Any]]:
        texts = ", ".join(f"CAST({column} AS STRING)" for column in self.columns.values())
        return sorted((list(row) for row in rows(session, f"SELECT {texts} FROM ({query})")), key=repr)

    def query(self, folder: Path) -> str:
        named = ", ".join(f"{column} AS {alias}" for alias, column in self.columns.items())
        return f"SELECT {named} FROM delta.`{folder}`"


def _text(name: str, kind: str) -> str:
    return f"hex({name})" if kind == "binary" else name


# --- Reads by delta-spark
# ----------------------------------------------------------------------------------------------


def test_peer_reads_what_was_written_and_counts_the_same(oracle: Oracle, session: LakeSession, lake: Path) -> None:
    """Every kind of table in every way: the rows, and the statistics in delta-spark's copy."""
    reads, copies, truths = [], [], []
    for number, (feature, path) in enumerate(CASES):
        statements, query = WRITE_FORMS[path](FEATURES[feature], f"t{number}")
        for statement in statements:
            run(session, statement)
        shown = Shown.of(session, query)
        truths.append(shown.ours(session, query))
        reads.append(shown.query(lake / f"t{number}"))
        copies.append(_copy(lake / f"t{number}", lake.parent / f"copy{number}"))
    answers = oracle(reads + copies)
    for (feature, path), answer, truth in zip(CASES, answers, truths, strict=False):
        assert sorted(answer, key=repr) == truth, (feature, path)
    for number, (feature, path) in enumerate(CASES):
        ours, theirs = whole(lake / f"t{number}"), whole(lake.parent / f"copy{number}")
        assert ours["numRecords",] == theirs["numRecords",], (feature, path)
        differences = {leaf: (own, theirs[leaf]) for leaf, own in ours.items() if not alike(leaf, own, theirs[leaf])}
        assert not differences, (feature, path)


def _copy(folder: Path, target: Path) -> str:
    """Mapped, so that columns may have any name."""
    clause = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.feature.allowColumnDefaults' = 'supported')"
    return f"CREATE TABLE delta.`{target}` USING delta {clause} AS SELECT * FROM delta.`{folder}`"


# A kind of statistics, and a column's logical path.
Leaf = tuple[str, ...]

_FOLDS: dict[str, Callable[[list[Any]], Any]] = {"minValues": min, "maxValues": max, "nullCount": sum}


def whole(folder: Path) -> dict[Leaf, Any]:
    """Returns the combined statistics over a table's files, without partition columns, arrays and maps.

    None if a file with values in the column lacks their bound, or JSON has no number for it.
    """
    snapshot = load_snapshot(str(folder))
    files = [json.loads(text, parse_float=Decimal) for text in snapshot.files.column("stats").to_pylist()]
    found: dict[Leaf, Any] = {("numRecords",): sum(stats["numRecords"] for stats in files)}
    for path, physical in _columns(snapshot.schema, snapshot.config.column_mapping_mode):
        if path[0] in snapshot.partition_columns:
            continue
        for kind, fold in _FOLDS.items():
            filled = [
                stats for stats in files if _at(stats.get("nullCount"), physical) != stats["numRecords"] or fold is sum
            ]
            values = [_at(stats.get(kind), physical) for stats in filled]
            found[kind, *path] = None if None in values or not values else fold(values)
    return found


def _columns(schema: StructType, mode: str, path: Leaf = (), physical: Leaf = ()) -> Iterator[tuple[Leaf, Leaf]]:
    """Yields logical and physical paths for columns other than structs, arrays or maps."""
    for field in schema.fields:
        here, there = (*path, field.name), (*physical, physical_name(field, mode))
        match field.data_type:
            case StructType() as nested:
                yield from _columns(nested, mode, here, there)
            case ArrayType() | MapType():
                pass
            case _:
                yield here, there


_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")


def _at(tree: Any, path: Leaf) -> Any:
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return None if tree in _NO_NUMBERS else tree


_LAST_MILLISECOND = "9999-12-31T23:59:59.999"
_FLOAT_DIGITS = 9


def alike(leaf: Leaf, ours: Any, theirs: Any) -> bool:
    """Returns if both are equal, except values that are exact only in ours.

    Instants: we round a maximum up to a millisecond, delta-spark truncates, and we have none past the last one. Floats:
    it writes the shortest distinct digits, and we all.
    """
    if ours == theirs or theirs is None:
        return True
    if isinstance(theirs, Decimal) and isinstance(ours, Decimal):
        return len(theirs.as_tuple().digits) <= _FLOAT_DIGITS and bool(np.float32(ours) == np.float32(theirs))
    if leaf[0] != "maxValues" or not isinstance(theirs, str):
        return False
    if ours is None:
        return theirs.startswith(_LAST_MILLISECOND)
    try:
        gap = dt.datetime.fromisoformat(ours) - dt.datetime.fromisoformat(theirs)
    except ValueError:
        return False
    return gap == dt.timedelta(milliseconds=1)


# --- Writes by delta-spark after ours
# -----------------------------------------------------------------------------------


# Violations that delta-spark rejects under another name; None: it writes other values than given.
THEIR_CONDITIONS: Mapping[str, str | None] = {
    "VALUES (1, named_struct('a', 1, 'b', named_struct('c', 1)), array(named_struct('e', NULL)), 2)": (
        "DATATYPE_MISMATCH"
    ),
    "(s) VALUES (named_struct('a', 1, 'b', named_struct('c', 2)))": "DELTA_INSERT_COLUMN_MISMATCH",
    "VALUES (1, X'FF', 'a', 'x', 2)": None,
    "VALUES (1, X'61', '__HIVE_DEFAULT_PARTITION__', 'x', 2)": None,
}


def test_peer_continues_our_table(answers: Answers, session: LakeSession, lake: Path) -> None:
    """Our definition makes delta-spark write and reject as we do; then we write again."""
    inserts, refused = [], []
    for number, feature in enumerate(FEATURES.values()):
        name, path = f"t{number}", f"delta.`{lake}/t{number}`"
        run(session, create(feature, name))
        run(session, insert(feature, name, feature.first, 1))
        inserts.append(insert(feature, path, feature.second, 2))
        violations = [(text, THEIR_CONDITIONS.get(text, condition)) for text, condition in feature.violations]
        refused += [(f"INSERT INTO {path} {text}", condition) for text, condition in violations if condition]
    found = answers(inserts + [text for text, _ in refused])
    assert not [answer for answer in found[: len(inserts)] if "error" in answer]
    for (text, condition), answer in zip(refused, found[len(inserts) :], strict=True):
        assert condition in answer.get("error", "accepted"), text
    for number, feature in enumerate(FEATURES.values()):
        name = f"t{number}"
        run(session, insert(feature, name, feature.second, 3))
        truth = f"{source(feature, feature.first, 1)} UNION ALL {source(feature, feature.second, 2, 3)}"
        shown = Shown.of(session, truth)
        assert shown.ours(session, f"SELECT * FROM {name}") == shown.ours(session, truth), number


# --- Changes by delta-spark
# ---------------------------------------------------------------------------------------------

CHANGES_OF_CLONES = {
    "delete": "DELETE FROM {t} WHERE id % 3 = 0",
    "update": "UPDATE {t} SET name = concat(name, '!') WHERE id % 2 = 0",
    "merge": "MERGE INTO {t} t USING (SELECT 1 id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "optimize": "OPTIMIZE {t}",
    "overwrite": "INSERT OVERWRITE {t} SELECT 7, 'x', 'p'",
    "delete all": "DELETE FROM {t}",
}


@pytest.mark.parametrize("vectors", [True, False])
def test_peer_changes_our_shallow_clone(oracle: Oracle, session: LakeSession, lake: Path, vectors: bool) -> None:
    """The clone is ours; partition values need encoding in paths; ours and its clone have the same rows afterward."""
    values = "(1, 'a', 'x y'), (2, 'b', 'ü%20'), (3, 'c', NULL), (4, 'd', 'a=b'), (5, 'e', 'x y'), (6, 'f', 'p#q')"
    source = f"clonable_{vectors}".lower()
    run(
        session,
        f"CREATE TABLE {source} (id INT, name STRING, p STRING) PARTITIONED BY (p)"
        f" TBLPROPERTIES ('delta.enableDeletionVectors' = '{str(vectors).lower()}')",
    )
    for _ in range(2):
        run(session, f"INSERT INTO {source} VALUES {values}")
    run(session, f"DELETE FROM {source} WHERE id = 5")
    statements, truths = [], []
    for number, change in enumerate(CHANGES_OF_CLONES.values()):
        ours, theirs = f"{source}_ours{number}", f"{source}_theirs{number}"
        for name in (ours, theirs):
            run(session, f"CREATE TABLE {name} SHALLOW CLONE {source}")
        run(session, change.format(t=ours))
        truths.append(f"SELECT CAST(id AS STRING), name, p FROM {ours}")
        statements += [change.format(t=f"delta.`{lake / theirs}`"), f"SELECT * FROM delta.`{lake / theirs}`"]
    answers = oracle(statements)
    for number, (change, truth) in enumerate(zip(CHANGES_OF_CLONES, truths, strict=True)):
        expected = sorted(([*row] for row in rows(session, truth)), key=repr)
        assert sorted(answers[2 * number + 1], key=repr) == expected, change
        again = truth.replace("_ours", "_theirs")
        assert sorted(([*row] for row in rows(session, again)), key=repr) == expected, change
