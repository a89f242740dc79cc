"""Names of log files and paths of data files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.delta.spec import paths
from engine.delta.spec.paths import LogFileKind, LogPath, parse_log_path

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
VERSIONS = st.integers(0, 2**63 - 1)


@given(VERSIONS, st.integers(1, 99), st.integers(0, 99))
def test_names_say_what_they_are(version: int, part: int, more: int) -> None:
    parts, last = part + more, version + part
    expected = {
        paths.commit_name(version): (LogFileKind.COMMIT, version),
        paths.checksum_name(version): (LogFileKind.CHECKSUM, version),
        paths.checkpoint_name(version): (LogFileKind.CHECKPOINT_CLASSIC, version),
        paths.checkpoint_v2_name(version, UUID, "json"): (LogFileKind.CHECKPOINT_V2, version),
        paths.checkpoint_v2_name(version, UUID, "parquet"): (LogFileKind.CHECKPOINT_V2, version),
    }
    for name, (kind, to) in expected.items():
        assert parse_log_path(name) == LogPath(name, kind, version, to)
    name = paths.checkpoint_part_name(version, part, parts)
    assert parse_log_path(name) == LogPath(name, LogFileKind.CHECKPOINT_PART, version, version, part, parts)
    name = paths.compaction_name(version, last)
    found = parse_log_path(name)
    assert found == (LogPath(name, LogFileKind.COMPACTION, version, last) if last < 2**63 else None)


@given(VERSIONS, VERSIONS)
def test_names_sort_as_versions_do(one: int, other: int) -> None:
    assert (paths.commit_name(one) < paths.commit_name(other)) == (one < other)
    assert paths.version_prefix(one) <= paths.commit_name(one)


@pytest.mark.parametrize(
    "name",
    [
        "_last_checkpoint",
        "_sidecars",
        ".00000000000000000000.json.crc",
        "00000000000000000000.json.tmp",
        "0.json",
        "00000000000000000000.JSON",
        "000000000000000000000.json",
        "99999999999999999999.json",
        "00000000000000000001.00000000000000000001.compacted.json",
        "00000000000000000002.00000000000000000001.compacted.json",
        "00000000000000000000.checkpoint.json",
        "00000000000000000000.checkpoint.xyz.parquet",
        "00000000000000000000.checkpoint.0000000000.0000000001.parquet",
        "00000000000000000000.checkpoint.0000000002.0000000001.parquet",
        f"00000000000000000000.{UUID}.json",
        "\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661"
        "\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661.json",
        "",
    ],
)
def test_foreign_names_are_ignored(name: str) -> None:
    assert parse_log_path(name) is None


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
