/** The tree that counts the values of properties that their types cannot hold. */
import type { Expr, Select, SelectQuery } from '../../hogql/syntax/ast.ts'
import { alias, constant, field, integer } from '../../hogql/syntax/nodes.ts'
import { expr, select } from '../../hogql/template.ts'
import type { DetectedOwner } from '../definitions.ts'

/** A type that not every text fits. */
type StrictType = 'Boolean' | 'DateTime' | 'Numeric'

/** A property that is read with such a type. */
type CheckedProperty = { readonly name: string; readonly property_type: StrictType }

/** The values of one property, and those among them that its type cannot hold. */
export type TypeCheck = {
  readonly value_count: number
  readonly unreadable_count: number
  readonly examples: readonly string[]
  readonly suggested_type: StrictType | 'String'
}

/** Older events are not read. */
const DAYS = constant(30n)
/** Longer texts are compared and shown up to here; no number, truth or time is longer. */
const TEXT_LENGTH_MAX = constant(100n)

/** Whether a text fits a type, by type; the first that holds all values is suggested. */
const FITS: Readonly<Record<StrictType, (text: Expr) => Expr>> = {
  Numeric: (text) => expr`isNotNull(toFloat(${text}))`,
  Boolean: (text) => expr`${text} in ('true', 'false')`,
  DateTime: (text) => expr`isNotNull(toDateTime(${text}))`,
}
const STRICT_TYPES = ['Numeric', 'Boolean', 'DateTime'] as const

/** Columns per property. */
const COLUMNS = STRICT_TYPES.length + 3

/**
 * One row with the counts of every property; `readTypeChecks` reads it. It must run without known property types, so that
 * properties are texts. Each text is converted once per type: the engine does not share equal expressions of aggregates.
 */
export function typeChecksTree(
  owner: DetectedOwner,
  properties: readonly CheckedProperty[],
): Select {
  const values = properties.flatMap(({ name }, index) => {
    const text = expr`substring(${field(['properties', name])}, 1, ${TEXT_LENGTH_MAX})`
    return [
      alias(text, `text_${index}`),
      ...STRICT_TYPES.map((type) => alias(FITS[type](text), `${type}_${index}`)),
    ]
  })
  const columns = properties.flatMap(({ property_type }, index) => {
    const text = field([`text_${index}`])
    const fits = STRICT_TYPES.map((type) => field([`${type}_${index}`]))
    const is_unreadable = expr`not ${field([`${property_type}_${index}`])}`
    return [
      expr`count(${text})`,
      ...fits.map((fit) => expr`countIf(isNotNull(${text}) and ${fit})`),
      // The first and the last in order: more would have to be kept per property.
      expr`minIf(${text}, ${is_unreadable})`,
      expr`maxIf(${text}, ${is_unreadable})`,
    ]
  })
  return select`select ${columns} from ${rowsOf(owner, values)}`
}

function rowsOf({ kind, group_type_index }: DetectedOwner, values: readonly Expr[]): SelectQuery {
  switch (kind) {
    case 'event':
      return select`select ${values} from events where timestamp >= now() - toIntervalDay(${DAYS})`
    case 'person':
      return select`select ${values} from persons`
    case 'group':
      return select`select ${values} from groups where index = ${integer(group_type_index)}`
  }
}

/** The checks by the property's name. */
export function readTypeChecks(
  properties: readonly CheckedProperty[],
  row: readonly unknown[],
): ReadonlyMap<string, TypeCheck> {
  return new Map(
    properties.map(({ name, property_type }, index) => {
      const [count, ...rest] = row.slice(index * COLUMNS, (index + 1) * COLUMNS)
      const value_count = Number(count)
      const fitting = new Map(STRICT_TYPES.map((type, at) => [type, Number(rest[at])]))
      const holds = (type: StrictType): boolean => fitting.get(type) === value_count
      const unreadable_count = value_count - (fitting.get(property_type) ?? 0)
      const examples = [...new Set(rest.slice(STRICT_TYPES.length).map(String))]
      return [
        name,
        {
          value_count,
          unreadable_count,
          examples: unreadable_count === 0 ? [] : examples,
          suggested_type: holds(property_type)
            ? property_type
            : (STRICT_TYPES.find(holds) ?? 'String'),
        },
      ]
    }),
  )
}
