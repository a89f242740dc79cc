"""The format of a trail's lines and the chain through them. Pure.

A line is one JSON object in ASCII. It has the digest of the line before it as `prev` (SHA-256, as hexadecimal digits,
of the line without its newline) and a number `seq` that counts from 1, both over all files of a trail; the first line
has :data:`ORIGIN` for the digest of the line before. So a line that is changed, taken out, put in or moved breaks the
chain behind it. What the chain cannot tell is that the last lines are missing: for that its newest digest has to be
known from elsewhere (`delta-gateway audit verify` prints it), which signed heads do by themselves (`heads.py`).

A process that is killed may leave a last line that is cut. The line behind it is an event `gap`, which has the digest
of what was cut, and continues the chain from the last whole line.
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
class Head:
    """The newest line of a trail: its number and its digest."""

    seq: int = 0
    digest: str = ORIGIN


@dataclass(frozen=True, slots=True)
class Broken:
    """The first line that does not continue the chain."""

    file: str
    line: int
    reason: str


def digest_of(line: bytes) -> str:
    """Of a line without its newline."""
    return hashlib.sha256(line).hexdigest()


def format_line(head: Head, fields: Mapping[str, Any]) -> bytes:
    """The line that follows `head`, without its newline."""
    content = {"v": VERSION, "seq": head.seq + 1, **fields, "prev": head.digest}
    return json.dumps(content, separators=(",", ":"), default=str).encode("ascii")


def follow(head: Head, line: bytes) -> Head:
    """The head behind `line`. Raises ValueError, which says why the line does not follow `head`."""
    try:
        content = json.loads(line)
    except ValueError:
        raise ValueError("it is no JSON") from None
    if not isinstance(content, dict) or content.get("v") != VERSION:
        raise ValueError(f"it is no line of version {VERSION}")
    if content.get("prev") != head.digest:
        raise ValueError("the line before it is not the one that it was written behind")
    if content.get("seq") != head.seq + 1:
        raise ValueError(f"its number is {content.get('seq')}, and {head.seq + 1} was to follow")
    return Head(head.seq + 1, digest_of(line))


def verify(
    files: Iterable[tuple[str, bytes]], head: Head | None = None, signed: Mapping[int, str] = MappingProxyType({})
) -> tuple[Head, Broken | None]:
    """How far the chain holds through `files` (names and contents, in their order), and where it breaks.

    `head` is what is before the first of them. A cut line holds if the line behind it is the gap that names it; the
    very last line may be cut. `signed` has digests of lines by their numbers, which are known from elsewhere.
    """
    at = head or Head()
    cut: tuple[str, int, bytes] | None = None
    for name, content in files:
        for number, line in enumerate(content.splitlines(), 1):
            try:
                at = follow(at, line)
            except ValueError as error:
                if cut is not None:
                    return at, Broken(cut[0], cut[1], "it is cut, and no gap is told of behind it")
                if is_cut(line):
                    cut = name, number, line
                    continue
                return at, Broken(name, number, str(error))
            if signed.get(at.seq, at.digest) != at.digest:
                return at, Broken(name, number, "its digest is not the one that was signed")
            if cut is not None and not _tells_of(line, cut[2]):
                return at, Broken(cut[0], cut[1], "it is cut, and the line behind it does not tell of it")
            cut = None
    if (last := max(signed, default=0)) > at.seq:
        return at, Broken("the last file", 0, f"it ends, and a head of line {last} was signed")
    return at, None


def is_cut(line: bytes) -> bool:
    """Whether it may be the beginning of a line: all whole ones are JSON objects."""
    try:
        json.loads(line)
    except ValueError:
        return True
    return False


def _tells_of(line: bytes, cut: bytes) -> bool:
    content = json.loads(line)
    return bool(content.get("event") == GAP and content.get("cut_sha256") == digest_of(cut))
