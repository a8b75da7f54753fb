/** The events table and everything derived from an event. */

import type { ResolvedExpr } from '../sql/ir.ts'
import { applyFragment, bindText } from '../sql/sql-fragments.ts'
import { arrayType, STRING, TRUTH, UUID, withNull } from '../types/types.ts'
import {
  computedField,
  equal,
  type FieldDef,
  type JoinDef,
  joinedFields,
  json,
  orEmpty,
  plainColumn,
  type ScanDef,
  type TableSource,
  TEAM_ID,
  time,
} from './definition.ts'
import { GROUP_JOINS, GROUP_KEYS, GROUP_ROWS, GROUP_ROWS_ON_EVENTS } from './groups.ts'
import { BARE_PERSONS, PERSON_DISTINCT_IDS, PERSON_FIELDS } from './persons.ts'

function eventProperty(name: string): FieldDef {
  return computedField((event) => {
    const of = event.column('properties', { kind: 'json', owner: 'event', nullable: false })
    return orEmpty({ kind: 'property', of, path: [name], type: withNull(STRING) })
  })
}

/** The session's id where it is a UUID. */
const SESSION_UUID: FieldDef = computedField((event) => {
  const of = event.column('properties', { kind: 'json', owner: 'event', nullable: false })
  const id: ResolvedExpr = { kind: 'property', of, path: ['$session_id'], type: withNull(STRING) }
  return applyFragment('toUUIDOrNull', [id], withNull(UUID))
}, false)

/** The person an event belongs to today: the override where there is one, else the stored person. */
function personOfEvent(event: TableSource): ResolvedExpr {
  const today = event.join('override').column('person_id', UUID)
  const then = event.column('person_id', UUID)
  // DuckDB chooses between two columns faster than it evaluates coalesce over a list.
  return applyFragment('if', [applyFragment('isNull', [today], TRUTH), then, today], UUID)
}

function chainPart(pattern: string, list: boolean): FieldDef {
  return computedField((event) => {
    const chain = event.column('elements_chain', STRING)
    if (!list) return applyFragment('extract', [chain, bindText(pattern)], STRING)
    const all = applyFragment('extractAll', [chain, bindText(pattern)], arrayType(STRING))
    return applyFragment('arrayDistinct', [all], arrayType(STRING))
  })
}

const EVENT_JOINS: Readonly<Record<string, JoinDef>> = {
  override: {
    table: { kind: 'scan', relation: 'person_overrides', fields: {}, joins: {} },
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

/** The person of an event: its id needs no join with persons, also for events without a profile. */
const PERSON_OF_EVENT: FieldDef = personRow(computedField(personOfEvent))
const PERSON_AT_EVENT_TIME: FieldDef = personRow(plainColumn('person_id', UUID))

function personRow(id: FieldDef): FieldDef {
  const joined = joinedFields('person', PERSON_FIELDS)
  return { kind: 'row', fields: { ...(joined.kind === 'row' ? joined.fields : {}), id } }
}

/** Events without fields that are themselves computed from events. */
export const EVENTS_ALONE: ScanDef = {
  kind: 'scan',
  relation: 'events',
  fields: {
    uuid: plainColumn('uuid', UUID),
    event: plainColumn('event', STRING),
    properties: json('event'),
    timestamp: time('timestamp'),
    team_id: TEAM_ID,
    distinct_id: plainColumn('distinct_id', STRING),
    elements_chain: plainColumn('elements_chain', STRING),
    created_at: time('created_at'),
    $session_id: eventProperty('$session_id'),
    $window_id: eventProperty('$window_id'),
    $session_id_uuid: SESSION_UUID,
    ...GROUP_KEYS,
    elements_chain_href: chainPart('(?::|")href="(.*?)"', false),
    elements_chain_texts: chainPart('(?::|")text="(.*?)"', true),
    elements_chain_ids: chainPart('(?::|")attr_id="(.*?)"', true),
    elements_chain_elements: chainPart(
      '(?:^|;)(a|button|form|input|select|textarea|label)(?:\\.|$|:)',
      true,
    ),
    person_mode: plainColumn('person_mode', STRING),
    person_id: { ...computedField(personOfEvent, false) },
    person: PERSON_OF_EVENT,
    poe: PERSON_AT_EVENT_TIME,
    pdi: joinedFields('pdi', PERSON_DISTINCT_IDS.fields),
    ...GROUP_ROWS,
    ...GROUP_ROWS_ON_EVENTS,
  },
  joins: EVENT_JOINS,
}
