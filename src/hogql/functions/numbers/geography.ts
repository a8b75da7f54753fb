/** GEOGRAPHY: distances, geohashes, shapes. */

import type { ResolvedExpr } from '../../sql/ir.ts'
import { bindInt, joinFragments, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { FLOAT64, STRING, TRUTH, tupleType } from '../../types/types.ts'
import { refuseArguments } from '../argument-errors.ts'
import { asDeclared, type FunctionDef, type Lowering, nonNull, scalar } from '../definition.ts'

/** A point, and ellipses of four numbers each: centre and semi-axes. */
const inEllipses: Lowering = (call) => {
  const [x = NULL_VALUE, y = NULL_VALUE, ...rest] = call.args
  if (rest.length === 0 || rest.length % 4 !== 0)
    return refuseArguments('pointInEllipses takes a point and four numbers per ellipse')
  const inside = rest.flatMap((center_x, index): readonly ResolvedExpr[] => {
    const [center_y, a, b] = rest.slice(index + 1, index + 4)
    if (index % 4 !== 0 || center_y === undefined || a === undefined || b === undefined) return []
    return [
      sql`(pow((${x} - ${center_x}) / ${a}::DOUBLE, 2) + pow((${y} - ${center_y}) / ${b}::DOUBLE, 2) <= 1)`(
        TRUTH,
      ),
    ]
  })
  return joinFragments(['(', ' OR ', ')'], inside, call.type)
}

/** Ray casting: a point is inside when its ray crosses an odd number of edges. */
const inPolygon: Lowering = (call) => {
  const [point = NULL_VALUE, corners = NULL_VALUE] = call.args
  if (point.type.kind !== 'tuple' || corners.type.kind !== 'array')
    return refuseArguments('pointInPolygon takes a tuple and an array of tuples')
  return sql`ch_in_polygon(${point}, ${corners})`(call.type)
}

const geohash: Lowering = (call) => {
  const [lon = NULL_VALUE, lat = NULL_VALUE, length = bindInt(12)] = call.args
  return sql`ch_geohash((${lon})::DOUBLE, (${lat})::DOUBLE, ${length})`(call.type)
}

/** Geographic functions. Adding one means adding a line. */
export const GEOGRAPHY: readonly FunctionDef[] = [
  scalar(
    'greatCircleDistance',
    '4',
    asDeclared(FLOAT64),
    '(6371229 * ch_haversine(($1)::DOUBLE, ($2)::DOUBLE, ($3)::DOUBLE, ($4)::DOUBLE))',
  ),
  scalar(
    'geoDistance',
    '4',
    asDeclared(FLOAT64),
    'ch_geo_distance(($1)::DOUBLE, ($2)::DOUBLE, ($3)::DOUBLE, ($4)::DOUBLE)',
  ),
  scalar(
    'greatCircleAngle',
    '4',
    asDeclared(FLOAT64),
    'degrees(ch_haversine(($1)::DOUBLE, ($2)::DOUBLE, ($3)::DOUBLE, ($4)::DOUBLE))',
  ),
  scalar('geohashEncode', '2-3', asDeclared(STRING), geohash),
  scalar('geohashDecode', '1', nonNull(tupleType([FLOAT64, FLOAT64])), 'ch_geohash_decode($1)'),
  scalar('pointInEllipses', '6+', asDeclared(TRUTH), inEllipses),
  scalar('pointInPolygon', '2', asDeclared(TRUTH), inPolygon),
]
