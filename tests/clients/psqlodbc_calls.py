"""Calls psqlODBC's functions through pyodbc, and prints their results as JSON. Arguments: driver, port and schema."""

import json
import sys
from decimal import Decimal
from typing import Any

import pyodbc  # type: ignore[import-not-found]

driver, port, schema = sys.argv[1:]
connection = pyodbc.connect(
    f"Driver={driver};Server=127.0.0.1;Port={port};Database=postgres;UID=ada;PWD=x;SSLmode=disable", autocommit=True
)
cursor = connection.cursor()


def rows(*names: str) -> list[list[Any]]:
    """Returns the columns of the cursor's rows."""
    labels = [column[0].lower() for column in cursor.description]
    return [[row[labels.index(name)] for name in names] for row in cursor.fetchall()]


found: dict[str, Any] = {}
cursor.tables(schema=schema)
found["tables"] = rows("table_schem", "table_name", "table_type")
cursor.columns(table="orders", schema=schema)
found["columns"] = rows("column_name", "type_name", "column_size", "decimal_digits", "nullable")
cursor.primaryKeys("orders", schema=schema)
found["primary keys"] = rows("table_name", "column_name", "key_seq", "pk_name")
keys = ("pktable_name", "pkcolumn_name", "fktable_name", "fkcolumn_name", "key_seq", "fk_name")
cursor.foreignKeys(foreignTable="orders", foreignSchema=schema)
found["foreign keys"] = rows(*keys)
cursor.foreignKeys(table="customers", schema=schema)
found["referencing keys"] = rows(*keys)
cursor.statistics("orders", schema=schema)
found["statistics"] = rows("table_name", "non_unique", "column_name")
cursor.execute(f"SELECT * FROM {schema}.orders ORDER BY id")
found["types"] = [column[1].__name__ for column in cursor.description]
found["rows"] = [[str(value) for value in row] for row in cursor.fetchall()]
cursor.execute(f"SELECT id FROM {schema}.orders WHERE total > ? AND customer = ?", Decimal("1.5"), 7)
found["parameters"] = rows("id")
cursor.execute(f"INSERT INTO {schema}.orders (id, customer, total) VALUES (?, ?, ?)", 3, 8, Decimal("0.10"))
found["inserted"] = cursor.rowcount
try:
    cursor.execute("SELECT * FROM nothing_here")
except pyodbc.Error as error:
    found["error"] = error.args[0]
print(json.dumps(found))
