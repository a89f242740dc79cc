"""Whatever a schema's text is, it is a struct that survives its own JSON, or one of two named errors."""

from __future__ import annotations

import json

from hypothesis import given

from engine.delta.errors import MalformedLogEntry, UnsupportedDataType
from engine.delta.spec.schema import parse_schema
from tests.fuzz.mutations import anything
from tests.paths import TESTDATA


def schemas() -> list[bytes]:
    found = set()
    for path in sorted(TESTDATA.glob("delta/**/_delta_log/00000000000000000000.json")):
        for line in path.read_text().splitlines():
            metadata = json.loads(line).get("metaData") if line else None
            if metadata and "schemaString" in metadata:
                found.add(metadata["schemaString"].encode())
    return sorted(found)


@given(anything(schemas()))
def test_a_struct_or_a_named_error(data: bytes) -> None:
    try:
        schema = parse_schema(data.decode(errors="replace"))
    except (MalformedLogEntry, UnsupportedDataType):
        return
    assert parse_schema(schema.to_json()) == schema
