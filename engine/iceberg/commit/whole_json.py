"""What the JSON of metadata has to be like to be changed, beyond what its readers look at.

Readers pass over what they have no use for. A change copies all of it into the next version, and looks things up in it
by their ids: others may have written what cannot be looked up.

Source: Iceberg table specification, "Table Metadata Fields".
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from catalog.conditions import MalformedIcebergFile
from engine.iceberg.commit.updates import Json

_NUMBERED = MappingProxyType({"schemas": "schema-id", "partition-specs": "spec-id", "sort-orders": "order-id"})
_LISTS = ("snapshots", "snapshot-log", "metadata-log", "statistics", "partition-statistics")
_OBJECTS = ("properties", "refs")


def ensure_whole(value: Json, source: str) -> None:
    """Raises `MalformedIcebergFile`."""
    for key, id_key in _NUMBERED.items():
        if key in value:
            _ensure_numbered(value[key], key, id_key, source)
    for key in _LISTS:
        if not _is_list_of_objects(value.get(key) or []):
            raise MalformedIcebergFile(source, f"its {key} are no list of objects")
    for key in _OBJECTS:
        if not isinstance(value.get(key) or {}, Mapping):
            raise MalformedIcebergFile(source, f"its {key} are no object")
    known = {each.get("snapshot-id") for each in value.get("snapshots") or []}
    for name, reference in (value.get("refs") or {}).items():
        if not isinstance(reference, Mapping) or reference.get("snapshot-id") not in known:
            raise MalformedIcebergFile(source, f"the reference {name} has no snapshot that is there")


def _ensure_numbered(items: Any, key: str, id_key: str, source: str) -> None:
    if not items or not _is_list_of_objects(items):
        raise MalformedIcebergFile(source, f"its {key} are no list of objects")
    for each in items:
        if not _is_number(each.get(id_key)):
            raise MalformedIcebergFile(source, f"one of its {key} has no {id_key}")
        if not _is_list_of_objects(each.get("fields")):
            raise MalformedIcebergFile(source, f"one of its {key} has no fields")


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, Mapping) for each in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
