/** Filters by project that ClickHouse adds to each table itself, in case a statement had none. */

/** The tables with rows of several projects. */
const TABLES: readonly string[] = [
  'cohort_people',
  'distinct_id_overrides',
  'events',
  'groups',
  'ingestion_warnings',
  'person_distinct_ids',
  'person_overrides',
  'persons',
  'removals',
]

/** The value of ClickHouse's setting `additional_table_filters` for a project. */
export function tableFilters(project_id: number): string {
  if (!Number.isSafeInteger(project_id)) throw new Error(`no project id: ${String(project_id)}`)
  const pairs = TABLES.map((table) => `'${table}':'project_id = ${project_id}'`)
  return `{${pairs.join(',')}}`
}
