/** Activity logs of a whole family of definitions: one route for each family. */
import { ActivityQuery, ItemActivityAnswer } from '../../contract/management/project.ts'
import type { ActivityScope } from '../../projects/activity.ts'
import { answerJson } from '../answers/answers.ts'
import { projectRoute } from '../route.ts'
import { projectActivity } from './activity.ts'

/** FAMILIES: the path, and the family's scope in the activity log. A line adds a route. */
const FAMILIES: readonly (readonly [family: string, scope: ActivityScope])[] = [
  ['actions', 'Action'],
  ['annotations', 'Annotation'],
  ['cohorts', 'Cohort'],
  ['dashboards', 'Dashboard'],
  ['early_access_feature', 'EarlyAccessFeature'],
  ['event_definitions', 'EventDefinition'],
  ['experiment_holdouts', 'Holdout'],
  ['experiment_saved_metrics', 'ExperimentSavedMetric'],
  ['experiments', 'Experiment'],
  ['feature_flags', 'FeatureFlag'],
  ['insights', 'Insight'],
  ['property_definitions', 'PropertyDefinition'],
  ['surveys', 'Survey'],
]

export const FAMILY_ACTIVITY_ROUTES = FAMILIES.map(([family, scope]) =>
  projectRoute({
    method: 'GET',
    path: `${family}/activity/`,
    scope: 'activity_log:read',
    summary: `List the activity log of all ${family.replaceAll('_', ' ')}.`,
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (app, call) => answerJson(projectActivity(app, call, { scope })),
  }),
)
