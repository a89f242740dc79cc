"""Log file names."""

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
