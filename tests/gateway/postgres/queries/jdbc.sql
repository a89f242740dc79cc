-- Queries of pgjdbc 42.7.8, DatabaseMetaData, recorded by PostgreSQL 15.18.

--- jdbc (1)
SELECT datname AS "TABLE_CAT" FROM pg_catalog.pg_database WHERE datallowconn = true ORDER BY datname

--- jdbc (2)
SELECT nspname AS "TABLE_SCHEM", current_database() AS "TABLE_CATALOG" FROM pg_catalog.pg_namespace  WHERE nspname <> 'pg_toast' AND (nspname !~ '^pg_temp_'  OR nspname = (pg_catalog.current_schemas(true))[1]) AND (nspname !~ '^pg_toast_temp_'  OR nspname = replace((pg_catalog.current_schemas(true))[1], 'pg_temp_', 'pg_toast_temp_'))  ORDER BY "TABLE_SCHEM"

--- jdbc (3)
select current_catalog

--- jdbc (4)
SELECT nspname AS "TABLE_SCHEM", current_database() AS "TABLE_CATALOG" FROM pg_catalog.pg_namespace  WHERE nspname <> 'pg_toast' AND (nspname !~ '^pg_temp_'  OR nspname = (pg_catalog.current_schemas(true))[1]) AND (nspname !~ '^pg_toast_temp_'  OR nspname = replace((pg_catalog.current_schemas(true))[1], 'pg_temp_', 'pg_toast_temp_'))  AND nspname LIKE $1 ORDER BY "TABLE_SCHEM"
--- parameters
'sal%'

--- jdbc (5)
SELECT current_database() AS "TABLE_CAT", n.nspname AS "TABLE_SCHEM", c.relname AS "TABLE_NAME",  CASE n.nspname ~ '^pg_' OR n.nspname = 'information_schema'  WHEN true THEN CASE  WHEN n.nspname = 'pg_catalog' OR n.nspname = 'information_schema' THEN CASE c.relkind   WHEN 'r' THEN 'SYSTEM TABLE'   WHEN 'v' THEN 'SYSTEM VIEW'   WHEN 'i' THEN 'SYSTEM INDEX'   ELSE NULL   END  WHEN n.nspname = 'pg_toast' THEN CASE c.relkind   WHEN 'r' THEN 'SYSTEM TOAST TABLE'   WHEN 'i' THEN 'SYSTEM TOAST INDEX'   ELSE NULL   END  ELSE CASE c.relkind   WHEN 'r' THEN 'TEMPORARY TABLE'   WHEN 'p' THEN 'TEMPORARY TABLE'   WHEN 'i' THEN 'TEMPORARY INDEX'   WHEN 'S' THEN 'TEMPORARY SEQUENCE'   WHEN 'v' THEN 'TEMPORARY VIEW'   ELSE NULL   END  END  WHEN false THEN CASE c.relkind  WHEN 'r' THEN 'TABLE'  WHEN 'p' THEN 'PARTITIONED TABLE'  WHEN 'i' THEN 'INDEX'  WHEN 'P' then 'PARTITIONED INDEX'  WHEN 'S' THEN 'SEQUENCE'  WHEN 'v' THEN 'VIEW'  WHEN 'c' THEN 'TYPE'  WHEN 'f' THEN 'FOREIGN TABLE'  WHEN 'm' THEN 'MATERIALIZED VIEW'  ELSE NULL  END  ELSE NULL  END  AS "TABLE_TYPE", d.description AS "REMARKS",  '' as "TYPE_CAT", '' as "TYPE_SCHEM", '' as "TYPE_NAME", '' AS "SELF_REFERENCING_COL_NAME", '' AS "REF_GENERATION"  FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c  LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0  and d.classoid = 'pg_class'::regclass)  WHERE c.relnamespace = n.oid  AND c.relname LIKE $1 ORDER BY "TABLE_TYPE","TABLE_SCHEM","TABLE_NAME"
--- parameters
'%'

--- jdbc (6)
SELECT current_database() AS "TABLE_CAT", n.nspname AS "TABLE_SCHEM", c.relname AS "TABLE_NAME",  CASE n.nspname ~ '^pg_' OR n.nspname = 'information_schema'  WHEN true THEN CASE  WHEN n.nspname = 'pg_catalog' OR n.nspname = 'information_schema' THEN CASE c.relkind   WHEN 'r' THEN 'SYSTEM TABLE'   WHEN 'v' THEN 'SYSTEM VIEW'   WHEN 'i' THEN 'SYSTEM INDEX'   ELSE NULL   END  WHEN n.nspname = 'pg_toast' THEN CASE c.relkind   WHEN 'r' THEN 'SYSTEM TOAST TABLE'   WHEN 'i' THEN 'SYSTEM TOAST INDEX'   ELSE NULL   END  ELSE CASE c.relkind   WHEN 'r' THEN 'TEMPORARY TABLE'   WHEN 'p' THEN 'TEMPORARY TABLE'   WHEN 'i' THEN 'TEMPORARY INDEX'   WHEN 'S' THEN 'TEMPORARY SEQUENCE'   WHEN 'v' THEN 'TEMPORARY VIEW'   ELSE NULL   END  END  WHEN false THEN CASE c.relkind  WHEN 'r' THEN 'TABLE'  WHEN 'p' THEN 'PARTITIONED TABLE'  WHEN 'i' THEN 'INDEX'  WHEN 'P' then 'PARTITIONED INDEX'  WHEN 'S' THEN 'SEQUENCE'  WHEN 'v' THEN 'VIEW'  WHEN 'c' THEN 'TYPE'  WHEN 'f' THEN 'FOREIGN TABLE'  WHEN 'm' THEN 'MATERIALIZED VIEW'  ELSE NULL  END  ELSE NULL  END  AS "TABLE_TYPE", d.description AS "REMARKS",  '' as "TYPE_CAT", '' as "TYPE_SCHEM", '' as "TYPE_NAME", '' AS "SELF_REFERENCING_COL_NAME", '' AS "REF_GENERATION"  FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c  LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0  and d.classoid = 'pg_class'::regclass)  WHERE c.relnamespace = n.oid  AND n.nspname LIKE $1 AND c.relname LIKE $2 AND (false  OR ( c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' )  OR ( c.relkind = 'v' AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' ) )  ORDER BY "TABLE_TYPE","TABLE_SCHEM","TABLE_NAME"
--- parameters
'sales'
'ord%'

--- jdbc (7)
SELECT current_database() AS "TABLE_CAT", n.nspname AS "TABLE_SCHEM", c.relname AS "TABLE_NAME",  CASE n.nspname ~ '^pg_' OR n.nspname = 'information_schema'  WHEN true THEN CASE  WHEN n.nspname = 'pg_catalog' OR n.nspname = 'information_schema' THEN CASE c.relkind   WHEN 'r' THEN 'SYSTEM TABLE'   WHEN 'v' THEN 'SYSTEM VIEW'   WHEN 'i' THEN 'SYSTEM INDEX'   ELSE NULL   END  WHEN n.nspname = 'pg_toast' THEN CASE c.relkind   WHEN 'r' THEN 'SYSTEM TOAST TABLE'   WHEN 'i' THEN 'SYSTEM TOAST INDEX'   ELSE NULL   END  ELSE CASE c.relkind   WHEN 'r' THEN 'TEMPORARY TABLE'   WHEN 'p' THEN 'TEMPORARY TABLE'   WHEN 'i' THEN 'TEMPORARY INDEX'   WHEN 'S' THEN 'TEMPORARY SEQUENCE'   WHEN 'v' THEN 'TEMPORARY VIEW'   ELSE NULL   END  END  WHEN false THEN CASE c.relkind  WHEN 'r' THEN 'TABLE'  WHEN 'p' THEN 'PARTITIONED TABLE'  WHEN 'i' THEN 'INDEX'  WHEN 'P' then 'PARTITIONED INDEX'  WHEN 'S' THEN 'SEQUENCE'  WHEN 'v' THEN 'VIEW'  WHEN 'c' THEN 'TYPE'  WHEN 'f' THEN 'FOREIGN TABLE'  WHEN 'm' THEN 'MATERIALIZED VIEW'  ELSE NULL  END  ELSE NULL  END  AS "TABLE_TYPE", d.description AS "REMARKS",  '' as "TYPE_CAT", '' as "TYPE_SCHEM", '' as "TYPE_NAME", '' AS "SELF_REFERENCING_COL_NAME", '' AS "REF_GENERATION"  FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c  LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0  and d.classoid = 'pg_class'::regclass)  WHERE c.relnamespace = n.oid  AND n.nspname LIKE $1 AND (false  OR ( c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' )  OR ( c.relkind = 'v' AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' )  OR ( c.relkind = 'm' )  OR ( c.relkind = 'p' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' )  OR ( c.relkind = 'f' )  OR ( c.relkind = 'r' AND (n.nspname = 'pg_catalog' OR n.nspname = 'information_schema') )  OR ( c.relkind = 'v' AND (n.nspname = 'pg_catalog' OR n.nspname = 'information_schema')  )  OR ( c.relkind = 'i' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' )  OR ( c.relkind = 'S' )  OR ( c.relkind IN ('r','p') AND n.nspname ~ '^pg_temp_'  )  OR ( c.relkind = 'c' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ) )  ORDER BY "TABLE_TYPE","TABLE_SCHEM","TABLE_NAME"
--- parameters
'sales'

--- jdbc (8)
SELECT * FROM (SELECT current_database() AS current_database, n.nspname,c.relname,a.attname,a.atttypid,a.attnotnull  OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull,a.atttypmod,a.attlen,t.typtypmod,row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS attnum, nullif(a.attidentity, '') as attidentity,nullif(a.attgenerated, '') as attgenerated,pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc,dsc.description,t.typbasetype,t.typtype  FROM pg_catalog.pg_namespace n  JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid)  JOIN pg_catalog.pg_attribute a ON (a.attrelid=c.oid)  JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid)  LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid=def.adrelid AND a.attnum = def.adnum)  LEFT JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)  LEFT JOIN pg_catalog.pg_class dc ON (dc.oid=dsc.classoid AND dc.relname='pg_class')  LEFT JOIN pg_catalog.pg_namespace dn ON (dc.relnamespace=dn.oid AND dn.nspname='pg_catalog')  WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0 AND NOT a.attisdropped  AND n.nspname LIKE $1 AND c.relname LIKE $2) c WHERE true  AND attname LIKE $3 ORDER BY nspname,c.relname,attnum
--- parameters
'sales'
'orders'
'%'

--- jdbc (9)
SELECT * FROM (SELECT current_database() AS current_database, n.nspname,c.relname,a.attname,a.atttypid,a.attnotnull  OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull,a.atttypmod,a.attlen,t.typtypmod,row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS attnum, nullif(a.attidentity, '') as attidentity,nullif(a.attgenerated, '') as attgenerated,pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc,dsc.description,t.typbasetype,t.typtype  FROM pg_catalog.pg_namespace n  JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid)  JOIN pg_catalog.pg_attribute a ON (a.attrelid=c.oid)  JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid)  LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid=def.adrelid AND a.attnum = def.adnum)  LEFT JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)  LEFT JOIN pg_catalog.pg_class dc ON (dc.oid=dsc.classoid AND dc.relname='pg_class')  LEFT JOIN pg_catalog.pg_namespace dn ON (dc.relnamespace=dn.oid AND dn.nspname='pg_catalog')  WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0 AND NOT a.attisdropped  AND c.relname LIKE $1) c WHERE true  AND attname LIKE $2 ORDER BY nspname,c.relname,attnum
--- parameters
'%'
'%'

--- jdbc (10)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'13226'

--- jdbc (11)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'13224'

--- jdbc (12)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'13234'

--- jdbc (13)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'13221'

--- jdbc (14)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'13232'

--- jdbc (15)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'24'

--- jdbc (16)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'24'

--- jdbc (17)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'194'

--- jdbc (18)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'194'

--- jdbc (19)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'1034'

--- jdbc (20)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'1034'

--- jdbc (21)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'2277'

--- jdbc (22)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'2277'

--- jdbc (23)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'28'

--- jdbc (24)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'28'

--- jdbc (25)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'22'

--- jdbc (26)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'22'

--- jdbc (27)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'30'

--- jdbc (28)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'30'

--- jdbc (29)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'2211'

--- jdbc (30)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'2211'

--- jdbc (31)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'3220'

--- jdbc (32)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'3220'

--- jdbc (33)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'2206'

--- jdbc (34)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'2206'

--- jdbc (35)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'869'

--- jdbc (36)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'869'

--- jdbc (37)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'1186'

--- jdbc (38)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'1186'

--- jdbc (39)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'3361'

--- jdbc (40)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'3361'

--- jdbc (41)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'3402'

--- jdbc (42)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'3402'

--- jdbc (43)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'5017'

--- jdbc (44)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'5017'

--- jdbc (45)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  WHERE pg_type.oid = $1  ORDER BY sp.r, pg_type.oid DESC
--- parameters
'10028'

--- jdbc (46)
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
--- parameters
'10028'

--- jdbc (47)
SELECT * FROM (SELECT current_database() AS current_database, n.nspname,c.relname,a.attname,a.atttypid,a.attnotnull  OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull,a.atttypmod,a.attlen,t.typtypmod,row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS attnum, nullif(a.attidentity, '') as attidentity,nullif(a.attgenerated, '') as attgenerated,pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc,dsc.description,t.typbasetype,t.typtype  FROM pg_catalog.pg_namespace n  JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid)  JOIN pg_catalog.pg_attribute a ON (a.attrelid=c.oid)  JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid)  LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid=def.adrelid AND a.attnum = def.adnum)  LEFT JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)  LEFT JOIN pg_catalog.pg_class dc ON (dc.oid=dsc.classoid AND dc.relname='pg_class')  LEFT JOIN pg_catalog.pg_namespace dn ON (dc.relnamespace=dn.oid AND dn.nspname='pg_catalog')  WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0 AND NOT a.attisdropped  AND n.nspname LIKE $1 AND c.relname LIKE $2) c WHERE true  AND attname LIKE $3 ORDER BY nspname,c.relname,attnum
--- parameters
'sales'
'orders'
'amount'

--- jdbc (48)
SELECT        result.TABLE_CAT AS "TABLE_CAT",        result.TABLE_SCHEM AS "TABLE_SCHEM",        result.TABLE_NAME AS "TABLE_NAME",        result.COLUMN_NAME AS "COLUMN_NAME",        result.KEY_SEQ AS "KEY_SEQ",        result.PK_NAME AS "PK_NAME"FROM      (SELECT current_database() AS TABLE_CAT, n.nspname AS TABLE_SCHEM,   ct.relname AS TABLE_NAME, a.attname AS COLUMN_NAME,   (information_schema._pg_expandarray(i.indkey)).n AS KEY_SEQ, ci.relname AS PK_NAME,   information_schema._pg_expandarray(i.indkey) AS KEYS, a.attnum AS A_ATTNUM, i.indnkeyatts as KEY_COUNT FROM pg_catalog.pg_class ct   JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid)   JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid)   JOIN pg_catalog.pg_index i ON ( a.attrelid = i.indrelid)   JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) WHERE true  AND n.nspname = $1 AND ct.relname = $2 AND i.indisprimary  ) result where  result.A_ATTNUM = (result.KEYS).x AND result.KEY_SEQ <= KEY_COUNT  ORDER BY result.table_name, result.pk_name, result.key_seq
--- parameters
'sales'
'orders'

--- jdbc (49)
SELECT setting FROM pg_catalog.pg_settings WHERE name='max_index_keys'

--- jdbc (50)
SELECT current_database() AS "PKTABLE_CAT", pkn.nspname AS "PKTABLE_SCHEM", pkc.relname AS "PKTABLE_NAME", pka.attname AS "PKCOLUMN_NAME", current_database() AS "FKTABLE_CAT", fkn.nspname AS "FKTABLE_SCHEM", fkc.relname AS "FKTABLE_NAME", fka.attname AS "FKCOLUMN_NAME", pos.n AS "KEY_SEQ", CASE con.confupdtype  WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN 'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS "UPDATE_RULE", CASE con.confdeltype  WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN 'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS "DELETE_RULE", con.conname AS "FK_NAME", pkic.relname AS "PK_NAME", CASE  WHEN con.condeferrable AND con.condeferred THEN 5 WHEN con.condeferrable THEN 6 ELSE 7 END AS "DEFERRABILITY"  FROM  pg_catalog.pg_namespace pkn, pg_catalog.pg_class pkc, pg_catalog.pg_attribute pka,  pg_catalog.pg_namespace fkn, pg_catalog.pg_class fkc, pg_catalog.pg_attribute fka,  pg_catalog.pg_constraint con,  pg_catalog.generate_series(1, 32) pos(n),  pg_catalog.pg_class pkic WHERE pkn.oid = pkc.relnamespace AND pkc.oid = pka.attrelid AND pka.attnum = con.confkey[pos.n] AND con.confrelid = pkc.oid  AND fkn.oid = fkc.relnamespace AND fkc.oid = fka.attrelid AND fka.attnum = con.conkey[pos.n] AND con.conrelid = fkc.oid  AND con.contype = 'f' AND (pkic.relkind = 'i' OR pkic.relkind = 'I') AND pkic.oid = con.conindid  AND fkn.nspname = $1 AND fkc.relname = $2 ORDER BY pkn.nspname,pkc.relname, con.conname,pos.n
--- parameters
'sales'
'orders'

--- jdbc (51)
SELECT current_database() AS "PKTABLE_CAT", pkn.nspname AS "PKTABLE_SCHEM", pkc.relname AS "PKTABLE_NAME", pka.attname AS "PKCOLUMN_NAME", current_database() AS "FKTABLE_CAT", fkn.nspname AS "FKTABLE_SCHEM", fkc.relname AS "FKTABLE_NAME", fka.attname AS "FKCOLUMN_NAME", pos.n AS "KEY_SEQ", CASE con.confupdtype  WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN 'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS "UPDATE_RULE", CASE con.confdeltype  WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN 'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS "DELETE_RULE", con.conname AS "FK_NAME", pkic.relname AS "PK_NAME", CASE  WHEN con.condeferrable AND con.condeferred THEN 5 WHEN con.condeferrable THEN 6 ELSE 7 END AS "DEFERRABILITY"  FROM  pg_catalog.pg_namespace pkn, pg_catalog.pg_class pkc, pg_catalog.pg_attribute pka,  pg_catalog.pg_namespace fkn, pg_catalog.pg_class fkc, pg_catalog.pg_attribute fka,  pg_catalog.pg_constraint con,  pg_catalog.generate_series(1, 32) pos(n),  pg_catalog.pg_class pkic WHERE pkn.oid = pkc.relnamespace AND pkc.oid = pka.attrelid AND pka.attnum = con.confkey[pos.n] AND con.confrelid = pkc.oid  AND fkn.oid = fkc.relnamespace AND fkc.oid = fka.attrelid AND fka.attnum = con.conkey[pos.n] AND con.conrelid = fkc.oid  AND con.contype = 'f' AND (pkic.relkind = 'i' OR pkic.relkind = 'I') AND pkic.oid = con.conindid  AND pkn.nspname = $1 AND pkc.relname = $2 ORDER BY fkn.nspname,fkc.relname,con.conname,pos.n
--- parameters
'sales'
'customers'

--- jdbc (52)
SELECT current_database() AS "PKTABLE_CAT", pkn.nspname AS "PKTABLE_SCHEM", pkc.relname AS "PKTABLE_NAME", pka.attname AS "PKCOLUMN_NAME", current_database() AS "FKTABLE_CAT", fkn.nspname AS "FKTABLE_SCHEM", fkc.relname AS "FKTABLE_NAME", fka.attname AS "FKCOLUMN_NAME", pos.n AS "KEY_SEQ", CASE con.confupdtype  WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN 'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS "UPDATE_RULE", CASE con.confdeltype  WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN 'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS "DELETE_RULE", con.conname AS "FK_NAME", pkic.relname AS "PK_NAME", CASE  WHEN con.condeferrable AND con.condeferred THEN 5 WHEN con.condeferrable THEN 6 ELSE 7 END AS "DEFERRABILITY"  FROM  pg_catalog.pg_namespace pkn, pg_catalog.pg_class pkc, pg_catalog.pg_attribute pka,  pg_catalog.pg_namespace fkn, pg_catalog.pg_class fkc, pg_catalog.pg_attribute fka,  pg_catalog.pg_constraint con,  pg_catalog.generate_series(1, 32) pos(n),  pg_catalog.pg_class pkic WHERE pkn.oid = pkc.relnamespace AND pkc.oid = pka.attrelid AND pka.attnum = con.confkey[pos.n] AND con.confrelid = pkc.oid  AND fkn.oid = fkc.relnamespace AND fkc.oid = fka.attrelid AND fka.attnum = con.conkey[pos.n] AND con.conrelid = fkc.oid  AND con.contype = 'f' AND (pkic.relkind = 'i' OR pkic.relkind = 'I') AND pkic.oid = con.conindid  AND pkn.nspname = $1 AND fkn.nspname = $2 AND pkc.relname = $3 AND fkc.relname = $4 ORDER BY fkn.nspname,fkc.relname,con.conname,pos.n
--- parameters
'sales'
'sales'
'customers'
'orders'

--- jdbc (53)
SELECT     tmp.TABLE_CAT AS "TABLE_CAT",     tmp.TABLE_SCHEM AS "TABLE_SCHEM",     tmp.TABLE_NAME AS "TABLE_NAME",     tmp.NON_UNIQUE AS "NON_UNIQUE",     tmp.INDEX_QUALIFIER AS "INDEX_QUALIFIER",     tmp.INDEX_NAME AS "INDEX_NAME",     tmp.TYPE AS "TYPE",     tmp.ORDINAL_POSITION AS "ORDINAL_POSITION",     trim(both '"' from pg_catalog.pg_get_indexdef(tmp.CI_OID, tmp.ORDINAL_POSITION, false)) AS "COLUMN_NAME",   CASE tmp.AM_NAME     WHEN 'btree' THEN CASE tmp.I_INDOPTION[tmp.ORDINAL_POSITION - 1] & 1::smallint       WHEN 1 THEN 'D'       ELSE 'A'     END     ELSE NULL   END AS "ASC_OR_DESC",     tmp.CARDINALITY AS "CARDINALITY",     tmp.PAGES AS "PAGES",     tmp.FILTER_CONDITION AS "FILTER_CONDITION",     tmp.REMARKS AS "REMARKS"FROM (SELECT current_database() AS TABLE_CAT,  n.nspname AS TABLE_SCHEM,   ct.relname AS TABLE_NAME, NOT i.indisunique AS NON_UNIQUE,   NULL AS INDEX_QUALIFIER, ci.relname AS INDEX_NAME,   CASE i.indisclustered     WHEN true THEN 1    ELSE CASE am.amname       WHEN 'hash' THEN 2      ELSE 3    END   END AS TYPE,   (information_schema._pg_expandarray(i.indkey)).n AS ORDINAL_POSITION,   ci.reltuples AS CARDINALITY,   ci.relpages AS PAGES,   pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS FILTER_CONDITION,   ci.oid AS CI_OID,   i.indoption AS I_INDOPTION,   am.amname AS AM_NAME,   d.description AS REMARKS FROM pg_catalog.pg_class ct   JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid)   JOIN pg_catalog.pg_index i ON (ct.oid = i.indrelid)   JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid)   JOIN pg_catalog.pg_am am ON (ci.relam = am.oid)   LEFT JOIN pg_catalog.pg_description d ON (ci.oid = d.objoid) WHERE true  AND n.nspname = $1 AND ct.relname = $2) AS tmp ORDER BY "NON_UNIQUE", "TYPE", "INDEX_NAME", "ORDINAL_POSITION"
--- parameters
'sales'
'orders'

--- jdbc (54)
SELECT     tmp.TABLE_CAT AS "TABLE_CAT",     tmp.TABLE_SCHEM AS "TABLE_SCHEM",     tmp.TABLE_NAME AS "TABLE_NAME",     tmp.NON_UNIQUE AS "NON_UNIQUE",     tmp.INDEX_QUALIFIER AS "INDEX_QUALIFIER",     tmp.INDEX_NAME AS "INDEX_NAME",     tmp.TYPE AS "TYPE",     tmp.ORDINAL_POSITION AS "ORDINAL_POSITION",     trim(both '"' from pg_catalog.pg_get_indexdef(tmp.CI_OID, tmp.ORDINAL_POSITION, false)) AS "COLUMN_NAME",   CASE tmp.AM_NAME     WHEN 'btree' THEN CASE tmp.I_INDOPTION[tmp.ORDINAL_POSITION - 1] & 1::smallint       WHEN 1 THEN 'D'       ELSE 'A'     END     ELSE NULL   END AS "ASC_OR_DESC",     tmp.CARDINALITY AS "CARDINALITY",     tmp.PAGES AS "PAGES",     tmp.FILTER_CONDITION AS "FILTER_CONDITION",     tmp.REMARKS AS "REMARKS"FROM (SELECT current_database() AS TABLE_CAT,  n.nspname AS TABLE_SCHEM,   ct.relname AS TABLE_NAME, NOT i.indisunique AS NON_UNIQUE,   NULL AS INDEX_QUALIFIER, ci.relname AS INDEX_NAME,   CASE i.indisclustered     WHEN true THEN 1    ELSE CASE am.amname       WHEN 'hash' THEN 2      ELSE 3    END   END AS TYPE,   (information_schema._pg_expandarray(i.indkey)).n AS ORDINAL_POSITION,   ci.reltuples AS CARDINALITY,   ci.relpages AS PAGES,   pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS FILTER_CONDITION,   ci.oid AS CI_OID,   i.indoption AS I_INDOPTION,   am.amname AS AM_NAME,   d.description AS REMARKS FROM pg_catalog.pg_class ct   JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid)   JOIN pg_catalog.pg_index i ON (ct.oid = i.indrelid)   JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid)   JOIN pg_catalog.pg_am am ON (ci.relam = am.oid)   LEFT JOIN pg_catalog.pg_description d ON (ci.oid = d.objoid) WHERE true  AND n.nspname = $1 AND ct.relname = $2 AND i.indisunique ) AS tmp ORDER BY "NON_UNIQUE", "TYPE", "INDEX_NAME", "ORDINAL_POSITION"
--- parameters
'sales'
'orders'

--- jdbc (55)
SELECT t.typname,t.oid FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON (t.typnamespace = n.oid)  WHERE n.nspname  != 'pg_toast' AND  (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid))

--- jdbc (56)
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid   FROM pg_catalog.pg_type   LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r           from pg_namespace as ns           join ( select s.r, (current_schemas(false))[s.r] as nspname                    from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r          using ( nspname )        ) as sp     ON sp.nspoid = typnamespace  ORDER BY sp.r, pg_type.oid DESC

--- jdbc (57)
SELECT current_database() AS "PROCEDURE_CAT",  n.nspname AS "PROCEDURE_SCHEM", p.proname AS "PROCEDURE_NAME", NULL, NULL, NULL, d.description AS "REMARKS", 2 AS "PROCEDURE_TYPE",  p.proname || '_' || p.oid AS "SPECIFIC_NAME"  FROM pg_catalog.pg_namespace n, pg_catalog.pg_proc p  LEFT JOIN pg_catalog.pg_description d ON (p.oid=d.objoid)  LEFT JOIN pg_catalog.pg_class c ON (d.classoid=c.oid AND c.relname='pg_proc')  LEFT JOIN pg_catalog.pg_namespace pn ON (c.relnamespace=pn.oid AND pn.nspname='pg_catalog')  WHERE p.pronamespace=n.oid  AND p.prokind='p' AND n.nspname LIKE $1 AND p.proname LIKE $2 ORDER BY "PROCEDURE_SCHEM", "PROCEDURE_NAME", p.oid::text
--- parameters
'sales'
'%'

--- jdbc (58)
SELECT current_database() AS current_database, n.nspname,p.proname,p.prorettype,p.proargtypes, t.typtype,t.typrelid,  p.proargnames, p.proargmodes, p.proallargtypes, p.oid  FROM pg_catalog.pg_proc p, pg_catalog.pg_namespace n, pg_catalog.pg_type t  WHERE p.pronamespace=n.oid AND p.prorettype=t.oid  AND n.nspname LIKE $1 AND p.proname LIKE $2 ORDER BY n.nspname, p.proname, p.oid::text
--- parameters
'sales'
'%'

--- jdbc (59)
SELECT current_database() AS "FUNCTION_CAT",  n.nspname AS "FUNCTION_SCHEM", p.proname AS "FUNCTION_NAME",  d.description AS "REMARKS",  CASE    WHEN (format_type(p.prorettype, null) = 'unknown') THEN 0   WHEN      (substring(pg_get_function_result(p.oid) from 0 for 6) = 'TABLE') OR      (substring(pg_get_function_result(p.oid) from 0 for 6) = 'SETOF') THEN 2   ELSE 1 END  AS "FUNCTION_TYPE",  p.proname || '_' || p.oid AS "SPECIFIC_NAME" FROM pg_catalog.pg_proc p INNER JOIN pg_catalog.pg_namespace n ON p.pronamespace=n.oid LEFT JOIN pg_catalog.pg_description d ON p.oid=d.objoid WHERE true   AND p.prokind='f' AND n.nspname LIKE $1 AND p.proname LIKE $2 ORDER BY "FUNCTION_SCHEM", "FUNCTION_NAME", p.oid::text
--- parameters
'sales'
'%'

--- jdbc (60)
SELECT current_database() AS current_database, n.nspname,c.relname,r.rolname,c.relacl  FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c, pg_catalog.pg_roles r  WHERE c.relnamespace = n.oid  AND c.relowner = r.oid  AND c.relkind IN ('r','p','v','m','f')  AND n.nspname LIKE $1 AND c.relname LIKE $2 ORDER BY nspname, relname
--- parameters
'sales'
'orders'

--- jdbc (61)
SELECT current_database() AS current_database, n.nspname,c.relname,r.rolname,c.relacl, a.attacl,  a.attname  FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c,  pg_catalog.pg_roles r, pg_catalog.pg_attribute a  WHERE c.relnamespace = n.oid  AND c.relowner = r.oid  AND c.oid = a.attrelid  AND c.relkind = 'r'  AND a.attnum > 0 AND NOT a.attisdropped  AND n.nspname = $1 AND c.relname = $2 AND a.attname LIKE $3 ORDER BY attname
--- parameters
'sales'
'orders'
'%'

--- jdbc (62)
select current_database() as "TYPE_CAT", n.nspname as "TYPE_SCHEM", t.typname as "TYPE_NAME", null as "CLASS_NAME", CASE WHEN t.typtype='c' then 2002 else 2001 end as "DATA_TYPE", pg_catalog.obj_description(t.oid, 'pg_type')  as "REMARKS", CASE WHEN t.typtype = 'd' then  (select CASE when base_type.oid = 13312 then 2002 when base_type.oid = 4096 then 1111 when base_type.oid = 4097 then 2003 when base_type.oid = 12290 then 2003 when base_type.oid = 12291 then 2002 when base_type.oid = 1027 then 2003 when base_type.oid = 1028 then 2003 when base_type.oid = 13316 then 2003 when base_type.oid = 13317 then 2002 when base_type.oid = 16390 then 2003 when base_type.oid = 12294 then 2003 when base_type.oid = 6150 then 2003 when base_type.oid = 16391 then 2002 when base_type.oid = 12295 then 2002 when base_type.oid = 6151 then 2003 when base_type.oid = 6152 then 2003 when base_type.oid = 13321 then 2003 when base_type.oid = 6153 then 2003 when base_type.oid = 1033 then 1111 when base_type.oid = 1034 then 2003 when base_type.oid = 13322 then 2002 when base_type.oid = 12298 then 2003 when base_type.oid = 12299 then 2002 when base_type.oid = 6155 then 2003 when base_type.oid = 16397 then 2003 when base_type.oid = 6157 then 2003 when base_type.oid = 16398 then 2002 when base_type.oid = 13326 then 2003 when base_type.oid = 13327 then 2002 when base_type.oid = 12303 then 2003 when base_type.oid = 16 then -7 when base_type.oid = 12304 then 2002 when base_type.oid = 1040 then 2003 when base_type.oid = 17 then -2 when base_type.oid = 1041 then 2003 when base_type.oid = 18 then 1 when base_type.oid = 1042 then 1 when base_type.oid = 13330 then 2003 when base_type.oid = 1043 then 12 when base_type.oid = 19 then 12 when base_type.oid = 13331 then 2002 when base_type.oid = 20 then -5 when base_type.oid = 12308 then 2003 when base_type.oid = 21 then 5 when base_type.oid = 12309 then 2002 when base_type.oid = 22 then 1111 when base_type.oid = 23 then 4 when base_type.oid = 13335 then 2003 when base_type.oid = 24 then 1111 when base_type.oid = 13336 then 2002 when base_type.oid = 25 then 12 when base_type.oid = 16409 then 2003 when base_type.oid = 12313 then 2003 when base_type.oid = 26 then -5 when base_type.oid = 16410 then 2002 when base_type.oid = 12314 then 2002 when base_type.oid = 27 then 1111 when base_type.oid = 28 then 1111 when base_type.oid = 13340 then 2003 when base_type.oid = 13341 then 2002 when base_type.oid = 29 then 1111 when base_type.oid = 30 then 1111 when base_type.oid = 12318 then 2003 when base_type.oid = 12319 then 2002 when base_type.oid = 32 then 1111 when base_type.oid = 13345 then 2003 when base_type.oid = 13346 then 2002 when base_type.oid = 12323 then 2003 when base_type.oid = 12324 then 2002 when base_type.oid = 13349 then 2003 when base_type.oid = 13350 then 2002 when base_type.oid = 12328 then 2003 when base_type.oid = 12329 then 2002 when base_type.oid = 13354 then 2003 when base_type.oid = 13355 then 2002 when base_type.oid = 3115 then 1111 when base_type.oid = 12333 then 2003 when base_type.oid = 12334 then 2002 when base_type.oid = 13359 then 2003 when base_type.oid = 13360 then 2002 when base_type.oid = 12337 then 2003 when base_type.oid = 12338 then 2002 when base_type.oid = 13363 then 2003 when base_type.oid = 13364 then 2002 when base_type.oid = 13368 then 2003 when base_type.oid = 13369 then 2002 when base_type.oid = 1082 then 91 when base_type.oid = 1083 then 92 when base_type.oid = 13373 then 2003 when base_type.oid = 13374 then 2002 when base_type.oid = 13378 then 2003 when base_type.oid = 13379 then 2002 when base_type.oid = 13383 then 2003 when base_type.oid = 71 then 2002 when base_type.oid = 13384 then 2002 when base_type.oid = 13387 then 2003 when base_type.oid = 75 then 2002 when base_type.oid = 13388 then 2002 when base_type.oid = 13392 then 2003 when base_type.oid = 13393 then 2002 when base_type.oid = 81 then 2002 when base_type.oid = 83 then 2002 when base_type.oid = 13397 then 2003 when base_type.oid = 13398 then 2002 when base_type.oid = 1114 then 93 when base_type.oid = 13402 then 2003 when base_type.oid = 1115 then 2003 when base_type.oid = 13403 then 2002 when base_type.oid = 13407 then 2003 when base_type.oid = 4191 then 1111 when base_type.oid = 13408 then 2002 when base_type.oid = 4192 then 2003 when base_type.oid = 13412 then 2003 when base_type.oid = 13413 then 2002 when base_type.oid = 13417 then 2003 when base_type.oid = 13418 then 2002 when base_type.oid = 13422 then 2003 when base_type.oid = 13423 then 2002 when base_type.oid = 114 then 1111 when base_type.oid = 13426 then 2003 when base_type.oid = 13427 then 2002 when base_type.oid = 13431 then 2003 when base_type.oid = 13432 then 2002 when base_type.oid = 13436 then 2003 when base_type.oid = 13437 then 2002 when base_type.oid = 13441 then 2003 when base_type.oid = 13442 then 2002 when base_type.oid = 13446 then 2003 when base_type.oid = 13447 then 2002 when base_type.oid = 13451 then 2003 when base_type.oid = 13452 then 2002 when base_type.oid = 142 then 2009 when base_type.oid = 143 then 2003 when base_type.oid = 13455 then 2003 when base_type.oid = 13456 then 2002 when base_type.oid = 3220 then 1111 when base_type.oid = 13460 then 2003 when base_type.oid = 13461 then 2002 when base_type.oid = 3221 then 2003 when base_type.oid = 13464 then 2003 when base_type.oid = 2201 then 2003 when base_type.oid = 13465 then 2002 when base_type.oid = 2202 then 1111 when base_type.oid = 2203 then 1111 when base_type.oid = 2204 then 1111 when base_type.oid = 13469 then 2003 when base_type.oid = 2205 then 1111 when base_type.oid = 1182 then 2003 when base_type.oid = 2206 then 1111 when base_type.oid = 13470 then 2002 when base_type.oid = 1183 then 2003 when base_type.oid = 2207 then 2003 when base_type.oid = 1184 then 93 when base_type.oid = 2208 then 2003 when base_type.oid = 1185 then 2003 when base_type.oid = 2209 then 2003 when base_type.oid = 1186 then 1111 when base_type.oid = 13474 then 2003 when base_type.oid = 2210 then 2003 when base_type.oid = 2211 then 2003 when base_type.oid = 13475 then 2002 when base_type.oid = 1187 then 2003 when base_type.oid = 13479 then 2003 when base_type.oid = 13480 then 2002 when base_type.oid = 13484 then 2003 when base_type.oid = 13485 then 2002 when base_type.oid = 13489 then 2003 when base_type.oid = 13490 then 2002 when base_type.oid = 13494 then 2003 when base_type.oid = 13495 then 2002 when base_type.oid = 13499 then 2003 when base_type.oid = 13500 then 2002 when base_type.oid = 13504 then 2003 when base_type.oid = 13505 then 2002 when base_type.oid = 194 then 1111 when base_type.oid = 13508 then 2003 when base_type.oid = 13509 then 2002 when base_type.oid = 199 then 2003 when base_type.oid = 13512 then 2003 when base_type.oid = 13513 then 2002 when base_type.oid = 2249 then 1111 when base_type.oid = 13516 then 2003 when base_type.oid = 13517 then 2002 when base_type.oid = 1231 then 2003 when base_type.oid = 13520 then 2003 when base_type.oid = 13521 then 2002 when base_type.oid = 210 then 2003 when base_type.oid = 13525 then 2003 when base_type.oid = 13526 then 2002 when base_type.oid = 13529 then 2003 when base_type.oid = 13530 then 2002 when base_type.oid = 13533 then 2003 when base_type.oid = 13534 then 2002 when base_type.oid = 1248 then 2002 when base_type.oid = 13538 then 2003 when base_type.oid = 13539 then 2002 when base_type.oid = 2275 then 1111 when base_type.oid = 2276 then 1111 when base_type.oid = 2277 then 1111 when base_type.oid = 13542 then 2003 when base_type.oid = 2278 then 1111 when base_type.oid = 13543 then 2002 when base_type.oid = 2279 then 1111 when base_type.oid = 2280 then 1111 when base_type.oid = 2281 then 1111 when base_type.oid = 13546 then 2003 when base_type.oid = 13547 then 2002 when base_type.oid = 2283 then 1111 when base_type.oid = 3310 then 1111 when base_type.oid = 13551 then 2003 when base_type.oid = 2287 then 2003 when base_type.oid = 1263 then 2003 when base_type.oid = 13552 then 2002 when base_type.oid = 1266 then 92 when base_type.oid = 13556 then 2003 when base_type.oid = 13557 then 2002 when base_type.oid = 1270 then 2003 when base_type.oid = 269 then 1111 when base_type.oid = 270 then 2003 when base_type.oid = 271 then 2003 when base_type.oid = 272 then 2003 when base_type.oid = 273 then 2003 when base_type.oid = 3361 then 1111 when base_type.oid = 325 then 1111 when base_type.oid = 3402 then 1111 when base_type.oid = 4451 then 1111 when base_type.oid = 3500 then 1111 when base_type.oid = 4532 then 1111 when base_type.oid = 4533 then 1111 when base_type.oid = 4534 then 1111 when base_type.oid = 4535 then 1111 when base_type.oid = 4536 then 1111 when base_type.oid = 4537 then 1111 when base_type.oid = 4538 then 1111 when base_type.oid = 4600 then 1111 when base_type.oid = 4601 then 1111 when base_type.oid = 1560 then -7 when base_type.oid = 1561 then 2003 when base_type.oid = 1562 then 1111 when base_type.oid = 1563 then 2003 when base_type.oid = 3614 then 1111 when base_type.oid = 3615 then 1111 when base_type.oid = 3642 then 1111 when base_type.oid = 3643 then 2003 when base_type.oid = 3644 then 2003 when base_type.oid = 3645 then 2003 when base_type.oid = 600 then 1111 when base_type.oid = 601 then 1111 when base_type.oid = 602 then 1111 when base_type.oid = 603 then 1111 when base_type.oid = 604 then 1111 when base_type.oid = 628 then 1111 when base_type.oid = 629 then 2003 when base_type.oid = 650 then 1111 when base_type.oid = 651 then 2003 when base_type.oid = 3734 then 1111 when base_type.oid = 3735 then 2003 when base_type.oid = 1700 then 2 when base_type.oid = 3769 then 1111 when base_type.oid = 3770 then 2003 when base_type.oid = 700 then 7 when base_type.oid = 701 then 8 when base_type.oid = 705 then 1111 when base_type.oid = 718 then 1111 when base_type.oid = 719 then 2003 when base_type.oid = 2776 then 1111 when base_type.oid = 3802 then 1111 when base_type.oid = 3807 then 2003 when base_type.oid = 12001 then 2003 when base_type.oid = 12002 then 2002 when base_type.oid = 12006 then 2003 when base_type.oid = 12007 then 2002 when base_type.oid = 12011 then 2003 when base_type.oid = 12012 then 2002 when base_type.oid = 12015 then 2003 when base_type.oid = 12016 then 2002 when base_type.oid = 12019 then 2003 when base_type.oid = 12020 then 2002 when base_type.oid = 3831 then 1111 when base_type.oid = 12024 then 2003 when base_type.oid = 12025 then 2002 when base_type.oid = 12029 then 2003 when base_type.oid = 1790 then 2012 when base_type.oid = 12030 then 2002 when base_type.oid = 3838 then 1111 when base_type.oid = 12034 then 2003 when base_type.oid = 12035 then 2002 when base_type.oid = 774 then 1111 when base_type.oid = 12039 then 2003 when base_type.oid = 775 then 2003 when base_type.oid = 12040 then 2002 when base_type.oid = 12044 then 2003 when base_type.oid = 12045 then 2002 when base_type.oid = 10000 then 2003 when base_type.oid = 12049 then 2003 when base_type.oid = 10001 then 2002 when base_type.oid = 12050 then 2002 when base_type.oid = 10002 then 2003 when base_type.oid = 10003 then 2002 when base_type.oid = 10004 then 2003 when base_type.oid = 10005 then 2002 when base_type.oid = 790 then 8 when base_type.oid = 12054 then 2003 when base_type.oid = 10006 then 2003 when base_type.oid = 791 then 2003 when base_type.oid = 12055 then 2002 when base_type.oid = 10007 then 2002 when base_type.oid = 10008 then 2003 when base_type.oid = 10009 then 2002 when base_type.oid = 10010 then 2003 when base_type.oid = 2842 then 2002 when base_type.oid = 12059 then 2003 when base_type.oid = 10011 then 2002 when base_type.oid = 2843 then 2002 when base_type.oid = 12060 then 2002 when base_type.oid = 10012 then 2003 when base_type.oid = 10013 then 2002 when base_type.oid = 10014 then 2003 when base_type.oid = 10015 then 2002 when base_type.oid = 12064 then 2003 when base_type.oid = 10016 then 2003 when base_type.oid = 12065 then 2002 when base_type.oid = 10017 then 2002 when base_type.oid = 10018 then 2003 when base_type.oid = 10019 then 2002 when base_type.oid = 10020 then 2003 when base_type.oid = 12069 then 2003 when base_type.oid = 10021 then 2002 when base_type.oid = 12070 then 2002 when base_type.oid = 10022 then 2003 when base_type.oid = 10023 then 2002 when base_type.oid = 10024 then 2003 when base_type.oid = 10025 then 2002 when base_type.oid = 12074 then 2003 when base_type.oid = 10026 then 2003 when base_type.oid = 12075 then 2002 when base_type.oid = 10027 then 2002 when base_type.oid = 10028 then 2003 when base_type.oid = 10029 then 2002 when base_type.oid = 12078 then 2003 when base_type.oid = 10030 then 2003 when base_type.oid = 12079 then 2002 when base_type.oid = 10031 then 2002 when base_type.oid = 10032 then 2003 when base_type.oid = 10033 then 2002 when base_type.oid = 12082 then 2003 when base_type.oid = 10034 then 2003 when base_type.oid = 12083 then 2002 when base_type.oid = 10035 then 2002 when base_type.oid = 10036 then 2003 when base_type.oid = 10037 then 2002 when base_type.oid = 12086 then 2003 when base_type.oid = 10038 then 2003 when base_type.oid = 12087 then 2002 when base_type.oid = 10039 then 2002 when base_type.oid = 10040 then 2003 when base_type.oid = 10041 then 2002 when base_type.oid = 10042 then 2003 when base_type.oid = 12091 then 2003 when base_type.oid = 10043 then 2002 when base_type.oid = 12092 then 2002 when base_type.oid = 10044 then 2003 when base_type.oid = 10045 then 2002 when base_type.oid = 829 then 1111 when base_type.oid = 10046 then 2003 when base_type.oid = 10047 then 2002 when base_type.oid = 12096 then 2003 when base_type.oid = 10048 then 2003 when base_type.oid = 3904 then 1111 when base_type.oid = 12097 then 2002 when base_type.oid = 10049 then 2002 when base_type.oid = 3905 then 2003 when base_type.oid = 10050 then 2003 when base_type.oid = 3906 then 1111 when base_type.oid = 10051 then 2002 when base_type.oid = 3907 then 2003 when base_type.oid = 12100 then 2003 when base_type.oid = 10052 then 2003 when base_type.oid = 3908 then 1111 when base_type.oid = 12101 then 2002 when base_type.oid = 10053 then 2003 when base_type.oid = 3909 then 2003 when base_type.oid = 10054 then 2002 when base_type.oid = 3910 then 1111 when base_type.oid = 10055 then 2003 when base_type.oid = 3911 then 2003 when base_type.oid = 10056 then 2002 when base_type.oid = 3912 then 1111 when base_type.oid = 12105 then 2003 when base_type.oid = 10057 then 2003 when base_type.oid = 3913 then 2003 when base_type.oid = 12106 then 2002 when base_type.oid = 10058 then 2003 when base_type.oid = 10059 then 2003 when base_type.oid = 10060 then 2002 when base_type.oid = 10061 then 2003 when base_type.oid = 10062 then 2002 when base_type.oid = 12111 then 2003 when base_type.oid = 10063 then 2003 when base_type.oid = 12112 then 2002 when base_type.oid = 10064 then 2002 when base_type.oid = 10065 then 2003 when base_type.oid = 10066 then 2002 when base_type.oid = 12115 then 2003 when base_type.oid = 10067 then 2003 when base_type.oid = 12116 then 2002 when base_type.oid = 10068 then 2002 when base_type.oid = 10069 then 2003 when base_type.oid = 10070 then 2002 when base_type.oid = 3926 then 1111 when base_type.oid = 12119 then 2003 when base_type.oid = 10071 then 2003 when base_type.oid = 3927 then 2003 when base_type.oid = 12120 then 2002 when base_type.oid = 10072 then 2002 when base_type.oid = 10073 then 2003 when base_type.oid = 10074 then 2002 when base_type.oid = 12123 then 2003 when base_type.oid = 10075 then 2003 when base_type.oid = 12124 then 2002 when base_type.oid = 10076 then 2002 when base_type.oid = 10077 then 2003 when base_type.oid = 10078 then 2002 when base_type.oid = 12127 then 2003 when base_type.oid = 10079 then 2003 when base_type.oid = 12128 then 2002 when base_type.oid = 10080 then 2002 when base_type.oid = 10081 then 2003 when base_type.oid = 10082 then 2002 when base_type.oid = 12131 then 2003 when base_type.oid = 10083 then 2003 when base_type.oid = 12132 then 2002 when base_type.oid = 10084 then 2002 when base_type.oid = 869 then 1111 when base_type.oid = 10085 then 2003 when base_type.oid = 10086 then 2002 when base_type.oid = 12135 then 2003 when base_type.oid = 10087 then 2003 when base_type.oid = 12136 then 2002 when base_type.oid = 10088 then 2002 when base_type.oid = 10089 then 2003 when base_type.oid = 10090 then 2002 when base_type.oid = 12139 then 2003 when base_type.oid = 10091 then 2003 when base_type.oid = 12140 then 2002 when base_type.oid = 10092 then 2002 when base_type.oid = 10093 then 2003 when base_type.oid = 10094 then 2003 when base_type.oid = 12143 then 2003 when base_type.oid = 10095 then 2002 when base_type.oid = 12144 then 2002 when base_type.oid = 10096 then 2003 when base_type.oid = 10097 then 2002 when base_type.oid = 10098 then 2003 when base_type.oid = 10099 then 2002 when base_type.oid = 12148 then 2003 when base_type.oid = 10100 then 2003 when base_type.oid = 12149 then 2002 when base_type.oid = 10101 then 2002 when base_type.oid = 10102 then 2003 when base_type.oid = 10103 then 2002 when base_type.oid = 10104 then 2003 when base_type.oid = 12153 then 2003 when base_type.oid = 10105 then 2002 when base_type.oid = 12154 then 2002 when base_type.oid = 10106 then 2003 when base_type.oid = 10107 then 2002 when base_type.oid = 10108 then 2003 when base_type.oid = 10109 then 2002 when base_type.oid = 12158 then 2003 when base_type.oid = 10110 then 2003 when base_type.oid = 12159 then 2002 when base_type.oid = 10111 then 2002 when base_type.oid = 10112 then 2003 when base_type.oid = 10113 then 2003 when base_type.oid = 12162 then 2003 when base_type.oid = 10114 then 2002 when base_type.oid = 12163 then 2002 when base_type.oid = 2949 then 2003 when base_type.oid = 2950 then 1111 when base_type.oid = 2951 then 2003 when base_type.oid = 12167 then 2003 when base_type.oid = 12168 then 2002 when base_type.oid = 12171 then 2003 when base_type.oid = 12172 then 2002 when base_type.oid = 12176 then 2003 when base_type.oid = 12177 then 2002 when base_type.oid = 12180 then 2003 when base_type.oid = 12181 then 2002 when base_type.oid = 12184 then 2003 when base_type.oid = 5017 then 1111 when base_type.oid = 12185 then 2002 when base_type.oid = 2970 then 1111 when base_type.oid = 12189 then 2003 when base_type.oid = 12190 then 2002 when base_type.oid = 12193 then 2003 when base_type.oid = 12194 then 2002 when base_type.oid = 13220 then 2003 when base_type.oid = 13221 then 2001 when base_type.oid = 12197 then 2003 when base_type.oid = 12198 then 2002 when base_type.oid = 13223 then 2003 when base_type.oid = 13224 then 2001 when base_type.oid = 13225 then 2003 when base_type.oid = 13226 then 2001 when base_type.oid = 12202 then 2003 when base_type.oid = 12203 then 2002 when base_type.oid = 13228 then 2003 when base_type.oid = 13229 then 2002 when base_type.oid = 12206 then 2003 when base_type.oid = 5038 then 1111 when base_type.oid = 13231 then 2003 when base_type.oid = 12207 then 2002 when base_type.oid = 5039 then 2003 when base_type.oid = 13232 then 2001 when base_type.oid = 13233 then 2003 when base_type.oid = 13234 then 2001 when base_type.oid = 12210 then 2003 when base_type.oid = 12211 then 2002 when base_type.oid = 13237 then 2003 when base_type.oid = 13238 then 2002 when base_type.oid = 12215 then 2003 when base_type.oid = 12216 then 2002 when base_type.oid = 13242 then 2003 when base_type.oid = 13243 then 2002 when base_type.oid = 12219 then 2003 when base_type.oid = 12220 then 2002 when base_type.oid = 13246 then 2003 when base_type.oid = 13247 then 2002 when base_type.oid = 12223 then 2003 when base_type.oid = 12224 then 2002 when base_type.oid = 13251 then 2003 when base_type.oid = 13252 then 2002 when base_type.oid = 12228 then 2003 when base_type.oid = 12229 then 2002 when base_type.oid = 13256 then 2003 when base_type.oid = 13257 then 2002 when base_type.oid = 12233 then 2003 when base_type.oid = 12234 then 2002 when base_type.oid = 13261 then 2003 when base_type.oid = 12237 then 2003 when base_type.oid = 5069 then 1111 when base_type.oid = 13262 then 2002 when base_type.oid = 12238 then 2002 when base_type.oid = 12241 then 2003 when base_type.oid = 13266 then 2003 when base_type.oid = 12242 then 2002 when base_type.oid = 13267 then 2002 when base_type.oid = 12245 then 2003 when base_type.oid = 6101 then 2002 when base_type.oid = 5077 then 1111 when base_type.oid = 12246 then 2002 when base_type.oid = 5078 then 1111 when base_type.oid = 13271 then 2003 when base_type.oid = 5079 then 1111 when base_type.oid = 13272 then 2002 when base_type.oid = 5080 then 1111 when base_type.oid = 12250 then 2003 when base_type.oid = 12251 then 2002 when base_type.oid = 13276 then 2003 when base_type.oid = 13277 then 2002 when base_type.oid = 12254 then 2003 when base_type.oid = 12255 then 2002 when base_type.oid = 13281 then 2003 when base_type.oid = 13282 then 2002 when base_type.oid = 12258 then 2003 when base_type.oid = 4066 then 2002 when base_type.oid = 12259 then 2002 when base_type.oid = 13286 then 2003 when base_type.oid = 13287 then 2002 when base_type.oid = 12263 then 2003 when base_type.oid = 1000 then 2003 when base_type.oid = 12264 then 2002 when base_type.oid = 4072 then 1111 when base_type.oid = 1001 then 2003 when base_type.oid = 4073 then 2003 when base_type.oid = 1002 then 2003 when base_type.oid = 1003 then 2003 when base_type.oid = 13291 then 2003 when base_type.oid = 12267 then 2003 when base_type.oid = 13292 then 2002 when base_type.oid = 12268 then 2002 when base_type.oid = 1005 then 2003 when base_type.oid = 1006 then 2003 when base_type.oid = 1007 then 2003 when base_type.oid = 13296 then 2003 when base_type.oid = 12272 then 2003 when base_type.oid = 1008 then 2003 when base_type.oid = 1009 then 2003 when base_type.oid = 13297 then 2002 when base_type.oid = 12273 then 2002 when base_type.oid = 1010 then 2003 when base_type.oid = 1011 then 2003 when base_type.oid = 12276 then 2003 when base_type.oid = 1012 then 2003 when base_type.oid = 13301 then 2003 when base_type.oid = 12277 then 2002 when base_type.oid = 1013 then 2003 when base_type.oid = 1014 then 2003 when base_type.oid = 13302 then 2002 when base_type.oid = 1015 then 2003 when base_type.oid = 1016 then 2003 when base_type.oid = 1017 then 2003 when base_type.oid = 12281 then 2003 when base_type.oid = 4089 then 1111 when base_type.oid = 13306 then 2003 when base_type.oid = 12282 then 2002 when base_type.oid = 4090 then 2003 when base_type.oid = 1018 then 2003 when base_type.oid = 13307 then 2002 when base_type.oid = 1019 then 2003 when base_type.oid = 1020 then 2003 when base_type.oid = 1021 then 2003 when base_type.oid = 1022 then 2003 when base_type.oid = 12286 then 2003 when base_type.oid = 13311 then 2003 when base_type.oid = 12287 then 2002 else 1111 end from pg_type base_type where base_type.oid=t.typbasetype) else null end as "BASE_TYPE" from pg_catalog.pg_type t, pg_catalog.pg_namespace n where t.typnamespace = n.oid and n.nspname != 'pg_catalog' and n.nspname != 'pg_toast' and t.typtype IN ('c','d')  and t.typname like '%' and n.nspname like 'sales' order by "DATA_TYPE", "TYPE_SCHEM", "TYPE_NAME"

--- jdbc (63)
SELECT a.attname, a.atttypid, atttypmod FROM pg_catalog.pg_class ct   JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid)   JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid)   JOIN (SELECT i.indexrelid, i.indrelid, i.indisprimary,              information_schema._pg_expandarray(i.indkey) AS keys         FROM pg_catalog.pg_index i) i     ON (a.attnum = (i.keys).x AND a.attrelid = i.indrelid) WHERE true  AND n.nspname = $1 AND ct.relname = $2 AND i.indisprimary  ORDER BY a.attnum
--- parameters
'sales'
'orders'

--- jdbc (64)
SELECT t.typlen FROM pg_catalog.pg_type t, pg_catalog.pg_namespace n WHERE t.typnamespace=n.oid AND t.typname='name' AND n.nspname='pg_catalog'

--- jdbc (65)
select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> ALL ('{a,abs,absolute,action,ada,add,admin,after,all,allocate,alter,always,and,any,are,array,as,asc,asensitive,assertion,assignment,asymmetric,at,atomic,attribute,attributes,authorization,avg,before,begin,bernoulli,between,bigint,binary,blob,boolean,both,breadth,by,c,call,called,cardinality,cascade,cascaded,case,cast,catalog,catalog_name,ceil,ceiling,chain,char,char_length,character,character_length,character_set_catalog,character_set_name,character_set_schema,characteristics,characters,check,checked,class_origin,clob,close,coalesce,cobol,code_units,collate,collation,collation_catalog,collation_name,collation_schema,collect,column,column_name,command_function,command_function_code,commit,committed,condition,condition_number,connect,connection_name,constraint,constraint_catalog,constraint_name,constraint_schema,constraints,constructors,contains,continue,convert,corr,corresponding,count,covar_pop,covar_samp,create,cross,cube,cume_dist,current,current_collation,current_date,current_default_transform_group,current_path,current_role,current_time,current_timestamp,current_transform_group_for_type,current_user,cursor,cursor_name,cycle,data,date,datetime_interval_code,datetime_interval_precision,day,deallocate,dec,decimal,declare,default,defaults,deferrable,deferred,defined,definer,degree,delete,dense_rank,depth,deref,derived,desc,describe,descriptor,deterministic,diagnostics,disconnect,dispatch,distinct,domain,double,drop,dynamic,dynamic_function,dynamic_function_code,each,element,else,end,end-exec,equals,escape,every,except,exception,exclude,excluding,exec,execute,exists,exp,external,extract,false,fetch,filter,final,first,float,floor,following,for,foreign,fortran,found,free,from,full,function,fusion,g,general,get,global,go,goto,grant,granted,group,grouping,having,hierarchy,hold,hour,identity,immediate,implementation,in,including,increment,indicator,initially,inner,inout,input,insensitive,insert,instance,instantiable,int,integer,intersect,intersection,interval,into,invoker,is,isolation,join,k,key,key_member,key_type,language,large,last,lateral,leading,left,length,level,like,ln,local,localtime,localtimestamp,locator,lower,m,map,match,matched,max,maxvalue,member,merge,message_length,message_octet_length,message_text,method,min,minute,minvalue,mod,modifies,module,month,more,multiset,mumps,name,names,national,natural,nchar,nclob,nesting,new,next,no,none,normalize,normalized,not,"null",nullable,nullif,nulls,number,numeric,object,octet_length,octets,of,old,on,only,open,option,options,or,order,ordering,ordinality,others,out,outer,output,over,overlaps,overlay,overriding,pad,parameter,parameter_mode,parameter_name,parameter_ordinal_position,parameter_specific_catalog,parameter_specific_name,parameter_specific_schema,partial,partition,pascal,path,percent_rank,percentile_cont,percentile_disc,placing,pli,position,power,preceding,precision,prepare,preserve,primary,prior,privileges,procedure,public,range,rank,read,reads,real,recursive,ref,references,referencing,regr_avgx,regr_avgy,regr_count,regr_intercept,regr_r2,regr_slope,regr_sxx,regr_sxy,regr_syy,relative,release,repeatable,restart,result,return,returned_cardinality,returned_length,returned_octet_length,returned_sqlstate,returns,revoke,right,role,rollback,rollup,routine,routine_catalog,routine_name,routine_schema,row,row_count,row_number,rows,savepoint,scale,schema,schema_name,scope_catalog,scope_name,scope_schema,scroll,search,second,section,security,select,self,sensitive,sequence,serializable,server_name,session,session_user,set,sets,similar,simple,size,smallint,some,source,space,specific,specific_name,specifictype,sql,sqlexception,sqlstate,sqlwarning,sqrt,start,state,statement,static,stddev_pop,stddev_samp,structure,style,subclass_origin,submultiset,substring,sum,symmetric,system,system_user,table,table_name,tablesample,temporary,then,ties,time,timestamp,timezone_hour,timezone_minute,to,top_level_count,trailing,transaction,transaction_active,transactions_committed,transactions_rolled_back,transform,transforms,translate,translation,treat,trigger,trigger_catalog,trigger_name,trigger_schema,trim,true,type,uescape,unbounded,uncommitted,under,union,unique,unknown,unnamed,unnest,update,upper,usage,user,user_defined_type_catalog,user_defined_type_code,user_defined_type_name,user_defined_type_schema,using,value,values,var_pop,var_samp,varchar,varying,view,when,whenever,where,width_bucket,window,with,within,without,work,write,year,zone}'::text[])

--- jdbc (66)
SELECT setting FROM pg_catalog.pg_settings WHERE name='default_transaction_isolation'

--- jdbc (67)
select current_schema()

--- jdbc (68)
SELECT c.oid, a.attnum, a.attname, c.relname, n.nspname, a.attnotnull OR (t.typtype = 'd' AND t.typnotnull), a.attidentity != '' OR pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%' FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON (c.relnamespace = n.oid) JOIN pg_catalog.pg_attribute a ON (c.oid = a.attrelid) JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid) LEFT JOIN pg_catalog.pg_attrdef d ON (d.adrelid = a.attrelid AND d.adnum = a.attnum) JOIN (SELECT {oid:sales.orders} AS oid , 1 AS attnum UNION ALL SELECT {oid:sales.orders}, 2 UNION ALL SELECT {oid:sales.orders}, 3 UNION ALL SELECT {oid:sales.orders}, 4 UNION ALL SELECT {oid:sales.orders}, 5 UNION ALL SELECT {oid:sales.orders}, 6 UNION ALL SELECT {oid:sales.orders}, 7 UNION ALL SELECT {oid:sales.orders}, 8 UNION ALL SELECT {oid:sales.orders}, 9 UNION ALL SELECT {oid:sales.orders}, 10 UNION ALL SELECT {oid:sales.orders}, 11 UNION ALL SELECT {oid:sales.orders}, 12 UNION ALL SELECT {oid:sales.orders}, 13 UNION ALL SELECT {oid:sales.orders}, 14 UNION ALL SELECT {oid:sales.orders}, 15) vals ON (c.oid = vals.oid AND a.attnum = vals.attnum) where c.oid in ({oid:sales.orders})
