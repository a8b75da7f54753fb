/**
 * WAYS: every way that leads to a resource beside the routes of its own scope, and the right that each way takes. The code
 * checks by these tables, and a test walks each line of them with each right missing.
 */
import type { ActivityScope } from './activity.ts'
import type { Resource, Scope } from './scopes.ts'

/** A right that a way takes. */
export type Need = {
  readonly scope: Scope
  /**
   * `key_and_level`: the key has to hold the scope, and the member the level. `level`: only the member's level counts,
   * where clients come with keys that hold the scope of the route alone.
   */
  readonly by: 'key_and_level' | 'level'
}

const right = (scope: Scope): Need => ({ scope, by: 'key_and_level' })
const level = (scope: Scope): Need => ({ scope, by: 'level' })

/** What computing an answer takes, wherever the question was saved; the key has the scope of the route that computes. */
export const QUERY_READ = level('query:read')

/** Routes of projects that lead to more than the resource of their scope; the call is refused. Adding a route here guards it. */
export const ROUTE_WAYS: ReadonlyMap<string, readonly Need[]> = new Map([
  // Lists of one resource that another is named in.
  ['GET cohorts/:id/persons/', [right('person:read')]],
  ['GET persons/cohorts/', [right('cohort:read')]],
  ['POST feature_flags/:id/create_static_cohort_for_flag/', [right('feature_flag:read')]],
  // Counts by conditions on properties of persons.
  ['POST feature_flags/user_blast_radius/', [level('person:read')]],
  // Routes that compute what `query/` would compute.
  ['GET insights/trend/', [QUERY_READ]],
  ['POST insights/trend/', [QUERY_READ]],
  ['GET insights/funnel/', [QUERY_READ]],
  ['POST insights/funnel/', [QUERY_READ]],
  ['GET insights/retention/', [QUERY_READ]],
  ['POST insights/retention/', [QUERY_READ]],
  ['GET insights/path/', [QUERY_READ]],
  ['POST insights/path/', [QUERY_READ]],
  ['GET persons/funnel/correlation/', [QUERY_READ]],
  ['POST persons/funnel/correlation/', [QUERY_READ]],
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
 * Tables that queries read, and what they tell; a query that reads one without the right is refused, also where a
 * property, a cohort, a breakdown or a filter joins the table in.
 */
export const TABLE_WAYS: ReadonlyMap<string, readonly Need[]> = new Map([
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

/** Members of answers that show another resource; without the right they are left out, null or shortened. */
export const MEMBER_WAYS = {
  /** The filters of a flag, where surveys, experiments and early access features show the flags they stand on. */
  'linked_flag.filters': right('feature_flag:read'),
  /** The person of each event, in lists of events. */
  'event.person': level('person:read'),
  /** The persons that came with a group. */
  'groups/related.persons': right('person:read'),
  /** The values that a flag that is tried out read of the person, and of groups. */
  'test_evaluation.person': right('person:read'),
  'test_evaluation.group': right('group:read'),
  /** The address that holds its own secret. */
  'project.slack_incoming_webhook': right('project:write'),
  /** What hangs on a flag, by name. */
  'flag.surveys': level('survey:read'),
  'flag.features': level('early_access_feature:read'),
  /** What an annotation is about, by name. */
  'annotation.insight': level('insight:read'),
  'annotation.dashboard': level('dashboard:read'),
  /** The answers of saved insights, in lists and on dashboards too. */
  'insight.result': QUERY_READ,
  /** The insights on a dashboard. */
  'dashboard.insight': level('insight:read'),
} as const satisfies Readonly<Record<string, Need>>

export type MemberWay = keyof typeof MEMBER_WAYS

/**
 * The resource that each edit changes and each entry of the activity log is about: whatever route leads to an edit, its
 * caller needs `<resource>:write`; and the values in the log are told to those with `<resource>:read`.
 */
export const RESOURCE_OF = {
  Action: 'action',
  Annotation: 'annotation',
  Cohort: 'cohort',
  Dashboard: 'dashboard',
  EarlyAccessFeature: 'early_access_feature',
  EventDefinition: 'event_definition',
  Experiment: 'experiment',
  ExperimentSavedMetric: 'experiment',
  FeatureFlag: 'feature_flag',
  Holdout: 'experiment',
  Insight: 'insight',
  InsightVariable: 'insight',
  Organization: 'organization',
  OrganizationInvite: 'organization_member',
  OrganizationMembership: 'organization_member',
  Person: 'person',
  PersonalAPIKey: 'user',
  PluginConfig: 'plugin',
  Project: 'project',
  PropertyDefinition: 'property_definition',
  Survey: 'survey',
} as const satisfies Readonly<Record<ActivityScope, Resource>>

/** Flags that another thing made for itself, by their `creation_context`: who may change the thing may change its flag. */
export const OWNERS_OF_FLAGS: ReadonlyMap<unknown, Resource> = new Map<unknown, Resource>([
  ['early_access_features', 'early_access_feature'],
  ['experiments', 'experiment'],
  ['surveys', 'survey'],
])
