"""Each client by each way to log in that it has: password, token and JWT, over Thrift, HTTP and TLS."""

from __future__ import annotations

import base64
import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import impala.dbapi
import pytest
from databricks import sql
from databricks.sdk.core import Config, oauth_service_principal
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError
from pyhive import hive
from thrift.transport.THttpClient import THttpClient

from tests.certificates import STORE_PASSWORD, Certificate, make_certificate
from tests.clients.drivers import BeelineDriver, JdbcDriver, PythonDriver, StatementFailed
from tests.gateway.authenticators.users import make_users
from tests.security.issuer import AUDIENCE, provider
from tests.security.secure_server import SecureServer, basic

WAREHOUSE = "/sql/1.0/warehouses/any"


@dataclass(frozen=True)
class Secured:
    """A server with users, tokens and an identity provider; `secrets` are ann's, by method."""

    server: SecureServer
    certificate: Certificate
    secrets: Mapping[str, str]

    @property
    def thrift(self) -> int:
        return self.server.ports.thrift

    @property
    def http(self) -> int:
        return self.server.ports.http


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    make_users(folder / "users")
    certificate = make_certificate(folder)
    certificate.key.chmod(0o600)
    with provider() as idp:
        server = SecureServer(
            folder,
            authentication__methods=["password", "token", "jwt"],
            jwt__issuer=idp.url,
            jwt__audiences=[AUDIENCE],
            server__tls_certificate=str(certificate.certificate),
            server__tls_key=str(certificate.key),
        ).start()
        token = server.ask("POST", "/api/2.0/token/create", {}, **basic("ann")).body["token_value"]
        yield Secured(server, certificate, {"password": "annann", "token": token, "jwt": idp.token()})
        server.stop()


def pyhive(server: Secured, user: str, secret: str) -> Any:
    return hive.connect("127.0.0.1", server.thrift, username=user, password=secret, auth="LDAP")


def pyhive_custom(server: Secured, user: str, secret: str) -> Any:
    return hive.connect("127.0.0.1", server.thrift, username=user, password=secret, auth="CUSTOM")


def pyhive_https(server: Secured, user: str, secret: str) -> Any:
    """Connects as dbt-spark does."""
    context = ssl.create_default_context(cafile=str(server.certificate.certificate))
    client = THttpClient(f"https://localhost:{server.http}{WAREHOUSE}", ssl_context=context)
    client.setCustomHeaders({"Authorization": "Basic " + base64.b64encode(f"{user}:{secret}".encode()).decode()})
    return hive.connect(thrift_transport=client)


def impyla(server: Secured, user: str, secret: str) -> Any:
    certificate = str(server.certificate.certificate)
    return impala.dbapi.connect(
        "localhost", server.thrift, auth_mechanism="LDAP", user=user, password=secret, use_ssl=True, ca_cert=certificate
    )


def impyla_http(server: Secured, user: str, secret: str) -> Any:
    return impala.dbapi.connect(
        "127.0.0.1",
        server.http,
        auth_mechanism="LDAP",
        user=user,
        password=secret,
        use_http_transport=True,
        http_path="cliservice",
    )


def impyla_jwt(server: Secured, user: str, secret: str) -> Any:
    return impala.dbapi.connect(
        "localhost",
        server.http,
        auth_mechanism="JWT",
        jwt=secret,
        use_http_transport=True,
        http_path="cliservice",
        use_ssl=True,
        ca_cert=str(server.certificate.certificate),
    )


def databricks(server: Secured, user: str, secret: str) -> Any:
    return sql.connect(
        server_hostname="127.0.0.1",
        http_path=WAREHOUSE,
        access_token=secret,
        _connection_uri=f"http://127.0.0.1:{server.http}{WAREHOUSE}",
        enable_telemetry=False,
        _retry_stop_after_attempts_count=1,
    )


Connect = Callable[[Secured, str, str], Any]
CASES: list[tuple[Connect, str, str]] = [
    *((connect, "ann", "password") for connect in (pyhive, pyhive_custom, pyhive_https, impyla, impyla_http)),
    *((connect, "token", "token") for connect in (pyhive, pyhive_https, impyla, impyla_http, databricks)),
    *((connect, "token", "jwt") for connect in (pyhive, impyla, impyla_jwt, databricks)),
]


@pytest.mark.parametrize(("connect", "user", "method"), CASES)
def test_a_python_client(secured: Secured, connect: Connect, user: str, method: str) -> None:
    driver = PythonDriver(connect(secured, user, secured.secrets[method]))
    assert driver.run("SELECT 1") == [["1"]]
    driver.close()
    identity = secured.server.engine.runs[-1].context.identity
    assert (identity.principal, identity.method) == ("ann", method)


@pytest.mark.parametrize(("connect", "user", "method"), [CASES[index] for index in (0, 3, 9)])
def test_wrong_secret_is_reported(secured: Secured, connect: Connect, user: str, method: str) -> None:
    secret = secured.secrets[method]
    wrong = f"{secret[:-3]}xyz" if method != "password" else "x"
    before = len(secured.server.engine.sessions)
    with pytest.raises(Exception, match="(?i)not valid|401|unauthorized|AUTHENTICATION"):
        connect(secured, "bob" if method == "password" else user, wrong).cursor().execute("SELECT 1")
    assert len(secured.server.engine.sessions) == before


def jdbc_url(server: Secured, transport: str) -> str:
    port = server.http if transport == "http" else server.thrift
    path = ";transportMode=http;httpPath=cliservice" if transport == "http" else ""
    store = f";ssl=true;sslTrustStore={server.certificate.trust_store};trustStorePassword={STORE_PASSWORD}"
    return f"jdbc:hive2://localhost:{port}/default{path}{store if transport == 'tls' else ''}"


@pytest.mark.parametrize("transport", ["tcp", "tls", "http"])
@pytest.mark.parametrize(("user", "method"), [("ann", "password"), ("token", "token"), ("token", "jwt")])
def test_jdbc(jvm: JavaGateway, secured: Secured, transport: str, user: str, method: str) -> None:
    url = f"{jdbc_url(secured, transport)};user={user};password={secured.secrets[method]}"
    driver = JdbcDriver(jvm, url)
    assert driver.run("SELECT 1") == [["1"]]
    driver.close()
    assert secured.server.engine.runs[-1].context.identity.method == method


@pytest.mark.parametrize("transport", ["tls", "http"])
def test_jdbc_reports_wrong_password(jvm: JavaGateway, secured: Secured, transport: str) -> None:
    with pytest.raises((StatementFailed, Py4JJavaError), match=r"(?i)wrong user name or password|401"):
        JdbcDriver(jvm, f"{jdbc_url(secured, transport)};user=nobody-{transport};password=x").run("SELECT 1")


@pytest.mark.slow
def test_beeline(secured: Secured) -> None:
    assert BeelineDriver(jdbc_url(secured, "tls"), "ann", secured.secrets["password"]).run("SELECT 1") == [["1"]]


def test_curl(secured: Secured, tmp_path: Path) -> None:
    curl = shutil.which("curl")
    assert curl
    url = f"https://localhost:{secured.http}/api/2.0/sql/statements"
    for option in (f'user = "ann:{secured.secrets["password"]}"', f'oauth2-bearer = "{secured.secrets["token"]}"'):
        (tmp_path / "curlrc").write_text(f"{option}\n")  # not on the command line, which others on the machine see
        command = [
            curl,
            "--silent",
            "--config",
            str(tmp_path / "curlrc"),
            "--cacert",
            str(secured.certificate.certificate),
        ]
        command += ["--json", '{"statement": "SELECT 1"}', url]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert '"state":"SUCCEEDED"' in answer


def test_databricks_connector_with_client_credentials(secured: Secured) -> None:
    def credentials() -> Any:
        config = Config(host=f"http://127.0.0.1:{secured.http}", client_id="etl", client_secret="etl-secret")
        return oauth_service_principal(config)

    connection = sql.connect(
        server_hostname="127.0.0.1",
        http_path=WAREHOUSE,
        credentials_provider=credentials,
        _connection_uri=f"http://127.0.0.1:{secured.http}{WAREHOUSE}",
        enable_telemetry=False,
        _retry_stop_after_attempts_count=1,
    )
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert [tuple(row) for row in cursor.fetchall()] == [(1,)]
    assert secured.server.engine.runs[-1].context.identity.principal == "etl"
