"""The last-checkpoint hint and its checksum."""

from __future__ import annotations

import json
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.delta.spec.last_checkpoint import LastCheckpoint, canonical_json, json_checksum, parse_last_checkpoint
from tests.paths import TESTDATA

EXAMPLE = (
    '{"k0":"\'v 0\'", "checksum": "adsaskfljadfkjadfkj", '
    '"k1":{"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}'
)
HINTS = sorted(TESTDATA.glob("delta/**/_last_checkpoint"))
WITH_CHECKSUM = [path for path in HINTS if b'"checksum"' in path.read_bytes()]


def test_the_example_of_the_protocol() -> None:
    assert canonical_json(json.loads(EXAMPLE)) == (
        '"k0"="%27v%200%27","k1"+"k2"=2,"k1"+"k3"+0="v3","k1"+"k3"+1+0=1,"k1"+"k3"+1+1=2,'
        '"k1"+"k3"+2+"k4"="v4","k1"+"k3"+2+"k5"+0="v5","k1"+"k3"+2+"k5"+1="v6","k1"+"k3"+2+"k5"+2="v7"'
    )
    assert json_checksum(json.loads(EXAMPLE)) == "6a92d155a59bf2eecbd4b4ec7fd1f875"


@pytest.mark.foreign
@pytest.mark.parametrize("path", WITH_CHECKSUM, ids=lambda path: path.parents[2].name)
def test_checksums_of_other_writers(path: Path) -> None:
    hint = parse_last_checkpoint(path.read_bytes())
    assert hint is not None
    assert hint.to_json()["checksum"] == json.loads(path.read_bytes())["checksum"]


@pytest.mark.foreign
def test_there_are_checksums_of_other_writers() -> None:
    assert len(WITH_CHECKSUM) >= 14


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"size":3}',
        b'{"version":"10","size":3}',
        b'{"version":10.5,"size":3}',
        b'{"version":true,"size":3}',
        b'{"version":10,"size":3,"parts":"two"}',
        b'{"version":10,"version":10,"size":3}',
        b'{"version":10,"size":3,"x":{"a":1,"a":1}}',
        b'{"version":10,"size":3,"checksum":"00000000000000000000000000000000"}',
        b'{"version":10,"size":3,"checksum":7}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_an_unusable_hint_is_none(data: bytes) -> None:
    assert parse_last_checkpoint(data) is None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"version":10,"size":3}', LastCheckpoint(version=10, size=3)),
        (b'{"version":10}', LastCheckpoint(version=10, size=0)),
        (b'{"version":10,"size":3,"parts":null}', LastCheckpoint(version=10, size=3)),
        (b'{"version":10,"size":3,"tags":{"a":"b"}}', LastCheckpoint(version=10, size=3, extra={"tags": {"a": "b"}})),
    ],
)
def test_usable_hints(data: bytes, expected: LastCheckpoint) -> None:
    assert parse_last_checkpoint(data) == expected


@pytest.mark.parametrize("number", ["1", "1.0", "1e2", "-0"])
def test_numbers_count_by_their_spelling(number: str) -> None:
    digest = md5(f'"size"=3,"version"=10,"x"={number}'.encode(), usedforsecurity=False).hexdigest()
    assert parse_last_checkpoint(f'{{"version":10,"size":3,"x":{number},"checksum":"{digest}"}}'.encode()) is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.builds(
        LastCheckpoint,
        version=st.integers(0, 2**62),
        size=st.integers(0, 2**62),
        parts=st.none() | st.integers(1, 99),
        size_in_bytes=st.none() | st.integers(0, 2**62),
        num_of_add_files=st.none() | st.integers(0, 2**62),
        extra=st.dictionaries(
            st.text().map(lambda name: f"x{name}"), JSON.filter(lambda value: value is not None), max_size=3
        ),
    )
)
def test_written_value_is_read_back(hint: LastCheckpoint) -> None:
    value: dict[str, Any] = hint.to_json()
    assert parse_last_checkpoint(json.dumps(value).encode()) == hint
    value["version"] += 1
    assert parse_last_checkpoint(json.dumps(value).encode()) is None
