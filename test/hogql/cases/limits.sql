-- without a LIMIT one row more than the page is asked for
select number from numbers(3)
SELECT t1."c1" AS c1 FROM range($1::BIGINT, $2::BIGINT, $3::BIGINT) AS t1(c1) LIMIT $4::BIGINT
-- [["0"],["1"],["2"]]

-- a LIMIT of one's own stands
select number from numbers(3) limit 2 offset 1
SELECT t1."c1" AS c1 FROM range($1::BIGINT, $2::BIGINT, $3::BIGINT) AS t1(c1) LIMIT $4::BIGINT OFFSET $3::BIGINT
-- [["1"],["2"]]

-- the most rows there may be
select number from numbers(3) limit 1000000
SELECT t1."c1" AS c1 FROM range($1::BIGINT, $2::BIGINT, $3::BIGINT) AS t1(c1) LIMIT $4::BIGINT
-- [["0"],["1"],["2"]]

-- LIMIT that is an expression is bounded
select number from numbers(3) limit 1 + 1
SELECT t1."c1" AS c1 FROM range($1::BIGINT, $2::BIGINT, $3::BIGINT) AS t1(c1) LIMIT least(($3::BIGINT + $3::BIGINT), $4::BIGINT)
-- [["0"],["1"]]

-- inner LIMITs are not touched
select count() from (select number from numbers(200000) limit 100000)
SELECT count(*) AS c2 FROM (SELECT t1."c1" AS c1 FROM range($1::BIGINT, $2::BIGINT, $3::BIGINT) AS t1(c1) LIMIT $4::BIGINT) AS t2 LIMIT $5::BIGINT
-- [["100000"]]

-- LIMIT BY
select number % 2 as k, number from numbers(6) order by k, number limit 2 by k limit 10
SELECT (t1."c1" % $1::BIGINT) AS c1, t1."c1" AS c2 FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1) QUALIFY (row_number() OVER (PARTITION BY (t1."c1" % $1::BIGINT) ORDER BY (t1."c1" % $1::BIGINT), t1."c1") > $2::BIGINT AND row_number() OVER (PARTITION BY (t1."c1" % $1::BIGINT) ORDER BY (t1."c1" % $1::BIGINT), t1."c1") <= $2::BIGINT + $1::BIGINT) ORDER BY 1, 2 LIMIT $5::BIGINT
-- [["0","0"],["0","2"],["1","1"],["1","3"]]

-- LIMIT BY with an offset
select number % 2 as k, number from numbers(6) order by k, number limit 1 offset 1 by k
SELECT (t1."c1" % $1::BIGINT) AS c1, t1."c1" AS c2 FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1) QUALIFY (row_number() OVER (PARTITION BY (t1."c1" % $1::BIGINT) ORDER BY (t1."c1" % $1::BIGINT), t1."c1") > $4::BIGINT AND row_number() OVER (PARTITION BY (t1."c1" % $1::BIGINT) ORDER BY (t1."c1" % $1::BIGINT), t1."c1") <= $4::BIGINT + $4::BIGINT) ORDER BY 1, 2 LIMIT $5::BIGINT
-- [["0","2"],["1","3"]]

-- WITH TIES
select number % 2 as k from numbers(4) order by k limit 1 with ties
SELECT (t1."c1" % $1::BIGINT) AS c1 FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1) QUALIFY (rank() OVER (ORDER BY (t1."c1" % $1::BIGINT)) <= $4::BIGINT) ORDER BY 1 LIMIT $5::BIGINT
-- [["0"],["0"]]

-- a set of selects is bounded as a whole
select 1 union all select 2
(SELECT $2::BIGINT AS c1) UNION ALL (SELECT $1::BIGINT AS c2) LIMIT $3::BIGINT
-- [["1"],["2"]]
