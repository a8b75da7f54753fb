/** What handwritten SQL reads: the compiler says it of its own SQL, the tests' and the bench's own is searched for it. */
import { type NeededColumn, REST_COLUMN, UUID_END_COLUMN } from '../../src/column-names.ts'
import type { EventDays } from '../../src/hogql/event-days.ts'
import { type EventMacro, eventMacro, type QueryReads } from '../../src/hogql/query-reads.ts'
import type { EventForm, RelationName } from '../../src/hogql/sql/ir.ts'
import { EVENT_COLUMNS } from '../../src/storage/files/replication-sources.ts'

const ALL_DAYS: EventDays = { from: null, until: null }
const RELATIONS: readonly RelationName[] = [
  'cohort_people',
  'events',
  'groups',
  'person_distinct_ids',
  'person_overrides',
  'persons',
]

/** SQL in which each form of events (`events_of(`) has become the macro that its reads name. */
export type HandwrittenQuery = { readonly sql: string; readonly reads: QueryReads }

/** Gives each form of events that the SQL names its macro. Text between quotes is left as it is. */
export function handwritten(sql: string, days: EventDays = ALL_DAYS): HandwrittenQuery {
  const all = neededColumns(sql)
  const shape = {
    fields: EVENT_COLUMNS.map(([name]) => name).filter(
      (name) => STAR.test(sql) || new RegExp(`\\b${name}\\b`).test(sql),
    ),
    columns: all.filter(({ owner }) => owner === 'event'),
    has_rest: sql.includes(REST_COLUMN),
    has_uuid_end: sql.includes(UUID_END_COLUMN),
    days,
  }
  const macros = new Map<string, EventMacro>()
  const own = sql.replace(FORM_OR_QUOTED, (text, found?: string) => {
    const form = FORMS.find((name) => `${name}_of` === found)
    if (form === undefined) return text
    const macro = macros.get(form) ?? eventMacro(form, shape)
    macros.set(form, macro)
    return `${macro.name}(`
  })
  const columns = all.filter(({ owner }) => owner !== 'event')
  const relations = RELATIONS.filter((name) =>
    new RegExp(`\\b${name}(?:_lean|_counts)?_of\\(`).test(sql),
  )
  return { sql: own, reads: { relations, columns, events: [...macros.values()] } }
}

const STAR = /\bselect \*|\.\*/i

const FORMS: readonly EventForm[] = ['events', 'events_lean', 'events_counts']
const FORM_OR_QUOTED = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\b(events_(?:counts_|lean_)?of)\(/g

const OWNERS = { '': 'event', g: 'group', p: 'person' } as const
const KINDS = { b: 'boolean', j: 'json', n: 'number', t: 'text' } as const
const COLUMN_NAME = /"p_([gp]?)([bjnt])_((?:[0-9a-f]{2})*)"/g

function neededColumns(sql: string): readonly NeededColumn[] {
  const matches = new Map([...sql.matchAll(COLUMN_NAME)].map((match) => [match[0], match] as const))
  return [...matches.values()].map(([, initial = '', kind = '', hex = '']) => ({
    owner: OWNERS[initial as keyof typeof OWNERS],
    kind: KINDS[kind as keyof typeof KINDS],
    name: Buffer.from(hex, 'hex').toString(),
  }))
}

/** Compiled SQL with the names of forms (`events_of`) instead of those of macros: for people, and for engines that have only these. */
export function withFormNames(sql: string, { events }: QueryReads): string {
  return events.reduce((text, { name, form }) => text.replaceAll(name, `${form}_of`), sql)
}
