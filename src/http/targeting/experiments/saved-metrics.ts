/** Saved metrics, which experiments of a project share: list, create, read, change, delete. */
import { PageQuery } from '../../../contract/common.ts'
import {
  NewSavedMetric,
  SavedMetricAnswer,
  SavedMetricChange,
  SavedMetricPage,
} from '../../../contract/targeting/saved-metrics.ts'
import {
  createSavedMetric,
  getSavedMetric,
  listSavedMetricIds,
  removeSavedMetric,
  type SavedMetric,
  updateSavedMetric,
} from '../../../targeting/experiments/saved-metric.ts'
import type { AppContext } from '../../app-context.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { authorFinder } from '../../callers/authors.ts'
import { targetingEditor } from '../../callers/editors.ts'
import { parseNumberId } from '../../path-ids.ts'
import { resource } from '../../resource.ts'
import { requireMetric } from './experiment-serializer.ts'

const NEW_METRIC = validatorOf(NewSavedMetric)
const METRIC_CHANGE = validatorOf(SavedMetricChange)

export const SAVED_METRIC_ROUTES = resource({
  path: 'experiment_saved_metrics/',
  resource: 'experiment',
  answer: SavedMetricAnswer,
  find: (app, project, params) => getSavedMetric(app.control, project.id, parseNumberId(params)),
  serializer: metricSerializer,
  list: {
    summary: "List the project's shared metrics, newest first.",
    query: PageQuery,
    answer: SavedMetricPage,
    items: (app, { project }) => listSavedMetricIds(app.control, project.id),
    open: (app, project, id) => getSavedMetric(app.control, project.id, id),
  },
  create: {
    summary: 'Create a shared metric.',
    body: NEW_METRIC,
    run: (app, { body, project, caller }) => {
      requireMetric(app, project.id, body.query, 'query')
      return createSavedMetric(targetingEditor(app, project, caller), body, app.now())
    },
  },
  read: { summary: 'Read a shared metric.' },
  change: {
    summary: 'Change a shared metric for all experiments that use it.',
    body: METRIC_CHANGE,
    run: (app, { body, project, caller }, before) => {
      if (body.query !== undefined) requireMetric(app, project.id, body.query, 'query')
      return updateSavedMetric(targetingEditor(app, project, caller), before, body, app.now())
    },
  },
  remove: {
    summary: 'Delete a shared metric, and remove it from its experiments.',
    run: (app, { project, caller }, metric) =>
      removeSavedMetric(targetingEditor(app, project, caller), metric, app.now()),
  },
  activity: {
    summary: 'List the activity log of a shared metric.',
    scope: 'ExperimentSavedMetric',
  },
})

function metricSerializer(app: AppContext): (metric: SavedMetric) => object {
  const nameAuthor = authorFinder(app)
  return ({ project_id: _project, ...metric }) => ({
    ...metric,
    created_by: nameAuthor(metric.created_by),
  })
}
