"""The state folder: its owners, take-overs with faults, and its shared files."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from catalog.conditions import StateFormatNotSupported, StateLost
from gateway.state.addresses import Address, internal_address, write_address
from gateway.state.folder import LEASE_S, Lease, StateFolder

Taker = Callable[[], Lease]


@pytest.fixture
def folder(tmp_path: Path) -> StateFolder:
    return StateFolder(tmp_path / "state")


@pytest.fixture
def lost() -> list[str]:
    return []


@pytest.fixture
def take(folder: StateFolder, lost: list[str]) -> Iterator[Taker]:
    made: list[Lease] = []

    def build() -> Lease:
        made.append(folder.take_own(lambda: lost.append("lost")))
        return made[-1]

    yield build
    for lease in made:
        if not lease.is_released:
            lease.release(removes=True)


def test_folder_of_a_live_gateway_is_not_taken_and_one_of_an_ended_gateway_is(folder: StateFolder, take: Taker) -> None:
    own, other = take(), take()
    assert folder.take_over(own.folder) == []
    (other.folder / "sessions" / "aabbccddeeff").touch()
    other.release(removes=False)
    (taken,) = folder.take_over(own.folder)
    assert [path.name for path in (taken.path / "sessions").iterdir()] == ["aabbccddeeff"]
    assert folder.take_over(own.folder) == []  # while this process has it
    taken.finish(removes=True)
    assert not taken.path.exists()


def test_interrupted_take_over_is_repeated(folder: StateFolder, take: Taker) -> None:
    own, other = take(), take()
    other.release(removes=False)
    (taken,) = folder.take_over(own.folder)
    taken.finish(removes=False)
    (again,) = folder.take_over(own.folder)
    again.finish(removes=True)
    assert folder.take_over(own.folder) == []


def test_suspended_gateway_is_replaced_after_ten_seconds(folder: StateFolder, take: Taker, lost: list[str]) -> None:
    own, other = take(), take()
    other._ending.set()  # no beats, as in a process that is suspended; its lock is held
    other._thread.join()
    other._ending.clear()
    former = time.time() - LEASE_S - 1
    os.utime(other.folder / "lock", (former, former))
    (taken,) = folder.take_over(own.folder)
    taken.finish(removes=True)
    other._renewed -= LEASE_S
    with pytest.raises(StateLost):
        other.ensure_held()
    assert lost == ["lost"]
    own.ensure_held()


def test_folder_that_is_being_made_is_not_taken(folder: StateFolder, take: Taker) -> None:
    own = take()
    made = own.folder.with_name("aaaaaaaaaaaa.new")
    made.mkdir()
    (made / "lock").touch()
    assert folder.take_over(own.folder) == []
    former = time.time() - LEASE_S - 1
    os.utime(made / "lock", (former, former))
    (taken,) = folder.take_over(own.folder)
    taken.finish(removes=True)


def test_sessions_are_located_by_their_keys(folder: StateFolder, take: Taker) -> None:
    own, other = take(), take()
    assert folder.locate("aabbccddeeff", own.folder) is None
    (other.folder / "sessions" / "aabbccddeeff").touch()
    place = folder.locate("aabbccddeeff", own.folder)
    assert place is not None and place.address is None
    write_address(other.folder, Address(host="gateway-2", port=8443, certificate="pem"))
    place = folder.locate("aabbccddeeff", own.folder)
    assert place is not None and place.address == Address(host="gateway-2", port=8443, certificate="pem")
    assert (other.folder / "address.json").stat().st_mode & 0o777 == 0o600


def test_all_gateways_have_the_same_private_key(folder: StateFolder) -> None:
    assert StateFolder(folder.path).key == folder.key and len(folder.key) == 32
    assert (folder.path / "key").stat().st_mode & 0o777 == 0o600


def test_folder_of_a_newer_release_is_rejected_with_both_versions(folder: StateFolder) -> None:
    (folder.path / "format.json").write_text(json.dumps({"version": 3}))
    with pytest.raises(StateFormatNotSupported, match="format version 3, and this release supports version 2"):
        StateFolder(folder.path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1", ("127.0.0.1", 8080)),
        ("gateway-1:9000", ("gateway-1", 9000)),
        ("::1", ("::1", 8080)),
        ("[::1]:9000", ("::1", 9000)),
        ("[::1]", ("::1", 8080)),
    ],
)
def test_internal_addresses_have_a_host_and_a_port(text: str, expected: tuple[str, int]) -> None:
    assert internal_address(text, 8080) == expected


def test_internal_address_of_every_address_is_the_machines_name() -> None:
    assert internal_address("0.0.0.0", 8080) == (os.uname().nodename, 8080)
