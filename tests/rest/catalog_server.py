"""A small Iceberg REST catalog, as a process: `python -m tests.rest.catalog_server FOLDER`, which prints its port.

pyiceberg applies updates and checks requirements, so that independent code judges our requests. Faults are queued by
POST /faults: a list of {"method", "contains", "status", "applies", "body", "cut"}; each answers one matching request,
after carrying it out if `applies`. `status` 0 closes the connection. A response has the fault's `body`, or the true one
with `cut`, which closes the connection that many bytes before the end; with `holds` it waits for a POST /release, and
then has the true one; `echoes` puts the request's authorization into the message, and `retry_after` is a header. POST
/vend sets the credentials vended with a table on request; with `keys`, their lifetime in seconds, keys for the small S3
(`tests.rest.s3_keys`) per table, and with `warehouse` the catalog creates tables there. GET /requests returns the
requests.
"""

from __future__ import annotations

import json
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pyiceberg.catalog.rest import CreateTableRequest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableRequest
from pyiceberg.table.metadata import TableMetadata, TableMetadataV1, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import update_table_metadata

from tests.rest.s3_keys import give_out

PREFIX = "wh-1"
CLIENT_ID, CLIENT_SECRET = "gateway", "s3cret-of-the-client"
PAGE = 2


class Refusal(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class State:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.Lock()
        self.namespaces: dict[tuple[str, ...], dict[str, str]] = {}
        self.tables: dict[tuple[tuple[str, ...], str], tuple[int, TableMetadata]] = {}
        self.views: dict[tuple[tuple[str, ...], str], Any] = {}
        self.released = threading.Event()
        self.vended: dict[str, Any] = {}
        self.faults: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.tokens: set[str] = set()

    def location(self, namespace: tuple[str, ...], name: str) -> str:
        return f"{self.vended.get('warehouse', f'file://{self.folder}')}/{'/'.join(namespace)}/{name}"

    def given(self, location: str) -> dict[str, Any]:
        """Returns the credentials vended with a table."""
        if "keys" not in self.vended:
            return {key: value for key, value in self.vended.items() if key != "warehouse"}
        keys = give_out(location.removeprefix("s3://"), self.vended["keys"])
        return {"config": {**self.vended.get("config", {}), **keys}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # see `tests.rest.s3_server`
    state: State

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self._handle("GET")

    def do_POST(self) -> None:
        self._handle("POST")

    def do_DELETE(self) -> None:
        self._handle("DELETE")

    def do_HEAD(self) -> None:
        self._handle("HEAD")

    def _handle(self, method: str) -> None:
        state, url = self.state, urlsplit(self.path)
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if url.path == "/faults":
            state.faults = json.loads(data)
            state.released.clear()
            return self._answer(200, {})
        if url.path == "/requests":
            found, state.requests = state.requests, []
            return self._answer(200, {"requests": found})
        if url.path == "/vend":
            state.vended = json.loads(data)
            return self._answer(200, {})
        if url.path == "/release":
            state.released.set()
            return self._answer(200, {})
        state.requests.append(f"{method} {self.path}")
        fault = next((f for f in state.faults if f["method"] == method and f["contains"] in self.path), None)
        if fault is not None:
            state.faults.remove(fault)
            if fault.get("holds"):
                state.released.wait()
                fault = None
        with state.lock:
            try:
                status, body, etag = (
                    (0, {}, None) if fault and not fault.get("applies") else self._route(method, url, data)
                )
            except Refusal as refusal:
                status, body, etag = (
                    refusal.status,
                    {"error": {"message": refusal.message, "code": refusal.status}},
                    None,
                )
        if fault is None:
            return self._answer(status, body, etag)
        if fault["status"] == 0:
            self.close_connection = True
            return None
        if "cut" in fault:
            self.close_connection = True
            return self._answer(status, body, etag, fault["cut"])
        shown = self.headers.get("Authorization") if fault.get("echoes") else "a fault"
        reported = fault.get("body", {"error": {"message": shown, "code": fault["status"]}})
        return self._answer(fault["status"], reported, retry_after=fault.get("retry_after"))

    def _answer(
        self, status: int, body: Any, etag: str | None = None, cut: int = 0, retry_after: str | None = None
    ) -> None:
        data = b"" if status in (204, 304) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Type", "application/json")
        if etag:
            self.send_header("ETag", etag)
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) - cut])

    # --- Requests ---

    def _route(self, method: str, url: Any, data: bytes) -> tuple[int, Any, str | None]:
        if url.path == "/v1/oauth/tokens":
            return 200, self._token(parse_qs(data.decode())), None
        if self.headers.get("Authorization", "").removeprefix("Bearer ") not in self.state.tokens | {"a-fixed-token"}:
            raise Refusal(401, "no such token")
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path == "/v1/config":
            return 200, {"defaults": {}, "overrides": {"prefix": PREFIX}}, None
        parts = url.path.removeprefix(f"/v1/{PREFIX}/").split("/")
        body = json.loads(data) if data else {}
        if (method, parts) == ("POST", ["tables", "rename"]):
            return self._rename(body)
        if parts[0] != "namespaces" or not url.path.startswith(f"/v1/{PREFIX}/"):
            raise Refusal(404, "no such path")
        namespace = tuple(unquote(parts[1]).split("\x1f")) if len(parts) > 1 else ()
        match method, parts[2:]:
            case "GET", [] if not namespace:
                parent = tuple(unquote(query["parent"]).split("\x1f")) if "parent" in query else ()
                found = [each for each in self.state.namespaces if each[:-1] == parent]
                return 200, self._page("namespaces", [list(each) for each in found], query), None
            case "POST", []:
                made = tuple(body["namespace"])
                if made in self.state.namespaces:
                    raise Refusal(409, "the namespace is there")
                self.state.namespaces[made] = body.get("properties") or {}
                return 200, {"namespace": list(made), "properties": self.state.namespaces[made]}, None
            case (("GET" | "HEAD"), []):
                self._known(namespace)
                return 200, {"namespace": list(namespace), "properties": self.state.namespaces[namespace]}, None
            case "DELETE", []:
                self._known(namespace)
                if any(each == namespace for each, _ in (*self.state.tables, *self.state.views)):
                    raise Refusal(409, "the namespace is not empty")
                del self.state.namespaces[namespace]
                return 204, {}, None
            case "POST", ["properties"]:
                self._known(namespace)
                mine = self.state.namespaces[namespace]
                mine |= body.get("updates") or {}
                removed = [key for key in body.get("removals") or () if mine.pop(key, None) is not None]
                return 200, {"updated": list(body.get("updates") or ()), "removed": removed, "missing": []}, None
            case "GET", ["tables"]:
                self._known(namespace)
                names = [
                    {"namespace": list(each), "name": name} for each, name in self.state.tables if each == namespace
                ]
                return 200, self._page("identifiers", names, query), None
            case "GET", ["views"]:
                self._known(namespace)
                names = [
                    {"namespace": list(each), "name": name} for each, name in self.state.views if each == namespace
                ]
                return 200, self._page("identifiers", names, query), None
            case "GET", ["views", view]:
                return 200, self._view(namespace, unquote(view)), None
            case "POST", ["views"]:
                return 200, self._create_view(namespace, body), None
            case "POST", ["views", view]:
                return 200, self._replace_view(namespace, unquote(view), body), None
            case "DELETE", ["views", view]:
                self._view(namespace, unquote(view))
                del self.state.views[namespace, unquote(view)]
                return 204, {}, None
            case "POST", ["tables"]:
                return self._create(namespace, body)
            case "GET", ["tables", table]:
                return self._load(namespace, unquote(table))
            case "POST", ["tables", table]:
                return self._commit(namespace, unquote(table), body)
            case "DELETE", ["tables", table]:
                if self.state.tables.pop((namespace, unquote(table)), None) is None:
                    raise Refusal(404, "no such table")
                return 204, {}, None
            case _:
                raise Refusal(404, "no such path")

    def _view(self, namespace: tuple[str, ...], name: str) -> Any:
        if (namespace, name) not in self.state.views:
            raise Refusal(404, "no such view")
        return self.state.views[namespace, name]

    def _create_view(self, namespace: tuple[str, ...], body: Any) -> Any:
        self._known(namespace)
        key = namespace, body["name"]
        if key in self.state.views or key in self.state.tables:
            raise Refusal(409, "the name is taken")
        metadata = {
            "view-uuid": str(uuid.uuid4()),
            "format-version": 1,
            "location": body.get("location") or self.state.location(*key),
            "schemas": [body["schema"]],
            "current-version-id": body["view-version"]["version-id"],
            "versions": [body["view-version"]],
            "version-log": [],
            "properties": body["properties"],
        }
        self.state.views[key] = {"metadata-location": "file:///none", "metadata": metadata}
        return self.state.views[key]

    def _replace_view(self, namespace: tuple[str, ...], name: str, body: Any) -> Any:
        """Replaces a view as in the view spec: an id of -1 means the last added one."""
        metadata = self._view(namespace, name)["metadata"]
        if any(each["uuid"] != metadata["view-uuid"] for each in body["requirements"]):
            raise Refusal(409, "it is another view")
        for update in body["updates"]:
            match update["action"]:
                case "add-schema":
                    added = max(each["schema-id"] for each in metadata["schemas"]) + 1
                    metadata["schemas"].append({**update["schema"], "schema-id": added})
                case "add-view-version":
                    version = update["view-version"]
                    if version["schema-id"] == -1:
                        version["schema-id"] = metadata["schemas"][-1]["schema-id"]
                    metadata["versions"].append(version)
                case "set-current-view-version":
                    requested = update["view-version-id"]
                    metadata["current-version-id"] = (
                        metadata["versions"][-1]["version-id"] if requested == -1 else requested
                    )
                case "set-properties":
                    metadata["properties"] |= update["updates"]
                case "remove-properties":
                    for key in update["removals"]:
                        metadata["properties"].pop(key, None)
                case other:
                    raise Refusal(400, f"no update {other}")
        return self.state.views[namespace, name]

    def _rename(self, body: Any) -> tuple[int, Any, str | None]:
        old, new = ((tuple(body[key]["namespace"]), body[key]["name"]) for key in ("source", "destination"))
        self._known(new[0])
        if new in self.state.tables:
            raise Refusal(409, "the table is there")
        self.state.tables[new] = self._table(*old)
        del self.state.tables[old]
        return 204, {}, None

    def _token(self, form: dict[str, list[str]]) -> Any:
        if (form.get("client_id"), form.get("client_secret")) != ([CLIENT_ID], [CLIENT_SECRET]):
            raise Refusal(401, "no such client")
        token = uuid.uuid4().hex
        self.state.tokens = {token}  # earlier ones become invalid
        return {"access_token": token, "token_type": "bearer", "expires_in": 3600}

    def _known(self, namespace: tuple[str, ...]) -> None:
        if namespace not in self.state.namespaces:
            raise Refusal(404, "no such namespace")

    def _page(self, key: str, found: list[Any], query: dict[str, str]) -> Any:
        start = int(query.get("pageToken") or 0)
        more = {"next-page-token": str(start + PAGE)} if start + PAGE < len(found) else {}
        return {key: found[start : start + PAGE], **more}

    def _table(self, namespace: tuple[str, ...], name: str) -> tuple[int, TableMetadata]:
        found = self.state.tables.get((namespace, name))
        if found is None:
            raise Refusal(404, "no such table")
        return found

    def _load(self, namespace: tuple[str, ...], name: str) -> tuple[int, Any, str | None]:
        etag = self._etag(namespace, name)
        if self.headers.get("If-None-Match") == etag:
            return 304, {}, etag
        return 200, self._described(namespace, name), etag

    def _described(self, namespace: tuple[str, ...], name: str) -> Any:
        version, metadata = self._table(namespace, name)
        return {
            "metadata-location": f"{metadata.location}/metadata/{version:05}-0.metadata.json",
            "metadata": json.loads(metadata.model_dump_json()),
            **self._given(metadata.location),
        }

    def _given(self, location: str) -> dict[str, Any]:
        is_requested = self.headers.get("X-Iceberg-Access-Delegation") == "vended-credentials"
        return self.state.given(location) if is_requested else {}

    def _create(self, namespace: tuple[str, ...], body: Any) -> tuple[int, Any, str | None]:
        self._known(namespace)
        request = CreateTableRequest.model_validate(
            {"location": None, "partition-spec": None, "write-order": None, **body}
        )
        if (namespace, request.name) in self.state.tables:
            raise Refusal(409, "the table is there")
        metadata = new_table_metadata(
            schema=request.table_schema,
            partition_spec=request.partition_spec or UNPARTITIONED_PARTITION_SPEC,
            sort_order=request.write_order or UNSORTED_SORT_ORDER,
            location=request.location or self.state.location(namespace, request.name),
            properties=request.properties,
        )
        if request.stage_create:
            staged = {"metadata": json.loads(metadata.model_dump_json()), "config": {}}
            return 200, {**staged, **self._given(metadata.location)}, None
        self.state.tables[namespace, request.name] = (0, metadata)
        return 200, self._described(namespace, request.name), None

    def _commit(self, namespace: tuple[str, ...], name: str, body: Any) -> tuple[int, Any, str | None]:
        request = CommitTableRequest.model_validate(body)
        makes = any(each["type"] == "assert-create" for each in body["requirements"])
        is_new = makes and (namespace, name) not in self.state.tables
        version, base = (-1, None) if is_new else self._table(namespace, name)
        try:
            for requirement in request.requirements:
                requirement.validate(base)
        except CommitFailedException as error:
            raise Refusal(409, str(error)) from error
        if base is None:
            self._known(namespace)
            base = TableMetadataV1.model_construct(last_column_id=-1, schema=Schema())
        metadata = update_table_metadata(base, request.updates, enforce_validation=version < 0)
        self.state.tables[namespace, name] = (version + 1, metadata)
        return 200, self._described(namespace, name), self._etag(namespace, name)

    def _etag(self, namespace: tuple[str, ...], name: str) -> str:
        version, metadata = self._table(namespace, name)
        return f'"{metadata.table_uuid}-{version}"'


def main() -> None:
    Handler.state = State(Path(sys.argv[1]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
