"""The transaction ids of the statements that made the newest generations: whether a statement has changed the catalog.

A process that repeats a statement of an ended one looks its id up here. A generation's file has the ids of the newest
generations, its own included: at least `RETAINED_S` seconds, unless there are more than `CHANGES_MAX`. A release that
does not write them leaves a gap, after which the list begins anew: earlier changes are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

CHANGES_MAX = 500
# The id of a generation whose release did not write it.
UNKNOWN_ID = ""
# Much longer than a gateway's lease, after which another one repeats its statements.
RETAINED_S = 600.0


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A generation, when it was written, and the statement that made it: None if that has no id, or `UNKNOWN_ID`."""

    generation: int
    written_ms: int
    transaction_id: str | None


@dataclass(frozen=True, slots=True)
class ChangeSearch:
    """`is_found`: the statement has changed the catalog. `is_complete`: if it had, it would have been found."""

    is_found: bool
    is_complete: bool


def find_change(changes: tuple[RecordedChange, ...], transaction_id: str, since_ms: int) -> ChangeSearch:
    """Looks for a change since `since_ms` among the changes of consecutive generations, the oldest first."""
    is_found = any(change.transaction_id == transaction_id for change in changes)
    if not changes:
        return ChangeSearch(is_found, is_complete=True)
    first = changes[0]
    is_beginning = first.generation <= 1 and first.transaction_id != UNKNOWN_ID
    return ChangeSearch(is_found, is_beginning or first.written_ms < since_ms)


def with_change(changes: tuple[RecordedChange, ...], new: RecordedChange) -> tuple[RecordedChange, ...]:
    """Adds a change, and leaves out old ones."""
    first_ms = new.written_ms - RETAINED_S * 1000
    recent = [*changes, new][-CHANGES_MAX:]
    # The newest of the old ones shows that no change is missing after it.
    begin = max((index for index, change in enumerate(recent) if change.written_ms < first_ms), default=0)
    return tuple(recent[begin:])


def to_lists(changes: Iterable[RecordedChange]) -> list[list[object]]:
    """Returns the changes as JSON."""
    return [[change.generation, change.written_ms, change.transaction_id] for change in changes]


def from_record(record: dict[str, object], generation: int) -> tuple[RecordedChange, ...]:
    """Returns the changes in a generation's file; a file without has itself as the only one."""
    found: list[RecordedChange] = []
    lists = record.get("changes")
    for each in lists if isinstance(lists, list) else ():
        match each:
            case [int(number), int(written_ms), str() | None as transaction_id]:
                found.append(RecordedChange(number, written_ms, transaction_id))
            case _:  # a later release may write others
                found.clear()
    if found and found[-1].generation == generation:
        return tuple(found)
    own_ms = record.get("written_ms")
    return (RecordedChange(generation, own_ms, UNKNOWN_ID),) if isinstance(own_ms, int) else ()
