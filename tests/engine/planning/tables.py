"""The tables over which statements are planned."""

from __future__ import annotations

from tests.engine.planning.lake import PlanningLake, data_file
from tests.feature_tables import FEATURE_TABLES

DAYS = ("2024-01-01", "2024-01-02", "2024-01-03")

TABLES = {
    "sales": "(id BIGINT, amount INT, day DATE) PARTITIONED BY (day)",
    "plain": "(a INT, b STRING)",
    "nested": "(id INT, place STRUCT<city: STRING, zip: INT>, tags ARRAY<STRUCT<k: STRING>>, m MAP<STRING, INT>)",
    "ruled": """(id BIGINT GENERATED ALWAYS AS IDENTITY, at TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)),
        amount INT DEFAULT 7, note STRING NOT NULL, CONSTRAINT positive CHECK (amount > 0))
        TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')""",
    "tracked": "(a INT, b STRING) TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
    "mapped": "(a INT, b STRING, c INT) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "widening": "(a INT, b STRUCT<x: SMALLINT>) TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    "vectors": "(a INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "clustered": "(a INT, b STRING, c STRUCT<x: INT>) CLUSTER BY (a, c.x)",
    "appended": "(a INT) TBLPROPERTIES ('delta.appendOnly' = 'true')",
    "empty": "",
    "chars": "(a CHAR(3), v VARCHAR(5), s STRING)",
}


def make_tables(lake: PlanningLake) -> None:
    files = {
        "sales": [data_file(f"{day}.parquet", {"day": day}) for day in DAYS],
        "plain": [data_file("1.parquet"), data_file("2.parquet")],
        "tracked": [data_file("1.parquet", base_row_id=0, default_row_commit_version=1)],
        "vectors": [data_file("1.parquet", {"p": "x"}), data_file("2.parquet", {"p": None})],
    }
    for name, definition in TABLES.items():
        lake.make(f"CREATE TABLE {name} {definition}", *files.get(name, ()))
    FEATURE_TABLES["redirectWriterOnly-preview"].write(lake.path("readable"))
    FEATURE_TABLES["geospatial"].write(lake.path("unreadable"))
    lake.make_view("small", "SELECT a FROM plain WHERE a < 10", "a INT")
