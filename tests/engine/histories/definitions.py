"""ALTER TABLE: columns, layout, properties, constraints, features."""

from __future__ import annotations

from dataclasses import replace

from tests.engine.histories.definition import Column, Definition
from tests.engine.histories.history import Commits, FeedFidelity, History, Statement
from tests.engine.histories.layouts import random_check
from tests.engine.histories.model import Model
from tests.engine.histories.values import NOT_CLUSTERED

NO_ROWS = "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION"


def _defined(text: str, definition: Definition, *duck: str, commits: Commits = Commits.SOME) -> Statement:
    """Returns a definition change that leaves the rows unchanged."""

    def effect(model: Model) -> None:
        for each in duck:
            model.duck.execute(each)
        model.definition = definition

    return Statement(text, effect, commits=commits, feed=FeedFidelity.NOT_AT_ALL)


def add_column(history: History) -> Statement:
    column = Column(f"c{history.model.change}", history.new_type())
    text = f"ALTER TABLE {history.name} ADD COLUMN {column.name} {column.sql_type.ours}"
    duck = f"ALTER TABLE t ADD COLUMN {column.name} {column.sql_type.duck}"
    return _defined(text, history.definition.with_column(column), duck)


def rename_column(history: History) -> Statement | None:
    definition, new = history.definition, f"r{history.model.change}"
    free = [name for name in (*definition.free(), *definition.partitions, *definition.clustered) if name != "id"]
    needed = {each.base for each in definition.generated} | {column for _, column, _ in definition.checks}
    free = [name for name in free if name not in needed and name not in ("st", "g", "n_id")]
    if not free:
        return None
    old = history.random.choice(free)
    text = f"ALTER TABLE {history.name} RENAME COLUMN {old} TO {new}"
    if not definition.is_mapped:
        return Statement(text, refused="DELTA_UNSUPPORTED_RENAME_COLUMN")
    return _defined(text, definition.renamed(old, new), f"ALTER TABLE t RENAME COLUMN {old} TO {new}")


def drop_column(history: History) -> Statement | None:
    definition = history.definition
    free = [name for name in definition.free() if name in definition.given]
    if len(free) < 3:
        return None
    name = history.random.choice(free)
    text = f"ALTER TABLE {history.name} DROP COLUMN {name}"
    if not definition.is_mapped:
        return Statement(text, refused="DELTA_UNSUPPORTED_DROP_COLUMN")
    return _defined(text, definition.without(name), f"ALTER TABLE t DROP COLUMN {name}")


def widen_column(history: History) -> Statement | None:
    """INT to BIGINT."""
    definition = history.definition
    needed = {column for _, column, _ in definition.checks} | {each.base for each in definition.generated}
    usable = [name for name in definition.given if definition.column(name).of == "int" and name not in needed]
    if not definition.has("enableTypeWidening") or not usable:
        return None
    name = history.random.choice(usable)
    columns = tuple(replace(each, of="long") if each.name == name else each for each in definition.columns)
    text = f"ALTER TABLE {history.name} ALTER COLUMN {name} TYPE BIGINT"
    return _defined(text, replace(definition, columns=columns), f"ALTER TABLE t ALTER {name} TYPE BIGINT")


_SWITCHED = (
    ("delta.enableDeletionVectors", ("true", "false")),
    ("delta.enableChangeDataFeed", ("true", "true", "false")),
    ("delta.enableRowTracking", ("true",)),
    ("delta.columnMapping.mode", ("name",)),
    ("delta.checkpointInterval", ("2", "5")),
    ("delta.enableTypeWidening", ("true",)),
    ("delta.enableInCommitTimestamps", ("true",)),
    ("delta.targetFileSize", ("1000", "100mb")),
)


def set_property(history: History) -> Statement | None:
    key, values = history.random.choice(_SWITCHED)
    value = history.random.choice(values)
    if key == "delta.columnMapping.mode" and history.definition.is_mapped:
        return None
    text = f"ALTER TABLE {history.name} SET TBLPROPERTIES ('{key}' = '{value}')"
    return _defined(text, history.definition.with_properties({key: value}), commits=Commits.ANY)


def unmap_columns(history: History) -> Statement | None:
    if not history.definition.is_mapped:
        return None
    text = f"ALTER TABLE {history.name} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"
    return _defined(text, history.definition.with_properties({"delta.columnMapping.mode": "none"}))


def add_constraint(history: History) -> Statement | None:
    definition = history.definition
    check = random_check(history.random, list(definition.columns), (), history.model.change)
    if check is None:
        return None
    name, _, condition = check
    text = f"ALTER TABLE {history.name} ADD CONSTRAINT {name} CHECK ({condition.ours})"
    if history.model.count(where=f"({condition.duck}) IS NOT TRUE"):
        return Statement(text, refused=NO_ROWS)
    return _defined(text, replace(definition, checks=(*definition.checks, check)))


def drop_constraint(history: History) -> Statement | None:
    checks = history.definition.checks
    if not checks:
        return None
    gone = history.random.choice(checks)
    left = tuple(check for check in checks if check is not gone)
    return _defined(f"ALTER TABLE {history.name} DROP CONSTRAINT {gone[0]}", replace(history.definition, checks=left))


def cluster(history: History) -> Statement | None:
    definition = history.definition
    if definition.partitions or "delta.dataSkippingNumIndexedCols" in definition.properties:
        return None
    usable = [each.name for each in definition.columns if each.of not in NOT_CLUSTERED]
    selected = history.random.sample(usable, history.random.randrange(3))
    listed = f"({', '.join(selected)})" if selected else "NONE"
    text = f"ALTER TABLE {history.name} CLUSTER BY {listed}"
    return _defined(text, replace(definition, clustered=tuple(selected)), commits=Commits.ANY)


# Feature -> property, its value with the feature and without.
_DROPPED = {
    "deletionVectors": ("delta.enableDeletionVectors", "true", "false"),
    "typeWidening": ("delta.enableTypeWidening", "true", "false"),
    "inCommitTimestamp": ("delta.enableInCommitTimestamps", "true", "false"),
}


def drop_feature(history: History) -> Statement | None:
    """Drops an enabled feature."""
    on = [name for name, (key, value, _) in _DROPPED.items() if history.definition.properties.get(key) == value]
    if not on:
        return None
    name = history.random.choice(on)
    key, _, off = _DROPPED[name]
    definition = history.definition.with_properties({key: off})
    return _defined(f"ALTER TABLE {history.name} DROP FEATURE {name}", definition)
