"""An identity provider on a local port: metadata, replaceable keys, client credentials, and authorization codes."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

RSA = {name: RSAKey.generate_key(2048, {"kid": name, "use": "sig"}) for name in ("k1", "k2")}
CLIENTS = {"etl": "etl-secret"}
AUDIENCE = "delta"


@dataclass
class Provider:
    """A provider: `keys` are its published ones; `answers` has replacement responses, by path.

    `codes` has the token endpoint's response for each authorization code, which is valid once; codes are answered while
    `may_answer` is set. `forms` has the requests with their headers Authorization, `user_info` the claims for each
    access token.
    """

    url: str = ""
    keys: list[Any] = field(default_factory=lambda: [RSA["k1"]])
    answers: dict[str, tuple[int, str]] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, Any]] = field(default_factory=dict)
    forms: list[dict[str, str]] = field(default_factory=list)
    user_info: dict[str, dict[str, Any]] = field(default_factory=dict)
    may_answer: threading.Event = field(default_factory=threading.Event)

    def token(self, key: Any = None, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """Returns a signed token for ann; claims that are None are left out."""
        key = key or RSA["k1"]
        given = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "42",
            "preferred_username": "ann",
            "groups": ["staff"],
            "exp": int(time.time()) + 300,
        } | claims
        return jwt.encode(
            {n: v for n, v in ({"alg": "RS256", "kid": key.kid} | (header or {})).items() if v is not None},
            {name: value for name, value in given.items() if value is not None},
            key,
            algorithms=["RS256", "RS512", "PS256", "ES256", "HS256"],
        )

    def document(self, path: str) -> dict[str, Any] | None:
        match path:
            case "/.well-known/openid-configuration":
                return {
                    "issuer": self.url,
                    "jwks_uri": f"{self.url}/keys",
                    "token_endpoint": f"{self.url}/token",
                    "authorization_endpoint": f"{self.url}/authorize",
                    "userinfo_endpoint": f"{self.url}/userinfo",
                    "end_session_endpoint": f"{self.url}/end",
                }
            case "/keys":
                return {"keys": [key.as_dict(private=False) for key in self.keys]}
            case _:
                return None


@contextlib.contextmanager
def provider() -> Iterator[Provider]:
    made = Provider()
    made.may_answer.set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.paths.append(self.path)
            if self.path == "/userinfo" and self.path not in made.answers:
                token = self.headers["Authorization"].removeprefix("Bearer ")
                self._answer(200, json.dumps(made.user_info.get(token, {"sub": "42"})))
                return
            status, content = made.answers.get(self.path, (200, json.dumps(made.document(self.path))))
            self._answer(status, content, made.url if status in (301, 302) else "")

        def do_POST(self) -> None:
            """The token endpoint (RFC 6749, sections 4.1.3 and 4.4)."""
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            made.paths.append(self.path)
            form = dict(parse_qsl(body))
            if form["grant_type"] == "authorization_code":
                made.forms.append(form | {"Authorization": self.headers["Authorization"] or ""})
                assert made.may_answer.wait(60)
                refused = (400, '{"error": "invalid_grant", "error_description": "The code is <b>unknown</b>."}')
                found = made.codes.pop(form["code"], None)
                self._answer(*made.answers.get(self.path, refused if found is None else (200, json.dumps(found))))
                return
            pair = base64.b64decode(self.headers["Authorization"].split()[1]).decode().split(":")
            if CLIENTS.get(pair[0]) != pair[1] or "grant_type=client_credentials" not in body:
                self._answer(401, '{"error": "invalid_client"}')
                return
            token = made.token(preferred_username=None, groups=None, sub=pair[0], azp=pair[0])
            self._answer(200, json.dumps({"access_token": token, "token_type": "Bearer", "expires_in": 300}))

        def _answer(self, status: int, content: str, location: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content.encode())))
            if location:
                self.send_header("Location", f"{location}/keys")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


def elliptic_key(name: str) -> Any:
    return ECKey.generate_key("P-256", {"kid": name, "use": "sig"})
