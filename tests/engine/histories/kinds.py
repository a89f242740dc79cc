"""Kinds of statements and their weights; a history from its seed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from engine.main import LakeSession
from tests.engine.histories import changes, definitions, inserts, successors, upkeep
from tests.engine.histories.checks import check_condition, check_end, check_step
from tests.engine.histories.history import History, Statement
from tests.engine.histories.layouts import random_definition
from tests.engine.histories.model import Model

Kind = Callable[[History], Statement | None]

KINDS: dict[Kind, int] = {
    inserts.insert: 5,
    inserts.insert_many: 4,
    inserts.insert_itself: 1,
    inserts.insert_from_the_past: 1,
    inserts.insert_evolving: 1,
    inserts.overwrite: 1,
    inserts.overwrite_dynamically: 2,
    inserts.replace_using: 1,
    inserts.replace_on: 1,
    inserts.replace_where: 2,
    inserts.copy_into: 2,
    inserts.violate: 1,
    changes.delete: 5,
    changes.delete_few: 4,
    changes.delete_all: 1,
    changes.update: 8,
    changes.merge: 8,
    changes.merge_evolving: 2,
    upkeep.optimize: 3,
    upkeep.zorder: 2,
    upkeep.reorg: 2,
    upkeep.analyze: 1,
    upkeep.fsck: 1,
    upkeep.vacuum_dry: 1,
    upkeep.vacuum: 1,
    upkeep.vacuum_retaining: 3,
    upkeep.vacuum_ancestor: 2,
    upkeep.restore: 3,
    successors.replace_as: 1,
    successors.clone: 2,
    definitions.add_column: 2,
    definitions.rename_column: 2,
    definitions.drop_column: 1,
    definitions.widen_column: 2,
    definitions.set_property: 4,
    definitions.unmap_columns: 1,
    definitions.add_constraint: 1,
    definitions.drop_constraint: 1,
    definitions.cluster: 1,
    definitions.drop_feature: 2,
}


VACUUMS: tuple[Kind | None, ...] = (None, upkeep.vacuum, upkeep.vacuum_retaining, upkeep.vacuum_all)


def live(session: LakeSession, lake: Path, seed: str, statements: int, vacuums: Kind | None = None) -> History:
    """Runs a history from its seed, with `vacuums` after each statement; a failure reports every statement."""
    random = Random(f"history {seed}")
    model = Model(random_definition(random))
    history = History(random, session, lake, seed.replace(" ", "_"), model, "")
    history.name = history.new_table_name()
    try:
        _live(history, statements, vacuums or (lambda _: None))
    except BaseException as error:
        error.add_note("\n".join([f"seed {seed}, {statements} statements:", *history.trace]))
        raise
    return history


def _live(history: History, statements: int, vacuums: Kind) -> None:
    history.run("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
    history.model.create()
    created = Statement(f"CREATE TABLE {history.name} {history.definition.text()}")
    _step(history, created)
    _step(history, inserts.insert_many(history))
    _step(history, vacuums(history))
    done = 2
    while done < statements:
        (kind,) = history.random.choices(list(KINDS), list(KINDS.values()))
        statement = kind(history)
        if statement is not None:
            _step(history, statement)
            _step(history, vacuums(history))
            done += 1
            if history.random.random() < 0.2:
                check_condition(history)
    check_end(history)


def _step(history: History, statement: Statement | None) -> None:
    if statement is not None and history.attempt(statement):
        check_step(history, statement)
