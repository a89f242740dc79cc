"""A table's commits in a form that can be compared between two engines.

A commit is a mapping from a value's path, for example `add.0.stats.numRecords`, to the value. Random and time-dependent
values (file names, ids, instants, sizes) are replaced by `SET`, and physical column names by their numbers in order of
appearance. File actions are ordered by content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SET = "<set>"
_UNEQUAL = re.compile(
    r"(path|size|modificationTime|deletionTimestamp|timestamp|inCommitTimestamp|txnId|engineInfo|createdTime|id"
    r"|pathOrInlineDv|offset|sizeInBytes|storageType|lastUpdated|\w+Bytes|\w+TimeMs|inCommitTimestampEnablementTimestamp)$"
)
_RANDOM_NAME = re.compile(r"(col-|_row-id-col-|_row-commit-version-col-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_COMMIT = re.compile(r"\d{20}\.json")
_EXPRESSION_ID = re.compile(r"#\d+L?")
_JSON_TEXTS = ("stats", "schemaString", "operationParameters", "configuration")

Flat = Mapping[str, Any]


def commits_of(table: Path) -> list[Flat]:
    """Returns all commits from version 0."""
    logs = sorted(log for log in (table / "_delta_log").iterdir() if _COMMIT.fullmatch(log.name))
    names: dict[str, str] = {}
    return [_flat_commit(_renamed(log.read_text(), names)) for log in logs]


def _renamed(text: str, names: dict[str, str]) -> str:
    """Replaces each kind of random name by numbers; other names keep their values."""

    def number(found: re.Match[str]) -> str:
        if not (kind := found.group(1)):
            return found.group()
        return names.setdefault(found.group(), f"{kind}{sum(name.startswith(kind) for name in names)}")

    return _EXPRESSION_ID.sub("", _RANDOM_NAME.sub(number, text))


def _flat_commit(text: str) -> Flat:
    by_kind: dict[str, list[Any]] = {}
    for line in text.strip().split("\n"):
        ((kind, action),) = json.loads(line).items()
        by_kind.setdefault(kind, []).append(_read(action))
    flat: dict[str, Any] = {}
    for kind, actions in by_kind.items():
        if kind in ("add", "remove", "cdc", "domainMetadata", "txn"):
            flat[f"{kind}.count"] = len(actions)
            for number, action in enumerate(sorted(actions, key=_place)):
                flat.update(_leaves(f"{kind}.{number}", action))
        else:
            (action,) = actions
            flat.update(_leaves(kind, action))
    return flat


def _read(action: Any) -> Any:
    """Returns an action, with the JSON in its texts read."""
    for name in ("readerFeatures", "writerFeatures"):
        if name in action:
            action[name].sort()
    for name in _JSON_TEXTS:
        if isinstance(action.get(name), str):
            action[name] = json.loads(action[name])
    for name in ("operationParameters", "configuration"):
        for key, value in (action.get(name) or {}).items():
            action[name][key] = _json_or_text(value)
    return action


def _json_or_text(value: Any) -> Any:
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _place(action: Any) -> str:
    """Returns an action's sort key. It excludes removes' statistics, which not every engine writes, and includes their
    row ids, which were assigned before.
    """
    bounds = (action.get("stats") or {}).get("minValues")
    held = action["stats"]["numRecords"] if bounds else None
    partition = {key: value for key, value in (action.get("partitionValues") or {}).items() if value is not None}
    cardinality = (action.get("deletionVector") or {}).get("cardinality")
    given = action.get("baseRowId") if "deletionTimestamp" in action else None
    return json.dumps([partition, action.get("domain"), held, bounds, cardinality, given], sort_keys=True)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    name = path.rsplit(".", 1)[-1]
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(f"{path}.{number}", item)
    else:
        yield path, SET if value is not None and _UNEQUAL.match(name) and ".stats." not in path else value
