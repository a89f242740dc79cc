"""Statements that read or change a session's state."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class UseSchema(Statement):
    """`USE [SCHEMA|DATABASE] a[.b]`: one part is a schema (or, for plain `USE`, a catalog); two are catalog.schema."""

    parts: tuple[str, ...]
    schema_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCatalog(Statement):
    """`USE CATALOG c`, `SET CATALOG c`."""

    catalog: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSetting(Statement):
    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSettings(Statement):
    """`SET` (key None: all), `SET -v`, `SET key`, which shows `default` if the session has not set the key."""

    key: str | None = None
    verbose: bool = False
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetSetting(Statement):
    """`RESET` (key None: all), `RESET key`."""

    key: str | None = None
