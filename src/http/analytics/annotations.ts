/** Annotations of a project: list, create, read, change. Deleting is a change. */
import type { Static } from 'elysia'
import {
  AnnotationAnswer,
  AnnotationBody,
  AnnotationPage,
  AnnotationsQuery,
} from '../../contract/analytics/annotations.ts'
import {
  type Annotation,
  type AnnotationChanges,
  createAnnotation,
  getAnnotation,
  readAnnotations,
  updateAnnotation,
} from '../../dashboards/annotation.ts'
import { requirePresent } from '../../dashboards/board-editor.ts'
import { getDashboard } from '../../dashboards/dashboard.ts'
import { getInsight } from '../../dashboards/insight.ts'
import { Refusal } from '../../errors.ts'
import { isShown, rightsIn } from '../../projects/rights/rights.ts'
import { queryValue } from '../answers/pages.ts'
import type { AppContext } from '../app-context.ts'
import { sentMembers } from '../bodies/sent-members.ts'
import { validatorOf } from '../bodies/shape.ts'
import { parseTimestamp } from '../bodies/timestamps.ts'
import { authorFinder } from '../callers/authors.ts'
import { boardEditor } from '../callers/editors.ts'
import { parseNumberId } from '../path-ids.ts'
import { resource } from '../resource.ts'
import type { ShownTo } from '../targeting/flags/linked-flags.ts'

const ANNOTATION_BODY = validatorOf(AnnotationBody)

/** Charts read their annotations without a limit. */
const LIMIT_DEFAULT = 1000

export const ANNOTATION_ROUTES = resource({
  path: 'annotations/',
  resource: 'annotation',
  answer: AnnotationAnswer,
  find: (app, project, params) => getAnnotation(app.control, project, parseNumberId(params)),
  requirePresent,
  serializer: annotationSerializer,
  list: {
    summary: "List the project's annotations, the latest date first.",
    query: AnnotationsQuery,
    answer: AnnotationPage,
    items: async (app, { request, project }) => {
      const scope = queryValue(request, 'scope')
      const all = await readAnnotations(app.control, project)
      return all.filter((one) => scope === null || one.scope === scope)
    },
    texts: ({ content }) => [content ?? ''],
    limit_default: LIMIT_DEFAULT,
  },
  create: {
    summary: 'Create an annotation: a note on what happened at a time, such as a release.',
    body: ANNOTATION_BODY,
    run: (app, { body, project, caller }) =>
      createAnnotation(boardEditor(app, project, caller), readAnnotationChanges(body), app.now()),
  },
  read: { summary: 'Read an annotation.' },
  change: {
    summary: 'Change an annotation; `deleted: true` deletes it.',
    body: ANNOTATION_BODY,
    run: (app, { body, project, caller }, before) => {
      requireOwn(before, project.id)
      const editor = boardEditor(app, project, caller)
      return updateAnnotation(editor, before, readAnnotationChanges(body), app.now())
    },
  },
  activity: { summary: 'List the activity log of an annotation.', scope: 'Annotation' },
})

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
      insight_derived_name: insight?.derived_name ?? null,
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
