"""`ListEntries`: the catalog's entries as JSON, one text cell for each.

A location, a view's text and a function's body are in it for principals who manage the object. `privileges` are those
that the principal can use, with the privileges on containers that they require. A table's columns and properties are in
its log, for which there are other calls. Members that are null are absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TypeVar, assert_never

from catalog.conditions import FunctionNotFound
from catalog.entries import (
    CatalogEntry,
    FunctionColumn,
    FunctionEntry,
    FunctionParameter,
    LocationEntry,
    OwnedEntry,
    Relation,
    SchemaEntry,
    TableEntry,
    ViewEntry,
    VolumeEntry,
)
from catalog.grants.privileges import PRIVILEGES, Privilege
from catalog.grants.rights import kind_of
from catalog.names import CatalogName, SchemaName, TableName, fold, matches_all
from catalog.system.audit_table import SYSTEM_CATALOG
from catalog.view import CatalogView
from engine.binding.bound import BoundStatement, Outcome
from engine.runtime.results import string_rows
from engine.statements.listings.statement import ListEntries, ObjectKind

Json = dict[str, object]
_Named = TypeVar("_Named", bound=OwnedEntry)


def list_entries(bound: BoundStatement, statement: ListEntries) -> Outcome:
    """Returns one row for each visible entry, with its JSON in the column `entry`."""
    view = bound.view
    found: Iterable[OwnedEntry] = _all(view, statement) if statement.name is None else [_one(view, statement)]
    texts = [json.dumps(_described(view, entry), ensure_ascii=False) for entry in found]
    return Outcome(result=string_rows(("entry",), [(text,) for text in texts]))


def _all(view: CatalogView, statement: ListEntries) -> Sequence[OwnedEntry]:
    kind, schema = statement.kind, SchemaName(statement.catalog, statement.schema)
    match kind:
        case ObjectKind.CATALOG:
            return _page([*view.catalogs(), CatalogEntry(name=CatalogName(SYSTEM_CATALOG))], statement)
        case ObjectKind.SCHEMA:
            return _page(view.schemas(CatalogName(statement.catalog)), statement)
        case ObjectKind.TABLE if not statement.schema:
            return list(view.find_relations(statement.catalog, matches_all, matches_all))
        case ObjectKind.TABLE:
            return _page(view.relations(schema), statement)
        case ObjectKind.FUNCTION if not statement.schema:
            return [entry for each in view.find_schemas(statement.catalog) for entry in view.functions(each.name)]
        case ObjectKind.FUNCTION:
            return _page(view.functions(schema), statement)
        case ObjectKind.VOLUME:
            return _page(view.volumes(schema), statement)
        case _:
            assert_never(kind)


def _page(found: Sequence[_Named], statement: ListEntries) -> Sequence[_Named]:
    in_order = sorted((_key(entry), number) for number, entry in enumerate(found))
    return [found[number] for key, number in in_order if key > statement.after][: statement.limit]


def _key(entry: OwnedEntry) -> str:
    return fold(entry.name if isinstance(entry.name, str) else entry.name.parts[-1])


def _one(view: CatalogView, statement: ListEntries) -> OwnedEntry:
    """Returns the entry; raises an error for its kind if there is none."""
    kind, name = statement.kind, statement.name or ""
    in_schema = TableName(statement.catalog, statement.schema, name)
    match kind:
        case ObjectKind.CATALOG:
            is_system = CatalogName(name) == CatalogName(SYSTEM_CATALOG)
            return CatalogEntry(name=CatalogName(SYSTEM_CATALOG)) if is_system else view.catalog(CatalogName(name))
        case ObjectKind.SCHEMA:
            return view.described_schema(SchemaName(statement.catalog, name))[0]
        case ObjectKind.TABLE:
            return view.resolve(in_schema)
        case ObjectKind.FUNCTION:
            entry = view.find_function(in_schema)
            if entry is None:
                raise FunctionNotFound(str(in_schema))
            return entry
        case ObjectKind.VOLUME:
            return view.volume(in_schema)
        case _:
            assert_never(kind)


def _described(view: CatalogView, entry: OwnedEntry) -> Json:
    tells_all = view.tells_all(entry)
    match entry:
        case CatalogEntry():
            own: Json = {"is_foreign": entry.rest is not None}
        case SchemaEntry():
            own = {"location": entry.location if tells_all else None}
        case TableEntry() | ViewEntry():
            own = _relation(view, entry, tells_all)
        case FunctionEntry():
            own = _function(entry, tells_all)
        case VolumeEntry():
            own = {
                "type": "MANAGED" if entry.managed else "EXTERNAL",
                "location": entry.location if tells_all else None,
                "created_ms": entry.created_ms,
            }
        case LocationEntry():  # in no list here
            own = {}
        case _:
            assert_never(entry)
    parts = (entry.name,) if isinstance(entry.name, str) else entry.name.parts
    common: Json = {"owner": entry.owner, "comment": entry.comment, "privileges": _privileges(view, entry)}
    described: Json = {"name": list(parts), **common, **own}
    return {key: value for key, value in described.items() if value is not None}


def _privileges(view: CatalogView, entry: OwnedEntry) -> list[str]:
    rights = view.rights
    usable = PRIVILEGES[kind_of(entry)] - {Privilege.ALL}
    return sorted(each for each in usable if rights is None or rights.find_missing(each, entry) is None)


def _relation(view: CatalogView, entry: Relation, tells_all: bool) -> Json:
    created: Json = {"created_ms": entry.created_ms, "created_by": entry.created_by}
    match entry:
        case TableEntry():
            return created | {
                "type": view.table_type(entry),
                "format": entry.format,
                "location": entry.location if tells_all else None,
            }
        case ViewEntry():
            return created | {
                "type": "VIEW",
                "text": entry.text if tells_all else None,
                "properties": dict(entry.properties),
                "altered_ms": entry.altered_ms,
                "altered_by": entry.altered_by,
            }
        case _:
            assert_never(entry)


def _function(entry: FunctionEntry, tells_all: bool) -> Json:
    return {
        "parameters": [_parameter(each) for each in entry.parameters],
        "returns": entry.returns,
        "table_columns": [_parameter(each) for each in entry.table_columns],
        "body": entry.body if tells_all else None,
        "is_deterministic": entry.deterministic,
        "created_ms": entry.created_ms,
    }


def _parameter(each: FunctionParameter | FunctionColumn) -> Json:
    default = each.default if isinstance(each, FunctionParameter) else None
    described: Json = {"name": each.name, "type": each.type, "default": default, "comment": each.comment}
    return {key: value for key, value in described.items() if value is not None}
