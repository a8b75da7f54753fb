-- an alias wins over a column of its name
select event as distinct_id from events where distinct_id = 'purchase' order by timestamp
SELECT t1."event" AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (t1."event" = $2::VARCHAR)
ORDER BY t1."timestamp"
LIMIT $3::BIGINT
-- [["purchase"],["purchase"]]

-- inside itself its name is the column
select concat(event, '!') as event from events where event = 'purchase!' limit 1
SELECT concat(t1."event", $1::VARCHAR) AS c1
FROM events_lean_of($2::BIGINT) AS t1
WHERE (concat(t1."event", $1::VARCHAR) = $3::VARCHAR)
LIMIT $4::BIGINT
-- [["purchase!"]]

-- aliases see each other in any order
select b + 1 as a, 2 as b
SELECT ($1::BIGINT + $2::BIGINT) AS c1, $1::BIGINT AS c2
LIMIT $3::BIGINT
-- [["3","2"]]

-- aliases inside expressions
select (number + 1 as n) * 2, n from numbers(1)
SELECT ((t1."c1" + $1::BIGINT) * $2::BIGINT) AS c1, (t1."c1" + $1::BIGINT) AS c2
FROM range($3::BIGINT, $1::BIGINT, $1::BIGINT) AS t1(c1)
LIMIT $4::BIGINT
-- [["2","1"]]

-- an expression from WITH
with toDate(timestamp) as day select day, count() from events group by day order by day limit 1
SELECT (t1."timestamp")::DATE AS c1, count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
GROUP BY (t1."timestamp")::DATE
ORDER BY 1
LIMIT $2::BIGINT
-- [["2024-06-01","2"]]

-- group and order by number and by alias
select event as e, count() as c from events group by 1 order by c desc, e
SELECT t1."event" AS c1, count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
GROUP BY t1."event"
ORDER BY 2 DESC, 1
LIMIT $2::BIGINT
-- [["$pageview","3"],["purchase","2"]]
