"""Functions and keywords for an editor's completion.

    GET /api/2.0/catalog/functions[?catalog=]   built-in ones, and those of a catalog, or of all, by visibility

The answer is compressed if the client accepts it, and has an ETag, since most of it never changes.
"""

from __future__ import annotations

import gzip
import hashlib

import msgspec
from flask import Blueprint, Response, request

from engine.runtime.function_help import FunctionHelp
from gateway.http.statements import StatementApi

PATH = "/api/2.0/catalog/functions"
# A first request may wait for Spark.
_ANSWER_S = 30.0


def function_blueprint(api: StatementApi) -> Blueprint:
    """Returns the route `GET /api/2.0/catalog/functions`: built-in and visible functions, and keywords."""
    routes = Blueprint("functions", __name__)
    routes.before_request(api.authenticate)

    @routes.get(PATH)
    def functions() -> Response:
        engine, identity = api.registry().engine, api.identity()
        catalog = request.args.get("catalog") or None
        known = api.calls.run(engine.sql_help, _ANSWER_S)
        own = api.calls.run(lambda: engine.user_functions(identity, catalog), _ANSWER_S)
        body = {
            "functions": [*map(_function, known.functions), *map(_function, own)],
            "keywords": known.keywords,
        }
        return _answer(msgspec.json.encode(body))

    return routes


def _function(function: FunctionHelp) -> dict[str, object]:
    """Returns the fields that the function has."""
    *container, name = function.name_parts
    fields: dict[str, object] = {"name": name, "kind": "user" if container else "builtin", "type": function.type}
    if container:
        fields |= {"catalog": container[0], "schema": container[1]}
    fields |= {"usage": function.usage, "description": function.description, "examples": function.examples}
    further = {
        "arguments": function.arguments,
        "note": function.note,
        "group": function.group,
        "since": function.since,
        "deprecated": function.deprecated,
    }
    return fields | {name: text for name, text in further.items() if text}


def _answer(content: bytes) -> Response:
    response = Response(content, content_type="application/json")
    response.set_etag(hashlib.sha256(content).hexdigest()[:32], weak=True)
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["Vary"] = "Accept-Encoding, Authorization, Cookie"
    if request.accept_encodings["gzip"]:
        response.set_data(gzip.compress(content, 6, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
    response.make_conditional(request)
    return response
