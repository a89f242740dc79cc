"""Conversion of our view definitions to REST catalog requests: the text has Spark's dialect, which other engines may be
able to read.

Source: Iceberg view spec, "View metadata", "Versions"; Iceberg REST catalog, "createView", "replaceView".
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from catalog.conditions import RestViewNotStorable
from catalog.entries import ViewEntry
from catalog.rest.client import Namespace
from catalog.rest.views import DIALECT, QUERY_NAMES

# Types by Spark's name; Iceberg has no narrow integers.
_TYPES = {
    "boolean": "boolean",
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    "string": "string",
    "binary": "binary",
    "void": "unknown",
    "variant": "variant",
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_TEXT = re.compile(r"(?:char|varchar)\(\d+\)|string collate \w+")
# A struct's field name; Spark quotes it only in some texts, so not all names can be recognized.
_NAME = re.compile(r"`((?:[^`]|``)*)`|([^:]+)")


def creation(entry: ViewEntry, namespace: Namespace) -> dict[str, Any]:
    """Builds the request that creates a view. Raises `RestViewNotStorable` for a type or property that Iceberg
    lacks."""
    properties = dict(entry.properties) | ({} if entry.comment is None else {"comment": entry.comment})
    properties.pop(QUERY_NAMES, None)  # a client's value is less reliable than the query's own columns
    sources, names = [each.source for each in entry.columns], [each.name for each in entry.columns]
    if sources != names:
        if any("," in each for each in sources):
            raise RestViewNotStorable(str(entry.name), "a column of its query has a name with a comma")
        properties[QUERY_NAMES] = ",".join(sources)
    return {
        "name": entry.name.table,
        "schema": _schema(entry)[0],
        "view-version": _version(entry, namespace, 1, 0),
        "properties": properties,
    }


def replacement(entry: ViewEntry, namespace: Namespace, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Builds the request that replaces a view's current version and its properties.

    Raises as `creation` does, and if the current version has a text in another dialect, which would be lost.
    """
    current = metadata.get("current-version-id")
    for version in metadata.get("versions") or ():
        if version.get("version-id") == current:
            others = {str(each.get("dialect")).lower() for each in version.get("representations") or ()} - {DIALECT}
            if others:
                raise RestViewNotStorable(
                    str(entry.name), f"it has a text in {', '.join(sorted(others))}, which would go"
                )
    made, (schema, last_id) = creation(entry, namespace), _schema(entry)
    newest = max((int(each["version-id"]) for each in metadata.get("versions") or ()), default=0) + 1
    gone = sorted({*(metadata.get("properties") or {})} & {"comment", QUERY_NAMES} - made["properties"].keys())
    updates: list[dict[str, Any]] = [
        {"action": "add-schema", "schema": schema, "last-column-id": last_id},
        {"action": "add-view-version", "view-version": _version(entry, namespace, newest, -1)},
        {"action": "set-current-view-version", "view-version-id": -1},
    ]
    if made["properties"]:
        updates.append({"action": "set-properties", "updates": made["properties"]})
    if gone:
        updates.append({"action": "remove-properties", "removals": gone})
    return {
        "requirements": [{"type": "assert-view-uuid", "uuid": str(metadata.get("view-uuid"))}],
        "updates": updates,
    }


def _version(entry: ViewEntry, namespace: Namespace, version: int, schema: int) -> dict[str, Any]:
    is_own = entry.current.catalog_name == entry.name.schema_name.catalog_name
    current = namespace if entry.current == entry.name.schema_name else entry.current.schema.split(".")
    return {
        "version-id": version,
        "schema-id": schema,
        "timestamp-ms": round(time.time() * 1000),
        "summary": {"engine-name": "delta-gateway"},
        "representations": [{"type": "sql", "sql": entry.text, "dialect": DIALECT}],
        "default-namespace": list(current),
        **({} if is_own else {"default-catalog": entry.current.catalog}),
    }


def _schema(entry: ViewEntry) -> tuple[dict[str, Any], int]:
    """Returns the view's Iceberg schema and its largest field id."""
    ids = count(1)
    with_ids = [(next(ids), column) for column in entry.columns]
    fields = []
    for number, column in with_ids:
        kind = _Types(column.type, ids, str(entry.name)).whole()
        doc = {} if column.comment is None else {"doc": column.comment}
        fields.append({"id": number, "name": column.name, "required": False, "type": kind, **doc})
    return {"type": "struct", "schema-id": 0, "fields": fields}, next(ids) - 1


class _Types:
    """Parses a type as Spark writes it into an Iceberg type, with field ids from `ids`."""

    def __init__(self, text: str, ids: Iterator[int], view: str) -> None:
        self._text = text
        self._at = 0
        self._ids = ids
        self._view = view

    def whole(self) -> Any:
        kind = self._kind()
        if self._text[self._at :].strip():
            raise self._error()
        return kind

    def _kind(self) -> Any:
        for opening, read in (("array<", self._array), ("map<", self._map), ("struct<", self._struct)):
            if self._takes(opening):
                return read()
        end = self._at
        depth = 0
        while end < len(self._text) and (depth or self._text[end] not in ",>"):
            depth += {"(": 1, ")": -1}.get(self._text[end], 0)
            end += 1
        name, self._at = self._text[self._at : end].strip().lower(), end
        if found := _DECIMAL.fullmatch(name):
            return f"decimal({found[1]}, {found[2]})"
        kind = "string" if _TEXT.fullmatch(name) else _TYPES.get(name)
        if kind is None:
            raise RestViewNotStorable(self._view, f"Iceberg has no type {name}")
        return kind

    def _array(self) -> Any:
        number = next(self._ids)
        element = self._kind()
        self._ends(">")
        return {"type": "list", "element-id": number, "element": element, "element-required": False}

    def _map(self) -> Any:
        key_id, value_id = next(self._ids), next(self._ids)
        key = self._kind()
        self._ends(",")
        value = self._kind()
        self._ends(">")
        ids = {"key-id": key_id, "value-id": value_id}
        return {"type": "map", **ids, "key": key, "value": value, "value-required": False}

    def _struct(self) -> Any:
        fields: list[dict[str, Any]] = []
        while not self._takes(">"):
            if fields:
                self._ends(",")
            name = _NAME.match(self._text, self._skip_spaces())
            if name is None:
                raise self._error()
            self._at = name.end()
            self._ends(":")
            number = next(self._ids)
            quoted = name[2] if name[1] is None else name[1].replace("``", "`")
            fields.append({"id": number, "name": quoted, "required": False, "type": self._kind()})
        return {"type": "struct", "fields": fields}

    def _skip_spaces(self) -> int:
        while self._text[self._at : self._at + 1] == " ":
            self._at += 1
        return self._at

    def _takes(self, token: str) -> bool:
        if not self._text.lower().startswith(token, self._skip_spaces()):
            return False
        self._at += len(token)
        return True

    def _ends(self, token: str) -> None:
        if not self._takes(token):
            raise self._error()

    def _error(self) -> RestViewNotStorable:
        return RestViewNotStorable(self._view, f"the type {self._text} is not understood")
