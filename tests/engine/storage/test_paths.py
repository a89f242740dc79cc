"""Data file paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.storage import paths


@given(st.text())
def test_encoding_a_path_is_undone_by_decoding(path: str) -> None:
    encoded = paths.encode_path(path.encode(errors="replace").decode())
    assert paths.decode_path(encoded) == path.encode(errors="replace").decode()
    assert encoded.isascii() and not set(encoded) & set(' "<>\\^`{|}#?')


@pytest.mark.parametrize(
    ("path", "encoded"),
    [
        ("a b%c#d?e", "a%20b%25c%23d%3Fe"),
        ("p=a%20b/f.parquet", "p=a%2520b/f.parquet"),
        ("caf\u00e9", "caf%C3%A9"),
        ("a:b/c:d", "a%3Ab/c:d"),
        ("s3://bucket/x y", "s3://bucket/x%20y"),
        ("/a:b", "/a:b"),
    ],
)
def test_encoded_forms(path: str, encoded: str) -> None:
    assert paths.encode_path(path) == encoded


@pytest.mark.parametrize(
    ("path", "encoded"),
    [
        ("file:/t/a b%c.parquet", "file:/t/a%20b%25c.parquet"),
        ("file:/t/p=\u00fc%20/x", "file:/t/p=\u00fc%2520/x"),
        ("file:/t/a\u00a0\u3000b", "file:/t/a%C2%A0%E3%80%80b"),
        ("s3://bucket/\u4e2d\u0085[]", "s3://bucket/\u4e2d%C2%85%5B%5D"),
    ],
)
def test_absolute_paths_as_hadoop_writes_them(path: str, encoded: str) -> None:
    assert paths.hadoop_path(path) == encoded
    assert paths.decode_path(encoded) == path


@pytest.mark.parametrize(
    ("path", "resolved"),
    [
        ("x", "x"),
        ("/x", "/x"),
        ("file:/x", "/x"),
        ("file:///x", "/x"),
        ("file://localhost/x", "/x"),
        ("file:x", "file:x"),
        ("s3://b/x", "s3://b/x"),
    ],
)
def test_a_local_file_has_one_spelling(path: str, resolved: str) -> None:
    assert paths.resolve_path(path) == resolved
