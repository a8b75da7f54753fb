/** EDGE_TABLES: the tables of control.db that an edge has copies of, for the projects that it serves. */
import type { GroupTypeCopy } from '../storage/persons/edge-persons.ts'

type EdgeTable = {
  readonly name: string
  /** An SQL condition on the copied rows of a project (`?`). */
  readonly where: string
  /** Columns that stay at home: secrets, and references to rows that are not copied. */
  readonly hidden: readonly string[]
}

/** A new line copies one more table. Every table has the column `id`. */
export const EDGE_TABLES: readonly EdgeTable[] = [
  {
    name: 'organizations',
    where: 'id = (select organization_id from projects where id = ?)',
    hidden: [],
  },
  {
    name: 'projects',
    where: 'id = ?',
    hidden: ['slack_incoming_webhook', 'primary_dashboard'],
  },
  {
    name: 'feature_flags',
    where: 'project_id = ? and deleted = 0',
    hidden: ['created_by', 'last_modified_by', 'usage_dashboard'],
  },
  { name: 'cohorts', where: 'project_id = ? and deleted = 0', hidden: ['created_by', 'query'] },
  { name: 'early_access_features', where: 'project_id = ?', hidden: [] },
  { name: 'surveys', where: 'project_id = ?', hidden: ['created_by'] },
  {
    name: 'experiments',
    where: "project_id = ? and type = 'web' and deleted = 0",
    hidden: ['created_by', 'exposure_cohort_id', 'holdout_id'],
  },
  // Transformations; destinations have secrets, and run at home.
  {
    name: 'plugin_configs',
    where: 'project_id = ? and plugin_id between 1 and 5',
    hidden: ['created_by', 'sent_seq'],
  },
]

/** A row as it is sent: columns by name. A column that the receiver does not know is ignored. */
export type ReplicatedRow = Readonly<Record<string, string | number | null>>

/** The body of `GET /_edge/v1/definitions`. */
export type CopiedDefinitions = {
  readonly wire: number
  readonly tables: Readonly<Record<string, readonly ReplicatedRow[]>>
  readonly group_types: readonly GroupTypeCopy[]
}
