/** Who changes what is looked at, and what the activity log is told of it. */
import { type ActivityScope, changesBetween, recordActivity } from '../projects/activity.ts'
import { type LimitedTable, requireRoom, requireSize } from '../projects/quota.ts'
import { type Rights, requireEdit } from '../projects/rights.ts'
import type { ControlDB } from '../storage/control/control-db.ts'
import { annotations, dashboards, insight_variables, insights } from './tables.ts'

export type BoardEditor = {
  readonly control: ControlDB
  readonly project: { readonly id: number; readonly organization_id: string }
  readonly user_id: number
  /** What may be changed: every edit is checked, whatever route it comes from. */
  readonly rights: Rights
  /** Things of one kind that the project may keep. */
  readonly saved_max: number | null
  /** What all things of a kind may take together, in bytes. */
  readonly saved_bytes_max: number
}

type BoardItem = {
  readonly id: number | string
  readonly name: string | null
  readonly deleted: boolean
}

/** What changes with every edit and says nothing. */
const UNREMARKABLE: ReadonlySet<string> = new Set(['last_modified_at', 'last_modified_by'])

/** What a project may keep only so many of, by scope. */
const KEPT: Partial<Record<ActivityScope, LimitedTable>> = {
  Annotation: annotations,
  Dashboard: dashboards,
  Insight: insights,
  InsightVariable: insight_variables,
}

/**
 * Notes an edit beside the edit itself, in its transaction; `before` is null for what is new. One that changed nothing
 * leaves no trace. Refuses what the editor has no right to change, and what is one thing more than the project may keep.
 */
export function recordBoardEdit(
  db: Pick<ControlDB, 'insert' | 'select'>,
  editor: BoardEditor,
  edit: {
    readonly scope: ActivityScope
    readonly before: BoardItem | null
    readonly after: BoardItem
  },
  now: Date,
): void {
  const { project, user_id } = editor
  const { scope, before, after } = edit
  const changes =
    before === null
      ? []
      : changesBetween(scope, { ...before }, { ...after }).filter(
          ({ field }) => !UNREMARKABLE.has(field),
        )
  if (before !== null && changes.length === 0) return
  requireEdit(editor.rights, { scope, thing: before ?? after })
  const is_more = !after.deleted && (before === null || before.deleted)
  const table = KEPT[scope]
  if (is_more && table !== undefined) requireRoom(db, table, editor)
  requireSize(db, table, editor, { before, after })
  const is_deleted = after.deleted && before?.deleted === false
  recordActivity(
    db,
    {
      organization_id: project.organization_id,
      project_id: project.id,
      user_id,
      scope,
      item_id: String(after.id),
      activity: before === null ? 'created' : is_deleted ? 'deleted' : 'updated',
      name: after.name ?? '',
      changes,
    },
    now,
  )
}
