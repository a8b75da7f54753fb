/** Annotations under a project: listed, made, read, changed. Deleting is a change (wire §4.10). */
import type { Static } from 'elysia'
import {
  type Annotation,
  createAnnotation,
  getAnnotation,
  listAnnotations,
  updateAnnotation,
  type WantedAnnotation,
} from '../../boards/annotation.ts'
import { getDashboard } from '../../boards/dashboard.ts'
import { getInsight } from '../../boards/insight.ts'
import {
  AnnotationAnswer,
  AnnotationBody,
  AnnotationPage,
  AnnotationsQuery,
} from '../../contract/annotations.ts'
import { ActivityQuery, ItemActivityAnswer } from '../../contract/project.ts'
import { isShown, rightsIn } from '../../projects/rights.ts'
import { answerJson } from '../answers.ts'
import { numberIn } from '../ids.ts'
import { projectActivity } from '../management/activity.ts'
import { momentIn } from '../moments.ts'
import type { Needs } from '../needs.ts'
import { answerPage, queryValue } from '../pages.ts'
import { projectRoute } from '../route.ts'
import { shapeOf } from '../shape.ts'
import { authorNamer } from '../targeting/authors.ts'
import type { ShownTo } from '../targeting/linked-flags.ts'
import { boardEditor } from './insights.ts'

const ANNOTATION_BODY = shapeOf(AnnotationBody)

export const ANNOTATION_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'annotations/',
    scope: 'annotation:read',
    says: "List the project's annotations, the latest marker first.",
    query: AnnotationsQuery,
    answers: { 200: AnnotationPage },
    answer: (needs, { request, asker, project }) => {
      const wanted = queryValue(request, 'search')?.toLowerCase() ?? ''
      const scope = queryValue(request, 'scope')
      const found = listAnnotations(needs.control, project.id).filter(
        (one) =>
          (one.content ?? '').toLowerCase().includes(wanted) &&
          (scope === null || one.scope === scope),
      )
      return answerPage(
        request,
        needs.publicUrl(),
        found,
        annotationShower(needs, { asker, project }),
      )
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'annotations/',
    scope: 'annotation:write',
    says: 'Note what happened when, say a release.',
    body: ANNOTATION_BODY,
    answers: { 201: AnnotationAnswer },
    answer: (needs, { body, project, asker }) => {
      const editor = boardEditor(needs, project, asker)
      const annotation = createAnnotation(editor, wantedAnnotation(body), needs.now())
      return answerJson(annotationShower(needs, { asker, project })(annotation), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'annotations/:id/',
    scope: 'annotation:read',
    says: 'Read an annotation.',
    answers: { 200: AnnotationAnswer },
    answer: (needs, { params, asker, project }) => {
      const annotation = getAnnotation(needs.control, project.id, numberIn(params))
      return answerJson(annotationShower(needs, { asker, project })(annotation))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'annotations/:id/',
    scope: 'annotation:write',
    says: 'Change an annotation; deleting is a change of `deleted`.',
    body: ANNOTATION_BODY,
    answers: { 200: AnnotationAnswer },
    answer: (needs, { body, params, project, asker }) => {
      const before = getAnnotation(needs.control, project.id, numberIn(params))
      const editor = boardEditor(needs, project, asker)
      const annotation = updateAnnotation(editor, before, wantedAnnotation(body), needs.now())
      return answerJson(annotationShower(needs, { asker, project })(annotation))
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'annotations/:id/activity/',
    scope: 'activity_log:read',
    says: 'List what happened to an annotation.',
    query: ActivityQuery,
    answers: { 200: ItemActivityAnswer },
    answer: (needs, call) => {
      const { params, project } = call
      const item_id = String(getAnnotation(needs.control, project.id, numberIn(params)).id)
      return answerJson(projectActivity(needs, call, { scope: 'Annotation', item_id }))
    },
  }),
] as const

/** Shows annotations during one request. */
function annotationShower(
  needs: Needs,
  { asker, project }: ShownTo,
): (annotation: Annotation) => object {
  const rights = rightsIn(needs.control, asker, project)
  const nameAuthor = authorNamer(needs)
  return (annotation) => {
    const { project_id, insight_id, dashboard_id, ...stored } = annotation
    const insight =
      insight_id === null || !isShown(rights, 'annotation.insight')
        ? null
        : getInsight(needs.control, project_id, insight_id)
    const dashboard =
      dashboard_id === null || !isShown(rights, 'annotation.dashboard')
        ? null
        : getDashboard(needs.control, project_id, dashboard_id)
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

/** Of a body what is stored. */
function wantedAnnotation(body: Static<typeof AnnotationBody>): WantedAnnotation {
  const wanted = {
    content: body.content,
    date_marker: momentIn(body.date_marker, 'date_marker'),
    creation_type: body.creation_type,
    scope: body.scope,
    insight_id: body.dashboard_item,
    dashboard_id: body.dashboard_id,
    deleted: body.deleted,
  }
  // What is undefined was not said.
  const said = Object.entries(wanted).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said) as WantedAnnotation
}
