-- ROLLUP adds the grand total, whose keys are NULL
select distinct_id as d, count() as n from events group by rollup(d) order by d nulls last
SELECT t1."distinct_id" AS c1, count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
GROUP BY ROLLUP (t1."distinct_id")
HAVING (count(*) > $2::BIGINT)
ORDER BY 1 NULLS LAST
LIMIT $3::BIGINT
-- [["d1","2"],["d2","1"],["d3","1"],["d4","1"],[null,"5"]]

-- ROLLUP over no rows makes no group
select event, count() from events where event = 'absent' group by rollup(event)
SELECT t1."event" AS c1, count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
WHERE (t1."event" = $2::VARCHAR)
GROUP BY ROLLUP (t1."event")
HAVING (count(*) > $3::BIGINT)
LIMIT $4::BIGINT
-- []

-- GROUPING SETS over no rows make the group without keys
select event, count() from events where event = 'absent' group by grouping sets ((event), ())
SELECT t1."event" AS c1, count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
WHERE (t1."event" = $2::VARCHAR)
GROUP BY GROUPING SETS ((t1."event"), ())
LIMIT $3::BIGINT
-- [[null,"0"]]

-- A call over a key is nullable too
select upper(event) as e, count() as n from events group by cube(event) having n > 1 order by e nulls last
SELECT CASE WHEN strlen(t1."event") = length(t1."event") THEN upper(t1."event") ELSE ch_ascii_upper(t1."event") END AS c1, count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
GROUP BY CUBE (t1."event")
HAVING ((count(*) > $2::BIGINT) AND (count(*) > $3::BIGINT))
ORDER BY 1 NULLS LAST
LIMIT $4::BIGINT
-- [["$PAGEVIEW","3"],["PURCHASE","2"],[null,"5"]]
