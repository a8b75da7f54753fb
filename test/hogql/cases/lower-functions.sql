-- a line of SQL with holes
select upper(event), length(event) from events order by timestamp limit 1
SELECT CASE WHEN strlen(t1."event") = length(t1."event") THEN upper(t1."event") ELSE ch_ascii_upper(t1."event") END AS c1, strlen(t1."event") AS c2
FROM events_lean_of($1::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $2::BIGINT
-- [["$PAGEVIEW","9"]]

-- a macro where the engine differs
select 7 / 2, intDiv(7, 2)
SELECT ch_divide($1::BIGINT, $2::BIGINT) AS c1, trunc($1::BIGINT // nullif($2::BIGINT, 0)) AS c2
LIMIT $3::BIGINT
-- [[3.5,"3"]]

-- a truncated time
select toStartOfMonth(timestamp) as month, count() from events group by month order by month
SELECT least(greatest(((t1."timestamp")::DATE - (day((t1."timestamp")::DATE) - 1)::INTEGER), DATE '1970-01-01'), DATE '2149-06-06') AS c1, count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
GROUP BY least(greatest(((t1."timestamp")::DATE - (day((t1."timestamp")::DATE) - 1)::INTEGER), DATE '1970-01-01'), DATE '2149-06-06')
ORDER BY 1
LIMIT $2::BIGINT
-- [["2024-06-01","5"]]

-- an aggregate with a default over no rows
select sum(properties.price), max(event) from events where event = 'none'
SELECT sum((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0)) AS c1, coalesce(max(t1."event"), $2::VARCHAR) AS c2
FROM events_of($3::BIGINT) AS t1
WHERE (t1."event" = $4::VARCHAR)
LIMIT $5::BIGINT
-- [[null,""]]

-- OVER moves to the aggregate inside
select event, count() over (partition by event) from events order by timestamp limit 2
SELECT t1."event" AS c1, count(*) OVER (PARTITION BY t1."event") AS c2
FROM events_lean_of($1::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $2::BIGINT
-- [["$pageview","3"],["$pageview","3"]]
