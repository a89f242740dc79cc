"""Console logins at an identity provider: valid and invalid responses, rights, records and logouts."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest
from joserfc.jwk import OctKey

from catalog.conditions import AuthenticationIncomplete, AuthenticationNotUsed, PlaintextRefused, SecretReadable
from engine.runtime.identity import Method
from gateway.authenticators import issuer
from gateway.authenticators.chain import Chain, Methods
from gateway.authenticators.issuer import Issuer
from gateway.authenticators.jwt import JwtPolicy
from gateway.authenticators.oidc import Oidc, OidcPolicy
from gateway.authenticators.peer import Peer
from tests.gateway.http.conftest import eventually
from tests.security.issuer import RSA, Provider, provider
from tests.security.secure_server import STATEMENTS, Answer, SecureServer, basic

CLIENT = "console"
SELECT = {"statement": "SELECT 1"}
OWN = {"Sec_Fetch_Site": "same-origin"}


@pytest.fixture(scope="module")
def shared() -> Iterator[Provider]:
    with provider() as made:
        yield made


@pytest.fixture
def idp(shared: Provider) -> Provider:
    for each in (shared.answers, shared.codes, shared.user_info, shared.paths, shared.forms):
        each.clear()
    return shared


def secured(folder: Path, idp: Provider, **flags: object) -> SecureServer:
    given = {"jwt__issuer": idp.url, "oidc__client_id": CLIENT, "authentication__methods": ["jwt", "password"]}
    return SecureServer(folder, **given | flags)


@pytest.fixture
def server(folder: Path, idp: Provider) -> Iterator[SecureServer]:
    server = secured(folder, idp).start()
    yield server
    server.stop()


@dataclass
class Begun:
    """A login that has begun: the cookie of the browser, and the parameters that the provider received."""

    server: SecureServer
    cookie: str
    sent: dict[str, str]

    def finish(self, *, cookie: str | None = None, **parameters: str) -> Answer:
        given = {"state": self.sent["state"], "code": "c1"} | parameters
        return self.server.ask("GET", f"/login/callback?{urlencode(given)}", Cookie=cookie or self.cookie)


def begin(server: SecureServer, next_page: str = "") -> Begun:
    answer = server.ask("GET", f"/login/provider?next={quote(next_page, safe='')}")
    assert answer.status == 303 and answer.headers["Set-Cookie"].endswith("; HttpOnly; SameSite=Lax")
    location = urlsplit(answer.headers["Location"])
    return Begun(server, answer.headers["Set-Cookie"].partition(";")[0], dict(parse_qsl(location.query)))


def log_in(server: SecureServer, idp: Provider, next_page: str = "", **claims: Any) -> Answer:
    """Returns the answer to a login with a valid response."""
    begun = begin(server, next_page)
    token = idp.token(**{"aud": CLIENT, "nonce": begun.sent["nonce"]} | claims)
    idp.codes["c1"] = {"id_token": token, "access_token": "a1", "token_type": "Bearer"}
    return begun.finish()


def cookie_of(answer: Answer) -> str:
    """Returns the session's cookie, or an empty text."""
    values = answer.headers.get_all("Set-Cookie") or []
    return next((value.partition(";")[0] for value in values if value.startswith("dgw=")), "")


def records_of(folder: Path) -> list[dict[str, Any]]:
    """Returns the lines of the audit log."""
    return [json.loads(line) for file in (folder / "audit").glob("*.jsonl") for line in file.read_text().splitlines()]


def test_login_with_a_code_opens_a_session(server: SecureServer, idp: Provider) -> None:
    page = server.ask("GET", "/login?next=%23query%2F7").content
    assert b'href="login/provider?next=%23query/7">Log in with single sign-on</a>' in page and b"Password" in page
    begun = begin(server, "#query/7")
    assert {name: begun.sent[name] for name in begun.sent.keys() - {"state", "nonce", "code_challenge"}} == {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": f"http://127.0.0.1:{server.ports.http}/login/callback",
        "scope": "openid profile email",
        "code_challenge_method": "S256",
    }
    token = idp.token(aud=CLIENT, nonce=begun.sent["nonce"])
    idp.codes["c1"] = {"id_token": token, "access_token": "a1", "token_type": "Bearer"}
    answer = begun.finish(iss=idp.url)
    assert answer.status == 200 and b'content="0;url=../#query/7"' in answer.content
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    session, ended = answer.headers.get_all("Set-Cookie") or []
    assert session.endswith("; HttpOnly; SameSite=Strict")
    assert ended == "dgw-login=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
    (form,) = idp.forms
    verifier = form.pop("code_verifier")
    digest = hashlib.sha256(verifier.encode()).digest()
    assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == begun.sent["code_challenge"]
    assert form == {
        "grant_type": "authorization_code",
        "code": "c1",
        "redirect_uri": begun.sent["redirect_uri"],
        "client_id": CLIENT,
        "Authorization": "",
    }
    assert server.ask("POST", STATEMENTS, SELECT, Cookie=cookie_of(answer), **OWN).status == 200
    identity = server.engine.runs[-1].context.identity
    assert (identity.principal, identity.groups, identity.method) == ("ann", frozenset({"staff"}), Method.JWT)
    assert (identity.is_admin, identity.client_id) == (False, CLIENT)
    assert 43_100_000 < (identity.expires_ms or 0) - time.time() * 1000 <= 43_200_000
    assert idp.paths[-1] == "/token"  # the ID token has all claims
    bearer = {"Authorization": f"Bearer {token}"}
    assert server.ask("POST", STATEMENTS, SELECT, **bearer).status == 401  # without jwt.audiences


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": None},
        {"nonce": "other"},
        {"aud": "other"},
        {"aud": None},
        {"aud": [CLIENT, "other"]},
        {"aud": [CLIENT, "other"], "azp": "other"},
        {"azp": "other"},
        {"iss": "https://other.example"},
        {"exp": int(time.time()) - 60},
        {"exp": None},
        {"iat": 2**33},
        {"preferred_username": "a,b"},
        {"preferred_username": 7},
        {"groups": "x" * 300},
        {"header": {"alg": "HS256"}, "key": OctKey.import_key("k" * 32, {"kid": "k1"})},
        {"header": {"alg": "RS512"}},
        {"header": {"jku": "https://evil.example/keys"}},
        {"key": RSA["k2"]},
    ],
)
def test_login_fails_with_an_invalid_id_token(server: SecureServer, idp: Provider, claims: dict[str, Any]) -> None:
    answer = log_in(server, idp, **claims)
    assert answer.status == 401 and cookie_of(answer) == ""
    assert b"The login at the identity provider failed: its ID token is not valid" in answer.content
    assert cookie_of(log_in(server, idp, aud=[CLIENT, "other"], azp=CLIENT))  # a valid one


def test_login_fails_without_an_id_token(server: SecureServer, idp: Provider) -> None:
    begun = begin(server)
    idp.codes["c1"] = {"access_token": idp.token(aud=CLIENT, nonce=begun.sent["nonce"])}
    answer = begun.finish()
    assert (answer.status, cookie_of(answer)) == (401, "") and b"the provider sent no ID token" in answer.content


NOT_STARTED = b"This login was not started in this browser"


def test_response_counts_only_in_the_browser_that_began_the_login(server: SecureServer, idp: Provider) -> None:
    begun, other = begin(server), begin(server)
    idp.codes["c1"] = {"id_token": idp.token(aud=CLIENT, nonce=begun.sent["nonce"])}
    attempts = (
        begun.finish(state=other.sent["state"]),
        begun.finish(state=""),
        begun.finish(state="é"),
        begun.finish(cookie=other.cookie),
        begun.finish(cookie="dgw-login="),
        begun.finish(cookie="dgw=x"),
        begun.finish(state="x", error="e", error_description="Call 555-0100."),
    )
    for answer in attempts:
        assert (answer.status, cookie_of(answer)) == (401, "") and NOT_STARTED in answer.content
        assert b"555" not in answer.content
    assert idp.forms == []
    assert cookie_of(begun.finish())
    replayed = begun.finish()  # by a browser that has kept the cookie
    assert (replayed.status, cookie_of(replayed)) == (401, "")
    assert b"The code is &lt;b&gt;unknown&lt;/b&gt; (invalid_grant)" in replayed.content


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"error": "access_denied", "error_description": "You said <no>."}, "You said &lt;no&gt; (access_denied)"),
        ({"error": "server_error"}, "server_error"),
        ({"error": "x\ny" + "z" * 300}, "x y" + "z" * 197 + "."),
        ({"code": ""}, "the provider sent no code"),
        ({"iss": "https://other.example"}, "the response is from another provider"),
    ],
)
def test_error_of_the_provider_is_shown_as_text(
    server: SecureServer, idp: Provider, parameters: dict[str, str], text: str
) -> None:
    answer = begin(server).finish(**parameters)
    assert (answer.status, cookie_of(answer), idp.forms) == (401, "", [])
    assert f"The login at the identity provider failed: {text}" in answer.content.decode()
    assert b'href="../login/provider' in answer.content


@pytest.mark.parametrize(
    "response", [(500, "{}"), (302, "{}"), (200, "[]"), (200, "no"), (400, "no"), (200, " " * 2**21)]
)
def test_unavailable_provider_is_reported(server: SecureServer, idp: Provider, response: tuple[int, str]) -> None:
    unavailable = b"The identity provider does not respond as expected"
    begun = begin(server)
    idp.answers["/token"] = response
    answer = begun.finish()
    assert (answer.status, cookie_of(answer)) == (503, "") and unavailable in answer.content
    assert idp.paths[-1] == "/token"  # the redirect was not followed
    idp.answers["/.well-known/openid-configuration"] = response
    answer = server.ask("GET", "/login/provider")
    assert (answer.status, answer.headers["Set-Cookie"]) == (503, None) and unavailable in answer.content
    assert server.ask("POST", STATEMENTS, SELECT, **basic("bob")).status == 200
    idp.answers.clear()
    assert cookie_of(log_in(server, idp))


def test_logins_that_wait_for_the_provider_leave_threads_for_others(
    server: SecureServer, idp: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuer, "_TIMEOUT_S", 60.0)  # for a busy machine
    begun = begin(server)
    idp.may_answer.clear()
    try:
        with ThreadPoolExecutor(16) as pool:
            waiting = [pool.submit(begun.finish, code=f"unknown-{number}") for number in range(16)]
            assert eventually(lambda: len(idp.forms) == 16)
            answer = begun.finish()
            assert (answer.status, cookie_of(answer)) == (429, "")
            assert b"Too many clients are logging in at the same time. Try again in a moment." in answer.content
            idp.may_answer.set()
            assert [one.result().status for one in waiting] == [401] * 16
    finally:
        idp.may_answer.set()
    assert cookie_of(log_in(server, idp))


def test_responses_without_a_begun_login_do_not_fill_the_audit_log(folder: Path, idp: Provider) -> None:
    server = secured(folder, idp, audit__folder=str(folder / "audit")).start()
    try:
        for state in "abc":
            assert server.ask("GET", f"/login/callback?state={state}").status == 401
        conditions = [record.get("condition") for record in records_of(folder) if record["event"] == "login"]
        assert conditions == ["AUTHENTICATION_FAILED.LOGIN_NOT_STARTED"]
    finally:
        server.stop()


def test_only_members_of_allowed_groups_log_in(folder: Path, idp: Provider) -> None:
    server = secured(folder, idp, oidc__allowed_groups=["Analysts", "ops"]).start()
    try:
        for groups in (["staff"], [], None):
            answer = log_in(server, idp, groups=groups)
            assert (answer.status, cookie_of(answer)) == (401, "")
            assert b"ann is in none of the groups that may log in to this server." in answer.content
        assert cookie_of(log_in(server, idp, groups=["staff", "/analysts"]))
    finally:
        server.stop()


@pytest.mark.parametrize(("admins", "is_admin"), [(["ann"], False), (["jwt:ann"], True)])
def test_user_of_the_provider_is_not_the_local_administrator(
    folder: Path, idp: Provider, admins: list[str], is_admin: bool
) -> None:
    server = secured(folder, idp, authentication__admins=admins).start()
    try:
        cookie = cookie_of(log_in(server, idp))
        assert server.ask("POST", STATEMENTS, SELECT, Cookie=cookie, **OWN).status == 200
        identity = server.engine.runs[-1].context.identity
        assert (identity.principal, identity.is_admin) == ("ann", is_admin)
        assert server.ask("POST", STATEMENTS, SELECT, **basic("ann")).status == 200
        assert server.engine.runs[-1].context.identity.is_admin is not is_admin
    finally:
        server.stop()


def test_missing_claims_come_from_the_userinfo_endpoint(folder: Path, idp: Provider) -> None:
    server = secured(folder, idp, oidc__principal_claims=["login"], oidc__groups_claim="teams").start()
    try:
        idp.user_info["a1"] = {"sub": "42", "login": "zoë", "teams": ["ops"], "exp": 1, "azp": "x"}
        cookie = cookie_of(log_in(server, idp))
        assert server.ask("POST", STATEMENTS, SELECT, Cookie=cookie, **OWN).status == 200
        identity = server.engine.runs[-1].context.identity
        assert (identity.principal, identity.groups, identity.client_id) == ("zoë", frozenset({"ops"}), CLIENT)
        idp.user_info["a1"]["sub"] = "43"
        answer = log_in(server, idp)
        assert (answer.status, cookie_of(answer)) == (401, "")
    finally:
        server.stop()


@pytest.mark.parametrize("supported", [None, ["client_secret_post", "client_secret_basic"], ["client_secret_post"]])
def test_client_secret_is_sent_as_the_provider_requires(
    folder: Path, idp: Provider, supported: list[str] | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    file = folder / "client"
    file.write_text("s:ä/1\n")
    file.chmod(0o600)
    path = "/.well-known/openid-configuration"
    metadata = {**(idp.document(path) or {}), "token_endpoint_auth_methods_supported": supported}
    idp.answers[path] = (200, json.dumps(metadata))
    server = secured(folder, idp, oidc__client_secret_file=str(file), audit__folder=str(folder / "audit")).start()
    try:
        cookie = cookie_of(log_in(server, idp))
        (form,) = idp.forms
        if supported == ["client_secret_post"]:
            assert (form["client_id"], form["client_secret"], form["Authorization"]) == (CLIENT, "s:ä/1", "")
        else:
            assert base64.b64decode(form["Authorization"].removeprefix("Basic ")) == b"console:s%3A%C3%A4%2F1"
            assert not form.keys() & {"client_id", "client_secret"}
        begin(server).finish(code="unknown-code")
        secrets = ("s:ä", "s%3A", cookie.partition("=")[2], form["code_verifier"], "unknown-code", "eyJ")
        assert not [secret for secret in secrets if secret in caplog.text]
        assert "the identity provider refused a code: The code is <b>unknown</b> (invalid_grant)" in caplog.text
        logins = [record for record in records_of(folder) if record["event"] == "login"]
        fields = ("outcome", "principal", "method", "client_id", "condition", "peer", "wire")
        assert [tuple(record.get(name) for name in fields) for record in logins] == [
            ("ok", "ann", "jwt", CLIENT, None, "127.0.0.1", "http"),
            ("denied", None, None, None, "AUTHENTICATION_FAILED.IDENTITY_PROVIDER", "127.0.0.1", "http"),
        ]
    finally:
        server.stop()


def test_logout_ends_the_login_at_the_provider(server: SecureServer, idp: Provider) -> None:
    cookie = cookie_of(log_in(server, idp))
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    answer = server.ask("POST", "/logout", b"", Cookie=cookie, **form, **OWN)
    assert answer.status == 200 and answer.headers["Set-Cookie"].startswith("dgw=; Path=/; Max-Age=0;")
    page = answer.content.decode().replace("&amp;", "&")
    url = urlsplit(page.partition('content="0;url=')[2].partition('"')[0])
    given = dict(parse_qsl(url.query))
    assert (f"{url.scheme}://{url.netloc}{url.path}", given["client_id"]) == (f"{idp.url}/end", CLIENT)
    assert given["post_logout_redirect_uri"] == f"http://127.0.0.1:{server.ports.http}/login"
    assert given["id_token_hint"].startswith("eyJ")
    assert server.ask("POST", STATEMENTS, SELECT, Cookie=cookie, **OWN).status == 401
    again = server.ask("POST", "/logout", b"", Cookie=cookie, **form, **OWN)
    assert (again.status, again.headers["Location"]) == (303, "login")


def test_login_ends_after_its_lifetime(folder: Path, idp: Provider) -> None:
    server = secured(folder, idp, oidc__lifetime_s=1).start()
    try:
        cookie = cookie_of(log_in(server, idp))
        assert cookie
        assert eventually(lambda: server.ask("POST", STATEMENTS, SELECT, Cookie=cookie, **OWN).status == 401)
    finally:
        server.stop()


def test_page_to_return_to_is_relative_even_if_the_cookie_was_changed(server: SecureServer, idp: Provider) -> None:
    begun = begin(server)
    secret = begun.cookie.partition(".")[0]
    for page in (b"https://evil.example/", b"//evil.example", b'"><script>', b"\xff"):
        idp.codes["c1"] = {"id_token": idp.token(aud=CLIENT, nonce=begun.sent["nonce"])}
        answer = begun.finish(cookie=f"{secret}.{base64.urlsafe_b64encode(page).decode()}")
        assert answer.status == 200 and b'content="0;url=../"' in answer.content
    assert begin(server, "//evil.example").cookie.endswith(".")


def test_unencrypted_connection_from_another_machine_is_refused(idp: Provider) -> None:
    tokens = JwtPolicy(issuer=idp.url, audiences=(CLIENT,))
    oidc = Oidc(OidcPolicy(client_id=CLIENT, tokens=tokens), Issuer(idp.url), Chain(Methods()))
    uri = "https://sql.example.com/login/callback"
    with pytest.raises(PlaintextRefused):
        oidc.begin(uri, Peer("192.0.2.7"))
    _, secret = oidc.begin(uri, Peer("192.0.2.7", is_encrypted=True))
    with pytest.raises(PlaintextRefused):
        oidc.finish({"code": "c1"}, secret, uri, Peer("192.0.2.7"))
    assert idp.forms == []


def test_page_of_a_server_without_passwords_has_only_the_button(folder: Path, idp: Provider) -> None:
    flags = {"authentication__methods": ["jwt"], "authentication__password_file": "", "oidc__label": "Log in <here>"}
    server = secured(folder, idp, **flags).start()
    try:
        page = server.ask("GET", "/login").content
        assert b">Log in &lt;here&gt;</a>" in page and b"<form" not in page
    finally:
        server.stop()


def test_server_without_a_provider_has_no_login_there(folder: Path) -> None:
    server = SecureServer(folder).start()
    try:
        assert [server.ask("GET", f"/login/{name}").status for name in ("provider", "callback")] == [404, 404]
        assert b"login/provider" not in server.ask("GET", "/login").content
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("flags", "error", "text"),
    [
        (
            {"oidc__client_id": "", "oidc__label": "x", "jwt__audiences": ["x"]},
            AuthenticationIncomplete,
            "oidc.client_id",
        ),
        ({"oidc__client_id": ""}, AuthenticationIncomplete, "jwt.audiences"),
        ({"authentication__methods": ["password"], "jwt__issuer": ""}, AuthenticationNotUsed, "oidc.client_id"),
        ({"oidc__client_secret_file": "{folder}/open"}, SecretReadable, "open"),
        ({"oidc__client_secret_file": "{folder}/empty"}, AuthenticationIncomplete, "oidc.client_secret_file"),
    ],
)
def test_settings_that_prevent_the_start(
    folder: Path, idp: Provider, flags: dict[str, Any], error: type[Exception], text: str
) -> None:
    for name, mode in (("open", 0o644), ("empty", 0o600)):
        (folder / name).write_text("x" if name == "open" else "")
        (folder / name).chmod(mode)
    given = {
        name: each.replace("{folder}", str(folder)) if isinstance(each, str) else each for name, each in flags.items()
    }
    with pytest.raises(error, match=text):
        secured(folder, idp, **given).start()
