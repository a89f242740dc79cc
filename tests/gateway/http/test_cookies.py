"""A cookie is known for a time, from one address, and until it is withdrawn."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from engine.runtime.identity import Identity
from gateway.http.cookies import COOKIE_NAME, Cookies
from gateway.state.log_ins import LogInFolder

ANN, PEER = Identity("ann", expires_ms=1_008_000), "127.0.0.1"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("identity", "later_s", "peer", "known"),
    [
        (Identity("a!b=c;d"), 0, PEER, True),
        (Identity("ann"), 9.9, PEER, True),
        (Identity("ann"), 10, PEER, False),
        (Identity("ann"), 0, "127.0.0.2", False),
        (ANN, 7.9, PEER, True),
        (ANN, 8, PEER, False),
    ],
)
def test_a_cookie_is_good_for_a_time_and_an_address(identity: Identity, later_s: float, peer: str, known: bool) -> None:
    clock = Clock()
    cookies = Cookies(lifetime_s=10, clock=clock)
    value = cookies.give(identity, PEER)
    clock.now += later_s
    assert cookies.identity(value, peer) == (identity if known else None)


@pytest.mark.parametrize("value", ["", "!", "ada", "ada!9999999999!é", "x" * 43])
def test_foreign_cookies_are_ignored(value: str) -> None:
    cookies = Cookies()
    cookies.give(ANN, PEER)
    assert cookies.identity(value, PEER) is None


def test_a_withdrawn_cookie_is_unknown_and_another_takes_its_place() -> None:
    cookies = Cookies(lifetime_s=10, clock=Clock())
    value = cookies.give(ANN, PEER)
    cookies.withdraw(value)
    cookies.withdraw(value)
    assert cookies.identity(value, PEER) is None
    assert cookies.identity(cookies.give(ANN, PEER), PEER) == ANN


def test_login_cookie_is_reissued_for_half_of_its_lifetime() -> None:
    clock = Clock()
    cookies = Cookies(lifetime_s=4, clock=clock)
    first = cookies.give(ANN, PEER)
    clock.now += 1
    assert cookies.give(ANN, PEER) == first != cookies.give(ANN, "127.0.0.2")
    clock.now += 1
    assert cookies.give(ANN, PEER) != first


def test_oldest_cookies_are_evicted() -> None:
    cookies = Cookies(cookies_max=2)
    first, *others = (cookies.give(Identity(name), PEER) for name in ("a", "b", "c"))
    assert cookies.identity(first, PEER) is None
    assert [cookies.identity(value, PEER) for value in others] == [Identity("b"), Identity("c")]


def test_a_user_with_many_cookies_logs_out_nobody_else() -> None:
    ann, cookies = Identity("ann"), Cookies(cookies_max=10, of_user_max=4)
    first = cookies.make(ann, PEER)
    own = [cookies.make(Identity("bob"), PEER) for _ in range(50)]
    assert cookies.identity(first, PEER) == ann
    assert [cookies.identity(value, PEER) is not None for value in own] == [False] * 46 + [True] * 4
    many = [cookies.make(Identity(name), PEER) for name in "cdefgh" for _ in range(2)]
    assert cookies.identity(first, PEER) == ann  # the users with the most lose the oldest
    assert sum(cookies.identity(value, PEER) is not None for value in (*own, *many)) == 9
    cookies.withdraw(first)
    assert cookies.identity(first, PEER) is None and cookies.identity(many[-1], PEER) is not None


@pytest.mark.parametrize("is_secure", [True, False])
def test_the_header_keeps_scripts_and_other_sites_away(is_secure: bool) -> None:
    name, *attributes = Cookies(lifetime_s=10).format("v", is_secure=is_secure).split("; ")
    assert name == f"{COOKIE_NAME}=v"
    assert attributes == ["Path=/", "Max-Age=10", "HttpOnly", "SameSite=Strict", *(["Secure"] if is_secure else [])]


def shared(folder: Path, **options: Any) -> Cookies:
    cookies = Cookies(**options)
    cookies.log_ins = LogInFolder(folder)
    return cookies


def test_cookie_is_known_at_another_gateway_until_it_is_withdrawn_at_one(tmp_path: Path) -> None:
    one, two = (shared(tmp_path) for _ in range(2))
    value = one.make(Identity("ann", frozenset(("a",))), PEER, "token")
    assert two.identity(value, PEER) == Identity("ann", frozenset(("a",))) == one.identity(value, PEER)
    assert two.identity(value, "127.0.0.2") is Cookies().identity(value, PEER) is None
    assert shared(tmp_path, name="other").identity(value, PEER) is None
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "log-ins").iterdir()] == [0o600]
    assert value not in str(list((tmp_path / "log-ins").iterdir()))
    assert shared(tmp_path).withdraw(value) == "token"
    assert one.identity(value, PEER) is two.identity(value, PEER) is None


def test_use_at_one_gateway_extends_a_cookie_at_another(tmp_path: Path) -> None:
    clock = Clock()
    clock.now = time.time()
    one, two = (shared(tmp_path, idle_s=600, clock=clock) for _ in range(2))
    value = one.make(Identity("ann"), PEER)
    assert two.identity(value, PEER) is not None
    (file,) = (tmp_path / "log-ins").iterdir()
    clock.now += 500
    assert one.identity(value, PEER) is not None
    os.utime(file, (clock.now, clock.now))  # the time of the clock
    clock.now += 500
    assert two.identity(value, PEER) is not None
    clock.now += 601
    assert one.identity(value, PEER) is two.identity(value, PEER) is None
