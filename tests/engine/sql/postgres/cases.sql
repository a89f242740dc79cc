-- Queries in PostgreSQL's dialect, one a line; cases.golden has PostgreSQL's answers.
select 5/2
select -5/2
select 5/2.0
select 5.0/2
select a/b from numbers where b <> 0 order by id
select b/s from numbers where s <> 0 order by id
select n/2 from numbers order by id
select f/2 from numbers order by id
select a/2, a/2.0, b/3, s/2 from numbers order by id
select sum(a)/count(*) from numbers
select count(*)/2 from numbers
select (a+b)/2 from numbers order by id
select a%3, b%4, -5%3 from numbers order by id
select mod(a,3), mod(-7,3)
from numbers order by id
select a*b-s from numbers order by id
select 2^3, 2^0.5
select abs(-5), sign(-2.5), ceil(1.2), floor(-1.2), ceiling(1.7)
select round(2.5), round(3.5), round(-2.5), round(2.567,2), round(1234.5,-2)
select round(2.5::float8), round(3.5::float8), round(f) from numbers order by id
select round(n), round(n,1) from numbers order by id
select trunc(2.7), trunc(-2.7), trunc(2.789,1), trunc(n), trunc(n,1) from numbers order by id
select log(10), log(100), log(2,8), ln(2.718281828459045)
select log(n) from numbers where n > 0 order by id
select exp(1.0), sqrt(16), cbrt(27), power(2,10), pi()
select degrees(pi()), radians(180), sin(0), cos(0), atan2(1,1)
select div(7,2), div(-7,2)
select greatest(1,2,null), least(3,null,2), greatest(a,s) from numbers order by id
select width_bucket(5.35, 0.024, 10.06, 5)
select factorial(5)
select 7::int8/2, 7::int2/2::int2, 7::float4/2
select 1/3.0, 2/3::numeric
select a::float8/b from numbers where b <> 0 order by id
select a & 3, a | 8, ~a from numbers order by id
select 1 << 3, 16 >> 2
select 2.7::int, 2.5::int, 3.5::int, (-2.5)::int
select 2.5::float8::int, 3.5::float8::int
select f::int, n::int, n::bigint from numbers order by id
select '12'::int, '12.50'::numeric, '1e3'::float8, '7'::smallint
select 12.345::numeric(5,2), 12.345::numeric(4,1), a::numeric from numbers order by id
select true::int, 1::bool, 0::boolean, 't'::bool, 'no'::bool
select 1.0::text, 1.5::float8::text, 2::float8::text, true::text, a::text from numbers order by id
select f::text from numbers order by id
select 'abcdef'::varchar(3), 'ab'::char(4), 'abc'::text
select code::varchar(2) from events order by id
select 5::text || 'x', 'a' || 1, 'a' || null
select cast('2024-01-31' as date), '2024-02-29'::date
select date '2024-01-31' + 1, date '2024-01-31' - 1
select date '2024-03-01' - date '2024-02-01'
select d - date '2024-01-01' from events order by id
select max(d) - min(d) from events
select d + 7, d - 7 from events order by id
select 3 + date '2024-01-01'
select d + interval '1 day' from events order by id
select d + interval '1 month' from events order by id
select d - interval '1 year 2 months' from events order by id
select ts + interval '1 month 2 days 03:00' from events order by id
select ts - interval '90 minutes' from events order by id
select ts + '1 day'::interval, ts + '2 hours'::interval from events order by id
select ts - timestamp '2024-01-01 00:00:00' from events order by id
select tz - timestamptz '2024-01-01 00:00:00+00' from events order by id
select interval '1 day' * 2, interval '1 hour' / 2
select interval '1 day 02:03:04', interval '36 hours', interval '1' day, interval '10' minute
select extract(epoch from interval '1 day 02:00:00')
select extract(year from d), extract(month from d), extract(day from d) from events order by id
select extract(dow from d), extract(isodow from d), extract(doy from d) from events order by id
select extract(week from d), extract(isoyear from d), extract(quarter from d) from events order by id
select extract(hour from ts), extract(minute from ts), extract(second from ts) from events order by id
select extract(epoch from ts), extract(epoch from tz), extract(epoch from d) from events order by id
select extract(milliseconds from ts), extract(microseconds from ts) from events order by id
select extract(decade from d), extract(century from d), extract(millennium from d) from events order by id
select date_part('dow', d), date_part('year', ts), date_part('epoch', tz) from events order by id
select date_part('hour', tz), date_part('isodow', ts) from events order by id
select date_trunc('month', ts), date_trunc('day', ts), date_trunc('hour', ts) from events order by id
select date_trunc('week', ts), date_trunc('quarter', ts), date_trunc('year', ts) from events order by id
select date_trunc('month', tz), date_trunc('day', tz) from events order by id
select date_trunc('month', d)::date from events order by id
select date_trunc('minute', ts), date_trunc('second', ts) from events order by id
select tz at time zone 'UTC', tz at time zone 'Europe/Berlin' from events order by id
select ts at time zone 'UTC', ts at time zone 'America/New_York' from events order by id
select timezone('Asia/Tokyo', tz) from events order by id
select ts::date, tz::date, d::timestamp from events order by id
select ts::timestamptz, tz::timestamp from events order by id
select '2024-01-02 03:04:05'::timestamp, '2024-01-02 03:04:05+02'::timestamptz
select timestamp '2024-01-02 03:04:05.678', timestamptz '2024-01-02 03:04:05Z'
select to_char(ts, 'YYYY-MM-DD HH24:MI:SS') from events order by id
select to_char(d, 'YYYY/MM'), to_char(ts, 'DD.MM.YYYY') from events order by id
select to_char(ts, 'HH12:MI AM'), to_char(ts, 'Mon DD') from events order by id
select to_char(ts, 'YYYY"Y"MM"M"') from events order by id
select to_date('2024-03-05', 'YYYY-MM-DD'), to_date('05/03/2024', 'DD/MM/YYYY')
select to_timestamp('2024-03-05 10:20:30', 'YYYY-MM-DD HH24:MI:SS')
select to_timestamp(0), to_timestamp(1700000000.5)
select make_date(2024, 2, 29), make_timestamp(2024, 1, 2, 3, 4, 5.5)
select d between '2024-01-01' and '2024-02-15' from events order by id
select d = '2024-01-15', ts > '2024-01-15 10:00:00' from events order by id
select count(*) from events where ts >= date '2024-01-01' and ts < date '2024-02-01'
select note ~ 'b', note ~ '^A' from events order by id
select note ~* 'B', note !~* 'b', note !~ 'b' from events order by id
select 'abc123' ~ '[[:digit:]]+', 'abc' ~ '^[[:alpha:]]+$'
select 'the cat' ~ '\mcat\M', 'concat' ~ '\mcat'
select note like '%a%', note not like 'A%', note ilike '%A%' from events order by id
select 'a_c' like 'a\_c', 'abc' like 'a\_c', 'a%c' like 'a!%c' escape '!'
select 'abc' similar to 'abc', 'abc' similar to '(a|b)%', 'abc' similar to 'b%'
select regexp_replace('foobarbaz', 'b..', 'X')
select regexp_replace('foobarbaz', 'b..', 'X', 'g')
select regexp_replace('foobarbaz', 'b(..)', 'X\1Y', 'g')
select regexp_replace('foobarbaz', 'b(..)', 'X\1Y')
select regexp_replace('FooBar', 'o', '0', 'gi'), regexp_replace('FooBar', 'O', '0', 'i')
select regexp_replace('a.b.c', '\.', '-'), regexp_replace('a$b', '\$', '€')
select regexp_replace('abc', 'a|c', 'X'), regexp_replace('abc', '^a', 'X'), regexp_replace('abc', 'c$', 'X')
select regexp_replace(note, 'a', 'X'), regexp_replace(note, 'a', 'X', 'g') from events order by id
select regexp_replace('12 34', '(\d)(\d)', '\2\1'), regexp_replace('12 34', '(\d)(\d)', '\2\1', 'g')
select substring('foobar' from 'o.b'), substring('foobar' from 'o(.)b'), substring('foobar' from 'z')
select substring('abcdef' from 2 for 3), substring('abcdef' from 4), substring('abcdef', 2, 2), substr('abcdef', 3)
select substring('abcdef', 0, 3), substring('abcdef', -1, 4), substr('abcdef', 0)
select left('abcdef', 2), right('abcdef', 2), left('abcdef', -2), right('abcdef', -2)
select strpos('abcdef', 'cd'), position('cd' in 'abcdef'), position('z' in 'abc')
select upper('abc'), lower('ABC'), initcap('hello world'), length('héllo'), char_length('abc')
select trim('  a '), ltrim('xxa', 'x'), rtrim('axx', 'x'), btrim('xax', 'x'), trim(both 'x' from 'xax')
select trim(leading 'x' from 'xxa'), trim(trailing 'x' from 'axx')
select lpad('5', 3, '0'), rpad('5', 3, '0'), lpad('abc', 2), repeat('ab', 3), reverse('abc')
select replace('abcabc', 'b', 'X'), translate('12345', '143', 'ax'), split_part('a,b,c', ',', 2)
select concat('a', null, 1, true), concat_ws('-', 'a', null, 'b')
select concat(note, '-', code) from events order by id
select note || '-' || code from events order by id
select md5('abc'), ascii('a'), chr(65), to_hex(255)
select octet_length('héllo'), bit_length('abc')
select starts_with('abc', 'ab'), overlay('abcdef' placing 'XX' from 2 for 3)
select format('%s-%s', 'a', 'b')
select encode('abc'::bytea, 'hex'), encode('abc'::bytea, 'base64')
select E'a\nb', E'tab\there', E'it''s', E'\u00e9', 'back\slash'
select $$it's$$, $tag$a $$ b$tag$, U&'\00e9'
select 'it''s', 'a' || 'b' = 'ab'
from numbers where id = 1
select string_to_array('a,b,c', ','), array_to_string(array[1,2,3], '-'), array_to_string(array['a',null,'b'], ',', '?')
select xs[1], xs[2], xs[10] from arrays order by id
select xs[1:2], ws[1] from arrays order by id
select array_length(xs, 1), cardinality(xs), array_upper(ws, 1) from arrays order by id
select array[1,2,3], array['a','b'], '{1,2}'::int[], '{a,b}'::text[]
select array_append(xs, 9), array_prepend(0, xs), array_cat(xs, array[7]) from arrays where xs is not null order by id
select xs || array[4] from arrays where xs is not null order by id
select array_position(array['a','b'], 'b'), array_position(array[1,2], 5), array_remove(array[1,2,1], 1)
select 1 = any(xs), 5 = any(xs), 2 <> all(xs), 3 > all(xs) from arrays order by id
select id from numbers where a = any(array[1,2,7]) order by id
select id from numbers where a = any('{1,2,7}'::int[]) order by id
select id from numbers where a <> all(array[1,2]) order by id
select id from numbers where a > any(array[1,2]) order by id
select id from numbers where id = any(select id from events) order by id
select id from numbers where id <> all(select id from events where id < 3) order by id
select xs && array[1], array[1,2] && array[3] from arrays order by id
select unnest(array[3,1,2])
select unnest(xs) from arrays where id = 1
select a.id, x from arrays a, unnest(a.xs) as x order by 1, 2
select a.id, u.v, u.n from arrays a cross join lateral unnest(a.ws) with ordinality as u(v, n) order by 1, 3
select * from unnest(array['a','b']) with ordinality as t(v, n) order by n
select * from unnest(array[1,2]) as t(v)
select * from generate_series(1, 5)
select * from generate_series(1, 10, 3) as g(x)
select * from generate_series(5, 1) as g(x)
select * from generate_series(5, 1, -2) as g(x)
select g from generate_series(1, 3) g
select g.x * 2 from generate_series(1, 3) as g(x)
select generate_series(1, 3)
select * from generate_series(timestamp '2024-01-01', timestamp '2024-01-03', interval '1 day') as g(t)
select * from generate_series('2024-01-01'::timestamp, '2024-01-01 06:00'::timestamp, '2 hours'::interval) as g(t)
select n.id, g.x from numbers n, generate_series(1, n.id) as g(x) where n.id < 4 order by 1, 2
select n.id, g.x from numbers n cross join lateral generate_series(1, 2) as g(x) where n.id < 3 order by 1, 2
select count(*), count(a), count(distinct a), sum(a), avg(a), min(a), max(a) from numbers
select sum(n), avg(n), min(n), max(n), sum(f), avg(f) from numbers
select ok, count(*) from numbers group by ok order by ok
select ok, count(*) from numbers group by 1 order by 1 desc
select bool_and(ok), bool_or(ok), every(ok) from numbers
select stddev(a), stddev_samp(a), stddev_pop(a), variance(a), var_pop(a) from numbers
select corr(a, f), covar_pop(a, f), regr_slope(f, a) from numbers
select bit_and(a), bit_or(a) from numbers where a >= 0
select percentile_cont(0.5) within group (order by a) from numbers
select percentile_cont(0.25) within group (order by f), percentile_cont(0.9) within group (order by n) from numbers
select percentile_cont(0.3) within group (order by a desc) from numbers
select percentile_disc(0.5) within group (order by a) from numbers
select ok, percentile_cont(0.5) within group (order by f) from numbers group by ok order by ok
select mode() within group (order by ok) from numbers where ok is not null
select count(*) filter (where a > 2), sum(a) filter (where ok) from numbers
select array_agg(a order by a desc) from numbers
select array_agg(a order by id) from numbers
select array_agg(note order by id desc) from events
select array_agg(a order by ok, a desc nulls last) from numbers
select array_agg(id order by id) filter (where ok) from numbers
select array_agg(a order by id) from numbers where false
select array_agg(distinct ok) from numbers where ok is not null
select ok, array_agg(id order by id) from numbers group by ok order by ok
select string_agg(note, ',' order by id), string_agg(note, ',' order by id desc) from events
select string_agg(distinct code, '|' order by code) from events
select string_agg(note, ',') from events where false
select sum(a) from numbers where false
select max(note), min(d), max(ts) from events
select count(*) from numbers having count(*) > 100
select ok, sum(a) as total from numbers group by ok having sum(a) > 3 order by total
select ok, a % 2 as odd, count(*) from numbers group by ok, a % 2 order by 1, 2
select ok, s, count(*) from numbers group by grouping sets ((ok), (s), ()) order by 1, 2, 3
select ok, count(*) from numbers group by rollup(ok) order by 1, 2
select ok, s, count(*) from numbers group by cube(ok, s) order by 1, 2, 3
select a, row_number() over (order by a, id), rank() over (order by a), dense_rank() over (order by a) from numbers order by id
select id, lag(a) over (order by id), lead(a, 1, 0) over (order by id) from numbers order by id
select id, first_value(a) over (order by id), last_value(a) over (order by id) from numbers order by id
select id, sum(a) over (order by id rows between 1 preceding and current row) from numbers order by id
select id, sum(a) over (partition by ok order by id) from numbers order by id
select id, avg(a) over w, count(*) over w from numbers window w as (partition by ok) order by id
select id, ntile(2) over (order by id), percent_rank() over (order by id), cume_dist() over (order by id) from numbers order by id
select id, nth_value(a, 2) over (order by id) from numbers order by id
select id, count(*) filter (where ok) over (order by id) from numbers order by id
select id, a from numbers order by a
select id, a from numbers order by a desc
select id, a from numbers order by a nulls first, id
select id, a from numbers order by a desc nulls last, id
select id from numbers order by a desc, id desc limit 3
select id from numbers order by id limit 2 offset 1
select id from numbers order by id offset 3
select id from numbers order by id fetch first 2 rows only
select id from numbers order by id limit all
select id from numbers order by -id
select note from events order by note
select note from events order by lower(note), id
select distinct ok from numbers order by ok
select distinct on (ok) ok, id from numbers order by ok, id desc
select distinct on (ok) ok, id from numbers order by ok, id desc limit 2
select distinct on (ok) id, a as value from numbers order by ok, a desc nulls last, id
select distinct on (s, ok) s, ok, id from numbers order by s, ok, id
select count(*) from (select distinct on (ok) ok, id from numbers order by ok, id) q
select case when a > 2 then 'big' when a is null then 'none' else 'small' end from numbers order by id
select case ok when true then 1 else 0 end from numbers order by id
select coalesce(a, 0), nullif(a, 1), coalesce(note, 'none') from numbers n left join events e using (id) order by n.id
select a is null, a is not null, ok is true, ok is not true, ok is false, ok is unknown from numbers order by id
select a isnull, a notnull from numbers order by id
select a is distinct from 1, a is not distinct from null from numbers order by id
select id in (1, 2), id not in (1, 2), id between 2 and 3 from numbers order by id
select not ok, ok and true, ok or false from numbers order by id
select (id, a) = (1, 1) from numbers order by id
select id from numbers where (id, a) in (select 1, 1) order by id
select id from numbers where (id, a) in ((1, 1), (2, 2)) order by id
select n.id, e.note from numbers n join events e on e.id = n.id order by 1
select n.id, e.note from numbers n left join events e on e.id = n.id order by 1
select n.id, e.id from numbers n full join events e on e.id = n.id + 2 order by 1, 2
select n.id, e.id from numbers n right join events e on e.id = n.id order by 2
select n.id, e.id from numbers n cross join events e where n.id = 1 order by 2
select id, note from numbers join events using (id) order by id
select id from numbers natural join (select id from events) e order by id
select n.id, l.x from numbers n, lateral (select n.id * 2 as x) l order by 1
select n.id, l.x from numbers n left join lateral (select e.note as x from events e where e.id = n.id) l on true order by 1
select id from numbers where exists (select 1 from events e where e.id = numbers.id) order by id
select id from numbers where not exists (select 1 from events e where e.id = numbers.id) order by id
select id, (select note from events e where e.id = n.id) from numbers n order by id
select (select max(a) from numbers), (select count(*) from events)
select id from numbers where id in (select id from events where note is not null) order by id
select 1 union select 1 union select 2 order by 1
select 1 union all select 1 order by 1
select id from numbers intersect select id from events order by 1
select id from numbers except select id from events order by 1
select id from numbers except all select id from events order by 1
(select 1 as x) union all (select 2) order by x desc
with q as (select id, a from numbers where a > 1) select count(*), sum(a) from q
with q(x, y) as (select id, a from numbers) select x from q where y > 2 order by x
with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select sum(n) from t
with recursive t(n, f) as (select 1, 1 union all select n + 1, f * (n + 1) from t where n < 6) select n, f from t order by n
with a as (select 1 as x), b as (select x + 1 as y from a) select * from b
values (1, 'a'), (2, 'b')
select * from (values (1, 'a'), (2, 'b')) as v(id, name) order by id
select v.name from (values (1, 'a'), (2, 'b')) v(id, name) where v.id = 2
select column1, column2 from (values (1, 2), (3, 4)) v order by 1
table numbers
select count(*) from only numbers
select ID, Note AS "Label", CODE as Code from events order by id
select "id", "note" from "events" order by "id"
select E.Note from Events E order by E.ID
select count(*), max(a), a1.* from (select 1 as "X") a1, numbers group by a1."X"
select 1 as "select", 2 as "Group By", 3 as x
select a as "A", a as "b c" from numbers order by id
select sum(a) sum_a, avg(a) as average from numbers
select count from (select count(*) from numbers) q
select q.max from (select max(a) from numbers) q
select j->>'a', j->'b'->>'c', j#>>'{b,c}' from docs order by id
select j->>'n' from docs order by id
select (j->>'n')::int + 1 from docs order by id
select j::json->>'a' from docs order by id
select j::jsonb->'l'->>0 from docs order by id
select ts::text, d::text from events order by id
select null, null::int, null::text
select true, false, not true
select 'a' = 'a', 'a' < 'b', 1 <> 2, 1 != 2
select 1e3, 1.5e-3, .5, 100000000000, 12345678901234567890
select -a, +a, - -a from numbers order by id
select id, a + b * s - id from numbers order by id
select sum(case when ok then 1 else 0 end), sum(a * 1.5) from numbers
select sum(n) / count(*) from numbers
select count(distinct (ok, s)) from numbers
select date_trunc('month', ts) as m, count(*) from events group by 1 order by 1
select date_trunc('month', ts)::date as m, count(*) from events group by date_trunc('month', ts) order by 1
select extract(year from ts) as y, extract(month from ts) as m, count(*) from events group by 1, 2 order by 1, 2
select to_char(ts, 'YYYY-MM') as m, sum(id) from events group by m order by m
select cast(ts as date) as day, count(*) from events group by cast(ts as date) order by day
select floor((a - 0) / 2.0) * 2 + 0 as bin, count(*) from numbers group by 1 order by 1
select e.code as "Code", sum(n.a) as "Total" from numbers n join events e on n.id = e.id group by e.code order by "Total" desc, "Code" asc limit 10
select "n"."id" as "id", "n"."a" as "a" from "numbers" as "n" where ("n"."a" > 1) order by "n"."id" asc limit 2000
select coalesce(cast(sum(n) as float8), 0) from numbers
select lower(cast(note as text)) like '%a%' from events order by id
select sum(cast((n) as double precision)) as s from numbers where not (n is null)
select case when (e.id = 1) then 'x' when not (e.id = 1) then 'y' else null end as c, sum(1) as cnt from events e group by 1 order by 1
select (ts + interval '-1 day') >= timestamp '2024-01-01', ts < (date_trunc('day', timestamp '2024-03-01') + interval '1 day') from events order by id
select cast(extract(dow from ts) as integer) + 1 from events order by id
select (date_trunc('week', (ts + interval '1 day')) + interval '-1 day') from events order by id
select cast(date_trunc('month', ts) as date), count(distinct code) from events group by 1 order by 1
select round(avg(n), 2), round(sum(f)::numeric, 1) from numbers
select a::float / nullif(b, 0) from numbers order by id
select 100.0 * sum(case when ok then 1 else 0 end) / count(*) from numbers
select (sum(a) over ()) * 1.0 / count(*) over () from numbers order by id
select id from numbers where ok order by id
select id from numbers where not coalesce(ok, false) order by id
select upper(left(note, 1)) || lower(substring(note from 2)) from events order by id
select length(note), char_length(code), position('a' in note) from events order by id
select split_part(note, 'a', 1), split_part(note, 'a', 2) from events order by id
select ts::date - d from events order by id
select (d + 30) - d, (d + interval '30 days')::date - d from events order by id
select min(tz), max(tz) from events
select id from events where tz > '2024-01-15 00:00:00+00' order by id
select id from events where ts::date = '2024-01-15' order by id
select id from events where d in ('2024-01-15', '2024-02-29') order by id
select id from events where extract(month from d) = 2 order by id
select id from events where note = 'Alpha' or code = 'c3' order by id
select count(*) from events where note is null
select regexp_split_to_array('a1b2c', '[0-9]'), regexp_match('foobar', 'o(.)b')
select random() >= 0 and random() < 1
select now() > timestamp '2020-01-01', current_date > date '2020-01-01', localtimestamp > timestamp '2020-01-01'
select current_timestamp > timestamptz '2020-01-01 00:00:00+00'
select chr(8364) as euro, chr(128512) as face, chr(255) as y
select ('{"a,b", c d ,NULL,"NULL","q\""}'::text[])[1] as one, cardinality('{"a,b",c}'::text[]) as two, cardinality('{}'::text[])
select 'a,b' = any('{"a,b",c}') as found
-- Operators on JSON: a text selects a field, an integer an element, and arrays are paths.
select (j->'l'->1)::text, (j->'l')->>-1, j->>'n', j->>'a', (j->'a')::text, j->>'nosuch' from docs order by id
select j->>(w) from docs, (values ('a'), ('n')) as t(w) order by j->>'n', w
select j->'l'->>i from docs, generate_series(-3, 2) as g(i) order by id, i
select j #>> '{b,c}', j #>> '{l,1}', j #>> '{l,-2}', j #>> '{l,x}', j #>> '{n,x}', j #>> array['b', 'c'] from docs order by id
select ('{"a.b": 1, "c''d": 2, "e\"f": 3, "[0]": 4, "*": 5, "": 6, "$": 7, "?": 8, " g": 9}'::json)->>k as v, k from (values ('a.b'), ('c''d'), ('e"f'), ('[0]'), ('*'), (''), ('$'), ('?'), (' g'), ('g')) as t(k) order by k
select ('{"a": "x", "b": "1", "c": 1, "d": true, "e": null, "f": [1, {"g" : 2}], "h": 1.50, "i": 1e2}'::json->k)::text as v from (values ('a'), ('b'), ('c'), ('d'), ('e'), ('f'), ('h'), ('i'), ('z')) as t(k) order by k
select '{"a": "x\u0041\n\t\"\\\/", "b": "\ud83d\ude00é"}'::json->>'a', '{"b": "\ud83d\ude00é"}'::json->>'b'
select '{"a": 1, "a": 2}'::json->>'a', '{"a": 1, "a": 2}'::jsonb->>'a', '[1, 2]'::json->>'0', '{"0": 1}'::json->>0, '"a"'::json->>'a', '5'::json->>0
select ('{"a":{"b":[1,{"c d":"x"}]}}'::json #> '{a,b}')::text, '{"a":{"b":[1,{"c d":"x"}]}}'::json #>> '{a,b,1,"c d"}', ('[1,2]'::json #> '{}')::text, '"s"'::json #>> '{}', '{"a":1}'::json #>> '{NULL}', '{"NULL":1}'::json #>> '{"NULL"}', '[5,6]'::json #>> '{" 1"}', '[5,6]'::json #>> '{+1}', '[5,6]'::json #>> '{1x}'
select '{"b": 1, "aa": [1,2,{"d":1 , "c":null}], "a": "x", "b": 2.50, "n": 1e3, "m": -0.0, "s": 1.5e-3, "u": "\u00e9\u0001\/"}'::jsonb::text
select ' {"b":1 ,"a": [ ] } '::json::text, ' [ ] '::jsonb::text, '{ }'::jsonb::text, ' "a" '::jsonb::text, '-0'::jsonb::text
select '{"a": 1, "b": 2}'::jsonb = '{"b":2,"a":1}'::jsonb as same, null::json is null as n, null::jsonb->>'a' as v, '{"a":1}'::json->>null::text as k
select count(*) from docs where j->>'a' = 'x' and (j->>'n')::int > 4
select cast('{"a": 5}'::json->>'a' as integer) + 1 as n, cast('{"a": true}'::json->>'a' as boolean) as b, cast('{"a": 1.5}'::json->>'a' as numeric(10, 2)) as d
-- Strings: a backslash is a character, except in E'…'.
select 'C:\new', 'a\\b', 'it''s \', length('\\')
select E'C:\\new', E'a\\\\b', E'it\'s', E'it''s', E'\x41\101\u0041\U00000041', E'\ud83d\ude00', E'\v\%', length(E'\\n'), E'\t\n\b\f\r' = chr(9) || chr(10) || chr(8) || chr(12) || chr(13)
select 'a\b' like 'a\\b', E'a\\b' like E'a\\\\b', 'a_b' like 'a\_b', E'a\nb' ~ 'a\nb', '\x41'::bytea, E'\\x41'::bytea
select 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid, '{a0eebc999c0b4ef8bb6d6bb9bd380a11}'::uuid::text, 'a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11'::uuid, null::uuid is null, 'A0EEBC999C0B4EF8BB6D6BB9BD380A11'::uuid = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid as same
