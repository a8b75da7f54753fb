/** The catalogue: the tables a question may name, their fields, and the joins that fields bring in when they are used. */

import type { Column, Expr } from './ir.ts'
import type { PhysicalColumn, RelationName } from './ir-queries.ts'
import { bindInt, bindText, sql } from './spell.ts'
import {
  arrayType,
  BOOL,
  dateTimeType,
  INT64,
  STRING,
  TRUTH,
  type Type,
  UUID,
  withNull,
} from './types.ts'

/** One row of a scanned relation, as field definitions see it. */
export type Source = {
  readonly project_id: number
  readonly timezone: string
  column(name: PhysicalColumn, type: Type): Column
  /** The row joined under a name of the table's `joins`; the join is made once, when first asked for. */
  join(name: string): Source
}

/** A field is a value, or (`person`, `pdi`, `group_0`) a row of its own whose fields follow after a dot. */
export type FieldDef =
  | { readonly kind: 'row'; readonly fields: Fields }
  | { readonly kind: 'value'; readonly starred: boolean; readonly build: (source: Source) => Expr }
export type Fields = Readonly<Record<string, FieldDef>>

/** A left join made on demand. */
export type JoinDef = {
  readonly table: TableDef
  readonly on: (parent: Source, joined: Source) => Expr
}
export type TableDef = {
  readonly relation: RelationName
  readonly fields: Fields
  readonly joins: Readonly<Record<string, JoinDef>>
}

const UTC_SHOWN = (source: Source): Type => dateTimeType(source.timezone)

function plain(name: PhysicalColumn, type: Type): FieldDef {
  return { kind: 'value', starred: true, build: (source) => source.column(name, type) }
}

function time(name: PhysicalColumn): FieldDef {
  return { kind: 'value', starred: true, build: (source) => source.column(name, UTC_SHOWN(source)) }
}

function json(owner: string): FieldDef {
  return plain('properties', { kind: 'json', owner, nullable: false })
}

function computed(build: (source: Source) => Expr, starred = true): FieldDef {
  return { kind: 'value', starred, build }
}

const TEAM_ID = computed((source) => bindInt(source.project_id, true), false)

/** The same fields, read from a joined row. */
function through(join: string, fields: Fields): FieldDef {
  const reached = Object.entries(fields).map(([name, field]): [string, FieldDef] =>
    field.kind === 'row'
      ? [name, through(join, field.fields)]
      : [name, { ...field, build: (source) => field.build(source.join(join)) }],
  )
  return { kind: 'row', fields: Object.fromEntries(reached) }
}

function equal(left: Expr, right: Expr): Expr {
  return sql`${left} = ${right}`(TRUTH)
}

// ── persons ──────────────────────────────────────────────────────────────────────────────────

const PERSON_FIELDS: Fields = {
  id: plain('id', UUID),
  created_at: time('created_at'),
  team_id: TEAM_ID,
  properties: json('person'),
  is_identified: plain('is_identified', BOOL),
}

const PERSON_DISTINCT_ID_FIELDS: Fields = {
  distinct_id: plain('distinct_id', STRING),
  person_id: plain('person_id', UUID),
  team_id: TEAM_ID,
}

const BARE_PERSONS: TableDef = { relation: 'persons', fields: PERSON_FIELDS, joins: {} }
const BARE_DISTINCT_IDS: TableDef = {
  relation: 'person_distinct_ids',
  fields: PERSON_DISTINCT_ID_FIELDS,
  joins: {},
}

const PERSONS: TableDef = {
  relation: 'persons',
  fields: { ...PERSON_FIELDS, pdi: through('pdi', PERSON_DISTINCT_ID_FIELDS) },
  joins: {
    pdi: {
      table: BARE_DISTINCT_IDS,
      on: (person, pdi) => equal(pdi.column('person_id', UUID), person.column('id', UUID)),
    },
  },
}

const PERSON_DISTINCT_IDS: TableDef = {
  relation: 'person_distinct_ids',
  fields: { ...PERSON_DISTINCT_ID_FIELDS, person: through('person', PERSON_FIELDS) },
  joins: {
    person: {
      table: BARE_PERSONS,
      on: (pdi, person) => equal(person.column('id', UUID), pdi.column('person_id', UUID)),
    },
  },
}

const NOT_DELETED = computed(() => bindInt(0), true)

// ── groups ───────────────────────────────────────────────────────────────────────────────────

function groupFields(owner: string): Fields {
  return {
    index: plain('index', INT64),
    key: plain('key', STRING),
    team_id: TEAM_ID,
    created_at: time('created_at'),
    updated_at: time('updated_at'),
    properties: json(owner),
  }
}

const GROUPS: TableDef = { relation: 'groups', fields: groupFields('group'), joins: {} }

type GroupColumn = PhysicalColumn & `group_${number}`
const GROUP_COLUMNS: readonly GroupColumn[] = [
  'group_0',
  'group_1',
  'group_2',
  'group_3',
  'group_4',
]

function groupJoin(column: GroupColumn, index: number): JoinDef {
  return {
    table: { relation: 'groups', fields: groupFields(column), joins: {} },
    on: (event, group) => {
      const same_key = equal(group.column('key', STRING), event.column(column, STRING))
      const same_type = equal(group.column('index', INT64), bindInt(index, true))
      return sql`${same_type} AND ${same_key}`(TRUTH)
    },
  }
}

const GROUP_JOINS = Object.fromEntries(
  GROUP_COLUMNS.map((column, index) => [column, groupJoin(column, index)]),
)
const GROUP_ROWS = Object.fromEntries(
  GROUP_COLUMNS.map((column) => [column, through(column, groupFields(column))]),
)
const GROUP_ROWS_ON_EVENTS = Object.fromEntries(
  GROUP_COLUMNS.map((column, index) => [`goe_${index}`, through(column, groupFields(column))]),
)
const GROUP_KEYS = Object.fromEntries(
  GROUP_COLUMNS.map((column) => [
    `$${column}`,
    computed((event) => orEmpty(event.column(column, withNull(STRING)))),
  ]),
)

// ── events ───────────────────────────────────────────────────────────────────────────────────

/** The event's own columns of ClickHouse hold '' where there is nothing. */
function orEmpty(text: Expr): Expr {
  return sql`coalesce(${text}, '')`(STRING)
}

function eventProperty(name: string): FieldDef {
  return computed((event) => {
    const of = event.column('properties', { kind: 'json', owner: 'event', nullable: false })
    return orEmpty({ kind: 'property', of, path: [name], type: withNull(STRING) })
  })
}

/** The person an event belongs to today: merges since then are in the overrides. */
function personOfEvent(event: Source): Expr {
  const today = event.join('override').column('person_id', UUID)
  return sql`coalesce(${today}, ${event.column('person_id', UUID)})`(UUID)
}

function chainPart(pattern: string, list: boolean): FieldDef {
  return computed((event) => {
    const chain = event.column('elements_chain', STRING)
    return list
      ? sql`ch_array_distinct(regexp_extract_all(${chain}, ${bindText(pattern)}, 1))`(
          arrayType(STRING),
        )
      : sql`regexp_extract(${chain}, ${bindText(pattern)}, 1)`(STRING)
  })
}

const EVENT_JOINS: Readonly<Record<string, JoinDef>> = {
  override: {
    table: { relation: 'person_overrides', fields: {}, joins: {} },
    on: (event, override) =>
      equal(override.column('old_person_id', UUID), event.column('person_id', UUID)),
  },
  person: {
    table: BARE_PERSONS,
    on: (event, person) => equal(person.column('id', UUID), personOfEvent(event)),
  },
  pdi: {
    table: PERSON_DISTINCT_IDS,
    on: (event, pdi) =>
      equal(pdi.column('distinct_id', STRING), event.column('distinct_id', STRING)),
  },
  ...GROUP_JOINS,
}

/** A person reached from an event: its id is known without reading persons, also for events without a profile. */
const PERSON_OF_EVENT: FieldDef = personRow(computed(personOfEvent))
const PERSON_AT_EVENT_TIME: FieldDef = personRow(plain('person_id', UUID))

function personRow(id: FieldDef): FieldDef {
  const joined = through('person', PERSON_FIELDS)
  return { kind: 'row', fields: { ...(joined.kind === 'row' ? joined.fields : {}), id } }
}

const EVENTS: TableDef = {
  relation: 'events',
  fields: {
    uuid: plain('uuid', UUID),
    event: plain('event', STRING),
    properties: json('event'),
    timestamp: time('timestamp'),
    team_id: TEAM_ID,
    distinct_id: plain('distinct_id', STRING),
    elements_chain: plain('elements_chain', STRING),
    created_at: time('created_at'),
    $session_id: eventProperty('$session_id'),
    $window_id: eventProperty('$window_id'),
    ...GROUP_KEYS,
    elements_chain_href: chainPart('(?::|")href="(.*?)"', false),
    elements_chain_texts: chainPart('(?::|")text="(.*?)"', true),
    elements_chain_ids: chainPart('(?::|")attr_id="(.*?)"', true),
    elements_chain_elements: chainPart(
      '(?:^|;)(a|button|form|input|select|textarea|label)(?:\\.|$|:)',
      true,
    ),
    person_mode: plain('person_mode', STRING),
    person_id: { ...computed(personOfEvent, false) },
    person: PERSON_OF_EVENT,
    poe: PERSON_AT_EVENT_TIME,
    pdi: through('pdi', PERSON_DISTINCT_IDS.fields),
    ...GROUP_ROWS,
    ...GROUP_ROWS_ON_EVENTS,
  },
  joins: EVENT_JOINS,
}

/** Every table by its name. `raw_` twins show the bookkeeping columns too; deleted rows are not mirrored. */
export const TABLES: ReadonlyMap<string, TableDef> = new Map([
  ['events', EVENTS],
  ['persons', PERSONS],
  ['person_distinct_ids', PERSON_DISTINCT_IDS],
  ['groups', GROUPS],
  [
    'raw_persons',
    {
      ...PERSONS,
      fields: { ...PERSONS.fields, is_deleted: NOT_DELETED, version: plain('version', INT64) },
    },
  ],
  [
    'raw_person_distinct_ids',
    {
      ...PERSON_DISTINCT_IDS,
      fields: {
        ...PERSON_DISTINCT_IDS.fields,
        is_deleted: NOT_DELETED,
        version: plain('version', INT64),
      },
    },
  ],
  ['raw_groups', GROUPS],
])
