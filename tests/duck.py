"""DuckDB with the delta extension of its package: another reader of the same tables, on another implementation."""

from __future__ import annotations

from pathlib import Path

import duckdb
import duckdb_extension_delta


def open_duckdb() -> duckdb.DuckDBPyConnection:
    """A connection that knows `delta_scan`; its time zone is UTC."""
    version = f"v{duckdb.__version__}"
    extension = Path(duckdb_extension_delta.__file__).parent / "extensions" / version / "delta.duckdb_extension"
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection
