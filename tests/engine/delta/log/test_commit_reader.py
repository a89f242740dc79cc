"""Commits: the fast and the tolerant decoder agree; errors name lines that neither accepts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from catalog.conditions import MalformedLogEntry
from engine.delta.log import commit_reader
from engine.delta.log.commit_reader import LogActions, parse_commit_info, parse_commits
from engine.delta.log.file_table import CDC_SCHEMA, FILES_SCHEMA, TOMBSTONES_SCHEMA
from engine.delta.spec.actions import Action, CommitInfo, Protocol, SetTransaction, Sidecar, format_action
from tests.engine.delta.log_builder import add, json_lines, remove
from tests.engine.delta.spec.test_actions import ACTIONS
from tests.paths import DAT

SMALL = ("protocol", "metadata", "set_transactions", "domain_metadata", "commit_info", "sidecars")


def plain(actions: LogActions) -> dict[str, Any]:
    """Returns comparable values."""
    result: dict[str, Any] = {name: getattr(actions, name) for name in SMALL}
    for name, schema in (("adds", FILES_SCHEMA), ("removes", TOMBSTONES_SCHEMA), ("cdc", CDC_SCHEMA)):
        table = getattr(actions, name).table(schema)
        table.validate(full=True)
        result[name] = table.to_pylist()
        result[f"{name} order"] = [position for order in getattr(actions, name).orders for position in order.tolist()]
    return result


@given(ACTIONS, ACTIONS)
def test_strict_and_tolerant_decoders_agree(one: Action, other: Action) -> None:
    """A commit on lines, and the same commit spread over lines, which only the tolerant decoder takes."""
    pretty = "".join(json.dumps(format_action(action), indent=1) for action in (one, other)).encode()
    try:
        expected = plain(parse_commits([("lines", json_lines([one, other]))]))
    except MalformedLogEntry as error:  # a deletion vector's numbers are smaller than the log's integers
        assert error.source == "lines"
        with pytest.raises(MalformedLogEntry, match="pretty"):
            parse_commits([("pretty", pretty)])
        return
    assert plain(parse_commits([("pretty", pretty)])) == expected


@pytest.mark.parametrize(
    "data",
    [
        b'\n{"txn":{"appId":"a","version":1}}\n\n',
        b'{"txn":{"appId":"a","version":1,"lastUpdated":null}}\r\n',
        b'{"txn":{"appId":"a","version":1},"add":null}',
        b'{"txn":\n{"appId":"a","version":1}}',
        b'\xef\xbb\xbf{"txn":{"appId":"a","version":1}}',
        b'{"txn":{"appId":"a","version":1.0}}',
        b'{"futureAction":{"x":[1,{}]}}{"txn":{"appId":"a","version":1}}',
    ],
)
def test_odd_commits_are_read(data: bytes) -> None:
    assert parse_commits([("f", data)]).set_transactions == {"a": SetTransaction(app_id="a", version=1)}


@pytest.mark.parametrize(
    "body",
    [
        {"path": "a", "size": 1, "partitionValues": {"n": 3, "x": None}, "tags": None},
        {"path": "a", "size": 1.0, "partitionValues": {"n": "3", "x": None}},
        {"path": "a", "size": 1, "partitionValues": {"n": "3", "x": None}, "stats": "", "unknown": {"x": []}},
    ],
)
def test_odd_adds_are_read(body: dict[str, Any]) -> None:
    row = parse_commits([("f", json.dumps({"add": body}).encode())]).adds.table(FILES_SCHEMA).to_pylist()[0]
    assert row["size"] == 1 and row["partition_values"] == [("n", "3"), ("x", None)] and row["stats"] is None


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"\x00",
        b"[]",
        b'{"add":{"size":1}}',
        b'{"add":{"path":"a"}}',
        b'{"add":{"path":"a","size":"x"}}',
        b'{"add":{"path":"a","size":1e400}}',
        b'{"add":{"path":"\\ud800","size":1}}',
        b'{"metaData":{}}',
        b'{"add":{"path":"\x80","size":1}}',
        b'{"commitInfo":' + b"[" * 100_000,
        b'{"commitInfo":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"protocol":{"minReaderVersion":"1"}}',
        b'{"txn":3}',
    ],
)
def test_invalid_commit_is_rejected_with_its_file(data: bytes) -> None:
    with pytest.raises(MalformedLogEntry, match="00000000000000000003.json"):
        parse_commits([("00000000000000000003.json", data)])


@pytest.mark.parametrize("field", ["size", "modificationTime", "baseRowId"])
def test_a_number_beyond_its_type_is_named(field: str) -> None:
    body = {"path": "a", "size": 1, field: 2**64}
    with pytest.raises(MalformedLogEntry):
        parse_commits([("f", json.dumps({"add": body}).encode())])


def test_an_add_and_a_remove_on_one_line_both_count() -> None:
    data = b'{"add":{"path":"a","size":1},"remove":{"path":"b"}}'
    actions = parse_commits([("f", data)])
    assert (actions.adds.num_rows, actions.removes.num_rows) == (1, 1)


def test_the_newest_wins_and_the_last_commit_is_described() -> None:
    commits: list[list[Action]] = [
        [Protocol(min_reader_version=1, min_writer_version=2), CommitInfo(operation="A")],
        [Protocol(min_reader_version=1, min_writer_version=3)],
    ]
    actions = parse_commits((f"{i}", json_lines(commit)) for i, commit in enumerate(commits))
    assert actions.protocol == commits[1][0]
    assert actions.commit_info is None
    assert parse_commits([("f", json_lines(commits[0]))]).commit_info == CommitInfo(operation="A")


def test_sidecars_are_retained() -> None:
    sidecar = Sidecar(path="x.parquet", size_in_bytes=3, modification_time=4)
    assert parse_commits([("f", json_lines([sidecar]))]).sidecars == (sidecar,)


def test_batches_stay_small_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_reader, "_FLUSH_ROWS", 2)
    data = json_lines([add("a"), remove("x"), add("b"), add("c")])
    actions = parse_commits([("f", data)])
    assert [len(batch) for batch in actions.adds.batches] == [2, 1]
    assert [order.tolist() for order in actions.adds.orders] == [[1, 3], [4]]
    assert [order.tolist() for order in actions.removes.orders] == [[2]]


@pytest.mark.parametrize("indent", [None, 1])
def test_only_the_commit_info(indent: int | None) -> None:
    info = CommitInfo(operation="WRITE", operation_parameters={"mode": "Append", "n": 1}, extra={"new": 1})
    data = "\n".join(json.dumps(format_action(action), indent=indent) for action in (add("a"), info)).encode()
    assert parse_commit_info(data, "f") == info
    assert parse_commit_info(json_lines([add("a")]), "f") is None
    with pytest.raises(MalformedLogEntry, match="f is not a valid part"):
        parse_commit_info(b"{", "f")


@pytest.mark.foreign
def test_the_fast_decoder_takes_what_other_engines_write() -> None:
    """All kinds of lines; otherwise a commitInfo would send a table's commits to the slow decoder."""
    commits = sorted(DAT.glob("*/delta/_delta_log/*.json"))
    kinds = {kind for path in commits for line in path.read_text().splitlines() for kind in json.loads(line)}
    assert kinds >= {"add", "remove", "cdc", "metaData", "protocol", "commitInfo"}
    for path in commits:
        assert len(commit_reader._DECODER.decode_lines(path.read_bytes())) == len(path.read_text().splitlines())
        assert len(commit_reader._COMMIT_INFO_DECODER.decode_lines(path.read_bytes())) > 0


@pytest.mark.parametrize("kind", ["commitInfo", "metaData", "protocol", "txn"])
def test_null_is_as_good_as_absent(kind: str) -> None:
    assert plain(parse_commits([("commit", f'{{"{kind}":null}}\n'.encode())])) == plain(parse_commits([]))
    assert parse_commit_info(f'{{"{kind}":null}}\n'.encode(), "commit") is None


def test_unrequested_malformed_json_is_ignored() -> None:
    first = b'{"commitInfo":{"operation":"\x80"}}\n'
    actions = parse_commits([("first", first), ("second", b'{"commitInfo":{"operation":"WRITE","x":NaN}}\n')])
    assert actions.commit_info is not None and actions.commit_info.operation == "WRITE"
    with pytest.raises(MalformedLogEntry, match="first"):
        parse_commits([("first", first)])
