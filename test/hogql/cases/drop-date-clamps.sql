-- days of Date need no clamp
select toStartOfMonth(timestamp) as m, toStartOfWeek(timestamp), count() from events where timestamp >= '2024-01-01' and timestamp < '2025-01-01' group by m, toStartOfWeek(timestamp) order by m
SELECT ((t1."timestamp")::DATE - (day((t1."timestamp")::DATE) - 1)::INTEGER) AS c1, (t1."timestamp"::DATE - dayofweek(t1."timestamp"::DATE)::INTEGER) AS c2, count(*) AS c3
FROM events_lean_of($1::BIGINT) AS t1
WHERE ((t1."timestamp" >= $2::TIMESTAMP) AND (t1."timestamp" < $3::TIMESTAMP))
GROUP BY ((t1."timestamp")::DATE - (day((t1."timestamp")::DATE) - 1)::INTEGER), (t1."timestamp"::DATE - dayofweek(t1."timestamp"::DATE)::INTEGER)
ORDER BY 1
LIMIT $4::BIGINT
-- [["2024-06-01","2024-05-26","2"],["2024-06-01","2024-06-02","1"],["2024-06-01","2024-06-09","2"]]

-- nor do times relative to now
select toMonday(timestamp) as m from events where timestamp > now() - interval 7 year and timestamp <= now() group by m order by m
SELECT ((t1."timestamp")::DATE - (isodow((t1."timestamp")::DATE) - 1)::INTEGER) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE ((t1."timestamp" > $2::TIMESTAMP) AND (t1."timestamp" <= $3::TIMESTAMP))
GROUP BY ((t1."timestamp")::DATE - (isodow((t1."timestamp")::DATE) - 1)::INTEGER)
ORDER BY 1
LIMIT $4::BIGINT
-- [["2024-05-27"],["2024-06-10"]]

-- a time without an end needs it
select toStartOfYear(timestamp) as y from events where timestamp >= '2024-01-01' group by y
SELECT least(greatest(((t1."timestamp")::DATE - (dayofyear((t1."timestamp")::DATE) - 1)::INTEGER), DATE '1970-01-01'), DATE '2149-06-06') AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (t1."timestamp" >= $2::TIMESTAMP)
GROUP BY least(greatest(((t1."timestamp")::DATE - (dayofyear((t1."timestamp")::DATE) - 1)::INTEGER), DATE '1970-01-01'), DATE '2149-06-06')
LIMIT $3::BIGINT
-- [["2024-01-01"]]

-- a time that ends beyond Date needs it
select distinct toStartOfYear(timestamp) as y from events where timestamp >= '2024-01-01' and timestamp < '2149-06-02'
SELECT DISTINCT least(greatest(((t1."timestamp")::DATE - (dayofyear((t1."timestamp")::DATE) - 1)::INTEGER), DATE '1970-01-01'), DATE '2149-06-06') AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE ((t1."timestamp" >= $2::TIMESTAMP) AND (t1."timestamp" < $3::TIMESTAMP))
LIMIT $4::BIGINT
-- [["2024-01-01"]]
