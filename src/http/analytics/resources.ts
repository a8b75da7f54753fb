/**
 * A project's definitions and logs as rows of HogQL tables: `system.feature_flags`, `log_entries` and the like.
 */
import { listDashboards } from '../../dashboards/dashboard.ts'
import { listInsights } from '../../dashboards/insight.ts'
import {
  type ResourceName,
  type ResourceRow,
  resourceColumns,
} from '../../hogql/tables/resources.ts'
import { listProjectLog } from '../../plugins/plugin-log.ts'
import type { ControlDB } from '../../projects/access.ts'
import { listWholeActions } from '../../targeting/action.ts'
import { listCohorts } from '../../targeting/cohorts/cohort.ts'
import { listFeatures } from '../../targeting/early-access.ts'
import { listExperiments } from '../../targeting/experiments/experiment.ts'
import { listFlags } from '../../targeting/flags/flag.ts'
import { listSurveys } from '../../targeting/surveys/survey.ts'

/** The most log entries that one query reads, the newest ones. */
const LOG_ENTRIES_MAX = 5000

type ReadResources = (control: ControlDB, project_id: number) => readonly object[]

/** READS: the function that lists a table's rows. Tables without a line are empty. */
const READS: Partial<Record<ResourceName, ReadResources>> = {
  'system.actions': listWholeActions,
  'system.cohorts': listCohorts,
  'system.dashboards': listDashboards,
  'system.early_access_features': listFeatures,
  'system.experiments': listExperiments,
  'system.feature_flags': listFlags,
  'system.insights': listInsights,
  'system.surveys': listSurveys,
  log_entries: (control, project_id) =>
    listProjectLog(control, project_id, LOG_ENTRIES_MAX).map((entry) => ({
      ...entry,
      log_source: 'plugin',
      log_source_id: String(entry.plugin_config_id),
      level: entry.type.toLowerCase(),
    })),
}

/** Returns a project's rows of a table, in the table's columns. */
export function readResource(
  control: ControlDB,
  project_id: number,
  name: ResourceName,
): readonly ResourceRow[] {
  const columns = Object.keys(resourceColumns(name) ?? {})
  const rows = READS[name]?.(control, project_id) ?? []
  return rows.map((row) => {
    const members = new Map<string, unknown>(Object.entries(row))
    return Object.fromEntries(columns.map((column) => [column, cellOf(members.get(column))]))
  })
}

function cellOf(value: unknown): ResourceRow[string] {
  if (value === undefined || value === null) return null
  if (value instanceof Date) return value.getTime()
  if (typeof value === 'object') return JSON.stringify(value)
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : null
}
