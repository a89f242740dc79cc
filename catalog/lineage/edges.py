"""Edges between tables as values, and their changes as a pure fold onto a state.

An edge leads from a source that statements read to the table that they committed. There is one for each source, target
and type of statement. Edges belong to the objects and not to their names: a renamed object keeps them, and a dropped
object takes them along.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from catalog.names import fold

# The newest edges into a table, the tables with the newest edges, and the newest columns of an edge are retained.
EDGES_PER_TARGET_MAX = 200
TARGETS_MAX = 10_000
COLUMNS_PER_EDGE_MAX = 500

# Folded name parts, or a path.
EndKey = tuple[str, ...]


class EndKind(StrEnum):
    """Databricks' names for types of sources."""

    TABLE = "TABLE"
    VIEW = "VIEW"
    PATH = "PATH"


@dataclass(frozen=True, slots=True)
class End:
    """A table or a view by its three name parts, or files by their path, which is the only part."""

    kind: EndKind
    parts: tuple[str, ...]

    @property
    def key(self) -> EndKey:
        """Returns the name's parts in folded case; a path is compared exactly."""
        return self.parts if self.kind is EndKind.PATH else tuple(map(fold, self.parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An edge; `user` and `statement_id` are those of the last statement, `columns` pairs of a source and a target
    column. Times are in milliseconds since the epoch.
    """

    source: End
    target: End
    statement_type: str
    user: str
    statement_id: str
    first_ms: int
    last_ms: int
    count: int = 1
    columns: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> tuple[EndKey, EndKey, str]:
        """Returns the keys of both ends with the statement type; edges with equal keys are one edge."""
        return self.source.key, self.target.key, self.statement_type


@dataclass(frozen=True, slots=True)
class Renamed:
    """The event that an object has another name."""

    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """The event that an object was dropped, or everything in a schema or a catalog: `parts` begin its name."""

    parts: tuple[str, ...]


LineageEvent = Edge | Renamed | Dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetEdges:
    """The edges into one target; there is at least one."""

    edges: tuple[Edge, ...]

    @property
    def target(self) -> End:
        """Returns the end that all edges point to."""
        return self.edges[0].target


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageState:
    """All edges by their target."""

    generation: int
    targets: Mapping[EndKey, TargetEdges]

    def edges(self) -> list[Edge]:
        """Returns the edges into all targets."""
        return [edge for each in self.targets.values() for edge in each.edges]

    def has(self, edge: Edge) -> bool:
        """Returns True if there is an edge with the same key and at least these columns."""
        known = self.targets.get(edge.target.key)
        return known is not None and any(
            each.key == edge.key and set(edge.columns) <= set(each.columns) for each in known.edges
        )


INITIAL_LINEAGE = LineageState(generation=0, targets={})


def lineage_of(generation: int, targets: Iterable[TargetEdges]) -> LineageState:
    """Returns the state at `generation` with these targets by key."""
    return LineageState(generation=generation, targets={each.target.key: each for each in targets})


def with_events(state: LineageState, events: Iterable[LineageEvent]) -> LineageState:
    """Returns the next state after events in their order; the same state if they change nothing."""
    targets = dict(state.targets)
    for event in events:
        match event:
            case Edge():
                _add(targets, event)
            case Renamed(old, new):
                _rename(targets, _key(old), new)
            case Dropped(parts):
                _drop(targets, _key(parts))
    if targets == state.targets:
        return state
    newest = sorted(targets.values(), key=lambda each: each.edges[0].last_ms)[-TARGETS_MAX:]
    return lineage_of(state.generation + 1, newest)


def _add(targets: dict[EndKey, TargetEdges], edge: Edge) -> None:
    known = targets.get(edge.target.key)
    edges = {each.key: each for each in known.edges} if known is not None else {}
    edges[edge.key] = _merged(edges[edge.key], edge) if edge.key in edges else edge
    newest = sorted(edges.values(), key=lambda each: each.last_ms, reverse=True)
    targets[edge.target.key] = TargetEdges(edges=tuple(newest[:EDGES_PER_TARGET_MAX]))


def _merged(one: Edge, other: Edge) -> Edge:
    older, newer = sorted((one, other), key=lambda edge: edge.last_ms)
    return replace(
        newer,
        first_ms=min(older.first_ms, newer.first_ms),
        count=older.count + newer.count,
        columns=tuple(dict.fromkeys((*newer.columns, *older.columns)))[:COLUMNS_PER_EDGE_MAX],
    )


def _rename(targets: dict[EndKey, TargetEdges], old: EndKey, new: tuple[str, ...]) -> None:
    def renamed(end: End) -> End:
        return replace(end, parts=new) if end.key == old else end

    moved = _edges_at(targets, old)
    _drop(targets, old)
    for edge in moved:
        _add(targets, replace(edge, source=renamed(edge.source), target=renamed(edge.target)))


def _drop(targets: dict[EndKey, TargetEdges], prefix: EndKey) -> None:
    for edge in _edges_at(targets, prefix):
        rest = tuple(each for each in targets[edge.target.key].edges if each.key != edge.key)
        if rest:
            targets[edge.target.key] = TargetEdges(edges=rest)
        else:
            del targets[edge.target.key]


def _edges_at(targets: Mapping[EndKey, TargetEdges], prefix: EndKey) -> list[Edge]:
    """Returns the edges with an end whose name begins with `prefix`."""
    size = len(prefix)
    return [
        edge
        for each in targets.values()
        for edge in each.edges
        if prefix in (edge.source.key[:size], edge.target.key[:size])
    ]


def _key(parts: tuple[str, ...]) -> EndKey:
    return tuple(map(fold, parts))
