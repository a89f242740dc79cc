"""The audit log's hash chain: order, and every way to break it."""

from __future__ import annotations

import json
import random

import pytest

from gateway.audit.chain import GAP, ChainEnd, digest_of, follow, format_line, verify


def audit_log(count: int) -> list[bytes]:
    lines: list[bytes] = []
    chain_end = ChainEnd()
    for number in range(count):
        lines.append(format_line(chain_end, {"event": "e", "text": f"ü\n{number}"}))
        chain_end = follow(chain_end, lines[-1])
    return lines


def file(*lines: bytes) -> list[tuple[str, bytes]]:
    return [("audit-2026-01-01.jsonl", b"".join(line + b"\n" for line in lines))]


def test_a_line_is_one_line_of_ascii_and_names_the_one_before() -> None:
    first, second = audit_log(2)
    assert b"\n" not in second and second.isascii()
    content = json.loads(second)
    assert content == {"v": 1, "seq": 2, "event": "e", "text": "ü\n1", "prev": digest_of(first)}


def test_hash_chain_continues_across_files() -> None:
    lines = audit_log(5)
    files = [("a", b"".join(line + b"\n" for line in lines[:2])), ("b", b""), *file(*lines[2:])]
    assert verify(files) == (ChainEnd(5, digest_of(lines[-1])), None)
    assert verify([]) == (ChainEnd(), None)


@pytest.mark.parametrize(
    ("change", "line", "seq"),
    [
        ("text", 4, 3),
        ("remove", 3, 2),
        ("swap", 3, 2),
        ("repeat", 3, 2),
        ("insert", 3, 2),
        ("number", 3, 2),
        ("no json", 3, 2),
    ],
)
def test_changed_record_is_located(change: str, line: int, seq: int) -> None:
    lines = audit_log(6)
    match change:
        case "text":
            lines[2] = lines[2].replace(b'"e"', b'"f"')
        case "remove":
            del lines[2]
        case "swap":
            lines[2], lines[3] = lines[3], lines[2]
        case "repeat":
            lines.insert(2, lines[1])
        case "insert":
            lines.insert(2, format_line(ChainEnd(2, "f" * 64), {"event": "e"}))
        case "number":
            lines[2] = lines[2].replace(b'"seq":3', b'"seq":4')
        case _:
            lines[2] = b"-"
    chain_end, broken = verify(file(*lines))
    assert broken is not None
    assert (broken.line, chain_end.seq) == (line, seq)


@pytest.mark.parametrize("seed", range(20))
def test_any_changed_byte_is_found(seed: int) -> None:
    choose, lines = random.Random(seed), audit_log(8)
    at = choose.randrange(7)  # a change in the last line is detected if its digest is known
    place = choose.randrange(len(lines[at]))
    lines[at] = lines[at][:place] + bytes([lines[at][place] ^ 1]) + lines[at][place + 1 :]
    assert verify(file(*lines))[1] is not None


def test_a_cut_line_holds_if_the_next_one_tells_of_it() -> None:
    lines = audit_log(3)
    cut, chain_end = lines[2][:20], follow(follow(ChainEnd(), lines[0]), lines[1])
    gap = format_line(chain_end, {"event": GAP, "cut_sha256": digest_of(cut)})
    assert verify(file(lines[0], lines[1], cut)) == (chain_end, None)
    assert verify(file(lines[0], lines[1], cut, gap))[1] is None
    other = format_line(chain_end, {"event": "e"})
    assert verify(file(lines[0], lines[1], cut, other))[1] is not None
    assert verify(file(lines[0], lines[1], cut, cut, gap))[1] is not None
