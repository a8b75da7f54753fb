/** Automatic properties: event properties that are copied to the person, as `$set` and once as `$initial_…`. */
import type { PersonProperties } from '../storage/persons/person-store.ts'
import { valueText } from './value-text.ts'

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

/** Automatic properties of an event with a location. Where the location lacks one of them, null is copied. */
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

/** Further ones. Where the location lacks one of them, nothing is copied. */
const OPTIONAL_LOCATED = [
  '$geoip_city_confidence',
  '$geoip_country_confidence',
  '$geoip_postal_code_confidence',
  '$geoip_accuracy_radius',
  '$geoip_subdivision_1_code',
  '$geoip_subdivision_1_name',
  '$geoip_subdivision_2_code',
  '$geoip_subdivision_2_name',
] as const

/**
 * Automatic properties that change often and say little: a change of theirs alone is not written. One of the others,
 * such as a campaign, the version of an app or a country, is, and then all of them are.
 */
const VOLATILE: ReadonlySet<string> = new Set([
  '$current_url',
  '$pathname',
  '$referring_domain',
  '$referrer',
  '$browser',
  '$browser_version',
  '$device_type',
  '$os',
  '$os_name',
  '$os_version',
  '$geoip_postal_code',
  '$geoip_latitude',
  '$geoip_longitude',
  '$geoip_time_zone',
  ...OPTIONAL_LOCATED,
])

/** An event property (`from`), and its names on the person. */
type AutomaticProperty = {
  readonly from: string
  readonly set: string
  readonly initial: string
  /** The value copied from an event with a location but without this property; undefined copies nothing. */
  readonly fallback: null | undefined
  /** Whether a change of this property alone is written. */
  readonly is_lasting: boolean
}

const EVERYWHERE: readonly AutomaticProperty[] = FROM_EVENTS.map((from) =>
  // Mobile SDKs send `$os_name` where browsers send `$os`.
  describe(from, from === '$os_name' ? '$os' : from, undefined),
)

const WHERE_LOCATED: readonly AutomaticProperty[] = [
  ...LOCATED.map((from) => describe(from, from, null)),
  ...OPTIONAL_LOCATED.map((from) => describe(from, from, undefined)),
]

/**
 * All of them, in the order of their bits, which other versions of an edge or its home read: new ones come last, and a new
 * line of FROM_EVENTS would shift the bits of the location.
 */
const ALL: readonly AutomaticProperty[] = [...EVERYWHERE, ...WHERE_LOCATED]

/** The property that every event with a location has. */
const LOCATED_MARK = '$geoip_country_code'

/**
 * The automatic properties of an event as a bit set, `low` and `high`: an event without new ones is recognized without
 * reading a value. The values are in `properties`, or as JSON in `text`.
 */
export type AutomaticValues = PropertyMarks & {
  /** A hash of the lasting ones, by which an event that repeats them is recognized; 0 without any. */
  readonly lasting_hash: number
  /** Parsed from `text` on first use; null before. */
  properties: PersonProperties | null
  readonly text: string
}

type PropertyMarks = { readonly low: number; readonly high: number }
type MarksSum = { low: number; high: number }

/** Bits of one number that keep it non-negative. */
const BITS = 31

/** The system that an event was sent from: a server's says nothing about the person. */
const SYSTEM_MARKS = marksOf(['$os', '$os_name', '$os_version'])
/** Copied only where `$os` is missing. */
const OS_NAME_MARKS = marksOf(['$os_name'])

/** The lasting ones with their bits. */
const LASTING = ALL.flatMap(({ from, is_lasting }, bit) => (is_lasting ? { from, bit } : []))
const LASTING_MARKS = marksOf(LASTING.map(({ from }) => from))

/** The automatic properties of an event. */
export function automaticOf(properties: PersonProperties): AutomaticValues {
  const marks = marksOfEvent(properties)
  return { ...marks, lasting_hash: hashLasting(marks, properties), properties, text: '' }
}

/** Hashes the lasting properties among those of an event's bit set. */
function hashLasting(marks: PropertyMarks, properties: PersonProperties): number {
  if ((marks.low & LASTING_MARKS.low) === 0 && (marks.high & LASTING_MARKS.high) === 0) return 0
  let text = ''
  for (const { from, bit } of LASTING) {
    if (!hasMark(marks, bit)) continue
    const value = properties[from] ?? null
    // A text as it is: as JSON, the hash of an event with a location takes twice as long.
    text += typeof value === 'string' ? `${bit}"${value}\n` : `${bit} ${valueText(value)}\n`
  }
  return Bun.hash.xxHash32(text)
}

/** The bit set of the automatic properties of an event. */
function marksOfEvent(properties: PersonProperties): PropertyMarks {
  let low = 0
  let high = 0
  for (let bit = 0; bit < EVERYWHERE.length; bit += 1) {
    const name = EVERYWHERE[bit]?.from ?? ''
    if (properties[name] === undefined) continue
    if (bit < BITS) low |= 1 << bit
    else high |= 1 << (bit - BITS)
  }
  if (properties['$is_server'] === true) low &= ~SYSTEM_MARKS.low
  if (properties['$os'] !== undefined) low &= ~OS_NAME_MARKS.low
  if (properties[LOCATED_MARK] === undefined) return { low, high }
  WHERE_LOCATED.forEach(({ from, fallback }, index) => {
    if (fallback === null || properties[from] !== undefined) high |= locatedBit(index)
  })
  return { low, high }
}

/**
 * The bit set of the automatic properties that a person has under both names, the last value and the initial one. An
 * initial null counts as missing. Beside a last null it is not missed: browsers send a null with every event for each
 * campaign parameter that their visit lacks, and such events must be recognized too.
 */
export function marksOfPerson(properties: PersonProperties): PropertyMarks {
  const marks = { last: { low: 0, high: 0 }, first: { low: 0, high: 0 } }
  let budget = SCANNED_NAMES_MAX
  for (const name in properties) {
    if (budget === 0) return marksOfWidePerson(properties)
    budget -= 1
    markName(marks, name, properties[name])
  }
  return inBoth(marks)
}

/** Properties of a person up to which its names are looked up one by one; most persons have a few dozen. */
const SCANNED_NAMES_MAX = 200

/** The same for a person with many properties: looks for each automatic name instead. */
function marksOfWidePerson(properties: PersonProperties): PropertyMarks {
  const marks = { last: { low: 0, high: 0 }, first: { low: 0, high: 0 } }
  for (const names of [LAST_NAMES, FIRST_NAMES]) {
    for (const name of names.keys()) {
      if (Object.hasOwn(properties, name)) markName(marks, name, properties[name])
    }
  }
  return inBoth(marks)
}

type MarksByTime = { readonly last: MarksSum; readonly first: MarksSum }

function markName({ last, first }: MarksByTime, name: string, value: unknown): void {
  addMarks(last, LAST_NAMES.get(name))
  addMarks(first, (value === null ? LAST_NAMES : FIRST_NAMES).get(name))
}

function inBoth({ last, first }: MarksByTime): PropertyMarks {
  return { low: last.low & first.low, high: last.high & first.high }
}

/** Whether a person's bit set depends on the property of this name. */
export function isAutomatic(name: string): boolean {
  return LAST_NAMES.has(name) || FIRST_NAMES.has(name)
}

function addMarks(sum: MarksSum, marks: PropertyMarks | undefined): void {
  if (marks === undefined) return
  sum.low |= marks.low
  sum.high |= marks.high
}

/** The bits of each name on the person. */
function marksByName(
  nameOf: (automatic: AutomaticProperty) => string,
): ReadonlyMap<string, PropertyMarks> {
  const marks = new Map<string, MarksSum>()
  for (const [bit, automatic] of ALL.entries()) {
    const name = nameOf(automatic)
    const sum = { low: 0, high: 0 }
    addMarks(sum, markOf(bit))
    addMarks(sum, marks.get(name))
    marks.set(name, sum)
  }
  return marks
}

const LAST_NAMES = marksByName((automatic) => automatic.set)
const FIRST_NAMES = marksByName((automatic) => automatic.initial)

/** The bit set of automatic properties by their names in events. */
function marksOf(names: readonly string[]): PropertyMarks {
  const marks = { low: 0, high: 0 }
  for (const [bit, { from }] of ALL.entries())
    if (names.includes(from)) addMarks(marks, markOf(bit))
  return marks
}

function markOf(bit: number): PropertyMarks {
  return bit < BITS ? { low: 1 << bit, high: 0 } : { low: 0, high: 1 << (bit - BITS) }
}

function hasMark({ low, high }: PropertyMarks, bit: number): boolean {
  return (bit < BITS ? low & (1 << bit) : high & (1 << (bit - BITS))) !== 0
}

/** True if the event has an automatic property that the person lacks. */
export function hasMoreMarks(
  event: PropertyMarks,
  person: { readonly marks_low: number; readonly marks_high: number },
): boolean {
  return (event.low & ~person.marks_low) !== 0 || (event.high & ~person.marks_high) !== 0
}

/** The automatic properties of an event with their values. */
export function* automaticValues(
  values: AutomaticValues,
): Generator<readonly [automatic: AutomaticProperty, value: unknown]> {
  if (values.low === 0 && values.high === 0) return
  values.properties ??= JSON.parse(values.text) as PersonProperties
  const { properties } = values
  for (const [bit, automatic] of ALL.entries()) {
    // A mark without a property is that of a fallback.
    if (hasMark(values, bit)) yield [automatic, properties[automatic.from] ?? null]
  }
}

/** The automatic properties of an event alone, under the names that the event has. */
export function pickAutomatic(properties: PersonProperties): PersonProperties {
  const picked: PersonProperties = {}
  for (const { from } of ALL) {
    if (properties[from] !== undefined) picked[from] = properties[from]
  }
  return picked
}

function locatedBit(index: number): number {
  return 1 << (index + EVERYWHERE.length - BITS)
}

function describe(from: string, set: string, fallback: null | undefined): AutomaticProperty {
  const initial = `$initial_${set.replace('$', '')}`
  return { from, set, initial, fallback, is_lasting: !VOLATILE.has(from) }
}
