"""Answers Java's questions about rows that are in no files, as the statement's own thread would make them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextvars import copy_context
from typing import Any

import pyarrow as pa

from engine.concurrency.cancel import CancelToken
from engine.planning.plans.reads import RowScan


class GivenAnswers:
    """The answers of one statement, on whose thread it is made."""

    def __init__(self, given: Sequence[RowScan] = (), cancel: CancelToken | None = None) -> None:
        self._given, self._cancel = given, cancel or CancelToken()
        self._context = copy_context()
        self.failure: Exception | None = None

    def answer(self, question: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        """Answers with the keys of all objects, or the rows of the objects at the positions `chosen` (None: of all),
        with values of the costly columns `used`."""
        rows, context = self._given[question["given"]].rows, self._context.copy()
        try:
            if "chosen" not in question:
                objects = context.run(rows.objects)
                columns = [pa.array([keys[at] for keys in objects], pa.string()) for at in range(len(rows.keys))]
                yield pa.RecordBatch.from_arrays(columns, rows.keys)
                return
            batches = rows.batches(question["chosen"], question["used"])
            while (batch := context.run(next, batches, None)) is not None:
                self._cancel.ensure_live()
                yield batch
        except Exception as error:
            self.failure = error
            raise


def given_request(given: RowScan) -> dict[str, Any]:
    """Returns what `GivenRows.java` reads."""
    columns = ", ".join(f"{name} {kind}" for name, kind in given.rows.columns)
    return {
        "relation": given.relation,
        "columns": columns,
        "keys": list(given.rows.keys),
        "costly": list(given.rows.costly),
        "is_stamped": given.rows.stamp is not None,
    }
