"""The ends of a request without a response, in any protocol."""

from __future__ import annotations

import http.client
import re
import urllib.request

import pyarrow as pa

from tests.clients.http_client import API, HttpClient, HttpRefused

_NOT_FOUND, _UNAVAILABLE = 404, (429, 502, 503, 504)
_CONDITION = re.compile(r"\[([A-Z0-9_.]+)\]")


class Disconnected(Exception):
    """No answer: the client cannot know if the request arrived."""


class Forgotten(Exception):
    """The server does not know the id or handle."""


class Rejected(Exception):
    """An error in the answer. `is_temporary`: the server does not serve now."""

    def __init__(self, message: str, is_temporary: bool = False) -> None:
        super().__init__(message)
        self.is_temporary = is_temporary


class Stuck(Exception):
    """No answer within the time in which every fault is over."""


def condition_in(message: str) -> str:
    """Returns the error condition in a message, which has it in brackets."""
    found = _CONDITION.search(message)
    return found[1] if found else message[:80].replace("\n", " ")


def ask(client: HttpClient, method: str, path: str, body: object = None) -> dict[str, object]:
    """Returns the answer of the statement API."""
    try:
        return client.ask(method, path, body)
    except HttpRefused as error:
        if error.status == _NOT_FOUND:
            raise Forgotten(str(error)) from error
        raise Rejected(str(error), error.status in _UNAVAILABLE) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Disconnected(repr(error)) from error


def rows(client: HttpClient, statement_id: object, offset: int, limit: int) -> pa.Table:
    """Returns rows of a result by position."""
    path = f"{API}/statements/{statement_id}/result/rows?offset={offset}&limit={limit}"
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{client.port}{path}", timeout=client.timeout_s) as response:
            return pa.ipc.open_stream(response.read()).read_all()
    except urllib.error.HTTPError as error:
        if error.code == _NOT_FOUND:
            raise Forgotten(str(error)) from error
        raise Rejected(str(error), error.code in _UNAVAILABLE) from error
    except (OSError, http.client.HTTPException, pa.ArrowInvalid) as error:
        raise Disconnected(repr(error)) from error
