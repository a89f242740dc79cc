"""Saved queries over HTTP, near Databricks' Queries API: texts on the server, in folders, with rights to share them.

    POST   /api/2.0/sql/queries                      create
    GET    /api/2.0/sql/queries                      the user's own and those shared with it, without their texts
    GET    /api/2.0/sql/queries/{id}
    PATCH  /api/2.0/sql/queries/{id}                 change fields; rejected with a stale `etag`
    DELETE /api/2.0/sql/queries/{id}
    GET    /api/2.0/sql/queries/{id}/permissions     the rights of others, for the owner
    PUT    /api/2.0/sql/queries/{id}/permissions     replace them
    GET    /api/2.0/sql/queries/folders
    POST   /api/2.0/sql/queries/folders/move         rename or move a folder of the user
    POST   /api/2.0/sql/queries/folders/delete       delete the user's queries in it

`engine/saved_queries.py` decides about rights.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, request

from catalog.conditions import SavedQueryNotAllowed
from catalog.grants.right_differences import RightDifference
from catalog.queries.queries import Share, is_in_folder
from engine.saved_queries import SavedQueries, VisibleQuery
from gateway.audit.auditor import QueryEvent
from gateway.http.callers import json_content, origin_of_request
from gateway.http.delivery import API
from gateway.http.queries import number_of
from gateway.http.query_requests import (
    parse_folder,
    parse_folder_move,
    parse_new_query,
    parse_path,
    parse_query_change,
    parse_shares,
)
from gateway.http.statements import StatementApi

PATH = f"{API}/queries"
_PAGE_MAX = 1000
_OFFSET_MAX = 2**31
# The owner's name in the list's filter for the user itself.
_ME = "me"

Body = dict[str, Any]


def saved_queries_blueprint(api: StatementApi) -> Blueprint:
    """Returns the routes below `/api/2.0/sql/queries`: saved queries, their folders and their rights."""
    routes = Blueprint("saved_queries", __name__)
    routes.before_request(api.authenticate)

    @routes.post(PATH)
    def create() -> Body:
        content = parse_new_query(json_content())
        with _recorded(api, "create") as event:
            made = _queries(api).create(api.identity(), content)
            event.found(made.query.id, content.query_text)
        return query_body(made)

    @routes.get(PATH)
    def show() -> Body:
        size = number_of("page_size", default=_PAGE_MAX, smallest=1, largest=_PAGE_MAX)
        first = number_of("page_token", default=0, largest=_OFFSET_MAX)
        found = list(_filtered(api))
        more = {"next_page_token": str(first + size)} if len(found) > first + size else {}
        unreadable = _queries(api).unreadable(api.identity())
        return {
            "results": [query_body(each, has_text=False) for each in found[first : first + size]],
            "unreadable": [
                {"id": each.path, "owner_user_name": each.label, "reason": each.reason} for each in unreadable
            ],
            **more,
        }

    @routes.get(f"{PATH}/<query_id>")
    def find(query_id: str) -> Body:
        return query_body(_queries(api).find(api.identity(), query_id))

    @routes.patch(f"{PATH}/<query_id>")
    def update(query_id: str) -> Body:
        change = parse_query_change(json_content())
        with _recorded(api, "update", query_id) as event:
            updated = _queries(api).update(api.identity(), query_id, change.changes, change.version)
            event.found(query_id, updated.query.content.query_text)
        return query_body(updated)

    @routes.delete(f"{PATH}/<query_id>")
    def delete(query_id: str) -> Body:
        with _recorded(api, "delete", query_id):
            _queries(api).delete(api.identity(), query_id)
        return {}

    _add_shares(routes, api)
    _add_folders(routes, api)
    return routes


def _add_shares(routes: Blueprint, api: StatementApi) -> None:
    @routes.get(f"{PATH}/<query_id>/permissions")
    def shares(query_id: str) -> Body:
        return _shares_body(api, _queries(api).shares(api.identity(), query_id))

    @routes.put(f"{PATH}/<query_id>/permissions")
    def share(query_id: str) -> Body:
        wanted = parse_shares(json_content())
        with _recorded(api, "share", query_id) as event:
            before, query = _queries(api).share(api.identity(), query_id, wanted)
            event.shared(_difference(query_id, before, query.shares))
        return _shares_body(api, query.shares)


def _add_folders(routes: Blueprint, api: StatementApi) -> None:
    @routes.get(f"{PATH}/folders")
    def folders() -> Body:
        found = _queries(api).folders(api.identity())
        return {
            "folders": [{"path": each.path, "owner_user_name": each.owner, "query_count": each.count} for each in found]
        }

    @routes.post(f"{PATH}/folders/move")
    def move() -> Body:
        path, new_path = parse_folder_move(json_content())
        with _recorded(api, "move_folder"):
            return {"moved": _queries(api).move_folder(api.identity(), path, new_path)}

    @routes.post(f"{PATH}/folders/delete")
    def delete_folder() -> Body:
        path = parse_folder(json_content())
        with _recorded(api, "delete_folder"):
            return {"deleted": _queries(api).delete_folder(api.identity(), path)}


def query_body(visible: VisibleQuery, *, has_text: bool = True) -> Body:
    """Returns a query in Databricks' form, with additional fields; `permission` is the user's own right."""
    query, content = visible.query, visible.query.content
    text: Body = {}
    if has_text:
        text = {
            "query_text": content.query_text,
            "chart": None if content.chart is None else json.loads(content.chart),
        }
    return {
        "id": query.id,
        "display_name": content.display_name,
        "description": content.description,
        "parent_path": content.parent_path,
        "catalog": content.catalog,
        "schema": content.schema,
        "parameters": [
            {"name": each.name, "type": each.type, "value": each.value, "title": each.title}
            for each in content.parameters
        ],
        **text,
        "owner_user_name": query.owner,
        "last_modifier_user_name": query.updated_by,
        "create_time": _time(query.created_ms),
        "update_time": _time(query.updated_ms),
        "lifecycle_state": "ACTIVE",
        "etag": str(query.version),
        "permission": visible.level,
        "is_shared": bool(query.shares),
    }


def _queries(api: StatementApi) -> SavedQueries:
    return api.registry().engine.saved_queries


def _filtered(api: StatementApi) -> Iterator[VisibleQuery]:
    """Yields the queries that the request's filters select."""
    identity, owner = api.identity(), request.args.get("owner") or None
    folder = parse_path("parent_path", request.args.get("parent_path") or "/")
    text = request.args.get("text", "").casefold()
    for visible in _queries(api).visible_queries(identity, identity.principal if owner == _ME else owner):
        content = visible.query.content
        searched = (content.display_name, content.description, content.query_text)
        if is_in_folder(content.parent_path, folder) and any(text in each.casefold() for each in searched):
            yield visible


def _shares_body(api: StatementApi, shares: Iterable[Share]) -> Body:
    """Returns the rights; `is_known` is false for a name that the server has never seen."""
    queries, identity = _queries(api), api.identity()
    return {
        "access_control_list": [
            {
                f"{share.kind.value}_name": share.name,
                "permission_level": share.level,
                "is_known": queries.is_known(identity, share.principal),
            }
            for share in shares
        ]
    }


def _difference(query_id: str, before: tuple[Share, ...], after: tuple[Share, ...]) -> RightDifference:
    had, has = (
        [f"{share.level} TO {share.kind.value.upper()} {share.name}" for share in shares] for shares in (before, after)
    )
    return RightDifference(
        kind="SAVED QUERY",
        name=query_id,
        removed=tuple(each for each in had if each not in has),
        added=tuple(each for each in has if each not in had),
    )


@contextmanager
def _recorded(api: StatementApi, action: str, query_id: str | None = None) -> Iterator[QueryEvent]:
    """Records the attempt, and afterwards the outcome with what the block reports."""
    event = QueryEvent(action, query_id)
    auditor, identity, origin = api.callers.auditor, api.identity(), origin_of_request()
    auditor.record_query_change(event, "begin", identity, origin)
    outcome = "failed"
    try:
        yield event
        outcome = "ok"
    except SavedQueryNotAllowed:
        outcome = "denied"
        raise
    finally:
        auditor.record_query_change(event, outcome, identity, origin)


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
