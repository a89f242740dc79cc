"""Runs cases in both engines, and collects their tables, reads and answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from catalog.errors import SqlError
from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import run, table
from tests.oracle.compared.case import Case
from tests.oracle.compared.commits import SET, Flat, commits_of
from tests.oracle.conftest import ask_delta_spark
from tests.oracle.exact_rows import exact_rows

# Lake folders: one for our tables, the other for delta-spark's.
OURS, THEIRS = "default", "spark-warehouse"

# delta-spark's settings: a statement writes one file, as ours do.
_SETTINGS = {
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
}

_CHANGING = ("id", "name", "location", "createdAt", "lastModified", "timestamp", "sizeInBytes", "engineInfo")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")

Answers = Callable[[Iterable[str]], list[dict[str, Any]]]
# A query's rows as texts, in order; or an error condition.
Answer = list[str] | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """An engine's result for a case."""

    # For each step: `done`, or the error condition.
    outcomes: tuple[str, ...]
    commits: list[Flat]
    # This engine's reads: query and table -> answer.
    reads: Mapping[str, Answer] = field(default_factory=dict)
    # Statement, row number and column -> the value's text, for the case's queries in this engine.
    described: Flat = field(default_factory=dict)


def run_selected(
    cases: Mapping[str, Case], request: pytest.FixtureRequest, spark_driver: SparkDriver, lake: Path
) -> dict[str, list[Made]]:
    """`run_cases` for the cases whose tests, in the request's module, are selected."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    selected = {item.callspec.params["name"] for item in items if item.module is request.module}
    (lake / OURS).mkdir()
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    session = engine.open_session(
        Identity("ann"), settings={"spark.sql.session.timeZone": "UTC"}, catalog=None, schema=None
    )
    try:
        selected_cases = {name: case for name, case in cases.items() if name in selected}
        return run_cases(selected_cases, session, lambda statements: ask_delta_spark(statements, lake), lake)
    finally:
        session.close()


def run_cases(cases: Mapping[str, Case], session: LakeSession, answers: Answers, lake: Path) -> dict[str, list[Made]]:
    """Returns our and delta-spark's result for each case; its working directory must be the lake's folder."""
    names = {name: f"c{number}" for number, name in enumerate(cases)}

    def run_ours() -> dict[str, list[str]]:
        return {
            name: [_ours(session, step.replace("{t}", names[name])) for step in case.steps]
            for name, case in cases.items()
        }

    def queries() -> Iterator[str]:
        """Yields statements for delta-spark, which creates its tables while we create ours."""
        yield from (f"SET {key} = {value}" for key, value in _SETTINGS.items())
        yield from (step.replace("{t}", names[name]) for name, case in cases.items() for step in case.steps)
        running.result()
        for name, case in cases.items():
            yield from _reads(case, _their_names(lake, names[name])).values()
        yield from (ask.replace("{t}", names[name]) for name, case in cases.items() for ask in case.asks)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_ours)
        found = iter(answers(queries())[len(_SETTINGS) :])
    ours = running.result()
    theirs = {name: [_outcome(next(found)) for _ in case.steps] for name, case in cases.items()}
    read = {name: {what: _answer(next(found)) for what in _reads(case, {})} for name, case in cases.items()}
    made: dict[str, list[Made]] = {}
    for name, case in cases.items():
        table_name = names[name]
        own = {what: _query(session, text) for what, text in _reads(case, _our_names(table_name)).items()}
        described = _flat((ask, _described(session, ask.replace("{t}", table_name))) for ask in case.asks)
        their_described = _flat((ask, next(found)) for ask in case.asks)
        made[name] = [
            Made(outcomes=tuple(done), commits=commits_of(lake / schema / table_name), reads=rows, described=answered)
            for done, schema, rows, answered in (
                (ours[name], OURS, own, described),
                (theirs[name], THEIRS, read[name], their_described),
            )
        ]
    return made


def _their_names(lake: Path, name: str) -> dict[str, str]:
    return {OURS: f"delta.`{lake}/{OURS}/{name}`", THEIRS: name}


def _our_names(name: str) -> dict[str, str]:
    return {OURS: name, THEIRS: f"`{THEIRS}`.{name}"}


def _reads(case: Case, tables: Mapping[str, str]) -> dict[str, str]:
    """Returns read -> query text; `tables` are the two tables' names."""
    reads = {}
    for schema in (OURS, THEIRS) if case.is_read else ():
        name = tables.get(schema, "")
        reads[f"rows of {schema}"] = exact_rows(name)
        if case.has_feed:
            reads[f"changes of {schema}"] = exact_rows(f"({_changes(name)})")
    return reads


def _changes(table: str) -> str:
    path = table.removeprefix("delta.`").removesuffix("`")
    function = f"table_changes('{table}', 0)" if path == table else f"table_changes_by_path('{path}', 0)"
    return f"SELECT * EXCEPT (_commit_timestamp) FROM {function}"


# --- The two engines -------------------------------------------------------------------------------------------------


def _ours(session: LakeSession, step: str) -> str:
    try:
        run(session, step)
    except SqlError as error:
        return error.condition
    return "done"


def _query(session: LakeSession, text: str) -> Answer:
    try:
        return sorted(table(session, text).column("r").to_pylist())
    except SqlError as error:
        return f"{error.condition}: {error}"


def _described(session: LakeSession, text: str) -> dict[str, Any]:
    """Returns our answer, in the form of delta-spark's process."""
    try:
        found = table(session, text)
    except SqlError as error:
        return {"error": f"[{error.condition}]"}
    columns = [[as_text(value) for value in column.to_pylist()] for column in found.columns]
    return {"columns": found.column_names, "rows": [list(row) for row in zip(*columns, strict=True)]}


def as_text(value: Any) -> str | None:
    """Returns a value as Spark casts it to a string."""
    match value:
        case None | str():
            return value
        case bool():
            return str(value).lower()
        case [(_, _), *_]:
            return "{" + ", ".join(f"{key} -> {as_text(item)}" for key, item in value) + "}"
        case list():
            return "[" + ", ".join(str(as_text(item)) for item in value) + "]"
        case _:
            return str(value)


def _flat(answers: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Returns statement, row number and column -> text; values that vary between runs are `SET`."""
    flat: dict[str, Any] = {}
    for ask, answer in answers:
        if "error" in answer:
            flat[ask] = _condition(answer["error"])
            continue
        flat[f"{ask} columns"] = ", ".join(answer["columns"])
        flat[f"{ask} rows"] = len(answer["rows"])
        for number, row in enumerate(answer["rows"]):
            for column, text in zip(answer["columns"], row, strict=True):
                flat[f"{ask} {number} {column}"] = SET if text is not None and column in _CHANGING else text
    return flat


def _outcome(answer: Mapping[str, Any]) -> str:
    return _condition(answer["error"]) if "error" in answer else "done"


def _answer(answer: Mapping[str, Any]) -> Answer:
    return answer["error"] if "error" in answer else sorted(row[0] for row in answer["rows"])


def _condition(error: str) -> str:
    found = _CONDITION.search(error)
    return found.group(1) if found else error
