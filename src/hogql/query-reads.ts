/** Finds the relations, columns and days that a lowered statement reads, as data for the process that executes it. */

import {
  type NeededColumn,
  neededColumnName,
  REST_COLUMN,
  UUID_END_COLUMN,
} from '../column-names.ts'
import { type EventDays, eventDays } from './event-days.ts'
import { mapStatement } from './passes/walk.ts'
import type { EventForm, Relation, RelationName, Statement } from './sql/ir.ts'

/** The macro that one query reads events from. It contains only the columns that the query needs, because DuckDB binds all of it, twice. */
export type EventMacro = {
  /** The name in the SQL: the form and a digest of everything below. */
  readonly name: string
  readonly form: EventForm
  /** The names of all columns that the query reads, those of its other relations included. */
  readonly fields: readonly string[]
  /** Property columns of events. */
  readonly columns: readonly NeededColumn[]
  /** With the JSON of properties that have no column. */
  readonly has_rest: boolean
  /** With the half of uuids that look-ups by uuid use. */
  readonly has_uuid_end: boolean
  /** No event of other days can contribute to the result. */
  readonly days: EventDays
}

/** The relations and columns that a query reads. */
export type QueryReads = {
  readonly relations: readonly RelationName[]
  /** Property columns of persons and groups. */
  readonly columns: readonly NeededColumn[]
  /** One macro per form of events. */
  readonly events: readonly EventMacro[]
}

/** A query that reads nothing stored. */
export const NO_READS: QueryReads = { relations: [], columns: [], events: [] }

/** Collects the relations, columns and days of a lowered statement; `relations` come from its resolution. */
export function queryReads(statement: Statement, relations: readonly RelationName[]): QueryReads {
  const columns = new Map<string, NeededColumn>()
  const names = new Set<string>()
  const forms = new Set<EventForm>()
  const addForms = (relation: Relation | null): void => {
    if (relation?.kind === 'scan' && isEventForm(relation.table)) forms.add(relation.table)
    if (relation?.kind !== 'join') return
    addForms(relation.left)
    addForms(relation.right)
  }
  mapStatement(statement, {
    expr: (expr) => {
      if (expr.kind !== 'column') return expr
      names.add(expr.name)
      if (expr.property !== undefined) columns.set(expr.name, expr.property)
      return expr
    },
    select: (select) => {
      addForms(select.from)
      return select
    },
  })
  const all = [...columns.values()]
  const shape = {
    fields: [...names].filter((name) => !columns.has(name)).toSorted(),
    columns: all.filter(({ owner = 'event' }) => owner === 'event'),
    has_rest: names.has(REST_COLUMN),
    has_uuid_end: names.has(UUID_END_COLUMN),
    days: eventDays(statement),
  }
  return {
    relations,
    columns: all.filter(({ owner = 'event' }) => owner !== 'event'),
    events: [...forms].map((form) => eventMacro(form, shape)),
  }
}

/** Names the macro of a form; equal shapes get equal names. */
export function eventMacro(form: EventForm, shape: Omit<EventMacro, 'form' | 'name'>): EventMacro {
  const { fields, columns, has_rest, has_uuid_end, days } = shape
  const names = columns.map((column) => neededColumnName(column) ?? '').toSorted()
  const text = JSON.stringify([fields, names, has_rest, has_uuid_end, days])
  const digest = new Bun.CryptoHasher('sha256').update(text).digest('hex')
  return { name: `${form}_of_${digest.slice(0, DIGEST_DIGITS)}`, form, ...shape }
}

const DIGEST_DIGITS = 32

const EVENT_FORMS = ['events', 'events_counts', 'events_lean'] as const satisfies EventForm[]

const isEventForm = (table: string): table is EventForm =>
  EVENT_FORMS.some((form) => form === table)
