/** Annotations: dated notes that charts show. */
import { and, desc, eq, or, sql } from 'drizzle-orm'
import { getNamed, Refusal, unknownId } from '../errors.ts'
import { projects } from '../projects/tables.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { readOneByOne } from '../threads/sliced-json.ts'
import { type BoardEditor, recordBoardEdit } from './board-editor.ts'
import { getDashboard } from './dashboard.ts'
import { getInsight } from './insight.ts'
import { annotations } from './tables.ts'

export type Annotation = typeof annotations.$inferSelect

/** Members that an edit can set; undefined ones stay. */
export type AnnotationChanges = Partial<
  Pick<
    Annotation,
    | 'content'
    | 'creation_type'
    | 'dashboard_id'
    | 'date_marker'
    | 'deleted'
    | 'insight_id'
    | 'scope'
  >
>

/** Creates an annotation. Refuses missing insights and dashboards. */
export function createAnnotation(
  editor: BoardEditor,
  wanted: AnnotationChanges,
  now: Date,
): Annotation {
  const { control, project, user_id } = editor
  requirePlace(editor, wanted)
  const times = { created_at: now, updated_at: now }
  return control.transaction((tx) => {
    const annotation = tx
      .insert(annotations)
      .values({ ...wanted, ...times, project_id: project.id, created_by: user_id })
      .returning()
      .get()
    recordBoardEdit(
      tx,
      editor,
      { scope: 'Annotation', before: null, after: loggedAnnotation(annotation) },
      now,
    )
    return annotation
  })
}

/** Changes an annotation; deleting is a change of `deleted`. Refuses as `createAnnotation` does. */
export function updateAnnotation(
  editor: BoardEditor,
  before: Annotation,
  wanted: AnnotationChanges,
  now: Date,
): Annotation {
  requirePlace(editor, wanted)
  return editor.control.transaction((tx) => {
    const annotation = tx
      .update(annotations)
      .set({ ...wanted, updated_at: now })
      .where(eq(annotations.id, before.id))
      .returning()
      .get()
    const edit = {
      scope: 'Annotation',
      before: loggedAnnotation(before),
      after: loggedAnnotation(annotation),
    } as const
    recordBoardEdit(tx, editor, edit, now)
    return annotation
  })
}

type AnnotationProject = BoardEditor['project']

/**
 * Returns the annotation with this id if the project shows it, deleted or not: its own, or one for the whole
 * organization. Refuses when there is none.
 */
export function getAnnotation(db: ControlDB, project: AnnotationProject, id: number): Annotation {
  const row = db
    .select({ annotation: annotations })
    .from(annotations)
    .innerJoin(projects, eq(projects.id, annotations.project_id))
    .where(and(isShownIn(project), eq(annotations.id, id)))
    .get()
  if (row === undefined) throw new Refusal('not_found', 'Not found.')
  return row.annotation
}

/**
 * Reads the annotations that a project shows and that are not deleted, the latest date first; one by one in slices of the
 * event loop.
 */
export async function readAnnotations(
  db: ControlDB,
  project: AnnotationProject,
): Promise<readonly Annotation[]> {
  const { id, deleted } = annotations
  const ids = db
    .select({ id })
    .from(annotations)
    .innerJoin(projects, eq(projects.id, annotations.project_id))
    .where(and(isShownIn(project), eq(deleted, false)))
    .orderBy(desc(annotations.date_marker), desc(id))
    .all()
  const one = db
    .select()
    .from(annotations)
    .where(and(eq(id, sql.placeholder('id')), eq(deleted, false)))
    .prepare()
  return readOneByOne(ids, (row) => one.get(row))
}

function isShownIn({ id, organization_id }: AnnotationProject) {
  const of_organization = and(
    eq(annotations.scope, 'organization'),
    eq(projects.organization_id, organization_id),
  )
  return or(eq(annotations.project_id, id), of_organization)
}

/** The activity log names an annotation by its text. */
function loggedAnnotation(annotation: Annotation) {
  const { updated_at: _at, ...stored } = annotation
  return { ...stored, name: annotation.content }
}

function requirePlace({ control, project }: BoardEditor, wanted: AnnotationChanges): void {
  const { insight_id, dashboard_id } = wanted
  if (typeof insight_id === 'number') {
    const get = () => getInsight(control, project.id, insight_id)
    getNamed(get, 'dashboard_item', unknownId(insight_id))
  }
  if (typeof dashboard_id === 'number') {
    const get = () => getDashboard(control, project.id, dashboard_id)
    getNamed(get, 'dashboard_id', unknownId(dashboard_id))
  }
}
