"""The system catalog for the queries of a connection, which the connections of a principal share."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

import pyarrow as pa

from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.statement import Statement
from engine.sql.postgres.scopes import CatalogSession
from gateway.postgres.catalog.system_catalog import Answer, AnswerColumn, SystemCatalog
from gateway.postgres.types import TYPES, Column, PgType, pg_type

# Catalogs in memory at the same time, of all principals; the least recently used is released, and made again.
DATABASES_MAX = 32
# All values on which the rights of a principal depend, and the database.
Key = tuple[object, ...]
# Arrow's type of a column → Spark's, for the text of its values.
_SPARK_TYPES: Mapping[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
}


@dataclass(slots=True)
class SharedCatalogs:
    """The catalogs of principals, the least recently used first, with the connections that use them. Thread-safe."""

    _entries: OrderedDict[Key, SystemCatalog] = field(default_factory=OrderedDict)
    _connections: Counter[Key] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def use(self, key: Key, make: Callable[[], SystemCatalog]) -> SystemCatalog:
        """Returns a principal's catalog, and releases the one that was not used for the longest time."""
        left = None
        with self._lock:
            if key not in self._entries:
                self._entries[key] = make()
                left = self._entries.popitem(last=False)[1] if len(self._entries) > DATABASES_MAX else None
            self._entries.move_to_end(key)
            catalog = self._entries[key]
        if left is not None:
            left.close()
        return catalog

    def add(self, key: Key) -> None:
        """Counts a connection that uses a catalog."""
        with self._lock:
            self._connections[key] += 1

    def remove(self, key: Key) -> None:
        """Counts a connection less; a catalog that no connection uses is released."""
        with self._lock:
            self._connections[key] -= 1
            left = None if self._connections[key] else self._entries.pop(key, None)
            self._connections += Counter()  # without counts of zero
        if left is not None:
            left.close()


_SHARED = SharedCatalogs()


@dataclass(slots=True)
class ClientCatalog:
    """Answers a connection's queries of the system catalog. Not thread-safe.

    `run` runs a metadata call with the connection's rights; `session` returns the values that a query may read.
    """

    identity: Identity
    run: Callable[[Statement], pa.Table]
    session: Callable[[], CatalogSession]
    _keys: dict[str, Key] = field(default_factory=dict)

    def close(self) -> None:
        """Leaves the catalogs to the other connections."""
        for key in self._keys.values():
            _SHARED.remove(key)
        self._keys.clear()

    def forget(self) -> None:
        """Lists objects again for the next query, after a statement that may have changed them."""
        for database in self._keys:
            self._catalog(database).forget()

    def answer(self, text: str, parameters: Sequence[Parameter]) -> Answer | None:
        """Returns the rows of a query of the system catalog; None for another statement. Raises a `SqlError`."""
        session = self.session()
        values, types = [_text(one) for one in parameters], [_type_name(one) for one in parameters]
        return self._catalog(session.database).answer(text, session, values, types, self.run)

    def describe(self, text: str, type_names: Sequence[str]) -> tuple[Sequence[Column], Sequence[int]] | None:
        """Returns the columns, and the oids of the parameters' types; None for a statement that is not a query of the
        system catalog. `type_names` are empty for types to infer.
        """
        session = self.session()
        found = self._catalog(session.database).describe(text, session, type_names)
        return None if found is None else (catalog_columns(found.columns, None), found.parameter_oids)

    def _catalog(self, database: str) -> SystemCatalog:
        key = self._keys.get(database)
        if key is None:
            identity = self.identity
            key = (*identity.owner, identity.groups, identity.method, identity.client_id, database)
            _SHARED.add(key)
            self._keys[database] = key
        return _SHARED.use(key, lambda: SystemCatalog(self.run, user=self.identity.principal, database=database))


def catalog_columns(columns: Sequence[AnswerColumn], rows: pa.Table | None) -> list[Column]:
    """Returns an answer's columns; without `rows`, only their names and types are right."""
    fields = [None] * len(columns) if rows is None else [column.type for column in rows.columns]
    return [
        Column(
            column.label,
            TYPES.get(column.type_oid) or PgType(column.type_name, column.type_oid, 0),
            "string" if kind is None else _spark_type(kind),
        )
        for column, kind in zip(columns, fields, strict=True)
    ]


def _spark_type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array<{_spark_type(kind.value_type)}>"
    return _SPARK_TYPES.get(kind, "string")


def _type_name(parameter: Parameter) -> str:
    """Returns a parameter's type; an empty name for an array, which follows from its place in the query."""
    return "" if parameter.members is not None else pg_type(parameter.sql_type).name


def _text(parameter: Parameter) -> str | None:
    if parameter.members is None:
        return parameter.value
    cells = ["NULL" if one.value is None else _quoted(one.value) for one in parameter.members]
    return "{" + ",".join(cells) + "}"


def _quoted(value: str) -> str:
    if re.fullmatch(r"[\w.+-]+", value) and value.upper() != "NULL":
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
