/** FILTERS and ORDERS of a list of flags: one line per parameter. */

import { Refusal } from '../../../errors.ts'
import { isYes } from '../../../insights/legacy/legacy-filters.ts'
import { listExperimentHeads } from '../../../targeting/experiments/experiment.ts'
import { type Flag, readFlags } from '../../../targeting/flags/flag.ts'
import { type FlagLinks, readLinks } from '../../../targeting/flags/flag-links.ts'
import { statusOf } from '../../../targeting/flags/flag-status.ts'
import type { EventListCall } from '../../analytics/queries/event-queries.ts'
import type { AppContext } from '../../app-context.ts'
import { makeFilters } from '../list-filters.ts'
import { readUsage } from './flag-usage.ts'

/** A flag in a list; `last_called_at` is undefined where it was not read. */
type ListedFlag = {
  readonly links: FlagLinks
  /** Names of the flag's experiments. */
  readonly experiment_names: readonly string[]
  readonly last_called_at: Date | null | undefined
  readonly now: Date
}

type FlagListFilter = (flag: Flag, stored: ListedFlag) => boolean

const STALE = 'STALE'
const SEARCH_CHARS_MAX = 200
/** An experiment compares at least two variants. */
const VARIANTS_MIN = 2
const VARIANTS_MAX = 20

/** FILTERS: the parameter, and a predicate for its value. */
const FILTERS: Readonly<Record<string, (value: string) => FlagListFilter>> = {
  active: (value) =>
    value.toUpperCase() === STALE
      ? (flag, { last_called_at, now }) => statusOf(flag, last_called_at, now).status === STALE
      : (flag) => flag.active === isYes(value),
  archived: (value) => (flag) => flag.archived === isYes(value),
  search: textFilter,
  key: (value) => (flag) => flag.key.toLowerCase() === value.trim().toLowerCase(),
  type: (value) => TYPES.get(value) ?? (() => true),
  created_by_id: (value) => {
    const ids = new Set(namesIn(value))
    return (flag) => ids.has(String(flag.created_by))
  },
  evaluation_runtime: (value) => (flag) => flag.evaluation_runtime === value,
  tags: (value) => {
    const wanted = new Set(namesIn(value))
    return (flag) => flag.tags.some((tag) => wanted.has(tag))
  },
  excluded_tags: (value) => {
    const unwanted = new Set(namesIn(value))
    return (flag) => !flag.tags.some((tag) => unwanted.has(tag))
  },
  has_evaluation_contexts: contextsFilter,
  has_evaluation_tags: contextsFilter,
  excluded_properties: (value) => {
    const unwanted = new Set(namesIn(value))
    return (flag) => !unwanted.has(flag.key)
  },
  eligible_for_experiment: (value) => (flag) => {
    const count = variantsOf(flag)
    return !isYes(value) || (count >= VARIANTS_MIN && count <= VARIANTS_MAX)
  },
}

const TYPES: ReadonlyMap<string, FlagListFilter> = new Map([
  ['boolean', (flag) => variantsOf(flag) === 0],
  ['multivariant', (flag) => variantsOf(flag) > 0],
  ['experiment', (_flag, { links }) => links.experiment_set.length > 0],
  ['remote_config', (flag) => flag.is_remote_configuration],
])

/** Names of all filters. */
export const FLAG_FILTERS: ReadonlySet<string> = new Set(Object.keys(FILTERS))

/** Boolean filters; `active` may also be STALE. */
const YES_OR_NO = /^(active|archived|has_evaluation_contexts|has_evaluation_tags)$/

/** Whether a filter's value excludes anything. Lists accept a value that does not; deletion must not. */
export function hasFilters(name: string, value: string): boolean {
  if (YES_OR_NO.test(name)) return /^(true|false|1|0)$/i.test(value) || isStale(name, value)
  if (name === 'type') return TYPES.has(value)
  if (name === 'eligible_for_experiment') return isYes(value)
  return namesIn(value).some((one) => one.trim() !== '')
}

function isStale(name: string, value: string): boolean {
  return name === 'active' && value.toUpperCase() === STALE
}

/**
 * Returns the flags that pass all filters, newest first. Flags of surveys are excluded, and archived ones
 * unless requested.
 */
export async function findFlags(
  app: AppContext,
  call: EventListCall,
  provided_fields: ReadonlyMap<string, string>,
): Promise<readonly Flag[]> {
  const { id: project_id } = call.project
  const is_usage_asked = provided_fields.get('active')?.toUpperCase() === STALE
  const lastUse = is_usage_asked ? await readUsage(app, call) : () => undefined
  const linksOf = await readLinks(app.control, project_id)
  const names = provided_fields.has('search') ? experimentNames(app, project_id) : NO_NAMES
  const now = app.now()
  const filters = makeFilters(FILTERS, provided_fields)
  const is_archive_asked = (provided_fields.get('archived') ?? '') !== ''
  const flags = await readFlags(app.control, project_id)
  return flags
    .filter((flag) => {
      const links = linksOf(flag.id)
      const experiment_names = names.get(flag.id) ?? []
      const stored = { links, experiment_names, last_called_at: lastUse(flag.key), now }
      const is_listed = !links.is_of_survey && (is_archive_asked || !flag.archived)
      return is_listed && filters.every((filter) => filter(flag, stored))
    })
    .toReversed()
}

/** ORDERS: the sort key of each parameter value. */
const ORDERS: Readonly<Record<string, (flag: Flag) => number | string>> = {
  id: ({ id }) => id,
  key: ({ key }) => key.toLowerCase(),
  name: ({ name }) => name.toLowerCase(),
  active: ({ active }) => Number(active),
  archived: ({ archived }) => Number(archived),
  created_at: ({ created_at }) => created_at.getTime(),
  updated_at: ({ updated_at }) => updated_at.getTime(),
  created_by: ({ created_by }) => created_by ?? 0,
  version: ({ version }) => version,
}

/** Sorts flags by a request's order; by default newest first. Refuses unknown orders. */
export function sortFlags(flags: readonly Flag[], order: string | null): readonly Flag[] {
  if (order === null || order === '') return flags
  const is_backward = order.startsWith('-')
  const name = is_backward ? order.slice(1) : order
  const valueOf = Object.hasOwn(ORDERS, name) ? ORDERS[name] : undefined
  if (valueOf === undefined) {
    const detail = `Flags are not sorted by ${JSON.stringify(name.slice(0, 100))}. Choose one of: ${Object.keys(ORDERS).join(', ')}.`
    throw new Refusal('invalid_choice', detail, { attr: 'order' })
  }
  const direction = is_backward ? -1 : 1
  return flags.toSorted((one, other) => direction * compare(valueOf(one), valueOf(other)))
}

function compare(one: number | string, other: number | string): number {
  return one < other ? -1 : Number(one > other)
}

/** Searches key and name; a space matches any separator of words in keys. */
function textFilter(value: string): FlagListFilter {
  const search_text = value.trim()
  if (search_text.length > SEARCH_CHARS_MAX) {
    const detail = `Search term cannot exceed ${SEARCH_CHARS_MAX} characters`
    throw new Refusal('invalid_input', detail, { attr: 'search' })
  }
  const words = search_text.toLowerCase().split(/\s+/)
  const isIn = (text: string) => holdsWords(text.toLowerCase(), words)
  return ({ key, name }, { experiment_names }) => [key, name, ...experiment_names].some(isIn)
}

/** True when the words occur in the text in order, separated only by blanks, `-` and `_`. */
function holdsWords(text: string, [first = '', ...others]: readonly string[]): boolean {
  for (let at = text.indexOf(first); at >= 0; at = text.indexOf(first, at + 1)) {
    let end = at + first.length
    const is_whole = others.every((word) => {
      while (BETWEEN.has(text.charAt(end))) end += 1
      const fits = text.startsWith(word, end)
      end += word.length
      return fits
    })
    if (is_whole) return true
  }
  return false
}

const BETWEEN: ReadonlySet<string> = new Set([' ', '-', '_', '\t'])

function contextsFilter(value: string): FlagListFilter {
  return (flag) => flag.evaluation_contexts.length > 0 === isYes(value)
}

function variantsOf({ filters }: Flag): number {
  const { multivariate } = (filters ?? {}) as { multivariate?: { variants?: unknown } | null }
  const variants = multivariate?.variants
  return Array.isArray(variants) ? variants.length : 0
}

/** Reads names from a JSON list, or from a list with commas. */
function namesIn(value: string): readonly string[] {
  try {
    const names: unknown = JSON.parse(value)
    if (Array.isArray(names)) return names.flatMap(nameIn)
  } catch {
    // Not JSON: a list with commas.
  }
  return value.split(',').map((name) => name.trim())
}

function nameIn(value: unknown): readonly string[] {
  return typeof value === 'string' || typeof value === 'number' ? [`${value}`] : []
}

const NO_NAMES: ReadonlyMap<number, readonly string[]> = new Map()

function experimentNames(app: AppContext, project_id: number): typeof NO_NAMES {
  const present = listExperimentHeads(app.control, project_id)
  const by_flag = Map.groupBy(present, ({ feature_flag_id }) => feature_flag_id)
  return new Map([...by_flag].map(([id, those]) => [id, those.map(({ name }) => name)]))
}
