"""The format of the audit log's lines and their hash chain. Pure.

A line is one JSON object in ASCII. Its field `prev` is the preceding line's digest (SHA-256 in hexadecimal, without the
newline) and `seq` a number that counts from 1, both across all files; the first line has :data:`ORIGIN` as `prev`. A
line that is changed, removed, inserted or moved therefore breaks the chain after it. The chain cannot show that the
last lines are missing: that requires the newest digest from another source (`delta-gateway audit verify` prints it), or
signed heads (`signed_digests.py`).

A killed process may leave a torn last line. The line after it is an event `gap`, which has the torn line's digest and
continues the chain from the last whole line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

VERSION = 1
ORIGIN = "0" * 64
GAP = "gap"


@dataclass(frozen=True, slots=True)
class ChainEnd:
    """The log's newest line: its number and its digest."""

    seq: int = 0
    digest: str = ORIGIN


@dataclass(frozen=True, slots=True)
class Broken:
    """The first line that does not continue the chain."""

    file: str
    line: int
    reason: str


def digest_of(line: bytes) -> str:
    """Returns a line's digest, without its newline."""
    return hashlib.sha256(line).hexdigest()


def format_line(chain_end: ChainEnd, fields: Mapping[str, Any]) -> bytes:
    """Returns the line that follows `chain_end`, without its newline."""
    content = {"v": VERSION, "seq": chain_end.seq + 1, **fields, "prev": chain_end.digest}
    return json.dumps(content, separators=(",", ":"), default=str).encode("ascii")


def follow(chain_end: ChainEnd, line: bytes) -> ChainEnd:
    """Returns the head after `line`. Raises ValueError with the reason if the line does not follow `chain_end`."""
    try:
        content = json.loads(line)
    except ValueError:
        raise ValueError("not valid JSON") from None
    if not isinstance(content, dict) or content.get("v") != VERSION:
        raise ValueError(f"not a line in format version {VERSION}")
    if content.get("prev") != chain_end.digest:
        raise ValueError("its digest of the preceding line does not match")
    if content.get("seq") != chain_end.seq + 1:
        raise ValueError(f"its number is {content.get('seq')} instead of {chain_end.seq + 1}")
    return ChainEnd(chain_end.seq + 1, digest_of(line))


def verify(
    files: Iterable[tuple[str, bytes]],
    chain_end: ChainEnd | None = None,
    signed: Mapping[int, str] = MappingProxyType({}),
) -> tuple[ChainEnd, Broken | None]:
    """Verifies the chain through `files` (names and contents, in order); returns the last valid head and the first
    break.

    `chain_end` precedes the first file. A torn line is valid if the next line is the gap that names it; the very last
    line may be torn. `signed` maps line numbers to digests from another source.
    """
    at = chain_end or ChainEnd()
    cut: tuple[str, int, bytes] | None = None
    for name, content in files:
        for number, line in enumerate(content.splitlines(), 1):
            try:
                at = follow(at, line)
            except ValueError as error:
                if cut is not None:
                    return at, Broken(cut[0], cut[1], "torn, and no line after it reports the gap")
                if is_cut(line):
                    cut = name, number, line
                    continue
                return at, Broken(name, number, str(error))
            # Whoever can rewrite the whole log can also compute a new chain. Only a digest
            # from elsewhere shows it.
            if signed.get(at.seq, at.digest) != at.digest:
                return at, Broken(name, number, "its digest differs from the signed one")
            if cut is not None and not _reports_gap(line, cut[2]):
                return at, Broken(cut[0], cut[1], "torn, and the next line does not report the gap")
            cut = None
    if (last := max(signed, default=0)) > at.seq:
        return at, Broken("the last file", 0, f"it ends before line {last}, whose digest was signed")
    return at, None


def is_cut(line: bytes) -> bool:
    """Returns True if it may be a torn line: all whole ones are JSON objects."""
    try:
        json.loads(line)
    except ValueError:
        return True
    return False


def _reports_gap(line: bytes, cut: bytes) -> bool:
    content = json.loads(line)
    return bool(content.get("event") == GAP and content.get("cut_sha256") == digest_of(cut))
