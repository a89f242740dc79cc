-- Statements that are rejected; ^ is in front of the place that the error has to name.
select id from numbers ^for update
select id from numbers ^for no key update
select id from numbers where id = 1 ^for share
select id into ^x from numbers
select ^a @> b from arrays
select ^age(ts) from events
select id, ^age(ts, ts) from events
select to_tsvector_ok, ^to_tsvector(note) from events
select ^j ? 'a' from docs
select ^j ?| array['a'] from docs
select ^j ?& array['a'] from docs
select ^j #- '{a}' from docs
select ^j @? '$.a' from docs
select ^j::jsonb || '{"a": 1}' from docs
select ^j::jsonb - 'a' from docs
select ^(j->'a') || 'b' from docs
select ^to_char(a, '999D99') from numbers
select ^to_char(ts, 'J') from events
select ^justify_hours(interval '30 hours')
select ^date_bin('15 minutes', ts, ts) from events
select ^json_build_object('a', 1)
select ^row_to_json(numbers) from numbers
select ^note::money from events
select ^'numbers'::regclass::oid, id from numbers
select ^note::interval from events
select ^regexp_replace(note, code, 'x') from events
select ^regexp_matches(note, 'a') from events
select ^extract(julian from d) from events
select ^extract(timezone from tz) from events
select ^pg_sleep(1)
select ^nextval('s')
select ^array(select id from numbers)
select ^array_agg(distinct a order by a) from numbers
select ^'abc' similar to note from events
insert into numbers (id) values (1) ^returning id
insert into numbers (id) values (1) on ^conflict do nothing
update numbers set a = 1 ^returning id
create ^temp table x (a int)
create ^temporary table x (a int)
delete from numbers ^using events where numbers.id = events.id
select ^'[0:1]={a,b}'::text[]
select ^'{{1,2},{3,4}}'::int[]
select id from numbers order by id fetch first ^2 rows with ties
create ^temp table t (a int)
create ^temporary table if not exists t as select 1
create local ^temporary table t (a int)
create ^unlogged table t (a int)
create ^temp sequence s
