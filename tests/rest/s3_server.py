"""A small S3, as a process: `python -m tests.rest.s3_server [FOLDER]`, which prints its port. Buckets exist on first
use. `--of URL` instead of the folder: a proxy for another store, with the same faults.

It checks each request's signature (version 4), its session token, and that the key is for the object
(`tests.rest.s3_keys`): anything else is 403. With `--unconditional`, puts ignore `If-None-Match`, as in old stores.
GET /-/requests returns each request with its access key and status; POST
/-/slow sets the number of seconds that each object GET waits, and POST /-/distance those that each request takes. GET
/-/round-trips returns how many requests followed one another since the last call: requests at the same time count as
one. POST /-/faults sets faults: a JSON list with
`{"method", "path": a regular expression, "kind", "skip", "count", "seconds"}`. `method` may be several, separated by
spaces, and `skip` matching requests pass first. `kind` is `lose` (the request is carried out and not answered), `cut`
(it is answered with half of the body), `reset` (neither), `late` and `hang` (the same, but the connection stays open
for `HANG_S`, or the given seconds, without an answer), or a status that is answered instead. Objects are in memory, or
files in the folder argument, where others may put files as well. As in MinIO, the answer to a failed conditional put
does not name the condition.
"""

from __future__ import annotations

import email.utils
import hashlib
import hmac
import http.client
import json
import math
import re
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator, MutableMapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

from tests.rest.s3_keys import opens, secret_of, token_of

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/,]+)/([^/]+)/([^/]+)/s3/aws4_request,\s*SignedHeaders=([^,]+),\s*Signature=(\w+)"
)


# Longer than clients in tests wait.
HANG_S = 4.0


class FolderObjects(MutableMapping[str, bytes]):
    """Objects as files in a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def __getitem__(self, path: str) -> bytes:
        try:
            return (self.folder / path).read_bytes()
        except OSError:
            raise KeyError(path) from None

    def __setitem__(self, path: str, data: bytes) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(data)

    def __delitem__(self, path: str) -> None:
        (self.folder / path).unlink()

    def __iter__(self) -> Iterator[str]:
        return (str(file.relative_to(self.folder)) for file in self.folder.rglob("*") if file.is_file())

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Store:
    def __init__(self, folder: str | None) -> None:
        self.lock = threading.Lock()
        self.objects: MutableMapping[str, bytes] = FolderObjects(folder) if folder else {}
        self.times: dict[str, float] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self.requests: list[tuple[str, str, str, int]] = []
        self.slow_s = self.distance_s = 0.0
        # Begin and end of each request.
        self.spans: list[tuple[float, float]] = []
        self.faults: list[dict[str, Any]] = []


def round_trips(spans: list[tuple[float, float]]) -> int:
    """Returns the largest number of requests of which each began after the end of the one before."""
    count, end = 0, -math.inf
    for began, ended in sorted(spans, key=lambda span: span[1]):
        if began >= end:
            count, end = count + 1, ended
    return count


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A body is a second segment after the headers, which would wait 40 ms for the client's delayed acknowledgment.
    disable_nagle_algorithm = True
    store: Store
    fault: str | None = None
    hang_s = HANG_S
    is_conditional = True
    done: tuple[int, bytes, dict[str, str]]

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self._handle()

    def do_HEAD(self) -> None:
        self._handle()

    def do_PUT(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def do_DELETE(self) -> None:
        self._handle()

    def _handle(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        if url.path == "/-/requests":
            found, self.store.requests = self.store.requests, []
            return self._answer(200, json.dumps(found).encode())
        if url.path == "/-/slow":
            self.store.slow_s = float(data)
            return self._answer(200)
        if url.path == "/-/faults":
            self.store.faults = json.loads(data)
            return self._answer(200)
        if url.path == "/-/distance":
            self.store.distance_s = float(data)
            return self._answer(200)
        if url.path == "/-/round-trips":
            spans, self.store.spans = self.store.spans, []
            return self._answer(200, str(round_trips(spans)).encode())
        began = time.monotonic()
        time.sleep(self.store.distance_s)
        try:
            self._handle_object(url, data)
        finally:
            self.store.spans.append((began, time.monotonic()))

    def _handle_object(self, url: Any, data: bytes) -> None:
        query = {key: values[0] for key, values in parse_qs(url.query, keep_blank_values=True).items()}
        path = unquote(url.path).strip("/") if "/" in url.path.strip("/") else unquote(url.path).strip("/") + "/"
        requested = path + query.get("prefix", "") if path.endswith("/") else path
        key = self._key_for(url, requested)
        if key is None:
            self._note(self._signed_by(url), requested, 403)
            message = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
            return self._answer(403, message)
        if self.command == "GET" and not path.endswith("/"):
            time.sleep(self.store.slow_s)
        self.fault = self._fault(requested)
        match self.fault:
            case "reset" | "hang":
                self._note(key, requested, 0)
                return self._give_up()
            case None | "lose" | "late" | "cut":
                pass
            case status:
                self._note(key, requested, int(status))
                return self._answer(int(status), b"<Error><Code>SlowDown</Code></Error>")
        self._carry_out(path, query, data, key, requested)
        if self.fault == "cut":
            return self._answer_half()
        if self.fault is not None:
            return self._give_up()
        self._answer(*self.done)

    def _fault(self, path: str) -> str | None:
        with self.store.lock:
            for fault in self.store.faults:
                if (
                    self.command not in fault["method"].split()
                    or re.search(fault["path"], path) is None
                    or not fault["count"]
                ):
                    continue
                if fault.get("skip", 0):
                    fault["skip"] -= 1
                    continue
                fault["count"] -= 1
                self.hang_s = float(fault.get("seconds", HANG_S))
                return str(fault["kind"])
        return None

    def _answer_half(self) -> None:
        """Announces the whole body, and ends the connection in its middle."""
        status, body, headers = self.done
        self._answer(status, body[: len(body) // 2], {"Content-Length": str(len(body)), **headers})
        self._give_up()

    def _give_up(self) -> None:
        """Answer nothing, at once or after the client has waited."""
        if self.fault in ("hang", "late"):
            time.sleep(self.hang_s)
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _note(self, key: str | None, path: str, status: int) -> None:
        self.store.requests.append((key or "", self.command, path, status))

    def _key_for(self, url: Any, requested: str) -> str | None:
        """Returns the key that signed the request, if it is valid for the request."""
        key = self._signed_by(url)
        return key if key is not None and opens(key, requested) else None

    def _carry_out(self, path: str, query: dict[str, str], data: bytes, key: str, requested: str) -> None:
        encoding, digest = (self.headers.get(name, "") for name in ("Content-Encoding", "x-amz-content-sha256"))
        if "aws-chunked" in encoding or "STREAMING" in digest:
            data = _unchunked(data)
        with self.store.lock:
            self._route(path, query, data, key, requested)

    def _signed_by(self, url: Any) -> str | None:
        """Returns the key whose secret signed the request, by signature version 4."""
        found = _AUTHORIZATION.match(self.headers.get("Authorization", ""))
        if found is None:
            return None
        key, day, region, signed, signature = found.groups()
        if self.headers.get("x-amz-security-token") != token_of(key):
            return None
        pairs = sorted(pair if "=" in pair else f"{pair}=" for pair in url.query.split("&") if pair)
        headers = "".join(f"{name}:{' '.join((self.headers.get(name) or '').split())}\n" for name in signed.split(";"))
        body = self.headers.get("x-amz-content-sha256", "")
        request = "\n".join((self.command, url.path, "&".join(pairs), headers, signed, body))
        digest = hashlib.sha256(request.encode()).hexdigest()
        scope = f"{day}/{region}/s3/aws4_request"
        text = "\n".join(("AWS4-HMAC-SHA256", self.headers.get("x-amz-date", ""), scope, digest))
        secret = f"AWS4{secret_of(key)}".encode()
        for part in (day, region, "s3", "aws4_request"):
            secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
        expected = hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
        return key if hmac.compare_digest(expected, signature) else None

    def _route(self, path: str, query: dict[str, str], data: bytes, key: str, requested: str) -> None:
        store = self.store
        match self.command:
            case "GET" if path.endswith("/"):
                status, body, headers = 200, self._listed(path, query), {"Content-Type": "application/xml"}
            case "GET" | "HEAD" if path in store.objects:
                status, body, headers = self._read(path)
            case "PUT" if "uploadId" in query:
                store.parts[query["uploadId"]][int(query["partNumber"])] = data
                status, body, headers = 200, b"", {"ETag": _etag(data)}
            case "PUT" if self._is_refused(path):
                status, body, headers = 412, b"<Error><Code>PreconditionFailed</Code></Error>", {}
            case "PUT":
                if not self.path.endswith("/"):  # a folder marker
                    self._put(path, data)
                status, body, headers = 200, b"", {"ETag": _etag(data)}
            case "POST" if "uploads" in query:
                upload = f"upload-{uuid.uuid4().hex}"
                store.parts[upload] = {}
                reported = f"<UploadId>{upload}</UploadId>"
                status, body, headers = 200, _xml("InitiateMultipartUploadResult", reported), {}
            case "POST" if "uploadId" in query and self._is_refused(path):
                store.parts.pop(query["uploadId"])
                status, body, headers = 412, b"<Error><Code>PreconditionFailed</Code></Error>", {}
            case "POST" if "uploadId" in query:
                parts = store.parts.pop(query["uploadId"])
                self._put(path, b"".join(parts[number] for number in sorted(parts)))
                reported = f"<ETag>{escape(_etag(store.objects[path]))}</ETag>"
                status, body, headers = 200, _xml("CompleteMultipartUploadResult", reported), {}
            case "POST" if "delete" in query:
                for name in re.findall(r"<Key>(.*?)</Key>", data.decode()):
                    if opens(key, path + unescape(name)):
                        store.objects.pop(path + unescape(name), None)
                status, body, headers = 200, _xml("DeleteResult", ""), {}
            case "DELETE" if "uploadId" in query:
                store.parts.pop(query["uploadId"], None)
                status, body, headers = 204, b"", {}
            case "DELETE":
                store.objects.pop(path, None)
                status, body, headers = 204, b"", {}
            case _:
                status, body, headers = 404, b"<Error><Code>NoSuchKey</Code></Error>", {}
        self._note(key, requested, status)
        self.done = status, body, headers

    def _is_refused(self, path: str) -> bool:
        """Returns whether the condition of a put does not hold."""
        return self.is_conditional and self.headers.get("If-None-Match") == "*" and path in self.store.objects

    def _put(self, path: str, data: bytes) -> None:
        self.store.objects[path], self.store.times[path] = data, time.time()

    def _time_of(self, path: str) -> float:
        """Returns the put time; for files put by others, the time when they were first seen."""
        return self.store.times.setdefault(path, time.time())

    def _read(self, path: str) -> tuple[int, bytes, dict[str, str]]:
        data = self.store.objects[path]
        headers = {
            "ETag": _etag(data),
            "Last-Modified": email.utils.formatdate(self._time_of(path), usegmt=True),
            "Accept-Ranges": "bytes",
        }
        span = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if span is None:
            return 200, data, headers
        first = int(span[1]) if span[1] else max(0, len(data) - int(span[2]))
        last = min(int(span[2]), len(data) - 1) if span[1] and span[2] else len(data) - 1
        if first >= len(data):
            return 416, b"<Error><Code>InvalidRange</Code></Error>", {}
        return 206, data[first : last + 1], {**headers, "Content-Range": f"bytes {first}-{last}/{len(data)}"}

    def _listed(self, bucket: str, query: dict[str, str]) -> bytes:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        contents, common = [], set()
        for path in sorted(self.store.objects):
            if not path.startswith(bucket + prefix):
                continue
            name = path.removeprefix(bucket)
            if delimiter and delimiter in name[len(prefix) :]:
                common.add(prefix + name[len(prefix) :].partition(delimiter)[0] + delimiter)
                continue
            modified = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self._time_of(path)))
            data = self.store.objects[path]
            contents.append(
                f"<Contents><Key>{escape(name)}</Key><LastModified>{modified}</LastModified><Size>{len(data)}</Size>"
                f"<ETag>{escape(_etag(data))}</ETag><StorageClass>STANDARD</StorageClass></Contents>"
            )
        prefixes = (f"<Prefix>{escape(each)}</Prefix>" for each in sorted(common))
        folders = "".join(f"<CommonPrefixes>{each}</CommonPrefixes>" for each in prefixes)
        reported = f"<Name>{bucket.rstrip('/')}</Name><Prefix>{escape(prefix)}</Prefix><IsTruncated>false</IsTruncated>"
        count = f"<KeyCount>{len(contents) + len(common)}</KeyCount><MaxKeys>1000</MaxKeys>"
        return _xml("ListBucketResult", reported + count + "".join(contents) + folders)

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(body)


class Forwarding(Handler):
    """Has another store carry out the requests, which also checks their signatures."""

    other: str

    def _key_for(self, url: Any, requested: str) -> str | None:
        return ""

    def _carry_out(self, path: str, query: dict[str, str], data: bytes, key: str, requested: str) -> None:
        connection = http.client.HTTPConnection(self.other, timeout=60)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            connection.putheader(name, value)
        connection.endheaders(data)
        answer = connection.getresponse()
        body = answer.read()
        ours = ("content-length", "connection", "date", "server", "transfer-encoding")
        headers = {name: value for name, value in answer.getheaders() if name.lower() not in ours}
        if self.command == "HEAD":
            headers["Content-Length"] = answer.getheader("Content-Length") or "0"
        connection.close()
        self._note(key, requested, answer.status)
        self.done = answer.status, body, headers


def _unchunked(data: bytes) -> bytes:
    """Returns the bytes of an upload in signed chunks; chunk signatures are not checked."""
    found = bytearray()
    while data:
        head, _, rest = data.partition(b"\r\n")
        size = int(head.partition(b";")[0], 16)
        if size == 0:
            break
        found += rest[:size]
        data = rest[size + 2 :]
    return bytes(found)


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data).hexdigest()}"'


def _xml(name: str, text: str) -> bytes:
    return f'<?xml version="1.0"?><{name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{text}</{name}>'.encode()


def main() -> None:
    is_proxy = sys.argv[1:2] == ["--of"]
    if "--unconditional" in sys.argv:
        sys.argv.remove("--unconditional")
        Handler.is_conditional = False
    Handler.store = Store(sys.argv[1] if len(sys.argv) > 1 and not is_proxy else None)
    if is_proxy:
        Forwarding.other = urlsplit(sys.argv[2]).netloc
    server = ThreadingHTTPServer(("127.0.0.1", 0), Forwarding if is_proxy else Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
