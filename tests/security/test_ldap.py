"""Probe 71, with a real slapd: who may log in, under which name, with which groups, and an unavailable directory."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.conditions import CredentialsRefused, DirectoryUnavailable, LogInEnded
from engine.runtime.identity import Identity, Method
from gateway.authenticators.chain import Chain, Methods
from gateway.authenticators.ldap import GROUPS_GOOD_FOR_S, LdapDirectory, LdapPolicy
from tests.certificates import Certificate, make_certificate
from tests.security.secure_server import STATEMENTS, SecureServer, basic
from tests.security.slapd import SERVICE, SERVICE_PASSWORD, Directory, directory

pytestmark = pytest.mark.slapd

PEOPLE = "ou=people,dc=example,dc=com"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def slapd(tmp_path_factory: pytest.TempPathFactory, certificate: Certificate) -> Iterator[Directory]:
    with directory(tmp_path_factory.mktemp("slapd"), certificate) as running:
        yield running


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def rules(slapd: Directory, certificate: Certificate, **changed: Any) -> LdapPolicy:
    found = LdapPolicy(
        urls=(slapd.tls_url,),
        ca_file=str(certificate.certificate),
        bind_dn=SERVICE,
        bind_password=SERVICE_PASSWORD,
        user_base=PEOPLE,
        group_base="ou=groups,dc=example,dc=com",
    )
    return replace(found, **changed)


@pytest.fixture
def ldap(slapd: Directory, certificate: Certificate) -> LdapDirectory:
    return LdapDirectory(rules(slapd, certificate))


@pytest.mark.parametrize(
    ("typed", "password", "principal", "groups"),
    [
        ("ann", "annann", "ann", {"staff", "all", "loop", "posix"}),
        ("ANN", "annann", "ann", {"staff", "all", "loop", "posix"}),
        ("zoë", "zoëzoë", "zoë", set()),
        ("adam", "adam", "adam", {"domain users", "everybody"}),
    ],
)
def test_a_user_is_the_principal_of_the_directory_with_groups_of_groups(
    ldap: LdapDirectory, typed: str, password: str, principal: str, groups: set[str]
) -> None:
    found = ldap.log_in(typed, password)
    assert found == ldap.find(typed) == Identity(principal, frozenset(groups), method=Method.LDAP)


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("ann", "bobbob"),
        ("ann", ""),
        ("ann", "annann\0"),
        ("ann ", "annann"),
        ("eve", "x"),
        ("*", "annann"),
        ("*)(uid=*", "annann"),
        ("ann)(cn=*", "annann"),
        ("twin", "twin1"),
        ("x:y", "bad"),
        ("", "annann"),
        ("ann\\2a", "annann"),
        ("cn=ann", "annann"),
    ],
)
def test_rejected_logins(ldap: LdapDirectory, user: str, password: str) -> None:
    with pytest.raises(CredentialsRefused):
        ldap.log_in(user, password)


def test_user_with_too_many_groups_cannot_log_in(ldap: LdapDirectory) -> None:
    with pytest.raises(CredentialsRefused):  # twelve levels
        ldap.log_in("deep", "deep")
    with pytest.raises(DirectoryUnavailable):  # more than the server gives
        ldap.log_in("many", "many")


def test_a_name_that_is_hard_to_escape_is_found_as_it_is(slapd: Directory, certificate: Certificate) -> None:
    """No such user exists here, but the search matches only this name."""
    ldap = LdapDirectory(rules(slapd, certificate))
    with ldap._service() as connection:
        for name in ("b*b()", "lee, ann"):
            entry = ldap._search_user(connection, name)
            assert entry and entry.name == name
        for name in ("b*", "*", "b\\2ab()"):
            assert ldap._search_user(connection, name) is None


@pytest.mark.parametrize("has_service", [True, False])
def test_a_bind_template(slapd: Directory, certificate: Certificate, has_service: bool) -> None:
    template: dict[str, Any] = {"bind_template": f"cn={{}},{PEOPLE}"}
    if not has_service:  # then users see themselves alone
        template |= {"bind_dn": "", "group_base": "", "user_base": f"cn=ann,{PEOPLE}"}
    ldap = LdapDirectory(rules(slapd, certificate, **template))
    assert ldap.log_in("ANN", "annann").principal == "ann"
    for user, password in (("ann", "x"), ("ann,ou=people", "annann"), ("ann+sn=ann", "annann"), ("eve", "x")):
        with pytest.raises(CredentialsRefused):
            ldap.log_in(user, password)
    if not has_service:
        assert LdapDirectory(rules(slapd, certificate, **template)).find("ann") is None


@pytest.mark.parametrize("user", ["a@b", "CORP\\ann", "a/b", "ann"])
def test_a_name_in_a_domain_has_no_other(slapd: Directory, certificate: Certificate, user: str) -> None:
    ldap = LdapDirectory(rules(slapd, certificate, bind_template="{}@corp.example"))
    with pytest.raises(CredentialsRefused):
        ldap.log_in(user, "x")


def test_groups_are_looked_up_again(slapd: Directory, certificate: Certificate) -> None:
    clock = Clock()
    ldap = LdapDirectory(rules(slapd, certificate), clock)
    ann = ldap.log_in("ann", "annann")
    for gone in (replace(ann, groups=frozenset({"staff"})), Identity("eve", method=Method.LDAP)):
        with pytest.raises(LogInEnded):
            ldap.ensure_current(gone)
    ldap.ensure_current(ann)
    ldap._policy = replace(ldap._policy, urls=("ldap://127.0.0.1:1",))
    ldap.ensure_current(ann)  # known
    clock.now += GROUPS_GOOD_FOR_S
    with pytest.raises(DirectoryUnavailable):
        ldap.ensure_current(ann)
    Chain(Methods(password=ldap)).ensure_current(ann)  # nobody can say that it has changed


def test_tls_is_verified(slapd: Directory, certificate: Certificate, tmp_path: Path) -> None:
    other = make_certificate(tmp_path)
    start_tls = {"urls": (slapd.url.replace("127.0.0.1", "localhost"),), "start_tls": True}
    assert LdapDirectory(rules(slapd, certificate, **start_tls)).log_in("ann", "annann")
    assert LdapDirectory(rules(slapd, certificate, urls=(slapd.url,))).log_in("ann", "annann")
    for changed in ({"ca_file": str(other.certificate)}, {"ca_file": ""}, {"ca_file": "", **start_tls}):
        with pytest.raises(DirectoryUnavailable):
            LdapDirectory(rules(slapd, certificate, **changed)).log_in("ann", "annann")


def test_second_directory_server_answers_when_the_first_is_down(slapd: Directory, certificate: Certificate) -> None:
    dead = "ldap://127.0.0.1:1"
    ldap = LdapDirectory(rules(slapd, certificate, urls=(dead, slapd.tls_url)))
    assert ldap.log_in("ann", "annann") and list(ldap._in_order()) == [slapd.tls_url, dead]


def test_a_directory_that_is_gone_or_silent_is_no_wrong_password(
    slapd: Directory, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.authenticators.ldap._TIMEOUT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"ldap://127.0.0.1:{silent.getsockname()[1]}"
        for urls in (("ldap://127.0.0.1:1",), (url,)):
            with pytest.raises(DirectoryUnavailable):
                LdapDirectory(rules(slapd, certificate, urls=urls)).log_in("ann", "annann")
    for changed in ({"bind_password": "x"}, {"user_filter": "(((uid={}"}):
        with pytest.raises(DirectoryUnavailable):
            LdapDirectory(rules(slapd, certificate, **changed)).log_in("ann", "annann")


def test_a_server_with_a_directory(slapd: Directory, certificate: Certificate, folder: Path) -> None:
    (folder / "service").write_text(f"{SERVICE_PASSWORD}\n")
    (folder / "service").chmod(0o600)
    server = SecureServer(
        folder,
        authentication__methods=["ldap"],
        authentication__admin_groups=["ALL"],
        ldap__urls=[slapd.url],
        ldap__bind_dn=SERVICE,
        ldap__bind_password_file=str(folder / "service"),
        ldap__user_base=PEOPLE,
        ldap__group_base="ou=groups,dc=example,dc=com",
    ).start()
    with server.client("Ann", "annann"):
        pass
    assert server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **basic("ann")).status == 200
    identity = server.engine.sessions[-1].identity
    assert (identity.principal, identity.is_admin, identity.method) == ("ann", True, "ldap")
    assert server.ask("POST", STATEMENTS, {"statement": "SELECT 1"}, **basic("ann", "x")).status == 401
    server.stop()
