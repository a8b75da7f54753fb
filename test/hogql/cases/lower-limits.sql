-- without a LIMIT one row more than the page is asked for
select number from numbers(3)
SELECT t1."c1" AS c1
FROM range($1::BIGINT, $2::BIGINT, $3::BIGINT) AS t1(c1)
LIMIT $4::BIGINT
-- [["0"],["1"],["2"]]

-- a LIMIT of one's own stands
select number from numbers(3) limit 2 offset 1
SELECT t1."c1" AS c1
FROM range($1::BIGINT, $2::BIGINT, $3::BIGINT) AS t1(c1)
LIMIT $4::BIGINT
OFFSET $3::BIGINT
-- [["1"],["2"]]

-- the most rows there may be
select number from numbers(3) limit 1000000
SELECT t1."c1" AS c1
FROM range($1::BIGINT, $2::BIGINT, $3::BIGINT) AS t1(c1)
LIMIT $4::BIGINT
-- [["0"],["1"],["2"]]

-- LIMIT that is an expression is bounded
select number from numbers(3) limit 1 + 1
SELECT t1."c1" AS c1
FROM range($1::BIGINT, $2::BIGINT, $3::BIGINT) AS t1(c1)
LIMIT least(($3::BIGINT + $3::BIGINT), $4::BIGINT)
-- [["0"],["1"]]

-- inner LIMITs are not touched
select count() from (select number from numbers(200000) limit 100000)
SELECT count(*) AS c2
FROM (SELECT t1."c1" AS c1
  FROM range($1::BIGINT, $2::BIGINT, $3::BIGINT) AS t1(c1)
  LIMIT $4::BIGINT) AS t2
LIMIT $5::BIGINT
-- [["100000"]]

-- LIMIT BY
select number % 2 as k, number from numbers(6) order by k, number limit 2 by k limit 10
SELECT (t1."c1" % $1::BIGINT) AS c1, t1."c1" AS c2
FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1)
QUALIFY (row_number() OVER (PARTITION BY (t1."c1" % $1::BIGINT) ORDER BY (t1."c1" % $1::BIGINT), t1."c1") > $2::BIGINT AND row_number() OVER (PARTITION BY (t1."c1" % $1::BIGINT) ORDER BY (t1."c1" % $1::BIGINT), t1."c1") <= $2::BIGINT + $1::BIGINT)
ORDER BY 1, 2
LIMIT $5::BIGINT
-- [["0","0"],["0","2"],["1","1"],["1","3"]]

-- LIMIT BY with an offset
select number % 2 as k, number from numbers(6) order by k, number limit 1 offset 1 by k
SELECT (t1."c1" % $1::BIGINT) AS c1, t1."c1" AS c2
FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1)
QUALIFY (row_number() OVER (PARTITION BY (t1."c1" % $1::BIGINT) ORDER BY (t1."c1" % $1::BIGINT), t1."c1") > $4::BIGINT AND row_number() OVER (PARTITION BY (t1."c1" % $1::BIGINT) ORDER BY (t1."c1" % $1::BIGINT), t1."c1") <= $4::BIGINT + $4::BIGINT)
ORDER BY 1, 2
LIMIT $5::BIGINT
-- [["0","2"],["1","3"]]

-- WITH TIES
select number % 2 as k from numbers(4) order by k limit 1 with ties
SELECT (t1."c1" % $1::BIGINT) AS c1
FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1)
QUALIFY (rank() OVER (ORDER BY (t1."c1" % $1::BIGINT)) <= $4::BIGINT)
ORDER BY 1
LIMIT $5::BIGINT
-- [["0"],["0"]]

-- a set of selects is bounded as a whole
select 1 union all select 2
(SELECT $2::BIGINT AS c1)
UNION ALL (SELECT $1::BIGINT AS c2)
LIMIT $3::BIGINT
-- [["1"],["2"]]

-- LIMIT BY counts what DISTINCT leaves
select distinct number % 3 as a, number % 2 as b from numbers(20) order by a, b limit 1 by a
SELECT t2000001."c1" AS c1, t2000001."c2" AS c2
FROM (SELECT DISTINCT (t1."c1" % $1::BIGINT) AS c1, (t1."c1" % $2::BIGINT) AS c2
  FROM range($3::BIGINT, $4::BIGINT, $5::BIGINT) AS t1(c1)) AS t2000001
QUALIFY (row_number() OVER (PARTITION BY t2000001."c1" ORDER BY t2000001."c1", t2000001."c2") > $3::BIGINT AND row_number() OVER (PARTITION BY t2000001."c1" ORDER BY t2000001."c1", t2000001."c2") <= $3::BIGINT + $5::BIGINT)
ORDER BY 1, 2
LIMIT $6::BIGINT
-- [["0","0"],["1","0"],["2","0"]]

-- LIMIT BY in the order of a window
select number, row_number() over (order by number desc) as r from numbers(10) order by r limit 1 by number % 3
SELECT t2000001."c1" AS c1, t2000001."c2" AS c2
FROM (SELECT t1."c1" AS c1, row_number() OVER (ORDER BY t1."c1" DESC) AS c2, (t1."c1" % $1::BIGINT) AS c2000002
  FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1)) AS t2000001
QUALIFY (row_number() OVER (PARTITION BY t2000001."c2000002" ORDER BY t2000001."c2") > $2::BIGINT AND row_number() OVER (PARTITION BY t2000001."c2000002" ORDER BY t2000001."c2") <= $2::BIGINT + $4::BIGINT)
ORDER BY 2
LIMIT $5::BIGINT
-- [["9","1"],["8","2"],["7","3"]]

-- WITH TIES counts what LIMIT BY leaves
select number % 3 as x from numbers(9) order by x limit 1 by number % 6 limit 2 with ties
SELECT t2000001."c1" AS c1
FROM (SELECT (t1."c1" % $1::BIGINT) AS c1
  FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1)
  QUALIFY (row_number() OVER (PARTITION BY (t1."c1" % $5::BIGINT) ORDER BY (t1."c1" % $1::BIGINT)) > $2::BIGINT AND row_number() OVER (PARTITION BY (t1."c1" % $5::BIGINT) ORDER BY (t1."c1" % $1::BIGINT)) <= $2::BIGINT + $4::BIGINT)) AS t2000001
QUALIFY (rank() OVER (ORDER BY t2000001."c1") <= $6::BIGINT)
ORDER BY 1
LIMIT $7::BIGINT
-- [["0"],["0"]]

-- WITH TIES counts what QUALIFY leaves
select intDiv(number, 2) as x from numbers(9) qualify row_number() over (order by number) > 3 order by x limit 1 with ties
SELECT t2000001."c1" AS c1
FROM (SELECT trunc(t1."c1" // nullif($1::BIGINT, 0)) AS c1
  FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1)
  QUALIFY (row_number() OVER (ORDER BY t1."c1") > $5::BIGINT)) AS t2000001
QUALIFY (rank() OVER (ORDER BY t2000001."c1") <= $4::BIGINT)
ORDER BY 1
LIMIT $6::BIGINT
-- [["1"]]

-- WITH TIES behind an offset
select intDiv(number, 3) as x from numbers(9) order by x limit 2 with ties offset 2
SELECT trunc(t1."c1" // nullif($1::BIGINT, 0)) AS c1
FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1)
QUALIFY (rank() OVER (ORDER BY trunc(t1."c1" // nullif($1::BIGINT, 0))) <= ($5::BIGINT + $5::BIGINT))
ORDER BY 1
LIMIT $6::BIGINT
OFFSET $5::BIGINT
-- [["0"],["1"],["1"],["1"]]

-- a set WITH TIES
(select number % 2 as x from numbers(4)) union all (select 0) order by x limit 1 with ties
SELECT t2."c1" AS c3
FROM ((SELECT (t1."c1" % $2::BIGINT) AS c1
  FROM range($1::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1)) UNION ALL (SELECT $1::BIGINT AS c2)) AS t2
QUALIFY (rank() OVER (ORDER BY t2."c1") <= $4::BIGINT)
ORDER BY 1
LIMIT $5::BIGINT
-- [["0"],["0"],["0"]]

-- WITH TIES has no default page
select intDiv(number, 120) as x from numbers(200) order by x limit 1 with ties
SELECT trunc(t1."c1" // nullif($1::BIGINT, 0)) AS c1
FROM range($2::BIGINT, $3::BIGINT, $4::BIGINT) AS t1(c1)
QUALIFY (rank() OVER (ORDER BY trunc(t1."c1" // nullif($1::BIGINT, 0))) <= $4::BIGINT)
ORDER BY 1
LIMIT $5::BIGINT
-- [["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"],["0"]]
