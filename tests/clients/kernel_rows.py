"""Runs in an environment of its own: what databricks-sql-connector reads, by kernel or older backend, as JSON."""

import json
import sys
from typing import Any

from databricks import sql

PORT, BACKEND = int(sys.argv[1]), sys.argv[2]
HOST = {"use_kernel": f"http://127.0.0.1:{PORT}", "use_sea": "http://127.0.0.1"}[BACKEND]


def connect() -> Any:
    return sql.connect(
        server_hostname=HOST,
        http_path="/sql/1.0/warehouses/any",
        access_token="any",
        enable_telemetry=False,
        _port=PORT,
        **{BACKEND: True},
    )


connection = connect()
cursor = connection.cursor()
found: dict[str, Any] = {"types": [[str(value) for value in row] for row in cursor.execute("SELECT types").fetchall()]}
ids = cursor.execute("ROWS 1000000").fetchall_arrow().column(0).to_pylist()
found["many"] = [len(ids), sum(ids)]
found["parameter"] = [str(value) for value in cursor.execute("SELECT :a", {"a": 5}).fetchone()]
try:
    cursor.execute("SELEKT 1")
except sql.Error as error:
    found["error"] = str(error)
found["again"] = [str(value) for value in cursor.execute("SELECT 1").fetchone()]
connection.close()
with connect() as other, other.cursor() as cursor:
    found["another connection"] = [str(value) for value in cursor.execute("SELECT 1").fetchone()]
print(json.dumps(found))
