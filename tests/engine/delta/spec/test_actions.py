"""Actions: JSON in both directions, tolerated and rejected fields."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.conditions import MalformedLogEntry
from engine.delta.spec.actions import (
    ACTION_TYPES,
    Action,
    Add,
    AddCdcFile,
    CheckpointMetadata,
    CommitInfo,
    DeletionVectorDescriptor,
    DomainMetadata,
    Format,
    Metadata,
    Protocol,
    Remove,
    SetTransaction,
    Sidecar,
    format_action,
    format_actions,
    parse_action,
    parse_json_stream,
)

TEXT = st.text(max_size=6).filter(lambda text: text.isprintable())
NUMBER = st.integers(-(2**63), 2**63 - 1)
NUMBER32 = st.integers(-(2**31), 2**31 - 1)
STRING_MAP = st.dictionaries(TEXT, st.none() | TEXT, max_size=2)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner)
)
EXTRA = st.dictionaries(TEXT.map(lambda text: "new" + text), JSON.filter(lambda value: value is not None), max_size=2)


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


VECTORS = st.builds(
    DeletionVectorDescriptor,
    storage_type=st.sampled_from("uip"),
    path_or_inline_dv=TEXT,
    offset=optional(NUMBER32),
    size_in_bytes=NUMBER32,
    cardinality=NUMBER,
    extra=EXTRA,
)
FILE: dict[str, st.SearchStrategy[Any]] = {"path": TEXT, "tags": optional(STRING_MAP), "extra": EXTRA}
ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.builds(
        Add,
        **FILE,
        partition_values=STRING_MAP,
        size=NUMBER,
        modification_time=NUMBER,
        data_change=st.booleans(),
        stats=optional(TEXT),
        deletion_vector=optional(VECTORS),
        base_row_id=optional(NUMBER),
    ),
    st.builds(
        Remove,
        **FILE,
        deletion_timestamp=optional(NUMBER),
        extended_file_metadata=optional(st.booleans()),
        partition_values=optional(STRING_MAP),
        size=optional(NUMBER),
        deletion_vector=optional(VECTORS),
    ),
    st.builds(AddCdcFile, **FILE, partition_values=STRING_MAP, size=NUMBER),
    st.builds(
        Metadata,
        id=TEXT,
        name=optional(TEXT),
        format=st.builds(Format, provider=TEXT, options=STRING_MAP),
        schema_string=TEXT,
        partition_columns=st.lists(TEXT, max_size=3).map(tuple),
        configuration=STRING_MAP,
        created_time=optional(NUMBER),
        extra=EXTRA,
    ),
    st.builds(
        Protocol,
        min_reader_version=NUMBER,
        min_writer_version=NUMBER,
        reader_features=optional(st.lists(TEXT, max_size=2).map(tuple)),
        writer_features=optional(st.lists(TEXT, max_size=2).map(tuple)),
    ),
    st.builds(SetTransaction, app_id=TEXT, version=NUMBER, last_updated=optional(NUMBER)),
    st.builds(DomainMetadata, domain=TEXT, configuration=TEXT, removed=st.booleans()),
    st.builds(
        CommitInfo,
        in_commit_timestamp=optional(NUMBER),
        operation=optional(TEXT),
        operation_parameters=optional(st.dictionaries(TEXT, JSON)),
        operation_metrics=optional(st.dictionaries(TEXT, JSON)),
        is_blind_append=optional(st.booleans()),
        extra=EXTRA,
    ),
    st.builds(CheckpointMetadata, version=NUMBER, tags=optional(STRING_MAP)),
    st.builds(Sidecar, path=TEXT, size_in_bytes=NUMBER, modification_time=NUMBER),
)


@given(st.lists(ACTIONS, max_size=4))
def test_written_value_is_read_back(actions: list[Action]) -> None:
    data = format_actions(actions)
    assert [parse_action(value) for value in parse_json_stream(data, "test")] == actions
    assert data.count(b"\n") == len(actions)


@given(ACTIONS)
def test_no_null_is_written(action: Action) -> None:
    """Foreign readers choke on them. Inside free JSON and string maps a null is a value."""
    body = format_action(action)[action.WIRE_NAME]
    assert all(value is not None for value in body.values())
    assert all(value is not None for value in (body.get("deletionVector") or {}).values())


def test_every_kind_of_action_is_generated() -> None:
    assert set(ACTION_TYPES.values()) == {
        Add,
        Remove,
        AddCdcFile,
        Metadata,
        Protocol,
        SetTransaction,
        DomainMetadata,
        CommitInfo,
        CheckpointMetadata,
        Sidecar,
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"add": {"path": "a", "size": 1, "tags": None, "stats": None}}, Add(path="a", size=1)),
        ({"add": {"path": "a", "size": 1.0}}, Add(path="a", size=1)),
        ({"add": {"path": "a", "size": 1}, "remove": None}, Add(path="a", size=1)),
        (
            {"add": {"path": "a", "size": 1, "stats": {"numRecords": 1}}},
            Add(path="a", size=1, stats='{"numRecords":1}'),
        ),
        (
            {"add": {"path": "a", "size": 1, "partitionValues": {"n": 3, "b": True, "x": None}}},
            Add(path="a", size=1, partition_values={"n": "3", "b": "true", "x": None}),
        ),
        (
            {"metaData": {"id": "t", "schemaString": {"type": "struct"}}},
            Metadata(id="t", schema_string='{"type":"struct"}'),
        ),
        ({"txn": {"appId": "a", "version": 1, "lastUpdated": None}}, SetTransaction(app_id="a", version=1)),
        (
            {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": []}},
            Protocol(min_reader_version=3, min_writer_version=7, reader_features=()),
        ),
        ({"action of the future": {"x": 1}}, None),
        ({"add": None}, None),
        ({}, None),
    ],
)
def test_deviations_of_known_writers_are_accepted(value: dict[str, Any], expected: Action | None) -> None:
    assert parse_action(value) == expected


VECTOR = {"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        ([], "an array where an object belongs"),
        ({"add": "x"}, "a string where an object belongs"),
        ({"add": {"size": 1}}, "the required field path is missing"),
        ({"add": {"path": None, "size": 1}}, "the required field path is missing"),
        ({"add": {"path": "a", "size": "1"}}, "field size: a string where an integer belongs"),
        ({"add": {"path": "a", "size": True}}, "field size: a boolean where an integer belongs"),
        ({"add": {"path": "a", "size": 2**63}}, "field size: an integer of more than 64 bits"),
        (
            {"add": {"path": "a", "size": 1, "deletionVector": {**VECTOR, "sizeInBytes": 2**31}}},
            "field sizeInBytes: an integer of more than 32 bits",
        ),
        ({"add": {"path": "a", "size": 1, "dataChange": "no"}}, "field dataChange: a string where a boolean belongs"),
        ({"add": {"path": "a", "size": 1, "tags": 3}}, "field tags: a value where an object belongs"),
        ({"metaData": {"id": "t", "partitionColumns": "a"}}, "field partitionColumns: a string where an array belongs"),
        ({"add": {"path": "a", "size": 1}, "remove": {"path": "a"}}, "one object holds several actions (add, remove)"),
        (
            {"add": {"path": "a", "size": 1, "deletionVector": {"storageType": "u"}}},
            "the required field pathOrInlineDv is missing",
        ),
    ],
)
def test_malformed_input_is_reported(value: Any, detail: str) -> None:
    with pytest.raises(MalformedLogEntry) as caught:
        parse_action(value)
    assert caught.value.detail == detail


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 0),
        (b"\n\n", 0),
        (b'{"a":1}', 1),
        (b'{"a":1}\n{"b":2}\n', 2),
        (b'{"a":1}{"b":2}', 2),
        (b'{\n  "a": 1\n}\n{"b":\n2}', 2),
        (b'\xef\xbb\xbf{"a":1}\r\n{"b":2}', 2),
        ('{"a":"\u2028 \u0085"}\n'.encode(), 1),
        (b'{"a":"\\ud83d\\ude00"}', 1),
    ],
)
def test_json_is_read_as_a_stream(data: bytes, count: int) -> None:
    assert len(list(parse_json_stream(data, "f"))) == count


@pytest.mark.parametrize("data", [b"{", b'{"a":1} x', b"\xff", b'{"a":"\\ud83d"}', b"[" * 100_000])
def test_invalid_json_is_rejected_with_its_file(data: bytes) -> None:
    with pytest.raises(MalformedLogEntry) as caught:
        list(parse_json_stream(data, "00000000000000000007.json"))
    assert "00000000000000000007.json" in str(caught.value)


def test_unique_ids_of_vectors() -> None:
    """PROTOCOL, "Derived Fields"."""
    descriptor = DeletionVectorDescriptor(
        storage_type="u", path_or_inline_dv="ab^-aqEH.-t@S}K{vb[*k^", offset=4, size_in_bytes=40, cardinality=6
    )
    assert descriptor.unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"
    assert (
        DeletionVectorDescriptor.from_json({**descriptor.to_json(), "offset": None}).unique_id
        == "uab^-aqEH.-t@S}K{vb[*k^"
    )


@pytest.mark.parametrize(
    ("path", "file_path"),
    [
        ("a%20b", "a b"),
        ("p=a%2520b/f", "p=a%20b/f"),
        ("file:/x/y", "/x/y"),
        ("file:///x%20y", "/x y"),
        ("s3://b/x", "s3://b/x"),
    ],
)
def test_paths_are_decoded_once_and_written_unchanged(path: str, file_path: str) -> None:
    action = Add(path=path, size=1)
    assert action.file_path == file_path
    assert json.loads(format_actions([action]))["add"]["path"] == path
