/**
 * WAYS: every route, table and member of an answer that leads to a resource beside the routes of its scope, and the
 * right that it takes. The code checks by these tables; a test tries every line with each right missing.
 */
import type { ActivityScope } from '../activity.ts'
import type { Resource, Scope } from './scopes.ts'

/** A right that is needed. */
export type NeededRight = {
  readonly scope: Scope
  /**
   * `key_and_level`: the key needs the scope, and the member the level. `level`: the member's level only, on routes
   * whose clients have keys with the scope of the route alone.
   */
  readonly by: 'key_and_level' | 'level'
}

const right = (scope: Scope): NeededRight => ({ scope, by: 'key_and_level' })
const level = (scope: Scope): NeededRight => ({ scope, by: 'level' })

/** The right to compute an answer, wherever its query is saved; the key has the scope of the route. */
export const QUERY_READ = level('query:read')

/** The right to read a dashboard that another route draws. */
export const DASHBOARD_READ = level('dashboard:read')

/**
 * Routes that lead to a resource beyond their scope. Without the right the call is refused. A new line guards a route.
 */
export const ROUTE_WAYS: ReadonlyMap<string, readonly NeededRight[]> = new Map([
  // Lists of one resource selected by another.
  ['GET cohorts/:id/persons/', [right('person:read')]],
  ['GET persons/cohorts/', [right('cohort:read')]],
  ['POST feature_flags/:id/create_static_cohort_for_flag/', [right('feature_flag:read')]],
  // A hook gets every event that is an action, with its person. Zapier's keys have no scope for persons.
  ['POST hooks/', [right('action:read'), level('person:read')]],
  // Counts of persons by conditions.
  ['POST feature_flags/user_blast_radius/', [right('person:read')]],
  // A public link shows what the member who opens it may read.
  ['GET dashboards/:id/sharing/', [right('dashboard:read')]],
  ['PATCH dashboards/:id/sharing/', [right('dashboard:write'), QUERY_READ]],
  ['POST dashboards/:id/sharing/refresh/', [right('dashboard:write'), QUERY_READ]],
  // An alert shows values of its insight.
  ['GET alerts/', [right('insight:read'), QUERY_READ]],
  ['POST alerts/', [right('insight:read'), QUERY_READ]],
  ['GET alerts/:alert_id/', [right('insight:read'), QUERY_READ]],
  ['PATCH alerts/:alert_id/', [right('insight:read'), QUERY_READ]],
  // A subscription posts the figures of a dashboard.
  ['GET subscriptions/', [right('dashboard:read')]],
  ['POST subscriptions/', [right('dashboard:read'), QUERY_READ]],
  ['GET subscriptions/:id/', [right('dashboard:read')]],
  ['PATCH subscriptions/:id/', [right('dashboard:read'), QUERY_READ]],
  // Routes that compute the same as `query/`.
  ['GET actions/:id/count/', [QUERY_READ]],
  ['POST exports/', [QUERY_READ, level('insight:read')]],
  ['GET exports/:id/content/', [QUERY_READ, level('insight:read')]],
  ['GET insights/trend/', [QUERY_READ]],
  ['POST insights/trend/', [QUERY_READ]],
  ['GET insights/funnel/', [QUERY_READ]],
  ['POST insights/funnel/', [QUERY_READ]],
  ['GET insights/funnel/correlation/', [QUERY_READ]],
  ['POST insights/funnel/correlation/', [QUERY_READ]],
  ['GET insights/retention/', [QUERY_READ]],
  ['POST insights/retention/', [QUERY_READ]],
  ['GET insights/path/', [QUERY_READ]],
  ['POST insights/path/', [QUERY_READ]],
  ['GET persons/funnel/correlation/', [QUERY_READ]],
  ['POST persons/funnel/correlation/', [QUERY_READ]],
  ['GET persons/funnel/', [QUERY_READ]],
  ['POST persons/funnel/', [QUERY_READ]],
  ['GET persons/trends/', [QUERY_READ]],
  ['GET persons/lifecycle/', [QUERY_READ]],
  ['GET persons/stickiness/', [QUERY_READ]],
  ['GET experiments/:id/exposures/', [QUERY_READ]],
  ['GET experiments/:id/results/', [QUERY_READ]],
  ['GET experiments/:id/timeseries_results/', [QUERY_READ]],
  ['GET surveys/responses_count/', [QUERY_READ]],
  ['GET surveys/stats/', [QUERY_READ]],
  ['GET surveys/:id/stats/', [QUERY_READ]],
  ['GET surveys/:id/responses/', [QUERY_READ]],
])

/**
 * An edge (`edge/README.md`) serves the projects in which its key has all of these: it writes events, and answers SDKs
 * from copies of the project's definitions and of the persons that it meets.
 */
export const EDGE_WAYS: readonly NeededRight[] = [
  right('project:write'),
  right('feature_flag:read'),
  right('cohort:read'),
  right('early_access_feature:read'),
  right('experiment:read'),
  right('survey:read'),
  right('plugin:read'),
  right('person:read'),
  right('group:read'),
]

/**
 * Tables of queries. A query that reads one without the right is refused, also if a property, a cohort, a breakdown or
 * a filter joins the table.
 */
export const TABLE_WAYS: ReadonlyMap<string, readonly NeededRight[]> = new Map([
  ['persons', [level('person:read')]],
  ['person_distinct_ids', [level('person:read')]],
  ['cohort_people', [level('person:read'), level('cohort:read')]],
  ['groups', [level('group:read')]],
  ['system.actions', [right('action:read')]],
  ['system.cohorts', [right('cohort:read')]],
  ['system.dashboards', [right('dashboard:read')]],
  ['system.early_access_features', [right('early_access_feature:read')]],
  ['system.experiments', [right('experiment:read')]],
  ['system.feature_flags', [right('feature_flag:read')]],
  ['system.insights', [right('insight:read')]],
  ['system.surveys', [right('survey:read')]],
  ['log_entries', [right('plugin:read')]],
])

/** Members of answers with data of another resource; without the right they are left out, null or shortened. */
export const MEMBER_WAYS = {
  /** The filters of the flags of surveys, experiments and early access features. */
  'linked_flag.filters': right('feature_flag:read'),
  /** The person of each event, in lists of events. */
  'event.person': level('person:read'),
  /** The number of persons in a cohort, which counts persons by any conditions. */
  'cohort.count': level('person:read'),
  /** The persons of a group. */
  'groups/related.persons': right('person:read'),
  /** The properties of persons and groups that the test of a flag reads. */
  'test_evaluation.person': right('person:read'),
  'test_evaluation.group': right('group:read'),
  /** The webhook URL, which contains a secret. */
  'project.slack_incoming_webhook': right('project:write'),
  /** The names of objects that use a flag. */
  'flag.surveys': level('survey:read'),
  'flag.features': level('early_access_feature:read'),
  /** The name of an annotation's insight or dashboard. */
  'annotation.insight': level('insight:read'),
  'annotation.dashboard': level('dashboard:read'),
  /** The results of saved insights, in lists and on dashboards too. */
  'insight.result': QUERY_READ,
  /** The insights on a dashboard. */
  'dashboard.insight': level('insight:read'),
  /** The names that an editor of queries suggests. */
  'editor.events': level('event_definition:read'),
  'editor.properties': level('property_definition:read'),
} as const satisfies Readonly<Record<string, NeededRight>>

export type MemberWay = keyof typeof MEMBER_WAYS

/**
 * The resource of each kind of edit and of log entry. The caller of an edit needs `<resource>:write` by every route;
 * values in the activity log need `<resource>:read`.
 */
export const RESOURCE_OF = {
  Action: 'action',
  AlertConfiguration: 'alert',
  Annotation: 'annotation',
  Cohort: 'cohort',
  Dashboard: 'dashboard',
  EarlyAccessFeature: 'early_access_feature',
  EventDefinition: 'event_definition',
  Experiment: 'experiment',
  ExperimentSavedMetric: 'experiment',
  FeatureFlag: 'feature_flag',
  Group: 'group',
  Holdout: 'experiment',
  Insight: 'insight',
  InsightVariable: 'insight',
  Organization: 'organization',
  OrganizationMembership: 'organization_member',
  Person: 'person',
  PersonalAPIKey: 'user',
  PluginConfig: 'plugin',
  Project: 'project',
  PropertyDefinition: 'property_definition',
  Subscription: 'subscription',
  Survey: 'survey',
} as const satisfies Readonly<Record<ActivityScope, Resource>>

/** Owners of flags by `creation_context`: the right to change a survey, say, includes the flag that it created. */
export const OWNERS_OF_FLAGS: ReadonlyMap<unknown, Resource> = new Map<unknown, Resource>([
  ['early_access_features', 'early_access_feature'],
  ['experiments', 'experiment'],
  ['surveys', 'survey'],
])
