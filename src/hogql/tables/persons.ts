/** Persons and their distinct ids. */

import { bindInt } from '../sql/sql-fragments.ts'
import { BOOL, INT64, STRING, UUID } from '../types/types.ts'
import {
  computedField,
  equal,
  joinedFields,
  json,
  plainColumn,
  type ScanDef,
  type TableFields,
  TEAM_ID,
  time,
} from './definition.ts'
export const PERSON_FIELDS: TableFields = {
  id: plainColumn('id', UUID),
  created_at: time('created_at'),
  team_id: TEAM_ID,
  properties: json('person'),
  is_identified: plainColumn('is_identified', BOOL),
}

const PERSON_DISTINCT_ID_FIELDS: TableFields = {
  distinct_id: plainColumn('distinct_id', STRING),
  person_id: plainColumn('person_id', UUID),
  team_id: TEAM_ID,
}

export const BARE_PERSONS: ScanDef = {
  kind: 'scan',
  relation: 'persons',
  fields: PERSON_FIELDS,
  joins: {},
}
const BARE_DISTINCT_IDS: ScanDef = {
  kind: 'scan',
  relation: 'person_distinct_ids',
  fields: PERSON_DISTINCT_ID_FIELDS,
  joins: {},
}

export const PERSONS: ScanDef = {
  kind: 'scan',
  relation: 'persons',
  fields: { ...PERSON_FIELDS, pdi: joinedFields('pdi', PERSON_DISTINCT_ID_FIELDS) },
  joins: {
    pdi: {
      table: BARE_DISTINCT_IDS,
      on: (person, pdi) => equal(pdi.column('person_id', UUID), person.column('id', UUID)),
    },
  },
}

export const PERSON_DISTINCT_IDS: ScanDef = {
  kind: 'scan',
  relation: 'person_distinct_ids',
  fields: { ...PERSON_DISTINCT_ID_FIELDS, person: joinedFields('person', PERSON_FIELDS) },
  joins: {
    person: {
      table: BARE_PERSONS,
      on: (pdi, person) => equal(person.column('id', UUID), pdi.column('person_id', UUID)),
    },
  },
}

const NOT_DELETED = computedField(() => bindInt(0), true)

/** The `raw_` twins with bookkeeping columns; deleted rows are not replicated. */
export const RAW_PERSONS: ScanDef = {
  ...PERSONS,
  fields: { ...PERSONS.fields, is_deleted: NOT_DELETED, version: plainColumn('version', INT64) },
}
export const RAW_PERSON_DISTINCT_IDS: ScanDef = {
  ...PERSON_DISTINCT_IDS,
  fields: {
    ...PERSON_DISTINCT_IDS.fields,
    is_deleted: NOT_DELETED,
    version: plainColumn('version', INT64),
  },
}
