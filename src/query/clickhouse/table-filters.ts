/** A second wall around a project's rows: filters that the server adds to its tables, whatever a statement says. */

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
