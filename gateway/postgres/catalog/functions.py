"""The functions that catalog queries may call.

A function of PostgreSQL without an equivalent in DuckDB is a macro `pgf_…`. Functions that reveal anything but the
catalog's relations, such as those that read files or settings of the database, are not listed and cannot be called.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.sql.postgres.catalog_expressions import columns_of
from engine.sql.postgres.scopes import CatalogFunction, Columns
from gateway.postgres.catalog.content import TEMPORARY_SCHEMA

# Privileges on types, languages and other objects that the gateway does not have.
_ON_OTHERS = "lower(p) IN ('usage', 'select')"
_OTHER_PRIVILEGE = f"(a, p) AS {_ON_OTHERS}, (u, a, p) AS {_ON_OTHERS}"
_NO_TEXT = "NULL::VARCHAR"
_VISIBLE = "TRUE"
# A definition with the name of a relation in it, which is qualified unless its schema is the current one.
_QUALIFIED = "d.before || d.schema_name || '.' || d.relation_name || d.after"
_BY_VISIBILITY = (
    "d.before || CASE WHEN d.schema_name = pgf_quote_ident(pgf_current_schema()) OR d.schema_name = '' THEN '' "
    "ELSE d.schema_name || '.' END || d.relation_name || d.after"
)


def _on_object(kind: str, column: str = "") -> str:
    """Returns the bodies of a function that tests a privilege: without a user, and with one."""
    test = f"""(SELECT bool_or(list_contains(list_transform(string_split(lower(p), ','), x -> trim(x)), h.privilege))
        FROM pgf_privileges h WHERE h.key = '{kind}:' || lower(replace(a::VARCHAR, '"', '')))"""
    is_user = "(SELECT count(*) > 0 FROM pgf_roles r WHERE r.oid <> 10 AND u::VARCHAR IN (r.name, r.oid::VARCHAR))"
    return f"(a, {column}p) AS {test}, (u, a, {column}p) AS {is_user} AND {test}"


# Macros: name → type of the result, and arguments with the body. Bodies may use the relations of `database.py`.
_MACROS: Mapping[str, tuple[str, str]] = {
    "version": ("text", "() AS (SELECT value FROM pgf_session WHERE name = 'version')"),
    "current_database": ("name", "() AS (SELECT value FROM pgf_session WHERE name = 'database')"),
    "current_schema": ("name", "() AS (SELECT value FROM pgf_session WHERE name = 'schema')"),
    "current_schemas": (
        "_name",
        "(i) AS CASE WHEN i THEN ['pg_catalog', pgf_current_schema()] ELSE [pgf_current_schema()] END",
    ),
    "format_type": (
        "text",
        """(t, m) AS CASE WHEN t IS NULL THEN NULL ELSE coalesce((
            SELECT CASE WHEN m IS NULL OR m < 0 THEN y.display
              WHEN y.name IN ('numeric', '_numeric') THEN 'numeric(' || ((m - 4) >> 16) || ',' || ((m - 4) & 65535)
                || ')' || CASE WHEN y.name = 'numeric' THEN '' ELSE '[]' END
              WHEN y.name IN ('varchar', 'bpchar', '_varchar', '_bpchar') THEN replace(y.display, '[]', '')
                || '(' || (m - 4) || ')' || CASE WHEN y.display LIKE '%[]' THEN '[]' ELSE '' END
              ELSE y.display END
            FROM pgf_types y WHERE y.oid = t), '???') END""",
    ),
    "pg_get_expr": ("text", "(e, r) AS e::VARCHAR, (e, r, p) AS e::VARCHAR"),
    "pg_get_userbyid": (
        "name",
        "(o) AS coalesce((SELECT r.name FROM pgf_roles r WHERE r.oid = o), 'unknown (OID=' || o || ')')",
    ),
    "pg_table_is_visible": (
        "bool",
        f"""(o) AS coalesce((SELECT n.name IN ('pg_catalog', pgf_current_schema(), '{TEMPORARY_SCHEMA}')
            FROM pgf_relations n WHERE n.oid = o), FALSE)""",
    ),
    "pg_type_is_visible": ("bool", "(o) AS (SELECT count(*) > 0 FROM pgf_types y WHERE y.oid = o AND y.visible)"),
    "pg_get_indexdef": (
        "text",
        f"""(o) AS (SELECT {_QUALIFIED} FROM pgf_definitions d WHERE d.oid = o AND d.kind = 'i'),
        (o, c, p) AS (SELECT CASE WHEN c <> 0 THEN d.columns[c] WHEN p THEN {_BY_VISIBILITY} ELSE {_QUALIFIED} END
            FROM pgf_definitions d WHERE d.oid = o AND d.kind = 'i')""",
    ),
    "pg_get_constraintdef": (
        "text",
        f"""(o) AS (SELECT {_BY_VISIBILITY} FROM pgf_definitions d WHERE d.oid = o AND d.kind = 'c'),
        (o, p) AS (SELECT {_BY_VISIBILITY} FROM pgf_definitions d WHERE d.oid = o AND d.kind = 'c')""",
    ),
    "pg_get_viewdef": (
        "text",
        """(o) AS (SELECT v.text FROM pgf_view_texts v WHERE v.oid = o),
        (o, p) AS (SELECT v.text FROM pgf_view_texts v WHERE v.oid = o)""",
    ),
    "obj_description": (
        "text",
        """(o) AS (SELECT max(d.description) FROM pgf_descriptions d WHERE d.objoid = o AND d.objsubid = 0),
        (o, c) AS (SELECT max(d.description) FROM pgf_descriptions d WHERE d.objoid = o AND d.objsubid = 0
            AND d.relation = c::VARCHAR)""",
    ),
    "col_description": (
        "text",
        """(o, c) AS (SELECT max(d.description) FROM pgf_descriptions d WHERE d.objoid = o AND d.objsubid = c
            AND c > 0)""",
    ),
    "shobj_description": ("text", f"(o, c) AS {_NO_TEXT}"),
    "pg_encoding_to_char": ("name", "(e) AS CASE WHEN e = 6 THEN 'UTF8' WHEN e = 0 THEN 'SQL_ASCII' ELSE '' END"),
    "pg_char_to_encoding": ("int4", "(e) AS CASE WHEN lower(e) IN ('utf8', 'unicode') THEN 6 ELSE -1 END"),
    "quote_ident": (
        "text",
        """(s) AS CASE WHEN regexp_full_match(s, '[a-z_][a-z0-9_]*') THEN s
            ELSE '"' || replace(s, '"', '""') || '"' END""",
    ),
    "quote_literal": ("text", "(s) AS '''' || replace(s, '''', '''''') || ''''"),
    "parse_ident": ("_text", """(s) AS [trim(x, '"') for x in string_split(s, '.')]"""),
    "array_upper": ("int4", "(a, d) AS CASE WHEN len(a) = 0 OR d <> 1 THEN NULL ELSE len(a)::INTEGER END"),
    "array_lower": ("int4", "(a, d) AS CASE WHEN len(a) = 0 OR d <> 1 THEN NULL ELSE 1 END"),
    "array_length": ("int4", "(a, d) AS CASE WHEN len(a) = 0 OR d <> 1 THEN NULL ELSE len(a)::INTEGER END"),
    "array_position": ("int4", "(a, e) AS CASE WHEN list_position(a, e) = 0 THEN NULL ELSE list_position(a, e) END"),
    "array_text": (
        "text",
        """(a) AS CASE WHEN a IS NULL THEN NULL ELSE '{' || coalesce(array_to_string([
            CASE WHEN x IS NULL THEN 'NULL' WHEN x::VARCHAR = '' OR regexp_matches(x::VARCHAR, '[{},"\\\\\\s]')
            THEN '"' || replace(replace(x::VARCHAR, '\\', '\\\\'), '"', '\\"') || '"' ELSE x::VARCHAR END
            for x in a], ','), '') || '}' END""",
    ),
    "pg_backend_pid": ("int4", "() AS (SELECT value::INTEGER FROM pgf_session WHERE name = 'pid')"),
    "pg_is_in_recovery": ("bool", "() AS FALSE"),
    "txid_current": ("int8", "() AS 1::BIGINT"),
    "pg_my_temp_schema": (
        "oid",
        f"() AS coalesce((SELECT max(n.oid) FROM pgf_namespaces n WHERE n.name = '{TEMPORARY_SCHEMA}'), 0)",
    ),
    "pg_is_other_temp_schema": ("bool", "(o) AS FALSE"),
    "pg_get_partkeydef": ("text", f"(o) AS {_NO_TEXT}"),
    "pg_get_serial_sequence": (
        "text",
        """(t, c) AS (SELECT max(pgf_quote_ident(q.schema_name) || '.' || pgf_quote_ident(q.name)) FROM pgf_sequences q
            WHERE q.table_oid = pgf_find_regclass(t) AND q.column_name = c)""",
    ),
    "pg_get_function_arguments": ("text", "(o) AS (SELECT f.arguments FROM pgf_functions f WHERE f.oid = o)"),
    "pg_get_function_identity_arguments": (
        "text",
        "(o) AS (SELECT f.identity FROM pgf_functions f WHERE f.oid = o)",
    ),
    "pg_get_function_result": (
        "text",
        """(o) AS (SELECT coalesce(f.result_text, y.display) FROM pgf_functions f
            LEFT JOIN pgf_types y ON y.oid = f.result WHERE f.oid = o)""",
    ),
    "pg_get_functiondef": (
        "text",
        """(o) AS (SELECT 'CREATE OR REPLACE FUNCTION ' || pgf_quote_ident(f.schema_name) || '.'
            || pgf_quote_ident(f.name) || '(' || f.arguments || ')' || chr(10) || ' RETURNS ' || f.result_text
            || chr(10) || ' LANGUAGE sql' || chr(10) || 'RETURN ' || f.body || chr(10)
            FROM pgf_functions f WHERE f.oid = o)""",
    ),
    "pg_function_is_visible": (
        "bool",
        """(o) AS coalesce((SELECT f.schema_name IN ('pg_catalog', pgf_current_schema()) FROM pgf_functions f
            WHERE f.oid = o), FALSE)""",
    ),
    "pg_get_function_sqlbody": ("text", f"(o) AS {_NO_TEXT}"),
    "pg_get_triggerdef": ("text", f"(o) AS {_NO_TEXT}, (o, p) AS {_NO_TEXT}"),
    "pg_get_ruledef": ("text", f"(o) AS {_NO_TEXT}, (o, p) AS {_NO_TEXT}"),
    "pg_get_statisticsobjdef": ("text", f"(o) AS {_NO_TEXT}"),
    "pg_get_statisticsobjdef_columns": ("text", f"(o) AS {_NO_TEXT}"),
    "pg_get_partition_constraintdef": ("text", f"(o) AS {_NO_TEXT}"),
    "pg_relation_is_publishable": ("bool", "(o) AS FALSE"),
    "pg_size_pretty": ("text", "(s) AS s || ' bytes'"),
    "pg_tablespace_location": ("text", "(o) AS ''"),
    "pg_postmaster_start_time": (
        "timestamptz",
        "() AS (SELECT value FROM pgf_session WHERE name = 'started')::TIMESTAMPTZ",
    ),
    "pg_event_trigger_ddl_commands": ("text", f"() AS {_NO_TEXT}"),
    "age": ("int4", "(x) AS 0"),
    "inet_server_addr": ("inet", f"() AS {_NO_TEXT}"),
    "inet_server_port": ("int4", "() AS NULL::INTEGER"),
    "pg_stat_get_numscans": ("int8", "(o) AS 0::BIGINT"),
    "pg_sequence_last_value": ("int8", "(o) AS NULL::BIGINT"),
    "pg_column_is_updatable": ("bool", "(o, c, i) AS TRUE"),
    "pg_relation_is_updatable": ("int4", "(o, i) AS 28"),
    "to_regclass": ("regclass", "(s) AS pgf_find_regclass(s)"),
    "to_regtype": ("regtype", "(s) AS pgf_find_regtype(s)"),
    "to_regproc": (
        "regproc",
        "(s) AS (SELECT min(f.oid) FROM pgf_functions f WHERE s IN (f.name, f.schema_name || '.' || f.name))",
    ),
    "to_regnamespace": ("regnamespace", "(s) AS (SELECT n.oid FROM pgf_namespaces n WHERE n.name = s)"),
    "substring_index": ("text", "(s, d) AS s"),
    "string_to_array": ("_text", "(s, d) AS CASE WHEN s = '' THEN []::VARCHAR[] ELSE string_split(s, d) END"),
    "pg_options_to_array": ("_text", "(o) AS o"),
    "row_security_active": ("bool", "(o) AS FALSE"),
    **dict.fromkeys(
        (
            "pg_relation_size pg_total_relation_size pg_table_size pg_indexes_size pg_database_size "
            "pg_tablespace_size pg_relation_filenode"
        ).split(),
        ("int8", "(o) AS 0::BIGINT, (o, f) AS 0::BIGINT"),
    ),
    **{
        f"pg_{name}_is_visible": ("bool", f"(o) AS {_VISIBLE}")
        for name in (
            "operator opclass opfamily collation conversion statistics_obj ts_parser ts_dict ts_template ts_config"
        ).split()
    },
    **{f"has_{kind}_privilege": ("bool", _on_object(kind)) for kind in ("schema", "table", "database", "function")},
    "has_any_column_privilege": ("bool", _on_object("table")),
    "has_column_privilege": ("bool", _on_object("table", "c, ")),
    **{
        f"has_{name}_privilege": ("bool", _OTHER_PRIVILEGE)
        for name in "tablespace type sequence language server foreign_data_wrapper parameter".split()
    },
    "_pg_expandarray": ("record", "(a) AS unnest([{'x': v, 'n': i} for v, i in a])"),
    "pg_partition_ancestors": ("regclass", "(o) AS unnest([]::BIGINT[])"),
    **dict.fromkeys(
        ("pg_advisory_unlock_all", "pg_stat_clear_snapshot", "pg_reload_conf"), ("void", f"() AS {_NO_TEXT}")
    ),
    "getdatabaseencoding": ("name", "() AS 'UTF8'"),
    "pg_describe_object": ("text", f"(c, o, s) AS {_NO_TEXT}"),
    "pg_identify_object": ("record", f"(c, o, s) AS {_NO_TEXT}"),
    "array_remove": ("same", "(a, e) AS list_filter(a, x -> x IS DISTINCT FROM e)"),
    "array_ndims": ("int4", "(a) AS CASE WHEN len(a) = 0 THEN NULL ELSE 1 END"),
    "cardinality": ("int4", "(a) AS len(a)::INTEGER"),
    "regexp_split_to_table": ("text", "(s, p) AS unnest(string_split_regex(s, p))"),
    "regexp_split_to_array": ("_text", "(s, p) AS string_split_regex(s, p)"),
    "setting": ("text", "(n) AS (SELECT max(s.value) FROM pgf_session s WHERE s.name = 'setting:' || lower(n))"),
    "pg_has_role": ("bool", "(r, p) AS TRUE, (u, r, p) AS TRUE"),
}

# Macros that casts use, in the order of their definition.
CAST_MACROS = (
    f"""pgf_find_regclass(s) AS (SELECT arg_min(n.oid, (n.name <> '{TEMPORARY_SCHEMA}', n.oid)) FROM pgf_relations n
        WHERE CASE WHEN regexp_full_match(s, '[0-9]+') THEN n.oid = TRY_CAST(s AS BIGINT)
        ELSE n.full_name = replace(s, '"', '') OR (n.name IN ('pg_catalog', pgf_current_schema(), '{TEMPORARY_SCHEMA}')
        AND n.relation = replace(s, '"', '')) END)""",
    """pgf_regclass_oid(s) AS coalesce(pgf_find_regclass(s),
        error('pg:42P01:relation "' || s || '" does not exist')::BIGINT)""",
    f"""pgf_regclass_text(o) AS CASE WHEN o = 0 THEN '-' ELSE coalesce((SELECT CASE WHEN n.name IN ('pg_catalog',
        pgf_current_schema(), '{TEMPORARY_SCHEMA}') THEN pgf_quote_ident(n.relation) ELSE pgf_quote_ident(n.name) || '.'
        || pgf_quote_ident(n.relation) END FROM pgf_relations n WHERE n.oid = o), o::VARCHAR) END""",
    """pgf_find_regtype(s) AS (SELECT min(y.oid) FROM pgf_types y WHERE replace(lower(s), 'pg_catalog.', '')
        IN (y.name, y.display) OR y.oid = TRY_CAST(s AS BIGINT))""",
    """pgf_regtype_oid(s) AS coalesce(pgf_find_regtype(s),
        error('pg:42704:type "' || s || '" does not exist')::BIGINT)""",
    "pgf_regtype_text(o) AS CASE WHEN o = 0 THEN '-' ELSE pgf_format_type(o, NULL) END",
    """pgf_regproc_oid(s) AS coalesce((SELECT min(f.oid) FROM pgf_functions f
        WHERE s IN (f.name, f.schema_name || '.' || f.name)),
        error('pg:42883:function "' || s || '" does not exist')::BIGINT)""",
    """pgf_regproc_text(o) AS CASE WHEN o = 0 THEN '-' ELSE coalesce((SELECT f.name FROM pgf_functions f
        WHERE f.oid = o), o::VARCHAR) END""",
    "pgf_regprocedure_oid(s) AS pgf_regproc_oid(s)",
    "pgf_regprocedure_text(o) AS pgf_regproc_text(o)",
    """pgf_regnamespace_oid(s) AS coalesce((SELECT n.oid FROM pgf_namespaces n WHERE n.name = replace(s, '"', '')),
        error('pg:3F000:schema "' || s || '" does not exist')::BIGINT)""",
    """pgf_regnamespace_text(o) AS coalesce((SELECT pgf_quote_ident(n.name) FROM pgf_namespaces n WHERE n.oid = o),
        o::VARCHAR)""",
    """pgf_regrole_oid(s) AS coalesce((SELECT r.oid FROM pgf_roles r WHERE r.name = s),
        error('pg:42704:role "' || s || '" does not exist')::BIGINT)""",
    "pgf_regrole_text(o) AS pgf_get_role(o)",
    "pgf_regoper_oid(s) AS 0::BIGINT",
    "pgf_regoper_text(o) AS o::VARCHAR",
    "pgf_regcollation_oid(s) AS 100::BIGINT",
    *(
        text
        for name in ("regoperator", "regconfig", "regdictionary")
        for text in (f"pgf_{name}_oid(s) AS 0::BIGINT", f"pgf_{name}_text(o) AS o::VARCHAR")
    ),
    """pgf_regcollation_text(o) AS CASE o WHEN 100 THEN '"default"' WHEN 950 THEN '"C"' ELSE o::VARCHAR END""",
)
_FIRST_MACROS = ("pgf_get_role(o) AS coalesce((SELECT r.name FROM pgf_roles r WHERE r.oid = o), o::VARCHAR)",)

# Functions of the database itself: name → type of the result.
_BUILT_IN = {
    **dict.fromkeys(
        "lower upper trim ltrim rtrim btrim replace repeat left right substr concat concat_ws".split(), "text"
    ),
    **dict.fromkeys(
        "split_part reverse md5 string_agg array_to_string translate lpad rpad regexp_replace".split(), "text"
    ),
    **dict.fromkeys("length char_length strpos ascii".split(), "int4"),
    **dict.fromkeys("count row_number rank dense_rank".split(), "int8"),
    **dict.fromkeys(
        "max min coalesce nullif greatest least abs any_value mod first_value last_value lag lead".split(), "same"
    ),
    **dict.fromkeys("round ceil floor sum avg trunc".split(), "numeric"),
    **dict.fromkeys("bool_and bool_or every starts_with".split(), "bool"),
    "array_agg": "array",
    "json_build_object": "json",
    "json_build_array": "json",
    "json_agg": "json",
    "to_json": "json",
    "unnest": "element",
    "generate_series": "same",
    "generate_subscripts": "int4",
    "array_append": "same",
    "array_cat": "same",
    "row": "record",
    "now": "timestamptz",
    "date_trunc": "timestamptz",
}
_RENAMED = {
    "btrim": "trim",
    "array_cat": "list_concat",
    "every": "bool_and",
    "char_length": "length",
    "json_build_object": "json_object",
    "json_build_array": "json_array",
    "json_agg": "json_group_array",
}

FUNCTIONS: Mapping[str, CatalogFunction] = {
    **{name: CatalogFunction(kind, _RENAMED.get(name, name)) for name, kind in _BUILT_IN.items()},
    **{name: CatalogFunction(kind, f"pgf_{name}") for name, (kind, _) in _MACROS.items()},
}

# Functions in FROM that return rows: their columns, and arguments with the query.
_TABLES: Mapping[str, tuple[str, str]] = {
    "pg_get_keywords": (
        "word:text catcode:char barelabel:bool catdesc:text baredesc:text",
        "() AS TABLE SELECT word, 'U' AS catcode, TRUE AS barelabel, 'unreserved' AS catdesc, "
        "'can be bare label' AS baredesc FROM pgf_keywords",
    ),
    "pg_options_to_table": (
        "option_name:text option_value:text",
        "(o) AS TABLE SELECT NULL::VARCHAR AS option_name, NULL::VARCHAR AS option_value WHERE FALSE",
    ),
    "aclexplode": (
        "grantor:oid grantee:oid privilege_type:text is_grantable:bool",
        "(a) AS TABLE SELECT 0::BIGINT AS grantor, 0::BIGINT AS grantee, '' AS privilege_type, FALSE AS is_grantable "
        "WHERE FALSE",
    ),
    "pg_partition_tree": (
        "relid:regclass parentrelid:regclass isleaf:bool level:int4",
        "(o) AS TABLE SELECT 0::BIGINT AS relid, 0::BIGINT AS parentrelid, TRUE AS isleaf, 0 AS level WHERE FALSE",
    ),
    "pg_listening_channels": (
        "pg_listening_channels:text",
        "() AS TABLE SELECT '' AS pg_listening_channels WHERE FALSE",
    ),
    "pg_available_extensions": (
        "name:name default_version:text comment:text",
        "() AS TABLE SELECT '' AS name, '' AS default_version, '' AS comment WHERE FALSE",
    ),
}
TABLE_FUNCTIONS: Mapping[str, Columns] = {name: columns_of(columns) for name, (columns, _) in _TABLES.items()}


def macro_definitions() -> list[str]:
    """Returns the statements that create the macros."""
    early = ("current_schema", "quote_ident", "format_type")
    named = sorted(_MACROS.items(), key=lambda item: (item[0] not in early, item[0].startswith("to_reg")))
    texts = [*_FIRST_MACROS, *(f"pgf_{name}{body}" for name, (_, body) in named if name in early), *CAST_MACROS]
    texts += [f"pgf_{name}{body}" for name, (_, body) in named if name not in early]
    texts += [f"pgf_{name}{body}" for name, (_, body) in _TABLES.items()]
    return [f"CREATE MACRO {text}" for text in texts]
