"""The catalog: one view per statement, and changes.

:meth:`Catalog.change` checks a change against the served folder, which the pure fold cannot see, and then folds it onto
the newest state until the store accepts it. Tables in the served folder without an entry cannot be dropped or renamed
here, because there is no entry to change. A schema without an entry gets one when an object is created in it.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import assert_never

from catalog.changes import (
    Change,
    CreateCatalog,
    CreateSchema,
    CreateTable,
    CreateView,
    DropCatalog,
    DropSchema,
    DropTable,
    DropView,
    ForgetClone,
    RecordClone,
    RenameTable,
    SetComment,
    SetFormat,
    SetLocation,
    SetRestOptions,
    SetViewProperties,
    apply,
)
from catalog.conditions import (
    CatalogBusy,
    CatalogNotWritable,
    DiscoveredObject,
    ReservedName,
    RestCatalogNotChanged,
    SchemaAlreadyExists,
    SchemaNotEmpty,
    TableAlreadyExists,
)
from catalog.discovery.discovery import ServedFolder
from catalog.discovery.places import Places
from catalog.entries import (
    CatalogEntry,
    FunctionEntry,
    GroupEntry,
    LocationEntry,
    Relation,
    SchemaEntry,
    TableEntry,
    ViewEntry,
    VolumeEntry,
)
from catalog.errors import SqlError
from catalog.grants.conditions import Condition, ensure_met
from catalog.grants.privileges import Kind
from catalog.grants.right_changes import (
    ChangeGroup,
    CreateFunction,
    CreateGroup,
    CreateLocation,
    DropFunction,
    DropGroup,
    DropLocation,
    GrantPrivileges,
    RevokePrivileges,
    Securable,
    SetOwner,
)
from catalog.grants.right_differences import RightDifference, differences
from catalog.names import CatalogName, SchemaName, TableName, ensure_new_part
from catalog.policies.policies import NamedPolicy
from catalog.policies.policy_changes import SetColumnMask, SetRowFilter
from catalog.policies.tag_changes import CreatePolicy, DropPolicy, SetTags
from catalog.rest.change_names import AnswerMissing, ChangeSources
from catalog.rest.changes import change_elsewhere, recorded_elsewhere
from catalog.rest.names import RestCatalogs, is_rest
from catalog.roots import AllowedRoots, configured_location
from catalog.state import DEFAULT_CATALOG_NAME, CatalogState
from catalog.store.changes import ChangeSearch
from catalog.store.store import CatalogStore
from catalog.system.audit_table import SYSTEM_CATALOG
from catalog.view import CatalogView, NameSource
from catalog.volumes.changes import CreateVolume, DropVolume, RenameVolume, SetVolumeComment

__all__ = ["Catalog", "CatalogView"]

CHANGE_ATTEMPTS_MAX = 50
_BACKOFF_S = 0.02


class Catalog:
    """All catalogs of a server. Thread-safe.

    Tables may be named by path below the served folder and below `allowed_roots`. `own_folder` is the folder with the
    files of `store`.
    """

    def __init__(
        self,
        store: CatalogStore,
        served: ServedFolder | None = None,
        allowed_roots: Iterable[str] = (),
        own_folder: str | None = None,
        rest: RestCatalogs | None = None,
    ) -> None:
        """Opens the catalog; `rest` are the Iceberg REST catalogs, each of which has an entry."""
        self._store = store
        self._served = served
        self.rest = rest or RestCatalogs()
        self._roots = AllowedRoots((*([served.root] if served else []), *allowed_roots))
        self._places = Places(self._roots, served, own_folder, self.rest.places)
        self._own_folder = own_folder
        # Called with each change that was committed.
        self.on_change: Callable[[Change], None] = lambda _: None
        self._lock = threading.Lock()

    def record_rest_catalogs(self) -> None:
        """Adds an entry for each configured REST catalog without one, because grants are stored in entries."""
        known = self.view().state.catalogs
        for name in self.rest.configured:
            if name not in known:
                self.change(CreateCatalog(CatalogEntry(name=name)))

    @property
    def own_folder(self) -> str | None:
        """Returns the canonical location for the catalog's own files; None if it has no files."""
        return configured_location(self._own_folder) if self._own_folder else None

    @property
    def allowed_roots(self) -> tuple[str, ...]:
        """Returns the folders that may contain tables, including the served folder."""
        return self._roots.roots

    def view(self) -> CatalogView:
        """Returns the newest generation; reads the store once."""
        return self._view(self._store.load())

    def known_view(self) -> CatalogView:
        """Returns the newest generation that this server has seen, without a request to the store."""
        return self._view(self._store.newest())

    def _view(self, state: CatalogState, change_sources: ChangeSources | None = None) -> CatalogView:
        """Returns a view of `state`. REST catalogs answer from `change_sources` if it is set, else by requests at each
        lookup.
        """
        own: dict[CatalogName, NameSource] = {} if self._served is None else {DEFAULT_CATALOG_NAME: self._served}
        rest = self.rest.of(state.catalogs.values())
        return CatalogView(
            state, {**(rest if change_sources is None else change_sources.of(rest)), **own}, self._places
        )

    def change(self, change: Change, condition: Condition | None = None) -> CatalogView:
        """Commits the change, and returns a view of the resulting generation.

        Raises the SqlError that forbids the change, also if the cause is a concurrent change: `condition` is evaluated
        on the state that the change is applied to. Raises CatalogBusy after too many lost races, and
        CatalogOutcomeUnknown.
        """
        return self._change(change, condition)[1]

    def change_rights(
        self, change: Change, condition: Condition | None = None, transaction_id: str | None = None
    ) -> tuple[RightDifference, ...]:
        """Commits the change, and returns how it altered privileges and owners; raises as `change` does.

        The generation records the statement's `transaction_id`. If one has it already, nothing is changed again.
        """
        before, after = self._change(change, condition, transaction_id)
        return tuple(differences(before.state, after.state))

    def find_change(self, transaction_id: str, since_ms: int) -> ChangeSearch:
        """Looks for a statement that has changed the catalog since `since_ms`. A change of a REST catalog may have
        been made there alone.
        """
        found = self._store.find_change(transaction_id, since_ms)
        return replace(found, is_complete=False) if self.rest.names else found

    def drop_table(
        self,
        name: TableName,
        condition: Condition | None = None,
        *,
        purge: bool = False,
        transaction_id: str | None = None,
    ) -> Relation | None:
        """Drops a table, and returns its entry from the generation before the drop; raises as `change` does."""
        return self._change(DropTable(name, purge), condition, transaction_id)[0].state.relations.get(name)

    def drop_volume(
        self, name: TableName, condition: Condition | None = None
    ) -> tuple[VolumeEntry, tuple[RightDifference, ...]]:
        """Drops a volume, and returns its entry and the changes to privileges; raises as `change` does."""
        before, after = self._change(DropVolume(name), condition)
        return before.state.volumes[name], tuple(differences(before.state, after.state))

    def drop_schema(
        self,
        name: SchemaName,
        cascade: bool,
        condition: Condition | None = None,
        transaction_id: str | None = None,
    ) -> tuple[Relation | VolumeEntry, ...]:
        """Drops a schema, and returns the relations and volumes that it contained at that time; raises as `change`
        does.
        """
        state = self._change(DropSchema(name, cascade), condition, transaction_id)[0].state
        return (*state.relations_of(name), *state.volumes_of(name))

    def _change(
        self, change: Change, condition: Condition | None = None, transaction_id: str | None = None
    ) -> tuple[CatalogView, CatalogView]:
        """Returns the views before and after the change."""
        if self._served is not None:
            self._served.ensure_there()  # the catalog's own folder may be below it, and would be created again
        change, change_sources = self._change_elsewhere(change, condition), ChangeSources()
        for _ in range(CHANGE_ATTEMPTS_MAX):
            try:
                with self._lock:  # threads of one server wait here instead of racing each other
                    views = self._record(change, condition, change_sources, transaction_id)
                self.on_change(change)
                return views
            except AnswerMissing:
                with change_sources.allow_requests():  # without the lock, so that no thread waits for a remote server
                    self._changes_to_apply(self._view(self._store.load(), change_sources), change)
        raise CatalogBusy(CHANGE_ATTEMPTS_MAX)

    def _record(
        self,
        change: Change,
        condition: Condition | None,
        change_sources: ChangeSources,
        transaction_id: str | None,
    ) -> tuple[CatalogView, CatalogView]:
        """Commits a change as `_change` does, under the lock. Raises `AnswerMissing` if a REST catalog's answer is
        missing.
        """
        state = self._store.newest()  # a newer state, if any, makes the swap fail
        for attempt in range(CHANGE_ATTEMPTS_MAX):
            base = self._view(state, change_sources)
            if transaction_id is not None and self._store.is_recorded(transaction_id):
                return base, base  # another process that ran the statement was suspended, and has continued
            try:
                if condition is not None:
                    ensure_met(base.state, condition)
                new = apply(base.state, *self._changes_to_apply(base, change))
            except SqlError:
                state = self._store.load()
                if state is base.state:
                    raise
                continue
            if self._swap(base.state, new, transaction_id):
                return base, self._view(new)
            time.sleep(random.uniform(0, _BACKOFF_S * min(attempt + 1, 10)))
            state = self._store.load()
        raise CatalogBusy(CHANGE_ATTEMPTS_MAX)

    def _change_elsewhere(self, change: Change, condition: Condition | None) -> Change:
        """Applies a change to its REST catalog first, without holding the lock; returns the change to record
        afterwards.
        """
        is_new = isinstance(change, CreateCatalog) and change.entry.rest is not None
        if not self.rest.names and not is_new:
            return change
        view = self.view()
        if condition is not None:
            ensure_met(view.state, condition)
        self._ensure_new(view, change)
        if isinstance(change, SetRestOptions):
            self.rest.ensure_answers(replace(CatalogEntry(name=change.name), rest=change.options))
            return change
        if isinstance(change, CreateCatalog):
            if is_new and change.entry.name not in view.state.catalogs:
                self.rest.ensure_answers(change.entry)
            return change
        return change_elsewhere(view.sources, view.state, change)

    def _swap(self, base: CatalogState, new: CatalogState, transaction_id: str | None) -> bool:
        """Swaps the state, and converts a disk error, after which nothing is committed, into `CatalogNotWritable`."""
        try:
            return self._store.swap(base, new, transaction_id)
        except OSError as error:
            raise CatalogNotWritable(error.strerror or str(error)) from error

    def _new_volume(self, view: CatalogView, entry: VolumeEntry) -> list[Change]:
        if view.is_rest(entry.name.schema_name.catalog_name):
            raise RestCatalogNotChanged(entry.name.catalog, "A volume")
        location = self._roots.ensure_allowed(entry.location)
        if not entry.managed:
            view.ensure_free_location(location)
        volume = replace(entry, location=location)
        return [*_adopt_schema(view, entry.name.schema_name), CreateVolume(volume)]

    def _ensure_new(self, view: CatalogView, change: Change) -> None:
        for schema in _schemas_of(change):
            view.ensure_may_change(schema)
        for part in _new_parts(change):
            ensure_new_part(part)

    def _changes_to_apply(self, view: CatalogView, change: Change) -> list[Change]:
        """Returns `change` with the changes that it requires before it; raises if the served folder prevents it."""
        return [self._with_location(view, each) for each in self._required_changes(view, change)]

    def _with_location(self, view: CatalogView, change: Change) -> Change:
        """Adds the table's location to the entry for a table in a REST catalog; no other table may share that
        location.
        """
        if not isinstance(change, CreateTable) or not is_rest(change.entry.location):
            return change
        view.find_discovered(change.entry.name)  # this lookup learns the location
        place = self.rest.places.of(change.entry.location)
        if place is None:
            return change
        view.folders.ensure_no_overlap_with_rest(change.entry, place.location, loads_tables=False)
        return replace(change, entry=replace(change.entry, place=place.location))

    def _required_changes(self, view: CatalogView, change: Change) -> list[Change]:
        self._ensure_new(view, change)
        if isinstance(change, DropCatalog) and change.name in self.rest.configured:
            raise RestCatalogNotChanged(change.name.catalog, "The configuration of a catalog")
        elsewhere = recorded_elsewhere(view.sources, view.state, change)
        if elsewhere is not None:
            return [*_adopt_schemas(view, elsewhere), *elsewhere]
        match change:
            case CreateCatalog(catalog) if catalog.name == CatalogName(SYSTEM_CATALOG):
                raise ReservedName("CATALOG", str(catalog.name))
            case CreateCatalog() | DropCatalog() | SetRestOptions():
                return [change]
            case CreateSchema(entry, _):
                if view.discovered_schema(entry.name) is not None and entry.name not in view.state.schemas:
                    raise SchemaAlreadyExists(str(entry.name))
                if entry.location is None:
                    return [change]
                location = self._roots.ensure_allowed(entry.location)
                self._places.ensure_may_hold_tables(location)
                return [CreateSchema(replace(entry, location=location))]
            case DropSchema(name, cascade):
                _ensure_nothing_lies_in(view, name, cascade)
                return [change]
            case CreateTable(table, _):
                location = self._roots.ensure_allowed(table.location)
                _ensure_free(view, table.name, location)
                return [
                    *_adopt_schema(view, table.name.schema_name),
                    replace(change, entry=replace(table, location=location)),
                ]
            case CreateView(view_entry, _):
                _ensure_free(view, view_entry.name)
                return [*_adopt_schema(view, view_entry.name.schema_name), change]
            case DropTable(table_name, _) | DropView(table_name):
                _ensure_recorded(view, table_name)
                _ensure_goes(view, view.state.relations.get(table_name))
                return [change]
            case RenameTable(old, new):
                _ensure_recorded(view, old)
                _ensure_free(view, new)
                return [*_adopt_schema(view, new.schema_name), change]
            case SetViewProperties(view_name):
                _ensure_recorded(view, view_name)
                return [change]
            case SetLocation(moved, place):
                _ensure_recorded(view, moved)
                return [SetLocation(moved, self._roots.ensure_allowed(place))]
            case RecordClone() | ForgetClone() | SetFormat() | DropVolume() | RenameVolume() | SetVolumeComment():
                return [change]
            case SetComment(commented, _):
                return [*(_adopt_schema(view, commented) if isinstance(commented, SchemaName) else ()), change]
            case GrantPrivileges(on=on) | SetOwner(on=on) | SetTags(on=on) | CreatePolicy(on=on) | DropPolicy(on=on):
                return [*_adopt(view, on), change]
            case SetRowFilter(table=securable) | SetColumnMask(table=securable):
                return [*_adopt(view, Securable(Kind.TABLE, securable)), change]
            case RevokePrivileges(on=on):
                return [] if _adopt(view, on) else [change]
            case CreateFunction(function, _):
                return [*_adopt_schema(view, function.name.schema_name), change]
            case CreateLocation(external):
                location = self._roots.ensure_allowed(external.location)
                self._places.ensure_not_ours(location)
                return [CreateLocation(replace(external, location=location))]
            case CreateVolume(volume):
                return self._new_volume(view, volume)
            case CreateGroup() | ChangeGroup() | DropGroup() | DropLocation() | DropFunction():
                return [change]
            case _:
                assert_never(change)


def _schemas_of(change: Change) -> tuple[SchemaName, ...]:
    """Returns the schemas that a change creates, drops, or modifies."""
    match change:
        case CreateCatalog() | SetRestOptions() | DropCatalog() | RecordClone() | ForgetClone():
            return ()
        case (
            GrantPrivileges(on=on)
            | RevokePrivileges(on=on)
            | SetOwner(on=on)
            | SetTags(on=on)
            | CreatePolicy(on=on)
            | DropPolicy(on=on)
        ):
            schema = on.name.schema_name if isinstance(on.name, TableName) else on.name
            return (schema,) if isinstance(schema, SchemaName) else ()
        case CreateGroup() | ChangeGroup() | DropGroup() | CreateLocation() | DropLocation():
            return ()
        case CreateFunction(FunctionEntry(name=function_name)) | DropFunction(function_name):
            return (function_name.schema_name,)
        case (
            CreateVolume(VolumeEntry(name=volume_name))
            | DropVolume(volume_name)
            | RenameVolume(volume_name, _)
            | SetVolumeComment(volume_name, _)
        ):
            return (volume_name.schema_name,)
        case CreateSchema(entry, _):
            return (entry.name,)
        case DropSchema(name, _):
            return (name,)
        case CreateTable(table, _) | SetFormat(table, _):
            return (table.name.schema_name,)
        case CreateView(view_entry, _):
            return (view_entry.name.schema_name,)
        case SetRowFilter(table=securable) | SetColumnMask(table=securable):
            return (securable.schema_name,)
        case (
            DropTable(table_name, _) | DropView(table_name) | SetLocation(table_name, _) | SetViewProperties(table_name)
        ):
            return (table_name.schema_name,)
        case SetComment(commented, _):
            return (commented,) if isinstance(commented, SchemaName) else ()
        case RenameTable(old, new):
            return (old.schema_name, new.schema_name)
        case _:
            assert_never(change)


def _new_parts(change: Change) -> tuple[str, ...]:
    """Returns the name parts that a change gives to new objects."""
    match change:
        case CreateCatalog(catalog):
            return catalog.name.parts
        case CreateSchema(schema, _):
            return (schema.name.schema,)
        case CreateTable(TableEntry(name=name)) | CreateView(ViewEntry(name=name)) | RenameTable(_, name):
            return (name.table,)
        case CreateFunction(FunctionEntry(name=name)) | CreateVolume(VolumeEntry(name=name)) | RenameVolume(_, name):
            return (name.table,)
        case CreateGroup(GroupEntry(name=part)) | CreateLocation(LocationEntry(name=part)):
            return (part,)
        case (
            DropCatalog() | DropSchema() | DropTable() | DropView() | SetLocation() | SetComment() | SetViewProperties()
        ):
            return ()
        case GrantPrivileges() | RevokePrivileges() | SetOwner() | ChangeGroup() | DropGroup():
            return ()
        case DropLocation() | DropFunction() | SetRowFilter() | SetColumnMask() | DropVolume() | SetVolumeComment():
            return ()
        case CreatePolicy(policy=NamedPolicy(name=part)):
            return (part,)
        case SetTags() | DropPolicy():
            return ()
        case RecordClone() | ForgetClone() | SetRestOptions() | SetFormat():
            return ()
        case _:
            assert_never(change)


def _ensure_free(view: CatalogView, name: TableName, location: str | None = None) -> None:
    """Checks that the served folder has no table called `name`, or that it is at `location` and hence the same
    table.
    """
    if name in view.state.relations:
        return
    found = view.find_discovered(name, but=location)
    if (found is not None and found.location != location) or view.foreign_view(name) is not None:
        raise TableAlreadyExists(str(name))


def _ensure_recorded(view: CatalogView, name: TableName) -> None:
    found = None if name in view.state.relations else view.find_discovered(name)
    if found is not None:
        raise DiscoveredObject(str(name), found.location)


def _ensure_nothing_lies_in(view: CatalogView, name: SchemaName, cascade: bool) -> None:
    for entry in view.discovered_in(name):
        if entry.name not in view.state.relations:
            raise DiscoveredObject(str(entry.name), entry.location) if cascade else SchemaNotEmpty(str(name))
    if cascade:
        for recorded in view.state.relations_of(name):
            _ensure_goes(view, recorded)


def _ensure_goes(view: CatalogView, entry: Relation | None) -> None:
    """Rejects a drop that would leave the table in the served folder, where it would be found again without its grants
    and policies.
    """
    if not isinstance(entry, TableEntry) or entry.managed:
        return
    is_guarded = entry.grants or entry.policies or entry.tags or entry.named_policies
    if is_guarded and view.lies_in_lake(entry.location):
        raise DiscoveredObject(str(entry.name), entry.location)


def _adopt(view: CatalogView, on: Securable) -> list[Change]:
    """Returns the changes that record an object which so far exists only as a folder."""
    match on.name:
        case SchemaName() as schema:
            return _adopt_schema(view, schema)
        case TableName() as name if on.kind not in (Kind.FUNCTION, Kind.VOLUME) and name not in view.state.relations:
            found = view.find_discovered(name)
            if found is None and view.foreign_view(name) is not None:
                raise RestCatalogNotChanged(name.catalog, f"What is kept of {name}, a view of the catalog itself,")
            return [] if found is None else [*_adopt_schema(view, name.schema_name), CreateTable(found)]
        case _:  # other names have an entry, or cannot be folders
            return []


def _adopt_schemas(view: CatalogView, changes: list[Change]) -> list[Change]:
    """Returns the changes that record the schemas in which `changes` create a name."""
    made = [each.entry.name.schema_name for each in changes if isinstance(each, CreateTable)]
    moved = [each.new_name.schema_name for each in changes if isinstance(each, RenameTable)]
    known = [each.entry.name for each in changes if isinstance(each, CreateSchema)]
    return [adopting for schema in (*made, *moved) if schema not in known for adopting in _adopt_schema(view, schema)]


def _adopt_schema(view: CatalogView, schema: SchemaName) -> list[Change]:
    """Returns the changes that record a schema which so far exists only as a folder."""
    discovered = None if schema in view.state.schemas else view.discovered_schema(schema)
    return [] if discovered is None else [CreateSchema(SchemaEntry(name=discovered))]
