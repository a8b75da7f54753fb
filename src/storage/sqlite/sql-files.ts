/** Every SQL file the executable carries, embedded as text. */
import answers from '../../../sql/cache/0001_answers.sql' with { type: 'text' }
import answersWithEnds from '../../../sql/cache/0002_answers_with_ends.sql' with { type: 'text' }
import projects from '../../../sql/control/0001_projects.sql' with { type: 'text' }
import flags from '../../../sql/control/0002_flags.sql' with { type: 'text' }
import management from '../../../sql/control/0003_management.sql' with { type: 'text' }
import actions from '../../../sql/control/0004_actions.sql' with { type: 'text' }
import retention from '../../../sql/control/0005_retention.sql' with { type: 'text' }
import boards from '../../../sql/control/0006_boards.sql' with { type: 'text' }
import annotations from '../../../sql/control/0007_annotations.sql' with { type: 'text' }
import firstDashboard from '../../../sql/control/0008_first_dashboard.sql' with { type: 'text' }
import insightVariables from '../../../sql/control/0009_insight_variables.sql' with { type: 'text' }
import experimentExposure from '../../../sql/control/0010_experiment_exposure.sql' with {
  type: 'text',
}
import flagSchedules from '../../../sql/control/0011_flag_schedules.sql' with { type: 'text' }
import surveyResponses from '../../../sql/control/0012_survey_responses.sql' with { type: 'text' }
import cohortCalculations from '../../../sql/control/0013_cohort_calculations.sql' with {
  type: 'text',
}
import experimentMetrics from '../../../sql/control/0014_experiment_metrics.sql' with {
  type: 'text',
}
import definitions from '../../../sql/control/0015_definitions.sql' with { type: 'text' }
import insightViews from '../../../sql/control/0016_insight_views.sql' with { type: 'text' }
import addresses from '../../../sql/control/0017_addresses.sql' with { type: 'text' }
import deletedAt from '../../../sql/control/0018_deleted_at.sql' with { type: 'text' }
import login from '../../../sql/control/0019_login.sql' with { type: 'text' }
import groupTypeNames from '../../../sql/control/0020_group_type_names.sql' with { type: 'text' }
import savedExports from '../../../sql/control/0021_exports.sql' with { type: 'text' }
import sharedDashboards from '../../../sql/control/0022_sharing.sql' with { type: 'text' }
import exportDashboards from '../../../sql/control/0023_export_dashboards.sql' with { type: 'text' }
import alerts from '../../../sql/control/0024_alerts.sql' with { type: 'text' }
import subscriptions from '../../../sql/control/0025_subscriptions.sql' with { type: 'text' }
import edgeDefinitions from '../../../sql/control/0026_edge_definitions.sql' with { type: 'text' }
import movedProjects from '../../../sql/control/0027_moved_projects.sql' with { type: 'text' }
import rowsByProject from '../../../sql/control/0028_rows_by_project.sql' with { type: 'text' }
import home from '../../../sql/control/0029_home.sql' with { type: 'text' }
import references from '../../../sql/control/0030_references.sql' with { type: 'text' }
import insightsByChange from '../../../sql/control/0031_insights_by_change.sql' with {
  type: 'text',
}
import clientSettings from '../../../sql/control/0032_client_settings.sql' with { type: 'text' }
import derivedNames from '../../../sql/control/0033_derived_names.sql' with { type: 'text' }
import macros from '../../../sql/duckdb/macros.sql' with { type: 'text' }
import relations from '../../../sql/duckdb/relations.sql' with { type: 'text' }
import eventLog from '../../../sql/events/0001_event_log.sql' with { type: 'text' }
import manifest from '../../../sql/events/0002_manifest.sql' with { type: 'text' }
import ingest from '../../../sql/events/0003_ingest.sql' with { type: 'text' }
import eventFlags from '../../../sql/events/0004_flags.sql' with { type: 'text' }
import propertyColumns from '../../../sql/events/0005_property_columns.sql' with { type: 'text' }
import cohortChanges from '../../../sql/events/0006_cohort_changes.sql' with { type: 'text' }
import warnings from '../../../sql/events/0007_warnings.sql' with { type: 'text' }
import identity from '../../../sql/events/0008_identity.sql' with { type: 'text' }
import layouts from '../../../sql/events/0009_layouts.sql' with { type: 'text' }
import rowsOfPeople from '../../../sql/events/0010_rows_of_people.sql' with { type: 'text' }
import mainIds from '../../../sql/events/0011_main_ids.sql' with { type: 'text' }
import removalIds from '../../../sql/events/0012_removal_ids.sql' with { type: 'text' }
import mirrorFiles from '../../../sql/events/0013_mirror_files.sql' with { type: 'text' }
import ownForms from '../../../sql/events/0014_own_forms.sql' with { type: 'text' }
import requestSlices from '../../../sql/events/0015_request_slices.sql' with { type: 'text' }
import sliceProgress from '../../../sql/events/0016_slice_progress.sql' with { type: 'text' }
import plannerStatistics from '../../../sql/events/0017_planner_statistics.sql' with {
  type: 'text',
}
import edges from '../../../sql/events/0018_edges.sql' with { type: 'text' }
import edgeBacklog from '../../../sql/events/0019_edge_backlog.sql' with { type: 'text' }
import shipments from '../../../sql/events/0020_shipments.sql' with { type: 'text' }
import edgeCopies from '../../../sql/events/0021_edge_copies.sql' with { type: 'text' }
import deletedGroups from '../../../sql/events/0022_deleted_groups.sql' with { type: 'text' }
import wholeNumbers from '../../../sql/events/0023_whole_numbers.sql' with { type: 'text' }
import edgeMoved from '../../../sql/events/0024_edge_moved.sql' with { type: 'text' }
import type { Migration } from './sqlite.ts'

/** The schema of events.db, oldest step first. */
export const EVENTS_MIGRATIONS: readonly Migration[] = [
  { name: '0001_event_log', sql: eventLog },
  { name: '0002_manifest', sql: manifest },
  { name: '0003_ingest', sql: ingest },
  { name: '0004_flags', sql: eventFlags },
  { name: '0005_property_columns', sql: propertyColumns },
  { name: '0006_cohort_changes', sql: cohortChanges },
  { name: '0007_warnings', sql: warnings },
  { name: '0008_identity', sql: identity },
  { name: '0009_layouts', sql: layouts },
  { name: '0010_rows_of_people', sql: rowsOfPeople },
  { name: '0011_main_ids', sql: mainIds },
  { name: '0012_removal_ids', sql: removalIds },
  { name: '0013_mirror_files', sql: mirrorFiles },
  { name: '0014_own_forms', sql: ownForms },
  { name: '0015_request_slices', sql: requestSlices },
  { name: '0016_slice_progress', sql: sliceProgress },
  { name: '0017_planner_statistics', sql: plannerStatistics },
  { name: '0018_edges', sql: edges },
  { name: '0019_edge_backlog', sql: edgeBacklog },
  { name: '0020_shipments', sql: shipments },
  { name: '0021_edge_copies', sql: edgeCopies },
  { name: '0022_deleted_groups', sql: deletedGroups },
  { name: '0023_whole_numbers', sql: wholeNumbers },
  { name: '0024_edge_moved', sql: edgeMoved },
]

/** The schema of control.db, oldest step first. */
export const CONTROL_MIGRATIONS: readonly Migration[] = [
  { name: '0001_projects', sql: projects },
  { name: '0002_flags', sql: flags },
  { name: '0003_management', sql: management },
  { name: '0004_actions', sql: actions },
  { name: '0005_retention', sql: retention },
  { name: '0006_boards', sql: boards },
  { name: '0007_annotations', sql: annotations },
  { name: '0008_first_dashboard', sql: firstDashboard },
  { name: '0009_insight_variables', sql: insightVariables },
  { name: '0010_experiment_exposure', sql: experimentExposure },
  { name: '0011_flag_schedules', sql: flagSchedules },
  { name: '0012_survey_responses', sql: surveyResponses },
  { name: '0013_cohort_calculations', sql: cohortCalculations },
  { name: '0014_experiment_metrics', sql: experimentMetrics },
  { name: '0015_definitions', sql: definitions },
  { name: '0016_insight_views', sql: insightViews },
  { name: '0017_addresses', sql: addresses },
  { name: '0018_deleted_at', sql: deletedAt },
  { name: '0019_login', sql: login },
  { name: '0020_group_type_names', sql: groupTypeNames },
  { name: '0021_exports', sql: savedExports },
  { name: '0022_sharing', sql: sharedDashboards },
  { name: '0023_export_dashboards', sql: exportDashboards },
  { name: '0024_alerts', sql: alerts },
  { name: '0025_subscriptions', sql: subscriptions },
  { name: '0026_edge_definitions', sql: edgeDefinitions },
  { name: '0027_moved_projects', sql: movedProjects },
  { name: '0028_rows_by_project', sql: rowsByProject },
  { name: '0029_home', sql: home },
  { name: '0030_references', sql: references },
  { name: '0031_insights_by_change', sql: insightsByChange },
  { name: '0032_client_settings', sql: clientSettings },
  { name: '0033_derived_names', sql: derivedNames },
]

/** The schema of cache.db, oldest step first. */
export const CACHE_MIGRATIONS: readonly Migration[] = [
  { name: '0001_answers', sql: answers },
  { name: '0002_answers_with_ends', sql: answersWithEnds },
]

/** The tables and table macros of one project in DuckDB. */
export const DUCKDB_RELATIONS: string = relations

/** Macros that behave as ClickHouse's functions where DuckDB's differ; every instance needs them before it is locked. */
export const DUCKDB_MACROS: string = macros
