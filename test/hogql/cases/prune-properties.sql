-- no property is read
select event from events order by timestamp limit 1
SELECT t1."event" AS c1
FROM events_lean_of($1::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $2::BIGINT
-- [["$pageview"]]

-- a property is read
select event, properties.price from events order by timestamp limit 1
SELECT t1."event" AS c1, (try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) AS c2
FROM events_of($2::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $3::BIGINT
-- [["$pageview",10]]

-- each scan by itself
select a.event from events a join events b on a.uuid = b.uuid where b.properties.price = 10
SELECT t1."event" AS c1
FROM events_lean_of($1::BIGINT) AS t1
INNER JOIN events_of($1::BIGINT) AS t2 ON (t1."uuid" = t2."uuid")
WHERE ((try_cast(json_extract_string(t2."properties", $2::VARCHAR) AS DOUBLE) + 0.0) = $3::BIGINT)
LIMIT $4::BIGINT
-- [["$pageview"]]

-- properties of the person are another table
select person.properties.email from events order by timestamp limit 1
SELECT json_extract_string(t2."properties", $1::VARCHAR) AS c1
FROM events_lean_of($2::BIGINT) AS t1
LEFT JOIN person_overrides_of($2::BIGINT) AS t3 ON (t3."old_person_id" = t1."person_id")
LEFT JOIN persons_of($2::BIGINT) AS t2 ON (t2."id" = CASE WHEN (t3."person_id" IS NULL) THEN t1."person_id" ELSE t3."person_id" END)
ORDER BY t1."timestamp"
LIMIT $3::BIGINT
-- [["ann@x.org"]]
