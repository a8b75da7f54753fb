-- a list finds its rows without properties
select event, properties from events order by timestamp desc limit 2
SELECT t1."event" AS c1, t1."properties" AS c2
FROM events_of($1::BIGINT) AS t1
WHERE t1."seq" IN (SELECT t1."seq" AS c1
  FROM events_lean_of($1::BIGINT) AS t1
  ORDER BY t1."timestamp" DESC
  LIMIT $2::BIGINT)
ORDER BY t1."timestamp" DESC
LIMIT $2::BIGINT
-- [["$pageview","{\"a\\\"b\":\"quote\",\"a/b\":\"slash\",\"price\":\"garbage\"}"],["purchase","{\"$browser\":\"\",\"price\":null,\"paid\":\"maybe\"}"]]

-- with an offset
select properties from events order by timestamp limit 1 offset 1
SELECT t1."properties" AS c1
FROM events_of($1::BIGINT) AS t1
WHERE t1."seq" IN (SELECT t1."seq" AS c1
  FROM events_lean_of($1::BIGINT) AS t1
  ORDER BY t1."timestamp"
  LIMIT ($2::BIGINT + $2::BIGINT))
ORDER BY t1."timestamp"
LIMIT $2::BIGINT
OFFSET $2::BIGINT
-- [["{\"$browser\":\"Firefox\",\"price\":\"7.5\",\"at\":\"2024-05-01T00:00:00Z\"}"]]

-- not where properties decide
select properties from events order by length(toString(properties)) limit 1
SELECT t1."properties" AS c1
FROM events_of($1::BIGINT) AS t1
ORDER BY strlen(t1."properties")
LIMIT $2::BIGINT
-- [["{\"$browser\":\"\",\"price\":null,\"paid\":\"maybe\"}"]]

-- not without a limit in sight: aggregates
select count(), max(length(toString(properties))) > 0 from events
SELECT count(*) AS c1, ((coalesce(max(strlen(t1."properties")), $1::BIGINT) > $1::BIGINT))::UTINYINT AS c2
FROM events_of($2::BIGINT) AS t1
LIMIT $3::BIGINT
-- [["5",1]]

-- a typed column needs no properties
select properties.$browser, properties.price from events order by timestamp limit 1
SELECT t1."p_t_2462726f77736572" AS c1, t1."p_n_7072696365" AS c2
FROM events_lean_of($1::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $2::BIGINT
-- [["Chrome",10]]
