-- arithmetic on now is one constant
select count() from events where timestamp > now() - interval 10 day
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (t1."timestamp" > $2::TIMESTAMP)
LIMIT $3::BIGINT
-- [["2"]]

-- a date of a text
select count() from events where timestamp >= toDateTime('2024-06-10 00:00:00')
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (t1."timestamp" >= $2::TIMESTAMP)
LIMIT $3::BIGINT
-- [["2"]]

-- nested calls from the inside out
select count() from events where timestamp < toStartOfDay(toDateTime('2024-06-10 12:34:56') + interval 1 day)
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (t1."timestamp" < $2::TIMESTAMP)
LIMIT $3::BIGINT
-- [["4"]]

-- a call with a column is not folded
select max(timestamp + interval 1 day) from events
SELECT coalesce(max((t1."timestamp" + to_days($1::BIGINT::INTEGER))), $2::TIMESTAMP) AS c1
FROM events_lean_of($3::BIGINT) AS t1
LIMIT $4::BIGINT
-- [["2024-06-13 08:00:00"]]
