-- comparison outcomes are numbers in the answer
select 1 = 2, [1 > 0, 1 < 0], (1 = 1, 'a')
SELECT (($1::BIGINT = $2::BIGINT))::UTINYINT AS c1, ([($1::BIGINT > $3::BIGINT), ($1::BIGINT < $3::BIGINT)])::UTINYINT[] AS c2, ({'1': ($1::BIGINT = $1::BIGINT), '2': $4::VARCHAR})::STRUCT("1" UTINYINT, "2" VARCHAR) AS c3
LIMIT $5::BIGINT
-- [[0,[1,0],{"1":1,"2":"a"}]]

-- booleans stay booleans
select true, properties.paid from events order by timestamp limit 1
SELECT TRUE AS c1, CASE json_extract_string(t1."properties", $1::VARCHAR) WHEN 'true' THEN true WHEN 'false' THEN false END AS c2
FROM events_of($2::BIGINT) AS t1
ORDER BY t1."timestamp"
LIMIT $3::BIGINT
-- [[true,true]]

-- in sub-selects they stay what they are
select sum(x) from (select number > 1 as x from numbers(3))
SELECT coalesce((sum((t2."c1")::BIGINT))::BIGINT, $1::BIGINT) AS c2
FROM (SELECT (t1."c1" > $2::BIGINT) AS c1
  FROM range($1::BIGINT, $3::BIGINT, $2::BIGINT) AS t1(c1)) AS t2
LIMIT $4::BIGINT
-- [["1"]]
