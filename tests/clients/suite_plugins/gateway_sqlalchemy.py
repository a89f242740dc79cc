"""Runs SQLAlchemy's suite with AUTOCOMMIT, as our documentation recommends, and without PostgreSQL's extensions.

Rows are deleted without savepoints, which exist in transaction blocks only.
"""

import importlib
from typing import Any

_OPTIONS = {"isolation_level": "AUTOCOMMIT"}


def _use_autocommit(url: str, options: dict[str, Any], arguments: Any) -> None:
    options |= _OPTIONS


def _delete_rows(connection: Any, config: Any, metadata: Any) -> None:
    inspector = importlib.import_module("sqlalchemy").inspect(connection)
    for table in metadata.tables.values():
        if table.name in inspector.get_table_names(schema=table.schema):
            connection.execute(table.delete())


def pytest_configure() -> None:
    provision = importlib.import_module("sqlalchemy.testing.provision")
    importlib.import_module("sqlalchemy.dialects.postgresql.provision")
    provision.update_db_opts.for_db("postgresql")(_use_autocommit)
    provision.delete_from_all_tables.for_db("postgresql")(_delete_rows)
    provision.post_configure_engine.for_db("postgresql")(lambda url, engine, follower: None)
