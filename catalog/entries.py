"""What the catalog keeps of one object, as frozen values with JSON both ways. Pure.

An entry holds only what no log holds: where a table lies, whose it is, a view's text. Its JSON is one small object for
people to read; `kind` tells which entry it is, and fields that this release does not know stay in `extra` and are
written back, so that an older server does not strip what a newer one wrote.

    {"kind": "table", "catalog": "spark_catalog", "schema": "shop", "name": "orders",
     "location": "/data/lake/shop/orders", "format": "delta", "managed": false, "owner": "ada", "comment": null,
     "created_ms": 1767225600000}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from catalog.names import CatalogName, SchemaName, TableName

JsonObject = Mapping[str, object]


class MalformedEntry(ValueError):
    """The JSON is no entry; the store says of which file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    name: CatalogName
    owner: str | None = None
    comment: str | None = None
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaEntry:
    """`location` is where its managed tables go; None leaves that to the server."""

    name: SchemaName
    location: str | None = None
    owner: str | None = None
    comment: str | None = None
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """`location` is an absolute path or a URI, decoded. Dropping a `managed` table removes its files."""

    name: TableName
    location: str
    format: str = "delta"
    managed: bool = False
    owner: str | None = None
    comment: str | None = None
    created_ms: int | None = None
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    """A column as it was when the view was made: `source` is what the query calls it, `type` its SQL type."""

    name: str
    source: str
    type: str
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewEntry:
    """`text` is the query as written; names in it that say no schema lead to `current`."""

    name: TableName
    text: str
    current: SchemaName
    columns: tuple[ViewColumn, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    owner: str | None = None
    comment: str | None = None
    created_ms: int | None = None
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneEntry:
    """A table at `location` whose versions may name files below `sources`, folders of other tables.

    It is kept by location and not by name: a clone that was made at a path, or lost its name, needs these files too.
    """

    location: str
    sources: tuple[str, ...]
    extra: JsonObject = field(default_factory=dict, hash=False)


Relation = TableEntry | ViewEntry
Entry = CatalogEntry | SchemaEntry | Relation | CloneEntry


def to_json(entry: Entry) -> dict[str, object]:
    """The entry as a JSON object, in the order in which a person reads it."""
    own: dict[str, object]
    if isinstance(entry, CloneEntry):
        return {"kind": "clone", "location": entry.location, "sources": list(entry.sources), **entry.extra}
    common: dict[str, object] = {"owner": entry.owner, "comment": entry.comment}
    match entry:
        case CatalogEntry(name=name):
            own = {"kind": "catalog", "name": name.catalog, **common}
        case SchemaEntry(name=name_):
            own = {
                "kind": "schema",
                "catalog": name_.catalog,
                "name": name_.schema,
                "location": entry.location,
            } | common
        case TableEntry():
            own = {
                "kind": "table",
                **_table_name_json(entry.name),
                "location": entry.location,
                "format": entry.format,
                "managed": entry.managed,
                **common,
                "created_ms": entry.created_ms,
            }
        case ViewEntry():
            own = {
                "kind": "view",
                **_table_name_json(entry.name),
                "text": entry.text,
                "current_catalog": entry.current.catalog,
                "current_schema": entry.current.schema,
                "columns": [asdict(column) for column in entry.columns],
                "properties": dict(entry.properties),
                **common,
                "created_ms": entry.created_ms,
            }
    return {**own, **entry.extra}


def from_json(value: object) -> Entry:
    """The entry in a JSON object; raises MalformedEntry."""
    if not isinstance(value, dict):
        raise MalformedEntry("not a JSON object")
    fields = _Fields(value)
    kind = fields.text("kind")
    match kind:
        case "catalog":
            return CatalogEntry(
                name=CatalogName(fields.text("name")),
                owner=fields.optional_text("owner"),
                comment=fields.optional_text("comment"),
                extra=fields.rest(),
            )
        case "schema":
            return SchemaEntry(
                name=SchemaName(fields.text("catalog"), fields.text("name")),
                location=fields.optional_text("location"),
                owner=fields.optional_text("owner"),
                comment=fields.optional_text("comment"),
                extra=fields.rest(),
            )
        case "table":
            return TableEntry(
                name=TableName(fields.text("catalog"), fields.text("schema"), fields.text("name")),
                location=fields.text("location"),
                format=fields.text("format"),
                managed=fields.flag("managed"),
                owner=fields.optional_text("owner"),
                comment=fields.optional_text("comment"),
                created_ms=fields.optional_integer("created_ms"),
                extra=fields.rest(),
            )
        case "view":
            return ViewEntry(
                name=TableName(fields.text("catalog"), fields.text("schema"), fields.text("name")),
                text=fields.text("text"),
                current=SchemaName(fields.text("current_catalog"), fields.text("current_schema")),
                columns=fields.view_columns("columns"),
                properties=fields.pairs("properties"),
                owner=fields.optional_text("owner"),
                comment=fields.optional_text("comment"),
                created_ms=fields.optional_integer("created_ms"),
                extra=fields.rest(),
            )
        case "clone":
            return CloneEntry(location=fields.text("location"), sources=fields.texts("sources"), extra=fields.rest())
        case _:
            raise MalformedEntry(f"unknown kind {kind!r}")


def _table_name_json(name: TableName) -> dict[str, object]:
    return {"catalog": name.catalog, "schema": name.schema, "name": name.table}


class _Fields:
    """Takes typed fields out of a JSON object; what nobody took is `rest()`."""

    def __init__(self, value: dict[str, object]) -> None:
        self._left = dict(value)

    def text(self, key: str) -> str:
        value = self.optional_text(key)
        if value is None:
            raise MalformedEntry(f"no {key!r}")
        return value

    def optional_text(self, key: str) -> str | None:
        value = self._left.pop(key, None)
        if value is None or isinstance(value, str):
            return value
        raise MalformedEntry(f"{key!r} is no text")

    def pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        """The pairs of an object of texts, which may be missing."""
        value = self._left.pop(key, None) or {}
        if isinstance(value, dict) and all(isinstance(text, str) for text in value.values()):
            return tuple(value.items())
        raise MalformedEntry(f"{key!r} is no object of texts")

    def optional_integer(self, key: str) -> int | None:
        value = self._left.pop(key, None)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise MalformedEntry(f"{key!r} is no whole number")

    def flag(self, key: str) -> bool:
        value = self._left.pop(key, False)
        if isinstance(value, bool):
            return value
        raise MalformedEntry(f"{key!r} is neither true nor false")

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._left.pop(key, None)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise MalformedEntry(f"{key!r} is no list of texts")

    def view_columns(self, key: str) -> tuple[ViewColumn, ...]:
        value = self._left.pop(key, None) or []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise MalformedEntry(f"{key!r} is no list of objects")
        read = [_Fields(item) for item in value]
        return tuple(
            ViewColumn(
                name=item.text("name"),
                source=item.text("source"),
                type=item.text("type"),
                comment=item.optional_text("comment"),
            )
            for item in read
        )

    def rest(self) -> JsonObject:
        return dict(self._left)
