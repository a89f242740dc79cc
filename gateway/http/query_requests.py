"""Parsing of requests about saved queries: fields as in Databricks' Queries API, and this server's limits."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from catalog.conditions import InvalidField
from catalog.grants.privileges import PrincipalKind
from catalog.queries.queries import Level, QueryContent, QueryParameter, Share
from gateway.http.requests import RequestObject, parse_json

TEXT_BYTES_MAX, CHART_BYTES_MAX = 256 << 10, 64 << 10
NAME_MAX, DESCRIPTION_MAX, PARAMETERS_MAX, SHARES_MAX = 200, 4000, 100, 200
_PATH_MAX, _FOLDER_MAX, _DEPTH_MAX = 1000, 100, 20
_VALUE_MAX = 64 << 10

CONTENT_FIELDS = (
    "display_name",
    "description",
    "query_text",
    "parent_path",
    "catalog",
    "schema",
    "parameters",
    "chart",
)
# Fields of Databricks without a meaning here.
_IGNORED = ("warehouse_id", "run_as_mode", "tags", "apply_auto_limit")
_CONTENT = frozenset((*CONTENT_FIELDS, *_IGNORED))
_PARAMETER = frozenset(("name", "type", "value", "title"))
_SHARE = frozenset(("user_name", "group_name", "permission_level"))


@dataclass(frozen=True, slots=True)
class QueryChange:
    """`PATCH /api/2.0/sql/queries/{id}`: new values by the content's field."""

    changes: dict[str, Any]
    version: int | None


def parse_new_query(content: bytes) -> QueryContent:
    """Parses the body for a new query, which has at least a `display_name`. Raises `InvalidField`, `MalformedBody`."""
    body = RequestObject(parse_json(content), ("query", "auto_resolve_display_name"))
    query = body.member("query", _CONTENT)
    if "display_name" not in query.names():
        raise query.wrong("display_name", "must be given")
    return QueryContent(**_content(query, query.names()))


def parse_query_change(content: bytes) -> QueryChange:
    """Parses a change: the fields that the query has, or those in `update_mask`, of which missing ones are reset."""
    body = RequestObject(parse_json(content), ("query", "etag", "update_mask", "auto_resolve_display_name"))
    query = body.member("query", _CONTENT)
    names, mask = query.names(), body.text("update_mask")
    if mask is not None and mask != "*":
        names = tuple(filter(None, (name.strip() for name in mask.split(","))))
        if unknown := set(names) - _CONTENT:
            raise body.wrong("update_mask", f"must name fields of a query, not {sorted(unknown)[0]}")
    return QueryChange(_content(query, names), _version(body.text("etag")))


def parse_shares(content: bytes) -> tuple[Share, ...]:
    """Parses an `access_control_list`; repeated equal items count once. Raises `InvalidField`, `MalformedBody`."""
    body = RequestObject(parse_json(content), ("access_control_list",))
    shares: dict[tuple[str, str], Share] = {}
    for item in body.items("access_control_list", _SHARE):
        user_name, group_name = item.text("user_name"), item.text("group_name")
        if (user_name is None) == (group_name is None):
            raise item.wrong("user_name", "must be given, or group_name, and not both")
        level = item.option("permission_level", Level.VIEW)
        if level is Level.OWNER:
            raise item.wrong("permission_level", f"must be {Level.VIEW} or {Level.EDIT}")
        kind = PrincipalKind.GROUP if user_name is None else PrincipalKind.USER
        share = Share(kind=kind, name=user_name or group_name or "", level=level)
        if shares.setdefault((kind, share.principal.key), share) != share:
            raise item.wrong("permission_level", f"is given twice for {share.name}")
    if len(shares) > SHARES_MAX:
        raise body.wrong("access_control_list", f"must have at most {SHARES_MAX} items")
    return tuple(shares.values())


def parse_folder(content: bytes) -> str:
    """Parses the body with one folder's `path`. Raises `InvalidField`, `MalformedBody`."""
    body = RequestObject(parse_json(content), ("path",))
    return parse_path("path", body.text("path"))


def parse_folder_move(content: bytes) -> tuple[str, str]:
    """Returns a folder's path and its new one. Raises `InvalidField`, also for the root and for a move into itself."""
    body = RequestObject(parse_json(content), ("path", "new_path"))
    path, new_path = (parse_path(name, body.text(name)) for name in ("path", "new_path"))
    if path == "/":
        raise body.wrong("path", "must be a folder below /")
    if new_path.startswith(f"{path}/"):
        raise body.wrong("new_path", "must not be inside the folder that is moved")
    return path, new_path


def parse_path(name: str, text: str | None) -> str:
    """Returns a folder's path without a slash at its end, except `/`."""
    if not text or not text.startswith("/"):
        raise InvalidField(name, "must be a folder's path that begins with /")
    if len(text) > _PATH_MAX:
        raise InvalidField(name, f"must have at most {_PATH_MAX} characters")
    parts = [part for part in text.split("/") if part]
    if len(parts) > _DEPTH_MAX:
        raise InvalidField(name, f"must have at most {_DEPTH_MAX} folders")
    for part in parts:
        if part in (".", "..") or part != part.strip() or len(part) > _FOLDER_MAX or _has_controls(part):
            raise InvalidField(
                name,
                f"has a folder whose name is not possible: 1 to {_FOLDER_MAX} printable characters, and not . or ..",
            )
    return "/" + "/".join(parts)


def _content(query: RequestObject, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _field(query, name) for name in names if name in CONTENT_FIELDS}


def _field(query: RequestObject, name: str) -> Any:
    match name:
        case "display_name":
            return _display_name(query)
        case "query_text":
            text = query.text(name) or ""
            if len(text.encode()) > TEXT_BYTES_MAX:
                raise query.wrong(name, f"must have at most {TEXT_BYTES_MAX >> 10} KiB")
            return text
        case "description":
            return _limited(query, name, DESCRIPTION_MAX) or ""
        case "parent_path":
            return parse_path("query.parent_path", query.text(name) or "/")
        case "catalog" | "schema":
            return _limited(query, name, 255) or None
        case "parameters":
            return _parameters(query)
        case _:  # "chart", the last of `CONTENT_FIELDS`
            return query.json_text("chart", CHART_BYTES_MAX)


def _display_name(query: RequestObject) -> str:
    name = (_limited(query, "display_name", NAME_MAX) or "").strip()
    if not name or _has_controls(name):
        raise query.wrong("display_name", "must be given, without control characters")
    return name


def _parameters(query: RequestObject) -> tuple[QueryParameter, ...]:
    found: dict[str, QueryParameter] = {}
    for item in query.items("parameters", _PARAMETER):
        name = item.text("name") or ""
        if not re.fullmatch(r"\w{1,255}", name) or name in found:
            raise item.wrong("name", "must be a word, and different from the names of the others")
        found[name] = QueryParameter(
            name=name,
            type=(_limited(item, "type", 100) or "STRING").upper(),
            value=_limited(item, "value", _VALUE_MAX),
            title=_limited(item, "title", NAME_MAX),
        )
    if len(found) > PARAMETERS_MAX:
        raise query.wrong("parameters", f"must have at most {PARAMETERS_MAX} items")
    return tuple(found.values())


def _limited(fields: RequestObject, name: str, characters_max: int) -> str | None:
    text = fields.text(name)
    if text is not None and len(text) > characters_max:
        raise fields.wrong(name, f"must have at most {characters_max} characters")
    return text


def _has_controls(text: str) -> bool:
    return any(unicodedata.category(character).startswith("C") for character in text)


def _version(etag: str | None) -> int | None:
    if etag is None:
        return None
    # A tag that no query has is a stale one.
    return int(etag) if re.fullmatch(r"[0-9]{1,18}", etag) else -1
