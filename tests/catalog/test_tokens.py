"""A token is known by its secret until it expires or is revoked, and the file has no secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from catalog.conditions import SecretReadable, SecretUnusable, TokenLifetimeInvalid, TokenNotFound, TooManyTokens
from catalog.errors import SqlError
from catalog.grants.tokens import TokenEntry, TokenOwner, TokenRequest, TokenStore, is_well_formed

ANN = TokenOwner(principal="ann", groups=("a", "b"), method="password")
DAY_S = 86_400.0


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> TokenStore:
    return TokenStore(tmp_path / "tokens.json", clock)


def make(store: TokenStore, owner: TokenOwner = ANN, **fields: object) -> tuple[str, TokenEntry]:
    return store.create(TokenRequest(owner=owner, **fields))  # type: ignore[arg-type]


def test_a_token_is_found_by_its_secret_alone(store: TokenStore, tmp_path: Path) -> None:
    token, entry = make(store, comment="for dbt", is_read_only=True)
    other, _ = make(store)
    assert store.find(token) == entry == store.get(entry.token_id) and token != other
    assert (entry.owner, entry.comment, entry.is_read_only) == (ANN, "for dbt", True)
    file = tmp_path / "tokens.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert token.removeprefix("dgp_")[:43] not in file.read_text() and token not in repr(entry)
    again = TokenStore(file, store._clock)  # another server
    assert again.find(token) == entry
    store.revoke(entry.token_id)
    assert again.find(token) is store.find(token) is again.get(entry.token_id) is None
    assert again.find(other)


@pytest.mark.parametrize("change", [str.upper, str.swapcase, lambda t: t[:-1], lambda t: t + "0", lambda t: t[4:]])
def test_token_pattern(store: TokenStore, change: object) -> None:
    token, _ = make(store)
    assert is_well_formed(token) and len(token) == 53
    changed = change(token)  # type: ignore[operator]
    assert not is_well_formed(changed) and store.find(changed) is None
    forged = token[:4] + token[4:47][::-1] + token[-6:]
    assert not is_well_formed(forged) and store.find("dgp_" + "0" * 43 + "000000") is None


@pytest.mark.parametrize(
    ("lifetime_s", "expires_ms_max", "days"),
    [
        (None, None, 90),
        (DAY_S, None, 1),
        (365 * DAY_S, None, 365),
        (None, 1_000_000_000 + 86_400_000, 1),
        (DAY_S, 1_000_000_000 + 86_400_000, 1),
        (366 * DAY_S, None, None),
        (0.5, None, None),
        (-1.0, None, None),
        (2 * DAY_S, 1_000_000_000 + 86_400_000, None),
        (None, 1_000_000_000, None),
    ],
)
def test_how_long_a_token_is_good(
    store: TokenStore, clock: Clock, lifetime_s: float | None, expires_ms_max: int | None, days: int | None
) -> None:
    if days is None:
        with pytest.raises(TokenLifetimeInvalid):
            make(store, lifetime_s=lifetime_s, expires_ms_max=expires_ms_max)
        return
    token, entry = make(store, lifetime_s=lifetime_s, expires_ms_max=expires_ms_max)
    clock.now += days * DAY_S - 0.001
    assert store.find(token) == entry
    clock.now += 0.001
    assert store.find(token) is store.get(entry.token_id) is None and store.entries() == ()


def test_tokens_are_their_owners(store: TokenStore) -> None:
    bob = TokenOwner(principal="bob")
    (_, of_ann), (_, of_bob) = make(store), make(store, bob)
    assert store.entries("ann") == (of_ann,) and store.entries() == (of_ann, of_bob)
    for token_id, owner in ((of_bob.token_id, "ann"), ("none", None)):
        with pytest.raises(TokenNotFound):
            store.revoke(token_id, owner)
    store.revoke(of_bob.token_id, "bob")
    assert store.revoke_all("ann") == 1 and store.revoke_all("ann") == 0 and store.entries() == ()


def test_an_owner_has_so_many(store: TokenStore, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catalog.grants.tokens.TOKENS_PER_OWNER_MAX", 3)
    for _ in range(3):
        make(store, lifetime_s=10.0)
    with pytest.raises(TooManyTokens):
        make(store)
    assert make(store, TokenOwner(principal="bob"))
    clock.now += 10
    assert make(store) and len(json.loads(store._path.read_text())["tokens"]) == 2  # ended tokens are removed


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 1, "tokens": [{}]}', '{"version": 2, "tokens": []}'])
def test_a_file_that_is_no_file_of_tokens(store: TokenStore, content: str) -> None:
    token, _ = make(store)
    good = store._path.read_bytes()
    store._path.write_text(content)
    assert store.find(token) is None
    for step in (lambda: TokenStore(store._path), lambda: make(store)):
        with pytest.raises(SecretUnusable):
            step()
    store._path.write_bytes(good)
    store._path.chmod(0o644)
    with pytest.raises(SecretReadable):
        TokenStore(store._path)
    assert store.find(token) is None
    store._path.chmod(0o600)
    store._path.write_bytes(good)
    assert store.find(token)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SqlError, match="no such file"):
        make(TokenStore(tmp_path / "none" / "none" / "tokens.json"))
