"""Runs in a separate environment: rows from databricks-sql-connector, by kernel or older backend, as JSON."""

import json
import sys
import threading
from typing import Any

from databricks import sql

PORT, BACKEND = int(sys.argv[1]), sys.argv[2]
HOST = {"use_kernel": f"http://127.0.0.1:{PORT}", "use_sea": "http://127.0.0.1"}[BACKEND]

# It has the statement's id when its first call returns, which takes ten seconds if the statement is still running.
CANCELLED_AFTER_S = 12


def connect(**settings: str) -> Any:
    return sql.connect(
        server_hostname=HOST,
        http_path="/sql/1.0/warehouses/any",
        access_token="any",
        enable_telemetry=False,
        _port=PORT,
        session_configuration=settings or None,
        **{BACKEND: True},
    )


def error_text(cursor: Any, text: str) -> str:
    """Returns a failing statement's error."""
    try:
        cursor.execute(text)
    except sql.Error as error:
        return str(error)
    return "nothing"


connection = connect()
cursor = connection.cursor()
found: dict[str, Any] = {"types": [[str(value) for value in row] for row in cursor.execute("SELECT types").fetchall()]}
ids = cursor.execute("ROWS 1000000").fetchall_arrow().column(0).to_pylist()
found["many"] = [len(ids), sum(ids)]
found["parameter"] = [str(value) for value in cursor.execute("SELECT :a", {"a": 5}).fetchone()]
found["error"] = error_text(cursor, "SELEKT 1")
with connection.cursor(row_limit=7) as limited:
    found["limited"] = len(limited.execute("ROWS 100").fetchall())
with connection.cursor() as fresh:  # the kernel cancels the cursor's previous statement
    threading.Timer(CANCELLED_AFTER_S, fresh.cancel).start()
    found["cancel"] = error_text(fresh, "SLEEP 300")
found["again"] = [str(value) for value in cursor.execute("SELECT 1").fetchone()]
connection.close()
with connect() as other, other.cursor() as cursor:
    found["another connection"] = [str(value) for value in cursor.execute("SELECT 1").fetchone()]
with connect(STATEMENT_TIMEOUT="1") as other, other.cursor() as cursor:
    found["timeout"] = error_text(cursor, "SLEEP 300")
    found["after it"] = [str(value) for value in cursor.execute("SELECT 1").fetchone()]
print(json.dumps(found))
