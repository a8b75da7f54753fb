-- WITH TIES of a set is that of a select around it
(select 1 as n union all select 1 union all select 2) order by n limit 1 with ties
SELECT t1."c1" AS c4
FROM ((SELECT $1::BIGINT AS c1) UNION ALL (SELECT $1::BIGINT AS c2) UNION ALL (SELECT $2::BIGINT AS c3)) AS t1
QUALIFY (rank() OVER (ORDER BY t1."c1") <= $1::BIGINT)
ORDER BY 1
LIMIT $3::BIGINT
-- [["1"],["1"]]

-- An offset moves along
(select 1 as n union all select 2 union all select 2 union all select 3) order by n limit 1 with ties offset 1
SELECT t1."c1" AS c5
FROM ((SELECT $3::BIGINT AS c1) UNION ALL (SELECT $1::BIGINT AS c2) UNION ALL (SELECT $1::BIGINT AS c3) UNION ALL (SELECT $2::BIGINT AS c4)) AS t1
QUALIFY (rank() OVER (ORDER BY t1."c1") <= ($3::BIGINT + $3::BIGINT))
ORDER BY 1
LIMIT $4::BIGINT
OFFSET $3::BIGINT
-- [["2"],["2"]]

-- Without WITH TIES the set keeps its limit
(select 1 as n union all select 1 union all select 2) order by n limit 1
(SELECT $1::BIGINT AS c1)
UNION ALL (SELECT $1::BIGINT AS c2)
UNION ALL (SELECT $2::BIGINT AS c3)
ORDER BY c1
LIMIT $1::BIGINT
-- [["1"]]
