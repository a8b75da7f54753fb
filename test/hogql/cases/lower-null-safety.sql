-- a nullable property against a constant filters with plain =
select event from events where properties.$browser = 'Chrome' order by timestamp
SELECT t1."event" AS c1
FROM events_of($1::BIGINT) AS t1
WHERE (json_extract_string(t1."properties", $2::VARCHAR) = $3::VARCHAR)
ORDER BY t1."timestamp"
LIMIT $4::BIGINT
-- [["$pageview"],["purchase"]]

-- a nullable property against a constant in the select list is never NULL
select properties.$browser = 'Chrome' from events order by timestamp
SELECT ((json_extract_string(t1."properties", $1::VARCHAR) IS NOT DISTINCT FROM $2::VARCHAR))::UTINYINT AS c1
FROM events_of($3::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $4::BIGINT
-- [[1],[0],[1],[0],[0]]

-- NULL is unequal to any constant
select count() from events where properties.$browser != 'Chrome'
SELECT count(*) AS c1
FROM events_of($1::BIGINT) AS t1
WHERE (json_extract_string(t1."properties", $2::VARCHAR) IS DISTINCT FROM $3::VARCHAR)
LIMIT $4::BIGINT
-- [["3"]]

-- NULL equals NULL between two nullable columns
select count() from events where properties.x = properties.y
SELECT count(*) AS c1
FROM events_of($1::BIGINT) AS t1
WHERE (json_extract_string(t1."properties", $2::VARCHAR) IS NOT DISTINCT FROM json_extract_string(t1."properties", $3::VARCHAR))
LIMIT $4::BIGINT
-- [["5"]]

-- an order comparison with NULL is false, also under NOT
select count() from events where not (properties.price > 8)
SELECT count(*) AS c1
FROM events_of($1::BIGINT) AS t1
WHERE (NOT (coalesce(((try_cast(json_extract_string(t1."properties", $2::VARCHAR) AS DOUBLE) + 0.0) > $3::BIGINT), false) AND coalesce(((try_cast(json_extract_string(t1."properties", $2::VARCHAR) AS DOUBLE) + 0.0) <= $4::DOUBLE), false)))
LIMIT $5::BIGINT
-- [["3"]]

-- LIKE of NULL is false where it is seen
select properties.$browser like 'Chr%' from events order by timestamp
SELECT (coalesce((json_extract_string(t1."properties", $1::VARCHAR) LIKE $2::VARCHAR), false))::UTINYINT AS c1
FROM events_of($3::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $4::BIGINT
-- [[1],[0],[1],[0],[0]]

-- NOT LIKE of NULL is true
select count() from events where properties.$browser not like 'Chr%'
SELECT count(*) AS c1
FROM events_of($1::BIGINT) AS t1
WHERE coalesce((NOT (json_extract_string(t1."properties", $2::VARCHAR) LIKE $3::VARCHAR)), true)
LIMIT $4::BIGINT
-- [["3"]]

-- NOT IN keeps NULL
select count() from events where properties.$browser not in ('Chrome', 'Firefox')
SELECT count(*) AS c1
FROM events_of($1::BIGINT) AS t1
WHERE (NOT coalesce((json_extract_string(t1."properties", $2::VARCHAR) IN ($3::VARCHAR, $4::VARCHAR)), false))
LIMIT $5::BIGINT
-- [["2"]]

-- IN with NULL in the list finds NULL
select count() from events where properties.$browser in ('Chrome', NULL)
SELECT count(*) AS c1
FROM events_of($1::BIGINT) AS t1
WHERE (coalesce((json_extract_string(t1."properties", $2::VARCHAR) IN ($3::VARCHAR)), false) OR json_extract_string(t1."properties", $2::VARCHAR) IS NULL)
LIMIT $4::BIGINT
-- [["3"]]

-- NULLs among the rows of a sub-select do not poison NOT IN
select count() from events where event not in (select properties.$browser from events)
SELECT count(*) AS c2
FROM events_lean_of($1::BIGINT) AS t1
WHERE (NOT coalesce((t1."event" IN (SELECT json_extract_string(t2."properties", $2::VARCHAR) AS c1
  FROM events_of($1::BIGINT) AS t2)), false))
LIMIT $3::BIGINT
-- [["5"]]

-- comparisons in ON are left as the engine has them
select count() from events a join events b on a.properties.$browser = b.properties.$browser
SELECT count(*) AS c1
FROM events_of($1::BIGINT) AS t1
INNER JOIN events_of($1::BIGINT) AS t2 ON (json_extract_string(t1."properties", $2::VARCHAR) = json_extract_string(t2."properties", $2::VARCHAR))
LIMIT $3::BIGINT
-- [["6"]]

-- conditions of -If are filters
select countIf(properties.price > 8), sumIf(properties.price, properties.paid = true) from events
SELECT count(*) FILTER (WHERE (ch_real((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0)) > $2::BIGINT)) AS c1, sum((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0)) FILTER (WHERE (CASE json_extract_string(t1."properties", $3::VARCHAR) WHEN 'true' THEN true WHEN 'false' THEN false END = TRUE)) AS c2
FROM events_of($4::BIGINT) AS t1
LIMIT $5::BIGINT
-- [["2",10]]

-- columns that cannot be NULL are compared plainly
select event = 'purchase', timestamp > '2024-06-02' from events order by timestamp limit 2
SELECT ((t1."event" = $1::VARCHAR))::UTINYINT AS c1, ((t1."timestamp" > $2::TIMESTAMP))::UTINYINT AS c2
FROM events_lean_of($3::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $4::BIGINT
-- [[0,0],[0,0]]

-- = NULL asks whether there is a value
select count() from events where properties.$browser = NULL
SELECT count(*) AS c1
FROM events_of($1::BIGINT) AS t1
WHERE (json_extract_string(t1."properties", $2::VARCHAR) IS NULL)
LIMIT $3::BIGINT
-- [["1"]]

-- the group of a comparison is spelled alike everywhere
select properties.price > 8 as dear, count() from events group by dear having dear = 1 order by dear
SELECT ((coalesce(((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) > $2::BIGINT), false) AND coalesce(((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) <= $3::DOUBLE), false)))::UTINYINT AS c1, count(*) AS c2
FROM events_of($4::BIGINT) AS t1
GROUP BY (coalesce(((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) > $2::BIGINT), false) AND coalesce(((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) <= $3::DOUBLE), false))
HAVING (((coalesce(((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) > $2::BIGINT), false) AND coalesce(((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) <= $3::DOUBLE), false)))::BIGINT = $5::BIGINT)
ORDER BY (coalesce(((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) > $2::BIGINT), false) AND coalesce(((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) <= $3::DOUBLE), false))
LIMIT $6::BIGINT
-- [[1,"2"]]
