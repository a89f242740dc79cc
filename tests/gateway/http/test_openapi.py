"""The OpenAPI document is complete: every route, every referenced schema."""

from __future__ import annotations

import json
import re

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
