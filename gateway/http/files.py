"""Volume files over HTTP: Databricks' Files API, and the links for PUT, GET and REMOVE in drivers.

    PUT    /api/2.0/fs/files/Volumes/…[?overwrite=true]      the body is the file
    POST   /api/2.0/fs/files/Volumes/…?action=initiate-upload
    GET    /api/2.0/fs/files/Volumes/…                       with one Range, HEAD too
    DELETE /api/2.0/fs/files/Volumes/…
    PUT, GET, HEAD, DELETE /api/2.0/fs/directories/Volumes/…
    PUT, GET, DELETE /api/2.0/fs/staged/<id>                 (`staged_links.py`)

Each request runs one of its user's statements, which authorizes and records it, before bytes are transferred: for an
upload when its head has arrived. A link therefore uses the rights that its user has at the time of access.
"""

from __future__ import annotations

import re
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from typing import BinaryIO

from flask import Blueprint, Response, g, request

from catalog.conditions import EngineNotAnswering, InvalidField, TooManyWaiting, VolumeFileNotFound
from engine.runtime.identity import Identity
from engine.statements.volumes.statement import ChangeFile, GetFile, ListVolume
from engine.storage.volume_files import COPY_BYTES, FileOperation, FileTransfer, VolumeFile
from gateway.http.browse import ROWS_MAX, json_values
from gateway.http.queries import number_of
from gateway.http.requests import SessionRequest
from gateway.http.staged_links import STAGED, StagedLinks
from gateway.http.statements import StatementApi
from gateway.http.wsgi import ACCEPTED, STREAMED, STREAMING
from gateway.sessions.operation import Operation
from gateway.sessions.session import Session

FILES, DIRECTORIES = "/api/2.0/fs/files", "/api/2.0/fs/directories"
_OPEN_S, _ANSWER_S = 5.0, 60.0
_RANGE = re.compile(r"bytes=([0-9]{1,18})-([0-9]{0,18})")
_PAGE_ROWS = 1000


def files_blueprint(api: StatementApi) -> Blueprint:
    """Creates the routes for authenticated clients."""
    routes = Blueprint("files", __name__)
    files = _Files(api)

    @routes.before_request
    def authenticate() -> None:
        if (accepted := _accepted_upload()) is None:
            api.authenticate()
        else:
            # The body may have taken hours; the login must still be valid when the file is
            # written.
            api.callers.ensure_current(accepted.identity)
            g.identity = accepted.identity

    @routes.get(f"{FILES}/<path:path>")
    def download(path: str) -> Response:
        return _download(files.transfer(GetFile(path=f"/{path}")).file)

    @routes.put(f"{FILES}/<path:path>")
    def upload(path: str) -> Response:
        overwrite = request.args.get("overwrite", "false").lower() == "true"
        return _upload(files, ChangeFile(operation=FileOperation.PUT, path=f"/{path}", overwrite=overwrite))

    @routes.post(f"{FILES}/<path:path>")
    def begin_parts(path: str) -> dict[str, object]:
        """Begins a multipart upload, for which no URLs are issued: create-upload-part-urls is not found.

        databricks-sdk sends files of 50 MB and more in parts. It fails if it cannot begin, and sends the file by one
        PUT if it gets no URL for the first part. That PUT is recorded; here only a rejection is.
        """
        if request.args.get("action") != "initiate-upload":
            raise InvalidField("action", "must be initiate-upload. Uploads in parts are not supported, send one PUT")
        overwrite = request.args.get("overwrite", "false").lower() == "true"
        statement = ChangeFile(operation=FileOperation.PUT, path=f"/{path}", overwrite=overwrite)
        # The failing statement runs once more to be recorded as denied.
        if not files.may_transfer(statement):
            files.transfer(statement)
        return {"multipart_upload": {"session_token": "none"}}

    @routes.delete(f"{FILES}/<path:path>")
    def delete(path: str) -> Response:
        return _apply_change(files.transfer(_removal(path, FileOperation.REMOVE)))

    @routes.put(f"{DIRECTORIES}/<path:path>")
    def make_folder(path: str) -> Response:
        return _apply_change(files.transfer(_removal(path, FileOperation.MAKE_FOLDER)))

    @routes.delete(f"{DIRECTORIES}/<path:path>")
    def remove_folder(path: str) -> Response:
        return _apply_change(files.transfer(_removal(path, FileOperation.REMOVE_FOLDER)))

    @routes.get(f"{DIRECTORIES}/<path:path>")
    def list_folder(path: str) -> Response | dict[str, object]:
        size = number_of("page_size", default=_PAGE_ROWS, largest=ROWS_MAX - 1) or _PAGE_ROWS
        after = _name_after(request.args.get("page_token", ""))
        found = files.rows(ListVolume(path=f"/{path}", limit=size + 1, after=after))
        if request.method == "HEAD":
            return Response(status=HTTPStatus.OK)
        return _page_of(found, size)

    return routes


def staged_blueprint(api: StatementApi, links: StagedLinks) -> Blueprint:
    """Creates the link targets, which need no other credentials."""
    routes = Blueprint("staged", __name__)
    files = _Files(api)

    @routes.route(f"{STAGED}<key>", methods=["GET", "PUT", "DELETE"])
    def follow(key: str) -> Response:
        staged = links.find(request.method, request.full_path)
        api.callers.ensure_current(staged.identity)
        g.identity = staged.identity
        if staged.operation is FileOperation.GET:
            return _download(files.transfer(GetFile(path=staged.path)).file)
        change = ChangeFile(operation=staged.operation, path=staged.path, overwrite=staged.overwrite)
        if staged.operation is FileOperation.PUT:
            return _upload(files, change)
        transfer = files.transfer(change)
        try:
            return _apply_change(transfer)
        except VolumeFileNotFound:  # on an object store a folder disappears with its last file
            if staged.operation is FileOperation.REMOVE and not transfer.file.has_folders:
                return Response(status=HTTPStatus.NO_CONTENT)
            raise

    return routes


def _removal(path: str, operation: FileOperation) -> ChangeFile:
    return ChangeFile(operation=operation, path=f"/{path}")


@dataclass(frozen=True, slots=True)
class _AcceptedUpload:
    """An upload whose head was authorized; its body follows."""

    identity: Identity
    transfer: FileTransfer


def _accepted_upload() -> _AcceptedUpload | None:
    accepted = None if request.environ.get(STREAMING) else request.environ.get(ACCEPTED)
    assert accepted is None or isinstance(accepted, _AcceptedUpload)
    return accepted


def _upload(files: _Files, change: ChangeFile) -> Response:
    """Authorizes the upload when its head has arrived, and writes the file when its body has."""
    accepted = _accepted_upload()
    transfer = files.transfer(change) if accepted is None else accepted.transfer
    if request.environ.get(STREAMING):
        request.environ[ACCEPTED] = _AcceptedUpload(g.identity, transfer)
        return Response(status=HTTPStatus.NO_CONTENT)
    return _apply_change(transfer)


@dataclass(frozen=True, slots=True)
class _Files:
    """Statements about files, each in its own session."""

    api: StatementApi

    def transfer(self, statement: GetFile | ChangeFile) -> FileTransfer:
        """Returns the transfer that the statement permits; raises its error."""
        found: list[FileTransfer] = []

        def stage(transfer: FileTransfer) -> str:
            found.append(transfer)
            return ""

        self._run(lambda session: session.transfer(statement, stage))
        return found[0]

    def may_transfer(self, statement: ChangeFile) -> bool:
        """Returns True if :meth:`transfer` would be allowed now; nothing is recorded."""
        with self._session() as session:
            return session.may_transfer(statement)

    def rows(self, statement: ListVolume) -> list[dict[str, object]]:
        return self._run(lambda session: session.request(statement))

    def _run(self, begin: Callable[[Session], Operation]) -> list[dict[str, object]]:
        with self._session() as session:
            operation = begin(session)
            if not operation.wait(_ANSWER_S).is_final:
                raise EngineNotAnswering(_ANSWER_S)
            return json_values(operation.page(0, ROWS_MAX).rows)

    @contextmanager
    def _session(self) -> Iterator[Session]:
        registry = self.api.registry()
        identity = self.api.identity()
        with self.api.wait_queue.place() as may_wait:
            if not may_wait:
                raise TooManyWaiting(self.api.wait_queue.places)
            session_request = SessionRequest(catalog=None, schema=None, settings={})
            session = self.api.open(session_request, _OPEN_S, may_lack_schema=True)
            try:
                yield session
            finally:
                self.api.end(partial(registry.close_session, session.id, identity))


def _apply_change(transfer: FileTransfer) -> Response:
    file = transfer.file
    match transfer.operation:
        case FileOperation.PUT:
            body = request.environ["wsgi.input"]  # which the connection has limited, unlike Flask's own limit
            file.write(body, overwrite=transfer.overwrite)
        case FileOperation.REMOVE:
            file.remove()
        case FileOperation.MAKE_FOLDER:
            file.make_folder()
        case FileOperation.REMOVE_FOLDER:
            file.remove_folder()
        case FileOperation.GET:
            return _download(file)
    return Response(status=HTTPStatus.NO_CONTENT)


def _download(file: VolumeFile) -> Response:
    """Sends the file, or one Range of it; its bytes are read while they are sent."""
    status = file.status()
    first, last = _range(request.headers.get("Range"), status.size)
    is_part = (first, last) != (0, status.size - 1)
    content = iter(()) if request.method == "HEAD" else _pieces(file.open(), first, last - first + 1)
    answer = Response(content, status=HTTPStatus.PARTIAL_CONTENT if is_part else HTTPStatus.OK)
    answer.content_type = "application/octet-stream"
    answer.headers["Content-Length"] = str(last - first + 1)
    answer.headers["Last-Modified"] = formatdate(status.modified_ms / 1000, usegmt=True)
    answer.headers["Accept-Ranges"] = "bytes"
    if is_part:
        answer.headers["Content-Range"] = f"bytes {first}-{last}/{status.size}"
    request.environ[STREAMED] = True
    return answer


def _range(range_header: str | None, size: int) -> tuple[int, int]:
    """Returns the first and the last byte; all unless the request has a single valid byte range."""
    match = _RANGE.fullmatch(range_header or "")
    # RFC 9110, section 14.2: a server may ignore the Range header. An answer with the whole
    # file is correct for every range.
    if match is None or int(match[1]) >= size:
        return 0, size - 1
    return int(match[1]), min(int(match[2]) if match[2] else size - 1, size - 1)


def _pieces(file: BinaryIO, first: int, count: int) -> Iterator[bytes]:
    with file:
        file.seek(first)
        while count and (piece := file.read(min(COPY_BYTES, count))):
            count -= len(piece)
            yield piece


def _page_of(rows: list[dict[str, object]], size: int) -> dict[str, object]:
    """Returns a folder page in Databricks' form. The token contains its last name: files that appear or disappear
    between two pages neither hide nor repeat others.
    """
    contents = []
    for row in rows[:size]:
        path, name = str(row["path"]), str(row["name"])
        is_folder = path.endswith("/")
        entry: dict[str, object] = {"path": path.rstrip("/"), "name": name.rstrip("/"), "is_directory": is_folder}
        if not is_folder:
            entry |= {"file_size": row["size"], "last_modified": row["modification_time"]}
        contents.append(entry)
    if len(rows) <= size:
        return {"contents": contents}
    return {"contents": contents, "next_page_token": urlsafe_b64encode(str(rows[size - 1]["name"]).encode()).decode()}


def _name_after(token: str) -> str:
    """Parses a page token; raises `InvalidField`."""
    try:
        return b64decode(token, altchars=b"-_", validate=True).decode()
    except ValueError as error:  # includes decoding errors
        raise InvalidField("page_token", "must be the next_page_token of the page before") from error
