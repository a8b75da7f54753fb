-- all events are counted without reading one
select count() from events
SELECT coalesce(sum(t1."row_count"), 0)::BIGINT AS c1
FROM events_counts_of($1::BIGINT) AS t1
LIMIT $2::BIGINT
-- [["5"]]

-- in a larger expression, and beside a constant
select count() * 2 + 1, 'all', count(*) from events
SELECT ((coalesce(sum(t1."row_count"), 0)::BIGINT * $1::BIGINT) + $2::BIGINT) AS c1, $3::VARCHAR AS c2, coalesce(sum(t1."row_count"), 0)::BIGINT AS c3
FROM events_counts_of($4::BIGINT) AS t1
LIMIT $5::BIGINT
-- [["11","all","5"]]

-- in a sub-select
select 1, (select count() from events) > 3
SELECT $1::BIGINT AS c2, (coalesce(((SELECT coalesce(sum(t1."row_count"), 0)::BIGINT AS c1
  FROM events_counts_of($2::BIGINT) AS t1) > $3::BIGINT), false))::UTINYINT AS c3
LIMIT $4::BIGINT
-- [["1",1]]

-- a sub-select that counts for a share
select event, round(count() / (select count() from events), 2) from events group by event order by event limit 2
SELECT t1."event" AS c2, (round_even(((ch_divide(count(*), (SELECT coalesce(sum(t2."row_count"), 0)::BIGINT AS c1
  FROM events_counts_of($1::BIGINT) AS t2)))::DOUBLE * pow(10, $2::BIGINT))::DOUBLE, 0) / pow(10, $2::BIGINT)) AS c3
FROM events_lean_of($1::BIGINT) AS t1
GROUP BY t1."event"
ORDER BY 1
LIMIT $2::BIGINT
-- [["$pageview",0.6],["purchase",0.4]]

-- a condition needs the events
select count() from events where event = 'purchase'
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (t1."event" = $2::VARCHAR)
LIMIT $3::BIGINT
-- [["2"]]

-- so does a group
select count() from events group by event order by 1
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
GROUP BY t1."event"
ORDER BY 1
LIMIT $2::BIGINT
-- [["2"],["3"]]

-- and a column, and what is there only once
select count(distinct event), count(), max(timestamp) is null from events
SELECT count(DISTINCT t1."event") AS c1, count(*) AS c2, ((coalesce(max(t1."timestamp"), $1::TIMESTAMP) IS NULL))::UTINYINT AS c3
FROM events_lean_of($2::BIGINT) AS t1
LIMIT $3::BIGINT
-- [["2","5",0]]

-- no events are in no group of totals
select count() from events having count() > 100
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
HAVING (count(*) > $2::BIGINT)
LIMIT $3::BIGINT
-- []
