"""HTTP/1.x as bytes: parses heads to frozen values, formats responses to bytes. Pure; rules from RFC 9112.

An ambiguous head is rejected, since a body for one program may be a request for another (request smuggling): repeated,
signed or listed lengths, a length together with a transfer coding, repeated credentials, folded headers, a space before
a colon, line ends without a carriage return. A body must have a length; a chunked body could have any size, so it is
left unread, and the application rejects it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import BinaryIO

# Maximum length for request line and headers together.
HEAD_BYTES_MAX = 64 << 10
HEADERS_MAX = 100
_UPLOADS = ("/api/2.0/fs/files/", "/api/2.0/fs/staged/")
SERVER_NAME = "delta-gateway"
REQUEST_ID = "X-Request-Id"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LINE_ENDS = re.compile(rb"[\r\n]*")
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]"
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb"{1,32}) ([!-~]+) HTTP/([0-9])\.([0-9])")
_HEADER_NAME = re.compile(_TOKEN + rb"+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_DIGITS = re.compile(r"[0-9]+")
_LENGTH_DIGITS_MAX = 18
# Headers for which the server and a proxy in front might use different values if repeated.
_SINGLE = ("authorization", "content-type", "origin", "sec-fetch-site")
_Headers = tuple[tuple[str, str], ...]
_ERROR_CODES = {
    HTTPStatus.REQUEST_TIMEOUT: "REQUEST_TIMEOUT",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "REQUEST_TOO_LARGE",
    HTTPStatus.REQUEST_URI_TOO_LONG: "REQUEST_TOO_LARGE",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: "REQUEST_TOO_LARGE",
    HTTPStatus.INTERNAL_SERVER_ERROR: "INTERNAL_ERROR",
    HTTPStatus.SERVICE_UNAVAILABLE: "TEMPORARILY_UNAVAILABLE",
}


class RequestRefused(Exception):
    """The bytes are not a valid request; the connection ends after the response."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A request line and its headers; header names are in lower case. `length` is the body's."""

    method: str
    target: str
    version: str
    headers: _Headers
    length: int
    is_chunked: bool
    is_kept_alive: bool
    expects_continue: bool

    def value(self, name: str) -> str | None:
        """Returns a header's value, joined if it is repeated; None if it is missing."""
        return ", ".join(found) if (found := _values(self.headers, name)) else None

    def cookie(self, name: str) -> str | None:
        """Returns the first cookie with that name."""
        for pair in "; ".join(_values(self.headers, "cookie")).split(";"):
            key, equals, value = pair.partition("=")
            if equals and key.strip() == name:
                return value.strip().strip('"')
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A complete request, except for an announced upload's body."""

    head: Head
    body: bytes
    peer: str
    # True if there is only the head: the response accepts the upload, or rejects it.
    is_streaming: bool = False
    # The accepted head for an upload whose body is `file`.
    accepted: object | None = None
    # An upload's body, which is not in memory.
    file: BinaryIO | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Response bytes, and whether the connection ends after them. `rest` creates the remaining pieces.

    `status` is 0 for a later piece of a body. `accepted` receives an announced upload's body, instead of a response;
    the request then has it.
    """

    content: bytes
    is_last: bool
    rest: Rest | None = None
    accepted: object | None = None
    status: int = 0


class Rest:
    """A body that is sent in pieces, each created when the preceding ones were sent; one thread at a time."""

    def __init__(
        self,
        pieces: Iterator[bytes],
        end: Callable[[], None],
        *,
        is_chunked: bool,
        is_last: bool,
        has_length: bool = False,
    ) -> None:
        """Creates the body; `end` is called once, when it is complete or abandoned. A body that is neither chunked nor
        has a length ends with its connection.
        """
        self._has_length = has_length
        self._pieces, self._end = pieces, end
        self._is_chunked, self._is_last = is_chunked, is_last

    @property
    def ends_with_connection(self) -> bool:
        """Returns True if only the connection's end marks the body's end."""
        return not self._is_chunked and not self._has_length

    def next(self) -> Answer:
        """Returns the next piece. An exception leaves the body without its end, which a client detects."""
        try:
            piece = next((piece for piece in self._pieces if piece), b"")
        except BaseException:
            self.close()
            raise
        if not piece:
            self.close()
        if self._is_chunked:
            # An empty piece would end a chunked body (RFC 9112, section 7.1), so that
            # `next` above skips it.
            piece = b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b"0\r\n\r\n"
        return Answer(content=piece, is_last=self._is_last, rest=None if self._has_ended else self)

    def close(self) -> None:
        """Ends the body, also before its last piece, and runs its end once."""
        if not self._has_ended:
            self._has_ended = True
            self._end()

    _has_ended = False


def skip_line_ends(buffer: bytearray, limit: int) -> int:
    """Returns the number of line-end bytes before a request, which old clients send after a body; at most `limit`."""
    match = _LINE_ENDS.match(buffer, 0, limit)
    return match.end() if match else 0


def find_head_end(buffer: bytearray, searched: int) -> int | None:
    """Returns the end of the head at the start of `buffer`, None if it is incomplete; `searched` bytes were examined
    before.

    Raises :class:`RequestRefused` for a head that exceeds the limit, complete or not.
    """
    # Three bytes before the searched part: the empty line may have arrived in two pieces.
    # Bare line feeds end the head too, so that such a request is rejected at once rather
    # than waited for.
    match = _HEAD_END.search(buffer, max(0, searched - 3))
    end = match.end() if match else len(buffer)
    if end > HEAD_BYTES_MAX:
        if b"\n" in buffer[:HEAD_BYTES_MAX]:
            status, what = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers"
        else:
            status, what = HTTPStatus.REQUEST_URI_TOO_LONG, "first line"
        raise RequestRefused(status, f"The request's {what} may have {HEAD_BYTES_MAX} bytes at most.")
    return match.end() if match else None


def is_upload(method: str, target: str) -> bool:
    """Returns True if a request's body is a file."""
    return method == "PUT" and target.startswith(_UPLOADS)


def parse_head(content: bytes, body_bytes_max: int, file_bytes_max: int | None = None) -> Head:
    """Parses a head from `content`, up to the empty line; `file_bytes_max` applies to uploads."""
    first, *lines = _lines(content)
    if len(lines) > HEADERS_MAX:
        raise RequestRefused(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"The request may have {HEADERS_MAX} headers at most."
        )
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        raise _bad("The first line of the request is not: method, target and HTTP version.")
    method, target, major, minor = (part.decode("ascii") for part in match.groups())
    if major != "1":
        raise RequestRefused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "Only HTTP/1.0 and HTTP/1.1 are spoken here.")
    # The absolute form is for proxies. Accepting it would let the request line and the Host
    # header name different hosts.
    if not target.startswith("/") or "#" in target:
        raise _bad("The target of the request must be a path, which begins with a slash and has no fragment.")
    is_old = minor == "0"
    headers = tuple(map(_parse_header, lines))
    if len(_values(headers, "host")) != 1 and not (is_old and not _values(headers, "host")):
        raise _bad("The request must have one Host header.")
    if repeated := next((name for name in _SINGLE if len(_values(headers, name)) > 1), None):
        raise _bad(f"The request must have one header {repeated} at most.")
    tokens = {token.strip().lower() for value in _values(headers, "connection") for token in value.split(",")}
    is_chunked = _is_chunked(headers, is_old)
    if file_bytes_max is not None and is_upload(method, target):
        body_bytes_max = file_bytes_max
    return Head(
        method=method,
        target=target,
        version="HTTP/1.0" if is_old else "HTTP/1.1",
        headers=headers,
        length=_length(headers, body_bytes_max),
        is_chunked=is_chunked,
        # A chunked body is left unread: its bytes must not be parsed as the next request.
        is_kept_alive=not is_chunked and "close" not in tokens and (not is_old or "keep-alive" in tokens),
        expects_continue=_expects_continue(headers, is_old),
    )


def format_answer(status: str, headers: Iterable[tuple[str, str]], body: Sequence[bytes], head: Head | None) -> Answer:
    """Formats a response with HTTP's own headers; `head` is its request's, None if the connection ends here."""
    given = list(headers)
    names = {name.lower() for name, _ in given}
    if "content-length" not in names and not status.startswith(("1", "204", "304")):
        given.append(("Content-Length", str(sum(map(len, body)))))
    is_last = head is None or not head.is_kept_alive
    # RFC 9110, section 9.3.2: HEAD has the headers of GET, its length included, and no
    # body.
    sent = () if head and head.method == "HEAD" else body
    content = b"".join((_head_bytes(status, given, head, is_last=is_last), *sent))
    return Answer(content=content, is_last=is_last, status=_code(status))


def begin_answer(
    status: str, headers: Iterable[tuple[str, str]], pieces: Iterator[bytes], end: Callable[[], None], head: Head
) -> Answer:
    """Begins a response whose body is created while it is sent; see `Rest`."""
    given = list(headers)
    has_length = any(name.lower() == "content-length" for name, _ in given)
    is_chunked = head.version != "HTTP/1.0" and not has_length
    is_last = not (is_chunked or has_length) or not head.is_kept_alive
    if is_chunked:
        given.append(("Transfer-Encoding", "chunked"))
    content, rest = (
        _head_bytes(status, given, head, is_last=is_last),
        Rest(pieces, end, is_chunked=is_chunked, is_last=is_last, has_length=has_length),
    )
    if head.method == "HEAD":
        rest.close()
        return Answer(content=content, is_last=is_last, status=_code(status))
    return Answer(content=content, is_last=is_last, rest=rest, status=_code(status))


def _code(status: str) -> int:
    """Returns the code of a status line such as `404 NOT FOUND`."""
    return int(status.split()[0])


def _head_bytes(status: str, headers: Iterable[tuple[str, str]], head: Head | None, *, is_last: bool) -> bytes:
    given = [*headers, ("Date", formatdate(usegmt=True)), ("Server", SERVER_NAME)]
    if is_last:
        given.append(("Connection", "close"))
    elif head and head.version == "HTTP/1.0":
        given.append(("Connection", "keep-alive"))
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in given), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def format_refusal(status: HTTPStatus, reason: str, request_id: str | None = None) -> Answer:
    """Formats an error response outside the application, in the form of its own errors."""
    content = json.dumps({"error_code": _ERROR_CODES.get(status, "MALFORMED_REQUEST"), "message": reason}).encode()
    headers = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
    if request_id:
        headers.append((REQUEST_ID, request_id))
    return format_answer(f"{status.value} {status.phrase}", headers, [content], None)


def _lines(content: bytes) -> list[bytes]:
    lines = content.split(b"\r\n")[:-2]
    # A proxy in front may take a bare line feed for a line end where this server does not,
    # and see other headers.
    if not lines or any(b"\n" in line or b"\r" in line for line in lines) or not content.endswith(b"\r\n\r\n"):
        raise _bad("Each line of the request's head must end with a carriage return and a line feed.")
    return lines


def _parse_header(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or not _HEADER_NAME.fullmatch(name) or _CONTROL.search(value):
        raise _bad("A header of the request is not: name, colon, value on one line.")
    return name.decode("ascii").lower(), value.strip(b" \t").decode("latin-1")


def _values(headers: _Headers, name: str) -> list[str]:
    return [value for key, value in headers if key == name]


def _length(headers: _Headers, bytes_max: int) -> int:
    lengths = _values(headers, "content-length")
    if not lengths:
        return 0
    if len(lengths) > 1 or not _DIGITS.fullmatch(lengths[0]):
        raise _bad("Content-Length must be given once, as a whole number of bytes.")
    if len(lengths[0]) > _LENGTH_DIGITS_MAX or int(lengths[0]) > bytes_max:
        raise RequestRefused(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body of the request may have {bytes_max} bytes at most."
        )
    return int(lengths[0])


def _is_chunked(headers: _Headers, is_old: bool) -> bool:
    codings = _values(headers, "transfer-encoding")
    if not codings:
        return False
    if is_old or _values(headers, "content-length"):
        raise _bad("Transfer-Encoding must not be combined with Content-Length, nor in a request of HTTP/1.0.")
    if [coding.lower() for coding in codings] != ["chunked"]:
        raise RequestRefused(HTTPStatus.NOT_IMPLEMENTED, "No transfer coding is supported; send Content-Length.")
    return True


def _expects_continue(headers: _Headers, is_old: bool) -> bool:
    expected = {value.lower() for value in _values(headers, "expect")}
    if expected - {"100-continue"}:
        raise RequestRefused(HTTPStatus.EXPECTATION_FAILED, "Only the expectation 100-continue is known.")
    return bool(expected) and not is_old


def _bad(reason: str) -> RequestRefused:
    return RequestRefused(HTTPStatus.BAD_REQUEST, reason)
