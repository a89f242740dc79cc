"""The rows of the catalog's stored relations, as dictionaries by column; columns without a value get their default.

Objects of the user have the owner 10, the server. A table with columns of nested types has them as JSON.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from gateway.postgres.catalog.column_types import column_type
from gateway.postgres.catalog.content import TEMPORARY_SCHEMA, Row, VisibleObjects
from gateway.postgres.catalog.generations import parse_generation, postgres_spelling, words_of
from gateway.postgres.catalog.oids import OidTable
from gateway.postgres.catalog.resources import (
    BaseType,
    SystemRelation,
    base_functions,
    base_types,
    system_relations,
)

OWNER, OWNER_NAME = 10, "delta_gateway"
CATALOG_OID, TOAST_OID, INFORMATION_OID = 11, 99, 13_207
CLASS_OID, CONSTRAINT_OID, DATABASE_OID, NAMESPACE_OID = 1259, 2606, 1262, 2615
_HEAP, _BTREE, _HASH = 2, 403, 405
_DEFAULT_COLLATION, _NAME_COLLATION = 100, 950
_DEFAULT_TABLESPACE = 1663
_UTF8 = 6
SYSTEM_SCHEMAS = {"pg_catalog": CATALOG_OID, "information_schema": INFORMATION_OID}
_LANGUAGES = ((12, "internal"), (13, "c"), (14, "sql"))
_METHODS = ((2, "heap", "t"), (403, "btree", "i"), (405, "hash", "i"), (783, "gist", "i"), (2742, "gin", "i"))
_COLLATIONS = ((100, "default", "d", -1, ""), (950, "C", "c", -1, "C"), (951, "POSIX", "c", -1, "POSIX"))
_RANGES = (
    (3904, 23, 4451, 1978),
    (3906, 1700, 4532, 3125),
    (3908, 1114, 4533, 3128),
    (3910, 1184, 4534, 3127),
    (3912, 1082, 4535, 3122),
    (3926, 20, 4536, 3124),
)


@dataclass(slots=True)
class Constraints:
    """The constraints of a catalog's tables: a row each."""

    primary: list[Row] = field(default_factory=list)
    foreign: list[Row] = field(default_factory=list)
    checks: list[Row] = field(default_factory=list)


class CatalogRows:
    """Makes rows for one database, which is one catalog of the server."""

    def __init__(self, objects: VisibleObjects, database: str, user: str, oids: OidTable) -> None:
        self._objects = objects
        self._database = database
        self._user = user
        self._oids = oids
        self._tables: list[Row] = objects.tables.to_pylist()

    @property
    def temporary_views(self) -> list[str]:
        """Returns the names of the session's own views."""
        return self._objects.temporary_views

    def schema_oid(self, schema: str) -> int:
        """Returns a schema's oid."""
        return SYSTEM_SCHEMAS.get(schema) or self._oids.oid("schema", self._database, schema)

    def database_oid(self, name: str) -> int:
        """Returns the oid of a catalog."""
        return self._oids.oid("database", name)

    def function_oid(self, schema: str, name: str) -> int:
        """Returns the oid of a user's function."""
        return self._oids.oid("function", self._database, schema, name)

    def table_oid(self, schema: str, table: str) -> int:
        """Returns the oid of a table or view."""
        return self._oids.oid("table", self._database, schema, table)

    def names(self) -> dict[int, tuple[str, str]]:
        """Returns schema and name of the user's tables and views, by oid."""
        return {self.table_oid(row["schema"], row["table"]): (row["schema"], row["table"]) for row in self._tables}

    def namespaces(self) -> list[Row]:
        """Returns rows of pg_namespace."""
        system = [("pg_catalog", CATALOG_OID), ("pg_toast", TOAST_OID), ("information_schema", INFORMATION_OID)]
        users = [(schema, self.schema_oid(schema)) for schema in self._objects.schemas if schema not in SYSTEM_SCHEMAS]
        return [{"oid": oid, "nspname": name, "nspowner": OWNER} for name, oid in (*system, *users)]

    def databases(self) -> list[Row]:
        """Returns rows of pg_database: each catalog of the server."""
        shared = {
            "datdba": OWNER,
            "encoding": _UTF8,
            "datlocprovider": "c",
            "datallowconn": True,
            "datconnlimit": -1,
            "datfrozenxid": 1,
            "datminmxid": 1,
            "dattablespace": _DEFAULT_TABLESPACE,
            "datcollate": "C.UTF-8",
            "datctype": "C.UTF-8",
        }
        names = dict.fromkeys((*self._objects.catalogs, self._database))
        return [{"oid": self.database_oid(name), "datname": name, **shared} for name in names]

    def roles(self) -> list[Row]:
        """Returns rows of pg_authid: the server, and the principal."""
        shared = {"rolinherit": True, "rolcanlogin": True, "rolconnlimit": -1}
        user = {"oid": self._oids.oid("role", self._user), "rolname": self._user, **shared}
        return [{"oid": OWNER, "rolname": OWNER_NAME, **shared, "rolcanlogin": False}, user]

    def classes(self, counts: Mapping[int, int], constraints: Constraints, sequences: Iterable[Row]) -> Iterator[Row]:
        """Yields rows of pg_class; `counts` has the number of columns by oid."""
        for relation in system_relations().values():
            yield {**_class(relation.oid, *_schema_and_name(relation)), "relnatts": len(relation.columns),
                   "relkind": relation.kind, "relam": _HEAP if relation.kind == "r" else 0,
                   "relhasrules": relation.kind == "v"}  # fmt: skip
        keys = {row["table_oid"]: row for row in constraints.primary}
        checks = Counter(row["table_oid"] for row in constraints.checks)
        for row in self._tables:
            oid = self.table_oid(row["schema"], row["table"])
            is_view = row["type"] == "VIEW"
            yield {
                **_class(oid, self.schema_oid(row["schema"]), row["table"]),
                "relnatts": counts.get(oid, 0),
                "relkind": "v" if is_view else "r",
                "relam": 0 if is_view else _HEAP,
                "relhasrules": is_view,
                "relhasindex": oid in keys,
                "relchecks": checks[oid],
                "relreplident": "n" if is_view else "d",
                "relpersistence": "t" if row["schema"] == TEMPORARY_SCHEMA else "p",
            }
        for row in keys.values():
            yield {
                **_class(row["index_oid"], row["schema_oid"], row["name"]),
                "relkind": "i",
                "relam": _BTREE,
                "relnatts": len(row["numbers"]),
                "relreplident": "n",
            }
        for row in sequences:
            yield {**_class(row["oid"], self.schema_oid(row["schema"]), row["name"]), "relkind": "S", "relnatts": 3}

    def sequences(self, columns: pa.Table) -> list[Row]:
        """Returns a row for each identity column, whose values PostgreSQL takes from a sequence."""
        generated = columns.filter(pc.starts_with(columns["generated"], "GENERATED").fill_null(False))
        found = []
        for row in generated.to_pylist():
            identity = parse_generation(row["generated"]).identity
            if identity is not None:
                name = f"{row['table']}_{row['column']}_seq"
                found.append(
                    {
                        "oid": self._oids.oid("sequence", self._database, row["schema"], name),
                        "table_oid": self.table_oid(row["schema"], row["table"]),
                        "number": row["position"],
                        "column": row["column"],
                        "schema": row["schema"],
                        "name": name,
                        **identity.cells(),
                    }
                )
        return found

    def descriptions(self, columns: pa.Table | None) -> Iterator[Row]:
        """Yields rows of pg_description: comments on tables, and on columns if these are given."""
        for row in self._tables:
            if row["comment"]:
                oid = self.table_oid(row["schema"], row["table"])
                yield {"objoid": oid, "classoid": CLASS_OID, "objsubid": 0, "description": row["comment"]}
        for row in () if columns is None else columns.to_pylist():
            if row["comment"]:
                yield {"objoid": self.table_oid(row["schema"], row["table"]), "classoid": CLASS_OID,
                       "objsubid": row["position"], "description": row["comment"]}  # fmt: skip

    def attributes(self, columns: pa.Table) -> dict[str, pa.ChunkedArray | pa.Array]:
        """Returns the cells of the user's part of pg_attribute that are in :data:`ATTRIBUTE_CELLS`.

        There may be a million rows of few different tables and types, so cells are taken from what is made once.
        """
        keys = pc.binary_join_element_wise(columns["schema"], columns["table"], "\0").combine_chunks()
        encoded = keys.dictionary_encode()
        oids = [self.table_oid(*key.split("\0")) for key in encoded.dictionary.to_pylist()]
        types = columns["sql_type"].combine_chunks().dictionary_encode()
        described = [column_type(sql_type) for sql_type in types.dictionary.to_pylist()]
        cells = [_attribute_type(kind.name, kind.modifier) for kind in described]
        clauses = columns["generated"].combine_chunks().dictionary_encode()
        generations = [parse_generation(clause) for clause in clauses.dictionary.to_pylist()]
        identities, stored = (
            pa.array(kinds, pa.string()).take(clauses.indices).fill_null("")
            for kinds in (
                [one.identity.kind if one.identity else "" for one in generations],
                ["s" if one.expression is not None else "" for one in generations],
            )
        )
        by_type = list(zip(*cells, strict=True)) or [()] * len(_TYPE_CELLS)
        return {
            "attrelid": pa.array(oids, pa.int64()).take(encoded.indices),
            "attname": columns["column"],
            "attnum": columns["position"],
            "attnotnull": pc.invert(columns["nullable"]),
            "atthasdef": pc.or_(columns["default"].is_valid(), pc.equal(stored, "s")),
            "attidentity": identities,
            "attgenerated": stored,
            **{
                name: pa.array(list(values)).take(types.indices)
                for name, values in zip(_TYPE_CELLS, by_type, strict=True)
            },
        }

    def defaults(self, columns: pa.Table) -> Iterator[Row]:
        """Yields rows of pg_attrdef."""
        for row in columns.to_pylist():
            default = row["default"]
            if default is None and row["generated"] is not None:
                default = parse_generation(row["generated"]).expression
            if default is not None:
                oid = self.table_oid(row["schema"], row["table"])
                name = ("default", self._database, row["schema"], row["table"], row["column"])
                yield {"oid": self._oids.oid(*name), "adrelid": oid, "adnum": row["position"],
                       "adbin": default}  # fmt: skip

    def primary_keys(self, rows: Iterable[Row], numbers: Mapping[tuple[int, str], int]) -> list[Row]:
        """Returns a row per primary key with its oids; `numbers` are those of columns, by table oid and name."""
        found: dict[int, Row] = {}
        for row in sorted(rows, key=lambda row: int(row["position"])):
            oid = self.table_oid(row["schema"], row["table"])
            name = row["name"] or f"{row['table']}_pkey"
            key = found.setdefault(
                oid,
                {
                    "table_oid": oid,
                    "schema": row["schema"],
                    "table": row["table"],
                    "schema_oid": self.schema_oid(row["schema"]),
                    "name": name,
                    "index_oid": self._oids.oid("index", self._database, row["schema"], row["table"], name),
                    "constraint_oid": self._oids.oid("constraint", self._database, row["schema"], row["table"], name),
                    "columns": [],
                    "numbers": [],
                },
            )
            key["columns"].append(row["column"])
            key["numbers"].append(numbers.get((oid, row["column"]), 0))
        return list(found.values())

    def foreign_keys(self, rows: Iterable[Row], numbers: Mapping[tuple[int, str], int]) -> list[Row]:
        """Returns a row per foreign key, as :meth:`primary_keys`."""
        grouped: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
        for row in rows:
            if row["pk_catalog"] == self._database:
                grouped[row["fk_schema"], row["fk_table"], row["fk_name"]].append(row)
        made = []
        for (schema, table, name), members in grouped.items():
            oid, first = self.table_oid(schema, table), members[0]
            parent = self.table_oid(first["pk_schema"], first["pk_table"])
            made.append(
                {
                    "table_oid": oid,
                    "schema_oid": self.schema_oid(schema),
                    "name": name,
                    "constraint_oid": self._oids.oid("constraint", self._database, schema, table, name),
                    "columns": [row["fk_column"] for row in members],
                    "numbers": [numbers.get((oid, row["fk_column"]), 0) for row in members],
                    "parent_oid": parent,
                    "parent": (first["pk_schema"], first["pk_table"]),
                    "parent_columns": [row["pk_column"] for row in members],
                    "parent_numbers": [numbers.get((parent, row["pk_column"]), 0) for row in members],
                    "pk_name": first["pk_name"],
                }
            )
        return made

    def checks(self, rows: Iterable[Row], numbers: Mapping[tuple[int, str], int]) -> list[Row]:
        """Returns a row per CHECK constraint, as :meth:`primary_keys`."""
        return [
            {
                "table_oid": (oid := self.table_oid(row["schema"], row["table"])),
                "schema_oid": self.schema_oid(row["schema"]),
                "name": row["name"],
                "constraint_oid": self._oids.oid(
                    "constraint", self._database, row["schema"], row["table"], row["name"]
                ),
                "expression": postgres_spelling(row["expression"]),
                "numbers": sorted(
                    {numbers[oid, name] for name in words_of(row["expression"]) if (oid, name) in numbers}
                ),
            }
            for row in rows
        ]


# The columns of pg_attribute in which rows differ.
_TYPE_CELLS = "atttypid attlen attbyval attalign attstorage atttypmod attcollation attndims".split()
_GENERATION_CELLS = ("attidentity", "attgenerated")
ATTRIBUTE_CELLS = ("attrelid", "attname", "attnum", "attnotnull", "atthasdef", *_GENERATION_CELLS, *_TYPE_CELLS)


def system_attributes() -> Iterator[Row]:
    """Yields rows of pg_attribute for PostgreSQL's own relations."""
    for relation in system_relations().values():
        for number, (name, kind) in enumerate(relation.columns.items(), 1):
            cells = (relation.oid, name, number, name in relation.required, False, "", "", *_attribute_type(kind, -1))
            yield dict(zip(ATTRIBUTE_CELLS, cells, strict=True))


def _attribute_type(name: str, modifier: int) -> tuple[object, ...]:
    known = base_types().get(name) or base_types()["text"]
    row = known.row
    length = int(row["typlen"])
    return (
        known.oid,
        length,
        row["typbyval"] == "t",
        row["typalign"],
        row["typstorage"],
        modifier,
        int(row["typcollation"]),
        1 if row["typcategory"] == "A" else 0,
    )


def _schema_and_name(relation: SystemRelation) -> tuple[int, str]:
    schema, _, name = relation.name.partition(".")
    return SYSTEM_SCHEMAS[schema], name


def _class(oid: int, schema_oid: int, name: str) -> Row:
    return {
        "oid": oid,
        "relname": name,
        "relnamespace": schema_oid,
        "relowner": OWNER,
        "relfilenode": 0,
        "relreltuples": -1.0,
        "reltuples": -1.0,
        "relpersistence": "p",
        "relispopulated": True,
        "relreplident": "n",
    }


def type_rows() -> Iterator[Row]:
    """Yields rows of pg_type."""
    functions = {row["proname"]: int(row["oid"]) for row in base_functions()}
    numbers = ("oid", "typlen", "typelem", "typarray", "typcollation", "typbasetype", "typtypmod")
    flags = ("typbyval", "typispreferred", "typnotnull")
    for kind in base_types().values():
        row: Row = {"typowner": OWNER, "typisdefined": True, "typname": kind.name, "typndims": 0, "typrelid": 0}
        for key, text in kind.row.items():
            if key in numbers:
                row[key] = int(text)
            elif key in flags:
                row[key] = text == "t"
            elif key.startswith("typ") and key[3:] in _IO:
                row[key] = 0 if text == "-" else functions.get(text, 0)
            elif key == "nspname":
                row["typnamespace"] = SYSTEM_SCHEMAS[text]
            elif key != "display":
                row[key] = text
        row["typanalyze"] = functions.get("array_typanalyze", 0) if kind.row["typcategory"] == "A" else 0
        yield row


_IO = frozenset({"input", "output", "receive", "send", "modin", "modout", "subscript"})


def function_rows() -> Iterator[Row]:
    """Yields rows of pg_proc."""
    for row in base_functions():
        arguments = [int(oid) for oid in row["proargtypes"].split()]
        yield {
            "oid": int(row["oid"]),
            "proname": row["proname"],
            "pronamespace": CATALOG_OID,
            "proowner": OWNER,
            "prolang": int(row["prolang"]),
            "procost": 1.0,
            "prokind": row["prokind"],
            "proisstrict": row["proisstrict"] == "t",
            "proretset": row["proretset"] == "t",
            "provolatile": row["provolatile"],
            "proparallel": "s",
            "pronargs": int(row["pronargs"]),
            "prorettype": int(row["prorettype"]),
            "proargtypes": arguments,
            "prosrc": row["proname"],
        }


def constant_rows() -> Mapping[str, list[Row]]:
    """Returns the rows of relations that are the same for all principals."""
    return {
        "pg_am": [{"oid": oid, "amname": name, "amhandler": 0, "amtype": kind} for oid, name, kind in _METHODS],
        "pg_collation": [
            {
                "oid": oid,
                "collname": name,
                "collnamespace": CATALOG_OID,
                "collowner": OWNER,
                "collprovider": provider,
                "collisdeterministic": True,
                "collencoding": encoding,
                "collcollate": locale or None,
                "collctype": locale or None,
            }
            for oid, name, provider, encoding, locale in _COLLATIONS
        ],
        "pg_language": [{"oid": oid, "lanname": name, "lanowner": OWNER} for oid, name in _LANGUAGES],
        "pg_range": [
            {"rngtypid": oid, "rngsubtype": inner, "rngmultitypid": many, "rngsubopc": operators}
            for oid, inner, many, operators in _RANGES
        ],
        "pg_tablespace": [
            {"oid": 1663, "spcname": "pg_default", "spcowner": OWNER},
            {"oid": 1664, "spcname": "pg_global", "spcowner": OWNER},
        ],
        "pg_type": list(type_rows()),
    }


def type_names() -> list[BaseType]:
    """Returns the types that casts and `format_type` know."""
    return list(base_types().values())


def sequence_rows(sequences: Iterable[Row]) -> Iterator[Row]:
    """Yields rows of pg_sequence."""
    for row in sequences:
        yield {
            "seqrelid": row["oid"],
            "seqtypid": base_types()["int8"].oid,
            "seqstart": row["start"],
            "seqincrement": row["step"],
            "seqmin": row["minimum"],
            "seqmax": row["maximum"],
            "seqcache": 1,
            "seqcycle": False,
        }


def dependency_rows(sequences: Iterable[Row]) -> Iterator[Row]:
    """Yields rows of pg_depend: the columns to which sequences belong."""
    for row in sequences:
        yield {
            "classid": CLASS_OID,
            "objid": row["oid"],
            "objsubid": 0,
            "refclassid": CLASS_OID,
            "refobjid": row["table_oid"],
            "refobjsubid": row["number"],
            "deptype": "i",
        }


def constraint_rows(constraints: Constraints) -> Iterator[Row]:
    """Yields rows of pg_constraint."""
    shared = {"condeferrable": False, "condeferred": False, "convalidated": True, "conislocal": True,
              "connoinherit": True, "contypid": 0, "conparentid": 0, "coninhcount": 0}  # fmt: skip
    indexes = {}
    for key in constraints.primary:
        indexes[key["table_oid"]] = key["index_oid"]
        yield {
            **shared,
            "oid": key["constraint_oid"],
            "conname": key["name"],
            "connamespace": key["schema_oid"],
            "contype": "p",
            "conrelid": key["table_oid"],
            "conindid": key["index_oid"],
            "conkey": key["numbers"],
            "confupdtype": " ",
            "confdeltype": " ",
            "confmatchtype": " ",
        }
    for check in constraints.checks:
        yield {
            **shared,
            "oid": check["constraint_oid"],
            "conname": check["name"],
            "connamespace": check["schema_oid"],
            "connoinherit": False,
            "contype": "c",
            "conrelid": check["table_oid"],
            "conkey": check["numbers"] or None,
            "confupdtype": " ",
            "confdeltype": " ",
            "confmatchtype": " ",
        }
    for key in constraints.foreign:
        yield {
            **shared,
            "oid": key["constraint_oid"],
            "conname": key["name"],
            "connamespace": key["schema_oid"],
            "contype": "f",
            "conrelid": key["table_oid"],
            "conindid": indexes.get(key["parent_oid"], 0),
            "confrelid": key["parent_oid"],
            "conkey": key["numbers"],
            "confkey": key["parent_numbers"],
            "confupdtype": "a",
            "confdeltype": "a",
            "confmatchtype": "s",
        }


def index_rows(primary: Iterable[Row]) -> Iterator[Row]:
    """Yields rows of pg_index: one for each primary key."""
    for key in primary:
        count = len(key["numbers"])
        yield {
            "indexrelid": key["index_oid"],
            "indrelid": key["table_oid"],
            "indnatts": count,
            "indnkeyatts": count,
            "indisunique": True,
            "indisprimary": True,
            "indimmediate": True,
            "indisvalid": True,
            "indisready": True,
            "indislive": True,
            "indkey": key["numbers"],
            "indcollation": [0] * count,
            "indclass": [0] * count,
            "indoption": [0] * count,
        }
