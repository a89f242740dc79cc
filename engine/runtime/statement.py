"""The base class of all statements that are bound, authorized, planned and executed by themselves."""

from __future__ import annotations


class Statement:
    """A statement before its names are bound: a frozen value that depends on nothing but its text.

    Its entry in `engine.statements.registry` says everything that the stages need to know about it.
    """

    __slots__ = ()
