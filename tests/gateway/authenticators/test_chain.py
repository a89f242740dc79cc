"""A secret's form selects the authentication method, and all failures have the same message."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from catalog.conditions import (
    AuthenticationFailed,
    CredentialsRefused,
    DirectoryUnavailable,
    LogInEnded,
    PlaintextRefused,
    TooManyFailures,
)
from catalog.errors import SqlError
from engine.runtime.identity import Identity, Method, Scope
from gateway.authenticators.certificates import Certificates
from gateway.authenticators.chain import Chain, ChainPolicy, Methods
from gateway.authenticators.exchange import Mechanism, log_in, plain_message
from gateway.authenticators.password_file import PasswordFile, User, remove_user, store_user
from gateway.authenticators.passwords import hash_password
from gateway.authenticators.peer import Peer

HERE, AWAY, AWAY_TLS = Peer("127.0.0.1"), Peer("192.0.2.1"), Peer("192.0.2.1", is_encrypted=True)
PAT, JWT = "dgp_abc", "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2ln"


@dataclass
class Tokens:
    """Accepts tokens from ann; records calls."""

    method: Method
    secrets_seen: list[str] = field(default_factory=list)
    made_by: str = ""

    def log_in(self, token: str) -> Identity:
        self.secrets_seen.append(token)
        return Identity("ann", method=self.method)

    def ensure_current(self, identity: Identity) -> None:
        if identity.client_id == "gone":
            raise LogInEnded()

    def owner_method(self, identity: Identity) -> str:
        return self.made_by


@dataclass
class Passwords:
    """Accepts the password x for anybody; records calls."""

    secrets_seen: list[str] = field(default_factory=list)
    generation: int = 0
    known: bool = False

    def log_in(self, user: str, password: str) -> Identity:
        self.secrets_seen.append(password)
        if password != "x":
            raise CredentialsRefused()
        return Identity(user, frozenset({"Admins"}), method=Method.LDAP)

    def find(self, user: str) -> Identity | None:
        return Identity(user, method=Method.LDAP) if self.known else None

    def ensure_current(self, identity: Identity) -> None:
        pass


def by_plain(chain: Chain, user: str, password: str, peer: Peer = HERE) -> Identity:
    return log_in(chain, Mechanism.PLAIN, plain_message(user, password), peer)


@pytest.mark.parametrize(
    ("user", "secret", "method"),
    [
        ("ann", "x", Method.LDAP),
        ("token", PAT, Method.TOKEN),
        ("ANN", PAT, Method.TOKEN),
        ("", PAT, Method.TOKEN),
        ("token", JWT, Method.JWT),
        ("", JWT, Method.JWT),
        (None, PAT, Method.TOKEN),
        (None, JWT, Method.JWT),
    ],
)
def test_secret_is_passed_to_one_method_only(user: str | None, secret: str, method: Method) -> None:
    passwords, tokens, jwt = Passwords(), Tokens(Method.TOKEN), Tokens(Method.JWT)
    chain = Chain(Methods(password=passwords, token=tokens, jwt=jwt))
    seen = {Method.LDAP: passwords.secrets_seen, Method.TOKEN: tokens.secrets_seen, Method.JWT: jwt.secrets_seen}
    assert chain.mechanisms == (Mechanism.PLAIN, Mechanism.BEARER)
    if user is None:
        assert log_in(chain, Mechanism.BEARER, secret.encode(), HERE).method is method
    else:
        assert by_plain(chain, user, secret).method is method
    assert {name: secrets for name, secrets in seen.items() if secrets} == {method: [secret]}


@pytest.mark.parametrize("secret", [PAT, JWT, "x"])
@pytest.mark.parametrize("user", ["bob", "ann", "token", "", None])
def test_a_method_that_is_not_there_refuses_like_one_that_is(user: str | None, secret: str) -> None:
    """Nor does a token go to another method."""
    passwords = Passwords()
    others = {"password": passwords} if secret != "x" else {}
    chain = Chain(Methods(**others, jwt=Tokens(Method.JWT) if secret == PAT else None))  # type: ignore[arg-type]
    message = secret.encode() if user is None else plain_message(user, secret)
    with pytest.raises(SqlError) as refused:
        chain.begin(Mechanism.BEARER if user is None else Mechanism.PLAIN, HERE).receive(message)
    assert str(refused.value) == str(CredentialsRefused())
    if secret == PAT:
        assert passwords.secrets_seen == []


def test_a_token_is_its_owners() -> None:
    with pytest.raises(CredentialsRefused):
        by_plain(Chain(Methods(token=Tokens(Method.TOKEN))), "bob", PAT)


@pytest.mark.parametrize("secret", ["", "x" * 1025, "x" * 20_000, "dgp_" + "x" * 20_000])
def test_secrets_have_a_length(secret: str) -> None:
    passwords, tokens = Passwords(), Tokens(Method.TOKEN)
    with pytest.raises(CredentialsRefused):
        by_plain(Chain(Methods(password=passwords, token=tokens)), "ann", secret)
    with pytest.raises(CredentialsRefused):
        by_plain(Chain(Methods(password=passwords)), "a" * 257, "x")
    assert passwords.secrets_seen == tokens.secrets_seen == []


def test_secrets_in_the_clear_are_taken_from_this_machine_only() -> None:
    passwords = Passwords()
    chain = Chain(Methods(password=passwords))
    with pytest.raises(PlaintextRefused, match="Connect with TLS"):
        by_plain(chain, "ann", "x", AWAY)
    assert passwords.secrets_seen == []
    assert by_plain(chain, "ann", "x", AWAY_TLS) == by_plain(chain, "ann", "x", HERE)
    assert by_plain(replace(chain, policy=ChainPolicy(takes_plaintext=True)), "ann", "x", AWAY).principal == "ann"


def test_a_password_that_was_right_is_not_verified_again_for_a_while(users: Path) -> None:
    file = PasswordFile(users)
    chain, passwords = Chain(Methods(password=file)), Passwords()
    first = by_plain(chain, "ann", "annann")
    chain = replace(chain, methods=Methods(password=passwords))
    assert by_plain(chain, "ann", "annann") == first and passwords.secrets_seen == []
    for user, password in (("annan", "n"), ("ann", "annan"), ("ANN", "annann")):
        with pytest.raises(CredentialsRefused):
            by_plain(chain, user, password)
    assert passwords.secrets_seen == ["n", "annan", "annann"]


def test_a_password_that_was_right_is_verified_when_its_user_has_changed(users: Path) -> None:
    chain = Chain(Methods(password=PasswordFile(users)))
    assert by_plain(chain, "ann", "annann").groups == {"staff", "Ops"}
    store_user(users, User("ann", hash_password("annann"), ("other",)))
    assert by_plain(chain, "ann", "annann").groups == {"other"}
    remove_user(users, "ann")
    with pytest.raises(CredentialsRefused):
        by_plain(chain, "ann", "annann")


def test_a_changed_password_ends_the_former_at_once(users: Path) -> None:
    chain = Chain(Methods(password=PasswordFile(users)))
    assert by_plain(chain, "bob", "bobbob").principal == "bob"
    store_user(users, User("bob", hash_password("new")))
    with pytest.raises(CredentialsRefused):
        by_plain(chain, "bob", "bobbob")


def test_guesses_are_throttled(users: Path) -> None:
    chain = Chain(Methods(password=PasswordFile(users)))
    for _ in range(5):
        with pytest.raises(CredentialsRefused):
            by_plain(chain, "ann", "guess")
    with pytest.raises(TooManyFailures):
        by_plain(chain, "ANN", "annann")
    assert by_plain(chain, "bob", "bobbob").principal == "bob"


@pytest.mark.parametrize(
    ("rules", "is_admin"),
    [
        (ChainPolicy(), False),
        (ChainPolicy(admins=frozenset({"ann"})), True),
        (ChainPolicy(admins=frozenset({"bob", "ANN", "Ann"})), False),
        (ChainPolicy(admin_groups=frozenset({"admins"})), True),
    ],
)
def test_administrators(rules: ChainPolicy, is_admin: bool) -> None:
    assert by_plain(Chain(Methods(password=Passwords()), rules), "ann", "x").is_admin is is_admin

    class ReadOnly(Tokens):
        def log_in(self, token: str) -> Identity:
            return Identity("Ann", frozenset({"admins"}), scopes=frozenset({Scope.READ_ONLY}))

    tokens = ReadOnly(Method.TOKEN)
    assert not by_plain(Chain(Methods(token=tokens), rules), "", PAT).is_admin


@pytest.mark.parametrize(
    ("method", "made_by", "admins", "is_admin"),
    [
        (Method.PASSWORD, "", ["ann"], True),
        (Method.JWT, "", ["ann"], False),
        (Method.JWT, "", ["jwt:ann"], True),
        (Method.JWT, "", ["certificate:ann"], False),
        (Method.CERTIFICATE, "", ["ann"], False),
        (Method.CERTIFICATE, "", ["certificate:ann"], True),
        (Method.PASSWORD, "", ["jwt:ann", "certificate:ann"], False),
        (Method.TOKEN, "password", ["ann"], True),
        (Method.TOKEN, "ldap", ["ann"], True),
        (Method.TOKEN, "", ["ann"], True),
        (Method.TOKEN, "jwt", ["ann"], False),
        (Method.TOKEN, "jwt", ["jwt:ann"], True),
        (Method.TOKEN, "certificate", ["ann"], False),
        (Method.TOKEN, "certificate", ["certificate:ann"], True),
        (Method.TOKEN, "password", ["jwt:ann"], False),
    ],
)
def test_an_administrator_is_of_one_method(method: Method, made_by: str, admins: list[str], is_admin: bool) -> None:
    """The server has passwords; certificates are not looked up there."""
    tokens = Tokens(Method.TOKEN, made_by=made_by)
    certificates = Certificates((re.compile("cn:(.+)"),))
    methods = Methods(password=Passwords(), token=tokens, jwt=Tokens(Method.JWT), certificate=certificates)
    chain = Chain(methods, ChainPolicy(admins=frozenset(admins)))
    match method:
        case Method.PASSWORD:
            found = by_plain(chain, "ann", "x")
        case Method.CERTIFICATE:
            found = log_in(chain, Mechanism.EXTERNAL, b"", replace(AWAY_TLS, certificate_names=("cn:ann",)))
        case _:
            found = by_plain(chain, "", PAT if method is Method.TOKEN else JWT)
    assert (found.principal, found.is_admin) == ("ann", is_admin)


def test_an_administrator_is_of_the_only_method() -> None:
    """A certificate's user is looked up in the directory."""
    rules = ChainPolicy(admins=frozenset({"ann"}))
    assert by_plain(Chain(Methods(jwt=Tokens(Method.JWT)), rules), "", JWT).is_admin
    peer = replace(AWAY_TLS, certificate_names=("cn:ann",))
    patterns = (re.compile("cn:(.+)"),)
    assert log_in(Chain(Methods(certificate=Certificates(patterns)), rules), Mechanism.EXTERNAL, b"", peer).is_admin
    directory = Passwords(known=True)
    methods = Methods(password=directory, certificate=Certificates(patterns, directory))
    assert log_in(Chain(methods, rules), Mechanism.EXTERNAL, b"", peer).is_admin


@pytest.mark.parametrize(("name", "is_known"), [("ann", True), ("zoë", True), ("ANN", False), ("eve", False)])
def test_users_are_known_by_their_exact_names(users: Path, name: str, is_known: bool) -> None:
    assert Chain(Methods(password=PasswordFile(users))).knows_user(name) is is_known
    assert not Chain(Methods(jwt=Tokens(Method.JWT))).knows_user(name)


def test_a_directory_that_does_not_answer_knows_nobody() -> None:
    directory = Passwords()

    def find(user: str) -> Identity | None:
        raise DirectoryUnavailable("x")

    directory.find = find  # type: ignore[method-assign]
    assert not Chain(Methods(password=directory)).knows_user("ann")


def test_a_log_in_ends() -> None:
    chain, now_ms = Chain(Methods(token=Tokens(Method.TOKEN))), int(time.time() * 1000)
    chain.ensure_current(Identity("ann", method=Method.TOKEN, expires_ms=now_ms + 60_000))
    for ended in (
        Identity("ann", method=Method.TOKEN, expires_ms=now_ms),
        Identity("ann", method=Method.TOKEN, client_id="gone"),
        Identity("ann", method=Method.JWT),  # a method that the server has no more
        Identity("ann", method=Method.ANONYMOUS),
    ):
        with pytest.raises(LogInEnded):
            chain.ensure_current(ended)


def test_without_credentials_and_by_another_mechanism() -> None:
    chain = Chain(Methods(password=Passwords()))
    with pytest.raises(AuthenticationFailed, match="credentials are required"):
        log_in(chain, Mechanism.ANONYMOUS, b"", HERE)
    with pytest.raises(AuthenticationFailed, match="BEARER is not supported, only PLAIN"):
        log_in(chain, Mechanism.BEARER, b"x", HERE)
    with pytest.raises(AuthenticationFailed, match="acting for another user"):
        log_in(chain, Mechanism.PLAIN, b"bob\0ann\0x", HERE)
