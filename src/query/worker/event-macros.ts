/** The relations of a project's events: each query's own, of the files of its days and the tail, with the columns it names. */

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

/** As compiled queries name them: with `properties`, without, and the number of rows alone. */
type EventMacroForm = 'events_counts_of' | 'events_lean_of' | 'events_of'

/** What one query reads events from: a table macro that holds nothing it does not need, because all of it is bound. */
export type EventRelation = {
  readonly name: string
  readonly form: EventMacroForm
  readonly columns: readonly NeededColumn[]
  /** With what is in no column. */
  readonly has_rest: boolean
  /** With the half of uuids that they are found by. */
  readonly has_uuid_end: boolean
  readonly days: EventDayRange
}

/** A query as it runs: its relations of events are its own. */
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

/** The relations of one state of the manifest. */
export type RelatedRelation = {
  /** The manifest's. */
  readonly version: number
  readonly files: readonly FileRow[]
  readonly persons: PersonOverridesState
  readonly relations: readonly EventRelation[]
}

type PathOf = (file: FileRow) => string

/** The statements that make the relations of one state of those of another; empty when they are the same. */
export function relateEvents(
  before: RelatedRelation,
  after: RelatedRelation,
  pathOf: PathOf,
): string {
  const is_same =
    before.version === after.version &&
    before.persons.has_overrides === after.persons.has_overrides &&
    before.persons.removal_ids === after.persons.removal_ids
  const had = new Set(before.relations.map(({ name }) => name))
  const has = new Set(after.relations.map(({ name }) => name))
  const made = after.relations.filter(({ name }) => !is_same || !had.has(name))
  const gone = before.relations.filter(({ name }) => !has.has(name))
  return [
    ...gone.map(({ name }) => `drop macro table ${name}`),
    ...made.map((relation) => createRelation(relation, { ...after, pathOf })),
  ].join(';\n')
}

type EventsLocation = Pick<RelatedRelation, 'files' | 'persons'> & { readonly pathOf: PathOf }

/** The files are spelled out: a change of the list and of the tail must become visible in one transaction. */
function createRelation(relation: EventRelation, place: EventsLocation): string {
  const { name, form, days } = relation
  const files = place.files.filter((file) => isWithin(file, days))
  const select = SELECTS[form](relation, { ...place, files })
  return `create or replace macro ${name}(p) as table ${select}`
}

/** A file's times are widened to whole seconds. */
function isWithin(
  { min_timestamp, max_timestamp }: FileRow,
  { from, until }: EventDayRange,
): boolean {
  if (from !== null && max_timestamp < from * DAY_US) return false
  return until === null || min_timestamp <= until * DAY_US
}

type EventSelection = (relation: EventRelation, place: EventsLocation) => string

const SELECTS = {
  events_of: (relation, place) => selectLed(relation, place, false),
  events_lean_of: (relation, place) => selectLed(relation, place, true),
  events_counts_of: selectCounts,
} satisfies Record<EventMacroForm, EventSelection>

/** Each file was found to have as many rows as its manifest says before it was taken in. */
function selectCounts(relation: EventRelation, place: EventsLocation): string {
  if (place.persons.removal_ids !== '')
    return `select count(*) as row_count from (${selectStored(relation, place, true)})`
  const row_count = place.files.reduce((sum, file) => sum + file.row_count, 0)
  return `select ${row_count}::bigint as row_count where p = project_id() union all
select count(*) as row_count from tail where p = project_id()`
}

function selectLed(relation: EventRelation, place: EventsLocation, is_lean: boolean): string {
  const stored = selectStored(relation, place, is_lean)
  return place.persons.has_overrides ? ledTo(stored) : stored
}

function selectStored(
  { columns, has_rest, has_uuid_end }: EventRelation,
  { files, pathOf, persons }: EventsLocation,
  is_lean: boolean,
): string {
  const reading = { columns, is_lean, has_rest, has_uuid_end }
  const legs = [...selectFiles(files, pathOf, reading), selectEvents(wholeRows('tail'), reading)]
  const all = legs.map((leg) => `${leg} where p = project_id()`).join(' union all ')
  return persons.removal_ids === '' ? all : withoutRemoved(`(${all})`)
}

/** Not a coalesce: the engine takes twice as long over one of what a join found. */
function ledTo(stored: string): string {
  return `select e.* replace (
  case when l.person_id is null then e.person_id else l.person_id end as person_id
)
from (${stored}) as e
left join distinct_id_overrides as l on l.distinct_id = e.distinct_id`
}
