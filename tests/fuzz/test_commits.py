"""Whatever a commit's bytes are, reading gives valid columns, or `MalformedLogEntry` with the file's name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from catalog.conditions import MalformedLogEntry
from engine.delta.log.commit_reader import parse_commit_info, parse_commits
from engine.delta.log.file_table import CDC_SCHEMA, FILES_SCHEMA, TOMBSTONES_SCHEMA
from engine.delta.snapshot.replay import reconcile_files
from tests.fuzz.mutations import anything
from tests.fuzz.seeds import COMMITS, foreign

SEEDS = [*COMMITS, *foreign("_delta_log/*.json", bytes_max=20_000)]


@settings(max_examples=400, deadline=None)
@given(anything(SEEDS))
def test_a_value_or_one_named_error(data: bytes) -> None:
    try:
        actions = parse_commits([("some.json", data)])
    except MalformedLogEntry as error:
        assert "some.json" in str(error)
        return
    for rows, schema in (
        (actions.adds, FILES_SCHEMA),
        (actions.removes, TOMBSTONES_SCHEMA),
        (actions.cdc, CDC_SCHEMA),
    ):
        rows.table(schema).validate(full=True)
    reconcile_files(actions.adds, actions.removes)


@settings(max_examples=200, deadline=None)
@given(anything(SEEDS))
def test_random_commit_info_does_not_change_the_state(data: bytes) -> None:
    try:
        parse_commit_info(data, "some.json")
    except MalformedLogEntry as error:
        assert "some.json" in str(error)


@pytest.mark.parametrize("seed", SEEDS[:40])
def test_the_seeds_are_commits(seed: bytes) -> None:
    parse_commits([("seed", seed)])
