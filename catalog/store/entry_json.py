"""Conversion between catalog entries and JSON. Pure.

An entry's JSON is one small, readable object. `kind` names the entry's class. Fields that this release does not
recognize are kept and written back, so that an older server does not strip a newer server's fields. Fields that
privileges depend on are parsed strictly: an unknown principal kind or privilege makes the entry unreadable.

    {"kind": "table", "catalog": "spark_catalog", "schema": "shop", "name": "orders",
     "location": "/data/lake/shop/orders", "format": "delta", "managed": false, "owner": "ada", "comment": null,
     "created_ms": 1767225600000,
     "grants": [{"group": "sales", "privilege": "SELECT", "grantor": "ada"}]}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TypedDict, assert_never

from catalog.entries import (
    CatalogEntry,
    CloneEntry,
    Entry,
    FunctionColumn,
    FunctionEntry,
    FunctionParameter,
    GroupEntry,
    JsonObject,
    LocationEntry,
    OwnedEntry,
    SchemaEntry,
    SchemaMode,
    ServerEntry,
    TableEntry,
    ViewColumn,
    ViewEntry,
    VolumeEntry,
)
from catalog.grants.privileges import Grant, Principal, PrincipalKind, Privilege
from catalog.names import CatalogName, SchemaName, TableName
from catalog.policies.policies import ColumnMask, Policies, PolicyArgument, PolicyFunction
from catalog.policies.tag_json import TAG_KEYS, TagFields, tags_from_json, tags_json
from catalog.policies.tags import Tags


class MalformedEntry(ValueError):
    """The JSON is not an entry; the store adds the file name."""


def to_json(entry: Entry) -> dict[str, object]:
    """Returns the entry as a JSON object, with fields in reading order."""
    own: dict[str, object]
    match entry:
        case CloneEntry():
            return {"kind": "clone", "location": entry.location, "sources": list(entry.sources), **entry.extra}
        case ServerEntry():
            return {"kind": "server", **_grants_json(entry.grants), **entry.extra}
        case GroupEntry():
            members = [_principal_json(member) for member in entry.members]
            return {"kind": "group", "name": entry.name, "members": members, **entry.extra}
        case CatalogEntry(name=name):
            rest = {} if entry.rest is None else {"rest": dict(entry.rest)}
            own = {"kind": "catalog", "name": name.catalog, **rest, **_common_json(entry), **tags_json(entry)}
        case SchemaEntry(name=name_):
            own = {"kind": "schema", "catalog": name_.catalog, "name": name_.schema, "location": entry.location}
            own |= {**_common_json(entry), **tags_json(entry)}
        case TableEntry():
            own = {
                "kind": "table",
                **_table_name_json(entry.name),
                "location": entry.location,
                **({} if entry.place is None else {"place": entry.place}),
                "format": entry.format,
                "managed": entry.managed,
                **_common_json(entry),
                **_times_json(entry),
                **_policies_json(entry.policies),
                **tags_json(entry),
            }
        case ViewEntry():
            own = _view_json(entry)
        case FunctionEntry():
            own = {
                "kind": "function",
                **_table_name_json(entry.name),
                "parameters": [asdict(parameter) for parameter in entry.parameters],
                "returns": entry.returns,
                "body": entry.body,
                **_current_json(entry.current),
                **_function_columns_json(entry),
                "deterministic": entry.deterministic,
                **_settings_json(entry.settings),
                **_common_json(entry),
                "created_ms": entry.created_ms,
            }
        case VolumeEntry():
            own = {
                "kind": "volume",
                **_table_name_json(entry.name),
                "location": entry.location,
                "managed": entry.managed,
                **_common_json(entry),
                "created_ms": entry.created_ms,
            }
        case LocationEntry():
            own = {"kind": "external location", "name": entry.name, "location": entry.location, **_common_json(entry)}
        case _:
            assert_never(entry)
    return {**own, **_grants_json(entry.grants), **entry.extra}


def _view_json(entry: ViewEntry) -> dict[str, object]:
    """Returns a view's own fields, without its grants."""
    return {
        "kind": "view",
        **_table_name_json(entry.name),
        "text": entry.text,
        **_current_json(entry.current),
        "columns": [asdict(column) for column in entry.columns],
        "properties": dict(entry.properties),
        **_settings_json(entry.settings),
        "schema_mode": entry.schema_mode.value,
        **_common_json(entry),
        **_times_json(entry),
        **tags_json(entry),
    }


def _common_json(entry: OwnedEntry) -> dict[str, object]:
    is_group = entry.owner_kind is PrincipalKind.GROUP
    return {"owner": entry.owner, **({"owner_is_group": True} if is_group else {}), "comment": entry.comment}


def _times_json(entry: TableEntry | ViewEntry) -> dict[str, object]:
    found: dict[str, object] = {"created_ms": entry.created_ms, "created_by": entry.created_by}
    if isinstance(entry, ViewEntry):
        found |= {"altered_ms": entry.altered_ms, "altered_by": entry.altered_by}
    return {key: value for key, value in found.items() if value is not None or key == "created_ms"}


def _settings_json(settings: tuple[tuple[str, str], ...]) -> dict[str, object]:
    return {"settings": dict(settings)} if settings else {}


def _function_columns_json(entry: FunctionEntry) -> dict[str, object]:
    found = {
        "columns": list(map(list, entry.columns)),
        "table_columns": list(map(asdict, entry.table_columns)),
    }
    return {key: value for key, value in found.items() if value}


def _current_json(current: SchemaName) -> dict[str, object]:
    return {"current_catalog": current.catalog, "current_schema": current.schema}


def _policies_json(policies: Policies) -> dict[str, object]:
    """Returns the policies' fields; empty if there are none."""
    found: dict[str, object] = {}
    if policies.row_filter is not None:
        found["row_filter"] = _policy_json(policies.row_filter)
    if policies.masks:
        found["column_masks"] = [{"column": mask.column, **_policy_json(mask.call)} for mask in policies.masks]
    return found


def _policy_json(call: PolicyFunction) -> dict[str, object]:
    arguments = [
        {"literal": each.literal} if each.column is None else {"column": each.column} for each in call.arguments
    ]
    return {"function": _table_name_json(call.function), "arguments": arguments}


def _grants_json(grants: Sequence[Grant]) -> dict[str, object]:
    """Returns the field with the grants; empty if there are none."""
    rows = [
        {**_principal_json(grant.principal), "privilege": grant.privilege.value, "grantor": grant.grantor}
        for grant in grants
    ]
    return {"grants": rows} if rows else {}


def _principal_json(principal: Principal) -> dict[str, object]:
    return {principal.kind.value: principal.name}


def from_json(value: object) -> Entry:
    """Parses the entry in a JSON object; raises MalformedEntry."""
    if not isinstance(value, dict):
        raise MalformedEntry("not a JSON object")
    fields = _Fields(value)
    kind = fields.text("kind")
    match kind:
        case "catalog":
            common = fields.common()
            name = CatalogName(fields.text("name"))
            rest = fields.optional_pairs("rest")
            return CatalogEntry(name=name, rest=rest, **common, **fields.tags(), extra=fields.rest())
        case "schema":
            return SchemaEntry(
                name=SchemaName(fields.text("catalog"), fields.text("name")),
                location=fields.optional_text("location"),
                **fields.common(),
                **fields.tags(),
                extra=fields.rest(),
            )
        case "table":
            return TableEntry(
                name=fields.table_name(),
                location=fields.text("location"),
                place=fields.optional_text("place"),
                format=fields.text("format"),
                managed=fields.flag("managed"),
                **fields.common(),
                policies=fields.policies(),
                **fields.tags(),
                created_ms=fields.optional_integer("created_ms"),
                created_by=fields.optional_text("created_by"),
                extra=fields.rest(),
            )
        case "view":
            return ViewEntry(
                name=fields.table_name(),
                text=fields.text("text"),
                current=fields.current(),
                columns=fields.view_columns("columns"),
                properties=fields.pairs("properties"),
                settings=fields.pairs("settings"),
                schema_mode=fields.schema_mode(),
                **fields.common(),
                tags=fields.view_tags(),
                created_ms=fields.optional_integer("created_ms"),
                created_by=fields.optional_text("created_by"),
                altered_ms=fields.optional_integer("altered_ms"),
                altered_by=fields.optional_text("altered_by"),
                extra=fields.rest(),
            )
        case "function":
            return _function(fields)
        case "volume":
            return _volume(fields)
        case "external location":
            location = fields.text("location")
            return LocationEntry(name=fields.text("name"), location=location, **fields.common(), extra=fields.rest())
        case "group":
            return GroupEntry(name=fields.text("name"), members=fields.principals("members"), extra=fields.rest())
        case "server":
            return ServerEntry(grants=fields.grants(), extra=fields.rest())
        case "clone":
            return CloneEntry(location=fields.text("location"), sources=fields.texts("sources"), extra=fields.rest())
        case _:  # the JSON comes from a file
            raise MalformedEntry(f"unknown kind {kind!r}")


def _function(fields: _Fields) -> FunctionEntry:
    return FunctionEntry(
        name=fields.table_name(),
        parameters=fields.parameters("parameters"),
        returns=fields.text("returns"),
        body=fields.text("body"),
        current=fields.current(),
        columns=fields.text_lists("columns"),
        table_columns=fields.function_columns("table_columns"),
        deterministic=fields.optional_flag("deterministic"),
        settings=fields.pairs("settings"),
        **fields.common(),
        created_ms=fields.optional_integer("created_ms"),
        extra=fields.rest(),
    )


def _volume(fields: _Fields) -> VolumeEntry:
    return VolumeEntry(
        name=fields.table_name(),
        location=fields.text("location"),
        managed=fields.flag("managed"),
        **fields.common(),
        created_ms=fields.optional_integer("created_ms"),
        extra=fields.rest(),
    )


def _table_name_json(name: TableName) -> dict[str, object]:
    return {"catalog": name.catalog, "schema": name.schema, "name": name.table}


class _Common(TypedDict):
    owner: str | None
    owner_kind: PrincipalKind
    comment: str | None
    grants: tuple[Grant, ...]


class _Fields:
    """Extracts typed fields from a JSON object; `rest()` returns the remaining ones."""

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
        """Returns the key-value pairs in an object with text values, which may be missing."""
        value = self._left.pop(key, None) or {}
        if isinstance(value, dict) and all(isinstance(text, str) for text in value.values()):
            return tuple(value.items())
        raise MalformedEntry(f"{key!r} is no object of texts")

    def optional_pairs(self, key: str) -> tuple[tuple[str, str], ...] | None:
        return self.pairs(key) if key in self._left else None

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

    def text_lists(self, key: str) -> tuple[tuple[str, ...], ...]:
        """Returns a list with lists of texts, which may be missing."""
        value = self._left.pop(key, [])
        if not isinstance(value, list):
            raise MalformedEntry(f"{key!r} is no list")
        return tuple(_Fields({key: item}).texts(key) for item in value)

    def optional_flag(self, key: str) -> bool | None:
        if self._left.get(key) is None:
            self._left.pop(key, None)
            return None
        return self.flag(key)

    def table_name(self) -> TableName:
        return TableName(self.text("catalog"), self.text("schema"), self.text("name"))

    def current(self) -> SchemaName:
        return SchemaName(self.text("current_catalog"), self.text("current_schema"))

    def common(self) -> _Common:
        """Returns the fields that all owned objects have."""
        kind = PrincipalKind.GROUP if self.flag("owner_is_group") else PrincipalKind.USER
        return {
            "owner": self.optional_text("owner"),
            "owner_kind": kind,
            "comment": self.optional_text("comment"),
            "grants": self.grants(),
        }

    def grants(self) -> tuple[Grant, ...]:
        found = []
        for item in self._objects("grants"):
            try:
                privilege = Privilege(item.text("privilege"))
            except ValueError as error:
                raise MalformedEntry(str(error)) from error
            found.append(Grant(item.principal(), privilege, item.optional_text("grantor")))
        return tuple(found)

    def principals(self, key: str) -> tuple[Principal, ...]:
        return tuple(item.principal() for item in self._objects(key))

    def principal(self) -> Principal:
        kinds = [kind for kind in PrincipalKind if kind.value in self._left]
        if len(kinds) != 1:
            raise MalformedEntry("a principal is either a user or a group")
        return Principal(kinds[0], self.text(kinds[0].value))

    def parameters(self, key: str) -> tuple[FunctionParameter, ...]:
        return tuple(
            FunctionParameter(
                name=item.text("name"),
                type=item.text("type"),
                default=item.optional_text("default"),
                comment=item.optional_text("comment"),
            )
            for item in self._objects(key)
        )

    def function_columns(self, key: str) -> tuple[FunctionColumn, ...]:
        return tuple(
            FunctionColumn(name=item.text("name"), type=item.text("type"), comment=item.optional_text("comment"))
            for item in self._objects(key)
        )

    def policies(self) -> Policies:
        """Parses policies strictly, because an unrecognized policy must not be ignored."""
        filters = self._objects("row_filter", is_one=True)
        masks = [(item.text("column"), item) for item in self._objects("column_masks")]
        return Policies(
            row_filter=filters[0].policy() if filters else None,
            masks=tuple(ColumnMask(column, item.policy()) for column, item in masks),
        )

    def tags(self) -> TagFields:
        """Parses tags strictly, because policies depend on them."""
        taken = {key: self._left.pop(key) for key in TAG_KEYS if key in self._left}
        try:
            return tags_from_json(taken)
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedEntry(f"its tags or policies are not understood: {error}") from error

    def view_tags(self) -> Tags:
        """Returns a view's tags. Raises `MalformedEntry` for a policy, which would have no effect on a view."""
        found = self.tags()
        if found["named_policies"]:
            raise MalformedEntry("a view has policies, which this release does not know")
        return found["tags"]

    def policy(self) -> PolicyFunction:
        (function,) = self._objects("function", is_one=True) or [_Fields({})]
        arguments = tuple(item.policy_argument() for item in self._objects("arguments"))
        call = PolicyFunction(function.table_name(), arguments)
        if left := [*function.rest(), *self.rest()]:
            raise MalformedEntry(f"a policy has {left[0]!r}, which this release does not know")
        return call

    def policy_argument(self) -> PolicyArgument:
        made = PolicyArgument(self.optional_text("column"), self.optional_text("literal"))
        if (made.column is None) == (made.literal is None) or self.rest():
            raise MalformedEntry("an argument of a policy is neither a column nor a literal")
        return made

    def _objects(self, key: str, *, is_one: bool = False) -> list[_Fields]:
        """Returns the objects in a list, which may be missing; with `is_one` a single object without a list."""
        value = self._left.pop(key, None) or []
        value = [value] if is_one and isinstance(value, dict) else value
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise MalformedEntry(f"{key!r} is no list of objects")
        return [_Fields(item) for item in value]

    def view_columns(self, key: str) -> tuple[ViewColumn, ...]:
        return tuple(
            ViewColumn(
                name=item.text("name"),
                source=item.text("source"),
                type=item.text("type"),
                comment=item.optional_text("comment"),
            )
            for item in self._objects(key)
        )

    def schema_mode(self) -> SchemaMode:
        try:
            return SchemaMode(self.optional_text("schema_mode") or SchemaMode.TYPE_EVOLUTION)
        except ValueError as error:
            raise MalformedEntry("'schema_mode' is no mode of a view") from error

    def rest(self) -> JsonObject:
        return dict(self._left)
