"""The state of a session between its statements, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from catalog.entries import ViewEntry
from catalog.names import SchemaName, TableName, fold
from engine.runtime.settings import find_setting


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """What a session holds between statements; replaced as a whole, never changed.

    `values` has the settings that were set, by their key; `temporary_views` the session's own views, by folded name.
    """

    principal: str
    catalog: str
    schema: str
    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    temporary_views: Mapping[str, ViewEntry] = field(default_factory=lambda: MappingProxyType({}))

    def value(self, key: str) -> str | None:
        """The value in force, None where Spark's own default is."""
        return self.values.get(key, find_setting(key).default)

    def with_value(self, key: str, value: str) -> SessionState:
        return replace(self, values=MappingProxyType({**self.values, key: value}))

    def without(self, key: str | None) -> SessionState:
        """All settings reset, or one."""
        kept = {name: value for name, value in self.values.items() if key is not None and name != key}
        return replace(self, values=MappingProxyType(kept))

    @property
    def current(self) -> SchemaName:
        """Where names without a schema lead."""
        return SchemaName(self.catalog, self.schema)

    def temporary_view(self, parts: tuple[str, ...]) -> ViewEntry | None:
        """The session's own view of that name, which only a name of one part means."""
        return self.temporary_views.get(fold(parts[0])) if len(parts) == 1 else None

    def with_temporary_view(self, entry: ViewEntry) -> SessionState:
        views = {**self.temporary_views, fold(entry.name.table): entry}
        return replace(self, temporary_views=MappingProxyType(views))

    def without_temporary_view(self, name: TableName) -> SessionState:
        kept = {key: entry for key, entry in self.temporary_views.items() if entry.name != name}
        return replace(self, temporary_views=MappingProxyType(kept))


def temporary_name(name: str) -> TableName:
    """The full name of a temporary view, as Spark spells it."""
    return TableName("system", "session", name)


def is_temporary(name: TableName) -> bool:
    """Whether :func:`temporary_name` made it."""
    return name.key[:2] == ("system", "session")
