"""One table and its model, changed by the same statements.

A statement is a text and what it does to the model. It is done to the model first, so that it is known whether it may
break a constraint; then the table runs it, and must refuse it or have the model's rows after it.
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
    """The versions of a statement that succeeds."""

    SOME = auto()
    ANY = auto()
    NONE = auto()
    IF_CHANGED = auto()
    """One or more if a row goes, comes or changes, none otherwise."""


class Told(Enum):
    """What the change feed has of a statement."""

    EXACTLY = auto()
    """The rows that went, came and changed."""
    IF_READABLE = auto()
    """Also rows that go and come back the same; nothing where files of before have other columns than those after."""
    NOT_AT_ALL = auto()


def nothing(model: Model) -> None:
    """The rows stay."""


@dataclass(frozen=True)
class Statement:
    text: str
    effect: Callable[[Model], object] = nothing
    refused: str | None = None
    """The condition, where the statement has to fail; empty: any."""
    commits: Commits = Commits.SOME
    told: Told = Told.EXACTLY
    also: Callable[[], None] = lambda: None
    """What to check besides, if it succeeds."""
    after: Callable[[], None] = lambda: None
    """What to do in any case."""


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
    readable_from: int = 0
    """Versions before may have lost their files."""
    is_shallow: bool = False
    given_out: set[int] = field(default_factory=set)
    """Identity values."""
    row_ids_seen: set[int] = field(default_factory=set)
    ancestors: list[tuple[str, list[str], Rows]] = field(default_factory=list)
    """Tables that were cloned: name, columns and rows."""

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
        """The last version that the model knows."""
        return len(self.model.versions) - 1

    def settled(self) -> list[int]:
        """Versions that can be read, and whose definition is known in all."""
        return [
            number for number in range(self.readable_from, self.newest + 1) if self.model.versions[number].is_settled
        ]

    def new_type(self) -> str:
        """For a new column: timestamps without a zone need a feature that the table may lack."""
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
        """Whether it succeeded; the model has its effect then."""
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
