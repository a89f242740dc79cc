"""Whatever bytes a client sends as credentials, it is refused by name, and is nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import SqlError
from catalog.grants.tokens import TokenStore
from engine.runtime.identity import Identity
from gateway.authenticators import throttle
from gateway.authenticators.chain import Chain, Methods
from gateway.authenticators.exchange import Mechanism
from gateway.authenticators.issuer import Issuer
from gateway.authenticators.jwt import JwtPolicy, JwtTokens
from gateway.authenticators.password_file import PasswordFile
from gateway.authenticators.peer import Peer
from gateway.authenticators.tokens import Tokens
from gateway.http.authentication import authenticate
from tests.gateway.authenticators.users import make_users
from tests.security.issuer import AUDIENCE, provider

HERE = Peer("127.0.0.1")
GOOD = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsxIn0.eyJzdWIiOiJhbm4ifQ.c2ln"
pieces = st.sampled_from(
    ["ann", "annann", "\0", "dgp_", "eyJ", ".", "token", GOOD, "Basic ", "Bearer ", "YW5uOng=", "="]
)
texts = st.lists(pieces | st.text(max_size=8), max_size=6).map("".join)


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    folder = tmp_path_factory.mktemp("users")
    users = PasswordFile(make_users(folder / "users"))
    with provider() as idp:
        jwt = JwtTokens(JwtPolicy(issuer=idp.url, audiences=(AUDIENCE,)), Issuer(idp.url))
    return Chain(Methods(password=users, token=Tokens(TokenStore(folder / "tokens"), users), jwt=jwt))


@pytest.fixture(autouse=True)
def unthrottled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "_FREE", 10**9)
    monkeypatch.setattr(throttle, "_FREE_OF_CLIENT", 10**9)
    monkeypatch.setattr(throttle, "_FREE_OF_USER", 10**9)


@given(st.sampled_from([Mechanism.PLAIN, Mechanism.BEARER]), texts.map(str.encode) | st.binary(max_size=60))
def test_random_mechanism_message_is_answered_or_refused(chain: Chain, mechanism: Mechanism, message: bytes) -> None:
    check(lambda: chain.begin(mechanism, HERE).receive(message))


@given(texts)
def test_random_authorization_header_is_answered_or_refused(chain: Chain, header: str) -> None:
    check(lambda: authenticate(chain, header.encode("utf-8").decode("latin-1"), HERE))


def check(step: object) -> None:
    try:
        found = step()  # type: ignore[operator]
    except SqlError as error:
        assert error.sqlstate.startswith(("28", "53"))
        assert "annann" not in str(error) and "dgp_" not in str(error)
        return
    identity: Identity = getattr(found, "identity", found)
    assert identity.principal == "ann"  # whose password is among the pieces
