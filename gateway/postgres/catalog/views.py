"""The catalog's relations that are queries of others: system views, and `information_schema` as PostgreSQL has it.

A relation that is in neither this table nor `rows.py` has PostgreSQL's columns and no rows.
"""

from __future__ import annotations

from collections.abc import Mapping

_TYPE_NAMES = """CASE WHEN t.typcategory = 'A' THEN 'ARRAY' ELSE pgf_format_type(a.atttypid, NULL) END"""

_TABLE_PRIVILEGES = """SELECT pgf_pg_get_userbyid(c.relowner) AS grantor,
    (SELECT value FROM pgf_session WHERE name = 'user') AS grantee, pgf_current_database() AS table_catalog,
    n.nspname AS table_schema, c.relname AS table_name, upper(h.privilege) AS privilege_type,
    CASE WHEN EXISTS (SELECT 1 FROM pgf_privileges g WHERE g.key = h.key AND
        g.privilege = h.privilege || ' with grant option') THEN 'YES' ELSE 'NO' END AS is_grantable,
    CASE h.privilege WHEN 'select' THEN 'YES' ELSE 'NO' END AS with_hierarchy
FROM "pg_catalog.pg_class" c JOIN "pg_catalog.pg_namespace" n ON n.oid = c.relnamespace
JOIN pgf_privileges h ON h.key = 'table:' || c.oid
WHERE c.relkind IN ('r', 'v') AND h.privilege IN ('select', 'insert', 'update', 'delete', 'truncate')"""

# Relations that hold columns, and the ones that hold keys: these open the tables.
COLUMNS, KEYS = "pg_catalog.pg_attribute", "pg_catalog.pg_constraint"

# Relation → relations that it reads, and its query; columns that the query lacks are NULL.
VIEWS: Mapping[str, tuple[str, str]] = {
    "pg_catalog.pg_tables": (
        "pg_class pg_namespace",
        """SELECT n.nspname AS schemaname, c.relname AS tablename, pgf_pg_get_userbyid(c.relowner) AS tableowner,
            c.relhasindex AS hasindexes, c.relhasrules AS hasrules, c.relhastriggers AS hastriggers,
            c.relrowsecurity AS rowsecurity
        FROM "pg_catalog.pg_class" c JOIN "pg_catalog.pg_namespace" n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p')""",
    ),
    "pg_catalog.pg_views": (
        "pg_class pg_namespace",
        """SELECT n.nspname AS schemaname, c.relname AS viewname, pgf_pg_get_userbyid(c.relowner) AS viewowner,
            pgf_pg_get_viewdef(c.oid) AS definition
        FROM "pg_catalog.pg_class" c JOIN "pg_catalog.pg_namespace" n ON n.oid = c.relnamespace
        WHERE c.relkind = 'v'""",
    ),
    "pg_catalog.pg_indexes": (
        "pg_class pg_namespace pg_index",
        """SELECT n.nspname AS schemaname, c.relname AS tablename, i.relname AS indexname,
            pgf_pg_get_indexdef(i.oid) AS indexdef
        FROM "pg_catalog.pg_index" x JOIN "pg_catalog.pg_class" c ON c.oid = x.indrelid
        JOIN "pg_catalog.pg_class" i ON i.oid = x.indexrelid
        JOIN "pg_catalog.pg_namespace" n ON n.oid = c.relnamespace""",
    ),
    "pg_catalog.pg_roles": (
        "pg_authid",
        """SELECT oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication,
            rolconnlimit, '********' AS rolpassword, rolbypassrls FROM "pg_catalog.pg_authid" """,
    ),
    "pg_catalog.pg_user": (
        "pg_authid",
        """SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper,
            rolreplication AS userepl, rolbypassrls AS usebypassrls, '********' AS passwd
        FROM "pg_catalog.pg_authid" WHERE rolcanlogin""",
    ),
    "pg_catalog.pg_stat_user_tables": (
        "pg_class pg_namespace",
        """SELECT c.oid AS relid, n.nspname AS schemaname, c.relname
        FROM "pg_catalog.pg_class" c JOIN "pg_catalog.pg_namespace" n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')""",
    ),
    "information_schema.information_schema_catalog_name": (
        "",
        "SELECT pgf_current_database() AS catalog_name",
    ),
    "information_schema.schemata": (
        "pg_namespace",
        """SELECT pgf_current_database() AS catalog_name, n.nspname AS schema_name,
            pgf_pg_get_userbyid(n.nspowner) AS schema_owner FROM "pg_catalog.pg_namespace" n""",
    ),
    "information_schema.tables": (
        "pg_class pg_namespace",
        """SELECT pgf_current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
            CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'BASE TABLE' END AS table_type,
            CASE c.relkind WHEN 'v' THEN 'NO' ELSE 'YES' END AS is_insertable_into, 'NO' AS is_typed
        FROM "pg_catalog.pg_class" c JOIN "pg_catalog.pg_namespace" n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'v', 'f', 'p')""",
    ),
    "information_schema.views": (
        "pg_class pg_namespace",
        """SELECT pgf_current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
            pgf_pg_get_viewdef(c.oid) AS view_definition,
            'NONE' AS check_option, 'NO' AS is_updatable, 'NO' AS is_insertable_into, 'NO' AS is_trigger_updatable,
            'NO' AS is_trigger_deletable, 'NO' AS is_trigger_insertable_into
        FROM "pg_catalog.pg_class" c JOIN "pg_catalog.pg_namespace" n ON n.oid = c.relnamespace
        WHERE c.relkind = 'v'""",
    ),
    "information_schema.columns": (
        "pg_class pg_namespace pg_attribute pg_type pg_attrdef",
        f"""SELECT pgf_current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
            a.attname AS column_name, a.attnum AS ordinal_position,
            CASE a.attgenerated WHEN '' THEN d.adbin END AS column_default,
            CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable, {_TYPE_NAMES} AS data_type,
            CASE WHEN t.typname IN ('varchar', 'bpchar') AND a.atttypmod > 4 THEN a.atttypmod - 4 END
                AS character_maximum_length,
            CASE WHEN t.typname IN ('text', 'varchar', 'bpchar') THEN
                CASE WHEN a.atttypmod > 4 THEN (a.atttypmod - 4) * 4 ELSE 1073741824 END END AS character_octet_length,
            CASE t.typname WHEN 'int2' THEN 16 WHEN 'int4' THEN 32 WHEN 'int8' THEN 64 WHEN 'float4' THEN 24
                WHEN 'float8' THEN 53 WHEN 'numeric' THEN CASE WHEN a.atttypmod > 4 THEN (a.atttypmod - 4) >> 16 END
                END AS numeric_precision,
            CASE WHEN t.typname IN ('int2', 'int4', 'int8', 'float4', 'float8') THEN 2 WHEN t.typname = 'numeric'
                THEN 10 END AS numeric_precision_radix,
            CASE WHEN t.typname IN ('int2', 'int4', 'int8') THEN 0 WHEN t.typname = 'numeric' AND a.atttypmod > 4
                THEN (a.atttypmod - 4) & 65535 END AS numeric_scale,
            CASE WHEN t.typname IN ('timestamp', 'timestamptz', 'time', 'timetz', 'interval') THEN 6
                WHEN t.typname = 'date' THEN 0 END AS datetime_precision,
            pgf_current_database() AS udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name,
            a.attnum::VARCHAR AS dtd_identifier, 'NO' AS is_self_referencing,
            CASE a.attidentity WHEN '' THEN 'NO' ELSE 'YES' END AS is_identity,
            CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END AS identity_generation,
            q.start::VARCHAR AS identity_start, q.step::VARCHAR AS identity_increment,
            q.maximum::VARCHAR AS identity_maximum, q.minimum::VARCHAR AS identity_minimum, 'NO' AS identity_cycle,
            CASE a.attgenerated WHEN '' THEN 'NEVER' ELSE 'ALWAYS' END AS is_generated,
            CASE a.attgenerated WHEN 's' THEN d.adbin END AS generation_expression,
            CASE c.relkind WHEN 'v' THEN 'NO' ELSE 'YES' END AS is_updatable
        FROM "pg_catalog.pg_attribute" a JOIN "pg_catalog.pg_class" c ON c.oid = a.attrelid
        JOIN "pg_catalog.pg_namespace" n ON n.oid = c.relnamespace
        JOIN "pg_catalog.pg_type" t ON t.oid = a.atttypid
        LEFT JOIN "pg_catalog.pg_attrdef" d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        LEFT JOIN pgf_sequences q ON q.table_oid = a.attrelid AND q.number = a.attnum
        WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')""",
    ),
    "information_schema.table_constraints": (
        "pg_class pg_namespace pg_constraint",
        """SELECT pgf_current_database() AS constraint_catalog, n.nspname AS constraint_schema,
            k.conname AS constraint_name, pgf_current_database() AS table_catalog, n.nspname AS table_schema,
            c.relname AS table_name,
            CASE k.contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'f' THEN 'FOREIGN KEY' WHEN 'c' THEN 'CHECK' END
                AS constraint_type,
            'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced
        FROM "pg_catalog.pg_constraint" k JOIN "pg_catalog.pg_class" c ON c.oid = k.conrelid
        JOIN "pg_catalog.pg_namespace" n ON n.oid = c.relnamespace""",
    ),
    "information_schema.key_column_usage": (
        "pg_class pg_namespace pg_constraint pg_attribute",
        """SELECT pgf_current_database() AS constraint_catalog, n.nspname AS constraint_schema,
            k.conname AS constraint_name, pgf_current_database() AS table_catalog, n.nspname AS table_schema,
            c.relname AS table_name, a.attname AS column_name, k.place AS ordinal_position,
            CASE k.contype WHEN 'f' THEN k.place END AS position_in_unique_constraint
        FROM (SELECT conname, contype, conrelid, unnest(conkey) AS number, generate_subscripts(conkey, 1) AS place
            FROM "pg_catalog.pg_constraint" WHERE contype IN ('p', 'f')) k
        JOIN "pg_catalog.pg_class" c ON c.oid = k.conrelid
        JOIN "pg_catalog.pg_namespace" n ON n.oid = c.relnamespace
        JOIN "pg_catalog.pg_attribute" a ON a.attrelid = c.oid AND a.attnum = k.number""",
    ),
    "information_schema.constraint_column_usage": (
        "pg_class pg_namespace pg_constraint pg_attribute",
        """SELECT pgf_current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
            a.attname AS column_name, pgf_current_database() AS constraint_catalog,
            n.nspname AS constraint_schema, k.conname AS constraint_name
        FROM (SELECT conname, CASE contype WHEN 'f' THEN confrelid ELSE conrelid END AS relation,
            unnest(CASE contype WHEN 'f' THEN confkey ELSE conkey END) AS number
            FROM "pg_catalog.pg_constraint") k JOIN "pg_catalog.pg_class" c ON c.oid = k.relation
        JOIN "pg_catalog.pg_namespace" n ON n.oid = c.relnamespace
        JOIN "pg_catalog.pg_attribute" a ON a.attrelid = c.oid AND a.attnum = k.number""",
    ),
    "information_schema.constraint_table_usage": (
        "pg_class pg_namespace pg_constraint",
        """SELECT pgf_current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
            pgf_current_database() AS constraint_catalog, n.nspname AS constraint_schema,
            k.conname AS constraint_name
        FROM "pg_catalog.pg_constraint" k JOIN "pg_catalog.pg_class" c
            ON c.oid = CASE k.contype WHEN 'f' THEN k.confrelid ELSE k.conrelid END
        JOIN "pg_catalog.pg_namespace" n ON n.oid = c.relnamespace WHERE k.contype IN ('p', 'f')""",
    ),
    "information_schema.check_constraints": (
        "pg_namespace pg_constraint",
        """SELECT pgf_current_database() AS constraint_catalog, n.nspname AS constraint_schema,
            k.conname AS constraint_name, substring(pgf_pg_get_constraintdef(k.oid), 7) AS check_clause
        FROM "pg_catalog.pg_constraint" k JOIN "pg_catalog.pg_namespace" n ON n.oid = k.connamespace
        WHERE k.contype = 'c'""",
    ),
    "information_schema.referential_constraints": (
        "pg_class pg_namespace pg_constraint",
        """SELECT pgf_current_database() AS constraint_catalog, n.nspname AS constraint_schema,
            k.conname AS constraint_name, pgf_current_database() AS unique_constraint_catalog,
            pn.nspname AS unique_constraint_schema, p.conname AS unique_constraint_name, 'NONE' AS match_option,
            'NO ACTION' AS update_rule, 'NO ACTION' AS delete_rule
        FROM "pg_catalog.pg_constraint" k JOIN "pg_catalog.pg_namespace" n ON n.oid = k.connamespace
        LEFT JOIN "pg_catalog.pg_constraint" p ON p.conrelid = k.confrelid AND p.contype = 'p'
        LEFT JOIN "pg_catalog.pg_namespace" pn ON pn.oid = p.connamespace WHERE k.contype = 'f'""",
    ),
    "information_schema.character_sets": (
        "",
        """SELECT NULL AS character_set_catalog, 'UTF8' AS character_set_name, 'UCS' AS character_repertoire,
            'UTF8' AS form_of_use, pgf_current_database() AS default_collate_catalog,
            'pg_catalog' AS default_collate_schema, 'C.UTF-8' AS default_collate_name""",
    ),
    "information_schema.enabled_roles": ("pg_authid", 'SELECT rolname AS role_name FROM "pg_catalog.pg_authid"'),
    **{
        f"information_schema.{name}": ("pg_class pg_namespace", _TABLE_PRIVILEGES)
        for name in ("table_privileges", "role_table_grants")
    },
    "information_schema.routines": (
        "pg_proc pg_namespace pg_type",
        """SELECT pgf_current_database() AS specific_catalog, n.nspname AS specific_schema,
            p.proname || '_' || p.oid AS specific_name, pgf_current_database() AS routine_catalog,
            n.nspname AS routine_schema, p.proname AS routine_name, 'FUNCTION' AS routine_type,
            pgf_format_type(p.prorettype, NULL) AS data_type, pgf_current_database() AS type_udt_catalog,
            'pg_catalog' AS type_udt_schema, t.typname AS type_udt_name, 'SQL' AS routine_body,
            CASE p.prosrc WHEN '' THEN NULL ELSE p.prosrc END AS routine_definition, 'SQL' AS external_language,
            'GENERAL' AS parameter_style, CASE p.provolatile WHEN 'i' THEN 'YES' ELSE 'NO' END AS is_deterministic,
            'MODIFIES' AS sql_data_access, 'INVOKER' AS security_type
        FROM "pg_catalog.pg_proc" p JOIN "pg_catalog.pg_namespace" n ON n.oid = p.pronamespace
        LEFT JOIN "pg_catalog.pg_type" t ON t.oid = p.prorettype WHERE n.nspname <> 'pg_catalog'""",
    ),
    "information_schema.parameters": (
        "pg_proc pg_namespace pg_type",
        """SELECT pgf_current_database() AS specific_catalog, n.nspname AS specific_schema,
            p.proname || '_' || p.oid AS specific_name, p.place AS ordinal_position,
            CASE WHEN p.place > p.pronargs THEN 'OUT' ELSE 'IN' END AS parameter_mode, 'NO' AS is_result,
            'NO' AS as_locator, p.name AS parameter_name, pgf_format_type(p.kind, NULL) AS data_type,
            pgf_current_database() AS udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name,
            p.place::VARCHAR AS dtd_identifier
        FROM (SELECT oid, proname, pronamespace, pronargs, unnest(proargnames) AS name,
            unnest(coalesce(proallargtypes, proargtypes)) AS kind, generate_subscripts(proargnames, 1) AS place
            FROM "pg_catalog.pg_proc" WHERE proargnames IS NOT NULL) p
        JOIN "pg_catalog.pg_namespace" n ON n.oid = p.pronamespace
        JOIN "pg_catalog.pg_type" t ON t.oid = p.kind""",
    ),
}
