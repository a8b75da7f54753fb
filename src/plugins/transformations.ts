/**
 * TRANSFORMATIONS: plugins that change or drop an event before it is stored. Pure; runs on the threads of ingestion.
 */
import { ipVersion } from '../ip-version.ts'
import { findPlugin, type PluginKey } from './catalog.ts'

/** A stored configuration as the threads of ingestion read it. */
type TransformationRow = {
  readonly id: number
  readonly plugin_id: number
  readonly enabled: boolean
  /** A JSON object. */
  readonly config: string
}

type TransformedProperties = { [name: string]: unknown }

/** The part of an event that a transformation changes. `person` are the objects that set properties of the person. */
type TransformedEvent = {
  readonly event: string
  readonly properties: TransformedProperties
  readonly person: readonly TransformedProperties[]
}

/** `false` drops the event. */
type Transform = (event: TransformedEvent) => 'changed' | 'dropped' | 'kept'

/** Counts of a configuration since its last tally was taken. */
export type Tally = {
  readonly plugin_config_id: number
  handled: number
  changed: number
  dropped: number
  /** The first error. */
  error: string | null
}

/** The transformations of one project, in their order. */
export type Transformations = {
  readonly is_located: boolean
  readonly steps: readonly { readonly run: Transform; readonly tally: Tally }[]
}

type TransformationConfig = Readonly<Record<string, unknown>>

const URL_PROPERTIES = [
  '$current_url',
  '$referrer',
  '$external_click_url',
  '$initial_current_url',
  '$prev_pageview_url',
]

const TRANSFORMATIONS = {
  property_filter: filterProperties,
  drop_events: dropEvents,
  url_normalizer: normalizeUrls,
  ip_anonymizer: () => anonymizeIp,
  geoip: null,
  webhook: null,
  rest_hook: null,
} satisfies Record<PluginKey, ((config: TransformationConfig) => Transform) | null>

/** The transformations of most projects: none. */
const NO_TRANSFORMATIONS: Transformations = { is_located: true, steps: [] }

/** Compiles a project's configurations. */
export function compileTransformations(rows: readonly TransformationRow[]): Transformations {
  if (rows.length === 0) return NO_TRANSFORMATIONS
  const located = rows.filter(({ plugin_id }) => findPlugin(plugin_id)?.key === 'geoip')
  const steps = rows.flatMap(({ id, plugin_id, enabled, config }) => {
    const plugin = findPlugin(plugin_id)
    const make = plugin === null ? null : TRANSFORMATIONS[plugin.key]
    if (!enabled || make === null) return []
    const tally = { plugin_config_id: id, handled: 0, changed: 0, dropped: 0, error: null }
    return [{ run: make(JSON.parse(config)), tally }]
  })
  return {
    is_located: located.length === 0 || located.some(({ enabled }) => enabled),
    steps,
  }
}

/** Runs the transformations on an event, in place; false if it is dropped. After a failing one the next continues. */
export function transform({ steps }: Transformations, event: TransformedEvent): boolean {
  for (const { run, tally } of steps) {
    tally.handled += 1
    try {
      const outcome = run(event)
      if (outcome === 'changed') tally.changed += 1
      if (outcome === 'dropped') {
        tally.dropped += 1
        return false
      }
    } catch (error) {
      tally.error ??= String(error)
    }
  }
  return true
}

/** The counts since the last call. */
export function takeTallies({ steps }: Transformations): readonly Tally[] {
  return steps.flatMap(({ tally }) => {
    if (tally.handled === 0) return []
    const taken = { ...tally }
    Object.assign(tally, { handled: 0, changed: 0, dropped: 0, error: null })
    return [taken]
  })
}

function filterProperties(config: TransformationConfig): Transform {
  const names = textsOf(config['properties'])
  return ({ properties, person }) => {
    let is_changed = false
    for (const object of [properties, ...person]) {
      for (const name of names) {
        if (!Object.hasOwn(object, name)) continue
        delete object[name]
        is_changed = true
      }
    }
    return is_changed ? 'changed' : 'kept'
  }
}

function dropEvents(config: TransformationConfig): Transform {
  const names = new Set(textsOf(config['events']))
  const keep_only = config['keep_only'] === true
  return ({ event }) => (names.has(event) === keep_only ? 'kept' : 'dropped')
}

function normalizeUrls(config: TransformationConfig): Transform {
  const listed = textsOf(config['properties'])
  const names = listed.length === 0 ? URL_PROPERTIES : listed
  const drop_query = config['drop_query'] === true
  return ({ properties, person }) => {
    let is_changed = false
    for (const object of [properties, ...person]) {
      for (const name of names) {
        const before = object[name]
        if (typeof before !== 'string') continue
        const after = normalizeUrl(before, drop_query)
        if (after === before) continue
        object[name] = after
        is_changed = true
      }
    }
    return is_changed ? 'changed' : 'kept'
  }
}

/** Normalizes scheme, host and path: `HTTP://A.B/C/?Q` → `http://a.b/c?Q`. Query and fragment may be case-sensitive. */
function normalizeUrl(text: string, drop_query: boolean): string {
  const end = text.search(/[?#]/)
  const address = end === -1 ? text : text.slice(0, end)
  const rest = end === -1 || drop_query ? '' : text.slice(end)
  return address.toLowerCase().replace(/(?<!\/)\/$/, '') + rest
}

function anonymizeIp({ properties }: TransformedEvent): 'changed' | 'kept' {
  const ip = properties['$ip']
  if (typeof ip !== 'string') return 'kept'
  const version = ipVersion(ip)
  if (version === 4) properties['$ip'] = `${ip.slice(0, ip.lastIndexOf('.'))}.0`
  // A site gets a /48 network; the rest of the address identifies its subnets and devices.
  else if (version === 6) properties['$ip'] = `${expandIpv6(ip).slice(0, 3).join(':')}::`
  else delete properties['$ip']
  return 'changed'
}

function expandIpv6(ip: string): readonly string[] {
  const [head = '', tail] = ip.split('::')
  const front = head === '' ? [] : head.split(':')
  if (tail === undefined) return front
  const back = tail === '' ? [] : tail.split(':')
  return [...front, ...Array.from({ length: 8 - front.length - back.length }, () => '0'), ...back]
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
