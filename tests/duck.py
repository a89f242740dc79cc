"""DuckDB with its packaged delta extension: an independent reader for the same tables."""

from __future__ import annotations

from pathlib import Path

import duckdb
import duckdb_extension_delta


def open_duckdb() -> duckdb.DuckDBPyConnection:
    """Returns a connection with `delta_scan`, in UTC."""
    version = f"v{duckdb.__version__}"
    extension = Path(duckdb_extension_delta.__file__).parent / "extensions" / version / "delta.duckdb_extension"
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection
