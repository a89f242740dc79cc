"""Which manifests of a snapshot become one: small ones of one spec and one kind of content, where there are many.

Manifests that follow one another are put together up to the size that the table wants. A group is worth writing again
where it has as many manifests as the table says, so that a table of many small commits has its entries written again
once in so many of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.iceberg.manifests.manifest_list import Manifest
from engine.iceberg.writing.written_table import WrittenTable

_MIN_COUNT = "commit.manifest.min-count-to-merge"
_MIN_COUNT_DEFAULT = 100
_ENABLED = "commit.manifest-merge.enabled"


def merge_groups(
    manifests: Sequence[Manifest], table: WrittenTable, whole_spec_id: int | None = None
) -> list[list[Manifest]]:
    """All of the manifests, those of a group together; a group of one stays as it is. Of the spec `whole_spec_id` all
    manifests of one kind of content are a group.
    """
    if whole_spec_id is None and not table.flag(_ENABLED, True):
        return [[each] for each in manifests]
    least = table.integer(_MIN_COUNT, _MIN_COUNT_DEFAULT)
    kinds: dict[tuple[bool, int], list[Manifest]] = {}
    for each in manifests:
        kinds.setdefault((each.has_deletes, each.spec_id), []).append(each)
    found: list[list[Manifest]] = []
    for (_, spec_id), listed in kinds.items():
        if spec_id == whole_spec_id:
            found.append(listed)
            continue
        if whole_spec_id is not None or spec_id not in table.specs:
            found += [[each] for each in listed]
            continue
        for group in _packed(listed, table.manifest_target_bytes):
            found += [group] if len(group) >= max(least, 2) else [[each] for each in group]
    return found


def _packed(manifests: Sequence[Manifest], target_bytes: int) -> Iterable[list[Manifest]]:
    group: list[Manifest] = []
    size = 0
    for each in manifests:
        length = each.length or 0
        if group and size + length > target_bytes:
            yield group
            group, size = [], 0
        group.append(each)
        size += length
    if group:
        yield group
