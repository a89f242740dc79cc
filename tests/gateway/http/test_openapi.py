"""The OpenAPI document is complete: every route, every referenced schema."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from gateway.authenticators.anonymous import Anonymous
from gateway.http.app import HttpOptions, create_app
from gateway.http.openapi import OPERATIONS, Described, openapi_document
from gateway.lifecycle import Lifecycle
from tests.gateway.http.conftest import Api


def test_every_route_is_described_and_nothing_else() -> None:
    app = create_app(Lifecycle(), Anonymous(), HttpOptions())
    routes = {
        (re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in rule.methods or ()
        if method not in ("HEAD", "OPTIONS")
    }
    paths = openapi_document()["paths"]
    assert isinstance(paths, dict)
    assert {(path, method) for path, methods in paths.items() for method in methods} == routes


def test_every_schema_is_there_and_used() -> None:
    document = openapi_document()
    components = document["components"]
    assert isinstance(components, dict)
    referred = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert referred == set(components["schemas"])


def test_schemas_of_the_document_are_valid(tmp_path: Path) -> None:
    path = tmp_path / "schemas.json"
    schemas = dict(enumerate(_schemas(openapi_document())))
    assert len(schemas) > 100
    path.write_text(json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": schemas}))
    command = [str(Path(sys.executable).with_name("check-jsonschema")), "--check-metaschema", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def _schemas(part: object) -> Iterator[object]:
    """Yields the named schemas, and those of parameters and contents."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "schemas":
                yield from value.values()
            elif key == "schema":
                yield value
            else:
                yield from _schemas(value)
    elif isinstance(part, list):
        for value in part:
            yield from _schemas(value)


@pytest.mark.parametrize(
    "path",
    [
        *("/login/provider", "/login/callback", "/oidc/.well-known/oauth-authorization-server"),
        *("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/{path}"),
    ],
)
def test_routes_of_an_identity_provider_are_described_for_servers_without_one(api: Api, path: str) -> None:
    status, _ = api.refuse("GET", path.format(path="x"))
    assert status == HTTPStatus.NOT_FOUND
    (described,) = [each for each in OPERATIONS if (each.method, each.path) == ("get", path)]
    assert status in described.statuses


def test_the_document_is_served_without_a_log_in(api: Api) -> None:
    assert api.ask("GET", "/api/openapi.json") == openapi_document()


@pytest.mark.parametrize(
    "described", [each for each in OPERATIONS if not each.is_open], ids=lambda each: f"{each.method} {each.path}"
)
def test_without_a_log_in_nothing_is_answered(api: Api, described: Described) -> None:
    """Whatever else is wrong with the request."""
    api.peer = "192.0.2.7"  # another machine, which a server without authentication does not let in
    path = re.sub(r"\{\w+\}", "0", described.path)
    body: dict[str, object] | None = {} if described.method == "post" else None
    assert api.refuse(described.method.upper(), path, body) == (401, "UNAUTHENTICATED")
    assert not api.engine.runs and not api.registry.sessions()
