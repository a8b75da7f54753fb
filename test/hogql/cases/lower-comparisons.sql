-- a text constant against an instant is read in the project's zone
select count() from events where timestamp >= '2024-06-02' and timestamp < '2024-06-11 00:00:00'
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE ((t1."timestamp" >= $2::TIMESTAMP) AND (t1."timestamp" < $3::TIMESTAMP))
LIMIT $4::BIGINT
-- [["2"]]

-- a text constant with an offset names an instant
select count() from events where timestamp > '2024-06-01T23:00:00+00:00'
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (t1."timestamp" > $2::TIMESTAMP)
LIMIT $3::BIGINT
-- [["4"]]

-- a date against an instant is its midnight
select count() from events where timestamp >= toDate('2024-06-02')
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (t1."timestamp" >= $2::TIMESTAMP)
LIMIT $3::BIGINT
-- [["3"]]

-- a text constant against a date
select count() from events where toDate(timestamp) = '2024-06-01'
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (((t1."timestamp")::DATE = $2::DATE) AND (t1."timestamp" >= $3::TIMESTAMP) AND (t1."timestamp" < $4::TIMESTAMP))
LIMIT $5::BIGINT
-- [["2"]]

-- a numeric property against a text constant
select count() from events where properties.price = '10'
SELECT count(*) AS c1
FROM events_of($1::BIGINT) AS t1
WHERE ((try_cast(json_extract_string(t1."properties", $2::VARCHAR) AS DOUBLE) + 0.0) = $3::BIGINT)
LIMIT $4::BIGINT
-- [["1"]]

-- an untyped property against a number
select count() from events where properties.o.k.n = 5
SELECT count(*) AS c1
FROM events_of($1::BIGINT) AS t1
WHERE (ch_real(ch_float(json_extract_string(t1."properties", $2::VARCHAR))) = $3::BIGINT)
LIMIT $4::BIGINT
-- [["1"]]

-- a boolean property against texts
select count() from events where properties.paid = 'true'
SELECT count(*) AS c1
FROM events_of($1::BIGINT) AS t1
WHERE (CASE json_extract_string(t1."properties", $2::VARCHAR) WHEN 'true' THEN true WHEN 'false' THEN false END = TRUE)
LIMIT $3::BIGINT
-- [["1"]]

-- a person id against a text that is one
select count() from events where person_id = '00000000-0000-4000-8000-000000000001'
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
LEFT JOIN person_overrides_of($1::BIGINT) AS t2 ON (t2."old_person_id" = t1."person_id")
WHERE (CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END = $2::UUID)
LIMIT $3::BIGINT
-- [["3"]]

-- a person id against any other text is text
select count() from events where person_id = 'nobody'
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
LEFT JOIN person_overrides_of($1::BIGINT) AS t2 ON (t2."old_person_id" = t1."person_id")
WHERE ((CASE WHEN (t2."person_id" IS NULL) THEN t1."person_id" ELSE t2."person_id" END)::VARCHAR = $2::VARCHAR)
LIMIT $3::BIGINT
-- [["0"]]

-- a date-time property against a text
select count() from events where properties.at > '2024-04-30'
SELECT count(*) AS c1
FROM events_of($1::BIGINT) AS t1
WHERE (coalesce(ch_zoned_instant(json_extract_string(t1."properties", $2::VARCHAR)), ch_naive_instant(json_extract_string(t1."properties", $2::VARCHAR))) > $3::TIMESTAMP)
LIMIT $4::BIGINT
-- [["1"]]

-- alternatives of IN move too
select count() from events where toDate(timestamp) in ('2024-06-01', '2024-06-12')
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE (((t1."timestamp")::DATE IN ($2::DATE, $3::DATE)) AND (t1."timestamp" >= $4::TIMESTAMP) AND (t1."timestamp" < $5::TIMESTAMP))
LIMIT $6::BIGINT
-- [["3"]]

-- both sides of tuples move item by item
select count() from events where (event, toDate(timestamp)) = ('purchase', '2024-06-02')
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE ({'1': t1."event", '2': (t1."timestamp")::DATE} = {'1': $2::VARCHAR, '2': $3::DATE})
LIMIT $4::BIGINT
-- [["1"]]

-- BETWEEN is two comparisons
select count() from events where timestamp between '2024-06-01' and '2024-06-02'
SELECT count(*) AS c1
FROM events_lean_of($1::BIGINT) AS t1
WHERE ((t1."timestamp" >= $2::TIMESTAMP) AND (t1."timestamp" <= $3::TIMESTAMP))
LIMIT $4::BIGINT
-- [["2"]]
