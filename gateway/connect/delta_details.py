"""`DeltaTable.detail()` within plans: DESCRIBE DETAIL runs first, and its row takes the place of the call.

The statement reads no rows of a query, so the row is that of the moment in which its client sends the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from google.protobuf.message import Message

from engine.statements.describe.statement import DescribeDetail
from gateway.connect.delta_tables import described_table
from gateway.connect.proto import pb2
from gateway.connect.rows import encode_rows
from gateway.sessions.session import Session
from gateway.sessions.waiting import run_call

_Found = TypeVar("_Found", pb2.Relation, pb2.Command)


def with_details(operation: _Found, session: Session, is_active: Callable[[], bool]) -> _Found:
    """Returns a relation or a command with rows instead of the calls. Raises the errors of the statements."""
    if not any(_calls(operation)):
        return operation
    replaced: _Found = type(operation)()
    replaced.CopyFrom(operation)
    for relation, parts in [*_calls(replaced)]:
        rows = run_call(session, DescribeDetail(table_parts=parts), is_active)
        relation.local_relation.CopyFrom(pb2.LocalRelation(data=encode_rows(rows)))
    return replaced


def _calls(message: Message) -> Iterator[tuple[pb2.Relation, tuple[str, ...]]]:
    """Yields the relations that are calls, with the tables' names."""
    if isinstance(message, pb2.Relation) and message.HasField("extension"):
        if (parts := described_table(message.extension)) is not None:
            yield message, parts
        return
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None or descriptor.message_type.GetOptions().map_entry:
            continue
        for inner in value if descriptor.is_repeated else (value,):
            yield from _calls(inner)
