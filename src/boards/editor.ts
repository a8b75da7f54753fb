/** Who changes what is looked at, and what the activity log is told of it. */
import { type ActivityScope, changesBetween, recordActivity } from '../projects/activity.ts'
import type { ControlDB } from '../storage/control.ts'

export type Editor = {
  readonly control: ControlDB
  readonly project: { readonly id: number; readonly organization_id: string }
  readonly user_id: number
}

type Thing = {
  readonly id: number | string
  readonly name: string | null
  readonly deleted: boolean
}

/** What changes with every edit and says nothing. */
const UNREMARKABLE: ReadonlySet<string> = new Set(['last_modified_at', 'last_modified_by'])

/** Notes an edit beside the edit itself; `before` is null for what is new. One that changed nothing leaves no trace. */
export function noteEdit(
  db: Pick<ControlDB, 'insert'>,
  { project, user_id }: Editor,
  edit: { readonly scope: ActivityScope; readonly before: Thing | null; readonly after: Thing },
  now: Date,
): void {
  const { scope, before, after } = edit
  const changes =
    before === null
      ? []
      : changesBetween(scope, { ...before }, { ...after }).filter(
          ({ field }) => !UNREMARKABLE.has(field),
        )
  if (before !== null && changes.length === 0) return
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
