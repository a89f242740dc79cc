"""Conversion of a REST catalog's views to our own view entries.

A view has texts in several dialects; Spark's is used here. It has no owner here: it is read with the invoker's rights,
or with the owner's rights of one of our views that reads it.

Source: Iceberg view spec, "View metadata", "SQL representation".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from catalog.conditions import RestCatalogNotAvailable
from catalog.entries import ForeignView, ViewColumn, ViewEntry
from catalog.names import DEFAULT_SCHEMA, SchemaName, TableName

DIALECT = "spark"
# Set for a view whose columns are named differently than its query's.
QUERY_NAMES = "spark.query-column-names"
_TYPES = {
    "long": "bigint",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "uuid": "string",
    "time": "string",
    "unknown": "void",
}


def listed_view(name: TableName) -> ViewEntry:
    """Returns an entry for a view with only a known name."""
    return ViewEntry(name=name, text="", current=name.schema_name, foreign=ForeignView())


def view_entry(name: TableName, metadata: Mapping[str, Any]) -> ViewEntry:
    """Returns a view's entry; raises `RestCatalogNotAvailable` for malformed metadata."""
    try:
        return _entry(name, metadata)
    except (KeyError, TypeError, AttributeError, StopIteration) as error:
        raise RestCatalogNotAvailable(name.catalog, f"its description of the view {name} is none") from error


def _entry(name: TableName, metadata: Mapping[str, Any]) -> ViewEntry:
    version = next(each for each in metadata["versions"] if each["version-id"] == metadata["current-version-id"])
    texts = {str(each["dialect"]).lower(): str(each["sql"]) for each in _sql(version["representations"])}
    schema = next(each for each in metadata["schemas"] if each["schema-id"] == version["schema-id"])
    namespace = ".".join(map(str, version["default-namespace"])) or DEFAULT_SCHEMA
    properties = metadata.get("properties") or {}
    return ViewEntry(
        name=name,
        text=texts.get(DIALECT, ""),
        current=SchemaName(str(version.get("default-catalog") or name.catalog), namespace),
        columns=tuple(_columns(schema["fields"], properties.get(QUERY_NAMES))),
        comment=properties.get("comment"),
        foreign=ForeignView(tuple(sorted(texts))),
    )


def _sql(representations: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return (each for each in representations if each["type"] == "sql")


def _columns(fields: list[Mapping[str, Any]], query_names: str | None) -> Iterator[ViewColumn]:
    names = [str(each["name"]) for each in fields]
    sources = query_names.split(",") if query_names else names
    if len(sources) != len(names):
        sources = names
    for field, source in zip(fields, sources, strict=True):
        yield ViewColumn(name=field["name"], source=source, type=_sql_type(field["type"]), comment=field.get("doc"))


def _sql_type(kind: Any) -> str:
    if isinstance(kind, str):
        return "binary" if kind.startswith("fixed") else _TYPES.get(kind, kind.replace(" ", ""))
    match kind["type"]:
        case "list":
            return f"array<{_sql_type(kind['element'])}>"
        case "map":
            return f"map<{_sql_type(kind['key'])}, {_sql_type(kind['value'])}>"
        case _:  # the JSON comes from the REST catalog; its third nested type is struct
            return f"struct<{', '.join(_field(each) for each in kind['fields'])}>"


def _field(field: Mapping[str, Any]) -> str:
    name = str(field["name"]).replace("`", "``")
    return f"`{name}`: {_sql_type(field['type'])}"
