-- a name without an alias gets its last part as alias
select id from s.t
=>
select id from `r0` AS `t`

-- the current schema's table
select id from t
=>
select id from `r0` AS `t`

-- a catalog before the schema
select id from spark_catalog.s.t
=>
select id from `r0` AS `t`

-- a written alias stays
select q.id from s.t as q
=>
select q.id from `r0` as q

-- a written alias without AS
select q.id from s.t q
=>
select q.id from `r0` q

-- an alias with column names
select q.k from s.u q(k, l)
=>
select q.k from `r0` q(k, l)

-- last part before a column
select t.id, t.* from s.t
=>
select t.id, t.* from `r0` AS `t`

-- schema and table before a column
select s.t.id, s.t.x + 1 as y from s.t
=>
select `t`.id, `t`.x + 1 as y from `r0` AS `t`

-- catalog, schema and table before a column
select spark_catalog.s.t.id from spark_catalog.s.t
=>
select `t`.id from `r0` AS `t`

-- schema and table before a column of a table named with its catalog
select s.t.id from spark_catalog.s.t
=>
select `t`.id from `r0` AS `t`

-- all columns of a qualified table
select s.t.* from s.t
=>
select `t`.* from `r0` AS `t`

-- all columns of a table qualified with its catalog
select spark_catalog.s.t.* from spark_catalog.s.t
=>
select `t`.* from `r0` AS `t`

-- all columns but one
select s.t.* except (arr, st, day) from s.t
=>
select `t`.* except (arr, st, day) from `r0` AS `t`

-- more parts before a column than in FROM [full: spark_catalog.s.t]
select s.t.id from t
=>
select `t`.id from `r0` AS `t`

-- the full name before a column, one part in FROM [full: spark_catalog.s.t]
select spark_catalog.s.t.id, spark_catalog.s.t.* from t
=>
select `t`.id, `t`.* from `r0` AS `t`

-- the catalog before a column, two parts in FROM [full: spark_catalog.s.t]
select spark_catalog.s.t.id from s.t
=>
select `t`.id from `r0` AS `t`

-- fields of a struct behind one part
select t.st.f from s.t
=>
select t.st.f from `r0` AS `t`

-- fields of a struct behind two parts
select s.t.st.f, s.t.st.g.h from s.t
=>
select `t`.st.f, `t`.st.g.h from `r0` AS `t`

-- fields of a struct behind three parts
select spark_catalog.s.t.st.g.h from spark_catalog.s.t
=>
select `t`.st.g.h from `r0` AS `t`

-- an alias that looks like a schema
select s.st.f from s.t as s
=>
select s.st.f from `r0` as s

-- an alias that looks like a schema, with a column that looks like a table
select s.t.f from (select st as t from s.t) as s
=>
select s.t.f from (select st as t from `r0` AS `t`) as s

-- an index behind a qualified column
select s.t.arr[0], s.t.st.g.h from s.t
=>
select `t`.arr[0], `t`.st.g.h from `r0` AS `t`

-- other case in the qualifier
select S.T.id, T.x from s.t
=>
select `t`.id, T.x from `r0` AS `t`

-- other case in FROM
select s.t.id, t.x from S.T
=>
select `T`.id, t.x from `r0` AS `T`

-- backticks everywhere
select `s`.`t`.`id`, `t`.* from `s`.`t`
=>
select `t`.`id`, `t`.* from `r0` AS `t`

-- backticks that touch the keyword
select id from`s`.`t`where`s`.`t`.`id`>1
=>
select id from`r0` AS `t`where`t`.`id`>1

-- a name with a space [no spark]
select `odd name`.id, s.`odd name`.`a.b` from s.`odd name`
=>
select `odd name`.id, `odd name`.`a.b` from `r0` AS `odd name`

-- a name with a doubled backtick [no spark]
select s.`tick``ed`.id, `tick``ed`.* from s.`tick``ed`
=>
select `tick``ed`.id, `tick``ed`.* from `r0` AS `tick``ed`

-- letters beyond ASCII before and in the names [no spark]
select 'größe 😀' as "ü", s.größe.id, größe.* from s.größe
=>
select 'größe 😀' as "ü", `größe`.id, größe.* from `r0` AS `größe`

-- letters beyond ASCII before a name
select 'größe 😀' as `ü 😀`, s.t.id /* ß */ from /* 😀😀 */ s.t where s.t.name <> 'é'
=>
select 'größe 😀' as `ü 😀`, `t`.id /* ß */ from /* 😀😀 */ `r0` AS `t` where `t`.name <> 'é'

-- a comment with a table's name
select /* from s.u */ s.t.id -- s.t.id
from s.t
=>
select /* from s.u */ `t`.id -- s.t.id
from `r0` AS `t`

-- comments within the name
select s . /* a */ t . id from s /* b */ . /* c */ t
=>
select `t` . id from `r0` AS `t`

-- tabs and newlines within the name
select	s.t
.id
from
	s
.	t
=>
select	`t`
.id
from
	`r0` AS `t`

-- a comment at the start
/* {"app": "dbt", "node": "s.t"} */ select s.t.id from s.t
=>
/* {"app": "dbt", "node": "s.t"} */ select `t`.id from `r0` AS `t`

-- a string with a table's name
select 's.t', "s.t" from s.t
=>
select 's.t', "s.t" from `r0` AS `t`

-- a join on qualified columns
select s.t.id, s.u.y from s.t join s.u on s.t.id = s.u.id
=>
select `t`.id, `u`.y from `r0` AS `t` join `r1` AS `u` on `t`.id = `u`.id

-- a join with USING
select id, s.t.x, s.u.y from s.t join s.u using (id)
=>
select id, `t`.x, `u`.y from `r0` AS `t` join `r1` AS `u` using (id)

-- a natural join
select s.t.x from s.t natural join s.u
=>
select `t`.x from `r0` AS `t` natural join `r1` AS `u`

-- joins of all kinds
select t.id from s.t left join s.u on s.t.id = s.u.id right join a.t as v on v.id = s.u.id full outer join b.t as w on w.id = v.id
=>
select t.id from `r0` AS `t` left join `r1` AS `u` on `t`.id = `u`.id right join `r2` as v on v.id = `u`.id full outer join `r3` as w on w.id = v.id

-- a left semi and a left anti join
select s.t.id from s.t left semi join s.u on s.t.id = s.u.id left anti join b.t as w on s.t.id = w.id
=>
select `t`.id from `r0` AS `t` left semi join `r1` AS `u` on `t`.id = `u`.id left anti join `r2` as w on `t`.id = w.id

-- a comma
select s.t.id, u.y from s.t, s.u where s.t.id = u.id
=>
select `t`.id, u.y from `r0` AS `t`, `r1` AS `u` where `t`.id = u.id

-- a cross join
select count(*) from s.t cross join s.u
=>
select count(*) from `r0` AS `t` cross join `r1` AS `u`

-- two tables of one last name, columns qualified by schema
select a.t.id, b.t.id from a.t join b.t on a.t.id = b.t.id
=>
select `__relation_0`.id, `__relation_1`.id from `r0` AS `__relation_0` join `r1` AS `__relation_1` on `__relation_0`.id = `__relation_1`.id

-- two tables of one last name, all columns of one
select a.t.* from a.t join b.t on a.t.id = b.t.id
=>
select `__relation_0`.* from `r0` AS `__relation_0` join `r1` AS `__relation_1` on `__relation_0`.id = `__relation_1`.id

-- two tables of one last name, one aliased
select t.v, q.z from a.t join b.t q on t.id = q.id
=>
select t.v, q.z from `r0` AS `t` join `r1` q on t.id = q.id

-- two tables of one last name, the short name is unambiguous by its column
select t.v, t.z from a.t, b.t
=>
select t.v, t.z from `r0` AS `t`, `r1` AS `t`

-- an alias that another table's last name is
select a.t.id, t.y from a.t join s.u as t on a.t.id < y
=>
select `__relation_0`.id, t.y from `r0` AS `__relation_0` join `r1` as t on `__relation_0`.id < y

-- a self join with aliases
select l.id, r.id from s.t l join s.t r on l.id < r.id
=>
select l.id, r.id from `r0` l join `r1` r on l.id < r.id

-- a self join with one alias
select t.id, r.id from s.t join s.t r on s.t.id < r.id
=>
select t.id, r.id from `r0` AS `t` join `r1` r on `t`.id < r.id

-- three in a row
select a.t.v, b.t.z, s.t.x from a.t join b.t on a.t.id = b.t.id join s.t on s.t.id = b.t.id
=>
select `__relation_0`.v, `__relation_1`.z, `__relation_2`.x from `r0` AS `__relation_0` join `r1` AS `__relation_1` on `__relation_0`.id = `__relation_1`.id join `r2` AS `__relation_2` on `__relation_2`.id = `__relation_1`.id

-- parentheses around a table
select s.t.id from (s.t)
=>
select `t`.id from (`r0` AS `t`)

-- parentheses around a table, with an alias
select q.id from (s.t) as q
=>
select q.id from (`r0` AS `t`) as q

-- parentheses around a join
select s.t.id, s.u.y from (s.t join s.u on s.t.id = s.u.id)
=>
select `t`.id, `u`.y from (`r0` AS `t` join `r1` AS `u` on `t`.id = `u`.id)

-- parentheses around a join, with an alias
select q.x, q.y from (s.t join s.u using (id)) as q
=>
select q.x, q.y from (`r0` AS `t` join `r1` AS `u` using (id)) as q

-- a nested join
select s.t.id from s.t join (s.u join b.t on s.u.id = b.t.id) on s.t.id = s.u.id
=>
select `__relation_0`.id from `r0` AS `__relation_0` join (`r1` AS `u` join `r2` AS `__relation_2` on `u`.id = `__relation_2`.id) on `__relation_0`.id = `u`.id

-- a subquery in FROM
select q.id from (select s.t.id from s.t) as q
=>
select q.id from (select `t`.id from `r0` AS `t`) as q

-- a subquery in FROM without an alias
select id from (select s.t.id from s.t)
=>
select id from (select `t`.id from `r0` AS `t`)

-- subqueries within subqueries
select q.id from (select p.id from (select s.t.id from s.t where s.t.x > 0) p) q
=>
select q.id from (select p.id from (select `t`.id from `r0` AS `t` where `t`.x > 0) p) q

-- a scalar subquery
select s.t.id, (select max(s.u.y) from s.u) as m from s.t
=>
select `t`.id, (select max(`u`.y) from `r0` AS `u`) as m from `r1` AS `t`

-- a correlated scalar subquery
select s.t.id, (select max(s.u.y) from s.u where s.u.id = s.t.id) as m from s.t
=>
select `t`.id, (select max(`u`.y) from `r0` AS `u` where `u`.id = `t`.id) as m from `r1` AS `t`

-- IN with a subquery
select s.t.id from s.t where s.t.id in (select s.u.id from s.u)
=>
select `t`.id from `r0` AS `t` where `t`.id in (select `u`.id from `r1` AS `u`)

-- NOT IN with two columns
select t.id from s.t where (s.t.id, s.t.x) not in (select s.u.id, s.u.y from s.u)
=>
select t.id from `r0` AS `t` where (`t`.id, `t`.x) not in (select `u`.id, `u`.y from `r1` AS `u`)

-- EXISTS, correlated
select s.t.id from s.t where exists (select 1 from s.u where s.u.id = s.t.id)
=>
select `t`.id from `r0` AS `t` where exists (select 1 from `r1` AS `u` where `u`.id = `t`.id)

-- EXISTS over a table of the same last name
select a.t.id from a.t where exists (select 1 from b.t where a.t.id = b.t.id)
=>
select `__relation_0`.id from `r0` AS `__relation_0` where exists (select 1 from `r1` AS `t` where `__relation_0`.id = `t`.id)

-- EXISTS over a table of the same last name, the short name inside
select a.t.id from a.t where exists (select 1 from b.t where a.t.id = t.id)
=>
select `__relation_0`.id from `r0` AS `__relation_0` where exists (select 1 from `r1` AS `t` where `__relation_0`.id = t.id)

-- EXISTS over an alias that hides the outer table
select a.t.id from a.t where exists (select 1 from s.u as t where a.t.id = t.id)
=>
select `__relation_0`.id from `r0` AS `__relation_0` where exists (select 1 from `r1` as t where `__relation_0`.id = t.id)

-- an inner table hides the outer one of the same name
select t.id from a.t where t.id in (select t.id from b.t)
=>
select t.id from `r0` AS `t` where t.id in (select t.id from `r1` AS `t`)

-- a correlated subquery two levels down [no spark]
select s.t.id from s.t where exists (select 1 from s.u where exists (select 1 from b.t where b.t.id = s.t.id))
=>
select `__relation_0`.id from `r0` AS `__relation_0` where exists (select 1 from `r1` AS `u` where exists (select 1 from `r2` AS `t` where `t`.id = `__relation_0`.id))

-- a lateral subquery
select s.t.id, q.m from s.t, lateral (select max(s.u.y) as m from s.u where s.u.id = s.t.id) q
=>
select `t`.id, q.m from `r0` AS `t`, lateral (select max(`u`.y) as m from `r1` AS `u` where `u`.id = `t`.id) q

-- a lateral join
select s.t.id, q.m from s.t left join lateral (select s.t.x * 2 as m) q on true
=>
select `t`.id, q.m from `r0` AS `t` left join lateral (select `t`.x * 2 as m) q on true

-- a CTE
with c as (select s.t.id from s.t) select c.id from c
=>
with c as (select `t`.id from `r0` AS `t`) select c.id from c

-- a CTE that hides a table
with t as (select 7 as id) select t.id, t.* from t
=>
with t as (select 7 as id) select t.id, t.* from t

-- a CTE that reads the table of its own name
with t as (select t.id + 100 as id from t) select t.id from t
=>
with t as (select t.id + 100 as id from `r0` AS `t`) select t.id from t

-- a CTE that reads a qualified table of its own name
with t as (select s.t.id + 100 as id from s.t) select t.id from t
=>
with t as (select `t`.id + 100 as id from `r0` AS `t`) select t.id from t

-- a CTE hides one part only, not a qualified name
with t as (select 7 as id) select t.id, q.id as q from t, s.t as q
=>
with t as (select 7 as id) select t.id, q.id as q from t, `r0` as q

-- a CTE and a qualified table of its name
with t as (select 7 as id) select s.t.id, s.t.x from s.t where s.t.id in (select id from t)
=>
with t as (select 7 as id) select `t`.id, `t`.x from `r0` AS `t` where `t`.id in (select id from t)

-- a CTE in other case
with T as (select 7 as id) select id from t
=>
with T as (select 7 as id) select id from t

-- a CTE over a CTE
with c as (select id from s.t), d as (select c.id from c join s.u on c.id = s.u.id) select d.id from d, c where c.id = d.id
=>
with c as (select id from `r0` AS `t`), d as (select c.id from c join `r1` AS `u` on c.id = `u`.id) select d.id from d, c where c.id = d.id

-- a CTE is not in sight before its place
with d as (select id from u), u as (select 1 as id) select d.id from d
=>
with d as (select id from `r0` AS `u`), u as (select 1 as id) select d.id from d

-- a CTE with column names
with c(k) as (select id from s.t) select c.k from c
=>
with c(k) as (select id from `r0` AS `t`) select c.k from c

-- a WITH clause within a CTE
with c as (with t as (select 1 as id) select id from t) select c.id, s.id as sid from c, t as s
=>
with c as (with t as (select 1 as id) select id from t) select c.id, s.id as sid from c, `r0` as s

-- a WITH clause in a subquery hides a table there only
select q.id, t.x from (with t as (select 2 as id) select id from t) q join t on q.id = t.id
=>
select q.id, t.x from (with t as (select 2 as id) select id from t) q join `r0` AS `t` on q.id = t.id

-- a WITH clause in a scalar subquery
select (with c as (select max(id) as m from s.t) select m from c) as m
=>
select (with c as (select max(id) as m from `r0` AS `t`) select m from c) as m

-- a WITH clause around a WITH clause in parentheses
with c as (select 1 as id) (with d as (select 2 as id) select c.id, d.id as did, t.id as tid from c, d, s.t)
=>
with c as (select 1 as id) (with d as (select 2 as id) select c.id, d.id as did, t.id as tid from c, d, `r0` AS `t`)

-- a recursive CTE
with recursive n(k) as (select 1 union all select k + 1 from n where k < 3) select n.k, s.t.id from n join s.t on n.k = s.t.id
=>
with recursive n(k) as (select 1 union all select k + 1 from n where k < 3) select n.k, `t`.id from n join `r0` AS `t` on n.k = `t`.id

-- a CTE used in IN and EXISTS
with c as (select id from s.u) select t.id from s.t where t.id in (select id from c) and exists (select 1 from c where c.id = s.t.id)
=>
with c as (select id from `r0` AS `u`) select t.id from `r1` AS `t` where t.id in (select id from c) and exists (select 1 from c where c.id = `t`.id)

-- a union
select s.t.id from s.t union all select s.u.id from s.u
=>
select `t`.id from `r0` AS `t` union all select `u`.id from `r1` AS `u`

-- a union with one last name
select t.id from a.t union select t.id from b.t
=>
select t.id from `r0` AS `t` union select t.id from `r1` AS `t`

-- three operands and parentheses
(select id from s.t) except (select id from s.u) union all select id from b.t
=>
(select id from `r0` AS `t`) except (select id from `r1` AS `u`) union all select id from `r2` AS `t`

-- INTERSECT and MINUS
select id from s.t intersect select id from s.u minus select id from b.t
=>
select id from `r0` AS `t` intersect select id from `r1` AS `u` minus select id from `r2` AS `t`

-- a union with an order
select id from s.t union all select id from s.u order by id limit 3
=>
select id from `r0` AS `t` union all select id from `r1` AS `u` order by id limit 3

-- a union in a subquery
select q.id from (select id from s.t union select id from s.u) q
=>
select q.id from (select id from `r0` AS `t` union select id from `r1` AS `u`) q

-- a CTE over a union
with c as (select id from s.t) select id from c union all select id from s.u union all select c.id from c
=>
with c as (select id from `r0` AS `t`) select id from c union all select id from `r1` AS `u` union all select c.id from c

-- VALUES
values (1, 'a'), (2, 'b')
=>
values (1, 'a'), (2, 'b')

-- VALUES in FROM
select v.k from values (1), (2) as v(k) join s.t on v.k = s.t.id
=>
select v.k from values (1), (2) as v(k) join `r0` AS `t` on v.k = `t`.id

-- VALUES in parentheses
select v.k, s.t.x from (values (1), (2)) as v(k), s.t where v.k = s.t.id
=>
select v.k, `t`.x from (values (1), (2)) as v(k), `r0` AS `t` where v.k = `t`.id

-- TABLE
table s.t
=>
table `r0`

-- TABLE with an order by a qualified column
table s.t order by s.t.id desc, t.x
=>
table `r0` order by `r0`.id desc, `r0`.x

-- TABLE in a union
table s.u union all select id, x from s.t
=>
table `r0` union all select id, x from `r1` AS `t`

-- TABLE in a subquery
select q.id from (table s.t) q
=>
select q.id from (table `r0`) q

-- FROM first
from s.t select s.t.id
=>
from `r0` AS `t` select `t`.id

-- FROM first with a condition
from s.t select s.t.id where s.t.x > 10
=>
from `r0` AS `t` select `t`.id where `t`.x > 10

-- FROM alone, piped
from s.t |> where s.t.x > 10 |> select s.t.id
=>
from `r0` AS `t` |> where `t`.x > 10 |> select `t`.id

-- pipes with a join and an aggregate
from s.t |> join s.u on s.t.id = s.u.id |> where y > 1 |> aggregate count(*) as n group by x
=>
from `r0` AS `t` |> join `r1` AS `u` on `t`.id = `u`.id |> where y > 1 |> aggregate count(*) as n group by x

-- pipes with a set operation
from s.t |> select id |> union all (select s.u.id from s.u) |> order by id
=>
from `r0` AS `t` |> select id |> union all (select `u`.id from `r1` AS `u`) |> order by id

-- pipes with new, changed and dropped columns
from s.t |> extend s.t.x + 1 as y |> set x = y * 2 |> drop y, st, arr |> where s.t.id > 1 |> select id, x
=>
from `r0` AS `t` |> extend `t`.x + 1 as y |> set x = y * 2 |> drop y, st, arr |> where `t`.id > 1 |> select id, x

-- pipes with an alias
from s.t |> select s.t.id, x |> as q |> join s.u on q.id = s.u.id |> select q.x, s.u.y |> order by y desc |> limit 1
=>
from `r0` AS `t` |> select `t`.id, x |> as q |> join `r1` AS `u` on q.id = `u`.id |> select q.x, `u`.y |> order by y desc |> limit 1

-- pipes with a group, a lateral join and a pivot
from s.t |> aggregate max(s.t.id) as m group by s.t.x as k |> left join lateral (select m + 1 as n) |> pivot (max(n) for k in (10, 20))
=>
from `r0` AS `t` |> aggregate max(`t`.id) as m group by `t`.x as k |> left join lateral (select m + 1 as n) |> pivot (max(n) for k in (10, 20))

-- pipes after VALUES
values (1), (3) as v(k) |> where k < (select max(s.t.id) from s.t)
=>
values (1), (3) as v(k) |> where k < (select max(`t`.id) from `r0` AS `t`)

-- pipes after TABLE
table s.t |> where t.x > 10 |> select id
=>
table `r0` |> where `r0`.x > 10 |> select id

-- pipes in a subquery and after a subquery
from (from s.t |> select s.t.id) as q |> where exists (from s.u |> where s.u.id = q.id)
=>
from (from `r0` AS `t` |> select `t`.id) as q |> where exists (from `r1` AS `u` |> where `u`.id = q.id)

-- GROUP BY and HAVING
select s.t.x, count(s.t.id) from s.t group by s.t.x having max(s.t.id) > 0
=>
select `t`.x, count(`t`.id) from `r0` AS `t` group by `t`.x having max(`t`.id) > 0

-- GROUP BY ALL, ORDER BY and LIMIT
select s.t.x, count(*) as n from s.t group by all order by s.t.x limit 2 offset 1
=>
select `t`.x, count(*) as n from `r0` AS `t` group by all order by `t`.x limit 2 offset 1

-- grouping sets
select s.t.x, s.t.name, count(*) from s.t group by grouping sets ((s.t.x), (s.t.name), ())
=>
select `t`.x, `t`.name, count(*) from `r0` AS `t` group by grouping sets ((`t`.x), (`t`.name), ())

-- ROLLUP and CUBE
select x, name, count(*) from s.t group by rollup (s.t.x, s.t.name)
=>
select x, name, count(*) from `r0` AS `t` group by rollup (`t`.x, `t`.name)

-- an aggregate with a filter
select count(*) filter (where s.t.x > 10), sum(distinct s.t.x) from s.t
=>
select count(*) filter (where `t`.x > 10), sum(distinct `t`.x) from `r0` AS `t`

-- a window
select s.t.id, row_number() over (partition by s.t.x order by s.t.id desc) as n from s.t
=>
select `t`.id, row_number() over (partition by `t`.x order by `t`.id desc) as n from `r0` AS `t`

-- a named window
select s.t.id, sum(s.t.x) over w from s.t window w as (partition by s.t.name order by s.t.id rows between unbounded preceding and current row)
=>
select `t`.id, sum(`t`.x) over w from `r0` AS `t` window w as (partition by `t`.name order by `t`.id rows between unbounded preceding and current row)

-- QUALIFY
select s.t.id from s.t qualify row_number() over (partition by s.t.x order by s.t.id) = 1
=>
select `t`.id from `r0` AS `t` qualify row_number() over (partition by `t`.x order by `t`.id) = 1

-- an ordered-set aggregate
select percentile_cont(0.5) within group (order by s.t.x) from s.t
=>
select percentile_cont(0.5) within group (order by `t`.x) from `r0` AS `t`

-- ignoring nulls
select first_value(s.t.x) ignore nulls over (order by s.t.id) from s.t
=>
select first_value(`t`.x) ignore nulls over (order by `t`.id) from `r0` AS `t`

-- CASE
select case when s.t.x > 10 then s.t.name else 'no' end, case s.t.id when 1 then s.t.x end from s.t
=>
select case when `t`.x > 10 then `t`.name else 'no' end, case `t`.id when 1 then `t`.x end from `r0` AS `t`

-- CAST, EXTRACT, TRIM, SUBSTRING, POSITION, OVERLAY
select cast(s.t.x as string), s.t.x::double, extract(year from s.t.day), trim(both 'a' from s.t.name), substring(s.t.name from 1 for 2), position('a' in s.t.name), overlay(s.t.name placing 'x' from 1) from s.t
=>
select cast(`t`.x as string), `t`.x::double, extract(year from `t`.day), trim(both 'a' from `t`.name), substring(`t`.name from 1 for 2), position('a' in `t`.name), overlay(`t`.name placing 'x' from 1) from `r0` AS `t`

-- functions that sqlglot would rewrite
select date_sub(s.t.day, 1), date_add(s.t.day, 2), nvl(s.t.x, 0), element_at(s.t.arr, 1), year(s.t.day) from s.t
=>
select date_sub(`t`.day, 1), date_add(`t`.day, 2), nvl(`t`.x, 0), element_at(`t`.arr, 1), year(`t`.day) from `r0` AS `t`

-- a subquery as an argument
select coalesce((select max(s.u.y) from s.u), s.t.x) from s.t
=>
select coalesce((select max(`u`.y) from `r0` AS `u`), `t`.x) from `r1` AS `t`

-- a lambda
select transform(s.t.arr, e -> e + s.t.x), aggregate(t.arr, 0, (acc, e) -> acc + e) from s.t
=>
select transform(`t`.arr, e -> e + `t`.x), aggregate(t.arr, 0, (acc, e) -> acc + e) from `r0` AS `t`

-- a lambda variable named like the table
select transform(s.t.arr, t -> t + 1) from s.t
=>
select transform(`t`.arr, t -> t + 1) from `r0` AS `t`

-- struct and named arguments
select struct(s.t.id as k, s.t.x), named_struct('a', s.t.x), mask(s.t.name, upperChar => 'Q') from s.t
=>
select struct(`t`.id as k, `t`.x), named_struct('a', `t`.x), mask(`t`.name, upperChar => 'Q') from `r0` AS `t`

-- all columns as arguments
select count(struct(s.t.*)), max(struct(s.t.id, t.x)) from s.t
=>
select count(struct(`t`.*)), max(struct(`t`.id, t.x)) from `r0` AS `t`

-- all columns in a struct
select struct(s.t.*).x, struct(t.*) as q from s.t
=>
select struct(`t`.*).x, struct(t.*) as q from `r0` AS `t`

-- BETWEEN, LIKE, IS NULL, RLIKE
select id from s.t where s.t.x between 1 and s.t.id + 100 and s.t.name like 'a%' and s.t.day is not null and s.t.name rlike '^a'
=>
select id from `r0` AS `t` where `t`.x between 1 and `t`.id + 100 and `t`.name like 'a%' and `t`.day is not null and `t`.name rlike '^a'

-- LIKE ANY, IN a list
select id from s.t where s.t.name like any ('a%', 'b%') and s.t.id in (1, 2, 3)
=>
select id from `r0` AS `t` where `t`.name like any ('a%', 'b%') and `t`.id in (1, 2, 3)

-- a null-safe comparison and DISTINCT FROM
select s.t.id from s.t join s.u on s.t.id <=> s.u.id where s.t.x is distinct from s.u.y
=>
select `t`.id from `r0` AS `t` join `r1` AS `u` on `t`.id <=> `u`.id where `t`.x is distinct from `u`.y

-- intervals and dates
select s.t.day + interval 1 day, date '2024-01-01', timestamp '2024-01-01 00:00:00' from s.t
=>
select `t`.day + interval 1 day, date '2024-01-01', timestamp '2024-01-01 00:00:00' from `r0` AS `t`

-- LATERAL VIEW
select s.t.id, e.a from s.t lateral view explode(s.t.arr) e as a
=>
select `t`.id, e.a from `r0` AS `t` lateral view explode(`t`.arr) e as a

-- LATERAL VIEW OUTER, twice
select t.id, e.a, f.b from s.t lateral view outer explode(s.t.arr) e as a lateral view posexplode(array(e.a, s.t.x)) f as p, b
=>
select t.id, e.a, f.b from `r0` AS `t` lateral view outer explode(`t`.arr) e as a lateral view posexplode(array(e.a, `t`.x)) f as p, b

-- a lateral table function
select s.t.id, e.col from s.t, lateral explode(s.t.arr) as e
=>
select `t`.id, e.col from `r0` AS `t`, lateral explode(`t`.arr) as e

-- a table function
select r.id, s.t.x from range(1, 3) r join s.t on r.id = s.t.id
=>
select r.id, `t`.x from range(1, 3) r join `r0` AS `t` on r.id = `t`.id

-- explode in FROM
select e.col from explode(array(1, 2)) as e
=>
select e.col from explode(array(1, 2)) as e

-- PIVOT
select * from (select s.t.x, s.t.name, s.t.id from s.t) pivot (sum(id) for name in ('ann', 'bob'))
=>
select * from (select `t`.x, `t`.name, `t`.id from `r0` AS `t`) pivot (sum(id) for name in ('ann', 'bob'))

-- PIVOT of a table
select * from s.u pivot (sum(y) as total for id in (1, 2)) as p
=>
select * from `r0` AS `u` pivot (sum(y) as total for id in (1, 2)) as p

-- UNPIVOT
select * from s.u unpivot (v for k in (id, y))
=>
select * from `r0` AS `u` unpivot (v for k in (id, y))

-- UNPIVOT of a table, with an alias
select p.k, p.v from s.u unpivot include nulls (v for k in (id as i, y as j)) as p
=>
select p.k, p.v from `r0` AS `u` unpivot include nulls (v for k in (id as i, y as j)) as p

-- TABLESAMPLE
select t.id from s.t tablesample (100 percent)
=>
select t.id from `r0` tablesample (100 percent) AS `t`

-- TABLESAMPLE with an alias
select q.id from s.t tablesample (100 percent) q
=>
select q.id from `r0` tablesample (100 percent) q

-- TABLESAMPLE of rows, qualified
select s.t.id from s.t tablesample (5 rows) order by s.t.id
=>
select `t`.id from `r0` tablesample (5 rows) AS `t` order by `t`.id

-- a join hint by the last part
select /*+ broadcast(t) */ s.t.id from s.t join s.u on s.t.id = s.u.id
=>
select /*+ broadcast(t) */ `t`.id from `r0` AS `t` join `r1` AS `u` on `t`.id = `u`.id

-- a join hint by the qualified name
select /*+ BROADCAST(s.t), SHUFFLE_HASH(u) */ s.t.id from s.t join s.u on s.t.id = s.u.id
=>
select /*+ BROADCAST(`t`), SHUFFLE_HASH(u) */ `t`.id from `r0` AS `t` join `r1` AS `u` on `t`.id = `u`.id

-- a join hint between tables of one last name
select /*+ MERGE(a.t) */ a.t.id from a.t join b.t on a.t.id = b.t.id
=>
select /*+ MERGE(`__relation_0`) */ `__relation_0`.id from `r0` AS `__relation_0` join `r1` AS `__relation_1` on `__relation_0`.id = `__relation_1`.id

-- a partitioning hint
select /*+ REPARTITION(2, s.t.x) */ id from s.t
=>
select /*+ REPARTITION(2, `t`.x) */ id from `r0` AS `t`

-- a hint by alias
select /*+ MAPJOIN(q) */ q.id from s.t q join s.u on q.id = s.u.id
=>
select /*+ MAPJOIN(q) */ q.id from `r0` q join `r1` AS `u` on q.id = `u`.id

-- COALESCE as a hint, and several hints
select /*+ COALESCE(1) */ /* and a comment */ s.t.id from s.t
=>
select /*+ COALESCE(1) */ /* and a comment */ `t`.id from `r0` AS `t`

-- DISTINCT and ALL
select distinct s.t.x from s.t
=>
select distinct `t`.x from `r0` AS `t`

-- SORT BY, DISTRIBUTE BY, CLUSTER BY
select s.t.id from s.t distribute by s.t.x sort by s.t.id
=>
select `t`.id from `r0` AS `t` distribute by `t`.x sort by `t`.id

-- ORDER BY with nulls
select s.t.id from s.t order by s.t.x desc nulls last, t.id asc nulls first
=>
select `t`.id from `r0` AS `t` order by `t`.x desc nulls last, t.id asc nulls first

-- ORDER BY ALL
select s.t.id, s.t.x from s.t order by all
=>
select `t`.id, `t`.x from `r0` AS `t` order by all

-- a column alias used later in the list
select s.t.x as a, a + 1 as b from s.t
=>
select `t`.x as a, a + 1 as b from `r0` AS `t`

-- a column called like a schema
select s.t.id as s, s.t.x as t from s.t
=>
select `t`.id as s, `t`.x as t from `r0` AS `t`

-- reserved words as names
select t.`order`, s.words.`select`, words.date from s.words, (select 1 as `order`) t
=>
select t.`order`, `words`.`select`, words.date from `r0` AS `words`, (select 1 as `order`) t

-- words that are keywords elsewhere, after a dot
select s.words.select, words.first, s.words.user from s.words
=>
select `words`.select, words.first, `words`.user from `r0` AS `words`

-- a recursive CTE with a limit
with recursive n(k) max recursion level 5 as (select 1 union all select k + 1 from n where k < 3) select n.k, s.t.id from n join s.t on n.k = s.t.id
=>
with recursive n(k) max recursion level 5 as (select 1 union all select k + 1 from n where k < 3) select n.k, `t`.id from n join `r0` AS `t` on n.k = `t`.id

-- shifts and hexadecimal numbers
select s.t.x >>> 1, s.t.x << 1, hex(X '1F'), hex(x'1f') from s.t
=>
select `t`.x >>> 1, `t`.x << 1, hex(X '1F'), hex(x'1f') from `r0` AS `t`

-- nested types that end like a shift
select cast(null as array<array<map<int, string>>>), cast(null as struct<a: array<array<array<int>>>>), s.t.x >>> 1 from s.t
=>
select cast(null as array<array<map<int, string>>>), cast(null as struct<a: array<array<array<int>>>>), `t`.x >>> 1 from `r0` AS `t`

-- windows of time
select window.start, count(s.t.id) from s.t group by window(timestamp(s.t.day), '1 day')
=>
select window.start, count(`t`.id) from `r0` AS `t` group by window(timestamp(`t`.day), '1 day')

-- indexes behind array and map
select array(s.t.x)[0], map('a', s.t.st)['a'].f, (select max(s.u.y) from s.u) + s.t.arr[s.t.id - s.t.id] from s.t
=>
select array(`t`.x)[0], map('a', `t`.st)['a'].f, (select max(`u`.y) from `r0` AS `u`) + `t`.arr[`t`.id - `t`.id] from `r1` AS `t`

-- words that are only keywords elsewhere
select date, timestamp, user, first, last, value, comment, type, row, rows, format, year, month, day, version from s.words
=>
select date, timestamp, user, first, last, value, comment, type, row, rows, format, year, month, day, version from `r0` AS `words`

-- a path's scheme of operators
select s.t.id || '-' || s.t.name, s.t.x % 2, s.t.x div 2, - s.t.x, ~ s.t.x, not (s.t.x > 1) from s.t
=>
select `t`.id || '-' || `t`.name, `t`.x % 2, `t`.x div 2, - `t`.x, ~ `t`.x, not (`t`.x > 1) from `r0` AS `t`

-- a hundred ORs
select s.t.id from s.t where s.t.id = 0 or s.t.id = 1 or s.t.id = 2 or s.t.id = 3 or s.t.id = 4 or s.t.id = 5 or s.t.id = 6 or s.t.id = 7 or s.t.id = 8 or s.t.id = 9 or s.t.id = 10 or s.t.id = 11 or s.t.id = 12 or s.t.id = 13 or s.t.id = 14 or s.t.id = 15 or s.t.id = 16 or s.t.id = 17 or s.t.id = 18 or s.t.id = 19 or s.t.id = 20 or s.t.id = 21 or s.t.id = 22 or s.t.id = 23 or s.t.id = 24 or s.t.id = 25 or s.t.id = 26 or s.t.id = 27 or s.t.id = 28 or s.t.id = 29 or s.t.id = 30 or s.t.id = 31 or s.t.id = 32 or s.t.id = 33 or s.t.id = 34 or s.t.id = 35 or s.t.id = 36 or s.t.id = 37 or s.t.id = 38 or s.t.id = 39 or s.t.id = 40 or s.t.id = 41 or s.t.id = 42 or s.t.id = 43 or s.t.id = 44 or s.t.id = 45 or s.t.id = 46 or s.t.id = 47 or s.t.id = 48 or s.t.id = 49 or s.t.id = 50 or s.t.id = 51 or s.t.id = 52 or s.t.id = 53 or s.t.id = 54 or s.t.id = 55 or s.t.id = 56 or s.t.id = 57 or s.t.id = 58 or s.t.id = 59 or s.t.id = 60 or s.t.id = 61 or s.t.id = 62 or s.t.id = 63 or s.t.id = 64 or s.t.id = 65 or s.t.id = 66 or s.t.id = 67 or s.t.id = 68 or s.t.id = 69 or s.t.id = 70 or s.t.id = 71 or s.t.id = 72 or s.t.id = 73 or s.t.id = 74 or s.t.id = 75 or s.t.id = 76 or s.t.id = 77 or s.t.id = 78 or s.t.id = 79 or s.t.id = 80 or s.t.id = 81 or s.t.id = 82 or s.t.id = 83 or s.t.id = 84 or s.t.id = 85 or s.t.id = 86 or s.t.id = 87 or s.t.id = 88 or s.t.id = 89 or s.t.id = 90 or s.t.id = 91 or s.t.id = 92 or s.t.id = 93 or s.t.id = 94 or s.t.id = 95 or s.t.id = 96 or s.t.id = 97 or s.t.id = 98 or s.t.id = 99
=>
select `t`.id from `r0` AS `t` where `t`.id = 0 or `t`.id = 1 or `t`.id = 2 or `t`.id = 3 or `t`.id = 4 or `t`.id = 5 or `t`.id = 6 or `t`.id = 7 or `t`.id = 8 or `t`.id = 9 or `t`.id = 10 or `t`.id = 11 or `t`.id = 12 or `t`.id = 13 or `t`.id = 14 or `t`.id = 15 or `t`.id = 16 or `t`.id = 17 or `t`.id = 18 or `t`.id = 19 or `t`.id = 20 or `t`.id = 21 or `t`.id = 22 or `t`.id = 23 or `t`.id = 24 or `t`.id = 25 or `t`.id = 26 or `t`.id = 27 or `t`.id = 28 or `t`.id = 29 or `t`.id = 30 or `t`.id = 31 or `t`.id = 32 or `t`.id = 33 or `t`.id = 34 or `t`.id = 35 or `t`.id = 36 or `t`.id = 37 or `t`.id = 38 or `t`.id = 39 or `t`.id = 40 or `t`.id = 41 or `t`.id = 42 or `t`.id = 43 or `t`.id = 44 or `t`.id = 45 or `t`.id = 46 or `t`.id = 47 or `t`.id = 48 or `t`.id = 49 or `t`.id = 50 or `t`.id = 51 or `t`.id = 52 or `t`.id = 53 or `t`.id = 54 or `t`.id = 55 or `t`.id = 56 or `t`.id = 57 or `t`.id = 58 or `t`.id = 59 or `t`.id = 60 or `t`.id = 61 or `t`.id = 62 or `t`.id = 63 or `t`.id = 64 or `t`.id = 65 or `t`.id = 66 or `t`.id = 67 or `t`.id = 68 or `t`.id = 69 or `t`.id = 70 or `t`.id = 71 or `t`.id = 72 or `t`.id = 73 or `t`.id = 74 or `t`.id = 75 or `t`.id = 76 or `t`.id = 77 or `t`.id = 78 or `t`.id = 79 or `t`.id = 80 or `t`.id = 81 or `t`.id = 82 or `t`.id = 83 or `t`.id = 84 or `t`.id = 85 or `t`.id = 86 or `t`.id = 87 or `t`.id = 88 or `t`.id = 89 or `t`.id = 90 or `t`.id = 91 or `t`.id = 92 or `t`.id = 93 or `t`.id = 94 or `t`.id = 95 or `t`.id = 96 or `t`.id = 97 or `t`.id = 98 or `t`.id = 99

-- a deep nest of parentheses
select ((((((((s.t.id)))))))) from s.t where ((((((s.t.x > 0))))))
=>
select ((((((((`t`.id)))))))) from `r0` AS `t` where ((((((`t`.x > 0))))))

-- a parameter marker [no spark]
select :a, s.t.id from s.t where s.t.x > :b
=>
select :a, `t`.id from `r0` AS `t` where `t`.x > :b

-- a positional marker [no spark]
select s.t.id from s.t where s.t.x > ? and s.t.name = ?
=>
select `t`.id from `r0` AS `t` where `t`.x > ? and `t`.name = ?

-- markers as a client quotes them [no spark]
select s.t.id from s.t where s.t.x > :`x 1`
=>
select `t`.id from `r0` AS `t` where `t`.x > :`x 1`

-- a version [no spark]
select s.t.id from s.t version as of 3
=>
select `t`.id from `r0` AS `t`

-- a version with an alias [no spark]
select q.id from s.t for version as of 3 as q
=>
select q.id from `r0` as q

-- a version as a string [no spark]
select s.t.id from s.t for system_version as of '3' where s.t.x > 1
=>
select `t`.id from `r0` AS `t` where `t`.x > 1

-- a timestamp [no spark]
select s.t.id from s.t timestamp as of '2024-01-01'
=>
select `t`.id from `r0` AS `t`

-- a timestamp as an expression [no spark]
select s.t.id from s.t for system_time as of current_timestamp() - interval 1 day join s.u on s.t.id = u.id
=>
select `t`.id from `r0` AS `t` join `r1` AS `u` on `t`.id = u.id

-- a version after an at sign [no spark]
select s.t.id from s.t@v3 join s.u@V12 q on s.t.id = q.id
=>
select `t`.id from `r0` AS `t` join `r1` q on `t`.id = q.id

-- a time after an at sign [no spark]
select t.id from t@20240101000000000
=>
select t.id from `r0` AS `t`

-- two versions of one table [no spark]
select new.id from s.t new left anti join s.t@v0 old on new.id = old.id
=>
select new.id from `r0` new left anti join `r1` old on new.id = old.id

-- a version with a sample [no spark]
select s.t.id from s.t version as of 3 tablesample (10 percent)
=>
select `t`.id from `r0` tablesample (10 percent) AS `t`

-- a path [no spark]
select `/lake/a b`.id from delta.`/lake/a b`
=>
select `/lake/a b`.id from `r0` AS `/lake/a b`

-- a path with a version inside [no spark]
select q.id from delta.`/lake/t@v3` q
=>
select q.id from `r0` q

-- a path with a version after it [no spark]
select id from delta.`/lake/t`@v3
=>
select id from `r0` AS `/lake/t`

-- a path with a clause [no spark]
select id from delta.`/lake/t` version as of 3
=>
select id from `r0` AS `/lake/t`
