"""One table and its model, changed by the same statements.

A statement is a text and its effect on the model. The model changes first, which shows if the statement may violate a
constraint; then the table runs it, and must reject it or have the model's rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from random import Random

import pyarrow as pa

from catalog.errors import SqlError
from engine.main import LakeSession
from tests.engine.histories.definition import Definition
from tests.engine.histories.expressions import Expressions
from tests.engine.histories.model import Model
from tests.engine.histories.values import TYPES, Sql
from tests.engine.lake_sessions import run, table
from tests.engine.peer_readers import Rows

VIOLATION = "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"


class Commits(Enum):
    """The number of versions that a successful statement creates."""

    SOME = auto()
    ANY = auto()
    NONE = auto()
    # One or more if a row is deleted, added or changed, otherwise none.
    IF_CHANGED = auto()


class FeedFidelity(Enum):
    """A statement's change feed."""

    # The rows that went, came and changed.
    EXACTLY = auto()
    # Also rows that are removed and added unchanged; nothing if earlier files have other columns than later ones.
    IF_READABLE = auto()
    NOT_AT_ALL = auto()


def nothing(model: Model) -> None:
    """The rows stay."""


@dataclass(frozen=True)
class Statement:
    text: str
    effect: Callable[[Model], object] = nothing
    # The condition if the statement must fail; empty: any.
    refused: str | None = None
    commits: Commits = Commits.SOME
    feed: FeedFidelity = FeedFidelity.EXACTLY
    # Further checks if it succeeds.
    also: Callable[[], None] = lambda: None
    # Runs in any case.
    after: Callable[[], None] = lambda: None


@dataclass
class History:
    random: Random
    session: LakeSession
    lake: Path
    seed: str
    model: Model
    name: str
    trace: list[str] = field(default_factory=list)
    tables: int = 0
    ids_made: int = 0
    # Versions before may have lost their files.
    readable_from: int = 0
    is_shallow: bool = False
    # Identity values.
    given_out: set[int] = field(default_factory=set)
    row_ids_seen: set[int] = field(default_factory=set)
    # Tables that were cloned: name, columns and rows.
    ancestors: list[tuple[str, list[str], Rows]] = field(default_factory=list)

    @property
    def definition(self) -> Definition:
        return self.model.definition

    @property
    def folder(self) -> Path:
        return self.lake / "default" / self.name

    @property
    def version(self) -> int:
        return max(int(path.stem) for path in (self.folder / "_delta_log").glob("0*.json") if path.stem.isdecimal())

    @property
    def newest(self) -> int:
        """Returns the model's last version."""
        return len(self.model.versions) - 1

    def completed_versions(self) -> list[int]:
        """Versions that can be read, and whose definition is known in all."""
        return [number for number in range(self.readable_from, self.newest + 1) if self.model.versions[number].is_final]

    def new_type(self) -> str:
        """Returns a type for a new column: timestamps without a time zone require a feature that the table may lack."""
        return self.random.choice([of for of in TYPES if of != "stamp"])

    def expressions(self) -> Expressions:
        ids = self.model.ids()
        known = self.random.sample(ids, min(8, len(ids)))
        return Expressions(self.random, self.definition, Sql(self.name, "t"), [*known, self.ids_made])

    def new_id(self) -> Sql:
        self.ids_made += 1
        return Sql(str(self.ids_made), str(self.ids_made))

    def new_table_name(self) -> str:
        self.tables += 1
        return f"h{self.seed}_{self.tables}"

    def run(self, text: str) -> int | None:
        self.trace.append(text)
        return run(self.session, text)

    def read(self, text: str) -> pa.Table:
        return table(self.session, text)

    def attempt(self, statement: Statement) -> bool:
        """Returns whether it succeeded; the model has its effect then."""
        self.model.change += 1
        refused = statement.refused
        if refused is None:
            statement.effect(self.model)
            self.model.settle()
            refused = VIOLATION if self.model.violated() else None
        try:
            self.run(statement.text)
        except SqlError as error:
            if refused is None or refused not in (error.condition, ""):
                raise
            self.trace.append(f"-- refused: {error.condition}")
            assert self.version == self.newest
            self.model.go_back()
            return False
        finally:
            statement.after()
        assert refused is None, f"not refused: {refused}"
        return True
