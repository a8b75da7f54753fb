/** Event properties that describe the person too: each becomes `$set` and, once, `$initial_…`. */
import type { PersonProperties } from '../storage/persons/person-store.ts'

const FROM_EVENTS = [
  '$app_build',
  '$app_name',
  '$app_namespace',
  '$app_version',
  '$browser',
  '$browser_version',
  '$device_type',
  '$current_url',
  '$pathname',
  '$os',
  '$os_name',
  '$os_version',
  '$referring_domain',
  '$referrer',
  'utm_source',
  'utm_medium',
  'utm_campaign',
  'utm_content',
  'utm_name',
  'utm_term',
  'gclid',
  'gad_source',
  'gclsrc',
  'dclid',
  'gbraid',
  'wbraid',
  'fbclid',
  'msclkid',
  'twclid',
  'li_fat_id',
  'mc_cid',
  'igshid',
  'ttclid',
  'rdt_cid',
  'irclid',
  '_kx',
  'epik',
  'qclid',
  'sccid',
] as const

/** What a located event tells of its person. The first of them are known of every place, or null. */
const LOCATED = [
  '$geoip_city_name',
  '$geoip_country_name',
  '$geoip_country_code',
  '$geoip_continent_name',
  '$geoip_continent_code',
  '$geoip_postal_code',
  '$geoip_latitude',
  '$geoip_longitude',
  '$geoip_time_zone',
] as const

const LOCATED_SOMETIMES = [
  '$geoip_city_confidence',
  '$geoip_country_confidence',
  '$geoip_postal_code_confidence',
  '$geoip_accuracy_radius',
  '$geoip_subdivision_1_code',
  '$geoip_subdivision_1_name',
  '$geoip_subdivision_2_code',
  '$geoip_subdivision_2_name',
] as const

/** An event property that describes the person, and the names it gets there. */
export type AutomaticProperty = {
  readonly from: string
  readonly set: string
  readonly initial: string
  /** What a located event that does not tell it says. */
  readonly otherwise: null | undefined
}

const EVERYWHERE: readonly AutomaticProperty[] = FROM_EVENTS.map((from) =>
  // Mobile clients say `$os_name` for what browsers call `$os`.
  describe(from, from === '$os_name' ? '$os' : from, undefined),
)

const WHERE_LOCATED: readonly AutomaticProperty[] = [
  ...LOCATED.map((from) => describe(from, from, null)),
  ...LOCATED_SOMETIMES.map((from) => describe(from, from, undefined)),
]

/** What a located event always has. */
const LOCATED_MARK = '$geoip_country_code'

/**
 * What an event tells of its person. `low` and `high` have a bit for each automatic property, so that an event which
 * tells nothing new is recognized without looking at values; those are at hand as `properties` or as JSON in `text`.
 */
export type AutomaticValues = PropertyMarks & {
  /** Null until somebody needs them. */
  properties: PersonProperties | null
  readonly text: string
}

export type PropertyMarks = { readonly low: number; readonly high: number }

/** Bits that one number holds without ever being negative. */
const BITS = 31

/** Which automatic properties an event tells. */
export function marksOfEvent(properties: PersonProperties): PropertyMarks {
  let low = 0
  let high = 0
  for (let bit = 0; bit < EVERYWHERE.length; bit += 1) {
    const name = EVERYWHERE[bit]?.from ?? ''
    if (properties[name] === undefined) continue
    if (bit < BITS) low |= 1 << bit
    else high |= 1 << (bit - BITS)
  }
  if (properties[LOCATED_MARK] === undefined) return { low, high }
  WHERE_LOCATED.forEach(({ from, otherwise }, index) => {
    if (otherwise === null || properties[from] !== undefined) high |= locatedBit(index)
  })
  return { low, high }
}

/** Which automatic properties a person has, first and last. */
export function marksOfPerson(properties: PersonProperties): PropertyMarks {
  const last = { low: 0, high: 0 }
  const first = { low: 0, high: 0 }
  let room = LOOKED_AT_MAX
  for (const name in properties) {
    if (room === 0) return marksOfWidePerson(properties)
    room -= 1
    addMarks(last, LAST_NAMES.get(name))
    addMarks(first, FIRST_NAMES.get(name))
  }
  return { low: last.low & first.low, high: last.high & first.high }
}

/** Properties of a person that are looked at one by one: usual ones have some tens. */
const LOOKED_AT_MAX = 200

/** The same for a person with so many properties that looking for each automatic one costs less. */
function marksOfWidePerson(properties: PersonProperties): PropertyMarks {
  const last = { low: 0, high: 0 }
  const first = { low: 0, high: 0 }
  for (const [name, marks] of LAST_NAMES) if (Object.hasOwn(properties, name)) addMarks(last, marks)
  for (const [name, marks] of FIRST_NAMES) {
    if (Object.hasOwn(properties, name)) addMarks(first, marks)
  }
  return { low: last.low & first.low, high: last.high & first.high }
}

/** Whether a person's marks depend on the property of this name. */
export function isAutomatic(name: string): boolean {
  return LAST_NAMES.has(name) || FIRST_NAMES.has(name)
}

function addMarks(sum: { low: number; high: number }, marks: PropertyMarks | undefined): void {
  if (marks === undefined) return
  sum.low |= marks.low
  sum.high |= marks.high
}

/** The marks behind each name: a person has some tens of names, and there are more automatic properties. */
function marksByName(
  nameOf: (automatic: AutomaticProperty) => string,
): ReadonlyMap<string, PropertyMarks> {
  const marks = new Map<string, { low: number; high: number }>()
  for (const [bit, automatic] of [...EVERYWHERE, ...WHERE_LOCATED].entries()) {
    const name = nameOf(automatic)
    const own = bit < BITS ? { low: 1 << bit, high: 0 } : { low: 0, high: 1 << (bit - BITS) }
    addMarks(own, marks.get(name))
    marks.set(name, own)
  }
  return marks
}

const LAST_NAMES = marksByName((automatic) => automatic.set)
const FIRST_NAMES = marksByName((automatic) => automatic.initial)

/** True when the event tells something that the person does not have. */
export function hasMoreMarks(
  event: PropertyMarks,
  person: { readonly marks_low: number; readonly marks_high: number },
): boolean {
  return (event.low & ~person.marks_low) !== 0 || (event.high & ~person.marks_high) !== 0
}

/** Every automatic property an event tells, with its value. */
export function* automaticValues(
  told: AutomaticValues,
): Generator<readonly [automatic: AutomaticProperty, value: unknown]> {
  if (told.low === 0 && told.high === 0) return
  told.properties ??= JSON.parse(told.text) as PersonProperties
  const { properties } = told
  const is_located = properties[LOCATED_MARK] !== undefined
  for (const automatic of is_located ? [...EVERYWHERE, ...WHERE_LOCATED] : EVERYWHERE) {
    const value = properties[automatic.from]
    if (value !== undefined) yield [automatic, value]
    else if (automatic.otherwise === null) yield [automatic, null]
  }
}

function locatedBit(index: number): number {
  return 1 << (index + EVERYWHERE.length - BITS)
}

function describe(from: string, set: string, otherwise: null | undefined): AutomaticProperty {
  return { from, set, initial: `$initial_${set.replace('$', '')}`, otherwise }
}
