/** Places on the globe: distances, geohashes, shapes. */

import type { Expr } from '../ir.ts'
import { bindInt, NULL_VALUE, spellList, sql } from '../spell.ts'
import { FLOAT64, STRING, TRUTH, tupleType } from '../types.ts'
import { always, type FunctionDef, given, type Lowering, scalar } from './definition.ts'
import { refuseUse } from './refuse-use.ts'

/** The point and ellipses of four numbers each: centre and half axes. */
const inEllipses: Lowering = (call) => {
  const [x = NULL_VALUE, y = NULL_VALUE, ...rest] = call.args
  if (rest.length === 0 || rest.length % 4 !== 0)
    return refuseUse('pointInEllipses takes a point and four numbers per ellipse')
  const inside = rest.flatMap((center_x, index): readonly Expr[] => {
    const [center_y, a, b] = rest.slice(index + 1, index + 4)
    if (index % 4 !== 0 || center_y === undefined || a === undefined || b === undefined) return []
    return [
      sql`(pow((${x} - ${center_x}) / ${a}::DOUBLE, 2) + pow((${y} - ${center_y}) / ${b}::DOUBLE, 2) <= 1)`(
        TRUTH,
      ),
    ]
  })
  return spellList(['(', ' OR ', ')'], inside, call.type)
}

/** Casts a ray from the point: inside when it crosses an odd number of edges. */
const inPolygon: Lowering = (call) => {
  const [point = NULL_VALUE, corners = NULL_VALUE] = call.args
  if (point.type.kind !== 'tuple' || corners.type.kind !== 'array')
    return refuseUse('pointInPolygon takes a tuple and an array of tuples')
  return sql`ch_in_polygon(${point}, ${corners})`(call.type)
}

const geohash: Lowering = (call) => {
  const [lon = NULL_VALUE, lat = NULL_VALUE, length = bindInt(12)] = call.args
  return sql`ch_geohash((${lon})::DOUBLE, (${lat})::DOUBLE, ${length})`(call.type)
}

/** Places on the globe. */
export const GEOGRAPHY: readonly FunctionDef[] = [
  scalar(
    'greatCircleDistance',
    '4',
    given(FLOAT64),
    '(6371229 * ch_haversine(($1)::DOUBLE, ($2)::DOUBLE, ($3)::DOUBLE, ($4)::DOUBLE))',
  ),
  scalar(
    'geoDistance',
    '4',
    given(FLOAT64),
    'ch_geo_distance(($1)::DOUBLE, ($2)::DOUBLE, ($3)::DOUBLE, ($4)::DOUBLE)',
  ),
  scalar(
    'greatCircleAngle',
    '4',
    given(FLOAT64),
    'degrees(ch_haversine(($1)::DOUBLE, ($2)::DOUBLE, ($3)::DOUBLE, ($4)::DOUBLE))',
  ),
  scalar('geohashEncode', '2-3', given(STRING), geohash),
  scalar('geohashDecode', '1', always(tupleType([FLOAT64, FLOAT64])), 'ch_geohash_decode($1)'),
  scalar('pointInEllipses', '6+', given(TRUTH), inEllipses),
  scalar('pointInPolygon', '2', given(TRUTH), inPolygon),
]
