"""Without authentication any name is believed, from this machine and from nowhere else."""

from __future__ import annotations

import pytest

from gateway.authenticators import Anonymous, AuthenticationFailed


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "::1%lo"])
def test_any_name_from_this_machine(peer: str) -> None:
    assert Anonymous().authenticate("ada", "whatever", peer) == "ada"
    assert Anonymous().authenticate("", "", peer) == "anonymous"


@pytest.mark.parametrize("peer", ["10.0.0.1", "::ffff:10.0.0.1", "fe80::1%eth0", "localhost", "", "0.0.0.0"])
def test_nobody_from_elsewhere(peer: str) -> None:
    with pytest.raises(AuthenticationFailed, match="no authentication configured"):
        Anonymous().authenticate("ada", "whatever", peer)
