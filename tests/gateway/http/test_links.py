"""Links are good for one path until they expire, and nobody else can make one."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from gateway.http.errors import LinkRefused
from gateway.http.links import LinkSigner


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
