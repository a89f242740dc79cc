"""Answers queries of `pg_catalog` and `information_schema` for one principal and one database.

A query of the system catalog is rewritten (`engine/sql/postgres`) and runs in a DuckDB of its own (`database.py`),
whose relations contain what the engine's metadata calls list for the principal.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from engine.sql.postgres.catalog_query import CatalogQuery, Parameters, catalog_query
from engine.sql.postgres.scopes import CatalogNames, CatalogSession
from gateway.postgres.catalog.content import (
    Row,
    RunCall,
    VisibleObjects,
    visible_checks,
    visible_columns,
    visible_keys,
    visible_objects,
)
from gateway.postgres.catalog.database import CatalogDatabase, arrow_type
from gateway.postgres.catalog.entries import EntryRows, system_functions, visible_entries
from gateway.postgres.catalog.functions import FUNCTIONS, TABLE_FUNCTIONS
from gateway.postgres.catalog.oids import OidTable
from gateway.postgres.catalog.resources import KEYWORDS, base_types, system_relations, type_oid
from gateway.postgres.catalog.rows import (
    ATTRIBUTE_CELLS,
    CatalogRows,
    Constraints,
    constant_rows,
    constraint_rows,
    dependency_rows,
    function_rows,
    index_rows,
    sequence_rows,
    system_attributes,
)
from gateway.postgres.catalog.settings import FIXED, setting_rows
from gateway.postgres.catalog.views import VIEWS

TYPE_OID = b"postgres_oid"
OIDS = OidTable()
# A list of objects is used again for this long: tools send their queries in bursts.
_FRESH_S = 1.0
_KEY_RELATIONS = frozenset({"pg_catalog.pg_constraint", "pg_catalog.pg_index"})
_SEQUENCE_RELATIONS = frozenset({"pg_catalog.pg_sequence", "pg_catalog.pg_depend"})
_COLUMN_RELATIONS = frozenset({"pg_catalog.pg_attribute", "pg_catalog.pg_attrdef"}) | _SEQUENCE_RELATIONS
_COLUMN_FUNCTIONS = frozenset({"col_description", "pg_get_serial_sequence"})
_ENTRY_RELATIONS = frozenset(
    {"pg_catalog.pg_proc", "pg_catalog.pg_views", "information_schema.views"}
    | {"information_schema.table_privileges", "information_schema.role_table_grants"}
)
_ENTRY_FUNCTIONS = re.compile(r"has_\w+_privilege|pg_get_viewdef|pg_(get_)?function_\w+|pg_get_functiondef|to_regproc")
_KEY_FUNCTIONS = frozenset({"pg_get_constraintdef", "pg_get_indexdef"})
# psql reads the constraints and indexes of a table only if these columns count some.
_KEY_COUNTS = re.compile(r"(?i)\brel(?:checks|hasindex)\b")
# Conditions that name one table by its oid: psql and drivers read the columns of one table after the other.
_OID_LITERAL = re.compile(r"(?i)\battrelid\s*=\s*'?(\d{5,10})'?(?!\d)")
_OR = re.compile(r"(?i)\bor\b")


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """A column of an answer: its label, and the name and oid of its type."""

    label: str
    type_name: str
    type_oid: int


@dataclass(frozen=True, slots=True)
class Description:
    """The columns of a query, and the oids of its parameters' types."""

    columns: tuple[AnswerColumn, ...]
    parameter_oids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query; each field's metadata has the oid of its type under :data:`TYPE_OID`.

    `settings` are those that the query sets by `set_config`, which the session has to apply.
    """

    columns: tuple[AnswerColumn, ...]
    rows: pa.Table
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Loaded:
    """Parts of the database that are filled, for the current list of objects."""

    relations: set[str] = field(default_factory=set)
    columns: pa.Table | None = None
    # The tables whose columns are loaded; None for all.
    column_tables: frozenset[int] | None = frozenset()
    sequences: list[Row] = field(default_factory=list)
    constraints: Constraints = field(default_factory=Constraints)
    has_keys: bool = False
    entries: EntryRows | None = None
    # The schema whose relations have privileges without a qualified name too; None: no privileges are stored.
    privileges_schema: str | None = None


class SystemCatalog:
    """The system catalog of one principal in one database; safe for use by several threads.

    `run` runs a metadata call of the engine with the principal's rights. Sessions that share a catalog give their own
    with each query: objects are listed again where another session asks, since a session has temporary views.
    """

    def __init__(self, run: RunCall, *, user: str, database: str, oids: OidTable = OIDS) -> None:
        self._run = run
        self._user = user
        self._name = database
        self._oids = oids
        self._lock = threading.Lock()
        self._database: CatalogDatabase | None = None
        self._objects: VisibleObjects | None = None
        self._listed_at = 0.0
        self._loaded = _Loaded()
        self._names = CatalogNames(
            relations={name: relation.columns for name, relation in system_relations().items()},
            oids={name: relation.oid for name, relation in system_relations().items()},
            functions=FUNCTIONS,
            tables=TABLE_FUNCTIONS,
        )

    def close(self) -> None:
        """Releases the database."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def forget(self) -> None:
        """Lists objects again for the next query: call it after a statement that may have changed them."""
        self._listed_at = 0.0

    def describe(self, text: str, session: CatalogSession, parameter_types: Sequence[str] = ()) -> Description | None:
        """Returns a query's columns without running it; None if it is no query of the system catalog.

        `parameter_types` are names of types, empty for those to infer.
        """
        query = catalog_query(text, self._names, session, Parameters(parameter_types))
        if query is None:
            return None
        return Description(_columns(query), tuple(type_oid(name) for name in query.parameter_types))

    def answer(
        self,
        text: str,
        session: CatalogSession,
        values: Sequence[str | None] = (),
        parameter_types: Sequence[str] = (),
        run: RunCall | None = None,
    ) -> Answer | None:
        """Runs a query; None if it is no query of the system catalog.

        `run` is the session's, if it is not the one that the catalog was made with. `values` are the parameters in
        PostgreSQL's text form. Raises a `SqlError`.
        """
        query = catalog_query(text, self._names, _with_fixed(session), Parameters(parameter_types, values))
        if query is None:
            return None
        with self._lock:
            if run is not None and run is not self._run:
                self._run = run
                self.forget()
            database = self._prepared(query, text, session)
            rows = database.query(query.text)
        columns = _columns(query)
        return Answer(columns, _with_types(rows, columns), query.settings)

    def _prepared(self, query: CatalogQuery, text: str, session: CatalogSession) -> CatalogDatabase:
        if self._database is None:
            self._database = CatalogDatabase()
            self._listed_at, self._objects = 0.0, None
            self._store_constants(self._database)
        now = time.monotonic()
        if not self._listed_at or now - self._listed_at > _FRESH_S:
            self._listed_at = now  # before the listing, so that a change meanwhile is not missed
            try:
                self._list(self._database)
            except BaseException:
                self.forget()
                raise
        relations = _with_dependencies(query.relations)
        self._store_session(self._database, session)
        if relations & _KEY_RELATIONS or query.names & _KEY_FUNCTIONS or _KEY_COUNTS.search(text):
            self._load_columns(None)
            self._load_keys(self._database)
        elif relations & _COLUMN_RELATIONS or query.names & _COLUMN_FUNCTIONS:
            self._load_columns(self._one_table(text, query))
        if relations & _ENTRY_RELATIONS or any(map(_ENTRY_FUNCTIONS.fullmatch, query.names)):
            self._load_entries(self._database, session.schema)
        for relation in sorted(relations, key=lambda name: name in VIEWS):
            self._load(self._database, relation, session)
        if query.names & _COLUMN_FUNCTIONS:
            self._load(self._database, "pg_catalog.pg_description", session)
        return self._database

    def _one_table(self, text: str, query: CatalogQuery) -> frozenset[int] | None:
        """Returns the oid of the only table whose columns the query reads; None if there may be several."""
        found = set(_OID_LITERAL.findall(text))
        if len(found) != 1 or text.lower().count("pg_attribute") != 1 or _OR.search(text):
            return None
        return frozenset({int(found.pop())})

    def _store_constants(self, database: CatalogDatabase) -> None:
        types = [
            (kind.oid, kind.name, kind.display, kind.row["nspname"] == "pg_catalog") for kind in base_types().values()
        ]
        database.store_helper("pgf_types", types)
        database.store_helper("pgf_functions", system_functions())
        database.store_helper("pgf_keywords", [(word,) for word in KEYWORDS])

    def _list(self, database: CatalogDatabase) -> None:
        """Lists the objects again; what was stored from an older list is stored again when it is named."""
        objects = visible_objects(self._run, self._name)
        self._loaded.columns, self._loaded.column_tables, self._loaded.has_keys = None, frozenset(), False
        self._loaded.entries = None
        self._loaded.relations -= {"pg_catalog.pg_proc", *_COLUMN_RELATIONS, *_KEY_RELATIONS}
        if self._objects is not None and objects.is_same(self._objects):
            return
        self._objects = objects
        self._loaded = _Loaded()
        rows = self._rows()
        self._store_relations(database)
        database.store_helper("pgf_namespaces", [(row["oid"], row["nspname"]) for row in rows.namespaces()])
        database.store_helper("pgf_roles", [(row["oid"], row["rolname"]) for row in rows.roles()])
        self._store_descriptions(database)

    def _store_relations(self, database: CatalogDatabase) -> None:
        system = [(one.oid, *one.name.split(".", 1)) for one in system_relations().values()]
        users = [(oid, *name) for oid, name in self._rows().names().items()]
        indexes = [(key["index_oid"], key["schema"], key["name"]) for key in self._loaded.constraints.primary]
        sequences = [(row["oid"], row["schema"], row["name"]) for row in self._loaded.sequences]
        every = (*system, *users, *indexes, *sequences)
        found = [(oid, schema, name, f"{schema}.{name}") for oid, schema, name in every]
        database.store_helper("pgf_relations", found)

    def _store_descriptions(self, database: CatalogDatabase) -> None:
        rows = self._rows().descriptions(self._loaded.columns)
        found = [(row["objoid"], row["objsubid"], "pg_class", row["description"]) for row in rows]
        database.store_helper("pgf_descriptions", found)

    def _store_session(self, database: CatalogDatabase, session: CatalogSession) -> None:
        values = {
            "version": session.settings.get("version", ""),
            "database": session.database,
            "schema": session.schema,
            "user": session.user,
            "pid": session.settings.get("backend_pid", "0"),
            "started": session.settings.get("started", "2000-01-01 00:00:00+00"),
            **{f"setting:{name}": value for name, value in {**FIXED, **session.settings}.items()},
        }
        database.store_helper("pgf_session", list(values.items()))

    def _rows(self) -> CatalogRows:
        assert self._objects is not None
        return CatalogRows(self._objects, self._name, self._user, self._oids)

    def _load_columns(self, tables: frozenset[int] | None) -> None:
        loaded = self._loaded
        assert self._database is not None
        if loaded.column_tables is None or (tables is not None and tables <= loaded.column_tables):
            return
        names = None
        if tables is not None:
            known = self._rows().names()
            tables |= loaded.column_tables
            names = [known[oid] for oid in sorted(tables) if oid in known]
            if not names and loaded.columns is not None:
                return
        loaded.columns = visible_columns(self._run, self._name, names or None, self._rows().temporary_views)
        loaded.column_tables = tables if names else None
        loaded.relations -= {*_COLUMN_RELATIONS, "pg_catalog.pg_class", "pg_catalog.pg_description"}
        loaded.sequences = self._rows().sequences(loaded.columns)
        names_of = "oid table_oid number column schema name start step minimum maximum".split()
        cells = [[row[name] for name in names_of] for row in loaded.sequences]
        self._database.store_helper("pgf_sequences", cells)
        self._store_relations(self._database)

    def _load_keys(self, database: CatalogDatabase) -> None:
        loaded = self._loaded
        if loaded.has_keys or loaded.columns is None:
            return
        rows = self._rows()
        cells = loaded.columns.select(["schema", "table", "column", "position"]).to_pylist()
        numbers = {(rows.table_oid(row["schema"], row["table"]), row["column"]): row["position"] for row in cells}
        primary, foreign = visible_keys(self._run, self._name)
        loaded.constraints = Constraints(
            rows.primary_keys(primary, numbers),
            rows.foreign_keys(foreign, numbers),
            rows.checks(visible_checks(self._run, self._name), numbers),
        )
        loaded.has_keys = True
        # The keys' indexes are relations with columns.
        loaded.relations -= {*_KEY_RELATIONS, "pg_catalog.pg_class", "pg_catalog.pg_attribute"}
        definitions = _definitions(loaded.constraints)
        database.store_helper("pgf_definitions", definitions)
        self._store_relations(database)

    def _load_entries(self, database: CatalogDatabase, schema: str) -> None:
        loaded = self._loaded
        if loaded.entries is None:
            loaded.entries = EntryRows(visible_entries(self._run, self._name), self._rows())
            loaded.privileges_schema = None
            loaded.relations -= {"pg_catalog.pg_proc"}
            database.store_helper("pgf_view_texts", loaded.entries.view_texts())
            database.store_helper("pgf_functions", [*system_functions(), *loaded.entries.function_texts()])
        if loaded.privileges_schema != schema:
            database.store_helper("pgf_privileges", list(loaded.entries.privileges(schema)))
            loaded.privileges_schema = schema

    def _load(self, database: CatalogDatabase, relation: str, session: CatalogSession) -> None:
        if relation == "pg_catalog.pg_settings":
            database.store_rows(relation, setting_rows(session.settings))
            return
        if relation in self._loaded.relations:
            return
        self._loaded.relations.add(relation)
        if relation in VIEWS:
            database.store_view(relation, VIEWS[relation][1])
        elif relation == "pg_catalog.pg_attribute":
            self._store_attributes(database)
        else:
            database.store_rows(relation, self._relation_rows(relation.partition(".")[2]))
        if relation == "pg_catalog.pg_description":
            self._store_descriptions(database)

    def _relation_rows(self, name: str) -> list[Row]:
        rows, loaded = self._rows(), self._loaded
        columns = loaded.columns
        match name:
            case "pg_namespace":
                return rows.namespaces()
            case "pg_database":
                return rows.databases()
            case "pg_authid":
                return rows.roles()
            case "pg_class":
                return list(rows.classes(self._column_counts(), loaded.constraints, loaded.sequences))
            case "pg_description":
                return list(rows.descriptions(columns))
            case "pg_attrdef":
                return [] if columns is None else list(rows.defaults(columns))
            case "pg_constraint":
                return list(constraint_rows(loaded.constraints))
            case "pg_index":
                return list(index_rows(loaded.constraints.primary))
            case "pg_sequence":
                return list(sequence_rows(loaded.sequences))
            case "pg_depend":
                return list(dependency_rows(loaded.sequences))
            case "pg_proc":
                assert loaded.entries is not None  # loaded for each query that names this relation
                return [*function_rows(), *loaded.entries.functions()]
            case _:  # a relation without rows of its own
                return constant_rows().get(name, [])

    def _column_counts(self) -> Mapping[int, int]:
        columns = self._loaded.columns
        if columns is None:
            return {}
        counts: dict[int, int] = {}
        rows = self._rows()
        grouped = columns.group_by(["schema", "table"]).aggregate([("column", "count")])
        for row in grouped.to_pylist():
            counts[rows.table_oid(row["schema"], row["table"])] = row["column_count"]
        return counts

    def _store_attributes(self, database: CatalogDatabase) -> None:
        relation = "pg_catalog.pg_attribute"
        kinds = system_relations()[relation].columns
        parts = [_typed_cells(_system_cells(), kinds)]
        if self._loaded.columns is not None and self._loaded.columns.num_rows:
            parts.append(_typed_cells(self._rows().attributes(self._loaded.columns), kinds))
            parts.append(_index_columns(pa.concat_tables(parts), self._loaded.constraints.primary))
        rows = pa.concat_tables(parts)
        defaults = {"attcacheoff": -1, "attstattarget": -1, "attislocal": True}
        for name, kind in kinds.items():
            if name not in rows.column_names:
                value = defaults.get(name, database.default_of(relation, name))
                rows = rows.append_column(name, pa.repeat(pa.scalar(value, arrow_type(kind)), rows.num_rows))
        database.store_table(relation, rows.select(list(kinds)))


def _system_cells() -> dict[str, list[object]]:
    system = list(system_attributes())
    return {name: [row[name] for row in system] for name in ATTRIBUTE_CELLS}


def _typed_cells(cells: Mapping[str, Any], kinds: Mapping[str, str]) -> pa.Table:
    """Returns cells, as lists or arrays, with the types of their columns."""
    arrays = []
    for name in ATTRIBUTE_CELLS:
        values, kind = cells[name], arrow_type(kinds[name])
        arrays.append(pa.array(values, kind) if isinstance(values, list) else values.cast(kind))
    return pa.table(arrays, names=list(ATTRIBUTE_CELLS))


def _index_columns(rows: pa.Table, primary: Sequence[Row]) -> pa.Table:
    """Returns the columns of the keys' indexes, which are those of the tables."""
    if not primary:
        return rows.slice(0, 0)
    keys = zip(rows["attrelid"].to_pylist(), rows["attnum"].to_pylist(), strict=True)
    places = {key: place for place, key in enumerate(keys)}
    taken: list[int] = []
    oids: list[int] = []
    numbers: list[int] = []
    for key in primary:
        for position, number in enumerate(key["numbers"], 1):
            place = places.get((key["table_oid"], number))
            if place is not None:
                taken.append(place)
                oids.append(key["index_oid"])
                numbers.append(position)
    found = rows.take(pa.array(taken, pa.int64()))
    changed = {"attrelid": oids, "attnum": numbers, "attnotnull": [False] * len(taken)}
    for name, values in changed.items():
        at = found.column_names.index(name)
        found = found.set_column(at, name, pa.array(values, found.schema.field(name).type))
    return found


def _definitions(constraints: Constraints) -> list[tuple[object, ...]]:
    """Returns rows of the definitions of indexes and constraints."""
    made: list[tuple[object, ...]] = []
    for key in constraints.primary:
        listed = ", ".join(map(_quote_ident, key["columns"]))
        names = (_quote_ident(key["schema"]), _quote_ident(key["table"]))
        begin = f"CREATE UNIQUE INDEX {_quote_ident(key['name'])} ON "
        made.append((key["index_oid"], "i", begin, *names, f" USING btree ({listed})", key["columns"]))
        made.append((key["constraint_oid"], "c", f"PRIMARY KEY ({listed})", "", "", "", []))
    for check in constraints.checks:
        made.append((check["constraint_oid"], "c", f"CHECK ({check['expression']})", "", "", "", []))
    for key in constraints.foreign:
        listed, parents = (", ".join(map(_quote_ident, key[name])) for name in ("columns", "parent_columns"))
        names = (_quote_ident(key["parent"][0]), _quote_ident(key["parent"][1]))
        made.append((key["constraint_oid"], "c", f"FOREIGN KEY ({listed}) REFERENCES ", *names, f"({parents})", []))
    return made


def _with_fixed(session: CatalogSession) -> CatalogSession:
    return replace(session, settings={**FIXED, **session.settings})


def _with_dependencies(relations: frozenset[str]) -> frozenset[str]:
    found = set(relations)
    for relation in relations & VIEWS.keys():
        found |= {f"pg_catalog.{name}" for name in VIEWS[relation][0].split()}
    return frozenset(found)


def _columns(query: CatalogQuery) -> tuple[AnswerColumn, ...]:
    return tuple(AnswerColumn(label, name, type_oid(name)) for label, name in query.columns)


def _with_types(rows: pa.Table, columns: Sequence[AnswerColumn]) -> pa.Table:
    """Returns the rows with the columns' types and labels."""
    arrays, fields = [], []
    for column, values in zip(columns, rows.columns, strict=True):
        kind = _result_type(column.type_name)
        arrays.append(values if values.type == kind else values.cast(kind, safe=False))
        fields.append(pa.field(column.label, kind, metadata={TYPE_OID: str(column.type_oid).encode()}))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _result_type(name: str) -> pa.DataType:
    return pa.string() if name.startswith("reg") else arrow_type(name)


def _quote_ident(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'
