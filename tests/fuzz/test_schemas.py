"""Any schema text yields a struct that round-trips through JSON, or one of two named errors."""

from __future__ import annotations

import json

from hypothesis import given

from catalog.conditions import MalformedLogEntry, UnsupportedDataType
from engine.types.schema import parse_schema
from tests.fuzz.mutations import anything
from tests.fuzz.seeds import SCHEMAS, foreign


def schemas() -> list[bytes]:
    found = set(SCHEMAS)
    for commit in foreign("_delta_log/00000000000000000000.json"):
        for line in commit.decode().splitlines():
            metadata = json.loads(line).get("metaData") if line else None
            if metadata and "schemaString" in metadata:
                found.add(metadata["schemaString"].encode())
    return sorted(found)


def test_the_own_seeds_are_schemas() -> None:
    assert [len(parse_schema(seed.decode()).fields) for seed in SCHEMAS] == [7, 2]


@given(anything(schemas()))
def test_a_struct_or_a_named_error(data: bytes) -> None:
    try:
        schema = parse_schema(data.decode(errors="replace"))
    except (MalformedLogEntry, UnsupportedDataType):
        return
    assert parse_schema(schema.to_json()) == schema
