"""Conditions of the cursors of scripts; names and SQLSTATEs are Spark's."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class CursorAlreadyExists(SqlError, condition="CURSOR_ALREADY_EXISTS", sqlstate="42723"):
    cursor: str
    template = "The block declares the cursor {cursor} twice. Choose another name."


@dataclass(eq=False)
class CursorAlreadyOpen(SqlError, condition="CURSOR_ALREADY_OPEN", sqlstate="24502"):
    cursor: str
    template = "The cursor {cursor} is open already. Close it first."


@dataclass(eq=False)
class CursorNotFound(SqlError, condition="CURSOR_NOT_FOUND", sqlstate="42883"):
    cursor: str
    template = "No block around the statement declares a cursor {cursor}. Declare it, or check the spelling."


@dataclass(eq=False)
class CursorNotOpen(SqlError, condition="CURSOR_NOT_OPEN", sqlstate="24501"):
    cursor: str
    template = "The cursor {cursor} is not open. Use OPEN {cursor} first."


@dataclass(eq=False)
class CursorNoMoreRows(SqlError, condition="CURSOR_NO_MORE_ROWS", sqlstate="02000"):
    """A script goes on behind it where no handler is for it."""

    cursor: str
    template = "The cursor {cursor} has no more rows. Declare a handler for NOT FOUND to end a loop."


@dataclass(eq=False)
class CursorQualifier(SqlError, condition="CURSOR_REFERENCE_INVALID_QUALIFIER", sqlstate="42601"):
    cursor: str
    template = "A cursor is named by itself or as label.cursor; this is {cursor}."


@dataclass(eq=False)
class CursorAtWrongPlace(SqlError, condition="INVALID_CURSOR_DECLARATION", sqlstate="42601"):
    cursor: str
    template = (
        "The cursor {cursor} must be declared behind the variables and conditions of its block, before its handlers "
        "and statements."
    )
