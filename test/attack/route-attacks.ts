/** Every field of every management route, grown. */
import { ROUTES } from '../../src/app.ts'
import type { Route } from '../../src/http/route.ts'
import { bodiesOf, GOOD_BODIES } from '../http/bodies/good-bodies.ts'
import { placesIn, withOdd } from '../http/bodies/odd-values.ts'
import type { Place } from '../http/two-places.ts'
import { type Attack, BODY_LENGTH_MAX, KIB, type Sent } from './attack.ts'
import { GROWN, HARD_TEXTS } from './public-attacks.ts'

const SIZES = [16 * KIB, 256 * KIB, 1400 * KIB]
/** Longer addresses are refused before anything reads them. */
const ADDRESS_SIZES = [KIB, 8 * KIB]
const PARAMETERS = ['search', 'properties', 'key', 'value', 'format', 'orderBy', 'after', 'type']

/** What would end the attack: the place is gone, its key, or its data. */
function isFatal({ method, paths: [path = ''] }: Route): boolean {
  if (method === 'DELETE') return true
  return /:(key_id|user_uuid)|reset_token|bulk_delete|generate_demo|delete_secret|rotate/.test(path)
}

/** The path of a route with the ids of a place. */
export function pathIn(route: Route, place: Place): string {
  return (route.paths[0] ?? '')
    .replace(':project_id', String(place.project_id))
    .replace(':organization_id', place.organization_id)
    .replace(
      /([\w@]+)\/:\w+/,
      (_whole, family: string) => `${family}/${place.ids.get(family)?.[0] ?? 1}`,
    )
    .replaceAll(/:\w+/g, '1')
}

function bodyAttacks(route: Route): readonly Attack[] {
  const [path = ''] = route.paths
  return bodiesOf(path).flatMap((name) => {
    const good = GOOD_BODIES[name]
    return placesIn(good).map(
      (at): Attack => ({
        name: `${route.method} ${path} ${name}.${at.join('.')}`,
        sizes: SIZES,
        requests: (size, place) =>
          GROWN.map((grow) => JSON.stringify(withOdd(good, at, grow(size))))
            .filter((body) => body.length < BODY_LENGTH_MAX)
            .map((body): Sent => ({ method: route.method, path: pathIn(route, place), body })),
      }),
    )
  })
}

function parameterAttacks(route: Route): readonly Attack[] {
  const [path = ''] = route.paths
  const described: unknown = route.query?.['properties'] ?? {}
  const names = new Set([...Object.keys(Object(described)), ...PARAMETERS])
  return [...names].map((name) => ({
    name: `${route.method} ${path}?${name}`,
    sizes: ADDRESS_SIZES,
    requests: (size, place) =>
      HARD_TEXTS.map((text): Sent => {
        const value = encodeURIComponent(text(size).toWellFormed()).slice(0, 12 * KIB)
        return { method: 'GET', path: `${pathIn(route, place)}?${name}=${value}`, body: null }
      }),
  }))
}

export const ROUTE_ATTACKS: readonly Attack[] = ROUTES.filter((route) => !isFatal(route)).flatMap(
  (route) => (route.method === 'GET' ? parameterAttacks(route) : bodyAttacks(route)),
)
