"""Tables that take another one's place: replaced by a query, or a clone with which the history goes on."""

from __future__ import annotations

from tests.engine.histories.checks import features_of, rows_of
from tests.engine.histories.definition import Column, Definition
from tests.engine.histories.history import FeedFidelity, History, Statement
from tests.engine.histories.layouts import random_layout, random_properties
from tests.engine.histories.model import Model


def replace_as(history: History) -> Statement:
    """CREATE OR REPLACE TABLE … AS: its own rows in another layout; only column names and types stay."""
    condition = history.expressions().condition()
    old, names = history.definition, history.definition.names
    properties = random_properties(history.random)
    if old.is_mapped:
        # a mapped table stays one
        properties.pop("delta.columnMapping.mode", None)
        properties["delta.columnMapping.mode"] = old.properties["delta.columnMapping.mode"]
    columns = tuple(Column(each.name, each.of) for each in old.columns)
    partitions, clustered = random_layout(history.random, list(columns), properties)
    if "clustering" in features_of(history):
        partitions = ()
    new = Definition(columns, partitions, clustered, properties)
    text = (
        f"CREATE OR REPLACE TABLE {history.name} {new.layout_text()} "
        f"AS SELECT {', '.join(names)} FROM {history.name} WHERE {condition.ours}"
    )

    def effect(model: Model) -> None:
        model.duck.execute(f"CREATE OR REPLACE TABLE new AS SELECT *, _key AS _n FROM t WHERE {condition.duck}")
        model.delete("true")
        model.definition = new
        model.insert_new(names)

    def also() -> None:
        found = dict(history.read(f"DESCRIBE DETAIL {history.name}").to_pylist()[0]["properties"])
        assert found.items() >= properties.items()
        history.given_out.clear()

    return Statement(text, effect, feed=FeedFidelity.IF_READABLE, also=also)


def clone(history: History) -> Statement:
    """Clones the table; the history continues with the clone, and the old table stays unchanged."""
    shallow, name = history.random.random() < 0.5, history.new_table_name()
    version = history.newest
    at = ""
    if history.random.random() < 0.3:
        version = history.random.choice(history.completed_versions())
        at = f" VERSION AS OF {version}"
    text = f"CREATE TABLE {name} {'SHALLOW' if shallow else 'DEEP'} CLONE {history.name}{at}"
    ancestor = (history.name, history.definition.names, rows_of(history, history.model.versions[-1]))

    def effect(model: Model) -> None:
        model.go_back(version)
        history.ancestors.append(ancestor)
        history.name, history.is_shallow = name, shallow or history.is_shallow
        history.readable_from = 0
        history.row_ids_seen.clear()
        if at and model.definition.identity:
            history.given_out = {value for (value,) in model.raw(f"SELECT {model.definition.identity} FROM t")}
        model.forget_versions()
        # a clone's rows get new ids if it enables row tracking
        model.definition = model.definition.with_properties({"delta.enableRowTracking": "false"})

    return Statement(text, effect)
