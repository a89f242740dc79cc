"""OAuth 2.0 protected resource metadata (RFC 9728), from which clients of MCP find the identity provider.

    GET /.well-known/oauth-protected-resource[/<path>]

The path is that of the protected URL, which follows the well-known part (section 3.1): clients compare `resource` with
the URL that they were given. The provider has to issue tokens with an audience in `jwt.audiences`, which may be that
URL (RFC 8707). Without an identity provider there is no metadata.
"""

from __future__ import annotations

from urllib.parse import quote

from flask import Blueprint
from werkzeug.exceptions import NotFound

from gateway.authenticators.issuer import Endpoints
from gateway.http.log_in import root_url

PATH = "/.well-known/oauth-protected-resource"


def protected_resource_blueprint(endpoints: Endpoints | None, public_url: str) -> Blueprint:
    """Returns the route `/.well-known/oauth-protected-resource` for each resource's path (RFC 9728, section 3.1).

    It answers 404 without an identity provider.
    """
    routes = Blueprint("protected_resource", __name__)

    @routes.get(PATH, defaults={"path": ""})
    @routes.get(f"{PATH}/<path:path>")
    def metadata(path: str) -> dict[str, object]:
        if endpoints is None:
            raise NotFound()
        return {
            "resource": f"{root_url(public_url)}/{path}".rstrip("/"),
            "authorization_servers": [endpoints.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "delta-gateway",
        }

    return routes


def metadata_url(public_url: str, path: str) -> str:
    """Returns the URL of the metadata of a path."""
    return f"{root_url(public_url)}{PATH}{quote(path)}"
