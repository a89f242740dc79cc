"""Volume files as real clients transfer them: databricks-sql-connector over Thrift, databricks-sdk over HTTP."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from databricks import sql
from databricks.sdk import WorkspaceClient
from databricks.sdk.errors.base import DatabricksError
from databricks.sql.exc import Error

from catalog.conditions import LinkRefused
from catalog.volumes.paths import parse_volume_path
from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from engine.storage.volume_files import FileOperation, FileTransfer, VolumeFile
from gateway.authenticators.password_file import User, store_user
from gateway.authenticators.passwords import hash_password
from gateway.http.staged_links import STAGED, LinkSigner, StagedLinks
from tests.gateway.authenticators.users import make_users
from tests.gateway.http.conftest import eventually
from tests.security.secure_server import Answer, SecureServer, basic

pytestmark = [pytest.mark.clients, pytest.mark.spark]

WAREHOUSE = "/sql/1.0/warehouses/any"
VOLUME = "/Volumes/spark_catalog/default/v"
FILE_BYTES_MAX = 30_000_000


class _Shared(LakeEngine):
    def close(self) -> None:
        """Leaves Spark to other tests."""


@dataclass
class Volumes:
    """A server with a volume; zoë is an administrator, ann may read and write it, rae only read, bob neither."""

    server: SecureServer
    folder: Path

    def token(self, user: str) -> str:
        answer = self.server.ask("POST", "/api/2.0/token/create", {}, **basic(user))
        return str(answer.body["token_value"])

    @contextlib.contextmanager
    def cursor(self, user: str = "ann", **settings: Any) -> Iterator[Any]:
        url = f"http://127.0.0.1:{self.server.ports.http}{WAREHOUSE}"
        connection = sql.connect(
            server_hostname="127.0.0.1",
            http_path=WAREHOUSE,
            access_token=self.token(user),
            _connection_uri=url,
            enable_telemetry=False,
            _retry_stop_after_attempts_count=1,
            **settings,
        )
        with contextlib.closing(connection), connection.cursor() as cursor:
            yield cursor

    def files(self, user: str) -> Any:
        host = f"http://127.0.0.1:{self.server.ports.http}"
        return WorkspaceClient(host=host, token=self.token(user), auth_type="pat").files

    def stored(self) -> set[str]:
        """Returns the paths of all files in the volume, including temporary ones."""
        root = self.folder / "lake" / "default" / ".volumes"
        return {"/".join(path.relative_to(root).parts[1:]) for path in root.rglob("*") if path.is_file()}

    def staging_row(self, statement: str, user: str = "ann") -> Any:
        """Returns a statement's answer, which the driver does not follow."""
        with self.cursor(user) as cursor:
            rows: list[Any] = []
            cursor._handle_staging_operation = lambda **_: rows.append(cursor.active_result_set.fetchone())
            cursor.execute(statement)
        return rows[0]

    def link(self, statement: str, user: str = "ann") -> str:
        """Returns the path and query of the link in a statement's answer."""
        parts = urlsplit(self.staging_row(statement, user).presignedUrl)
        return f"{parts.path}?{parts.query}"

    def follow(self, method: str, link: str, body: bytes | None = None) -> Answer:
        return self.server.ask(method, link, body)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[Volumes]:
    folder = tmp_path_factory.mktemp("volumes")
    (folder / "lake").mkdir()
    store_user(make_users(folder / "users"), User("rae", hash_password("raerae"), ()))
    options = EngineOptions(lake_folder=str(folder / "lake"), catalog_folder=str(folder / "catalog"))
    secure_server = SecureServer(
        folder,
        _Shared(open_sources(options), spark_driver),
        authentication__methods=["password", "token"],
        authentication__admins=["zoë"],
        audit__folder=str(folder / "audit"),
        volumes__file_bytes_max=FILE_BYTES_MAX,
    ).start()
    found = Volumes(secure_server, folder)
    with found.cursor("zoë") as cursor:
        for text in (
            "CREATE VOLUME v",
            "GRANT USE CATALOG ON CATALOG TO `account users`",
            "GRANT USE SCHEMA ON SCHEMA default TO `account users`",
            "GRANT READ VOLUME, WRITE VOLUME ON VOLUME v TO ann",
            "GRANT READ VOLUME ON VOLUME v TO rae",
        ):
            cursor.execute(text)
    yield found
    secure_server.stop()


@pytest.fixture
def local(tmp_path: Path) -> Path:
    file = tmp_path / "a.csv"
    file.write_bytes(b"id,name\n1,x\n2,y\n")
    return file


def test_answer_names_local_file_only_of_statements_with_one(server: Volumes) -> None:
    """@databricks/sql requires headers as a map, and rejects a local file that is NULL."""
    path = "/Volumes/spark_catalog/default/v/answer.csv"
    put = server.staging_row(f"PUT '/tmp/answer.csv' INTO '{path}' OVERWRITE").asDict()
    assert (put["operation"], dict(put["headers"]), put["localFile"]) == ("PUT", {}, "/tmp/answer.csv")
    remove = server.staging_row(f"REMOVE '{path}'").asDict()
    assert (remove["operation"], dict(remove["headers"])) == ("REMOVE", {}) and "localFile" not in remove


def test_connector_puts_lists_gets_and_removes_a_file(server: Volumes, local: Path, tmp_path: Path) -> None:
    back = tmp_path / "back"
    with server.cursor(staging_allowed_local_path=str(tmp_path)) as cursor:
        cursor.execute(f"PUT '{local}' INTO '{VOLUME}/in/a.csv'")
        cursor.execute(f"LIST '{VOLUME}/in'")
        (row,) = cursor.fetchall()
        assert tuple(row)[:3] == (f"{VOLUME}/in/a.csv", "a.csv", local.stat().st_size)
        cursor.execute(f"GET '{VOLUME}/in/a.csv' TO '{back}'")
        assert back.read_bytes() == local.read_bytes()
        with pytest.raises(Error, match="FILE_IN_STAGING_PATH_ALREADY_EXISTS"):
            cursor.execute(f"PUT '{local}' INTO '{VOLUME}/in/a.csv'")
        local.write_bytes(b"new")
        cursor.execute(f"PUT '{local}' INTO '{VOLUME}/in/a.csv' OVERWRITE")
        cursor.execute(f"GET '{VOLUME}/in/a.csv' TO '{back}'")
        assert back.read_bytes() == b"new"
        cursor.execute(f"REMOVE '{VOLUME}/in/a.csv'")
        for text in (f"GET '{VOLUME}/in/a.csv' TO '{back}'", f"REMOVE '{VOLUME}/in/a.csv'"):
            with pytest.raises(Error, match="unsuccessful: 404"):
                cursor.execute(text)
    assert not server.stored()


def test_connector_puts_a_stream_and_a_file_that_does_not_fit_into_a_request(server: Volumes, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(os.urandom(FILE_BYTES_MAX - 1))
    with server.cursor(staging_allowed_local_path=str(tmp_path)) as cursor:
        cursor.execute(f"PUT '__input_stream__' INTO '{VOLUME}/stream'", input_stream=io.BytesIO(b"streamed"))
        cursor.execute(f"PUT '{large}' INTO '{VOLUME}/large'")
        cursor.execute(f"GET '{VOLUME}/large' TO '{tmp_path}/back'")
        assert (tmp_path / "back").read_bytes() == large.read_bytes()
        cursor.execute(f"REMOVE '{VOLUME}/large'")
        cursor.execute(f"GET '{VOLUME}/stream' TO '{tmp_path}/back'")
        assert (tmp_path / "back").read_bytes() == b"streamed"
        cursor.execute(f"REMOVE '{VOLUME}/stream'")


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("PUT 'x' INTO '{volume}/a' OVERWRITE", "NOT_FOUND: Volume"),
        ("GET '{volume}/a' TO 'x'", "NOT_FOUND: Volume"),
        ("REMOVE '{volume}/a'", "NOT_FOUND: Volume"),
        ("LIST '{volume}'", "NOT_FOUND: Volume"),
        ("PUT 'x' INTO '/Volumes/nowhere/default/v/a'", "NOT_FOUND: Catalog"),
        ("PUT 'x' INTO '{volume}/../a'", "INVALID_VOLUME_PATH"),
        ("PUT '' INTO '{volume}/a'", "EMPTY_LOCAL_FILE_IN_STAGING_ACCESS_QUERY"),
    ],
)
def test_a_user_without_privileges_gets_no_link(server: Volumes, statement: str, condition: str) -> None:
    with server.cursor("bob") as cursor, pytest.raises(Error, match=condition):
        cursor.execute(statement.format(volume=VOLUME))


def test_a_link_is_for_one_operation_on_one_path(server: Volumes) -> None:
    put = server.link(f"PUT 'x' INTO '{VOLUME}/linked' OVERWRITE")
    other = server.link(f"PUT 'x' INTO '{VOLUME}/other' OVERWRITE")
    path, _, query = put.partition("?")
    refused = {
        "another operation": ("GET", put),
        "removal": ("DELETE", put),
        "another link's signature": ("PUT", f"{path}?{other.partition('?')[2]}"),
        "another expiry": ("PUT", put.replace("expires=", "expires=9")),
        "no signature": ("PUT", path),
        "no link": ("PUT", f"{STAGED}x?{query}"),
        "a path behind it": ("PUT", f"{path}/../linked?{query}"),
    }
    statuses = {what: server.follow(method, link, b"evil").status for what, (method, link) in refused.items()}
    assert set(statuses.values()) <= {403, 404, 405}, statuses
    assert not server.stored()
    assert server.follow("PUT", put, b"good").status == 204
    assert server.stored() == {"linked"}
    get = server.link(f"GET '{VOLUME}/linked' TO 'x'")
    assert server.follow("PUT", get, b"evil").status == 403
    assert server.follow("GET", get).content == b"good"
    remove = server.link(f"REMOVE '{VOLUME}/linked'")
    assert server.follow("GET", remove).status == 403
    assert server.follow("DELETE", remove).status == 204
    assert not server.stored()


def test_a_link_ends_with_the_privilege_of_its_user(server: Volumes) -> None:
    link = server.link(f"PUT 'x' INTO '{VOLUME}/late' OVERWRITE")
    with server.cursor("zoë") as cursor:
        cursor.execute("REVOKE WRITE VOLUME ON VOLUME v FROM ann")
        try:
            assert server.follow("PUT", link, b"late").status == 403
            assert not server.stored()
        finally:
            cursor.execute("GRANT WRITE VOLUME ON VOLUME v TO ann")
    assert server.follow("PUT", link, b"late").status == 204
    assert server.follow("DELETE", server.link(f"REMOVE '{VOLUME}/late'")).status == 204


def test_a_link_without_overwrite_replaces_no_file_that_came_meanwhile(server: Volumes) -> None:
    links = [server.link(f"PUT 'x' INTO '{VOLUME}/raced'") for _ in range(2)]
    assert [server.follow("PUT", link, b"%d" % at).status for at, link in enumerate(links)] == [204, 409]
    assert server.follow("GET", server.link(f"GET '{VOLUME}/raced' TO 'x'")).content == b"0"
    assert server.follow("DELETE", server.link(f"REMOVE '{VOLUME}/raced'")).status == 204


def test_a_client_that_vanishes_leaves_nothing(server: Volumes) -> None:
    link = server.link(f"PUT 'x' INTO '{VOLUME}/gone'")
    with socket.create_connection(("127.0.0.1", server.server.ports.http)) as client:
        client.sendall(
            f"PUT {link} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n".encode() + b"x" * 9999
        )
    assert server.follow("PUT", server.link(f"PUT 'x' INTO '{VOLUME}/after'"), b"y").status == 204
    assert server.stored() == {"after"}
    assert server.follow("DELETE", server.link(f"REMOVE '{VOLUME}/after'")).status == 204


@pytest.mark.parametrize("is_link", [True, False])
def test_a_file_beyond_the_limit_is_refused_before_it_is_sent(server: Volumes, is_link: bool) -> None:
    path = server.link(f"PUT 'x' INTO '{VOLUME}/huge'") if is_link else f"/api/2.0/fs/files{VOLUME}/huge"
    with socket.create_connection(("127.0.0.1", server.server.ports.http)) as client:
        head = f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {FILE_BYTES_MAX + 1}\r\n\r\n"
        client.sendall(head.encode())
        assert client.recv(12) == b"HTTP/1.1 413"


def test_a_bad_link_is_refused_before_the_file_is_sent(server: Volumes) -> None:
    with socket.create_connection(("127.0.0.1", server.server.ports.http)) as client:
        client.sendall(f"PUT {STAGED}x?expires=9 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n".encode())
        assert client.recv(12) == b"HTTP/1.1 403"


def _status_of_head_request(server: Volumes, path: str, authorization: str = "") -> int:
    """Returns the status for an upload's head, whose body is never sent."""
    with socket.create_connection(("127.0.0.1", server.server.ports.http), timeout=30) as client:
        lines = [f"PUT {path} HTTP/1.1", "Host: localhost", "Content-Length: 9999", "Expect: 100-continue"]
        client.sendall("\r\n".join([*lines, *([authorization] if authorization else []), "", ""]).encode())
        return int(client.recv(12).split()[1])


def _basic_line(user: str, password: str | None = None) -> str:
    header = basic(user) if password is None else basic(user, password)
    return f"Authorization: {header['Authorization']}"


@pytest.mark.parametrize(
    ("authorization", "path", "status"),
    [
        ("", f"{VOLUME}/head", 401),
        (_basic_line("ann", "wrong"), f"{VOLUME}/head", 401),
        ("Authorization: Bearer dgw_none", f"{VOLUME}/head", 401),
        (_basic_line("bob"), f"{VOLUME}/head", 404),
        (_basic_line("rae"), f"{VOLUME}/head", 403),
        (_basic_line("ann"), "/Volumes/spark_catalog/default/none/head", 404),
        (_basic_line("ann"), "/etc/passwd", 400),
        (_basic_line("ann"), f"{VOLUME}/head", 100),
    ],
)
def test_upload_header_is_checked_before_body_is_sent(
    server: Volumes, authorization: str, path: str, status: int
) -> None:
    assert _status_of_head_request(server, f"/api/2.0/fs/files{path}", authorization) == status


def test_failed_upload_logins_are_throttled_at_request_header(server: Volumes) -> None:
    path, guess = f"/api/2.0/fs/files{VOLUME}/head", _basic_line("eve", "guess")
    assert [_status_of_head_request(server, path, guess) for _ in range(6)] == [401] * 5 + [429]
    assert _status_of_head_request(server, path, _basic_line("ann")) == 100


def test_an_upload_fails_if_its_token_is_withdrawn_while_it_is_sent(server: Volumes) -> None:
    created = server.server.ask("POST", "/api/2.0/token/create", {}, **basic("ann")).body
    head = f"PUT /api/2.0/fs/files{VOLUME}/late HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
    head += f"Expect: 100-continue\r\nAuthorization: Bearer {created['token_value']}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.server.ports.http), timeout=30) as client:
        client.sendall(head.encode())
        assert client.recv(100).startswith(b"HTTP/1.1 100")
        token_id = created["token_info"]["token_id"]
        server.server.ask("POST", "/api/2.0/token/delete", {"token_id": token_id}, **basic("ann"))
        client.sendall(b"late")
        assert client.recv(12) == b"HTTP/1.1 401"
    assert not server.stored()


def test_links_expire() -> None:

    now = [1000.0]
    links = StagedLinks(LinkSigner(lifetime_s=60, clock=lambda: now[0]))
    file = VolumeFile(parse_volume_path(f"{VOLUME}/a"), "/tmp", ())
    link = links.add(Identity("ann"), FileTransfer(FileOperation.GET, file))
    now[0] += 59
    assert links.find("GET", link).path == f"{VOLUME}/a"
    now[0] += 1
    with pytest.raises(LinkRefused, match="expired"):
        links.find("GET", link)


def _raises(call: Callable[[], object]) -> str:
    with pytest.raises(DatabricksError) as caught:
        call()
    return type(caught.value).__name__


def test_sdk_transfers_files_and_folders(server: Volumes) -> None:
    files = server.files("ann")
    folder, file = f"{VOLUME}/d/e", f"{VOLUME}/d/e/x y%é.txt"
    files.create_directory(folder)
    files.get_directory_metadata(folder)
    files.upload(file, io.BytesIO(b"hello world"), overwrite=False)
    assert _raises(lambda: files.upload(file, io.BytesIO(b"other"), overwrite=False)) == "AlreadyExists"
    assert files.download(file).contents.read() == b"hello world"
    assert files.get_metadata(file).content_length == 11
    (entry,) = files.list_directory_contents(folder)
    assert (entry.path, entry.name, entry.is_directory, entry.file_size) == (file, "x y%é.txt", False, 11)
    assert _raises(lambda: files.delete_directory(folder)) == "ResourceConflict"
    files.upload(file, io.BytesIO(b"new"), overwrite=True)
    assert files.download(file).contents.read() == b"new"
    files.delete(file)
    for call in (files.delete, files.download, files.get_metadata):
        assert _raises(lambda call=call: call(file)) == "NotFound"  # type: ignore[misc]
    files.delete_directory(folder)
    files.delete_directory(f"{VOLUME}/d")
    assert _raises(lambda: files.get_directory_metadata(folder)) == "NotFound"
    assert "d" not in [entry.name for entry in files.list_directory_contents(VOLUME)]


@pytest.mark.parametrize("use_parallel", [True, False])
def test_sdk_sends_a_large_file_by_one_put(server: Volumes, tmp_path: Path, use_parallel: bool) -> None:
    files, path, content = server.files("ann"), f"{VOLUME}/parts", os.urandom(FILE_BYTES_MAX - 1)
    files._config.files_ext_multipart_upload_min_stream_size = FILE_BYTES_MAX // 2
    files.upload(path, io.BytesIO(content), overwrite=False, part_size=FILE_BYTES_MAX // 3, use_parallel=use_parallel)
    assert files.download(path).contents.read() == content
    (tmp_path / "local").write_bytes(content[::-1])
    files.upload_from(path, str(tmp_path / "local"), overwrite=True, use_parallel=use_parallel)
    assert files.download(path).contents.read() == content[::-1]
    assert _raises(lambda: files.upload_from(path, str(tmp_path / "local"), overwrite=False)) == "AlreadyExists"
    files.delete(path)
    begin = f"/api/2.0/fs/files{path}?action="
    assert server.server.ask("POST", f"{begin}initiate-upload", **basic("bob")).status == 404
    assert server.server.ask("POST", f"{begin}complete-upload", **basic("ann")).status == 400


def test_sdk_of_a_user_without_privileges_reaches_nothing(server: Volumes) -> None:
    server.files("ann").upload(f"{VOLUME}/secret", io.BytesIO(b"secret"), overwrite=True)
    files = server.files("bob")
    for call in (
        lambda: files.download(f"{VOLUME}/secret"),
        lambda: files.upload(f"{VOLUME}/secret", io.BytesIO(b"x"), overwrite=True),
        lambda: files.delete(f"{VOLUME}/secret"),
        lambda: files.create_directory(f"{VOLUME}/d"),
        lambda: list(files.list_directory_contents(VOLUME)),
    ):
        assert _raises(call) == "NotFound"
    assert server.server.ask("GET", f"/api/2.0/fs/files{VOLUME}/secret").status == 401
    assert server.files("ann").download(f"{VOLUME}/secret").contents.read() == b"secret"
    server.files("ann").delete(f"{VOLUME}/secret")


def test_sdk_lists_a_folder_in_pages_while_its_files_change(server: Volumes) -> None:
    files, folder = server.files("ann"), f"{VOLUME}/pages"
    names = ["a", "b", "c", "d/", "d.x", "é"]
    for name in names:
        if name.endswith("/"):
            files.create_directory(f"{folder}/{name}")
        else:
            files.upload(f"{folder}/{name}", io.BytesIO(b"x"), overwrite=True)
    pages = files.list_directory_contents(folder, page_size=2)
    found = [next(pages).name, next(pages).name]
    files.delete(f"{folder}/a")
    found += [entry.name for entry in pages]
    assert found == ["a", "b", "c", "d.x", "d", "é"]
    path = f"/api/2.0/fs/directories{folder}"
    whole = server.server.ask("GET", path, **basic("ann")).body
    assert "next_page_token" not in whole and len(whole["contents"]) == len(names) - 1
    exact = server.server.ask("GET", f"{path}?page_size={len(names) - 1}", **basic("ann")).body
    assert "next_page_token" not in exact
    for query in ("page_token=%FF", "page_token=x", "page_size=-1"):
        assert server.server.ask("GET", f"{path}?{query}", **basic("ann")).status == 400
    for name in ("b", "c", "d.x", "é"):
        files.delete(f"{folder}/{name}")
    files.delete_directory(f"{folder}/d")


@pytest.mark.slow
def test_sdk_lists_all_files_of_a_folder_with_more_than_100000(server: Volumes) -> None:
    files, count = server.files("ann"), 100_001
    files.upload(f"{VOLUME}/many/0", io.BytesIO(b"x"), overwrite=True)
    (folder,) = (server.folder / "lake" / "default" / ".volumes").glob("*/many")
    for number in range(1, count):
        (folder / str(number)).touch()
    try:
        assert sum(1 for _ in files.list_directory_contents(f"{VOLUME}/many", page_size=60_000)) == count
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", f"{VOLUME}/%2e%2e/a", f"{VOLUME}/%252e%252e/a", "/Volumes/spark_catalog/default"]
)
def test_files_api_takes_paths_in_volumes_only(server: Volumes, path: str) -> None:
    assert server.server.ask("GET", f"/api/2.0/fs/files{path}", **basic("zoë")).status == 400


def test_files_api_answers_a_range_of_bytes(server: Volumes) -> None:
    server.files("ann").upload(f"{VOLUME}/r", io.BytesIO(b"0123456789"), overwrite=True)
    path = f"/api/2.0/fs/files{VOLUME}/r"
    for request, status, content in [
        ("bytes=2-4", 206, b"234"),
        ("bytes=7-", 206, b"789"),
        ("bytes=0-99", 200, b"0123456789"),
        ("bytes=1-2,4-5", 200, b"0123456789"),
    ]:
        answer = server.server.ask("GET", path, Range=request, **basic("ann"))
        assert (answer.status, answer.content) == (status, content)
    server.files("ann").delete(f"{VOLUME}/r")


@pytest.mark.parametrize(
    ("kind", "content"),
    [("csv", b"1,x\n2,y\n"), ("json", b'{"id": 1, "name": "x"}\n{"id": 2, "name": "y"}\n'), ("parquet", None)],
)
def test_files_of_a_volume_are_loaded_and_queried(server: Volumes, kind: str, content: bytes | None) -> None:
    if content is None:
        sink = io.BytesIO()
        pq.write_table(pa.table({"id": [1, 2], "name": ["x", "y"]}), sink)
        content = sink.getvalue()
    server.files("ann").upload(f"{VOLUME}/load_{kind}/1.{kind}", io.BytesIO(content), overwrite=True)
    path = f"{VOLUME}/load_{kind}"
    with server.cursor("zoë") as cursor:
        cursor.execute(f"CREATE TABLE loaded_{kind} (id INT, name STRING)")
        cursor.execute(f"GRANT SELECT, MODIFY ON TABLE loaded_{kind} TO ann")
    with server.cursor("ann") as cursor:
        columns = "CAST(_c0 AS INT) AS id, _c1 AS name" if kind == "csv" else "CAST(id AS INT) AS id, name"
        load = f"COPY INTO loaded_{kind} FROM (SELECT {columns} FROM '{path}') FILEFORMAT = {kind.upper()}"
        for text in (load, load):  # the second one finds nothing new
            cursor.execute(text)
        cursor.execute(f"SELECT id, name FROM loaded_{kind} ORDER BY id")
        assert [tuple(row) for row in cursor.fetchall()] == [(1, "x"), (2, "y")]
        cursor.execute(f"SELECT {columns} FROM {kind}.`{path}` ORDER BY id")
        assert [tuple(row) for row in cursor.fetchall()] == [(1, "x"), (2, "y")]
        cursor.execute(f"REMOVE '{path}/1.{kind}'")


def recorded(server: Volumes, path: str) -> list[tuple[str, str, str]]:
    """Returns users, texts and outcomes for ended statements about `path` in the audit log."""
    events = [
        json.loads(line) for file in (server.folder / "audit").glob("*.jsonl") for line in file.read_text().splitlines()
    ]
    ended = (event for event in events if event["event"] == "statement.end" and path in str(event.get("text", "")))
    return sorted((event["principal"], event["text"], event["outcome"]) for event in ended)


def test_transfers_are_in_the_audit_log(server: Volumes) -> None:
    files = server.files("ann")
    files.upload(f"{VOLUME}/audited", io.BytesIO(b"x"), overwrite=True)
    files.delete(f"{VOLUME}/audited")
    put, removal = f"PUT '{VOLUME}/audited' OVERWRITE", f"REMOVE '{VOLUME}/audited'"
    eventually(lambda: recorded(server, "/audited") == [("ann", put, "ok"), ("ann", removal, "ok")])


def test_upload_that_begins_in_parts_is_recorded_once(server: Volumes) -> None:
    files, path = server.files("ann"), f"{VOLUME}/begun"
    files._config.files_ext_multipart_upload_min_stream_size = FILE_BYTES_MAX // 2
    files.upload(path, io.BytesIO(os.urandom(FILE_BYTES_MAX - 1)), overwrite=True, part_size=FILE_BYTES_MAX // 3)
    assert server.server.ask("POST", f"/api/2.0/fs/files{path}?action=initiate-upload", **basic("bob")).status == 404
    files.delete(path)
    expected = [
        ("ann", f"PUT '{path}' OVERWRITE", "ok"),
        ("ann", f"REMOVE '{path}'", "ok"),
        ("bob", f"PUT '{path}'", "failed"),
    ]
    eventually(lambda: len(recorded(server, "/begun")) >= len(expected))
    assert recorded(server, "/begun") == expected


@pytest.mark.diagonals("kind", "is_folder", step=2)
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
@pytest.mark.parametrize("is_folder", [True, False])
def test_queries_show_paths_in_the_volume_only(server: Volumes, kind: str, is_folder: bool) -> None:
    folder, file = f"{VOLUME}/shown {kind}", f"{VOLUME}/shown {kind}/a é.{kind}"
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": [1]}), sink)
    content = {"csv": b"1\n", "json": b'{"id": 1}\n', "parquet": sink.getvalue()}[kind]
    server.files("ann").upload(file, io.BytesIO(content), overwrite=True)
    encoded = file.replace(" ", "%20")
    source = f"{kind}.`{folder if is_folder else file}`"
    with server.cursor("ann") as cursor:
        cursor.execute(
            f"SELECT input_file_name(), _metadata.file_path, _metadata, _metadata.file_name FROM {source}"
            f" WHERE _metadata.file_path = '{encoded}'"
        )
        ((name, path, metadata, base),) = cursor.fetchall()
        assert (name, path, base) == (encoded, encoded, encoded.rpartition("/")[2])
        assert ".volumes" not in str(metadata) and encoded in str(metadata)
        cursor.execute(f"SELECT a.f, b.f FROM (SELECT input_file_name() f FROM {source}) a, (SELECT 1 f) b")
        assert tuple(cursor.fetchone()) == (encoded, 1)
        cursor.execute(f"SELECT input_file_name() FROM {source} GROUP BY 1")
        assert tuple(cursor.fetchone()) == (encoded,)
    server.files("ann").delete(file)


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_copy_into_stores_paths_in_the_volume_only(server: Volumes, kind: str) -> None:
    folder, content = f"{VOLUME}/copied_{kind}", {"csv": b"1\n", "json": b'{"id": 1}\n'}[kind]
    server.files("ann").upload(f"{folder}/a", io.BytesIO(content), overwrite=True)
    with server.cursor("zoë") as cursor:
        cursor.execute(f"CREATE TABLE copied_{kind} (name STRING, path STRING)")
        cursor.execute(f"GRANT SELECT, MODIFY ON TABLE copied_{kind} TO ann")
    with server.cursor("ann") as cursor:
        columns = "input_file_name() AS name, _metadata.file_path AS path"
        cursor.execute(f"COPY INTO copied_{kind} FROM (SELECT {columns} FROM '{folder}') FILEFORMAT = {kind.upper()}")
        cursor.execute(f"SELECT name, path FROM copied_{kind}")
        assert [tuple(row) for row in cursor.fetchall()] == [(f"{folder}/a",) * 2]
    server.files("ann").delete(f"{folder}/a")


def test_temporary_view_of_volume_files_requires_read_volume(server: Volumes) -> None:
    path = f"{VOLUME}/viewed.csv"
    server.files("ann").upload(path, io.BytesIO(b"id\n7\n"), overwrite=True)
    text = f"CREATE TEMPORARY VIEW viewed USING csv OPTIONS (path '{path}', header 'true')"
    for user in ("ann", "rae"):
        with server.cursor(user) as cursor:
            cursor.execute(text)
            cursor.execute("SELECT id, input_file_name() FROM viewed")
            assert tuple(cursor.fetchone()) == ("7", path)
    with server.cursor("bob") as cursor, pytest.raises(Error, match="NOT_FOUND: Volume"):
        cursor.execute(text)
    server.files("ann").delete(path)
