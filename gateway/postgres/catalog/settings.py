"""The rows of `pg_settings`: the settings of the session, and limits that drivers read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gateway.postgres.catalog.content import Row
from gateway.postgres.catalog.resources import SERVER_VERSION, SERVER_VERSION_NUM

# Settings with PostgreSQL's values that no session changes.
FIXED: Mapping[str, str] = {
    "server_version": SERVER_VERSION,
    "server_version_num": SERVER_VERSION_NUM,
    "server_encoding": "UTF8",
    "max_index_keys": "32",
    "max_identifier_length": "63",
    "block_size": "8192",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "lc_collate": "C.UTF-8",
    "lc_ctype": "C.UTF-8",
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "transaction_read_only": "off",
    "default_transaction_read_only": "off",
    "is_superuser": "off",
    "in_hot_standby": "off",
    "jit": "off",
    "max_connections": "100",
    "default_table_access_method": "heap",
    "default_tablespace": "",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "extra_float_digits": "1",
    "default_with_oids": "off",
    "statement_timeout": "0",
}
_NOT_SETTINGS = frozenset({"version", "backend_pid", "started"})
_DISPLAYED = {"timezone": "TimeZone", "datestyle": "DateStyle", "intervalstyle": "IntervalStyle"}


def setting_rows(settings: Mapping[str, str]) -> Iterator[Row]:
    """Yields rows of pg_settings."""
    values = {**FIXED, **{name: value for name, value in settings.items() if name not in _NOT_SETTINGS}}
    for name, value in sorted(values.items()):
        yield {
            "name": _DISPLAYED.get(name, name),
            "setting": value,
            "category": "Preset Options" if name in FIXED else "Client Connection Defaults",
            "short_desc": name.replace("_", " "),
            "context": "internal" if name in FIXED else "user",
            "vartype": "string",
            "source": "default",
            "boot_val": value,
            "reset_val": value,
            "pending_restart": False,
        }
