"""Errors from records."""

from __future__ import annotations

from catalog.errors import Position, SqlError
from gateway.state.records import SavedError


class RecordedError(SqlError):
    """An error that a former process has recorded, with the texts that it had."""

    template = ""

    def __init__(self, saved: SavedError) -> None:
        super().__init__()
        self.condition, self.sqlstate = saved.condition, saved.sqlstate
        self.name = saved.name
        self._message, self._hint = saved.message, saved.hint
        if saved.position is not None:
            self.position = Position(**saved.position)  # type: ignore[arg-type]

    @property
    def message(self) -> str:
        message = self._message
        return message if self.position is None else f"{message.removesuffix('.')} ({self.position})."

    @property
    def hint(self) -> str:
        return self._hint
