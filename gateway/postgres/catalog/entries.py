"""Rows that come from the catalog's entries: privileges, the texts of views, and the functions of users."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from engine.statements.listings.statement import ListEntries, ObjectKind
from gateway.postgres.catalog.column_types import column_type
from gateway.postgres.catalog.content import TEMPORARY_SCHEMA, Row, RunCall
from gateway.postgres.catalog.resources import base_functions, base_types, system_relations
from gateway.postgres.catalog.rows import OWNER, SYSTEM_SCHEMAS, CatalogRows

_SQL_LANGUAGE, _RECORD = 14, 2249
_GRANTABLE = " with grant option"
# A privilege of the catalog → those of PostgreSQL that it includes.
_PRIVILEGES: Mapping[str, tuple[str, ...]] = {
    "SELECT": ("select",),
    "MODIFY": ("insert", "update", "delete", "truncate"),
    "EXECUTE": ("execute",),
    "USE SCHEMA": ("usage",),
    "CREATE TABLE": ("create",),
    "CREATE SCHEMA": ("create",),
}
# Privileges of all users, by kind.
_SYSTEM: Mapping[str, tuple[str, ...]] = {
    "database": ("connect", "temporary", "temp"),
    "schema": ("usage",),
    "function": ("execute",),
    "table": ("select",),
}


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of one catalog that the principal may see, as the engine lists them."""

    catalogs: list[Row] = field(default_factory=list)
    schemas: list[Row] = field(default_factory=list)
    relations: list[Row] = field(default_factory=list)
    functions: list[Row] = field(default_factory=list)


def visible_entries(run: RunCall, catalog: str) -> Entries:
    """Lists the entries of a catalog."""

    def listed(kind: ObjectKind, inside: str = catalog) -> list[Row]:
        return [json.loads(text) for text in run(ListEntries(kind=kind, catalog=inside)).column("entry").to_pylist()]

    return Entries(
        listed(ObjectKind.CATALOG, ""),
        listed(ObjectKind.SCHEMA),
        listed(ObjectKind.TABLE),
        listed(ObjectKind.FUNCTION),
    )


class EntryRows:
    """Makes rows of the system catalog from entries."""

    def __init__(self, entries: Entries, rows: CatalogRows) -> None:
        self._entries = entries
        self._rows = rows

    def privileges(self, current_schema: str) -> Iterator[tuple[str, str]]:
        """Yields keys of objects with a privilege of the principal each, which is empty once for each object.

        A key is the object's kind with its oid or its name, which for relations and functions in `current_schema` and
        in `pg_catalog` is also the name without its schema.
        """
        for key, granted in self._granted(current_schema):
            yield key, ""
            for privilege in granted:
                yield key, privilege

    def _granted(self, current_schema: str) -> Iterator[tuple[str, Iterable[str]]]:
        for name, oid in SYSTEM_SCHEMAS.items():
            yield from _keys("schema", oid, _SYSTEM["schema"], name)
        for relation in system_relations().values():
            names = (relation.name, relation.name.removeprefix("pg_catalog."))
            yield from _keys("table", relation.oid, _SYSTEM["table"], *names)
        for function in base_functions():
            yield from _keys("function", function["oid"], _SYSTEM["function"], function["proname"])
        for entry in self._entries.catalogs:
            (name,) = entry["name"]
            granted = (*_SYSTEM["database"], *_privileges_of(entry))
            yield from _keys("database", self._rows.database_oid(name), granted, name)
        for entry in self._entries.schemas:
            name = entry["name"][-1]
            yield from _keys("schema", self._rows.schema_oid(name), _privileges_of(entry), name)
        for entry in self._entries.relations:
            _, schema, name = entry["name"]
            if schema in SYSTEM_SCHEMAS:  # PostgreSQL's relations take its place
                continue
            short = (name,) if schema == current_schema else ()
            oid = self._rows.table_oid(schema, name)
            yield from _keys("table", oid, _privileges_of(entry), f"{schema}.{name}", *short)
        for view in self._rows.temporary_views:
            oid = self._rows.table_oid(TEMPORARY_SCHEMA, view)
            yield from _keys("table", oid, _SYSTEM["table"], f"{TEMPORARY_SCHEMA}.{view}", view)
        for entry in self._entries.functions:
            _, schema, name = entry["name"]
            short = (name,) if schema == current_schema else ()
            yield from _keys("function", self._function_oid(entry), _privileges_of(entry), f"{schema}.{name}", *short)

    def view_texts(self) -> list[tuple[int, str]]:
        """Returns the oids of views with their queries, for views that the principal manages."""
        return [
            (self._rows.table_oid(*entry["name"][1:]), f"{entry['text'].strip().rstrip(';')};")
            for entry in self._entries.relations
            if entry.get("text")
        ]

    def functions(self) -> Iterator[Row]:
        """Yields rows of pg_proc for the functions of users."""
        for entry in self._entries.functions:
            _, schema, name = entry["name"]
            given, returned = entry["parameters"], entry["table_columns"]
            oids = [_type_oid(each["type"]) for each in given]
            yield {
                "oid": self._function_oid(entry),
                "proname": name,
                "pronamespace": self._rows.schema_oid(schema),
                "proowner": OWNER,
                "prolang": _SQL_LANGUAGE,
                "procost": 100.0,
                "prorows": 1000.0 if returned else 0.0,
                "prokind": "f",
                "proretset": bool(returned),
                "provolatile": "i" if entry.get("is_deterministic") else "v",
                "proparallel": "u",
                "pronargs": len(given),
                "pronargdefaults": sum("default" in each for each in given),
                "prorettype": _RECORD if returned else _type_oid(entry["returns"]),
                "proargtypes": oids,
                "proallargtypes": [*oids, *(_type_oid(each["type"]) for each in returned)] if returned else None,
                "proargmodes": ["i"] * len(given) + ["t"] * len(returned) if returned else None,
                "proargnames": [each["name"] for each in (*given, *returned)] or None,
                "prosrc": entry.get("body", ""),
            }

    def function_texts(self) -> Iterator[tuple[object, ...]]:
        """Yields oid, name, oid of the result, schema, arguments, identity arguments, result and body of functions."""
        for entry in self._entries.functions:
            _, schema, name = entry["name"]
            given, returned = entry["parameters"], entry["table_columns"]
            result = _RECORD if returned else _type_oid(entry["returns"])
            shown = f"TABLE({_listed(returned)})" if returned else _type_name(entry["returns"])
            identity = _listed([{**each, "default": None} for each in given])
            oid = self._function_oid(entry)
            yield oid, name, result, schema, _listed(given), identity, shown, entry.get("body")

    def _function_oid(self, entry: Row) -> int:
        return self._rows.function_oid(*entry["name"][1:])


def system_functions() -> list[tuple[object, ...]]:
    """Returns PostgreSQL's own functions, as :meth:`EntryRows.function_texts` returns those of users."""
    return [
        (int(row["oid"]), row["proname"], int(row["prorettype"]), "pg_catalog", "", "", None, None)
        for row in base_functions()
    ]


def _keys(kind: str, oid: int | str, granted: Iterable[str], *names: str) -> Iterator[tuple[str, Iterable[str]]]:
    for key in (str(oid), *(name.replace('"', "").lower() for name in names)):
        yield f"{kind}:{key}", granted


def _privileges_of(entry: Row) -> list[str]:
    found = [name for one in entry["privileges"] for name in _PRIVILEGES.get(one, ())]
    return [*found, *(name + _GRANTABLE for name in found)] if "MANAGE" in entry["privileges"] else found


def _type_oid(sql_type: str) -> int:
    return base_types()[column_type(sql_type).name].oid


def _type_name(sql_type: str) -> str:
    return base_types()[column_type(sql_type).name].display


def _listed(columns: Iterable[Row]) -> str:
    texts = (f"{each['name']} {_type_name(each['type'])}" + _default(each.get("default")) for each in columns)
    return ", ".join(texts)


def _default(text: str | None) -> str:
    return "" if text is None else f" DEFAULT {text}"
