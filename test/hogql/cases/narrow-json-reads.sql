-- the member alone is read
select JSONExtractArrayRaw(properties, 'tags') from events order by timestamp limit 1
SELECT ch_json_array(t1."p_j_74616773", $1::VARCHAR) AS c1
FROM events_lean_of($2::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $3::BIGINT
-- [[["\"a\"","\"b\""]]]

-- deeper keys too
select JSONExtractString(properties, 'tags', 1) from events order by timestamp limit 1
SELECT ch_json_string(t1."p_j_74616773", $1::VARCHAR) AS c1
FROM events_lean_of($2::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $3::BIGINT
-- [["a"]]

-- also of a number, whose own column has lost how it was written
select JSONExtractInt(properties, 'price') from events order by timestamp limit 1
SELECT ch_json_int(t1."p_j_7072696365", $1::VARCHAR) AS c1
FROM events_lean_of($2::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $3::BIGINT
-- [["10"]]

-- not where the key is known per row only
select JSONHas(properties, event) from events order by timestamp limit 1
SELECT (coalesce(json_exists(t1."properties", concat(ch_pointer_part(t1."event"))), false))::UTINYINT AS c1
FROM events_of($1::BIGINT) AS t1
WHERE t1."seq" IN (SELECT t1."seq" AS c1
  FROM events_lean_of($1::BIGINT) AS t1
  ORDER BY t1."timestamp"
  LIMIT $2::BIGINT)
ORDER BY t1."timestamp"
LIMIT $2::BIGINT
-- [[0]]
