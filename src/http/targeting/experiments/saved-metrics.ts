/** Saved metrics, which experiments of a project share: list, create, read, change, delete. */
import { PageQuery } from '../../../contract/common.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../../contract/management/project.ts'
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
import { answerJson } from '../../answers.ts'
import { projectActivity } from '../../management/activity.ts'
import { answerPage } from '../../pages.ts'
import { parseNumberId } from '../../path-ids.ts'
import { projectRoute } from '../../route.ts'
import { validatorOf } from '../../shape.ts'
import { authorFinder, type FindAuthor } from '../authors.ts'
import { editorOf } from '../flags/feature-flags.ts'
import { requireMetric } from './experiment-serializer.ts'

const NEW_METRIC = validatorOf(NewSavedMetric)
const METRIC_CHANGE = validatorOf(SavedMetricChange)

export const SAVED_METRIC_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'experiment_saved_metrics/',
    scope: 'experiment:read',
    summary: "List the metrics that the project's experiments share, newest first.",
    query: PageQuery,
    answers: { 200: SavedMetricPage },
    answer: (app, { request, project }) => {
      const nameAuthor = authorFinder(app)
      const ids = listSavedMetricIds(app.control, project.id)
      return answerPage(request, app.publicUrl(), ids, (id) =>
        onWire(getSavedMetric(app.control, project.id, id), nameAuthor),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiment_saved_metrics/',
    scope: 'experiment:write',
    summary: 'Make a metric that experiments can share.',
    answers: { 201: SavedMetricAnswer },
    body: NEW_METRIC,
    answer: (app, { body, project, caller }) => {
      requireMetric(app, project.id, body.query, 'query')
      const metric = createSavedMetric(editorOf(app, project, caller), body, app.now())
      return answerJson(onWire(metric, authorFinder(app)), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiment_saved_metrics/:id/',
    scope: 'experiment:read',
    summary: 'Read a shared metric.',
    answers: { 200: SavedMetricAnswer },
    answer: (app, { params, project }) => {
      const metric = getSavedMetric(app.control, project.id, parseNumberId(params))
      return answerJson(onWire(metric, authorFinder(app)))
    },
  }),
  ...(['PATCH', 'PUT'] as const).map((method) =>
    projectRoute({
      method,
      path: 'experiment_saved_metrics/:id/',
      scope: 'experiment:write',
      summary: 'Change a shared metric, for all experiments that look at it.',
      answers: { 200: SavedMetricAnswer },
      body: METRIC_CHANGE,
      answer: (app, { body, params, project, caller }) => {
        const before = getSavedMetric(app.control, project.id, parseNumberId(params))
        if (body.query !== undefined) requireMetric(app, project.id, body.query, 'query')
        const editor = editorOf(app, project, caller)
        const metric = updateSavedMetric(editor, before, body, app.now())
        return answerJson(onWire(metric, authorFinder(app)))
      },
    }),
  ),
  projectRoute({
    method: 'DELETE',
    path: 'experiment_saved_metrics/:id/',
    scope: 'experiment:write',
    summary: 'Remove a shared metric; experiments that looked at it do not any more.',
    answers: { 204: null },
    answer: (app, { params, project, caller }) => {
      const metric = getSavedMetric(app.control, project.id, parseNumberId(params))
      removeSavedMetric(editorOf(app, project, caller), metric, app.now())
      return new Response(null, { status: 204 })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiment_saved_metrics/:id/activity/',
    scope: 'activity_log:read',
    summary: 'List what happened to a shared metric.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (app, call) => {
      const { params, project } = call
      const item_id = String(getSavedMetric(app.control, project.id, parseNumberId(params)).id)
      const about = { scope: 'ExperimentSavedMetric', item_id } as const
      return answerJson(projectActivity(app, call, about))
    },
  }),
] as const

function onWire(metric: SavedMetric, nameAuthor: FindAuthor): object {
  const { project_id: _project, ...stored } = metric
  return { ...stored, created_by: nameAuthor(metric.created_by) }
}
