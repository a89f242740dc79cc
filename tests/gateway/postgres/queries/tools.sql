-- Queries with the relations, joins, functions and casts that BI tools send at start-up and for browsing: Npgsql's type
-- loading, Power BI, DBeaver, DataGrip, Metabase, Grafana, Superset and Tableau. Written for this file.

--- npgsql types
SELECT s.nspname, y.oid, y.typname, y.kind AS typtype, y.typnotnull, y.element AS elemtypoid
FROM (SELECT i.*, e.typname AS element_name, CASE WHEN ep.proname = 'array_recv' THEN 'a' ELSE e.typtype END AS element_kind
      FROM (SELECT t.oid, t.typnamespace, t.typname, t.typnotnull, c.relkind,
                   CASE WHEN p.proname = 'array_recv' THEN 'a' ELSE t.typtype END AS kind,
                   CASE WHEN p.proname = 'array_recv' THEN t.typelem
                        WHEN t.typtype = 'r' THEN g.rngsubtype
                        WHEN t.typtype = 'm' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = t.oid)
                        WHEN t.typtype = 'd' THEN t.typbasetype END AS element
            FROM pg_type AS t
            LEFT JOIN pg_class AS c ON (c.oid = t.typrelid)
            LEFT JOIN pg_proc AS p ON p.oid = t.typreceive
            LEFT JOIN pg_range AS g ON (g.rngtypid = t.oid)) AS i
      LEFT JOIN pg_type AS e ON e.oid = i.element
      LEFT JOIN pg_class AS ec ON (ec.oid = e.typrelid)
      LEFT JOIN pg_proc AS ep ON ep.oid = e.typreceive) AS y
JOIN pg_namespace AS s ON (s.oid = y.typnamespace)
WHERE s.nspname = 'pg_catalog' AND y.typname IN ('bool', 'bytea', 'int2', 'int4', 'int8', 'float4', 'float8', 'numeric',
    'text', 'varchar', 'bpchar', 'date', 'timestamp', 'timestamptz', 'json', 'jsonb', 'uuid', 'interval', '_text', '_int4',
    'int4range', 'int4multirange', '_numeric') AND 'sales' IS NOT NULL
ORDER BY CASE WHEN y.kind IN ('b', 'e', 'p') THEN 0 WHEN y.kind = 'r' THEN 1 WHEN y.kind = 'm' THEN 2 ELSE 5 END, y.typname

--- npgsql composites
SELECT t.oid, a.attname, a.atttypid FROM pg_type AS t JOIN pg_namespace AS n ON (n.oid = t.typnamespace)
JOIN pg_class AS c ON (c.oid = t.typrelid) JOIN pg_attribute AS a ON (a.attrelid = t.typrelid)
WHERE t.typtype = 'c' AND c.relkind = 'c' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY t.oid, a.attnum

--- npgsql enums
SELECT t.oid, enumlabel FROM pg_enum JOIN pg_type AS t ON t.oid = enumtypid ORDER BY t.oid, enumsortorder

--- power bi tables
select TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE from INFORMATION_SCHEMA.tables
where TABLE_SCHEMA not in ('information_schema', 'pg_catalog') and 'sales' = 'sales' order by TABLE_SCHEMA, TABLE_NAME

--- power bi columns
select COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, case when (data_type like '%unsigned%') then DATA_TYPE || ' unsigned'
    else DATA_TYPE end as DATA_TYPE, numeric_precision, numeric_scale, datetime_precision
from INFORMATION_SCHEMA.columns where TABLE_SCHEMA = 'sales' and TABLE_NAME = 'orders'
order by TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION

--- power bi character set
select character_set_name from INFORMATION_SCHEMA.character_sets

--- power bi keys
select pkcol.COLUMN_NAME as PK_COLUMN_NAME, fkcol.TABLE_SCHEMA AS FK_TABLE_SCHEMA, fkcol.TABLE_NAME AS FK_TABLE_NAME,
    fkcol.COLUMN_NAME as FK_COLUMN_NAME, fkcol.ORDINAL_POSITION as ORDINAL,
    fkcon.CONSTRAINT_SCHEMA || '_' || fkcol.TABLE_NAME || '_' || fkcon.CONSTRAINT_NAME as FK_NAME
from (select distinct constraint_catalog, constraint_schema, unique_constraint_schema, constraint_name,
          unique_constraint_name from INFORMATION_SCHEMA.referential_constraints) fkcon
inner join INFORMATION_SCHEMA.key_column_usage fkcol on fkcon.CONSTRAINT_SCHEMA = fkcol.CONSTRAINT_SCHEMA
    and fkcon.CONSTRAINT_NAME = fkcol.CONSTRAINT_NAME
inner join INFORMATION_SCHEMA.key_column_usage pkcol on fkcon.UNIQUE_CONSTRAINT_SCHEMA = pkcol.CONSTRAINT_SCHEMA
    and fkcon.UNIQUE_CONSTRAINT_NAME = pkcol.CONSTRAINT_NAME
where pkcol.TABLE_SCHEMA = 'sales' and pkcol.TABLE_NAME = 'customers' and pkcol.ORDINAL_POSITION = fkcol.ORDINAL_POSITION
order by FK_NAME, fkcol.ORDINAL_POSITION

--- power bi indexes
select i.CONSTRAINT_SCHEMA || '_' || i.CONSTRAINT_NAME as INDEX_NAME, ii.COLUMN_NAME, ii.ORDINAL_POSITION,
    case when i.CONSTRAINT_TYPE = 'PRIMARY KEY' then 'Y' else 'N' end as PRIMARY_KEY
from INFORMATION_SCHEMA.table_constraints i inner join INFORMATION_SCHEMA.key_column_usage ii
    on i.CONSTRAINT_SCHEMA = ii.CONSTRAINT_SCHEMA and i.CONSTRAINT_NAME = ii.CONSTRAINT_NAME
    and i.TABLE_SCHEMA = ii.TABLE_SCHEMA and i.TABLE_NAME = ii.TABLE_NAME
where i.TABLE_SCHEMA = 'sales' and i.TABLE_NAME = 'orders' and i.CONSTRAINT_TYPE in ('PRIMARY KEY', 'UNIQUE')
order by i.CONSTRAINT_SCHEMA || '_' || i.CONSTRAINT_NAME, ii.TABLE_SCHEMA, ii.TABLE_NAME, ii.ORDINAL_POSITION

--- dbeaver session
SELECT current_schema(), session_user

--- dbeaver schemas
SELECT s.oid, s.*, x.description FROM pg_catalog.pg_namespace s
LEFT OUTER JOIN pg_catalog.pg_description x ON x.objoid = s.oid AND x.objsubid = 0 AND x.classoid = 'pg_namespace'::regclass
ORDER BY nspname

--- dbeaver databases
SELECT b.oid, b.* FROM pg_catalog.pg_database b WHERE datname = 'main'

--- dbeaver types
SELECT y.oid, y.*, c.relkind, format_type(nullif(y.typbasetype, 0), y.typtypmod) AS base_type_name, x.description
FROM pg_catalog.pg_type y LEFT OUTER JOIN pg_catalog.pg_type e ON e.oid = y.typelem
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = y.typrelid LEFT OUTER JOIN pg_catalog.pg_description x ON y.oid = x.objoid
WHERE y.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (e.typcategory IS NULL OR e.typcategory <> 'C')

--- dbeaver probes
SELECT reltype FROM pg_catalog.pg_class WHERE 1 <> 1 LIMIT 1

--- dbeaver tables
SELECT c.oid, c.*, x.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr,
    pg_catalog.pg_get_partkeydef(c.oid) AS partition_key
FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description x ON x.objoid = c.oid AND x.objsubid = 0 AND x.classoid = 'pg_class'::regclass
WHERE c.relnamespace = {oid:sales} AND c.relkind NOT IN ('i', 'I', 'c')

--- dbeaver columns
SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description, dep.objid
FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum
    AND dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.oid = {oid:sales.orders} ORDER BY a.attnum

--- dbeaver constraints
SELECT c.oid, c.*, t.relname AS tabrelname, rt.relnamespace AS refnamespace, x.description,
    CASE c.contype WHEN 'c' THEN "substring"(pg_get_constraintdef(c.oid), 7) END AS consrc_copy
FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid
LEFT OUTER JOIN pg_catalog.pg_description x ON x.objoid = c.oid AND x.objsubid = 0 AND x.classoid = 'pg_constraint'::regclass
WHERE c.conrelid = {oid:sales.orders} ORDER BY c.oid

--- dbeaver settings
SELECT * FROM pg_catalog.pg_settings WHERE name = 'standard_conforming_strings'

--- datagrip databases
select d.oid::bigint as id, datname as name, x.description, datistemplate as is_template, datallowconn as allow_connections,
    pg_catalog.pg_get_userbyid(d.datdba) as "owner"
from pg_catalog.pg_database d left join pg_catalog.pg_shdescription x on d.oid = x.objoid
order by case when datname = pg_catalog.current_database() then -1::bigint else d.oid::bigint end

--- datagrip schemas
select s.oid::bigint as id, s.xmin as state_number, nspname as name, x.description,
    pg_catalog.pg_get_userbyid(s.nspowner) as "owner"
from pg_catalog.pg_namespace s left join pg_catalog.pg_description x on s.oid = x.objoid
order by case when nspname = pg_catalog.current_schema() then -1::bigint else s.oid::bigint end

--- datagrip transaction
select case when pg_catalog.pg_is_in_recovery() then null
    else (pg_catalog.txid_current() % 4294967296)::varchar::bigint end as current_txid

--- datagrip locks
select k.transactionid::varchar::bigint as transaction_id from pg_catalog.pg_locks k
where k.transactionid is not null order by pg_catalog.age(k.transactionid) desc limit 1

--- datagrip time zones
select name, is_dst from pg_catalog.pg_timezone_names where 1 = 0
union distinct select abbrev as name, is_dst from pg_catalog.pg_timezone_abbrevs where 1 = 0

--- datagrip roles
select r.oid::bigint as role_id, rolname as role_name, rolsuper is_super, rolinherit is_inherit, rolcreaterole can_createrole,
    rolcreatedb can_createdb, rolcanlogin can_login, rolreplication is_replication, rolconnlimit conn_limit,
    rolvaliduntil valid_until, rolbypassrls bypass_rls, rolconfig config, x.description
from pg_catalog.pg_roles r left join pg_catalog.pg_shdescription x on x.objoid = r.oid

--- datagrip members
select member id, roleid role_id, admin_option from pg_catalog.pg_auth_members where 1 = 0 order by id, roleid::text

--- datagrip access
select t.oid as object_id, t.spcacl as acl from pg_catalog.pg_tablespace t
union all select d.oid as object_id, d.datacl as acl from pg_catalog.pg_database d

--- metabase tables
SELECT "n"."nspname" AS "schema", "c"."relname" AS "name", CASE "c"."relkind" WHEN 'r' THEN 'TABLE'
    WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW'
    ELSE NULL END AS "type", "d"."description" AS "description", NULLIF("stat"."n_live_tup", 0) AS "estimated_row_count"
FROM "pg_catalog"."pg_class" AS "c" INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "c"."relnamespace" = "n"."oid"
LEFT JOIN "pg_catalog"."pg_description" AS "d" ON ("c"."oid" = "d"."objoid") AND ("d"."objsubid" = 0)
    AND ("d"."classoid" = 'pg_class'::regclass)
LEFT JOIN "pg_stat_user_tables" AS "stat" ON ("n"."nspname" = "stat"."schemaname") AND ("c"."relname" = "stat"."relname")
WHERE ("n"."nspname" !~ '^pg_') AND ("n"."nspname" <> 'information_schema') AND c.relkind IN ('r', 'p', 'v', 'f', 'm')
    AND ("n"."nspname" IN ('sales')) ORDER BY "type" ASC, "schema" ASC, "name" ASC

--- metabase privileges
with visible as (
    select NULL as role, t.schemaname as schema, t.objectname as table,
        pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"'
            || replace(t.objectname, '"', '""') || '"', 'select') as select
    from (select schemaname, tablename as objectname from pg_catalog.pg_tables
          union select schemaname, viewname as objectname from pg_catalog.pg_views
          union select schemaname, matviewname as objectname from pg_catalog.pg_matviews) t
    where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema' and t.schemaname = 'sales'
        and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage'))
select v.* from visible v

--- metabase fields
SELECT "c"."column_name" AS "name", CASE WHEN "c"."udt_schema" IN ('public', 'pg_catalog')
    THEN FORMAT('%s', "c"."udt_name") ELSE FORMAT('"%s"."%s"', "c"."udt_schema", "c"."udt_name") END AS "database-type",
    "c"."ordinal_position" - 1 AS "database-position", "c"."table_schema" AS "table-schema", "c"."table_name" AS "table-name",
    "pk"."column_name" IS NOT NULL AS "pk?",
    COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST("c"."table_schema" AS TEXT), CAST("c"."table_name" AS TEXT)) AS REGCLASS)
        AS OID), "c"."ordinal_position") AS "field-comment",
    (("column_default" IS NULL) OR (LOWER("column_default") = 'null')) AND ("is_nullable" = 'NO') AS "database-required"
FROM "information_schema"."columns" AS "c"
LEFT JOIN (SELECT "tc"."table_schema", "tc"."table_name", "kc"."column_name"
           FROM "information_schema"."table_constraints" AS "tc"
           INNER JOIN "information_schema"."key_column_usage" AS "kc" ON ("tc"."constraint_name" = "kc"."constraint_name")
               AND ("tc"."table_schema" = "kc"."table_schema") AND ("tc"."table_name" = "kc"."table_name")
           WHERE "tc"."constraint_type" = 'PRIMARY KEY') AS "pk"
    ON ("c"."table_schema" = "pk"."table_schema") AND ("c"."table_name" = "pk"."table_name")
    AND ("c"."column_name" = "pk"."column_name")
WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND ("c"."table_schema" IN ('sales'))
ORDER BY "table-schema" ASC, "table-name" ASC, "database-position" ASC

--- metabase foreign keys
SELECT "fn"."nspname" AS "fk-table-schema", "ft"."relname" AS "fk-table-name", "fa"."attname" AS "fk-column-name",
    "pn"."nspname" AS "pk-table-schema", "pt"."relname" AS "pk-table-name", "pa"."attname" AS "pk-column-name"
FROM "pg_constraint" AS "c" INNER JOIN "pg_class" AS "ft" ON "c"."conrelid" = "ft"."oid"
INNER JOIN "pg_namespace" AS "fn" ON "c"."connamespace" = "fn"."oid"
INNER JOIN "pg_attribute" AS "fa" ON "c"."conrelid" = "fa"."attrelid"
INNER JOIN "pg_class" AS "pt" ON "c"."confrelid" = "pt"."oid"
INNER JOIN "pg_namespace" AS "pn" ON "pt"."relnamespace" = "pn"."oid"
INNER JOIN "pg_attribute" AS "pa" ON "c"."confrelid" = "pa"."attrelid"
WHERE fn.nspname !~ '^information_schema|catalog_history|pg_' AND ("c"."contype" = 'f'::char)
    AND ("fa"."attnum" = ANY(c.conkey)) AND ("pa"."attnum" = ANY(c.confkey)) AND ("fn"."nspname" IN ('sales'))
ORDER BY "fk-table-schema" ASC, "fk-table-name" ASC

--- metabase enums
SELECT n.nspname, t.typname, e.enumlabel FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid
JOIN pg_namespace n ON n.oid = t.typnamespace

--- grafana version
SELECT current_setting('server_version_num')::int/100 as version

--- grafana tables
SELECT CASE WHEN quote_ident(table_schema) IN (
        SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
        FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1),
                array_upper(string_to_array(current_setting('search_path'), ','), 1)) as i,
            string_to_array(current_setting('search_path'), ',') s)
    THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table"
FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog')
    AND table_schema = 'sales' ORDER BY 1

--- grafana columns
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns
WHERE quote_ident(table_name) = 'orders' AND table_schema = 'sales' ORDER BY ordinal_position

--- superset schemas
SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' AND nspname = 'sales' ORDER BY nspname

--- superset views
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'sales'
    AND c.relkind IN ('v', 'm')

--- superset settings
SELECT pg_catalog.version()

--- tableau tables
select NULL, nspname, relname, relkind, pg_catalog.pg_class.oid, relhasrules from pg_catalog.pg_class
inner join pg_catalog.pg_namespace on relnamespace = pg_catalog.pg_namespace.oid
where relkind in ('r', 'v', 'm', 'f', 'p') and nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'pg_temp_1')
    and has_table_privilege(pg_catalog.pg_class.oid, 'select') and nspname = 'sales' order by nspname, relname

--- tableau columns
select n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod, a.attnotnull,
    c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid),
    case t.typtype when 'd' then t.typbasetype else 0 end, t.typtypmod, a.attidentity
from (((pg_catalog.pg_class c inner join pg_catalog.pg_namespace n on n.oid = c.relnamespace and c.relname = 'orders'
    and n.nspname = 'sales') inner join pg_catalog.pg_attribute a on (not a.attisdropped) and a.attnum > 0
    and a.attrelid = c.oid) inner join pg_catalog.pg_type t on t.oid = a.atttypid)
left outer join pg_attrdef d on a.atthasdef and d.adrelid = a.attrelid and d.adnum = a.attnum
order by n.nspname, c.relname, attnum

--- tableau keys
select ta.attname, ia.attnum, ic.relname, n.nspname, tc.relname
from pg_catalog.pg_attribute ta, pg_catalog.pg_attribute ia, pg_catalog.pg_class tc, pg_catalog.pg_index i,
    pg_catalog.pg_namespace n, pg_catalog.pg_class ic
where tc.relname = 'orders' and n.nspname = 'sales' and tc.oid = i.indrelid and n.oid = tc.relnamespace
    and i.indisprimary = 't' and ia.attrelid = i.indexrelid and ta.attrelid = i.indrelid
    and ta.attnum = i.indkey[ia.attnum - 1] and (not ta.attisdropped) and (not ia.attisdropped)
    and ic.oid = i.indexrelid order by ia.attnum

--- psqlodbc foreign keys
select 'd'::name as "PKTABLE_CAT", n2.nspname as "PKTABLE_SCHEM", c2.relname as "PKTABLE_NAME",
    a2.attname as "PKCOLUMN_NAME", n1.nspname as "FKTABLE_SCHEM", c1.relname as "FKTABLE_NAME",
    a1.attname as "FKCOLUMN_NAME", i::int2 as "KEY_SEQ",
    case ref.confupdtype when 'c' then 0::int2 when 'n' then 2::int2 else 3::int2 end as "UPDATE_RULE",
    ref.conname as "FK_NAME", cn.conname as "PK_NAME"
from ((((((( (select cn.oid, conrelid, conkey, confrelid, confkey,
        generate_series(array_lower(conkey, 1), array_upper(conkey, 1)) as i, confupdtype, confdeltype, conname
        from pg_catalog.pg_constraint cn, pg_catalog.pg_class c, pg_catalog.pg_namespace n
        where contype = 'f' and conrelid = c.oid and relname = 'orders' and n.oid = c.relnamespace
        and n.nspname = 'sales') ref
    inner join pg_catalog.pg_class c1 on c1.oid = ref.conrelid)
    inner join pg_catalog.pg_namespace n1 on n1.oid = c1.relnamespace)
    inner join pg_catalog.pg_attribute a1 on a1.attrelid = c1.oid and a1.attnum = conkey[i])
    inner join pg_catalog.pg_class c2 on c2.oid = ref.confrelid)
    inner join pg_catalog.pg_namespace n2 on n2.oid = c2.relnamespace)
    inner join pg_catalog.pg_attribute a2 on a2.attrelid = c2.oid and a2.attnum = confkey[i])
    left outer join pg_catalog.pg_constraint cn on cn.conrelid = ref.confrelid and cn.contype = 'p')
order by ref.oid, ref.i

--- identity columns
SELECT column_name, column_default, is_identity, identity_generation, identity_start, identity_increment, identity_maximum,
    identity_minimum, identity_cycle, is_generated, generation_expression FROM information_schema.columns
WHERE table_schema = 'sales' AND table_name = 'items'

--- sequences of identity columns
SELECT a.attname, a.attidentity, pg_get_serial_sequence('sales.items', a.attname) AS sequence, s.seqstart, s.seqincrement,
    s.seqmin, s.seqmax, s.seqcache, s.seqcycle, c.relkind, d.deptype, d.refobjsubid
FROM pg_attribute a JOIN pg_sequence s ON s.seqrelid = pg_get_serial_sequence('sales.items', a.attname)::regclass
JOIN pg_class c ON c.oid = s.seqrelid
JOIN pg_depend d ON d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.refobjid = a.attrelid
WHERE a.attrelid = 'sales.items'::regclass AND a.attnum > 0 AND 'sales' <> ''

--- column without a sequence
SELECT pg_get_serial_sequence('sales.items', 'c') AS nothing, 'sales' AS schema

--- check constraints
SELECT c.conname, c.contype, c.conkey, c.convalidated, c.connoinherit, r.relname, r.relchecks
FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE n.nspname = 'sales' AND c.contype = 'c' ORDER BY c.conname

--- definition of a check constraint
SELECT pg_get_constraintdef(oid, true) AS short FROM pg_constraint WHERE conname IN ('Items_a', 'items_never')
AND conrelid = 'sales.items'::regclass AND 'sales' <> '' ORDER BY conname

--- check constraints of the standard
SELECT constraint_name, constraint_type FROM information_schema.table_constraints
WHERE table_schema = 'sales' AND table_name = 'items' AND constraint_name NOT LIKE '%not_null' ORDER BY constraint_name

--- columns of check constraints
SELECT table_name, column_name, constraint_name FROM information_schema.constraint_column_usage
WHERE table_schema = 'sales' ORDER BY constraint_name, column_name

--- tables of check constraints
SELECT table_name, constraint_name FROM information_schema.constraint_table_usage
WHERE table_schema = 'sales' ORDER BY constraint_name

--- columns of keys
SELECT table_name, column_name, constraint_name FROM information_schema.key_column_usage
WHERE table_schema = 'sales' ORDER BY constraint_name, column_name
