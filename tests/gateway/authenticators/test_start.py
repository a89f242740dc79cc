"""Rejected configurations, each with a named error, and the authenticator for a valid one."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.conditions import ConfigInvalidValue
from catalog.errors import SqlError
from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.chain import Chain, ChainPolicy
from gateway.authenticators.start import make_authenticator
from gateway.configuration.config import Risk
from gateway.configuration.loader import load_config
from tests.certificates import make_certificate


def build(users: Path, **flags: object) -> object:
    folder = users.parent
    settings = {
        "lake.folder": str(folder / "lake"),
        "lake.catalog_folder": str(folder / "catalog"),
        "authentication.methods": ["password"],
        "authentication.password_file": str(users),
    }
    return make_authenticator(
        load_config(None, {}, settings | {key.replace("__", "."): value for key, value in flags.items()})
    )


def test_a_good_configuration(users: Path) -> None:
    chain = build(users, authentication__admins=["ann"], authentication__admin_groups=["OPS"])
    assert isinstance(chain, Chain)
    assert chain.policy == ChainPolicy(admins=frozenset({"ann"}), admin_groups=frozenset({"ops"}))
    assert (users.parent / "catalog").stat().st_mode & 0o777 == 0o700
    anonymous = {"authentication__methods": ["anonymous"], "authentication__password_file": ""}
    assert build(users, lake__catalog_folder="", **anonymous) == Anonymous()


@pytest.mark.parametrize(
    ("flags", "condition"),
    [
        ({"authentication__password_file": ""}, "AUTHENTICATION_INCOMPLETE"),
        ({"authentication__password_file": "{folder}/none"}, "SECRET_UNUSABLE"),
        ({"lake__catalog_folder": ""}, "SECRET_IN_LAKE"),
        ({"lake__catalog_folder": "{folder}/lake"}, "SECRET_IN_LAKE"),
        ({"lake__catalog_folder": "{folder}/lake/../lake/x"}, "SECRET_IN_LAKE"),
        ({"lake__catalog_folder": "{folder}/link/x"}, "SECRET_IN_LAKE"),
        ({"lake__allowed_roots": ["/data", "{folder}"]}, "SECRET_IN_LAKE"),
        ({"lake__folder": "s3://b/lake", "lake__catalog_folder": "s3://b/lake/.catalog"}, "SECRET_IN_LAKE"),
        ({"lake__catalog_folder": "{folder}/open"}, "SECRET_READABLE_BY_OTHERS"),
        ({"lake__catalog_folder": "{folder}/users"}, "SECRET_UNUSABLE"),
        ({"authentication__methods": ["anonymous"]}, "AUTHENTICATION_NOT_USED"),
        ({"authentication__token_file": "{folder}/tokens"}, "AUTHENTICATION_NOT_USED"),
        ({"jwt__issuer": "https://example.com"}, "AUTHENTICATION_NOT_USED"),
        ({"ldap__urls": ["ldaps://example.com"]}, "AUTHENTICATION_NOT_USED"),
        ({"server__host": "0.0.0.0"}, "HOST_NOT_LOOPBACK"),
        (
            {
                "server__host": "0.0.0.0",
                "authentication__methods": ["anonymous"],
                "authentication__password_file": "",
            },
            "HOST_NOT_LOOPBACK",
        ),
        ({"server__tls_certificate": "{folder}/open.pem"}, "SECRET_READABLE_BY_OTHERS"),
        ({"server__tls_certificate": "{folder}/lake/key.pem"}, "SECRET_IN_LAKE"),
    ],
)
def test_settings_that_prevent_the_start(users: Path, flags: dict[str, object], condition: str) -> None:
    (users.parent / "lake").mkdir()
    (users.parent / "open").mkdir(mode=0o755)
    (users.parent / "link").symlink_to(users.parent / "lake")
    (users.parent / "open.pem").write_text("x")
    (users.parent / "open.pem").chmod(0o644)
    given = {key: _filled(value, users.parent) for key, value in flags.items()}
    with pytest.raises(SqlError) as refused:
        build(users, **given)
    assert refused.value.condition == condition


def _filled(value: object, folder: Path) -> object:
    if isinstance(value, list):
        return [_filled(one, folder) for one in value]
    return str(value).replace("{folder}", str(folder))


@pytest.mark.parametrize("methods", [[], ["kerberos"], ["anonymous", "password"], ["password", "password"], "password"])
def test_methods_that_do_not_go_together(users: Path, methods: object) -> None:
    with pytest.raises(ConfigInvalidValue, match="authentication.methods"):
        build(users, authentication__methods=methods)


@pytest.mark.parametrize("risks", [["whatever"], [str(Risk.CLEARTEXT).upper()]])
def test_a_risk_is_accepted_in_so_many_words(users: Path, risks: object) -> None:
    with pytest.raises(ConfigInvalidValue, match=r"server.accepted_risks.*anybody on the network"):
        build(users, server__accepted_risks=risks)


def test_a_server_for_the_network(users: Path, tmp_path: Path) -> None:
    (tmp_path / "tls").mkdir()
    made = make_certificate(tmp_path / "tls")
    made.key.chmod(0o600)
    tls = {"server__tls_certificate": str(made.certificate), "server__tls_key": str(made.key)}
    chain = build(users, server__host="0.0.0.0", **tls)
    assert isinstance(chain, Chain) and not chain.policy.takes_plaintext
    chain = build(users, server__host="0.0.0.0", server__accepted_risks=[Risk.CLEARTEXT])
    assert isinstance(chain, Chain) and chain.policy.takes_plaintext
    anybody = {"authentication__methods": ["anonymous"], "server__accepted_risks": list(Risk)}
    anybody |= {"authentication__password_file": ""}
    assert build(users, server__host="0.0.0.0", **anybody) == Anonymous(is_open=True)
