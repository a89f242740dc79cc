"""A lake with principals: statements run through the real pipeline up to Spark, which reports that it was reached."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from catalog.errors import SqlError
from catalog.names import DEFAULT_CATALOG, DEFAULT_SCHEMA
from catalog.rest.connections import RestPolicy
from catalog.rest.options import RestOptions
from engine.binding.binder import Binder
from engine.main import EngineOptions, LakeSession, open_sources
from engine.pipeline import authorize_statement, bind_statement, parse_statement
from engine.runtime.activity import NoActivity
from engine.runtime.identity import Identity, Method
from engine.runtime.request import StatementRequest
from engine.runtime.session_state import SessionState
from engine.runtime.statement import Statement
from tests.engine.contexts import NO_CONSTANTS

ROOT = Identity("root", is_admin=True, method=Method.PASSWORD)


class Reached(Exception):
    """The statement was authorized, and Spark was called."""


class NoSpark:
    """An executor that no denied statement may reach."""

    def set_current_schema(self, catalog: str, schema: str) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        raise Reached(name)


class Directory(NoActivity):
    """Resolves the tests' users."""

    def knows_user(self, name: str) -> bool:
        return name in ("ann", "bob", "carl", "eve", "mal", "mod", "both", "root") or name.startswith("user")


class GuardedLake:
    """Several principals' sessions over one lake."""

    def __init__(
        self,
        folder: Path,
        allowed: tuple[str, ...] = (),
        rest: tuple[RestOptions, ...] = (),
        policy: RestPolicy | None = None,
    ) -> None:
        self.folder = folder
        catalog = str(folder.parent / f"{folder.name}-catalog")
        options = EngineOptions(
            lake_folder=str(folder),
            catalog_folder=catalog,
            allowed_roots=allowed,
            rest_catalogs=rest,
            rest_policy=policy or RestPolicy(),
        )
        self.sources = replace(open_sources(options), activity=Directory())
        self._sessions: dict[Identity, LakeSession] = {}

    def identity(self, name: str, *groups: str) -> Identity:
        return ROOT if name == "root" else Identity(name, frozenset(groups), method=Method.PASSWORD)

    def session(self, identity: Identity) -> LakeSession:
        if identity not in self._sessions:
            state = SessionState(identity=identity, catalog=DEFAULT_CATALOG, schema=DEFAULT_SCHEMA)
            self._sessions[identity] = LakeSession(state, self.sources, NoSpark())  # type: ignore[arg-type]
        return self._sessions[identity]

    def answer(self, who: str | Identity, statement: Any) -> pa.Table:
        """Returns the answer to a statement, given as text or value; raises `Reached` when Spark would be called."""
        identity = self.identity(who) if isinstance(who, str) else who
        session, request = self.session(identity), StatementRequest(identity=identity)
        is_text = isinstance(statement, str)
        result = session.execute(statement, request) if is_text else session.run(statement, request)
        return pa.Table.from_batches(result.batches(), result.schema)

    def rows(self, who: str | Identity, statement: Any) -> list[tuple[Any, ...]]:
        return list(zip(*(column.to_pylist() for column in self.answer(who, statement).columns), strict=True))

    def do(self, who: str | Identity, *texts: str) -> None:
        for text in texts:
            self.answer(who, text)

    def outcome(self, who: str | Identity, statement: Any) -> str:
        """Returns `R` if allowed, else the error's SQLSTATE."""
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

    def table(self, name: str) -> None:
        """Creates a table with two versions in the lake, as `schema/table`."""
        rows = pa.table({"id": [1], "ssn": ["x"]})
        write_deltalake(self.folder / name, rows, configuration={"delta.enableChangeDataFeed": "true"})
        write_deltalake(self.folder / name, rows, mode="append")


def ensure_authorized(lake: GuardedLake, who: str, text: str) -> None:
    """Binds a statement and checks its privileges, without running it: the positive control of a denial."""
    statement = parse_statement(text)
    assert isinstance(statement, Statement)
    state = SessionState(identity=lake.identity(who), catalog=DEFAULT_CATALOG, schema=DEFAULT_SCHEMA)
    authorize_statement(bind_statement(statement, Binder(state, lake.sources, NO_CONSTANTS)))
