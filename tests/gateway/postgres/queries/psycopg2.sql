-- Queries of psycopg2 2.9.13, recorded by PostgreSQL 15.18.

--- psycopg2 (1)
SELECT t.oid, typarray
FROM pg_type t JOIN pg_namespace ns
    ON typnamespace = ns.oid
WHERE typname = 'hstore'

--- psycopg2 (2)
SELECT t.oid, typarray, attname, atttypid
FROM pg_type t
JOIN pg_namespace ns ON typnamespace = ns.oid
JOIN pg_attribute a ON attrelid = typrelid
WHERE typname = 'orders' AND nspname = 'public'
    AND attnum > 0 AND NOT attisdropped
ORDER BY attnum

--- psycopg2 (3)
SELECT t.oid, typarray, attname, atttypid, typname, nspname
FROM pg_type t
JOIN pg_namespace ns ON typnamespace = ns.oid
JOIN pg_attribute a ON attrelid = typrelid
WHERE t.oid = 'orders'::regtype
    AND attnum > 0 AND NOT attisdropped
ORDER BY attnum
