"""The digest of the rows that a client has received."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from gateway.results.sent_rows import PrefixDigest, SentRows, has_digest

ROWS = 10_000
TABLE = pa.table(
    {
        "text": pa.array([None if row % 7 == 3 else f"row {row}" for row in range(ROWS)]),
        "flag": pa.array([None if row % 5 == 1 else row % 3 == 0 for row in range(ROWS)]),
        "list": pa.array([None if row % 11 == 4 else [row, None] for row in range(ROWS)]),
        "number": pa.array([float("nan") if row % 13 == 5 else row / 8 for row in range(ROWS)]),
    }
)


def digest_of(table: pa.Table, page_rows: int, rows: int) -> bytes:
    digest = PrefixDigest()
    for start in range(0, rows, page_rows):
        digest.add(table.slice(start, min(page_rows, rows - start)))
    assert digest.rows == rows
    return digest.digest()


@pytest.mark.parametrize("rows", [1, 7, 4095, 4096, 4097, 9_999])
def test_digest_does_not_depend_on_pages_or_batches(rows: int) -> None:
    in_batches = pa.concat_tables([TABLE.slice(start, 333) for start in range(0, ROWS, 333)])
    copied = pa.Table.from_pylist(TABLE.slice(0, rows).to_pylist(), TABLE.schema)
    digests = [digest_of(TABLE, page_rows, rows) for page_rows in (1_001, 4_096, ROWS)]
    digests += [digest_of(in_batches, 500, rows), digest_of(copied, rows, rows)]
    assert len(set(digests)) == 1
    sent = SentRows(0, rows, rows, digests[0])
    assert has_digest(sent, lambda offset, count: in_batches.slice(offset, count))


@pytest.mark.parametrize(("name", "row"), list(itertools.product(TABLE.column_names, (0, 4_095, 8_192))))
def test_digest_shows_another_value(name: str, row: int) -> None:
    changed = TABLE.slice(0, 9_000).to_pylist()
    changed[row][name] = None if changed[row][name] is not None else changed[row + 1][name]
    other = pa.Table.from_pylist(changed, TABLE.schema)
    sent = SentRows(0, 9_000, 9_000, digest_of(TABLE, 1_000, 9_000))
    assert has_digest(sent, TABLE.slice) and not has_digest(sent, other.slice)


def test_fewer_rows_and_rows_without_a_digest_are_not_the_same() -> None:
    sent = SentRows(0, 100, 100, digest_of(TABLE, 100, 100))
    assert has_digest(sent, TABLE.slice)
    assert not has_digest(sent, TABLE.slice(0, 99).slice)
    assert not has_digest(SentRows(0, 101, 100, sent.digest), TABLE.slice)
