"""A server for a run, with its logins: anonymous, or by password, access token and JWT."""

from __future__ import annotations

import base64
import json
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.gateway.authenticators.users import make_users
from tests.security.issuer import AUDIENCE, provider
from tests.server_process import ServerProcess
from tests.soak.front_ends import ANONYMOUS, Api, Login
from tests.soak.load import SETUP

_JWT_S = 3600
# The user of a JWT is another principal than the one with a password.
_GRANTS = (
    "GRANT USE CATALOG ON CATALOG spark_catalog TO `account users`",
    "GRANT USE SCHEMA, SELECT, MODIFY ON SCHEMA default TO `account users`",
)
# jcmd attaches to Java to measure it.
_CONF = '{"spark.driver.extraJavaOptions" = "-XX:-DisableAttachMechanism"}'


@dataclass(frozen=True)
class Served:
    """The server, and functions that return a login of each method."""

    process: ServerProcess
    ports: Mapping[str, int]
    logins: Sequence[Callable[[], Login]]


@contextmanager
def served(folder: Path, has_users: bool, **settings: str) -> Iterator[Served]:
    """Starts a server over a new lake with the tables of the load; yields until it drains by SIGTERM."""
    for name in ("lake", "local", "catalog"):
        (folder / name).mkdir(mode=0o700)
    with ExitStack() as stack:
        environment = {
            "GATEWAY_SPARK_LOCAL_DIR": str(folder / "local"),
            "GATEWAY_SPARK_CONF": _CONF,
            "GATEWAY_SERVER_CONNECT_PORT": "0",
            "GATEWAY_SERVER_POSTGRES_PORT": "0",
            "GATEWAY_SERVER_FLIGHT_PORT": "0",
            "GATEWAY_MCP_MODE": "read_write",
            **settings,
        }
        if has_users:
            issuer = stack.enter_context(provider())
            environment |= {
                "GATEWAY_LAKE_CATALOG_FOLDER": str(folder / "catalog"),
                "GATEWAY_AUTHENTICATION_METHODS": '["password", "token", "jwt"]',
                "GATEWAY_AUTHENTICATION_PASSWORD_FILE": str(make_users(folder / "passwords")),
                "GATEWAY_AUTHENTICATION_TOKEN_FILE": str(folder / "tokens"),
                "GATEWAY_AUTHENTICATION_ADMINS": '["ann"]',
                "GATEWAY_JWT_ISSUER": issuer.url,
                "GATEWAY_JWT_AUDIENCES": f'["{AUDIENCE}"]',
            }
        process = ServerProcess(folder, str(folder / "lake"), **environment)
        try:
            ports = process.ports()
            password = Login("password" if has_users else ANONYMOUS, "ann", "annann")
            logins: list[Callable[[], Login]] = [lambda: password]
            if has_users:
                token = Login("token", "ann", _token(ports["http"]))
                logins += [
                    lambda: token,
                    lambda: Login("jwt", "ann", issuer.token(exp=int(time.time()) + _JWT_S)),
                ]
            setup = Api(ports, password)
            for text in (*SETUP, *(_GRANTS if has_users else ())):
                setup.run(text)
            setup.close()
            yield Served(process, ports, logins)
            process.popen.send_signal(signal.SIGTERM)
            assert process.end() == 0, process.output
        finally:
            if process.popen.poll() is None:
                process.popen.kill()
            process.end()


def _token(port: int) -> str:
    header = {"Authorization": "Basic " + base64.b64encode(b"ann:annann").decode(), "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/2.0/token/create", b"{}", header)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(json.load(answer)["token_value"])
