"""Loads with dlt's Databricks destination, run in an environment of its own: dlt_loads.py FOLDER PATH URI.

The files of each load go through a volume: `PUT`, then `COPY INTO`. Prints a JSON object: each case's result.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

FOLDER, PATH, URI = sys.argv[1:]
os.environ |= {
    "DLT_DATA_DIR": FOLDER,
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "NORMALIZE__DATA_WRITER__DISABLE_COMPRESSION": "true",  # the destination accepts no compressed JSON
}

import dlt  # noqa: E402 - it reads the environment
from dlt.destinations.adapters import databricks_adapter  # noqa: E402
from dlt.destinations.exceptions import DatabaseUndefinedRelation  # noqa: E402

Results = list[list[Any]]
INFORMATION = "spark_catalog.information_schema"
ADA, BOB = {"id": 1, "name": "ada", "tags": ["x", "y"]}, {"id": 2, "name": "bob", "tags": []}
PEOPLE, NEXT = [ADA, BOB], [{**ADA, "name": "ADA"}, {"id": 3, "name": "cy", "tags": ["z"]}]
IDS = "SELECT id FROM people ORDER BY id"


def pipeline(name: str, folder: str = FOLDER, **options: Any) -> Any:
    """Returns a pipeline with a schema of its own, `dlt_<name>`."""
    credentials = {
        "server_hostname": "127.0.0.1",
        "http_path": PATH,
        "access_token": "any",
        "catalog": "spark_catalog",
        "connection_parameters": {"_connection_uri": URI, "enable_telemetry": False},
    }
    destination = dlt.destinations.databricks(credentials=credentials, **options)
    return dlt.pipeline(name, destination=destination, dataset_name=f"dlt_{name}", pipelines_dir=folder)


def rows(loaded: Any, text: str) -> Results:
    with loaded.sql_client() as client:
        return [list(row) for row in client.execute_sql(text)]


def append(file_format: str) -> Results:
    loaded = pipeline(f"append_{file_format}")
    for _ in range(2):
        loaded.run(PEOPLE, table_name="people", loader_file_format=file_format)
    return rows(loaded, "SELECT count(*), (SELECT count(*) FROM people__tags) FROM people")


def replaced(strategy: str) -> Results:
    loaded = pipeline(f"replace_{strategy.replace('-', '_')}", replace_strategy=strategy)
    for people in (PEOPLE, [BOB]):
        loaded.run(people, table_name="people", write_disposition="replace")
    return rows(loaded, IDS)


def merged(strategy: str) -> Results:
    loaded = pipeline(f"merge_{strategy.replace('-', '_')}")
    for people in (PEOPLE, NEXT):
        loaded.run(
            people,
            table_name="people",
            primary_key="id",
            write_disposition={"disposition": "merge", "strategy": strategy},
        )
    return rows(loaded, "SELECT id, name FROM people ORDER BY id, name")


def types() -> Results:
    row = {
        "a_bigint": 2**40,
        "a_binary": b"\x00\xff",
        "a_bool": True,
        "a_date": dt.date(2024, 2, 29),
        "a_decimal": Decimal("12345.678900000"),
        "a_double": 1.5,
        "a_json": {"a": [1, {"b": 2}]},
        "a_text": "é'\"\\",
        "a_timestamp": dt.datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=dt.UTC),
    }
    loaded = pipeline("types")
    loaded.run([row], table_name="t", columns={"a_json": {"data_type": "json"}}, loader_file_format="parquet")
    return [[str(value) for value in found] for found in rows(loaded, f"SELECT {', '.join(row)} FROM t")]


def new_columns() -> Results:
    loaded = pipeline("new_columns")
    loaded.run([{"id": 1}], table_name="t")
    loaded.run([{"id": 2, "extra": "x", "more": 1.5}], table_name="t")
    return rows(loaded, "SELECT id, extra, more FROM t ORDER BY id")


def adapted() -> Results:
    loaded = pipeline("adapted")

    @dlt.resource(name="t", columns=[{"name": "id", "data_type": "bigint"}])
    def one() -> Any:
        yield [{"id": 1}]

    hints = {"id": {"column_comment": "the 'key'", "column_tags": ["pii"]}}
    tags = ["plain", {"team": "a"}]
    loaded.run(databricks_adapter(one(), cluster="id", table_comment="one", table_tags=tags, column_hints=hints))
    described = {name: text for name, text, _ in rows(loaded, "DESCRIBE TABLE EXTENDED t")}
    of_table = "schema_name = 'dlt_adapted' AND table_name = 't'"
    return [
        [described["Comment"]],
        *rows(
            loaded,
            f"SELECT comment FROM {INFORMATION}.columns WHERE table_schema = 'dlt_adapted' AND column_name = 'id'",
        ),
        *rows(loaded, f"SELECT tag_name, tag_value FROM {INFORMATION}.table_tags WHERE {of_table} ORDER BY ALL"),
    ]


def keys() -> Results:
    loaded = pipeline("keys", create_indexes=True)
    for _ in range(2):
        loaded.run(PEOPLE, table_name="people", primary_key="id", write_disposition="merge")
    return rows(loaded, f"SELECT constraint_type FROM {INFORMATION}.table_constraints WHERE table_schema = 'dlt_keys'")


def restored() -> list[str]:
    loaded = pipeline("append_parquet", f"{FOLDER}/other")
    loaded.sync_destination()
    return sorted(name for name in loaded.default_schema.tables if not name.startswith("_"))


def dataset() -> list[Any]:
    data = pipeline("append_parquet").dataset()
    return [data["people"].arrow().num_rows, data("SELECT max(id) AS m FROM people").fetchall()[0][0]]


def refreshed() -> Results:
    loaded = pipeline("append_parquet")
    loaded.run([BOB], table_name="people", refresh="drop_sources")
    return rows(loaded, IDS)


def dropped() -> list[Any]:
    with pipeline("append_parquet").sql_client() as client:
        client.drop_dataset()
        try:
            client.execute_sql(IDS)
        except DatabaseUndefinedRelation:
            return [client.has_dataset()]
    return ["the table is still there"]


CASES: dict[str, Callable[[], Any]] = {
    **{f"append {name}": lambda name=name: append(name) for name in ("parquet", "jsonl")},
    **{
        f"replace {name}": lambda name=name: replaced(name)
        for name in ("truncate-and-insert", "insert-from-staging", "staging-optimized")
    },
    **{f"merge {name}": lambda name=name: merged(name) for name in ("delete-insert", "upsert", "scd2")},
    "types": types,
    "new columns": new_columns,
    "adapted": adapted,
    "keys": keys,
    "restored": restored,
    "dataset": dataset,
    "refreshed": refreshed,
    "dropped": dropped,
}


def main() -> None:
    results = {}
    for name, case in CASES.items():
        try:
            results[name] = case()
        except Exception as error:  # noqa: BLE001 - reported to the test
            results[name] = f"{type(error).__name__}: {error}"
    print("RESULTS " + json.dumps(results, default=str))


main()
