"""SQL for Spark that remembers which of its parts were copied from which text of a user.

Spark reports the place of an error in the text that it was given. That text is the user's with names of scans in place
of relations, or is composed of several parts of a statement. :class:`SourceText` maps the place back, so that a client
can mark it in what the user wrote.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from catalog.errors import Position


@dataclass(frozen=True, slots=True)
class CopiedPart:
    """`start` and `end` in the text; `origin` is the place in `source` that was copied to `start`."""

    start: int
    end: int
    source: str
    origin: int


class SourceText(str):
    """A text, and the parts of it that are copied. Equal to the plain text."""

    parts: tuple[CopiedPart, ...]

    @classmethod
    def of(cls, text: str, parts: Iterable[CopiedPart]) -> Self:
        """Returns the text with its copied parts."""
        made = cls(text)
        # A subclass of str may have attributes, and all code that only needs the text works
        # unchanged.
        made.parts = tuple(parts)
        return made

    def origin(self, offset: int) -> tuple[str, int] | None:
        """Returns the text that the character at `offset` was copied from, and the place there.

        A place in text of ours that replaces a part of the source, such as the name of a scan, leads to
        the end of what precedes it. None: nothing is copied.
        """
        before = None
        for part in self.parts:
            if part.start <= offset < part.end:
                return part.source, part.origin + offset - part.start
            if part.end <= offset:
                before = part
        if before is None:
            return (self.parts[0].source, self.parts[0].origin) if self.parts else None
        return before.source, before.origin + before.end - before.start


class ImmediateText(str):
    """A text that EXECUTE IMMEDIATE runs. Positions in it are not positions in what the client sent, and say so."""


class GeneratedText(str):
    """A text that the server makes from a request without SQL. Its user has never seen it, so it has no positions."""


def position_in(text: str, offset: int, view: str = "") -> Position | None:
    """Returns the position of the character at `offset` in the text that `text` was copied from.

    None: nothing is copied, or only a generated text.
    """
    origin = text.origin(offset) if isinstance(text, SourceText) else (text, offset)
    if origin is None or isinstance(origin[0], GeneratedText):
        return None
    return Position.in_text(*origin, view, "EXECUTE IMMEDIATE" if isinstance(origin[0], ImmediateText) else "")


def slice_text(text: str, start: int, end: int) -> SourceText:
    """Returns `text[start:end]` with its origin, which is `text` itself or what that was copied from."""
    if not isinstance(text, SourceText):
        return SourceText.of(text[start:end], (CopiedPart(0, end - start, text, start),) if start < end else ())
    remaining = (part for part in text.parts if part.start < end and start < part.end)
    cut = (
        CopiedPart(
            max(part.start, start) - start,
            min(part.end, end) - start,
            part.source,
            part.origin + max(start - part.start, 0),
        )
        for part in remaining
    )
    return SourceText.of(text[start:end], cut)


def join_texts(texts: Iterable[str]) -> SourceText:
    """Returns the texts one after the other; those that are no :class:`SourceText` have no origin."""
    pieces = list(texts)
    parts, length = [], 0
    for piece in pieces:
        if isinstance(piece, SourceText):
            parts += [
                CopiedPart(part.start + length, part.end + length, part.source, part.origin) for part in piece.parts
            ]
        length += len(piece)
    return SourceText.of("".join(pieces), parts)
