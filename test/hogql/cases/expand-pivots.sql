-- PIVOT makes a column of every value
select * from (select event, distinct_id, 1 as n from events) pivot (sum(n) for event in ('$pageview', 'purchase' as bought)) order by distinct_id
SELECT t5."c10" AS c13, t5."c11" AS c14, t5."c12" AS c15
FROM (SELECT t4."c8" AS c10, coalesce((sum(t4."c9") FILTER (WHERE (t4."c7" = $1::VARCHAR)))::BIGINT, $2::BIGINT) AS c11, coalesce((sum(t4."c9") FILTER (WHERE (t4."c7" = $3::VARCHAR)))::BIGINT, $2::BIGINT) AS c12
  FROM (SELECT t3."event" AS c7, t3."distinct_id" AS c8, $4::BIGINT AS c9
    FROM events_lean_of($5::BIGINT) AS t3) AS t4
  GROUP BY t4."c8") AS t5
ORDER BY 1
LIMIT $6::BIGINT
-- [["d1","1","1"],["d2","1","0"],["d3","0","1"],["d4","1","0"]]

-- PIVOT by several columns and aggregates
select * from (select event, properties.$browser as browser, distinct_id from events) pivot (count() as n, uniq(distinct_id) as users for event in ('$pageview') browser in ('Chrome', 'Firefox') group by event)
SELECT t3."c4" AS c9, t3."c5" AS c10, t3."c6" AS c11, t3."c7" AS c12, t3."c8" AS c13
FROM (SELECT t2."c1" AS c4, count(*) FILTER (WHERE ((t2."c1" = $1::VARCHAR) AND (t2."c2" = $2::VARCHAR))) AS c5, count(DISTINCT t2."c3") FILTER (WHERE ((t2."c1" = $1::VARCHAR) AND (t2."c2" = $2::VARCHAR))) AS c6, count(*) FILTER (WHERE ((t2."c1" = $1::VARCHAR) AND (t2."c2" = $3::VARCHAR))) AS c7, count(DISTINCT t2."c3") FILTER (WHERE ((t2."c1" = $1::VARCHAR) AND (t2."c2" = $3::VARCHAR))) AS c8
  FROM (SELECT t1."event" AS c1, json_extract_string(t1."properties", $4::VARCHAR) AS c2, t1."distinct_id" AS c3
    FROM events_of($5::BIGINT) AS t1) AS t2
  GROUP BY t2."c1") AS t3
LIMIT $6::BIGINT
-- [["$pageview","1","1","1","1"],["purchase","0","0","0","0"]]

-- PIVOT of a table
select * from events pivot (count() for event in ('$pageview', 'purchase') group by distinct_id) as p order by p.distinct_id
SELECT t2."c1" AS c4, t2."c2" AS c5, t2."c3" AS c6
FROM (SELECT t1."distinct_id" AS c1, count(*) FILTER (WHERE (t1."event" = $1::VARCHAR)) AS c2, count(*) FILTER (WHERE (t1."event" = $2::VARCHAR)) AS c3
  FROM events_lean_of($3::BIGINT) AS t1
  GROUP BY t1."distinct_id") AS t2
ORDER BY 1
LIMIT $4::BIGINT
-- [["d1","1","1"],["d2","1","0"],["d3","0","1"],["d4","1","0"]]

-- UNPIVOT makes a row of every column
select * from (select 1 as id, 2 as a, 3 as b) unpivot (value for name in (a, b)) order by name
SELECT t4."c10" AS c13, t4."c11" AS c14, t4."c12" AS c15
FROM (SELECT t2."c7" AS c10, struct_extract_at(t3."c1", 1) AS c11, struct_extract_at(t3."c1", 2) AS c12
  FROM (SELECT $1::BIGINT AS c7, $2::BIGINT AS c8, $3::BIGINT AS c9) AS t2
  CROSS JOIN (SELECT unnest([{'1': $4::VARCHAR, '2': t2."c8"}, {'1': $5::VARCHAR, '2': t2."c9"}]) AS c1) AS t3
  WHERE (struct_extract_at(t3."c1", 2) IS NOT NULL)) AS t4
ORDER BY 2
LIMIT $6::BIGINT
-- [["1","a","2"],["1","b","3"]]

-- UNPIVOT leaves NULLs out
select name, value from (select 1 as id, 2 as a, null as b) unpivot (value for name in (a as x, b))
SELECT t4."c11" AS c13, t4."c12" AS c14
FROM (SELECT t2."c7" AS c10, struct_extract_at(t3."c1", 1) AS c11, struct_extract_at(t3."c1", 2) AS c12
  FROM (SELECT $1::BIGINT AS c7, $2::BIGINT AS c8, NULL AS c9) AS t2
  CROSS JOIN (SELECT unnest([{'1': $3::VARCHAR, '2': t2."c8"}, {'1': $4::VARCHAR, '2': t2."c9"}]) AS c1) AS t3
  WHERE (struct_extract_at(t3."c1", 2) IS NOT NULL)) AS t4
LIMIT $5::BIGINT
-- [["x","2"]]

-- UNPIVOT includes NULLs
select name, value from (select 1 as id, 2 as a, null as b) unpivot include nulls (value for name in (a as x, b)) order by name
SELECT t4."c11" AS c13, t4."c12" AS c14
FROM (SELECT t2."c7" AS c10, struct_extract_at(t3."c1", 1) AS c11, struct_extract_at(t3."c1", 2) AS c12
  FROM (SELECT $1::BIGINT AS c7, $2::BIGINT AS c8, NULL AS c9) AS t2
  CROSS JOIN (SELECT unnest([{'1': $3::VARCHAR, '2': t2."c8"}, {'1': $4::VARCHAR, '2': t2."c9"}]) AS c1) AS t3) AS t4
ORDER BY 1
LIMIT $5::BIGINT
-- [["b",null],["x","2"]]

-- UNPIVOT of pairs
select * from (select 'k' as id, 1 as a, 'x' as b, 2 as c, 'y' as d) unpivot ((n, t) for which in ((a, b), (c, d))) order by n
SELECT t4."c16" AS c20, t4."c17" AS c21, t4."c18" AS c22, t4."c19" AS c23
FROM (SELECT t2."c11" AS c16, struct_extract_at(t3."c1", 1) AS c17, struct_extract_at(t3."c1", 2) AS c18, struct_extract_at(t3."c1", 3) AS c19
  FROM (SELECT $1::VARCHAR AS c11, $2::BIGINT AS c12, $3::VARCHAR AS c13, $4::BIGINT AS c14, $5::VARCHAR AS c15) AS t2
  CROSS JOIN (SELECT unnest([{'1': $6::VARCHAR, '2': t2."c12", '3': t2."c13"}, {'1': $7::VARCHAR, '2': t2."c14", '3': t2."c15"}]) AS c1) AS t3
  WHERE ((struct_extract_at(t3."c1", 2) IS NOT NULL) OR (struct_extract_at(t3."c1", 3) IS NOT NULL))) AS t4
ORDER BY 3
LIMIT $8::BIGINT
-- [["k","a_b","1","x"],["k","c_d","2","y"]]

-- UNION BY NAME
select 1 as a, 'x' as b union all by name select 'y' as b, 2.5 as c order by b
(SELECT t1."c1" AS c5, t1."c2" AS c6, NULL AS c7
  FROM (SELECT $3::BIGINT AS c1, $4::VARCHAR AS c2) AS t1)
UNION ALL (SELECT NULL AS c8, t2."c3" AS c9, t2."c4" AS c10
  FROM (SELECT $1::VARCHAR AS c3, $2::DOUBLE AS c4
    ORDER BY 1) AS t2)
LIMIT $5::BIGINT
-- [["1","x",null],[null,"y",2.5]]

-- EXCEPT BY NAME
select 1 as a, 2 as b except by name select 2 as b, 1 as a
(SELECT t1."c1" AS c5, t1."c2" AS c6
  FROM (SELECT $2::BIGINT AS c1, $1::BIGINT AS c2) AS t1)
EXCEPT ALL (SELECT t2."c4" AS c7, t2."c3" AS c8
  FROM (SELECT $1::BIGINT AS c3, $2::BIGINT AS c4) AS t2)
LIMIT $3::BIGINT
-- []

-- NATURAL JOIN
select distinct_id, count() from events natural join person_distinct_ids group by distinct_id order by distinct_id
SELECT t1."distinct_id" AS c1, count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
INNER JOIN person_distinct_ids_of($1::BIGINT) AS t2 ON (t1."distinct_id" = t2."distinct_id")
GROUP BY t1."distinct_id"
ORDER BY 1
LIMIT $2::BIGINT
-- [["d1","2"],["d2","1"],["d3","1"]]

-- NATURAL LEFT JOIN of sub-selects
select * from (select 1 as a, 2 as b) natural left join (select 1 as a, 3 as c)
SELECT t1."c1" AS c5, t1."c2" AS c6, t2."c4" AS c7
FROM (SELECT $1::BIGINT AS c1, $2::BIGINT AS c2) AS t1
LEFT JOIN (SELECT $1::BIGINT AS c3, $3::BIGINT AS c4) AS t2 ON (t1."c1" = t2."c3")
LIMIT $4::BIGINT
-- [["1","2","3"]]

-- NATURAL JOIN without common names
select * from (select 1 as a) natural join (select 2 as b)
SELECT t1."c1" AS c3, t2."c2" AS c4
FROM (SELECT $1::BIGINT AS c1) AS t1
CROSS JOIN (SELECT $2::BIGINT AS c2) AS t2
LIMIT $3::BIGINT
-- [["1","2"]]

-- a tag is a tagged tuple
select <Sparkline data={[1, 2]} color='red' />, <a href='x'>text {event}</a> from events limit 1
SELECT {'1': $1::VARCHAR, '2': $2::VARCHAR, '3': $3::VARCHAR, '4': [$4::BIGINT, $5::BIGINT], '5': $6::VARCHAR, '6': $7::VARCHAR} AS c1, {'1': $1::VARCHAR, '2': $8::VARCHAR, '3': $9::VARCHAR, '4': $10::VARCHAR, '5': $11::VARCHAR, '6': {'1': $12::VARCHAR, '2': t1."event"}} AS c2
FROM events_lean_of($13::BIGINT) AS t1
LIMIT $4::BIGINT
-- [[{"1":"__hx_tag","2":"Sparkline","3":"data","4":["1","2"],"5":"color","6":"red"},{"1":"__hx_tag","2":"a","3":"href","4":"x","5":"children","6":{"1":"text ","2":"$pageview"}}]]
