"""The gateway's results for Spark's own SQL tests, in `plain_spark.py`'s form, and their comparison.

Cells are compared as the text that a client sees. Complex values are the exception: ours are JSON, Hive's are not, so
quotes and backslashes are removed from both. Commands (DDL, SHOW, DESCRIBE) are compared by success only: catalogs'
table descriptions differ by format.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

from catalog.conditions import StatementTimedOut
from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import sql_type_of
from engine.runtime.value_text import to_text
from engine.spark.session import SparkDriver
from tests.oracle.sql_files import MADE_TABLES, SqlFile, for_gateway

STATEMENT_S = 120.0
_NESTED = ("array<", "map<", "struct<")
_COMMAND = re.compile(r"(?i)\s*(?:CREATE|DROP|ALTER|INSERT|SET|RESET|USE|SHOW|DESC|DESCRIBE|COMMENT|TRUNCATE)\b")

Answer = dict[str, Any]


class Verdict(StrEnum):
    SAME = "same"
    DIFFERENT = "different"
    # Spark answers, the gateway does not.
    REFUSED = "refused"
    # The gateway answers, Spark does not.
    ALONE = "alone"
    NEITHER = "neither"
    # Not the same, and explained.
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Compared:
    statement: str
    verdict: Verdict
    ours: Answer
    plain: Answer
    reason: str = ""

    @property
    def is_wrong(self) -> bool:
        return self.verdict in (Verdict.DIFFERENT, Verdict.REFUSED)

    def explained(self, reason: str) -> Compared:
        return replace(self, verdict=Verdict.SKIPPED, reason=reason)


def answers(file: SqlFile, driver: SparkDriver, folder: Path, tables: dict[str, Path]) -> Iterator[Answer]:
    """Returns the gateway's answers to the statements in `file`, over a separate lake in `folder`."""
    folder.mkdir(parents=True)
    texts = " ".join(file.statements).lower()
    for name, source in tables.items():
        if name in texts:
            write_deltalake(folder / "default" / name, pq.read_table(source))
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), driver)
    settings = {"spark.sql.session.timeZone": "America/Los_Angeles"}
    session = engine.open_session(Identity("ann"), settings=settings, catalog=None, schema=None)
    try:
        for name, query in MADE_TABLES.items():
            if name in texts:
                answer(session, f"CREATE TABLE {name} AS {query}")
        for key, value in file.settings:
            answer(session, f"SET {key}={value}")
        for statement in file.statements:
            yield answer(session, for_gateway(statement))
    finally:
        session.close()


def answer(session: LakeSession, statement: str) -> Answer:
    cancel = CancelToken()
    timer = threading.Timer(STATEMENT_S, cancel.cancel, (StatementTimedOut(STATEMENT_S),))
    timer.start()
    try:
        result = session.execute(statement, StatementRequest(identity=Identity("ann"), cancel=cancel))
        table = pa.Table.from_batches(result.batches(), result.schema)
        columns = [[field.name, sql_type_of(field)] for field in table.schema]
        cells = [
            to_text(column, kind, result.time_zone).to_pylist()
            for column, (_, kind) in zip(table.columns, columns, strict=True)
        ]
        result.close()
    except SqlError as error:
        return {"error": str(error)[:400]}
    except Exception as error:  # noqa: BLE001 a bug of ours is told with the others
        return {"error": f"[BUG] {type(error).__name__}: {error}"[:400]}
    finally:
        timer.cancel()
    rows = ["\t".join("NULL" if cell is None else cell for cell in row) for row in zip(*cells, strict=True)]
    return {"columns": columns, "rows": rows}


def compare(statement: str, ours: Answer, plain: Answer) -> Compared:
    return Compared(statement, _verdict(statement, ours, plain), ours, plain)


def _verdict(statement: str, ours: Answer, plain: Answer) -> Verdict:
    if "error" in plain:
        return Verdict.NEITHER if "error" in ours else Verdict.ALONE
    if "error" in ours:
        return Verdict.REFUSED
    if plain["command"] or not plain["columns"] or _COMMAND.match(statement):
        return Verdict.SAME
    if [list(column) for column in plain["columns"]] != ours["columns"]:
        return Verdict.DIFFERENT
    kinds = [kind for _, kind in ours["columns"]]
    left, right = _rows(ours, kinds), _rows(plain, kinds)
    if not plain["sorted"]:
        left, right = sorted(left), sorted(right)
    return Verdict.SAME if left == right else Verdict.DIFFERENT


def _rows(found: Answer, columns: list[str]) -> list[str]:
    rows: list[str] = found["rows"]
    kinds = " ".join(columns)
    if "float" in columns or "double" in columns:
        rows = [_with_numbers(row, columns) for row in rows]
    if any(kind in kinds for kind in _NESTED):
        rows = [re.sub(r'["\\]', "", row) for row in rows]
    if "map<" in kinds:  # Hive shows map entries in text order
        rows = ["".join(sorted(row)) for row in rows]
    return rows


def _with_numbers(row: str, columns: list[str]) -> str:
    """Java before 19 prints some floats with more digits than they need."""
    cells = row.split("\t")
    if len(cells) != len(columns):
        return row  # a tab within a text
    kinds = {"float": np.float32, "double": float}
    return "\t".join(
        str(kinds[column](cell)) if column in kinds and cell != "NULL" else cell
        for cell, column in zip(cells, columns, strict=True)
    )
