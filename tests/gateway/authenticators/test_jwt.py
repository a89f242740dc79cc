"""Probes 67 and 69: valid identity provider tokens, and the keys that verify them."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from joserfc.jwk import OctKey, RSAKey

from catalog.conditions import CredentialsRefused, IssuerUnusable, LogInEnded
from engine.runtime.identity import Identity, Method
from gateway.authenticators import issuer as issuer_module
from gateway.authenticators.chain import Chain, Methods
from gateway.authenticators.exchange import Mechanism, log_in
from gateway.authenticators.issuer import Issuer
from gateway.authenticators.jwt import JwtPolicy, JwtTokens
from gateway.authenticators.peer import Peer
from tests.security.issuer import AUDIENCE, RSA, Provider, elliptic_key, provider

NOW = int(time.time())


@pytest.fixture(scope="module")
def shared() -> Iterator[Provider]:
    with provider() as made:
        yield made


@pytest.fixture
def idp(shared: Provider) -> Provider:
    shared.keys, shared.answers = [RSA["k1"]], {}
    shared.paths.clear()
    return shared


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def tokens(idp: Provider, issuer: Issuer | None = None, **rules: Any) -> JwtTokens:
    return JwtTokens(
        JwtPolicy(issuer=idp.url, audiences=(AUDIENCE, "other"), **rules), issuer or Issuer(idp.url), lambda: NOW
    )


def test_principal_of_a_token(idp: Provider) -> None:
    found = tokens(idp).log_in(idp.token(exp=NOW + 300, azp="superset", iat=NOW, nbf=NOW))
    assert found == Identity(
        "ann", frozenset({"staff"}), method=Method.JWT, client_id="superset", expires_ms=(NOW + 330) * 1000
    )


@pytest.mark.parametrize(
    ("claims", "rules", "principal", "groups"),
    [
        ({"groups": None}, {}, "ann", set()),
        ({"groups": ["/staff", "Data Eng"]}, {}, "ann", {"staff", "Data Eng"}),
        ({"realm_access": {"roles": ["a"]}}, {"groups_claim": "realm_access.roles"}, "ann", {"a"}),
        ({"x.y": ["a"]}, {"groups_claim": "x.y"}, "ann", {"a"}),
        ({"preferred_username": None}, {}, "42", {"staff"}),
        ({"preferred_username": None, "email": "a@b.c", "email_verified": True}, {}, "a@b.c", {"staff"}),
        ({"preferred_username": None, "email": "a@b.c", "email_verified": "true"}, {}, "42", {"staff"}),
        ({"preferred_username": None, "email": "a@b.c"}, {}, "42", {"staff"}),
        ({"aud": ["x", "other"]}, {}, "ann", {"staff"}),
        ({"exp": NOW - 20}, {}, "ann", {"staff"}),
        ({"nbf": NOW + 20, "iat": NOW + 20}, {}, "ann", {"staff"}),
        ({"appid": "a"}, {"clients": ("a",)}, "ann", {"staff"}),
    ],
)
def test_valid_token_claims(
    idp: Provider, claims: dict[str, Any], rules: dict[str, Any], principal: str, groups: set[str]
) -> None:
    found = tokens(idp, **rules).log_in(idp.token(**claims))
    assert (found.principal, set(found.groups)) == (principal, groups)


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "http://evil.example"},
        {"iss": None},
        {"aud": "else"},
        {"aud": None},
        {"aud": ["x"]},
        {"aud": {"delta": 1}},
        {"exp": NOW - 31},
        {"exp": None},
        {"exp": str(NOW + 300)},
        {"exp": True},
        {"exp": 1e308},
        {"exp": 10**400},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"iat": -1e300},
        {"nbf": NOW + 300},
        {"nbf": "x"},
        {"iat": NOW + 300},
        {"preferred_username": 7},
        {"preferred_username": "account users"},
        {"preferred_username": "a\nb"},
        {"preferred_username": ""},
        {"groups": "x:y"},
        {"groups": [1]},
        {"groups": {"a": 1}},
        {"groups": ["g"] * 1001},
        {"groups": None, "_claim_names": {"groups": "src1"}},
    ],
)
def test_invalid_token_claims(idp: Provider, claims: dict[str, Any]) -> None:
    with pytest.raises(CredentialsRefused):
        tokens(idp).log_in(idp.token(**claims))


def test_a_client_that_is_not_on_the_list(idp: Provider) -> None:
    for azp in (None, "other"):
        with pytest.raises(CredentialsRefused):
            tokens(idp, clients=("superset",)).log_in(idp.token(azp=azp))


def encode(part: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def test_signatures_that_are_none(idp: Provider) -> None:
    good = idp.token()
    head, body, signature = good.split(".")
    shared_secret = OctKey.import_key("secret" * 8, {"kid": "k1"})
    stranger = RSAKey.generate_key(2048, {"kid": "k1"})
    jwk = stranger.as_dict(private=False)
    bad = [
        f"{encode({'alg': 'none', 'kid': 'k1'})}.{body}.",
        f"{encode({'alg': 'None'})}.{body}.",
        f"{encode({'alg': 'RS256'})}.{body}.{signature}",  # signed with another header
        f"{head}.{body}.",
        f"{head}.{body}.{signature[:-4]}AAAA",
        f"{head}.{encode({'iss': idp.url, 'aud': AUDIENCE, 'exp': NOW + 300, 'sub': 'x'})}.{signature}",
        f"{head}.{body}",
        f"{head}.{body}.{signature}.x.y",
        "eyJ.eyJ.x",
        f"{encode([])}.{body}.{signature}",
        idp.token(shared_secret, {"alg": "HS256"}),
        idp.token(header={"alg": "RS512"}),
        idp.token(header={"alg": "PS256"}),
        idp.token(stranger),
        idp.token(stranger, {"jwk": jwk}),
        idp.token(header={"jwk": jwk}),
        idp.token(header={"jku": "http://127.0.0.1:1/keys"}),
        idp.token(header={"x5u": "http://127.0.0.1:1/keys"}),
        idp.token(RSA["k2"]),
        idp.token(header={"kid": "../../keys"}),
        idp.token(header={"kid": ""}),
    ]
    method = tokens(idp)
    assert method.log_in(good).principal == "ann"
    for token in bad:
        with pytest.raises(CredentialsRefused):
            method.log_in(token)
    assert set(idp.paths) == {"/.well-known/openid-configuration", "/keys"}


def test_a_token_without_a_key_id_is_of_the_only_key(idp: Provider) -> None:
    token = idp.token(header={"kid": None})
    assert tokens(idp).log_in(token).principal == "ann"
    idp.keys = [RSA["k1"], RSA["k2"]]
    with pytest.raises(CredentialsRefused):
        tokens(idp).log_in(token)


def test_elliptic_keys(idp: Provider) -> None:
    key = elliptic_key("e1")
    idp.keys = [key]
    assert tokens(idp).log_in(idp.token(key, {"alg": "ES256"})).principal == "ann"
    with pytest.raises(CredentialsRefused):
        tokens(idp, algorithms=("RS256",)).log_in(idp.token(key, {"alg": "ES256"}))


def test_keys_are_rotated(idp: Provider) -> None:
    clock = Clock()
    method = tokens(idp, Issuer(idp.url, clock=clock))
    old, new = idp.token(), idp.token(RSA["k2"])
    idp.keys = [RSA["k2"]]
    for _ in range(10):  # one question for all who come with an unknown key
        with pytest.raises(CredentialsRefused):
            method.log_in(new)
    assert idp.paths.count("/keys") == 1 and method.log_in(old).principal == "ann"
    clock.now += issuer_module.UNKNOWN_KEY_S
    assert method.log_in(new).principal == "ann" and idp.paths.count("/keys") == 2
    with pytest.raises(CredentialsRefused):
        method.log_in(old)
    idp.keys = [RSA["k1"]]
    clock.now += issuer_module.REFRESH_S
    with pytest.raises(CredentialsRefused):  # within a minute after its removal, without another lookup
        method.log_in(new)


def test_the_last_keys_are_good_for_a_day(idp: Provider, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    method, token = tokens(idp, Issuer(idp.url, clock=clock)), idp.token(exp=NOW + 10**6)
    idp.answers["/keys"] = (500, "{}")
    clock.now += issuer_module.STALE_S - 1
    assert method.log_in(token).principal == "ann" and "the former keys stay in use" in caplog.text
    clock.now += 1
    with pytest.raises(CredentialsRefused):
        method.log_in(token)


@pytest.mark.parametrize(
    ("path", "answer", "reason"),
    [
        ("/.well-known/openid-configuration", (404, "{}"), "404"),
        ("/.well-known/openid-configuration", (200, "[]"), "no JSON object"),
        ("/.well-known/openid-configuration", (200, "<html>"), "does not answer as it should"),
        ("/.well-known/openid-configuration", (200, '{"issuer": "http://x"}'), "of the issuer 'http://x'"),
        ("/keys", (200, "{}"), "no set of keys"),
        ("/keys", (200, '{"keys": []}'), "no key for signatures"),
        ("/keys", (200, '{"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "x"}]}'), "no key for signatures"),
        ("/keys", (200, json.dumps({"keys": [RSA["k1"].as_dict(private=False) | {"use": "enc"}]})), "no key for"),
        ("/keys", (200, json.dumps({"keys": [{"kty": "RSA", "kid": "a", "n": "!!", "e": "AQAB"}]})), "no set of keys"),
        ("/keys", (302, "{}"), "302"),
        ("/keys", (200, " " * ((1 << 20) + 1)), "larger than"),
    ],
)
def test_a_provider_that_cannot_be_used(idp: Provider, path: str, answer: tuple[int, str], reason: str) -> None:
    idp.answers[path] = answer
    with pytest.raises(IssuerUnusable, match=reason):
        Issuer(idp.url)


@pytest.mark.parametrize(
    "response", [b"no HTTP\r\n\r\n", b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"iss', b""], ids=repr
)
def test_provider_with_a_broken_response_cannot_be_used(response: bytes) -> None:
    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(response)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(IssuerUnusable, match="does not answer as it should"):
            Issuer(f"http://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()


def test_provider_with_a_slow_response_cannot_be_used(idp: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuer_module, "_RESPONSE_S", -1.0)
    with pytest.raises(IssuerUnusable, match="it comes too slowly"):
        Issuer(idp.url)


def test_short_keys_are_none(idp: Provider) -> None:
    idp.keys = [RSAKey.generate_key(1024, {"kid": "short", "use": "sig"})]
    with pytest.raises(IssuerUnusable, match="no key for signatures"):
        Issuer(idp.url)


@pytest.mark.parametrize(
    "url", ["http://192.0.2.1", "ftp://127.0.0.1", "file:///etc/passwd", "", "127.0.0.1", "http://[::1"]
)
def test_provider_is_requested_over_tls(url: str) -> None:
    with pytest.raises(IssuerUnusable, match="no https URL"):
        Issuer(url)


def test_a_token_in_the_chain(idp: Provider) -> None:
    chain = Chain(Methods(jwt=tokens(idp)))
    token, here = idp.token(), Peer("127.0.0.1")
    bearer = log_in(chain, Mechanism.BEARER, token.encode(), here)
    for user in ("token", "ann", "ANN", ""):
        assert log_in(chain, Mechanism.PLAIN, f"\0{user}\0{token}".encode(), here) == bearer
    with pytest.raises(CredentialsRefused):
        log_in(chain, Mechanism.PLAIN, f"\0bob\0{token}".encode(), here)
    chain.ensure_current(bearer)
    with pytest.raises(LogInEnded):
        chain.ensure_current(replace(bearer, expires_ms=NOW * 1000))
    with pytest.raises(CredentialsRefused):
        log_in(chain, Mechanism.BEARER, ("eyJ" + "x" * 20_000 + ".a.b").encode(), here)
