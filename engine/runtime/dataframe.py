"""DataFrame plans: queries that a front end received as a Spark Connect relation instead of SQL text."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.parameters import Parameter

# Maximum bytes of a plan, which has the rows of local relations. It is copied several times on its way to Spark.
PLAN_BYTES_MAX = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInput:
    """A query that a DataFrame plan reads as the named table `name`: its SQL text, with the values for its markers.

    `alias` are the parts of the name by which columns may be qualified, catalog first: `("c", "s", "t")` for
    `c.s.t.id`. Empty: no qualifier refers to the input.

    `frames` are DataFrames that the text may name like temporary views: `spark.sql("… FROM {df}", df=…)`.
    """

    name: str
    text: str
    parameters: tuple[Parameter, ...] = ()
    alias: tuple[str, ...] = ()
    frames: tuple[tuple[str, DataFramePlan], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFramePlan:
    """A query as a serialized `spark.connect.Relation`, in which each leaf that names something is a named table.

    Such a table has the name of one of the `inputs`, without options: no name in `plan` is looked up. Relations whose
    transformation runs a job or code of the client are rejected (`DataFramePlans.java`): the rows of `show_string`, for
    instance, are formatted by the front end. `description` is the text in the history and the audit log, for example
    `DataFrame: Aggregate(Filter(c.s.t))`, without literals.
    """

    plan: bytes
    inputs: tuple[PlanInput, ...]
    description: str
    # The SQL texts of expressions in `plan`: errors have positions in them.
    expressions: tuple[str, ...] = ()
    # It belongs to one statement, such as a write, although the statement reads it as a temporary view.
    is_source: bool = False
