"""The Flask application: routes, and the outermost error handler, which converts every failure to JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlsplit

from flask import Flask, Response, jsonify, request
from flask.json.provider import DefaultJSONProvider
from werkzeug.exceptions import HTTPException, LengthRequired

from catalog.errors import shorten
from catalog.grants.tokens import TokenStore
from gateway.audit.auditor import Auditor
from gateway.authenticators.exchange import Authenticator
from gateway.authenticators.issuer import Endpoints
from gateway.authenticators.oidc import Oidc
from gateway.configuration.config import McpMode, McpSection
from gateway.forwarding.signed_calls import CallSigner
from gateway.http.activity import activity_blueprint
from gateway.http.authentication import challenges, retry_after
from gateway.http.browse import browse_blueprint
from gateway.http.callers import Callers
from gateway.http.console_page import console_blueprint
from gateway.http.delivery import FRONT_END
from gateway.http.editor import editor_blueprint
from gateway.http.files import files_blueprint, staged_blueprint
from gateway.http.forwarded import Forwarded
from gateway.http.forwarding import ForwardedCalls, forwarded_call
from gateway.http.function_routes import function_blueprint
from gateway.http.hosts import KnownHosts
from gateway.http.log_in import LogInPage, discovery_blueprint, log_in_blueprint
from gateway.http.mcp.routes import API as MCP_API
from gateway.http.mcp.routes import mcp_blueprint
from gateway.http.metrics import metrics_blueprint
from gateway.http.openapi import PATH as OPENAPI_PATH
from gateway.http.openapi import openapi_blueprint
from gateway.http.protected_resource import metadata_url, protected_resource_blueprint
from gateway.http.provider_log_in import provider_blueprint
from gateway.http.readiness import health_blueprint
from gateway.http.request_ids import RequestIds
from gateway.http.result_routes import result_blueprint
from gateway.http.saved_queries import saved_queries_blueprint
from gateway.http.session_routes import session_blueprint
from gateway.http.staged_links import LinkSigner, StagedLinks, link_signer
from gateway.http.statements import StatementApi
from gateway.http.tokens import tokens_blueprint
from gateway.http.unity_catalog import unity_catalog_blueprint
from gateway.http.waiting import WaitQueue
from gateway.http.warehouses import warehouses_blueprint
from gateway.lifecycle import Lifecycle, Phase
from gateway.observability.status import describe
from gateway.sessions.bounded import EngineCalls
from gateway.state.log_ins import LogIns

BODY_BYTES_MAX = 16 << 20
_ERROR_CODES = {
    HTTPStatus.NOT_FOUND: "ENDPOINT_NOT_FOUND",
    HTTPStatus.METHOD_NOT_ALLOWED: "METHOD_NOT_ALLOWED",
    HTTPStatus.LENGTH_REQUIRED: "LENGTH_REQUIRED",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "REQUEST_TOO_LARGE",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """Options. `threads` handle requests; `hosts` are the names by which clients may address the server.

    Links begin with `public_url`, if it is set, or with the URL that one of the `proxies` reports.
    """

    threads: int = 32
    hosts: KnownHosts = field(default_factory=KnownHosts)
    link_lifetime_s: float = 900.0
    public_url: str = ""
    proxies: tuple[str, ...] = ()
    tokens: TokenStore | None = None
    oauth: Endpoints | None = None
    oidc: Oidc | None = None
    auditor: Auditor | None = None
    staged: StagedLinks = field(default_factory=lambda: StagedLinks(LinkSigner(lifetime_s=900.0)))
    # For requests that other gateways forward; None: there are no others.
    call_signer: CallSigner | None = None
    # The cookies of all gateways; None: there are no others.
    log_ins: LogIns | None = None
    mcp: McpSection = field(default_factory=McpSection)
    # The console's files by name; without any `/` shows how to connect.
    console: Mapping[str, bytes] = field(default_factory=dict)


class _Json(DefaultJSONProvider):
    ensure_ascii = False
    sort_keys = False
    compact = True


class _App(Flask):
    json_provider_class = _Json


def create_app(lifecycle: Lifecycle, authenticator: Authenticator, options: HttpOptions) -> Flask:
    """Creates all routes over the registry in `lifecycle`, which may still be starting."""
    app = _App(__name__, static_folder=None)
    app.url_map.strict_slashes = False  # Databricks' JDBC driver appends a slash to its statements' paths
    app.config["MAX_CONTENT_LENGTH"] = BODY_BYTES_MAX
    callers = Callers(authenticator, urlsplit(options.public_url).netloc, options.auditor, options.log_ins)
    api = StatementApi(
        lifecycle=lifecycle,
        callers=callers,
        signer=link_signer(options.link_lifetime_s, options.call_signer),
        wait_queue=WaitQueue(options.threads),
        calls=EngineCalls(options.threads),
        public_url=options.public_url.rstrip("/"),
    )
    behind_proxies = Forwarded(app.wsgi_app, options.proxies)
    app.wsgi_app = RequestIds(ForwardedCalls(behind_proxies, options.call_signer))  # type: ignore[assignment]
    app.extensions[FRONT_END] = api
    app.register_blueprint(api.blueprint())
    for routes in (result_blueprint, browse_blueprint, editor_blueprint, activity_blueprint, session_blueprint):
        app.register_blueprint(routes(api))
    app.register_blueprint(warehouses_blueprint(api))
    app.register_blueprint(unity_catalog_blueprint(api))
    app.register_blueprint(function_blueprint(api))
    app.register_blueprint(saved_queries_blueprint(api))
    app.register_blueprint(files_blueprint(api))
    app.register_blueprint(staged_blueprint(api, options.staged))
    if options.mcp.mode is not McpMode.OFF:
        app.register_blueprint(mcp_blueprint(api, options.mcp))
    app.register_blueprint(openapi_blueprint())
    app.register_blueprint(metrics_blueprint(lifecycle, callers))
    app.register_blueprint(health_blueprint(lifecycle))
    app.register_blueprint(console_blueprint(lifecycle, callers, options.console, options.public_url.rstrip("/")))
    page = LogInPage(callers, options.oidc)
    app.register_blueprint(log_in_blueprint(page, options.public_url.rstrip("/")))
    app.register_blueprint(provider_blueprint(page, options.public_url.rstrip("/")))
    app.register_blueprint(tokens_blueprint(callers, options.tokens))
    app.register_blueprint(discovery_blueprint(options.oauth, options.public_url.rstrip("/")))
    app.register_blueprint(protected_resource_blueprint(options.oauth, options.public_url.rstrip("/")))

    @app.before_request
    def ensure_acceptable() -> None:
        if forwarded_call() is None:
            options.hosts.ensure_known(request.host)
        if request.environ.get("wsgi.input_terminated"):  # chunked: it could have any size
            raise LengthRequired("The request must state the length of its body (Content-Length).")

    def failure_answer(error: Exception) -> Response:
        failure = describe(error)
        error_body = {"error_code": failure.http_error_code, "message": failure.message, "sql_state": failure.sqlstate}
        body = jsonify(error_body | failure.details)
        body.status_code = failure.http_status
        if failure.http_status is HTTPStatus.UNAUTHORIZED:
            is_browser, metadata_url = "Sec-Fetch-Mode" in request.headers, resource_metadata_url(options)
            body.headers.extend(challenges(authenticator, is_browser=is_browser, resource_metadata=metadata_url))
        body.headers.extend(retry_after(error))
        return body

    @app.after_request
    def harden(response: Response) -> Response:
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers.setdefault("Cache-Control", "no-store")
        if lifecycle.phase is Phase.DRAINING:
            response.headers["Connection"] = "close"  # the next request goes to a server that continues
        return response

    app.register_error_handler(HTTPException, _http_failure)
    app.register_error_handler(Exception, failure_answer)
    return app


def resource_metadata_url(options: HttpOptions) -> str | None:
    """Returns the URL of the metadata that leads a client of MCP to the identity provider; None without one."""
    if options.oauth is None or not request.path.startswith(MCP_API):
        return None
    return metadata_url(options.public_url.rstrip("/"), request.path)


def _http_failure(error: HTTPException) -> tuple[Response, int]:
    """Converts the router's own errors: unknown page, wrong method or size."""
    status = HTTPStatus(error.code or HTTPStatus.INTERNAL_SERVER_ERROR)
    message = error.description
    if status is HTTPStatus.NOT_FOUND:
        route = f"{request.method} {shorten(request.path)}"
        message = f"{route} is not a route of this server. {OPENAPI_PATH} lists the routes."
    body = jsonify(error_code=_ERROR_CODES.get(status, "MALFORMED_REQUEST"), message=message)
    body.headers.extend((name, value) for name, value in error.get_headers() if name == "Allow")
    return body, status
