/** Table macros over a project's events: one per query shape, with the files of its days, the tail, and the columns it names. */

import {
  type NeededColumn,
  neededColumnName,
  neededColumns,
  REST_COLUMN,
} from '../../storage/files/property-columns.ts'
import type { FileRow } from '../../storage/log/event-log.ts'
import {
  selectEvents,
  selectFiles,
  UUID_END_COLUMN,
  wholeRows,
} from '../../storage/log/event-select.ts'
import { withoutRemoved } from '../../storage/log/pending-removals.ts'
import type { EventDayRange } from '../engine/protocol.ts'
import type { PersonOverridesState } from './person-overrides.ts'

/** The forms that compiled queries name: with `properties`, without them, and only the number of rows. */
type EventMacroForm = 'events_counts_of' | 'events_lean_of' | 'events_of'

/** The macro that one query reads events from. It contains only what the query needs, because DuckDB binds all of it, twice. */
export type EventRelation = {
  readonly name: string
  readonly form: EventMacroForm
  readonly columns: readonly NeededColumn[]
  /** With the JSON of properties that have no column. */
  readonly has_rest: boolean
  /** With the half of uuids that look-ups by uuid use. */
  readonly has_uuid_end: boolean
  readonly days: EventDayRange
}

/** A query whose SQL names its macros. */
export type MacroQuery = { readonly sql: string; readonly relations: readonly EventRelation[] }

const ALL_DAYS: EventDayRange = { from: null, until: null }
const DAY_US = 86_400_000_000

/** Gives each form of the events that a query names a name of its own. Nothing between quotes is one. */
export function readingOwn(sql: string, days: EventDayRange = ALL_DAYS): MacroQuery {
  const columns = neededColumns(sql).filter(({ owner }) => owner === 'event')
  const reading = {
    columns,
    has_rest: sql.includes(REST_COLUMN),
    has_uuid_end: sql.includes(UUID_END_COLUMN),
    days,
  }
  const relations = new Map<string, EventRelation>()
  const own = sql.replace(FORM_OR_QUOTED, (text, found?: string) => {
    const form = FORMS.find((one) => one === found)
    if (form === undefined) return text
    const relation = relations.get(form) ?? relationOf(form, reading)
    relations.set(form, relation)
    return `${relation.name}(`
  })
  return { sql: own, relations: [...relations.values()] }
}

const FORMS = [
  'events_of',
  'events_lean_of',
  'events_counts_of',
] as const satisfies EventMacroForm[]
const FORM_OR_QUOTED = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\b(events_(?:counts_|lean_)?of)\(/g

function relationOf(
  form: EventMacroForm,
  reading: Omit<EventRelation, 'form' | 'name'>,
): EventRelation {
  const { columns, has_rest, has_uuid_end, days } = reading
  const names = columns.map((column) => `${neededColumnName(column)}`).toSorted(inAlphabet)
  const said = JSON.stringify([names, has_rest, has_uuid_end, days])
  const digest = new Bun.CryptoHasher('sha256').update(said).digest('hex')
  return { name: `${form}_${digest.slice(0, NAME_DIGITS)}`, form, ...reading }
}

const NAME_DIGITS = 32
const inAlphabet = (one: string, other: string): number => (one < other ? -1 : 1)

/** The state that macros are created from. */
export type RelationState = {
  /** The version of the manifest. */
  readonly version: number
  readonly files: readonly FileRow[]
  readonly persons: PersonOverridesState
  readonly relations: readonly EventRelation[]
}

type PathOf = (file: FileRow) => string

/** Builds the statements that turn the macros of one state into those of another; empty when they are equal. */
export function updateEventMacros(
  before: RelationState,
  after: RelationState,
  pathOf: PathOf,
): string {
  const is_same =
    before.version === after.version &&
    before.persons.has_overrides === after.persons.has_overrides &&
    before.persons.removal_ids === after.persons.removal_ids
  const names_before = new Set(before.relations.map(({ name }) => name))
  const names_after = new Set(after.relations.map(({ name }) => name))
  const created = after.relations.filter(({ name }) => !is_same || !names_before.has(name))
  const dropped = before.relations.filter(({ name }) => !names_after.has(name))
  return [
    ...dropped.map(({ name }) => `drop macro table ${name}`),
    ...created.map((relation) => createRelation(relation, { ...after, pathOf })),
  ].join(';\n')
}

type EventSources = Pick<RelationState, 'files' | 'persons'> & { readonly pathOf: PathOf }

/** Lists the files in the macro, so that a change of files and tail becomes visible in one transaction. */
function createRelation(relation: EventRelation, sources: EventSources): string {
  const { name, form, days } = relation
  const files = sources.files.filter((file) => isWithin(file, days))
  const select = SELECTS[form](relation, { ...sources, files })
  return `create or replace macro ${name}(p) as table ${select}`
}

/** True when a file may have events within the days; its times are rounded outwards to seconds. */
function isWithin(
  { min_timestamp, max_timestamp }: FileRow,
  { from, until }: EventDayRange,
): boolean {
  if (from !== null && max_timestamp < from * DAY_US) return false
  return until === null || min_timestamp <= until * DAY_US
}

type EventSelection = (relation: EventRelation, sources: EventSources) => string

const SELECTS = {
  events_of: (relation, sources) => selectWithOverrides(relation, sources, false),
  events_lean_of: (relation, sources) => selectWithOverrides(relation, sources, true),
  events_counts_of: selectCounts,
} satisfies Record<EventMacroForm, EventSelection>

/** Counts from the manifest, whose row counts were compared with the files when they were adopted. */
function selectCounts(relation: EventRelation, sources: EventSources): string {
  if (sources.persons.removal_ids !== '')
    return `select count(*) as row_count from (${selectStored(relation, sources, true)})`
  const row_count = sources.files.reduce((sum, file) => sum + file.row_count, 0)
  return `select ${row_count}::bigint as row_count where p = project_id() union all
select count(*) as row_count from tail where p = project_id()`
}

function selectWithOverrides(
  relation: EventRelation,
  sources: EventSources,
  is_lean: boolean,
): string {
  const stored = selectStored(relation, sources, is_lean)
  return sources.persons.has_overrides ? joinOverrides(stored) : stored
}

function selectStored(
  { columns, has_rest, has_uuid_end }: EventRelation,
  { files, pathOf, persons }: EventSources,
  is_lean: boolean,
): string {
  const reading = { columns, is_lean, has_rest, has_uuid_end }
  const legs = [...selectFiles(files, pathOf, reading), selectEvents(wholeRows('tail'), reading)]
  const all = legs.map((leg) => `${leg} where p = project_id()`).join(' union all ')
  return persons.removal_ids === '' ? all : withoutRemoved(`(${all})`)
}

/** A CASE, because DuckDB takes twice as long for a coalesce over the result of a join. */
function joinOverrides(stored: string): string {
  return `select e.* replace (
  case when l.person_id is null then e.person_id else l.person_id end as person_id
)
from (${stored}) as e
left join distinct_id_overrides as l on l.distinct_id = e.distinct_id`
}
