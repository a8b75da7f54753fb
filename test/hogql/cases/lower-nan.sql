-- nan is last going down
select number as k, number % 2 / (number % 3) as r from numbers(4) order by r desc, k
SELECT t1."c1" AS c1, ch_divide((t1."c1" % $1::BIGINT), (t1."c1" % $2::BIGINT)) AS c2
FROM range($3::BIGINT, $4::BIGINT, $5::BIGINT) AS t1(c1)
ORDER BY ch_real(ch_divide((t1."c1" % $1::BIGINT), (t1."c1" % $2::BIGINT))) DESC, 1
LIMIT $6::BIGINT
-- [["3","Infinity"],["1",1],["2",0],["0","NaN"]]

-- nan is last going down in a set
(select number % 2 / (number % 3) as r from numbers(4)) union all (select 0.25) order by r desc
SELECT t2."c1" AS c3
FROM ((SELECT ch_divide((t1."c1" % $2::BIGINT), (t1."c1" % $3::BIGINT)) AS c1
  FROM range($4::BIGINT, $5::BIGINT, $6::BIGINT) AS t1(c1)) UNION ALL (SELECT $1::DOUBLE AS c2)) AS t2
ORDER BY ch_real(t2."c1") DESC
LIMIT $7::BIGINT
-- [["Infinity"],[1],[0.25],[0],["NaN"]]

-- nothing is more or less than nan
select x > 1, x < 1, x = x, x != 1 from (select 0 / 0 as x)
SELECT (coalesce((ch_real(t1."c1") > $1::BIGINT), false))::UTINYINT AS c2, (coalesce((ch_real(t1."c1") < $1::BIGINT), false))::UTINYINT AS c3, ((ch_real(t1."c1") IS NOT DISTINCT FROM t1."c1"))::UTINYINT AS c4, ((ch_real(t1."c1") IS DISTINCT FROM $1::BIGINT))::UTINYINT AS c5
FROM (SELECT ch_divide($2::BIGINT, $2::BIGINT) AS c1) AS t1
LIMIT $3::BIGINT
-- [[0,0,0,1]]

-- a text may be read as nan
select toFloat(x) > 1, max(toFloat(x)) from (select arrayJoin(['nan', '2']) as x) group by x order by x
SELECT (coalesce((ch_real(ch_float(t2."c1")) > $1::BIGINT), false))::UTINYINT AS c2, coalesce(max(ch_real(ch_float(t2."c1"))), max(ch_float(t2."c1"))) AS c3
FROM (SELECT t1."c1" AS c1
  FROM (SELECT unnest([$2::VARCHAR, $3::VARCHAR]) AS c1) AS t1) AS t2
GROUP BY t2."c1"
ORDER BY t2."c1"
LIMIT $4::BIGINT
-- [[1,2],[0,"NaN"]]

-- an extreme is a number if there is one
select max(x), min(x), argMax(k, x) from (select number as k, number % 2 / number as x from numbers(4))
SELECT coalesce(max(ch_real(t2."c2")), coalesce(max(t2."c2"), $1::DOUBLE)) AS c3, coalesce(min(ch_real(t2."c2")), coalesce(min(t2."c2"), $1::DOUBLE)) AS c4, coalesce(arg_max(t2."c1", ch_real(t2."c2")), $2::BIGINT) AS c5
FROM (SELECT t1."c1" AS c1, ch_divide((t1."c1" % $3::BIGINT), t1."c1") AS c2
  FROM range($2::BIGINT, $4::BIGINT, $5::BIGINT) AS t1(c1)) AS t2
LIMIT $6::BIGINT
-- [[1,0,"1"]]

-- properties are numbers
select properties.price as p from events where p > 5 order by p desc
SELECT (try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) AS c1
FROM events_of($2::BIGINT) AS t1
WHERE (((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) > $3::BIGINT) AND ((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0) <= $4::DOUBLE))
ORDER BY ch_real((try_cast(json_extract_string(t1."properties", $1::VARCHAR) AS DOUBLE) + 0.0)) DESC
LIMIT $5::BIGINT
-- [[20],[10],[7.5]]

-- windows go by numbers
select number, rank() over (order by 1 / (number % 2) - 1 / (number % 2) desc) from numbers(3) order by number
SELECT t1."c1" AS c1, rank() OVER (ORDER BY ch_real((ch_divide($1::BIGINT, (t1."c1" % $2::BIGINT)) - ch_divide($1::BIGINT, (t1."c1" % $2::BIGINT)))) DESC) AS c2
FROM range($3::BIGINT, $4::BIGINT, $1::BIGINT) AS t1(c1)
ORDER BY 1
LIMIT $5::BIGINT
-- [["0","2"],["1","1"],["2","2"]]
