"""Links are good for one path until they expire, and nobody else can make one."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from catalog.conditions import LinkRefused
from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.peer import Peer
from gateway.http.app import HttpOptions, create_app
from gateway.http.callers import PEER
from gateway.http.hosts import KnownHosts
from gateway.http.staged_links import LinkSigner
from tests.gateway.http.conftest import STATEMENTS, Api


class Clock:
    now = 1_000_000.5

    def __call__(self) -> float:
        return self.now


def parts(link: str) -> tuple[str, str, str]:
    split = urlsplit(link)
    query = parse_qs(split.query)
    return split.path, query["expires"][0], query["signature"][0]


def test_a_link_is_good_until_it_expires() -> None:
    clock = Clock()
    signer = LinkSigner(lifetime_s=10, clock=clock)
    link, expires = signer.sign("/results/1/0")
    assert expires == 1_000_010
    signer.ensure_valid(*parts(link))
    clock.now = expires - 0.1
    signer.ensure_valid(*parts(link))
    clock.now = expires
    with pytest.raises(LinkRefused, match="expired"):
        signer.ensure_valid(*parts(link))


@pytest.mark.parametrize(
    ("path", "expires", "signature"),
    [
        ("/results/1/1", None, None),
        (None, "1000011", None),
        (None, "", None),
        (None, None, ""),
        (None, None, "é"),
        (None, None, "0" * 64),
    ],
)
def test_a_changed_link_is_refused(path: str | None, expires: str | None, signature: str | None) -> None:
    signer = LinkSigner(lifetime_s=10, clock=Clock())
    good = parts(signer.sign("/results/1/0")[0])
    given = [part if other is None else other for part, other in zip(good, (path, expires, signature), strict=True)]
    with pytest.raises(LinkRefused, match="signature"):
        signer.ensure_valid(*given)


def test_another_server_signs_with_another_key() -> None:
    link, _ = LinkSigner(lifetime_s=10).sign("/results/1/0")
    with pytest.raises(LinkRefused, match="signature"):
        LinkSigner(lifetime_s=10).ensure_valid(*parts(link))


# ------------------------------------------------------------------------------------------------- reverse proxies

FORWARDED = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "sql.example", "X-Forwarded-Prefix": "/lake"}
HERE = {"Host": "localhost:8080"}


@pytest.mark.parametrize(
    ("public_url", "proxies", "headers", "begin"),
    [
        ("", (), HERE, "http://localhost:8080"),
        ("", (), HERE | FORWARDED, "http://localhost:8080"),
        ("", ("10.0.0.0/8",), HERE | FORWARDED, "http://localhost:8080"),
        ("", ("127.0.0.1",), HERE, "http://localhost:8080"),
        ("", ("127.0.0.1",), HERE | FORWARDED, "https://sql.example/lake"),
        ("", ("::1", "127.0.0.0/8"), HERE | {"X-Forwarded-Proto": "https"}, "https://localhost:8080"),
        ("", ("127.0.0.1",), HERE | {"X-Forwarded-Host": "evil.example, sql.example:8443"}, "http://sql.example:8443"),
        ("https://sql.example/", (), HERE, "https://sql.example"),
        ("https://sql.example:8443/lake", ("127.0.0.1",), FORWARDED, "https://sql.example:8443/lake"),
    ],
)
def test_links_begin_with_what_the_client_can_reach(
    api: Api, public_url: str, proxies: tuple[str, ...], headers: dict[str, str], begin: str
) -> None:
    options = HttpOptions(hosts=KnownHosts(["sql.example"]), public_url=public_url, proxies=proxies)
    client = create_app(api.lifecycle, Anonymous(), options).test_client()
    client.environ_base |= {PEER: Peer("127.0.0.1")}  # type: ignore[dict-item]
    body = {"statement": "SELECT 1", "disposition": "EXTERNAL_LINKS", "wait_timeout": "50s"}
    answer = client.post(STATEMENTS, json=body, headers=headers)
    (link,) = json.loads(answer.data)["result"]["external_links"]
    assert link["external_link"].startswith(f"{begin}/api/2.0/sql/results/")
    followed = client.get(link["external_link"].removeprefix(begin), headers=headers)
    assert json.loads(followed.data) == [["1"]]


def test_a_proxy_speaks_for_known_names_only_and_never_for_a_peer(api: Api) -> None:
    app = create_app(api.lifecycle, Anonymous(), HttpOptions(proxies=("127.0.0.1",)))
    evil = app.test_client().get("/healthz", headers={"X-Forwarded-Host": "evil.example"})
    assert evil.status_code == 403
    for peer, status in (("127.0.0.1", 200), ("10.1.2.3", 401)):
        answer = app.test_client().post(
            STATEMENTS,
            json={"statement": "SELECT 1"},
            headers={"X-Forwarded-For": "127.0.0.1"},
            environ_base={"REMOTE_ADDR": peer, PEER: Peer(peer)},
        )
        assert answer.status_code == status
