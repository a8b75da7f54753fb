-- a day of a column bounds the column
select count() from events where toDate(timestamp) = '2024-06-01'
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (((t1."timestamp")::DATE = $2::DATE) AND (t1."timestamp" >= $3::TIMESTAMP) AND (t1."timestamp" < $4::TIMESTAMP))
LIMIT $5::BIGINT
-- [["2"]]

-- several days
select count() from events where toDate(timestamp) in ('2024-06-01', '2024-06-12')
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (((t1."timestamp")::DATE IN ($2::DATE, $3::DATE)) AND (t1."timestamp" >= $4::TIMESTAMP) AND (t1."timestamp" < $5::TIMESTAMP))
LIMIT $6::BIGINT
-- [["3"]]

-- a month from below, the constant on the left
select count() from events where toDate('2024-06-01') <= toStartOfMonth(timestamp) and event = 'purchase'
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (($2::DATE <= least(greatest(((t1."timestamp")::DATE - (day((t1."timestamp")::DATE) - 1)::INTEGER), DATE '1970-01-01'), DATE '2149-06-06')) AND (t1."event" = $3::VARCHAR) AND (t1."timestamp" >= $4::TIMESTAMP))
LIMIT $5::BIGINT
-- [["2"]]

-- a week
select count() from events where toStartOfWeek(timestamp) = '2024-06-09'
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE ((least(greatest((t1."timestamp"::DATE - dayofweek(t1."timestamp"::DATE)::INTEGER), DATE '1970-01-01'), DATE '2149-06-06') = $2::DATE) AND (t1."timestamp" >= $3::TIMESTAMP) AND (t1."timestamp" < $4::TIMESTAMP))
LIMIT $5::BIGINT
-- [["2"]]

-- year and month as a number
select count() from events where toYYYYMM(timestamp) = 202406 and toYear(timestamp) < 2025
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (((year(t1."timestamp") * 100 + month(t1."timestamp")) = $2::BIGINT) AND (year(t1."timestamp") < $3::BIGINT) AND (t1."timestamp" >= $4::TIMESTAMP) AND (t1."timestamp" < $5::TIMESTAMP) AND (t1."timestamp" < $6::TIMESTAMP))
LIMIT $7::BIGINT
-- [["5"]]

-- a relative range is one constant
select count() from events where timestamp > now() - interval 7 day and timestamp < toStartOfDay(now()) + interval 1 day
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE ((t1."timestamp" > $2::TIMESTAMP) AND (t1."timestamp" < $3::TIMESTAMP))
LIMIT $4::BIGINT
-- [["2"]]

-- nothing is implied under OR
select count() from events where toDate(timestamp) = '2024-06-01' or event = 'purchase'
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (((t1."timestamp")::DATE = $2::DATE) OR (t1."event" = $3::VARCHAR))
LIMIT $4::BIGINT
-- [["4"]]
