/** Metrics that experiments of a project share: listed, made, read, changed, removed (wire §4.10). */
import { PageQuery } from '../../contract/common.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/project.ts'
import {
  NewSavedMetric,
  SavedMetricAnswer,
  SavedMetricChange,
  SavedMetricPage,
} from '../../contract/saved-metrics.ts'
import {
  createSavedMetric,
  getSavedMetric,
  listSavedMetrics,
  removeSavedMetric,
  type SavedMetric,
  updateSavedMetric,
} from '../../targeting/saved-metric.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import { projectActivity } from '../management/activity.ts'
import { answerPage } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer, type NameAuthor } from './authors.ts'
import { requireMetric } from './experiment-wire.ts'
import { editorOf } from './feature-flags.ts'

const NEW_METRIC = shapeOf(NewSavedMetric)
const METRIC_CHANGE = shapeOf(SavedMetricChange)

export const SAVED_METRIC_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'experiment_saved_metrics/',
    scope: 'experiment:read',
    says: "List the metrics that the project's experiments share, newest first.",
    query: PageQuery,
    answers: { 200: SavedMetricPage },
    answer: (needs, { request, project }) => {
      const nameAuthor = authorNamer(needs)
      const found = listSavedMetrics(needs.control, project.id)
      return answerPage(request, needs.publicUrl(), found, (one) => onWire(one, nameAuthor))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'experiment_saved_metrics/',
    scope: 'experiment:write',
    says: 'Make a metric that experiments can share.',
    answers: { 201: SavedMetricAnswer },
    body: NEW_METRIC,
    answer: (needs, { body, project, asker }) => {
      requireMetric(needs, project.id, body.query, 'query')
      const metric = createSavedMetric(editorOf(needs, project, asker), body, needs.now())
      return answerJson(onWire(metric, authorNamer(needs)), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiment_saved_metrics/:id/',
    scope: 'experiment:read',
    says: 'Read a shared metric.',
    answers: { 200: SavedMetricAnswer },
    answer: (needs, { params, project }) => {
      const metric = getSavedMetric(needs.control, project.id, numberIn(params))
      return answerJson(onWire(metric, authorNamer(needs)))
    },
  }),
  ...(['PATCH', 'PUT'] as const).map((method) =>
    projectRoute({
      method,
      path: 'experiment_saved_metrics/:id/',
      scope: 'experiment:write',
      says: 'Change a shared metric, for all experiments that look at it.',
      answers: { 200: SavedMetricAnswer },
      body: METRIC_CHANGE,
      answer: (needs, { body, params, project, asker }) => {
        const before = getSavedMetric(needs.control, project.id, numberIn(params))
        if (body.query !== undefined) requireMetric(needs, project.id, body.query, 'query')
        const editor = editorOf(needs, project, asker)
        const metric = updateSavedMetric(editor, before, body, needs.now())
        return answerJson(onWire(metric, authorNamer(needs)))
      },
    }),
  ),
  projectRoute({
    method: 'DELETE',
    path: 'experiment_saved_metrics/:id/',
    scope: 'experiment:write',
    says: 'Remove a shared metric; experiments that looked at it do not any more.',
    answers: { 204: null },
    answer: (needs, { params, project, asker }) => {
      const metric = getSavedMetric(needs.control, project.id, numberIn(params))
      removeSavedMetric(editorOf(needs, project, asker), metric, needs.now())
      return new Response(null, { status: 204 })
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'experiment_saved_metrics/:id/activity/',
    scope: 'activity_log:read',
    says: 'List what happened to a shared metric.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (needs, call) => {
      const { params, project } = call
      const item_id = String(getSavedMetric(needs.control, project.id, numberIn(params)).id)
      const about = { scope: 'ExperimentSavedMetric', item_id } as const
      return answerJson(projectActivity(needs, call, about))
    },
  }),
] as const

function onWire(metric: SavedMetric, nameAuthor: NameAuthor): object {
  const { project_id: _project, ...stored } = metric
  return { ...stored, created_by: nameAuthor(metric.created_by) }
}
