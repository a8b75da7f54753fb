/** Annotations of a project: list, create, read, change. Deleting is a change. */
import type { Static } from 'elysia'
import {
  AnnotationAnswer,
  AnnotationBody,
  AnnotationPage,
  AnnotationsQuery,
} from '../../contract/analytics/annotations.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/management/project.ts'
import {
  type Annotation,
  type AnnotationChanges,
  createAnnotation,
  getAnnotation,
  listAnnotations,
  updateAnnotation,
} from '../../dashboards/annotation.ts'
import { requirePresent } from '../../dashboards/board-editor.ts'
import { getDashboard } from '../../dashboards/dashboard.ts'
import { getInsight } from '../../dashboards/insight.ts'
import { Refusal } from '../../errors.ts'
import { isShown, rightsIn } from '../../projects/rights.ts'
import { answerJson } from '../answers.ts'
import type { AppContext } from '../app-context.ts'
import { projectActivity } from '../management/activity.ts'
import { answerPage, queryValue } from '../pages.ts'
import { parseNumberId } from '../path-ids.ts'
import { projectRoute } from '../route.ts'
import { sentMembers } from '../sent-members.ts'
import { validatorOf } from '../shape.ts'
import { authorFinder } from '../targeting/authors.ts'
import type { ShownTo } from '../targeting/flags/linked-flags.ts'
import { parseTimestamp } from '../timestamps.ts'
import { boardEditor } from './insights.ts'

const ANNOTATION_BODY = validatorOf(AnnotationBody)

export const ANNOTATION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'annotations/',
    scope: 'annotation:read',
    summary: "List the project's annotations, the latest marker first.",
    query: AnnotationsQuery,
    answers: { 200: AnnotationPage },
    answer: (app, { request, caller, project }) => {
      const search_text = queryValue(request, 'search')?.toLowerCase() ?? ''
      const scope = queryValue(request, 'scope')
      const result = listAnnotations(app.control, project).filter(
        (one) =>
          (one.content ?? '').toLowerCase().includes(search_text) &&
          (scope === null || one.scope === scope),
      )
      return answerPage(
        request,
        app.publicUrl(),
        result,
        annotationSerializer(app, { caller, project }),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'annotations/',
    scope: 'annotation:write',
    summary: 'Note what happened when, say a release.',
    body: ANNOTATION_BODY,
    answers: { 201: AnnotationAnswer },
    answer: (app, { body, project, caller }) => {
      const editor = boardEditor(app, project, caller)
      const annotation = createAnnotation(editor, readAnnotationChanges(body), app.now())
      return answerJson(annotationSerializer(app, { caller, project })(annotation), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'annotations/:id/',
    scope: 'annotation:read',
    summary: 'Read an annotation.',
    answers: { 200: AnnotationAnswer },
    answer: (app, { params, caller, project }) => {
      const stored = getAnnotation(app.control, project, parseNumberId(params))
      const annotation = requirePresent(stored)
      return answerJson(annotationSerializer(app, { caller, project })(annotation))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'annotations/:id/',
    scope: 'annotation:write',
    summary: 'Change an annotation; deleting is a change of `deleted`.',
    body: ANNOTATION_BODY,
    answers: { 200: AnnotationAnswer },
    answer: (app, { body, params, project, caller }) => {
      const stored = getAnnotation(app.control, project, parseNumberId(params))
      const before = requirePresent(stored, body)
      requireOwn(before, project.id)
      const editor = boardEditor(app, project, caller)
      const annotation = updateAnnotation(editor, before, readAnnotationChanges(body), app.now())
      return answerJson(annotationSerializer(app, { caller, project })(annotation))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'annotations/:id/activity/',
    scope: 'activity_log:read',
    summary: 'List what happened to an annotation.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (app, call) => {
      const { params, project } = call
      const item_id = String(getAnnotation(app.control, project, parseNumberId(params)).id)
      return answerJson(projectActivity(app, call, { scope: 'Annotation', item_id }))
    },
  }),
] as const

/** Returns a function that serializes annotations during one request. */
function annotationSerializer(
  app: AppContext,
  { caller, project }: ShownTo,
): (annotation: Annotation) => object {
  const rights = rightsIn(app.control, caller, project)
  const nameAuthor = authorFinder(app)
  return (annotation) => {
    const { project_id, insight_id, dashboard_id, ...stored } = annotation
    // Names in another project are not this caller's to read.
    const is_own = project_id === project.id
    const insight =
      insight_id === null || !is_own || !isShown(rights, 'annotation.insight')
        ? null
        : getInsight(app.control, project_id, insight_id)
    const dashboard =
      dashboard_id === null || !is_own || !isShown(rights, 'annotation.dashboard')
        ? null
        : getDashboard(app.control, project_id, dashboard_id)
    return {
      ...stored,
      dashboard_item: insight_id,
      insight_short_id: insight?.short_id ?? null,
      insight_name: insight?.name ?? null,
      insight_derived_name: null,
      dashboard_id,
      dashboard_name: dashboard?.name ?? null,
      created_by: nameAuthor(annotation.created_by),
    }
  }
}

/** Refuses a change of another project's annotation: the organization reads it, its project changes it. */
function requireOwn(annotation: Annotation, project_id: number): void {
  if (annotation.project_id === project_id) return
  const detail = `This annotation is changed in its project, which has the ID ${annotation.project_id}.`
  throw new Refusal('permission_denied', detail)
}

/** Reads the stored members from a body. */
function readAnnotationChanges(body: Static<typeof AnnotationBody>): AnnotationChanges {
  const wanted = {
    content: body.content,
    date_marker: parseTimestamp(body.date_marker, 'date_marker'),
    creation_type: body.creation_type,
    scope: body.scope,
    insight_id: body.dashboard_item,
    dashboard_id: body.dashboard_id,
    deleted: body.deleted,
  }
  return sentMembers(wanted)
}
