"""Damage to real bytes, as by a disk, a transfer or an attacker.

Random bytes rarely pass a parser's first check; a real file with a few changes reaches any code.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

_INTERESTING = [b"\x00", b"\xff", b"\x7f", b"\x80", b"{", b"}", b'"', b"[", b"-", b"9" * 20, b"null", b"\\u0000", b"\n"]


@st.composite
def damaged(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """Returns one seed after up to four changes."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        to = min(len(data), at + draw(st.integers(0, 16)))
        match draw(st.sampled_from(["replace", "insert", "cut", "repeat", "flip"])):
            case "replace":
                data = data[:at] + draw(st.binary(max_size=8)) + data[to:]
            case "insert":
                data = data[:at] + draw(st.sampled_from(_INTERESTING)) + data[at:]
            case "cut":
                data = data[:at]
            case "repeat":
                data = data[:to] + data[at:]
            case _ if at < len(data):
                data = data[:at] + bytes([data[at] ^ 1 << draw(st.integers(0, 7))]) + data[at + 1 :]
    return data


def anything(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    return damaged(seeds) | st.binary(max_size=200)
