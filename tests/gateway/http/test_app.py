"""The application around statements: health, the page, and requests rejected early."""

from __future__ import annotations

import json

import pytest

from gateway.authenticators.anonymous import Anonymous
from gateway.http.app import BODY_BYTES_MAX, HttpOptions, create_app
from gateway.http.hosts import KnownHosts
from tests.gateway.arrow_engine import fails, sleeps
from tests.gateway.http.conftest import STATEMENTS, Api, Maker

NOT_FOUND = (404, "ENDPOINT_NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [
        ("GET", "/nowhere", NOT_FOUND),
        ("GET", "/api/2.0/sql", NOT_FOUND),
        ("GET", "/oidc/.well-known/oauth-authorization-server", NOT_FOUND),
        ("GET", f"{STATEMENTS}/x/result/chunks/first", NOT_FOUND),
        ("GET", f"{STATEMENTS}/x/result/chunks/-1", NOT_FOUND),
        ("GET", STATEMENTS, (405, "METHOD_NOT_ALLOWED")),
        ("PUT", f"{STATEMENTS}/x", (405, "METHOD_NOT_ALLOWED")),
    ],
)
def test_a_request_to_nothing_is_refused_in_json(api: Api, method: str, path: str, answer: tuple[int, str]) -> None:
    assert api.refuse(method, path) == answer


def test_unknown_route_is_named_with_the_list_of_routes(api: Api) -> None:
    answer = api.request("GET", "/api/2.0/nothing")
    assert (answer.status_code, answer.json["message"]) == (  # type: ignore[index]
        404,
        "GET /api/2.0/nothing is not a route of this server. /api/openapi.json lists the routes.",
    )


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_must_be_declared_as_json(api: Api, content_type: str) -> None:
    """So that no web page can post one without the browser asking first."""
    response = api.client.post(STATEMENTS, data=b'{"statement": "SELECT 1"}', content_type=content_type)
    assert response.status_code == 415
    assert json.loads(response.data)["error_code"] == "UNSUPPORTED_MEDIA_TYPE"


def test_a_body_of_any_size_is_not_read(api: Api) -> None:
    response = api.client.post(STATEMENTS, data=b" " * (BODY_BYTES_MAX + 1), content_type="application/json")
    assert response.status_code == 413
    assert json.loads(response.data)["error_code"] == "REQUEST_TOO_LARGE"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:8080", 200),
        ("LOCALHOST:8080", 200),
        ("127.0.0.1:8080", 200),
        ("[::1]:8080", 200),
        ("proxy.example", 200),
        ("PROXY.example:1", 200),
        ("other.example:80", 200),
        ("[::2]:80", 200),
        ("[::3]:80", 403),
        (":80", 403),
        ("evil.example", 403),
        ("evil.example:8080", 403),
        ("localhost.evil.example", 403),
        ("", 403),
    ],
)
def test_only_names_of_this_server_are_answered(api: Api, host: str, status: int) -> None:
    """A web page that points its own name at this machine gets nothing."""
    app = create_app(
        api.lifecycle, Anonymous(), HttpOptions(hosts=KnownHosts(["proxy.example", "other.example:8443", "[::2]", ""]))
    )
    response = app.test_client().get("/healthz", headers={"Host": host})
    assert response.status_code == status
    assert (json.loads(response.data).get("error_code") == "PERMISSION_DENIED") == (status == 403)


def test_a_ready_server_is_healthy_and_ready(api: Api) -> None:
    assert api.ask("GET", "/healthz") == {"status": "ok"}
    assert api.ask("GET", "/readyz") == {"status": "ready"}


def test_readiness_probe_is_cached(api: Api) -> None:
    for _ in range(5):
        api.ask("GET", "/readyz")
    assert len(api.engine.runs) == 1 and all(session.closed for session in api.engine.sessions)


def test_a_starting_server_lives_but_is_not_ready(make_api: Maker) -> None:
    api = make_api(is_ready=False)
    assert api.ask("GET", "/healthz") == {"status": "ok"}
    assert api.request("GET", "/readyz").status_code == 503
    assert api.refuse("POST", STATEMENTS, {"statement": "SELECT 1"}) == (503, "TEMPORARILY_UNAVAILABLE")
    assert b"starting" in api.request("GET", "/").data


def test_a_draining_server_is_not_ready(api: Api) -> None:
    api.lifecycle.become_draining()
    assert json.loads(api.request("GET", "/readyz").data) == {"status": "draining"}


@pytest.mark.parametrize("answer", [fails(RuntimeError("Spark is gone")), sleeps(60)], ids=["fails", "hangs"])
def test_a_server_whose_engine_does_not_answer_is_not_ready(
    api: Api, monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr("gateway.http.readiness._TIMEOUT_S", 0.05)
    api.engine.answers["SELECT 1"] = answer  # type: ignore[assignment]
    assert api.request("GET", "/readyz").status_code == 503


def test_the_page_says_how_to_connect_and_loads_nothing(api: Api) -> None:
    page = api.request("GET", "/", Host="localhost:9999")  # a port of this machine that is forwarded to the server's
    assert "jdbc:hive2://localhost:9999/;transportMode=http;httpPath=cliservice" in page.text
    assert "jdbc:hive2://localhost:10000/" in page.text and "http://localhost:9999/api" in page.text
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert page.text.count("<script") == page.text.count("<script nonce=") == 1 and "src=" not in page.text
    assert 'sql.connect(\n    "localhost"' in page.text and 'WorkspaceClient(host="http://localhost:9999"' in page.text


def test_answers_forbid_caching(api: Api) -> None:
    headers = api.request("GET", "/healthz").headers
    assert headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff"
