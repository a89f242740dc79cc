"""Calls of ADBC's driver for Spark Connect, printed as JSON; run with the driver in the path of modules."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import Any

from adbc_driver_spark import dbapi  # type: ignore[import-not-found]


def main(url: str, schema: str) -> None:
    with closing(dbapi.connect(url)) as connection, closing(connection.cursor()) as cursor:

        def rows(text: str) -> list[list[Any]]:
            cursor.execute(text)
            return [list(row) for row in cursor.fetchall()]

        def error(text: str) -> str:
            try:
                rows(text)
            except dbapi.Error as failure:
                return str(failure)
            return ""

        cursor.execute(f"CREATE SCHEMA {schema}")
        cursor.execute(f"CREATE TABLE {schema}.t (id INT, name STRING)")
        cursor.execute(f"INSERT INTO {schema}.t VALUES (1, 'a'), (2, NULL)")
        found = {
            "values": rows("SELECT 1, 'é', CAST(NULL AS INT), true, 1.5D"),
            "rows": rows(f"SELECT * FROM {schema}.t ORDER BY id"),
            "errors": [error("SELEC 1"), error("SELECT * FROM nobody"), error("SELECT 1 / 0")],
        }
        cursor.execute("SELECT id FROM range(300000)")
        found["many"] = cursor.fetch_arrow_table().num_rows
        objects = connection.adbc_get_objects(depth="tables", db_schema_filter=schema).read_all().to_pylist()
        found["tables"] = [
            table["table_name"]
            for catalog in objects
            for place in catalog["catalog_db_schemas"] or ()
            for table in place["db_schema_tables"] or ()
        ]
        cursor.execute(f"DROP SCHEMA {schema} CASCADE")
    print(json.dumps(found))


main(*sys.argv[1:])
