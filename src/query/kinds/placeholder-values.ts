/** Converts the JSON values of placeholders to the compiler's values. */
import { type Refusal, refuseMember } from '../../errors.ts'
import type { PlaceholderValue } from '../../hogql/context.ts'

/** Deeper values are refused before any recursion. */
const DEPTH_MAX = 20
/** Maximum number of values of one query, elements of lists included: each is compiled. */
const VALUES_MAX = 10_000

/** Flattens `{a: {b: 1}}` to `a.b`. Refuses values without a literal in HogQL; `attr` names the member of the body. */
export function placeholderValues(
  members: object,
  attr: string,
): ReadonlyMap<string, PlaceholderValue> {
  const values = new Map<string, PlaceholderValue>()
  collect(values, { prefix: '', members, depth: 0, attr })
  requireFew(values, attr)
  return values
}

/** Refuses more values than a query may have. */
export function requireFew(values: ReadonlyMap<string, PlaceholderValue>, attr: string): void {
  let count = 0
  for (let level: readonly PlaceholderValue[] = [...values.values()]; level.length > 0; ) {
    count += level.length
    if (count > VALUES_MAX) {
      const detail = `A query may have ${VALUES_MAX} values, those in lists included.`
      throw refuseMember(detail, attr)
    }
    level = level.flatMap((value) => (isList(value) ? value : []))
  }
}

const isList = (value: PlaceholderValue): value is readonly PlaceholderValue[] =>
  Array.isArray(value)

/** Converts one value. Refuses objects, and lists that are too deep. */
export function placeholderValue(value: unknown, path: string, attr: string): PlaceholderValue {
  return readValue(value, { path, depth: 0, attr })
}

type NestedMembers = {
  readonly prefix: string
  readonly members: object
  readonly depth: number
  readonly attr: string
}

function collect(values: Map<string, PlaceholderValue>, of: NestedMembers): void {
  const { prefix, members, depth, attr } = of
  for (const [name, value] of Object.entries(members)) {
    const path = `${prefix}${name}`
    if (depth > DEPTH_MAX) throw badValue(path, attr)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      collect(values, { prefix: `${path}.`, members: value, depth: depth + 1, attr })
    } else values.set(path, readValue(value, { path, depth, attr }))
  }
}

type PlaceholderPosition = { readonly path: string; readonly depth: number; readonly attr: string }

function readValue(value: unknown, { path, depth, attr }: PlaceholderPosition): PlaceholderValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (!Array.isArray(value) || depth > DEPTH_MAX) throw badValue(path, attr)
  return value.map((item: unknown) => readValue(item, { path, depth: depth + 1, attr }))
}

function badValue(path: string, attr: string): Refusal {
  const detail = `The value of {${path}} must be a string, number, boolean, null or a list of these.`
  return refuseMember(detail, `${attr}__${path}`)
}
