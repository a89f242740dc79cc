"""Name lookups for one statement: catalog entries, and one pinned snapshot per table.

The catalog is read once, as a view at one generation, and each table's log is listed once: a table that a statement
names several times is loaded once per version, so that all its names see the same files.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from catalog.conditions import (
    CannotRestoreVersion,
    ConcurrentDrop,
    LocalRelationTooLarge,
    PathNotAllowed,
    PolicyForbidsTimeTravel,
    RecursiveView,
    RestoreTimestampTooEarly,
    RestoreTimestampTooLate,
    RestViewNotReadable,
    StatementNotSupported,
    TableExpected,
    TimeTravelOnView,
    ViewNotAQuery,
    ViewOwnerLacksPrivileges,
    ViewTooDeep,
)
from catalog.entries import Relation as CatalogRelation
from catalog.entries import SecurableEntry, TableEntry, ViewEntry, owner_of
from catalog.errors import SqlError
from catalog.grants.privileges import Principal
from catalog.grants.rights import caller_of_owner, label_of
from catalog.names import NAME_BYTES_MAX, Matcher, SchemaName, TableName, matches_all, path_format, path_of
from catalog.system.audit_table import AUDIT_TABLE, is_audit_schema
from catalog.system.server_views import is_server_schema
from catalog.system.system_views import is_system_schema
from catalog.view import CatalogView
from engine.binding.audit_rows import audit_rows
from engine.binding.bound import (
    BoundChanges,
    BoundFiles,
    BoundInBody,
    BoundMetadata,
    BoundNames,
    BoundRelation,
    BoundStatement,
    BoundTable,
    BoundView,
    FileView,
    FrameView,
    InputView,
    NamedRelation,
    PathOwner,
    is_unnamed,
    references,
    tables_of,
)
from engine.binding.frames import captured_view, client_rows_view, input_view, unnamed_frame
from engine.binding.functions import Functions, TextContext, ensure_names_known
from engine.binding.information_rows import information_view
from engine.binding.lineage_rows import lineage_rows
from engine.binding.metadata_parts import branch_or_tag, history_of, relation_or_part
from engine.binding.policies import bind_policies, ensure_same_columns, policies_of, protected_at
from engine.binding.server_rows import server_rows
from engine.binding.source_files import bind_files_at, volume_files, volume_files_of
from engine.binding.sources import Sources
from engine.binding.time_travel import Constants, load, read_bound
from engine.binding.visibility import hides_files, is_hidden, path_owners, visible_to
from engine.errors.table_errors import name_table_in_errors
from engine.runtime.dataframe import PLAN_BYTES_MAX
from engine.runtime.query_settings import DATES_AS_TEXTS
from engine.runtime.session_state import SessionState, is_global, is_of_session, is_temporary
from engine.runtime.settings import ALLOW_OUTSIDE
from engine.runtime.statement import Statement
from engine.spool.spooled_rows import SpooledRows
from engine.sql.parser import parse_stored_query
from engine.sql.query.bodies import with_named_markers
from engine.sql.query.values import AsOfVersion, ChangeRange, Query, Relation, TimeTravel
from engine.tables.changes import AtVersion, TableChanges
from engine.tables.formats import DEFAULT_FORMAT
from engine.tables.keys import ForeignKeyDef, KeyDef, primary_key
from engine.tables.snapshot import TableSnapshot

logger = logging.getLogger(__name__)

# Error condition for an unreadable older version → RESTORE's error.
RESTORE_ERRORS: Mapping[str, Callable[[str, str], SqlError]] = MappingProxyType(
    {
        "DELTA_VERSION_NOT_FOUND": CannotRestoreVersion,
        "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION": RestoreTimestampTooEarly,
        "DELTA_TIMESTAMP_GREATER_THAN_COMMIT": RestoreTimestampTooLate,
    }
)

_FOLDER_BYTES_MAX = NAME_BYTES_MAX - 33

# Maximum number of listed tables whose logs are opened for their comments, which takes about a second.
_COMMENTED_MAX = 1000

# Maximum view nesting; Spark's own limit.
VIEW_DEPTH_MAX = 100


class Binder:
    """One statement's lookups: the catalog at one generation, and the snapshots loaded for the statement.

    `view` shows the objects that are visible to the session's principal; names in a view's text are looked up among the
    objects that are visible to the view's owner.
    """

    def __init__(
        self,
        state: SessionState,
        sources: Sources,
        constants: Constants,
        *,
        is_known: bool = False,
        versions: Mapping[str, str] = MappingProxyType({}),
        spooled_rows: Sequence[SpooledRows] = (),
    ) -> None:
        """Starts lookups. `is_known`: at this server's newest known generation, which `is_current` compares with the
        store's. `versions` are those that an earlier binder's `versions` returned; others are the newest.
        `spooled_rows` are relations of the statement's own text.
        """
        # As in `StatementRequest`.
        self.inserted_version: int | None = None
        self._client_rows = {(rows.name,): rows for rows in spooled_rows}
        self._wanted = versions
        # The locations of tables that have later versions than the wanted ones.
        self._older: set[str] = set()
        # Copied at the start, so that a statement sees one set of global views from
        # beginning to end.
        self.state = replace(state, global_views=sources.global_views.visible_to(state.identity))
        self.formats = sources.formats
        self._catalog = sources.catalog
        view = sources.catalog.known_view() if is_known else sources.catalog.view()
        self.view = visible_to(view, state.identity)
        self.functions = Functions(self.view, state)
        self.files = sources.files
        self.audit_folder = sources.audit_folder
        self.activity = sources.activity
        self.load_lineage = sources.lineage.load
        self.constants = constants
        # Formats of the looked-up tables, including tables that could not be loaded.
        self.formats_met: set[str] = set()
        self.pinned: dict[tuple[str, str, TimeTravel | None], TableSnapshot] = {}
        self.feeds: dict[tuple[str, ChangeRange], TableChanges] = {}
        self._owned_views: dict[Principal | None, CatalogView] = {}
        self._is_in_policy = False

    @property
    def versions(self) -> dict[str, str]:
        """Returns the bound versions of tables without time travel, by location: the version, and the table's id, since
        another table may have been created at the location.
        """
        return {
            location: _version_text(snapshot)
            for (_, location, time_travel), snapshot in self.pinned.items()
            if time_travel is None
        }

    @property
    def is_current(self) -> bool:
        """Returns whether this generation is, and was while tables were read, the newest. Sends one request to the
        store.
        """
        return self._catalog.view().generation == self.view.generation

    def relations(
        self, relations: tuple[Relation, ...], current: SchemaName, inside: tuple[ViewEntry, ...] = ()
    ) -> tuple[BoundRelation, ...]:
        """Returns a query's relations; `inside` are the views whose texts led here, outermost first."""
        found = tuple(
            self._in_body(each, inside) if each.functions else self._bind_relation(each, current, inside)
            for each in relations
        )
        ensure_names_known(relations, found, self.functions)
        return found

    def _bind_relation(
        self, each: Relation, current: SchemaName, inside: tuple[ViewEntry, ...], view: CatalogView | None = None
    ) -> NamedRelation | BoundChanges | BoundMetadata | BoundFiles:
        if each.files is not None:
            return bind_files_at(each.files, view or self._view_inside(inside), self.files)
        if each.name_parts in self._client_rows and not inside:
            return client_rows_view(self._client_rows[each.name_parts], self.state)
        if each.frame is not None:
            return self._frame(unnamed_frame(each.frame, self.state), inside)
        if each.history is not None:
            return history_of(self.relation(each.name_parts, None, current, inside, view), each.history)
        files = volume_files_of(each.name_parts)
        if files is not None and each.changes is None:
            if each.time_travel is not None:
                raise TimeTravelOnView(str(files[0]))
            return volume_files(*files, view or self._view_inside(inside), self.files)
        if each.changes is None:
            find = partial(self.relation, current=current, inside=inside, view=view)

            def look(parts: tuple[str, ...]) -> NamedRelation:
                if each.time_travel is not None:
                    return find(parts, each.time_travel)
                return branch_or_tag(parts, find)

            return relation_or_part(each.name_parts, look)
        return self.changes(each.name_parts, each.changes, current, inside, view)

    def _in_body(self, each: Relation, inside: tuple[ViewEntry, ...]) -> BoundInBody:
        """Binds a relation in a function body, looked up as its owner, from its schema."""
        function, view = self.functions.as_owner(each.functions[-1])
        called, _ = self.functions.as_owner(each.functions[0])
        # Treated like the text of a view that no name leads to.
        name = replace(function.name, table=f"{function.name.table}()")
        body = ViewEntry(
            name=name, text="", current=function.current, owner=function.owner, owner_kind=function.owner_kind
        )
        try:
            found = self._bind_relation(each, function.current, (*inside, body), view)
        except SqlError as error:  # the message may name objects that the body reads
            if self.functions.tells_all(called):
                raise
            raise ViewOwnerLacksPrivileges(label_of(called)) from error
        if isinstance(found, BoundFiles):  # whose columns are unknown when the function is created
            raise TableExpected(found.label)
        return BoundInBody(function=function, called=called, relation=found, is_hidden=self._hides((found,)))

    def changes(
        self,
        parts: tuple[str, ...],
        change_range: ChangeRange,
        current: SchemaName,
        inside: tuple[ViewEntry, ...],
        view: CatalogView | None = None,
    ) -> BoundChanges:
        """Binds the changes that `table_changes` reads. Raises for a view, and if the log cannot provide the
        changes.
        """
        table = self.relation(parts, None, current, inside, view)
        if not isinstance(table, BoundTable):
            raise TableExpected(table.label)
        key = (table.entry.location, change_range)
        if key not in self.feeds:
            with name_table_in_errors(table.label):
                self.feeds[key] = self._feed(table, change_range)
        if table.policy is not None:
            ensure_same_columns(table, self.feeds[key])
        return BoundChanges(table=table, feed=self.feeds[key])

    def _feed(self, table: BoundTable, change_range: ChangeRange) -> TableChanges:
        start = read_bound(change_range.start, self.constants)
        end = None if change_range.end is None else read_bound(change_range.end, self.constants)
        allow_outside = self.state.value(ALLOW_OUTSIDE) == "true"
        is_own = self.inserted_version is not None and start == end == AtVersion(self.inserted_version)
        format_ = self.formats[table.entry.format]
        return format_.changes(table.snapshot, start, end, allow_outside=allow_outside, requires_feed=not is_own)

    def relation(
        self,
        parts: tuple[str, ...],
        time_travel: TimeTravel | None,
        current: SchemaName,
        inside: tuple[ViewEntry, ...] = (),
        view: CatalogView | None = None,
        *,
        is_read: bool = True,
    ) -> NamedRelation:
        """Binds one name, looked up in `view` if given; if it `is_read`, a table has its policies.

        Raises for a view that reads itself, and for time travel on a view.
        """
        view = view or self._view_inside(inside)
        path = path_of(parts)
        if path is not None:
            entry = view.resolve_path(path, path_format(parts))
            # Without logins paths have no owners, but a table's row filter holds for its
            # path all the same.
            owners = path_owners(view, entry.location) or protected_at(self.view, entry.location)
            found_table = replace(
                self._bind_table(None, entry, time_travel), owners=owners, shown_as=self._shown_as(owners, inside)
            )
            return self._with_policies(found_table, time_travel, is_read=is_read)
        captured = captured_view(parts, inside)
        found = captured or self._temporary(parts, inside) or view.resolve(TableName.from_parts(parts, current))
        if isinstance(found, TableEntry):
            found_table = replace(
                self._bind_table(found.name, found, time_travel), shown_as=self._shown_as((found,), inside)
            )
            return self._with_policies(found_table, time_travel, is_read=is_read)
        if time_travel is not None:
            raise TimeTravelOnView(str(found.name))
        if is_system_schema(found.name.schema_name):
            return self.system(found)
        names = [each.name for each in inside if not is_unnamed(each)]
        if found.name in names and captured is None:
            raise RecursiveView(str(found.name), " -> ".join(map(str, (*names, found.name))))
        if len(inside) >= VIEW_DEPTH_MAX:
            raise ViewTooDeep(str(names[0]), VIEW_DEPTH_MAX)
        return self._of_view(found, inside)

    def _temporary(self, parts: tuple[str, ...], inside: tuple[ViewEntry, ...]) -> ViewEntry | None:
        """Returns a temporary view that is visible to a text: a catalog view's text sees none, so that it has the same
        meaning in each session; a global one's sees global ones.
        """
        found = self.state.temporary_view(parts)
        if found is None or not inside or is_of_session(inside[-1].name):
            return found
        return found if is_global(inside[-1].name) and is_global(found.name) else None

    def _with_policies(self, table: BoundTable, time_travel: TimeTravel | None, *, is_read: bool) -> BoundTable:
        """Adds the policies that apply to a reader of its rows; a path has the policies of its table.

        If its rows are not read, an undeterminable policy is not an error.
        """
        try:
            policies = policies_of(table, self.view.state, self.functions.principals)
        except SqlError:
            # A statement that only describes the table, or drops it, must work even if its
            # policy is broken.
            if is_read and not self._is_in_policy:
                raise
            return replace(table, is_protected=True)
        if not policies:
            return table
        table = replace(table, policies=policies, is_protected=True)
        if not is_read or self._is_in_policy:
            return table
        if any(isinstance(each, TableEntry) and each.location != table.entry.location for each in table.owners):
            raise PathNotAllowed(table.entry.location)  # a part of the table, or a directory around it
        # Under another format the folder's older versions have other columns, so that the
        # policies cannot be applied.
        recorded = self.view.unrestricted.recorded_at(table.entry.location)
        was_converted = table.name is None and any(each.format != table.entry.format for each in recorded)
        is_older = time_travel is not None or table.entry.location in self._older
        if is_older or was_converted:  # the rows and names in that version
            raise PolicyForbidsTimeTravel(table.label)
        return replace(table, policy=bind_policies(table, self.functions, self.policy_relations))

    def policy_relations(self, query: Query) -> tuple[BoundRelation, ...]:
        """Returns the relations in a policy expression's bodies, to which no policies apply."""
        self._is_in_policy = True
        try:
            return self.relations(query.relations, self.state.current)
        finally:
            self._is_in_policy = False

    def _frame(self, found: FrameView, inside: tuple[ViewEntry, ...]) -> BoundView:
        """Binds a DataFrame, whose inputs are texts of the session's principal. Raises `LocalRelationTooLarge`."""
        if len(found.frame.plan) > PLAN_BYTES_MAX:
            raise LocalRelationTooLarge(len(found.frame.plan), PLAN_BYTES_MAX)
        inside = (*inside, found)
        inputs = tuple(self._input(input_view(each, found), inside) for each in found.frame.inputs)
        return BoundView(entry=found, query=Query(text=""), relations=inputs)

    def _input(self, entry: InputView, inside: tuple[ViewEntry, ...]) -> BoundView:
        query = parse_stored_query(entry.text)
        if query is None:
            raise StatementNotSupported("A statement that is not a query, as the input of a DataFrame,")
        context = TextContext(
            current=entry.current, view=self._view_inside(inside), settings=entry.settings, sees_temporary=True
        )
        query, functions = self.functions.in_query(query, context)
        relations = self.relations(query.relations, entry.current, (*inside, entry))
        return BoundView(entry=entry, query=with_named_markers(query), relations=relations, functions=functions)

    def _of_view(self, found: ViewEntry, inside: tuple[ViewEntry, ...]) -> BoundView:
        if isinstance(found, FrameView):
            return self._frame(found, inside)
        if found.foreign is not None and not found.text:
            raise RestViewNotReadable(str(found.name), ", ".join(found.foreign.dialects) or "none")
        query = parse_stored_query(found.text)
        if query is None:
            raise ViewNotAQuery(str(found.name))
        if isinstance(found, FileView):
            files = bind_files_at(replace(found.files, schema=found.schema), self.view, self.files)
            return BoundView(entry=found, query=query, relations=(files,))
        try:
            # "Definer's rights": names in a view's text are looked up among the objects
            # that its owner sees, and privileges are checked for the owner.
            within = self._view_inside((*inside, found))
            context = TextContext(
                current=found.current,
                view=within,
                settings=found.settings,
                sees_temporary=is_of_session(found.name),
            )
            query, functions = self.functions.in_query(query, context)
            inner = self.relations(query.relations, found.current, (*inside, found))
        except SqlError as error:  # the message may name objects that the text reads
            if is_temporary(found.name) or self.view.tells_all(found):
                raise
            raise ViewOwnerLacksPrivileges(label_of(found)) from error
        hides = self._hides(inner) and not is_temporary(found.name)
        return BoundView(entry=found, query=query, relations=inner, functions=functions, is_hidden=hides)

    def _hides(self, relations: tuple[BoundRelation, ...]) -> bool:
        """Returns whether the principal may not read all sources of relations in a stored text."""
        return any(is_hidden(self.view, table) for table in tables_of(relations)) or hides_files(self.view, relations)

    def _shown_as(self, entries: Iterable[SecurableEntry], inside: tuple[ViewEntry, ...]) -> str | None:
        """Returns the displayed name for a table in a view's text, if it is not visible to the principal."""
        rights = self.view.rights
        outer = next((each for each in inside if not is_unnamed(each)), None)
        if rights is None or outer is None or all(map(rights.is_visible, entries)):
            return None
        return f"a table of {label_of(outer)}"

    def _view_inside(self, inside: tuple[ViewEntry, ...]) -> CatalogView:
        """Returns the catalog for names in the innermost view's text: a catalog view is read as its owner."""
        if inside and inside[-1].foreign is not None:
            return self._view_inside(inside[:-1])
        if not inside or self.view.rights is None or is_temporary(inside[-1].name):
            return self.view
        owner = owner_of(inside[-1])
        if owner not in self._owned_views:
            # Cached for the statement: computing what an owner sees walks the grants of all
            # objects.
            self._owned_views[owner] = self.view.visible_to(caller_of_owner(self.view.state, owner))
        return self._owned_views[owner]

    def bind_for_columns(self, parts: tuple[str, ...]) -> NamedRelation:
        """Binds a name for its columns: a view's are in its catalog entry, even if its tables no longer exist."""
        if path_of(parts) is None:
            found = self.state.temporary_view(parts) or self.view.resolve(
                TableName.from_parts(parts, self.state.current)
            )
            if isinstance(found, ViewEntry) and not is_system_schema(found.name.schema_name):
                return BoundView(entry=found, query=Query(text=found.text), relations=())
        return self.relation(parts, None, self.state.current, is_read=False)

    def system(self, entry: ViewEntry) -> BoundView:
        """Binds the rows of the audit log, of lineage, or of a view in `information_schema` or `system.gateway`.

        Only the views about columns, constraints and table state read logs.
        """
        if entry.name == AUDIT_TABLE:
            return audit_rows(self.audit_folder)
        if is_audit_schema(entry.name.schema_name):
            return lineage_rows(entry, self.view, self.load_lineage)
        if is_server_schema(entry.name.schema_name):
            return server_rows(entry, self.view, self.state.identity, self.activity, self._look)
        return information_view(entry, self.view, partial(self._readable, is_persistent=False), self._look)

    def _look(self, entry: TableEntry) -> BoundTable:
        """Returns a table from a long list, with its policies."""
        return self._with_policies(self._load_uncached(entry), None, is_read=False)

    def _load_uncached(self, entry: TableEntry) -> BoundTable:
        """Returns a table from a long list, uncached: all tables may not fit into memory."""
        with name_table_in_errors(str(entry.name)):
            pinned = self.pinned.get((entry.format, entry.location, None))
            snapshot = pinned or load(self.formats[entry.format], entry.location, None, self.constants)
        return BoundTable(name=entry.name, entry=entry, snapshot=snapshot, own=self.formats[entry.format])

    def table(self, parts: tuple[str, ...], view: CatalogView | None = None) -> BoundTable:
        """Binds a name that must refer to a table, looked up in `view` if given."""
        found = branch_or_tag(
            parts, lambda name, travel: self.relation(name, travel, self.state.current, view=view, is_read=False)
        )
        if isinstance(found, BoundView):
            raise TableExpected(found.label)
        return found

    def parents(self, parts: tuple[str, ...], keys: Iterable[KeyDef]) -> tuple[BoundTable, ...]:
        """Returns the tables that foreign keys of the table `parts` reference, in order, except the table itself."""
        own = TableName.from_parts(parts, self.state.current) if parts and path_of(parts) is None else None
        foreign = [key.parent_parts for key in keys if isinstance(key, ForeignKeyDef)]
        return tuple(
            self.table(each)
            for each in foreign
            if path_of(each) is not None or TableName.from_parts(each, self.state.current) != own
        )

    def children(self, table: BoundTable) -> tuple[BoundTable, ...]:
        """Returns the tables with foreign keys to a table with a primary key; empty without one."""
        if table.name is None or primary_key(table.keys) is None:
            return ()
        found = (
            each for each in self.matching_relations(None, matches_all, matches_all) if isinstance(each, BoundTable)
        )
        return tuple(each for each in found if any(references(key, table.name) for key in each.keys))

    def bind_version_to_restore(self, parts: tuple[str, ...], to: TimeTravel) -> BoundTable:
        """Returns the older table version that RESTORE names. Raises for the newest one, and for one that does not
        exist.
        """
        newest = self.table(parts)
        try:
            found = self.relation(parts, to, self.state.current)
        except SqlError as error:
            cause = RESTORE_ERRORS.get(error.condition)
            if cause is None:
                raise
            raise cause(newest.label, error.message) from error
        assert isinstance(found, BoundTable)
        version, now = found.snapshot.version, newest.snapshot.version
        # version numbers of other formats are not ordered
        if version == now or (version > now and newest.entry.format == DEFAULT_FORMAT):
            raise CannotRestoreVersion(newest.label, f"Version {found.snapshot.version} is its newest version.")
        return found

    def schema(self, parts: tuple[str, ...]) -> SchemaName:
        """Returns the schema for a SHOW: the named one, or the current one."""
        return SchemaName.from_parts(parts, self.state.catalog) if parts else self.state.current

    def listed_in(self, schema: SchemaName, tables: Matcher) -> Iterator[NamedRelation]:
        """Yields the visible tables and views of a schema whose names match, views unbound.

        A table that cannot be read is left out, with a warning in the server's log.
        """
        yield from self._readable(self.view.relations(schema, tables))

    def matching_relations(self, catalog: str | None, schemas: Matcher, tables: Matcher) -> Iterator[NamedRelation]:
        """Yields tables and views by pattern."""
        yield from self._readable(self.view.find_relations(catalog, schemas, tables))

    def relations_with_comments(
        self, catalog: str | None, schemas: Matcher, tables: Matcher
    ) -> tuple[NamedRelation, ...]:
        """Returns the relations with comments for a table list: a table's comment is in its log, so long lists have
        none.
        """
        found = tuple(itertools.islice(self.view.find_relations(catalog, schemas, tables), _COMMENTED_MAX + 1))
        return tuple(self._readable(found)) if len(found) <= _COMMENTED_MAX else ()

    def _readable(self, relations: Iterable[CatalogRelation], *, is_persistent: bool = True) -> Iterator[NamedRelation]:
        """Yields relations for lists: views by their catalog entry alone, tables if log and schema can be read;
        otherwise the server's log has a line.

        Uncached tables may be more than fit into memory.
        """
        for entry in relations:
            try:
                if isinstance(entry, TableEntry):
                    found = self._bind_table(entry.name, entry, None) if is_persistent else self._load_uncached(entry)
                    _ = found.snapshot.schema  # may have types that only other engines support
                    yield found
                else:
                    yield BoundView(entry=entry, query=Query(text=entry.text), relations=())
            except SqlError as error:
                logger.warning("left out of a list: %s: %s", entry.name, error)

    def _bind_table(
        self,
        name: TableName | None,
        entry: TableEntry,
        time_travel: TimeTravel | None,
        owners: tuple[PathOwner, ...] = (),
    ) -> BoundTable:
        snapshot = self.pin(entry, time_travel)
        own = self.formats[entry.format]
        return BoundTable(
            name=name,
            entry=entry,
            snapshot=snapshot,
            own=own,
            owners=owners,
            has_dates_as_texts=self.state.value(DATES_AS_TEXTS) == "true",
        )

    def _at_version(self, entry: TableEntry, newest: TableSnapshot, wanted: str) -> TableSnapshot:
        """Returns the snapshot at a version. Raises `ConcurrentDrop`, and the errors of time travel."""
        if _version_text(newest) == wanted:
            return newest
        version = wanted.partition(" ")[0]
        found = load(self.formats[entry.format], entry.location, AsOfVersion(int(version)), self.constants)
        if _version_text(found) != wanted:
            raise ConcurrentDrop(str(entry.name))
        self._older.add(entry.location)
        return found

    def pin(self, entry: TableEntry, time_travel: TimeTravel | None) -> TableSnapshot:
        """Returns the table's snapshot for this statement, loaded once per location and time travel.

        Raises the format's errors for an unreadable table, and for a missing version.
        """
        self.formats_met.add(entry.format)
        key = (entry.format, entry.location, time_travel)
        # One snapshot for all names of a table in the statement: a self-join must not see
        # two versions.
        if key not in self.pinned:
            with name_table_in_errors(str(entry.name)):
                found = load(self.formats[entry.format], entry.location, time_travel, self.constants)
                wanted = self._wanted.get(entry.location) if time_travel is None else None
                self.pinned[key] = found if wanted is None else self._at_version(entry, found, wanted)
        return self.pinned[key]


def _version_text(snapshot: TableSnapshot) -> str:
    return f"{snapshot.version} {snapshot.details.id}"


S = TypeVar("S", bound=Statement)


def bind(statement: S, bind_names: Callable[[S, Binder], BoundNames], binder: Binder) -> BoundStatement:
    """Resolves the names in `statement`. Raises the catalog's and the log's errors."""
    statement, functions = binder.functions.in_statement(statement, binder.state.current)
    names = bind_names(statement, binder)
    return BoundStatement(
        statement=names.statement or statement,
        state=binder.state,
        view=binder.view,
        relations=names.relations,
        target=names.target,
        functions=functions,
        securable=names.securable,
        time_ms=names.time_ms,
        is_persistent=names.is_persistent,
        knows_user=binder.activity.knows_user,
        load_lineage=binder.load_lineage,
    )
