/** TABLES: the catalog of every table a query can name. */

import {
  COHORT_PEOPLE,
  PERSON_DISTINCT_ID_OVERRIDES,
  RAW_PERSON_DISTINCT_ID_OVERRIDES,
  STATIC_COHORT_PEOPLE,
} from './cohorts.ts'
import { joinedFields, type ScanDef, type TableDef } from './definition.ts'
import { EVENTS_ALONE } from './events.ts'
import { GROUPS } from './groups.ts'
import { PERSON_DISTINCT_IDS, PERSONS, RAW_PERSON_DISTINCT_IDS, RAW_PERSONS } from './persons.ts'
import { SESSION_OF_EVENT, SESSIONS } from './sessions.ts'
import { INGESTION_WARNINGS } from './warnings.ts'

const EVENTS: ScanDef = {
  ...EVENTS_ALONE,
  fields: { ...EVENTS_ALONE.fields, session: joinedFields('session', SESSIONS.fields) },
  joins: { ...EVENTS_ALONE.joins, session: SESSION_OF_EVENT },
}

/**
 * Every table by name. `raw_` twins include the bookkeeping columns. Adding a line adds a table to
 * FROM and to `system.information_schema`.
 */
export const TABLES: ReadonlyMap<string, TableDef> = new Map<string, TableDef>([
  ['events', EVENTS],
  ['persons', PERSONS],
  ['person_distinct_ids', PERSON_DISTINCT_IDS],
  ['person_distinct_id_overrides', PERSON_DISTINCT_ID_OVERRIDES],
  ['groups', GROUPS],
  ['sessions', SESSIONS],
  ['cohort_people', COHORT_PEOPLE],
  ['static_cohort_people', STATIC_COHORT_PEOPLE],
  ['ingestion_warnings', INGESTION_WARNINGS],
  ['raw_persons', RAW_PERSONS],
  ['raw_person_distinct_ids', RAW_PERSON_DISTINCT_IDS],
  ['raw_person_distinct_id_overrides', RAW_PERSON_DISTINCT_ID_OVERRIDES],
  ['raw_groups', GROUPS],
  ['raw_sessions', SESSIONS],
  ['raw_cohort_people', COHORT_PEOPLE],
])
