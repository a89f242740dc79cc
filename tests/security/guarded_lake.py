"""A lake with principals: statements go down the real road up to where Spark would read, which says that they may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from catalog.errors import SqlError
from catalog.names import DEFAULT_CATALOG, DEFAULT_SCHEMA
from engine.main import EngineOptions, open_sources
from engine.runtime.context import StatementContext
from engine.runtime.identity import Identity, Method
from engine.runtime.session_state import SessionState
from engine.statement import parse_statement, run_statement

ROOT = Identity("root", is_admin=True, method=Method.PASSWORD)


class Reached(Exception):
    """The statement was allowed, and Spark was asked."""


class NoSpark:
    """An executor that is never to be reached by what is not allowed."""

    def __getattr__(self, name: str) -> Any:
        raise Reached(name)


class GuardedLake:
    """Sessions of several principals over one lake."""

    def __init__(self, folder: Path, allowed: tuple[str, ...] = ()) -> None:
        self.folder = folder
        catalog = str(folder.parent / f"{folder.name}-catalog")
        self.sources = open_sources(
            EngineOptions(lake_folder=str(folder), catalog_folder=catalog, allowed_roots=allowed)
        )
        self.states: dict[str, SessionState] = {}

    def identity(self, name: str, *groups: str) -> Identity:
        return ROOT if name == "root" else Identity(name, frozenset(groups), method=Method.PASSWORD)

    def state(self, who: str | Identity) -> SessionState:
        identity = self.identity(who) if isinstance(who, str) else who
        found = self.states.get(identity.principal)
        if found is None or found.identity != identity:
            found = SessionState(identity=identity, catalog=DEFAULT_CATALOG, schema=DEFAULT_SCHEMA)
        return found

    def answer(self, who: str | Identity, statement: Any) -> pa.Table:
        """What a statement, in a text or as a value, answers; raises `Reached` where Spark would be asked."""
        state = self.state(who)
        parsed = parse_statement(statement) if isinstance(statement, str) else statement
        context = StatementContext(identity=state.identity)
        outcome = run_statement(parsed, state, self.sources, NoSpark(), context)  # type: ignore[arg-type]
        if outcome.change is not None:
            self.states[state.identity.principal] = outcome.change(state)
        return pa.Table.from_batches(outcome.result.batches(), outcome.result.schema)

    def rows(self, who: str | Identity, statement: Any) -> list[tuple[Any, ...]]:
        return list(zip(*(column.to_pylist() for column in self.answer(who, statement).columns), strict=True))

    def do(self, who: str | Identity, *texts: str) -> None:
        for text in texts:
            self.answer(who, text)

    def outcome(self, who: str | Identity, statement: Any) -> str:
        """`R`: allowed; the SQLSTATE of the error otherwise."""
        error = self.error(who, statement)
        return "R" if error is None else error.sqlstate

    def error(self, who: str | Identity, statement: Any) -> SqlError | None:
        try:
            self.answer(who, statement)
        except Reached:
            return None
        except SqlError as error:
            return error
        return None

    def table(self, name: str, columns: dict[str, list[Any]] | None = None) -> str:
        """A table that lies in the lake, as `schema/table`; its path."""
        path = self.folder / name
        write_deltalake(path, pa.table(columns or {"id": [1], "ssn": ["x"]}))
        return str(path)
