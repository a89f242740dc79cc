"""Runs in a separate environment: databricks-sql-connector's metadata lists, by kernel or older backend, as JSON."""

import json
import sys

from databricks import sql

PORT, BACKEND = int(sys.argv[1]), sys.argv[2]
HOST = {"use_kernel": f"http://127.0.0.1:{PORT}", "use_sea": "http://127.0.0.1"}[BACKEND]

connection = sql.connect(
    server_hostname=HOST,
    http_path="/sql/1.0/warehouses/any",
    access_token="any",
    enable_telemetry=False,
    _port=PORT,
    **{BACKEND: True},
)
cursor = connection.cursor()
for statement in (
    "CREATE SCHEMA IF NOT EXISTS meta",
    "USE SCHEMA meta",
    "CREATE OR REPLACE TABLE items (id BIGINT PRIMARY KEY, price DECIMAL(9,2) COMMENT 'net') COMMENT 'What is sold'",
    "CREATE OR REPLACE TABLE orders (item BIGINT, CONSTRAINT sold FOREIGN KEY (item) REFERENCES items)",
):
    cursor.execute(statement)

calls = {
    "catalogs": cursor.catalogs,
    "schemas": lambda: cursor.schemas(catalog_name="spark_catalog", schema_name="meta"),
    "tables": lambda: cursor.tables(catalog_name="spark_catalog", schema_name="meta", table_types=["TABLE"]),
    "no tables": lambda: cursor.tables(catalog_name="spark_catalog", schema_name="nope"),
    "columns": lambda: cursor.columns(catalog_name="spark_catalog", schema_name="meta", table_name="items"),
    "no rows": lambda: cursor.execute("SHOW LOCKS"),
    "no columns": lambda: cursor.execute("USE SCHEMA meta"),
}
found = {}
for name, call in calls.items():
    call()
    names = [column[0] for column in cursor.description or ()]
    found[name] = [
        {key: value for key, value in zip(names, row, strict=True) if value is not None} for row in cursor.fetchall()
    ]
print(json.dumps(found, default=str))
